//! Answers, in pieces and whole: frames, rules, events and what they add up to.

use std::time::SystemTime;

use pi_provider::{
    Dialect, Finish, Manifest, StreamEvent, TokenUsage,
    assembly::{Asked, Assembly, End},
    manifest::streaming::{Accumulator, Decoder, Rule, Streaming},
    response::{Answers, Reading},
    stream::{
        Outcome, Pipeline,
        framing::{FRAME_LIMIT, Form, Framing},
        rule::Mapping,
    },
    tape::Tape,
};
use pi_transcript::Block;
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest, member, member_or_default};
use crate::runner::{
    assertion::{self, ANY},
    case::{Case, Folder},
};

pub(super) fn decode(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let mut manifest = manifest(folder, case)?;
    configure(case, &mut manifest)?;
    let pipeline = pipeline(&manifest)?;
    let chunks = chunks(case)?;
    let mut events = Vec::new();
    let mut decoder = pipeline.start();
    for chunk in &chunks {
        decoder.push(chunk.as_bytes(), &mut events).map_err(|error| Trouble::Refused(error.to_string()))?;
    }
    let done = decoder.is_done();
    let ending = decoder.finish(&mut events).map_err(|error| Trouble::Refused(error.to_string()))?;
    let frames = frames(&manifest, &pipeline, &chunks)?;
    let mut answer = summary(&events, ending.outcome);
    answer.insert("frame_count".to_owned(), json!(frames.len()));
    answer.insert("done_received".to_owned(), json!(done));
    let all = frames.into_iter().chain(events.iter().map(shown)).collect();
    answer.insert("events".to_owned(), asked_for(case, all));
    Ok(Answer::valid(Value::Object(answer)))
}

pub(super) fn map(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let rules: Vec<Rule> = match case.input.get("event_map") {
        Some(_) => member(case, "event_map")?,
        None => manifest(folder, case)?.streaming.map(|streaming| streaming.event_map).unwrap_or_default(),
    };
    let mapping = Mapping::compile(&rules).map_err(|error| Trouble::Refused(error.to_string()))?;
    let mut events = Vec::new();
    for frame in member::<Vec<Value>>(case, "frames")? {
        let (text, mut tape) = (frame.to_string(), Tape::new());
        let view = tape.read(&text).map_err(|error| Trouble::Case(error.to_string()))?;
        for emission in mapping.map(view) {
            let kind = ("type".to_owned(), json!(emission.name));
            events.push(Value::Object(std::iter::once(kind).chain(emission.fields).collect()));
        }
    }
    Ok(Answer::valid(json!({"event_count": events.len(), "events": events})))
}

/// The pieces come in frames of the manifest's own dialect, which is where the format has them from.
pub(super) fn accumulate(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let mut manifest = manifest(folder, case)?;
    configure(case, &mut manifest)?;
    let mut decoder = pipeline(&manifest)?.start();
    let mut events = Vec::new();
    for piece in member::<Vec<Value>>(case, "partial_chunks")? {
        let frame = json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
        let frame = format!("data: {frame}\n\n");
        decoder.push(frame.as_bytes(), &mut events).map_err(|error| Trouble::Refused(error.to_string()))?;
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let end = format!("data: {last}\n\ndata: [DONE]\n\n");
    decoder.push(end.as_bytes(), &mut events).map_err(|error| Trouble::Refused(error.to_string()))?;
    let ending = decoder.finish(&mut events).map_err(|error| Trouble::Refused(error.to_string()))?;
    let mut answer = summary(&events, ending.outcome);
    let calls = answer.remove("accumulated_tool_calls").unwrap_or_default();
    let is_whole = |call: &Value| {
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
        arguments.is_some_and(|arguments| serde_json::from_str::<Map<String, Value>>(arguments).is_ok())
    };
    let complete =
        ending.outcome == Outcome::Complete && calls.as_array().is_some_and(|calls| calls.iter().all(is_whole));
    Ok(Answer::valid(json!({"assembled_tool_calls": calls, "complete": complete})))
}

pub(super) fn parse(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let body: Value = member(case, "response_body")?;
    let answers = Answers::compile(&manifest, Dialect::of(&manifest, None));
    let answers = answers.map_err(|error| Trouble::Refused(error.to_string()))?;
    let reading = Reading { manifest: &manifest, secret: None, others: &[], received: SystemTime::UNIX_EPOCH };
    let events = answers.read(&reading, body.to_string().as_bytes());
    let events = events.map_err(|error| Trouble::Refused(error.to_string()))?;
    let mut answer = summary(&events, Outcome::Complete);
    let calls = answer.get("accumulated_tool_calls").cloned().unwrap_or_default();
    answer.insert("tool_calls".to_owned(), calls);
    Ok(Answer::valid(Value::Object(answer)))
}

fn pipeline(manifest: &Manifest) -> Result<Pipeline, Trouble> {
    let dialect = Dialect::of(manifest, None);
    Pipeline::compile(manifest, dialect).map_err(|error| Trouble::Refused(error.to_string()))
}

/// What the case says instead of its manifest.
fn configure(case: &Case, manifest: &mut Manifest) -> Result<(), Trouble> {
    let streaming = manifest.streaming.get_or_insert_with(|| Streaming {
        decoder: Decoder::default(),
        frame_selector: None,
        candidate: None,
        accumulator: None,
        event_map: Vec::new(),
        stop_condition: None,
        content_path: None,
        tool_call_path: None,
        usage_path: None,
        extra_metadata_path: None,
    });
    let written: Decoder = member_or_default(case, "decoder_config")?;
    let decoder = &mut streaming.decoder;
    for (own, other) in [
        (&mut decoder.format, written.format),
        (&mut decoder.strategy, written.strategy),
        (&mut decoder.delimiter, written.delimiter),
        (&mut decoder.prefix, written.prefix),
        (&mut decoder.done_signal, written.done_signal),
    ] {
        *own = other.or(own.take());
    }
    if let Some(accumulator) = member_or_default::<Option<Accumulator>>(case, "accumulator_config")? {
        // A case says where arguments are, not when calls end.
        let flush_on = streaming.accumulator.take().and_then(|own| own.flush_on);
        streaming.accumulator =
            Some(Accumulator { flush_on: accumulator.flush_on.clone().or(flush_on), ..accumulator });
    }
    if case.input.contains_key("event_map") {
        streaming.event_map = member(case, "event_map")?;
    }
    Ok(())
}

/// Raw bytes as they are, or events, each of which ends with an empty line.
fn chunks(case: &Case) -> Result<Vec<String>, Trouble> {
    if case.input.contains_key("raw_chunks") {
        return member(case, "raw_chunks");
    }
    let events: Vec<String> = member(case, "events")?;
    Ok(events.into_iter().map(|event| format!("{event}\n\n")).collect())
}

/// Every frame that is cut, and whether it has content by itself.
fn frames(manifest: &Manifest, pipeline: &Pipeline, chunks: &[String]) -> Result<Vec<Value>, Trouble> {
    let decoder = manifest.streaming.as_ref().map(|streaming| streaming.decoder.clone()).unwrap_or_default();
    let mut framing = Framing::new(&Form::of(&decoder), FRAME_LIMIT);
    let mut texts = Vec::new();
    let too_large = |error: pi_provider::stream::FrameTooLarge| Trouble::Refused(error.to_string());
    for chunk in chunks {
        framing.push(chunk.as_bytes(), &mut |frame| texts.push(frame.data.to_owned())).map_err(too_large)?;
    }
    framing.finish(&mut |frame| texts.push(frame.data.to_owned())).map_err(too_large)?;
    let frame = |data: &String| {
        let mut events = Vec::new();
        pipeline.read_whole(data, &mut events);
        let has_content = events.iter().any(|event| matches!(event, StreamEvent::PartialContentDelta { .. }));
        json!({"type": "frame", "has_content": has_content, "data": data})
    };
    Ok(texts.iter().map(frame).collect())
}

/// The events that the case asks for, if they come in its order among others; else all, for the report.
fn asked_for(case: &Case, all: Vec<Value>) -> Value {
    let Some(wanted) = case.expected.get("events").and_then(Value::as_array) else { return Value::Array(all) };
    let mut rest = all.iter();
    let found: Option<Vec<Value>> =
        wanted.iter().map(|wanted| rest.find(|event| assertion::fits(wanted, event)).cloned()).collect();
    found.map_or(Value::Array(all), Value::Array)
}

/// What the events of one answer add up to: the message that a transcript would keep, and the calls in their raw text.
fn summary(events: &[StreamEvent], outcome: Outcome) -> Map<String, Value> {
    let asked = Asked {
        api: String::new(),
        provider: "compliance".into(),
        model: "compliance".into(),
        pricing: None,
        thinking_level: None,
        timestamp: 0,
    };
    let (mut assembly, mut out) = (Assembly::new(asked), Vec::new());
    events.iter().cloned().for_each(|event| assembly.push(event, &mut out));
    let usage = counted(assembly.usage());
    let failure = assembly.failure().cloned();
    let finish = events.iter().rev().find_map(|event| match event {
        StreamEvent::FinalCandidate { finish, .. } | StreamEvent::StreamEnd { finish } => finish.as_ref(),
        _ => None,
    });
    let message = assembly.finish(End::Proper, &mut out);
    let text: String = message.content.iter().filter_map(Block::as_text).collect();
    let calls: Vec<Value> = calls(&message.content, events).collect();
    let mut answer = Map::new();
    answer.insert("valid".to_owned(), json!(outcome != Outcome::Failed));
    answer.insert("completed".to_owned(), json!(outcome == Outcome::Complete));
    answer.insert("content".to_owned(), json!(text));
    answer.insert("content_blocks".to_owned(), message.content.iter().map(block).collect());
    answer.insert("accumulated_tool_calls".to_owned(), Value::Array(calls));
    answer.insert("usage".to_owned(), usage);
    answer.insert("finish_reason".to_owned(), finish.map_or(Value::Null, words));
    if let Some(failure) = failure {
        answer.insert("error_code".to_owned(), json!(failure.code.number()));
        answer.insert("error".to_owned(), json!(failure.message));
    }
    answer
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(block) => json!({"type": "text", "content": block.text}),
        Block::Thinking(block) => json!({"type": "thinking", "content": block.thinking}),
        Block::ToolCall(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
        }
        Block::Image(image) => json!({"type": "image", "mime_type": image.mime_type}),
        Block::Other(members) => json!(members),
    }
}

/// The calls of the message. The format compares arguments as text, so the pieces are given beside what they mean; where
/// the two differ, what they mean is shown.
fn calls<'a>(blocks: &'a [Block], events: &'a [StreamEvent]) -> impl Iterator<Item = Value> + 'a {
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    });
    calls.enumerate().map(|(index, call)| {
        let piece = |event: &'a StreamEvent| match event {
            StreamEvent::PartialToolCall { tool_call_id, arguments, .. } if *tool_call_id == call.id.as_str() => {
                Some(arguments.as_str())
            }
            _ => None,
        };
        let raw: String = events.iter().filter_map(piece).collect();
        let meant = Value::Object(call.arguments.clone());
        let is_same = serde_json::from_str::<Value>(&raw).is_ok_and(|said| said == meant);
        let arguments = if is_same { raw } else { meant.to_string() };
        let function = json!({"name": call.name, "arguments": arguments});
        json!({"index": index, "id": call.id, "type": "function", "function": function})
    })
}

fn counted(usage: &TokenUsage) -> Value {
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "reasoning_tokens": usage.reasoning,
        "cache_read_tokens": usage.cache_read,
        "cache_creation_tokens": usage.cache_write,
    })
}

/// The provider's word or the standard's; cases use both.
fn words(finish: &Finish) -> Value {
    json!({ANY: [finish.raw, finish.reason]})
}

/// An event with the standard's names.
fn shown(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::PartialContentDelta { content, .. } => json!({"type": "PartialContentDelta", "content": content}),
        StreamEvent::ThinkingDelta { thinking, .. } => json!({"type": "ThinkingDelta", "thinking": thinking}),
        StreamEvent::ToolCallStarted { index, tool_call_id, tool_name, .. } => {
            json!({"type": "ToolCallStarted", "index": index, "tool_call_id": tool_call_id, "tool_name": tool_name})
        }
        StreamEvent::PartialToolCall { index, tool_call_id, arguments, .. } => {
            json!({"type": "PartialToolCall", "index": index, "tool_call_id": tool_call_id, "arguments": arguments})
        }
        StreamEvent::ToolCallEnded { index, tool_call_id, .. } => {
            json!({"type": "ToolCallEnded", "index": index, "tool_call_id": tool_call_id})
        }
        StreamEvent::Metadata { usage, .. } => json!({"type": "Metadata", "usage": usage.as_ref().map(counted)}),
        StreamEvent::FinalCandidate { candidate, finish } => {
            json!({"type": "FinalCandidate", "candidate_index": candidate, "finish_reason": finish.as_ref().map(words)})
        }
        StreamEvent::StreamEnd { finish } => {
            json!({"type": "StreamEnd", "finish_reason": finish.as_ref().map(words)})
        }
        StreamEvent::StreamError { failure } => {
            json!({"type": "StreamError", "error": failure.message, "error_code": failure.code.number()})
        }
        StreamEvent::Other { name, fields } => {
            let kind = ("type".to_owned(), json!(name));
            Value::Object(std::iter::once(kind).chain(fields.clone()).collect())
        }
    }
}
