//! Thinking levels in the forms of providers, none of which Rust knows by name.

use pi_provider::{CallError, Options, Request, ToolChoice};
use pi_transcript::ThinkingLevel::{self, High, Low, Max, Medium, Minimal, Off, Xhigh};
use serde_json::{Map, Value, json};

use crate::{MODEL, ask, body, changes, object, provider, question};

fn build(adapter: &str, manifest: Value, options: &Options) -> Result<Request, CallError> {
    ask(&provider(adapter, manifest), &question(), options)
}

/// Members that differ from those of the same request for a model that does not think, and the changes.
fn check(adapter: &str, manifest: &Value, level: ThinkingLevel, expected: &Value, expected_changes: &[&str]) {
    let options = Options { thinking: level, ..Options::plain() };
    let request = build(adapter, manifest.clone(), &options).unwrap();
    let mut dull = manifest.clone();
    dull["models"] = json!({MODEL: {"model_capabilities": {"reasoning": false}}});
    dull["provider_contract"] = json!({});
    let plain = object(&body(&build(adapter, dull, &Options::plain()).unwrap()));
    let members: Map<String, Value> =
        object(&body(&request)).into_iter().filter(|(name, value)| plain.get(name) != Some(value)).collect();
    assert_eq!(Value::Object(members), *expected, "{adapter} {level}");
    let thinking = |change: &String| change.contains("thinking");
    assert_eq!(changes(&request.changes).into_iter().filter(thinking).collect::<Vec<_>>(), expected_changes);
}

fn model(entry: &Value) -> Value {
    json!({"models": {MODEL: entry}})
}

fn reasons(format: &str) -> Value {
    model(&json!({"model_capabilities": {"reasoning": true}, "thinking_format": format}))
}

#[test]
fn each_built_in_form_says_every_level_in_its_own_words() {
    let gemini = |config: Value| json!({"generationConfig": {"thinkingConfig": config}});
    let rows: [(&str, &str, ThinkingLevel, Value); 23] = [
        ("openai", "reasoning_effort", High, json!({"reasoning_effort": "high"})),
        ("openai", "reasoning_effort", Off, json!({})),
        ("openai", "reasoning_effort_wide", Off, json!({"reasoning_effort": "none"})),
        ("openai", "reasoning_effort_wide", Xhigh, json!({"reasoning_effort": "xhigh"})),
        (
            "responses",
            "responses_effort",
            Low,
            json!({"reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}),
        ),
        (
            "responses",
            "responses_effort_wide",
            Off,
            json!({"reasoning": {"effort": "none"}, "include": ["reasoning.encrypted_content"]}),
        ),
        ("responses", "responses_effort", Off, json!({"include": ["reasoning.encrypted_content"]})),
        ("openai", "nested_effort", Medium, json!({"reasoning": {"effort": "medium"}})),
        ("openai", "nested_effort", Off, json!({"reasoning": {"enabled": false}})),
        ("anthropic", "budget", Minimal, json!({"thinking": {"type": "enabled", "budget_tokens": 1024}})),
        ("anthropic", "budget", Off, json!({})),
        ("anthropic", "adaptive", Max, json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}})),
        ("gemini", "gemini_budget", Low, gemini(json!({"includeThoughts": true, "thinkingBudget": 2048}))),
        ("gemini", "gemini_budget", Off, gemini(json!({"thinkingBudget": 0}))),
        ("gemini", "gemini_level", Minimal, gemini(json!({"includeThoughts": true, "thinkingLevel": "minimal"}))),
        ("openai", "enable_thinking", Low, json!({"enable_thinking": true})),
        ("openai", "enable_thinking", Off, json!({"enable_thinking": false})),
        ("openai", "enable_thinking_budget", Low, json!({"enable_thinking": true, "thinking_budget": 4096})),
        ("openai", "template_flag", Off, json!({"chat_template_kwargs": {"enable_thinking": false}})),
        ("openai", "thinking_type", High, json!({"thinking": {"type": "enabled"}})),
        ("openai", "thinking_type", Off, json!({"thinking": {"type": "disabled"}})),
        ("openai", "thinking_type_effort", Max, json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"})),
        ("cohere_v2", "token_budget", High, json!({"thinking": {"type": "enabled", "token_budget": 16384}})),
    ];
    for (adapter, format, level, expected) in rows {
        check(adapter, &reasons(format), level, &expected, &[]);
    }
}

#[test]
fn a_level_that_does_not_exist_becomes_the_next_weaker_one_or_the_weakest() {
    let levels = |levels: Value| model(&json!({"model_capabilities": {"reasoning": true}, "thinking_levels": levels}));
    let row = |levels: &Value, level, sent: Value, changed: &[&str]| check("openai", levels, level, &sent, changed);
    let some = levels(json!({"low": "low", "high": "high"}));
    row(
        &some,
        Medium,
        json!({"reasoning_effort": "low"}),
        &["changed thinking: medium is not a level of this model, low is"],
    );
    row(
        &some,
        Max,
        json!({"reasoning_effort": "high"}),
        &["changed thinking: max is not a level of this model, high is"],
    );
    row(
        &some,
        Minimal,
        json!({"reasoning_effort": "low"}),
        &["changed thinking: minimal is not a level of this model, low is"],
    );
    row(&some, Off, json!({}), &[]);
    let always = levels(json!({"off": null, "low": "low"}));
    row(
        &always,
        Off,
        json!({"reasoning_effort": "low"}),
        &["changed thinking: off is not a level of this model, low is"],
    );
    row(&levels(json!({"off": "none", "low": "low"})), Off, json!({"reasoning_effort": "none"}), &[]);
}

#[test]
fn a_contract_brings_forms_of_its_own() {
    let formats = json!({
        "default": {"on": {"mind.depth": "$level", "mind.list": [{"at": "$level"}]}, "off": {"mind.depth": 0}, "levels": {"low": 3}},
        "loud": {"on": {"loud": true}},
    });
    let manifest = |entry: &Value| {
        json!({
            "models": {MODEL: entry},
            "provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": {"formats": formats}}}},
        })
    };
    check("openai", &manifest(&json!({})), Low, &json!({"mind": {"depth": 3, "list": [{"at": 3}]}}), &[]);
    check("openai", &manifest(&json!({})), Off, &json!({"mind": {"depth": 0}}), &[]);
    check("openai", &manifest(&json!({"thinking_format": "loud"})), Xhigh, &json!({"loud": true}), &[]);
}

#[test]
fn the_standards_own_switches_work() {
    let manifest = |method: &str, field: &str| {
        json!({"provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": {
            "supported": true, "activation_method": method, "activation_field": field,
        }}}}})
    };
    check("openai", &manifest("parameter", "extra.think"), High, &json!({"extra": {"think": true}}), &[]);
    check("openai", &manifest("parameter", "extra.think"), Off, &json!({"extra": {"think": false}}), &[]);
    check("openai", &manifest("model_suffix", ":thinking"), High, &json!({"model": "model-one:thinking"}), &[]);
    let options = Options { thinking: High, ..Options::plain() };
    let request = build("openai", manifest("header", "X-Think"), &options).unwrap();
    assert!(request.headers.contains(&("x-think".to_owned(), "true".to_owned())), "{:?}", request.headers);
}

#[test]
fn a_model_that_does_not_think_is_not_told_to() {
    let dull = model(&json!({"model_capabilities": {"reasoning": false}}));
    check("openai", &dull, High, &json!({}), &["dropped thinking: the model does not think"]);
    check("openai", &dull, Off, &json!({}), &[]);
}

#[test]
fn a_budget_stays_below_the_answers_limit() {
    let manifest = reasons("budget");
    let sent = |limit: u64| {
        let parameters = object(&json!({"max_tokens": limit}));
        let options = Options { thinking: High, parameters, ..Options::plain() };
        let request = build("anthropic", manifest.clone(), &options).unwrap();
        (body(&request).get("thinking").cloned(), changes(&request.changes))
    };
    let budget = |tokens: u64| Some(json!({"type": "enabled", "budget_tokens": tokens}));
    assert_eq!(sent(20_000), (budget(16_384), vec![]));
    assert_eq!(
        sent(16_384),
        (budget(8_192), vec!["changed thinking: 8192 tokens, to stay below max_tokens (16384)".to_owned()])
    );
    assert_eq!(
        sent(1_025),
        (budget(1_024), vec!["changed thinking: 1024 tokens, to stay below max_tokens (1025)".to_owned()])
    );
    assert_eq!(
        sent(1_024),
        (None, vec!["dropped thinking: an answer of 1024 tokens leaves no room for it".to_owned()])
    );
}

#[test]
fn what_thinking_forbids_is_not_sent_beside_it() {
    let tools = crate::prompt(&json!({
        "tools": [{"name": "read", "description": "", "parameters": {"type": "object"}}],
        "messages": [{"role": "user", "content": "x"}],
    }));
    let manifest = provider("anthropic", reasons("budget"));
    let parameters = object(&json!({"temperature": 0.5, "max_tokens": 4000}));
    let options = Options { thinking: Low, parameters, ..Options::plain() };
    let request = ask(&manifest, &tools, &options).unwrap();
    assert_eq!(body(&request).get("temperature"), None);
    assert_eq!(changes(&request.changes), ["dropped temperature: 0.5 cannot be sent while the model thinks"]);

    let options = Options { tool_choice: ToolChoice::Required, ..options };
    let request = ask(&manifest, &tools, &options).unwrap();
    let body = body(&request);
    assert_eq!(
        (body.get("thinking"), &body["temperature"], &body["tool_choice"]),
        (None, &json!(0.5), &json!({"type": "any"}))
    );
    assert_eq!(
        changes(&request.changes),
        ["changed thinking: off, because a tool must be called and this model does not think then"]
    );
}
