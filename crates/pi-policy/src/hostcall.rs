//! From a host call to the action that it asks for.
//!
//! Only the members of the parameters that name the target are read here, by the names that the connectors give them;
//! whether the rest is right is the connector's question, after policy has answered.

use serde_json::Value;

use pi_extproto::{
    Object,
    capability::{Method, Mismatch},
    host::{ErrorCode, HostCall, HostError},
};

use crate::{
    command::Command,
    grant::Denial,
    host::{Host, HostFault},
    moment::Moment,
    place::{Extent, PathFault, Places},
    request::{Action, Request, Subject},
    target::Target,
};

/// Why a call asks for nothing that could be judged. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("params.{member}: expected {wanted}")]
    Member { member: &'static str, wanted: &'static str },
    #[error("params.{member}: {fault}")]
    Path { member: &'static str, fault: PathFault },
    #[error("params.url: {0}")]
    Host(HostFault),
}

impl Action {
    /// Reads what `call` asks for. Its paths count from the project of `places`.
    pub fn from_host_call(subject: Subject, places: &Places, call: &HostCall) -> Result<Self, BadCall> {
        let derived = call.check_declared()?;
        let target = target(places, &call.method, &call.params)?;
        Ok(Self { subject, capability: derived.capability().clone(), method: derived.method().clone(), target })
    }
}

impl Request {
    /// Reads what `call` asks for at the time `now`, with nothing known about the extension.
    pub fn from_host_call(subject: Subject, places: &Places, call: &HostCall, now: Moment) -> Result<Self, BadCall> {
        Ok(Self::new(Action::from_host_call(subject, places, call)?, now))
    }
}

impl Denial {
    /// The error that the caller gets.
    pub fn to_host_error(&self) -> HostError {
        let details = [("capability", self.action().capability.as_str()), ("rule", self.rule().name())];
        let details = details.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect();
        let mut error = HostError::new(ErrorCode::Denied, self.to_string());
        error.details = Some(details);
        error.retryable = Some(false);
        error
    }
}

impl BadCall {
    /// The error that the caller gets.
    pub fn to_host_error(&self) -> HostError {
        let mut error = HostError::new(ErrorCode::InvalidRequest, self.to_string());
        error.retryable = Some(false);
        error
    }
}

fn target(places: &Places, method: &Method, params: &Object) -> Result<Target, BadCall> {
    match method {
        Method::Tool => tool(places, text(params, "name")?, object(params, "input")?),
        Method::Fs => file(places, text(params, "op")?, params),
        Method::Exec => command(params).map(Target::Command),
        Method::Http => Host::from_url(text(params, "url")?).map(Target::Host).map_err(BadCall::Host),
        Method::Env => match (params.get("op").and_then(Value::as_str), params.get("name")) {
            (Some("get") | None, Some(_)) => Ok(Target::Variable(text(params, "name")?.to_owned())),
            _ => Ok(Target::Environment),
        },
        Method::Mcp => Ok(Target::Tool(format!("{}/{}", text(params, "server")?, text(params, "name")?))),
        Method::Session | Method::Ui | Method::Events | Method::Log | Method::Credentials | Method::Other(_) => {
            Ok(Target::Nothing)
        }
    }
}

fn tool(places: &Places, name: &str, input: &Object) -> Result<Target, BadCall> {
    match name {
        "read" | "write" | "edit" => path(places, input, "path", Extent::File),
        // Without a path these work on the whole project.
        "grep" | "find" | "ls" if !input.contains_key("path") => {
            let project = places.locate(".", Extent::Tree);
            project.map(Target::Path).map_err(|fault| BadCall::Path { member: "path", fault })
        }
        "grep" | "find" | "ls" => path(places, input, "path", Extent::Tree),
        "bash" => Ok(Target::Command(Command::shell(text(input, "command")?))),
        unknown => Ok(Target::Tool(unknown.to_owned())),
    }
}

fn file(places: &Places, operation: &str, params: &Object) -> Result<Target, BadCall> {
    match operation {
        "make_temporary" => Ok(places.temporary().map_or(Target::Nothing, Target::Path)),
        "rename" => match (path(places, params, "from", Extent::Tree)?, path(places, params, "to", Extent::Tree)?) {
            (Target::Path(from), Target::Path(to)) => Ok(Target::Move { from, to }),
            (other, _) => Ok(other),
        },
        "remove" if params.get("recursive") != Some(&Value::Bool(false)) => path(places, params, "path", Extent::Tree),
        "list" => path(places, params, "path", Extent::Tree),
        _ => path(places, params, "path", Extent::File),
    }
}

fn command(params: &Object) -> Result<Command, BadCall> {
    let program = text(params, "command")?;
    let wanted = || BadCall::Member { member: "args", wanted: "an array of strings" };
    let arguments = match params.get("args") {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            let words = items.iter().map(|item| item.as_str().map(str::to_owned));
            words.collect::<Option<Vec<_>>>().ok_or_else(wanted)?
        }
        Some(_) => return Err(wanted()),
    };
    let command = Command::program(program, &arguments);
    match params.get("env") {
        None | Some(Value::Null) => Ok(command),
        Some(Value::Object(variables)) if variables.is_empty() => Ok(command),
        // A variable such as LD_PRELOAD changes what the program is.
        Some(_) => Ok(command.made_unclear()),
    }
}

fn path(places: &Places, params: &Object, member: &'static str, extent: Extent) -> Result<Target, BadCall> {
    let located = places.locate(text(params, member)?, extent);
    located.map(Target::Path).map_err(|fault| BadCall::Path { member, fault })
}

fn text<'a>(params: &'a Object, member: &'static str) -> Result<&'a str, BadCall> {
    params.get(member).and_then(Value::as_str).ok_or(BadCall::Member { member, wanted: "a string" })
}

fn object<'a>(params: &'a Object, member: &'static str) -> Result<&'a Object, BadCall> {
    params.get(member).and_then(Value::as_object).ok_or(BadCall::Member { member, wanted: "an object" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{PathStyle, Root};

    #[track_caller]
    fn check(capability: &str, method: &str, params: &str, expected: &str) {
        let places = Places::new(PathStyle::Unix, "/p").and_then(|places| places.with(Root::Temporary, "/tmp/x"));
        let json = format!(r#"{{"call_id":"1","capability":"{capability}","method":"{method}","params":{params}}}"#);
        let call: HostCall = serde_json::from_str(&json).expect("a host call");
        let found = match Action::from_host_call(Subject::Agent, &places.expect("folders"), &call) {
            Ok(action) => format!("{}: {}", action.capability, action.target),
            Err(fault) => fault.to_host_error().message,
        };
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn tools_name_paths_and_commands() {
        check("read", "tool", r#"{"name":"read","input":{"path":"src/../a"}}"#, "read: a");
        check("read", "tool", r#"{"name":"grep","input":{"pattern":"x","path":"src/"}}"#, "read: src/");
        check("read", "tool", r#"{"name":"find","input":{"pattern":"x"}}"#, "read: ./");
        check("write", "tool", r#"{"name":"edit","input":{"path":"/etc/x"}}"#, "write: /etc/x");
        check("exec", "tool", r#"{"name":"bash","input":{"command":"ls -l"}}"#, "exec: ls -l");
        check("tool", "tool", r#"{"name":"deploy","input":{}}"#, "tool: deploy");
        check("tool", "mcp", r#"{"server":"db","name":"drop","input":{}}"#, "tool: db/drop");
        check("read", "tool", r#"{"name":"bash","input":{"command":"ls"}}"#, "the call claims read but needs exec");
        check("read", "tool", r#"{"name":"read","input":{"path":7}}"#, "params.path: expected a string");
        check("read", "tool", r#"{"name":"grep","input":{"path":null}}"#, "params.path: expected a string");
        check("read", "tool", r#"{"name":"read","input":{"path":"a\u0000"}}"#, "params.path: the path contains a NUL");
        check("read", "tool", r#"{"name":"read"}"#, "params.input: expected an object");
    }

    #[test]
    fn connectors_name_their_targets() {
        check("write", "fs", r#"{"op":"rename","from":"a","to":"../b"}"#, "write: a/ -> /b/");
        check("write", "fs", r#"{"op":"remove","path":"a","recursive":false}"#, "write: a");
        check("write", "fs", r#"{"op":"remove","path":"a"}"#, "write: a/");
        check("write", "fs", r#"{"op":"make_temporary","prefix":"a"}"#, "write: /tmp/x");
        check("read", "fs", r#"{"op":"list","path":"a"}"#, "read: a/");
        check("http", "http", r#"{"url":"https://API.github.com:443/x"}"#, "http: api.github.com");
        check(
            "http",
            "http",
            r#"{"url":"ftp://x"}"#,
            "params.url: expected a URL that begins with http:// or https://",
        );
        check("exec", "exec", r#"{"command":"git","args":["log"]}"#, "exec: git log");
        check("exec", "exec", r#"{"command":"git","args":[1]}"#, "params.args: expected an array of strings");
        check("env", "env", r#"{"op":"get","name":"HOME"}"#, "env: HOME");
        check("env", "env", r#"{"op":"list","name":"HOME"}"#, "env: the whole environment");
        check("session", "session", r"{}", "session: nothing in particular");
        check("teleport", "teleport", r"{}", "teleport: nothing in particular");
    }

    #[test]
    fn program_with_an_environment_of_its_own_is_unclear() {
        for (json, clear) in [
            (r#"{"command":"git"}"#, true),
            (r#"{"command":"git","env":{}}"#, true),
            (r#"{"command":"git","env":{"LD_PRELOAD":"x"}}"#, false),
        ] {
            let params: Object = serde_json::from_str(json).expect("an object");
            assert_eq!(command(&params).expect("a command").is_clear(), clear, "{json}");
        }
    }
}
