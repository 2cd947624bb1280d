//! Plain messages go the way that every prompt goes.

use pi_provider::{Mode, request::plain};
use serde_json::{Value, json};

use crate::{ask_in, body, object, provider};

/// The whole body for messages and parameters as another program writes them; model and stream aside.
fn check(messages: &Value, parameters: &Value, expected: &Value) {
    let asked = plain(messages.as_array().unwrap(), &object(parameters)).unwrap();
    let mode = if asked.stream == Some(true) { Mode::Stream } else { Mode::Whole };
    let request = ask_in(&provider("openai", json!({})), &asked.prompt, &asked.options, mode).unwrap();
    let mut body = object(&body(&request));
    body.shift_remove("model");
    assert_eq!(Value::Object(body), *expected);
}

#[test]
fn messages_of_chat_completions_come_out_as_they_went_in() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi", "metadata": {"message_id": "m-1"}},
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "Be briefer."},
        {"role": "user", "content": [
            {"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
        ]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
    ]);
    check(&messages, &json!({}), &json!({"messages": messages}));
}

#[test]
fn options_among_the_parameters_are_taken_for_what_they_are() {
    let messages = json!([{"role": "user", "content": "x"}]);
    let parameters = json!({
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "string"}, "strict": true}},
        "temperature": 0.5,
        "stream": true,
    });
    let mut expected = object(&parameters);
    expected.insert("messages".to_owned(), messages.clone());
    expected.insert("stream_options".to_owned(), json!({"include_usage": true}));
    check(&messages, &parameters, &Value::Object(expected));
    check(
        &messages,
        &json!({"response_format": {"type": "json_object"}}),
        &json!({"messages": messages, "response_format": {"type": "json_object"}}),
    );
}

#[test]
fn messages_that_cannot_be_read_are_refused_with_their_place() {
    for (message, expected) in [
        (json!({"role": "dancer", "content": "x"}), "the role is none of system, user, assistant, tool"),
        (json!({"content": "x"}), "there is no role"),
        (json!({"role": "user", "content": 1}), "content is neither text nor blocks"),
        (json!({"role": "tool", "content": "x"}), "there is no tool_call_id"),
    ] {
        let error = plain(&[message], &serde_json::Map::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("option messages[0] cannot be sent: {expected}"));
    }
}
