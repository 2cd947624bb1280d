//! The events of a session on their way to clients: numbered once, joined where they may be, missed by nobody.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use bytes::Bytes;
use pi_server::{
    feed::{Cursor, Feed, Limits, Position, Start, TooFarBehind},
    outbox::{Item, Outbox},
};
use pi_transcript::{AgentEvent, SessionId};
use pi_wire::{
    event::{ClosingReason, SnapshotReason, UpdateForm},
    id::Epoch,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const LIMITS: Limits = Limits { events: 1000, bytes: 1 << 20, behind: 1 << 20 };

fn feed(limits: Limits) -> Arc<Feed> {
    Arc::new(Feed::new(SessionId::from("s1"), Epoch::from("e1"), limits))
}

fn event(value: Value) -> Arc<AgentEvent> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn start() -> Arc<AgentEvent> {
    event(json!({ "type": "message_start", "message": {
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
        }, "stopReason": "stop", "timestamp": 0,
    }}))
}

fn step(step: &Value) -> Arc<AgentEvent> {
    event(json!({ "type": "message_update", "assistantMessageEvent": step }))
}

fn delta(index: u64, text: &str) -> Arc<AgentEvent> {
    step(&json!({ "type": "text_delta", "contentIndex": index, "delta": text }))
}

/// Number and meaning of what a cursor hands out, in short.
fn told(cursor: &mut Cursor, upto: u64) -> Vec<(u64, String)> {
    let events = cursor.advance(upto).unwrap();
    events
        .iter()
        .map(|numbered| (numbered.seq.unwrap(), short(&serde_json::to_value(&numbered.event).unwrap())))
        .collect()
}

fn short(event: &Value) -> String {
    let step = &event["assistantMessageEvent"];
    let so_far = event["message"]["content"]
        .as_array()
        .map(|blocks| blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("|"));
    let delta = step["delta"].as_str().unwrap_or_default();
    match (step["type"].as_str(), so_far) {
        (Some(kind), Some(so_far)) => format!("{kind} {delta} of {so_far}"),
        (Some(kind), None) => format!("{kind} {delta}"),
        (None, _) => event["type"].as_str().unwrap().to_owned(),
    }
}

fn join(feed: &Arc<Feed>, after: Option<u64>, form: UpdateForm) -> (Start, Cursor) {
    let position = after.map(|seq| Position { epoch: Epoch::from("e1"), seq });
    feed.join(Arc::new(Outbox::new(1 << 20)), position.as_ref(), form)
}

#[test]
fn deltas_that_gathered_go_out_as_one_with_the_last_number() {
    let feed = feed(LIMITS);
    let (_, mut cursor) = join(&feed, None, UpdateForm::Deltas);
    for event in
        [start(), delta(0, "a"), delta(0, "b"), delta(1, "c"), delta(1, "d"), event(json!({ "type": "turn_start" }))]
    {
        feed.publish(event);
    }
    let said = |number: u64, text: &str| (number, text.to_owned());
    let expected =
        [said(1, "message_start"), said(3, "text_delta ab"), said(5, "text_delta cd"), said(6, "turn_start")];
    assert_eq!(told(&mut cursor, 6), expected);
}

#[test]
fn clients_of_the_document_get_the_message_so_far() {
    let feed = feed(LIMITS);
    feed.publish(start());
    feed.publish(delta(0, "before "));
    let (_, mut cursor) = join(&feed, None, UpdateForm::Cumulative);
    feed.publish(delta(0, "and "));
    feed.publish(delta(0, "after"));
    let expected = vec![(4, "text_delta and after of before and after".to_owned())];
    assert_eq!(told(&mut cursor, 4), expected);
}

#[test]
fn arguments_that_grow_are_shown_as_they_came() {
    let feed = feed(LIMITS);
    feed.publish(start());
    feed.publish(step(&json!({ "type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "read" })));
    feed.publish(step(&json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "{\"pa" })));
    feed.publish(step(&json!({ "type": "toolcall_delta", "contentIndex": 0, "delta": "th\":" })));
    let (seq, message) = feed.growing();
    let block = &serde_json::to_value(message).unwrap()["content"][0];
    assert_eq!((seq, &block["name"], &block["partialJson"]), (4, &json!("read"), &json!("{\"path\":")));
}

#[test]
fn where_a_subscription_begins() {
    let feed = feed(Limits { events: 3, ..LIMITS });
    for _ in 0..5 {
        feed.publish(event(json!({ "type": "turn_start" })));
    }
    for (after, expected) in [
        (None, Start::Live(5)),
        (Some(5), Start::Live(5)),
        (Some(4), Start::Replay { after: 4, upto: 5 }),
        (Some(2), Start::Replay { after: 2, upto: 5 }),
        (Some(1), Start::Snapshot { seq: 5, reason: SnapshotReason::TooFarBehind }),
        (Some(6), Start::Snapshot { seq: 5, reason: SnapshotReason::AheadOfEnd }),
    ] {
        assert_eq!(join(&feed, after, UpdateForm::Deltas).0, expected, "{after:?}");
    }
    let (_, mut behind) = join(&feed, Some(2), UpdateForm::Deltas);
    assert_eq!(told(&mut behind, 5).len(), 3);
    feed.begin_epoch(Epoch::from("e2"));
    assert!(matches!(behind.advance(0), Err(TooFarBehind)), "its numbers mean nothing any more");
    assert_eq!(
        join(&feed, Some(5), UpdateForm::Deltas).0,
        Start::Snapshot { seq: 0, reason: SnapshotReason::EpochChanged }
    );
}

#[test]
fn who_is_too_far_behind_is_told_so() {
    let feed = feed(Limits { events: 1000, bytes: 2000, behind: 2000 });
    let (_, mut cursor) = join(&feed, None, UpdateForm::Deltas);
    for _ in 0..20 {
        feed.publish(delta(0, "0123456789"));
    }
    assert!(matches!(cursor.advance(20), Err(TooFarBehind)));
    assert_eq!(*cursor.position(), Position { epoch: Epoch::from("e1"), seq: 0 });
}

#[test]
fn what_a_connected_client_has_yet_to_take_is_kept_longer() {
    let limits = Limits { events: 3, bytes: 2000, behind: 20_000 };
    let large = || event(json!({ "type": "bash_execution_update", "text": "x".repeat(5000) }));
    let feed = feed(limits);
    let (_, mut reads) = join(&feed, None, UpdateForm::Deltas);
    feed.publish(large());
    feed.publish(large());
    assert_eq!(told(&mut reads, 1).len(), 1, "one that is larger than all that is kept");
    assert_eq!(told(&mut reads, 2).len(), 1);
    // Nobody waits for them any more.
    assert_eq!(
        join(&feed, Some(1), UpdateForm::Deltas).0,
        Start::Snapshot { seq: 2, reason: SnapshotReason::TooFarBehind }
    );
    for _ in 0..5 {
        feed.publish(large());
    }
    assert!(matches!(reads.advance(7), Err(TooFarBehind)), "nor are they kept for ever");
}

#[test]
fn order_is_that_in_which_things_came() {
    let feed = feed(LIMITS);
    let outbox = Arc::new(Outbox::new(1 << 20));
    let (start, cursor) = feed.join(Arc::clone(&outbox), None, UpdateForm::Deltas);
    outbox.join(start, cursor);
    let frame = |text: &'static str| outbox.send(Bytes::from_static(text.as_bytes())).unwrap();
    frame("accepted");
    feed.publish(event(json!({ "type": "agent_start" })));
    feed.publish(event(json!({ "type": "turn_start" })));
    frame("answer");
    feed.publish(event(json!({ "type": "agent_start" })));
    outbox.close(ClosingReason::ShuttingDown);
    frame("too late");
    let items: Vec<String> = std::iter::from_fn(|| outbox.take()).map(|item| describe(&item)).collect();
    assert_eq!(items, ["join s1", "accepted", "s1 up to 2", "answer", "s1 up to 3", "close"]);
}

fn describe(item: &Item) -> String {
    match item {
        Item::Frame(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Item::News { session, upto } => format!("{session} up to {upto}"),
        Item::Join(_, cursor) => format!("join {}", cursor.session()),
        Item::Leave(session) => format!("leave {session}"),
        Item::End(feed) => format!("end of {}", feed.session()),
        Item::Ping => "ping".to_owned(),
        Item::Close(_) => "close".to_owned(),
    }
}

#[test]
fn a_client_that_does_not_read_is_closed_and_not_forgotten_silently() {
    let outbox = Outbox::new(10);
    outbox.send(Bytes::from_static(b"larger than the room, but the first")).unwrap();
    outbox.send(Bytes::from_static(b"x")).unwrap_err();
    outbox.take().unwrap();
    assert!(matches!(outbox.take(), Some(Item::Close(ClosingReason::TooSlow))));
    assert!(outbox.take().is_none());
}

#[tokio::test]
async fn answers_have_more_room_than_what_nobody_asked_for_and_slow_their_reader() {
    let outbox = Outbox::new(10);
    let frame = || Bytes::from_static(b"12345678");
    for _ in 0..10 {
        outbox.answer(frame()).unwrap();
    }
    assert!(!outbox.has_room(), "no further command is read");
    outbox.send(frame()).unwrap();
    for _ in 0..9 {
        outbox.take().unwrap();
        outbox.progress().await;
    }
    assert!(!outbox.has_room());
    outbox.take().unwrap();
    assert!(outbox.has_room());
    outbox.send(frame()).unwrap_err();
    let outbox = Outbox::new(10);
    let taken = (0..30).take_while(|_| outbox.answer(frame()).is_ok()).count();
    assert_eq!(taken, 20, "answers are bounded too");
}

#[tokio::test]
async fn the_writer_wakes_for_what_comes() {
    let outbox = Arc::new(Outbox::new(1 << 20));
    let waiting = tokio::spawn({
        let outbox = Arc::clone(&outbox);
        async move { describe(&outbox.next().await) }
    });
    tokio::task::yield_now().await;
    outbox.announce(&SessionId::from("s1"), 7);
    assert_eq!(waiting.await.unwrap(), "s1 up to 7");
}

/// What a client that adds up deltas has in the end.
fn text_of(events: &[(u64, String)]) -> String {
    events.iter().filter_map(|(_, said)| said.strip_prefix("text_delta ")).collect()
}

proptest! {
    #[test]
    fn however_it_is_cut_the_text_is_the_same(pieces in prop::collection::vec("[a-z]{0,4}", 1..60), cuts in prop::collection::vec(0..60_u64, 0..8)) {
        let feed = feed(LIMITS);
        let (_, mut cursor) = join(&feed, None, UpdateForm::Deltas);
        let mut heard = Vec::new();
        for (piece, number) in pieces.iter().zip(1..) {
            feed.publish(delta(0, piece));
            if cuts.contains(&number) {
                heard.extend(told(&mut cursor, number));
            }
        }
        // The connection breaks; another one takes up where it was.
        let (_, mut cursor) = join(&feed, Some(cursor.position().seq), UpdateForm::Deltas);
        heard.extend(told(&mut cursor, pieces.len() as u64));
        prop_assert_eq!(text_of(&heard), pieces.concat());
        prop_assert!(heard.is_sorted_by(|(one, _), (other, _)| one < other));
    }
}

#[test]
fn only_the_newest_frame_of_a_component_is_kept_and_who_comes_back_misses_nothing_else() {
    let render = |id: &str, text: String| {
        event(json!({ "type": "extension_ui_render", "requestId": id, "lines": [[{ "text": text }]], "width": 80,
            "placement": "editor" }))
    };
    let feed = feed(LIMITS);
    feed.publish(event(json!({ "type": "turn_start" })));
    feed.publish(render("other", "still".to_owned()));
    for number in 0..5000 {
        feed.publish(render("d1", number.to_string()));
    }
    let back = Position { epoch: Epoch::from("e1"), seq: 0 };
    let outbox = || Arc::new(Outbox::new(1 << 20));
    let (begins, mut cursor) = feed.join(outbox(), Some(&back), UpdateForm::Deltas);
    assert_eq!(begins, Start::Replay { after: 0, upto: 5002 }, "the flood has pushed nothing out");
    assert!(cursor.take_standing().is_empty(), "all of it is among what follows");
    let seen: Vec<u64> = cursor.advance(5002).unwrap().iter().filter_map(|numbered| numbered.seq).collect();
    assert_eq!(seen, [1, 2, 5002]);
    // Who listens from now on is shown both.
    assert_eq!(feed.join(outbox(), None, UpdateForm::Deltas).1.take_standing().len(), 2);
    feed.publish(event(json!({ "type": "extension_ui_resolved", "requestId": "d1", "outcome": "closed" })));
    let (_, late) = feed.join(outbox(), None, UpdateForm::Deltas);
    assert_eq!(late.take_standing(), [render("other", "still".to_owned())]);
}

#[test]
fn open_question_is_told_once_to_who_comes_back_and_never_after_its_end() {
    let ask = |id: &str| {
        event(json!({ "type": "extension_ui_request", "requestId": id, "method": "confirm", "title": "Sure?",
            "message": "It costs." }))
    };
    let resolved = |id: &str| event(json!({ "type": "extension_ui_resolved", "requestId": id, "outcome": "answered" }));
    let feed = feed(LIMITS);
    feed.publish(ask("q1"));
    feed.publish(ask("q2"));
    let outbox = || Arc::new(Outbox::new(1 << 20));
    let from = |seq| feed.join(outbox(), Some(&Position { epoch: Epoch::from("e1"), seq }), UpdateForm::Deltas).1;
    // Who saw nothing is told by number, who saw one hears of it again, and of the other by number.
    let reminded = [from(0).take_standing(), from(1).take_standing(), from(2).take_standing()];
    assert_eq!(reminded, [vec![], vec![ask("q1")], vec![ask("q1"), ask("q2")]]);
    let mut slow = from(1);
    feed.publish(resolved("q1"));
    assert_eq!(slow.take_standing(), [], "what has its answer is not asked again");
    let numbers: Vec<u64> = slow.advance(3).unwrap().iter().filter_map(|numbered| numbered.seq).collect();
    assert_eq!(numbers, [2, 3]);
    feed.drop_questions();
    assert_eq!(from(3).take_standing(), []);
}

#[test]
fn notice_that_nobody_heard_is_told_once_to_who_comes_next() {
    let notice = |id: &str| {
        event(
            json!({ "type": "extension_ui_request", "requestId": id, "method": "notify", "message": "still starting" }),
        )
    };
    let feed = feed(LIMITS);
    feed.publish(notice("n1"));
    feed.publish(event(json!({ "type": "turn_start" })));
    feed.publish(notice("n2"));
    let outbox = || Arc::new(Outbox::new(1 << 20));
    let listener = outbox();
    let (_, first) = feed.join(Arc::clone(&listener), None, UpdateForm::Deltas);
    assert_eq!(first.take_standing(), [notice("n1"), notice("n2")]);
    // Whoever is there hears it as an event.
    feed.publish(notice("n3"));
    assert_eq!(feed.join(outbox(), None, UpdateForm::Deltas).1.take_standing(), []);
    // Who comes back gets it among what was missed, and not twice.
    let alone = self::feed(LIMITS);
    alone.publish(notice("n1"));
    alone.publish(notice("n2"));
    let back = Position { epoch: Epoch::from("e1"), seq: 1 };
    let (begins, cursor) = alone.join(listener, Some(&back), UpdateForm::Deltas);
    assert_eq!((begins, cursor.take_standing()), (Start::Replay { after: 1, upto: 2 }, vec![notice("n1")]));
    assert_eq!(alone.join(outbox(), None, UpdateForm::Deltas).1.take_standing(), []);
}

#[tokio::test(start_paused = true)]
async fn who_comes_later_is_told_how_much_time_a_question_has_left() {
    let feed = feed(LIMITS);
    feed.publish(event(
        json!({ "type": "extension_ui_request", "requestId": "q1", "method": "input", "title": "Name?",
        "timeout": 5000 }),
    ));
    feed.publish(event(
        json!({ "type": "extension_ui_request", "requestId": "q2", "method": "input", "title": "Age?" }),
    ));
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    let (_, cursor) = join(&feed, None, UpdateForm::Deltas);
    let standing: Vec<Value> =
        cursor.take_standing().iter().map(|event| serde_json::to_value(&**event).unwrap()["timeout"].clone()).collect();
    assert_eq!(standing, [json!(3000), Value::Null]);
}

fn progress(call: &str, text: &str) -> Arc<AgentEvent> {
    let (content, details) = (json!([{ "type": "text", "text": text }]), json!({ "truncation": { "content": text } }));
    event(
        json!({ "type": "tool_execution_update", "toolCallId": call, "toolName": "bash", "args": { "command": "make" },
        "partialResult": { "content": content, "details": details } }),
    )
}

fn said(cursor: &mut Cursor, upto: u64) -> Vec<Value> {
    let events = cursor.advance(upto).unwrap();
    events.iter().map(|numbered| serde_json::to_value(&numbered.event).unwrap()).collect()
}

#[test]
fn output_of_a_call_is_told_once_after_subscribe_and_whole_after_switch_session() {
    let feed = feed(LIMITS);
    let (_, mut deltas) = join(&feed, None, UpdateForm::Deltas);
    let (_, mut whole) = join(&feed, None, UpdateForm::Cumulative);
    let lines = |range: std::ops::Range<u32>| range.map(|line| format!("line {line}\n")).collect::<String>();
    let shown = |text: &str| json!({ "content": [{ "type": "text", "text": text }], "details": { "truncation": {} } });
    let update = |partial: Value, more: Value| {
        let mut update =
            json!({ "type": "tool_execution_update", "toolCallId": "c", "toolName": "bash", "partialResult": partial });
        update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        update
    };
    let nothing = json!({ "content": [], "details": { "truncation": {} } });
    for (number, (text, expected)) in [
        (lines(10..20), update(shown(&lines(10..20)), json!({}))),
        (lines(10..30), update(nothing.clone(), json!({ "delta": lines(20..30) }))),
        (lines(15..31), update(nothing, json!({ "delta": lines(30..31), "dropped": 40 }))),
        (lines(70..80), update(shown(&lines(70..80)), json!({}))),
    ]
    .into_iter()
    .enumerate()
    {
        let upto = u64::try_from(number).unwrap() + 1;
        feed.publish(progress("c", &text));
        assert_eq!(said(&mut deltas, upto), [expected]);
        assert_eq!(said(&mut whole, upto), [serde_json::to_value(&*progress("c", &text)).unwrap()]);
    }
    let (_, mut late) = join(&feed, Some(1), UpdateForm::Deltas);
    assert_eq!(said(&mut late, 4), [update(shown(&lines(70..80)), json!({}))], "who comes back is told the whole");
}

#[test]
fn updates_of_a_call_do_not_push_out_what_happened_before() {
    let feed = feed(Limits { events: 10, bytes: 20_000, behind: 20_000 });
    feed.publish(event(json!({ "type": "turn_start" })));
    let mut text = String::new();
    for _ in 0..100 {
        text.push_str("forty characters and a few more of them.\n");
        feed.publish(progress("c", &text));
        feed.publish(progress("d", &text));
    }
    assert_eq!(join(&feed, Some(0), UpdateForm::Deltas).0, Start::Replay { after: 0, upto: 201 });
}
