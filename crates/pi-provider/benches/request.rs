//! Prompt to request: fifty messages and twenty tools in each dialect.
//!
//! `tree` is what a simpler program would do at least: write a `serde_json::Value` of the same body that somebody has
//! already built. `long` has tool results of two kilobytes instead of a line.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_envelope::Prompt;
use pi_provider::{
    Call, Manifest, Mode, Options, Target, builtin,
    manifest::load::{Format, load},
    request::build,
};
use serde_json::{Value, json};

const CODE: &str = include_str!("../src/request.rs");

/// Questions, answers with a call each, and results; a quarter of the answers without a call.
fn prompt(result: &str) -> Prompt {
    let provenance = json!({"origin": {"from": "user"}, "trust": "trusted"});
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    let usage = json!({"input": 900, "output": 80, "cacheRead": 0, "cacheWrite": 0, "cost": cost});
    let messages = (0..50).map(|index| match index % 5 {
        0 => json!({"role": "user", "timestamp": 0, "content": "Please look at the loader and say why the second file is skipped."}),
        1 | 3 => json!({
            "role": "assistant", "timestamp": 0, "api": "openai-completions", "provider": "openai", "model": "gpt",
            "usage": usage, "stopReason": "toolUse", "content": [
                {"type": "text", "text": "I read the file first, then I look for whoever calls it."},
                {"type": "toolCall", "id": format!("call_{index}"), "name": "read",
                 "arguments": {"path": "crates/loader/src/main.rs", "offset": index, "limit": 200}},
            ],
        }),
        _ => json!({
            "role": "toolResult", "timestamp": 0, "toolCallId": format!("call_{}", index - 1), "toolName": "read",
            "isError": false, "content": [{"type": "text", "text": result}],
        }),
    });
    let messages: Vec<Value> = messages
        .enumerate()
        .map(|(index, message)| json!({"id": format!("{index:08x}"), "message": message, "provenance": provenance}))
        .collect();
    let tools: Vec<Value> = (0..20)
        .map(|index| {
            let properties = json!({
                "path": {"type": "string", "description": "Where it is, from the project's folder."},
                "limit": {"type": "integer", "description": "How many lines at most."},
            });
            let parameters = json!({"type": "object", "properties": properties, "required": ["path"]});
            let definition = json!({"name": format!("tool_{index}"), "description": "Reads a file and gives its lines.", "parameters": parameters});
            json!({"definition": definition, "provenance": provenance})
        })
        .collect();
    let system = json!([{"id": "i", "provenance": provenance, "type": "instructions", "text": &CODE[..1000]}]);
    serde_json::from_value(json!({"tools": tools, "system": system, "messages": messages})).unwrap()
}

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap()
}

fn bench(criterion: &mut Criterion) {
    let short = prompt("12 lines read, nothing changed since the last time.");
    let long = prompt(&CODE[..2000]);
    let options = Options::plain();
    for (size, prompt) in [("short", &short), ("long", &long)] {
        let mut group = criterion.benchmark_group(format!("request/{size}"));
        for id in ["groq", "openai", "anthropic", "gemini", "cohere"] {
            let manifest = manifest(id);
            let (model, entry) = manifest.models.first().unwrap();
            let target = Target { manifest: &manifest, model, entry: Some(entry), base_url: None, lookup: &|_| None };
            let call = Call { prompt, options: &options };
            let body = build(&target, call, Mode::Stream).unwrap().body;
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function(id, |bencher| {
                bencher.iter(|| build(black_box(&target), black_box(call), Mode::Stream).unwrap());
            });
            if id == "groq" {
                let tree: Value = serde_json::from_slice(&body).unwrap();
                group.bench_function("tree", |bencher| bencher.iter(|| serde_json::to_vec(black_box(&tree)).unwrap()));
            }
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
