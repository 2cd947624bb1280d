//! What is asked of guests is recorded as well as what they ask for.

use std::{fs, sync::Arc};

use pi_exthost::{Guests, Patience, Trace, guest::ToolInvocation, ledger::reading};
use pi_extproto::hook::event::Event;
use pi_testkit::{ScriptedGuest, SessionDouble};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::stage::{Plan, Stage, redactor};

#[tokio::test(flavor = "multi_thread")]
async fn tools_commands_and_events_leave_a_start_and_an_end() {
    let stage = Stage::new(Plan::default());
    let trace = Trace::create(&stage.path("trace.jsonl"), redactor()).expect("a file");
    let ledger = stage.dispatcher.ledger().clone();
    let mut guests = Guests::new(Patience::default(), Arc::new(|_| {})).recorded(ledger, Some(trace));
    let script = "guest g2\ntool weather\nanswer sunny\ntool bad\nthrow oh\ncommand go\nappend done {}\non turn_start\nappend heard {}";
    let guest = ScriptedGuest::new(script, SessionDouble::new([])).expect("a script");
    guests.attach(guest).expect("an id of its own");
    let cancel = CancellationToken::new();
    for tool in guests.tools() {
        let (updates, _unheard) = mpsc::channel(1);
        let name = tool.offer.definition.name.clone();
        let call = ToolInvocation { call_id: format!("t-{name}").into(), name, input: Default::default(), updates };
        let _ = tool.call(call, &cancel).await;
    }
    for command in guests.commands() {
        command.run("now".to_owned(), &cancel).await.expect("it runs");
    }
    let event = Event::read("turn_start", json!({ "turnIndex": 1, "timestamp": 0 }).as_object().cloned());
    guests.dispatch(event.expect("an event"), &cancel).await;

    stage.dispatcher.ledger().flush().await.expect("it is written");
    let entries = reading::read(&stage.path("logs"), "s1").expect("a ledger").entries;
    let line = |entry: &pi_extproto::log::LogEntry| {
        assert_eq!(entry.breaches(), []);
        let failed = entry.data.as_ref().and_then(|data| data.get("is_error")).and_then(Value::as_bool);
        format!("{} {}{}", entry.event.as_str(), entry.message, if failed == Some(true) { "!" } else { "" })
    };
    let expected = [
        "tool_call.start tool call weather",
        "tool_call.end weather done",
        "tool_call.start tool call bad",
        "tool_call.end bad failed!",
        "slash_command.start command go",
        "slash_command.end go done",
        "event_hook.start event turn_start",
        "event_hook.end turn_start done",
    ];
    assert_eq!(entries.iter().map(line).collect::<Vec<_>>(), expected);

    let schema = jsonschema::validator_for(&pi_extproto::schema::protocol()).expect("a schema");
    let text = fs::read_to_string(stage.path("trace.jsonl")).expect("a trace");
    let messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(messages.iter().all(|message| schema.is_valid(message)), "{text}");
    let kinds: Vec<_> = messages.iter().filter_map(|message| message["type"].as_str()).collect();
    let expected =
        ["tool_call", "tool_result", "tool_call", "tool_result", "slash_command", "slash_result", "event_hook"];
    assert_eq!(kinds, expected);
}

/// While it is still waited for, and with its name.
#[tokio::test(flavor = "multi_thread")]
async fn slow_handler_is_named_before_the_patience_is_over() {
    let stage = Stage::new(Plan::default());
    let ledger = stage.dispatcher.ledger().clone();
    let mut guests = Guests::new(Patience::default(), Arc::new(|_| {})).recorded(ledger, None);
    for (id, wait) in [("slow", 1300), ("quick", 1)] {
        let script = format!("guest {id}\non turn_start\nwait {wait}");
        guests.attach(ScriptedGuest::new(&script, SessionDouble::new([])).expect("a script")).expect("its own id");
    }
    let event = Event::read("turn_start", json!({ "turnIndex": 1, "timestamp": 0 }).as_object().cloned());
    guests.dispatch(event.expect("an event"), &CancellationToken::new()).await;
    stage.dispatcher.ledger().flush().await.expect("it is written");
    let reading = reading::read(&stage.path("logs"), "s1").expect("a ledger");
    let line = |entry: &pi_extproto::log::LogEntry| {
        format!("{} {}: {}", entry.correlation.extension_id, entry.event.as_str(), entry.message)
    };
    let expected = [
        "slow event_hook.start: event turn_start",
        "slow extension.slow: turn_start takes longer than 1s",
        "slow event_hook.end: turn_start done",
        "quick event_hook.start: event turn_start",
        "quick event_hook.end: turn_start done",
    ];
    assert_eq!(reading.entries.iter().map(line).collect::<Vec<_>>(), expected);
    let statistics = reading::statistics(&reading).extensions;
    assert_eq!((statistics["slow"].slow, statistics["quick"].slow), (1, 0));
}
