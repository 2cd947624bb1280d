//! What a command answers: made once, kept, and said again as it is.

use std::borrow::Cow;

use pi_engine::Failure;
use pi_redact::Redactor;
use pi_transcript::SessionId;
use pi_wire::{Data, Error, Outcome, Response, id::CommandId, registry::Kind};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// Data as JSON text, or a failure: the body of a response, without whose it is.
pub type Answer = Outcome<Box<RawValue>>;

/// What a handler says, as JSON.
pub fn written(data: &Data) -> Box<RawValue> {
    to_raw_value(data).expect("what answers hold can be written as JSON")
}

pub fn failure(error: &Error) -> Answer {
    Outcome::Failure(error.into())
}

/// What the engine says of a command that it ended.
pub fn broken(failure: &Failure) -> Answer {
    self::failure(&translate(failure))
}

/// The same without what must not be written. Most answers hold nothing to hide and stay as they are.
pub fn redacted(answer: Answer, redactor: &Redactor) -> Answer {
    match answer {
        Outcome::Success(Some(data)) => Outcome::Success(Some(redacted_text(data, redactor))),
        Outcome::Success(None) => Outcome::Success(None),
        Outcome::Failure(failure) => {
            let hidden = |text: String| match redactor.redact_text(&text) {
                Cow::Borrowed(_) => text,
                Cow::Owned(hidden) => hidden,
            };
            let (error, hint) = (hidden(failure.error), failure.hint.map(hidden));
            Outcome::Failure(pi_wire::response::Failure { error, hint, ..failure })
        }
    }
}

fn redacted_text(data: Box<RawValue>, redactor: &Redactor) -> Box<RawValue> {
    let mut value: Value = serde_json::from_str(data.get()).expect("it was written as JSON");
    let before = value.clone();
    redactor.redact_value(&mut value);
    if value == before { data } else { to_raw_value(&value).expect("what was read can be written") }
}

/// The response that is sent: the answer, and whose it is.
pub fn response<'a>(
    id: Option<&CommandId>,
    command: impl Into<Cow<'static, str>>,
    answer: &'a Answer,
    version: Option<u64>,
) -> Response<&'a RawValue> {
    let outcome = match answer {
        Outcome::Success(data) => Outcome::Success(data.as_deref()),
        Outcome::Failure(failure) => Outcome::Failure(failure.clone()),
    };
    let id = id.map(|id| id.as_str().into());
    Response { id, command: command.into(), outcome, session_version: version, replayed: false }
}

/// The engine knows no protocol; these are the protocol's words for how it ended a command.
fn translate(failure: &Failure) -> Error {
    let id = |id: &pi_engine::CommandId| CommandId(id.as_str().to_owned());
    let session = |name: &pi_engine::SessionName| SessionId(name.as_str().to_owned());
    let command = |kind: &pi_engine::Kind| Kind::named(kind.as_str()).map_or("unknown", Kind::name);
    match failure {
        Failure::DependsOnItself { id: own } => Error::DependencySelf(id(own)),
        Failure::DependencyUnknown { id: other } => Error::DependencyUnknown(id(other)),
        Failure::DependencyFailed { id: other, error } => {
            Error::DependencyFailed { dependency: id(other), error: error.clone() }
        }
        Failure::DependencyInverted { id: other } => Error::DependencyInverted(id(other)),
        Failure::DependencyTimedOut { id: other, after_ms } => {
            Error::DependencyTimeout { dependency: id(other), after_ms: *after_ms }
        }
        Failure::VersionOfNoSession { session: name, expected } => {
            Error::SessionNotFoundForVersion { session_id: session(name), version: *expected }
        }
        Failure::VersionMismatch { expected, found } => Error::VersionMismatch { expected: *expected, actual: *found },
        Failure::TimedOut { kind, after_ms } => Error::Timeout { command: command(kind), after_ms: *after_ms },
        Failure::SessionGone { session: name } => Error::SessionNotFound(session(name)),
        Failure::Panicked { kind } => Error::Panicked { command: command(kind) },
        Failure::Killed { kind } => Error::Cancelled { command: command(kind) },
        Failure::Unrecorded { kind, reason } => {
            Error::JournalFailed { command: command(kind), reason: reason.to_string() }
        }
        Failure::ShutDown => Error::CancelledByShutdown,
        Failure::Recovered => Error::Interrupted,
    }
}
