//! The part that waits: an engine on a tokio task, with a journal and a host beside it.
//!
//! The task owns the engine; everybody else sends it messages through a [`Mailbox`]. It never awaits a disk, a handler or
//! a client: records go to a writer task in batches (all that gathered while the last batch was written share the next
//! one), work runs on tasks of its own, and what clients are to hear is handed to [`Host::emit`] in order.

mod trace;
mod writer;

use std::{
    collections::{HashMap, VecDeque},
    future::{Future, pending},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, Id, JoinError, JoinHandle, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use self::writer::{Report, Writer};
use crate::{
    effect::{Announcement, Change, Completion, Effect, Input, Replay},
    engine::{Engine, Load},
    header::{Admission, Header},
    name::{Kind, Request, Sequence, SessionName, Ticket, Time},
    outcome::{Ending, Failure, Outcome, Refusal},
    record::Record,
};

/// Does the work and hears what happened. The server implements it, and so do the tests.
pub trait Host: Send + Sync + 'static {
    type Command: Send + 'static;
    type Body: Send + Sync + 'static;

    /// Does what a command asks for, which starts at `at` by the engine's clock.
    ///
    /// When `cancel` fires, the answer is no longer wanted; the future should return soon. If it does not, it is dropped
    /// at its next await point. A panic ends the command with [`Failure::Panicked`] and nothing else.
    fn run(
        &self,
        ticket: Ticket,
        at: Time,
        header: Arc<Header>,
        command: Self::Command,
        cancel: CancellationToken,
    ) -> impl Future<Output = Completion<Self::Body>> + Send;

    /// A command is about to be run. Called on the engine's task, in the order in which commands start, which is not the order
    /// in which the futures of [`Host::run`] are first polled: what depends on it is noted in the command. It must not block.
    fn start(&self, command: &mut Self::Command);

    /// Whether a command is done sooner than a task for it could be made, but for what it has to wait for. Then it is begun on
    /// the engine's task, and goes on by itself only where it waits. Called on the engine's task.
    fn is_quick(&self, command: &Self::Command) -> bool;

    /// Takes what clients are to hear, in order. Called on the engine's task: it must not block.
    fn emit(&self, event: Event<Self::Body>);

    /// Everything has its answer, and nothing runs any more. What the host itself writes to the journal it writes now: the
    /// journal is closed when this returns.
    fn wind_up(&self) -> impl Future<Output = ()> + Send;
}

/// What clients are to hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<B> {
    Answered {
        request: Request,
        header: Arc<Header>,
        outcome: Arc<Outcome<B>>,
        replay: Replay,
    },
    Refused {
        request: Request,
        header: Arc<Header>,
        refusal: Refusal,
    },
    Announced(Announcement<B>),
    /// What was answered as timed out made or removed a session all the same.
    Belated {
        header: Arc<Header>,
        ending: Ending<B>,
    },
    /// The journal cannot be written; mutating commands are refused until it can.
    JournalLost {
        error: String,
    },
    JournalBack,
    /// The last event.
    Drained,
}

/// Keeps records. The server implements it on its store, the tests in memory.
pub trait Journal<B>: Send + 'static {
    type Error: std::error::Error + Send;

    /// Writes the records in order and returns when they are durable. After an error none of them counts.
    fn append(&mut self, records: Vec<(Sequence, Record<B>)>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Drops records of outcomes that need not be kept, unless a kept [`Record::Alias`] names them. The versions that they
    /// moved stay known. May do so later.
    fn forget(&mut self, tickets: Vec<Ticket>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Whether writing is possible again after an error.
    fn recover(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What the driver does by itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// Messages that may wait for the engine. When so many do, senders wait.
    pub mailbox: usize,
    /// How often a journal that failed is tried again.
    pub retry: Duration,
    /// The moment at which the driver starts; later moments are counted from it.
    pub start: Time,
    /// Sessions that are there at the start, for [`Input::Opened`].
    pub opened: Vec<SessionName>,
    /// Why the journal cannot be written at the start, if it cannot. It is tried again like one that failed later.
    pub trouble: Option<String>,
}

/// The way to an engine that runs. Dropping the last one shuts it down at once.
#[derive(Debug)]
pub struct Mailbox<C, B> {
    inbox: mpsc::Sender<Message<C, B>>,
    full: Arc<AtomicU64>,
}

/// What the engine's task is told or asked.
#[derive(Debug)]
enum Message<C, B> {
    Step(Input<C, B>),
    /// Shut down, and let what is admitted end for so long.
    ShutDown(Duration),
    Load(oneshot::Sender<Load>),
    Version(SessionName, oneshot::Sender<Option<u64>>),
}

impl<C, B> Clone for Mailbox<C, B> {
    fn clone(&self) -> Self {
        Self { inbox: self.inbox.clone(), full: Arc::clone(&self.full) }
    }
}

/// The engine has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the command engine has ended")]
pub struct Ended;

impl<C, B> Mailbox<C, B> {
    /// Submits a command. Waits while the mailbox is full; cancelled before it returns, nothing was submitted.
    pub async fn admit(&self, admission: Admission<C>) -> Result<(), Ended> {
        self.send(Input::Admit(admission)).await
    }

    pub async fn turn_taken(&self, session: SessionName) -> Result<(), Ended> {
        self.send(Input::TurnTaken(session)).await
    }

    pub async fn turn_released(&self, session: SessionName) -> Result<(), Ended> {
        self.send(Input::TurnReleased(session)).await
    }

    /// A command in flight waits for a person: what is needed to answer it passes. Of one that has ended nothing is said.
    pub async fn lingers(&self, ticket: Ticket) -> Result<(), Ended> {
        self.send(Input::Lingers(ticket)).await
    }

    pub async fn changed(&self, session: SessionName) -> Result<(), Ended> {
        self.send(Input::Changed(session)).await
    }

    pub async fn opened(&self, session: SessionName) -> Result<(), Ended> {
        self.send(Input::Opened(session)).await
    }

    pub async fn closed(&self, session: SessionName) -> Result<(), Ended> {
        self.send(Input::Closed(session)).await
    }

    /// Refuses what is new and lets what is admitted end for so long. A second time it ends at once.
    pub async fn shut_down(&self, within: Duration) -> Result<(), Ended> {
        self.inbox.send(Message::ShutDown(within)).await.map_err(|_| Ended)
    }

    /// How much the engine holds.
    pub async fn load(&self) -> Result<Load, Ended> {
        self.ask(Message::Load).await
    }

    /// Until when no further outcome can be kept, if none could be at the last step. Asks nobody, for it is read often.
    pub fn full_until(&self) -> Option<Time> {
        Some(Time(self.full.load(Ordering::Relaxed))).filter(|until| *until > Time(0))
    }

    /// The version of a session, if there is such a session.
    pub async fn version(&self, session: SessionName) -> Result<Option<u64>, Ended> {
        self.ask(|reply| Message::Version(session, reply)).await
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Message<C, B>) -> Result<T, Ended> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(question(reply)).await.map_err(|_| Ended)?;
        answer.await.map_err(|_| Ended)
    }

    async fn send(&self, input: Input<C, B>) -> Result<(), Ended> {
        self.inbox.send(Message::Step(input)).await.map_err(|_| Ended)
    }
}

/// Runs `engine` on a task of its own until it is drained. `effects` are what [`Engine::restore`] left to do.
///
/// Aborting the returned task drops all work in flight; what was answered stays durable.
pub fn spawn<H: Host, J: Journal<H::Body>>(
    engine: Engine<H::Command, H::Body>,
    mut effects: Vec<Effect<H::Command, H::Body>>,
    host: Arc<H>,
    journal: J,
    options: Options,
) -> (Mailbox<H::Command, H::Body>, JoinHandle<()>) {
    let (sender, inbox) = mpsc::channel(options.mailbox);
    trace::beginning(options.start);
    let mut driver = Driver {
        engine,
        host,
        inbox,
        writer: Writer::spawn(journal, options.retry),
        tasks: JoinSet::new(),
        done: VecDeque::new(),
        tickets: HashMap::new(),
        work: HashMap::new(),
        started: Instant::now(),
        start: options.start,
        full: Arc::default(),
    };
    let full = Arc::clone(&driver.full);
    if let Some(trouble) = options.trouble {
        driver.writer.recover();
        let failed = driver.reported(Report::Failed(trouble));
        driver.step(failed, &mut effects);
        // What was to be recorded is owed now, and recorded when it can be.
        effects.retain(|effect| !matches!(effect, Effect::Persist { .. }));
    }
    for session in options.opened {
        driver.step(Input::Opened(session), &mut effects);
    }
    (Mailbox { inbox: sender, full }, tokio::spawn(driver.run(effects)))
}

struct Driver<H: Host> {
    engine: Engine<H::Command, H::Body>,
    host: Arc<H>,
    inbox: mpsc::Receiver<Message<H::Command, H::Body>>,
    writer: Writer<H::Body>,
    tasks: JoinSet<Completion<H::Body>>,
    /// Work that was done at once, and that the engine has not heard of yet.
    done: VecDeque<Input<H::Command, H::Body>>,
    tickets: HashMap<Id, Ticket>,
    work: HashMap<Ticket, Work>,
    started: Instant,
    start: Time,
    /// For [`Mailbox::full_until`]; 0 while there is room.
    full: Arc<AtomicU64>,
}

/// Messages that are taken in a row before whatever else happened is looked at.
const ROW: usize = 32;

struct Work {
    kind: Kind,
    cancel: CancellationToken,
    task: AbortHandle,
}

impl<H: Host> Driver<H> {
    async fn run(mut self, mut effects: Vec<Effect<H::Command, H::Body>>) {
        let (mut deserted, mut row) = (false, 0);
        loop {
            if self.perform(&mut effects) {
                break;
            }
            let input = match self.next(&mut row) {
                Some(input) => input,
                None => {
                    row = 0;
                    self.wait(&mut deserted).await
                }
            };
            self.step(input, &mut effects);
        }
        // Who wrote in time is still told that it was too late.
        self.inbox.close();
        while let Some(message) = self.inbox.recv().await {
            let input = self.understand(message);
            self.step(input, &mut effects);
        }
        self.perform(&mut effects);
        self.host.wind_up().await;
        self.writer.finish().await;
        self.host.emit(Event::Drained);
    }

    fn step(&mut self, input: Input<H::Command, H::Body>, effects: &mut Vec<Effect<H::Command, H::Body>>) {
        let now = self.now();
        trace::input(&input, now);
        self.engine.step(input, now, effects);
        self.full.store(self.engine.full_until(now).map_or(0, |until| until.0), Ordering::Relaxed);
    }

    /// What has happened already: work that was done at once, and messages, of which so many were taken in a row.
    fn next(&mut self, row: &mut usize) -> Option<Input<H::Command, H::Body>> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        if *row == ROW {
            return None;
        }
        *row += 1;
        self.inbox.try_recv().ok().map(|message| self.understand(message))
    }

    /// Waits for whatever happens next.
    async fn wait(&mut self, deserted: &mut bool) -> Input<H::Command, H::Body> {
        let deadline = self.engine.next_deadline().map(|at| self.instant(at));
        tokio::select! {
            Some(ended) = self.tasks.join_next_with_id() => self.completed(ended),
            report = self.writer.report() => self.reported(report),
            message = self.inbox.recv(), if !*deserted => match message {
                Some(message) => self.understand(message),
                None => {
                    *deserted = true;
                    Input::Shutdown { deadline: self.now() }
                }
            },
            () = at(deadline) => Input::Tick,
        }
    }

    /// Answers a question at once, and turns everything else into an input.
    fn understand(&self, message: Message<H::Command, H::Body>) -> Input<H::Command, H::Body> {
        match message {
            Message::Step(input) => input,
            Message::ShutDown(within) => {
                let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
                Input::Shutdown { deadline: self.now().after(within) }
            }
            Message::Load(reply) => answer(reply, self.engine.load()),
            Message::Version(session, reply) => answer(reply, self.engine.version(&session)),
        }
    }

    /// Does what is to be done; true when that was the last.
    fn perform(&mut self, effects: &mut Vec<Effect<H::Command, H::Body>>) -> bool {
        let mut drained = false;
        let now = self.now();
        for effect in effects.drain(..) {
            match effect {
                Effect::Persist { sequence, record } => self.writer.append(sequence, record),
                Effect::Forget(ticket) => self.writer.forget(ticket),
                Effect::Start { ticket, header, command } => self.start(ticket, header, command, now),
                Effect::Cancel(ticket) => self.work.get(&ticket).into_iter().for_each(|work| work.cancel.cancel()),
                Effect::Kill(ticket) => self.work.get(&ticket).into_iter().for_each(|work| work.task.abort()),
                Effect::Respond { request, header, outcome, replay } => {
                    self.host.emit(Event::Answered { request, header, outcome, replay });
                }
                Effect::Refuse { request, header, refusal } => {
                    self.host.emit(Event::Refused { request, header, refusal });
                }
                Effect::Announce(announcement) => self.host.emit(Event::Announced(announcement)),
                Effect::Belated { header, ending } => self.host.emit(Event::Belated { header, ending }),
                Effect::Drained => drained = true,
            }
        }
        self.writer.flush();
        drained
    }

    fn start(&mut self, ticket: Ticket, header: Arc<Header>, mut command: H::Command, now: Time) {
        self.host.start(&mut command);
        let cancel = CancellationToken::new();
        let (host, token, kind) = (Arc::clone(&self.host), cancel.clone(), header.kind.clone());
        let is_quick = host.is_quick(&command);
        let work = async move { host.run(ticket, now, header, command, token).await };
        let task = if is_quick {
            let mut work = Box::pin(work);
            match begin(work.as_mut()) {
                Ok(Poll::Ready(completion)) => return self.done.push_back(Input::Completed { ticket, completion }),
                Ok(Poll::Pending) => self.tasks.spawn(work),
                Err(Panicked) => {
                    let completion = broken(ticket, Failure::Panicked { kind });
                    return self.done.push_back(Input::Completed { ticket, completion });
                }
            }
        } else {
            self.tasks.spawn(work)
        };
        self.tickets.insert(task.id(), ticket);
        self.work.insert(ticket, Work { kind, cancel, task });
    }

    fn completed(&mut self, ended: Result<(Id, Completion<H::Body>), JoinError>) -> Input<H::Command, H::Body> {
        let (id, ending) = match ended {
            Ok((id, completion)) => (id, Ok(completion)),
            Err(error) => (error.id(), Err(error)),
        };
        let ticket = self.tickets.remove(&id).expect("every task was given a ticket");
        let work = self.work.remove(&ticket).expect("every ticket has its work");
        let completion = ending.unwrap_or_else(|error| {
            let kind = work.kind;
            let failure = if error.is_panic() { Failure::Panicked { kind } } else { Failure::Killed { kind } };
            broken(ticket, failure)
        });
        Input::Completed { ticket, completion }
    }

    fn reported(&mut self, report: Report) -> Input<H::Command, H::Body> {
        match report {
            Report::Durable(sequence) => Input::Persisted(sequence),
            Report::Failed(error) => {
                tracing::error!(error, "the journal cannot be written");
                let reason = error.as_str().into();
                self.host.emit(Event::JournalLost { error });
                Input::JournalFailed { reason }
            }
            Report::Recovered => {
                tracing::info!("the journal can be written again");
                self.host.emit(Event::JournalBack);
                Input::JournalRestored
            }
        }
    }

    fn now(&self) -> Time {
        let elapsed = self.started.elapsed().as_millis();
        self.start.after(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn instant(&self, at: Time) -> Instant {
        self.started + Duration::from_millis(at.since(self.start))
    }
}

/// The work ended in a panic.
struct Panicked;

/// Does what can be done without waiting. What waits is polled again by the task that it becomes, and is woken there.
fn begin<T>(work: Pin<&mut impl Future<Output = T>>) -> Result<Poll<T>, Panicked> {
    let mut context = Context::from_waker(Waker::noop());
    catch_unwind(AssertUnwindSafe(|| work.poll(&mut context))).map_err(|_| Panicked)
}

fn broken<B>(ticket: Ticket, failure: Failure) -> Completion<B> {
    tracing::warn!(ticket = ticket.0, %failure, "work did not end by itself");
    Completion { ending: Ending::Broken(failure), change: Change::Altered, size: 0 }
}

/// Who asked may have gone; then nobody wants the answer.
fn answer<T, C, B>(reply: oneshot::Sender<T>, value: T) -> Input<C, B> {
    if reply.send(value).is_err() {
        tracing::debug!("whoever asked the engine has gone");
    }
    Input::Tick
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
