//! The list of keys that are understood, as data.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// A key of a settings file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// With one dot where it stands in a group: `compaction.enabled`.
    pub key: &'static str,
    /// What it should be, as people read it: `a number`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The built-in value; `null` for none.
    pub default: Value,
    pub meaning: &'static str,
    /// What a number counts: `ms`, `tokens`.
    #[serde(default)]
    pub unit: Option<&'static str>,
    /// A project cannot choose it.
    #[serde(default)]
    pub personal: bool,
    /// Sessions do nothing with it: Pi has it, or others read it. It is known, so that nobody is told of a mistake.
    #[serde(default)]
    pub unused: bool,
}

static KEYS: LazyLock<Vec<Key>> =
    LazyLock::new(|| serde_json::from_str(include_str!("keys.json")).expect("keys.json is checked by a test"));

/// Every key, grouped by what it is about.
pub fn all() -> &'static [Key] {
    &KEYS
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.key == name)
}

/// Whether keys stand in a group of this name.
pub(super) fn is_group(name: &str) -> bool {
    KEYS.iter().any(|key| key.key.split_once('.').is_some_and(|(group, _)| group == name))
}
