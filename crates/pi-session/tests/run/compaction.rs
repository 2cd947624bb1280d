//! When a conversation grows too long.

use std::time::Duration;

use pi_session::{CompactError, cut::Settings};
use pi_testkit::model::{Answer, refusal};
use pi_transcript::Message;

use crate::stage::Stage;

/// Due above 19 000 of the model's 20 000 tokens; nearly nothing is kept.
const EARLY: Settings = Settings { enabled: true, reserve_tokens: 1000, keep_recent_tokens: 1 };

async fn stage(answers: impl IntoIterator<Item = pi_testkit::Reply>) -> Stage {
    Stage::with(answers, |blueprint| blueprint.compaction = EARLY).await
}

fn lines<'a>(told: &'a str, wanted: &[&str]) -> Vec<&'a str> {
    told.lines().filter(|line| wanted.iter().any(|start| line.starts_with(start))).collect()
}

#[tokio::test]
async fn conversation_that_fills_the_window_is_summarised_after_the_run() {
    let answers = [
        Answer::new().text("One.").usage(100, 5).reply(),
        Answer::new().text("Two.").usage(19_500, 5).reply(),
        Answer::new().text("We counted.").reply(),
        Answer::new().text("It asked.").reply(),
        Answer::new().text("Three.").reply(),
    ];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    let told = stage.play("second").await;
    let wanted = ["assistant \"", "agent_end", "compaction", "entry", "settled"];
    let expected = [
        "assistant \"Two.\" Stop",
        "agent_end with 2",
        "compaction starts",
        "entry compaction",
        "compaction ends, aborted: false",
        "settled",
    ];
    assert_eq!(lines(&told, &wanted), expected);
    stage.play("third").await;
    let asked = stage.server.requests()[2].json().to_string();
    assert!(asked.contains("first") && asked.contains("One."), "{asked}");
    let sent = stage.server.requests()[4].json();
    let texts = sent["messages"].to_string();
    assert!(texts.contains("We counted.") && texts.contains("third"), "{texts}");
    assert!(!texts.contains("first"), "{texts}");
}

#[tokio::test]
async fn prompt_that_is_refused_as_too_long_is_compacted_and_sent_again() {
    let answers = [
        Answer::new().text("One.").reply(),
        refusal(400, "context_length_exceeded", "maximum context length"),
        Answer::new().text("Short.").reply(),
        Answer::new().text("Two.").reply(),
    ];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    let told = stage.play("second").await;
    let wanted = ["assistant \"", "compaction", "settled", "=>"];
    let found = lines(&told, &wanted);
    assert_eq!(
        found[1..],
        ["compaction starts", "compaction ends, aborted: false", "assistant \"Two.\" Stop", "settled"]
    );
    assert_eq!(stage.server.requests().len(), 4);
}

/// With the usual settings, which keep more than all that was said.
#[tokio::test]
async fn short_talk_that_is_refused_as_too_long_is_compacted_too() {
    let answers = [
        Answer::new().text("One.").usage(100, 5).reply(),
        refusal(400, "context_length_exceeded", "maximum context length"),
        Answer::new().text("Short.").usage(50, 7).reply(),
        Answer::new().text("Two.").usage(60, 5).reply(),
    ];
    let mut stage = Stage::new(answers).await;
    stage.play("first").await;
    let told = stage.play("second").await;
    let found = lines(&told, &["assistant \"", "compaction", "settled"]);
    assert_eq!(
        found[1..],
        ["compaction starts", "compaction ends, aborted: false", "assistant \"Two.\" Stop", "settled"]
    );
    let sent = stage.server.requests()[3].json()["messages"].to_string();
    assert!(sent.contains("Short.") && sent.contains("second") && !sent.contains("One."), "{sent}");
    let stats = stage.session.stats().await.unwrap();
    assert_eq!((stats.tokens.input, stats.tokens.output), (210, 17), "what the summary took is counted");
}

#[tokio::test]
async fn first_message_that_is_too_long_is_told_with_what_to_do() {
    let mut stage = Stage::new([refusal(400, "context_length_exceeded", "maximum context length")]).await;
    let told = stage.play("much").await;
    let found = lines(&told, &["compaction", "=>"]);
    assert_eq!(found[0], "compaction starts");
    assert!(found[1].starts_with("compaction fails: there is nothing before this message"), "{told}");
    assert!(found[2].contains("maximum context length") && found[2].ends_with("larger context window"), "{told}");
}

#[tokio::test]
async fn nobody_knows_how_full_the_window_is_until_the_next_answer() {
    // The cut lies within a turn, so there are two questions for the summary.
    let texts = ["One.", "Two.", "Summary.", "Beginning.", "Three."];
    let answers = texts.map(|text| Answer::new().text(text).usage(500, 5).reply());
    let mut stage = stage(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    let known = |usage: pi_transcript::ContextUsage| (usage.tokens, usage.percent.is_some());
    assert_eq!(known(stage.session.context_usage().await.unwrap()), (Some(505), true));
    stage.session.compact(None).await.unwrap();
    assert_eq!(known(stage.session.context_usage().await.unwrap()), (None, false));
    stage.play("third").await;
    assert_eq!(known(stage.session.context_usage().await.unwrap()), (Some(505), true));
}

#[tokio::test]
async fn second_overflow_ends_the_run() {
    let overflow = || refusal(400, "context_length_exceeded", "maximum context length");
    let answers = [Answer::new().text("One.").reply(), overflow(), Answer::new().text("Short.").reply(), overflow()];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    let told = stage.play("second").await;
    assert!(told.contains("=> failed (request_too_large)") && told.ends_with("larger context window"), "{told}");
    assert_eq!(stage.server.requests().len(), 4);
}

#[tokio::test]
async fn compaction_by_hand_takes_instructions_and_tries_again() {
    let answers = [
        Answer::new().text("One.").reply(),
        Answer::new().text("Two.").reply(),
        refusal(503, "overloaded_error", "busy"),
        Answer::new().text("Kept the names.").reply(),
        Answer::new().text("It asked.").reply(),
    ];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    let result = stage.session.compact(Some("keep the names".to_owned())).await.unwrap();
    assert!(result.summary.starts_with("Kept the names."), "{}", result.summary);
    let asked = stage.server.requests()[3].json().to_string();
    assert!(asked.contains("keep the names"), "{asked}");
    assert_eq!(stage.session.compact(None).await, Err(CompactError::Nothing));
    let told = CompactError::Nothing.to_string();
    assert!(told.contains("compaction.keepRecentTokens"), "{told} says nothing of what is always kept");
    assert_eq!(stage.lines().await[3..], ["user", "assistant", "user", "assistant", "compaction"]);
}

#[tokio::test]
async fn compaction_can_be_aborted_and_changes_nothing() {
    let answers =
        [Answer::new().text("One.").reply(), Answer::new().text("Two.").reply(), Answer::new().hold().reply()];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    let compacting = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.compact(None).await })
    };
    stage.server.received(3).await;
    tokio::time::timeout(Duration::from_secs(5), stage.session.abort()).await.unwrap().unwrap();
    assert_eq!(compacting.await.unwrap(), Err(CompactError::Aborted));
    assert_eq!(stage.lines().await[3..], ["user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn every_request_has_its_envelope() {
    let answers = [Answer::new().text("One.").usage(50, 2).reply(), Answer::new().text("Two.").usage(70, 2).reply()];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    let requests = stage.session.requests().await.unwrap();
    assert_eq!(requests.iter().map(|listed| listed.messages).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(requests.iter().map(|listed| listed.usage.as_ref().unwrap().input).collect::<Vec<_>>(), [50, 70]);
    let last = stage.session.last_envelope().await.unwrap().unwrap();
    let first = stage.session.envelope(requests[0].request.as_str().into()).await.unwrap().unwrap();
    assert_eq!((first.messages.len(), last.messages.len()), (2, 4));
    assert!(pi_envelope::is_valid(&serde_json::to_vec(&*last).unwrap()));
}

/// A client finds the request that led to an answer by the message before it.
#[tokio::test]
async fn request_names_the_message_before_its_answer_also_behind_a_compaction() {
    let answers = [
        Answer::new().text("One.").reply(),
        refusal(400, "context_length_exceeded", "maximum context length"),
        Answer::new().text("Short.").reply(),
        Answer::new().text("Two.").reply(),
    ];
    let mut stage = stage(answers).await;
    stage.play("first").await;
    stage.play("second").await;
    let spoken = stage.session.messages().await.unwrap();
    let [.., (before, _), (_, answer)] = &spoken[..] else { panic!("little was said: {spoken:?}") };
    assert!(matches!(&**answer, Message::Assistant(_)), "{answer:?}");
    let requests = stage.session.requests().await.unwrap();
    assert_eq!(&requests.last().unwrap().entry, before);
}
