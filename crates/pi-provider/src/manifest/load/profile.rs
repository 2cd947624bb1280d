//! The capability profile: metadata, whose rules about phases reject a file all the same because the compliance suite of
//! the standard says so (see `docs/adr/0090-what-rejects-a-manifest.md`).

use super::Report;
use crate::manifest::{
    declared::{CapabilityProfile, ProfilePhase},
    diagnostic::{Rule, Severity},
    tree::Node,
};

const SECTION: &str = "capability_profile";
const RULE: Rule = Rule::ProfileSection;
const DIMENSIONS: [&str; 3] = ["inputs", "outcomes", "systems"];
/// Reserved for the second phase.
const LATER: [&str; 2] = ["process", "contract"];

pub(super) fn read(root: &Node, report: &mut Report<'_>) -> Option<CapabilityProfile> {
    let node = root.get(SECTION)?;
    if node.as_map().is_none() {
        report.error(RULE, node.at, SECTION, format!("capability_profile must be object, not {}", node.kind()));
        return None;
    }
    let Some(phase) = node.get("phase") else {
        report.error(RULE, node.at, "capability_profile.phase", "phase is missing");
        report.hint("ios_v1 or iospc_v1");
        return None;
    };
    let phase = report.read(Severity::Error, RULE, phase, "capability_profile.phase")?;
    let has = |names: &[&str]| names.iter().any(|name| node.get(name).is_some());
    if !has(&DIMENSIONS) {
        let message = "must match at least one schema in anyOf: inputs, outcomes or systems is expected";
        report.error(RULE, node.at, SECTION, message);
    }
    match phase {
        ProfilePhase::IosV1 => {
            for member in LATER.iter().filter_map(|name| node.member(name)) {
                let path = format!("{SECTION}.{}", member.key);
                let message = format!("must NOT have additional properties: {} is for a later phase", member.key);
                report.error(RULE, member.at, &path, message);
                report.hint("write phase: iospc_v1, or leave it out");
            }
        }
        ProfilePhase::IospcV1 if !has(&LATER) => {
            report.error(RULE, node.at, SECTION, "iospc_v1 requires process or contract");
        }
        ProfilePhase::IospcV1 => {}
    }
    report.read(Severity::Warning, RULE, node, SECTION)
}
