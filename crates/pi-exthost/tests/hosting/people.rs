//! Guests that ask a person, and people who take their time.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    GuestId, Questions, SessionPort,
    port::{Mode, Request, Settled},
    questions::{Audience, Lapse},
    verdict::Verdict,
};
use pi_testkit::SessionDouble;
use pi_transcript::RequestId;
use serde_json::{Value, json};
use tokio::{
    join,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::house::House;

const QUESTION: &str = r#"ask {"method":"confirm","title":"Sure?","message":"m"}"#;
const SECOND: Duration = Duration::from_secs(1);

/// A session as far as questions go: it hands them to the real channel, and an abort cancels them.
struct Desk {
    questions: Questions,
    abort: CancellationToken,
}

impl SessionPort for Desk {
    fn submit(&self, from: GuestId, request: Request) -> BoxFuture<'_, ()> {
        let Request::Ask(asked, mut reply) = request else { panic!("only questions are asked here: {request:?}") };
        let (questions, abort) = (self.questions.clone(), self.abort.clone());
        tokio::spawn(async move {
            tokio::select! {
                settled = questions.ask(&from, asked, &abort) => drop(reply.send(Ok(settled))),
                () = reply.closed() => {}
            }
        });
        async {}.boxed()
    }
}

fn desk() -> Arc<Desk> {
    let questions = Questions::new(Audience::Somebody, Lapse::After(60 * SECOND), || RequestId::from("q"), |_| {});
    Arc::new(Desk { questions, abort: CancellationToken::new() })
}

fn house(script: &str, desk: &Arc<Desk>) -> House {
    House::with_port(&[script], desk, SessionDouble::new([]))
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_is_not_the_guests_own_time() {
    let desk = desk();
    let house = house(&format!("on agent_start\nwait 9000\n{QUESTION}\nwait 900"), &desk);
    let person = async {
        sleep(50 * SECOND).await;
        let yes = serde_json::from_value(json!({ "method": "confirm", "confirmed": true })).expect("an answer");
        desk.questions.answer(&"q".into(), yes).expect("it is open");
    };
    let ((_, elapsed), ()) = join!(house.fire("agent_start", &Value::Null, &desk.abort), person);
    assert_eq!(elapsed, Duration::from_millis(50_900));
    assert_eq!(house.incidents(), [""; 0]);
    assert_eq!(house.heard(0), ["agent_start null", r#"answer {"method":"confirm","confirmed":true}"#]);
}

#[tokio::test(start_paused = true)]
async fn time_before_and_after_a_question_adds_up() {
    let desk = desk();
    let house = house(&format!("on agent_start\nwait 9000\n{QUESTION}\nwait 2000"), &desk);
    let (_, elapsed) = house.fire("agent_start", &Value::Null, &desk.abort).await;
    assert_eq!(elapsed, 70 * SECOND);
    assert_eq!(house.incidents(), ["a at agent_start: the extension did not answer within 10s"]);
    assert_eq!(house.heard(0), ["agent_start null", "answer timed out", "abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn abort_cancels_the_question_and_the_guest_goes_on() {
    let desk = desk();
    let house = house(&format!("on agent_start\n{QUESTION}"), &desk);
    let abort = async {
        sleep(SECOND).await;
        desk.abort.cancel();
    };
    let ((verdict, elapsed), ()) = join!(house.fire("agent_start", &Value::Null, &desk.abort), abort);
    assert_eq!((verdict, elapsed), (Verdict::Notice, SECOND));
    assert_eq!(house.incidents(), [""; 0]);
    assert_eq!(house.heard(0), ["agent_start null", "answer cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn question_of_an_abandoned_guest_is_withdrawn() {
    let desk = desk();
    let house = house(&format!("on agent_start\n{QUESTION}"), &desk);
    let cancel = CancellationToken::new();
    let abort = async {
        sleep(SECOND).await;
        assert_eq!(desk.questions.list_open().len(), 1);
        // Not the signal that the session's questions hear: the guest alone is given up.
        cancel.cancel();
    };
    let start = Instant::now();
    join!(house.fire("agent_start", &Value::Null, &cancel), abort);
    assert_eq!(start.elapsed(), Duration::from_millis(1050));
    tokio::task::yield_now().await;
    assert_eq!(desk.questions.list_open(), []);
    assert_eq!(house.heard(0), ["agent_start null", "abandoned"]);
}

#[tokio::test]
async fn double_answers_from_its_list() {
    let yes = serde_json::from_value(json!({ "method": "confirm", "confirmed": true })).expect("an answer");
    let session = SessionDouble::new([Settled::Answered(yes), Settled::TimedOut]);
    let script = format!("on agent_start\n{QUESTION}\n{QUESTION}\n{QUESTION}");
    let house = House::with_port(&[&script], &session.clone(), session);
    house.fire("agent_start", &Value::Null, &CancellationToken::new()).await;
    let expected =
        ["agent_start null", r#"answer {"method":"confirm","confirmed":true}"#, "answer timed out", "answer cancelled"];
    assert_eq!(house.heard(0), expected);
    assert_eq!(house.session.asked(), ["a ask confirm"; 3]);
}

#[test]
fn only_people_at_a_terminal_or_a_client_can_answer() {
    let answering = [Mode::Terminal, Mode::Server, Mode::Json, Mode::Print].map(Mode::has_ui);
    assert_eq!(answering, [true, true, false, false]);
}
