//! Ring 1: who the provider is, where it is, how a caller shows who they are, and what its errors mean.

use std::sync::LazyLock;

use pi_transcript::ProviderId;
use regex::Regex;

use super::{Report, endpoint, failure};
use crate::manifest::{
    diagnostic::Severity,
    endpoint::Endpoint,
    failure::ErrorClassification,
    promote::Generation,
    tree::{Node, Position},
};

/// The parts of a manifest without which there is none.
pub(super) struct Ring1 {
    pub id: ProviderId,
    pub aliases: Vec<String>,
    pub protocol_version: String,
    pub endpoint: Endpoint,
    pub error_classification: ErrorClassification,
}

static ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z0-9][a-z0-9-_]{1,63}$").expect("the pattern of the standard"));

/// Whether a provider may be called that.
pub(crate) fn is_id(text: &str) -> bool {
    ID.is_match(text)
}

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<Ring1> {
    let id = id(root, report);
    let protocol_version = version(root, report);
    let endpoint = endpoint::read(root, generation, report);
    let error_classification = failure::read(root, generation, report);
    if report.has_errors() {
        return None;
    }
    Some(Ring1 {
        id: id?,
        aliases: aliases(root, report),
        protocol_version: protocol_version?,
        endpoint: endpoint?,
        error_classification: error_classification?,
    })
}

/// A missing member is pointed at where it should be: at the beginning of the object.
pub(super) fn missing(report: &mut Report<'_>, rule: &'static str, at: Position, path: &str) {
    report.error(rule, at, path, format!("{path} is missing"));
}

fn id(root: &Node, report: &mut Report<'_>) -> Option<ProviderId> {
    let Some(node) = root.get("id") else {
        missing(report, "ring1.id", root.at, "id");
        return None;
    };
    let text: String = report.read(Severity::Error, "ring1.id", node, "id")?;
    if !is_id(&text) {
        report.error("ring1.id", node.at, "id", format!("{text:?} is not an id"));
        report.hint("2 to 64 lower case letters, digits, - and _, beginning with a letter or digit");
        return None;
    }
    Some(ProviderId(text))
}

fn aliases(root: &Node, report: &mut Report<'_>) -> Vec<String> {
    let Some(node) = root.get("aliases") else { return Vec::new() };
    let names: Vec<String> = report.read(Severity::Warning, "ring1.aliases", node, "aliases").unwrap_or_default();
    let mut kept = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        if is_alias(&name) {
            kept.push(name);
        } else {
            let at = node.as_list().and_then(|list| list.get(index)).map_or(node.at, |item| item.at);
            report.warning("ring1.aliases", at, &format!("aliases[{index}]"), format!("{name:?} is not a name"));
        }
    }
    kept
}

/// People type aliases, so they are freer than ids: `llama.cpp`. A slash would end them.
fn is_alias(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    (1..=64).contains(&text.len()) && text.chars().all(is_letter)
}

fn version(root: &Node, report: &mut Report<'_>) -> Option<String> {
    let Some(node) = root.get("protocol_version") else {
        missing(report, "ring1.protocol-version", root.at, "protocol_version");
        report.hint("write protocol_version: \"2.0\"");
        return None;
    };
    let Some(text) = crate::manifest::promote::written_version(root) else {
        let message = format!("a version is expected, not {}", node.kind());
        report.error("ring1.protocol-version", node.at, "protocol_version", message);
        return None;
    };
    if node.as_str().is_none() {
        let message = "the version should be a text";
        report.warning("ring1.protocol-version", node.at, "protocol_version", message);
        report.hint("put the value in quotes");
    }
    match Generation::of(root) {
        Generation::Unknown => {
            let message = format!("version {text:?} is not known");
            report.error("ring1.protocol-version", node.at, "protocol_version", message);
            report.hint("2.0 is read as it is, 1.x is promoted");
            None
        }
        Generation::First | Generation::Nested | Generation::Second => Some(text),
    }
}
