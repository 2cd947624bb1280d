//! What a host call touches, as the ledger names it: a path, a program, a host, a variable, an operation. Never contents,
//! arguments or values; whoever wants to know whether two calls were the same compares their digests.

use serde_json::Value;

use crate::{
    Object,
    connector::{
        Call,
        environment::{CredentialsCall, EnvCall},
        events::EventsCall,
        fs::FsCall,
        tool::{Reach, ToolUse},
    },
};

/// Longer ones lose their middle: the end of a path tells most, and its beginning where it is.
const LONGEST: usize = 1024;

/// What a call touches, as it names it itself; nothing if there is no word for it. `params` are those of the call, or
/// as many as are at hand.
pub fn target(call: &Call, params: &Object) -> Option<String> {
    let operation = || params.get("op").and_then(Value::as_str).map(str::to_owned);
    let named = match call {
        Call::Fs(FsCall::Rename { from, to }) => Some(format!("{from} -> {to}")),
        Call::Fs(FsCall::MakeTemporary { .. }) => operation(),
        Call::Fs(
            FsCall::Read { path, .. }
            | FsCall::List { path }
            | FsCall::Stat { path, .. }
            | FsCall::Resolve { path }
            | FsCall::Write { path, .. }
            | FsCall::Append { path, .. }
            | FsCall::MakeDirectory { path, .. }
            | FsCall::Remove { path, .. }
            | FsCall::SetMode { path, .. }
            | FsCall::SetTimes { path, .. },
        ) => Some(path.clone()),
        Call::Exec(command) => Some(command.command.clone()),
        Call::Http(request) => host(&request.url).map(str::to_owned),
        Call::Tool(used) => Some(used_on(used)),
        Call::Mcp(used) => Some(format!("{}/{}", used.server, used.name)),
        Call::Env(EnvCall::Get { name }) => Some(name.clone()),
        Call::Env(EnvCall::List) => Some("the whole environment".to_owned()),
        Call::Credentials(CredentialsCall::Get { provider }) => Some(provider.to_string()),
        Call::Events(
            EventsCall::Emit { channel, .. } | EventsCall::Subscribe { channel } | EventsCall::Unsubscribe { channel },
        ) => operation().map(|operation| format!("{operation} {channel}")),
        Call::Events(EventsCall::ToolUpdate { .. }) | Call::Session(_) | Call::Ui(_) => operation(),
        Call::Log(_) | Call::Other(_) => None,
    };
    named.map(shortened)
}

/// The program that a line starts: its first word that sets no variable. What follows may hold anything.
pub fn program(line: &str) -> &str {
    line.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default()
}

fn used_on(used: &ToolUse) -> String {
    match used.reach() {
        Ok(Reach::File(path) | Reach::Tree(Some(path))) => path.to_owned(),
        Ok(Reach::Tree(None)) => ".".to_owned(),
        Ok(Reach::Shell(line)) => program(line).to_owned(),
        Ok(Reach::Unknown) | Err(_) => used.name.clone(),
    }
}

/// The host of a URL with its port, without user, path and query.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    authority.rsplit('@').next().filter(|host| !host.is_empty())
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let (head, tail) = (text.floor_char_boundary(LONGEST / 4), text.ceil_char_boundary(text.len() - LONGEST / 2));
        text.replace_range(head..tail, "…");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::capability::Method;

    #[track_caller]
    fn check(method: &str, params: &Value, expected: Option<&str>) {
        let params = params.as_object().expect("an object");
        let call = Call::parse(&Method::from(method), params).expect("a call");
        assert_eq!(target(&call, params).as_deref(), expected, "{method} {params:?}");
    }

    #[test]
    fn target_is_named_without_contents() {
        check("fs", &json!({ "op": "read", "path": "a/b" }), Some("a/b"));
        let write = json!({ "op": "write", "path": "a", "content": { "text": "hush" }, "mode": "replace" });
        check("fs", &write, Some("a"));
        check("fs", &json!({ "op": "rename", "from": "a", "to": "b" }), Some("a -> b"));
        check("fs", &json!({ "op": "make_temporary", "prefix": "x" }), Some("make_temporary"));
        let command =
            json!({ "command": "/bin/sh", "args": ["-c", "hush"], "env": { "KEY": "hush" }, "stream": false });
        check("exec", &command, Some("/bin/sh"));
        let request = json!({ "method": "POST", "url": "https://me:hush@example.org:8443/hush?key=hush#hush",
            "headers": [{ "name": "x-key", "value": "hush" }], "body": { "text": "hush" },
            "follow_redirects": true, "stream": false });
        check("http", &request, Some("example.org:8443"));
        check("env", &json!({ "op": "get", "name": "HOME" }), Some("HOME"));
        check("env", &json!({ "op": "list" }), Some("the whole environment"));
        check("credentials", &json!({ "op": "get", "provider": "p" }), Some("p"));
        check("tool", &json!({ "name": "write", "input": { "path": "a", "content": "hush" } }), Some("a"));
        check("tool", &json!({ "name": "grep", "input": { "pattern": "hush" } }), Some("."));
        check("tool", &json!({ "name": "bash", "input": { "command": "KEY=hush curl hush" } }), Some("curl"));
        check("tool", &json!({ "name": "deploy", "input": { "to": "hush" } }), Some("deploy"));
        check("mcp", &json!({ "server": "s", "name": "read", "input": { "path": "hush" } }), Some("s/read"));
        check("ui", &json!({ "op": "notify", "message": "hush", "level": "warning" }), Some("notify"));
        check("events", &json!({ "op": "emit", "channel": "c", "data": "hush" }), Some("emit c"));
        check("log", &json!({ "level": "info", "event": "x", "message": "hush" }), None);
    }

    #[test]
    fn long_target_keeps_both_ends() {
        let long = format!("/home/{}/id_rsa", "ä".repeat(4000));
        let shown = shortened(long);
        assert!(shown.starts_with("/home/") && shown.contains('…') && shown.ends_with("/id_rsa"), "{shown}");
        assert!(shown.len() < LONGEST, "{}", shown.len());
    }
}
