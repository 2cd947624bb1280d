//! The rules, in the order in which they are asked. The order is data: the walk in `chain` follows [`Rule::ORDER`].

use std::fmt;

use serde::Serialize;

/// One rule of the chain. The first that has an answer decides; [`Rule::Mode`] always has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// What a project brings along does nothing before the project is trusted.
    Trust,
    /// A deny that is written for this extension.
    ExtensionDeny,
    /// A deny that is written for all: `deny_caps`, or `denies` under `*`.
    GlobalDeny,
    /// What everybody has unless one of the two denies above takes it away.
    Given,
    /// An extension that announced what it needs gets nothing that it did not announce.
    Declaration,
    /// A grant that is written for this extension.
    ExtensionGrant,
    /// What is denied although nobody wrote it.
    DefaultDeny,
    /// What everybody may do within the default reach; nothing in `strict`.
    DefaultCapability,
    /// `strict` denies, `prompt` weighs the evidence and allows or asks, `permissive` allows with a warning.
    Mode,
}

impl Rule {
    /// Every rule, first to last.
    pub const ORDER: [Self; 9] = [
        Self::Trust,
        Self::ExtensionDeny,
        Self::GlobalDeny,
        Self::Given,
        Self::Declaration,
        Self::ExtensionGrant,
        Self::DefaultDeny,
        Self::DefaultCapability,
        Self::Mode,
    ];

    /// The place in [`Rule::ORDER`], counted from one as people do.
    pub const fn index(self) -> usize {
        self as usize + 1
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::ExtensionDeny => "extension deny",
            Self::GlobalDeny => "global deny",
            Self::Given => "given",
            Self::Declaration => "declaration",
            Self::ExtensionGrant => "extension grant",
            Self::DefaultDeny => "default deny",
            Self::DefaultCapability => "default capability",
            Self::Mode => "mode",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_stands_at_its_index() {
        for (position, rule) in Rule::ORDER.into_iter().enumerate() {
            assert_eq!(rule.index(), position + 1, "{rule}");
        }
    }
}
