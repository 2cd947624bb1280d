//! Who listens to a session: slow readers, and readers for whom a run waits.

use std::time::Duration;

use pi_session::{Ending, Prompted, Subscription};
use pi_testkit::model::Answer;
use pi_transcript::{AgentEvent, AssistantMessageEvent};

use crate::stage::{Stage, saying};

/// More pieces than wait apart for anybody.
const WORDS: usize = 3000;

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

#[tokio::test]
async fn run_waits_for_the_reader_that_wants_every_event() {
    let stage = Stage::new([Answer::new().text(&words()).reply()]).await;
    let (_, mut events) = stage.session.subscribe_in_full().await.unwrap();
    let session = stage.session.clone();
    let mut running = tokio::spawn(async move { session.prompt(saying("count")).await });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut running).await;
    assert!(early.is_err(), "it did not wait: {early:?}");
    assert!(stage.session.state().await.unwrap().is_running, "reads are answered meanwhile");
    assert_eq!(read(&mut events).await, (words(), WORDS));
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
}

#[tokio::test]
async fn run_that_waits_for_a_reader_can_be_aborted_and_goes_on_when_the_reader_leaves() {
    let answers = [words(), words()].map(|text| Answer::new().text(&text).reply());
    let stage = Stage::new(answers).await;
    let (_, events) = stage.session.subscribe_in_full().await.unwrap();
    let say = || {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("count")).await })
    };
    let running = say();
    stage.server.received(1).await;
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
    let running = say();
    stage.server.received(2).await;
    drop(events);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
}
