//! Who is connected, who waits for an answer, and who hears of what.
//!
//! The engine says what happened to which request; the lobby knows whose it is. Everything in here is done at once and
//! waits for nobody: frames go into outboxes, and a client that does not empty its own is closed.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use pi_engine::{Announcement, ClientName, Ending, Header, Outcome, Phase, Refusal, Replay, Request, Scarcity};
use pi_wire::{
    Command, Error, Response, ServerEvent,
    command::Lifecycle,
    error::{BusyLimit, Identity as Twice, PendingScope},
    event::{CommandPhase, FinishedCommand},
    id::{CommandId, IdempotencyKey},
    registry::Kind,
};

use serde_json::value::RawValue;

use crate::{
    answer::{self, Answer},
    connection::{Connection, ConnectionId, Identity},
    door::Secret,
    outbox::{Full, Outbox},
    signature::{self, Reader},
    speaker::{frame, frame_around},
};

/// How long a client waits that found the server busy.
const BUSY_MS: u64 = 250;

/// So many may wait before room is made for more.
const USUALLY_WAITING: usize = 64;

/// Somebody who waits for an answer.
#[derive(Debug)]
pub struct Waiting {
    pub connection: Arc<Connection>,
    /// As the client named the command.
    pub id: Option<CommandId>,
    /// What is done once more for the connection when the answer is a repetition.
    pub connects: Option<Command>,
}

/// There are as many connections as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are {limit} connections already")]
pub struct Crowded {
    pub limit: usize,
}

#[derive(Debug)]
pub struct Lobby {
    limit: usize,
    numbers: AtomicU64,
    /// Makes names of commands that only we can tell apart.
    salt: Arc<Secret>,
    /// Not a task: looked at for every command, changed when somebody comes or goes.
    crowd: RwLock<Crowd>,
    /// Not a task: put in by whoever reads a connection, taken out by the engine's task, never held for long.
    waiting: Mutex<HashMap<Request, Waiting>>,
    /// Why the journal cannot be written, while it cannot. Not a task: changed when that changes.
    trouble: RwLock<Option<String>>,
}

/// Everybody who is here. What is told of a command is mostly told to one client, so that is found without a look at all.
#[derive(Debug, Default)]
struct Crowd {
    connections: HashMap<ConnectionId, Arc<Connection>>,
    clients: HashMap<ClientName, Vec<Arc<Connection>>>,
    /// How many want to hear of everybody's commands.
    curious: usize,
}

impl Lobby {
    /// With room for so many connections.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            numbers: AtomicU64::new(1),
            salt: Arc::new(Secret::random()),
            crowd: RwLock::default(),
            waiting: Mutex::default(),
            trouble: RwLock::default(),
        }
    }

    /// Lets a client in. Its first frames are already in its outbox: nobody else's come before them.
    pub fn enter(
        &self,
        identity: Identity,
        lifecycle: Lifecycle,
        outbox: Arc<Outbox>,
    ) -> Result<Arc<Connection>, Crowded> {
        let id = ConnectionId(self.number());
        let connection = Arc::new(Connection::new(id, identity, lifecycle, outbox));
        let mut crowd = self.crowd.write().unwrap_or_else(PoisonError::into_inner);
        if crowd.connections.len() >= self.limit {
            return Err(Crowded { limit: self.limit });
        }
        crowd.add(&connection);
        Ok(connection)
    }

    /// The client is gone. What it asked for goes on; the answers are kept for when it comes back.
    pub fn leave(&self, id: ConnectionId) {
        self.crowd.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.waiting().retain(|_, waiting| waiting.connection.id != id);
    }

    /// Whose lifecycle events a connection is sent from now on.
    pub fn choose(&self, connection: &Connection, lifecycle: Lifecycle) {
        let mut crowd = self.crowd.write().unwrap_or_else(PoisonError::into_inner);
        let is_here = crowd.connections.contains_key(&connection.id);
        crowd.curious -= usize::from(is_here && connection.lifecycle() == Lifecycle::All);
        connection.choose(lifecycle);
        crowd.curious += usize::from(is_here && lifecycle == Lifecycle::All);
    }

    pub fn count(&self) -> usize {
        self.crowd().connections.len()
    }

    /// Remembers who waits; the number is what the engine knows the request by.
    pub fn wait(&self, waiting: Waiting) -> Request {
        let request = Request(self.number());
        self.waiting().insert(request, waiting);
        request
    }

    /// Who waited for this, if he is still there.
    pub fn take(&self, request: Request) -> Option<Waiting> {
        let mut waiting = self.waiting();
        let taken = waiting.remove(&request);
        if waiting.is_empty() {
            // After a rush it would hold room for all who waited.
            waiting.shrink_to(USUALLY_WAITING);
        }
        taken
    }

    /// The journal cannot be written, for this reason; or it can again.
    pub fn journal_is(&self, trouble: Option<String>) {
        *self.trouble.write().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Why the journal cannot be written, if it cannot.
    pub fn journal_trouble(&self) -> Option<String> {
        self.trouble.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for somebody whose command was not written down, just before it could be again perhaps.
    fn why(&self) -> String {
        self.journal_trouble().unwrap_or_else(|| "it could not be written a moment ago".to_owned())
    }

    /// Answers somebody.
    pub fn answer(&self, waiting: &Waiting, header: &Header, outcome: &Outcome<Answer>, replay: Replay) {
        let ended = Ended { header, outcome, replay };
        ended.respond(waiting.id.as_ref(), |response| {
            let known = match &response.outcome {
                pi_wire::Outcome::Success(data) => data.map_or(0, |data| data.get().len()),
                pi_wire::Outcome::Failure(_) => 0,
            };
            answer_to(&waiting.connection, frame_around(response, known));
        });
    }

    /// Tells somebody that the command was not admitted.
    pub fn refuse(&self, waiting: &Waiting, header: &Header, refusal: &Refusal) {
        let answer = answer::failure(&translate(refusal, &|| self.why()));
        answer_to(&waiting.connection, frame(&answer::response(waiting.id.as_ref(), kind(header), &answer, None)));
    }

    /// Tells whoever wants to hear it what became of a command.
    pub fn announce(&self, announcement: &Announcement<Answer>) {
        let crowd = self.crowd();
        let mut texts = Texts { announcement, own: None, others: None, salt: &self.salt };
        let client = &announcement.header.client;
        for connection in crowd.clients.get(client).into_iter().flatten() {
            match connection.lifecycle() {
                Lifecycle::All | Lifecycle::Own => send(connection, texts.own()),
                Lifecycle::None => {}
            }
        }
        if crowd.curious == 0 {
            return;
        }
        for connection in crowd.connections.values() {
            if connection.lifecycle() == Lifecycle::All && connection.identity.client != *client {
                send(connection, texts.others());
            }
        }
    }

    /// What events of sessions that belong to commands say to this client.
    pub fn reader(&self, identity: &Identity) -> Reader {
        Reader { client: identity.client.clone(), salt: Arc::clone(&self.salt) }
    }

    /// Tells everybody.
    pub fn broadcast(&self, event: &ServerEvent) {
        let text = frame(event);
        for connection in self.crowd().connections.values() {
            send(connection, text.clone());
        }
    }

    /// Everybody who is here.
    pub fn everybody(&self) -> Vec<Arc<Connection>> {
        self.crowd().connections.values().cloned().collect()
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn crowd(&self) -> RwLockReadGuard<'_, Crowd> {
        // Nothing in here can panic half-way.
        self.crowd.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Request, Waiting>> {
        // Nothing in here can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crowd {
    fn add(&mut self, connection: &Arc<Connection>) {
        self.curious += usize::from(connection.lifecycle() == Lifecycle::All);
        self.clients.entry(connection.identity.client.clone()).or_default().push(Arc::clone(connection));
        self.connections.insert(connection.id, Arc::clone(connection));
    }

    fn remove(&mut self, id: ConnectionId) {
        let Some(gone) = self.connections.remove(&id) else { return };
        self.curious -= usize::from(gone.lifecycle() == Lifecycle::All);
        if let Some(connections) = self.clients.get_mut(&gone.identity.client) {
            connections.retain(|connection| connection.id != id);
            if connections.is_empty() {
                self.clients.remove(&gone.identity.client);
            }
        }
    }
}

/// A lifecycle event in its two forms, each written when it is first needed.
struct Texts<'a> {
    announcement: &'a Announcement<Answer>,
    own: Option<Bytes>,
    others: Option<Bytes>,
    salt: &'a Secret,
}

impl Texts<'_> {
    fn own(&mut self) -> Bytes {
        let Self { announcement, own, .. } = self;
        own.get_or_insert_with(|| frame(&event(announcement, None))).clone()
    }

    fn others(&mut self) -> Bytes {
        let Self { announcement, others, salt, .. } = self;
        others.get_or_insert_with(|| frame(&event(announcement, Some(opaque(announcement, salt))))).clone()
    }
}

/// The event for the client itself, or for others under another name.
fn event(announcement: &Announcement<Answer>, opaque: Option<CommandId>) -> ServerEvent {
    let Announcement { id, header, phase } = announcement;
    let own = CommandPhase {
        command_id: id.as_str().into(),
        command_type: header.kind.as_str().to_owned(),
        session_id: header.subject().map(|session| session.as_str().into()),
        depends_on: header.depends_on.iter().map(|id| id.as_str().into()).collect(),
        if_session_version: header.if_version,
        idempotency_key: header.key.as_ref().map(|key| IdempotencyKey(key.as_str().to_owned())),
    };
    let data = match &opaque {
        Some(name) => own.for_others(name.clone()),
        None => own,
    };
    match phase {
        Phase::Accepted => ServerEvent::CommandAccepted { data },
        Phase::Started => ServerEvent::CommandStarted { data },
        Phase::Finished { outcome, replay } => {
            let ended = Ended { header, outcome, replay: *replay };
            let response = ended.respond(None, |response| FinishedCommand::of(data, response));
            let data = match opaque {
                Some(name) => response.for_others(name),
                None => response,
            };
            ServerEvent::CommandFinished { data }
        }
    }
}

/// The same for all phases of a command, and telling nothing of its own name.
fn opaque(announcement: &Announcement<Answer>, salt: &Secret) -> CommandId {
    CommandId(signature::opaque(salt, &announcement.header.client, &announcement.id))
}

/// A command that ended.
struct Ended<'a> {
    header: &'a Header,
    outcome: &'a Outcome<Answer>,
    replay: Replay,
}

impl Ended<'_> {
    /// Makes the response to it and does something with it.
    fn respond<T>(&self, id: Option<&CommandId>, then: impl FnOnce(&Response<&RawValue>) -> T) -> T {
        let made;
        let answer = match &self.outcome.ending {
            Ending::Succeeded(answer) | Ending::Failed { body: answer, .. } => answer,
            Ending::Broken(failure) => {
                made = answer::broken(failure);
                &made
            }
        };
        let mut response = answer::response(id, kind(self.header), answer, self.outcome.version);
        response.replayed = self.replay == Replay::Replayed;
        then(&response)
    }
}

fn kind(header: &Header) -> &'static str {
    Kind::named(header.kind.as_str()).map_or("unknown", Kind::name)
}

fn send(connection: &Connection, frame: Bytes) {
    tell_slow(connection, connection.outbox.send(frame));
}

fn answer_to(connection: &Connection, frame: Bytes) {
    tell_slow(connection, connection.outbox.answer(frame));
}

fn tell_slow(connection: &Connection, sent: Result<(), Full>) {
    if sent.is_err() {
        tracing::info!(connection = connection.id.0, "a client reads too slowly and is closed");
    }
}

/// The engine knows no protocol; these are the protocol's words for why it did not admit a command.
fn translate(refusal: &Refusal, why: &dyn Fn() -> String) -> Error {
    match refusal {
        Refusal::ConflictingId { id, before, now } => conflict(Twice::Id, id.as_str(), before, now),
        Refusal::ConflictingKey { key, before, now } => conflict(Twice::IdempotencyKey, key.as_str(), before, now),
        Refusal::Busy(scarcity) => busy(*scarcity),
        Refusal::TooManyPending { limit } => too_many_pending(*limit),
        Refusal::JournalUnavailable => Error::JournalUnavailable { reason: why() },
        Refusal::ShuttingDown => Error::ShuttingDown,
        Refusal::ShutDown => Error::ShutDown,
    }
}

/// Which limit it is, and when there is room again.
fn busy(scarcity: Scarcity) -> Error {
    let number = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
    let (limit, room_in_ms) = match scarcity {
        Scarcity::InFlight { limit } => (BusyLimit::InFlight(number(limit)), 0),
        Scarcity::OutcomeCount { limit, room_in_ms } => (BusyLimit::Outcomes(number(limit)), room_in_ms),
        Scarcity::OutcomeBytes { limit, room_in_ms } => (BusyLimit::OutcomeBytes(number(limit)), room_in_ms),
    };
    Error::Busy { limit, retry_after_ms: room_in_ms.max(BUSY_MS) }
}

pub(crate) fn too_many_pending(limit: usize) -> Error {
    let max = u64::try_from(limit).unwrap_or(u64::MAX);
    Error::TooManyPending { scope: PendingScope::Client, max, retry_after_ms: BUSY_MS }
}

fn conflict(identity: Twice, value: &str, first: &pi_engine::Kind, second: &pi_engine::Kind) -> Error {
    Error::Conflict { identity, value: value.to_owned(), first: first.to_string(), second: second.to_string() }
}
