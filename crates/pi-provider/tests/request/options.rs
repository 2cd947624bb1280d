//! Choice of tools, form of the answer, cache, stream, and members of the model's own.

use pi_provider::{CacheRetention, Mode, Options, ResponseFormat, ToolChoice};
use serde_json::{Value, json};

use crate::{MODEL, ask, ask_in, body, changes, prompt, provider, question};

const DIALECTS: [&str; 5] = ["openai", "responses", "anthropic", "gemini", "cohere_v2"];

fn tools() -> pi_envelope::Prompt {
    prompt(&json!({
        "system": "S",
        "tools": [{"name": "read", "description": "", "parameters": {"type": "object"}}],
        "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
                     {"role": "user", "content": "three"}],
    }))
}

/// The member at this path in the body that each dialect sends.
fn check(options: &Options, paths: [&str; 5], expected: [Value; 5]) {
    for ((adapter, path), expected) in DIALECTS.into_iter().zip(paths).zip(expected) {
        let request = ask(&provider(adapter, json!({})), &tools(), options).unwrap();
        let body = body(&request);
        assert_eq!(body.pointer(path).unwrap_or(&Value::Null), &expected, "{adapter}");
    }
}

#[test]
fn a_choice_of_tools_is_written_as_each_api_has_it() {
    let paths = ["/tool_choice", "/tool_choice", "/tool_choice", "/toolConfig/functionCallingConfig", "/tool_choice"];
    let with = |tool_choice| Options { tool_choice, ..Options::plain() };
    check(&with(ToolChoice::Auto), paths, [const { Value::Null }; 5]);
    check(
        &with(ToolChoice::None),
        paths,
        [json!("none"), json!("none"), json!({"type": "none"}), json!({"mode": "NONE"}), json!("NONE")],
    );
    check(
        &with(ToolChoice::Required),
        paths,
        [json!("required"), json!("required"), json!({"type": "any"}), json!({"mode": "ANY"}), json!("REQUIRED")],
    );
    check(
        &with(ToolChoice::Tool("read".to_owned())),
        paths,
        [
            json!({"type": "function", "function": {"name": "read"}}),
            json!({"type": "function", "name": "read"}),
            json!({"type": "tool", "name": "read"}),
            json!({"mode": "ANY", "allowedFunctionNames": ["read"]}),
            json!("REQUIRED"),
        ],
    );
}

#[test]
fn parallel_tools_are_asked_for_or_forbidden_where_that_is_possible() {
    let with = |parallel| Options { parallel_tools: Some(parallel), ..Options::plain() };
    let paths = ["/parallel_tool_calls", "/parallel_tool_calls", "/tool_choice", "/x", "/x"];
    let anthropic = |disabled: bool| json!({"type": "auto", "disable_parallel_tool_use": disabled});
    check(&with(false), paths, [json!(false), json!(false), anthropic(true), Value::Null, Value::Null]);
    check(&with(true), paths, [json!(true), json!(true), anthropic(false), Value::Null, Value::Null]);
}

#[test]
fn a_parameter_forbids_parallel_tools_as_the_option_does() {
    let paths = ["/parallel_tool_calls", "/parallel_tool_calls", "/tool_choice", "/x", "/x"];
    let anthropic = json!({"type": "auto", "disable_parallel_tool_use": true});
    for name in ["parallel_tool_calls", "parallel_tools"] {
        let with = |value: Value| Options { parameters: crate::object(&json!({name: value})), ..Options::plain() };
        check(&with(json!(false)), paths, [json!(false), json!(false), anthropic.clone(), Value::Null, Value::Null]);
        // Anthropic's manifest declares parameters, and this is none of them.
        let few = json!({"parameters": {"temperature": {"type": "float"}}});
        let request = ask(&provider("anthropic", few), &tools(), &with(json!(false))).unwrap();
        assert_eq!(body(&request)["tool_choice"], anthropic);
        assert_eq!(body(&request).get(name), None);
        let refused = ask(&provider("openai", json!({})), &tools(), &with(json!("no"))).unwrap_err();
        assert!(refused.to_string().contains("\"no\" is not true or false"), "{refused}");
    }
}

#[test]
fn a_form_that_is_not_declared_is_dropped() {
    let form = ResponseFormat::JsonSchema { name: "a".to_owned(), schema: json!({"type": "object"}) };
    let options = Options { response_format: form, ..Options::plain() };
    let silent = |more: Value| {
        let mut manifest = json!({"capabilities": {"required": ["text", "streaming"], "feature_flags": {}}});
        crate::manifest::merge(&mut manifest, more);
        let request = ask(&provider("openai", manifest), &question(), &options).unwrap();
        (body(&request).get("response_format").is_some(), changes(&request.changes))
    };
    let dropped = vec!["dropped response_format: the provider does not declare it".to_owned()];
    assert_eq!(silent(json!({})), (false, dropped));
    let bare = json!({"capabilities": {"required": ["text", "streaming"], "feature_flags": {}}});
    let object = Options { response_format: ResponseFormat::Json, ..Options::plain() };
    let request = ask(&provider("openai", bare), &question(), &object).unwrap();
    assert_eq!(body(&request)["response_format"], json!({"type": "json_object"}));
    assert_eq!(changes(&request.changes), ["kept response_format: the provider does not declare it"]);
    for word in [
        json!({"capabilities": {"optional": ["structured_output"]}}),
        json!({"capabilities": {"feature_flags": {"structured_output": true}}}),
        json!({"models": {MODEL: {"model_capabilities": {"structured_output": true}}}}),
        json!({"provider_contract": {"capability_contracts": {"structured_output": {"json_schema_mode": true}}}}),
    ] {
        assert_eq!(silent(word.clone()), (true, vec![]), "{word}");
    }
}

#[test]
fn a_choice_that_cannot_be_made_is_dropped() {
    let options = |choice| Options { tool_choice: choice, parallel_tools: Some(true), ..Options::plain() };
    let required = || options(ToolChoice::Required);
    let row = |manifest: Value, prompt: &pi_envelope::Prompt, options: &Options, expected: &[&str]| {
        let request = ask(&provider("openai", manifest), prompt, options).unwrap();
        assert_eq!(body(&request).get("tool_choice"), None);
        assert_eq!(changes(&request.changes), expected);
    };
    row(
        json!({}),
        &question(),
        &required(),
        &["dropped tool_choice: there are no tools", "dropped parallel_tools: there are no tools"],
    );
    row(
        json!({"provider_contract": {"capability_contracts": {"tools": {"supports_forced_tool": false}}}}),
        &tools(),
        &required(),
        &["dropped tool_choice: the provider cannot be made to call a tool"],
    );
    row(
        json!({"capabilities": {"required": ["text", "streaming", "tools"]}}),
        &tools(),
        &options(ToolChoice::Tool("write".to_owned())),
        &["dropped tool_choice: there is no tool write", "dropped parallel_tools: the provider does not declare it"],
    );
}

/// A model without tools of its own is told in words; nothing else can be done.
#[test]
fn a_choice_for_a_model_that_writes_its_calls_as_text_is_told_in_the_system_text() {
    let manifest = json!({"capabilities": {"tool_calling": {"native": {"supported": false}, "text_fallback": {}}}});
    let told = |tool_choice| {
        let options = Options { tool_choice, ..Options::plain() };
        let request = ask(&provider("openai", manifest.clone()), &tools(), &options).unwrap();
        let system = body(&request)["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        assert_eq!((body(&request).get("tools"), body(&request).get("tool_choice")), (None, None));
        (system, changes(&request.changes))
    };
    let described = "changed tools: described in the system text, because the model has none of its own";
    let demanded = "changed tool_choice: demanded in the system text, and nothing makes the model keep to it";
    let (auto, said) = told(ToolChoice::Auto);
    assert!(auto.contains("- read:") && !auto.contains("MUST"), "{auto}");
    assert_eq!(said, [described]);
    let (required, said) = told(ToolChoice::Required);
    let end = "Your answer MUST call at least one of these tools in the form above, whatever else it says.\n";
    assert_eq!(
        (required.strip_suffix(end), said),
        (Some(auto.as_str()), vec![described.to_owned(), demanded.to_owned()])
    );
    let (named, said) = told(ToolChoice::Tool("read".to_owned()));
    let end = "Your answer MUST call the tool read in the form above, whatever else it says.\n";
    assert_eq!((named.strip_suffix(end), said), (Some(auto.as_str()), vec![described.to_owned(), demanded.to_owned()]));
    let (unknown, said) = told(ToolChoice::Tool("write".to_owned()));
    assert_eq!(
        (unknown, said),
        (auto, vec!["dropped tool_choice: there is no tool write".to_owned(), described.to_owned()])
    );
    let (none, said) = told(ToolChoice::None);
    assert!(!none.contains("read"), "{none}");
    let untold = "changed tool_choice: the model is told of no tools, and what looks like a call in its text is text";
    assert_eq!(said, [untold]);
}

#[test]
fn parallel_tools_beside_a_choice_of_none_are_sent_or_listed() {
    let options = Options { tool_choice: ToolChoice::None, parallel_tools: Some(false), ..Options::plain() };
    let no_member = "dropped parallel_tools: the API has no member for it";
    let expected: [&[&str]; 5] =
        [&[], &[], &["dropped parallel_tools: no tool may be called"], &[no_member], &[no_member]];
    for (adapter, expected) in DIALECTS.into_iter().zip(expected) {
        let request = ask(&provider(adapter, json!({})), &tools(), &options).unwrap();
        let told: Vec<String> = changes(&request.changes).into_iter().filter(|it| it.contains("parallel")).collect();
        assert_eq!(told, expected, "{adapter}");
    }
}

#[test]
fn the_form_of_the_answer_is_written_as_each_api_has_it() {
    let schema = json!({"type": "object", "properties": {"a.b": {"type": "string"}}, "required": ["a.b"], "additionalProperties": false});
    let paths = ["/response_format", "/text/format", "/output_config/format", "/generationConfig", "/response_format"];
    let with = |response_format| Options { response_format, ..Options::plain() };
    let object = json!({"type": "json_object"});
    check(
        &with(ResponseFormat::Json),
        paths,
        [object.clone(), object.clone(), Value::Null, json!({"responseMimeType": "application/json"}), object],
    );
    check(
        &with(ResponseFormat::JsonSchema { name: "colours".to_owned(), schema: schema.clone() }),
        paths,
        [
            json!({"type": "json_schema", "json_schema": {"name": "colours", "schema": schema, "strict": true}}),
            json!({"type": "json_schema", "name": "colours", "schema": schema, "strict": true}),
            json!({"type": "json_schema", "schema": schema}),
            json!({"responseMimeType": "application/json", "responseJsonSchema": schema}),
            json!({"type": "json_object", "json_schema": schema}),
        ],
    );
}

#[test]
fn a_form_that_a_model_cannot_be_held_to_is_dropped() {
    let options = Options { response_format: ResponseFormat::Json, ..Options::plain() };
    for manifest in [
        json!({"capabilities": {"feature_flags": {"structured_output": false}}}),
        json!({"models": {MODEL: {"model_capabilities": {"structured_output": false}}}}),
        json!({"provider_contract": {"capability_contracts": {"structured_output": {"json_mode": false}}}}),
    ] {
        let request = ask(&provider("openai", manifest), &question(), &options).unwrap();
        assert_eq!(body(&request).get("response_format"), None);
        assert_eq!(changes(&request.changes), ["dropped response_format: the model cannot be held to a form"]);
    }
    let field = json!({"provider_contract": {"capability_contracts": {"structured_output": {"response_format_field": "output.form"}}}});
    let request = ask(&provider("openai", field), &question(), &options).unwrap();
    assert_eq!(body(&request)["output"], json!({"form": {"type": "json_object"}}));
}

#[test]
fn who_cannot_be_held_to_a_schema_is_held_to_json() {
    let format = ResponseFormat::JsonSchema { name: "colours".to_owned(), schema: json!({"type": "object"}) };
    let options = Options { response_format: format, ..Options::plain() };
    let only_json = json!({"json_mode": true, "json_schema_mode": false});
    let manifest = json!({"provider_contract": {"capability_contracts": {"structured_output": only_json}}});
    let request = ask(&provider("openai", manifest), &question(), &options).unwrap();
    assert_eq!(body(&request)["response_format"], json!({"type": "json_object"}));
    let told = "changed response_format: the model cannot be held to a schema, so JSON of any form is asked for";
    assert_eq!(changes(&request.changes), [told]);
}

#[test]
fn marks_for_the_cache_stand_on_tools_system_and_the_last_messages() {
    let caching =
        json!({"markers": true, "long_ttl": "1h", "key_field": "cache.key", "long_members": {"cache.keep": "24h"}});
    let contract = json!({"provider_contract": {"capability_contracts": {"caching": caching}}});
    let marks = |adapter: &str, cache: CacheRetention| {
        let options = Options { cache, session: Some("s".to_owned()), ..Options::plain() };
        let body = body(&ask(&provider(adapter, contract.clone()), &tools(), &options).unwrap());
        let marks = body.to_string().matches("cache_control").count();
        (marks, body.to_string().matches("\"ttl\":\"1h\"").count(), body.get("cache").cloned())
    };
    assert_eq!(marks("anthropic", CacheRetention::None), (0, 0, None));
    assert_eq!(marks("anthropic", CacheRetention::Short), (4, 0, Some(json!({"key": "s"}))));
    assert_eq!(marks("anthropic", CacheRetention::Long), (4, 4, Some(json!({"keep": "24h", "key": "s"}))));
    assert_eq!(marks("openai", CacheRetention::Long), (2, 2, Some(json!({"keep": "24h", "key": "s"}))));
    let plain = ask(&provider("openai", json!({})), &tools(), &Options::plain()).unwrap();
    assert!(!body(&plain).to_string().contains("cache"));
}

#[test]
fn a_stream_is_asked_for_with_its_usage_where_that_is_declared() {
    let sent = |manifest: Value, mode: Mode| {
        let request = ask_in(&provider("openai", manifest), &question(), &Options::plain(), mode).unwrap();
        let mut body = crate::object(&body(&request));
        body.retain(|name, _| name != "model" && name != "messages");
        Value::Object(body)
    };
    let streaming = |streaming: Value| json!({"provider_contract": {"capability_contracts": {"streaming": streaming}}});
    assert_eq!(sent(json!({}), Mode::Whole), json!({}));
    assert_eq!(sent(json!({}), Mode::Stream), json!({"stream": true, "stream_options": {"include_usage": true}}));
    assert_eq!(sent(streaming(json!({"supports_usage_in_stream": false})), Mode::Stream), json!({"stream": true}));
    assert_eq!(sent(streaming(json!({"usage_option": ""})), Mode::Stream), json!({"stream": true}));
    assert_eq!(
        sent(streaming(json!({"usage_option": "usage.include"})), Mode::Stream),
        json!({"stream": true, "usage": {"include": true}})
    );
    let silent = provider("openai", json!({"capabilities": {"required": ["text"]}}));
    let request = ask_in(&silent, &question(), &Options::plain(), Mode::Stream).unwrap();
    assert_eq!(
        (request.mode, body(&request).get("stream")),
        (Mode::Whole, None),
        "whoever cannot stream is asked at once"
    );
    assert_eq!(request.changes.len(), 1, "and that is told: {:?}", request.changes);
}

#[test]
fn members_of_the_model_are_sent_and_the_conversation_is_not_theirs() {
    let entry = json!({"model_id": "wire-name", "request_defaults": {"service": {"tier": "flex"}, "temperature": 0.1, "messages": []}});
    let manifest = provider("openai", json!({"models": {MODEL: entry}}));
    let parameters = crate::object(&json!({"temperature": 0.7, "stream": false}));
    let request = ask(&manifest, &question(), &Options { parameters, ..Options::plain() }).unwrap();
    assert_eq!(
        body(&request),
        json!({
            "model": "wire-name", "messages": [{"role": "user", "content": "Hello"}], "service": {"tier": "flex"},
            "temperature": 0.7, "stream": true, "stream_options": {"include_usage": true},
        })
    );
    assert_eq!(
        changes(&request.changes),
        [
            "dropped stream: whoever makes the call decides it",
            "dropped messages: only the conversation fills this member"
        ]
    );
}

/// Whoever declares nothing about usage in streams is asked for it, as Pi does.
#[test]
fn streams_are_asked_for_their_usage_unless_somebody_says_no() {
    let asks = |adapter: &str, flags: Value, contract: Value| {
        let mut manifest =
            provider(adapter, json!({"provider_contract": {"capability_contracts": {"streaming": contract}}}));
        manifest.capabilities.feature_flags.streaming_usage = flags.as_bool();
        body(&ask(&manifest, &question(), &Options::plain()).unwrap()).get("stream_options").cloned()
    };
    let asked = Some(json!({"include_usage": true}));
    for (adapter, flags, contract, expected) in [
        ("openai", json!(null), json!({}), &asked),
        ("openai", json!(true), json!({}), &asked),
        ("openai", json!(false), json!({}), &None),
        ("openai", json!(null), json!({"supports_usage_in_stream": false}), &None),
        ("openai", json!(null), json!({"usage_option": ""}), &None),
        ("anthropic", json!(null), json!({}), &None),
    ] {
        assert_eq!(&asks(adapter, flags.clone(), contract.clone()), expected, "{adapter} {flags} {contract}");
    }
}
