//! The same behaviour over both tiers: one table, and every exchange of it fits the schemas and is the same in the ledger.

use std::{fs, path::Path, sync::Arc};

use pi_exthost::{
    Guest, Guests,
    guest::{ToolAnswer, ToolInvocation},
    verdict::{ToolCallVerdict, Verdict},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::house::{House, OPEN, event, invocation, never, start, start_js, told};

const CLOSED: &str = r#"{"extensions":{"policy":{"mode":"permissive","deny_caps":["exec","read","write"]}}}"#;

/// What is asked.
enum Asked {
    Tool(&'static str),
    Command(&'static str),
    Guard(&'static str),
}

struct Row {
    what: &'static str,
    policy: &'static str,
    asked: Asked,
    /// What is told, and how the host calls ended.
    expected: (&'static str, &'static [&'static str]),
}

const GREETING: &str = r#"{"method":"notify","message":"hello","notifyType":"info"}"#;
const DENIED: &str = "Extension test wanted ";

fn rows() -> Vec<Row> {
    let row = |what, policy, asked, told, calls| Row { what, policy, asked, expected: (told, calls) };
    vec![
        row("a tool gets its input", OPEN, Asked::Tool("answer"), r#"{"a":[1,"ü",null],"b":0.5}"#, &[]),
        row("a tool reads a file", OPEN, Asked::Tool("read"), "remember\n", &["fs read ok"]),
        row("a tool writes a file", OPEN, Asked::Tool("write"), "done", &["fs write ok"]),
        row("a tool runs a program", OPEN, Asked::Tool("execute"), "hi\n", &["exec exec ok"]),
        row("a tool uses one of the host", OPEN, Asked::Tool("use"), "remember\n", &["tool read ok"]),
        row("a tool uses one of its own", OPEN, Asked::Tool("own"), "1", &["tool tool ok"]),
        row("a tool fails", OPEN, Asked::Tool("fail"), "sad: not today", &[]),
        row("a command greets", OPEN, Asked::Command("greet"), GREETING, &["ui ui ok"]),
        row("a guard lets pass", OPEN, Asked::Guard("read"), "passes", &[]),
        row("a guard blocks", OPEN, Asked::Guard("delete"), "no tools with d", &[]),
        row("reading is denied", CLOSED, Asked::Tool("read"), DENIED, &["fs read denied"]),
        row("writing is denied", CLOSED, Asked::Tool("write"), DENIED, &["fs write denied"]),
        row("running is denied", CLOSED, Asked::Tool("execute"), DENIED, &["exec exec denied"]),
        row("using is denied", CLOSED, Asked::Tool("use"), DENIED, &["tool read denied"]),
    ]
}

async fn ask(guests: &Guests, house: &House, asked: &Asked) -> String {
    match asked {
        Asked::Tool(name) => {
            let call = invocation(name, json!({ "a": [1, "ü", null], "b": 0.5 }));
            let answer = guests.tool(name).expect("a tool").call(call, &never()).await;
            answer.map_or_else(|trouble| trouble.to_string(), |answer| told(&Ok(answer)))
        }
        Asked::Command(name) => {
            guests.command(name).expect("a command").run(String::new(), &never()).await.expect("it runs");
            house.announced().await
        }
        Asked::Guard(tool) => {
            let data = json!({ "toolName": tool, "toolCallId": "c", "input": {} });
            let Verdict::ToolCall(verdict) = guests.dispatch(event("tool_call", &data), &never()).await else {
                panic!("another verdict")
            };
            match verdict {
                ToolCallVerdict::Proceed => "passes".to_owned(),
                ToolCallVerdict::Blocked { reason, .. } => reason.unwrap_or_default(),
                other => format!("{other:?}"),
            }
        }
    }
}

/// How the host calls of a guest ended, and the digests of what was asked.
fn calls(ledger: &[Value]) -> (Vec<String>, Vec<String>) {
    let of =
        |event: &'static str| ledger.iter().filter(move |line| line["event"] == event).map(|line| line["data"].clone());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ended = of("host_call.end").map(|data| {
        let code = data["error"]["code"].as_str().unwrap_or("ok").to_owned();
        format!("{} {} {code}", word(&data["method"]), word(&data["capability"]))
    });
    (ended.collect(), of("host_call.start").map(|data| word(&data["params_hash"])).collect())
}

fn fits_the_schemas(house: &House, what: &str) {
    let messages = house.traced();
    let ours = jsonschema::validator_for(&pi_extproto::schema::protocol()).expect("a schema");
    messages.iter().for_each(|message| assert!(ours.is_valid(message), "{what}: {message}"));
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/extension-protocol.schema.json");
    let Ok(schema) = fs::read(&theirs) else {
        eprintln!("SKIPPED: {} is not there; the trace was compared with our own schema only", theirs.display());
        return;
    };
    let schema: Value = serde_json::from_slice(&schema).expect("a schema");
    let theirs = jsonschema::validator_for(&schema).expect("a schema");
    messages.iter().for_each(|message| assert!(theirs.is_valid(message), "{what}: {message}"));
}

/// What was told, how calls ended, and their digests.
async fn observe(row: &Row, house: &House, guest: Arc<dyn Guest>) -> (String, Vec<String>, Vec<String>) {
    let guests = house.attend(guest);
    let told = ask(&guests, house, &row.asked).await;
    guests.shutdown().await;
    let (ended, digests) = calls(&house.ledger().await);
    fits_the_schemas(house, row.what);
    (told, ended, digests)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_tiers_behave_alike() {
    for row in rows() {
        let (there, here) = (House::new(row.policy), House::new(row.policy));
        let script = start_js(&there).await;
        let script = observe(&row, &there, script).await;
        let component = start(&here, Default::default()).await.expect("it starts");
        let component = observe(&row, &here, component).await;
        let (told, ended) = row.expected;
        for (tier, seen) in [("js", &script), ("wasm", &component)] {
            assert!(seen.0.starts_with(told), "{}, {tier}: {}", row.what, seen.0);
            assert_eq!(seen.1, ended, "{}, {tier}", row.what);
        }
        assert_eq!(script.2, component.2, "{}: the digests of the calls", row.what);
    }
}

#[tokio::test]
async fn news_of_a_tool_come_before_its_answer() {
    let house = House::new(OPEN);
    let guests = house.attend(start(&house, Default::default()).await.expect("it starts"));
    let (updates, mut heard) = mpsc::channel(8);
    let call = ToolInvocation { updates, ..invocation("note", json!({})) };
    let answer = guests.tool("note").expect("a tool").call(call, &never()).await.expect("an answer");
    let news = ToolAnswer { output: heard.recv().await.expect("news"), is_error: false, terminate: false };
    assert_eq!((told(&Ok(news)).as_str(), told(&Ok(answer)).as_str()), ("half", "done"));
    assert_eq!(calls(&house.ledger().await).0, ["events events ok"]);
}

#[tokio::test]
async fn registration_is_what_init_returned() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    let registration = guest.registration();
    assert_eq!((registration.id.as_str(), registration.tools.len()), ("test", 20));
    let answer = &registration.tool("answer").expect("a tool").definition;
    assert_eq!((answer.description.as_str(), json!(answer.parameters)), ("d", json!({ "type": "object" })));
    let commands: Vec<_> = registration.commands.iter().map(|it| it.definition.name.as_str()).collect();
    assert_eq!(commands, ["greet", "subscribe"]);
    let hooks: Vec<_> = registration.hooks.keys().map(|hook| hook.as_str()).collect();
    assert_eq!(hooks, ["agent_start", "tool_call"]);
    assert!(registration.channels.is_empty());
}

#[tokio::test]
async fn channel_is_in_the_registration_once_it_is_subscribed_to() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    let guests = house.attend(guest.clone());
    guests.command("subscribe").expect("a command").run(String::new(), &never()).await.expect("it runs");
    assert!(guest.registration().channels.contains("news"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_a_program_comes_in_pieces() {
    let house = House::new(OPEN);
    let guests = house.attend(start(&house, Default::default()).await.expect("it starts"));
    let answer = guests.tool("stream").expect("a tool").call(invocation("stream", json!({})), &never()).await;
    assert_eq!(told(&Ok(answer.expect("an answer"))), "hi\n");
    assert_eq!(calls(&house.ledger().await).0, ["exec exec ok"]);
    fits_the_schemas(&house, "a stream");
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_that_is_denied_says_so() {
    let house = House::new(CLOSED);
    let guests = house.attend(start(&house, Default::default()).await.expect("it starts"));
    let answer = guests.tool("stream").expect("a tool").call(invocation("stream", json!({})), &never()).await;
    let told = told(&Ok(answer.expect("an answer")));
    assert!(told.starts_with(DENIED), "{told}");
}

#[tokio::test]
async fn what_an_extension_keeps_in_memory_stays_between_calls() {
    let house = House::new(OPEN);
    let guests = house.attend(start(&house, Default::default()).await.expect("it starts"));
    for expected in ["1", "2", "3"] {
        let answer = guests.tool("count").expect("a tool").call(invocation("count", json!({})), &never()).await;
        assert_eq!(told(&Ok(answer.expect("an answer"))), expected);
    }
}

#[tokio::test]
async fn ended_guest_answers_nothing() {
    let house = House::new(OPEN);
    let guest = start(&house, Default::default()).await.expect("it starts");
    guest.shutdown().await;
    let ask = pi_exthost::Ask { cancel: never(), stopwatch: pi_exthost::Stopwatch::unlimited() };
    let answer = guest.call_tool(invocation("count", json!({})), ask).await;
    assert_eq!(answer, Err(pi_exthost::GuestFault::Gone));
}
