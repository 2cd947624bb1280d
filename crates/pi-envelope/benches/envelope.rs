//! Bytes to verdict: our validator against the `jsonschema` crate, on the same bytes.
//!
//! The other side is what a careful program would do with it: read a `Value`, then ask a validator that was compiled
//! once. `jsonschema` has our published schema, `jsonschema_spec` the specification's, where that lies beside the
//! repository; the two give the same verdicts.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::{hint::black_box, io::Write as _};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use jsonschema::Validator;
use serde_json::{Value, json};

/// Source code and prose as people and tools write them.
const CODE: &str = include_str!("../src/diff.rs");
const PROSE: &str = include_str!("../../../ARCHITECTURE.md");

/// A session of 60 messages as it looks in practice: a long system prompt, tools, then calls and results with code.
fn session() -> Vec<u8> {
    let line = PROSE.lines().find(|line| line.len() > 60).unwrap();
    let mut messages = vec![json!({"id": "system", "role": "system", "timestamp": 1763164800000u64, "segments": [
        {"kind": "tool_overview", "collapsed": true, "items": (0..12).map(|n| json!({
            "name": format!("tool_{n}"), "description": line, "parameters": "path: string, limit?: integer",
            "schema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
        })).collect::<Vec<_>>()},
        {"kind": "system_prompt", "content": PROSE, "collapsed": true},
        {"kind": "memory", "items": [{"title": "AGENTS.md", "content": cut(PROSE, 4000)}], "collapsed": true},
        {"kind": "skills", "items": (0..8).map(|n| json!({"name": format!("skill-{n}"), "description": line})).collect::<Vec<_>>(), "collapsed": true},
        {"kind": "static_var", "name": "date", "value": "2026-11-15"},
    ]})];
    for turn in 0..20 {
        let time = 1763164800000u64 + turn;
        messages.push(json!({"id": format!("u{turn}"), "role": "user", "timestamp": time, "segments": [
            {"kind": "text", "content": line},
            {"kind": "document", "fileName": "a.rs", "mimeType": "text/x-rust", "snippet": cut(CODE, 200), "sizeBytes": 1500, "parsedContent": cut(CODE, 1500)},
        ]}));
        messages.push(json!({"id": format!("a{turn}"), "role": "assistant", "timestamp": time, "segments": [
            {"kind": "text", "content": cut(PROSE, 600), "meta": {"part": "thinking", "tokens": {"count": 150, "how": "estimated"}}},
            {"kind": "tool_call_request", "toolName": "edit", "arguments": {"path": "a.rs", "edits": [{"oldText": cut(CODE, 300), "newText": cut(CODE, 400)}]}, "collapsed": true},
        ]}));
        messages.push(json!({"id": format!("t{turn}"), "role": "tool", "timestamp": time, "segments": [
            {"kind": "tool_call_result", "toolName": "read", "result": cut(CODE, 6000), "success": true, "collapsed": true},
        ]}));
    }
    messages.truncate(60);
    serde_json::to_vec(&json!({"version": "1.0", "model": "m", "messages": messages})).unwrap()
}

/// The beginning of a text, up to a character boundary.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn small() -> Vec<u8> {
    serde_json::to_vec(&json!({"version": "1.0", "messages": [
        {"id": "u", "role": "user", "timestamp": 1763164800000u64, "segments": [{"kind": "text", "content": "What does this do?"}]},
        {"id": "a", "role": "assistant", "timestamp": 1763164801000u64, "segments": [{"kind": "text", "content": "It reads a line."}]},
    ]}))
    .unwrap()
}

/// The specification's own schema, which lies beside the repository and not in it.
fn specified() -> Option<Validator> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec/prompt-envelope.schema.json");
    #[expect(clippy::disallowed_methods, reason = "the specification lies beside the repository, not in it")]
    let Ok(bytes) = std::fs::read(file) else {
        let notice = format!("SKIPPED: jsonschema with the specification's schema, {file} is not there\n");
        std::io::stderr().write_all(notice.as_bytes()).unwrap();
        return None;
    };
    Some(jsonschema::validator_for(&serde_json::from_slice(&bytes).unwrap()).unwrap())
}

fn envelope(criterion: &mut Criterion) {
    let published = jsonschema::validator_for(&pi_envelope::schema::envelope()).unwrap();
    let specified = specified();
    let peers = [("jsonschema", Some(&published)), ("jsonschema_spec", specified.as_ref())];
    let mut group = criterion.benchmark_group("envelope");
    for (suffix, bytes) in [("", session()), ("_small", small())] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("validate{suffix}"), |bencher| {
            bencher.iter(|| pi_envelope::validate(black_box(&bytes)).unwrap());
        });
        for (name, validator) in peers {
            let Some(validator) = validator else { continue };
            group.bench_function(format!("{name}{suffix}"), |bencher| {
                bencher.iter(|| {
                    let value: Value = serde_json::from_slice(black_box(&bytes)).unwrap();
                    validator.validate(&value).unwrap();
                });
            });
        }
        // What any reader that keeps the document pays before it can look at it.
        group.bench_function(format!("serde_json_value{suffix}"), |bencher| {
            bencher.iter(|| serde_json::from_slice::<Value>(black_box(&bytes)).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, envelope);
criterion_main!(benches);
