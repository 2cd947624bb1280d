//! Cancelling ends a call wherever it is, and the server sees it.

use pi_provider::CallError;
use pi_testkit::{Reply, Script, server::Step};

use super::*;

fn is_cancelled(error: &CallError) -> bool {
    matches!(error, CallError::Cancelled)
}

#[tokio::test]
async fn cancelled_while_waiting_for_the_answer() {
    let fixture = Fixture::new(Script::new().then(Reply::hang())).await;
    let (error, ()) = tokio::join!(fixture.error(), async {
        fixture.server.received(1).await;
        fixture.cancel.cancel();
    });
    assert!(is_cancelled(&error), "{error}");
    fixture.server.abandoned(1).await;
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test]
async fn cancelled_in_the_middle_of_a_stream() {
    let fixture = Fixture::new(Script::new().then(Reply::events([delta("Hel")]).and(Step::Hang))).await;
    let mut answer = fixture.stream().await.unwrap();
    answer.next().await.unwrap().unwrap();
    let (next, ()) = tokio::join!(answer.next(), async { fixture.cancel.cancel() });
    assert!(is_cancelled(&next.unwrap().unwrap_err()));
    fixture.server.abandoned(1).await;
    assert!(answer.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn cancelled_between_two_attempts() {
    let fixture = Fixture::new(Script::new().otherwise(failing(500).header("retry-after", "30"))).await;
    let (error, ()) = tokio::join!(fixture.error(), async {
        fixture.server.received(1).await;
        tokio::time::sleep(seconds(10)).await;
        fixture.cancel.cancel();
    });
    assert!(is_cancelled(&error), "{error}");
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test]
async fn cancelled_before_it_begins() {
    let fixture = Fixture::new(Script::new().otherwise(hello())).await;
    fixture.cancel.cancel();
    assert!(is_cancelled(&fixture.error().await));
    assert!(is_cancelled(&fixture.complete().await.unwrap_err()));
    assert!(fixture.server.requests().is_empty());
}

#[tokio::test]
async fn dropped_answer_closes_the_connection() {
    let fixture = Fixture::new(Script::new().then(Reply::events([delta("Hel")]).and(Step::Hang))).await;
    let mut answer = fixture.stream().await.unwrap();
    answer.next().await.unwrap().unwrap();
    drop(answer);
    fixture.server.abandoned(1).await;
}
