//! The guests of one session: what they hear, in the order in which they were attached.
//!
//! Handlers are asked one after the other and each is waited for, as in Pi: what one changed is what the next one hears,
//! and what a session tells its clients it has told its extensions before. A guest that panics, hangs, answers nonsense
//! or does not hear that it is cancelled is reported and costs its own answer; only guards fail closed.

mod answering;
mod asking;
pub(crate) mod excess;
mod faces;
mod oddities;
mod offer;
mod roster;
mod seat;
mod witness;

use std::{
    collections::HashMap,
    fmt,
    pin::pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use pi_extproto::hook::{
    Failure, Hook,
    event::{
        Event,
        payload::{SessionForkEvent, SessionStartEvent, SessionSwitchEvent, StartReason, SwitchReason},
    },
};
use pi_transcript::ToolOutput;

pub use self::{
    answering::Influenced,
    oddities::Oddity,
    offer::{Collision, GuestCommand, GuestProvider, GuestShortcut, GuestTool, Kind},
    roster::Enrolled,
    seat::{AtWork, Busy, Change},
};
use self::{
    excess::Shelf,
    faces::{Faced, Faces},
    oddities::Told,
    seat::{Door, Errand, Seat},
    witness::{Tally, Watch, Witness},
};
use crate::{
    chain::{Chain, Flow},
    dispatcher::House,
    guest::{Ask, Guest, GuestFault, GuestId, Registration, Rendering},
    incident::{During, Incident, Trouble},
    isolation::isolate,
    ledger::Ledger,
    stopwatch::Stopwatch,
    trace::Trace,
    verdict::Verdict,
};

/// A handler that takes longer is named in the log, while it is still waited for.
pub const SLOW: Duration = Duration::from_secs(1);

/// How long guests are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the own work of one handler. Waiting for the host or for a person does not count.
    pub handler: Duration,
    /// Between the signal to stop and being abandoned.
    pub grace: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { handler: Duration::from_secs(10), grace: Duration::from_millis(50) }
    }
}

/// Hears what went wrong, while it goes wrong. It must not wait.
pub type Reporter = Arc<dyn Fn(Incident) + Send + Sync>;

/// The guests of one session, in the order in which they were attached. They may come and go while it runs.
pub struct Guests {
    /// A lock and no task: looked at for every event, held for a copy of a pointer, and changed when somebody switches one.
    guests: RwLock<Arc<[Attached]>>,
    patience: Patience,
    report: Reporter,
    witness: OnceLock<Witness>,
    /// Known once all guests are there.
    house: OnceLock<Weak<House>>,
    /// What was asked of each, by its name and where it was loaded from: one that is switched off and on goes on with it. A lock
    /// and no task: it is held for a look-up.
    tallies: Mutex<HashMap<(GuestId, String), Arc<Tally>>>,
    told: Told,
}

/// A second guest wants to be the one that is already attached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is already an extension {id}")]
pub struct DuplicateGuest {
    pub id: GuestId,
}

impl Guests {
    pub fn new(patience: Patience, report: Reporter) -> Self {
        let (witness, house) = (OnceLock::new(), OnceLock::new());
        let (tallies, told) = (Mutex::default(), Told::default());
        Self { guests: RwLock::default(), patience, report, witness, house, tallies, told }
    }

    /// The same, with a ledger that records what is asked of those who are attached from here on, and with a trace of the
    /// protocol if there is one.
    #[must_use]
    pub fn recorded(self, ledger: Ledger, trace: Option<Trace>) -> Self {
        self.record(ledger, trace);
        self
    }

    /// Records what is asked of those who are attached from here on. Once: a session has one ledger.
    pub fn record(&self, ledger: Ledger, trace: Option<Trace>) {
        let _ = self.witness.set(Witness { ledger, trace });
    }

    /// Nobody: every event proceeds.
    pub fn none() -> Self {
        Self::new(Patience::default(), Arc::new(|_| {}))
    }

    /// Adds a guest; it hears every event after those that are already here.
    pub fn attach(&mut self, guest: Arc<dyn Guest>) -> Result<(), DuplicateGuest> {
        let place = self.attached().iter().map(|attached| attached.place + 1).max().unwrap_or(0);
        self.admit(guest, place)
    }

    /// Adds a guest while the session runs; it hears events after those whose place is not greater. What it offers counts
    /// when the session is told, and it is told nothing of what was before.
    pub fn admit(&self, guest: Arc<dyn Guest>, place: usize) -> Result<(), DuplicateGuest> {
        self.seat(guest, place, Door::Open).map(drop)
    }

    fn seat(&self, guest: Arc<dyn Guest>, place: usize, door: Door) -> Result<Attached, DuplicateGuest> {
        let registration = guest.registration();
        let id = registration.id.clone();
        let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
        if guests.iter().any(|other| other.id() == id) {
            return Err(DuplicateGuest { id });
        }
        let tally = self.tally_of(&id, &registration.path);
        let watch = match self.witness.get() {
            Some(witness) => witness.of(&id, tally),
            None => Watch::unrecorded(tally),
        };
        let (seat, report) = (Seat::new(guest, door), self.report.clone());
        let faces = Arc::default();
        let new = Attached { seat, place, patience: self.patience, report, watch, faces };
        let (before, after): (Vec<_>, Vec<_>) = guests.iter().cloned().partition(|other| other.place <= place);
        *guests = before.into_iter().chain([new.clone()]).chain(after).collect();
        Ok(new)
    }

    fn tally_of(&self, id: &GuestId, path: &str) -> Arc<Tally> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tallies.entry((id.clone(), path.to_owned())).or_default())
    }

    /// How much was asked of a guest, and how long that took; nothing of one that never was here.
    fn tallied(&self, id: &GuestId, path: &str) -> (u64, Duration) {
        let tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.get(&(id.clone(), path.to_owned())).map(|tally| tally.read()).unwrap_or_default()
    }

    /// Gives those who are here the places that `place_of` says; the others keep theirs.
    pub fn arrange(&self, place_of: impl Fn(&GuestId) -> Option<usize>) {
        let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
        let placed = |one: &Attached| Attached { place: place_of(&one.id()).unwrap_or(one.place), ..one.clone() };
        let mut arranged: Vec<Attached> = guests.iter().map(placed).collect();
        arranged.sort_by_key(|one| one.place);
        *guests = arranged.into();
    }

    /// Takes a guest out of the session, tells it that this is the end, and ends it. It is asked nothing from the first
    /// moment on; what it was asked before ends as if it had gone by itself. Answers whether it was here.
    ///
    /// Dropping the future leaves it out all the same.
    pub async fn retire(&self, id: &GuestId) -> bool {
        let retired = {
            let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
            let (retired, others): (Vec<_>, Vec<_>) = guests.iter().cloned().partition(|attached| attached.id() == *id);
            *guests = others.into();
            retired
        };
        self.told.forget(id);
        for attached in &retired {
            attached.dismiss().await;
        }
        !retired.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.attached().is_empty()
    }

    /// What each of them offers now.
    pub fn registrations(&self) -> Vec<Arc<Registration>> {
        self.attached().iter().map(|attached| attached.registration()).collect()
    }

    /// Whether anybody wants to hear it, by this name or by an older one. Ask before an event is made that costs
    /// something to make.
    pub fn listens(&self, hook: Hook) -> bool {
        self.attached().iter().any(|attached| {
            let registration = attached.registration();
            registration
                .hooks
                .iter()
                .any(|(heard, handlers)| *handlers > 0 && (*heard == hook || heard.replaced_by() == Some(hook)))
        })
    }

    /// Whether a guest judges what happens: where it fails, nothing does.
    pub fn guards(&self, id: &GuestId) -> bool {
        let judges = |(hook, handlers): (&Hook, &usize)| *handlers > 0 && hook.family().on_failure() == Failure::Block;
        let attached = self.attached();
        let one = attached.iter().find(|attached| attached.id() == *id);
        one.is_some_and(|attached| attached.registration().hooks.iter().any(judges))
    }

    /// Tells every guest that listens, one after the other, and folds their answers. Those who know the event only by its
    /// older name hear it under that name.
    ///
    /// Once `cancel` is signalled nobody else is asked and the guest that is being asked is waited for no longer than the
    /// grace; what was to be judged by those left out does not happen. Dropping the future abandons the guest at once.
    pub async fn dispatch(&self, event: Event, cancel: &CancellationToken) -> Verdict {
        let older = older(&event);
        let verdict = self.tell(event, cancel).await;
        if let Some(older) = older {
            self.tell(older, cancel).await;
        }
        verdict
    }

    async fn tell(&self, event: Event, cancel: &CancellationToken) -> Verdict {
        let Some(hook) = event.hook() else { return Verdict::Notice };
        let mut chain = Chain::new(hook, event);
        for attached in self.attached().iter() {
            if attached.tell_all(hook, &mut chain, cancel).await == Flow::Break(()) {
                break;
            }
        }
        chain.verdict()
    }

    /// Reports that what a guest answered to an event cannot be used, where only the caller can tell.
    pub fn object(&self, guest: &GuestId, hook: Hook, problem: String) {
        let during = During::Hook { hook, handler: 0 };
        let attached = self.attached();
        if let Some(attached) = attached.iter().find(|attached| attached.id() == *guest) {
            attached.report(&during, &Trouble::Misfit { problem });
        }
    }

    /// What a tool answered, as a model is given it: no more than it can use, with a word about the rest. Answers of guests
    /// are so already; this is for what a guest makes of the answer of another tool.
    pub async fn shorten(&self, output: ToolOutput) -> ToolOutput {
        self.shelf().shorten_output(output).await
    }

    fn shelf(&self) -> Shelf {
        Shelf(self.house.get().cloned().unwrap_or_default())
    }

    /// Ends all guests, side by side, and waits for each no longer than for a handler.
    pub async fn shutdown(&self) {
        join_all(self.attached().iter().map(Attached::end)).await;
    }

    /// Those who are here now. Who goes meanwhile is still in the copy, and answers that it is gone.
    pub(crate) fn attached(&self) -> Arc<[Attached]> {
        Arc::clone(&self.guests.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Guests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.registrations().iter().map(|registration| &registration.id)).finish()
    }
}

/// A guest, and how it is treated.
#[derive(Clone)]
pub(crate) struct Attached {
    seat: Arc<Seat>,
    /// Where it stands among the others.
    place: usize,
    patience: Patience,
    report: Reporter,
    watch: Watch,
    faces: Arc<Faces>,
}

/// A handler that is asked.
struct Asked<'a> {
    guest: &'a dyn Guest,
    id: &'a GuestId,
    hook: Hook,
    handler: usize,
}

impl Attached {
    /// What it offers now.
    fn registration(&self) -> Arc<Registration> {
        self.seat.guest().registration()
    }

    /// The same, with its tools as models are told of them.
    fn faced(&self) -> Faced {
        self.faces.of(self.registration())
    }

    fn id(&self) -> GuestId {
        self.registration().id.clone()
    }

    /// Asks all of its handlers, one after the other. All of them are those of one guest, whoever takes its place meanwhile.
    async fn tell_all(&self, hook: Hook, chain: &mut Chain, cancel: &CancellationToken) -> Flow {
        if !hears(&self.registration(), hook, chain.event()) {
            // Nor is it waited for while it is exchanged: it is as if this had been told a moment before.
            return Flow::Continue(());
        }
        let errand = if matches!(chain.event().as_ref(), Event::Bus(_)) { Errand::Word } else { Errand::Usual };
        let asked = self.seat.call(&self.timed(cancel), errand).await;
        let registration = asked.guest.registration();
        if !hears(&registration, hook, chain.event()) {
            return Flow::Continue(());
        }
        for handler in 0..registration.handlers(hook) {
            let asked = Asked { guest: asked.guest.as_ref(), id: &registration.id, hook, handler };
            if self.tell(asked, chain, cancel).await == Flow::Break(()) {
                return Flow::Break(());
            }
        }
        Flow::Continue(())
    }

    /// Tells it of something that takes no answer.
    async fn hear(&self, event: Event) {
        let Some(hook) = event.hook() else { return };
        let mut chain = Chain::new(hook, event);
        // Nobody comes after it who could be kept from hearing.
        let _ = self.tell_all(hook, &mut chain, &CancellationToken::new()).await;
    }

    /// Ends it, and waits no longer than for a handler.
    async fn end(&self) {
        let ask = self.timed(&CancellationToken::new());
        let ended = self.run(During::Shutdown, ask, |guest, _| guest.shutdown().map(Ok).boxed()).await;
        // What went wrong is reported there; there is nothing else to be done about it.
        drop(ended);
    }

    /// Asks one handler and takes its answer in.
    async fn tell(&self, asked: Asked<'_>, chain: &mut Chain, cancel: &CancellationToken) -> Flow {
        let Asked { guest, id, hook, handler } = asked;
        let during = During::Hook { hook, handler };
        if cancel.is_cancelled() {
            // Open or closed: nobody else is asked.
            let _ = chain.fail(id, "cancelled".to_owned());
            return Flow::Break(());
        }
        let (event, ask) = (chain.event().clone(), self.timed(cancel));
        let watched = self.watch.event(&event, &ask.stopwatch);
        let mut asked = pin!(self.run_with(guest, during.clone(), ask, |guest, ask| guest.handle(handler, event, ask)));
        let answer = tokio::select! {
            biased;
            answer = &mut asked => answer,
            () = sleep(SLOW) => {
                // Whoever wonders what a session waits for finds the name before the patience is over.
                watched.is_slow(SLOW);
                asked.await
            }
        };
        watched.heard(answer.as_ref().err());
        let taken = match answer {
            Ok(outcome) => chain.take(id, outcome).inspect_err(|trouble| self.report(&during, trouble)),
            Err(trouble) => Err(trouble),
        };
        taken.unwrap_or_else(|trouble| chain.fail(id, failure(id, &trouble)))
    }

    /// Asks something of the guest, waits for the answer, and reports how it went wrong.
    async fn run<T>(
        &self,
        during: During,
        ask: Ask,
        call: impl for<'g> FnOnce(&'g dyn Guest, Ask) -> BoxFuture<'g, Result<T, GuestFault>> + Send,
    ) -> Result<T, Trouble> {
        let asked = self.seat.call(&ask, Errand::Usual).await;
        self.run_with(asked.guest.as_ref(), during, ask, call).await
    }

    async fn run_with<T>(
        &self,
        guest: &dyn Guest,
        during: During,
        ask: Ask,
        call: impl for<'g> FnOnce(&'g dyn Guest, Ask) -> BoxFuture<'g, Result<T, GuestFault>> + Send,
    ) -> Result<T, Trouble> {
        // The call is made inside, because it may panic as well as what it returns.
        let work = async { call(guest, ask.clone()).await };
        let result = isolate(&ask, self.patience.grace, work).await;
        if let Err(trouble) = &result {
            self.report(&during, trouble);
        }
        result
    }

    async fn render(&self, rendering: Rendering, cancel: &CancellationToken) -> Option<Vec<String>> {
        let rendered = self.run(During::Rendering, self.timed(cancel), |guest, ask| guest.render(rendering, ask)).await;
        // Reported there, and drawn in the usual way.
        rendered.unwrap_or_default()
    }

    /// Nobody is told that something stopped which was told to, nor of a tool that threw: that is for the model to read. Whoever
    /// typed what cannot be used is told by the answer.
    fn report(&self, during: &During, trouble: &Trouble) {
        match (trouble, during) {
            (Trouble::Fault(GuestFault::Cancelled | GuestFault::Misused { .. }), _)
            | (Trouble::Fault(GuestFault::Threw { .. }), During::Tool { .. }) => return,
            (Trouble::Fault(_), _)
            | (
                Trouble::Panicked { .. }
                | Trouble::Hung { .. }
                | Trouble::Deaf { .. }
                | Trouble::WrongFamily
                | Trouble::Misfit { .. },
                _,
            ) => {}
        }
        self.watch.failed(during, trouble);
        let registration = self.registration();
        (self.report)(Incident {
            guest: registration.id.clone(),
            path: registration.path.clone(),
            during: during.clone(),
            trouble: trouble.clone(),
        });
    }

    /// For work that has to be done within our patience. A guest gets a signal of its own, so that it cannot give it to
    /// the others.
    fn timed(&self, cancel: &CancellationToken) -> Ask {
        Ask { cancel: cancel.child_token(), stopwatch: Stopwatch::new(self.patience.handler) }
    }

    /// For work that may take as long as it wants.
    fn untimed(&self, cancel: &CancellationToken) -> Ask {
        Ask { cancel: cancel.child_token(), stopwatch: Stopwatch::unlimited() }
    }
}

/// Why nothing happens that was for a guest to judge, and what helps where it would fail again.
fn failure(id: &GuestId, trouble: &Trouble) -> String {
    let told = format!("extension {id} failed: {trouble}");
    if matches!(trouble, Trouble::Fault(GuestFault::Gone)) {
        return format!("{told}; /reload starts it anew, and `pi ext disable {id}` goes on without it");
    }
    told
}

/// Whether one listens. What was said on a channel is heard only by those who listen to it.
fn hears(registration: &Registration, hook: Hook, event: &Event) -> bool {
    let is_on_channel =
        if let Event::Bus(event) = event { registration.channels.contains(&event.channel) } else { true };
    is_on_channel && registration.handlers(hook) > 0
}

/// The event that older versions of Pi fired in the place of this one.
fn older(event: &Event) -> Option<Event> {
    let Event::SessionStart(SessionStartEvent { reason, previous_session_file }) = event else { return None };
    let previous_session_file = previous_session_file.clone();
    match reason {
        StartReason::New => {
            Some(Event::SessionSwitch(SessionSwitchEvent { reason: SwitchReason::New, previous_session_file }))
        }
        StartReason::Resume => {
            Some(Event::SessionSwitch(SessionSwitchEvent { reason: SwitchReason::Resume, previous_session_file }))
        }
        StartReason::Fork => Some(Event::SessionFork(SessionForkEvent { previous_session_file })),
        StartReason::Startup | StartReason::Reload => None,
    }
}
