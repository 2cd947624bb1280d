//! From a host call to the action that it asks for.
//!
//! Only calls that were checked come here, and what they are aimed at is read from their types: policy judges what the
//! connector will do, not a second reading of the same parameters.

use serde_json::Value;

use pi_extproto::{
    Object,
    capability::{Method, derive},
    connector::{
        BadParams, Call,
        environment::EnvCall,
        exec,
        fs::FsCall,
        tool::{Reach, ToolUse},
    },
    host::{self, CheckedCall, ErrorCode, HostError},
};

use crate::{
    command::Command,
    grant::Denial,
    host::{Host, HostFault},
    moment::Moment,
    place::{Extent, Location, PathFault, Places},
    request::{Action, Request, Subject},
    target::Target,
};

/// Why a call asks for nothing that could be judged. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCall {
    /// It did not even pass [`HostCall::check`](pi_extproto::host::HostCall::check).
    #[error(transparent)]
    Unchecked(#[from] host::BadCall),
    #[error(transparent)]
    Tool(#[from] BadParams),
    #[error("params.{member}: {fault}")]
    Path { member: &'static str, fault: PathFault },
    #[error("params.url: {0}")]
    Host(HostFault),
}

impl Action {
    /// Reads what `call` asks for. Its paths count from the project of `places`.
    pub fn from_host_call(subject: Subject, places: &Places, call: &CheckedCall) -> Result<Self, BadCall> {
        let target = target(places, call.call())?;
        Ok(Self { subject, capability: call.capability().clone(), method: call.method(), target })
    }

    /// Reads what the tool `name` would do with `input`: the calls of the model, which come in no host call.
    pub fn from_tool_use(subject: Subject, places: &Places, name: &str, input: &Object) -> Result<Self, BadCall> {
        let tool = ToolUse { name: name.to_owned(), input: input.clone() };
        let selector = Object::from_iter([("name".to_owned(), Value::from(name))]);
        let capability = derive(&Method::Tool, &selector).expect("every name of a tool has a capability");
        Ok(Self { subject, capability, method: Method::Tool, target: used(places, &tool)? })
    }
}

impl Request {
    /// Reads what `call` asks for at the time `now`, with nothing known about the extension.
    pub fn from_host_call(subject: Subject, places: &Places, call: &CheckedCall, now: Moment) -> Result<Self, BadCall> {
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

fn target(places: &Places, call: &Call) -> Result<Target, BadCall> {
    match call {
        Call::Tool(tool) => used(places, tool),
        Call::Fs(call) => touched(places, call),
        Call::Exec(call) => command(places, call).map(Target::Command),
        Call::Http(request) => Host::from_url(&request.url).map(Target::Host).map_err(BadCall::Host),
        Call::Env(EnvCall::Get { name }) => Ok(Target::Variable(name.clone())),
        Call::Env(EnvCall::List) => Ok(Target::Environment),
        Call::Mcp(tool) => Ok(Target::Tool(mcp_tool(&tool.server, &tool.name))),
        Call::Session(_) | Call::Ui(_) | Call::Events(_) | Call::Log(_) | Call::Credentials(_) | Call::Other(_) => {
            Ok(Target::Nothing)
        }
    }
}

fn used(places: &Places, tool: &ToolUse) -> Result<Target, BadCall> {
    const PATH: &str = "input.path";
    match tool.reach()? {
        Reach::File(path) => locate(places, path, PATH, Extent::File).map(Target::Path),
        Reach::Tree(path) => locate(places, path.unwrap_or("."), PATH, Extent::Tree).map(Target::Path),
        Reach::Shell(line) => Ok(Target::Command(Command::shell(line))),
        Reach::Unknown => Ok(Target::Tool(tool.name.clone())),
    }
}

fn touched(places: &Places, call: &FsCall) -> Result<Target, BadCall> {
    let (path, extent) = match call {
        FsCall::MakeTemporary { prefix: _ } => return Ok(places.temporary().map_or(Target::Nothing, Target::Path)),
        FsCall::Rename { from, to } => {
            let from = locate(places, from, "from", Extent::Tree)?;
            let to = locate(places, to, "to", Extent::Tree)?;
            return Ok(Target::Move { from, to });
        }
        FsCall::List { path } | FsCall::Remove { path, recursive: true } => (path, Extent::Tree),
        FsCall::Remove { path, recursive: false }
        | FsCall::Read { path, offset: _, limit: _ }
        | FsCall::Stat { path, follow_links: _ }
        | FsCall::Resolve { path }
        | FsCall::Write { path, content: _, mode: _, permissions: _ }
        | FsCall::Append { path, content: _ }
        | FsCall::MakeDirectory { path, parents: _ }
        | FsCall::SetMode { path, mode: _ }
        | FsCall::SetTimes { path, accessed_ms: _, modified_ms: _, follow_links: _ } => (path, Extent::File),
    };
    locate(places, path, "path", extent).map(Target::Path)
}

fn command(places: &Places, call: &exec::Command) -> Result<Command, BadCall> {
    let command = Command::program(&call.command, &call.args);
    let command = if call.stdin.is_some() { command.with_input() } else { command };
    let command = match &call.cwd {
        None => command,
        Some(cwd) => command.within(locate(places, cwd, "cwd", Extent::File)?),
    };
    let command = command.with_variables(call.env.keys().cloned().collect());
    // A folder from which the path of the program counts changes what the program is.
    let is_elsewhere = command.folder().is_some() && call.command.contains(['/', '\\']);
    Ok(if is_elsewhere { command.made_unclear() } else { command })
}

/// One text for the tool of a server. Names may hold `/`, so that of the server has it in another form.
fn mcp_tool(server: &str, name: &str) -> String {
    format!("{}/{name}", server.replace('%', "%25").replace('/', "%2F"))
}

fn locate(places: &Places, path: &str, member: &'static str, extent: Extent) -> Result<Location, BadCall> {
    places.locate(path, extent).map_err(|fault| BadCall::Path { member, fault })
}

#[cfg(test)]
mod tests {
    use pi_extproto::host::HostCall;

    use super::*;
    use crate::place::{PathStyle, Root};

    fn checked(capability: &str, method: &str, params: &str) -> CheckedCall {
        let json = format!(r#"{{"call_id":"1","capability":"{capability}","method":"{method}","params":{params}}}"#);
        let call: HostCall = serde_json::from_str(&json).expect("a host call");
        call.check().unwrap_or_else(|bad| panic!("{json}: {bad}"))
    }

    #[track_caller]
    fn check(capability: &str, method: &str, params: &str, expected: &str) {
        let places = Places::new(PathStyle::Unix, "/p").and_then(|places| places.with(Root::Temporary, "/tmp/x"));
        let call = checked(capability, method, params);
        let found = match Action::from_host_call(Subject::Agent, &places.expect("folders"), &call) {
            Ok(action) => format!("{}: {}", action.capability, action.target),
            Err(fault) => fault.to_host_error().message,
        };
        assert_eq!(found, expected, "{method} {params}");
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
        check("tool", "mcp", r#"{"server":"a/b","name":"c","input":{}}"#, "tool: a%2Fb/c");
        check("tool", "mcp", r#"{"server":"a","name":"b/c","input":{}}"#, "tool: a/b/c");
        check("tool", "mcp", r#"{"server":"a%2Fb","name":"c","input":{}}"#, "tool: a%252Fb/c");
        check("read", "tool", r#"{"name":"read","input":{"path":7}}"#, "params.input.path: expected a string");
        check("read", "tool", r#"{"name":"grep","input":{"path":null}}"#, "params.input.path: expected a string");
        let nul = "params.input.path: the path contains a NUL";
        check("read", "tool", r#"{"name":"read","input":{"path":"a\u0000"}}"#, nul);
    }

    #[test]
    fn call_of_the_model_asks_for_what_the_host_call_asks_for() {
        let places = Places::new(PathStyle::Unix, "/p").expect("a folder");
        for (capability, name, input) in [
            ("read", "read", r#"{"path":"a"}"#),
            ("write", "edit", r#"{"path":"/etc/x"}"#),
            ("read", "ls", "{}"),
            ("exec", "bash", r#"{"command":"ls"}"#),
            ("tool", "deploy", r#"{"path":1}"#),
        ] {
            let call = checked(capability, "tool", &format!(r#"{{"name":"{name}","input":{input}}}"#));
            let expected = Action::from_host_call(Subject::Agent, &places, &call).expect("an action");
            let input = serde_json::from_str(input).expect("an object");
            assert_eq!(Action::from_tool_use(Subject::Agent, &places, name, &input), Ok(expected), "{name}");
        }
    }

    #[test]
    fn file_operations_name_their_paths() {
        check("write", "fs", r#"{"op":"rename","from":"a","to":"../b"}"#, "write: a/ -> /b/");
        check("write", "fs", r#"{"op":"remove","path":"a","recursive":false}"#, "write: a");
        check("write", "fs", r#"{"op":"remove","path":"a","recursive":true}"#, "write: a/");
        check("write", "fs", r#"{"op":"make_temporary","prefix":"a"}"#, "write: /tmp/x");
        check("read", "fs", r#"{"op":"list","path":"a"}"#, "read: a/");
        check("read", "fs", r#"{"op":"read","path":"a","offset":1.0}"#, "read: a");
        check("read", "fs", r#"{"op":"read","path":""}"#, "params.path: the path is empty");
    }

    #[test]
    fn other_connectors_name_their_targets() {
        let request = |url: &str| {
            format!(r#"{{"method":"GET","url":"{url}","headers":[],"follow_redirects":false,"stream":false}}"#)
        };
        check("http", "http", &request("https://API.github.com:443/x"), "http: api.github.com");
        let refused = "params.url: expected a URL that begins with http:// or https://";
        check("http", "http", &request("ftp://x"), refused);
        check("exec", "exec", r#"{"command":"git","args":["log"],"env":{},"stream":false}"#, "exec: git log");
        let elsewhere = |cwd: &str| format!(r#"{{"command":"git","args":[],"env":{{}},"cwd":"{cwd}","stream":false}}"#);
        check("exec", "exec", &elsewhere("sub"), "exec: git (in sub)");
        check("exec", "exec", &elsewhere(""), "params.cwd: the path is empty");
        check("env", "env", r#"{"op":"get","name":"HOME"}"#, "env: HOME");
        check("env", "env", r#"{"op":"list"}"#, "env: the whole environment");
        check("session", "session", r#"{"op":"abort"}"#, "session: nothing in particular");
        check("teleport", "teleport", r#"{"to":"x"}"#, "teleport: nothing in particular");
    }

    #[test]
    fn program_in_surroundings_of_its_own_is_unclear() {
        for (members, clear, folder) in [
            (r#""command":"git","env":{}"#, true, None),
            (r#""command":"git","env":{},"cwd":"sub""#, true, Some("/p/sub")),
            (r#""command":"git","env":{},"cwd":"/tmp""#, true, Some("/tmp")),
            (r#""command":"git","env":{},"cwd":"sub/..""#, true, None),
            (r#""command":"./git","env":{}"#, true, None),
            (r#""command":"./git","env":{},"cwd":"/p/""#, true, None),
            (r#""command":"./git","env":{},"cwd":"sub""#, false, Some("/p/sub")),
            (r#""command":"git","env":{"LD_PRELOAD":"x"}"#, false, None),
        ] {
            let call = checked("exec", "exec", &format!(r#"{{{members},"args":[],"stream":false}}"#));
            let Call::Exec(call) = call.into_call() else { panic!("a process") };
            let command = command(&Places::new(PathStyle::Unix, "/p").expect("a folder"), &call).expect("a command");
            assert_eq!((command.is_clear(), command.folder().map(Location::absolute)), (clear, folder), "{members}");
        }
    }
}
