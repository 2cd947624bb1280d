//! Carries what happens in a session to whoever listens, and tells the engine of runs that nobody commanded.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use pi_engine::{SessionName, driver::Mailbox};
use pi_session::{Session, Silence, Subscription};
use pi_transcript::AgentEvent;
use pi_wire::Activity;
use tokio::sync::{Notify, OnceCell};
use tokio_util::sync::CancellationToken;

use super::{Room, epoch};
use crate::{answer::Answer, hall::Job, tally::OpenQuestions};

/// The way to the engine, which is made after the hall that it serves.
pub type Turns = Arc<OnceCell<Mailbox<Job, Answer>>>;

/// How far what happened was carried, for whoever must not answer before it was.
///
/// A channel would do as well; each would be half a kilobyte in every session.
#[derive(Debug)]
pub(super) struct Tide {
    /// Not a task: looked at and changed in passing, and never held.
    level: Mutex<Level>,
    /// Wakes who carries.
    asked: Notify,
    /// Wakes who waits.
    reached: Notify,
}

#[derive(Debug, Default)]
struct Level {
    /// Counts those who asked.
    asked: u64,
    /// Up to which of them everything is carried that had happened when they asked; nothing while nobody carries.
    reached: Option<u64>,
}

impl Tide {
    pub(super) fn new() -> Self {
        Self { level: Mutex::default(), asked: Notify::new(), reached: Notify::new() }
    }

    /// Waits until everything that has happened so far is on its way to whoever listens. Safe to drop.
    pub(super) async fn caught_up(&self) {
        let number = {
            let mut level = self.level();
            level.asked += 1;
            level.asked
        };
        self.asked.notify_one();
        loop {
            let mut moved = pin!(self.reached.notified());
            // Before the look, so that nothing is missed between the two.
            moved.as_mut().enable();
            if self.level().reached.is_none_or(|reached| reached >= number) {
                return;
            }
            moved.await;
        }
    }

    /// Waits until somebody asks.
    async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Everything that had happened is carried.
    fn reach(&self) {
        let mut level = self.level();
        level.reached = Some(level.asked);
        drop(level);
        self.reached.notify_waiters();
    }

    /// Nobody carries any more.
    fn end(&self) {
        self.level().reached = None;
        self.reached.notify_waiters();
    }

    fn level(&self) -> MutexGuard<'_, Level> {
        // Nothing in here can panic half-way.
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session, and what happens in it.
pub(super) struct Source {
    pub(super) session: Session,
    pub(super) subscription: Subscription,
    /// Signalled when another session is in its place.
    pub(super) left: CancellationToken,
}

/// Begins to listen. Ends with the session, or when another one is in its place.
pub(super) fn start(room: Arc<Room>, source: Source, turns: Turns) {
    // Its owner is the session: when that ends, there is nothing more to carry.
    tokio::spawn(carry(room, source, turns));
}

async fn carry(room: Arc<Room>, source: Source, turns: Turns) {
    let Source { session, mut subscription, left } = source;
    let (mut taken, mut open) = (None, OpenQuestions::default());
    let questions = Arc::clone(&room.ties.questions);
    room.tide.reach();
    loop {
        let heard = tokio::select! {
            // Whoever asks is told when nothing more waits.
            biased;
            () = left.cancelled() => break,
            heard = subscription.next() => heard,
            () = room.tide.asked() => {
                room.tide.reach();
                continue;
            }
        };
        match heard {
            Ok(event) => {
                questions.follow(&mut open, &event);
                if is_new_offer(&event) {
                    Box::pin(room.learn_commands(&session)).await;
                }
                follow(&room, &event, &mut taken, &turns).await;
                let asks = matches!(*event, AgentEvent::ExtensionUiRequest { .. });
                room.feed.publish(event);
                if asks {
                    // Whoever waits for a question looks.
                    room.flight.wake();
                }
            }
            Err(Silence::Ended) => break,
            Err(Silence::Lagged) => match Box::pin(begin_anew(&room, &session)).await {
                Some(anew) => {
                    subscription = anew;
                    let found = Box::pin(session.open_questions()).await.unwrap_or_default();
                    questions.find(&mut open, found.into_iter().map(|question| question.id));
                }
                None => break,
            },
        }
    }
    // What another session says in the room is not ours to end.
    if !left.is_cancelled() {
        room.tide.end();
        room.feed.drop_questions();
        room.storage_is(None);
    }
    // What was still open went with the session.
    questions.find(&mut open, []);
    if let Some(begun) = taken {
        Box::pin(release(&room, begun, &turns)).await;
    }
}

/// Who began a run that no command waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// A message of a client, whose command has moved the version.
    ByMessage,
    ByItself,
}

/// Listens once more, to somebody who has missed events; nothing if the session has ended.
async fn begin_anew(room: &Room, session: &Session) -> Option<Subscription> {
    tracing::warn!(session = %room.id, "events of a session were missed; its numbers begin anew");
    let (state, anew) = session.subscribe().await.ok()?;
    room.feed.begin_epoch(epoch());
    for frame in session.open_drawings().await.unwrap_or_default() {
        room.feed.publish(Arc::new(frame));
    }
    for question in session.open_questions().await.unwrap_or_default() {
        room.feed.publish(Arc::new(question.to_event()));
    }
    if !state.is_failing {
        // Otherwise it is told once more.
        room.storage_is(None);
    }
    room.forget_info();
    room.flight.set(if state.is_running { Activity::Running } else { Activity::Idle });
    Some(anew)
}

/// Whether extensions came, went, or offer something else.
fn is_new_offer(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::OffersChanged)
}

/// What an event says about the session as a whole. What is rarely waited for is apart: every session has a task that
/// could wait for it, and mostly waits for the next event.
async fn follow(room: &Arc<Room>, event: &AgentEvent, taken: &mut Option<Begun>, turns: &Turns) {
    match event {
        AgentEvent::AgentStart => {
            room.forget_info();
            // Before anybody hears that it runs: the command is over then.
            let is_joined = room.joining.load(Ordering::SeqCst) > 0;
            if room.flight.set(Activity::Running) == Activity::Idle
                && room.commanded.load(Ordering::SeqCst) == 0
                && let Some(engine) = turns.get()
            {
                // An engine that has ended needs no turns.
                let begun = if is_joined { Begun::ByMessage } else { Begun::ByItself };
                *taken = Box::pin(engine.turn_taken(name(room))).await.ok().map(|()| begun);
            }
        }
        AgentEvent::AgentSettled { .. } => {
            room.flight.set(Activity::Idle);
            room.forget_info();
            if let Some(begun) = taken.take() {
                Box::pin(release(room, begun, turns)).await;
            }
        }
        AgentEvent::StorageFailed { message } => room.storage_is(Some(message)),
        AgentEvent::StorageRecovered => room.storage_is(None),
        AgentEvent::MessageEnd { .. }
        | AgentEvent::AutoCompactionEnd { .. }
        | AgentEvent::EntryAppended { .. }
        | AgentEvent::SessionInfoChanged { .. }
        | AgentEvent::SessionTree { .. }
        | AgentEvent::ThinkingLevelChanged { .. } => room.forget_info(),
        AgentEvent::AgentEnd { .. }
        | AgentEvent::TurnStart
        | AgentEvent::TurnEnd { .. }
        | AgentEvent::MessageStart { .. }
        | AgentEvent::MessageUpdate { .. }
        | AgentEvent::ToolExecutionStart { .. }
        | AgentEvent::ToolExecutionUpdate { .. }
        | AgentEvent::ToolExecutionEnd { .. }
        | AgentEvent::AutoCompactionStart { .. }
        | AgentEvent::AutoRetryStart { .. }
        | AgentEvent::AutoRetryEnd { .. }
        | AgentEvent::QueueUpdate { .. }
        | AgentEvent::BashExecutionUpdate { .. }
        | AgentEvent::ExtensionError { .. }
        | AgentEvent::ExtensionUiRequest { .. }
        | AgentEvent::ExtensionUiRender { .. }
        | AgentEvent::ExtensionUiResolved { .. }
        | AgentEvent::InputNotice { .. }
        | AgentEvent::Guardrail { .. }
        | AgentEvent::MessagesUnsaid { .. }
        | AgentEvent::OffersChanged
        | AgentEvent::Other(_) => {}
    }
}

/// A run that no command waited for is over. One that nobody commanded changed the session, and nobody has counted that.
async fn release(room: &Room, begun: Begun, turns: &Turns) {
    let Some(engine) = turns.get() else { return };
    let counted = match begun {
        Begun::ByMessage => Ok(()),
        Begun::ByItself => engine.changed(name(room)).await,
    };
    if counted.is_err() || engine.turn_released(name(room)).await.is_err() {
        tracing::debug!(session = %room.id, "the engine ended before a run did");
    }
}

fn name(room: &Room) -> SessionName {
    SessionName::from(room.id.as_str())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn who_asks_waits_until_what_had_happened_is_carried() {
        let tide = Tide::new();
        assert!(tide.caught_up().now_or_never().is_some(), "nobody carries");
        tide.reach();
        let (mut one, mut other) = (Box::pin(tide.caught_up()), Box::pin(tide.caught_up()));
        assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
        // Somebody asked before it was waited for.
        tide.asked().await;
        tide.reach();
        assert!((&mut one).now_or_never().is_some() && (&mut other).now_or_never().is_some());
        let mut late = Box::pin(tide.caught_up());
        assert!((&mut late).now_or_never().is_none());
        tide.end();
        assert!((&mut late).now_or_never().is_some(), "nobody carries any more");
    }
}
