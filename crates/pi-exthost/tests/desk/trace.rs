//! `--trace-protocol`: every exchange in its JSON form, as both schemas have it.

use std::{fs, path::Path};

use pi_exthost::Terms;
use pi_extproto::connector::{Call, exec::Command};
use serde_json::{Value, json};

use crate::stage::{Plan, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn every_exchange_fits_the_schemas_and_holds_no_secret() {
    let policy = json!({ "grants": { "g1": [{ "capability": "exec" }] } });
    let stage = Stage::new(Plan { policy, traced: true, ..Plan::default() });
    stage.ask("fs", json!({ "op": "write", "path": "f", "content": { "text": "x" }, "mode": "replace" })).await;
    stage.ask("fs", json!({ "op": "read", "path": "none" })).await;
    stage.ask("log", json!({ "level": "info", "event": "x", "message": "hunter2-is-the-secret" })).await;
    let lying = pi_extproto::capability::Capability::Read;
    stage.claim(lying, "tool", json!({ "name": "bash", "input": { "command": "true" } })).await;
    let echo = Command {
        command: "echo".to_owned(),
        args: vec!["hi".to_owned()],
        cwd: None,
        env: [].into(),
        unset: None,
        bare: None,
        announce: None,
        stdin: None,
        timeout_ms: None,
        max_output_bytes: None,
        stream: true,
    };
    let mut feed = stage.desk.open(Call::Exec(echo), Terms::background());
    while feed.next().await.is_some() {}
    let text = fs::read_to_string(stage.path("trace.jsonl")).expect("a trace");
    assert!(!text.contains("hunter2"), "{text}");
    let messages: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> = messages.iter().map(|message| message["type"].as_str().expect("a type")).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "host_call").count(), 5);
    assert_eq!(kinds.iter().filter(|kind| **kind == "host_result").count(), 6, "{text}");
    let ours = jsonschema::validator_for(&pi_extproto::schema::protocol()).expect("a schema");
    for message in &messages {
        assert!(ours.is_valid(message), "{message}");
    }
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/extension-protocol.schema.json");
    let Ok(schema) = fs::read(&theirs) else {
        eprintln!("SKIPPED: {} is not there; the trace was compared with our own schema only", theirs.display());
        return;
    };
    let schema: Value = serde_json::from_slice(&schema).expect("a schema");
    let theirs = jsonschema::validator_for(&schema).expect("a schema");
    for message in &messages {
        assert!(theirs.is_valid(message), "{message}");
    }
}
