//! The connections of an episode: one observer for each client, which hears of everything and says nothing, and one
//! connection through which the client speaks, which breaks now and then.

use std::{collections::BTreeMap, time::Duration};

use pi_testkit::Client;
use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
    time::timeout,
};

use super::{
    command::{CLIENTS, Said},
    seen::Seen,
};
use crate::serving::Serving;

/// Nobody waits longer: a test that does has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than any test.
const FOREVER: Duration = Duration::from_secs(3600);

pub(super) struct Stage {
    observers: Vec<Observer>,
    pub(super) speakers: Vec<Speaker>,
    /// Views that the other observers have not had yet, for each.
    ahead: Vec<Vec<Value>>,
}

struct Observer {
    frames: UnboundedReceiver<Value>,
    task: JoinHandle<()>,
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The connection through which a client speaks, and what it said and heard there.
pub(super) struct Speaker {
    client: Client,
    pub(super) said: BTreeMap<u64, Said>,
    pub(super) heard: Vec<Value>,
}

impl Stage {
    pub(super) async fn set(serving: &Serving) -> Self {
        let (mut observers, mut speakers) = (Vec::new(), Vec::new());
        for name in CLIENTS {
            observers.push(Observer::start(serving.connect(&format!("?clientId={name}&lifecycle=all")).await));
            speakers.push(Speaker::start(serving, name).await);
        }
        let ahead = CLIENTS.map(|_| Vec::new()).to_vec();
        Self { observers, speakers, ahead }
    }

    /// What has been seen by everybody since the last time.
    pub(super) fn look(&mut self) -> Vec<Seen> {
        for (observer, ahead) in self.observers.iter_mut().zip(&mut self.ahead) {
            while let Ok(frame) = observer.frames.try_recv() {
                ahead.push(frame);
            }
        }
        let count = self.ahead.iter().map(Vec::len).min().unwrap_or(0);
        let mut views: Vec<_> = self.ahead.iter_mut().map(|ahead| ahead.drain(..count)).collect();
        (0..count)
            .map(|_| {
                let same: Vec<Value> = views.iter_mut().filter_map(Iterator::next).collect();
                Seen::observed(&same)
            })
            .collect()
    }

    /// Waits until there is something to see.
    pub(super) async fn wait(&mut self) {
        for (observer, ahead) in self.observers.iter_mut().zip(&mut self.ahead) {
            if ahead.is_empty() {
                let frame = timeout(PATIENCE, observer.frames.recv()).await.expect("something happens");
                ahead.push(frame.expect("the server keeps its connections"));
            }
        }
    }

    /// The same, but not for long.
    pub(super) async fn wait_a_little(&mut self, patience: Duration) {
        // Whether it came in time is seen by whoever looks.
        drop(timeout(patience, self.wait()).await);
    }
}

impl Observer {
    fn start(mut client: Client) -> Self {
        let (tell, frames) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(frame) = client.next_within(FOREVER).await {
                let is_lifecycle = frame["type"].as_str().is_some_and(|name| name.starts_with("command_"));
                if is_lifecycle && tell.send(frame).is_err() {
                    return;
                }
            }
        });
        Self { frames, task }
    }
}

impl Speaker {
    pub(super) async fn start(serving: &Serving, name: &str) -> Self {
        let client = serving.connect(&format!("?clientId={name}&lifecycle=none")).await;
        Self { client, said: BTreeMap::new(), heard: Vec::new() }
    }

    pub(super) async fn say(&mut self, request: u64, said: Said) {
        self.client.send(&said.frame).await;
        self.said.insert(request, said);
    }

    /// Waits for this answer and takes everything that came until then; returns what is new.
    pub(super) async fn hear(&mut self, id: &str) -> Vec<Value> {
        let answer = self.client.answer(id).await;
        let mut new = self.client.rest(Duration::ZERO).await;
        new.push(answer);
        new.retain(|frame| frame["type"] == "response");
        self.heard.extend(new.iter().cloned());
        new
    }
}
