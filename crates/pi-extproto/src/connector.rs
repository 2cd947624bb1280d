//! What an extension can ask of its host: the parameters and outputs of every connector, as types.
//!
//! On the wire `params` and `output` are free objects; here is what stands in them, the same for every tier, and the
//! same that the WIT package says. [`Call::parse`] gives a host call its type, [`Call::params`] is the way back.
//!
//! One meaning has one spelling, because the ledger compares calls by the hash of their parameters: there are no
//! defaults that may be written or left out, absent members are those that have no value.

pub mod data;
pub mod environment;
pub mod events;
pub mod exec;
pub mod fs;
pub mod http;
pub mod session;
pub mod stream;
pub mod tool;
pub mod ui;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use self::{
    environment::{CredentialsCall, EnvCall},
    events::EventsCall,
    exec::Command,
    fs::FsCall,
    http::Request,
    session::SessionCall,
    tool::{McpUse, ToolUse},
    ui::UiCall,
};
use crate::{Object, capability::Method, log::LogNote};

/// A host call with typed parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    Tool(ToolUse),
    Exec(Command),
    Fs(FsCall),
    Http(Request),
    Session(SessionCall),
    Ui(UiCall),
    Events(EventsCall),
    Env(EnvCall),
    Log(LogNote),
    Credentials(CredentialsCall),
    Mcp(McpUse),
}

/// The call cannot be carried out by anybody. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, thiserror::Error)]
pub enum BadCall {
    #[error("there is no connector {method}")]
    UnknownMethod { method: Method },
    #[error("parameters of {method}: {source}")]
    BadParams { method: Method, source: serde_json::Error },
}

impl Call {
    /// Reads the parameters of a call. Members that the connector does not know are ignored: it does not act on them.
    pub fn parse(method: &Method, params: &Object) -> Result<Self, BadCall> {
        fn typed<T: DeserializeOwned>(params: &Object) -> Result<T, serde_json::Error> {
            T::deserialize(Value::Object(params.clone()))
        }
        let call = match method {
            Method::Tool => typed(params).map(Self::Tool),
            Method::Exec => typed(params).map(Self::Exec),
            Method::Fs => typed(params).map(Self::Fs),
            Method::Http => typed(params).map(Self::Http),
            Method::Session => typed(params).map(Self::Session),
            Method::Ui => typed(params).map(Self::Ui),
            Method::Events => typed(params).map(Self::Events),
            Method::Env => typed(params).map(Self::Env),
            Method::Log => typed(params).map(Self::Log),
            Method::Credentials => typed(params).map(Self::Credentials),
            Method::Mcp => typed(params).map(Self::Mcp),
            Method::Other(_) => return Err(BadCall::UnknownMethod { method: method.clone() }),
        };
        call.map_err(|source| BadCall::BadParams { method: method.clone(), source })
    }

    pub fn method(&self) -> Method {
        match self {
            Self::Tool(_) => Method::Tool,
            Self::Exec(_) => Method::Exec,
            Self::Fs(_) => Method::Fs,
            Self::Http(_) => Method::Http,
            Self::Session(_) => Method::Session,
            Self::Ui(_) => Method::Ui,
            Self::Events(_) => Method::Events,
            Self::Env(_) => Method::Env,
            Self::Log(_) => Method::Log,
            Self::Credentials(_) => Method::Credentials,
            Self::Mcp(_) => Method::Mcp,
        }
    }

    /// The parameters as they stand in a host call.
    pub fn params(&self) -> Object {
        match self {
            Self::Tool(params) => to_object(params),
            Self::Exec(params) => to_object(params),
            Self::Fs(params) => to_object(params),
            Self::Http(params) => to_object(params),
            Self::Session(params) => to_object(params),
            Self::Ui(params) => to_object(params),
            Self::Events(params) => to_object(params),
            Self::Env(params) => to_object(params),
            Self::Log(params) => to_object(params),
            Self::Credentials(params) => to_object(params),
            Self::Mcp(params) => to_object(params),
        }
    }
}

/// The JSON form of parameters or of an output.
pub fn to_object(value: &impl Serialize) -> Object {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        other => unreachable!("connector types are written as objects, not as {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        capability::{Capability, DERIVATION, Selector, derive},
        host::HostCall,
    };

    fn params(value: &Value) -> &Object {
        value.as_object().expect("an object")
    }

    /// Reads parameters, finds what they need, and writes them again.
    #[track_caller]
    fn check(method: &str, capability: Capability, value: &Value) {
        let method = Method::from(method);
        let call = Call::parse(&method, params(value)).expect("a call");
        assert_eq!(call.method(), method);
        assert_eq!(derive(&method, params(value)), Ok(capability));
        assert_eq!(Value::Object(call.params()), *value);
        let wire = HostCall::new("h", &call);
        assert_eq!(wire.check_declared().expect("an honest claim").method(), &method);
        assert_eq!(wire.typed().expect("a call"), call);
    }

    #[test]
    fn calls_of_every_connector_read_back() {
        check("tool", Capability::Read, &json!({ "name": "grep", "input": { "pattern": "x" } }));
        let command = json!({ "command": "git", "args": ["log"], "env": { "A": "b" }, "stdin": { "text": "y" },
                              "timeout_ms": 5, "stream": false });
        check("exec", Capability::Exec, &command);
        let write = json!({ "op": "write", "path": "a", "content": { "base64": "/w==" }, "mode": "create_new" });
        check("fs", Capability::Write, &write);
        let request = json!({ "method": "GET", "url": "https://example.org", "headers": [{ "name": "a", "value": "b" }],
                              "follow_redirects": true, "stream": true });
        check("http", Capability::Http, &request);
        let message = json!({ "op": "send_user_message", "content": [{ "type": "text", "text": "hi" }],
                              "delivery": "follow_up" });
        check("session", Capability::Session, &message);
        check("ui", Capability::Ui, &json!({ "op": "notify", "message": "m", "level": "warning" }));
        let interview = json!({ "op": "interview", "questions": [
            { "type": "text", "id": "a", "label": "A", "required": true },
            { "type": "select", "id": "b", "label": "B", "options": ["x", "y"], "required": false },
            { "type": "multi", "id": "c", "label": "C", "options": ["x"], "required": false },
            { "type": "confirm", "id": "d", "label": "D", "required": true },
        ], "timeout_ms": 5 });
        check("ui", Capability::Ui, &interview);
        check("events", Capability::Events, &json!({ "op": "emit", "channel": "c", "data": null }));
        let update = json!({ "op": "tool_update", "call_id": "t", "content": [{ "type": "text", "text": "10%" }],
                             "details": { "done": 1 } });
        check("events", Capability::Events, &update);
        check("env", Capability::Env, &json!({ "op": "get", "name": "HOME" }));
        check("log", Capability::Log, &json!({ "level": "info", "event": "x", "message": "m" }));
        check("credentials", Capability::Credentials, &json!({ "op": "get", "provider": "p" }));
        check("mcp", Capability::Tool, &json!({ "server": "s", "name": "read", "input": {} }));
    }

    #[test]
    fn every_file_operation_has_a_capability_and_every_listed_one_exists() {
        let schema = schemars::schema_for!(FsCall);
        let operations = schema.as_value()["oneOf"].as_array().expect("operations");
        let mut operations: Vec<_> = operations
            .iter()
            .map(|operation| operation["properties"]["op"]["const"].as_str().expect("a word"))
            .collect();
        let rule = DERIVATION.iter().find(|rule| rule.method == Method::Fs).expect("a line for fs");
        let Selector::Member { words, .. } = &rule.selector else { panic!("fs is derived from its operation") };
        let mut listed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        operations.sort_unstable();
        listed.sort_unstable();
        assert_eq!(operations, listed);
    }

    #[test]
    fn what_no_connector_understands_is_refused() {
        let refused = |method: &str, value: Value| {
            Call::parse(&Method::from(method), params(&value)).expect_err("not a call").to_string()
        };
        assert_eq!(refused("teleport", json!({})), "there is no connector teleport");
        assert_eq!(refused("exec", json!({ "command": "ls" })), "parameters of exec: missing field `args`");
        let choice = json!({ "type": "select", "id": "a", "label": "A", "required": true });
        let interview = refused("ui", json!({ "op": "interview", "questions": [choice] }));
        assert_eq!(interview, "parameters of ui: missing field `options`");
        let update = refused("events", json!({ "op": "tool_update", "content": [] }));
        assert_eq!(update, "parameters of events: missing field `call_id`");
        assert!(refused("fs", json!({ "op": "mount" })).starts_with("parameters of fs: unknown variant `mount`"));
    }
}
