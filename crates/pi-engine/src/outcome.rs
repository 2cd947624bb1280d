//! How commands end, and the words for it.

use std::sync::Arc;

use crate::name::{CommandId, Key, Kind, SessionName};

/// How an admitted command ended. There is one per command, and it never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<B> {
    pub ending: Ending<B>,
    /// The version of the command's session right after, where it has one.
    pub version: Option<u64>,
}

/// `B` is the body of an answer, closed to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending<B> {
    Succeeded(B),
    /// The handler says so. `error` is repeated to commands that depend on this one.
    Failed {
        error: String,
        body: B,
    },
    /// The engine ended it.
    Broken(Failure),
}

impl<B> Outcome<B> {
    pub fn is_success(&self) -> bool {
        matches!(self.ending, Ending::Succeeded(_))
    }

    pub fn is_timeout(&self) -> bool {
        matches!(self.ending, Ending::Broken(Failure::TimedOut { .. }))
    }

    /// The text for a person, where it failed.
    pub fn error(&self) -> Option<String> {
        match &self.ending {
            Ending::Succeeded(_) => None,
            Ending::Failed { error, .. } => Some(error.clone()),
            Ending::Broken(failure) => Some(failure.to_string()),
        }
    }
}

/// Why the engine ended a command that it had admitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("Command '{id}' cannot depend on itself")]
    DependsOnItself { id: CommandId },
    #[error("Dependency '{id}' is unknown")]
    DependencyUnknown { id: CommandId },
    #[error("Dependency '{id}' failed: {error}")]
    DependencyFailed { id: CommandId, error: String },
    #[error("Dependency '{id}' is queued in the same lane and cannot be awaited from this command")]
    DependencyInverted { id: CommandId },
    #[error("Command 'dependsOn:{id}' timed out after {after_ms}ms")]
    DependencyTimedOut { id: CommandId, after_ms: u64 },
    #[error("Session {session} not found for ifSessionVersion={expected}")]
    VersionOfNoSession { session: SessionName, expected: u64 },
    #[error("Session version mismatch: expected {expected}, got {found}")]
    VersionMismatch { expected: u64, found: u64 },
    #[error("Command '{kind}' timed out after {after_ms}ms")]
    TimedOut { kind: Kind, after_ms: u64 },
    #[error("Session {session} not found")]
    SessionGone { session: SessionName },
    #[error("Command '{kind}' failed: its handler panicked")]
    Panicked { kind: Kind },
    #[error("Command '{kind}' was cancelled")]
    Killed { kind: Kind },
    #[error("Durable journal append failed for command '{kind}': {reason}")]
    Unrecorded {
        kind: Kind,
        /// Why the journal could not be written.
        reason: Arc<str>,
    },
    #[error("Command cancelled because server shutdown completed")]
    ShutDown,
    #[error("Command did not finish before previous shutdown and was marked failed during recovery")]
    Recovered,
}

/// Why a command was not admitted. Nothing of it remains: no event, no record, no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("Conflicting id '{id}': {}", twice(before, now))]
    ConflictingId { id: CommandId, before: Kind, now: Kind },
    #[error("Conflicting idempotencyKey '{key}': {}", twice(before, now))]
    ConflictingKey { key: Key, before: Kind, now: Kind },
    #[error("Server busy - too many concurrent commands. Please retry.")]
    Busy(Scarcity),
    #[error("Too many pending commands for this client (max {limit})")]
    TooManyPending { limit: usize },
    #[error("Durable journal is not available")]
    JournalUnavailable,
    #[error("Server is shutting down")]
    ShuttingDown,
    #[error("Server has completed shutdown")]
    ShutDown,
}

fn twice(before: &Kind, now: &Kind) -> String {
    match before == now {
        true => format!("previously used for another '{before}', with other contents"),
        false => format!("previously used for '{before}', now used for '{now}'"),
    }
}

/// What there was too little of. Room for outcomes comes when the oldest may be forgotten, in so many milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scarcity {
    /// Commands in flight.
    InFlight { limit: usize },
    /// Room for outcomes that must be kept: their number.
    OutcomeCount { limit: usize, room_in_ms: u64 },
    /// Room for outcomes that must be kept: their bytes.
    OutcomeBytes { limit: usize, room_in_ms: u64 },
}
