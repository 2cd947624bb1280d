//! The closed lists of other names, and the table of modules: data beside this file.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde::Deserialize;

use super::capability::Capability;
use crate::{error::ErrorCode, event::Termination};

/// What serves a capability.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Module {
    /// The standard's name of the module.
    pub module: String,
    /// Where this program does it; absent for what is only declared.
    #[serde(default)]
    pub served_by: Option<String>,
}

#[derive(Deserialize)]
struct Names {
    error_names: BTreeMap<String, ErrorCode>,
    terminations: BTreeMap<String, Termination>,
    capabilities: BTreeMap<String, Capability>,
    operations: BTreeMap<String, String>,
    thinking_formats: BTreeMap<String, String>,
    parameters: BTreeSet<String>,
}

static NAMES: LazyLock<Names> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("names.yaml")).expect("our own file, read by a test"));

static MODULES: LazyLock<BTreeMap<Capability, Module>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("modules.yaml")).expect("our own file, read by a test"));

/// The table of capabilities and the modules that serve them.
pub fn modules() -> &'static BTreeMap<Capability, Module> {
    &MODULES
}

/// The standard error that another name stands for.
pub(super) fn error_alias(name: &str) -> Option<ErrorCode> {
    NAMES.error_names.get(name).copied()
}

/// The standard reason that another name stands for.
pub(crate) fn termination_alias(name: &str) -> Option<Termination> {
    NAMES.terminations.get(name).copied()
}

/// The capability that a word of the first generation stands for.
pub(super) fn capability_alias(name: &str) -> Option<Capability> {
    NAMES.capabilities.get(name).copied()
}

/// The name under which an operation is kept.
pub(super) fn operation(name: &str) -> &str {
    NAMES.operations.get(name).map_or(name, String::as_str)
}

/// Whether the standard, or everybody, calls a parameter so.
pub(super) fn is_parameter(name: &str) -> bool {
    NAMES.parameters.contains(name)
}

/// Our name of a form that Pi calls otherwise.
pub(super) fn thinking_format(name: &str) -> Option<&'static str> {
    NAMES.thinking_formats.get(name).map(String::as_str)
}

/// Pi's names of the forms.
pub(super) fn thinking_formats() -> impl Iterator<Item = &'static str> {
    NAMES.thinking_formats.keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_a_module() {
        assert_eq!(modules().keys().copied().collect::<Vec<_>>(), {
            let mut all = Capability::ALL.to_vec();
            all.sort();
            all
        });
    }

    #[test]
    fn no_other_name_is_a_standard_one() {
        assert_eq!(NAMES.error_names.keys().find(|name| ErrorCode::from_name(name).is_some()), None);
        assert_eq!(NAMES.capabilities.keys().find(|name| Capability::from_name(name).is_some()), None);
        assert_eq!(NAMES.operations.values().find(|name| NAMES.operations.contains_key(*name)), None);
    }
}
