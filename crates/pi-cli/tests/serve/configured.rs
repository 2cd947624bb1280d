//! Settings reach the server that runs.

use pi_testkit::Script;
use serde_json::json;

use crate::{
    room::write,
    serving::{Serving, fits},
};

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
