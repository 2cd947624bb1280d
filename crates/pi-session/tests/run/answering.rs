//! Calls of tools that extensions had a hand in: they answer for them beside the model.

use pi_session::{Session, input::Utterance};
use pi_testkit::{Reply, model::Answer};
use pi_transcript::{
    AgentEvent,
    question::{self, UiRequest},
};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::stage::{Stage, saying};

/// What no extension may do unless it is granted.
const TOUCH: &str = r#"{"command":"touch made"}"#;

fn harmless() -> Reply {
    Answer::new().call("c1", "bash", &json!({ "command": "true" })).reply()
}

/// An extension that puts another command into the place of the model's.
fn changer(id: &str, input: &str) -> String {
    let answer = format!(r#"{{"family":"tool_call","outcome":{{"action":"transform","input":{input}}}}}"#);
    format!("guest {id}\non tool_call\noutcome {answer}")
}

/// The same in the message, before anybody looks at its calls.
fn inserter(id: &str, call: &str) -> String {
    let message = json!({ "role": "assistant", "content": [{ "type": "toolCall", "id": call, "name": "bash",
        "arguments": serde_json::from_str::<Value>(TOUCH).unwrap() }], "api": "x", "provider": "x", "model": "x",
        "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": "toolUse", "timestamp": 1 });
    let answer = json!({ "family": "message", "outcome": { "action": "replace", "message": message } });
    format!("guest {id}\non message_end\noutcome {answer}")
}

/// An extension whose model asks for it.
fn streamer(id: &str) -> String {
    let call = format!(r#"{{"type":"toolCall","id":"c1","name":"bash","arguments":{TOUCH}}}"#);
    let config = r#"{"api":"moon-api","baseUrl":"moon:","models":[{"id":"m1","name":"Moon","contextWindow":9000,"maxTokens":500}]}"#;
    format!("guest {id}\nprovider moon\nconfig {config}\nmessage {{\"content\":[{call}],\"stopReason\":\"toolUse\"}}")
}

async fn choose_moon(session: &Session) {
    let models = session.models().await.unwrap();
    if let Some(moon) = models.iter().find(|choice| choice.name() == "moon/m1") {
        session.set_model(Arc::clone(moon)).await.unwrap();
    }
}

/// What came of the calls of the first turn, whether the command ran, and what the ledger holds.
async fn check(scripts: &[&str], policy: Value, expected: &[&str]) {
    let (mut stage, _) = Stage::under(policy, [harmless(), harmless()], scripts).await;
    choose_moon(&stage.session).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("go")).await });
    // Scripts say the same every time, so the run is ended after the first turn.
    let told = stage.until(|event| matches!(event, AgentEvent::TurnEnd { .. })).await;
    stage.session.abort().await.unwrap();
    running.await.unwrap().unwrap();
    let refused = told.lines().filter(|line| line.contains("is not allowed")).map(str::to_owned);
    let made = if stage.path("made").exists() { "made" } else { "not made" };
    let found: Vec<String> = refused.chain([made.to_owned()]).chain(stage.ledger().await).collect();
    assert_eq!(found, expected, "{scripts:?}\n{told}");
}

#[tokio::test]
async fn call_that_an_extension_made_or_changed_is_denied_like_its_own() {
    for script in [changer("g", TOUCH), inserter("g", "c1"), inserter("g", "c2"), streamer("g")] {
        check(
            &[&script],
            json!({}),
            &[
                "tool bash is not allowed: the extension g had a hand in it: Extension g wanted exec: touch made and may not \
                 (denied unless it is granted by name). To allow it: pi ext allow g exec --command 'touch made'",
                "not made",
                "g host_call.start exec",
                "g policy.decision exec deny",
                "g host_call.end exec denied",
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn call_of_an_extension_that_may_is_carried_out_and_stands_in_its_ledger() {
    for script in [changer("g", TOUCH), inserter("g", "c2"), streamer("g")] {
        let grant = json!({ "grants": { "g": [{ "capability": "exec" }] } });
        check(&[&script], grant, &["made", "g host_call.start exec", "g host_call.end exec"]).await;
    }
}

#[tokio::test]
async fn what_is_denied_by_name_is_denied_in_every_mode() {
    let policy = json!({ "mode": "permissive", "deny_caps": [], "denies": { "g": [{ "capability": "exec" }] } });
    for script in [changer("g", TOUCH), inserter("g", "c2"), streamer("g")] {
        check(
            &[&script],
            policy.clone(),
            &[
                "tool bash is not allowed: the extension g had a hand in it: Extension g wanted exec: touch made and may not \
                 (denied by extensions.policy.denies[\"g\"][0]). To change it, remove \
                 extensions.policy.denies[\"g\"][0] from the settings",
                "not made",
                "g host_call.start exec",
                "g policy.decision exec deny",
                "g host_call.end exec denied",
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn arguments_that_are_handed_back_as_they_were_are_the_model_s() {
    check(&[&changer("g", r#"{"command":"true"}"#)], json!({}), &["not made"]).await;
}

#[tokio::test]
async fn all_who_changed_a_call_answer_for_it() {
    let policy = json!({ "grants": { "a": [{ "capability": "exec" }] } });
    let other = changer("a", r#"{"command":"touch other"}"#);
    check(
        &[&other, &changer("b", TOUCH)],
        policy,
        &[
            "tool bash is not allowed: the extension b had a hand in it: Extension b wanted exec: touch made and may not \
             (denied unless it is granted by name). To allow it: pi ext allow b exec --command 'touch made'",
            "not made",
            "a host_call.start exec",
            "a host_call.end exec",
            "b host_call.start exec",
            "b policy.decision exec deny",
            "b host_call.end exec denied",
        ],
    )
    .await;
}

#[tokio::test]
async fn tool_of_its_own_is_an_extension_s_to_change() {
    let script = changer("g", r#"{"far":2}"#);
    let script = format!("{script}\ntool look\nparameters {{\"type\":\"object\"}}\nanswer seen");
    let call = Answer::new().call("c1", "look", &json!({ "far": 1 })).reply();
    let (mut stage, _) =
        Stage::under(json!({ "mode": "strict" }), [call, Answer::new().text("Done.").reply()], &[&script]).await;
    let told = stage.play("go").await;
    assert!(told.contains("result of look \"seen\""), "{told}");
    assert_eq!(stage.ledger().await, [""; 0]);
}

#[tokio::test]
async fn model_reads_whom_it_was_refused_for_and_what_allows_it() {
    let (mut stage, _) =
        Stage::under(json!({}), [harmless(), Answer::new().text("Done.").reply()], &[&changer("g", TOUCH)]).await;
    stage.play("go").await;
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    let expected = "Not allowed: the extension g made or changed this call, and may not do what it asks for. Extension g wanted \
                    exec: touch made and may not";
    assert!(sent.contains(expected) && sent.contains("pi ext allow g exec"), "{sent}");
}

#[tokio::test]
async fn person_is_asked_once_for_what_no_rule_decides() {
    let answers = [harmless(), harmless(), Answer::new().text("Done.").reply()];
    let (mut stage, _) = Stage::under(json!({ "deny_caps": [] }), answers, &[&changer("g", TOUCH)]).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.say(Utterance::new("go")).await });
    let is_question =
        |event: &AgentEvent| matches!(event, AgentEvent::ExtensionUiRequest { request: UiRequest::Question(_), .. });
    stage.until(is_question).await;
    let open = stage.session.open_questions().await.unwrap().remove(0);
    let yes = question::Answer::Select { value: "Yes, exec for this session".to_owned() };
    stage.session.answer(open.id, yes).await.unwrap().unwrap();
    let told = stage.until(|event| is_question(event) || matches!(event, AgentEvent::AgentSettled { .. })).await;
    assert!(told.ends_with("settled"), "{told}");
    running.await.unwrap().unwrap();
    let ended = "g host_call.end exec";
    assert_eq!(stage.ledger().await.iter().filter(|line| *line == ended).count(), 2);
    assert!(stage.path("made").exists());
}
