//! Why a command failed, for programs: what it is, whether to try again, what to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Why, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    InvalidJson,
    NotAnObject,
    DuplicateMember,
    TooDeep,
    TooManyValues,
    MessageTooLarge,
    UnknownCommand,
    ValidationFailed,
    InvalidSessionPath,
    OutsideRoots,
    SessionNotFound,
    SessionExists,
    SessionLimit,
    SessionInUse,
    SessionFileMissing,
    FolderMissing,
    FileExists,
    VersionMismatch,
    Conflict,
    DependencyUnknown,
    DependencyFailed,
    DependencyTimeout,
    DependencyCycle,
    Timeout,
    RateLimited,
    Busy,
    TooManyPending,
    ConnectionLimit,
    ShuttingDown,
    Interrupted,
    CircuitOpen,
    BashCircuitOpen,
    NoPendingRequest,
    RequestSettled,
    RequestMismatch,
    AnswerRefused,
    ModelNotFound,
    NotFound,
    QueueChanged,
    Aborted,
    AbortedUnsaid,
    ProviderFailed,
    ExtensionFailed,
    Refused,
    NothingToCompact,
    JournalUnavailable,
    StorageFailed,
    Forbidden,
    Internal,
}

/// When it makes sense to try again, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same command will fail again.
    Never,
    /// It was not admitted: send the same frame again, later.
    SameId,
    /// It was admitted and its failure is its outcome: send it under a new id and key.
    NewId,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 49] = [
        Self::InvalidJson,
        Self::NotAnObject,
        Self::DuplicateMember,
        Self::TooDeep,
        Self::TooManyValues,
        Self::MessageTooLarge,
        Self::UnknownCommand,
        Self::ValidationFailed,
        Self::InvalidSessionPath,
        Self::OutsideRoots,
        Self::SessionNotFound,
        Self::SessionExists,
        Self::SessionLimit,
        Self::SessionInUse,
        Self::SessionFileMissing,
        Self::FolderMissing,
        Self::FileExists,
        Self::VersionMismatch,
        Self::Conflict,
        Self::DependencyUnknown,
        Self::DependencyFailed,
        Self::DependencyTimeout,
        Self::DependencyCycle,
        Self::Timeout,
        Self::RateLimited,
        Self::Busy,
        Self::TooManyPending,
        Self::ConnectionLimit,
        Self::ShuttingDown,
        Self::Interrupted,
        Self::CircuitOpen,
        Self::BashCircuitOpen,
        Self::NoPendingRequest,
        Self::RequestSettled,
        Self::RequestMismatch,
        Self::AnswerRefused,
        Self::ModelNotFound,
        Self::NotFound,
        Self::QueueChanged,
        Self::Aborted,
        Self::AbortedUnsaid,
        Self::ProviderFailed,
        Self::ExtensionFailed,
        Self::Refused,
        Self::NothingToCompact,
        Self::JournalUnavailable,
        Self::StorageFailed,
        Self::Forbidden,
        Self::Internal,
    ];

    pub const fn retry(self) -> Retry {
        match self {
            Self::RateLimited
            | Self::Busy
            | Self::TooManyPending
            | Self::ConnectionLimit
            | Self::ShuttingDown
            | Self::JournalUnavailable => Retry::SameId,
            Self::SessionLimit
            | Self::SessionInUse
            | Self::SessionFileMissing
            | Self::FolderMissing
            | Self::FileExists
            | Self::VersionMismatch
            | Self::DependencyUnknown
            | Self::DependencyTimeout
            | Self::Timeout
            | Self::Interrupted
            | Self::CircuitOpen
            | Self::BashCircuitOpen
            | Self::QueueChanged
            | Self::Aborted
            | Self::AbortedUnsaid
            | Self::ProviderFailed
            | Self::ExtensionFailed
            | Self::StorageFailed => Retry::NewId,
            Self::InvalidJson
            | Self::NotAnObject
            | Self::DuplicateMember
            | Self::TooDeep
            | Self::TooManyValues
            | Self::MessageTooLarge
            | Self::UnknownCommand
            | Self::ValidationFailed
            | Self::InvalidSessionPath
            | Self::OutsideRoots
            | Self::SessionNotFound
            | Self::SessionExists
            | Self::Conflict
            | Self::DependencyFailed
            | Self::DependencyCycle
            | Self::NoPendingRequest
            | Self::RequestSettled
            | Self::RequestMismatch
            | Self::AnswerRefused
            | Self::ModelNotFound
            | Self::NotFound
            | Self::Refused
            | Self::NothingToCompact
            | Self::Forbidden
            | Self::Internal => Retry::Never,
        }
    }

    /// What to do about it.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            Self::SessionNotFound => Some("list_sessions shows what is loaded, load_session loads from disk"),
            Self::SessionExists => Some("choose another sessionId, or leave it out"),
            Self::SessionLimit => Some(
                "waiting does not help: list_sessions shows those that are here, with their messageCount, and delete_session \
                 unloads one; its file stays",
            ),
            Self::SessionInUse => Some(
                "work with the session that has the file open, or let it go first: delete_session unloads it, and another process lets go when it ends",
            ),
            Self::SessionFileMissing => Some("put the file back, or remove the session with delete_session"),
            Self::FolderMissing => {
                Some("make the folder again, or name another one: delete_session, then load_session with cwd")
            }
            Self::FileExists => Some("name another outputPath, or say \"overwrite\": true"),
            Self::InvalidSessionPath => Some("list_stored_sessions shows the files that can be loaded"),
            Self::OutsideRoots => Some(
                "name a folder inside, or start the server with every folder that is allowed: `pi serve --root DIR --root DIR`, PI_SERVER_ROOTS or server.roots of settings.json",
            ),
            Self::VersionMismatch => Some("read the session again and decide on what it is now"),
            Self::Conflict => Some(
                "use a new id and a new key for a new command; programs that share a server name themselves with clientId and \
                 have ids of their own then",
            ),
            Self::DependencyUnknown => Some("send the dependency first, from the same client"),
            Self::DependencyCycle => Some("send the command without this dependency"),
            Self::Timeout | Self::DependencyTimeout => Some("look at the state, then use a new id"),
            Self::RateLimited => {
                Some("wait as long as retryAfterMs says; abort and answers to questions have room of their own")
            }
            Self::TooManyPending => Some("wait for answers; reads have room of their own, and abort is always taken"),
            Self::ConnectionLimit => Some("close connections that are not used, or raise server.maxConnections"),
            Self::ShuttingDown => Some("connect again when the server is back, and send the same frame again"),
            Self::Interrupted => {
                Some("it was not done, or not to its end: look at the state, then send it under a new id and key")
            }
            Self::Aborted => {
                Some("somebody ended it, and what was said so far is kept: go on from there with a new prompt")
            }
            Self::AbortedUnsaid => Some("it stands nowhere: send it under a new id and key if it is still wanted"),
            Self::ProviderFailed => Some(
                "what was said so far is kept: go on from there with a new prompt, or choose another model with set_model first",
            ),
            Self::ExtensionFailed => Some("the server's log says more; disable_extension goes on without it"),
            Self::NothingToCompact => {
                Some("go on: the conversation is short, and what is new can be compacted when there is more of it")
            }
            Self::Refused => Some("nothing was changed: see to what the error names, then send it under a new id"),
            Self::Busy => Some("wait for retryAfterMs, then send the same frame again"),
            Self::NoPendingRequest => Some("extension_ui_request and session_snapshot tell what is open"),
            Self::RequestSettled => Some("it was answered, cancelled, or its time ran out; nothing is to be done"),
            Self::RequestMismatch => Some("answer in the session that asked"),
            Self::DependencyFailed => Some("send what it depends on again under a new id, and this one too"),
            Self::Forbidden => Some("ask whoever runs the server"),
            Self::CircuitOpen => Some("wait for the recovery, or choose another model"),
            Self::BashCircuitOpen => Some("wait for the recovery"),
            Self::ModelNotFound => Some("get_available_models lists the models with credentials"),
            Self::QueueChanged => Some("get_queue shows what waits now"),
            Self::AnswerRefused => Some("the question is still open: answer it again"),
            Self::JournalUnavailable => Some(
                "make room on the journal's disk, or raise the limit for the size of files (`prlimit --fsize`, LimitFSIZE=) where the \
                 error names it; the server goes on by itself then, and reads work meanwhile; a journal that is damaged is moved \
                 away before the server is started again",
            ),
            Self::StorageFailed => Some("see the server's log; reads still work"),
            Self::Internal => Some("please report this with the server's log"),
            // These say what to do about the very thing that is wrong.
            Self::InvalidJson
            | Self::NotAnObject
            | Self::DuplicateMember
            | Self::TooDeep
            | Self::TooManyValues
            | Self::MessageTooLarge
            | Self::UnknownCommand
            | Self::ValidationFailed
            | Self::NotFound => None,
        }
    }
}
