//! Ring 3: filters. What of them cannot be used as written is said where they are written.

use super::{Report, ring3::object};
use crate::{
    error::Side,
    guardrail::{Fault, TYPES, problems},
    manifest::{
        diagnostic::{Rule, Severity},
        resilience::{Filter, Guardrails},
        tree::{Member, Node, Position},
    },
};

const RULE: Rule = Rule::GuardrailSection;

pub(super) fn read(member: &Member, report: &mut Report<'_>) -> Guardrails {
    let mut guardrails = Guardrails::default();
    for entry in object(RULE, &member.node, &member.key, report).unwrap_or_default() {
        let path = format!("{}.{}", member.key, entry.key);
        let (side, filters) = match entry.key.as_str() {
            _ if entry.node.is_null() => continue,
            "input_filters" => (Side::Input, &mut guardrails.input_filters),
            "output_filters" => (Side::Output, &mut guardrails.output_filters),
            _ => {
                report.ignore_member(entry, path, &["input_filters", "output_filters"]);
                continue;
            }
        };
        let Some(list) = entry.node.as_list() else {
            report.warning(RULE, entry.node.at, &path, format!("a list is expected, not {}", entry.node.kind()));
            continue;
        };
        for (index, node) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let filter: Option<Filter> = report.read(Severity::Warning, RULE, node, &path);
            if let Some(filter) = filter {
                check(node, &path, &filter, side, report);
                filters.push(filter);
            }
        }
    }
    guardrails
}

/// Compiles a filter as the client does, and tells each problem at its pattern.
fn check(node: &Node, path: &str, filter: &Filter, side: Side, report: &mut Report<'_>) {
    let patterns = node.get("patterns").and_then(Node::as_list).unwrap_or_default();
    for (index, item) in patterns.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
        let message = format!("a text is expected, not {}", item.kind());
        report.warning(RULE, item.at, &format!("{path}.patterns[{index}]"), message);
    }
    for problem in problems(filter, side) {
        let (rule, pattern) = match &problem.fault {
            Fault::NotAPattern { pattern } => (Rule::PatternSyntax, Some(pattern)),
            Fault::NeedsWhole { pattern } => (RULE, Some(pattern)),
            Fault::TooLarge | Fault::LooksForNothing | Fault::UnknownType { .. } => (RULE, None),
        };
        let (at, path) = pattern.and_then(|pattern| place(patterns, path, pattern)).unwrap_or_else(|| {
            let kind = node.get("type").filter(|_| matches!(problem.fault, Fault::UnknownType { .. }));
            kind.map_or_else(|| (node.at, path.to_owned()), |kind| (kind.at, format!("{path}.type")))
        });
        report.warning(rule, at, &path, problem.fault.to_string());
        if let Fault::UnknownType { meant } = problem.fault {
            let refusal = if problem.is_open() { "; calls are refused until then" } else { "" };
            let advice = meant.map_or_else(|| "give it patterns or words".to_owned(), |it| format!("write {it}"));
            report.hint(format!("{advice}; known types are {}{refusal}", TYPES.join(", ")));
        } else if problem.is_open() {
            report.hint("correct it: calls are refused until then, because nothing may pass by it");
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
