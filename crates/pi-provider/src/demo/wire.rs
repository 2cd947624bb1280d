//! Answers of the demo model as a Chat Completions server sends them.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    request::{Fault, Request},
    talk::{Reply, Says},
};

/// A piece of an answer as it is streamed.
enum Delta {
    Thinking(String),
    Text(String),
    CallStart { id: String, name: String },
    Arguments(String),
}

/// An answer that fits the limits of its request.
struct Bounded {
    deltas: Vec<Delta>,
    finish: &'static str,
    thinking: u64,
    completion: u64,
}

/// The answer as one object.
pub(super) fn whole(request: &Request, reply: &Reply) -> Bytes {
    let bounded = bound(request, reply);
    let (mut thinking, mut text, mut arguments) = (String::new(), String::new(), String::new());
    let mut call = None;
    for delta in &bounded.deltas {
        match delta {
            Delta::Thinking(piece) => thinking.push_str(piece),
            Delta::Text(piece) => text.push_str(piece),
            Delta::CallStart { id, name } => call = Some((id, name)),
            Delta::Arguments(piece) => arguments.push_str(piece),
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if request.thinks {
        message["reasoning_content"] = json!(thinking);
    }
    if let Some((id, name)) = call {
        message["content"] = Value::Null;
        message["tool_calls"] =
            json!([{ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }]);
    }
    let body = json!({
        "id": response_id(request),
        "object": "chat.completion",
        "created": 0,
        "model": "demo",
        "choices": [{ "index": 0, "message": message, "finish_reason": bounded.finish }],
        "usage": usage(request, &bounded),
    });
    Bytes::from(body.to_string())
}

/// The answer as events of a stream, one for each.
pub(super) fn streamed(request: &Request, reply: &Reply) -> Vec<Bytes> {
    let bounded = bound(request, reply);
    let id = response_id(request);
    let chunk = |choices: Value, usage: Value| {
        let mut chunk =
            json!({ "id": id, "object": "chat.completion.chunk", "created": 0, "model": "demo", "choices": choices });
        if request.tells_usage {
            chunk["usage"] = usage;
        }
        Bytes::from(format!("data: {chunk}\n\n"))
    };
    let choice = |delta: Value, finish: Option<&str>| {
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut events = vec![choice(json!({ "role": "assistant" }), None)];
    for delta in &bounded.deltas {
        let delta = match delta {
            Delta::Thinking(piece) => json!({ "reasoning_content": piece }),
            Delta::Text(piece) => json!({ "content": piece }),
            Delta::CallStart { id, name } => {
                json!({ "tool_calls": [{ "index": 0, "id": id, "type": "function", "function": { "name": name, "arguments": "" } }] })
            }
            Delta::Arguments(piece) => json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] }),
        };
        events.push(choice(delta, None));
    }
    events.push(choice(json!({}), Some(bounded.finish)));
    if request.tells_usage {
        events.push(chunk(json!([]), usage(request, &bounded)));
    }
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

/// A refusal.
pub(super) fn error(fault: &Fault) -> Bytes {
    let body = json!({ "error": {
        "message": fault.message,
        "type": "invalid_request_error",
        "param": fault.member,
        "code": fault.code,
    } });
    Bytes::from(body.to_string())
}

/// Cuts an answer where a stop text begins and where `max_tokens` ends.
fn bound(request: &Request, reply: &Reply) -> Bounded {
    let mut deltas = Vec::new();
    let mut budget = request.max_tokens.unwrap_or(u64::MAX);
    let thinking = reply.thinking.as_deref().unwrap_or("");
    let (mut finish, body, make): (_, String, fn(String) -> Delta) = match &reply.says {
        Says::Text(text) => ("stop", stopped(text, &request.stop).to_owned(), Delta::Text),
        Says::Call(call) => ("tool_calls", Value::Object(call.arguments.clone()).to_string(), Delta::Arguments),
    };
    let mut take = |text: &str, make: fn(String) -> Delta, start: Option<Delta>, deltas: &mut Vec<Delta>| {
        let mut used = 0;
        deltas.extend(start);
        for piece in text.split_inclusive([' ', '\n', ',']) {
            let cost = tokens(piece);
            if cost > budget {
                return (used, true);
            }
            budget -= cost;
            used += cost;
            deltas.push(make(piece.to_owned()));
        }
        (used, false)
    };
    let (thought, cut) = take(thinking, Delta::Thinking, None, &mut deltas);
    let mut said = 0;
    if cut {
        finish = "length";
    } else {
        let start = match &reply.says {
            Says::Text(_) => None,
            Says::Call(call) => Some(Delta::CallStart { id: call_id(request), name: call.name.clone() }),
        };
        let (used, cut) = take(&body, make, start, &mut deltas);
        said = used;
        if cut {
            finish = "length";
        }
    }
    Bounded { deltas, finish, thinking: thought, completion: thought + said }
}

fn stopped<'a>(text: &'a str, stops: &[String]) -> &'a str {
    let end = stops.iter().filter_map(|stop| text.find(stop.as_str())).min();
    &text[..end.unwrap_or(text.len())]
}

/// About as many as a model would count: one for four bytes.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

fn usage(request: &Request, bounded: &Bounded) -> Value {
    let messages: u64 = request.messages.iter().map(|message| 4 + tokens(&message.text)).sum();
    let tools: u64 =
        request.tools.iter().map(|tool| 4 + tokens(&tool.name) + tokens(&tool.parameters.to_string())).sum();
    let prompt = messages + tools;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": bounded.completion,
        "total_tokens": prompt + bounded.completion,
        "completion_tokens_details": { "reasoning_tokens": bounded.thinking },
    })
}

/// The same conversation has the same number.
fn response_id(request: &Request) -> String {
    format!("demo-{}", request.messages.len())
}

/// Differs from all earlier calls of the conversation.
fn call_id(request: &Request) -> String {
    let earlier = request.messages.iter().map(|message| message.calls.len()).sum::<usize>();
    let ids: Vec<&str> =
        request.messages.iter().flat_map(|message| &message.calls).map(|(id, _)| id.as_str()).collect();
    (earlier + 1..)
        .map(|number| format!("call_demo_{number}"))
        .find(|id| !ids.contains(&id.as_str()))
        .unwrap_or_default()
}
