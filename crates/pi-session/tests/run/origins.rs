//! What envelopes say about where a text comes from, and how they are kept.

use std::sync::atomic::{AtomicU64, Ordering};

use pi_envelope::{Envelope, Origin};
use pi_policy::Moment;
use pi_testkit::model::Answer;
use serde_json::json;

use crate::stage::Stage;

/// A clock that is never the same.
fn ticking() -> Moment {
    static TICKS: AtomicU64 = AtomicU64::new(1_767_225_600_000);
    Moment::from_unix_millis(TICKS.fetch_add(1, Ordering::Relaxed))
}

fn done() -> pi_testkit::Reply {
    Answer::new().text("Done.").reply()
}

fn extension(id: &str) -> Origin {
    Origin::Extension { id: id.to_owned() }
}

/// Who said which text, as the envelope has it.
pub(crate) fn origins(envelope: &Envelope) -> Vec<(String, Origin)> {
    let value = serde_json::to_value(envelope).unwrap();
    let segments = value["messages"].as_array().unwrap().iter().flat_map(|message| {
        let segments = message["segments"].as_array().cloned().unwrap_or_default();
        segments.into_iter().map(|segment| {
            let text = segment["content"].as_str().unwrap_or_default().to_owned();
            (text, serde_json::from_value(segment["meta"]["origin"].clone()).unwrap())
        })
    });
    // What the model may call has no text of its own.
    segments.filter(|(text, _)| !text.is_empty()).collect()
}

#[tokio::test]
async fn system_text_and_messages_name_the_extension_that_wrote_them() {
    let script = r#"guest boss
on before_agent_start
outcome {"family":"start","outcome":{"system_prompt":"Be brief.","message":{"custom_type":"note","content":[{"type":"text","text":"By the way."}],"display":true}}}"#;
    let (mut stage, _) = Stage::with_guests([done()], &[script]).await;
    stage.play("hi").await;
    let envelope = stage.session.last_envelope().await.unwrap().unwrap();
    let expected = [("Be brief.", extension("boss")), ("hi", Origin::User), ("By the way.", extension("boss"))];
    let expected = expected.map(|(text, origin)| (text.to_owned(), origin)).to_vec();
    assert_eq!(origins(&envelope), expected);
}

#[tokio::test]
async fn replaced_payload_names_the_last_extension_that_replaced_it() {
    let replace = |id: &str, payload: serde_json::Value| {
        let outcome = json!({ "family": "request", "outcome": { "action": "replace", "payload": payload } });
        format!("guest {id}\non before_provider_request\noutcome {outcome}")
    };
    let payload = |model: &str| json!({ "model": model, "messages": [], "stream": true });
    let scripts = [replace("first", payload("one")), replace("second", payload("two"))];
    let (mut stage, _) = Stage::with_guests([done()], &[&scripts[0], &scripts[1]]).await;
    stage.play("hi").await;
    assert_eq!(stage.server.requests()[0].json(), payload("two"));
    let envelope = serde_json::to_value(&*stage.session.last_envelope().await.unwrap().unwrap()).unwrap();
    assert_eq!(envelope["meta"]["replaced"]["by"], json!({ "from": "extension", "id": "second" }));
}

#[tokio::test]
async fn changed_headers_are_no_other_payload() {
    let script = r#"guest tag
on before_provider_headers
outcome {"family":"headers","outcome":[{"action":"set","name":"x-tag","value":"1"}]}"#;
    let (mut stage, _) = Stage::with_guests([done()], &[script]).await;
    stage.play("hi").await;
    assert_eq!(stage.server.requests()[0].header("x-tag"), Some("1"));
    let envelope = serde_json::to_value(&*stage.session.last_envelope().await.unwrap().unwrap()).unwrap();
    assert_eq!(envelope["meta"].get("replaced"), None);
}

#[tokio::test]
async fn question_of_an_extension_to_a_model_names_it() {
    let (mut stage, guests) =
        Stage::with_guests([done(), done()], &["guest curious\non agent_end\ncomplete why?"]).await;
    stage.play("hi").await;
    assert!(guests[0].heard().iter().any(|line| line.starts_with("completion")), "{:?}", guests[0].heard());
    let requests = stage.session.requests().await.unwrap();
    let asked = stage.session.envelope(requests[1].request.as_str().into()).await.unwrap().unwrap();
    assert_eq!(origins(&asked), [("why?".to_owned(), extension("curious"))]);
}

#[tokio::test]
async fn later_request_shares_every_message_of_the_one_before() {
    let mut stage = Stage::with([done(), done(), done()], |blueprint| blueprint.now = ticking).await;
    for text in ["one", "two", "three"] {
        stage.play(text).await;
    }
    stage.lines().await;
    let kept = std::fs::read_to_string(stage.path("../session.jsonl.envelopes")).unwrap();
    let lines = kept.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let envelopes = lines.filter(|line| line["type"] == "envelope");
    let shared: Vec<_> =
        envelopes.map(|line| (line["share"].clone(), line["messages"].as_array().unwrap().len())).collect();
    // The tools, then what was said; each turn adds an answer and the next saying.
    assert_eq!(shared, [(json!(0), 2), (json!(2), 2), (json!(4), 2)]);
}
