//! What an answer brings with it: events that everybody hears of, and a connection that listens from here on.
//!
//! All of it is done where the answer is sent, right behind it: a client hears nothing of a session before it was told
//! that it listens, and nothing after that is left out.

use std::sync::Arc;

use pi_engine::{Ending, Header, Outcome, Replay};
use pi_transcript::SessionId;
use pi_wire::{
    Command, Kind, ServerCommand, ServerEvent,
    command::{SetLifecycle, Subscribe, SwitchSession, Unsubscribe},
    event::{SessionCreated, SessionDeleted, UpdateForm},
    response::{ExtensionList, ExtensionState, OpenedSession, Resume, Subscription},
};
use serde::de::DeserializeOwned;

use super::{Hall, as_server, is_kind};
use crate::{answer::Answer, connection::Connection, feed::Position, lobby::Waiting};

impl Hall {
    /// Does what follows an answer.
    pub(super) fn follow(&self, waiting: Option<&Waiting>, header: &Header, outcome: &Outcome<Answer>, replay: Replay) {
        let Ending::Succeeded(answer) = &outcome.ending else { return };
        if replay == Replay::First {
            self.broadcast_change(header, answer);
        }
        if let Some(waiting) = waiting
            && let Some(command) = waiting.connects.as_ref().and_then(as_server)
        {
            self.connect(command, answer, &waiting.connection, replay);
        }
    }

    /// Tells everybody that there is a session more, or less, or that extensions were switched.
    pub(super) fn broadcast_change(&self, header: &Header, answer: &Answer) {
        if is_kind(header, Kind::CreateSession) || is_kind(header, Kind::LoadSession) {
            let Some(OpenedSession { session_id, session_info }) = data(answer) else { return };
            tracing::info!(session = %session_id, command = %header.kind, "a session was opened");
            let data = Box::new(SessionCreated { session_id, session_info });
            self.lobby.broadcast(&ServerEvent::SessionCreated { data });
        } else if is_kind(header, Kind::DeleteSession)
            && let Some(about) = &header.about
        {
            tracing::info!(session = %about, "a session was unloaded");
            let data = SessionDeleted { session_id: about.as_str().into() };
            self.lobby.broadcast(&ServerEvent::SessionDeleted { data });
        } else if is_kind(header, Kind::EnableExtension) || is_kind(header, Kind::DisableExtension) {
            let Some(ExtensionState { extension }) = data(answer) else { return };
            tracing::info!(extension = %extension.extension_id, command = %header.kind, "an extension was switched");
            self.lobby
                .broadcast(&ServerEvent::ExtensionsChanged { data: ExtensionList { extensions: vec![extension] } });
        } else if is_kind(header, Kind::ReloadExtensions) {
            let Some(data) = data::<ExtensionList>(answer) else { return };
            self.lobby.broadcast(&ServerEvent::ExtensionsChanged { data });
        }
    }

    /// Lets a connection hear of a session, or not. Done again for a repeated answer: the connection may be another one.
    fn connect(&self, command: &ServerCommand, answer: &Answer, connection: &Arc<Connection>, replay: Replay) {
        match command {
            ServerCommand::SwitchSession(SwitchSession { session_id }) => {
                self.listen(session_id, connection, None, UpdateForm::Cumulative);
            }
            ServerCommand::Subscribe(Subscribe { session_id, after_seq, epoch }) => {
                if replay == Replay::Replayed && self.is_heard(session_id, connection) {
                    // It is further than the answer says, and would be sent events twice.
                    return;
                }
                let Some(told) = data::<Subscription>(answer) else { return };
                let after = match told.resume {
                    // What happened since the answer was made comes first.
                    Resume::Live => Some(Position { epoch: told.epoch, seq: told.seq }),
                    Resume::Replay | Resume::Snapshot => {
                        epoch.clone().zip(*after_seq).map(|(epoch, seq)| Position { epoch, seq })
                    }
                };
                self.listen(session_id, connection, after.as_ref(), UpdateForm::Deltas);
            }
            ServerCommand::Unsubscribe(Unsubscribe { session_id }) => {
                if let Some(room) = self.rooms.get(session_id) {
                    room.feed().leave(&connection.outbox);
                }
                connection.outbox.leave(session_id.clone());
            }
            ServerCommand::SetLifecycle(SetLifecycle { lifecycle }) => self.lobby.choose(connection, *lifecycle),
            // No other command connects; the registry says which do.
            ServerCommand::ListSessions(_)
            | ServerCommand::CreateSession(_)
            | ServerCommand::DeleteSession(_)
            | ServerCommand::GetMetrics(_)
            | ServerCommand::HealthCheck(_)
            | ServerCommand::ListStoredSessions(_)
            | ServerCommand::LoadSession(_)
            | ServerCommand::GetStartupRecovery(_)
            | ServerCommand::GetCommandHistory(_)
            | ServerCommand::DeleteStoredSession(_)
            | ServerCommand::ListExtensions(_)
            | ServerCommand::EnableExtension(_)
            | ServerCommand::DisableExtension(_)
            | ServerCommand::ReloadExtensions(_) => {
                tracing::error!(command = command.kind().name(), "a command connects, and nobody knows how");
            }
        }
    }

    fn is_heard(&self, id: &SessionId, by: &Connection) -> bool {
        self.rooms.get(id).is_some_and(|room| room.feed().is_heard_by(&by.outbox))
    }

    fn listen(&self, id: &SessionId, connection: &Arc<Connection>, after: Option<&Position>, form: UpdateForm) {
        // A session that is gone has been announced as such.
        let Some(room) = self.rooms.get(id) else { return };
        let (start, cursor) = room.feed().join(Arc::clone(&connection.outbox), after, form);
        connection.outbox.join(start, cursor.for_client(self.lobby.reader(&connection.identity)));
    }
}

/// The data of a success, read again.
fn data<T: DeserializeOwned>(answer: &Answer) -> Option<T> {
    match answer {
        pi_wire::Outcome::Success(data) => serde_json::from_str(data.as_ref()?.get()).ok(),
        pi_wire::Outcome::Failure(_) => None,
    }
}

/// What is done once more when the answer to this command is repeated.
pub(crate) fn connects(command: &Command) -> Option<Command> {
    command.kind().spec().repeats_on_replay().then(|| command.clone())
}
