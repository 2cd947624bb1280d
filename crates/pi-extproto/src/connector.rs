//! What an extension can ask of its host: the parameters and outputs of every connector, as types.
//!
//! On the wire `params` and `output` are free objects; here is what stands in them, the same for every tier, and the
//! same that the WIT package says. [`Call::parse`] gives a host call its type, [`Call::params`] is the way back.
//!
//! One meaning has one spelling, because the ledger compares calls by the hash of their parameters: there are no
//! defaults that may be written or left out, absent members are those that have no value, and a call with members that
//! its connector does not read is refused. Only numbers may be spelled freely: `1.0` is `1`, to the hash as well.

pub mod data;
pub mod environment;
pub mod events;
pub mod exec;
mod fault;
pub mod fs;
pub mod http;
mod record;
pub mod session;
pub mod stream;
pub mod tool;
pub mod ui;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use pi_transcript::json::Problem;

pub use self::record::{Record, to_object};
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
use crate::{Object, capability::Method, log::LogNote, word::OtherWord};

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
    /// A connector that this version does not have. Policy can judge the call, nobody can carry it out.
    Other(OtherCall),
}

/// A call of a connector that does not exist, with parameters that nobody understands.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherCall {
    pub method: OtherWord,
    pub params: Object,
}

/// Parameters that their connector does not understand. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct BadParams {
    /// At least one; paths begin with `params`.
    pub problems: Vec<Problem>,
}

impl Call {
    /// Reads the parameters of a call, which must be spelled as [`Call::params`] spells them.
    pub fn parse(method: &Method, params: &Object) -> Result<Self, BadParams> {
        match method {
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
            Method::Other(word) => Ok(Self::Other(OtherCall { method: word.clone(), params: params.clone() })),
        }
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
            Self::Other(call) => Method::Other(call.method.clone()),
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
            Self::Other(call) => call.params.clone(),
        }
    }

    /// How long the caller would wait, in milliseconds, where the parameters say so.
    pub fn timeout_ms(&self) -> Option<u64> {
        match self {
            Self::Exec(command) => command.timeout_ms,
            Self::Http(request) => request.timeout_ms,
            Self::Ui(call) => call.timeout_ms(),
            Self::Tool(_)
            | Self::Fs(_)
            | Self::Session(_)
            | Self::Events(_)
            | Self::Env(_)
            | Self::Log(_)
            | Self::Credentials(_)
            | Self::Mcp(_)
            | Self::Other(_) => None,
        }
    }
}

fn typed<T: Record + DeserializeOwned + JsonSchema>(params: &Object) -> Result<T, BadParams> {
    let mut written = Value::Object(params.clone());
    spell_numbers(&mut written);
    let message = match T::deserialize(&written) {
        Ok(read) if written == Value::Object(to_object(&read)) => return Ok(read),
        Ok(_) => "expected another spelling of the same call".to_owned(),
        Err(error) => error.to_string(),
    };
    let mut problems = fault::problems::<T>(&written);
    if problems.is_empty() {
        problems.push(Problem { path: "params".to_owned(), message });
    }
    Err(BadParams { problems })
}

/// Writes whole numbers as integers, as far as doubles count without gaps: `1.0` is `1`.
fn spell_numbers(value: &mut Value) {
    const LAST: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let double = number.as_f64().unwrap_or(f64::NAN);
            if double.fract() == 0.0 && double.abs() <= LAST {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 53 bits")]
                let whole = double as i64;
                *value = Value::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_numbers),
        Value::Object(members) => members.values_mut().for_each(spell_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
        let checked = HostCall::new("h", &call).check().expect("an honest claim");
        assert_eq!(checked.call(), &call);
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
                              "delivery": "follow_up", "expand": false });
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

    /// Every problem of parameters that are refused, one to a line.
    #[track_caller]
    fn refused(method: &str, value: &Value) -> String {
        let BadParams { problems } = Call::parse(&Method::from(method), params(value)).expect_err("not a call");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_no_connector_understands_is_refused_member_by_member() {
        let command = json!({ "command": 1, "args": ["a", 2], "env": { "A": null } });
        let expected = "params.stream: required member is missing\n\
                        params.command: expected a string, found 1\n\
                        params.args[1]: expected a string, found 2\n\
                        params.env.A: expected a string, found null";
        assert_eq!(refused("exec", &command), expected);
        let fields = json!([{ "type": "select", "id": "a", "label": "A", "required": true }, { "type": "poem" }]);
        let expected = "params.questions[0].options: required member is missing\n\
                        params.questions[1].type: expected one of \"text\", \"select\", \"multi\", \"confirm\"";
        assert_eq!(refused("ui", &json!({ "op": "interview", "questions": fields })), expected);
        let update = json!({ "op": "tool_update", "content": [{ "type": "text" }] });
        let expected = "params.call_id: required member is missing\n\
                        params.content[0].text: required member is missing";
        assert_eq!(refused("events", &update), expected);
        assert!(refused("fs", &json!({ "op": "mount" })).starts_with("params.op: expected one of \"read\", \"list\""));
        assert_eq!(refused("fs", &json!({})), "params.op: required member is missing");
        let write = json!({ "op": "write", "path": "a", "content": "b", "mode": "smash" });
        let expected = "params.content: expected {\"text\": …} or {\"base64\": …}\n\
                        params.mode: expected one of \"replace\", \"create_new\"";
        assert_eq!(refused("fs", &write), expected);
    }

    #[test]
    fn one_meaning_has_one_spelling() {
        let mut command = json!({ "command": "ls", "args": [], "env": {}, "stream": false });
        check("exec", Capability::Exec, &command);
        command["cwd"] = json!(null);
        assert_eq!(refused("exec", &command), "params.cwd: expected a string, found null");
        command["cwd"] = json!(".");
        command["shell"] = json!(true);
        assert_eq!(refused("exec", &command), "params.shell: there is no such member");

        let append = json!({ "op": "append", "path": "a", "content": { "base64": "aGk=" } });
        let expected = r#"params.content: expected {"text": …}, because these bytes are UTF-8"#;
        assert_eq!(refused("fs", &append), expected);
        let nested = json!({ "op": "append", "path": "a", "content": { "text": "b", "note": 1 } });
        assert_eq!(refused("fs", &nested), r#"params.content: expected {"text": …} or {"base64": …}"#);
        let state = json!({ "op": "get_state", "selection": "all" });
        assert_eq!(refused("session", &state), "params.selection: there is no such member");
        let block = json!({ "op": "send_user_message", "delivery": "steer", "expand": true,
                            "content": [{ "type": "text", "text": "a", "signature": "b" }] });
        assert_eq!(refused("session", &block), "params.content[0].signature: there is no such member");
    }

    #[test]
    fn numbers_mean_the_same_however_they_are_spelled() {
        let parse = |json: &str| Call::parse(&Method::Fs, &serde_json::from_str(json).expect("an object"));
        let plain = parse(r#"{"op":"read","path":"a","offset":1,"limit":0}"#).expect("a call");
        assert_eq!(parse(r#"{"op":"read","path":"a","offset":1.0,"limit":-0.0}"#), Ok(plain));
        for offset in ["1.5", "-1", "-1.0", "1e300"] {
            let json = format!(r#"{{"op":"read","path":"a","offset":{offset}}}"#);
            let BadParams { problems } = parse(&json).expect_err("not a count");
            assert_eq!(problems.len(), 1, "{offset}");
        }
    }

    #[test]
    fn free_members_keep_their_nulls() {
        let value = json!({ "op": "append_entry", "custom_type": "t", "data": null });
        check("session", Capability::Session, &value);
    }
}
