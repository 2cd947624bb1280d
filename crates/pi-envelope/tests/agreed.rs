//! Verdicts and comparisons that the page in `web/` must share.
//!
//! `agreed.json` says what this crate decides about documents that are wrong in every small way, and about pairs of envelopes. The page
//! decides the same in TypeScript, and its tests read the same file. Run with `PI_AGREED=write` to write it anew; read the difference.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use pi_envelope::{Envelope, diff, is_valid, validate};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/agreed.json");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");

/// One of every kind.
fn base() -> Value {
    json!({"version": "1.0", "model": "m", "messages": [
        {"id": "a", "role": "system", "timestamp": 1, "segments": [
            {"kind": "system_prompt", "content": "s", "collapsed": true},
            {"kind": "static_var", "name": "n", "value": "v", "description": "d"},
            {"kind": "memory", "description": "d", "items": [{"title": "t", "content": "c"}], "collapsed": true},
            {"kind": "skills", "items": [{"name": "n", "description": "d"}], "collapsed": false},
            {"kind": "tool_overview", "items": [{"name": "n", "description": "d", "parameters": "p", "schema": {}}], "collapsed": true},
        ]},
        {"id": "b", "role": "tool", "timestamp": 2.5, "segments": [
            {"kind": "text", "content": "t", "meta": 7},
            {"kind": "tool_call_request", "toolName": "t", "arguments": {"a": [1]}, "collapsed": true},
            {"kind": "tool_call_result", "toolName": "t", "result": "r", "success": true, "collapsed": true},
            {"kind": "document", "fileName": "f", "mimeType": "m", "snippet": "s", "sizeBytes": 1, "parsedContent": "p"},
            {"kind": "long_text", "content": "c", "charCount": 1, "collapsed": true},
            {"kind": "media", "mediaType": "audio", "url": "u", "altText": "a"},
        ]},
    ]})
}

/// The pointers (RFC 6901) to all values below `value`.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, it)| pointers(it, &format!("{at}/{name}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, it)| pointers(it, &format!("{at}/{index}"), found))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Documents with one value taken out (`null` as replacement text) or replaced.
fn mutations() -> Value {
    let base = base();
    let mut all = Vec::new();
    pointers(&base, "", &mut all);
    let replacements = ["", "null", "1.0", "\"x\\n\"", "[]", "{}", "true"];
    let mut cases = Vec::new();
    for pointer in all.iter().skip(1) {
        for replacement in replacements {
            let mut document = base.clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            match (replacement, document.pointer_mut(parent).unwrap()) {
                ("", Value::Object(members)) => drop(members.shift_remove(name)),
                ("", Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
                (text, _) => *document.pointer_mut(pointer).unwrap() = serde_json::from_str(text).unwrap(),
            }
            cases.push(json!([pointer, replacement, problems(document.to_string().as_bytes())]));
        }
    }
    json!(cases)
}

fn problems(bytes: &[u8]) -> Value {
    match validate(bytes) {
        Ok(()) => json!([]),
        Err(found) => found.iter().map(|problem| json!([problem.path, problem.message])).collect(),
    }
}

/// Texts that are hard to read, and whether each is an envelope. `@` stands for a value in a document that is right otherwise.
fn texts() -> Value {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let values = [
        "1",
        "1e308",
        "1e309",
        "-0",
        "01",
        "1.",
        ".5",
        "+1",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\udc00\"",
        "\"\\u00\"",
        "\"\\x\"",
        "\"\t\"",
        "\"\u{7f}\"",
        "tru",
        "nul",
        "NaN",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":\"\\ud800\",\"a\":1}",
        "1 2",
        "\u{a0}1",
        "// c\n1",
        "'a'",
        "[",
        "\"",
    ];
    let document = |value: &str| {
        format!(
            "{{\"x\":{value},\"version\":\"1.0\",\"messages\":[{{\"id\":\"a\",\"role\":\"user\",\"timestamp\":1,\"segments\":[{{\"kind\":\"text\",\"content\":\"\"}}]}}]}}"
        )
    };
    let mut cases: Vec<Value> =
        values.iter().map(|value| json!([value, is_valid(document(value).as_bytes())])).collect();
    for depth in [125, 126, 127, 128] {
        cases.push(json!([format!("deep {depth}"), is_valid(document(&deep(depth)).as_bytes())]));
    }
    cases.push(json!(["bom", is_valid(format!("\u{feff}{}", document("1")).as_bytes())]));
    json!(cases)
}

/// Pairs of envelopes, made by shuffling, dropping, changing and renaming segments by a small fixed sequence.
fn comparisons() -> Value {
    let mut state = 7u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut cases = Vec::new();
    for _ in 0..28 {
        let mut make = || -> Value {
            let count = 1 + next(4);
            let messages: Vec<Value> = (0..count)
                .map(|index| {
                    let segments: Vec<Value> = (0..=next(3)).map(|_| segment(&mut next)).collect();
                    let role = ["user", "assistant"][next(2) as usize];
                    json!({"id": format!("m{index}"), "role": role, "timestamp": 1, "segments": segments})
                })
                .collect();
            let models = ["a", "a", "a", "b"];
            json!({"version": "1.0", "model": models[next(4) as usize], "messages": messages})
        };
        let (before, after) = (make(), make());
        cases.push(comparison(&before, &after));
    }
    json!(cases)
}

fn segment(next: &mut impl FnMut(u32) -> u32) -> Value {
    let mut meta = json!({});
    if next(4) > 0 {
        meta["id"] = json!(format!("s{}", next(5)));
    }
    if next(2) > 0 {
        meta["tokens"] = json!({"count": next(90), "how": "counted"});
    }
    if next(6) == 0 {
        meta["frame"] = json!(["<", ">"]);
    }
    if next(4) == 0 {
        let names = ["a", "b", "c"];
        let items: Vec<Value> = (0..=next(2))
            .map(|_| json!({"name": names[next(3) as usize], "description": names[next(2) as usize]}))
            .collect();
        return json!({"kind": "skills", "items": items, "collapsed": true, "meta": meta});
    }
    let texts = ["one", "two words", "three more words", "né ü 𝄞"];
    json!({"kind": "text", "content": texts[next(4) as usize], "meta": meta})
}

fn comparison(before: &Value, after: &Value) -> Value {
    let read = |value: &Value| -> Envelope { pi_envelope::parse(value.to_string().as_bytes()).unwrap() };
    json!({"before": before, "after": after, "diff": diff(&read(before), &read(after))})
}

fn examples() -> Value {
    let read = |name: &str| -> Value {
        #[expect(clippy::disallowed_methods, reason = "a test reads what it compares")]
        serde_json::from_slice(&std::fs::read(Path::new(EXAMPLES).join(name)).unwrap()).unwrap()
    };
    let (first, second) = (read("first-request.json"), read("second-request.json"));
    let compared = comparison(&first, &second);
    json!({
        "broken": problems(read("broken-envelope.json").to_string().as_bytes()),
        "first": problems(first.to_string().as_bytes()),
        "second": problems(second.to_string().as_bytes()),
        "diff": compared["diff"],
    })
}

#[test]
fn page_and_command_line_agree() {
    let parts = [
        ("base", base()),
        ("mutations", mutations()),
        ("texts", texts()),
        ("comparisons", comparisons()),
        ("examples", examples()),
    ];
    let written: String = parts
        .iter()
        .map(|(name, value)| match value {
            Value::Array(cases) => {
                let lines: Vec<String> = cases.iter().map(|case| format!("    {case}")).collect();
                format!("  \"{name}\": [\n{}\n  ]", lines.join(",\n"))
            }
            other => format!("  \"{name}\": {other}"),
        })
        .collect::<Vec<_>>()
        .join(",\n");
    let written = format!("{{\n{written}\n}}\n");
    if std::env::var("PI_AGREED").is_ok_and(|value| value == "write") {
        #[expect(clippy::disallowed_methods, reason = "the table is written when that is asked for")]
        std::fs::write(FILE, &written).unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "a test reads what it compares")]
    let agreed = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(agreed == written, "tests/agreed.json is not what this crate decides; PI_AGREED=write writes it anew");
}
