//! The events of an answer as a machine reads them: one object per line, under the standard's names.

use pi_provider::{CallError, Failure, Finish, StreamEvent, TokenUsage};
use serde_json::{Map, Value, json};

use crate::failure::told;

/// The object of an event. Members that nothing is known about are absent.
pub(super) fn object(event: &StreamEvent) -> Value {
    let (name, members) = match event {
        StreamEvent::PartialContentDelta { candidate, content, .. } => {
            ("PartialContentDelta", json!({"content": content, "candidate_index": other(*candidate)}))
        }
        StreamEvent::ThinkingDelta { candidate, thinking, redacted, .. } => (
            "ThinkingDelta",
            json!({
                "thinking": thinking, "candidate_index": other(*candidate), "redacted": redacted.then_some(true),
            }),
        ),
        StreamEvent::ToolCallStarted { candidate, index, tool_call_id, tool_name, .. } => (
            "ToolCallStarted",
            json!({
                "tool_call_id": tool_call_id, "tool_name": tool_name, "index": index,
                "candidate_index": other(*candidate),
            }),
        ),
        StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments } => (
            "PartialToolCall",
            json!({
                "tool_call_id": tool_call_id, "arguments": arguments, "index": index,
                "candidate_index": other(*candidate),
            }),
        ),
        StreamEvent::ToolCallEnded { candidate, index, tool_call_id } => (
            "ToolCallEnded",
            json!({"tool_call_id": tool_call_id, "index": index, "candidate_index": other(*candidate)}),
        ),
        StreamEvent::Metadata { usage, response_id, model } => {
            ("Metadata", json!({"usage": usage.as_ref().map(tokens), "response_id": response_id, "model": model}))
        }
        StreamEvent::FinalCandidate { candidate, finish } => {
            ("FinalCandidate", merged(json!({"candidate_index": candidate}), reason(finish.as_ref())))
        }
        StreamEvent::StreamEnd { finish } => ("StreamEnd", reason(finish.as_ref())),
        StreamEvent::StreamError { failure } => ("StreamError", json!({"error": error(failure)})),
        StreamEvent::Other { name, fields } => (name.as_str(), Value::Object(fields.clone())),
    };
    merged(json!({"event": name}), present(members))
}

/// The event of an answer that broke off, whatever the reason is: a reader of events need not look elsewhere.
pub(super) fn broken(reason: &CallError) -> Value {
    let code = reason.code();
    let said = reason.failure().map(error);
    let error = said.unwrap_or_else(|| {
        json!({
            "code": code.number(), "name": code.name(), "message": told(reason), "retryable": code.is_retryable(),
            "fallbackable": code.is_fallbackable(),
        })
    });
    json!({"event": "StreamError", "error": error})
}

/// The first answer is the only one nearly always, and then its number says nothing.
fn other(candidate: u32) -> Option<u32> {
    (candidate > 0).then_some(candidate)
}

fn reason(finish: Option<&Finish>) -> Value {
    json!({"finish_reason": finish.map(|finish| finish.reason), "raw_finish_reason": finish.map(|it| &it.raw)})
}

fn tokens(usage: &TokenUsage) -> Value {
    present(json!({
        "prompt_tokens": usage.prompt, "completion_tokens": usage.completion, "total_tokens": usage.total,
        "reasoning_tokens": usage.reasoning, "cache_read_tokens": usage.cache_read,
        "cache_creation_tokens": usage.cache_write, "cost": usage.cost,
    }))
}

fn error(failure: &Failure) -> Value {
    present(json!({
        "code": failure.code.number(), "name": failure.code.name(), "message": failure.message,
        "provider_code": failure.provider_code, "status": failure.status, "request_id": failure.request_id,
        "retryable": failure.code.is_retryable(), "fallbackable": failure.code.is_fallbackable(),
    }))
}

fn merged(first: Value, second: Value) -> Value {
    let [first, second] = [first, second].map(|it| if let Value::Object(members) = it { members } else { Map::new() });
    Value::Object(first.into_iter().chain(second).collect())
}

fn present(members: Value) -> Value {
    let Value::Object(members) = members else { return members };
    Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use pi_provider::{ErrorCode, Termination};

    use super::*;

    #[test]
    fn events_have_the_names_and_members_of_the_standard() {
        let id = || "call-1".to_owned();
        for (event, expected) in [
            (
                StreamEvent::PartialContentDelta {
                    candidate: 0,
                    block: Some(1),
                    content: "Hi".into(),
                    signature: None,
                },
                r#"{"event":"PartialContentDelta","content":"Hi"}"#,
            ),
            (
                StreamEvent::ToolCallStarted {
                    candidate: 1,
                    index: Some(0),
                    tool_call_id: id(),
                    tool_name: "read".into(),
                    signature: Some("opaque".into()),
                },
                r#"{"event":"ToolCallStarted","tool_call_id":"call-1","tool_name":"read","index":0,"candidate_index":1}"#,
            ),
            (
                StreamEvent::Metadata {
                    usage: Some(TokenUsage { prompt: Some(5), completion: Some(2), ..TokenUsage::default() }),
                    response_id: None,
                    model: Some("m".into()),
                },
                r#"{"event":"Metadata","usage":{"prompt_tokens":5,"completion_tokens":2},"model":"m"}"#,
            ),
            (
                StreamEvent::StreamEnd { finish: Some(Finish { reason: Termination::EndTurn, raw: "stop".into() }) },
                r#"{"event":"StreamEnd","finish_reason":"end_turn","raw_finish_reason":"stop"}"#,
            ),
            (
                StreamEvent::StreamError {
                    failure: Failure {
                        code: ErrorCode::Overloaded,
                        status: None,
                        provider_code: Some("overloaded_error".into()),
                        message: "busy".into(),
                        retry_after: None,
                        request_id: None,
                        limits: None,
                        is_anonymous: false,
                    },
                },
                r#"{"event":"StreamError","error":{"code":"E3002","name":"overloaded","message":"busy","provider_code":"overloaded_error","retryable":true,"fallbackable":true}}"#,
            ),
            (
                StreamEvent::Other { name: "AgentStateSync".into(), fields: Map::from_iter([("a".into(), json!(1))]) },
                r#"{"event":"AgentStateSync","a":1}"#,
            ),
        ] {
            assert_eq!(object(&event).to_string(), expected);
        }
    }
}
