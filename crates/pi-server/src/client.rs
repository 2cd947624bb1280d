//! What a client says: each frame becomes a command for the engine, or an answer that says why not.

use std::sync::Arc;

use pi_engine::{Admission, driver::Mailbox};
use pi_transcript::SessionId;
use pi_wire::{
    Activity, Class, Command, Frame, Outcome, Reject, Response, SessionCommand, error::RateScope, reject::Cause,
};
use serde::Serialize;

use crate::{
    answer::Answer,
    connection::Connection,
    hall::{Counts, Hall, Job, connects},
    header::header,
    lobby::{Waiting, too_many_pending},
    porch::{Arrival, Received},
    speaker::frame,
};

/// A connection as its reader has it.
pub struct Client {
    pub hall: Arc<Hall>,
    pub engine: Mailbox<Job, Answer>,
    pub connection: Arc<Connection>,
}

/// The server has ended and takes no more frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server has ended")]
pub struct Ended;

impl Client {
    /// Takes one frame. Waits while the engine has too much to do, which makes the client wait.
    pub async fn hear(&self, bytes: &[u8]) -> Result<(), Ended> {
        match pi_wire::parse(bytes, &self.hall.settings.frame) {
            Ok(frame) => self.submit(frame).await,
            Err(reject) => {
                // What cannot be understood costs as much as what can.
                let rates = &self.hall.rates;
                match self.counted(rates.count(&self.connection.identity.client)) {
                    Ok(()) => self.reject(*reject),
                    Err(error) => {
                        let Reject { id, command, .. } = *reject;
                        self.send(&Response::<()> { id, ..Response::failure(command, (&error).into()) });
                    }
                }
                Ok(())
            }
        }
    }

    /// A line that was too long to be read to its end.
    pub fn refuse_size(&self, beginning: &[u8], bytes: usize) {
        let limit = self.hall.settings.frame.bytes;
        self.reject(Reject::unreadable(beginning, Cause::Oversize { size: bytes, limit }));
    }

    async fn submit(&self, said: Frame) -> Result<(), Ended> {
        if let Err(error) = self.count(&said) {
            self.send(&Response::<()>::error(&said, &error));
            return Ok(());
        }
        let id = said.head.id.clone();
        let waiting = Waiting { connection: Arc::clone(&self.connection), id, connects: connects(&said.command) };
        let request = self.hall.lobby.wait(waiting);
        let arrival = Arrival { request, frame: said, connection: Arc::clone(&self.connection) };
        match self.hall.porch.receive(arrival, |session| self.hall.rooms.get(session).is_some()) {
            Received::Passes(arrival) => admit(&self.hall, &self.engine, arrival).await,
            Received::Waits => Ok(()),
            Received::Full(arrival) => {
                self.hall.lobby.take(request);
                self.send(&Response::<()>::error(&arrival.frame, &too_many_pending(self.hall.settings.pending)));
                Ok(())
            }
        }
    }

    /// Whether it may send one more.
    fn count(&self, said: &Frame) -> Result<(), pi_wire::Error> {
        let rates = &self.hall.rates;
        let client = &self.connection.identity.client;
        let counted = if is_urgent(&said.command) { rates.count_urgent(client) } else { rates.count(client) };
        let counted =
            counted.and_then(|()| answered(&said.command).map_or(Ok(()), |session| rates.count_answer(session)));
        self.counted(counted)
    }

    /// Counts a refusal for people.
    fn counted(&self, counted: Result<(), pi_wire::Error>) -> Result<(), pi_wire::Error> {
        let counts = &self.hall.counts;
        counted.inspect_err(|error| {
            let pi_wire::Error::RateLimited { scope, .. } = error else { return };
            Counts::count(match scope {
                RateScope::Client | RateScope::Urgent => &counts.refused_rate,
                RateScope::Global => &counts.refused_global_rate,
                RateScope::UiResponses => &counts.refused_answers,
            });
        })
    }

    fn reject(&self, reject: Reject) {
        if matches!(reject.cause, Cause::Oversize { .. }) {
            Counts::count(&self.hall.counts.refused_size);
        }
        self.send(&reject.response());
    }

    fn send<D: Serialize>(&self, response: &Response<D>) {
        debug_assert!(matches!(response.outcome, Outcome::Failure(_)), "only refusals are answered here");
        if self.connection.outbox.answer(frame(response)).is_err() {
            tracing::info!(connection = self.connection.id.0, "a client reads too slowly and is closed");
        }
    }
}

/// Hands a command to the engine, with all that decides when it runs.
pub(crate) async fn admit(hall: &Hall, engine: &Mailbox<Job, Answer>, arrival: Arrival) -> Result<(), Ended> {
    let Arrival { request, frame, connection } = arrival;
    let room = frame.command.session().and_then(|session| hall.rooms.get(session));
    if let Some(room) = &room
        && room.is_changed_elsewhere()
    {
        // Before the command, which may be right for an earlier version only.
        engine.changed(room.id().as_str().into()).await.map_err(|_| Ended)?;
        hall.keep_mark(room).await;
    }
    let activity = room.as_ref().map_or(Activity::Idle, |room| room.activity_ahead());
    let has_command = |name: &str| room.as_ref().is_some_and(|room| room.has_command(name));
    let class = frame.command.class(activity, has_command);
    let header = header(&frame, &connection.identity, activity, has_command);
    let is_run = class == Class::Run && header.depends_on.is_empty();
    let admitted = room.filter(|_| header.order.is_work());
    let admitted = admitted.map(|room| if is_run { room.admit_run() } else { room.admit_work() });
    let job = Job { command: frame.command, class, connection, admitted, entry: None };
    engine.admit(Admission { request, header, command: job }).await.map_err(|_| Ended)
}

/// Whether it ends or answers a run. Keys for a component are many, and are counted as everything else.
pub(crate) fn is_urgent(command: &Command) -> bool {
    let Command::Session(_, command) = command else { return false };
    matches!(
        command,
        SessionCommand::Abort(_)
            | SessionCommand::AbortBash(_)
            | SessionCommand::AbortCompaction(_)
            | SessionCommand::AbortRetry(_)
            | SessionCommand::ExtensionUiResponse(_)
    )
}

/// Whether it ends what a session does.
pub(crate) fn is_stopping(command: &Command) -> bool {
    is_urgent(command) && answered(command).is_none()
}

/// The session whose question a command answers.
fn answered(command: &Command) -> Option<&SessionId> {
    match command {
        Command::Session(session, SessionCommand::ExtensionUiResponse(_)) => Some(session),
        Command::Server(_) | Command::Session(..) => None,
    }
}
