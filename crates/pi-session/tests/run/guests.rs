//! What extensions see of a run and what they can do to it.

use pi_session::offer::ActiveTools;
use pi_testkit::model::Answer;
use pi_transcript::{
    AgentEvent, RequestId,
    question::{self, Announcement, UiRequest},
};
use serde_json::{Value, json};

use crate::stage::{Stage, saying};

fn write() -> pi_testkit::Reply {
    Answer::new().call("c1", "write", &json!({ "path": "a", "content": "x" })).reply()
}

fn done() -> pi_testkit::Reply {
    Answer::new().text("Done.").reply()
}

#[tokio::test]
async fn guard_that_blocks_or_fails_keeps_the_tool_from_running() {
    let block = r#"guest guard
on tool_call
outcome {"family":"tool_call","outcome":{"action":"block","reason":"not today","terminate":false}}"#;
    let panic = "guest guard\non tool_call\npanic oops";
    for (script, reason) in [(block, "not today"), (panic, "extension guard failed")] {
        let (mut stage, _) = Stage::with_guests([write(), done()], &[script]).await;
        let told = stage.play("go").await;
        let result = told.lines().find(|line| line.starts_with("result")).unwrap();
        assert!(result.starts_with("result of write failed") && result.contains(reason), "{result}");
        assert!(!stage.path("a").exists());
    }
}

/// What the last of two extensions hears of a call that writes to a path, after the first may have put in another, and which
/// file is written.
async fn check_path(folders: &[&str], written: &str, put_in: Option<&str>, expected: &str) {
    let changed = put_in.map(|path| {
        let outcome = json!({ "action": "transform", "input": { "path": path, "content": "x" } });
        format!("outcome {}", json!({ "family": "tool_call", "outcome": outcome }))
    });
    let changer = format!("guest changer\non tool_call\n{}", changed.unwrap_or_default());
    let call = Answer::new().call("c1", "write", &json!({ "file_path": written, "content": "x" })).reply();
    let scripts = [changer.as_str(), "guest guard\non tool_call"];
    let (mut stage, guests) = Stage::with_guests([call, done()], &scripts).await;
    for folder in folders {
        std::fs::create_dir(stage.path(folder)).unwrap();
    }
    let told = stage.play("go").await;
    let heard = guests[1].heard();
    let event: Value = serde_json::from_str(heard[0].strip_prefix("tool_call ").unwrap()).unwrap();
    assert_eq!(event["input"], json!({ "path": expected, "content": "x" }), "{written} {put_in:?}");
    assert!(stage.path(expected).exists(), "{written} {put_in:?}\n{told}");
}

#[tokio::test]
async fn guard_hears_the_path_that_is_opened() {
    check_path(&[], ".env", None, ".env").await;
    check_path(&[], "@.env", None, ".env").await;
    check_path(&[".git"], "@.git/config", None, ".git/config").await;
    check_path(&[], "my\u{a0}notes", None, "my notes").await;
    check_path(&["@scope"], "@scope/name", None, "@scope/name").await;
    check_path(&[], "a", Some("@.env"), ".env").await;
    check_path(&[], "@a", Some("my\u{202f}notes"), "my notes").await;
}

#[tokio::test]
async fn tool_of_an_extension_is_offered_and_run() {
    let script = "guest eyes
tool look
describes Looks around.
parameters {\"type\":\"object\",\"properties\":{\"far\":{\"type\":\"number\"}}}
update looking
answer a tree";
    let call = Answer::new().call("c1", "look", &json!({ "far": "3" })).reply();
    let (mut stage, guests) = Stage::with_guests([call, done()], &[script]).await;
    let told = stage.play("look").await;
    assert!(told.contains("result of look \"a tree\""), "{told}");
    assert!(guests[0].heard().join("\n").contains("look"), "{:?}", guests[0].heard());
    let sent = stage.server.requests()[0].json()["tools"].to_string();
    assert!(sent.contains("Looks around."), "{sent}");
}

#[tokio::test]
async fn tool_that_comes_late_is_active_by_the_rule_of_those_that_were_there() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (active, late) in [
        (ActiveTools::Usual(names(&["read"])), ["read", "early", "late"].as_slice()),
        (ActiveTools::Asked(names(&["read"])), &["read"]),
        (ActiveTools::Asked(names(&["late", "read"])), &["late", "read"]),
        (ActiveTools::Asked(names(&[])), &[]),
    ] {
        let script = "guest eyes\ntool early\nanswer a\ntool late later\nanswer b\non agent_end\noffer late";
        let asked = active.clone();
        let change = |blueprint: &mut pi_session::Blueprint| {
            blueprint.active_tools = match asked {
                // Whoever starts a session adds what extensions offer then.
                ActiveTools::Usual(names) => ActiveTools::Usual([names, vec!["early".to_owned()]].concat()),
                asked @ ActiveTools::Asked(_) => asked,
            };
        };
        let (mut stage, _) = Stage::with_guests_and([done(), done()], &[script], change).await;
        stage.play("first").await;
        stage.play("second").await;
        let tools = stage.server.requests()[1].json()["tools"].clone();
        let tools: Vec<&str> = tools.as_array().into_iter().flatten().map(name_of).collect();
        assert_eq!(tools, late, "{active:?}");
    }
}

fn name_of(tool: &Value) -> &str {
    tool["function"]["name"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn tool_that_comes_late_and_is_odd_is_told_once() {
    let script = r#"guest eyes
tool bad later
parameters {"type":"array"}
answer b
tool read later
answer c
on agent_end
offer bad
offer read
offer read"#;
    let (mut stage, _) = Stage::with_guests([done()], &[script]).await;
    let told = std::sync::Mutex::new(Vec::new());
    let prompted = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("go")).await })
    };
    stage
        .until(|event| {
            if let AgentEvent::ExtensionUiRequest {
                request: UiRequest::Announcement(Announcement::Notify { message, .. }),
                ..
            } = event
            {
                told.lock().unwrap().push(message.clone());
            }
            matches!(event, AgentEvent::AgentSettled { .. })
        })
        .await;
    prompted.await.unwrap().unwrap();
    let refused = "the tool \"bad\" of extension eyes is not offered: its parameters are no schema: type is not object";
    let replaced = "the tool read is that of extension eyes, in the place of ours";
    assert_eq!(*told.lock().unwrap(), [refused, replaced]);
}

#[tokio::test]
async fn extension_changes_the_result_that_the_model_sees() {
    let script = r#"guest editor
on tool_result
outcome {"family":"tool_result","outcome":{"action":"transform","content":[{"type":"text","text":"changed"}]}}"#;
    let (mut stage, _) = Stage::with_guests([write(), done()], &[script]).await;
    let told = stage.play("go").await;
    assert!(told.contains("result of write \"changed\""), "{told}");
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    assert!(sent.contains("changed"), "{sent}");
}

#[tokio::test]
async fn result_that_an_extension_makes_too_long_is_cut_for_the_model() {
    let long = "a".repeat(200_000);
    let outcome = json!({ "family": "tool_result",
        "outcome": { "action": "transform", "content": [{ "type": "text", "text": long }] } });
    let script = format!("guest editor\non tool_result\noutcome {outcome}");
    let (mut stage, _) = Stage::with_guests([write(), done()], &[script.as_str()]).await;
    stage.play("go").await;
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    assert!(sent.len() < 100_000, "{}", sent.len());
    assert!(sent.contains("[Showing the first 80.0KB of 195.3KB. "), "{}", &sent[sent.len().saturating_sub(500)..]);
}

#[tokio::test]
async fn question_during_a_call_is_put_before_a_person_and_answered() {
    let script = r#"guest asker
tool look
ask {"method":"confirm","title":"Sure?","message":"Look?"}
answer seen"#;
    let call = Answer::new().call("c1", "look", &json!({})).reply();
    let (mut stage, guests) = Stage::with_guests([call, done()], &[script]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("look")).await })
    };
    let asked = std::sync::Mutex::new(None::<RequestId>);
    stage
        .until(|event| match event {
            AgentEvent::ExtensionUiRequest { request_id, .. } => {
                *asked.lock().unwrap() = Some(request_id.clone());
                true
            }
            _ => false,
        })
        .await;
    let id = asked.into_inner().unwrap().unwrap();
    stage.session.answer(id, question::Answer::Confirm { confirmed: true }).await.unwrap().unwrap();
    running.await.unwrap().unwrap();
    assert!(guests[0].heard().join("\n").contains("confirmed"), "{:?}", guests[0].heard());
}

#[tokio::test]
async fn message_and_entry_of_an_extension_are_written_and_ride_along() {
    let script = r#"guest notes
on agent_end
append memo {"n":1}
send note next_turn remember me"#;
    let (mut stage, _) = Stage::with_guests([done(), done()], &[script]).await;
    stage.play("first").await;
    stage.play("second").await;
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    assert!(sent.contains("remember me"), "{sent}");
    let lines = stage.lines().await;
    assert!(lines.contains(&"custom".to_owned()) && lines.contains(&"custom_message".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn hanging_extension_costs_its_answer_and_not_the_run() {
    let (mut stage, _) = Stage::with_guests([done()], &["guest stuck\non turn_start\nhang"]).await;
    let told = stage.play("hi").await;
    assert!(told.ends_with("settled"), "{told}");
}

#[tokio::test]
async fn extension_replaces_the_system_text_of_a_run() {
    let script = r#"guest boss
on before_agent_start
outcome {"family":"start","outcome":{"system_prompt":"Be brief."}}"#;
    let (mut stage, _) = Stage::with_guests([done()], &[script]).await;
    stage.play("hi").await;
    let sent = stage.server.requests()[0].json()["messages"][0].clone();
    assert_eq!((sent["role"].as_str(), sent["content"].as_str()), (Some("system"), Some("Be brief.")));
}
