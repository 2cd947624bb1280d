//! Every command, answer and event once, as it stands on the wire.

use pi_wire::{COMMANDS, Kind, Limits, Response, ServerEvent, event::PROTOCOL_VERSION, event::ServerReady, parse};
use serde_json::Value;

use crate::examples::{commands, events};

#[test]
fn every_row_of_the_registry_has_an_example() {
    let examples: Vec<_> =
        commands().iter().map(|example| example.command["type"].as_str().unwrap().to_owned()).collect();
    let rows: Vec<_> = COMMANDS.iter().map(|spec| spec.name.to_owned()).collect();
    assert_eq!(examples, rows);
}

#[test]
fn a_parsed_command_is_written_as_it_was_read() {
    for example in commands() {
        let frame = parse(example.command.to_string().as_bytes(), &Limits::default())
            .unwrap_or_else(|reject| panic!("{}: {reject:?}", example.command));
        assert_eq!(serde_json::to_value(&frame).unwrap(), example.command);
        assert_eq!(frame.extra.len(), 0, "{}: a field that no rule reads", example.command);
    }
}

#[test]
fn an_answer_keeps_its_type_and_every_member() {
    for example in commands() {
        let raw: Response<Value> = serde_json::from_value(example.response.clone()).unwrap();
        assert_eq!(serde_json::to_value(&raw).unwrap(), example.response, "as JSON");
        let typed = raw.typed().unwrap_or_else(|error| panic!("{}: {error:?}", example.response));
        assert_eq!(serde_json::to_string(&typed).unwrap(), example.response.to_string(), "as bytes, order included");
    }
}

#[test]
fn the_data_of_a_command_is_that_of_its_row() {
    for example in commands() {
        let raw: Response<Value> = serde_json::from_value(example.response).unwrap();
        if let pi_wire::Outcome::Success(Some(data)) = raw.typed().unwrap().outcome {
            assert_eq!(Some(data.kind()), Kind::named(example.command["type"].as_str().unwrap()));
        }
    }
}

#[test]
fn an_event_is_written_as_it_was_read() {
    for line in events() {
        let event: ServerEvent = serde_json::from_value(line.clone()).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(serde_json::to_string(&event).unwrap(), line.to_string());
    }
}

#[test]
fn every_event_type_has_an_example() {
    let schema = pi_wire::schema::json();
    let variants = schema["$defs"]["ServerEvent"]["oneOf"].as_array().unwrap().iter();
    let mut missing: Vec<_> = variants.map(|variant| variant["properties"]["type"]["const"].clone()).collect();
    for line in events() {
        missing.retain(|name| *name != line["type"]);
    }
    assert_eq!(missing, Vec::<Value>::new());
}

#[test]
fn a_full_server_announces_every_feature_under_the_documents_version() {
    let ready = ServerReady::new("0.1.0", 1024);
    assert_eq!(ready.protocol_version, PROTOCOL_VERSION);
    let announced = ready.features.unwrap();
    assert!(COMMANDS.iter().filter_map(pi_wire::Spec::feature).all(|feature| announced.contains(&feature.into())));
}

#[test]
fn data_that_does_not_fit_its_command_is_refused() {
    for (command, data, fits) in [
        ("bash", Some(serde_json::json!({ "exitCode": 0, "output": "", "cancelled": false })), true),
        ("bash", Some(serde_json::json!({ "exitCode": "0" })), false),
        ("bash", None, false),
        ("prompt", None, true),
        ("prompt", Some(serde_json::json!({})), false),
        ("cycle_model", Some(Value::Null), true),
        ("cycle_model", None, false),
        ("fly", None, false),
    ] {
        let mut answer = serde_json::json!({ "type": "response", "command": command, "success": true });
        if let Some(data) = data {
            answer["data"] = data;
        }
        let raw: Response<Value> = serde_json::from_value(answer.clone()).unwrap();
        assert_eq!(raw.typed().is_ok(), fits, "{answer}");
    }
}

/// A client of ours must not lose the answer of a later server.
#[test]
fn words_of_a_later_server_are_kept() {
    let answer = serde_json::json!({
        "type": "response", "command": "prompt", "success": false, "error": "Too hot", "code": "overheated"
    });
    let raw: Response<Value> = serde_json::from_value(answer.clone()).unwrap();
    assert_eq!(serde_json::to_value(raw.typed().unwrap()).unwrap(), answer);
    for data in [
        (
            "command_finished",
            serde_json::json!({
                "commandId": "c", "commandType": "prompt", "dependsOn": [], "success": false, "error": "Too hot",
                "code": "overheated"
            }),
        ),
        (
            "server_ready",
            serde_json::json!({
                "serverVersion": "9.0.0", "protocolVersion": "1.0.0", "transports": ["stdio"], "features": ["tree", "cooling"]
            }),
        ),
    ] {
        let event = serde_json::json!({ "type": data.0, "data": data.1 });
        let read: ServerEvent = serde_json::from_value(event.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), event);
    }
}
