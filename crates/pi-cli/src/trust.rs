//! Whether somebody decided to trust a project: Pi's `trust.json` in the agent directory.
//!
//! It maps folders to `true`, `false` or `null` (not decided). The nearest folder with a decision counts. Whatever is
//! missing or cannot be understood is no decision, and without one a project is not trusted.

use std::path::Path;

use serde_json::Value;

/// What is known about a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Trusted,
    /// Nobody said yes: its manifests are shown and get no credentials.
    Untrusted,
}

/// Reads the decision for a folder from the text of `trust.json`. The folder is absolute and without links, as Pi writes it.
pub(crate) fn of_project(decisions: Option<&[u8]>, project: &Path) -> Trust {
    let decisions: Value = decisions.and_then(|it| serde_json::from_slice(it).ok()).unwrap_or_default();
    let decided = project.ancestors().find_map(|folder| decisions.get(folder.to_str()?)?.as_bool());
    if decided == Some(true) { Trust::Trusted } else { Trust::Untrusted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_decision_counts_and_none_is_no() {
        let decisions = r#"{"/work": true, "/work/bad": false, "/work/bad/good": true, "/work/open": null, "/odd": 1}"#;
        for (decisions, project, expected) in [
            (Some(decisions), "/work", Trust::Trusted),
            (Some(decisions), "/work/any/where", Trust::Trusted),
            (Some(decisions), "/work/bad", Trust::Untrusted),
            (Some(decisions), "/work/bad/good/x", Trust::Trusted),
            (Some(decisions), "/work/open", Trust::Trusted),
            (Some(decisions), "/workshop", Trust::Untrusted),
            (Some(decisions), "/odd", Trust::Untrusted),
            (Some("[]"), "/work", Trust::Untrusted),
            (Some("nonsense"), "/work", Trust::Untrusted),
            (None, "/work", Trust::Untrusted),
        ] {
            assert_eq!(of_project(decisions.map(str::as_bytes), Path::new(project)), expected, "{project}");
        }
    }
}
