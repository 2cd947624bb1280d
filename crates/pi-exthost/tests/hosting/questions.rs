//! Questions to a person: what clients hear, and how each question ends.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use pi_exthost::{
    Questions,
    guest::GuestId,
    port::Settled,
    questions::{AnswerFault, Audience, Lapse},
};
use pi_transcript::{
    AgentEvent, RequestId,
    question::{Announcement, Answer, Approval, Asked, Misfit, Question},
};
use serde_json::{Value, json};
use tokio::{
    task::{JoinHandle, yield_now},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

/// A person who sees what clients are told.
struct Person {
    questions: Questions,
    seen: Arc<Mutex<Vec<String>>>,
    abort: CancellationToken,
}

impl Person {
    fn new(audience: Audience) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (screen, count) = (seen.clone(), Mutex::new(0));
        let ids = move || {
            let mut count = count.lock().expect("no test panicked");
            *count += 1;
            RequestId(format!("q{count}"))
        };
        let questions = Questions::new(audience, LAPSE, ids, move |event| {
            screen.lock().expect("no test panicked").push(line(&event))
        });
        Self { questions, seen, abort: CancellationToken::new() }
    }

    /// An extension asks; the answer comes later.
    async fn ask(&self, question: Value) -> JoinHandle<(Settled, Duration)> {
        let question: Question = serde_json::from_value(question).expect("a question");
        let (questions, abort) = (self.questions.clone(), self.abort.clone());
        let asking = tokio::spawn(async move {
            let start = Instant::now();
            let asked = Asked::new(question).expect("it can be answered");
            (questions.ask(&GuestId::from("g"), asked, &abort).await, start.elapsed())
        });
        yield_now().await;
        asking
    }

    fn answer(&self, id: &str, answer: Value) -> Result<(), AnswerFault> {
        self.questions.answer(&id.into(), serde_json::from_value(answer).expect("an answer"))
    }

    /// What is open, and the milliseconds that are left of the time that it names.
    fn open(&self) -> Vec<(String, Option<u64>)> {
        self.questions.list_open().into_iter().map(|open| (open.id.0, open.asked.question().timeout())).collect()
    }

    #[track_caller]
    fn saw(&self, expected: &[&str]) {
        assert_eq!(*self.seen.lock().expect("no test panicked"), expected);
    }
}

fn line(event: &AgentEvent) -> String {
    let event = serde_json::to_value(event).expect("JSON");
    let word = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    match word("type").as_str() {
        "extension_ui_request" => format!("{} {}", word("requestId"), word("method")),
        "extension_ui_resolved" => format!("{} is {}", word("requestId"), word("outcome")),
        other => panic!("not for a person: {other}"),
    }
}

const SECOND: Duration = Duration::from_secs(1);
const LAPSE: Lapse = Lapse::After(Duration::from_secs(60));

fn colour() -> Value {
    json!({ "method": "select", "title": "Colour?", "options": ["red", "blue"] })
}

#[tokio::test(start_paused = true)]
async fn clients_are_told_who_asks_and_nobody_else_can_be_the_host() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let questions = Questions::new(
        Audience::Somebody,
        LAPSE,
        || RequestId::from("q"),
        move |event| {
            let event = serde_json::to_value(event).expect("JSON");
            heard.lock().expect("no test panicked").push(event["asker"].clone());
        },
    );
    let asked = || Asked::new(serde_json::from_value(colour()).expect("a question")).expect("it can be answered");
    let approval = Approval {
        capability: "exec".to_owned(),
        target: "ls".to_owned(),
        folder: None,
        extension_id: None,
        origin: None,
        tool_call_id: Some("c1".into()),
    };
    let abort = CancellationToken::new();
    let expected = [
        json!({ "by": "extension", "extensionId": "g" }),
        json!({ "by": "host", "approval": { "capability": "exec", "target": "ls", "toolCallId": "c1" } }),
    ];
    let (guest, host) = (GuestId::from("g"), questions.clone());
    let asking =
        async { tokio::join!(questions.ask(&guest, asked(), &abort), host.ask_approval(approval, asked(), &abort)) };
    let looking = async {
        yield_now().await;
        let open: Vec<Value> =
            questions.list_open().iter().map(|open| serde_json::to_value(&open.asker).expect("JSON")).collect();
        assert_eq!(open, expected, "whoever comes later is told the same");
        abort.cancel();
    };
    tokio::join!(asking, looking);
    questions.announce(&guest, Announcement::SetTitle { title: "t".to_owned() });
    let told: Vec<Value> =
        told.lock().expect("no test panicked").iter().filter(|asker| !asker.is_null()).cloned().collect();
    assert_eq!(told, [expected[0].clone(), expected[1].clone(), expected[0].clone()]);
}

#[tokio::test(start_paused = true)]
async fn answer_that_fits_ends_the_question() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    sleep(3 * SECOND).await;
    assert_eq!(person.open(), [("q1".to_owned(), None)]);
    person.answer("q1", json!({ "method": "select", "value": "blue" })).unwrap();
    let blue = Settled::Answered(Answer::Select { value: "blue".to_owned() });
    assert_eq!(asking.await.unwrap(), (blue, 3 * SECOND));
    assert_eq!(person.open(), []);
    person.saw(&["q1 select", "q1 is answered"]);
}

#[tokio::test(start_paused = true)]
async fn answer_that_does_not_fit_leaves_it_open() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    let refused = person.answer("q1", json!({ "method": "select", "value": "green" }));
    assert_eq!(refused, Err(AnswerFault::Misfit(Misfit::NotOffered { value: "green".to_owned() })));
    let refused = person.answer("q1", json!({ "method": "confirm", "confirmed": true }));
    let method = Misfit::Method { wanted: "select", found: "confirm" };
    assert_eq!(refused, Err(AnswerFault::Misfit(method)));
    person.answer("q1", json!({ "method": "select", "value": "red" })).unwrap();
    assert!(matches!(asking.await.unwrap().0, Settled::Answered(_)));
    person.saw(&["q1 select", "q1 is answered"]);
}

#[tokio::test(start_paused = true)]
async fn first_of_two_answers_counts() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    person.answer("q1", json!({ "method": "select", "value": "red" })).unwrap();
    let late = person.answer("q1", json!({ "method": "select", "value": "blue" }));
    assert_eq!(late, Err(AnswerFault::NotOpen { id: "q1".into() }));
    let red = Settled::Answered(Answer::Select { value: "red".to_owned() });
    assert_eq!(asking.await.unwrap().0, red);
}

#[tokio::test(start_paused = true)]
async fn question_that_nobody_sees_lapses_and_one_that_names_a_time_ends_then() {
    let person = Person::new(Audience::Somebody);
    let usual = person.ask(colour()).await;
    let short = person.ask(json!({ "method": "input", "title": "Name?", "timeout": 5000 })).await;
    sleep(2 * SECOND).await;
    assert_eq!(
        person.open(),
        [("q1".to_owned(), None), ("q2".to_owned(), Some(3000))],
        "who comes later sees what is left"
    );
    assert_eq!(short.await.unwrap(), (Settled::TimedOut, 5 * SECOND));
    assert_eq!(usual.await.unwrap(), (Settled::TimedOut, 60 * SECOND));
    person.saw(&["q1 select", "q2 input", "q2 is timed_out", "q1 is timed_out"]);
    assert_eq!(person.answer("q1", json!({ "method": "cancelled" })), Err(AnswerFault::NotOpen { id: "q1".into() }));
}

#[tokio::test(start_paused = true)]
async fn question_waits_as_long_as_somebody_sees_it() {
    let person = Person::new(Audience::Somebody);
    let attendance = person.questions.attendance();
    attendance.count(2);
    let (usual, short) =
        (person.ask(colour()).await, person.ask(json!({ "method": "input", "title": "Name?", "timeout": 5000 })).await);
    assert_eq!(short.await.unwrap(), (Settled::TimedOut, 5 * SECOND), "a time that was named holds for everybody");
    sleep(3600 * SECOND).await;
    attendance.count(1);
    sleep(3600 * SECOND).await;
    // Everybody has gone, and one comes back before the time is up.
    attendance.count(0);
    sleep(59 * SECOND).await;
    attendance.count(1);
    sleep(3600 * SECOND).await;
    attendance.count(0);
    let (settled, after) = usual.await.unwrap();
    assert_eq!((settled, after), (Settled::TimedOut, (3 * 3600 + 59 + 60 + 5) * SECOND));
}

#[tokio::test(start_paused = true)]
async fn question_that_nobody_sees_is_given_up_whoever_comes_and_goes_elsewhere() {
    let person = Person::new(Audience::Somebody);
    let attendance = person.questions.attendance();
    let asking = person.ask(colour()).await;
    // Clients of other sessions go, and each time it is told that still nobody is here.
    for _ in 0..3 {
        sleep(25 * SECOND).await;
        attendance.count(0);
    }
    assert_eq!(asking.await.unwrap(), (Settled::TimedOut, 60 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn dismissed_question_is_cancelled() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    person.answer("q1", json!({ "method": "cancelled" })).unwrap();
    assert_eq!(asking.await.unwrap().0, Settled::Dismissed);
    person.saw(&["q1 select", "q1 is cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn abort_cancels_what_is_open_and_what_comes_later() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    person.abort.cancel();
    assert_eq!(asking.await.unwrap(), (Settled::Cancelled, Duration::ZERO));
    assert_eq!(person.ask(colour()).await.await.unwrap().0, Settled::Cancelled);
    person.saw(&["q1 select", "q1 is cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn question_goes_away_with_what_asks_it() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert_eq!(person.open(), []);
    person.saw(&["q1 select", "q1 is cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn end_of_the_session_cancels_all() {
    let person = Person::new(Audience::Somebody);
    let (first, second) = (person.ask(colour()).await, person.ask(colour()).await);
    person.questions.cancel_all();
    assert_eq!(first.await.unwrap().0, Settled::Cancelled);
    assert_eq!(second.await.unwrap().0, Settled::Cancelled);
    person.saw(&["q1 select", "q2 select", "q1 is cancelled", "q2 is cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_nothing() {
    let person = Person::new(Audience::Nobody);
    assert_eq!(person.ask(colour()).await.await.unwrap(), (Settled::Cancelled, Duration::ZERO));
    person.questions.announce(&GuestId::from("g"), Announcement::SetTitle { title: "t".to_owned() });
    person.saw(&[]);
    person.questions.announce(&GuestId::from("g"), Announcement::Notify { message: "m".to_owned(), notify_type: None });
    person.saw(&["q1 notify"]);
}

#[tokio::test(start_paused = true)]
async fn client_that_comes_back_is_asked_again() {
    let person = Person::new(Audience::Somebody);
    let asking = person.ask(colour()).await;
    person.questions.announce(&GuestId::from("g"), Announcement::SetTitle { title: "t".to_owned() });
    let again: Vec<_> = person.questions.list_open().iter().map(|open| line(&open.to_event())).collect();
    assert_eq!(again, ["q1 select"]);
    person.saw(&["q1 select", "q2 setTitle"]);
    drop(asking);
}

/// A person answers on one thread in the moment in which the run is aborted on another: whoever is told that the answer
/// was taken must be right.
#[test]
fn answer_that_was_taken_counts_whatever_comes_with_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for round in 0..5_000_u32 {
        let questions = Questions::new(Audience::Somebody, LAPSE, || RequestId::from("q"), |_| {});
        let abort = CancellationToken::new();
        let asked = Asked::new(serde_json::from_value(colour()).expect("a question")).expect("it can be answered");
        let person = {
            let (questions, abort) = (questions.clone(), abort.clone());
            move || {
                while questions.list_open().is_empty() {
                    std::hint::spin_loop();
                }
                abort.cancel();
                for _ in 0..round % 512 {
                    std::hint::spin_loop();
                }
                questions.answer(&"q".into(), Answer::Select { value: "red".to_owned() }).is_ok()
            }
        };
        let (settled, was_taken) = std::thread::scope(|scope| {
            let person = scope.spawn(person);
            let settled = runtime.block_on(questions.ask(&GuestId::from("g"), asked, &abort));
            (settled, person.join().expect("no panic"))
        });
        assert_eq!(matches!(settled, Settled::Answered(_)), was_taken, "{settled:?}");
    }
}
