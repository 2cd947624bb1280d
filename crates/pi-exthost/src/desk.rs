//! A guest's counter at its host: its identity is inside, and every effect goes through it.
//!
//! [`Desk::call`] is the one way: derive what is needed, compare it with what was claimed, decide, do, record. The JSON form
//! is [`Desk::exchange`]; streams are [`Desk::open`]. A guest cannot say who it is: it gets the desk that knows.

mod answering;
mod authority;
mod difference;
mod feed;
mod figures;
mod flow;
mod haul;
mod held;
mod inquiry;
mod load;
mod output;
mod picture;
mod record;
mod tracing;
mod welcome;

use std::{
    borrow::Borrow,
    collections::{BTreeSet, HashMap},
    fmt,
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    sync::{Semaphore, mpsc},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use pi_extproto::{
    Object,
    capability::{Capability, Method, derive},
    connector::Call,
    host::{CheckedCall, ErrorCode, HostCall, HostError, HostResult},
    log::{self, ledger::Start},
    message::Payload,
};
use pi_policy::{Action, Extension, PathFault, Places, Root, Subject, Target};
use pi_tools::Workspace;
use pi_transcript::{ToolCallId, ToolOutput};

pub(crate) use self::feed::{Dry, Pieces, Signals, Sluice};
pub(crate) use self::figures::Counters;
pub(crate) use self::haul::Haul;
pub(crate) use self::welcome::Turn;
pub use self::{
    feed::{Feed, Intake, Reins, Results},
    figures::Figures,
    haul::Hauled,
    held::{Held, Pipes},
    inquiry::Inquiry,
    load::Weighed,
    output::Output,
};
use self::{
    haul::Untaken,
    load::{Load, Pending, TooMuch},
    record::Record,
    welcome::Welcome,
};
pub use crate::ledger::Occasion;
use crate::{
    connector::{self, http},
    consent::asking::Gates,
    dispatcher::{House, NoDesk},
    guest::{GuestId, Introduction},
    launcher::Identity,
    ledger::{
        CallNote, Pace, Pen,
        flood::{Flood, Passage},
    },
    port::{Canvas, ControlPass, Conversation, Drawing},
    servers::ToolServer,
    stopwatch::Stopwatch,
};

/// Files that one guest reads at the same time.
const READERS: usize = 2;

/// Notices that a person is shown of one guest: nobody reads more.
const NOTICES: Pace = Pace { most: 50, span: Duration::from_secs(10) };

/// One guest's counter at its host. Clones are the same.
#[derive(Clone)]
pub struct Desk {
    pub(crate) inner: Arc<Inner>,
}

/// Under which conditions something is asked.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Signalled any number of times; the call ends soon after the first.
    pub cancel: CancellationToken,
    /// Of the call as a whole; where its parameters have one of their own, the smaller one counts.
    pub timeout: Option<Duration>,
    /// Stands still while the host works.
    pub stopwatch: Option<Stopwatch>,
    pub occasion: Occasion,
    /// What a command got, and nothing else has: the right to leave the session.
    pub control: Option<ControlPass>,
}

impl Terms {
    /// Without limits, for something that goes on by itself.
    pub fn background() -> Self {
        Self {
            cancel: CancellationToken::new(),
            timeout: None,
            stopwatch: None,
            occasion: Occasion::Background,
            control: None,
        }
    }
}

pub(crate) struct Inner {
    pub(crate) house: Arc<House>,
    pub(crate) identity: Identity,
    /// Who it is by its manifest, and once it has said what it needs.
    subject: Subject,
    held: OnceLock<Subject>,
    pub(crate) places: Places,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) conversation: Conversation,
    pub(crate) pen: Pen,
    pub(crate) counters: Arc<Counters>,
    pub(crate) gates: Gates,
    pub(crate) clients: http::Clients,
    /// Denials that a person has been told of: their targets, by kind.
    told: Mutex<HashMap<String, BTreeSet<String>>>,
    /// What a person was shown of it lately.
    notices: Mutex<Flood>,
    /// How a person took what it asked.
    welcome: Mutex<Welcome>,
    /// What it asked for lately.
    flow: Mutex<Flood>,
    slots: Semaphore,
    waiting: AtomicUsize,
    pending: Pending,
    untaken: Untaken,
    /// Files that are read at the same time: how long one is, is known when it is read.
    pub(crate) reading: Semaphore,
    calls: AtomicU64,
    // Locks and no tasks, all of them: each is held for a look-up.
    cancels: Mutex<HashMap<String, CancellationToken>>,
    channels: Mutex<BTreeSet<String>>,
    running: Mutex<HashMap<ToolCallId, mpsc::Sender<ToolOutput>>>,
}

/// A tool call that was handed to the guest and may send news. It may not any more when this is dropped.
#[must_use = "news are refused as soon as this is dropped"]
pub struct Hosting {
    desk: Desk,
    call: ToolCallId,
}

impl Desk {
    pub(crate) fn new(house: Arc<House>, identity: Identity) -> Result<Self, NoDesk> {
        let fittings = &house.fittings;
        let bad = |folder: &Path| {
            let folder = folder.to_owned();
            move |fault| NoDesk::Folder { folder, fault }
        };
        let places = fittings.folders.places().map_err(bad(&fittings.folders.project))?;
        let mut places = places.for_extension().called(identity.id.as_str());
        let own = identity.own.folders.iter().map(|folder| (Root::Own, folder));
        // An extension that lies in the project may do there what it may do in any project.
        let own = own.filter(|(_, folder)| !is_same(folder, &fittings.folders.project));
        let kept = [(Root::Data, &identity.data), (Root::Temporary, &identity.temporary)];
        // A folder that the project lies in stays what it is: all of the project would be others'.
        let others = fittings.folders.kept.iter().filter(|folder| !is_around(folder, &fittings.folders.project));
        let others = others.map(|folder| (Root::Others, folder));
        let real = |path: &Path| pi_tools::files::real_text(path).ok_or(PathFault::NotAbsolute);
        for (root, folder) in own.chain(kept).chain(others) {
            places = real(folder).and_then(|real| places.with(root, &real)).map_err(bad(folder))?;
        }
        for file in identity.own.files.iter().chain(&fittings.folders.session) {
            places = real(file).and_then(|real| places.with_own_file(&real)).map_err(bad(file))?;
        }
        let extension = known(&identity);
        let workspace = Workspace::new(places.clone(), fittings.tooling.clone(), Arc::clone(&fittings.queue));
        let inner = Inner {
            conversation: Conversation::new(Arc::clone(&fittings.port), identity.id.clone()),
            pen: Pen::new(fittings.ledger.clone(), identity.id.clone(), identity.artifact.clone()),
            subject: Subject::Extension(Arc::new(extension)),
            held: OnceLock::new(),
            places,
            workspace: Arc::new(workspace),
            counters: house.counters_of(&identity),
            gates: Gates::default(),
            clients: http::Clients::default(),
            told: Mutex::default(),
            notices: Mutex::new(Flood::new(NOTICES, (fittings.now)())),
            welcome: Mutex::default(),
            flow: Mutex::new(Flood::new(fittings.limits.calls, (fittings.now)())),
            slots: Semaphore::new(fittings.limits.in_flight),
            waiting: AtomicUsize::new(0),
            pending: Pending::default(),
            untaken: Untaken::default(),
            reading: Semaphore::new(READERS),
            calls: AtomicU64::new(0),
            cancels: Mutex::default(),
            channels: Mutex::default(),
            running: Mutex::default(),
            identity,
            house,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub fn guest(&self) -> &GuestId {
        &self.inner.identity.id
    }

    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// The log of the guest: registrations, tool calls, events, warnings.
    pub fn events(&self) -> &Pen {
        &self.inner.pen
    }

    /// What the guest has asked for so far.
    pub fn figures(&self) -> Figures {
        self.inner.counters.read()
    }

    /// The channels that the guest subscribed to by host calls, if they are others than these; its registration names them.
    pub fn channels_unless(&self, known: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let channels = lock(&self.inner.channels);
        (*channels != *known).then(|| channels.clone())
    }

    /// Asks the host to do something. One start and one end record, whatever happens, also when the future is dropped:
    /// then the work is stopped.
    pub async fn call(&self, call: Call, terms: impl Borrow<Terms>) -> Result<Output, HostError> {
        self.call_weighed(self.weigh(call), terms).await.map(|hauled| hauled.output)
    }

    /// Counts the bytes of a call, now. For whoever hands calls to a task: they must count before the task begins.
    pub fn weigh(&self, call: Call) -> Weighed {
        Weighed(self.load(&call).map(|load| (call, load)))
    }

    /// The same as [`Desk::call`]. The bytes of the result count until it is dropped, so keep it until the guest has it.
    pub async fn call_weighed(&self, weighed: Weighed, terms: impl Borrow<Terms>) -> Result<Hauled, HostError> {
        let terms: &Terms = terms.borrow();
        match weighed.0 {
            Ok((call, load)) => {
                let checked = CheckedCall::native(self.next_id(), call, terms.timeout.map(crate::ledger::millis));
                self.perform(checked, load, terms).await
            }
            Err(too_much) => Err(self.turn_away(*too_much, terms).await),
        }
    }

    /// The same in the JSON form of the protocol: for traces, tests and tiers that have no other.
    pub async fn exchange(&self, call: HostCall, terms: Terms) -> HostResult {
        let call_id = call.call_id.clone();
        let checked = match call.check() {
            Ok(checked) => checked,
            Err(bad) => return HostResult::failure(call_id, self.refuse(&call, &HostError::from(&bad), &terms).await),
        };
        let load = match self.load(checked.call()) {
            Ok(load) => load,
            Err(too_much) => return HostResult::failure(call_id, self.turn_away(*too_much, &terms).await),
        };
        let terms = self.cancellable(&checked, within(&call, terms));
        let result = self.perform(checked, load, &terms).await;
        match result {
            Ok(hauled) => HostResult::success(call_id, hauled.output.to_object()),
            Err(error) => HostResult::failure(call_id, error),
        }
    }

    /// The same for a process or a request whose output is wanted while it comes. The reader's pace is the sender's: what
    /// is not taken is not produced. Dropping the feed stops the work.
    pub fn open(&self, call: Call, terms: Terms) -> Feed {
        let weighed = self.weigh_natively(call, &terms);
        Feed::start(self.clone(), weighed, terms)
    }

    /// The same for a process that is written to while it runs. What is written is a part of this one call: it is counted, and
    /// neither decided nor recorded again.
    pub fn open_to_write(&self, call: Call, terms: Terms) -> (Feed, Intake) {
        let weighed = self.weigh_natively(call, &terms);
        Feed::start_to_write(self.clone(), weighed, terms)
    }

    fn weigh_natively(&self, call: Call, terms: &Terms) -> Result<(CheckedCall, Load), Box<TooMuch>> {
        self.weigh(call).0.map(|(call, load)| {
            let timeout = terms.timeout.map(crate::ledger::millis);
            (CheckedCall::native(self.next_id(), call, timeout), load)
        })
    }

    /// The same in the JSON form of the protocol: as many results as there are pieces, for a call that wants a stream, and
    /// one for any other.
    pub async fn exchange_in_pieces(&self, call: HostCall, terms: Terms) -> Results {
        match call.check() {
            Ok(checked) if wants_stream(checked.call()) => {
                let call_id = call.call_id.clone();
                let terms = self.cancellable(&checked, within(&call, terms));
                let load = self.load(checked.call());
                Results::of(Feed::start(self.clone(), load.map(|load| (checked, load)), terms), call_id)
            }
            Ok(_) | Err(_) => Results::one(self.exchange(call, terms).await),
        }
    }

    /// The session that a call is about: its own, or the one that the command which makes it has gone on to.
    pub(crate) fn conversation(&self, terms: &Terms) -> Conversation {
        match terms.control.as_ref().and_then(ControlPass::successor) {
            Some(port) => Conversation::new(port, self.inner.identity.id.clone()),
            None => self.inner.conversation.clone(),
        }
    }

    /// Room to draw in, recorded as a call of `ui`; nothing where nobody could see it.
    pub async fn draw(&self, drawing: Drawing, terms: Terms) -> Result<Option<Canvas>, HostError> {
        let params =
            Object::from_iter([("op".to_owned(), json!("draw")), ("place".to_owned(), json!(format!("{drawing:?}")))]);
        let start = Start {
            capability: Capability::Ui,
            method: Method::Ui,
            params_hash: log::params_hash(&Method::Ui, &params),
            target: Some("draw".to_owned()),
            timeout_ms: terms.timeout.map(crate::ledger::millis),
        };
        let action = self.action(Capability::Ui, Method::Ui, Target::Nothing);
        let work = async {
            self.authorize(action, &terms).await?;
            self.conversation(&terms).draw(drawing).await.map_err(|refusal| connector::refused(&refusal))
        };
        self.run(self.next_id(), start, &terms, OwnEnd::None, work).await
    }

    /// Lets everybody in the session who may reach a server under this name, as long as somebody owns it.
    pub fn serve(&self, name: &str, server: &Arc<dyn ToolServer>) {
        self.inner.house.servers.add(name, server);
    }

    /// Cancels the call that named this token. Any number of times, also when it is over.
    pub fn cancel(&self, token: &str) {
        if let Some(cancel) = lock(&self.inner.cancels).get(token) {
            cancel.cancel();
        }
    }

    /// Lets the guest send news about a tool call, as long as the result lives.
    pub fn host_tool_call(&self, call: ToolCallId, updates: mpsc::Sender<ToolOutput>) -> Hosting {
        lock(&self.inner.running).insert(call.clone(), updates);
        Hosting { desk: self.clone(), call }
    }

    async fn perform(&self, checked: CheckedCall, load: Load, terms: &Terms) -> Result<Hauled, HostError> {
        let (id, start) = (checked.call_id().to_owned(), Start::new(&checked));
        let own_end = OwnEnd::of(checked.call());
        self.trace_call(&checked);
        self.inner.counters.sent(load.bytes as u64);
        let haul = self.inner.untaken.begin(self.inner.house.fittings.limits.untaken_bytes);
        let work = connector::execute(self, checked, &haul, terms);
        let result = self.run(id.clone(), start, terms, own_end, work).await;
        drop(load);
        if let Ok(output) = &result {
            self.inner.counters.received(output.bytes());
        }
        self.trace_result(&id, &result);
        result.map(|output| Hauled { output, _haul: haul })
    }

    /// Runs work between its two records, within its time and unless it is cancelled.
    pub(crate) async fn run<T>(
        &self,
        id: String,
        start: Start,
        terms: &Terms,
        own_end: OwnEnd,
        work: impl Future<Output = Result<T, HostError>>,
    ) -> Result<T, HostError> {
        let _pause = terms.stopwatch.as_ref().map(Stopwatch::pause);
        let own = start.timeout_ms.filter(|_| own_end == OwnEnd::None).map(Duration::from_millis);
        let deadline = [terms.timeout, own].into_iter().flatten().min();
        let record = self.record(id, start, &terms.occasion).await?;
        if own_end != OwnEnd::TimeAndCancel && terms.cancel.is_cancelled() {
            let error = connector::cancelled();
            record.end(Some(error.code));
            return Err(error);
        }
        let cancelled = async {
            match own_end {
                OwnEnd::TimeAndCancel => std::future::pending().await,
                OwnEnd::None | OwnEnd::Time => terms.cancel.cancelled().await,
            }
        };
        let late = async {
            match deadline {
                Some(deadline) => sleep(deadline).await,
                None => std::future::pending().await,
            }
        };
        let result = tokio::select! {
            biased;
            () = late => Err(HostError::new(ErrorCode::Timeout, "the deadline passed")),
            // Most work is done at once, and then nobody has to wait in line for the signal.
            result = self.in_turn(work) => result,
            () = cancelled => Err(connector::cancelled()),
        };
        record.end(result.as_ref().err().map(|error| error.code));
        result
    }

    /// Waits for a place among the calls that are at work.
    async fn in_turn<T>(&self, work: impl Future<Output = Result<T, HostError>>) -> Result<T, HostError> {
        let limits = &self.inner.house.fittings.limits;
        let slot = match self.inner.slots.try_acquire() {
            Ok(slot) => slot,
            Err(_) => {
                let _queued = Queued::join(&self.inner.waiting, limits.waiting).ok_or_else(|| {
                    let message = format!(
                        "more than {} calls of this extension are at work and {} wait; await some of them first",
                        limits.in_flight, limits.waiting
                    );
                    HostError { retryable: Some(true), ..HostError::new(ErrorCode::InvalidRequest, message) }
                })?;
                self.inner
                    .slots
                    .acquire()
                    .await
                    .map_err(|_| HostError::new(ErrorCode::Internal, "the desk is closed"))?
            }
        };
        let result = work.await;
        drop(slot);
        result
    }

    async fn record(&self, id: String, start: Start, occasion: &Occasion) -> Result<Record, HostError> {
        self.keep_pace().await?;
        let admission = self.inner.pen.ledger().admit().await.map_err(|fault| {
            let message = format!("{fault}; calls are refused until it can be");
            HostError { retryable: Some(true), ..HostError::new(ErrorCode::Internal, message) }
        })?;
        Ok(Record::begin(self.clone(), admission, CallNote { id, start, occasion: occasion.clone() }))
    }

    /// Records a call that is refused before anybody is asked.
    async fn refuse(&self, call: &HostCall, error: &HostError, terms: &Terms) -> HostError {
        let needed = derive(&call.method, &call.params).unwrap_or_else(|_| call.capability.clone());
        let start = Start {
            capability: needed,
            method: call.method.clone(),
            params_hash: log::params_hash(&call.method, &call.params),
            // Nobody understands what it names.
            target: None,
            timeout_ms: None,
        };
        if let Some(trace) = &self.inner.house.fittings.trace {
            trace.write(&call.call_id, Payload::HostCall(call.clone()));
        }
        let refused = async { Err::<(), HostError>(error.clone()) };
        let result = self.run(call.call_id.clone(), start, terms, OwnEnd::None, refused).await;
        let error = result.err().unwrap_or_else(|| error.clone());
        self.trace_result(&call.call_id, &Err(error.clone()));
        error
    }

    /// Room for the parameters of a call, or why there is none.
    fn load(&self, call: &Call) -> Result<Load, Box<TooMuch>> {
        let (limits, size) = (&self.inner.house.fittings.limits, connector::weigh(call));
        let error = if size > limits.params_bytes {
            let limit = limits.params_bytes;
            let message = format!("the parameters have {size} bytes, and {limit} is the limit; pass them in parts");
            HostError::new(ErrorCode::InvalidRequest, message)
        } else {
            match self.inner.pending.take(size, limits.pending_bytes) {
                Some(load) => return Ok(load),
                None => {
                    let message = format!(
                        "the calls of this extension that are under way have more than {} bytes of parameters with this \
                         one; await some of them first",
                        limits.pending_bytes
                    );
                    HostError { retryable: Some(true), ..HostError::new(ErrorCode::InvalidRequest, message) }
                }
            }
        };
        // Without its bulk: nobody hashes what is refused for its size.
        let params = Object::from_iter([("bytes".to_owned(), json!(size))]);
        let start = Start {
            capability: connector::needed(call),
            method: call.method(),
            params_hash: log::params_hash(&call.method(), &params),
            target: log::target(call, &params),
            timeout_ms: None,
        };
        Err(Box::new(TooMuch { start, error }))
    }

    /// Records a call that is refused for its size. It does not wait for its turn: there is nothing to do.
    async fn turn_away(&self, too_much: TooMuch, terms: &Terms) -> HostError {
        let TooMuch { start, error } = too_much;
        match self.record(self.next_id(), start, &terms.occasion).await {
            Ok(record) => {
                record.end(Some(error.code));
                error
            }
            Err(unrecorded) => unrecorded,
        }
    }

    /// Gives the call a token of its own that others know by name.
    fn cancellable(&self, call: &CheckedCall, terms: Terms) -> Terms {
        let Some(name) = call.cancel_token() else { return terms };
        let cancel = terms.cancel.child_token();
        let mut cancels = lock(&self.inner.cancels);
        // Those that were cancelled are forgotten here: nothing can be done with them any more.
        cancels.retain(|_, known| !known.is_cancelled());
        cancels.insert(name.to_owned(), cancel.clone());
        Terms { cancel, ..terms }
    }

    pub(crate) fn next_id(&self) -> String {
        format!("h{}", self.inner.calls.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn action(&self, capability: Capability, method: Method, target: Target) -> Action {
        Action { subject: self.subject().clone(), capability, method, target }
    }

    /// Whoever policy judges.
    pub(crate) fn subject(&self) -> &Subject {
        self.inner.held.get().unwrap_or(&self.inner.subject)
    }

    /// Holds the guest to what it said that it needs. The first time counts: what it says later, in another instance, is not
    /// what it was let in with.
    pub fn hold_to(&self, said: &Introduction) {
        let Inner { identity, held, .. } = &*self.inner;
        held.get_or_init(|| Subject::Extension(Arc::new(known(identity).held_to(&said.declared()))));
    }

    pub(crate) fn subscribe(&self, channel: String) -> bool {
        lock(&self.inner.channels).insert(channel)
    }

    pub(crate) fn unsubscribe(&self, channel: &str) -> bool {
        lock(&self.inner.channels).remove(channel)
    }

    /// Where news of a tool call go that the guest runs.
    pub(crate) fn updates_of(&self, call: &ToolCallId) -> Option<mpsc::Sender<ToolOutput>> {
        lock(&self.inner.running).get(call).cloned()
    }

    /// What becomes of one more notice.
    pub(crate) fn count_notice(&self) -> Passage {
        lock(&self.inner.notices).next((self.inner.house.fittings.now)())
    }
}

/// A guest as its manifest describes it.
fn known(identity: &Identity) -> Extension {
    let Identity { id, version, provenance, declared, origins, .. } = identity;
    Extension::new(id.as_str(), version, *provenance, declared).coming_from(origins.clone())
}

/// The same terms within the time of the call as a whole; that of its parameters may be the connector's to keep.
fn within(call: &HostCall, terms: Terms) -> Terms {
    let allowed = call.timeout_ms.as_ref().map(|timeout| Duration::from_millis(timeout.get()));
    let timeout = [terms.timeout, allowed].into_iter().flatten().min();
    Terms { timeout, ..terms }
}

fn wants_stream(call: &Call) -> bool {
    match call {
        Call::Exec(command) => command.stream,
        Call::Http(request) => request.stream,
        Call::Tool(_)
        | Call::Fs(_)
        | Call::Session(_)
        | Call::Ui(_)
        | Call::Events(_)
        | Call::Env(_)
        | Call::Credentials(_)
        | Call::Log(_)
        | Call::Mcp(_)
        | Call::Other(_) => false,
    }
}

/// What work sees to itself of how it may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnEnd {
    None,
    /// The time in its parameters: who was asked is told that it is over.
    Time,
    /// That, and being cancelled: a process is ended in order.
    TimeAndCancel,
}

impl OwnEnd {
    pub(crate) fn of(call: &Call) -> Self {
        match call {
            Call::Exec(_) => Self::TimeAndCancel,
            Call::Ui(_) => Self::Time,
            Call::Tool(_)
            | Call::Fs(_)
            | Call::Http(_)
            | Call::Session(_)
            | Call::Events(_)
            | Call::Env(_)
            | Call::Credentials(_)
            | Call::Log(_)
            | Call::Mcp(_)
            | Call::Other(_) => Self::None,
        }
    }
}

/// One call in the queue.
struct Queued<'a>(&'a AtomicUsize);

impl<'a> Queued<'a> {
    fn join(queue: &'a AtomicUsize, most: usize) -> Option<Self> {
        let joined = queue.fetch_add(1, Ordering::Relaxed);
        let queued = Self(queue);
        (joined < most).then_some(queued)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        lock(&self.desk.inner.running).remove(&self.call);
    }
}

/// Whether two paths lead to the same place. Looks at the disk.
fn is_same(one: &Path, other: &Path) -> bool {
    pi_tools::files::real_text(one).is_some_and(|one| pi_tools::files::real_text(other) == Some(one))
}

/// Whether a folder holds another, or is it. Looks at the disk.
fn is_around(folder: &Path, other: &Path) -> bool {
    let real = |path: &Path| pi_tools::files::real_text(path);
    real(folder).zip(real(other)).is_some_and(|(folder, other)| Path::new(&other).starts_with(folder))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("guest", self.guest()).finish_non_exhaustive()
    }
}
