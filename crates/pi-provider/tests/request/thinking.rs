//! Thinking levels in the forms of providers, none of which Rust knows by name.

use pi_provider::{
    Call, CallError, Mode, Options, Request, Target, ToolChoice,
    builtin::MANIFESTS,
    manifest::{Format, load},
    request,
};
use pi_transcript::ThinkingLevel::{self, High, Low, Max, Medium, Minimal, Off, Xhigh};
use proptest::prelude::*;
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
        let is_switch = ["enable_thinking", "template_flag", "thinking_type"].contains(&format) && level != Off;
        let told = switched(level);
        let told = if is_switch { &[told.as_str()][..] } else { &[] };
        check(adapter, &reasons(format), level, &expected, told);
    }
}

/// What is said of a level where thinking can only be turned on and off.
fn switched(level: ThinkingLevel) -> String {
    format!("changed thinking: {level} is sent as on: it is not said how hard this model is to think")
}

#[test]
fn levels_that_are_sent_as_the_same_are_told() {
    let levels = json!({"minimal": "low", "low": "low", "medium": "deep", "high": "deep"});
    let manifest = model(&json!({"model_capabilities": {"reasoning": true}, "thinking_levels": levels}));
    let row = |level, sent: &str, told: &[&str]| {
        check("openai", &manifest, level, &json!({"reasoning_effort": sent}), told);
    };
    row(Minimal, "low", &["changed thinking: minimal is sent as \"low\", as low is"]);
    row(Low, "low", &[]);
    row(Medium, "deep", &["changed thinking: medium is sent as \"deep\", as high is"]);
    row(High, "deep", &["changed thinking: high is sent as \"deep\", as medium is"]);
}

#[test]
fn off_that_cannot_be_said_is_told_to_whoever_asked() {
    let check = |adapter: &str, manifest: Value, expected: &[&str]| {
        for (thinking_asked, expected) in [(true, expected), (false, &[][..])] {
            let options = Options { thinking_asked, ..Options::plain() };
            let told = changes(&build(adapter, manifest.clone(), &options).unwrap().changes);
            assert_eq!(
                told.into_iter().filter(|it| it.contains("thinking")).collect::<Vec<_>>(),
                expected,
                "{manifest}"
            );
        }
    };
    let wordless = "dropped thinking: there is no word for off, so the model thinks as it does by itself";
    check("openai", reasons("reasoning_effort"), &[wordless]);
    check("responses", reasons("responses_effort"), &[wordless]);
    check("openai", reasons("reasoning_effort_wide"), &[]);
    check("anthropic", reasons("budget"), &[]);
    check("openai", reasons("thinking_type"), &[]);
    let undescribed =
        "dropped thinking: nobody says whether and how this model is told not to think, so it is not told";
    check("openai", json!({}), &[undescribed]);
    check("anthropic", json!({}), &[]);
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

/// Words in the place of tokens would be refused, and `none` would turn thinking on.
#[test]
fn a_value_that_the_form_cannot_carry_gives_way_to_the_forms_own() {
    let check = |adapter: &str, levels: &Value, level, sent: Value, told: &[&str]| {
        let manifest = model(&json!({"model_capabilities": {"reasoning": true}, "thinking_levels": levels}));
        let options = Options {
            thinking: level,
            thinking_asked: true,
            parameters: object(&json!({"max_tokens": 64000})),
            ..Options::plain()
        };
        let request = build(adapter, manifest, &options).unwrap();
        let body = body(&request);
        let places = ["/thinking", "/reasoning_effort", "/generationConfig/thinkingConfig"];
        let found = places.iter().find_map(|place| body.pointer(place)).cloned();
        assert_eq!(found.unwrap_or_default(), sent, "{adapter} {level}");
        assert_eq!(changes(&request.changes), told, "{adapter} {level}");
    };
    let is_no = |level: &str, value: &str, measure: &str| {
        format!("changed thinking: {level} is written as {value}, which is no {measure}, and is sent as usual")
    };
    let words = json!({"off": "none", "low": "low", "high": "high"});
    let tokens = |level: &str, value: &str| is_no(level, value, "number of tokens");
    let (off, low, high) = (&tokens("off", "\"none\""), &tokens("low", "\"low\""), &tokens("high", "\"high\""));
    check("anthropic", &words, Off, Value::Null, &[off]);
    check("anthropic", &words, Low, json!({"type": "enabled", "budget_tokens": 2048}), &[low]);
    check("gemini", &words, High, json!({"includeThoughts": true, "thinkingBudget": 16384}), &[high]);
    check("gemini", &words, Off, json!({"thinkingBudget": 0}), &[off]);
    check("cohere_v2", &words, High, json!({"type": "enabled", "token_budget": 16384}), &[high]);
    check("cohere_v2", &words, Off, json!({"type": "disabled"}), &[off]);
    check("cohere_v2", &json!({"off": "none"}), Low, json!({"type": "enabled", "token_budget": 2048}), &[]);
    let numbers = json!({"off": 0, "low": 2048});
    check("openai", &numbers, Low, json!("low"), &[&is_no("low", "2048", "word")]);
    check(
        "openai",
        &numbers,
        Off,
        Value::Null,
        &[
            &is_no("off", "0", "word"),
            "dropped thinking: there is no word for off, so the model thinks as it does by itself",
        ],
    );
    // One level alone may be wrong, and one that the form does not have either is none.
    let mixed = json!({"low": 3000, "high": "high", "max": "max"});
    check("gemini", &mixed, Low, json!({"includeThoughts": true, "thinkingBudget": 3000}), &[]);
    check(
        "gemini",
        &mixed,
        Max,
        json!({"includeThoughts": true, "thinkingBudget": 16384}),
        &[high, "changed thinking: max is not a level of this model, high is"],
    );
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
    check("openai", &manifest(&json!({"thinking_format": "loud"})), Xhigh, &json!({"loud": true}), &[&switched(Xhigh)]);
}

#[test]
fn the_standards_own_switches_work() {
    let manifest = |method: &str, field: &str| {
        json!({"provider_contract": {"capability_contracts": {"generative": {"reasoning_mode": {
            "supported": true, "activation_method": method, "activation_field": field,
        }}}}})
    };
    check(
        "openai",
        &manifest("parameter", "extra.think"),
        High,
        &json!({"extra": {"think": true}}),
        &[&switched(High)],
    );
    check("openai", &manifest("parameter", "extra.think"), Off, &json!({"extra": {"think": false}}), &[]);
    check(
        "openai",
        &manifest("model_suffix", ":thinking"),
        High,
        &json!({"model": "model-one:thinking"}),
        &[&switched(High)],
    );
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
        sent(1_280),
        (budget(1_024), vec!["changed thinking: 1024 tokens, to stay below max_tokens (1280)".to_owned()])
    );
    // What is left must be enough for an answer, and not one token.
    for limit in [1_024, 1_025, 1_279] {
        let told = format!("dropped thinking: an answer of {limit} tokens leaves no room for it");
        assert_eq!(sent(limit), (None, vec![told]));
    }
    assert_eq!(
        sent(16_385),
        (budget(8_192), vec!["changed thinking: 8192 tokens, to stay below max_tokens (16385)".to_owned()])
    );
}

/// A model without a word for off is never told to stop, however short its answer is, and what becomes of it is told once.
#[test]
fn a_model_that_always_thinks_gets_its_least_budget_or_is_told_nothing() {
    let levels = json!({"off": null, "minimal": 128, "low": 2048, "high": 32768});
    let entry = json!({"model_capabilities": {"reasoning": true}, "thinking_format": "gemini_budget",
                       "thinking_levels": levels});
    let sent = |thinking: ThinkingLevel, limit: u64| {
        let parameters = object(&json!({"max_tokens": limit}));
        let options = Options { thinking, parameters, thinking_asked: true, ..Options::plain() };
        let request = build("gemini", model(&entry), &options).unwrap();
        let config = &body(&request)["generationConfig"]["thinkingConfig"];
        let told = changes(&request.changes).into_iter().filter(|change| change.contains("thinking"));
        (config["thinkingBudget"].as_u64(), told.collect::<Vec<_>>().join(" | "))
    };
    let least = "changed thinking: 128 tokens, the least of this model, which cannot be told not to think: \
                 an answer of 200 tokens leaves no room for more";
    assert_eq!(sent(High, 200), (Some(128), least.to_owned()));
    let weakest = "changed thinking: off is not a level of this model, minimal is".to_owned();
    assert_eq!(sent(Off, 200), (Some(128), weakest));
    assert_eq!(sent(Minimal, 200), (Some(128), String::new()));
    for level in [Off, Minimal, High] {
        let nothing = "dropped thinking: an answer of 100 tokens leaves no room for it, \
                       and this model cannot be told not to think";
        assert_eq!(sent(level, 100), (None, nothing.to_owned()), "{level}");
    }
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

/// A default that thinking takes out again was never sent, and one that it replaces was sent otherwise.
#[test]
fn changes_tell_what_is_sent() {
    let mut manifest = reasons("budget");
    manifest["parameters"] =
        json!({"temperature": {"type": "float", "default": 1.0}, "max_tokens": {"type": "integer"}});
    let options = Options { thinking: Low, parameters: object(&json!({"max_tokens": 4000})), ..Options::plain() };
    let request = build("anthropic", manifest, &options).unwrap();
    assert_eq!((body(&request).get("temperature"), changes(&request.changes)), (None, Vec::new()));

    let mut manifest = reasons("reasoning_effort");
    manifest["parameters"] = json!({"reasoning_effort": {"type": "string", "default": "medium"}});
    let options = Options { thinking: High, ..Options::plain() };
    let request = build("openai", manifest.clone(), &options).unwrap();
    assert_eq!((&body(&request)["reasoning_effort"], changes(&request.changes)), (&json!("high"), Vec::new()));
    let options = Options { parameters: object(&json!({"reasoning_effort": "low"})), ..options };
    let request = build("openai", manifest, &options).unwrap();
    assert_eq!(body(&request)["reasoning_effort"], "high");
    assert_eq!(
        changes(&request.changes),
        ["changed reasoning_effort: \"high\" is sent instead of \"low\", as thinking asks for"]
    );
}

#[test]
fn a_choice_of_tools_that_is_not_sent_does_not_keep_a_model_from_thinking() {
    let manifest = provider("anthropic", reasons("budget"));
    let parameters = object(&json!({"max_tokens": 4000}));
    let options = Options { thinking: Low, tool_choice: ToolChoice::Required, parameters, ..Options::plain() };
    let request = ask(&manifest, &question(), &options).unwrap();
    assert_eq!(body(&request)["thinking"]["type"], "enabled");
    assert_eq!(changes(&request.changes), ["dropped tool_choice: there are no tools"]);
}

/// The number of tokens that an Anthropic request gives to thinking, 0 where it is not to think; `None` for a word.
fn budget(manifest: &Value, level: ThinkingLevel, limit: u64) -> Option<u64> {
    let parameters = object(&json!({"max_tokens": limit}));
    let options = Options { thinking: level, parameters, ..Options::plain() };
    let sent = body(&build("anthropic", manifest.clone(), &options).unwrap());
    sent.pointer("/thinking/budget_tokens").map_or(Some(0), Value::as_u64)
}

fn budgets(manifest: &Value, limit: u64) -> Vec<u64> {
    ThinkingLevel::ALL.into_iter().filter_map(|level| budget(manifest, level, limit)).collect()
}

#[test]
fn a_level_that_does_not_fit_thinks_no_less_than_a_weaker_one_that_does() {
    let manifest = reasons("budget");
    assert_eq!(budgets(&manifest, 20_000), [0, 1_024, 2_048, 8_192, 16_384, 16_384, 16_384]);
    assert_eq!(budgets(&manifest, 60_000), [0, 1_024, 2_048, 8_192, 16_384, 32_768, 32_768]);
    assert_eq!(budgets(&manifest, 3_000), [0, 1_024, 2_048, 2_048, 2_048, 2_048, 2_048]);
    let small = model(&json!({"thinking_format": "budget", "thinking_levels": {"minimal": 500, "high": 4_000}}));
    assert_eq!(budgets(&small, 1_000), [0, 500, 500, 500, 500, 500, 500]);
    let falling = model(&json!({"thinking_format": "budget", "thinking_levels": {"low": 4_000, "high": 2_000}}));
    assert_eq!(budgets(&falling, 9_000), [0, 4_000, 4_000, 4_000, 4_000, 4_000, 4_000]);
}

/// Whatever stands for the levels of a model: nothing, a word, or a number of tokens, in any order.
fn levels() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        1 => Just(Value::Null),
        1 => Just(json!("deep")),
        6 => (0_u64..70_000).prop_map(Value::from),
    ];
    let names = ThinkingLevel::ALL.map(|level| level.as_str().to_owned());
    prop::collection::btree_map(prop::sample::select(names.to_vec()), value, 0..8).prop_map(|levels| json!(levels))
}

proptest! {
    #[test]
    fn a_higher_level_never_gets_fewer_tokens(levels in levels(), limit in 1_u64..80_000) {
        let manifest = model(&json!({"thinking_format": "budget", "thinking_levels": levels}));
        let budgets = budgets(&manifest, limit);
        prop_assert!(budgets.is_sorted(), "{:?} {:?}", levels, budgets);
    }
}

/// The words that manifests have for levels, from weak to strong.
const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

#[test]
fn every_built_in_model_thinks_harder_at_a_higher_level() {
    let rank = |value: &Value| match value {
        Value::Number(number) => number.as_u64(),
        Value::String(word) => WORDS.iter().position(|known| known == word).map(|place| place as u64),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let (prompt, mut seen) = (question(), 0);
    for built_in in MANIFESTS {
        let manifest = load(built_in.text, built_in.id, Format::Yaml).manifest.unwrap();
        let models = manifest.models.iter();
        for ((id, entry), limit) in models.flat_map(|model| [0, 1_500, 20_000, 40_000].map(|limit| (model, limit))) {
            let parameters = if limit > 0 { object(&json!({"max_tokens": limit})) } else { Map::new() };
            let lookup = |_: &str| Some("x".to_owned());
            let target = Target { manifest: &manifest, model: id, entry: Some(entry), base_url: None, lookup: &lookup };
            let sent = |thinking| {
                let options = Options { thinking, parameters: parameters.clone(), ..Options::plain() };
                let call = Call { prompt: &prompt, options: &options };
                request::build(&target, call, Mode::Stream).unwrap().provider_thinking
            };
            let ranks: Vec<u64> = ThinkingLevel::ALL.into_iter().filter_map(|level| rank(&sent(level)?)).collect();
            seen += ranks.len();
            assert!(ranks.is_sorted(), "{}/{id} {limit} {ranks:?}", built_in.id);
        }
    }
    assert!(seen > 100, "only {seen} requests say how hard to think");
}
