//! Every connector that a component reaches, from its own words to the host and back: `connectors.yaml` is the table.
//!
//! A row is one host call of a component that is made for it. Its parameters are compared as the trace of the protocol has
//! them, and its result as it stands in the memory of the component.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    GuestId, SessionPort,
    port::{CommandInfo, CommandSource, Mode, Request, SessionState, Settled, ToolInfo},
};
use pi_extproto::connector::{
    data,
    environment::Credential,
    http::Header,
    tool::{CommandDefinition, ToolDefinition},
};
use pi_guests::wasm::{Code, Piece, Program, WasmGuest};
use pi_transcript::{
    Block, ProviderId, ThinkingLevel,
    question::{Answer, Question},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    component::{Assembler, Reader},
    house::{House, MACHINE, invocation, never, program},
};

const TABLE: &str = include_str!("connectors.yaml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// `interface.function`
    call: String,
    /// Its parameters, in order.
    with: Vec<Value>,
    /// The parameters of the host call, as the protocol writes them.
    asks: Value,
    /// What the component gets.
    gets: Value,
    #[serde(default)]
    deny: Vec<String>,
    /// What is granted to it by name, as settings write it.
    #[serde(default)]
    grant: Vec<Value>,
    /// Whether it is made by a slash command.
    #[serde(default)]
    command: bool,
}

/// A session that answers everything in the same way each time.
struct Session;

impl SessionPort for Session {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        match request {
            Request::State(reply) => drop(reply.send(Ok(state()))),
            Request::SystemPrompt(reply) => drop(reply.send(Ok("Be brief.".to_owned()))),
            Request::Entries(_, reply) => drop(reply.send(Ok(Vec::new()))),
            Request::Entry(_, reply) => drop(reply.send(Ok(None))),
            Request::Label(_, reply) => drop(reply.send(Ok(Some("start".to_owned())))),
            Request::Tools(reply) => {
                let definition = json!({ "name": "read", "description": "d", "parameters": { "type": "object" } });
                let definition: ToolDefinition = serde_json::from_value(definition).expect("a tool");
                drop(reply.send(Ok(vec![ToolInfo { definition, is_active: true, source: None }])));
            }
            Request::Commands(reply) => {
                let definition = CommandDefinition { name: "greet".to_owned(), description: None };
                let source = CommandSource::Skill { path: "/skill".to_owned() };
                drop(reply.send(Ok(vec![CommandInfo { definition, source }])));
            }
            Request::Models(reply) => drop(reply.send(Ok(Vec::new()))),
            Request::ScopedModels(reply) => drop(reply.send(Ok(Vec::new()))),
            Request::EditorText(reply) => drop(reply.send(Ok(Some("draft".to_owned())))),
            Request::AppendEntry { reply, .. } => drop(reply.send(Ok("e9".into()))),
            Request::SendMessage { reply, .. }
            | Request::SendUserMessage { reply, .. }
            | Request::Emit { reply, .. } => {
                drop(reply.send(Ok(())));
            }
            Request::SetName(_, reply)
            | Request::SetLabel(_, _, reply)
            | Request::SetActiveTools(_, reply)
            | Request::Announce(_, reply)
            | Request::Tell(_, reply)
            | Request::RegistrationChanged(reply)
            | Request::Abort(reply)
            | Request::Quit(reply) => drop(reply.send(Ok(()))),
            Request::SetModel(_, _, reply) => drop(reply.send(Ok(false))),
            Request::SetThinkingLevel(_, reply) => drop(reply.send(Ok(ThinkingLevel::Low))),
            Request::Complete(asked, reply) => {
                let said = json!({ "content": [{ "type": "text", "text": format!("{} asked", asked.messages.len()) }],
                    "api": "a", "provider": "p", "model": "m", "usage": {}, "stopReason": "stop", "timestamp": 1 });
                drop(reply.send(Ok(serde_json::from_value(said).expect("a message"))));
            }
            Request::Ask(asked, reply) => drop(reply.send(Ok(answer(asked.question())))),
            Request::Control(_, _, reply) => drop(reply.send(Ok(true))),
            // Nobody answers, which says that the session is gone.
            gone @ (Request::Header(_)
            | Request::Compact { .. }
            | Request::AskApproval(..)
            | Request::Draw(..)
            | Request::Left(_)) => drop(gone),
        }
        async {}.boxed()
    }
}

/// A person who chooses the last, consents, and writes what is known to be wanted.
fn answer(asked: &Question) -> Settled {
    Settled::Answered(match asked {
        Question::Select { options, .. } => match options.last() {
            Some(value) => Answer::Select { value: value.clone() },
            None => return Settled::Cancelled,
        },
        Question::Confirm { .. } => Answer::Confirm { confirmed: true },
        Question::Input { .. } => return Settled::TimedOut,
        Question::Editor { prefill, .. } => {
            Answer::Editor { value: format!("{} more", prefill.as_deref().unwrap_or("")) }
        }
        Question::Interview { .. } => {
            let responses = json!({ "name": "Ada", "sure": true, "kinds": ["a", "b"] });
            Answer::Interview { responses: serde_json::from_value(responses).expect("answers") }
        }
    })
}

fn state() -> SessionState {
    SessionState {
        session_id: "s1".into(),
        file: None,
        folder: None,
        name: Some("talk".to_owned()),
        leaf_id: None,
        cwd: "/project".to_owned(),
        model: None,
        thinking_level: ThinkingLevel::High,
        is_idle: true,
        has_pending_messages: false,
        mode: Mode::Server,
        is_project_trusted: true,
        context_usage: None,
    }
}

/// A component that makes one host call, and what reads its result.
fn component(row: &Row) -> (Vec<u8>, Reader) {
    let (interface, function) = row.call.split_once('.').expect("an interface and a function");
    let tool = json!({ "name": "call", "description": "d", "parameters": r#"{"type":"object"}"# });
    let register = json!({ "name": "test", "version": "1.0.0", "api-version": "1.0", "tools": [tool],
        "slash-commands": [{ "name": "call" }] });
    let memory = json!([{ "image": { "data": { "$slot": "memory" }, "mime-type": "memory" } }]);
    let assembler = Assembler::new()
        .result("init", "guest", "init", &json!({ "ok": register }))
        .result(
            "answer",
            "guest",
            "call-tool",
            &json!({ "ok": { "output": { "content": memory }, "is-error": false } }),
        )
        .result("done", "guest", "run-command", &json!({ "ok": { "output": "{}", "is-error": false } }))
        .result("go-on", "guest", "handle-event", &json!({ "ok": "notice" }));
    let (assembler, [import, call], reader) = assembler.call(interface, function, &row.with);
    let text = include_str!("caller.wat").replace("IMPORT", &import).replace("CALL", &call);
    (assembler.component(&text), reader)
}

/// A house with a person, a key and a variable in it.
fn house(row: &Row) -> House {
    let grants = json!({ "test": row.grant });
    let policy =
        json!({ "extensions": { "policy": { "mode": "permissive", "deny_caps": row.deny, "grants": grants } } });
    House::furnished(&policy.to_string(), |fittings| {
        fittings.port = Arc::new(Session);
        fittings.variables.insert("COLOUR".to_owned(), "blue".to_owned());
        fittings.keys = Some(Arc::new(|provider: ProviderId| {
            let header = Header { name: "x-team".to_owned(), value: "one".to_owned() };
            let key = Credential { api_key: Some("key of p".to_owned()), headers: vec![header] };
            async move { (provider.0 == "p").then_some(key) }.boxed()
        }));
    })
}

/// The parameters of the host call of a row, and what the component got.
async fn observe(row: &Row) -> (Value, Value) {
    let (house, (bytes, reader)) = (house(row), component(row));
    let code = Code::prepare(&MACHINE, Piece::bare(&row.call, &bytes), None)
        .unwrap_or_else(|fault| panic!("{}: {fault}", row.call));
    let guest = WasmGuest::start(Program { code, ..program(Default::default()) }, house.desk()).await;
    let guests = house.attend(guest.unwrap_or_else(|fault| panic!("{}: {fault}", row.call)));
    if row.command {
        guests.command("call").expect("a command").run(String::new(), &never()).await.expect("it runs");
    }
    let answer = guests.tool("call").expect("a tool").call(invocation("call", json!({})), &never()).await;
    let answer = answer.unwrap_or_else(|trouble| panic!("{}: {trouble}", row.call));
    let Some(Block::Image(memory)) = answer.output.content.first() else { panic!("{answer:?}") };
    let got = reader.read(&data::decode(&memory.data).expect("bytes"));
    guests.shutdown().await;
    let traced = house.traced();
    let of =
        |kind: &str| traced.iter().find(|message| message["type"] == kind).map(|message| message["payload"].clone());
    let asked = of("host_call").unwrap_or_default()["params"].clone();
    let got = match (row.command, of("host_result")) {
        // The memory is that of the tool, which may not do what the command did.
        (true, Some(result)) => json!({ "command": result["output"], "tool": got }),
        (false, _) | (true, None) => got,
    };
    (asked, got)
}

/// Whether a value is what was expected, as far as that goes.
fn fits(seen: &Value, expected: &Value) -> bool {
    match (seen, expected) {
        (Value::Object(seen), Value::Object(expected)) => {
            expected.iter().all(|(name, expected)| seen.get(name).is_some_and(|seen| fits(seen, expected)))
        }
        (seen, expected) => seen == expected,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_results_pass_whole() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes).await;
            let answer = "HTTP/1.1 201 Created\r\ncontent-length: 4\r\nconnection: close\r\nx-it: works\r\n\r\nmade";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let table = TABLE.replace("PORT", &port.to_string());
    let rows: Vec<Row> = serde_saphyr::from_str(&table).unwrap_or_else(|error| panic!("connectors.yaml: {error}"));
    let mut faults = Vec::new();
    for row in &rows {
        let (asked, got) = observe(row).await;
        if asked != row.asks || !fits(&got, &row.gets) {
            faults.push(format!("{}: asks {asked} gets {got}", row.call));
        }
    }
    server.abort();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_connector_has_a_row() {
    let rows: Vec<Row> = serde_saphyr::from_str(TABLE).expect("a table");
    for interface in ["http", "session", "ui", "env", "credentials", "events", "fs", "log"] {
        let calls = rows.iter().filter(|row| row.call.starts_with(&format!("{interface}."))).count();
        assert!(calls > 0, "{interface} has no row");
    }
}
