//! Ring 3: filters. What of them cannot be used as written is said where they are written.

use super::{Report, ring3::object};
use crate::{
    error::Side,
    guardrail::{Fault, TYPES, problems},
    likeness::nearest,
    manifest::{
        diagnostic::{REFUSED_UNTIL_THEN, Rule, Severity},
        resilience::{Filter, Guardrails, UnreadFilter},
        tree::{Member, Node, Position},
    },
};

const RULE: Rule = Rule::GuardrailSection;

/// The lists of filters.
const LISTS: [&str; 2] = ["input_filters", "output_filters"];

pub(super) fn read(member: &Member, report: &mut Report<'_>) -> Guardrails {
    let mut guardrails = Guardrails::default();
    let Some(entries) = object(RULE, &member.node, &member.key, report) else {
        guardrails.unread.push(as_told(member.key.clone(), report));
        return guardrails;
    };
    for entry in entries.iter().filter(|entry| !entry.node.is_null()) {
        let path = format!("{}.{}", member.key, entry.key);
        let (side, filters) = match entry.key.as_str() {
            "input_filters" => (Side::Input, &mut guardrails.input_filters),
            "output_filters" => (Side::Output, &mut guardrails.output_filters),
            // What was not read of the file that this one was written from still refuses.
            "unread" => {
                let unread: Option<Vec<UnreadFilter>> = report.read(Severity::Warning, RULE, &entry.node, &path);
                match unread {
                    Some(unread) => guardrails.unread.extend(unread),
                    None => guardrails.unread.push(as_told(path, report)),
                }
                continue;
            }
            key => {
                match nearest(key, LISTS).first() {
                    Some(meant) => {
                        report.warning(RULE, entry.at, &path, format!("{key} is not known; {meant} is"));
                        guardrails.unread.push(as_told(path, report));
                    }
                    None => report.ignore_member(entry, path, &LISTS),
                }
                continue;
            }
        };
        let Some(list) = entry.node.as_list() else {
            report.warning(RULE, entry.node.at, &path, format!("a list is expected, not {}", entry.node.kind()));
            guardrails.unread.push(as_told(path, report));
            continue;
        };
        for (index, node) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let filter: Option<Filter> = report.read(Severity::Warning, RULE, node, &path);
            match filter {
                Some(filter) => {
                    check(node, &path, &filter, side, report);
                    filters.push(filter);
                }
                None if only_tells(node) => {}
                None => guardrails.unread.push(as_told(path, report)),
            }
        }
    }
    guardrails
}

/// A section that is not known, and whose name may be a slip for the one of the filters.
pub(super) fn read_misspelt(member: &Member, report: &mut Report<'_>) -> Option<UnreadFilter> {
    nearest(&member.key, ["guardrails"]).first()?;
    report.warning(RULE, member.at, &member.key, format!("{} is not known; guardrails is", member.key));
    Some(as_told(member.key.clone(), report))
}

/// What cannot be read here, with what was just said of it.
fn as_told(path: String, report: &mut Report<'_>) -> UnreadFilter {
    let Some(told) = report.diagnostics.last_mut() else { return UnreadFilter { path, reason: String::new() } };
    told.hint.push_str(&format!("; {REFUSED_UNTIL_THEN}"));
    UnreadFilter { path, reason: told.message.clone() }
}

fn refused() -> String {
    format!("correct it: {REFUSED_UNTIL_THEN}, because nothing may pass by it")
}

/// Whether a filter keeps nothing back, whatever else it says.
fn only_tells(node: &Node) -> bool {
    node.get("action").and_then(Node::as_str).is_some_and(|action| ["warn", "log"].contains(&action))
}

/// Compiles a filter as the client does, and tells each problem at its pattern.
fn check(node: &Node, path: &str, filter: &Filter, side: Side, report: &mut Report<'_>) {
    let patterns = node.get("patterns").and_then(Node::as_list).unwrap_or_default();
    for (index, item) in patterns.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
        let message = format!("a text is expected, not {}", item.kind());
        report.warning(RULE, item.at, &format!("{path}.patterns[{index}]"), message);
        if filter.action.keeps_back() {
            report.hint(refused());
        }
    }
    let is_told = |fault: &Fault| matches!(fault, Fault::NotTexts { member: "patterns" }) && !patterns.is_empty();
    for problem in problems(filter, side).into_iter().filter(|problem| !is_told(&problem.fault)) {
        let (rule, pattern) = match &problem.fault {
            Fault::NotAPattern { pattern } => (Rule::PatternSyntax, Some(pattern)),
            Fault::NeedsWhole { pattern } => (RULE, Some(pattern)),
            Fault::TooLarge
            | Fault::LooksForNothing
            | Fault::UnknownType { .. }
            | Fault::Unread { .. }
            | Fault::NotTexts { .. }
            | Fault::Misspelt { .. } => (RULE, None),
        };
        let (at, path) = pattern.and_then(|pattern| place(patterns, path, pattern)).unwrap_or_else(|| {
            let member = match &problem.fault {
                Fault::UnknownType { .. } => Some("type"),
                Fault::NotTexts { member } => Some(*member),
                Fault::Misspelt { member, .. } => Some(member.as_str()),
                Fault::NotAPattern { .. }
                | Fault::TooLarge
                | Fault::LooksForNothing
                | Fault::Unread { .. }
                | Fault::NeedsWhole { .. } => None,
            };
            let found = member.and_then(|member| Some((node.get(member)?.at, format!("{path}.{member}"))));
            found.unwrap_or_else(|| (node.at, path.to_owned()))
        });
        report.warning(rule, at, &path, problem.fault.to_string());
        if let Fault::UnknownType { meant } = problem.fault {
            let refusal = if problem.is_open() { format!("; {REFUSED_UNTIL_THEN}") } else { String::new() };
            let advice = meant.map_or_else(|| "give it patterns or words".to_owned(), |it| format!("write {it}"));
            report.hint(format!("{advice}; known types are {}{refusal}", TYPES.join(", ")));
        } else if problem.is_open() {
            report.hint(refused());
        } else if matches!(problem.fault, Fault::NeedsWhole { .. }) {
            report.hint("bound its repetitions, such as {1,64} for +, and leave out ^ and $");
        }
    }
}

/// Where a pattern stands.
fn place(patterns: &[Node], path: &str, pattern: &str) -> Option<(Position, String)> {
    let index = patterns.iter().position(|item| item.as_str() == Some(pattern))?;
    Some((patterns[index].at, format!("{path}.patterns[{index}]")))
}
