//! What models write, and what is understood of it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use pi_tools::{Registry, arguments::fit};

fn schema(properties: &Value, required: &[&str]) -> Map<String, Value> {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    schema.as_object().expect("an object").clone()
}

/// One argument `x` of a schema.
#[track_caller]
fn check(form: &Value, written: &Value, expected: Result<Value, &str>) {
    let found = fit(&schema(&json!({ "x": form }), &[]), json!({ "x": written }));
    let found = found.map(|arguments| arguments.get("x").cloned().unwrap_or(json!("left out")));
    let told = found.map_err(|bad| bad.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    assert_eq!(told, expected.map_err(str::to_owned), "{form} {written}");
}

#[test]
fn plain_types_are_taken_from_what_looks_like_them() {
    let number = || json!({ "type": "number" });
    check(&number(), &json!("12"), Ok(json!(12)));
    check(&number(), &json!(" 1.5 "), Ok(json!(1.5)));
    check(&number(), &json!("+3"), Ok(json!(3)));
    check(&number(), &json!("1e3"), Ok(json!(1000)));
    check(&number(), &json!(2.0), Ok(json!(2)));
    check(&number(), &json!("ten"), Err("x: expected number, got string"));
    check(&number(), &json!(""), Err("x: expected number, got string"));
    check(&number(), &json!(true), Err("x: expected number, got boolean"));
    check(&number(), &json!(null), Ok(json!("left out")));
    let integer = || json!({ "type": "integer", "minimum": 1, "maximum": 9 });
    check(&integer(), &json!("7.0"), Ok(json!(7)));
    check(&integer(), &json!(1.5), Err("x: expected a whole number, got 1.5"));
    check(&integer(), &json!("0"), Err("x: expected at least 1, got 0"));
    check(&integer(), &json!(10), Err("x: expected at most 9, got 10"));
    let boolean = || json!({ "type": "boolean" });
    check(&boolean(), &json!("true"), Ok(json!(true)));
    check(&boolean(), &json!("False"), Ok(json!(false)));
    check(&boolean(), &json!(1), Ok(json!(true)));
    check(&boolean(), &json!(0), Ok(json!(false)));
    check(&boolean(), &json!("yes"), Err("x: expected boolean, got string"));
    let string = || json!({ "type": "string" });
    check(&string(), &json!(5), Ok(json!("5")));
    check(&string(), &json!(false), Ok(json!("false")));
    check(&string(), &json!({}), Err("x: expected string, got object"));
    check(&string(), &json!(["a"]), Err("x: expected string, got array"));
    check(&json!({ "type": ["string", "null"] }), &json!(null), Ok(json!(null)));
    check(&json!({ "type": ["integer", "string"] }), &json!("5"), Ok(json!("5")));
    check(&json!({}), &json!([1, "2"]), Ok(json!([1, "2"])));
}

#[test]
fn lists_and_objects_are_taken_from_single_values_and_from_text() {
    let strings = || json!({ "type": "array", "items": { "type": "string" } });
    check(&strings(), &json!("a"), Ok(json!(["a"])));
    check(&strings(), &json!("[\"a\", 1]"), Ok(json!(["a", "1"])));
    check(&strings(), &json!("[not json"), Ok(json!(["[not json"])));
    check(&strings(), &json!(["a", []]), Err("x.1: expected string, got array"));
    let object = json!({ "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"] });
    check(&object, &json!("{\"n\": \"1\"}"), Ok(json!({ "n": 1 })));
    check(&object, &json!("n=1"), Err("x: expected object, got string"));
    check(&object, &json!({}), Err("x.n: missing"));
    let objects = json!({ "type": "array", "items": object, "minItems": 1 });
    check(&objects, &json!({ "n": 1 }), Ok(json!([{ "n": 1 }])));
    check(&objects, &json!("{\"n\": 1}"), Ok(json!([{ "n": 1 }])));
    check(&objects, &json!([{ "n": 1 }, { "n": "x" }]), Err("x.1.n: expected number, got string"));
    check(&objects, &json!([]), Err("x: expected at least 1 items, got 0"));
}

#[test]
fn choices_and_alternatives_are_checked() {
    check(&json!({ "enum": ["a", "b"] }), &json!("c"), Err(r#"x: expected one of "a", "b", got "c""#));
    check(&json!({ "type": "integer", "enum": [1, 2] }), &json!("2"), Ok(json!(2)));
    check(&json!({ "const": true }), &json!(false), Err("x: expected one of true, got false"));
    let either = json!({ "anyOf": [{ "type": "number" }, { "type": "array", "items": { "type": "number" } }] });
    check(&either, &json!([1, "2"]), Ok(json!([1, 2])));
    check(&either, &json!("3"), Ok(json!(3)));
    check(&either, &json!([1, "two"]), Err("x.1: expected number, got string"));
    let optional = json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] });
    check(&optional, &json!(null), Ok(json!(null)));
    // As generators of schemas write what may be left out.
    let optional = json!({ "anyOf": [{ "type": "integer", "maximum": 9 }, { "type": "null" }] });
    check(&optional, &json!("3"), Ok(json!(3)));
    check(&optional, &json!("many"), Err("x: expected number, got string"));
    check(&optional, &json!(10), Err("x: expected at most 9, got 10"));
    check(&json!({ "type": "null" }), &json!("a"), Err("x: expected null, got string"));
}

#[test]
fn texts_are_like_their_pattern() {
    let code = json!({ "type": "string", "pattern": "^[a-z]{2}[0-9]+$" });
    check(&code, &json!("ab12"), Ok(json!("ab12")));
    check(&code, &json!("12"), Err("x: expected text like ^[a-z]{2}[0-9]+$"));
    check(&json!({ "type": "string", "pattern": "^[0-9]+$" }), &json!(12), Ok(json!("12")));
    check(
        &json!({ "type": "array", "items": code }),
        &json!(["ab1", "ab"]),
        Err("x.1: expected text like ^[a-z]{2}[0-9]+$"),
    );
    let either = json!({ "anyOf": [code, { "type": "null" }] });
    check(&either, &json!("a"), Err("x: expected text like ^[a-z]{2}[0-9]+$"));
    // One that cannot be checked in time does not restrict.
    check(&json!({ "type": "string", "pattern": "^(?!a)" }), &json!("abc"), Ok(json!("abc")));
}

#[test]
fn all_problems_are_told_at_once() {
    let mut schema = schema(&json!({ "path": { "type": "string" }, "limit": { "type": "number" } }), &["path"]);
    schema.insert("additionalProperties".to_owned(), json!(false));
    let bad = fit(&schema, json!({ "limit": "many", "dry_run": true })).expect_err("problems");
    let expected =
        "The arguments do not fit:\n- path: missing\n- limit: expected number, got string\n- dry_run: unknown";
    assert_eq!(bad.to_string(), expected);
    assert_eq!(fit(&schema, json!("{\"path\": \"a\"}")).map(Value::Object), Ok(json!({ "path": "a" })));
    assert_eq!(
        fit(&schema, json!([1])).expect_err("a problem").to_string(),
        "The arguments do not fit:\n- expected object, got array"
    );
    assert_eq!(fit(&schema, json!({ "path": null })).expect_err("a problem").problems[0].to_string(), "path: missing");
}

#[tokio::test]
async fn empty_path_is_told_with_what_is_missing() {
    for (tool, written, expected) in [
        ("read", json!({ "path": " " }), "- path: empty"),
        ("write", json!({ "path": "" }), "- content: missing\n- path: empty"),
        ("edit", json!({ "path": "", "edits": [] }), "- edits: expected at least 1 items, got 0\n- path: empty"),
    ] {
        let registry = Registry::built_in();
        let bad = registry.get(tool).expect("a tool").prepare(written).await.expect_err("problems");
        assert_eq!(bad.to_string(), format!("The arguments do not fit:\n{expected}"));
    }
}

#[tokio::test]
async fn habits_of_other_tools_are_understood() {
    for (tool, written, expected) in [
        ("read", json!({ "file_path": "a" }), json!({ "path": "a" })),
        ("write", json!({ "filename": "a", "content": "" }), json!({ "path": "a", "content": "" })),
        ("ls", json!({ "filepath": "a" }), json!({ "path": "a" })),
        ("bash", json!({ "cmd": "true" }), json!({ "command": "true" })),
        (
            "edit",
            json!({ "file_path": "a", "old_string": "b", "new_string": "c" }),
            json!({ "path": "a", "edits": [{ "oldText": "b", "newText": "c" }] }),
        ),
        (
            "edit",
            json!({ "path": "a", "edits": [{ "old_text": "b", "new_text": "c" }] }),
            json!({ "path": "a", "edits": [{ "oldText": "b", "newText": "c" }] }),
        ),
        // What is there already is meant.
        ("read", json!({ "path": "a", "file_path": "b" }), json!({ "path": "a", "file_path": "b" })),
        ("read", json!({ "path": null, "file_path": "b" }), json!({ "path": "b" })),
    ] {
        let registry = Registry::built_in();
        let tool = registry.get(tool).expect("a tool");
        assert_eq!(tool.prepare(written.clone()).await.map(Value::Object), Ok(expected), "{written}");
    }
}

#[test]
fn name_that_a_schema_knows_is_no_synonym() {
    let schema = schema(&json!({ "path": { "type": "string" }, "file": { "type": "string" } }), &["file"]);
    assert_eq!(fit(&schema, json!({ "file": "a" })).map(Value::Object), Ok(json!({ "file": "a" })));
}

#[test]
fn built_in_schemas_take_what_they_describe() {
    let names: Vec<Vec<String>> = Registry::built_in()
        .iter()
        .map(|tool| {
            tool.definition().parameters["properties"].as_object().expect("an object").keys().cloned().collect()
        })
        .collect();
    let expected = json!([
        ["path", "offset", "limit"],
        ["command", "timeout"],
        ["path", "edits"],
        ["path", "content"],
        ["pattern", "path", "glob", "ignoreCase", "literal", "context", "limit"],
        ["pattern", "path", "limit"],
        ["path", "limit"],
    ]);
    assert_eq!(json!(names), expected);
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ a\\[\\]{}\":,0-9.e+-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name =
            prop::sample::select(vec!["path", "limit", "edits", "oldText", "newText", "command", "pattern", "x"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes: an answer, and what was accepted fits the schema and stays as it is the second time.
    #[test]
    fn what_is_accepted_fits_the_schema(written in anything()) {
        for tool in Registry::built_in().iter() {
            let definition = tool.definition();
            let prepared = futures_util::FutureExt::now_or_never(tool.prepare(written.clone())).expect("no waiting");
            match prepared {
                Ok(arguments) => {
                    let schema = Value::Object(definition.parameters.clone());
                    let validator = jsonschema::validator_for(&schema).expect("a schema");
                    let value = Value::Object(arguments.clone());
                    prop_assert!(validator.is_valid(&value), "{} {}", definition.name, value);
                    let again = fit(&definition.parameters, value);
                    prop_assert_eq!(again.as_ref(), Ok(&arguments));
                }
                Err(bad) => prop_assert!(!bad.problems.is_empty()),
            }
        }
    }
}
