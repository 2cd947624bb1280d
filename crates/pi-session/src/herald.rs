//! Tells subscribers what happened, in the order in which it was written down.
//!
//! What a session says passes its recorder first: an event leaves only when the lines that it reports are in the file.
//! Behind the recorder stands the herald, one task that hands every event to every subscriber. It waits for none of them:
//! what they have not read waits in a [`queue`] of their own.

mod queue;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use pi_transcript::AgentEvent;
use tokio::sync::{Notify, oneshot};

pub(crate) use self::queue::{Brake, Reading, Subscriber, subscription};
pub use self::queue::{Silence, Subscription};
use crate::{
    chute,
    file::{Fault, Report},
};

/// Notices that are kept for the next who listens, while nobody does; older ones give way.
const UNHEARD: usize = 32;

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
    /// Whether nothing reaches the disk now.
    pub(crate) is_failing: AtomicBool,
    /// Rung at every report.
    pub(crate) report: Notify,
}

/// Hands out what the recorder lets pass, until the recorder ends.
pub(crate) async fn run(mut reports: chute::Receiver<Report<Outgoing>>) {
    let mut subscribers: Vec<Subscriber> = Vec::new();
    // Whoever comes later is told as well: a failure is told before the steps of its batch, a subscription among them.
    let mut failing: Option<Arc<AgentEvent>> = None;
    // What is told while nobody listens: while extensions start nobody can yet, and later nobody may be left.
    let mut unheard: VecDeque<Arc<AgentEvent>> = VecDeque::new();
    while let Some(report) = reports.recv().await {
        let outgoing = match report {
            Report::Written { upto: _, then } | Report::Synced { durable: _, then } => then,
            Report::Failed(fault) => {
                tracing::error!(%fault, "a session file is not written any more; what is said holds in memory");
                let event = failed(&fault);
                failing = Some(Arc::new(event.clone()));
                Outgoing::Events(vec![event])
            }
            Report::Recovered => {
                tracing::info!("the session file is written again");
                failing = None;
                Outgoing::Events(vec![AgentEvent::StorageRecovered])
            }
        };
        match outgoing {
            Outgoing::Subscribe(subscriber) => {
                let mut early = failing.clone().into_iter().chain(std::mem::take(&mut unheard));
                if early.all(|event| subscriber.take(&event, event.weight())) {
                    subscribers.push(subscriber);
                }
            }
            // Whoever waited for it may have gone away.
            Outgoing::Written(reply) => drop(reply.send(())),
            Outgoing::Events(events) => {
                for event in events.into_iter().map(Arc::new) {
                    if subscribers.is_empty() && event.is_notice() {
                        if unheard.len() == UNHEARD {
                            unheard.pop_front();
                        }
                        unheard.push_back(Arc::clone(&event));
                    }
                    // Where nobody listens, nobody needs to know what it weighs.
                    let weight = if subscribers.is_empty() { 0 } else { event.weight() };
                    subscribers.retain(|subscriber| subscriber.take(&event, weight));
                }
            }
        }
    }
}

/// Clients are told that the conversation is in memory only.
fn failed(fault: &Fault) -> AgentEvent {
    AgentEvent::StorageFailed { message: fault.to_string() }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use pi_transcript::AssistantMessageEvent;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::{
        queue::{LIMITS, Limits, within},
        *,
    };

    fn written(then: Outgoing) -> Report<Outgoing> {
        Report::Written { upto: 0, then }
    }

    #[tokio::test]
    async fn subscriber_hears_what_comes_after_it() {
        let (outgoing, receiver) = chute::open();
        let (subscriber, mut heard) = subscription(Reading::Joined, &Brake::new());
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::AgentStart])));
        outgoing.send(written(Outgoing::Subscribe(subscriber)));
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::TurnStart])));
        drop(outgoing);
        run(receiver).await;
        assert_eq!(heard.next().await.as_deref(), Ok(&AgentEvent::TurnStart));
        assert_eq!(heard.next().await, Err(Silence::Ended));
    }

    #[tokio::test]
    async fn subscriber_is_told_that_the_disk_fails_already() {
        let (outgoing, receiver) = chute::open();
        let (subscriber, mut heard) = subscription(Reading::Joined, &Brake::new());
        outgoing.send(Report::Failed(Fault::Full));
        outgoing.send(written(Outgoing::Subscribe(subscriber)));
        drop(outgoing);
        run(receiver).await;
        assert_eq!(heard.next().await.as_deref(), Ok(&failed(&Fault::Full)));
        assert_eq!(heard.next().await, Err(Silence::Ended));
    }

    #[tokio::test]
    async fn first_subscriber_is_told_what_nobody_heard() {
        let (outgoing, receiver) = chute::open();
        let notice = |number: usize| {
            let request = json!({ "type": "extension_ui_request", "requestId": number.to_string(), "method": "notify", "message": "m" });
            serde_json::from_value::<AgentEvent>(request).expect("an event")
        };
        let (first, mut heard) = subscription(Reading::Joined, &Brake::new());
        let (second, mut late) = subscription(Reading::Joined, &Brake::new());
        let mut early: Vec<AgentEvent> = (0..UNHEARD + 1).map(notice).collect();
        early.push(AgentEvent::OffersChanged);
        outgoing.send(written(Outgoing::Events(early)));
        outgoing.send(written(Outgoing::Subscribe(first)));
        outgoing.send(written(Outgoing::Subscribe(second)));
        outgoing.send(written(Outgoing::Events(vec![AgentEvent::TurnStart])));
        drop(outgoing);
        run(receiver).await;
        for number in 1..=UNHEARD {
            assert_eq!(heard.next().await.as_deref(), Ok(&notice(number)));
        }
        assert_eq!(heard.next().await.as_deref(), Ok(&AgentEvent::TurnStart));
        assert_eq!(late.next().await.as_deref(), Ok(&AgentEvent::TurnStart));
    }

    fn update(kind: &str, text: &str) -> AgentEvent {
        let step = json!({ "type": kind, "contentIndex": 0, "delta": text });
        let update = json!({ "type": "message_update", "assistantMessageEvent": step });
        serde_json::from_value(update).expect("an event")
    }

    /// Tells `events` to somebody who does not read, and then what it reads.
    async fn read_late(limits: Limits, reading: Reading, events: Vec<AgentEvent>) -> (Vec<AgentEvent>, Silence) {
        let (outgoing, receiver) = chute::open();
        let (subscriber, mut heard) = within(limits, reading, &Brake::new());
        outgoing.send(written(Outgoing::Subscribe(subscriber)));
        outgoing.send(written(Outgoing::Events(events)));
        drop(outgoing);
        run(receiver).await;
        let mut read = Vec::new();
        loop {
            match heard.next().await {
                Ok(event) => read.push(AgentEvent::clone(&event)),
                Err(silence) => return (read, silence),
            }
        }
    }

    const FEW: Limits = Limits { apart: 2, events: 4, bytes: 1 << 20 };

    #[tokio::test]
    async fn slow_reader_gets_the_same_text_in_fewer_pieces() {
        let letters = ["a", "b", "c", "d", "e", "f"];
        let mut events: Vec<AgentEvent> = letters.iter().map(|text| update("text_delta", text)).collect();
        events.extend([update("thinking_delta", "x"), update("thinking_delta", "y"), AgentEvent::TurnStart]);
        let (read, silence) = read_late(FEW, Reading::Joined, events).await;
        let expected = [
            update("text_delta", "a"),
            update("text_delta", "bcdef"),
            update("thinking_delta", "xy"),
            AgentEvent::TurnStart,
        ];
        assert_eq!((read.as_slice(), silence), (expected.as_slice(), Silence::Ended));
    }

    #[tokio::test]
    async fn reader_of_a_hundred_thousand_pieces_loses_no_letter() {
        let events = vec![update("text_delta", "é"); 100_000];
        let (read, silence) = read_late(LIMITS, Reading::Joined, events).await;
        let text: String = read
            .iter()
            .map(|event| match event {
                AgentEvent::MessageUpdate { assistant_message_event, .. } => match &**assistant_message_event {
                    AssistantMessageEvent::TextDelta { delta, .. } => delta.as_str(),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((text, silence), ("é".repeat(100_000), Silence::Ended));
        assert_eq!(read.len(), LIMITS.apart);
    }

    #[tokio::test]
    async fn reader_of_more_than_may_wait_is_told_and_holds_nothing() {
        let events = vec![AgentEvent::TurnStart; 5];
        assert_eq!(read_late(FEW, Reading::Joined, events.clone()).await, (Vec::new(), Silence::Lagged));
        let narrow = Limits { bytes: 1000, ..FEW };
        let long = vec![update("text_delta", &"x".repeat(600)); 2];
        assert_eq!(read_late(narrow, Reading::Joined, long).await, (Vec::new(), Silence::Lagged));
        assert_eq!(read_late(FEW, Reading::InFull, events.clone()).await, (events, Silence::Ended));
    }

    const FOUR: Limits = Limits { apart: 4, ..FEW };

    fn is_held(brake: &Brake) -> bool {
        brake.wait(&CancellationToken::new()).now_or_never().is_none()
    }

    fn tell(subscriber: &Subscriber) {
        assert!(subscriber.take(&Arc::new(AgentEvent::TurnStart), 1), "it is there and keeps up");
    }

    #[tokio::test]
    async fn brake_is_held_from_the_bound_on_until_less_than_half_of_it_waits() {
        let brake = Brake::new();
        let (subscriber, mut heard) = within(FOUR, Reading::InFull, &brake);
        let mut held = Vec::new();
        for _ in 0..4 {
            tell(&subscriber);
            held.push(is_held(&brake));
        }
        assert_eq!(held, [false, false, false, true], "with 1, 2, 3 and 4 that wait");
        held.clear();
        for _ in 0..4 {
            heard.next().await.expect("an event");
            held.push(is_held(&brake));
        }
        assert_eq!(held, [true, true, false, false], "with 3, 2, 1 and none that wait");
    }

    #[tokio::test]
    async fn brake_is_held_until_the_last_one_has_read_or_is_gone() {
        let brake = Brake::new();
        let (quick, mut heard) = within(FOUR, Reading::InFull, &brake);
        let (slow, left) = within(FOUR, Reading::InFull, &brake);
        for _ in 0..4 {
            tell(&quick);
            tell(&slow);
        }
        for _ in 0..4 {
            heard.next().await.expect("an event");
        }
        assert!(is_held(&brake), "the slow one has read nothing");
        drop(left);
        assert!(!is_held(&brake));
        assert!(!slow.take(&Arc::new(AgentEvent::TurnStart), 1), "nobody is there");
    }

    #[tokio::test]
    async fn cancelled_run_does_not_wait_for_readers() {
        let (brake, cancel) = (Brake::new(), CancellationToken::new());
        let (subscriber, _unread) = within(FOUR, Reading::InFull, &brake);
        for _ in 0..4 {
            tell(&subscriber);
        }
        assert_eq!(brake.wait(&cancel).now_or_never(), None);
        cancel.cancel();
        assert_eq!(brake.wait(&cancel).now_or_never(), Some(()));
    }
}
