//! Problems name the place and the fault.

use pi_transcript::json::shape::{LIMIT, Problem, Shape, optional, problems, required};
use serde_json::{Value, json};

const SEGMENT: Shape = Shape::Tagged {
    tag: "kind",
    records: &[
        ("text", &[required("text", Shape::Text)]),
        ("image", &[required("width", Shape::Count), optional("alt", Shape::Text)]),
    ],
};

const DOCUMENT: Shape = Shape::Record(&[
    required("version", Shape::Word(&["1.0", "1.1"])),
    required("messages", Shape::List { items: &MESSAGE, least: 1 }),
    optional("score", Shape::Number),
    optional("meta", Shape::Any),
]);

const MESSAGE: Shape = Shape::Ruled {
    members: &[
        optional("done", Shape::Flag),
        optional("from", Shape::Count),
        optional("to", Shape::Count),
        required("segments", Shape::List { items: &SEGMENT, least: 0 }),
    ],
    rule: |message| (message["from"].as_f64() > message["to"].as_f64()).then_some("must not end before it begins"),
};

/// The problems of `value`, as text.
fn check(value: &Value, expected: &[&str]) {
    let found: Vec<String> = problems(&DOCUMENT, value).iter().map(Problem::to_string).collect();
    assert_eq!(found, expected, "{value}");
}

/// A document with one message.
fn message(message: &Value) -> Value {
    json!({ "version": "1.0", "messages": [message] })
}

#[test]
fn right_documents_have_no_problems() {
    check(&message(&json!({ "segments": [] })), &[]);
    check(
        &json!({
            "version": "1.1", "score": -0.5, "meta": null, "later": { "x": 1 },
            "messages": [{
                "done": false, "from": 1, "to": 2.0, "later": [],
                "segments": [{ "kind": "text", "text": "", "later": 1 }, { "kind": "image", "width": 1e300, "alt": "a" }]
            }]
        }),
        &[],
    );
}

#[test]
fn fault_of_the_document_itself_has_no_path() {
    assert_eq!(
        problems(&DOCUMENT, &json!([])),
        [Problem { path: String::new(), message: "expected an object, found an array".to_owned() }]
    );
    check(&json!(null), &["expected an object, found null"]);
}

#[test]
fn missing_members_are_named() {
    check(&json!({}), &["version: required member is missing", "messages: required member is missing"]);
    check(&message(&json!({})), &["messages[0].segments: required member is missing"]);
    check(&message(&json!({ "segments": [{}] })), &["messages[0].segments[0].kind: required member is missing"]);
}

#[test]
fn null_is_not_absent() {
    check(
        &json!({ "version": "1.0", "messages": [{ "segments": [] }], "score": null }),
        &["score: expected a number, found null"],
    );
}

#[test]
fn every_fault_is_found_with_its_path() {
    check(
        &json!({
            "score": "high", "version": 1,
            "messages": [
                5,
                { "done": 1, "segments": {} },
                { "segments": [{ "kind": "text", "text": 7 }, { "kind": "video" }, { "kind": ["text"] }, { "kind": "image", "width": -1 }] }
            ]
        }),
        &[
            "version: expected one of \"1.0\", \"1.1\", found 1",
            "messages[0]: expected an object, found 5",
            "messages[1].done: expected true or false, found 1",
            "messages[1].segments: expected an array, found an object",
            "messages[2].segments[0].text: expected a string, found 7",
            "messages[2].segments[1].kind: expected one of \"text\", \"image\", found \"video\"",
            "messages[2].segments[2].kind: expected one of \"text\", \"image\", found an array",
            "messages[2].segments[3].width: expected a whole number, zero or more, found -1",
            "score: expected a number, found \"high\"",
        ],
    );
}

#[test]
fn lists_may_need_items() {
    check(&json!({ "version": "1.0", "messages": [] }), &["messages: expected at least 1 item, found 0"]);
    let pair = problems(&Shape::List { items: &Shape::Any, least: 2 }, &json!([1]));
    assert_eq!(pair[0].message, "expected at least 2 items, found 1");
}

#[test]
fn rules_run_when_members_are_right() {
    check(&message(&json!({ "from": 2, "to": 1, "segments": [] })), &["messages[0]: must not end before it begins"]);
    check(
        &message(&json!({ "from": 2, "to": 1, "segments": 0 })),
        &["messages[0].segments: expected an array, found 0"],
    );
}

#[test]
fn counts_are_whole_and_not_negative_whatever_their_form() {
    const COUNT: Shape = Shape::Record(&[required("n", Shape::Count)]);
    for (number, fits) in [
        ("0", true),
        ("-0", true),
        ("-0.0", true),
        ("1.0", true),
        ("18446744073709551615", true),
        ("18446744073709551616", true),
        ("1e300", true),
        ("1.5", false),
        ("-1", false),
        ("-1.0", false),
        ("5e-324", false),
        ("\"1\"", false),
    ] {
        let value = serde_json::from_str(&format!(r#"{{"n":{number}}}"#)).unwrap();
        assert_eq!(problems(&COUNT, &value).is_empty(), fits, "{number}");
    }
}

/// A message must not become as long as the document that it complains about.
#[test]
fn long_values_are_not_repeated() {
    let long = "é".repeat(1000);
    check(
        &json!({ "version": long, "messages": [{ "segments": [] }] }),
        &["version: expected one of \"1.0\", \"1.1\", found a string of 1000 characters"],
    );
}

/// Two bytes of input must not become a hundred bytes of report, without end.
#[test]
fn report_ends_at_the_limit_and_says_so() {
    const TEXTS: Shape = Shape::List { items: &Shape::Text, least: 0 };
    let fault = |index: usize| Problem { path: format!("[{index}]"), message: "expected a string, found 0".to_owned() };
    let all: Vec<_> = (0..LIMIT).map(fault).collect();
    assert_eq!(problems(&TEXTS, &json!(vec![0; LIMIT])), all);
    let more = Problem { path: String::new(), message: "and more".to_owned() };
    let cut: Vec<_> = all.into_iter().chain([more]).collect();
    for faults in [LIMIT + 1, 100_000] {
        assert_eq!(problems(&TEXTS, &json!(vec![0; faults])), cut);
    }
}

#[test]
fn report_ends_at_the_limit_however_deep_the_faults_are() {
    let segments: Vec<_> = (0..70).map(|_| json!({ "kind": "text" })).collect();
    let message = json!({ "segments": segments, "done": 0 });
    let found = problems(&DOCUMENT, &json!({ "version": 1, "messages": vec![message; 70], "score": "" }));
    assert_eq!(found.len(), LIMIT + 1);
    assert_eq!(found[LIMIT].to_string(), "and more");
    assert_eq!(found[LIMIT - 1].to_string(), "messages[1].segments[26].text: required member is missing");
}
