//! What the server answers: one response per command, with typed `data`.

mod context;
mod extension;
mod history;
mod metrics;
mod server;
mod session;

use std::borrow::Cow;

use pi_transcript::json::{Open, present};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use ts_rs::TS;

pub use self::{context::*, extension::*, history::*, metrics::*, server::*, session::*};
pub use crate::registry::Data;
use crate::{
    error::{Error, ErrorCode},
    frame::Frame,
    id::CommandId,
    registry::Kind,
};

/// The answer to a command.
///
/// `D` is [`Data`] where the answer is made, and [`Value`] where it is only passed on, as by a replay from the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Response<D = Data> {
    /// The command's `id`. A [`Value`], because the id of a refused command is echoed as it was sent.
    pub id: Option<Value>,
    /// The command's `type`, or `unknown`.
    pub command: Cow<'static, str>,
    pub outcome: Outcome<D>,
    /// The session's version after the command.
    pub session_version: Option<u64>,
    /// Whether this is the outcome of an earlier command with the same identity.
    pub replayed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<D = Data> {
    Success(Option<D>),
    Failure(Failure),
}

/// What an answer says about a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For people.
    pub error: String,
    /// For programs; of a later server maybe one that we do not know.
    pub code: Open<ErrorCode>,
    /// The path of the field that is to blame.
    pub field: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    pub retry_after_ms: Option<u64>,
}

impl Response {
    /// A success with the data that the registry names, and no other.
    pub fn success(frame: &Frame, data: Option<Data>) -> Result<Self, MisfitData> {
        let command = frame.kind();
        match data.as_ref().map(Data::kind) {
            None if command.has_data() => Err(MisfitData::Missing { command: command.name() }),
            Some(other) if other != command => {
                Err(MisfitData::Other { command: command.name(), data_of: other.name() })
            }
            None | Some(_) => Ok(Self::bare(frame.head.id.as_ref(), command.name().into(), Outcome::Success(data))),
        }
    }
}

impl<D> Response<D> {
    pub fn error(frame: &Frame, error: &Error) -> Self {
        Self::bare(frame.head.id.as_ref(), frame.kind().name().into(), Outcome::Failure(error.into()))
    }

    /// A failure of something that never became a frame.
    pub fn failure(command: impl Into<Cow<'static, str>>, failure: Failure) -> Self {
        Self::bare(None, command.into(), Outcome::Failure(failure))
    }

    fn bare(id: Option<&CommandId>, command: Cow<'static, str>, outcome: Outcome<D>) -> Self {
        let id = id.map(|id| Value::from(id.as_str()));
        Self { id, command, outcome, session_version: None, replayed: false }
    }

    #[must_use]
    pub fn at_version(mut self, session_version: u64) -> Self {
        self.session_version = Some(session_version);
        self
    }

    /// The same answer for another command of the same identity: equal but for `id` and `replayed`.
    #[must_use]
    pub fn replay(mut self, id: Option<&CommandId>) -> Self {
        self.id = id.map(|id| Value::from(id.as_str()));
        self.replayed = true;
        self
    }

    pub fn is_success(&self) -> bool {
        matches!(self.outcome, Outcome::Success(_))
    }
}

/// An answer whose `data` does not fit its command.
#[derive(Debug, thiserror::Error)]
pub enum MisfitData {
    #[error("no command is called {0:?}")]
    UnknownCommand(String),
    #[error("the data does not fit the command")]
    Shape(#[from] serde_json::Error),
    #[error("{command} answers with data")]
    Missing { command: &'static str },
    #[error("the data of {data_of} does not answer {command}")]
    Other { command: &'static str, data_of: &'static str },
}

impl Response<Value> {
    /// Gives the data its type.
    pub fn typed(self) -> Result<Response, MisfitData> {
        let Self { id, command, outcome, session_version, replayed } = self;
        let outcome = match outcome {
            Outcome::Failure(failure) => Outcome::Failure(failure),
            Outcome::Success(data) => {
                let kind = Kind::named(&command).ok_or_else(|| MisfitData::UnknownCommand(command.to_string()))?;
                Outcome::Success(Data::read(kind, data)?)
            }
        };
        Ok(Response { id, command, outcome, session_version, replayed })
    }
}

/// The members of a response, in the order in which they are written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "D: Deserialize<'de>"))]
struct Flat<'a, D> {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, Value>>,
    #[serde(rename = "type")]
    kind: ResponseType,
    command: Cow<'a, str>,
    success: bool,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    code: Option<Open<ErrorCode>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    field: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    data: Option<D>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    session_version: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    replayed: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
}

/// The one `type` of a response.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ResponseType {
    Response,
}

impl<D: Serialize> Serialize for Response<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (failure, data) = match &self.outcome {
            Outcome::Success(data) => (None, data.as_ref()),
            Outcome::Failure(failure) => (Some(failure), None),
        };
        Flat {
            id: self.id.as_ref().map(Cow::Borrowed),
            kind: ResponseType::Response,
            command: Cow::Borrowed(&self.command),
            success: failure.is_none(),
            error: failure.map(|failure| Cow::Borrowed(&*failure.error)),
            code: failure.map(|failure| failure.code.clone()),
            field: failure.and_then(|failure| failure.field.as_deref().map(Cow::Borrowed)),
            hint: failure.and_then(|failure| failure.hint.as_deref().map(Cow::Borrowed)),
            retry_after_ms: failure.and_then(|failure| failure.retry_after_ms),
            data,
            session_version: self.session_version,
            replayed: self.replayed.then_some(true),
            timed_out: failure.and_then(|failure| (failure.code == ErrorCode::Timeout).then_some(true)),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Response<Value> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = Flat::<Value>::deserialize(deserializer)?;
        let outcome = if flat.success {
            Outcome::Success(flat.data)
        } else {
            Outcome::Failure(Failure {
                error: flat.error.ok_or_else(|| serde::de::Error::missing_field("error"))?.into_owned(),
                code: flat.code.unwrap_or(Open::Known(ErrorCode::Internal)),
                field: flat.field.map(Cow::into_owned),
                hint: flat.hint.map(Cow::into_owned),
                retry_after_ms: flat.retry_after_ms,
            })
        };
        Ok(Self {
            id: flat.id.map(Cow::into_owned),
            command: Cow::Owned(flat.command.into_owned()),
            outcome,
            session_version: flat.session_version,
            replayed: flat.replayed.unwrap_or(false),
        })
    }
}
