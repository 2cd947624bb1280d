//! Standard parameters in a provider's names, checked and completed.

use pi_provider::{
    Options,
    request::{Change, map_parameters},
};
use serde_json::{Value, json};

use crate::{MODEL, ask, body, changes, object, provider, question};

fn check(adapter: &str, manifest: Value, given: &Value, expected: Result<Value, &str>, expected_changes: &[&str]) {
    let manifest = provider(adapter, manifest);
    match (map_parameters(&manifest, manifest.models.get(MODEL), &object(given)), expected) {
        (Ok((mapped, changes)), Ok(expected)) => {
            assert_eq!(Value::Object(mapped), expected);
            assert_eq!(changes.iter().map(Change::to_string).collect::<Vec<_>>(), expected_changes);
        }
        (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
        (got, expected) => panic!("{got:?} is not {expected:?}"),
    }
}

fn declared() -> Value {
    json!({"parameters": {
        "temperature": {"type": "float", "range": [0.0, 2.0], "default": 1.0},
        "max_tokens": {"type": "integer", "min": 1, "max": 1000},
        "tier": {"type": "string", "enum": ["fast", "slow"]},
        "stop": {"type": "array"},
        "old": {"type": "boolean", "deprecated": true},
    }})
}

#[test]
fn declared_defaults_are_filled_in() {
    let added = ["added temperature: 1.0 is the declared default"];
    check("openai", declared(), &json!({"max_tokens": 5}), Ok(json!({"max_tokens": 5, "temperature": 1.0})), &added);
    check("openai", declared(), &json!({"temperature": 0.5}), Ok(json!({"temperature": 0.5})), &[]);
}

#[test]
fn what_is_said_comes_before_a_default_that_excludes_it() {
    let mut manifest = declared();
    manifest["parameters"] = json!({
        "temperature": {"type": "float", "default": 0.7},
        "top_p": {"type": "float", "default": 0.9},
        "seed": {"type": "integer", "default": 1},
    });
    let exclusive = json!([["temperature", "top_p"]]);
    manifest["provider_contract"] = json!({"request_mapping": {"exclusive_parameters": exclusive}});
    let seed = "added seed: 1 is the declared default";
    let temperature = "added temperature: 0.7 is the declared default";
    let top_p = "dropped top_p: the provider takes it only without temperature";
    let check = |given: Value, expected: Value, told: &[&str]| {
        let options = Options { parameters: object(&given), ..Options::plain() };
        let request = ask(&provider("openai", manifest.clone()), &question(), &options).unwrap();
        let mut sent = object(&body(&request));
        sent.retain(|name, _| ["temperature", "top_p", "seed"].contains(&name.as_str()));
        assert_eq!(
            (Value::Object(sent), changes(&request.changes)),
            (expected, told.iter().map(|it| (*it).to_owned()).collect())
        );
    };
    check(json!({"top_p": 0.3}), json!({"top_p": 0.3, "seed": 1}), &[seed]);
    check(json!({"temperature": 0.3}), json!({"temperature": 0.3, "seed": 1}), &[seed]);
    check(json!({"top_p": 0.3, "temperature": 0.2}), json!({"temperature": 0.2, "seed": 1}), &[seed, top_p]);
    let both = [temperature, "added top_p: 0.9 is the declared default", seed, top_p];
    check(json!({}), json!({"temperature": 0.7, "seed": 1}), &both);
}

#[test]
fn values_are_read_in_the_declared_type() {
    check(
        "openai",
        declared(),
        &json!({"temperature": "0.25", "max_tokens": 5.0, "stop": "END", "old": "true"}),
        Ok(json!({"temperature": 0.25, "max_tokens": 5, "stop": ["END"], "old": true})),
        &["kept old: the provider calls it deprecated"],
    );
}

#[test]
fn values_that_are_not_allowed_are_refused() {
    for (given, expected) in [
        (json!({"temperature": 2.5}), "option temperature cannot be sent: 2.5 is not between 0 and 2"),
        (json!({"max_tokens": 0}), "option max_tokens cannot be sent: 0 is not between 1 and 1000"),
        (json!({"max_tokens": 1.5}), "option max_tokens cannot be sent: 1.5 is not a whole number"),
        (json!({"temperature": "hot"}), "option temperature cannot be sent: \"hot\" is not a number"),
        (json!({"tier": "medium"}), "option tier cannot be sent: \"medium\" is not one of \"fast\", \"slow\""),
    ] {
        check("openai", declared(), &given, Err(expected), &[]);
    }
}

#[test]
fn what_is_not_declared_is_dropped_unless_nothing_is_declared() {
    let given = json!({"temperature": 0.5, "seed": 7});
    check(
        "openai",
        declared(),
        &given,
        Ok(json!({"temperature": 0.5})),
        &["dropped seed: the provider does not declare it"],
    );
    check("openai", json!({}), &given, Ok(given.clone()), &[]);
}

#[test]
fn a_key_of_the_provider_is_found_by_its_standard_name() {
    let manifest = || json!({"parameters": {"maxOutputTokens": {"type": "integer", "min": 1, "alias": "max_tokens"}}});
    check("gemini", manifest(), &json!({"max_tokens": 9}), Ok(json!({"maxOutputTokens": 9})), &[]);
    check("gemini", manifest(), &json!({"maxOutputTokens": 9}), Ok(json!({"maxOutputTokens": 9})), &[]);
    check(
        "gemini",
        manifest(),
        &json!({"max_tokens": 0}),
        Err("option max_tokens cannot be sent: 0 is not at least 1"),
        &[],
    );
}

#[test]
fn aliases_of_model_and_contract_come_first_and_may_be_dotted() {
    let contract = json!({"request_mapping": {"parameter_aliases": {"max_tokens": "config.limits.output", "stop": "config.stop"}}});
    check(
        "openai",
        json!({"provider_contract": contract}),
        &json!({"max_tokens": 9, "stop": ["a"]}),
        Ok(json!({"config": {"limits": {"output": 9}, "stop": ["a"]}})),
        &[],
    );
    let model = json!({"parameter_aliases": {"max_tokens": "max_completion_tokens"}, "unsupported_parameters": ["temperature"]});
    let mut manifest = declared();
    manifest["models"] = json!({MODEL: model});
    check(
        "openai",
        manifest,
        &json!({"max_tokens": 9, "temperature": 0.1}),
        Ok(json!({"max_completion_tokens": 9})),
        &["dropped temperature: the model refuses it"],
    );
}

#[test]
fn a_limit_that_must_be_given_is_the_models_own() {
    let model = json!({"models": {MODEL: {"max_output_tokens": 64000}}});
    let added = ["added max_tokens: 64000: the provider requires a limit"];
    check("anthropic", model.clone(), &json!({}), Ok(json!({"max_tokens": 64000})), &added);
    let cautious = ["added max_tokens: 4096: the provider requires a limit"];
    check("anthropic", json!({}), &json!({}), Ok(json!({"max_tokens": 4096})), &cautious);
    let less = ["changed max_tokens: 90000 is more than the model's 64000"];
    check("anthropic", model, &json!({"max_tokens": 90000}), Ok(json!({"max_tokens": 64000})), &less);
    let required = json!({"parameters": {"max_tokens": {"type": "integer", "required": true}, "region": {"type": "string", "required": true}}});
    check(
        "openai",
        required,
        &json!({"max_tokens": 1}),
        Err("option region cannot be sent: the provider requires it"),
        &[],
    );
}

#[test]
fn names_are_those_of_the_dialect_where_nobody_says_otherwise() {
    let given = json!({"stop": "END", "top_p": 0.5, "n": 2});
    let no_member = "dropped n: the API has no member for it";
    let limit = "added max_tokens: 4096: the provider requires a limit";
    check("openai", json!({}), &given, Ok(given.clone()), &[]);
    check(
        "anthropic",
        json!({}),
        &given,
        Ok(json!({"stop_sequences": ["END"], "top_p": 0.5, "max_tokens": 4096})),
        &[no_member, limit],
    );
    check("gemini", json!({}), &given, Ok(json!({"stopSequences": ["END"], "topP": 0.5, "candidateCount": 2})), &[]);
    check("cohere_v2", json!({}), &given, Ok(json!({"stop_sequences": ["END"], "p": 0.5})), &[no_member]);
    check(
        "responses",
        json!({}),
        &given,
        Ok(json!({"top_p": 0.5})),
        &["dropped stop: the API has no member for it", no_member],
    );
}

/// What the manifest says about names is about the dialect of the provider; a model of another one has that one's.
#[test]
fn a_model_of_another_dialect_has_the_names_of_that_dialect() {
    let manifest = |aliases: Value| {
        json!({
            "parameters": {
                "max_completion_tokens": {"type": "integer", "min": 1, "alias": "max_tokens"},
                "stop": {"type": "array"},
                "temperature": {"type": "float"},
            },
            "provider_contract": {"request_mapping": {"parameter_aliases": {"temperature": "config.heat"}}},
            "models": {MODEL: {"api": "openai_responses", "parameter_aliases": aliases}},
        })
    };
    let given = json!({"max_tokens": 9, "stop": "END", "temperature": 0.5});
    check(
        "openai",
        manifest(json!({})),
        &given,
        Ok(json!({"max_output_tokens": 9, "temperature": 0.5})),
        &["dropped stop: the API has no member for it"],
    );
    let own = json!({"stop": "halt", "max_tokens": "limit"});
    let expected = json!({"limit": 9, "halt": ["END"], "temperature": 0.5});
    check("openai", manifest(own), &given, Ok(expected), &[]);
    let refused = Err("option max_tokens cannot be sent: 0 is not at least 1");
    check("openai", manifest(json!({})), &json!({"max_tokens": 0}), refused, &[]);
}
