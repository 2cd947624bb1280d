//! What a client hears, in which order, and what becomes of one that does not listen.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use pi_server::{
    feed::{Feed, Limits, Position},
    outbox::Outbox,
    speaker::{End, Pace, Snapshots, Transport, speak},
};
use pi_transcript::{AgentEvent, SessionId};
use pi_wire::{
    event::{ClosingReason, SessionSnapshot, SnapshotReason, UpdateForm},
    id::Epoch,
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

/// A client that hears everything, or is deaf until it is cured.
#[derive(Clone)]
struct Client {
    heard: Arc<Mutex<Vec<Value>>>,
    ears: Arc<tokio::sync::Semaphore>,
}

impl Transport for Client {
    async fn send(&mut self, frame: Bytes) -> io::Result<()> {
        drop(self.ears.acquire().await.unwrap());
        self.heard.lock().unwrap().push(serde_json::from_slice(&frame).unwrap());
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Camera(Arc<Feed>);

impl Snapshots for Camera {
    async fn take(&self, session: &SessionId, reason: SnapshotReason) -> Option<SessionSnapshot> {
        let Position { epoch, seq } = self.0.position();
        let snapshot = json!({
            "sessionId": session, "epoch": epoch, "seq": seq, "reason": reason,
            "sessionInfo": {
                "sessionId": session, "thinkingLevel": "off", "isStreaming": false, "messageCount": 0,
                "createdAt": "2026-11-16T00:00:00Z",
            },
            "queue": { "revision": 0, "items": [] },
            "questions": [],
        });
        Some(serde_json::from_value(snapshot).unwrap())
    }
}

struct Bench {
    feed: Arc<Feed>,
    outbox: Arc<Outbox>,
    client: Client,
    speaking: JoinHandle<End>,
}

impl Bench {
    fn new(limits: Limits) -> Self {
        let feed = Arc::new(Feed::new(SessionId::from("s1"), Epoch::from("e1"), limits));
        let outbox = Arc::new(Outbox::new(1 << 20));
        let client = Client { heard: Arc::default(), ears: Arc::new(tokio::sync::Semaphore::new(1)) };
        let speaking = tokio::spawn({
            let (outbox, mut client, camera) = (Arc::clone(&outbox), client.clone(), Camera(Arc::clone(&feed)));
            async move { speak(&outbox, &mut client, &camera, Pace::default()).await }
        });
        Self { feed, outbox, client, speaking }
    }

    fn join(&self, after: Option<u64>) {
        let position = after.map(|seq| Position { epoch: Epoch::from("e1"), seq });
        let (start, cursor) = self.feed.join(Arc::clone(&self.outbox), position.as_ref(), UpdateForm::Deltas);
        self.outbox.join(start, cursor);
    }

    fn say(&self, text: &str) {
        let event = json!({ "type": "message_update", "assistantMessageEvent":
            { "type": "text_delta", "contentIndex": 0, "delta": text } });
        self.publish(event);
    }

    fn publish(&self, event: Value) {
        self.feed.publish(Arc::new(serde_json::from_value::<AgentEvent>(event).unwrap()));
    }

    fn answer(&self, text: &str) {
        self.outbox.send(Bytes::from(json!({ "type": "response", "command": text }).to_string())).unwrap();
    }

    /// Until nothing moves at this moment.
    async fn settle(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    fn heard(&self) -> Vec<String> {
        self.client.heard.lock().unwrap().drain(..).map(|frame| short(&frame)).collect()
    }
}

fn short(frame: &Value) -> String {
    let kind = frame["type"].as_str().unwrap();
    match kind {
        "event" => {
            let event = &frame["event"];
            let said = event["assistantMessageEvent"]["delta"].as_str().or(event["type"].as_str());
            format!("{} {}", frame["seq"], said.unwrap())
        }
        "response" => format!("answer {}", frame["command"].as_str().unwrap()),
        "connection_closing" => {
            format!("closing {} at {}", frame["data"]["reason"].as_str().unwrap(), frame["data"]["resume"][0]["seq"])
        }
        other => format!("{other} {}", frame["data"]["seq"]),
    }
}

#[tokio::test(start_paused = true)]
async fn deltas_wait_a_moment_for_those_that_follow() {
    let bench = Bench::new(Limits::default());
    bench.join(None);
    bench.say("a");
    bench.settle().await;
    assert_eq!(bench.heard(), ["1 a"], "the first goes out at once");
    for piece in ["b", "c", "d"] {
        bench.say(piece);
        bench.settle().await;
    }
    assert_eq!(bench.heard(), [""; 0]);
    sleep(Duration::from_millis(40)).await;
    bench.settle().await;
    assert_eq!(bench.heard(), ["4 bcd"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_else_is_said_takes_waiting_deltas_along() {
    let bench = Bench::new(Limits::default());
    bench.join(None);
    bench.say("a");
    bench.settle().await;
    bench.say("b");
    bench.settle().await;
    bench.answer("get_state");
    bench.settle().await;
    bench.say("c");
    bench.settle().await;
    bench.publish(json!({ "type": "turn_start" }));
    bench.settle().await;
    assert_eq!(bench.heard(), ["1 a", "2 b", "answer get_state", "3 c", "4 turn_start"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_comes_first_and_then_what_happens() {
    let bench = Bench::new(Limits::default());
    for _ in 0..3 {
        bench.publish(json!({ "type": "turn_start" }));
    }
    bench.answer("subscribe");
    bench.join(Some(1));
    bench.publish(json!({ "type": "agent_start" }));
    bench.settle().await;
    assert_eq!(bench.heard(), ["answer subscribe", "2 turn_start", "3 turn_start", "4 agent_start"]);
}

#[tokio::test(start_paused = true)]
async fn who_missed_too_much_gets_a_snapshot_and_goes_on_after_it() {
    let bench = Bench::new(Limits { events: 2, behind: 0, ..Limits::default() });
    for _ in 0..9 {
        bench.publish(json!({ "type": "turn_start" }));
    }
    bench.join(Some(1));
    bench.settle().await;
    bench.publish(json!({ "type": "agent_start" }));
    bench.settle().await;
    assert_eq!(bench.heard(), ["session_snapshot 9", "10 agent_start"]);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_listen_is_told_where_to_go_on() {
    let bench = Bench::new(Limits { events: 5, behind: 0, ..Limits::default() });
    bench.join(None);
    bench.publish(json!({ "type": "agent_start" }));
    bench.settle().await;
    let deaf = bench.client.ears.acquire().await.unwrap();
    for _ in 0..2 {
        bench.publish(json!({ "type": "turn_start" }));
        bench.settle().await;
    }
    for _ in 0..20 {
        bench.publish(json!({ "type": "turn_start" }));
    }
    drop(deaf);
    let end = bench.speaking.await.unwrap();
    assert!(matches!(end, End::Closed(ClosingReason::TooSlow)), "{end:?}");
    let heard: Vec<String> = bench.client.heard.lock().unwrap().iter().map(short).collect();
    assert_eq!(heard, ["1 agent_start", "2 turn_start", "closing too_slow at 2"]);
}

#[tokio::test(start_paused = true)]
async fn who_left_hears_nothing_more() {
    let bench = Bench::new(Limits::default());
    bench.join(None);
    bench.publish(json!({ "type": "agent_start" }));
    bench.outbox.leave(SessionId::from("s1"));
    bench.publish(json!({ "type": "turn_start" }));
    bench.answer("unsubscribe");
    bench.outbox.close(ClosingReason::ShuttingDown);
    assert!(matches!(bench.speaking.await.unwrap(), End::Closed(ClosingReason::ShuttingDown)));
    let heard: Vec<String> = bench.client.heard.lock().unwrap().iter().map(short).collect();
    assert_eq!(heard, ["1 agent_start", "answer unsubscribe", "closing shutting_down at null"]);
}

#[tokio::test(start_paused = true)]
async fn who_listened_to_a_session_that_is_gone_hears_its_last_and_listens_to_another_of_its_name() {
    let bench = Bench::new(Limits::default());
    bench.join(None);
    bench.publish(json!({ "type": "agent_start" }));
    bench.feed.dismiss();
    bench.publish(json!({ "type": "turn_start" }));
    let other = Arc::new(Feed::new(SessionId::from("s1"), Epoch::from("e2"), Limits::default()));
    let (start, cursor) = other.join(Arc::clone(&bench.outbox), None, UpdateForm::Deltas);
    bench.outbox.join(start, cursor);
    // Somebody was slow to say so.
    bench.outbox.end(Arc::clone(&bench.feed));
    other.publish(Arc::new(serde_json::from_value(json!({ "type": "agent_start" })).unwrap()));
    bench.outbox.close(ClosingReason::ShuttingDown);
    assert!(matches!(bench.speaking.await.unwrap(), End::Closed(ClosingReason::ShuttingDown)));
    let heard: Vec<String> = bench.client.heard.lock().unwrap().iter().map(short).collect();
    assert_eq!(heard, ["1 agent_start", "1 agent_start", "closing shutting_down at 1"]);
}
