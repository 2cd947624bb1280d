//! Reads what guests put in the place of messages, entries and arguments, and refuses what nobody could use.

use pi_extproto::Object;
use pi_transcript::Message;
use serde::Deserialize;
use serde_json::Value;

use crate::incident::Trouble;

/// Kinds of entries that an extension may add at the end of a turn.
const DRAFTS: [&str; 4] = ["custom", "custom_message", "context_edit", "compaction"];

/// What an answer has that does not fit.
pub(super) struct Misfit(String);

impl From<Misfit> for Trouble {
    fn from(Misfit(problem): Misfit) -> Self {
        Self::Misfit { problem }
    }
}

pub(super) fn object(value: Value, what: &str) -> Result<Object, Misfit> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Misfit(format!("{what} that are not an object")))
        }
    }
}

/// A session entry without ids.
pub(super) fn draft(value: Value) -> Result<Object, Misfit> {
    let draft = object(value, "entries")?;
    match draft.get("type").and_then(Value::as_str) {
        Some(kind) if DRAFTS.contains(&kind) => Ok(draft),
        Some(kind) => Err(Misfit(format!("an entry of type {kind:?}, which it may not add"))),
        None => Err(Misfit("an entry without a type".to_owned())),
    }
}

/// A message in the place of another one of the same role.
pub(super) fn message(value: &Value, replaced: &Value) -> Result<Message, Misfit> {
    let role = |value: &Value| value["role"].as_str().map(str::to_owned);
    let (found, wanted) = (role(value), role(replaced));
    if found != wanted {
        return Err(Misfit(format!("a message of role {found:?} in the place of one of role {wanted:?}")));
    }
    read(value)
}

pub(super) fn messages(values: &[Value]) -> Result<Vec<Message>, Misfit> {
    values.iter().map(read).collect()
}

/// A role that nobody knows is kept, as it is in session files; a message of a known role must be one.
fn read(value: &Value) -> Result<Message, Misfit> {
    let Some(role) = value["role"].as_str() else { return Err(Misfit("a message without a role".to_owned())) };
    match Message::deserialize(value) {
        Ok(Message::Other(_)) if Message::ROLES.contains(&role) => {
            Err(Misfit(format!("a message of role {role:?} with missing or wrong members")))
        }
        Ok(message) => Ok(message),
        Err(error) => Err(Misfit(format!("a message that cannot be read: {error}"))),
    }
}
