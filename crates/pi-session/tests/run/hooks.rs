//! Every hook of the closed list is fired somewhere, or is named with the reason why it is not.

use std::{collections::BTreeSet, sync::Arc};

use pi_exthost::unfired::UNFIRED;
use pi_extproto::hook::{Hook, Outcome};
use pi_session::{
    Beginning, Departure, Exposure, Journey, Summarise, cut::Settings, directory::ForkPoint, hooks::ELSEWHERE,
    input::Utterance,
};
use pi_testkit::model::Answer;
use pi_transcript::{AgentEvent, RequestId, ThinkingLevel, question};
use serde_json::json;

use crate::stage::Stage;

fn done() -> pi_testkit::Reply {
    Answer::new().text("Done.").reply()
}

/// The names of the events that a guest heard.
fn names(heard: &[String]) -> BTreeSet<&str> {
    heard.iter().filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn list_of_hooks_that_are_fired_elsewhere_has_each_once() {
    let all: Vec<_> = ELSEWHERE.iter().chain(UNFIRED).collect();
    let named: BTreeSet<_> = all.iter().map(|(hook, _)| *hook).collect();
    assert_eq!(named.len(), all.len());
    assert!(all.iter().all(|(_, reason)| !reason.is_empty()));
}

#[tokio::test]
async fn every_hook_is_fired_or_named_with_a_reason() {
    let sections: Vec<String> = Hook::ALL.iter().map(|hook| format!("on {hook}")).collect();
    let tools = r#"tool look
update looking
ask {"method":"confirm","title":"Sure?","message":"Look?"}
emit news 1
answer seen
channel news"#;
    let script = format!("guest ears\n{}\n{tools}", sections.join("\n"));
    let call = Answer::new().call("c1", "look", &json!({})).reply();
    let refused = pi_testkit::model::refusal(401, "invalid_api_key", "no");
    let change = |blueprint: &mut pi_session::Blueprint| {
        blueprint.compaction = Settings { enabled: true, reserve_tokens: 1000, keep_recent_tokens: 1 };
        blueprint.beginning = Beginning::Fork { left: None };
    };
    let answers = [call, done(), done(), done(), refused];
    // A server of the Model Context Protocol that has one more tool at some time.
    let server = "guest mcp:files\ntool mcp__files__find later\nanswer found\non agent_start\noffer mcp__files__find";
    let (mut stage, guests) = Stage::with_guests_and(answers, &[&script, server], change).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.say(Utterance::new("look")).await });
    answer_question(&mut stage).await;
    running.await.unwrap().unwrap();
    stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    let choice = stage.session.models().await.unwrap().into_iter().next().unwrap();
    stage.session.set_model(Arc::clone(&choice)).await.unwrap();
    stage.session.set_thinking_level(ThinkingLevel::High).await.unwrap();
    stage.session.rename("named".to_owned()).await.unwrap();
    stage.session.bash("true".to_owned(), Exposure::Shown).await.unwrap();
    stage.session.compact(None).await.unwrap();
    stage.play("more").await;
    let failed = stage.session.compact(None).await;
    assert!(failed.is_err(), "{failed:?}");
    let target = stage.session.messages().await.unwrap()[0].0.clone();
    stage.session.navigate(Journey { target, summarise: Summarise::No, label: None }).await.unwrap();
    for departure in [Departure::New { parent: None }, Departure::Fork(ForkPoint::Leaf)] {
        assert_eq!(stage.session.may_leave(departure).await, Ok(true));
    }
    stage.session.close().await.unwrap();
    let (stage, switched) = Stage::with_guests_and([], &["guest g\non session_switch"], |blueprint| {
        blueprint.beginning = Beginning::New { left: None };
    })
    .await;
    stage.session.close().await.unwrap();
    let heard = [guests[0].heard(), switched[0].heard()].concat();
    let heard = names(&heard);
    for hook in Hook::ALL {
        let is_elsewhere = ELSEWHERE.iter().chain(UNFIRED).any(|(other, _)| other == hook);
        assert_ne!(
            heard.contains(hook.as_str()),
            is_elsewhere,
            "{hook} is {}",
            if is_elsewhere { "fired" } else { "not fired" }
        );
    }
}

#[tokio::test]
async fn first_step_of_an_answer_comes_with_the_message_that_they_add_to() {
    let words: String = (0..200).map(|number| format!("{number} ")).collect();
    let script = "guest g\non message_update";
    let (mut stage, guests) = Stage::with_guests([Answer::new().text(&words).reply()], &[script]).await;
    stage.play("count").await;
    let heard = guests[0].heard();
    let (first, others) = heard.split_first().unwrap();
    let event: serde_json::Value = serde_json::from_str(first.strip_prefix("message_update ").unwrap()).unwrap();
    assert_eq!((&event["message"]["role"], &event["message"]["content"]), (&json!("assistant"), &json!([])));
    assert_eq!(event["message"]["model"], "model");
    // None of the others, however long the answer gets.
    assert!(others.len() > 2 && others.iter().all(|line| !line.contains(r#""message":"#)), "{others:?}");
}

async fn answer_question(stage: &mut Stage) {
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
}

fn turn(entries: &serde_json::Value, resume: bool) -> String {
    let outcome = json!({ "family": "turn", "outcome": { "entries": entries, "resume": resume } });
    serde_json::from_value::<Outcome>(outcome.clone()).unwrap();
    format!("outcome {outcome}")
}

#[tokio::test]
async fn entries_of_a_turn_are_written_and_seen_by_the_model() {
    let entries = json!([
        { "type": "custom", "customType": "memo", "data": 1 },
        { "type": "custom_message", "customType": "note", "content": "Mind the gap.", "display": true },
        { "type": "custom_message", "customType": "broken" },
    ]);
    let script = format!("guest g\non turn_end\n{}", turn(&entries, false));
    let (mut stage, guests) = Stage::with_guests([done(), done()], &[&script]).await;
    let told = stage.play("one").await;
    assert!(told.contains("extension failed at turn_end: the extension answered with an entry of type"), "{told}");
    stage.play("two").await;
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    assert!(sent.contains("Mind the gap."), "{sent}");
    assert!(guests[0].heard()[0].contains("messageEntryId"), "{:?}", guests[0].heard());
    let lines = stage.lines().await;
    let expected =
        ["session", "model_change", "thinking_level_change", "user", "assistant", "custom", "custom_message"];
    assert_eq!(lines[..7], expected);
}

#[tokio::test]
async fn edit_of_what_is_not_there_is_written_and_changes_nothing() {
    let script = "guest g\non turn_end\noutcome {\"family\":\"turn\",\"outcome\":{\"entries\":[{\"type\":\"context_edit\",\"targetId\":\"nobody\",\"replacement\":null}]}}";
    let (mut stage, _) = Stage::with_guests([done(), done()], &[script]).await;
    stage.play("one").await;
    stage.play("two").await;
    let sent = stage.server.requests()[1].json()["messages"].to_string();
    assert!(sent.contains("one") && sent.contains("two"), "{sent}");
    assert!(stage.lines().await.contains(&"context_edit".to_owned()));
}

#[tokio::test]
async fn extension_lets_the_model_go_on_before_the_run_settles() {
    // The handler would say so for ever, so the model is stopped by a failure that no try helps.
    let entries = json!([{ "type": "custom_message", "customType": "note", "content": "And?", "display": false }]);
    let script = format!("guest g\non agent_before_settle\n{}", turn(&entries, true));
    let refused = pi_testkit::model::refusal(401, "invalid_api_key", "no");
    let (mut stage, _) = Stage::with_guests([done(), refused], &[&script]).await;
    let told = stage.play("hi").await;
    let second = stage.server.requests()[1].json()["messages"].to_string();
    assert!(second.contains("And?"), "{second}");
    assert_eq!(told.matches("agent_start").count(), 2, "{told}");
    assert_eq!(told.matches("settled").count(), 1, "{told}");
}
