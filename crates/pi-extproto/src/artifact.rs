//! `artifact.json`: what the pipeline made of an extension, and what it found out on the way.
//!
//! Bytecode and compiled code are never part of an artifact: they are made anew on the machine that runs them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;
pub use pi_transcript::json::{Digest, Extra, canonical};

use crate::{
    capability::{Capability, CapabilityManifest},
    manifest::{InsidePath, Tier},
};

/// The description of an artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Artifact {
    pub schema: ArtifactSchema,
    pub name: String,
    pub version: String,
    pub engine: Engine,
    /// The digest of manifest, bundle and engine version: the key of the cache.
    #[schemars(with = "String")]
    #[ts(as = "String")]
    pub hash: Digest,
    pub capabilities: ArtifactCapabilities,
    pub findings: Vec<Finding>,
    pub sources: Vec<SourceFile>,
    pub sizes: Sizes,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The one version of the artifact description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
pub enum ArtifactSchema {
    #[default]
    #[serde(rename = "pi.ext.artifact.v1")]
    V1,
}

/// What the artifact was made for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Engine {
    pub tier: Tier,
    pub version: String,
}

/// What the extension says that it needs, and what its code looks like it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ArtifactCapabilities {
    /// Absent if the extension declared nothing.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub declared: Option<CapabilityManifest>,
    pub inferred: BTreeSet<Capability>,
}

impl ArtifactCapabilities {
    /// What the code seems to need and the extension did not say.
    pub fn undeclared(&self) -> BTreeSet<&Capability> {
        let declared: BTreeSet<_> =
            self.declared.iter().flat_map(|manifest| &manifest.capabilities).map(|need| &need.capability).collect();
        self.inferred.iter().filter(|capability| !declared.contains(capability)).collect()
    }
}

/// Something that the scanner noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Finding {
    pub verdict: Verdict,
    /// A stable name of the rule, for programs.
    pub rule: String,
    pub message: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub place: Option<SourcePlace>,
    /// The line that it is about, as it is written.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// What the author can do about it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How much a finding matters. Ordered: the worst finding is the verdict on the artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Safe.
    Compatible,
    /// Works, within limits.
    Warning,
    /// Unsafe or not supported; refused in strict mode, tried otherwise.
    Blocked,
}

/// A place in a source file; lines and columns count from one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SourcePlace {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// A file that went into the artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct SourceFile {
    pub path: InsidePath,
    #[schemars(with = "String")]
    #[ts(as = "String")]
    pub digest: Digest,
    pub size: u64,
}

/// Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Sizes {
    pub sources: u64,
    pub bundle: u64,
    pub assets: u64,
}

impl Artifact {
    /// The worst of the findings; an artifact without any is compatible.
    pub fn verdict(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Compatible)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn artifact(findings: &[&str]) -> Value {
        let findings: Vec<_> =
            findings.iter().map(|verdict| json!({ "verdict": verdict, "rule": "r", "message": "m" })).collect();
        json!({
            "schema": "pi.ext.artifact.v1", "name": "a", "version": "1.0.0",
            "engine": { "tier": "js", "version": "quickjs-ng 0.16.2" }, "hash": Digest::of(b"a").to_string(),
            "capabilities": {
                "declared": { "schema": "pi.ext.cap.v1", "capabilities": [{ "capability": "read" }] },
                "inferred": ["read", "exec"],
            },
            "findings": findings,
            "sources": [{ "path": "src/a.ts", "digest": Digest::of(b"").to_string(), "size": 0 }],
            "sizes": { "sources": 0, "bundle": 12, "assets": 0 }, "signature": { "by": "nobody" },
        })
    }

    #[test]
    fn description_reads_back_with_what_it_does_not_know() {
        let json = artifact(&["warning"]);
        let artifact: Artifact = serde_json::from_value(json.clone()).expect("an artifact");
        assert_eq!(artifact.capabilities.undeclared(), BTreeSet::from([&Capability::Exec]));
        assert_eq!(serde_json::to_value(artifact).expect("JSON"), json);
    }

    #[test]
    fn worst_finding_is_the_verdict() {
        for (findings, expected) in [
            (&[][..], Verdict::Compatible),
            (&["compatible", "warning"], Verdict::Warning),
            (&["blocked", "warning"], Verdict::Blocked),
        ] {
            let artifact: Artifact = serde_json::from_value(artifact(findings)).expect("an artifact");
            assert_eq!(artifact.verdict(), expected);
        }
    }
}
