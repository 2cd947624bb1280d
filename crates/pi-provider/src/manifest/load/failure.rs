//! Ring 1: what the provider's errors mean.

use indexmap::IndexMap;

use super::{Report, ring1::missing};
use crate::{
    error::ErrorCode,
    likeness::nearest,
    manifest::{
        diagnostic::{Rule, Severity},
        expression::{Checked, Words},
        failure::{ErrorClassification, MessagePattern},
        names,
        promote::Generation,
        tree::{Member, Node},
    },
};

const SECTION: &str = "error_classification";
const MEMBERS: [&str; 5] = ["by_http_status", "by_error_code", "by_error_message", "retry_after_extraction", "notes"];
/// What every provider must say.
const LEAST: [u16; 4] = [400, 401, 429, 500];

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Option<ErrorClassification> {
    let by_status = root.get(SECTION).and_then(|section| section.get("by_http_status"));
    let is_empty = by_status.is_none_or(|map| map.as_map().is_some_and(<[Member]>::is_empty));
    if is_empty && !generation.is_promoted() {
        let at = root.member(SECTION).map_or(root.at, |section| section.at);
        let path = if root.get(SECTION).is_some() { "error_classification.by_http_status" } else { SECTION };
        missing(report, Rule::ErrorSection, at, path, root.get(SECTION).unwrap_or(root));
        return None;
    }
    let mut classification = ErrorClassification::default();
    if let Some(section) = root.get(SECTION) {
        if section.as_map().is_none() {
            let message = format!("an object is expected, not {}", section.kind());
            report.error(Rule::ErrorSection, section.at, SECTION, message);
            return None;
        }
        read_section(section, &mut classification, report);
    }
    if is_empty {
        report.note(Rule::PromoteErrors, root.at, SECTION, "the usual meaning of each status is assumed");
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
                // Half of it would wait for another time than the provider asks for.
                classification.retry_after_extraction =
                    report.read(Severity::Error, Rule::RetryAfter, &member.node, &path);
            }
            "notes" => {
                let notes = report.read(Severity::Warning, Rule::Notes, &member.node, &path);
                classification.notes = notes.unwrap_or_default();
            }
            _ => report.ignore_member(member, path, &MEMBERS),
        }
    }
}

fn names_of(node: &Node, path: &str, report: &mut Report<'_>) -> IndexMap<String, ErrorCode> {
    let Some(members) = node.as_map() else {
        let message = format!("an object is expected, not {}", node.kind());
        report.error(Rule::ErrorSection, node.at, path, message);
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
    let name: String = report.read(Severity::Error, Rule::ErrorName, node, path)?;
    if let Some(code) = ErrorCode::from_name(&name) {
        return Some(code);
    }
    if let Some(code) = names::error_alias(&name) {
        let message = format!("{name:?} is not a standard error; it is read as {}", code.name());
        report.warning(Rule::ErrorName, node.at, path, message);
        report.hint(format!("write {}", code.name()));
        return Some(code);
    }
    report.error(Rule::ErrorName, node.at, path, format!("{name:?} is not a standard error"));
    if let Some(meant) = nearest(&name, ErrorCode::ALL.map(ErrorCode::name)).first() {
        report.hint(format!("did you mean {meant}?"));
    }
    None
}

fn check_statuses(node: &Node, path: &str, report: &mut Report<'_>) {
    for member in node.as_map().unwrap_or_default() {
        if !member.key.parse::<u16>().is_ok_and(|status| (100..600).contains(&status)) {
            let message = format!("{:?} is not an HTTP status", member.key);
            report.error(Rule::HttpStatus, member.at, &format!("{path}.{}", member.key), message);
        }
    }
}

/// The standard asks for four statuses, its own examples have files with one. What is missing is filled in; what means
/// something else than the standard says is believed, and told.
fn complete(by_status: &Node, classification: &mut ErrorClassification, report: &mut Report<'_>) {
    let path = "error_classification.by_http_status";
    let absent: Vec<u16> = LEAST.into_iter().filter(|status| by_status.get(&status.to_string()).is_none()).collect();
    if !absent.is_empty() {
        let words: Vec<String> = absent.iter().map(u16::to_string).collect();
        let message = format!("{} must be mapped too; the usual meaning is assumed", words.join(", "));
        report.warning(Rule::LeastStatuses, by_status.at, path, message);
        classification.assume(&absent);
    }
    for status in LEAST {
        let (key, usual) = (status.to_string(), ErrorCode::from_status(status));
        let (Some(&written), Some(node)) = (classification.by_http_status.get(&key), by_status.get(&key)) else {
            continue;
        };
        if written != usual {
            let message = format!("{key} is {} here; the standard asks for {}", written.name(), usual.name());
            report.warning(Rule::StatusMeaning, node.at, &format!("{path}.{key}"), message);
        }
    }
}

fn messages(node: &Node, path: &str, report: &mut Report<'_>) -> Vec<MessagePattern> {
    let mut patterns = Vec::new();
    let Some(list) = node.as_list() else {
        report.error(Rule::ErrorMessage, node.at, path, format!("a list is expected, not {}", node.kind()));
        return patterns;
    };
    for (index, item) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (Some(pattern), Some(maps_to)) = (item.get("pattern"), item.get("maps_to")) else {
            report.error(Rule::ErrorMessage, item.at, &path, "pattern and maps_to are expected");
            continue;
        };
        let code = code(maps_to, &format!("{path}.maps_to"), report);
        let words: Option<Checked<Words>> =
            report.read(Severity::Error, Rule::ErrorMessage, pattern, &format!("{path}.pattern"));
        if let (Some(maps_to), Some(words)) = (code, words) {
            patterns.push(MessagePattern { pattern: words.text, maps_to });
        }
    }
    patterns
}
