//! Ring 1: who the provider is, where it is, how a caller shows who they are, and what its errors mean.

use std::sync::LazyLock;

use pi_transcript::ProviderId;
use regex::Regex;

use super::{Report, endpoint, failure, ring3::SECTIONS};
use crate::{
    likeness::nearest,
    manifest::{
        diagnostic::{Rule, Severity},
        endpoint::Endpoint,
        failure::ErrorClassification,
        promote::Generation,
        tree::{Node, Position},
    },
};

/// The parts of a manifest without which there is none. One that is absent is an error of the report.
pub(super) struct Ring1 {
    pub id: Option<ProviderId>,
    pub aliases: Vec<String>,
    pub protocol_version: Option<String>,
    pub endpoint: Option<Endpoint>,
    pub error_classification: Option<ErrorClassification>,
}

static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z0-9][a-z0-9-_]{1,63}$").expect("the pattern of the standard"));

/// Whether a provider may be called that.
pub(super) fn is_id(text: &str) -> bool {
    ID.is_match(text)
}

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Ring1 {
    Ring1 {
        id: id(root, report),
        aliases: aliases(root, report),
        protocol_version: version(root, report),
        endpoint: endpoint::read(root, generation, report),
        error_classification: failure::read(root, generation, report),
    }
}

/// A missing member is pointed at where it should be: at the beginning of the object. Which member of `parent` may be
/// meant for it is told too.
pub(super) fn missing(report: &mut Report<'_>, rule: Rule, at: Position, path: &str, parent: &Node) {
    report.error(rule, at, path, format!("{path} is missing"));
    let name = path.rsplit('.').next().unwrap_or(path);
    let written = parent.as_map().unwrap_or_default().iter().map(|member| member.key.as_str());
    // `endpoints` is no slip.
    if let Some(slip) = nearest(name, written.filter(|key| !SECTIONS.contains(key))).first() {
        report.hint(format!("{slip} is not known; did you mean {name}?"));
    }
}

fn id(root: &Node, report: &mut Report<'_>) -> Option<ProviderId> {
    let Some(node) = root.get("id") else {
        missing(report, Rule::Id, root.at, "id", root);
        return None;
    };
    let text: String = report.read(Severity::Error, Rule::Id, node, "id")?;
    if !is_id(&text) {
        report.error(Rule::Id, node.at, "id", format!("{text:?} is not an id"));
        report.hint("2 to 64 lower case letters, digits, - and _, beginning with a letter or digit");
        return None;
    }
    Some(ProviderId(text))
}

fn aliases(root: &Node, report: &mut Report<'_>) -> Vec<String> {
    let Some(node) = root.get("aliases") else { return Vec::new() };
    let Some(list) = node.as_list() else {
        report.warning(Rule::Aliases, node.at, "aliases", format!("a list is expected, not {}", node.kind()));
        return Vec::new();
    };
    let mut kept: Vec<String> = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let path = format!("aliases[{index}]");
        let Some(name) = report.read::<String>(Severity::Warning, Rule::Aliases, item, &path) else { continue };
        if !is_alias(&name) {
            report.warning(Rule::Aliases, item.at, &path, format!("{name:?} is not a name"));
        } else if kept.contains(&name) {
            report.warning(Rule::Aliases, item.at, &path, format!("{name:?} stands here for the second time"));
            report.hint("keep one of the two");
        } else {
            kept.push(name);
        }
    }
    kept
}

/// People type aliases, so they are freer than ids: `llama.cpp`. A slash would end them.
fn is_alias(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    (1..=64).contains(&text.len()) && text.chars().all(is_letter)
}

fn version(root: &Node, report: &mut Report<'_>) -> Option<String> {
    let Some(node) = root.get("protocol_version") else {
        missing(report, Rule::ProtocolVersion, root.at, "protocol_version", root);
        return None;
    };
    let Some(text) = crate::manifest::promote::written_version(root) else {
        let message = format!("a version is expected, not {}", node.kind());
        report.error(Rule::ProtocolVersion, node.at, "protocol_version", message);
        return None;
    };
    if node.as_str().is_none() {
        let message = "the version should be a text";
        report.warning(Rule::ProtocolVersion, node.at, "protocol_version", message);
        report.hint("put the value in quotes");
    }
    match Generation::of(root) {
        Generation::Unknown => {
            let message = format!("version {text:?} is not known");
            report.error(Rule::ProtocolVersion, node.at, "protocol_version", message);
            report.hint("2.0 is read as it is, 1.x is promoted");
            None
        }
        Generation::First | Generation::Nested | Generation::Second => Some(text),
    }
}
