//! Values that can be read and still cannot be meant: methods that nobody has, dates that are none, words of a closed list.
//! They are told where they stand, and stay as they are written.

use serde_json::Number;
use url::Url;

use super::{Report, words};
use crate::{
    manifest::{
        diagnostic::Rule,
        tree::{Node, Tree},
    },
    transport::is_on_this_machine,
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
    price_factors(root, report);
    for (path, known) in [("availability.check.method", &CHECKS[..]), ("availability.fallback.method", &FALLBACKS[..])]
    {
        method(root.find(path), path, known, Rule::AvailabilitySection, report);
    }
    interval(root, report);
    local(root, report);
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

/// What is asked for a batch is a part of the usual prices.
fn price_factors(root: &Node, report: &mut Report<'_>) {
    for member in root.get("endpoints").and_then(Node::as_map).unwrap_or_default() {
        let Some(node) = member.node.get("price_factor") else { continue };
        let is_part = |number: &Number| number.as_f64().is_some_and(|factor| (0.0..=1.0).contains(&factor));
        if let Tree::Number(number) = &node.value
            && !is_part(number)
        {
            let path = format!("endpoints.{}.price_factor", member.key);
            let message = "a part of the price is between 0 and 1; no price is known without it";
            report.warning(Rule::OperationSection, node.at, &path, message);
            report.hint("write 0.5 for half of the usual price");
        }
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

/// What a server on this machine can be found by only together: its address, and the list of its models.
fn local(root: &Node, report: &mut Report<'_>) {
    const PATH: &str = "metadata.local";
    let Some(section) = root.find(PATH).filter(|section| section.as_map().is_some()) else { return };
    let list = root.find("services.list_models.path").and_then(Node::as_str);
    if list.is_none() {
        let message = "services.list_models is missing: no server is found without it";
        report.warning(Rule::LocalSection, section.at, PATH, message);
        report.hint("write services: { list_models: { path: /v1/models, response_binding: data } }");
    }
    let Some(address) = root.find("endpoint.base_url") else { return };
    let Some(url) = address.as_str().and_then(|text| Url::parse(text).ok()) else { return };
    if !is_on_this_machine(&url) && section.get("base_url_env").is_none() {
        let message = "only a server on this machine is looked for, and this one is elsewhere";
        report.warning(Rule::LocalSection, address.at, "endpoint.base_url", message);
        report.hint(
            "write http://127.0.0.1 with its port, or name a variable with the address in metadata.local.base_url_env",
        );
    }
    let signs = section.get("signs").and_then(Node::as_list).unwrap_or_default().iter();
    let others = [section.find("server.path"), section.find("details.path")].into_iter().flatten();
    let mut asked = signs.filter_map(|sign| sign.get("path")).chain(others).filter_map(Node::as_str).chain(list);
    let prefix = format!("{}/", url.path().trim_end_matches('/'));
    if let Some(path) = asked.find(|path| prefix.len() > 1 && path.starts_with(&prefix)) {
        let whole = format!("{}{path}", prefix.trim_end_matches('/'));
        let message = format!("{path} is asked behind this address, which makes {whole}: no server is found there");
        report.warning(Rule::LocalSection, address.at, "endpoint.base_url", message);
        report.hint(format!(
            "write the address without {}, and put that before the other paths",
            prefix.trim_end_matches('/')
        ));
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
