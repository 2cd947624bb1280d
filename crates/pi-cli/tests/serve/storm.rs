//! Connections that break again and again while a model speaks: in the end everybody has heard the same.

use std::time::Duration;

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::serving::Serving;

/// Clients that are cut off at random, beside one that stays.
const CLIENTS: usize = 200;
/// What is on its way comes within this time; what is not may come after the break.
const SOON: Duration = Duration::from_millis(20);
/// How often the model stops and goes on.
const STOPS: usize = 8;

/// What a client has heard so far.
#[derive(Default, Clone)]
struct Heard {
    epoch: Option<Value>,
    seq: u64,
    /// The words of the model, put together from deltas.
    text: String,
    /// The types of all other events, in order.
    events: Vec<String>,
}

impl Heard {
    fn hear(&mut self, frame: &Value) {
        if frame["type"] != "event" {
            assert_ne!(frame["type"], "session_snapshot", "nobody is so far behind: {frame}");
            return;
        }
        let seq = frame["seq"].as_u64().expect("events are numbered");
        assert!(seq > self.seq, "{seq} came after {}", self.seq);
        self.seq = seq;
        self.epoch = Some(frame["epoch"].clone());
        let event = &frame["event"];
        match event["assistantMessageEvent"]["delta"].as_str() {
            Some(delta) => self.text.push_str(delta),
            None => self.events.push(event["type"].as_str().unwrap_or_default().to_owned()),
        }
    }

    fn is_over(&self) -> bool {
        self.events.last().is_some_and(|event| event == "agent_settled")
    }
}

struct Guest {
    name: String,
    client: Client,
    heard: Heard,
    connections: usize,
}

impl Guest {
    async fn arrive(serving: &Serving, name: String) -> Self {
        let client = serving.connect(&format!("?clientId={name}&lifecycle=none")).await;
        let mut guest = Self { name, client, heard: Heard::default(), connections: 0 };
        guest.subscribe().await;
        // Where it begins to listen: whoever knows that misses nothing, even if the first event is lost.
        let begun = guest.client.answer("sub-1").await;
        guest.heard.seq = begun["data"]["seq"].as_u64().expect("a number");
        guest.heard.epoch = Some(begun["data"]["epoch"].clone());
        guest
    }

    async fn subscribe(&mut self) {
        self.connections += 1;
        let mut frame = json!({"type": "subscribe", "id": format!("sub-{}", self.connections), "sessionId": "s"});
        if let Some(epoch) = &self.heard.epoch {
            frame["afterSeq"] = self.heard.seq.into();
            frame["epoch"] = epoch.clone();
        }
        self.client.send(&frame).await;
    }

    /// Reads a few frames of what there is and is gone in the middle of them.
    async fn break_off(&mut self, serving: &Serving, random: &mut fastrand::Rng) {
        for _ in 0..random.usize(1..20) {
            if self.heard.is_over() {
                break;
            }
            let Some(frame) = self.client.next_within(SOON).await else { break };
            self.heard.hear(&frame);
            if random.u8(..4) == 0 {
                break;
            }
        }
        // What was sent and not read is lost with the connection.
        self.client = serving.connect(&format!("?clientId={}&lifecycle=none", self.name)).await;
        self.subscribe().await;
    }

    async fn listen_to_the_end(&mut self) {
        while !self.heard.is_over() {
            let frame = self.client.next().await.expect("there is more");
            self.heard.hear(&frame);
        }
    }
}

#[test]
fn who_is_dropped_at_random_ends_with_the_same_as_who_stayed() {
    let words = |part: usize| format!("part {part} has some words of its own, ");
    let answer = (0..STOPS).fold(Answer::new(), |answer, part| answer.text(&words(part)).hold());
    let serving = Serving::start(Script::new().then(answer.text("end.").usage(100, 10).reply()));
    serving.block_on(async {
        let mut random = fastrand::Rng::with_seed(5);
        let mut speaker = serving.with_session("?clientId=speaker&lifecycle=none").await;
        let mut stays = Guest::arrive(&serving, "stays".to_owned()).await;
        let mut guests = Vec::new();
        for number in 0..CLIENTS {
            guests.push(Guest::arrive(&serving, format!("guest-{number}")).await);
        }
        speaker.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        serving.room.server.received(1).await;
        for _ in 0..STOPS {
            for guest in &mut guests {
                if random.u8(..3) == 0 {
                    guest.break_off(&serving, &mut random).await;
                }
            }
            serving.room.server.release(1);
        }
        stays.listen_to_the_end().await;
        assert_eq!(stays.heard.text, (0..STOPS).map(words).collect::<String>() + "end.");
        let mut breaks = 0;
        for guest in &mut guests {
            guest.listen_to_the_end().await;
            breaks += guest.connections - 1;
            assert_eq!(guest.heard.text, stays.heard.text, "{}", guest.name);
            assert_eq!(guest.heard.events, stays.heard.events, "{}", guest.name);
            assert_eq!(guest.heard.seq, stays.heard.seq, "{}", guest.name);
        }
        // A storm in which nobody is dropped would prove nothing.
        assert!(breaks > CLIENTS, "only {breaks} breaks");
    });
}
