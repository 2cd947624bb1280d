//! Ring 1: what the provider's errors mean.

use indexmap::IndexMap;
use regex::Regex;

use super::{Report, ring1::missing};
use crate::{
    error::ErrorCode,
    manifest::{
        diagnostic::Severity,
        failure::{ErrorClassification, MessagePattern},
        names,
        promote::Generation,
        tree::{Member, Node},
    },
};

const SECTION: &str = "error_classification";
/// What every provider must say.
const LEAST: [u16; 4] = [400, 401, 429, 500];

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<ErrorClassification> {
    let by_status = root.get(SECTION).and_then(|section| section.get("by_http_status"));
    let is_empty = by_status.is_none_or(|map| map.as_map().is_some_and(<[Member]>::is_empty));
    if is_empty && !generation.is_promoted() {
        let at = root.member(SECTION).map_or(root.at, |section| section.at);
        let path = if root.get(SECTION).is_some() { "error_classification.by_http_status" } else { SECTION };
        missing(report, "ring1.error-classification", at, path);
        report.hint("map at least 400, 401, 429 and 500 to standard names");
        return None;
    }
    let mut classification = ErrorClassification::default();
    if let Some(section) = root.get(SECTION) {
        if section.as_map().is_none() {
            let message = format!("an object is expected, not {}", section.kind());
            report.error("ring1.error-classification", section.at, SECTION, message);
            return None;
        }
        read_section(section, &mut classification, report);
    }
    if is_empty {
        report.note("promote.error-classification", root.at, SECTION, "the usual meaning of each status is assumed");
        classification.assume_usual();
    } else if let Some(by_status) = by_status {
        complete(by_status, &mut classification, report);
    }
    Some(classification)
}

fn read_section(section: &Node, classification: &mut ErrorClassification, report: &mut Report<'_>) {
    for member in section.as_map().unwrap_or_default() {
        let path = format!("{SECTION}.{}", member.key);
        match member.key.as_str() {
            _ if member.node.is_null() => {}
            "by_http_status" => {
                classification.by_http_status = names_of(&member.node, &path, report);
                check_statuses(&member.node, &path, report);
            }
            "by_error_code" => classification.by_error_code = names_of(&member.node, &path, report),
            "by_error_message" => classification.by_error_message = messages(&member.node, &path, report),
            "retry_after_extraction" => {
                let rule = "ring1.retry-after";
                classification.retry_after_extraction = report.read(Severity::Warning, rule, &member.node, &path);
            }
            "notes" => {
                let notes = report.read(Severity::Warning, "ring1.notes", &member.node, &path);
                classification.notes = notes.unwrap_or_default();
            }
            _ => report.ignore(member.at, path),
        }
    }
}

fn names_of(node: &Node, path: &str, report: &mut Report<'_>) -> IndexMap<String, ErrorCode> {
    let Some(members) = node.as_map() else {
        let message = format!("an object is expected, not {}", node.kind());
        report.error("ring1.error-classification", node.at, path, message);
        return IndexMap::new();
    };
    let named = members.iter().filter_map(|member| {
        let code = code(&member.node, &format!("{path}.{}", member.key), report)?;
        Some((member.key.clone(), code))
    });
    named.collect()
}

/// A standard name, or one of the closed list of others.
fn code(node: &Node, path: &str, report: &mut Report<'_>) -> Option<ErrorCode> {
    let name: String = report.read(Severity::Error, "ring1.error-name", node, path)?;
    if let Some(code) = ErrorCode::from_name(&name) {
        return Some(code);
    }
    if let Some(code) = names::error_alias(&name) {
        let message = format!("{name:?} is not a standard error; it is read as {}", code.name());
        report.warning("ring1.error-name", node.at, path, message);
        report.hint(format!("write {}", code.name()));
        return Some(code);
    }
    report.error("ring1.error-name", node.at, path, format!("{name:?} is not a standard error"));
    report.hint(ErrorCode::ALL.map(ErrorCode::name).join(", "));
    None
}

fn check_statuses(node: &Node, path: &str, report: &mut Report<'_>) {
    for member in node.as_map().unwrap_or_default() {
        if !member.key.parse::<u16>().is_ok_and(|status| (100..600).contains(&status)) {
            let message = format!("{:?} is not an HTTP status", member.key);
            report.error("ring1.status", member.at, &format!("{path}.{}", member.key), message);
        }
    }
}

/// The standard asks for four statuses, its own examples have files with one. What is missing is filled in.
fn complete(by_status: &Node, classification: &mut ErrorClassification, report: &mut Report<'_>) {
    let absent: Vec<u16> =
        LEAST.into_iter().filter(|status| !classification.by_http_status.contains_key(&status.to_string())).collect();
    if absent.is_empty() || report.has_errors() {
        return;
    }
    let words: Vec<String> = absent.iter().map(u16::to_string).collect();
    let path = "error_classification.by_http_status";
    let message = format!("{} must be mapped too; the usual meaning is assumed", words.join(", "));
    report.warning("ring1.least-statuses", by_status.at, path, message);
    report.hint("map at least 400, 401, 429 and 500 to standard names");
    classification.assume(&absent);
}

fn messages(node: &Node, path: &str, report: &mut Report<'_>) -> Vec<MessagePattern> {
    let mut patterns = Vec::new();
    let Some(list) = node.as_list() else {
        report.error("ring1.error-message", node.at, path, format!("a list is expected, not {}", node.kind()));
        return patterns;
    };
    for (index, item) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (Some(pattern), Some(maps_to)) = (item.get("pattern"), item.get("maps_to")) else {
            report.error("ring1.error-message", item.at, &path, "pattern and maps_to are expected");
            continue;
        };
        let code = code(maps_to, &format!("{path}.maps_to"), report);
        let text: Option<String> =
            report.read(Severity::Error, "ring1.error-message", pattern, &format!("{path}.pattern"));
        let (Some(maps_to), Some(text)) = (code, text) else { continue };
        match Regex::new(&text) {
            Ok(_) => patterns.push(MessagePattern { pattern: text, maps_to }),
            Err(_) => {
                let message = "the pattern cannot be read and is left out";
                report.warning("ring1.error-message", pattern.at, &format!("{path}.pattern"), message);
            }
        }
    }
    patterns
}
