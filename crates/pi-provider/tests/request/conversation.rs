//! Histories that another provider, another model or an accident wrote are made fit for the one that is asked.

use pi_provider::{CallError, ErrorCode, Options};
use serde_json::{Value, json};

use crate::{MODEL, ask, body, changes, prompt, provider};

/// The conversation that is sent, and what was changed.
fn check(adapter: &str, manifest: Value, messages: &Value, expected: &Value, expected_changes: &[&str]) {
    check_prompt(adapter, manifest, &json!({"messages": messages}), expected, expected_changes);
}

fn check_prompt(adapter: &str, manifest: Value, value: &Value, expected: &Value, expected_changes: &[&str]) {
    let manifest = provider(adapter, manifest);
    let request = ask(&manifest, &prompt(value), &quiet()).unwrap();
    let body = body(&request);
    let sent = body.get("messages").or_else(|| body.get("contents")).or_else(|| body.get("input")).unwrap();
    assert_eq!(sent, expected, "{sent:#}");
    assert_eq!(changes(&request.changes), expected_changes);
}

/// No marks for a cache, and a limit, so that only the conversation can differ.
fn quiet() -> Options {
    let parameters = crate::object(&json!({"max_tokens": 100}));
    Options { cache: pi_provider::CacheRetention::None, parameters, ..Options::plain() }
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}})
}

fn chat_call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "content": [{"type": "text", "text": text}]})
}

#[test]
fn a_result_goes_behind_its_call_whatever_was_said_between() {
    check(
        "openai",
        json!({}),
        &json!([
            {"role": "user", "content": "Read both"},
            {"role": "assistant", "content": [call("a"), call("b")]},
            result("b", "B"),
            {"role": "user", "content": "Hurry"},
            {"role": "assistant", "stopReason": "error", "content": []},
            result("a", "A"),
        ]),
        &json!([
            {"role": "user", "content": "Read both"},
            {"role": "assistant", "content": null, "tool_calls": [chat_call("a"), chat_call("b")]},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
            {"role": "tool", "tool_call_id": "b", "content": "B"},
            {"role": "user", "content": "Hurry"},
        ]),
        &["dropped message: an answer that ended in an error is not sent again"],
    );
}

#[test]
fn a_result_without_its_call_is_told_by_the_user() {
    let doubled = json!([
        {"role": "assistant", "content": [call("a")]}, result("a", "first"), result("a", "again"), result("z", "lost"),
    ]);
    check(
        "openai",
        json!({}),
        &doubled,
        &json!([
            {"role": "assistant", "content": null, "tool_calls": [chat_call("a")]},
            {"role": "tool", "tool_call_id": "a", "content": "first"},
            {"role": "user", "content": "again"},
            {"role": "user", "content": "lost"},
        ]),
        &["changed message: a result of read without its call is sent as text"],
    );
}

/// The calls of a conversation and its results, as a request has them: (call id, what the result of it says).
fn paired(adapter: &str, messages: &Value) -> Vec<(String, String)> {
    let request = ask(&provider(adapter, json!({})), &prompt(&json!({ "messages": messages })), &quiet()).unwrap();
    let body = body(&request);
    let texts = body.get("messages").or_else(|| body.get("input")).unwrap().as_array().unwrap();
    let blocks =
        || texts.iter().flat_map(|text| [text].into_iter().chain(text["content"].as_array().into_iter().flatten()));
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let chat =
        texts.iter().flat_map(|text| text["tool_calls"].as_array().into_iter().flatten()).map(|it| words(&it["id"]));
    let others = blocks().filter_map(|it| match it["type"].as_str()? {
        "tool_use" => Some(words(&it["id"])),
        "function_call" => Some(words(&it["call_id"])),
        _ => None,
    });
    let ids: Vec<String> = chat.chain(others).collect();
    let result = |id: &str| {
        let is_its = |it: &&Value| ["tool_call_id", "tool_use_id", "call_id"].iter().any(|key| it[*key] == *id);
        let said = blocks().filter(is_its).find_map(|it| it.get("content").or_else(|| it.get("output")));
        said.map(words).unwrap_or_default()
    };
    ids.into_iter().map(|id| (id.clone(), result(&id))).collect()
}

/// Some servers count their calls anew in every turn, or give two calls of a turn one id; others refuse that.
#[test]
fn ids_that_are_used_again_become_different_and_keep_their_results() {
    let turns = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [call("c0")]}, result("c0", "one"),
        {"role": "assistant", "content": [call("c0"), call("c0")]}, result("c0", "two"), result("c0", "three"),
        {"role": "assistant", "content": [call("c1")]}, result("c1", "four"),
    ]);
    for adapter in ["openai", "anthropic", "responses"] {
        let pairs = paired(adapter, &turns);
        let (ids, results): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        assert_eq!(results, ["one", "two", "three", "four"], "{adapter} {ids:?}");
        assert_eq!((ids[0].as_str(), ids[3].as_str()), ("c0", "c1"), "{adapter}");
        assert!(ids[1] != ids[0] && ids[2] != ids[0] && ids[1] != ids[2], "{adapter} {ids:?}");
        let before = paired(adapter, &json!(turns.as_array().unwrap()[..6]));
        let before: Vec<String> = before.into_iter().map(|(id, _)| id).collect();
        assert_eq!(before, ids[..3], "what is sent once is sent again: caches rely on it");
    }
}

#[test]
fn ids_are_rewritten_as_the_contract_wants_in_call_and_result() {
    let manifest =
        provider("openai", json!({"provider_contract": {"request_mapping": {"tool_call_ids": {"exact_length": 9}}}}));
    let messages =
        json!([{"role": "assistant", "content": [call("toolu_01ABCDEFGH")]}, result("toolu_01ABCDEFGH", "x")]);
    let request = ask(&manifest, &prompt(&json!({"messages": messages})), &quiet()).unwrap();
    let messages = body(&request)["messages"].clone();
    let id = messages[0]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!((id.len(), id.bytes().all(|byte| byte.is_ascii_alphanumeric())), (9, true), "{id}");
    assert_eq!(messages[1]["tool_call_id"], id);
}

#[test]
fn signatures_go_back_only_to_the_model_that_made_them() {
    let thought = |provider: &str, model: &str, api: &str| {
        json!([
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "provider": provider, "model": model, "api": api, "content": [
                {"type": "thinking", "thinking": "Because.", "thinkingSignature": "sig"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "hidden", "redacted": true},
                {"type": "text", "text": "So."},
            ]},
        ])
    };
    let own = json!([
        {"type": "thinking", "thinking": "Because.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "text", "text": "So."},
    ]);
    let foreign = json!([{"type": "text", "text": "Because."}, {"type": "text", "text": "So."}]);
    for (provider, model, api, content) in [
        ("mock-one", MODEL, "anthropic-messages", &own),
        ("mock-one", "model-two", "anthropic-messages", &foreign),
        ("elsewhere", MODEL, "anthropic-messages", &foreign),
        ("mock-one", MODEL, "openai-completions", &foreign),
    ] {
        check(
            "anthropic",
            json!({}),
            &thought(provider, model, api),
            &json!([
                {"role": "user", "content": [{"type": "text", "text": "Why?"}]},
                {"role": "assistant", "content": content},
            ]),
            &[],
        );
    }
}

#[test]
fn thinking_goes_back_in_a_member_where_the_contract_names_one() {
    let own = json!([{"role": "assistant", "provider": "mock-one", "model": MODEL, "content": [
        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."},
    ]}]);
    let reasoning = json!({"replay_field": "reasoning_content"});
    check(
        "openai",
        json!({"provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": reasoning}}}}),
        &own,
        &json!([{"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}]),
        &[],
    );
    check("openai", json!({}), &own, &json!([{"role": "assistant", "content": "Yes."}]), &[]);
}

#[test]
fn a_call_of_another_model_carries_the_signature_that_stands_for_none() {
    let reasoning = json!({"missing_signature": "skip"});
    check(
        "gemini",
        json!({"provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": reasoning}}}}),
        &json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": [call("a")]}, result("a", "A")]),
        &json!([
            {"role": "user", "parts": [{"text": "x"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "skip"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "A"}}}]},
        ]),
        &[],
    );
}

#[test]
fn items_go_back_to_their_model_with_their_ids() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let messages = |model: &str| {
        json!([
            {"role": "assistant", "provider": "mock-one", "model": model, "api": "openai-responses", "content": [
                {"type": "thinking", "thinking": "short", "thinkingSignature": item.to_string()},
                {"type": "text", "text": "Yes.", "textSignature": "msg_1"},
                call("call_1|fc_1"),
            ]},
            result("call_1|fc_1", "A"),
        ])
    };
    let said = |text: &str| json!([{"type": "output_text", "text": text}]);
    let answer = json!({"type": "function_call_output", "call_id": "call_1", "output": "A"});
    check(
        "responses",
        json!({}),
        &messages(MODEL),
        &json!([
            item,
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{}"},
            answer,
        ]),
        &[],
    );
    check(
        "responses",
        json!({}),
        &messages("model-two"),
        &json!([
            {"role": "assistant", "content": said("short")},
            {"role": "assistant", "content": said("Yes.")},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
            answer,
        ]),
        &[],
    );
}

#[test]
fn roles_take_turns_where_the_contract_says_so() {
    check(
        "openai",
        json!({"provider_contract": {"request_mapping": {"alternate_roles": true}}}),
        &json!([
            {"role": "assistant", "content": [{"type": "text", "text": "Welcome."}]},
            {"role": "user", "content": "One."},
            {"role": "user", "content": "Two."},
            {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "B"}]},
        ]),
        &json!([
            {"role": "user", "content": "(the conversation begins with the assistant)"},
            {"role": "assistant", "content": "Welcome."},
            {"role": "user", "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]},
            {"role": "assistant", "content": "AB"},
        ]),
        &["added message: a conversation with this provider begins with the user"],
    );
}

#[test]
fn texts_are_joined_where_content_must_be_one_text() {
    check(
        "openai",
        json!({"provider_contract": {"request_mapping": {"content_block_mapping": {"text": {"wrapper": "string"}}}}}),
        &json!([{"role": "user", "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]}]),
        &json!([{"role": "user", "content": "One.\n\nTwo."}]),
        &[],
    );
}

#[test]
fn a_system_text_without_a_system_role_is_told_by_the_user_or_dropped() {
    let value = json!({"system": "Be kind.", "messages": [{"role": "user", "content": "Hello"}]});
    let told = json!([{"role": "user", "content": [
        {"type": "text", "text": "Be kind."}, {"type": "text", "text": "Hello"},
    ]}]);
    check_prompt(
        "openai",
        json!({"capabilities": {"feature_flags": {"system_messages": false}}}),
        &value,
        &told,
        &["changed system: told by the user, because the provider has no system role"],
    );
    let handling = |word: &str| json!({"provider_contract": {"request_mapping": {"system_message_handling": word}}});
    check_prompt("openai", handling("prepend_to_user"), &value, &told, &[]);
    check_prompt(
        "openai",
        handling("not_supported"),
        &value,
        &json!([{"role": "user", "content": "Hello"}]),
        &["dropped system: the provider has no system role"],
    );
    check_prompt(
        "openai",
        json!({"provider_contract": {"request_mapping": {"role_mapping": {"system": "developer"}}}}),
        &value,
        &json!([{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "Hello"}]),
        &[],
    );
}

#[test]
fn what_no_provider_knows_is_left_out_and_said() {
    check(
        "openai",
        json!({}),
        &json!([
            {"role": "weather", "content": "rain"},
            {"role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "Hi"}, {"type": "text", "text": " "}]},
            {"role": "user", "content": "\n"},
        ]),
        &json!([{"role": "user", "content": "Hi"}]),
        &[
            "dropped message: no provider knows the role \"weather\"",
            "dropped content: no provider knows blocks of type \"hologram\"",
        ],
    );
}

const READ: &str = r#"{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}"#;

#[test]
fn tools_are_words_where_the_model_has_none_of_its_own() {
    let read: Value = serde_json::from_str(READ).unwrap();
    let manifest = provider(
        "openai",
        json!({"capabilities": {"tool_calling": {"native": {"supported": false}, "text_fallback": {"wrapper": "call"}}}}),
    );
    let messages = json!([
        {"role": "user", "content": "Read"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        result("a", "A"),
        result("b", "B"),
    ]);
    let request = ask(&manifest, &prompt(&json!({"tools": [read], "messages": messages})), &quiet()).unwrap();
    let body = body(&request);
    assert_eq!(body.get("tools"), None);
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("<call>") && system.contains("- read: Reads."), "{system}");
    let called = "<call>\n{\"name\": \"read\", \"arguments\": {}}\n</call>";
    assert_eq!(body["messages"][2], json!({"role": "assistant", "content": format!("{called}{called}")}));
    assert_eq!(
        body["messages"][3],
        json!({"role": "user", "content": [
            {"type": "text", "text": "Result of read:\nA"}, {"type": "text", "text": "Result of read:\nB"},
        ]})
    );
    assert_eq!(
        changes(&request.changes),
        ["changed tools: described in the system text, because the model has none of its own"]
    );
}

#[test]
fn tools_that_nobody_declares_are_refused() {
    let manifest =
        crate::manifest::manifest("https://api.example", json!({"capabilities": {"required": ["text", "streaming"]}}));
    let read: Value = serde_json::from_str(READ).unwrap();
    let error = ask(&manifest, &prompt(&json!({"tools": [read]})), &quiet()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RequestTooLarge);
    assert!(matches!(error, CallError::Undeclared { .. }));

    // A history of another provider is told instead.
    let history = json!({"messages": [{"role": "assistant", "content": [call("a")]}, result("a", "A")]});
    let body = body(&ask(&manifest, &prompt(&history), &quiet()).unwrap());
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "Result of read:\nA"}));
}

#[test]
fn too_many_tools_are_refused() {
    let manifest =
        provider("openai", json!({"provider_contract": {"capability_contracts": {"tools": {"max_tools": 1}}}}));
    let read: Value = serde_json::from_str(READ).unwrap();
    let error = ask(&manifest, &prompt(&json!({"tools": [read, read]})), &quiet()).unwrap_err();
    assert_eq!(error.to_string(), "option tools cannot be sent: 2 are too many, at most 1 are accepted");
}

#[test]
fn a_history_with_calls_brings_its_tools_where_it_is_refused_without() {
    let manifest = provider("anthropic", json!({}));
    let history = json!({"messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": [call("a"), call("b")]}, result("a", "A"),
    ]});
    let request = ask(&manifest, &prompt(&history), &quiet()).unwrap();
    let body = body(&request);
    assert_eq!(
        (&body["tools"], &body["tool_choice"]),
        (
            &json!([{"name": "read", "description": "", "input_schema": {"type": "object", "properties": {}}}]),
            &json!({"type": "none"})
        )
    );
}

/// Nothing is stored, so an item that only names a thought is refused, and ids of what followed from it are too.
#[test]
fn thoughts_without_their_encrypted_content_stay_away_and_so_do_ids() {
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": null});
    check(
        "responses",
        json!({}),
        &json!([
            {"role": "assistant", "provider": "mock-one", "model": MODEL, "api": "openai-responses", "content": [
                {"type": "thinking", "thinking": "short", "thinkingSignature": item.to_string()},
                {"type": "text", "text": "Yes.", "textSignature": "msg_1"},
                call("call_1|fc_1"),
            ]},
            result("call_1|fc_1", "A"),
        ]),
        &json!([
            {"role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "A"},
        ]),
        &[],
    );
}

/// Anthropic refuses the whole request for one tool with such a schema; the others take it.
#[test]
fn choice_at_the_root_of_parameters_is_folded_where_it_is_refused() {
    let given = json!({"type": "object", "anyOf": [
        {"properties": {"path": {"type": "string"}, "line": {"type": "integer"}}, "required": ["path", "line"]},
        {"properties": {"path": {"type": "string"}, "all": {"const": true}}, "required": ["path", "all"]},
    ]});
    let folded = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "line": {"type": "integer"}, "all": {"const": true},
    }, "required": ["path"]});
    let told = "changed tools: the parameters of read are sent as one object, without the choice at their root";
    for (adapter, is_refused) in
        [("openai", false), ("responses", false), ("anthropic", true), ("gemini", false), ("cohere_v2", false)]
    {
        let tool = json!({"name": "read", "description": "Reads.", "parameters": given});
        let prompt = prompt(&json!({"tools": [tool], "messages": [{"role": "user", "content": "x"}]}));
        let request = ask(&provider(adapter, json!({})), &prompt, &quiet()).unwrap();
        let sent = body(&request)["tools"].to_string();
        assert_eq!(sent.contains("anyOf"), !is_refused, "{adapter}: {sent}");
        assert_eq!(changes(&request.changes).iter().any(|change| change == told), is_refused, "{adapter}");
        if is_refused {
            assert_eq!(body(&request)["tools"][0]["input_schema"], folded, "{adapter}");
        }
    }
}

#[test]
fn a_schema_says_what_providers_insist_on_and_keeps_its_members() {
    let schemas = [
        (
            json!({"properties": {"path": {"type": "string"}}, "required": ["path"]}),
            json!({"properties": {"path": {"type": "string"}}, "required": ["path"], "type": "object"}),
            vec!["changed tools: the parameters of read are called an object"],
        ),
        (
            json!({"$ref": "#/a"}),
            json!({"$ref": "#/a", "type": "object"}),
            vec!["changed tools: the parameters of read are called an object"],
        ),
        (json!({"type": "object"}), json!({"type": "object", "properties": {}}), vec![]),
        (
            json!({"type": "object", "properties": {"all": {"type": "array"}}}),
            json!({"type": "object", "properties": {"all": {"type": "array", "items": {}}}}),
            vec![],
        ),
        (json!({}), json!({"type": "object", "properties": {}}), vec![]),
        (json!(null), json!({"type": "object", "properties": {}}), vec![]),
    ];
    for adapter in ["openai", "responses", "anthropic", "gemini", "cohere_v2"] {
        for (given, expected, expected_changes) in &schemas {
            let tool = json!({"name": "read", "description": "Reads.", "parameters": given});
            let prompt = prompt(&json!({"tools": [tool], "messages": [{"role": "user", "content": "x"}]}));
            let request = ask(&provider(adapter, json!({})), &prompt, &quiet()).unwrap();
            let tool = &body(&request)["tools"][0];
            let sent = [
                tool.pointer("/function/parameters"),
                tool.get("parameters"),
                tool.get("input_schema"),
                tool.pointer("/functionDeclarations/0/parametersJsonSchema"),
            ];
            assert_eq!(sent.into_iter().flatten().collect::<Vec<_>>(), [expected], "{adapter}");
            let changes = changes(&request.changes);
            let about_tools: Vec<_> = changes.iter().filter(|change| change.contains(" tools: ")).collect();
            assert_eq!(about_tools, expected_changes.iter().collect::<Vec<_>>(), "{adapter}");
        }
    }
}

/// Of several calls at once only the first is signed, so a word for a missing signature is used once and only if none is.
#[test]
fn the_word_for_a_missing_signature_stands_on_the_first_call_of_an_unsigned_answer() {
    let reasoning = json!({"missing_signature": "skip"});
    let contract = json!({"capability_contracts": {"generative": {"reasoning_mode": reasoning}}});
    let signatures = |entry: Value, model: &str, first: Value| {
        let manifest = provider("gemini", json!({"provider_contract": contract.clone(), "models": {MODEL: entry}}));
        let mut signed = call("a");
        signed["thoughtSignature"] = first;
        let prompt = prompt(&json!({"messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "provider": "mock-one", "model": model, "api": "google-generative-ai",
             "content": [signed, call("b")]},
            result("a", "A"), result("b", "B"),
        ]}));
        let body = body(&ask(&manifest, &prompt, &quiet()).unwrap());
        let of = |index: usize| body["contents"][1]["parts"][index]["thoughtSignature"].clone();
        (of(0), of(1))
    };
    assert_eq!(signatures(json!({}), MODEL, json!("own")), (json!("own"), json!(null)));
    assert_eq!(signatures(json!({}), MODEL, json!(null)), (json!("skip"), json!(null)));
    assert_eq!(signatures(json!({}), "another", json!("own")), (json!("skip"), json!(null)));
    let needs_none = json!({"missing_signature": ""});
    assert_eq!(signatures(needs_none, "another", json!("own")), (json!(null), json!(null)));
}

#[test]
fn what_signs_thinking_goes_back_in_a_member_where_the_contract_names_one() {
    let encrypted = json!({"type": "reasoning.encrypted", "data": "x", "id": "e"});
    let said = |model: &str| {
        json!([{"role": "assistant", "provider": "mock-one", "model": model, "content": [
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"},
            {"type": "thinking", "thinking": "", "thinkingSignature": encrypted.to_string(), "redacted": true},
            {"type": "thinking", "thinking": "Unsigned."},
            {"type": "text", "text": "Yes."},
        ]}])
    };
    let manifest = |reasoning: Value| json!({"provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": reasoning}}}});
    let both = json!({"replay_field": "reasoning", "details_field": "reasoning_details"});
    let details = json!([{"type": "reasoning.text", "text": "Hm.", "signature": "s"}, encrypted]);
    let expected =
        json!([{"role": "assistant", "content": "Yes.", "reasoning": "Unsigned.", "reasoning_details": details}]);
    check("openai", manifest(both.clone()), &said(MODEL), &expected, &[]);
    let only = json!({"details_field": "reasoning_details"});
    let expected = json!([{"role": "assistant", "content": "Yes.", "reasoning_details": details}]);
    check("openai", manifest(only), &said(MODEL), &expected, &[]);
    let expected = json!([{"role": "assistant", "content": "Hm.\n\nUnsigned.\n\nYes."}]);
    check("openai", manifest(both), &said("another"), &expected, &[]);
}

#[test]
fn a_signed_call_goes_back_to_its_model_with_its_signature() {
    let mut signed = call("a");
    signed["thoughtSignature"] = json!("s");
    let calls = |model: &str| {
        let said = json!({"role": "assistant", "provider": "mock-one", "model": model, "content": [signed, call("b")]});
        let prompt = prompt(&json!({"messages": [said, result("a", "A"), result("b", "B")]}));
        body(&ask(&provider("openai", json!({})), &prompt, &quiet()).unwrap())["messages"][0]["tool_calls"].clone()
    };
    let function = json!({"name": "read", "arguments": "{}"});
    let plain = |id: &str| json!({"id": id, "type": "function", "function": function});
    let mut expected = plain("a");
    expected["extra_content"] = json!({"google": {"thought_signature": "s"}});
    assert_eq!(calls(MODEL), json!([expected, plain("b")]));
    assert_eq!(calls("another"), json!([plain("a"), plain("b")]));
}

/// Models that do not think plan their calls too, and refuse blocks of thinking.
#[test]
fn the_plan_of_cohere_goes_back_as_a_plan() {
    let said = |content: Value| json!({"role": "assistant", "provider": "mock-one", "model": MODEL, "api": "cohere-v2", "content": content});
    check(
        "cohere_v2",
        json!({}),
        &json!([
            said(json!([{"type": "thinking", "thinking": "I will look."}, call("a")])),
            result("a", "A"),
            said(json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}])),
        ]),
        &json!([
            {"role": "assistant", "tool_plan": "I will look.",
             "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "A"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]},
        ]),
        &[],
    );
}
