//! Settings reach the server that runs.

use pi_testkit::Script;
use serde_json::json;

use crate::{
    room::write,
    serving::{Serving, fits},
};

/// Who answers first, and who after each step through the models.
#[test]
fn models_are_gone_through_as_settings_or_arguments_say() {
    let write_settings = |room: &crate::room::Room| {
        write(
            &room.at("agent/settings.json"),
            br#"{"enabledModels": ["scripted/model:high", "messages/*", "nobody"]}"#,
        );
    };
    for (arguments, expected) in [
        (
            &[] as &[&str],
            json!([
                ["scripted", "model", "high", null],
                ["messages", "model", "off", true],
                ["scripted", "model", "high", true]
            ]),
        ),
        (
            &["--models", "scripted/other,scripted/model:low"],
            json!([
                ["scripted", "other", "off", null],
                ["scripted", "model", "low", true],
                ["scripted", "other", "off", true]
            ]),
        ),
        (&["--models", "scripted/model"], json!([["scripted", "model", "medium", null], null, null])),
        (
            &["--model", "scripted/other"],
            json!([
                ["scripted", "other", "off", null],
                ["scripted", "model", "high", true],
                ["messages", "model", "off", true]
            ]),
        ),
    ] {
        let serving = Serving::unasked(Script::new(), arguments, write_settings);
        serving.block_on(async {
            let mut client = serving.with_session("").await;
            let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
            let told = |data: &serde_json::Value| match data.is_null() {
                true => json!(null),
                false => {
                    json!([data["model"]["provider"], data["model"]["id"], data["thinkingLevel"], data["isScoped"]])
                }
            };
            let mut seen = vec![told(&state["data"])];
            for id in ["1", "2"] {
                let step = json!({"type": "cycle_model", "id": id, "sessionId": "s", "direction": "forward"});
                seen.push(told(&client.ask(&step).await["data"]));
            }
            assert_eq!(json!(seen), expected, "{arguments:?}");
        });
    }
}

#[test]
fn limits_of_file_and_argument_hold() {
    let settings = json!({"server": {"maxSessions": 1, "maxMessageBytes": 4096}});
    let before = |room: &crate::room::Room| write(&room.at("agent/settings.json"), settings.to_string().as_bytes());
    let serving = Serving::prepared(Script::new(), &["--set", "maxMessageBytes=2048"], before);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let second = client.ask(&json!({"type": "create_session", "id": "2", "sessionId": "t"})).await;
        assert!(fits(&second, &json!({"success": false, "code": "session_limit"})), "{second}");
        client.send(&json!({"type": "health_check", "id": "h", "filler": "x".repeat(2048)})).await;
        let refused = client.expect("a refusal", |frame| frame["type"] == "response").await;
        assert!(fits(&refused, &json!({"success": false, "code": "message_too_large"})), "{refused}");
    });
}
