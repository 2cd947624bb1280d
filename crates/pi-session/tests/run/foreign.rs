//! Models that extensions bring.

use pi_session::{Complaint, Ending, Prompted, input::Utterance};
use pi_testkit::{Reply, ScriptedGuest};
use pi_transcript::AgentEvent;
use std::sync::Arc;

use crate::stage::{Stage, saying};

const CONFIG: &str = r#"provider moon
config {"api":"moon-api","baseUrl":"moon:","apiKey":"never","models":[{"id":"m1","name":"Moon One","reasoning":true,"contextWindow":9000,"maxTokens":500}]}"#;

/// A session that is asked through the provider of an extension.
async fn stage(steps: &str) -> (Stage, Vec<Arc<ScriptedGuest>>) {
    let script = format!("guest g\n{CONFIG}\n{steps}");
    let (stage, guests) = Stage::with_guests(Vec::<Reply>::new(), &[&script]).await;
    let models = stage.session.models().await.unwrap();
    let moon = models.iter().find(|choice| choice.name() == "moon/m1").unwrap();
    stage.session.set_model(Arc::clone(moon)).await.unwrap();
    (stage, guests)
}

#[tokio::test]
async fn model_of_an_extension_is_listed_with_what_it_says_of_itself() {
    let (stage, _) = stage("answer x").await;
    let model = stage.session.state().await.unwrap().model;
    let told = (model.name.as_str(), model.api.as_str(), model.base_url.as_str(), model.context_window);
    assert_eq!(told, ("Moon One", "moon-api", "moon:", 9000));
}

#[tokio::test]
async fn answer_is_streamed_and_what_was_not_streamed_follows() {
    let steps = r#"step {"type":"start"}
step {"type":"text_start","contentIndex":0}
step {"type":"text_delta","contentIndex":0,"delta":"Hello "}
message {"content":[{"type":"text","text":"Hello there."}],"usage":{"input":7,"output":2,"cacheRead":3,"cacheWrite":0,"totalTokens":12,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}"#;
    let (mut stage, guests) = stage(steps).await;
    let told = stage.play("hi").await;
    assert!(told.contains("  text_end \"Hello there.\"\nassistant \"Hello there.\" Stop"), "{told}");
    let heard = guests[0].heard();
    assert!(heard[0].starts_with(r#"stream moon {"messages":[{"role":"user","content":"hi""#), "{heard:?}");
    let (_, last) = stage.session.messages().await.unwrap().pop().unwrap();
    let message = serde_json::to_value(&*last).unwrap();
    assert_eq!(
        (&message["provider"], &message["model"], &message["api"]),
        (&"moon".into(), &"m1".into(), &"moon-api".into())
    );
    assert_eq!((&message["usage"]["input"], &message["usage"]["cacheRead"]), (&7.into(), &3.into()));
    let envelope = stage.session.last_envelope().await.unwrap().unwrap();
    assert!(serde_json::to_string(&*envelope).unwrap().contains("\"hi\""));
}

#[tokio::test]
async fn calls_of_the_model_are_run_whether_they_were_streamed_or_not() {
    let call = r#"{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"a","content":"x"}}"#;
    let streamed = format!(
        r#"step {{"type":"toolcall_start","contentIndex":0,"id":"c1","toolName":"write"}}
step {{"type":"toolcall_delta","contentIndex":0,"delta":"{{\"path\":\"a\",\"content\":\"x\"}}"}}
step {{"type":"toolcall_end","contentIndex":0,"toolCall":{call}}}"#
    );
    let whole = format!(r#"message {{"content":[{call}],"stopReason":"toolUse"}}"#);
    for steps in [whole.clone(), format!("{streamed}\n{whole}")] {
        let (mut stage, guests) = stage(&steps).await;
        let session = stage.session.clone();
        let running = tokio::spawn(async move { session.prompt(saying("go")).await });
        // The script says the same every time, so the run is ended after the first turn.
        let told = stage.until(|event| matches!(event, AgentEvent::TurnEnd { .. })).await;
        stage.session.abort().await.unwrap();
        running.await.unwrap().unwrap();
        assert!(told.contains("result of write \"Successfully wrote 1 bytes to a\""), "{told}");
        assert_eq!(told.matches("tool write").count(), 2, "{told}");
        drop(guests);
    }
}

#[tokio::test]
async fn error_of_the_extension_is_read_by_its_words() {
    let (mut stage, guests) =
        stage("message {\"stopReason\":\"error\",\"errorMessage\":\"429 rate limit exceeded\"}").await;
    let told = stage.play("hi").await;
    assert!(told.contains("retry 1 of 3"), "{told}");
    assert_eq!(guests[0].heard().len(), 4, "it is tried three times more");
    let (mut stage, _) = self::stage("throw out of order").await;
    let told = stage.play("hi").await;
    assert!(!told.contains("retry") && told.contains("out of order"), "{told}");
    assert!(told.contains("extension failed at stream:moon"), "{told}");
}

#[tokio::test]
async fn abort_reaches_the_extension_and_keeps_what_was_said() {
    for end in ["heed", "hang"] {
        let (mut stage, guests) =
            stage(&format!("step {{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"Half\"}}\n{end}")).await;
        let session = stage.session.clone();
        let running = tokio::spawn(async move { session.prompt(saying("hi")).await });
        stage.until(|event| matches!(event, AgentEvent::MessageUpdate { .. })).await;
        stage.session.abort().await.unwrap();
        assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
        let told = stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
        assert!(told.contains("assistant \"Half\" Aborted"), "{told}");
        let last = guests[0].heard().pop().unwrap();
        assert!(["cancelled", "abandoned"].contains(&last.as_str()), "{last}");
    }
}

#[tokio::test]
async fn extension_chooses_and_asks_its_own_model() {
    let script =
        format!("guest g\n{CONFIG}\nanswer from the moon\ncommand go\nmodel moon m1\ncomplete why?\nmodel moon m2");
    let (stage, guests) = Stage::with_guests(Vec::<Reply>::new(), &[&script]).await;
    stage.session.say(Utterance::new("/go")).await.unwrap();
    let heard = guests[0].heard();
    assert_eq!(heard[1], "model true");
    assert!(heard.iter().any(|line| line.contains("completion") && line.contains("from the moon")), "{heard:?}");
    assert_eq!(heard.last().unwrap(), "model false");
    assert_eq!(stage.session.state().await.unwrap().model.id.as_str(), "m1");
}

#[tokio::test]
async fn provider_that_cannot_be_used_is_complained_about() {
    let scripts = [
        "guest a\nprovider far\nconfig {\"baseUrl\":\"https://far.example\",\"api\":\"openai-completions\",\"models\":[{\"id\":\"m\"}]}\npassive",
        "guest b\nprovider empty\nconfig {}",
        "guest c\nprovider signed\nconfig {\"oauth\":true,\"models\":[{\"id\":\"m\"}]}\npassive",
    ];
    let (stage, _) = Stage::with_guests(Vec::<Reply>::new(), &scripts).await;
    let complaints = stage.session.complaints().await.unwrap();
    let texts: Vec<_> = complaints.iter().map(Complaint::to_string).collect();
    let expected = [
        "the provider far of extension a is not used: it neither streams itself nor names a baseUrl, models and an api that \
         extensions speak (openai-completions, anthropic-messages); describe it in models.json",
        "the provider empty of extension b is not used: it names no model",
        "the provider signed of extension c is not used: its models are for those who sign in (oauth), which nobody can do \
         here: give registerProvider an apiKey, or a streamSimple that finds its own",
    ];
    assert_eq!(texts, expected);
    assert!(stage.session.models().await.unwrap().iter().all(|choice| choice.extension().is_none()));
}
