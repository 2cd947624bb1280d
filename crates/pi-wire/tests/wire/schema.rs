//! The JSON Schema and the parser give the same verdict.

use std::sync::LazyLock;

use jsonschema::Validator;
use pi_wire::{ErrorCode, Feature, Kind, Limits, parse, schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::examples;

static SCHEMA: LazyLock<Value> = LazyLock::new(schema::json);
static COMMAND: LazyLock<Validator> = LazyLock::new(|| validator("ClientMessage"));
static EXAMPLES: LazyLock<Vec<Value>> =
    LazyLock::new(|| examples::commands().into_iter().map(|example| example.command).collect());

/// A validator for one of the roots.
fn validator(root: &str) -> Validator {
    let document = json!({
        "$schema": SCHEMA["$schema"],
        "$ref": format!("#/$defs/{root}"),
        "$defs": SCHEMA["$defs"],
    });
    jsonschema::draft202012::new(&document).unwrap()
}

/// The rules that a schema cannot say. Frames that break only these are left out of the comparison.
fn is_beyond_a_schema(frame: &Value) -> bool {
    let text = |name: &str| frame.get(name).and_then(Value::as_str);
    match text("type") {
        Some("get_command_history") => frame["fromTimestamp"].as_f64() > frame["toTimestamp"].as_f64(),
        Some("delete_stored_session") => {
            text("sessionPath").and_then(|path| path.rsplit(['/', '\\']).next()) != text("fileName")
        }
        _ => false,
    }
}

#[test]
fn the_schema_itself_is_valid() {
    assert!(jsonschema::meta::is_valid(&SCHEMA));
}

#[test]
fn every_example_fits_its_definition_and_no_other() {
    for example in examples::commands() {
        let fitting: Vec<_> = Kind::all()
            .filter(|kind| {
                SCHEMA["$defs"][format!("{kind:?}Command")]["properties"]["type"]["const"] == example.command["type"]
            })
            .collect();
        assert_eq!(fitting.len(), 1);
        assert!(COMMAND.is_valid(&example.command), "{}", example.command);
    }
}

#[test]
fn what_a_server_sends_fits_the_schema() {
    let message = validator("ServerMessage");
    let responses = examples::commands().into_iter().map(|example| example.response);
    for sent in responses.chain(examples::events()) {
        let errors: Vec<_> = message.iter_errors(&sent).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{sent}: {errors:?}");
    }
}

#[test]
fn every_rejection_fits_the_schema() {
    let response = validator("FailureResponse");
    for frame in ["", "5", "{}", "{\"type\":\"x\",\"id\":7}", "{\"type\":\"prompt\"}", "{\"a\":1,\"a\":2}"] {
        let answer = parse(frame.as_bytes(), &Limits::default()).unwrap_err().response();
        let answer = serde_json::to_value(answer).unwrap();
        assert!(response.is_valid(&answer), "{answer}");
    }
}

#[test]
fn the_lists_of_codes_and_features_are_complete() {
    let words = |name: &str| -> Vec<Value> {
        let definition = &SCHEMA["$defs"][name];
        let listed = definition["enum"].as_array().into_iter().flatten().cloned();
        let documented = definition["oneOf"].as_array().into_iter().flatten();
        listed
            .chain(documented.flat_map(|word| match &word["enum"] {
                Value::Array(words) => words.clone(),
                _ => vec![word["const"].clone()],
            }))
            .collect()
    };
    let list = |words: Value| words.as_array().unwrap().clone();
    assert_eq!(words("ErrorCode"), list(json!(&ErrorCode::ALL[..])));
    assert_eq!(words("Feature"), list(json!(&Feature::ALL[..])));
}

/// Values that fields of commands are likely to refuse, and some that they accept.
fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(-1_i64), Just(0), Just(1), Just(500), Just(501), Just(1001), any::<i64>()]
            .prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(1e300), Just(-0.0)].prop_map(Value::from),
        prop_oneof![
            Just(String::new()),
            Just(" ".to_owned()),
            Just("\u{85}".to_owned()),
            Just("\u{feff}\u{2003}".to_owned()),
            Just("a\u{0}b".to_owned()),
            Just("a\nb".to_owned()),
            Just("anon:1".to_owned()),
            Just("a.b:c_d-e".to_owned()),
            Just("/a/b.jsonl".to_owned()),
            Just("/a/../b.json".to_owned()),
            Just("C:\\a\\..\\b.json".to_owned()),
            Just("~/a.jsonl".to_owned()),
            Just("off".to_owned()),
            Just("steer".to_owned()),
            Just("x".repeat(256)),
            Just("x".repeat(257)),
            Just(format!("/{}", "y".repeat(4096))),
            "[ -~\u{e9}]{0,12}",
        ]
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!(["a", "b"])),
        Just(json!(["a", 1])),
        Just(json!([""])),
        Just(json!(vec!["a"; 40])),
        Just(json!({ "method": "select", "value": "A" })),
        Just(json!({ "method": "confirm", "value": "A" })),
        Just(json!({ "method": "interview", "responses": { "a": "x", "b": [1, null, { "c": true }] } })),
        Just(json!({ "method": "interview", "responses": { "a": [{ "b": "\u{0}" }] } })),
        Just(json!({ "method": "interview", "responses": { "a": { "\u{0}": 1 } } })),
        Just(json!({ "method": "interview", "responses": { "x".repeat(257): 1 } })),
        Just(json!({ "method": "interview", "responses": { "a": "x".repeat(200_001) } })),
        Just(json!({ "method": "interview", "responses": { "a": vec![0; 1025] } })),
        Just(json!([{ "type": "image", "data": "aGk=", "mimeType": "image/png" }])),
        Just(json!([{ "type": "image", "data": "aGk", "mimeType": "image/" }])),
        Just(json!([{ "itemId": "q", "message": "" }])),
    ]
}

/// Names of members, of this command or of others.
fn name() -> impl Strategy<Value = String> {
    let names: Vec<String> = EXAMPLES
        .iter()
        .flat_map(|example| example.as_object().into_iter().flat_map(Map::keys).cloned())
        .chain(["dependsOn", "ifSessionVersion", "idempotencyKey", "unknown"].map(ToOwned::to_owned))
        .collect();
    prop::sample::select(names)
}

fn cases() -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(800)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schema_and_parser_agree(
        example in prop::sample::select(EXAMPLES.as_slice()),
        removed in prop::option::of(any::<prop::sample::Index>()),
        replaced in prop::option::of((any::<prop::sample::Index>(), junk())),
        added in prop::collection::vec((name(), junk()), 0..2),
    ) {
        let mut frame = example.as_object().unwrap().clone();
        if let Some(index) = removed {
            let name = frame.keys().nth(index.index(frame.len())).unwrap().clone();
            frame.shift_remove(&name);
        }
        if let Some((index, value)) = replaced && !frame.is_empty() {
            let name = frame.keys().nth(index.index(frame.len())).unwrap().clone();
            frame.insert(name, value);
        }
        frame.extend(added);
        let frame = Value::Object(frame);
        prop_assume!(!is_beyond_a_schema(&frame));
        let parsed = parse(frame.to_string().as_bytes(), &Limits::default());
        prop_assert_eq!(COMMAND.is_valid(&frame), parsed.is_ok(), "{}: {:?}", frame, parsed.map_err(|reject| reject.cause));
    }
}
