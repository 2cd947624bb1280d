//! Words that the format leaves open. A file may write anything there, and what nobody knows has another effect than the
//! author meant, or none. So a word that is not known is told, with the known one that is nearest and a list of all.

use super::Report;
use crate::{
    dialect::Dialect,
    likeness::nearest,
    manifest::{
        capability::{Capabilities, Capability},
        diagnostic::{Rule, Severity},
        media,
        tree::{Member, Node},
    },
    stream::rule::{EVENTS, FIELDS, Kind, Role},
};

/// What an operation may be spoken like.
const ADAPTERS: [&str; 6] = ["openai", "openai_responses", "anthropic", "gemini", "cohere_v2", "replicate"];
const WAYS: [&str; 3] = ["base64_inline", "url", "file_uri"];
const DEGRADATIONS: [&str; 3] = ["error", "fallback", "silent_skip"];
const ACTIONS: [&str; 4] = ["error", "fallback_text", "strip_content", "convert_to_text"];
/// Forms of the parts of a message.
const FORMS: [&str; 11] = [
    "openai_url",
    "openai_file",
    "openai_tool_calls",
    "openai_tool_message",
    "anthropic_source",
    "anthropic_document",
    "anthropic_tool_use",
    "anthropic_tool_result",
    "gemini_inline_data",
    "gemini_function_call",
    "gemini_function_response",
];

/// A word at its place.
struct Word<'a> {
    node: &'a Node,
    path: String,
    rule: Rule,
    known: &'a [&'a str],
}

/// Looks at every such word of a manifest.
pub(super) fn check(root: &Node, capabilities: &Capabilities, report: &mut Report<'_>) {
    if let Some(streaming) = root.get("streaming").filter(|_| capabilities.has(Capability::Streaming)) {
        strategy(streaming, report);
        events(streaming, report);
    }
    for member in members(root.get("endpoints")) {
        let path = format!("endpoints.{}.adapter", member.key);
        dialect(member.node.get("adapter"), path, Rule::OperationSection, report);
    }
    for member in members(root.find("metadata.models")) {
        let path = format!("metadata.models.{}.api", member.key);
        dialect(member.node.get("api"), path, Rule::Models, report);
    }
    for member in members(root.find("multimodal.input")) {
        medium(&member.node, &format!("multimodal.input.{}", member.key), report);
    }
    if let Some(contract) = root.get("provider_contract") {
        self::contract(contract, "provider_contract.", Rule::ContractSection, report);
    }
}

/// Those of a contract, wherever it stands.
pub(super) fn contract(node: &Node, path: &str, rule: Rule, report: &mut Report<'_>) {
    let degradation = format!("{path}degradation");
    let effect = "is not known; a note takes the place of what cannot be sent";
    if let Some(strategy) = node.find("degradation.strategy") {
        let word = Word { node: strategy, path: format!("{degradation}.strategy"), rule, known: &DEGRADATIONS };
        word.tell_unknown(effect, report);
    }
    for (index, rules) in list(node.find("degradation.rules")).iter().enumerate() {
        let Some(action) = rules.get("action") else { continue };
        let path = format!("{degradation}.rules[{index}].action");
        Word { node: action, path, rule, known: &ACTIONS }.tell_unknown(effect, report);
    }
    for member in members(node.find("request_mapping.content_block_mapping")) {
        let Some(format) = member.node.get("format") else { continue };
        let path = format!("{path}request_mapping.content_block_mapping.{}.format", member.key);
        let word = Word { node: format, path, rule, known: &FORMS };
        word.tell_slip("is not known; the usual form of the dialect is taken", report);
    }
}

/// Which rules a stream is read by hangs on this word.
fn strategy(streaming: &Node, report: &mut Report<'_>) {
    let Some(node) = streaming.find("decoder.strategy") else { return };
    let Some(written) = node.as_str().filter(|word| Dialect::from_word(word).is_none()) else { return };
    let has_rules = !list(streaming.get("event_map")).is_empty();
    let effect = if has_rules {
        "only the rules of event_map count, and nothing completes them"
    } else {
        "there is no event_map either, so the stream is read as the rest of the file says, or as openai_chat"
    };
    // Rules of its own and a name of its own are a stream that nobody here knows, which is allowed.
    let is_meant = has_rules && nearest(written, Dialect::STRATEGIES).is_empty();
    let severity = if is_meant { Severity::Note } else { Severity::Warning };
    let message = format!("the strategy {written:?} is not known: {effect}");
    report.push(severity, Rule::StreamDecoder, node.at, "streaming.decoder.strategy", message);
    report.hint(advice(written, &Dialect::STRATEGIES));
}

fn events(streaming: &Node, report: &mut Report<'_>) {
    for (index, rule) in list(streaming.get("event_map")).iter().enumerate() {
        let path = format!("streaming.event_map[{index}]");
        let Some(emit) = rule.get("emit") else { continue };
        let word = Word { node: emit, path: format!("{path}.emit"), rule: Rule::EventMap, known: &EVENTS };
        word.tell_unknown("is not an event that is known; it is handed on under that name and says nothing", report);
        let is_standard = emit.as_str().is_some_and(|name| Kind::of(name) != Kind::Other);
        let fields = rule.member("extract").or_else(|| rule.member("fields"));
        if let (Some(name), Some(fields)) = (emit.as_str(), fields) {
            mute(name, fields, &format!("{path}.extract"), report);
        }
        for member in members(fields.filter(|_| is_standard).map(|it| &it.node)) {
            let Some(meant) = slip(&member.key, &FIELDS) else { continue };
            let path = format!("{path}.extract.{}", member.key);
            let message = format!("the field {:?} is not known and says nothing", member.key);
            report.warning(Rule::EventMap, member.at, &path, message);
            report.hint(format!("did you mean {meant}?"));
        }
    }
}

/// Tells of a rule none of whose fields the event is made of: it never says anything.
fn mute(event: &str, fields: &Member, path: &str, report: &mut Report<'_>) {
    let telling = Kind::of(event).telling();
    let written = members(Some(&fields.node));
    // A slip is told by itself.
    let tells = |member: &Member| telling.contains(&Role::of(slip(&member.key, &FIELDS).unwrap_or(&member.key)));
    if telling.is_empty() || written.is_empty() || written.iter().any(tells) {
        return;
    }
    let needed: Vec<&str> = FIELDS.into_iter().filter(|field| telling.contains(&Role::of(field))).collect();
    let message = format!("{event} is made of none of these fields, so this rule says nothing");
    report.warning(Rule::EventMap, fields.at, path, message);
    report.hint(format!("write one of {}", needed.join(", ")));
}

fn dialect(node: Option<&Node>, path: String, rule: Rule, report: &mut Report<'_>) {
    let Some(node) = node else { return };
    if node.as_str().is_some_and(|word| Dialect::from_word(word).is_none()) {
        let word = Word { node, path, rule, known: &ADAPTERS };
        word.tell_unknown("is not a dialect that is known; the usual one of the provider is taken", report);
    }
}

/// How much of a medium is taken.
fn medium(node: &Node, path: &str, report: &mut Report<'_>) {
    for (index, way) in list(node.get("encoding_methods")).iter().enumerate() {
        let path = format!("{path}.encoding_methods[{index}]");
        let word = Word { node: way, path, rule: Rule::MultimodalSection, known: &WAYS };
        word.tell_unknown("is not a way that is known, so nothing is sent in it", report);
    }
    let is_size = |text: &str| media::bytes(text).is_some();
    limit(node, "max_file_size", path, is_size, "write a number and a unit, such as 20MB", report);
    let is_extent = |text: &str| media::pixels(text).is_some();
    limit(node, "max_resolution", path, is_extent, "write width and height, such as 4096x4096", report);
}

/// Tells of a limit in words that are not known.
fn limit(
    medium: &Node,
    member: &str,
    path: &str,
    is_known: impl Fn(&str) -> bool,
    hint: &str,
    report: &mut Report<'_>,
) {
    let Some(limit) = medium.get(member) else { return };
    if let Some(text) = limit.as_str().filter(|text| !is_known(text)) {
        let message = format!("{text:?} is not a limit that is known, and is not kept to");
        report.warning(Rule::MultimodalSection, limit.at, &format!("{path}.{member}"), message);
        report.hint(hint);
    }
}

impl Word<'_> {
    /// Tells of a word that is not in the list.
    fn tell_unknown(&self, effect: &str, report: &mut Report<'_>) {
        if let Some(written) = self.node.as_str().filter(|word| !self.known.contains(word)) {
            report.warning(self.rule, self.node.at, &self.path, format!("{written:?} {effect}"));
            report.hint(advice(written, self.known));
        }
    }

    /// Tells of a word that is nearly one of the list; others may be meant for others.
    fn tell_slip(&self, effect: &str, report: &mut Report<'_>) {
        if self.node.as_str().is_some_and(|word| slip(word, self.known).is_some()) {
            self.tell_unknown(effect, report);
        }
    }
}

/// The known word that somebody meant who wrote another one.
pub(super) fn slip<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.contains(&written) { None } else { nearest(written, known.iter().copied()).first().copied() }
}

/// What to write instead.
pub(super) fn advice(written: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match slip(written, known) {
        Some(meant) => format!("did you mean {meant}? known are {list}"),
        None => format!("known are {list}"),
    }
}

fn members(node: Option<&Node>) -> &[Member] {
    node.and_then(Node::as_map).unwrap_or_default()
}

fn list(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_list).unwrap_or_default()
}
