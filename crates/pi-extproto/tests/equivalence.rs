//! Three judges, one verdict: the schema of the specification, the schema made from our types, and the parser.
//!
//! Every member of every message is dropped, and replaced by everything that it could be mistaken for; then random
//! combinations of such changes. `PI_TEST_CASES` sets the number of random messages.

use std::{io::Write as _, sync::LazyLock};

use jsonschema::Validator;
use pi_extproto::{message, schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

static OURS: LazyLock<Validator> = LazyLock::new(|| validator(&schema::protocol()));

static SPECIFIED: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec/extension-protocol.schema.json");
    #[expect(clippy::disallowed_methods, reason = "the specification is outside the repository")]
    let Ok(text) = std::fs::read_to_string(path) else {
        // Not a print macro: those are swallowed when the test passes.
        let notice = format!("SKIPPED: {path} is not there; only our schema and the parser are compared\n");
        std::io::stderr().write_all(notice.as_bytes()).expect("stderr is open");
        return None;
    };
    Some(validator(&serde_json::from_str(&text).expect("the specification is JSON")))
});

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("a schema")
}

/// The verdict of all judges on a message; a valid one must also survive being read and written.
fn judge(message: &Value) -> Result<bool, String> {
    let bytes = serde_json::to_vec(message).expect("JSON");
    judge_bytes(&bytes)
}

fn judge_bytes(bytes: &[u8]) -> Result<bool, String> {
    let text = String::from_utf8_lossy(bytes);
    // The judges read the same bytes, because a number may be spelled in several ways.
    let message: Value = serde_json::from_slice(bytes).map_err(|error| format!("{error}: {text}"))?;
    let ours = OURS.is_valid(&message);
    let specified = SPECIFIED.as_ref().map_or(ours, |specified| specified.is_valid(&message));
    let parsed = message::parse(bytes);
    let problems = message::validate(bytes);
    if [ours, parsed.is_ok(), problems.is_empty()] != [specified; 3] {
        return Err(format!("specified {specified}, ours {ours}, parser {parsed:?}, problems {problems:?}: {text}"));
    }
    match parsed {
        Ok(parsed) => {
            let again = serde_json::to_value(&parsed).expect("JSON");
            if again != message {
                return Err(format!("{text} was written again as {again}"));
            }
        }
        Err(refused) if refused != problems => return Err(format!("{refused:?} is not {problems:?}: {text}")),
        Err(_) => {}
    }
    Ok(specified)
}

fn envelope(kind: &str, payload: Value) -> Value {
    let mut message = json!({ "id": "m-1", "version": "1.0", "type": kind });
    message["payload"] = payload;
    message
}

/// For each type a message with every member, and one with only the required ones.
fn messages() -> Vec<Value> {
    let scope = json!({ "paths": ["src/**"], "hosts": ["*.example.org"], "env": ["HOME"] });
    let needs = json!({ "schema": "pi.ext.cap.v1", "capabilities": [
        { "capability": "read", "methods": ["tool"], "scope": scope }, { "capability": "teleport" },
    ] });
    let error = json!({ "code": "denied", "message": "no", "details": { "capability": "exec" }, "retryable": false });
    let chunk = json!({ "index": 3, "is_last": false, "backpressure": { "credits": 2, "delay_ms": 10 } });
    let ids = json!({
        "extension_id": "ext.a", "scenario_id": "scn-1", "session_id": "s", "run_id": "r", "artifact_id": "a",
        "tool_call_id": "t", "slash_command_id": "c", "event_id": "e", "host_call_id": "h", "rpc_id": "p",
        "trace_id": "tr", "span_id": "sp",
    });
    vec![
        envelope(
            "register",
            json!({
                "name": "a", "version": "1.0.0", "api_version": "1.0", "capabilities": ["read", "teleport"],
                "capability_manifest": needs, "tools": [{ "name": "t", "parameters": {} }],
                "slash_commands": [{ "name": "c" }], "event_hooks": ["tool_call"],
            }),
        ),
        envelope("register", json!({ "name": "a", "version": "1", "api_version": "1.0" })),
        envelope("tool_call", json!({ "call_id": "t", "name": "grep", "input": { "a": [1] }, "context": {} })),
        envelope("tool_call", json!({ "call_id": "t", "name": "grep", "input": {} })),
        envelope("tool_result", json!({ "call_id": "t", "output": { "content": [] }, "is_error": true })),
        envelope("slash_command", json!({ "name": "c", "args": ["a", ""], "input": { "x": null } })),
        envelope("slash_command", json!({ "name": "c" })),
        envelope("slash_result", json!({ "output": {}, "is_error": false })),
        envelope("event_hook", json!({ "event": "tool_call", "data": { "toolName": "bash" } })),
        envelope("event_hook", json!({ "event": "weather" })),
        envelope(
            "host_call",
            json!({
                "call_id": "h", "capability": "read", "method": "tool", "params": { "name": "ls", "input": {} },
                "timeout_ms": 2500, "cancel_token": "x", "context": { "why": "because" },
            }),
        ),
        envelope("host_call", json!({ "call_id": "h", "capability": "?", "method": "!", "params": {} })),
        envelope(
            "host_result",
            json!({
                "call_id": "h", "output": {}, "is_error": true, "error": error, "chunk": chunk,
            }),
        ),
        envelope("host_result", json!({ "call_id": "h", "output": { "a": 1.5 }, "is_error": false, "chunk": chunk })),
        envelope("host_result", json!({ "call_id": "h", "output": {}, "is_error": false })),
        envelope(
            "log",
            json!({
                "schema": "pi.ext.log.v1", "ts": "2026-02-03T03:01:02.123Z", "level": "info", "event": "tool_call.start",
                "message": "m", "correlation": ids, "data": { "duration_ms": 12 },
                "source": { "component": "runtime", "host": "h", "pid": 4242 },
            }),
        ),
        envelope(
            "log",
            json!({
                "schema": "pi.ext.log.v1", "ts": "whenever", "level": "warn", "event": "x", "message": "",
                "correlation": { "extension_id": "", "scenario_id": "" },
            }),
        ),
        envelope("error", json!({ "code": "bad", "message": "m", "details": { "at": 3 } })),
        envelope("error", json!({ "code": "", "message": "" })),
    ]
}

/// What a member could be mistaken for.
fn junk() -> Vec<Value> {
    let numbers =
        ["0", "1", "1.0", "-0.0", "-1", "0.5", "1e300", "-1e300", "18446744073709551615", "18446744073709551616"];
    let words = [
        "",
        "1.0",
        "1",
        "2.0",
        "true",
        "null",
        "register",
        "host_result",
        "error",
        "Error",
        "timeout",
        "TIMEOUT",
        "invalid_request",
        "debug",
        "trace",
        "harness",
        "pi.ext.cap.v1",
        "pi.ext.cap.v2",
        "pi.ext.log.v1",
        "\u{0}",
        "é𝄞",
    ];
    numbers
        .iter()
        .map(|number| serde_json::from_str(number).expect("a number"))
        .chain(words.iter().map(|word| json!(word)))
        .chain([
            Value::Null,
            json!(true),
            json!(false),
            json!([]),
            json!([""]),
            json!([null]),
            json!([{}]),
            json!([{ "capability": "x" }]),
            json!({}),
            json!({ "code": "io", "message": "" }),
            json!({ "index": 0, "is_last": true }),
            json!({ "unknown": { "members": [null, 1.0, 1e300] } }),
        ])
        .collect()
}

#[derive(Debug, Clone)]
enum Change {
    Drop,
    Replace(Value),
    AddMember,
}

/// Pointers to every value of a document, itself included.
fn places(value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), member)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    let below =
        inner.iter().flat_map(|(step, value)| places(value).into_iter().map(move |rest| format!("/{step}{rest}")));
    [String::new()].into_iter().chain(below).collect()
}

/// The document with one change; nothing if the change makes no sense there.
fn changed(document: &Value, place: &str, change: &Change) -> Option<Value> {
    let mut document = document.clone();
    match change {
        Change::Replace(value) => *document.pointer_mut(place)? = value.clone(),
        Change::AddMember => {
            let members: &mut Map<_, _> = document.pointer_mut(place)?.as_object_mut()?;
            members.insert("x-unknown".to_owned(), json!({ "deep": [1, { "er": null }] }));
        }
        Change::Drop => {
            let (parent, name) = place.rsplit_once('/')?;
            match document.pointer_mut(parent)? {
                Value::Object(members) => drop(members.shift_remove(name)?),
                Value::Array(items) => drop(items.remove(name.parse().ok()?)),
                _ => return None,
            }
        }
    }
    Some(document)
}

fn changes() -> Vec<Change> {
    junk().into_iter().map(Change::Replace).chain([Change::Drop, Change::AddMember]).collect()
}

#[test]
fn whole_messages_are_valid() {
    for message in messages() {
        assert_eq!(judge(&message), Ok(true), "{message}");
    }
}

#[test]
fn judges_agree_on_every_single_change() {
    let (mut valid, mut invalid) = (0, 0);
    for message in messages() {
        for place in places(&message) {
            for change in changes() {
                let Some(changed) = changed(&message, &place, &change) else { continue };
                match judge(&changed).unwrap_or_else(|difference| panic!("{place} {change:?}: {difference}")) {
                    true => valid += 1,
                    false => invalid += 1,
                }
            }
        }
    }
    assert!(valid > 2000 && invalid > 5000, "too few messages to mean anything: {valid} valid, {invalid} invalid");
}

#[test]
fn judges_agree_on_flag_and_error() {
    let errors =
        [None, Some(json!(null)), Some(json!({})), Some(json!({ "code": "io", "message": "" })), Some(json!("e"))];
    let flags = [None, Some(json!(true)), Some(json!(false)), Some(json!(null)), Some(json!(1)), Some(json!("true"))];
    let outputs = [None, Some(json!({})), Some(json!(null))];
    for ((error, flag), output) in errors
        .iter()
        .flat_map(|e| flags.iter().map(move |f| (e, f)))
        .flat_map(|pair| outputs.iter().map(move |o| (pair, o)))
    {
        let mut payload = Map::new();
        payload.insert("call_id".to_owned(), json!("h"));
        for (name, member) in [("error", error), ("is_error", flag), ("output", output)] {
            payload.extend(member.clone().map(|member| (name.to_owned(), member)));
        }
        judge(&envelope("host_result", Value::Object(payload))).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

#[test]
fn last_of_repeated_members_counts_for_every_judge() {
    for (bytes, valid) in [
        (r#"{"id":1,"id":"","version":"1.0","type":"error","payload":{"code":"","message":""}}"#, true),
        (r#"{"id":"","id":1,"version":"1.0","type":"error","payload":{"code":"","message":""}}"#, false),
        (r#"{"id":"","version":"1.0","type":"log","type":"error","payload":{"code":1,"code":"","message":""}}"#, true),
        (r#"{"id":"","version":"1.0","type":"error","payload":{"code":"","message":""},"payload":{}}"#, false),
    ] {
        assert_eq!(judge_bytes(bytes.as_bytes()), Ok(valid), "{bytes}");
    }
}

#[test]
fn numbers_beyond_doubles_are_refused_by_the_reader_of_all_judges() {
    let bytes = br#"{"id":"","version":"1.0","type":"host_call","payload":
        {"call_id":"","capability":"","method":"","params":{"n":1e400},"timeout_ms":1}}"#;
    assert!(serde_json::from_slice::<Value>(bytes).is_err());
    assert!(message::parse(bytes).is_err());
}

fn cases() -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinity", |number| number.is_finite()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::sample::select(junk()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z_]{0,9}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let change = prop_oneof![
        3 => any_json().prop_map(Change::Replace),
        2 => proptest::sample::select(junk()).prop_map(Change::Replace),
        1 => Just(Change::Drop),
        2 => Just(Change::AddMember),
    ];
    (any::<prop::sample::Index>(), change)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn judges_agree_on_random_changes(
        message in proptest::sample::select(messages()),
        several in proptest::collection::vec(any_change(), 1..5),
    ) {
        let mut message = message;
        for (place, change) in several {
            let places = places(&message);
            let place = &places[place.index(places.len())];
            message = changed(&message, place, &change).unwrap_or(message);
        }
        judge(&message).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(message::parse(&bytes).is_ok(), message::validate(&bytes).is_empty());
    }
}
