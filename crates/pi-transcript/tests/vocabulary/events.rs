//! Every event of a session is read and written under the names of the server protocol.

use pi_transcript::{AgentEvent, AssistantMessageEvent, Block, Message, event::CompactionReason, json::Open};
use serde_json::{Value, json};

/// `event` is understood and written as it was read.
fn check(event: &Value) -> AgentEvent {
    let read: AgentEvent = serde_json::from_value(event.clone()).expect("any object is an event");
    assert!(!matches!(read, AgentEvent::Other(_)), "not understood: {event}");
    assert_eq!(serde_json::to_value(&read).expect("serializable"), *event);
    read
}

fn assistant() -> Value {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
    let usage = json!({ "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": cost });
    json!({
        "role": "assistant", "content": [{ "type": "text", "text": "hi" }], "api": "a", "provider": "p", "model": "m",
        "usage": usage, "stopReason": "pending", "timestamp": 1
    })
}

#[test]
fn runs_turns_and_messages() {
    let result = json!({
        "role": "toolResult", "toolCallId": "c", "toolName": "read", "content": [], "isError": false, "timestamp": 2
    });
    for event in [
        json!({ "type": "agent_start" }),
        json!({ "type": "agent_end", "messages": [assistant(), { "role": "later", "x": 1 }] }),
        json!({ "type": "agent_end", "messages": [], "willRetry": true }),
        json!({ "type": "agent_settled" }),
        json!({ "type": "agent_settled", "aborted": false }),
        json!({ "type": "turn_start" }),
        json!({ "type": "turn_end", "message": assistant(), "toolResults": [result] }),
        json!({ "type": "message_start", "message": assistant() }),
        json!({ "type": "message_end", "message": { "role": "user", "content": "hi", "timestamp": 1 } }),
    ] {
        check(&event);
    }
}

#[test]
fn tools() {
    let output = json!({ "content": [{ "type": "text", "text": "x" }], "details": { "truncation": null }, "later": 1 });
    for event in [
        json!({ "type": "tool_execution_start", "toolCallId": "c", "toolName": "read", "args": { "path": "a" } }),
        json!({ "type": "tool_execution_start", "toolCallId": "c", "toolName": "t", "args": null, "parentToolCallId": "b" }),
        json!({ "type": "tool_execution_update", "toolCallId": "c", "toolName": "t", "args": {}, "partialResult": output }),
        json!({
            "type": "tool_execution_update", "toolCallId": "c", "toolName": "t", "partialResult": { "content": [] },
            "delta": "more", "dropped": 3
        }),
        json!({ "type": "tool_execution_end", "toolCallId": "c", "toolName": "t", "result": output, "isError": false }),
        json!({
            "type": "tool_execution_end", "toolCallId": "c", "toolName": "t", "result": { "content": [] }, "isError": true,
            "denied": "by rule", "deniedBy": "rule", "durationMs": 12, "parentToolCallId": "b"
        }),
    ] {
        check(&event);
    }
}

#[test]
fn everything_else_of_a_session() {
    let result = json!({
        "summary": "s", "firstKeptEntryId": "a", "tokensBefore": 9, "details": {}, "estimatedTokensAfter": 3,
        "usage": assistant()["usage"]
    });
    let entry = json!({ "type": "session_info", "id": "a", "parentId": null, "timestamp": "t", "name": "n" });
    for event in [
        json!({ "type": "auto_compaction_start", "reason": "threshold" }),
        json!({ "type": "auto_compaction_end", "result": result, "aborted": false, "willRetry": true }),
        json!({ "type": "auto_compaction_end", "reason": "overflow", "aborted": true, "willRetry": false, "errorMessage": "e" }),
        json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "overloaded" }),
        json!({ "type": "auto_retry_end", "success": true, "attempt": 1 }),
        json!({ "type": "auto_retry_end", "success": false, "attempt": 3, "finalError": "e" }),
        json!({ "type": "queue_update", "steering": ["a"], "followUp": [] }),
        json!({ "type": "entry_appended", "entry": entry }),
        json!({ "type": "session_info_changed" }),
        json!({ "type": "session_info_changed", "name": "n" }),
        json!({ "type": "thinking_level_changed", "level": "max" }),
        json!({ "type": "bash_execution_update", "id": "b", "delta": "x" }),
        json!({ "type": "bash_execution_update", "delta": "x", "dropped": 1 }),
        json!({ "type": "extension_error", "extensionPath": "/e.ts", "event": "tool_call", "error": "boom" }),
        json!({ "type": "extension_ui_resolved", "requestId": "r", "outcome": "timed_out" }),
        json!({ "type": "storage_failed", "message": "the disk is full" }),
        json!({ "type": "storage_recovered" }),
        json!({ "type": "input_notice", "message": "the picture was not sent" }),
        json!({ "type": "guardrail", "message": "m", "filter": "f", "action": "warn", "side": "input", "texts": 1 }),
        json!({ "type": "guardrail", "message": "m", "filter": "f", "action": "mask", "side": "output", "texts": 2, "left": true }),
        json!({ "type": "messages_unsaid", "texts": ["a", "b"] }),
        json!({ "type": "offers_changed" }),
        json!({ "type": "session_tree", "newLeafId": "a1b2c3d4", "oldLeafId": null }),
    ] {
        check(&event);
    }
}

#[test]
fn questions_and_announcements() {
    let questions = json!([{ "id": "a", "type": "multi", "label": "A", "options": ["x"], "required": true }]);
    for request in [
        json!({ "method": "select", "title": "t", "options": ["a", "b"], "timeout": 5 }),
        json!({ "method": "confirm", "title": "t", "message": "m" }),
        json!({ "method": "input", "title": "t", "placeholder": "p" }),
        json!({ "method": "editor", "title": "t", "prefill": "p" }),
        json!({ "method": "interview", "questions": questions }),
        json!({ "method": "notify", "message": "m", "notifyType": "warning" }),
        json!({ "method": "setStatus", "key": "k" }),
        json!({ "method": "setWidget", "key": "k", "content": ["a"], "placement": "belowEditor" }),
        json!({ "method": "setTitle", "title": "t" }),
        json!({ "method": "setWorkingMessage" }),
        json!({ "method": "setEditorText", "text": "t" }),
        json!({ "method": "setEditorText", "text": "at", "inserted": "t" }),
    ] {
        let mut event = json!({ "type": "extension_ui_request", "requestId": "r" });
        event.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        assert!(matches!(check(&event), AgentEvent::ExtensionUiRequest { .. }));
    }
}

#[test]
fn message_grows_with_and_without_the_whole() {
    let call = json!({ "type": "toolCall", "id": "c", "name": "read", "arguments": {} });
    for step in [
        json!({ "type": "start" }),
        json!({ "type": "text_start", "contentIndex": 0 }),
        json!({ "type": "text_delta", "contentIndex": 0, "delta": "h" }),
        json!({ "type": "text_end", "contentIndex": 0, "content": "hi" }),
        json!({ "type": "thinking_start", "contentIndex": 1 }),
        json!({ "type": "thinking_delta", "contentIndex": 1, "delta": "h" }),
        json!({ "type": "thinking_end", "contentIndex": 1, "content": "hm" }),
        json!({ "type": "toolcall_start", "contentIndex": 2 }),
        json!({ "type": "toolcall_start", "contentIndex": 2, "id": "c", "toolName": "read" }),
        json!({ "type": "toolcall_delta", "contentIndex": 2, "delta": "{" }),
        json!({ "type": "toolcall_end", "contentIndex": 2, "toolCall": call }),
        json!({ "type": "done", "reason": "stop" }),
        json!({ "type": "done", "reason": "toolUse", "message": assistant() }),
        json!({ "type": "error", "reason": "aborted", "error": assistant() }),
    ] {
        let deltas_only = json!({ "type": "message_update", "assistantMessageEvent": step });
        let AgentEvent::MessageUpdate { message, assistant_message_event, .. } = check(&deltas_only) else { panic!() };
        assert_eq!(message, None);
        assert!(!matches!(*assistant_message_event, AssistantMessageEvent::Other(_)), "{step}");

        let mut cumulative = step.clone();
        if !["done", "error"].contains(&step["type"].as_str().unwrap()) {
            cumulative["partial"] = assistant();
        }
        check(&json!({
            "type": "message_update", "message": assistant(), "usage": assistant()["usage"],
            "assistantMessageEvent": cumulative
        }));
    }
}

#[test]
fn later_names_are_read_and_written_as_ours() {
    let read: AgentEvent = serde_json::from_value(json!({ "type": "compaction_start", "reason": "manual" })).unwrap();
    assert_eq!(read, AgentEvent::AutoCompactionStart { reason: Open::Known(CompactionReason::Manual) });
    let end = json!({ "type": "compaction_end", "reason": "manual", "aborted": false, "willRetry": false });
    let read: AgentEvent = serde_json::from_value(end).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap()["type"], "auto_compaction_end");
}

#[test]
fn unknown_events_are_kept() {
    for event in [
        json!({ "type": "summarization_retry_scheduled", "attempt": 1 }),
        json!({ "type": "agent_end", "messages": 5 }),
        json!({ "type": "extension_ui_request", "requestId": "r", "method": "later" }),
        json!({ "untyped": true }),
    ] {
        let read: AgentEvent = serde_json::from_value(event.clone()).unwrap();
        assert!(matches!(read, AgentEvent::Other(_)), "{event}");
        assert_eq!(serde_json::to_value(read).unwrap(), event);
    }
}

/// The figure that made Pi drop the whole message from its updates: a delta must not cost a message.
#[test]
fn delta_is_small_on_the_wire() {
    let delta = AssistantMessageEvent::TextDelta { content_index: 0, delta: "word".to_owned(), partial: None };
    let event = AgentEvent::MessageUpdate { message: None, usage: None, assistant_message_event: Box::new(delta) };
    assert_eq!(
        serde_json::to_string(&event).unwrap(),
        r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"word"}}"#
    );
}

#[test]
fn text_of_a_message_is_what_was_said() {
    let Message::Assistant(message) = serde_json::from_value(assistant()).unwrap() else { panic!() };
    let said: String = message.content.iter().filter_map(Block::as_text).collect();
    assert_eq!(said, "hi");
}
