//! The policy in force: settings resolved, patterns compiled.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use pi_extproto::capability::{Capability, Method};

use crate::{
    answers::{Answers, Remembered},
    glob::{self, PathPatterns, Purpose},
    moment::Moment,
    place::Location,
    request::{Action, Subject},
    target::Scope,
};

/// What happens where no rule has an answer, from the strictest to the most lenient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Deny; default capabilities are empty.
    Strict,
    /// Weigh the evidence; allow if that is the smaller loss, otherwise ask a person.
    Prompt,
    /// Allow, with a warning in the log.
    Permissive,
}

/// Everything that was written about who may do what, ready to be asked. See [`crate::config`] for how it is made.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) extensions: Ruleset,
    pub(crate) agent: Ruleset,
    pub(crate) max_memory_mb: u64,
    pub(crate) answers: Answers,
}

/// The rules for one kind of subject.
#[derive(Debug, Clone)]
pub(crate) struct Ruleset {
    pub(crate) mode: Mode,
    /// What is written for a subject by name.
    pub(crate) by_name: HashMap<String, OwnRules>,
    pub(crate) global_denies: Vec<Arc<Entry>>,
    pub(crate) default_denies: Vec<Capability>,
    pub(crate) default_capabilities: Vec<Capability>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct OwnRules {
    pub(crate) denies: Vec<Arc<Entry>>,
    pub(crate) grants: Vec<Arc<Entry>>,
}

/// A grant or deny as written, with its patterns compiled.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where it is written: `extensions.policy.grants["x"][0]`, or the command that somebody decided it with.
    pub(crate) source: Arc<str>,
    /// The capability, or every capability.
    pub(crate) capability: Option<Capability>,
    pub(crate) methods: Option<Vec<Method>>,
    pub(crate) scope: Scope,
    pub(crate) versions: Option<VersionReq>,
    pub(crate) expires: Option<Moment>,
    /// Where the extension comes from that is meant.
    pub(crate) origin: Option<String>,
}

/// The name under which the rules for the agent are kept in its own [`Ruleset`].
pub(crate) const AGENT: &str = "agent";

impl Policy {
    pub fn mode(&self) -> Mode {
        self.extensions.mode
    }

    /// The memory that one extension may use. Policy only carries the number: the runtimes enforce it.
    pub fn max_memory_mb(&self) -> u64 {
        self.max_memory_mb
    }

    /// What people said in this session.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The same policy, with one more thing that a person said in this session. Nothing is compiled again.
    #[must_use]
    pub fn with_answer(mut self, answer: Remembered) -> Self {
        self.answers = self.answers.with(answer);
        self
    }

    /// The same policy, with what people said in this session: for settings that were read again.
    #[must_use]
    pub fn with_answers(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }

    /// The same policy, in which the agent may also read what a location names, unless a deny names it: something that was
    /// made for it outside of where it may read.
    #[must_use]
    pub fn with_readable(mut self, location: &Location) -> Self {
        let compiled = glob::naming(location).map(|pattern| PathPatterns::compile(&[pattern], Purpose::Grant));
        let Some(Ok(paths)) = compiled else { return self };
        let grant = Entry {
            source: "this session".into(),
            capability: Some(Capability::Read),
            methods: None,
            scope: Scope { paths: Some(Arc::new(paths)), ..Scope::default() },
            versions: None,
            expires: None,
            origin: None,
        };
        self.agent.by_name.entry(AGENT.to_owned()).or_default().grants.push(Arc::new(grant));
        self
    }

    pub(crate) fn rules(&self, subject: &Subject) -> (&Ruleset, Option<&OwnRules>) {
        let (rules, name) = match subject {
            Subject::Agent => (&self.agent, AGENT),
            Subject::Extension(extension) => (&self.extensions, extension.id()),
        };
        (rules, rules.by_name.get(name))
    }
}

impl Entry {
    pub(crate) fn speaks_of(&self, capability: &Capability) -> bool {
        self.capability.as_ref().is_none_or(|own| own == capability)
    }

    pub(crate) fn has_method(&self, method: &Method) -> bool {
        self.methods.as_ref().is_none_or(|methods| methods.contains(method))
    }

    /// Whether a grant was given to this extension, and not to another of its name.
    pub(crate) fn admits_origin(&self, action: &Action) -> bool {
        self.origin.as_ref().is_none_or(|origin| match &action.subject {
            Subject::Agent => false,
            Subject::Extension(extension) => extension.origins().contains(origin),
        })
    }

    /// Whether a grant holds for the version: it must be known and in the range.
    pub(crate) fn admits_version(&self, action: &Action) -> bool {
        self.versions.as_ref().is_none_or(|range| version(action).is_some_and(|version| range.matches(version)))
    }

    /// Whether a deny holds for the version: unless it is known and out of the range.
    pub(crate) fn touches_version(&self, action: &Action) -> bool {
        self.versions.as_ref().is_none_or(|range| {
            version(action).is_none_or(|version| neighbours(version).iter().any(|version| range.matches(version)))
        })
    }
}

/// The version itself; for a pre-release also its release and the version before, because a range as people write it
/// passes over pre-releases: `1.9.0-x` would slip through a deny of `<2`, and `2.0.0-x` as well.
fn neighbours(version: &Version) -> Vec<Version> {
    if version.pre.is_empty() {
        return vec![version.clone()];
    }
    let Version { major, minor, patch, .. } = *version;
    let before = match (major, minor, patch) {
        (0, 0, 0) => None,
        (major, 0, 0) => Some(Version::new(major - 1, u64::MAX, u64::MAX)),
        (major, minor, 0) => Some(Version::new(major, minor - 1, u64::MAX)),
        (major, minor, patch) => Some(Version::new(major, minor, patch - 1)),
    };
    let release = Version::new(major, minor, patch);
    [version.clone(), release].into_iter().chain(before).collect()
}

fn version(action: &Action) -> Option<&Version> {
    match &action.subject {
        Subject::Agent => None,
        Subject::Extension(extension) => extension.parsed_version(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deny_of_versions_does_not_pass_over_pre_releases() {
        let touches = |range: &str, version: &str| {
            let range = VersionReq::parse(range).expect("a range");
            neighbours(&Version::parse(version).expect("a version")).iter().any(|version| range.matches(version))
        };
        for (range, version, expected) in [
            ("<2", "1.9.0-x", true),
            ("<2", "2.0.0-x", true),
            ("<2", "2.0.1-x", false),
            ("<2", "2.0.0", false),
            ("^1.2", "1.2.0-x", true),
            (">=1", "0.9.0-x", false),
        ] {
            assert_eq!(touches(range, version), expected, "{range} {version}");
        }
    }
}
