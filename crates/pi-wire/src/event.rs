//! What the server tells without being asked.
//!
//! [`ServerEvent`] is every event; [`session`] holds what belongs to one session.

pub mod session;

use pi_transcript::{
    SessionId, SessionInfo,
    json::{Open, present},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use self::session::{Numbered, OpenQuestion, SessionSnapshot, SnapshotReason, UpdateForm};
use crate::{
    error::ErrorCode,
    frame::Frame,
    id::{CommandId, Epoch, IdempotencyKey},
    registry::Feature,
    response::{ExtensionList, Outcome, Response, StartupRecovery},
};

/// The version of the document that we implement. Additions are announced as [`Feature`]s and do not change it.
pub const PROTOCOL_VERSION: &str = "1.0.0";

/// Everything that the server sends by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerEvent {
    /// The first frame on every connection.
    ServerReady {
        data: ServerReady,
    },
    /// The server closes soon.
    ServerShutdown {
        data: ServerShutdown,
    },
    /// There is a new session, made or loaded.
    SessionCreated {
        data: Box<SessionCreated>,
    },
    SessionDeleted {
        data: SessionDeleted,
    },
    /// Extensions were switched on or off, or loaded anew: how these stand now.
    ExtensionsChanged {
        data: ExtensionList,
    },
    /// What was found in the journal at the start; the second frame on a connection, if there is a journal.
    StartupRecoverySummary {
        data: Box<StartupRecovery>,
    },
    /// A command was admitted.
    CommandAccepted {
        data: CommandPhase,
    },
    /// Its handler begins.
    CommandStarted {
        data: CommandPhase,
    },
    /// It has its outcome.
    CommandFinished {
        data: FinishedCommand,
    },
    /// Something happened in a session.
    Event(Box<Numbered>),
    /// A client missed too much: what the session is now, instead of what happened.
    SessionSnapshot {
        data: Box<SessionSnapshot>,
    },
    /// The server closes this connection, with the numbers from which the client can resume.
    ConnectionClosing {
        data: ConnectionClosing,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ServerReady {
    pub server_version: String,
    pub protocol_version: String,
    pub transports: Vec<Transport>,
    /// What this server has beyond the document. A client uses an addition only if its name is here.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<Open<Feature>>>,
    /// Bytes of the largest frame that is read; what is larger is refused.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<u64>,
    /// What a session begins with if nobody says otherwise.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub usual: Option<Usual>,
}

/// What a session begins with if nobody says otherwise, as it was when the connection was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Usual {
    /// The folder in which the agent works.
    pub cwd: String,
    /// Who answers, as `provider/model`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl ServerReady {
    /// Of a server with all additions.
    pub fn new(server_version: &str, max_message_bytes: u64) -> Self {
        Self {
            server_version: server_version.to_owned(),
            protocol_version: PROTOCOL_VERSION.to_owned(),
            transports: vec![Transport::Websocket, Transport::Stdio],
            features: Some(Feature::ALL.map(Open::Known).to_vec()),
            max_message_bytes: Some(max_message_bytes),
            usual: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Websocket,
    Stdio,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerShutdown {
    pub reason: ShutdownReason,
    /// How long commands in flight still have.
    pub timeout_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ShutdownReason {
    GracefulShutdown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    pub session_id: SessionId,
    pub session_info: SessionInfo,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    pub session_id: SessionId,
}

/// A command that was admitted or begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CommandPhase {
    /// The client's id, or one that the server made; for other clients always an opaque one.
    pub command_id: CommandId,
    pub command_type: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Always there; empty for other clients.
    pub depends_on: Vec<CommandId>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub if_session_version: Option<u64>,
    /// Never for other clients.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
}

impl CommandPhase {
    /// Of `frame`, for the client that sent it. `command_id` is its id, or the one that the server made for it.
    pub fn of(frame: &Frame, command_id: CommandId) -> Self {
        Self {
            command_id,
            command_type: frame.kind().name().to_owned(),
            session_id: frame.command.subject().cloned(),
            depends_on: frame.head.depends_on.clone(),
            if_session_version: frame.head.if_session_version,
            idempotency_key: frame.head.idempotency_key.clone(),
        }
    }

    /// For every other client: an opaque id, and neither keys nor dependencies.
    #[must_use]
    pub fn for_others(&self, opaque: CommandId) -> Self {
        Self { command_id: opaque, depends_on: Vec::new(), idempotency_key: None, ..self.clone() }
    }
}

/// A command that has its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct FinishedCommand {
    #[serde(flatten)]
    pub command: CommandPhase,
    pub success: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub code: Option<Open<ErrorCode>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_version: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
}

impl FinishedCommand {
    pub fn of<D>(command: CommandPhase, response: &Response<D>) -> Self {
        let failure = match &response.outcome {
            Outcome::Success(_) => None,
            Outcome::Failure(failure) => Some(failure),
        };
        Self {
            command,
            success: failure.is_none(),
            error: failure.map(|failure| failure.error.clone()),
            code: failure.map(|failure| failure.code.clone()),
            session_version: response.session_version,
            replayed: response.replayed.then_some(true),
        }
    }

    /// For every other client. Error texts may name ids, so only the code is left.
    #[must_use]
    pub fn for_others(&self, opaque: CommandId) -> Self {
        Self { command: self.command.for_others(opaque), error: None, ..self.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionClosing {
    pub reason: ClosingReason,
    /// The last number that was sent for each session that the connection listened to.
    pub resume: Vec<ResumePoint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ClosingReason {
    /// The client reads more slowly than events happen.
    TooSlow,
    /// No sign of life.
    Idle,
    /// A frame was larger than is ever read.
    TooLarge,
    ShuttingDown,
}

/// Where `subscribe` can go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResumePoint {
    pub session_id: SessionId,
    pub epoch: Epoch,
    pub seq: u64,
}
