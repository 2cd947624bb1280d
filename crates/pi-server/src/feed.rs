//! What happened in one session, numbered, as far back as is kept.
//!
//! A session's events get their numbers here, once. Connections do not have queues of events: each remembers the number
//! that it has sent last and takes what follows when its client is ready for more. So a slow client costs nothing but its
//! place, deltas that gathered meanwhile go out as one, and a client that comes back takes up where it was. What no longer
//! fits is dropped from the old end, a good deal later while a client that is there has yet to take it; whoever needed it
//! all the same is told so and gets a snapshot instead.

mod cursor;
mod growing;
mod output;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use pi_session::Attendance;
use pi_transcript::{AgentEvent, Message, RequestId, SessionId, ToolCallId, question::UiRequest};
use pi_wire::{
    event::{SnapshotReason, UpdateForm},
    id::Epoch,
};
use tokio::time::Instant;

pub use self::cursor::Cursor;
use self::growing::Growing;
use crate::outbox::Outbox;

/// Notices that are kept for the next who listens, while nobody does; older ones give way. The session keeps its own until we
/// listen to it.
const UNHEARD: usize = 32;

/// Questions of a session that are known to be settled, for who answers one late; older ones give way.
const SETTLED: usize = 64;

/// A place in a session's numbering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub epoch: Epoch,
    pub seq: u64,
}

/// How a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After this number, which is the last.
    Live(u64),
    /// After this number, and at once up to the last.
    Replay { after: u64, upto: u64 },
    /// After this number, which is the last, and with a snapshot of what came before.
    Snapshot { seq: u64, reason: SnapshotReason },
}

impl Start {
    pub fn seq(self) -> u64 {
        match self {
            Self::Live(seq) | Self::Replay { after: seq, .. } | Self::Snapshot { seq, .. } => seq,
        }
    }
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub events: usize,
    pub bytes: usize,
    /// Bytes that are kept as long as a client that is connected has yet to take them. A few large messages, which no
    /// client takes in a moment.
    pub behind: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { events: 20_000, bytes: 2 << 20, behind: 64 << 20 }
    }
}

/// The events after the number asked for are no longer kept, or belong to a numbering that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("events were missed")]
pub struct TooFarBehind;

/// Some events with their numbers.
type Stretch = Vec<(u64, Arc<AgentEvent>)>;

/// The events of a session.
#[derive(Debug)]
pub struct Feed {
    session: SessionId,
    /// Not a task: readers are many and want only to look, for as long as it takes to clone a few pointers.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    epoch: Epoch,
    limits: Limits,
    kept: VecDeque<Kept>,
    bytes: usize,
    last: u64,
    growing: Growing,
    /// The newest frame of every component that is there, with its number: only that one is kept.
    drawn: Vec<(u64, Arc<AgentEvent>)>,
    /// The number of the newest update of every call that runs: it tells the output so far, so only that one is kept.
    progress: Vec<(ToolCallId, u64)>,
    /// The questions that wait for an answer, with their numbers and since when.
    asked: Vec<(u64, Arc<AgentEvent>, Instant)>,
    /// The questions that were settled last.
    settled: VecDeque<RequestId>,
    /// Notices that nobody was there for, with their numbers.
    unheard: VecDeque<(u64, Arc<AgentEvent>)>,
    /// Where it is told how many listen.
    attendance: Option<Attendance>,
    /// Numbers up to this one are no longer kept.
    forgotten: u64,
    listeners: Vec<Listener>,
}

/// A connection that hears of everything.
#[derive(Debug)]
struct Listener {
    outbox: Arc<Outbox>,
    /// The number up to which it has taken the events.
    taken: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Kept {
    seq: u64,
    event: Arc<AgentEvent>,
    size: usize,
}

impl Feed {
    pub fn new(session: SessionId, epoch: Epoch, limits: Limits) -> Self {
        let state = State {
            epoch,
            limits,
            kept: VecDeque::new(),
            bytes: 0,
            last: 0,
            growing: Growing::default(),
            drawn: Vec::new(),
            progress: Vec::new(),
            asked: Vec::new(),
            settled: VecDeque::new(),
            unheard: VecDeque::new(),
            attendance: None,
            forgotten: 0,
            listeners: Vec::new(),
        };
        Self { session, state: Mutex::new(state) }
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Numbers an event and lets everybody know.
    pub fn publish(&self, event: Arc<AgentEvent>) {
        let mut state = self.state();
        state.last += 1;
        let seq = state.last;
        state.growing.follow(&event);
        state.follow_drawn(seq, &event);
        state.follow_progress(seq, &event);
        state.follow_asked(seq, &event);
        state.keep_unheard(seq, &event);
        let size = event.weight();
        state.bytes += size;
        state.kept.push_back(Kept { seq, event, size });
        state.trim();
        // Under the lock, so that everybody hears of the numbers in their order.
        for listener in &state.listeners {
            listener.outbox.announce(&self.session, seq);
        }
    }

    /// Numbers start anew: events were missed between the session and us.
    pub fn begin_epoch(&self, epoch: Epoch) {
        let mut state = self.state();
        state.epoch = epoch;
        state.kept.clear();
        state.bytes = 0;
        state.last = 0;
        state.forgotten = 0;
        state.growing.end();
        state.drawn.clear();
        state.progress.clear();
        state.asked.clear();
        state.unheard.iter_mut().for_each(|(seq, _)| *seq = 0);
        // Whoever was in the old numbering finds out when he looks.
        for listener in &state.listeners {
            listener.taken.store(0, Ordering::Relaxed);
            listener.outbox.announce(&self.session, 0);
        }
    }

    /// Tells a session, which is in the place of any other from here on, how many clients see what it asks.
    pub fn attend(&self, attendance: Attendance) {
        let mut state = self.state();
        state.attendance = Some(attendance);
        state.tell_attendance();
    }

    /// The number of the newest question that is open.
    pub fn last_asked(&self) -> Option<u64> {
        self.state().asked.last().map(|(seq, ..)| *seq)
    }

    /// Whether this question is open.
    pub fn asks(&self, id: &RequestId) -> bool {
        self.state().asked.iter().any(|(_, asked, _)| is_asked_as(asked, id))
    }

    /// Whether this question was settled lately.
    pub fn has_settled(&self, id: &RequestId) -> bool {
        self.state().settled.contains(id)
    }

    /// Where the numbering is.
    pub fn position(&self) -> Position {
        let state = self.state();
        Position { epoch: state.epoch.clone(), seq: state.last }
    }

    /// Lets a connection know of everything from here on. `after` is what its client saw last.
    pub fn join(
        self: &Arc<Self>,
        listener: Arc<Outbox>,
        after: Option<&Position>,
        form: UpdateForm,
    ) -> (Start, Cursor) {
        let mut state = self.state();
        state.listeners.retain(|known| !known.is(&listener));
        let start = state.start(after);
        if let Start::Replay { after, .. } = start {
            // The rest comes with the events that it missed.
            state.unheard.retain(|(seq, _)| *seq <= after);
        }
        let taken = Arc::new(AtomicU64::new(start.seq()));
        state.listeners.push(Listener { outbox: listener, taken: Arc::clone(&taken) });
        state.tell_attendance();
        let position = Position { epoch: state.epoch.clone(), seq: start.seq() };
        let growing = match form {
            UpdateForm::Deltas => None,
            // Only who begins at the end can be told the whole message; nobody else asks for it.
            UpdateForm::Cumulative => Some(state.growing.clone()),
        };
        drop(state);
        (start, Cursor::new(Arc::clone(self), position, taken, growing))
    }

    /// How a subscription would begin, and where the numbering is.
    pub fn would_start(&self, after: Option<&Position>) -> (Start, Position) {
        let state = self.state();
        (state.start(after), Position { epoch: state.epoch.clone(), seq: state.last })
    }

    pub fn is_heard_by(&self, listener: &Arc<Outbox>) -> bool {
        self.state().listeners.iter().any(|known| known.is(listener))
    }

    pub fn leave(&self, listener: &Arc<Outbox>) {
        let mut state = self.state();
        state.listeners.retain(|known| !known.is(listener));
        state.tell_attendance();
        state.trim();
    }

    /// The session is gone for good: nobody listens to it any more.
    pub fn dismiss(self: &Arc<Self>) {
        let listeners = {
            let mut state = self.state();
            let listeners = std::mem::take(&mut state.listeners);
            state.tell_attendance();
            listeners
        };
        for listener in listeners {
            listener.outbox.end(Arc::clone(self));
        }
    }

    /// What the model is saying right now, and the number of the last piece.
    pub fn growing(&self) -> (u64, Option<Message>) {
        let state = self.state();
        (state.last, state.growing.so_far().cloned())
    }

    /// What still holds of the events up to this number and is told again to whoever comes: the newest frames of all
    /// components, and the questions that are open. Notices that nobody has heard are handed over with them, once. What came
    /// later are events that follow.
    pub(crate) fn take_standing(&self, epoch: &Epoch, upto: u64) -> Vec<Arc<AgentEvent>> {
        let mut state = self.state();
        if *epoch != state.epoch {
            return Vec::new();
        }
        let (unheard, later) = std::mem::take(&mut state.unheard).into_iter().partition(|(seq, _)| *seq <= upto);
        state.unheard = later;
        let unheard: VecDeque<(u64, Arc<AgentEvent>)> = unheard;
        let now = Instant::now();
        let drawn = state.drawn.iter().filter(|(seq, _)| *seq <= upto);
        let told = unheard.iter().chain(drawn).map(|(_, event)| Arc::clone(event));
        let asked = state.asked.iter().filter(|(seq, ..)| *seq <= upto);
        told.chain(asked.map(|(_, event, since)| after(event, now - *since))).collect()
    }

    /// The session has ended, and nobody can answer its questions any more.
    pub fn drop_questions(&self) {
        self.state().asked.clear();
    }

    /// The end of the numbering that counts now, and what the model is saying there, for a listener who was in another one.
    fn renumbered(&self, epoch: &Epoch, taken: &AtomicU64) -> Option<(Position, Growing)> {
        let state = self.state();
        if *epoch == state.epoch {
            return None;
        }
        taken.store(state.last, Ordering::Relaxed);
        Some((Position { epoch: state.epoch.clone(), seq: state.last }, state.growing.clone()))
    }

    /// Takes the events after `after` up to and including `upto`: for the one who had them last they need not be kept.
    fn take(&self, epoch: &Epoch, after: u64, upto: u64, taken: &AtomicU64) -> Result<Stretch, TooFarBehind> {
        let mut state = self.state();
        let events = state.between(epoch, after, upto)?;
        taken.fetch_max(upto, Ordering::Relaxed);
        state.trim();
        Ok(events)
    }

    /// The events after `after` up to and including `upto`.
    fn between(&self, epoch: &Epoch, after: u64, upto: u64) -> Result<Stretch, TooFarBehind> {
        self.state().between(epoch, after, upto)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held left a number without its event at worst.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    fn is(&self, outbox: &Arc<Outbox>) -> bool {
        Arc::ptr_eq(&self.outbox, outbox)
    }
}

impl State {
    fn between(&self, epoch: &Epoch, after: u64, upto: u64) -> Result<Stretch, TooFarBehind> {
        if *epoch != self.epoch || (after + 1 < self.oldest() && after < upto) {
            return Err(TooFarBehind);
        }
        let skipped = self.kept.partition_point(|kept| kept.seq <= after);
        let wanted = self.kept.range(skipped..).take_while(|kept| kept.seq <= upto);
        Ok(wanted.map(|kept| (kept.seq, Arc::clone(&kept.event))).collect())
    }

    /// The number of the oldest event that is kept, or would be if it were not overtaken by a later one.
    fn oldest(&self) -> u64 {
        self.forgotten + 1
    }

    /// Keeps the newest frame of a component, and lets the one before it go: nobody wants to see that any more.
    fn follow_drawn(&mut self, seq: u64, event: &Arc<AgentEvent>) {
        let (id, is_frame) = match &**event {
            AgentEvent::ExtensionUiRender { request_id, .. } => (request_id, true),
            AgentEvent::ExtensionUiResolved { request_id, .. } => (request_id, false),
            _ => return,
        };
        let is_same =
            |known: &AgentEvent| matches!(known, AgentEvent::ExtensionUiRender { request_id, .. } if request_id == id);
        if let Some(place) = self.drawn.iter().position(|(_, known)| is_same(known)) {
            let (before, _) = self.drawn.remove(place);
            self.overtake(before);
        }
        if is_frame {
            self.drawn.push((seq, Arc::clone(event)));
        }
    }

    /// Keeps the newest update of a call, and lets the one before it go: the later one tells all that it does. Without this a
    /// tool that writes much would empty the whole feed, each update being as long as the output.
    fn follow_progress(&mut self, seq: u64, event: &AgentEvent) {
        let (id, is_update) = match event {
            AgentEvent::ToolExecutionUpdate { tool_call_id, .. } => (tool_call_id, true),
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => (tool_call_id, false),
            AgentEvent::AgentStart => return self.progress.clear(),
            _ => return,
        };
        let known = self.progress.iter().position(|(known, _)| known == id);
        let before = known.map(|place| self.progress.swap_remove(place).1);
        if is_update {
            before.into_iter().for_each(|before| self.overtake(before));
            self.progress.push((id.clone(), seq));
        }
    }

    /// Lets an event go that a later one says again, although older ones are kept.
    fn overtake(&mut self, seq: u64) {
        if let Ok(place) = self.kept.binary_search_by_key(&seq, |kept| kept.seq)
            && let Some(gone) = self.kept.remove(place)
        {
            self.bytes -= gone.size;
        }
    }

    fn follow_asked(&mut self, seq: u64, event: &Arc<AgentEvent>) {
        let (id, is_question) = match &**event {
            AgentEvent::ExtensionUiRequest { request_id, request: UiRequest::Question(_), .. } => (request_id, true),
            AgentEvent::ExtensionUiResolved { request_id, .. } => (request_id, false),
            _ => return,
        };
        let before = self.asked.len();
        self.asked.retain(|(_, known, _)| !is_asked_as(known, id));
        if is_question {
            self.asked.push((seq, Arc::clone(event), Instant::now()));
        } else if self.asked.len() < before {
            if self.settled.len() == SETTLED {
                self.settled.pop_front();
            }
            self.settled.push_back(id.clone());
        }
    }

    fn tell_attendance(&self) {
        if let Some(attendance) = &self.attendance {
            attendance.count(self.listeners.len());
        }
    }

    fn keep_unheard(&mut self, seq: u64, event: &Arc<AgentEvent>) {
        if !self.listeners.is_empty() || !event.is_notice() {
            return;
        }
        if self.unheard.len() == UNHEARD {
            self.unheard.pop_front();
        }
        self.unheard.push_back((seq, Arc::clone(event)));
    }

    fn trim(&mut self) {
        let Limits { events, bytes, behind } = self.limits;
        while self.kept.len() > events || self.bytes > bytes {
            if self.bytes <= behind && self.kept.front().is_some_and(|oldest| self.is_awaited(oldest.seq)) {
                break;
            }
            let Some(gone) = self.kept.pop_front() else { break };
            self.bytes -= gone.size;
            self.forgotten = gone.seq;
        }
    }

    /// Whether a client that is there has yet to take the event with this number.
    fn is_awaited(&self, seq: u64) -> bool {
        self.listeners.iter().any(|listener| listener.taken.load(Ordering::Relaxed) < seq)
    }

    fn start(&self, after: Option<&Position>) -> Start {
        let seq = self.last;
        match after {
            None => Start::Live(seq),
            Some(after) if after.epoch != self.epoch => Start::Snapshot { seq, reason: SnapshotReason::EpochChanged },
            Some(after) if after.seq > seq => Start::Snapshot { seq, reason: SnapshotReason::AheadOfEnd },
            Some(after) if after.seq == seq => Start::Live(seq),
            Some(after) if after.seq + 1 >= self.oldest() => Start::Replay { after: after.seq, upto: seq },
            Some(_) => Start::Snapshot { seq, reason: SnapshotReason::TooFarBehind },
        }
    }
}

fn is_asked_as(event: &AgentEvent, id: &RequestId) -> bool {
    matches!(event, AgentEvent::ExtensionUiRequest { request_id, .. } if request_id == id)
}

/// A question as it is some time later: less is left of the time that it names.
fn after(event: &Arc<AgentEvent>, passed: Duration) -> Arc<AgentEvent> {
    if let AgentEvent::ExtensionUiRequest { request_id, asker, request: UiRequest::Question(asked) } = &**event
        && asked.question().timeout().is_some()
    {
        let request = UiRequest::Question(asked.clone().after(passed));
        let (request_id, asker) = (request_id.clone(), asker.clone());
        return Arc::new(AgentEvent::ExtensionUiRequest { request_id, asker, request });
    }
    Arc::clone(event)
}
