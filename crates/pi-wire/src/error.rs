//! Why a command that was understood did not succeed.
//!
//! [`Error`] is the vocabulary onto which server, engine and session map what went wrong; its texts begin as §22.1 of
//! the document wants them. [`ErrorCode`] is the same for programs. Clients branch on the code, people read the text.

mod code;

use pi_transcript::{EntryId, ModelId, ProviderId, RequestId, SessionId};

pub use self::code::{ErrorCode, Retry};
use crate::{
    id::{CommandId, ContextSourceId, ExtensionId, ModelRequestId},
    registry::Role,
    response::Failure,
};

/// Which token of identity was used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    Id,
    IdempotencyKey,
}

impl Identity {
    const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::IdempotencyKey => "idempotencyKey",
        }
    }
}

/// What is limited to so many commands in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateScope {
    Client,
    Global,
    UiResponses,
}

/// Where commands may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingScope {
    Connection,
    Transport,
}

/// What only the server can see about the path of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionPathError {
    #[error("sessionPath must be under an allowed session directory")]
    OutsideRoots,
    #[error("sessionPath must be an existing session file")]
    Missing,
    #[error("sessionPath must be a file with a session header")]
    NotASession,
}

/// What was asked for and is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("Entry {0} not found")]
    Entry(EntryId),
    #[error("Request {0} not found")]
    ModelRequest(ModelRequestId),
    #[error("Context source {0} not found")]
    ContextSource(ContextSourceId),
    #[error("Extension {0} not found")]
    Extension(ExtensionId),
    #[error("Tool {0} not found")]
    Tool(String),
}

/// Why a command did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("Session {0} not found")]
    SessionNotFound(SessionId),
    #[error("Session {session_id} not found for ifSessionVersion={version}")]
    SessionNotFoundForVersion { session_id: SessionId, version: u64 },
    #[error("Session {0} already exists")]
    SessionExists(SessionId),
    #[error("Session limit reached ({limit} sessions)")]
    SessionLimit { limit: u64 },
    /// The file is loaded under another id, or another process writes it.
    #[error("Session file is in use by session {by}")]
    SessionInUse { by: SessionId },
    #[error(transparent)]
    SessionPath(SessionPathError),
    #[error("CWD must point to an existing directory")]
    CwdMissing,
    #[error("Session version mismatch: expected {expected}, got {actual}")]
    VersionMismatch { expected: u64, actual: u64 },
    #[error("Conflicting {} '{value}': previously used for '{first}', now used for '{second}'", .identity.name())]
    Conflict { identity: Identity, value: String, first: String, second: String },
    #[error("Dependency '{0}' is unknown")]
    DependencyUnknown(CommandId),
    #[error("Dependency '{dependency}' failed: {error}")]
    DependencyFailed { dependency: CommandId, error: String },
    #[error("Dependency '{0}' is queued in the same lane and cannot be awaited from this command")]
    DependencyInversion(CommandId),
    #[error("Command '{0}' cannot depend on itself")]
    DependencySelf(CommandId),
    #[error("Dependency '{0}' is part of a cycle")]
    DependencyCycle(CommandId),
    #[error("Command 'dependsOn:{dependency}' timed out after {after_ms}ms")]
    DependencyTimeout { dependency: CommandId, after_ms: u64 },
    #[error("Command '{command}' timed out after {after_ms}ms")]
    Timeout { command: &'static str, after_ms: u64 },
    #[error("{}", rate_text(*.scope, *.per_minute))]
    RateLimited { scope: RateScope, per_minute: u64, retry_after_ms: u64 },
    #[error("Server busy - too many concurrent commands. Please retry.")]
    Busy { retry_after_ms: u64 },
    #[error("Too many pending commands for this {} (max {max})", pending_text(*.scope))]
    TooManyPending { scope: PendingScope, max: u64 },
    #[error("Connection limit reached ({limit} connections)")]
    ConnectionLimit { limit: u64 },
    #[error("Server is shutting down")]
    ShuttingDown,
    #[error("Command cancelled because server shutdown completed")]
    CancelledByShutdown,
    #[error("Command did not finish before previous shutdown and was marked failed during recovery")]
    Interrupted,
    #[error("Circuit breaker open for {provider} (recovery in {}s)", .recovery_ms.div_ceil(1000))]
    CircuitOpen { provider: ProviderId, recovery_ms: u64 },
    /// It is being tried whether the provider is well again.
    #[error("Circuit breaker open for {provider} (half-open, max test calls reached)")]
    CircuitTesting { provider: ProviderId },
    #[error("Bash circuit breaker open for session {session_id} (recovery in {}s)", .recovery_ms.div_ceil(1000))]
    BashCircuitOpen { session_id: SessionId, recovery_ms: u64 },
    #[error("Bash circuit breaker open globally (recovery in {}s)", .recovery_ms.div_ceil(1000))]
    BashCircuitOpenGlobally { recovery_ms: u64 },
    #[error("No pending UI request with id {0}")]
    NoPendingRequest(RequestId),
    #[error("Request {0} already settled")]
    RequestSettled(RequestId),
    #[error("Session ID mismatch for request {0}")]
    RequestMismatch(RequestId),
    /// The answer does not fit the question, which stays open.
    #[error("Answer refused: {0}")]
    AnswerRefused(pi_transcript::question::Misfit),
    #[error("Model not found: {provider}/{model_id}")]
    ModelNotFound { provider: ProviderId, model_id: ModelId },
    #[error(transparent)]
    NotFound(Missing),
    #[error("Queue changed: expected revision {expected}, got {actual}")]
    QueueChanged { expected: u64, actual: u64 },
    #[error("Run aborted")]
    Aborted,
    #[error("Provider {provider} failed: {message}")]
    ProviderFailed { provider: ProviderId, message: String },
    #[error("Durable journal initialization failed: {reason}")]
    JournalUnavailable { reason: String },
    #[error("Durable journal append failed during {phase} for command '{command}': {reason}")]
    JournalFailed { phase: &'static str, command: CommandId, reason: String },
    #[error("Session file cannot be written: {reason}")]
    StorageFailed { reason: String },
    #[error("Command '{command}' needs the role {}", role_text(*.role))]
    Forbidden { command: &'static str, role: Role },
    /// A fault of ours; the log has more under this name.
    #[error("Internal error ({incident})")]
    Internal { incident: String },
}

impl Error {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::SessionNotFound(_) | Self::SessionNotFoundForVersion { .. } => ErrorCode::SessionNotFound,
            Self::SessionExists(_) => ErrorCode::SessionExists,
            Self::SessionLimit { .. } => ErrorCode::SessionLimit,
            Self::SessionInUse { .. } => ErrorCode::SessionInUse,
            Self::SessionPath(_) => ErrorCode::InvalidSessionPath,
            Self::CwdMissing => ErrorCode::ValidationFailed,
            Self::VersionMismatch { .. } => ErrorCode::VersionMismatch,
            Self::Conflict { .. } => ErrorCode::Conflict,
            Self::DependencyUnknown(_) => ErrorCode::DependencyUnknown,
            Self::DependencyFailed { .. } => ErrorCode::DependencyFailed,
            Self::DependencyInversion(_) | Self::DependencySelf(_) | Self::DependencyCycle(_) => {
                ErrorCode::DependencyCycle
            }
            Self::DependencyTimeout { .. } => ErrorCode::DependencyTimeout,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::RateLimited { .. } => ErrorCode::RateLimited,
            Self::Busy { .. } => ErrorCode::Busy,
            Self::TooManyPending { .. } => ErrorCode::TooManyPending,
            Self::ConnectionLimit { .. } => ErrorCode::ConnectionLimit,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::CancelledByShutdown | Self::Interrupted => ErrorCode::Interrupted,
            Self::CircuitOpen { .. } | Self::CircuitTesting { .. } => ErrorCode::CircuitOpen,
            Self::BashCircuitOpen { .. } | Self::BashCircuitOpenGlobally { .. } => ErrorCode::BashCircuitOpen,
            Self::NoPendingRequest(_) => ErrorCode::NoPendingRequest,
            Self::RequestSettled(_) => ErrorCode::RequestSettled,
            Self::RequestMismatch(_) => ErrorCode::RequestMismatch,
            Self::AnswerRefused(_) => ErrorCode::AnswerRefused,
            Self::ModelNotFound { .. } => ErrorCode::ModelNotFound,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::QueueChanged { .. } => ErrorCode::QueueChanged,
            Self::Aborted => ErrorCode::Aborted,
            Self::ProviderFailed { .. } => ErrorCode::ProviderFailed,
            Self::JournalUnavailable { .. } => ErrorCode::JournalUnavailable,
            Self::JournalFailed { .. } | Self::StorageFailed { .. } => ErrorCode::StorageFailed,
            Self::Forbidden { .. } => ErrorCode::Forbidden,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    /// The field that is to blame, where one is.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::SessionNotFound(_) | Self::SessionExists(_) => Some("sessionId"),
            Self::SessionPath(_) | Self::SessionInUse { .. } => Some("sessionPath"),
            Self::CwdMissing => Some("cwd"),
            Self::SessionNotFoundForVersion { .. } | Self::VersionMismatch { .. } => Some("ifSessionVersion"),
            Self::Conflict { identity, .. } => Some(identity.name()),
            Self::DependencyUnknown(_)
            | Self::DependencyFailed { .. }
            | Self::DependencyInversion(_)
            | Self::DependencySelf(_)
            | Self::DependencyCycle(_)
            | Self::DependencyTimeout { .. } => Some("dependsOn"),
            Self::NoPendingRequest(_) | Self::RequestSettled(_) | Self::RequestMismatch(_) => Some("requestId"),
            Self::AnswerRefused(_) => Some("response"),
            Self::QueueChanged { .. } => Some("revision"),
            Self::SessionLimit { .. }
            | Self::Timeout { .. }
            | Self::RateLimited { .. }
            | Self::Busy { .. }
            | Self::TooManyPending { .. }
            | Self::ConnectionLimit { .. }
            | Self::ShuttingDown
            | Self::CancelledByShutdown
            | Self::Interrupted
            | Self::CircuitOpen { .. }
            | Self::CircuitTesting { .. }
            | Self::BashCircuitOpen { .. }
            | Self::BashCircuitOpenGlobally { .. }
            | Self::ModelNotFound { .. }
            | Self::NotFound(_)
            | Self::Aborted
            | Self::ProviderFailed { .. }
            | Self::JournalUnavailable { .. }
            | Self::JournalFailed { .. }
            | Self::StorageFailed { .. }
            | Self::Forbidden { .. }
            | Self::Internal { .. } => None,
        }
    }

    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        self.code().hint()
    }

    /// How long to wait before trying again, where that is known.
    pub const fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after_ms, .. } | Self::Busy { retry_after_ms } => Some(*retry_after_ms),
            Self::CircuitOpen { recovery_ms, .. }
            | Self::BashCircuitOpen { recovery_ms, .. }
            | Self::BashCircuitOpenGlobally { recovery_ms } => Some(*recovery_ms),
            Self::SessionNotFound(_)
            | Self::SessionNotFoundForVersion { .. }
            | Self::SessionExists(_)
            | Self::SessionLimit { .. }
            | Self::SessionInUse { .. }
            | Self::SessionPath(_)
            | Self::CwdMissing
            | Self::VersionMismatch { .. }
            | Self::Conflict { .. }
            | Self::DependencyUnknown(_)
            | Self::DependencyFailed { .. }
            | Self::DependencyInversion(_)
            | Self::DependencySelf(_)
            | Self::DependencyCycle(_)
            | Self::DependencyTimeout { .. }
            | Self::Timeout { .. }
            | Self::TooManyPending { .. }
            | Self::ConnectionLimit { .. }
            | Self::ShuttingDown
            | Self::CancelledByShutdown
            | Self::Interrupted
            | Self::CircuitTesting { .. }
            | Self::NoPendingRequest(_)
            | Self::RequestSettled(_)
            | Self::RequestMismatch(_)
            | Self::AnswerRefused(_)
            | Self::ModelNotFound { .. }
            | Self::NotFound(_)
            | Self::QueueChanged { .. }
            | Self::Aborted
            | Self::ProviderFailed { .. }
            | Self::JournalUnavailable { .. }
            | Self::JournalFailed { .. }
            | Self::StorageFailed { .. }
            | Self::Forbidden { .. }
            | Self::Internal { .. } => None,
        }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            error: error.to_string(),
            code: error.code().into(),
            field: error.field().map(ToOwned::to_owned),
            hint: error.hint().map(ToOwned::to_owned),
            retry_after_ms: error.retry_after_ms(),
        }
    }
}

fn rate_text(scope: RateScope, per_minute: u64) -> String {
    match scope {
        RateScope::Client => format!("Rate limit exceeded ({per_minute} commands/minute)"),
        RateScope::Global => format!("Global rate limit exceeded ({per_minute} commands/minute)"),
        RateScope::UiResponses => format!("Extension UI response rate limit exceeded ({per_minute} responses/minute)"),
    }
}

const fn pending_text(scope: PendingScope) -> &'static str {
    match scope {
        PendingScope::Connection => "connection",
        PendingScope::Transport => "transport",
    }
}

const fn role_text(role: Role) -> &'static str {
    match role {
        Role::Viewer => "viewer",
        Role::Driver => "driver",
        Role::Operator => "operator",
    }
}
