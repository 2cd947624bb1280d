//! Components that extensions draw: what clients hear, which keys arrive, and how each component ends.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pi_exthost::{
    Drawings, GuestId,
    drawings::{KeyFault, MOST, Press, TooMany},
    port::{Canvas, Drawing, Frame, Size},
    questions::Audience,
};
use pi_transcript::{AgentEvent, RequestId, question::WidgetPlacement};
use serde_json::json;
use tokio::{
    task::{JoinHandle, yield_now},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

/// Somebody who sees what clients are told.
struct Person {
    drawings: Drawings,
    seen: Arc<Mutex<Vec<String>>>,
    life: CancellationToken,
}

impl Person {
    fn new(audience: Audience) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (screen, count) = (seen.clone(), AtomicU64::new(1));
        let ids = move || RequestId(format!("d{}", count.fetch_add(1, Ordering::Relaxed)));
        let drawings = Drawings::new(audience, ids, move |event| screen.lock().expect("no panic").push(line(&event)));
        Self { drawings, seen, life: CancellationToken::new() }
    }

    fn open(&self, drawing: &Drawing) -> (Canvas, JoinHandle<()>) {
        let opened = self.drawings.open(&GuestId::from("g"), drawing, self.life.child_token()).expect("there is room");
        let (canvas, carried) = opened.expect("somebody looks");
        (canvas, tokio::spawn(carried))
    }

    fn press(&self, id: &str, key: &str) -> Result<(), KeyFault> {
        self.drawings.press(&id.into(), &Press { key: Some(key.to_owned()), ..Press::default() })
    }

    #[track_caller]
    fn saw(&self, expected: &[&str]) {
        assert_eq!(*self.seen.lock().expect("no panic"), expected);
    }
}

fn line(event: &AgentEvent) -> String {
    let event = serde_json::to_value(event).expect("JSON");
    let id = event["requestId"].as_str().unwrap_or_default();
    match event["type"].as_str().unwrap_or_default() {
        "extension_ui_render" => format!("{id} {} in {} at {}", event["lines"], event["width"], event["placement"]),
        "extension_ui_resolved" => format!("{id} is {}", event["outcome"]),
        other => panic!("nobody draws {other}"),
    }
}

fn paint(canvas: &Canvas, text: &str) {
    canvas.frames.send(Frame { lines: vec![text.to_owned()] }).expect("somebody looks");
}

/// Long enough for a frame to be told.
async fn moment() {
    sleep(Duration::from_millis(40)).await;
}

const SHOWN: &str = r#"d1 [[{"text":"one"}]] in 80 at "editor""#;

#[tokio::test(start_paused = true)]
async fn frames_are_told_until_the_component_is_put_away() {
    let person = Person::new(Audience::Somebody);
    let (canvas, carried) = person.open(&Drawing::Editor);
    assert_eq!(person.drawings.list_open(), [], "nothing was drawn");
    paint(&canvas, "one");
    moment().await;
    let newest = serde_json::to_value(person.drawings.list_open()).expect("JSON");
    assert_eq!(newest[0]["lines"], json!([[{ "text": "one" }]]));
    paint(&canvas, "\u{1b}[1mtwo");
    drop(canvas);
    carried.await.expect("it ends");
    let bold = r#"d1 [[{"text":"two","style":{"bold":true}}]] in 80 at "editor""#;
    person.saw(&[SHOWN, bold, r#"d1 is "closed""#]);
    assert_eq!((person.drawings.list_open(), person.drawings.count()), (Vec::new(), 0));
}

#[tokio::test(start_paused = true)]
async fn frames_come_at_the_pace_of_a_screen_and_the_last_one_comes() {
    let person = Person::new(Audience::Somebody);
    let (canvas, carried) = person.open(&Drawing::Overlay);
    for number in 1..=10_000 {
        paint(&canvas, &number.to_string());
        // A tenth of a second in all.
        if number % 100 == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        yield_now().await;
    }
    drop(canvas);
    carried.await.expect("it ends");
    let seen = person.seen.lock().expect("no panic").clone();
    assert!(seen.len() <= 7, "{seen:?}");
    assert!(seen[seen.len() - 2].contains("10000"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn keys_arrive_in_order_and_the_room_with_them() {
    let person = Person::new(Audience::Somebody);
    let (mut canvas, _carried) = person.open(&Drawing::Editor);
    for key in ["a", "enter", "ctrl+c", "two words"] {
        person.press("d1", key).expect("it takes keys");
    }
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.extend(canvas.keys.recv().await);
    }
    assert_eq!(keys, ["a", "\r", "\u{3}", "two words"]);
    let narrow = Press { key: None, columns: Some(40), rows: Some(7) };
    person.drawings.press(&"d1".into(), &narrow).expect("it is there");
    assert_eq!(*canvas.size.borrow(), Size { columns: 40, rows: 7 });
    // The next one is opened for the window that is known by then.
    let (next, _) = person.open(&Drawing::Footer);
    assert_eq!(*next.size.borrow(), Size { columns: 40, rows: 7 });
}

#[tokio::test(start_paused = true)]
async fn keys_that_nobody_can_take_are_refused() {
    let person = Person::new(Audience::Somebody);
    assert_eq!(person.press("d1", "a"), Err(KeyFault::NotOpen { id: "d1".into() }));
    let widget = Drawing::Widget { key: "w".to_owned(), placement: WidgetPlacement::BelowEditor };
    let (canvas, carried) = person.open(&widget);
    assert_eq!(person.press("d1", "a"), Err(KeyFault::Keyless { id: "d1".into() }));
    drop(canvas);
    carried.await.expect("it ends");
    assert_eq!(person.press("d1", "a"), Err(KeyFault::NotOpen { id: "d1".into() }));
    let (_canvas, _carried) = person.open(&Drawing::Editor);
    for _ in 0..256 {
        person.press("d2", "a").expect("there is room");
    }
    assert_eq!(person.press("d2", "a"), Err(KeyFault::Full { id: "d2".into() }));
    person.saw(&[]);
}

#[tokio::test(start_paused = true)]
async fn component_that_takes_no_keys_any_more_is_taken_away() {
    let person = Person::new(Audience::Somebody);
    let (mut canvas, carried) = person.open(&Drawing::Editor);
    paint(&canvas, "one");
    moment().await;
    // One that takes its time, but takes them, stays.
    for _ in 0..3 {
        person.press("d1", "a").expect("it takes keys");
        person.press("d1", "b").expect("it takes keys");
        sleep(Duration::from_secs(20)).await;
        assert_eq!(canvas.keys.recv().await.as_deref(), Some("a"));
        sleep(Duration::from_secs(20)).await;
        assert_eq!(canvas.keys.recv().await.as_deref(), Some("b"));
    }
    sleep(Duration::from_secs(600)).await;
    person.saw(&[SHOWN]);
    person.press("d1", "a").expect("it takes keys");
    sleep(Duration::from_secs(31)).await;
    carried.await.expect("it ends");
    person.saw(&[SHOWN, r#"d1 is "timed_out""#]);
    assert_eq!(canvas.keys.recv().await.as_deref(), Some("a"));
    assert_eq!(canvas.keys.recv().await, None, "it was taken away");
}

#[tokio::test(start_paused = true)]
async fn abort_takes_away_what_has_the_keys_and_the_end_takes_everything() {
    let person = Person::new(Audience::Somebody);
    let (editor, first) = person.open(&Drawing::Editor);
    let (header, second) = person.open(&Drawing::Header);
    paint(&editor, "one");
    paint(&header, "two");
    moment().await;
    let header_shown = r#"d2 [[{"text":"two"}]] in 80 at "header""#;
    person.drawings.cancel_keyed();
    first.await.expect("it ends");
    person.saw(&[SHOWN, header_shown, r#"d1 is "cancelled""#]);
    person.drawings.cancel_all();
    second.await.expect("it ends");
    person.saw(&[SHOWN, header_shown, r#"d1 is "cancelled""#, r#"d2 is "cancelled""#]);
    // A future that is dropped tells as well.
    let (canvas, third) = person.open(&Drawing::Editor);
    paint(&canvas, "three");
    moment().await;
    third.abort();
    drop(third.await);
    assert_eq!(person.seen.lock().expect("no panic").last().map(String::as_str), Some(r#"d3 is "cancelled""#));
}

#[tokio::test(start_paused = true)]
async fn there_are_not_too_many_and_none_where_nobody_looks() {
    let person = Person::new(Audience::Somebody);
    let held: Vec<_> = (0..MOST).map(|_| person.open(&Drawing::Editor)).collect();
    let refused = person.drawings.open(&GuestId::from("g"), &Drawing::Editor, CancellationToken::new());
    assert_eq!(refused.err(), Some(TooMany));
    drop(held);
    let nobody = Person::new(Audience::Nobody);
    assert!(
        nobody
            .drawings
            .open(&GuestId::from("g"), &Drawing::Editor, CancellationToken::new())
            .expect("no refusal")
            .is_none()
    );
}
