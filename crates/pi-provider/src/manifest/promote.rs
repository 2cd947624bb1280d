//! Older shapes of a manifest into the one that is read.
//!
//! Works on the tree, so that every value keeps the place where it was written. Files of the first generation (1.1 and
//! 1.5), the nested shape (`core: {endpoint: …}`) and mixtures of all come out as the second; the second gets its paths
//! and models moved to where this crate keeps them.

mod contract;
mod first;
pub(super) mod models;
pub(super) mod operations;

use super::{
    load::Report,
    tree::{Node, Tree},
};

/// How old the shape of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// 1.x.
    First,
    /// 2.0, with everything under `core`.
    Nested,
    /// 2.0.
    Second,
    /// Any other version, or none.
    Unknown,
}

impl Generation {
    /// Whether what is missing is filled in with defaults.
    pub(super) fn is_promoted(self) -> bool {
        match self {
            Self::First | Self::Nested => true,
            Self::Second | Self::Unknown => false,
        }
    }

    pub(super) fn of(root: &Node) -> Self {
        match written_version(root).as_deref() {
            Some("2.0") if root.get("endpoint").is_none() && root.find("core.endpoint").is_some() => Self::Nested,
            Some("2.0") => Self::Second,
            Some(version) if version == "1" || version.starts_with("1.") => Self::First,
            Some(_) | None => Self::Unknown,
        }
    }
}

/// The version as it is written; a number without quotes is taken for what it looks like.
pub(super) fn written_version(root: &Node) -> Option<String> {
    match &root.get("protocol_version")?.value {
        Tree::Text(text) => Some(text.clone()),
        Tree::Number(number) => Some(number.to_string()),
        Tree::Null | Tree::Bool(_) | Tree::List(_) | Tree::Map(_) => None,
    }
}

/// Brings a tree into the shape that is read. Members that have no place in it are left where they are.
pub(super) fn promote(root: &mut Node, generation: Generation, report: &mut Report<'_>) {
    match generation {
        Generation::First => first::promote(root, report),
        Generation::Nested => {
            lift(root);
            first::promote(root, report);
        }
        Generation::Second | Generation::Unknown => first::hybrid(root, report),
    }
    operations::gather(root, generation);
    if let Some(performance) = root.take("performance")
        && let Some(experimental) = root.map_mut("experimental", performance.at)
    {
        experimental.set_default("performance", performance.at, performance.node);
    }
    models::rules(root);
}

/// What stands under `core` belongs to the root.
fn lift(root: &mut Node) {
    let Some(core) = root.take("core") else { return };
    let at = core.node.at;
    if let Tree::Map(members) = core.node.value {
        for member in members {
            root.set_default(&member.key, member.at, member.node);
        }
    } else {
        root.set("core", at, core.node);
    }
}
