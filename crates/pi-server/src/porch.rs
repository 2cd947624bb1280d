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

use crate::{client::is_urgent, connection::Connection};

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
    /// Sessions that are on their way: almost always none, and then nothing else is looked at.
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
            self.coming.store(state.sessions.len(), Ordering::SeqCst);
            return Received::Passes(arrival);
        }
        if self.coming.load(Ordering::SeqCst) == 0 {
            return Received::Passes(arrival);
        }
        let mut state = self.state();
        let Some(session) = state.awaited(&arrival, is_there) else { return Received::Passes(arrival) };
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
            self.coming.store(state.sessions.len(), Ordering::SeqCst);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The session that a command must wait for. One that is there is waited for only behind others who did.
    fn awaited(&self, arrival: &Arrival, is_there: impl FnOnce(&SessionId) -> bool) -> Option<SessionId> {
        let (frame, client) = (&arrival.frame, &arrival.connection.identity.client);
        if let Some(subject) = frame.command.subject()
            && let Some(coming) = self.sessions.get(subject)
            && (coming.is_passing || !coming.waiting.is_empty() || !is_there(subject))
        {
            return Some(subject.clone());
        }
        // What ends or answers a run must not wait for it here, where nobody would see that it does.
        if is_urgent(&frame.command) {
            return None;
        }
        let on_waiting = |id: &CommandId| self.names.get(&(client.clone(), id.clone()));
        frame.head.depends_on.iter().find_map(on_waiting).cloned()
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
