//! What each field may hold, and what is said when it does not.

use pi_wire::{Limits, parse};
use serde_json::{Value, json};

/// The error that `frame` is answered with, or `ok`.
fn verdict(frame: &Value) -> String {
    match parse(frame.to_string().as_bytes(), &Limits::default()) {
        Ok(_) => "ok".to_owned(),
        Err(reject) => reject.cause.to_string(),
    }
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "a test hands over the values that it writes down")]
fn check(frame: Value, expected: &str) {
    assert_eq!(verdict(&frame), expected, "{frame}");
}

#[track_caller]
fn check_session(kind: &str, members: Value, expected: &str) {
    let mut frame = json!({ "type": kind, "sessionId": "s1" });
    let Value::Object(members) = members else { panic!("members stand in an object") };
    frame.as_object_mut().unwrap().extend(members);
    check(frame, expected);
}

#[test]
fn a_command_needs_a_type_that_exists() {
    let no_type = "Validation failed: type: Command must have a string 'type' field";
    check(json!({}), no_type);
    check(json!({ "type": 5 }), no_type);
    check(json!({ "type": "" }), no_type);
    check(json!({ "type": "fly" }), "Validation failed: type: Unknown command type 'fly'");
}

#[test]
fn an_unknown_command_is_answered_with_the_nearest_known_one() {
    for (name, hint) in [
        ("promt", "did you mean 'prompt'?"),
        ("getState", "did you mean 'get_state'?"),
        ("get_mesages", "did you mean 'get_messages'?"),
        ("abort_bahs", "did you mean 'abort_bash'?"),
        ("fly", "`server_ready` lists the features of this server"),
    ] {
        let frame = json!({ "type": name, "id": "c1" }).to_string();
        let answer = serde_json::to_value(parse(frame.as_bytes(), &Limits::default()).unwrap_err().response()).unwrap();
        let expected = json!({
            "id": "c1", "type": "response", "command": name, "success": false,
            "error": format!("Validation failed: type: Unknown command type '{name}'"),
            "code": "unknown_command", "field": "type", "hint": hint,
        });
        assert_eq!(answer, expected);
    }
}

#[test]
fn the_head_is_checked() {
    let blank = "Must be a non-empty string if provided";
    for (members, expected) in [
        (json!({ "id": "" }), format!("id: {blank}")),
        (json!({ "id": " \t\u{3000}\u{feff}" }), format!("id: {blank}")),
        (json!({ "id": 7 }), format!("id: {blank}")),
        (json!({ "id": null }), format!("id: {blank}")),
        (json!({ "id": "x".repeat(257) }), "id: Too long (max 256 chars)".to_owned()),
        (json!({ "id": "😀".repeat(129) }), "id: Too long (max 256 chars)".to_owned()),
        (json!({ "id": "anon:5" }), "id: Cannot use reserved prefix 'anon:'".to_owned()),
        (json!({ "idempotencyKey": "" }), format!("idempotencyKey: {blank}")),
        (json!({ "idempotencyKey": ["k"] }), format!("idempotencyKey: {blank}")),
        (json!({ "dependsOn": "c1" }), "dependsOn: Must be an array if provided".to_owned()),
        (json!({ "dependsOn": ["c1"] }), "id: Required when dependsOn is provided".to_owned()),
        (
            json!({ "id": "c", "dependsOn": ["a", " ", 5] }),
            "dependsOn[1]: Required string; dependsOn[2]: Required string".to_owned(),
        ),
        (json!({ "id": "c", "dependsOn": vec!["a"; 33] }), "dependsOn: Too many dependencies (max 32)".to_owned()),
        (json!({ "ifSessionVersion": -1 }), "ifSessionVersion: Must be a non-negative integer".to_owned()),
        (json!({ "ifSessionVersion": 1.5 }), "ifSessionVersion: Must be a non-negative integer".to_owned()),
        (json!({ "ifSessionVersion": "1" }), "ifSessionVersion: Must be a non-negative integer".to_owned()),
        (json!({ "ifSessionVersion": 1e300 }), "ifSessionVersion: Must be a non-negative integer".to_owned()),
    ] {
        check_session("get_state", members, &format!("Validation failed: {expected}"));
    }
    for members in [
        json!({ "id": "😀".repeat(128) }),
        json!({ "id": "x".repeat(256), "dependsOn": vec!["a"; 32] }),
        json!({ "dependsOn": [] }),
        json!({ "ifSessionVersion": 3.0 }),
        json!({ "ifSessionVersion": 9_007_199_254_740_991_u64 }),
    ] {
        check_session("get_state", members, "ok");
    }
}

#[test]
fn a_version_is_for_sessions() {
    let refused = "Validation failed: ifSessionVersion: Only supported for session-targeted commands";
    check(json!({ "type": "health_check", "ifSessionVersion": 0 }), refused);
    check(json!({ "type": "create_session", "ifSessionVersion": 0 }), refused);
    check(json!({ "type": "switch_session", "sessionId": "s", "ifSessionVersion": 0 }), refused);
    check(json!({ "type": "delete_session", "sessionId": "s", "ifSessionVersion": 0 }), "ok");
}

#[test]
fn a_session_command_needs_its_session() {
    let refused = "Validation failed: sessionId: Session commands must have a non-empty string 'sessionId'";
    check(json!({ "type": "get_state" }), refused);
    check(json!({ "type": "get_state", "sessionId": "" }), refused);
    check(json!({ "type": "get_state", "sessionId": "  " }), refused);
    check(json!({ "type": "delete_session" }), "Validation failed: sessionId: Required string");
    // Such a session cannot exist, which is for the server to say: "Session a b not found".
    check(json!({ "type": "get_state", "sessionId": "a b" }), "ok");
}

#[test]
fn a_new_session_gets_a_plain_id_and_an_absolute_directory() {
    let characters = "Session ID must contain only alphanumeric characters, underscores, dashes, and dots";
    for (members, expected) in [
        (json!({ "sessionId": "a b" }), format!("Validation failed: sessionId: {characters}")),
        (json!({ "sessionId": "a/b" }), format!("Validation failed: sessionId: {characters}")),
        (json!({ "sessionId": "é" }), format!("Validation failed: sessionId: {characters}")),
        (json!({ "sessionId": "x".repeat(257) }), "Validation failed: sessionId: Too long (max 256 chars)".to_owned()),
        (json!({ "sessionId": "A-z_0.9" }), "ok".to_owned()),
        (json!({ "cwd": "work" }), "Validation failed: cwd: CWD must be an absolute path".to_owned()),
        (
            json!({ "cwd": "~/work" }),
            "Validation failed: cwd: CWD must be written out, without a leading '~'".to_owned(),
        ),
        (json!({ "cwd": "/a/../b" }), "Validation failed: cwd: CWD must be free of '..' components".to_owned()),
        (json!({ "cwd": "/a\u{0}b" }), "Validation failed: cwd: CWD must be free of NUL".to_owned()),
        (
            json!({ "cwd": format!("/{}", "x".repeat(4096)) }),
            "Validation failed: cwd: CWD must be at most 4096 characters long".to_owned(),
        ),
        (json!({ "cwd": "/a..b/c" }), "ok".to_owned()),
        (json!({ "cwd": "C:\\work" }), "ok".to_owned()),
        (json!({ "cwd": "" }), "Validation failed: cwd: Must be a non-empty string if provided".to_owned()),
    ] {
        let mut frame = json!({ "type": "create_session" });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        check(frame, &expected);
    }
}

#[test]
fn an_error_about_a_session_path_begins_as_the_document_says() {
    for (path, expected) in [
        (json!("a.jsonl"), "sessionPath must be an absolute path"),
        (json!("/s/../a.jsonl"), "sessionPath must be free of '..' components"),
        (json!("~/a.jsonl"), "sessionPath must be written out, without a leading '~'"),
        (json!("/s/a.txt"), "sessionPath must be a .jsonl or .json session file"),
        (json!("/s/a\u{0}.json"), "sessionPath must be free of NUL"),
        (json!(5), "Validation failed: sessionPath: Required string"),
        (json!(""), "Validation failed: sessionPath: Required string"),
        (json!("/s/.pi/sessions/a.json"), "ok"),
    ] {
        check(json!({ "type": "load_session", "sessionPath": path }), expected);
        check_session("switch_session_file", json!({ "sessionPath": path }), expected);
    }
    check(
        json!({ "type": "load_session", "sessionId": "a b", "sessionPath": "/s/../a.json", "id": "" }),
        "sessionPath must be free of '..' components; id: Must be a non-empty string if provided; \
         sessionId: Session ID must contain only alphanumeric characters, underscores, dashes, and dots",
    );
}

#[test]
fn what_is_said_to_the_agent_is_bounded() {
    for kind in ["prompt", "steer", "follow_up"] {
        check_session(kind, json!({}), "Validation failed: message: Required string");
        check_session(kind, json!({ "message": "" }), "Validation failed: message: Required string");
        check_session(kind, json!({ "message": "x".repeat(200_000) }), "ok");
        check_session(kind, json!({ "message": "é".repeat(200_000) }), "ok");
        let long = "Validation failed: message: Too long (max 200000 chars)";
        check_session(kind, json!({ "message": "x".repeat(200_001) }), long);
        check_session(kind, json!({ "message": "😀".repeat(100_001) }), long);
    }
    check_session(
        "bash",
        json!({ "command": "x".repeat(20_001) }),
        "Validation failed: command: Too long (max 20000 chars)",
    );
}

#[test]
fn streaming_behaviour_and_images_are_checked() {
    for (members, expected) in [
        (json!({ "streamingBehavior": "now" }), "streamingBehavior: Must be one of steer, followUp"),
        (json!({ "streamingBehavior": true }), "streamingBehavior: Must be a non-empty string if provided"),
        (json!({ "images": "a" }), "images: Must be an array if provided"),
        (json!({ "images": ["a"] }), "images[0]: Required object"),
        (
            json!({ "images": [{ "type": "text" }] }),
            "images[0].type: Must be one of image; images[0].data: Required string; images[0].mimeType: Required string",
        ),
        (
            json!({ "images": [{ "type": "image", "data": "a=b", "mimeType": "text/html" }] }),
            "images[0].data: Must be base64 data; images[0].mimeType: Must be an image type such as image/png",
        ),
        (
            json!({ "images": vec![json!({ "type": "image", "data": "aaaa", "mimeType": "image/png" }); 33] }),
            "images: Too many items (max 32)",
        ),
    ] {
        let mut members = members;
        members["message"] = "hi".into();
        check_session("prompt", members, &format!("Validation failed: {expected}"));
    }
}

#[test]
fn every_thinking_level_is_accepted() {
    for level in ["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] {
        check_session("set_thinking_level", json!({ "level": level }), "ok");
    }
    check_session(
        "set_thinking_level",
        json!({ "level": "huge" }),
        "Validation failed: level: Must be one of off, none, minimal, low, medium, high, xhigh, max",
    );
    check_session("set_thinking_level", json!({}), "Validation failed: level: Required string");
}

#[test]
fn an_answer_has_the_payload_of_its_method() {
    let good = |response: Value| json!({ "requestId": "a.b:1:x", "response": response });
    for response in [
        json!({ "method": "select", "value": "A" }),
        json!({ "method": "confirm", "confirmed": false }),
        json!({ "method": "input", "value": "" }),
        json!({ "method": "editor", "value": "two\nlines" }),
        json!({ "method": "interview", "responses": {} }),
        json!({ "method": "interview", "responses": { "a": "", "b": ["x", "y"], "c": true, "d": null, "": 1, "e": { "f": [{}] } } }),
        json!({ "method": "interview", "responses": { "q": ["😀".repeat(100_000)] } }),
        json!({ "method": "cancelled" }),
    ] {
        check_session("extension_ui_response", good(response), "ok");
    }
    for (response, expected) in [
        (
            json!({ "method": "shout" }),
            "response.method: Must be one of select, confirm, input, editor, interview, cancelled",
        ),
        (json!({}), "response.method: Required string"),
        (json!({ "method": "select" }), "response.value: Required string"),
        (json!({ "method": "confirm", "confirmed": "yes" }), "response.confirmed: Required boolean"),
        (json!({ "method": "interview", "responses": [] }), "response.responses: Required object"),
        (json!("yes"), "response: Required object"),
    ] {
        check_session("extension_ui_response", good(response), &format!("Validation failed: {expected}"));
    }
    check_session(
        "extension_ui_response",
        json!({ "requestId": "a b", "response": { "method": "cancelled" } }),
        "Validation failed: requestId: Must contain only alphanumeric characters and : _ - .",
    );
}

#[test]
fn every_text_in_an_interview_is_checked() {
    let many = |count: usize| (0..count).map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>();
    for (responses, expected) in [
        (json!({ "a": "x\u{0}" }), "response.responses.a: Must not contain NUL".to_owned()),
        (json!({ "a": ["x", "\u{0}"] }), "response.responses.a[1]: Must not contain NUL".to_owned()),
        (json!({ "a\u{0}": "x" }), "response.responses.a\u{0}: Must not contain NUL".to_owned()),
        (json!({ "a": "x".repeat(200_001) }), "response.responses.a: Too long (max 200000 chars)".to_owned()),
        (json!({ "k".repeat(257): 1 }), format!("response.responses.{}…: Too long (max 256 chars)", "k".repeat(80))),
        (
            json!({ "a": { "b": [[], ["\u{0}"]], "c\u{0}": null } }),
            "response.responses.a.b[1][0]: Must not contain NUL; response.responses.a.c\u{0}: Must not contain NUL"
                .to_owned(),
        ),
        (json!({ "a": vec![0; 1025] }), "response.responses.a: Too many items (max 1024)".to_owned()),
        (json!(many(1025)), "response.responses: Too many items (max 1024)".to_owned()),
    ] {
        let response = json!({ "method": "interview", "responses": responses });
        check_session(
            "extension_ui_response",
            json!({ "requestId": "r", "response": response }),
            &format!("Validation failed: {expected}"),
        );
    }
    let response = json!({ "method": "interview", "responses": many(1024) });
    check_session("extension_ui_response", json!({ "requestId": "r", "response": response }), "ok");
}

#[test]
fn the_other_fields_are_checked() {
    for (kind, members, expected) in [
        ("set_model", json!({}), "provider: Required string; modelId: Required string"),
        ("set_session_name", json!({ "name": "a\nb" }), "name: Must not contain control characters"),
        ("set_session_name", json!({ "name": "a\u{7f}" }), "name: Must not contain control characters"),
        ("set_session_name", json!({ "name": "" }), "name: Required string"),
        (
            "set_label",
            json!({ "label": "a\nb" }),
            "entryId: Required string; label: Must not contain control characters",
        ),
        ("set_auto_retry", json!({ "enabled": 1 }), "enabled: Required boolean"),
        ("cycle_model", json!({ "direction": "up" }), "direction: Must be one of forward, backward"),
        (
            "navigate_tree",
            json!({ "options": { "summarize": 1 } }),
            "targetId: Required string; options.summarize: Must be a boolean if provided",
        ),
        ("navigate_tree", json!({ "targetId": "a", "options": [] }), "options: Must be an object if provided"),
        ("get_messages", json!({ "limit": 0 }), "limit: Must be an integer from 1 to 1000"),
        ("get_messages", json!({ "before": "a", "after": "b" }), "after: Cannot be combined with 'before'"),
        ("edit_queue", json!({ "items": [{}] }), "revision: Required integer; items[0].itemId: Required string"),
        ("set_active_tools", json!({ "tools": [""] }), "tools[0]: Required string"),
        ("export_html", json!({ "outputPath": "../x.html" }), "outputPath: Path must be free of '..' components"),
        ("extension_ui_key", json!({ "requestId": "r", "key": "" }), "key: Must be a non-empty string if provided"),
        ("extension_ui_key", json!({ "requestId": "r", "height": 3 }), "key: Required without 'width'"),
    ] {
        check_session(kind, members, &format!("Validation failed: {expected}"));
    }
    for (frame, expected) in [
        (json!({ "type": "get_command_history", "limit": 501 }), "limit: Must be an integer from 1 to 500"),
        (
            json!({ "type": "get_command_history", "fromTimestamp": 2, "toTimestamp": 1 }),
            "toTimestamp: Must not be before fromTimestamp",
        ),
        (
            json!({ "type": "get_command_history", "fromTimestamp": -2 }),
            "fromTimestamp: Must be a non-negative integer",
        ),
        (json!({ "type": "subscribe", "sessionId": "s", "afterSeq": 1 }), "epoch: Required with 'afterSeq'"),
        (json!({ "type": "subscribe", "sessionId": "s", "epoch": "e" }), "afterSeq: Required with 'epoch'"),
        (json!({ "type": "set_lifecycle", "lifecycle": "mine" }), "lifecycle: Must be one of all, own, none"),
        (
            json!({ "type": "delete_stored_session", "sessionPath": "/s/a.jsonl", "fileName": "b.jsonl" }),
            "fileName: Must be the name of the file in 'sessionPath'",
        ),
    ] {
        check(frame, &format!("Validation failed: {expected}"));
    }
}

#[test]
fn null_is_not_absent() {
    check(
        json!({ "type": "create_session", "cwd": null }),
        "Validation failed: cwd: Must be a non-empty string if provided",
    );
    check_session(
        "cycle_model",
        json!({ "direction": null }),
        "Validation failed: direction: Must be a non-empty string if provided",
    );
}

#[test]
fn unknown_members_are_accepted_and_kept() {
    let frame = json!({ "type": "health_check", "x": { "y": [1] }, "sessionId": "stray" }).to_string();
    let frame = parse(frame.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(Value::Object(frame.extra.clone()), json!({ "x": { "y": [1] }, "sessionId": "stray" }));
    assert_eq!(frame.command.session(), None, "a stray id is no target");
}
