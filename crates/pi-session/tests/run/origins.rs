//! What envelopes say about where a text comes from, and how they are kept.

use std::sync::atomic::{AtomicU64, Ordering};

use pi_envelope::{Body, Envelope, Origin, Provenance, Span, SpanSource};
use pi_policy::Moment;
use pi_session::queue::{Edit, Saying, When};
use pi_testkit::model::{Answer, refusal};
use pi_transcript::{Block, Message};
use serde_json::json;

use crate::stage::{Stage, saying};

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

#[tokio::test]
async fn picture_of_a_file_stays_one_when_the_words_beside_it_change() {
    let stage = Stage::new([Answer::new().hold().text("First.").reply(), done()]).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("start")).await });
    stage.server.received(1).await;
    let file = Provenance::usual(Origin::File { path: "/a.png".to_owned() });
    let span = Span { block: 0, bytes: 0..0, provenance: file.clone(), source: SpanSource::Quote };
    let message = Message::user(vec![Block::image("AAAA", "image/png")], 0);
    stage.session.prompt_during(Saying { message, spans: vec![span], typed: None }, When::FollowUp).await.unwrap();
    let line = stage.session.queue().await.unwrap();
    let edit = Edit { id: line.items[0].id.clone(), text: Some("Look.".to_owned()), when: None };
    stage.session.edit_queue(line.revision, vec![edit]).await.unwrap().unwrap();
    stage.server.release(1);
    running.await.unwrap().unwrap();
    let envelope = stage.session.last_envelope().await.unwrap().unwrap();
    let pictures = envelope.segments().filter(|(_, segment)| matches!(segment.body, Body::Media { .. }));
    let origins: Vec<_> = pictures.map(|(_, segment)| segment.ours().unwrap().origin.clone().unwrap()).collect();
    assert_eq!(origins, [file.origin]);
}

#[tokio::test]
async fn usage_is_kept_of_answers_that_were_counted() {
    let counted = Answer::new().text("Done.").usage(10, 3).reply();
    let mut stage = Stage::new([refusal(401, "invalid_api_key", "no"), counted]).await;
    for text in ["one", "two"] {
        stage.play(text).await;
    }
    stage.lines().await;
    let kept = std::fs::read_to_string(stage.path("../session.jsonl.envelopes")).unwrap();
    let lines = kept.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let told: Vec<_> =
        lines.filter(|line| line["type"] == "usage").map(|line| line["usage"]["input"].clone()).collect();
    assert_eq!(told, [json!(10)]);
}
