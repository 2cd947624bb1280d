//! What stands for the levels of a model's thinking, held against the form in which they are sent. Only the whole manifest
//! says which form that is.

use super::Report;
use crate::{
    manifest::{Manifest, diagnostic::Rule, tree::Node},
    request::{Misfit, misfits},
};

/// Tells of levels that the form of their model cannot carry.
pub(super) fn check(root: &Node, manifest: &Manifest, report: &mut Report<'_>) {
    let Some(models) = root.find("metadata.models") else { return };
    for (id, entry) in &manifest.models {
        let Some(levels) = models.get(id).and_then(|model| model.get("thinking_levels")) else { continue };
        for Misfit { level, value, measure } in misfits(manifest, entry) {
            let at = levels.get(&level).map_or(levels.at, |node| node.at);
            let path = format!("metadata.models.{id}.thinking_levels.{level}");
            let message =
                format!("{value} is no {measure}, and the form of this model carries nothing else; its own is sent");
            report.warning(Rule::ThinkingLevels, at, &path, message);
        }
    }
}
