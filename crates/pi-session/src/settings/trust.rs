//! Whether somebody decided to trust a project: Pi's `trust.json` in the agent directory.
//!
//! It maps folders to `true`, `false` or `null` (not decided). The nearest folder with a decision counts. Whatever is
//! missing or cannot be understood is no decision, and without one a project is not trusted unless the person chose
//! otherwise for all projects. What a decision covers is written in `docs/context.md`.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    DefaultTrust,
    change::{self, ChangeError},
    layer,
};

/// What is known about a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// Nobody said yes: what it brings is shown, and neither used nor given a credential.
    Untrusted,
}

impl Trust {
    fn of(is_trusted: bool) -> Self {
        if is_trusted { Self::Trusted } else { Self::Untrusted }
    }
}

/// The decisions that somebody took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decisions {
    folders: Map<String, Value>,
}

impl Decisions {
    /// Reads `trust.json` of the agent directory.
    pub fn read(agent: &Path) -> Self {
        layer::read(&agent.join("trust.json")).map(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    /// Reads the text of `trust.json`.
    pub fn parse(text: &[u8]) -> Self {
        Self { folders: serde_json::from_slice(text).unwrap_or_default() }
    }

    /// Every folder about which somebody decided, in the order of the file.
    pub fn list(&self) -> impl Iterator<Item = (&Path, Trust)> {
        self.folders.iter().filter_map(|(folder, decided)| Some((Path::new(folder), Trust::of(decided.as_bool()?))))
    }

    /// What was decided about a folder or the nearest one above it. The folder is absolute and without links, as Pi
    /// writes it.
    pub fn about(&self, folder: &Path) -> Option<Trust> {
        folder.ancestors().find_map(|folder| self.folders.get(folder.to_str()?)?.as_bool()).map(Trust::of)
    }

    /// Whether what a folder brings is used when there is nobody to ask.
    pub fn trust(&self, folder: &Path, default: DefaultTrust) -> Trust {
        self.about(folder).unwrap_or(match default {
            DefaultTrust::Always => Trust::Trusted,
            DefaultTrust::Ask | DefaultTrust::Never => Trust::Untrusted,
        })
    }
}

/// Writes a decision about a folder, which is absolute and without links.
pub fn decide(agent: &Path, folder: &Path, decision: Trust) -> Result<(), ChangeError> {
    put(agent, folder, Some(&Value::Bool(decision == Trust::Trusted)))
}

/// Takes the decision about a folder back; the one about a folder above it counts again, if there is one.
pub fn forget(agent: &Path, folder: &Path) -> Result<(), ChangeError> {
    put(agent, folder, None)
}

fn put(agent: &Path, folder: &Path, decision: Option<&Value>) -> Result<(), ChangeError> {
    let name = folder.to_str().ok_or_else(|| ChangeError::NotText { path: folder.to_owned() })?;
    change::put(&agent.join("trust.json"), &[name], decision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_decision_counts_and_none_is_no() {
        let decisions = r#"{"/work": true, "/work/bad": false, "/work/bad/good": true, "/work/open": null, "/odd": 1}"#;
        for (decisions, project, expected) in [
            (decisions, "/work", Trust::Trusted),
            (decisions, "/work/any/where", Trust::Trusted),
            (decisions, "/work/bad", Trust::Untrusted),
            (decisions, "/work/bad/good/x", Trust::Trusted),
            (decisions, "/work/open", Trust::Trusted),
            (decisions, "/workshop", Trust::Untrusted),
            (decisions, "/odd", Trust::Untrusted),
            ("[]", "/work", Trust::Untrusted),
            ("nonsense", "/work", Trust::Untrusted),
        ] {
            let decisions = Decisions::parse(decisions.as_bytes());
            assert_eq!(decisions.trust(Path::new(project), DefaultTrust::Ask), expected, "{project}");
        }
    }

    #[test]
    fn default_counts_only_without_a_decision() {
        let decisions = Decisions::parse(br#"{"/work/bad": false}"#);
        assert_eq!(decisions.trust(Path::new("/work"), DefaultTrust::Always), Trust::Trusted);
        assert_eq!(decisions.trust(Path::new("/work"), DefaultTrust::Never), Trust::Untrusted);
        assert_eq!(decisions.trust(Path::new("/work/bad/x"), DefaultTrust::Always), Trust::Untrusted);
    }

    #[test]
    fn decision_is_found_again() {
        let agent = tempfile::tempdir().unwrap();
        assert_eq!(Decisions::read(agent.path()).about(Path::new("/a/b.c")), None);
        decide(agent.path(), Path::new("/a/b.c"), Trust::Trusted).unwrap();
        decide(agent.path(), Path::new("/a/b.c/d"), Trust::Untrusted).unwrap();
        let decisions = Decisions::read(agent.path());
        assert_eq!(decisions.about(Path::new("/a/b.c/x")), Some(Trust::Trusted));
        assert_eq!(decisions.about(Path::new("/a/b.c/d/x")), Some(Trust::Untrusted));
        let listed: Vec<_> = decisions.list().collect();
        assert_eq!(listed, [(Path::new("/a/b.c"), Trust::Trusted), (Path::new("/a/b.c/d"), Trust::Untrusted)]);
        forget(agent.path(), Path::new("/a/b.c/d")).unwrap();
        assert_eq!(Decisions::read(agent.path()).about(Path::new("/a/b.c/d/x")), Some(Trust::Trusted));
    }
}
