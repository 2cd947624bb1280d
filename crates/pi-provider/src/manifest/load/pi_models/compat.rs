//! What Pi calls compatibility: what of it means something here, and what is wrong with it.

use serde_json::{Map, Value};

use super::{super::Report, name_levels};
use crate::manifest::{
    diagnostic::Rule,
    model::ModelEntry,
    names,
    quirks::{self, Quirks},
    tree::Node,
};

/// The only form of marks for the cache that Pi has.
const CACHE_FORMATS: [&str; 1] = ["anthropic"];

/// Lists what of the `compat` of a provider or a model is not known, and tells what cannot be what it should be.
pub(super) fn check(node: &Node, path: &str, report: &mut Report<'_>) {
    let members = node.get("compat").and_then(Node::as_map).unwrap_or_default();
    for member in members.iter().filter(|member| !member.node.is_null()) {
        let path = format!("{path}.compat.{}", member.key);
        let value = member.node.to_json();
        let Some(kind) = quirks::kind(&member.key) else {
            report.ignore_member(member, path, &quirks::known());
            continue;
        };
        let mut tell = |message: String| report.warning(Rule::PiCompat, member.node.at, &path, message);
        if !kind.is(&value) {
            tell(format!("{} is expected, not {}; it is left out", kind.name(), member.node.kind()));
        }
        match (member.key.as_str(), member.node.as_str()) {
            ("thinkingFormat", Some(word)) if names::thinking_format(word).is_none() => {
                let known = names::thinking_formats().collect::<Vec<_>>().join(", ");
                tell(format!("the form {word:?} is not known; {known} are"));
            }
            ("cacheControlFormat", Some(word)) if !CACHE_FORMATS.contains(&word) => {
                tell(format!("the form {word:?} is not known; {} is", CACHE_FORMATS.join(", ")));
            }
            _ => {}
        }
    }
}

/// Lays `compat` over what a model has of it; all of it stays with the model.
pub(crate) fn apply(entry: &mut ModelEntry, compat: &Map<String, Value>) {
    if compat.is_empty() {
        return;
    }
    let known = entry.extra.shift_remove("compat");
    let mut merged = known.and_then(|known| known.as_object().cloned()).unwrap_or_default();
    quirks::merge(&mut merged, compat);
    let quirks = Quirks::of(&merged);
    if let Some(field) = &quirks.max_tokens_field {
        entry.parameter_aliases.insert("max_tokens".to_owned(), field.clone());
    }
    if let Some(format) = quirks.thinking_format {
        entry.thinking_format = Some(format.to_owned());
    }
    entry.cache_markers = quirks.cache_markers.or(entry.cache_markers);
    if let Some(Value::Object(levels)) = compat.get("reasoningEffortMap") {
        name_levels(entry, levels.clone().into_iter().collect());
    }
    entry.quirks = Some(Box::new(quirks));
    entry.extra.insert("compat".to_owned(), Value::Object(merged));
}
