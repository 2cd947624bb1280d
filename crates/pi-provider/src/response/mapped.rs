//! The paths of a contract's `response_mapping`, as rules, and what happens where they and the dialect disagree.

use serde_json::json;

use crate::{
    dialect::Dialect,
    event::{Finish, StreamEvent, Termination},
    manifest::{
        Manifest, Streaming,
        contract::ResponseMapping,
        streaming::{Decoder, Rule},
    },
    path::{Path, rooted, syntax::SyntaxError},
    stream::{CompileError, Pipeline},
};

/// A strategy that is no dialect's, so that only the rules below are compiled.
const STRATEGY: &str = "response_mapping";

/// The pipeline of the contract's paths, if it has any.
pub(super) fn compile(manifest: &Manifest, dialect: Dialect) -> Result<Option<Pipeline>, CompileError> {
    let rules = rules(&manifest.contract.response_mapping);
    if rules.is_empty() {
        return Ok(None);
    }
    let mut mapping = manifest.clone();
    mapping.streaming = Some(Streaming {
        decoder: Decoder { strategy: Some(STRATEGY.to_owned()), ..Decoder::default() },
        frame_selector: None,
        candidate: None,
        accumulator: None,
        event_map: rules,
        stop_condition: None,
        content_path: None,
        tool_call_path: None,
        usage_path: None,
        extra_metadata_path: None,
    });
    Pipeline::compile(&mapping, dialect).map(Some)
}

fn rules(mapping: &ResponseMapping) -> Vec<Rule> {
    let rule = |path: &String, emit: &str, field: &str| {
        let path = rooted(path);
        let extract = [(field.to_owned(), json!(path))].into_iter().collect();
        Rule { condition: path, emit: emit.to_owned(), extract }
    };
    let content = mapping.content_path.iter().map(|path| rule(path, "PartialContentDelta", "content"));
    let usage = mapping.usage_path.iter().map(|path| rule(path, "Metadata", "usage"));
    let finish = mapping.finish_reason_path.iter().map(|path| rule(path, "FinalCandidate", "finish_reason"));
    content.chain(calls(mapping)).chain(usage).chain(finish).collect()
}

/// The rule for tool calls: whole calls, or their fields one by one.
fn calls(mapping: &ResponseMapping) -> Option<Rule> {
    let path = rooted(mapping.tool_calls_path.as_ref()?.trim_end());
    // A path to the list leads to the calls with one more step; one that ends in a step through a list is there already.
    let each = if path.ends_with(']') { path.clone() } else { format!("{path}[*]") };
    let mut extract = indexmap::IndexMap::new();
    for (name, inner) in &mapping.tool_call_fields {
        let role = match name.as_str() {
            "id" => "tool_call_id",
            "name" => "tool_name",
            "args" | "arguments" | "input" => "arguments",
            _ => continue,
        };
        extract.insert(role.to_owned(), json!(inside(&each, inner)));
    }
    if !extract.contains_key("tool_name") {
        extract.clear();
        extract.insert("tool_call".to_owned(), json!(each));
    }
    extract.insert("is_complete".to_owned(), json!(true));
    Some(Rule { condition: each, emit: "PartialToolCall".to_owned(), extract })
}

/// The path to a part of a call, from the root.
fn inside(call: &str, part: &str) -> String {
    format!("{call}.{}", part.trim_start_matches(['$', '@']).trim_start_matches('.'))
}

/// The path to a part of a tool call, inside the call.
pub(crate) fn call_part(part: &str) -> Result<Path, SyntaxError> {
    Path::parse(&inside("$", part))
}

/// Puts what the contract's paths lead to in the place of what the dialect found.
///
/// Where the dialect found the same words, alone or among others, its reading stays: it tells thinking from text, knows
/// every part of a list of which a path names one, and keeps signatures and the borders of blocks. Only the first
/// candidate is concerned; the paths know of no other.
pub(super) fn prefer(events: &mut Vec<StreamEvent>, found: &[StreamEvent]) {
    if !is_known_text(events, found) {
        let texts = found.iter().filter(|event| text(event).is_some()).cloned().collect();
        replace(events, |event| text(event).is_some(), texts);
    }
    let mapped_calls: Vec<_> = found.iter().filter_map(call).collect();
    let own_calls: Vec<_> = events.iter().filter_map(call).collect();
    let are_known = |calls: &[&str]| own_calls.windows(calls.len()).any(|own| own == calls);
    if !mapped_calls.is_empty() && !are_known(&mapped_calls) {
        let calls = found.iter().filter(|event| call(event).is_some()).cloned().collect();
        replace(events, |event| call(event).is_some(), calls);
    }
    let has_usage = |event: &StreamEvent| matches!(event, StreamEvent::Metadata { usage: Some(_), .. });
    if let Some(StreamEvent::Metadata { usage, .. }) = found.iter().rfind(|event| has_usage(event)) {
        for event in events.iter_mut() {
            if let StreamEvent::Metadata { usage, .. } = event {
                *usage = None;
            }
        }
        events.retain(|event| !matches!(event, StreamEvent::Metadata { usage: None, response_id: None, model: None }));
        events.insert(0, StreamEvent::Metadata { usage: usage.clone(), response_id: None, model: None });
    }
    if let Some(finish) = found.iter().find_map(end) {
        set_end(events, finish);
    }
}

/// Whether the paths lead to no text, or to words that the dialect found as well: all of them, or some of its parts.
fn is_known_text(events: &[StreamEvent], found: &[StreamEvent]) -> bool {
    let own = || events.iter().filter_map(|event| text(event).or_else(|| thought(event)));
    let mapped: String = found.iter().filter_map(text).collect();
    let own_text: String = events.iter().filter_map(text).collect();
    let are_parts = found.iter().filter_map(text).all(|mapped| own().any(|own| own == mapped));
    are_parts || mapped == own_text || mapped == own().collect::<String>()
}

fn set_end(events: &mut Vec<StreamEvent>, finish: &Finish) {
    if events.iter().find_map(end).is_some_and(|own| own.raw == finish.raw) {
        return;
    }
    let mut finish = finish.clone();
    if events.iter().any(|event| call(event).is_some()) {
        finish.reason = finish.reason.of_calls();
    } else if events.iter().find_map(end).is_some_and(|own| own.reason == Termination::Refusal) {
        // The word is not the only place that tells of it.
        finish = finish.of_refusal();
    }
    let last = |event: &StreamEvent| {
        matches!(event, StreamEvent::FinalCandidate { candidate: 0, .. } | StreamEvent::StreamEnd { .. })
    };
    let candidate = StreamEvent::FinalCandidate { candidate: 0, finish: Some(finish.clone()) };
    replace(events, last, vec![candidate]);
    events.push(StreamEvent::StreamEnd { finish: Some(finish) });
}

/// Puts `with` where the first of those that go stood; before the end, if there were none.
fn replace(events: &mut Vec<StreamEvent>, goes: impl Fn(&StreamEvent) -> bool, with: Vec<StreamEvent>) {
    let is_end =
        |event: &StreamEvent| matches!(event, StreamEvent::FinalCandidate { .. } | StreamEvent::StreamEnd { .. });
    let place = events.iter().position(&goes).or_else(|| events.iter().position(is_end)).unwrap_or(events.len());
    // Nothing before the place goes, so it stays the same.
    events.retain(|event| !goes(event));
    events.splice(place..place, with);
}

fn text(event: &StreamEvent) -> Option<&str> {
    if let StreamEvent::PartialContentDelta { candidate: 0, content, .. } = event { Some(content) } else { None }
}

fn thought(event: &StreamEvent) -> Option<&str> {
    if let StreamEvent::ThinkingDelta { candidate: 0, thinking, .. } = event { Some(thinking) } else { None }
}

/// What an event says about a call, but for its number and for ids, which may have been made up.
fn call(event: &StreamEvent) -> Option<&str> {
    match event {
        StreamEvent::ToolCallStarted { candidate: 0, tool_name, .. } => Some(tool_name),
        StreamEvent::PartialToolCall { candidate: 0, arguments, .. } => Some(arguments),
        StreamEvent::ToolCallEnded { candidate: 0, .. } => Some(""),
        StreamEvent::ToolCallStarted { .. }
        | StreamEvent::PartialToolCall { .. }
        | StreamEvent::ToolCallEnded { .. }
        | StreamEvent::PartialContentDelta { .. }
        | StreamEvent::ThinkingDelta { .. }
        | StreamEvent::Metadata { .. }
        | StreamEvent::FinalCandidate { .. }
        | StreamEvent::StreamEnd { .. }
        | StreamEvent::StreamError { .. }
        | StreamEvent::Other { .. } => None,
    }
}

/// Why the first candidate ended.
pub(super) fn end(event: &StreamEvent) -> Option<&Finish> {
    if let StreamEvent::FinalCandidate { candidate: 0, finish } = event { finish.as_ref() } else { None }
}
