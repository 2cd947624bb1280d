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
    /// What ends or answers a run, of one client.
    Urgent,
    UiResponses,
}

/// Where commands may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingScope {
    /// All connections of one client identity.
    Client,
    Connection,
    Transport,
}

/// Which limit makes a server busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BusyLimit {
    #[error("server.maxInFlight is {0}")]
    InFlight(u64),
    #[error("server.outcomesMost is {0}: so many outcomes are kept for commands that are sent again")]
    Outcomes(u64),
    #[error("server.outcomesBytes is {0}: so much is kept of outcomes for commands that are sent again")]
    OutcomeBytes(u64),
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
    /// With the member of the command that named it.
    #[error("Entry {id} not found")]
    Entry { id: EntryId, member: Option<&'static str> },
    #[error("Request {0} not found")]
    ModelRequest(ModelRequestId),
    /// The one before which a page was to end.
    #[error("Request {0} not found")]
    RequestBefore(ModelRequestId),
    #[error("Context source {0} not found")]
    ContextSource(ContextSourceId),
    #[error("Extension {0} not found")]
    Extension(ExtensionId),
    #[error("Tool {0} not found")]
    Tool(String),
}

impl Missing {
    /// The member of the command that named it.
    const fn member(&self) -> Option<&'static str> {
        match self {
            Self::Entry { member, .. } => *member,
            Self::ModelRequest(_) => Some("requestId"),
            Self::RequestBefore(_) => Some("before"),
            Self::ContextSource(_) => Some("sourceId"),
            Self::Extension(_) => Some("extensionId"),
            Self::Tool(_) => Some("tools"),
        }
    }

    /// Where those are listed that are there.
    const fn hint(&self) -> &'static str {
        match self {
            Self::Entry { .. } => "get_tree shows the entries of the session",
            Self::ModelRequest(_) | Self::RequestBefore(_) => "list_requests shows the requests that are kept",
            Self::ContextSource(_) => "list_context_sources shows them",
            Self::Extension(_) => "list_extensions shows them",
            Self::Tool(_) => "get_tools shows the tools of the session",
        }
    }
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
    /// The file is loaded under another id.
    #[error("Session file is in use by session {by}")]
    SessionInUse { by: SessionId },
    /// Somebody else than this server writes it.
    #[error("Session file is in use by another process")]
    SessionInUseElsewhere,
    #[error(transparent)]
    SessionPath(SessionPathError),
    /// It was there when the server saw it last.
    #[error("Session {session_id} has lost its file {path}")]
    SessionFileMissing { session_id: SessionId, path: String },
    #[error("CWD must point to an existing directory")]
    CwdMissing,
    /// Where a session worked when it was there last.
    #[error("CWD must point to an existing directory: the session worked in {cwd}")]
    FolderMissing { cwd: String },
    /// Somebody else's file is not replaced.
    #[error("A file is there already: {path}")]
    FileExists { path: String },
    /// The operator allows others.
    #[error("CWD must be inside an allowed root: {}", .roots.join(", "))]
    CwdOutside { roots: Vec<String> },
    #[error("Session version mismatch: expected {expected}, got {actual}")]
    VersionMismatch { expected: u64, actual: u64 },
    #[error("Conflicting {} '{value}': {}", .identity.name(), conflict_text(first, second))]
    Conflict { identity: Identity, value: String, first: String, second: String },
    #[error("Dependency '{0}' is unknown")]
    DependencyUnknown(CommandId),
    #[error("Dependency '{dependency}' failed: {error}")]
    DependencyFailed { dependency: CommandId, error: String },
    #[error("Dependency '{0}' is queued in the same lane and cannot be awaited from this command")]
    DependencyInverted(CommandId),
    #[error("Command '{0}' cannot depend on itself")]
    DependencySelf(CommandId),
    #[error("Command 'dependsOn:{dependency}' timed out after {after_ms}ms")]
    DependencyTimeout { dependency: CommandId, after_ms: u64 },
    #[error("Command '{command}' timed out after {after_ms}ms")]
    Timeout { command: &'static str, after_ms: u64 },
    /// A fault of ours: the log has the panic.
    #[error("Command '{command}' failed: its handler panicked")]
    Panicked { command: &'static str },
    /// Its work did not stop when it was asked to, and was ended by force.
    #[error("Command '{command}' was cancelled")]
    Cancelled { command: &'static str },
    #[error("{}", rate_text(*.scope, *.per_minute))]
    RateLimited { scope: RateScope, per_minute: u64, retry_after_ms: u64 },
    #[error("Server busy - too many concurrent commands. Please retry. ({})", .limit)]
    Busy { limit: BusyLimit, retry_after_ms: u64 },
    #[error("More keys wait for this component than it takes. Please retry.")]
    KeysWaiting { retry_after_ms: u64 },
    #[error("Too many pending commands for this {} (max {max})", pending_text(*.scope))]
    TooManyPending { scope: PendingScope, max: u64, retry_after_ms: u64 },
    #[error("Connection limit reached ({limit} connections)")]
    ConnectionLimit { limit: u64, retry_after_ms: u64 },
    #[error("Server is shutting down")]
    ShuttingDown,
    #[error("Server has completed shutdown")]
    ShutDown,
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
    /// Its provider may have it all the same.
    #[error("Model not found: {provider}/{model_id}")]
    ModelNotListed { provider: ProviderId, model_id: ModelId },
    /// One cannot talk to it.
    #[error("Model not found: {provider}/{model_id} does not answer with words")]
    ModelMute { provider: ProviderId, model_id: ModelId },
    #[error("Model {provider}/{model_id} has no credential: set {}", .settable.join(" or "))]
    NoCredential {
        provider: ProviderId,
        model_id: ModelId,
        /// Variables, and members of files.
        settable: Vec<String>,
    },
    #[error(transparent)]
    NotFound(Missing),
    #[error("Queue changed: expected revision {expected}, got {actual}")]
    QueueChanged { expected: u64, actual: u64 },
    #[error("Run aborted")]
    Aborted,
    /// What was to be said was stopped on its way: it stands nowhere.
    #[error("Aborted before it was said")]
    AbortedUnsaid,
    /// With how long the provider is left alone, where it is by now.
    #[error("Provider {provider} failed: {message}")]
    ProviderFailed { provider: ProviderId, message: String, retry_after_ms: Option<u64> },
    #[error("Extension {extension} failed: {message}")]
    ExtensionFailed { extension: String, message: String },
    /// The session will not do it, for a reason of its own, such as that policy forbids it.
    #[error("Refused: {reason}")]
    Refused { reason: String },
    #[error("Refused: there is nothing to compact")]
    NothingToCompact,
    #[error("Refused: the cursor is none that this list gave; begin again without one")]
    CursorUnknown,
    #[error("Durable journal initialization failed: {reason}")]
    JournalNotOpened { reason: String },
    #[error("Durable journal is not available: {reason}")]
    JournalUnavailable { reason: String },
    #[error("Durable journal append failed for command '{command}': {reason}")]
    JournalFailed { command: &'static str, reason: String },
    /// It is answered again, and not run again.
    #[error("The command has ended, and its outcome cannot be read from the durable journal")]
    OutcomeUnreadable,
    #[error("Session file cannot be written: {reason}")]
    StorageFailed { reason: String },
    #[error("Session file cannot be read: {reason}")]
    StorageUnreadable { reason: String },
    #[error("Command '{command}' needs the role {}", role_text(*.role))]
    Forbidden { command: &'static str, role: Role },
    /// A fault of ours; the log has more under this name.
    #[error("Internal error ({incident})")]
    Internal { incident: String },
}

impl Error {
    pub const fn code(&self) -> ErrorCode {
        self.facts().code
    }

    /// The field that is to blame, where one is.
    pub const fn field(&self) -> Option<&'static str> {
        self.facts().field
    }

    /// What to do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        let Facts { code, hint, .. } = self.facts();
        if hint.is_some() { hint } else { code.hint() }
    }

    /// How long to wait before trying again, where that is known.
    pub const fn retry_after_ms(&self) -> Option<u64> {
        self.facts().retry_after_ms
    }

    const fn facts(&self) -> Facts {
        match self {
            Self::SessionNotFound(_) => Facts::about("sessionId", ErrorCode::SessionNotFound),
            Self::SessionNotFoundForVersion { .. } => Facts::about("ifSessionVersion", ErrorCode::SessionNotFound),
            Self::SessionExists(_) => Facts::about("sessionId", ErrorCode::SessionExists),
            Self::SessionLimit { .. } => Facts::of(ErrorCode::SessionLimit),
            Self::SessionInUse { .. } | Self::SessionInUseElsewhere => {
                Facts::about("sessionPath", ErrorCode::SessionInUse)
            }
            Self::SessionPath(_) => Facts::about("sessionPath", ErrorCode::InvalidSessionPath),
            Self::SessionFileMissing { .. } => Facts::about("sessionId", ErrorCode::SessionFileMissing),
            Self::FolderMissing { .. } => Facts::about("cwd", ErrorCode::FolderMissing),
            Self::FileExists { .. } => Facts::about("outputPath", ErrorCode::FileExists),
            Self::CwdMissing => Facts {
                hint: Some("name a folder that exists on the server's machine, or leave cwd out"),
                ..Facts::about("cwd", ErrorCode::ValidationFailed)
            },
            Self::CwdOutside { .. } => Facts::about("cwd", ErrorCode::OutsideRoots),
            Self::VersionMismatch { .. } => Facts::about("ifSessionVersion", ErrorCode::VersionMismatch),
            Self::Conflict { identity, .. } => Facts::about(identity.name(), ErrorCode::Conflict),
            Self::DependencyUnknown(_) => Facts::about("dependsOn", ErrorCode::DependencyUnknown),
            Self::DependencyFailed { .. } => Facts::about("dependsOn", ErrorCode::DependencyFailed),
            Self::DependencyInverted(_) | Self::DependencySelf(_) => {
                Facts::about("dependsOn", ErrorCode::DependencyCycle)
            }
            Self::DependencyTimeout { .. } => Facts::about("dependsOn", ErrorCode::DependencyTimeout),
            Self::Timeout { .. } => Facts::of(ErrorCode::Timeout),
            Self::Panicked { .. } | Self::Internal { .. } => Facts::of(ErrorCode::Internal),
            Self::Cancelled { .. } | Self::Aborted => Facts::of(ErrorCode::Aborted),
            Self::AbortedUnsaid => Facts::of(ErrorCode::AbortedUnsaid),
            Self::RateLimited { retry_after_ms, .. } => Facts::after(*retry_after_ms, ErrorCode::RateLimited),
            Self::Busy { retry_after_ms, .. } | Self::KeysWaiting { retry_after_ms } => {
                Facts::after(*retry_after_ms, ErrorCode::Busy)
            }
            Self::TooManyPending { retry_after_ms, .. } => Facts::after(*retry_after_ms, ErrorCode::TooManyPending),
            Self::ConnectionLimit { retry_after_ms, .. } => Facts::after(*retry_after_ms, ErrorCode::ConnectionLimit),
            Self::ShuttingDown | Self::ShutDown => Facts::of(ErrorCode::ShuttingDown),
            Self::CancelledByShutdown | Self::Interrupted => Facts::of(ErrorCode::Interrupted),
            Self::CircuitOpen { recovery_ms, .. } => Facts::after(*recovery_ms, ErrorCode::CircuitOpen),
            Self::CircuitTesting { .. } => Facts::of(ErrorCode::CircuitOpen),
            Self::BashCircuitOpen { recovery_ms, .. } | Self::BashCircuitOpenGlobally { recovery_ms } => {
                Facts::after(*recovery_ms, ErrorCode::BashCircuitOpen)
            }
            Self::NoPendingRequest(_) => Facts::about("requestId", ErrorCode::NoPendingRequest),
            Self::RequestSettled(_) => Facts::about("requestId", ErrorCode::RequestSettled),
            Self::RequestMismatch(_) => Facts::about("requestId", ErrorCode::RequestMismatch),
            Self::AnswerRefused(_) => Facts::about("response", ErrorCode::AnswerRefused),
            Self::ModelNotFound { .. } => Facts::of(ErrorCode::ModelNotFound),
            Self::ModelMute { .. } => Facts {
                hint: Some(
                    "it embeds, ranks, draws or speaks, which `pi provider call` asks for; get_available_models lists those \
                     that one can talk to",
                ),
                ..Facts::of(ErrorCode::ModelNotFound)
            },
            Self::ModelNotListed { .. } => Facts {
                hint: Some(
                    "its provider does not list it: get_available_models lists those that can be asked; one that you know \
                     better is added to metadata.models of the manifest or to models.json, or named with --model when \
                     the server is started",
                ),
                ..Facts::about("modelId", ErrorCode::ModelNotFound)
            },
            Self::NoCredential { .. } => Facts::about("provider", ErrorCode::ModelNotFound),
            Self::NotFound(missing) => {
                Facts { field: missing.member(), hint: Some(missing.hint()), ..Facts::of(ErrorCode::NotFound) }
            }
            Self::QueueChanged { .. } => Facts::about("revision", ErrorCode::QueueChanged),
            Self::ProviderFailed { retry_after_ms, .. } => {
                Facts { retry_after_ms: *retry_after_ms, ..Facts::of(ErrorCode::ProviderFailed) }
            }
            Self::ExtensionFailed { .. } => Facts::of(ErrorCode::ExtensionFailed),
            Self::Refused { .. } => Facts::of(ErrorCode::Refused),
            Self::NothingToCompact => Facts::of(ErrorCode::NothingToCompact),
            Self::CursorUnknown => Facts {
                hint: Some("leave cursor out for the first page, then send nextCursor of each answer as it is"),
                ..Facts::about("cursor", ErrorCode::Refused)
            },
            Self::JournalNotOpened { .. } | Self::JournalUnavailable { .. } => Facts::of(ErrorCode::JournalUnavailable),
            Self::JournalFailed { .. } | Self::StorageFailed { .. } => Facts::of(ErrorCode::StorageFailed),
            Self::StorageUnreadable { .. } => Facts {
                hint: Some("see whether the server may read the file, and its log"),
                ..Facts::of(ErrorCode::StorageFailed)
            },
            Self::OutcomeUnreadable => Facts {
                hint: Some("it may have been done: look at the state before it is sent under a new id and key"),
                ..Facts::of(ErrorCode::StorageFailed)
            },
            Self::Forbidden { .. } => Facts::of(ErrorCode::Forbidden),
        }
    }
}

/// What a program is told about an error.
struct Facts {
    code: ErrorCode,
    field: Option<&'static str>,
    retry_after_ms: Option<u64>,
    /// Where it can say more than its code.
    hint: Option<&'static str>,
}

impl Facts {
    const fn of(code: ErrorCode) -> Self {
        Self { code, field: None, retry_after_ms: None, hint: None }
    }

    const fn about(field: &'static str, code: ErrorCode) -> Self {
        Self { field: Some(field), ..Self::of(code) }
    }

    const fn after(milliseconds: u64, code: ErrorCode) -> Self {
        Self { retry_after_ms: Some(milliseconds), ..Self::of(code) }
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
        RateScope::Urgent => format!("Rate limit exceeded ({per_minute} aborts and answers/minute)"),
        RateScope::UiResponses => format!("Extension UI response rate limit exceeded ({per_minute} responses/minute)"),
    }
}

fn conflict_text(first: &str, second: &str) -> String {
    match first == second {
        true => format!("previously used for another '{first}', with other contents"),
        false => format!("previously used for '{first}', now used for '{second}'"),
    }
}

const fn pending_text(scope: PendingScope) -> &'static str {
    match scope {
        PendingScope::Client => "client",
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
