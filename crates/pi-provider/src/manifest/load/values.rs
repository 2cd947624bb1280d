//! Values that can be read and still cannot be meant: methods that nobody has, dates that are none, words of a closed list.
//! They are told where they stand, and stay as they are written.

use super::{Report, words};
use crate::manifest::{
    diagnostic::Rule,
    tree::{Node, Tree},
};

const CATEGORIES: [&str; 3] = ["ai_provider", "model_provider", "third_party_aggregator"];
const TRANSPORTS: [&str; 3] = ["stdio", "sse", "streamable_http"];
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
/// A question whether somebody is there changes nothing.
const CHECKS: [&str; 2] = ["HEAD", "GET"];
const FALLBACKS: [&str; 3] = ["HEAD", "GET", "POST"];
const LEAST_INTERVAL_MS: u64 = 1000;

/// Looks at every such value of a manifest.
pub(super) fn check(root: &Node, report: &mut Report<'_>) {
    if let Some(category) = root.get("category") {
        tell(category, "category", &CATEGORIES, Rule::Category, report);
    }
    for (section, rule) in [("endpoints", Rule::OperationSection), ("services", Rule::ServiceSection)] {
        for member in root.get(section).and_then(Node::as_map).unwrap_or_default() {
            method(member.node.get("method"), &format!("{section}.{}.method", member.key), &METHODS, rule, report);
        }
    }
    for (path, known) in [("availability.check.method", &CHECKS[..]), ("availability.fallback.method", &FALLBACKS[..])]
    {
        method(root.find(path), path, known, Rule::AvailabilitySection, report);
    }
    interval(root, report);
    for side in ["client", "server"] {
        mcp(root, side, report);
    }
    protocol(root, report);
}

fn tell(node: &Node, path: &str, known: &[&str], rule: Rule, report: &mut Report<'_>) {
    if let Some(written) = node.as_str().filter(|written| !known.contains(written)) {
        report.warning(rule, node.at, path, format!("{written:?} is not one of {}", known.join(", ")));
        report.hint(words::advice(written, known));
    }
}

/// Methods are the same in any case.
fn method(node: Option<&Node>, path: &str, known: &[&str], rule: Rule, report: &mut Report<'_>) {
    let Some(node) = node else { return };
    let is_known = |written: &str| known.iter().any(|known| known.eq_ignore_ascii_case(written));
    if !node.as_str().is_some_and(is_known) {
        tell(node, path, known, rule, report);
    }
}

fn interval(root: &Node, report: &mut Report<'_>) {
    let path = "availability.interval_ms";
    let Some(node) = root.find(path) else { return };
    if let Tree::Number(number) = &node.value
        && let Some(written) = number.as_u64().filter(|written| *written < LEAST_INTERVAL_MS)
    {
        let message = format!("{written} is under {LEAST_INTERVAL_MS} ms");
        report.warning(Rule::AvailabilitySection, node.at, path, message);
        report.hint("write 1000 or more: whoever asks more often is in the way");
    }
}

fn mcp(root: &Node, side: &str, report: &mut Report<'_>) {
    let Some(node) = root.find(&format!("mcp.{side}")) else { return };
    for (index, transport) in node.get("transports").and_then(Node::as_list).unwrap_or_default().iter().enumerate() {
        let path = format!("mcp.{side}.transports[{index}]");
        tell(transport, &path, &TRANSPORTS, Rule::McpSection, report);
    }
    if let Some(version) = node.get("protocol_version")
        && let Some(written) = version.as_str().filter(|written| !is_date(written))
    {
        let path = format!("mcp.{side}.protocol_version");
        report.warning(Rule::McpSection, version.at, &path, format!("{written:?} is not a date"));
        report.hint("versions of the protocol are dates, such as 2025-06-18");
    }
}

/// What the address says counts.
fn protocol(root: &Node, report: &mut Report<'_>) {
    let path = "endpoint.protocol";
    let (Some(node), Some(address)) = (root.find(path), root.find("endpoint.base_url").and_then(Node::as_str)) else {
        return;
    };
    let (Some(written), Some((scheme, _))) = (node.as_str(), address.split_once("://")) else { return };
    let is_http = |scheme: &str| ["http", "https"].contains(&scheme);
    if is_http(written) && is_http(scheme) && written != scheme {
        let message = format!("the address begins with {scheme}, and that counts, not {written}");
        report.warning(Rule::NetworkProtocol, node.at, path, message);
        report.hint(format!("write the same in both, or leave {path} out"));
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits: usize, most: u32| {
        part.len() == digits && part.parse::<u32>().is_ok_and(|number| (1..=most).contains(&number))
    };
    matches!(parts[..], [year, month, day] if number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31))
}
