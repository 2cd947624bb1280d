//! Where commands are done: the engine says when, the hall does what, and the lobby tells the clients.
//!
//! Start with [`Hall::run`](pi_engine::driver::Host::run), which is called once for every command that begins, and with
//! `emit`, through which everything that clients hear about commands goes, in order.

mod connect;
mod conversation;
pub(crate) mod download;
mod extensions;
mod journey;
mod look;
mod operate;
mod peruse;
mod shelf;
mod steer;
mod survey;
mod unwritten;

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use pi_engine::{
    Change, Completion, Config, Ending, Header, Refusal, SessionName, Ticket, Time,
    driver::{Event, Host},
};
use pi_redact::Redactor;
use pi_session::{Session, SessionGone, directory::Catalogue};
use pi_transcript::SessionId;
use pi_wire::{Class, Command, Data, Error, Kind, ServerCommand, SessionCommand};
use serde_json::value::RawValue;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    connect::connects, conversation::can_be_stopped, peruse::Looks, survey::queue_of, unwritten::Unwritten,
};
use crate::{
    answer::{self, Answer},
    bustle::Bustle,
    circuit::Circuits,
    connection::Connection,
    gauges::Gauges,
    journal::{Berth, Book},
    lobby::Lobby,
    porch::Porch,
    rates::Rates,
    recovered::Recovered,
    room::{Admitted, Entry, Room, Turns},
    rooms::Rooms,
    roots::Roots,
    settings::Settings,
    tally::Tally,
    transport::Strangers,
    workshop::{MakeError, Workshop},
};

/// A command on its way to a handler.
#[derive(Debug)]
pub struct Job {
    pub command: Command,
    /// As what it was admitted; of a `prompt` that depends on the moment.
    pub class: Class,
    pub connection: Arc<Connection>,
    /// That its session knows of it, if it is work.
    pub admitted: Option<Admitted>,
    /// That it has started and its session has not heard of it, if it is work that can be stopped.
    pub entry: Option<Entry>,
}

/// What a handler of a session's commands is told beside the command.
#[derive(Clone, Copy)]
struct Given<'a> {
    ticket: Ticket,
    /// When it started, by the clock by which the engine measures how long it takes.
    began: Instant,
    header: &'a Header,
    class: Class,
    cancel: &'a CancellationToken,
}

/// The way of a command in flight to say that it waits for a person: what may be needed to answer passes it then.
#[derive(Clone, Copy)]
struct Pass<'a> {
    turns: &'a Turns,
    ticket: Ticket,
}

impl Pass<'_> {
    /// Waits for `work`, and lets others pass when that is due.
    async fn when<T>(self, is_due: impl Future<Output = ()>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = is_due => {
                if let Some(engine) = self.turns.get() {
                    // An engine that has ended holds nobody.
                    let _ = engine.lingers(self.ticket).await;
                }
            }
        }
        work.await
    }
}

/// What a handler did.
#[derive(Debug)]
struct Done {
    /// What it says, as JSON: some of it is said more often than it changes.
    data: Option<Box<RawValue>>,
    change: Change,
}

/// Why a handler did not do what it was asked, and what it did all the same.
#[derive(Debug)]
struct Undone {
    error: Error,
    change: Change,
}

type Outcome = Result<Done, Undone>;

/// What the server's handlers share.
pub struct Hall {
    pub lobby: Arc<Lobby>,
    /// Who is on his way in.
    pub strangers: Arc<Strangers>,
    pub porch: Porch,
    pub rooms: Rooms,
    /// Whether commands are in work that change something, or many only looked.
    pub bustle: Bustle,
    pub workshop: Arc<dyn Workshop>,
    /// What was read of session files that nobody has loaded.
    pub catalogue: Arc<Catalogue>,
    /// What was seen of sessions that others have open.
    pub looks: Looks,
    /// Who makes a file for a browser has one.
    pub downloads: Arc<Semaphore>,
    /// Which sessions are in memory only.
    pub unwritten: Unwritten,
    pub roots: Roots,
    pub journal: Arc<dyn Book>,
    /// The way to the engine, once there is one.
    pub turns: Turns,
    pub counts: Counts,
    pub gauges: Gauges,
    pub recovery: Recovered,
    pub rates: Rates,
    /// The circuits of shell commands.
    pub bash: Arc<Circuits>,
    /// What became of the questions of all sessions.
    pub questions: Arc<Tally>,
    /// Hides secrets in answers that are kept.
    pub redactor: Arc<Redactor>,
    pub settings: Settings,
    pub engine: Config,
}

/// What is counted for people who look after the server.
#[derive(Debug, Default)]
pub struct Counts {
    pub commands: AtomicU64,
    pub refused_size: AtomicU64,
    pub refused_rate: AtomicU64,
    pub refused_global_rate: AtomicU64,
    pub refused_answers: AtomicU64,
    pub refused_connections: AtomicU64,
    /// Turned away at the door: a wrong name, page or credential.
    pub refused_visitors: AtomicU64,
    pub refused_sessions: AtomicU64,
    /// There was too little room for one more in flight, or for its outcome.
    pub refused_busy: AtomicU64,
    pub refused_pending: AtomicU64,
    /// An id or a key was used for something else before.
    pub refused_conflicts: AtomicU64,
    pub refused_journal: AtomicU64,
    pub refused_shutdown: AtomicU64,
    pub journal_errors: AtomicU64,
}

impl Counts {
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn count_refusal(&self, refusal: &Refusal) {
        Self::count(match refusal {
            Refusal::Busy(_) => &self.refused_busy,
            Refusal::TooManyPending { .. } => &self.refused_pending,
            Refusal::ConflictingId { .. } | Refusal::ConflictingKey { .. } => &self.refused_conflicts,
            Refusal::JournalUnavailable => &self.refused_journal,
            Refusal::ShuttingDown | Refusal::ShutDown => &self.refused_shutdown,
        });
    }
}

impl Host for Hall {
    type Command = Job;
    type Body = Answer;

    async fn run(
        &self,
        ticket: Ticket,
        at: Time,
        header: Arc<Header>,
        job: Job,
        cancel: CancellationToken,
    ) -> Completion<Self::Body> {
        let began = Instant::now();
        let is_recorded = header.access.is_recorded();
        let _busy = is_recorded.then(|| self.bustle.enter());
        if !is_recorded {
            self.bustle.look();
        }
        if header.access.is_recorded() {
            self.journal.note_start(ticket, at);
        }
        Counts::count(&self.counts.commands);
        let outcome = match job.command {
            Command::Server(command) => self.operate(command, &job.connection, &cancel).await,
            Command::Session(id, command) => {
                let is_mark_moved = header.access.is_recorded() && may_write(&command);
                let written = is_mark_moved.then(|| self.rooms.get(&id)).flatten();
                written.iter().for_each(|room| room.begin_writing());
                let outcome = self
                    .attend(
                        &id,
                        command,
                        Given { ticket, began, header: &header, class: job.class, cancel: &cancel },
                        job.entry,
                    )
                    .await;
                if let Some(room) = written {
                    self.measure(&room).await;
                    room.end_writing();
                }
                outcome
            }
        };
        drop(job.admitted);
        self.gauges.took(header.limit, began.elapsed());
        let completion = complete(outcome);
        // What is kept for a retry is without secrets, and a retry hears what was said the first time.
        if header.access.is_recorded() { redacted(completion, &self.redactor) } else { completion }
    }

    fn start(&self, job: &mut Job) {
        if let Command::Session(id, command) = &job.command
            && (can_be_stopped(command) || conversation::joins_a_run(command))
        {
            job.entry = self.rooms.get(id).map(|room| room.start_work());
        }
    }

    fn is_quick(&self, job: &Job) -> bool {
        match &job.command {
            Command::Server(ServerCommand::HealthCheck(_)) => true,
            Command::Server(ServerCommand::ListSessions(wanted)) => wanted.search.is_none() && self.rooms.has_list(),
            Command::Session(id, SessionCommand::GetState(_)) => {
                self.rooms.get(id).is_some_and(|room| room.is_loaded())
            }
            Command::Server(_) | Command::Session(..) => false,
        }
    }

    fn emit(&self, event: Event<Self::Body>) {
        match event {
            Event::Answered { request, header, outcome, replay } => {
                let waiting = self.lobby.take(request);
                if let Some(waiting) = &waiting {
                    self.lobby.answer(waiting, &header, &outcome, replay);
                }
                self.follow(waiting.as_ref(), &header, &outcome, replay);
                self.porch.answered(request);
            }
            Event::Refused { request, header, refusal } => {
                self.counts.count_refusal(&refusal);
                if let Some(waiting) = self.lobby.take(request) {
                    self.lobby.refuse(&waiting, &header, &refusal);
                }
                self.porch.answered(request);
            }
            Event::Announced(announcement) => self.lobby.announce(&announcement),
            // Who asked was told that it took too long; that there is a session more, or less, concerns everybody.
            Event::Belated { header, ending } => {
                if let Ending::Succeeded(answer) = &ending {
                    self.broadcast_change(&header, answer);
                }
            }
            Event::JournalLost { error } => {
                Counts::count(&self.counts.journal_errors);
                self.lobby.journal_is(Some(format!("{error} ({})", self.journal.place())));
                tracing::error!(error, "the journal cannot be written; commands that change something are refused");
            }
            Event::JournalBack => {
                self.lobby.journal_is(None);
                tracing::info!("the journal can be written again");
            }
            Event::Drained => tracing::debug!("every command has its answer"),
        }
    }

    /// What a command wrote that was cut short is ours, and its end has moved the version: found at the next start without
    /// being known, it would be taken for somebody else's and move it again.
    async fn wind_up(&self) {
        let written = self.rooms.everyone().into_iter().filter(|room| room.is_being_written() && room.is_loaded());
        let written: Vec<_> = written.collect();
        close(&written).await;
        for room in written {
            if let Some(berth) = room.measure_closed() {
                self.note(berth).await;
            }
        }
    }
}

impl Hall {
    /// Remembers how the file of a session is now, so that a change that somebody else makes later is seen.
    async fn measure(&self, room: &Room) {
        let Some(session) = room.loaded() else { return };
        if let Ok(Some(berth)) = room.measure(&session).await {
            self.note(berth).await;
        }
    }

    /// Remembers how the file of a session was found, so that the same change is not seen again at the next start.
    pub(crate) async fn keep_mark(&self, room: &Room) {
        if let Some(berth) = room.unkept() {
            self.note(berth).await;
        }
    }

    async fn note(&self, berth: Berth) {
        let session = berth.session.clone();
        if let Err(error) = self.journal.note(berth).await {
            // The version moves once more at the next start, and that is all.
            tracing::debug!(%session, %error, "how a session's file is, is not in the journal");
        }
    }

    /// A session's room, and the session in it.
    async fn enter(&self, id: &SessionId) -> Result<(Arc<Room>, Session), Undone> {
        let room = self.rooms.find(id)?;
        let session = self.wake(&room).await.map_err(|error| unmade(id, &error))?;
        Ok((room, session))
    }

    /// The folder in which a session works, which must still be there and lead nowhere else than agents may work.
    fn workplace(&self, room: &Room) -> Result<PathBuf, Error> {
        let cwd = room.berth().cwd;
        self.roots.folder(Path::new(&cwd)).map_err(|error| match error {
            Error::CwdMissing => Error::FolderMissing { cwd },
            error => error,
        })
    }

    /// The session in a room, which is loaded if it was not.
    pub(crate) async fn wake(&self, room: &Arc<Room>) -> Result<Session, MakeError> {
        room.session(&*self.workshop, &self.roots, &self.turns).await
    }
}

/// Ends the sessions of these rooms, each beside the others: an extension that does not end keeps its own session open for a
/// while, and no other.
pub(crate) async fn close(rooms: &[Arc<Room>]) {
    let loaded = rooms.iter().filter_map(|room| room.loaded());
    let mut closing: JoinSet<_> = loaded.map(|session| async move { session.close().await }).collect();
    while let Some(closed) = closing.join_next().await {
        if let Err(panic) = closed {
            tracing::error!(%panic, "a session fell while it was closed");
        }
    }
}

/// Whether a command can make the file of its session longer.
fn may_write(command: &SessionCommand) -> bool {
    !matches!(
        command,
        SessionCommand::SetAutoCompaction(_)
            | SessionCommand::SetAutoRetry(_)
            | SessionCommand::EditQueue(_)
            | SessionCommand::ExportHtml(_)
            | SessionCommand::ExtensionUiResponse(_)
            | SessionCommand::ExtensionUiKey(_)
    )
}

/// Nothing but the answer.
#[expect(clippy::needless_pass_by_value, reason = "what is told is made where it is told, and is not needed again")]
fn told(data: Data) -> Outcome {
    said(answer::written(&data), Change::Usual)
}

/// What is already written.
fn said(data: Box<RawValue>, change: Change) -> Outcome {
    Ok(Done { data: Some(data), change })
}

/// Done, and nothing to say.
fn done() -> Outcome {
    Ok(Done { data: None, change: Change::Usual })
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Self { error, change: Change::Usual }
    }
}

/// A session that ended between two words is one that is not there.
fn gone(id: &SessionId) -> impl FnOnce(SessionGone) -> Undone {
    let id = id.clone();
    move |SessionGone| Error::SessionNotFound(id).into()
}

/// Why a session could not be loaded, in the protocol's words.
fn unmade(id: &SessionId, error: &MakeError) -> Undone {
    use pi_wire::error::{Missing, SessionPathError};
    let error = match error {
        MakeError::Missing => Error::SessionPath(SessionPathError::Missing),
        MakeError::NotASession => Error::SessionPath(SessionPathError::NotASession),
        MakeError::Lost { file } => {
            Error::SessionFileMissing { session_id: id.clone(), path: file.to_string_lossy().into_owned() }
        }
        MakeError::Homeless { cwd } => Error::FolderMissing { cwd: cwd.to_string_lossy().into_owned() },
        MakeError::Gone => Error::SessionNotFound(id.clone()),
        MakeError::Elsewhere => Error::SessionPath(SessionPathError::OutsideRoots),
        MakeError::OutsideRoots { roots } => Error::CwdOutside { roots: roots.clone() },
        MakeError::NoEntry { entry } => Error::NotFound(Missing::Entry { id: entry.clone(), member: Some("entryId") }),
        MakeError::InUse => Error::SessionInUseElsewhere,
        MakeError::Failed { reason } => Error::Refused { reason: reason.clone() },
    };
    tracing::warn!(session = %id, %error, "a session could not be loaded");
    error.into()
}

fn complete(outcome: Outcome) -> Completion<Answer> {
    match outcome {
        Ok(Done { data, change }) => {
            let answer = Answer::Success(data);
            let size = size(&answer);
            Completion { ending: Ending::Succeeded(answer), change, size }
        }
        Err(Undone { error, change }) => {
            let body = answer::failure(&error);
            let size = size(&body);
            Completion { ending: Ending::Failed { error: error.to_string(), body }, change, size }
        }
    }
}

/// The same without what must not be written.
fn redacted(completion: Completion<Answer>, redactor: &Redactor) -> Completion<Answer> {
    let ending = match completion.ending {
        Ending::Succeeded(answer) => Ending::Succeeded(answer::redacted(answer, redactor)),
        Ending::Failed { error, body } => {
            let error = redactor.redact_text(&error).into_owned();
            Ending::Failed { error, body: answer::redacted(body, redactor) }
        }
        Ending::Broken(failure) => Ending::Broken(failure),
    };
    Completion { ending, ..completion }
}

/// What keeping an answer costs.
fn size(answer: &Answer) -> usize {
    match answer {
        pi_wire::Outcome::Success(data) => data.as_ref().map_or(0, |data| data.get().len()),
        pi_wire::Outcome::Failure(failure) => failure.error.len() + failure.hint.as_ref().map_or(0, String::len),
    }
}

/// The moment, as the engine counts them.
#[expect(clippy::disallowed_methods, reason = "the one place of the server that reads the wall clock")]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn session_name(id: &SessionId) -> SessionName {
    SessionName::from(id.as_str())
}

fn is_kind(header: &Header, kind: Kind) -> bool {
    header.kind.as_str() == kind.name()
}

/// Only server commands connect.
fn as_server(command: &Command) -> Option<&ServerCommand> {
    match command {
        Command::Server(command) => Some(command),
        Command::Session(..) => None,
    }
}
