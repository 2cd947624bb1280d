//! Tells subscribers what happened, in the order in which it was written down.
//!
//! What a session says passes its recorder first: an event leaves only when the lines that it reports are in the file.
//! Behind the recorder stands the herald, one task that hands every event to every subscriber. A subscriber that does not
//! read is not waited for: it is told that it missed something and must subscribe anew.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use pi_transcript::{AgentEvent, json::Extra};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::file::{Fault, Report};

/// Events that may wait for a subscriber: more than the deltas of the longest answers, which come faster than they are shown.
const ROOM: usize = 65_536;

/// What leaves the recorder, in order.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Events(Vec<AgentEvent>),
    /// Whoever subscribes hears what comes from here on.
    Subscribe(Subscriber),
    /// Everything before is written.
    Written(oneshot::Sender<()>),
}

/// How far the recorder is, for the mailbox that feeds it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The file is written up to here.
    pub(crate) written: AtomicU64,
    /// Rung at every report.
    pub(crate) report: Notify,
}

/// The herald's end of a subscription.
#[derive(Debug)]
pub(crate) struct Subscriber {
    events: mpsc::Sender<Arc<AgentEvent>>,
    lagged: Arc<AtomicBool>,
}

/// The events of a session from one moment on.
#[derive(Debug)]
pub struct Subscription {
    events: mpsc::Receiver<Arc<AgentEvent>>,
    lagged: Arc<AtomicBool>,
}

/// Why no more events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    #[error("the session has ended")]
    Ended,
    /// Too many events waited; the state must be read anew.
    #[error("events were missed")]
    Lagged,
}

/// Both ends of a new subscription.
pub(crate) fn subscription() -> (Subscriber, Subscription) {
    let (sender, events) = mpsc::channel(ROOM);
    let lagged = Arc::new(AtomicBool::new(false));
    (Subscriber { events: sender, lagged: Arc::clone(&lagged) }, Subscription { events, lagged })
}

impl Subscription {
    /// The next event. Safe to drop and call again.
    pub async fn next(&mut self) -> Result<Arc<AgentEvent>, Silence> {
        match self.events.recv().await {
            Some(event) => Ok(event),
            None if self.lagged.load(Ordering::Acquire) => Err(Silence::Lagged),
            None => Err(Silence::Ended),
        }
    }
}

/// Hands out what the recorder lets pass, until the recorder ends.
pub(crate) async fn run(mut reports: mpsc::UnboundedReceiver<Report<Outgoing>>) {
    let mut subscribers: Vec<Subscriber> = Vec::new();
    // Whoever comes later is told as well: a failure is told before the steps of its batch, a subscription among them.
    let mut failing: Option<Arc<AgentEvent>> = None;
    while let Some(report) = reports.recv().await {
        let outgoing = match report {
            Report::Written { upto: _, then } | Report::Synced { durable: _, then } => then,
            Report::Failed(fault) => {
                let event = failed(&fault);
                failing = Some(Arc::new(event.clone()));
                Outgoing::Events(vec![event])
            }
            Report::Recovered => {
                failing = None;
                Outgoing::Events(vec![recovered()])
            }
        };
        match outgoing {
            Outgoing::Subscribe(subscriber) => {
                if failing.as_ref().is_none_or(|event| subscriber.take(event)) {
                    subscribers.push(subscriber);
                }
            }
            // Whoever waited for it may have gone away.
            Outgoing::Written(reply) => drop(reply.send(())),
            Outgoing::Events(events) => {
                for event in events.into_iter().map(Arc::new) {
                    subscribers.retain(|subscriber| subscriber.take(&event));
                }
            }
        }
    }
}

/// Clients are told that the conversation is in memory only; Pi has no event for this.
fn failed(fault: &Fault) -> AgentEvent {
    let members = [("type", "storage_failed".to_owned()), ("message", fault.to_string())];
    AgentEvent::Other(members.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect::<Extra>())
}

fn recovered() -> AgentEvent {
    AgentEvent::Other(Extra::from_iter([("type".to_owned(), "storage_recovered".into())]))
}

impl Subscriber {
    /// Whether the subscriber is still there, and keeps up.
    fn take(&self, event: &Arc<AgentEvent>) -> bool {
        match self.events.try_send(Arc::clone(event)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Closed(_)) => false,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.lagged.store(true, Ordering::Release);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(then: Outgoing) -> Report<Outgoing> {
        Report::Written { upto: 0, then }
    }

    #[tokio::test]
    async fn subscriber_hears_what_comes_after_it() {
        let (outgoing, receiver) = mpsc::unbounded_channel();
        let (subscriber, mut heard) = subscription();
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::AgentStart]))).expect("open");
        outgoing.send(written(Outgoing::Subscribe(subscriber))).expect("open");
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::TurnStart]))).expect("open");
        drop(outgoing);
        run(receiver).await;
        assert_eq!(heard.next().await.as_deref(), Ok(&AgentEvent::TurnStart));
        assert_eq!(heard.next().await, Err(Silence::Ended));
    }

    #[tokio::test]
    async fn subscriber_is_told_that_the_disk_fails_already() {
        let (outgoing, receiver) = mpsc::unbounded_channel();
        let (subscriber, mut heard) = subscription();
        outgoing.send(Report::Failed(Fault::Full)).expect("open");
        outgoing.send(written(Outgoing::Subscribe(subscriber))).expect("open");
        drop(outgoing);
        run(receiver).await;
        assert_eq!(heard.next().await.as_deref(), Ok(&failed(&Fault::Full)));
        assert_eq!(heard.next().await, Err(Silence::Ended));
    }

    #[tokio::test]
    async fn subscriber_that_does_not_read_is_told_that_it_missed_something() {
        let (outgoing, receiver) = mpsc::unbounded_channel();
        let (subscriber, mut heard) = subscription();
        outgoing.send(written(Outgoing::Subscribe(subscriber))).expect("open");
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::TurnStart; ROOM + 1]))).expect("open");
        drop(outgoing);
        run(receiver).await;
        let mut events = 0;
        let silence = loop {
            match heard.next().await {
                Ok(_) => events += 1,
                Err(silence) => break silence,
            }
        };
        assert_eq!((events, silence), (ROOM, Silence::Lagged));
    }
}
