//! Who listens to a session: slow readers, and readers for whom a run waits.

use futures_util::FutureExt as _;
use pi_session::{Ending, PromptError, Prompted, Reloaded, Session, Subscription};
use pi_testkit::model::Answer;
use pi_transcript::{AgentEvent, AssistantMessageEvent};
use tokio::task::JoinHandle;

use crate::stage::{Stage, saying};

/// More pieces than wait apart for anybody.
const WORDS: usize = 3000;
/// So many events wait for a reader that wants every one before the run waits with them.
const BOUND: usize = 1024;

fn words() -> String {
    (0..WORDS).map(|number| format!("{number} ")).collect()
}

/// Everything that a run says, and in how many pieces.
async fn read(events: &mut Subscription) -> (String, usize) {
    let (mut text, mut pieces) = (String::new(), 0);
    loop {
        let event = events.next().await.unwrap();
        match &*event {
            AgentEvent::MessageUpdate { assistant_message_event, .. } => {
                if let AssistantMessageEvent::TextDelta { delta, .. } = &**assistant_message_event {
                    text.push_str(delta);
                    pieces += 1;
                }
            }
            AgentEvent::AgentSettled { .. } => return (text, pieces),
            _ => {}
        }
    }
}

#[tokio::test]
async fn reader_that_comes_when_all_is_said_gets_all_of_it_in_fewer_pieces() {
    let stage = Stage::new([Answer::new().text(&words()).reply()]).await;
    let (_, mut events) = stage.session.subscribe().await.unwrap();
    assert_eq!(stage.say("count").await, Prompted::Ran(Ending::Done));
    let (text, pieces) = read(&mut events).await;
    assert_eq!(text, words());
    assert!(pieces < WORDS / 2, "{pieces}");
}

/// A run that has said so much that it must wait: nothing of it was read from the first subscription, and the second one
/// was told after it.
async fn held_run(stage: &Stage) -> (Subscription, Subscription, JoinHandle<Result<Prompted, PromptError>>) {
    let (_, unread) = stage.session.subscribe_in_full().await.unwrap();
    let (_, mut watching) = stage.session.subscribe().await.unwrap();
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("count")).await });
    for _ in 0..BOUND {
        watching.next().await.unwrap();
    }
    (unread, watching, running)
}

/// What is told until nothing more is, however often the session is asked to write what it has.
async fn until_quiet(session: &Session, watching: &mut Subscription) -> Vec<AgentEvent> {
    let (mut told, mut quiet_rounds) = (Vec::new(), 0);
    while quiet_rounds < 50 {
        session.flush().await.unwrap();
        quiet_rounds += 1;
        while let Some(event) = watching.next().now_or_never() {
            told.push(AgentEvent::clone(&event.unwrap()));
            quiet_rounds = 0;
        }
    }
    told
}

#[tokio::test]
async fn run_waits_for_the_reader_that_wants_every_event() {
    let stage = Stage::new([Answer::new().text(&words()).reply()]).await;
    let (mut events, mut watching, running) = held_run(&stage).await;
    let told = until_quiet(&stage.session, &mut watching).await;
    assert!(!told.iter().any(|event| matches!(event, AgentEvent::MessageEnd { .. })), "it did not wait");
    assert!(stage.session.state().await.unwrap().is_running, "reads are answered meanwhile");
    assert_eq!(read(&mut events).await, (words(), WORDS));
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
}

#[tokio::test]
async fn run_that_waits_for_a_reader_can_be_aborted() {
    let stage = Stage::new([Answer::new().text(&words()).reply()]).await;
    let (_unread, _watching, running) = held_run(&stage).await;
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
}

#[tokio::test]
async fn run_goes_on_when_the_reader_it_waits_for_leaves() {
    let stage = Stage::new([Answer::new().text(&words()).reply()]).await;
    let (unread, mut watching, running) = held_run(&stage).await;
    until_quiet(&stage.session, &mut watching).await;
    assert!(!running.is_finished());
    drop(unread);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
}

#[tokio::test]
async fn reader_that_begins_anew_has_everything_once() {
    let answers = ["One", "Two", "Three"].map(|text| Answer::new().text(text).hold().reply());
    let stage = Stage::new(answers).await;
    let say = |text: &'static str| {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying(text)).await })
    };
    let first = say("first");
    stage.server.received(1).await;
    stage.server.release(1);
    first.await.unwrap().unwrap();
    let second = say("second");
    stage.server.received(2).await;
    let Reloaded { state, messages, questions, drawings, mut events } = stage.session.reload().await.unwrap();
    assert_eq!(drawings, []);
    assert!(state.is_running && questions.is_empty());
    let roles: Vec<&str> = messages.iter().map(|(_, message)| message.role()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    stage.server.release(1);
    second.await.unwrap().unwrap();
    let mut ends = Vec::new();
    while let Some(event) = events.next().now_or_never() {
        if let AgentEvent::MessageEnd { message } = &*event.unwrap() {
            ends.push(message.role().to_owned());
        }
    }
    assert_eq!(ends, ["assistant"], "what was there is not told again, and what came after is");
}
