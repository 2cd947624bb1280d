//! Parameters and outputs as JSON objects.

use serde::Serialize;
use serde_json::Value;

use super::{environment, events, exec, fs, http, session, stream, tool, ui};
use crate::{
    Object,
    log::{LogNote, ledger},
};

/// A type that is always written as a JSON object: the parameters and outputs of every connector, and the evidence of the
/// ledger. The list is closed, so that [`to_object`] has an answer for each.
pub trait Record: Serialize + sealed::Listed {}

mod sealed {
    pub trait Listed {}
}

macro_rules! records {
    ($($kind:ty,)*) => {
        $(impl sealed::Listed for $kind {} impl Record for $kind {})*

        #[cfg(test)]
        fn schemas() -> Vec<Value> {
            vec![$(schemars::schema_for!($kind).to_value(),)*]
        }
    };
}

records! {
    tool::ToolUse, tool::McpUse, tool::HostToolOutput,
    exec::Command, exec::CommandOutput,
    fs::FsCall, fs::FileContent, fs::Listing, fs::Presence, fs::Place,
    http::Request, http::Response,
    stream::StreamItem,
    session::SessionCall, session::SessionState, session::Entries, session::AppendedEntry, session::Tools, session::Commands,
    session::Models, session::ScopedModels, session::GitBranch, session::Acceptance, session::Completion, session::SystemPrompt, session::SessionHeader,
    session::FoundEntry, session::EntryLabel, session::ChosenLevel, session::Compaction,
    ui::UiCall, ui::Answer, ui::Confirmation, ui::FormAnswer,
    events::EventsCall, events::BusEvent,
    environment::EnvCall, environment::Variable, environment::Variables, environment::CredentialsCall,
    environment::Credential,
    LogNote, ledger::Start, ledger::End,
}

/// The JSON form of parameters or of an output.
pub fn to_object(value: &impl Record) -> Object {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        other => unreachable!("records are written as objects, not as {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_objects() {
        for schema in schemas() {
            let choices = schema["oneOf"].as_array().map_or(vec![&schema], |choices| choices.iter().collect());
            assert!(choices.iter().all(|choice| choice["type"] == "object"), "{schema}");
        }
    }
}
