//! What a frame means: its fingerprint, and what is answered.

use pi_transcript::{AgentEvent, AssistantMessageEvent, Message, message::UserMessage};
use pi_wire::{
    ConnectionOptions, Data, Error, Frame, Kind, Limits, Outcome, Response, Retry,
    command::Lifecycle,
    error::BusyLimit,
    event::{CommandPhase, FinishedCommand, UpdateForm},
    id::{ClientId, CommandId},
    parse,
};
use serde_json::{Value, json};

use crate::examples::{self, Example};

pub(crate) fn frame(json: &Value) -> Frame {
    parse(json.to_string().as_bytes(), &Limits::default()).unwrap_or_else(|reject| panic!("{json}: {reject:?}"))
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a test hands over the values that it writes down")]
fn same(a: Value, b: Value) {
    assert_eq!(frame(&a).fingerprint(), frame(&b).fingerprint(), "{a} and {b} are the same command");
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a test hands over the values that it writes down")]
fn different(a: Value, b: Value) {
    assert_ne!(frame(&a).fingerprint(), frame(&b).fingerprint(), "{a} and {b} are different commands");
}

#[test]
fn the_head_does_not_count() {
    let bare = json!({ "type": "prompt", "sessionId": "s", "message": "hi" });
    same(
        bare.clone(),
        json!({ "type": "prompt", "sessionId": "s", "message": "hi", "id": "c1", "idempotencyKey": "k", "dependsOn": ["c0"], "ifSessionVersion": 3 }),
    );
    same(bare.clone(), json!({ "message": "hi", "sessionId": "s", "type": "prompt", "dependsOn": [] }));
    different(bare, json!({ "type": "steer", "sessionId": "s", "message": "hi" }));
}

#[test]
fn a_default_is_the_same_as_nothing() {
    let session = |kind: &str, members: Value| {
        let mut frame = json!({ "type": kind, "sessionId": "s", "message": "m", "targetId": "t", "command": "ls" });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        frame
    };
    for (kind, spelled) in [
        ("prompt", json!({ "images": [] })),
        ("cycle_model", json!({ "direction": "forward" })),
        ("bash", json!({ "excludeFromContext": false })),
        ("bash", json!({ "writtenBy": [] })),
        ("navigate_tree", json!({ "options": {} })),
        ("navigate_tree", json!({ "options": { "summarize": false, "replaceInstructions": false } })),
    ] {
        same(session(kind, json!({})), session(kind, spelled));
    }
    for (kind, members) in [
        ("prompt", json!({ "streamingBehavior": "steer" })),
        ("prompt", json!({ "images": [{ "type": "image", "data": "aaaa", "mimeType": "image/png" }] })),
        ("cycle_model", json!({ "direction": "backward" })),
        ("bash", json!({ "excludeFromContext": true })),
        ("bash", json!({ "writtenBy": ["porter"] })),
        ("navigate_tree", json!({ "options": { "summarize": true } })),
        ("compact", json!({ "customInstructions": "" })),
    ] {
        different(session(kind, json!({})), session(kind, members));
    }
}

#[test]
fn a_required_flag_counts_even_when_it_is_false() {
    let set = |enabled: bool| json!({ "type": "set_auto_retry", "sessionId": "s", "enabled": enabled });
    different(set(false), set(true));
    assert_eq!(serde_json::to_value(frame(&set(false))).unwrap(), set(false));
}

#[test]
fn two_words_for_one_meaning_are_one_command() {
    let set = |level: &str| json!({ "type": "set_thinking_level", "sessionId": "s", "level": level });
    same(set("off"), set("none"));
    different(set("off"), set("minimal"));
}

#[test]
fn unknown_members_count_wherever_they_stand() {
    let bare = json!({ "type": "health_check" });
    different(bare.clone(), json!({ "type": "health_check", "x": null }));
    different(bare.clone(), json!({ "type": "health_check", "sessionId": "stray" }));
    different(json!({ "type": "health_check", "x": 1 }), json!({ "type": "health_check", "x": 2 }));
    same(json!({ "type": "health_check", "x": 1, "y": 2 }), json!({ "y": 2, "type": "health_check", "x": 1.0 }));
    let navigate =
        |options: Value| json!({ "type": "navigate_tree", "sessionId": "s", "targetId": "t", "options": options });
    different(navigate(json!({})), navigate(json!({ "speed": 1 })));
    let answer = |response: Value| json!({ "type": "extension_ui_response", "sessionId": "s", "requestId": "r", "response": response });
    different(answer(json!({ "method": "cancelled" })), answer(json!({ "method": "cancelled", "why": "late" })));
    let image = |extra: i32| json!({ "type": "steer", "sessionId": "s", "message": "m", "images": [{ "type": "image", "data": "aaaa", "mimeType": "image/png", "n": extra }] });
    different(image(1), image(2));
}

#[test]
fn a_fingerprint_does_not_change_between_releases() {
    let prompt = frame(&json!({ "type": "prompt", "sessionId": "s", "message": "hi" }));
    let canonical = br#"{"message":"hi","sessionId":"s","type":"prompt"}"#;
    assert_eq!(prompt.fingerprint(), pi_transcript::json::Digest::of(canonical));
}

#[test]
fn a_failure_says_what_to_do() {
    let frame = frame(&json!({ "type": "prompt", "id": "c1", "sessionId": "s1", "message": "hi" }));
    let error = Error::CircuitOpen { provider: "demo".into(), recovery_ms: 12_000 };
    let expected = json!({
        "id": "c1", "type": "response", "command": "prompt", "success": false,
        "error": "Circuit breaker open for demo (recovery in 12s)", "code": "circuit_open",
        "hint": "wait for the recovery, or choose another model", "retryAfterMs": 12_000, "sessionVersion": 4,
    });
    let response = Response::<Value>::error(&frame, &error).at_version(4);
    assert_eq!(serde_json::to_value(&response).unwrap(), expected);
    assert_eq!(serde_json::from_value::<Response<Value>>(expected).unwrap(), response);
    assert_eq!(error.code().retry(), Retry::NewId, "the failure is the outcome of this id");
    assert_eq!(
        Error::Busy { limit: BusyLimit::InFlight(1), retry_after_ms: 1 }.code().retry(),
        Retry::SameId,
        "it was never admitted"
    );
    assert_eq!(Error::DependencyUnknown("d".into()).code().retry(), Retry::NewId, "send the dependency first");
}

/// What one good answer of every command holds.
fn answers() -> Vec<(Frame, Option<Data>)> {
    let typed = |example: Example| {
        let response = serde_json::from_value::<Response<Value>>(example.response).unwrap().typed().unwrap();
        let Outcome::Success(data) = response.outcome else { panic!("an example succeeds") };
        (frame(&example.command), data)
    };
    examples::commands().into_iter().map(typed).collect()
}

#[test]
fn a_success_holds_the_data_of_its_command_and_no_other() {
    let answers = answers();
    for (frame, own) in &answers {
        let kind = frame.kind();
        assert_eq!(own.is_some(), kind.has_data(), "{kind:?}");
        for (other, data) in &answers {
            let made = Response::success(frame, data.clone());
            let fits = other.kind() == kind || (data.is_none() && own.is_none());
            assert_eq!(made.is_ok(), fits, "{kind:?} with the data of {:?}", other.kind());
        }
    }
    let bash = frame(&json!({ "type": "bash", "id": "c1", "sessionId": "s", "command": "ls" }));
    assert_eq!(Response::success(&bash, None).unwrap_err().to_string(), "bash answers with data");
    let stolen = answers.iter().find(|(frame, _)| frame.kind() == Kind::GetQueue).unwrap().1.clone();
    assert_eq!(Response::success(&bash, stolen).unwrap_err().to_string(), "the data of get_queue does not answer bash");
    let prompt = frame(&json!({ "type": "prompt", "id": "c1", "sessionId": "s", "message": "hi" }));
    let response = serde_json::to_value(Response::success(&prompt, None).unwrap().at_version(2)).unwrap();
    let expected = json!({ "id": "c1", "type": "response", "command": "prompt", "success": true, "sessionVersion": 2 });
    assert_eq!(response, expected);
}

#[test]
fn a_timeout_says_so() {
    let frame = frame(&json!({ "type": "bash", "sessionId": "s1", "command": "sleep 9" }));
    let response = Response::<Value>::error(&frame, &Error::Timeout { command: "bash", after_ms: 300_000 });
    let expected = json!({
        "type": "response", "command": "bash", "success": false, "error": "Command 'bash' timed out after 300000ms",
        "code": "timeout", "hint": "look at the state, then use a new id", "timedOut": true,
    });
    assert_eq!(serde_json::to_value(response).unwrap(), expected);
}

#[test]
fn a_replay_is_equal_but_for_id_and_mark() {
    let stored = json!({ "id": "c1", "type": "response", "command": "bash", "success": true, "data": { "exitCode": 1, "x": [] }, "sessionVersion": 3 });
    let response: Response<Value> = serde_json::from_value(stored).unwrap();
    let replay = |id: Option<&CommandId>| serde_json::to_value(response.clone().replay(id)).unwrap();
    let mut expected = json!({ "type": "response", "command": "bash", "success": true, "data": { "exitCode": 1, "x": [] }, "sessionVersion": 3, "replayed": true });
    assert_eq!(replay(None), expected, "a historical id does not leak");
    expected["id"] = "c2".into();
    assert_eq!(replay(Some(&"c2".into())), expected);
}

#[test]
fn other_clients_see_no_ids_keys_or_dependencies() {
    let frame = frame(
        &json!({ "type": "fork", "id": "c1", "sessionId": "s1", "entryId": "e", "idempotencyKey": "k", "dependsOn": ["c0"], "ifSessionVersion": 2 }),
    );
    let own = CommandPhase::of(&frame, "c1".into());
    let error = Error::DependencyFailed { dependency: "c0".into(), error: "no".into() };
    let finished = FinishedCommand::of(own, &Response::<Value>::error(&frame, &error)).for_others("other:1".into());
    let expected = json!({
        "commandId": "other:1", "commandType": "fork", "sessionId": "s1", "dependsOn": [], "ifSessionVersion": 2,
        "success": false, "code": "dependency_failed",
    });
    assert_eq!(serde_json::to_value(finished).unwrap(), expected);
}

#[test]
fn updates_carry_the_whole_message_only_in_the_cumulative_form() {
    let message = Message::User(UserMessage { content: "so far".into(), timestamp: 1, extra: serde_json::Map::new() });
    let delta = AssistantMessageEvent::TextDelta { content_index: 0, delta: "r".into(), partial: None };
    let update =
        |message| AgentEvent::MessageUpdate { message, usage: None, assistant_message_event: Box::new(delta.clone()) };
    assert_eq!(UpdateForm::Cumulative.apply(update(None), || message.clone()), update(Some(message.clone())));
    assert_eq!(
        UpdateForm::Deltas.apply(update(Some(message.clone())), || unreachable!("nobody needs it")),
        update(None)
    );
    assert_eq!(
        UpdateForm::Cumulative.apply(AgentEvent::AgentStart, || unreachable!("it is no update")),
        AgentEvent::AgentStart
    );
}

/// Every step that a message can take, each with the whole message in it.
fn steps(message: &Value) -> Vec<Value> {
    let bare = [
        json!({ "type": "start" }),
        json!({ "type": "text_start", "contentIndex": 0 }),
        json!({ "type": "text_delta", "contentIndex": 0, "delta": "d" }),
        json!({ "type": "text_end", "contentIndex": 0, "content": "c" }),
        json!({ "type": "thinking_start", "contentIndex": 0 }),
        json!({ "type": "thinking_delta", "contentIndex": 0, "delta": "d" }),
        json!({ "type": "thinking_end", "contentIndex": 0, "content": "c" }),
        json!({ "type": "toolcall_start", "contentIndex": 0 }),
        json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "d" }),
        json!({ "type": "toolcall_end", "contentIndex": 0, "toolCall": { "type": "toolCall", "id": "t", "name": "n", "arguments": {} } }),
        json!({ "type": "a_later_one", "contentIndex": 0 }),
    ];
    let partial = bare.into_iter().map(|mut step| {
        step["partial"] = message.clone();
        step
    });
    let whole = [
        json!({ "type": "done", "reason": "stop", "message": message }),
        json!({ "type": "error", "reason": "error", "error": message }),
    ];
    partial.chain(whole).collect()
}

#[test]
fn a_step_never_repeats_the_message() {
    let text = "everything that was said so far";
    let whole = json!({ "role": "user", "content": text, "timestamp": 1 });
    let message: Message = serde_json::from_value(whole.clone()).unwrap();
    for step in steps(&whole) {
        let event: AgentEvent = serde_json::from_value(
            json!({ "type": "message_update", "message": whole, "assistantMessageEvent": step }),
        )
        .unwrap();
        let count = |form: UpdateForm| {
            let sent = serde_json::to_string(&form.apply(event.clone(), || message.clone())).unwrap();
            sent.matches(text).count()
        };
        assert_eq!(count(UpdateForm::Deltas), 0, "{step}");
        assert_eq!(count(UpdateForm::Cumulative), 1, "{step}");
    }
}

#[test]
fn a_connection_may_name_its_client_and_choose_its_lifecycle_events() {
    let read = |pairs: &[(&'static str, &'static str)]| ConnectionOptions::from_pairs(pairs.iter().copied());
    assert_eq!(read(&[("token", "x")]), Ok(ConnectionOptions { client_id: None, lifecycle: Lifecycle::All }));
    let chosen = ConnectionOptions { client_id: Some(ClientId("tab-1".into())), lifecycle: Lifecycle::Own };
    assert_eq!(read(&[("clientId", "tab-1"), ("lifecycle", "own")]), Ok(chosen));
    let faults = read(&[("clientId", "a b"), ("lifecycle", "mine")]).unwrap_err();
    let texts: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["clientId: Must contain only alphanumeric characters and : _ - .", "lifecycle: Must be one of all, own, none"]
    );
}
