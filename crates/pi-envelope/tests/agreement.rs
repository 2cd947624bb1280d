//! Five ways to judge a document give the same verdict: the specification's schema, our published schema, the streaming
//! validator, the parser, and the shape table. Documents are generated, then damaged in every way we could think of.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{io::Write as _, sync::LazyLock};

use jsonschema::Validator;
use pi_envelope::{Envelope, is_valid, parse, schema, shape, validate};
use pi_transcript::json::shape::problems;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

static PUBLISHED: LazyLock<Validator> = LazyLock::new(|| jsonschema::validator_for(&schema::envelope()).unwrap());

static SPECIFIED: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec/prompt-envelope.schema.json");
    #[expect(clippy::disallowed_methods, reason = "the specification lies beside the repository, not in it")]
    let Ok(bytes) = std::fs::read(file) else {
        // Not a print macro: those are swallowed when the test passes.
        let notice = format!("SKIPPED: comparison with the specification's schema, {file} is not there\n");
        std::io::stderr().write_all(notice.as_bytes()).unwrap();
        return None;
    };
    Some(jsonschema::validator_for(&serde_json::from_slice(&bytes).unwrap()).unwrap())
});

fn cases(default: u32) -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The verdict of all ways, which must be one.
fn verdict(bytes: &[u8]) -> bool {
    let read = serde_json::from_slice::<Value>(bytes);
    let shaped = read.as_ref().is_ok_and(|value| problems(&shape::ENVELOPE, value).is_empty());
    let text = || String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
    let (validated, parsed) = (validate(bytes), parse(bytes));
    assert_eq!(is_valid(bytes), shaped, "validator: {}", text());
    assert_eq!(validated.is_ok(), shaped, "validator with faults: {}", text());
    assert_eq!(parsed.is_ok(), shaped, "parser: {:?} {}", parsed.err(), text());
    assert!(validated.is_ok() || validated != Err(Vec::new()), "a refused document has a fault: {}", text());
    if let Ok(value) = &read {
        assert_eq!(PUBLISHED.is_valid(value), shaped, "published schema: {}", text());
        if let Some(specified) = &*SPECIFIED {
            assert_eq!(specified.is_valid(value), shaped, "specified schema: {}", text());
        }
        if let Ok(envelope) = parsed {
            let written = serde_json::to_value(&envelope).unwrap();
            assert_eq!(written, *value, "nothing is lost: {}", text());
            assert_eq!(serde_json::from_value::<Envelope>(written).unwrap(), envelope);
        }
    }
    shaped
}

/// Every kind with every member, and odd but allowed values.
fn full() -> Value {
    let segments = json!([
        {"kind": "text", "content": ""},
        {"kind": "static_var", "name": "n", "value": "v", "description": "d"},
        {"kind": "system_prompt", "content": "c", "collapsed": true},
        {"kind": "memory", "description": "d", "items": [{"title": "t", "content": "c"}, {"title": "", "content": "", "x": 1}], "collapsed": false},
        {"kind": "skills", "description": "d", "items": [{"name": "n", "description": "d"}], "collapsed": true},
        {"kind": "tool_overview", "items": [{"name": "n", "description": "d", "parameters": "p", "schema": {"a": [1]}}], "collapsed": true},
        {"kind": "tool_call_request", "toolName": "t", "arguments": {"a": null}, "collapsed": true},
        {"kind": "tool_call_result", "toolName": "t", "result": "r", "success": true, "collapsed": true},
        {"kind": "document", "fileName": "f", "mimeType": "m", "snippet": "s", "sizeBytes": 12, "parsedContent": "p"},
        {"kind": "long_text", "content": "c", "charCount": 1, "collapsed": true},
        {"kind": "media", "mediaType": "image", "url": "u", "altText": "a"},
    ]);
    json!({"version": "1.0", "model": "m", "messages": [
        {"id": "1", "role": "system", "segments": segments, "timestamp": 1},
        {"id": "2", "role": "user", "segments": [{"kind": "text", "content": "c"}], "timestamp": -1.5},
    ]})
}

/// Pointers to every value of a document, the document itself included.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| pointers(member, &format!("{at}/{name}"), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), found))
        }
        _ => {}
    }
}

fn all_pointers(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    pointers(value, "", &mut found);
    found
}

fn replacements() -> Vec<Value> {
    let numbers = ["1.0", "0", "-1", "1e300", "-0.0", "18446744073709551616", "123456789012345678901234567890"];
    let words = ["", "1.0", "text", "memory", "skills", "tool_overview", "media", "nonsense", "tool", "image", "Text"];
    let mut values = vec![json!(null), json!(true), json!([]), json!({}), json!([[]]), json!([{}]), json!([null])];
    values.extend(numbers.iter().map(|number| serde_json::from_str(number).unwrap()));
    values.extend(words.iter().map(|word| json!(word)));
    values.push(json!([{"title": "t", "content": "c", "name": "n", "description": "d", "parameters": "p"}]));
    values.push(json!([{"name": "n", "description": "d"}, {"title": "t", "content": "c"}]));
    values
}

fn check(value: &Value) -> bool {
    verdict(&serde_json::to_vec(value).unwrap())
}

#[test]
fn the_full_document_is_valid() {
    assert!(check(&full()));
}

#[test]
fn every_value_replaced_by_every_other() {
    let document = full();
    let (mut valid, mut refused) = (0, 0);
    for pointer in all_pointers(&document) {
        for replacement in replacements() {
            let mut damaged = document.clone();
            *damaged.pointer_mut(&pointer).unwrap() = replacement;
            *(if check(&damaged) { &mut valid } else { &mut refused }) += 1;
        }
    }
    // A test that sees only one verdict shows nothing.
    assert!(valid > 300 && refused > 1000, "{valid} valid, {refused} refused");
}

#[test]
fn every_member_dropped_renamed_doubled_and_added() {
    let document = full();
    for pointer in all_pointers(&document) {
        let Some(members) = document.pointer(&pointer).unwrap().as_object() else { continue };
        let with = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut changed = document.clone();
            change(changed.pointer_mut(&pointer).unwrap().as_object_mut().unwrap());
            check(&changed)
        };
        for name in members.keys() {
            with(&|members| drop(members.shift_remove(name)));
            with(&|members| {
                let value = members.shift_remove(name).unwrap();
                members.insert(format!("{name}x"), value);
            });
            // Written last, so that everything else is read before it.
            assert!(with(&|members| {
                let value = members.shift_remove(name).unwrap();
                members.insert(name.clone(), value);
            }));
        }
        for value in [json!(null), json!(7), json!({"id": 7, "tokens": "many"}), json!([])] {
            assert!(with(&|members| drop(members.insert("unknown".to_owned(), value.clone()))));
            assert!(with(&|members| drop(members.insert("meta".to_owned(), value.clone()))));
        }
    }
}

#[test]
fn every_array_emptied_and_every_item_doubled() {
    let document = full();
    for pointer in all_pointers(&document) {
        let Some(items) = document.pointer(&pointer).unwrap().as_array() else { continue };
        let put = |items: Vec<Value>| {
            let mut changed = document.clone();
            *changed.pointer_mut(&pointer).unwrap() = Value::Array(items);
            check(&changed)
        };
        put(Vec::new());
        for item in items {
            assert!(put([items.clone(), vec![item.clone()]].concat()));
            put([items.clone(), vec![json!([item])]].concat());
            put([items.clone(), vec![json!({})]].concat());
        }
    }
}

#[test]
fn every_segment_retagged() {
    let document = full();
    let kinds: Vec<String> = pi_envelope::Kind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect();
    for index in 0..11 {
        for kind in kinds.iter().map(|kind| json!(kind)).chain([json!(null), json!(1), json!(["text"]), json!("x")]) {
            let mut changed = document.clone();
            changed["messages"][0]["segments"][index]["kind"] = kind.clone();
            check(&changed);
            // A segment with the members of all kinds is of every kind that it says it is, unless two disagree.
            let mut all = Map::new();
            for segment in document["messages"][0]["segments"].as_array().unwrap() {
                all.extend(segment.as_object().unwrap().clone());
            }
            all.insert(
                "items".to_owned(),
                document["messages"][0]["segments"][index].get("items").cloned().unwrap_or_default(),
            );
            all.insert("kind".to_owned(), kind);
            changed["messages"][0]["segments"][index] = Value::Object(all);
            check(&changed);
        }
    }
}

#[test]
fn the_last_of_equal_names_counts() {
    let segment = |members: &str| {
        format!(
            r#"{{"version":"1.0","messages":[{{"id":"1","role":"user","timestamp":1,"segments":[{{{members}}}]}}]}}"#
        )
    };
    for (members, expected) in [
        (r#""kind":"media","kind":"text","content":"c""#, true),
        (r#""kind":"text","content":"c","kind":"media""#, false),
        (r#""kind":"text","content":1,"content":"c""#, true),
        (r#""kind":"text","content":"c","content":1"#, false),
        (r#""kind":"text","kind":1,"content":"c""#, false),
        (r#""items":[],"kind":"memory","items":[{"title":"t","title":1,"content":"c"}],"collapsed":true"#, false),
        (r#""items":[],"kind":"memory","items":[{"title":1,"title":"t","content":"c"}],"collapsed":true"#, true),
        (r#""k\u0069nd":"t\u0065xt","content":"c""#, true),
        (r#""kind":"text","cont\u0065nt":"c""#, true),
        (r#""kind":"text\u0000","content":"c""#, false),
    ] {
        assert_eq!(verdict(segment(members).as_bytes()), expected, "{members}");
    }
    assert!(verdict(br#"{"version":"2","version":"1.0","messages":1,"messages":[{"id":"1","role":"x","role":"user","timestamp":1,"segments":[],"segments":[{"kind":"text","content":""}]}]}"#));
}

#[test]
fn text_that_is_not_json_is_refused_with_a_clear_fault() {
    let deep = |depth: usize| {
        let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        format!(r#"{{"version":"1.0","x":{nested},"messages":[{{"id":"1","role":"user","timestamp":1,"segments":[{{"kind":"text","content":"c"}}]}}]}}"#).into_bytes()
    };
    assert!(verdict(&deep(126)));
    let good = serde_json::to_vec(&full()).unwrap();
    let mut half = good.clone();
    half.truncate(good.len() / 2);
    let huge =
        |number: &str| String::from_utf8(good.clone()).unwrap().replace("12,", &format!("{number},")).into_bytes();
    assert!(verdict(&huge("1e308")));
    let place = good.iter().position(|&byte| byte == b'n').unwrap();
    let damaged = |bytes: &[u8]| [&good[..place], bytes, &good[place..]].concat();
    for bytes in [
        b"".to_vec(),
        b" ".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        half,
        deep(127),
        deep(100_000),
        huge("1e309"),
        damaged(b"\xff"),
        damaged(br"\ud800"),
        damaged(br"\udc00x"),
        damaged(b"\n"),
        damaged(b"\0"),
        damaged(br"\u00"),
        [&good[..], b"x"].concat(),
        [b"\xef\xbb\xbf", &good[..]].concat(),
    ] {
        assert!(!verdict(&bytes));
        let faults = validate(&bytes).unwrap_err();
        assert_eq!(faults, parse(&bytes).unwrap_err());
        assert!(faults.iter().all(|fault| !fault.message.is_empty()));
    }
    let fault = |bytes: &[u8]| validate(bytes).unwrap_err().remove(0).to_string();
    assert_eq!(
        fault(b"{\"version\":\"\\ud800\"}"),
        "not JSON that we read: unexpected end of hex escape at line 1 column 19"
    );
    assert_eq!(fault(&deep(127)), "not JSON that we read: recursion limit exceeded at line 1 column 148");
    assert_eq!(fault(b"[]"), "expected an object, found an array");
}

#[test]
fn every_fault_is_named_with_its_path() {
    let mut document = full();
    document["version"] = json!("2.0");
    document["messages"][0]["segments"][0]["kind"] = json!("txt");
    document["messages"][0]["segments"][3]["items"][1]["title"] = json!(null);
    document["messages"][0]["segments"][4]["items"] = json!([]);
    document["messages"][1].as_object_mut().unwrap().shift_remove("role");
    let faults = parse(&serde_json::to_vec(&document).unwrap()).unwrap_err();
    let lines: Vec<_> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            r#"version: expected one of "1.0", found "2.0""#,
            r#"messages[0].segments[0].kind: expected one of "text", "static_var", "system_prompt", "memory", "skills", "tool_overview", "tool_call_request", "tool_call_result", "document", "long_text", "media", found "txt""#,
            "messages[0].segments[3].items[1].title: expected a string, found null",
            "messages[0].segments[4].items: expected at least 1 item, found 0",
            "messages[1].role: required member is missing",
        ]
    );
}

/// Any JSON, with the names and words of the format in likely places.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        prop::sample::select(vec!["1.0", "text", "memory", "media", "user", "tool", "image", "é\u{1F600}\0\""])
            .prop_map(|text| json!(text)),
        "\\PC{0,20}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((name(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    let names = vec![
        "kind",
        "content",
        "items",
        "collapsed",
        "title",
        "name",
        "description",
        "value",
        "schema",
        "meta",
        "role",
        "id",
        "segments",
        "timestamp",
        "messages",
        "version",
        "url",
        "mediaType",
        "arguments",
        "x",
    ];
    prop::sample::select(names).prop_map(str::to_owned)
}

/// A document that is nearly right: the full one with random values at a few random places.
fn damaged() -> impl Strategy<Value = Value> {
    let places = prop::collection::vec((any::<prop::sample::Index>(), any_json(), any::<bool>()), 0..4);
    places.prop_map(|places| {
        let mut document = full();
        for (place, value, insert) in places {
            let pointers = all_pointers(&document);
            let target = document.pointer_mut(place.get(&pointers).as_str()).unwrap();
            match (target, insert) {
                (Value::Object(members), true) => drop(members.insert("meta".to_owned(), value)),
                (Value::Array(items), true) => items.push(value),
                (target, _) => *target = value,
            }
        }
        document
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(150)))]

    #[test]
    fn generated_documents_get_one_verdict(document in damaged(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec_pretty(&document).unwrap();
        verdict(&bytes);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        verdict(&bytes);
        bytes.truncate(at);
        verdict(&bytes);
    }

    #[test]
    fn any_json_gets_one_verdict(document in any_json()) {
        check(&document);
    }
}
