//! Where commands wait for a session that is still being made.
//!
//! Clients send `create_session` with a name and, without waiting, what they want of it. Making it is work of the server's
//! lane, and the rest goes to the session's own, where it would find nothing. So it waits here until the session is there,
//! or will not be, and goes on in the order in which it came: nobody needs `dependsOn` for that.
//!
//! Start with [`Porch::receive`].

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use pi_engine::{ClientName, Request};
use pi_transcript::SessionId;
use pi_wire::{Command, Frame, ServerCommand, id::CommandId};
use tokio::sync::{Notify, watch};

use crate::{
    client::{is_stopping, is_urgent},
    connection::Connection,
    hall::can_be_stopped,
};

/// A command that nobody has refused so far, and whoever waits for its answer.
#[derive(Debug)]
pub struct Arrival {
    pub request: Request,
    pub frame: Frame,
    pub connection: Arc<Connection>,
}

/// What becomes of an arrival.
#[derive(Debug)]
pub enum Received {
    Passes(Arrival),
    Waits,
    /// As many wait as there may be.
    Full(Arrival),
}

#[derive(Debug)]
pub struct Porch {
    /// How many may wait for one session.
    limit: usize,
    /// Sessions that are on their way, here or away: almost always none, and then nothing else is looked at.
    coming: AtomicUsize,
    /// Not a task: looked at by whoever reads a connection and by the engine's task, never held for long.
    state: Mutex<State>,
    ready: Notify,
    waiting: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, Coming>,
    makers: HashMap<Request, SessionId>,
    /// Commands that remove a session and have no answer so far.
    removers: HashMap<Request, SessionId>,
    /// Commands that wait, for those that depend on them.
    names: HashMap<(ClientName, CommandId), SessionId>,
}

/// A session that is on its way.
#[derive(Debug, Default)]
struct Coming {
    /// Commands that make it and have no answer so far.
    makers: usize,
    waiting: VecDeque<Arrival>,
    /// One of them is on its way to the engine.
    is_passing: bool,
}

impl Porch {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            coming: AtomicUsize::new(0),
            state: Mutex::default(),
            ready: Notify::new(),
            waiting: watch::Sender::new(0),
        }
    }

    /// Takes a command in. `is_there` says which sessions there are.
    pub fn receive(&self, arrival: Arrival, is_there: impl FnOnce(&SessionId) -> bool) -> Received {
        if let Some(session) = made_by(&arrival.frame.command) {
            let mut state = self.state();
            state.makers.insert(arrival.request, session.clone());
            state.sessions.entry(session.clone()).or_default().makers += 1;
            self.recount(&state);
            return Received::Passes(arrival);
        }
        if self.coming.load(Ordering::SeqCst) == 0 {
            if removed_by(&arrival.frame.command).is_some() {
                self.note_remover(&mut self.state(), &arrival);
            }
            return Received::Passes(arrival);
        }
        let mut state = self.state();
        let Some(session) = state.awaited(&arrival, is_there) else {
            self.note_remover(&mut state, &arrival);
            return Received::Passes(arrival);
        };
        let name = name(&arrival);
        let Some(coming) = state.sessions.get_mut(&session) else { return Received::Passes(arrival) };
        if coming.waiting.len() >= self.limit {
            return Received::Full(arrival);
        }
        coming.waiting.push_back(arrival);
        state.names.extend(name.map(|name| (name, session)));
        self.waiting.send_modify(|count| *count += 1);
        Received::Waits
    }

    /// A command has its answer. If it made a session, those that waited for that go on.
    pub fn answered(&self, request: Request) {
        if self.coming.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state();
        if state.removers.remove(&request).is_some() {
            self.recount(&state);
        }
        let Some(session) = state.makers.remove(&request) else { return };
        if let Some(coming) = state.sessions.get_mut(&session) {
            coming.makers -= 1;
        }
        self.tidy(&mut state, &session);
        self.ready.notify_one();
    }

    /// Waits for one that may go on, and hands it over with the session that it waited for. Others go on when this one has
    /// [`passed`](Self::passed). There is one who asks. Safe to drop.
    pub async fn next(&self) -> (SessionId, Arrival) {
        loop {
            if let Some(next) = self.take() {
                return next;
            }
            self.ready.notified().await;
        }
    }

    /// The engine has the command that was handed over.
    pub fn passed(&self, session: &SessionId) {
        let mut state = self.state();
        if let Some(coming) = state.sessions.get_mut(session) {
            coming.is_passing = false;
        }
        self.tidy(&mut state, session);
        self.waiting.send_modify(|count| *count -= 1);
    }

    /// Waits until nobody waits here any more.
    pub async fn emptied(&self) {
        // The sender is ours, so it is there.
        let _ = self.waiting.subscribe().wait_for(|count| *count == 0).await;
    }

    fn take(&self) -> Option<(SessionId, Arrival)> {
        let mut state = self.state();
        let may_go = |coming: &Coming| coming.makers == 0 && !coming.waiting.is_empty();
        let (session, coming) = state.sessions.iter_mut().find(|(_, coming)| may_go(coming))?;
        let (session, arrival) = (session.clone(), coming.waiting.pop_front()?);
        coming.is_passing = true;
        if let Some(name) = name(&arrival) {
            state.names.remove(&name);
        }
        Some((session, arrival))
    }

    /// Forgets a session for which nobody waits.
    fn tidy(&self, state: &mut State, session: &SessionId) {
        let is_over = |coming: &Coming| coming.makers == 0 && coming.waiting.is_empty() && !coming.is_passing;
        if state.sessions.get(session).is_some_and(is_over) {
            state.sessions.remove(session);
            self.recount(state);
        }
    }

    /// Remembers that a session goes: whoever comes behind a command that makes it anew means the new one.
    fn note_remover(&self, state: &mut State, arrival: &Arrival) {
        if let Some(session) = removed_by(&arrival.frame.command) {
            state.removers.insert(arrival.request, session.clone());
            self.recount(state);
        }
    }

    fn recount(&self, state: &State) {
        self.coming.store(state.sessions.len() + state.removers.len(), Ordering::SeqCst);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The session that a command must wait for. One that is there is waited for only behind others who did: an abort comes
    /// behind its prompt. What ends or answers a run must not wait here for that run, where nobody would see that it does: the
    /// one that removes the session may wait for it. Only whoever has work waiting for the session that comes means that.
    fn awaited(&self, arrival: &Arrival, is_there: impl FnOnce(&SessionId) -> bool) -> Option<SessionId> {
        let (frame, client) = (&arrival.frame, &arrival.connection.identity.client);
        let is_urgent = is_urgent(&frame.command);
        if let Some(subject) = frame.command.subject()
            && let Some(coming) = self.sessions.get(subject)
        {
            let is_behind_others = coming.is_passing || !coming.waiting.is_empty();
            let is_behind = match (is_urgent, self.goes(subject)) {
                (true, true) => is_stopping(&frame.command) && coming.has_work_of(client),
                (false, true) => true,
                (_, false) => is_behind_others,
            };
            if is_behind || !is_there(subject) {
                return Some(subject.clone());
            }
        }
        if is_urgent {
            return None;
        }
        let on_waiting = |id: &CommandId| self.names.get(&(client.clone(), id.clone()));
        frame.head.depends_on.iter().find_map(on_waiting).cloned()
    }
}

impl Coming {
    /// Whether something waits that a client can stop.
    fn has_work_of(&self, client: &ClientName) -> bool {
        let is_theirs = |arrival: &Arrival| arrival.connection.identity.client == *client;
        let is_work =
            |arrival: &Arrival| matches!(&arrival.frame.command, Command::Session(_, it) if can_be_stopped(it));
        self.waiting.iter().any(|arrival| is_theirs(arrival) && is_work(arrival))
    }
}

impl State {
    fn goes(&self, session: &SessionId) -> bool {
        self.removers.values().any(|going| going == session)
    }
}

/// The session that there will not be any more if the command succeeds.
fn removed_by(command: &Command) -> Option<&SessionId> {
    match command {
        Command::Server(ServerCommand::DeleteSession(wanted)) => Some(&wanted.session_id),
        Command::Server(_) | Command::Session(..) => None,
    }
}

/// The session that there will be if the command succeeds.
fn made_by(command: &Command) -> Option<&SessionId> {
    match command {
        Command::Server(ServerCommand::CreateSession(wanted)) => wanted.session_id.as_ref(),
        Command::Server(ServerCommand::LoadSession(wanted)) => wanted.session_id.as_ref(),
        Command::Server(_) | Command::Session(..) => None,
    }
}

fn name(arrival: &Arrival) -> Option<(ClientName, CommandId)> {
    Some((arrival.connection.identity.client.clone(), arrival.frame.head.id.clone()?))
}

#[cfg(test)]
mod tests {
    use pi_wire::command::Lifecycle;

    use super::*;
    use crate::{
        connection::{ConnectionId, Identity},
        outbox::Outbox,
    };

    fn arrival(request: u64, command: &str) -> Arrival {
        let frame = pi_wire::parse(command.as_bytes(), &pi_wire::Limits::default()).expect("a command");
        let (identity, outbox) = (Identity::new("token", Some("a")), Arc::new(Outbox::new(1 << 20)));
        let connection = Arc::new(Connection::new(ConnectionId(1), identity, Lifecycle::None, outbox));
        Arrival { request: Request(request), frame, connection }
    }

    const DELETE: &str = r#"{"type":"delete_session","sessionId":"s"}"#;
    const CREATE: &str = r#"{"type":"create_session","sessionId":"s"}"#;
    const STATE: &str = r#"{"type":"get_state","sessionId":"s"}"#;

    #[test]
    fn who_comes_behind_a_deletion_and_a_creation_waits_for_the_new_session() {
        let porch = Porch::new(8);
        // The old one is there until the deletion is done.
        let receive = |request, command| porch.receive(arrival(request, command), |_| true);
        assert!(matches!(receive(1, DELETE), Received::Passes(_)));
        assert!(matches!(receive(2, STATE), Received::Passes(_)), "no other one is on its way");
        assert!(matches!(receive(3, CREATE), Received::Passes(_)));
        assert!(matches!(receive(4, STATE), Received::Waits));
        porch.answered(Request(1));
        assert!(porch.take().is_none(), "it is not made yet");
        porch.answered(Request(3));
        let (session, next) = porch.take().expect("it is there");
        assert_eq!((session.as_str(), next.request), ("s", Request(4)));
        porch.passed(&session);
        assert!(matches!(receive(5, STATE), Received::Passes(_)));
        assert_eq!(porch.coming.load(Ordering::SeqCst), 0);
    }

    /// The deletion may be waiting for the very run that is to be ended.
    #[test]
    fn what_ends_a_run_waits_for_no_deletion() {
        let porch = Porch::new(8);
        let receive = |request, command, is_there| porch.receive(arrival(request, command), |_| is_there);
        assert!(matches!(receive(1, DELETE, true), Received::Passes(_)));
        assert!(matches!(receive(2, CREATE, true), Received::Passes(_)));
        assert!(matches!(receive(3, STATE, true), Received::Waits));
        let abort = r#"{"type":"abort","sessionId":"s"}"#;
        assert!(matches!(receive(4, abort, true), Received::Passes(_)));
        assert!(matches!(receive(5, abort, false), Received::Waits), "there is nothing to end");
    }

    #[test]
    fn what_ends_a_run_comes_behind_what_waits_for_the_new_session() {
        let porch = Porch::new(8);
        let receive = |request, command, is_there| porch.receive(arrival(request, command), |_| is_there);
        let prompt = r#"{"type":"prompt","sessionId":"s","message":"Hello"}"#;
        let abort = r#"{"type":"abort","sessionId":"s"}"#;
        assert!(matches!(receive(1, CREATE, false), Received::Passes(_)));
        assert!(matches!(receive(2, prompt, false), Received::Waits));
        // The session is there before the answer of the command that made it.
        assert!(matches!(receive(3, abort, true), Received::Waits));
        porch.answered(Request(1));
        for expected in [2, 3] {
            let (session, next) = porch.take().expect("it is there");
            assert_eq!(next.request, Request(expected));
            porch.passed(&session);
        }
    }

    /// Sent in one breath, the abort means the prompt before it and not what the old session does.
    #[test]
    fn what_ends_a_run_of_the_new_session_waits_for_it() {
        let porch = Porch::new(8);
        let receive = |request, command| porch.receive(arrival(request, command), |_| true);
        let prompt = r#"{"type":"prompt","sessionId":"s","message":"Hello"}"#;
        let abort = r#"{"type":"abort","sessionId":"s"}"#;
        assert!(matches!(receive(1, DELETE), Received::Passes(_)));
        assert!(matches!(receive(2, CREATE), Received::Passes(_)));
        assert!(matches!(receive(3, prompt), Received::Waits));
        assert!(matches!(receive(4, abort), Received::Waits));
        let answer =
            r#"{"type":"extension_ui_response","sessionId":"s","requestId":"r","response":{"method":"cancelled"}}"#;
        assert!(matches!(receive(5, answer), Received::Passes(_)), "only the old one can have asked");
    }

    #[test]
    fn deletion_that_was_refused_holds_nobody() {
        let porch = Porch::new(8);
        let receive = |request, command| porch.receive(arrival(request, command), |_| true);
        assert!(matches!(receive(1, DELETE), Received::Passes(_)));
        porch.answered(Request(1));
        assert!(matches!(receive(2, CREATE), Received::Passes(_)));
        assert!(matches!(receive(3, STATE), Received::Passes(_)));
    }
}
