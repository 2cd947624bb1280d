//! What a frame costs beyond reading its JSON.
//!
//! `value_*` reads the same bytes into a bare `serde_json::Value` in the same run: the ratio is what counts.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_wire::{Limits, parse};
use serde_json::{Value, json};

/// A prompt as clients send it, with a message of `length` bytes.
fn prompt(length: usize) -> Vec<u8> {
    let sentence = "Please read src/main.rs and explain how \"errors\" travel up.\n";
    let message: String = sentence.chars().cycle().take(length).collect();
    let frame = json!({
        "id": "cmd-0192f7a4-1c3e-7b8a-9d21-4f5e6a7b8c9d",
        "type": "prompt",
        "sessionId": "session-m8x2k1ab-9f3c2d1e",
        "message": message,
        "idempotencyKey": "key-0192f7a4-1c3e-7b8a-9d21",
        "ifSessionVersion": 17,
    });
    frame.to_string().into_bytes()
}

fn wire(criterion: &mut Criterion) {
    let limits = Limits::default();
    let mut group = criterion.benchmark_group("wire");
    for (suffix, length) in [("prompt", 90), ("prompt_4k", 4096)] {
        let bytes = prompt(length);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("parse_{suffix}"), |bencher| bencher.iter(|| parse(black_box(&bytes), &limits)));
        group.bench_function(format!("value_{suffix}"), |bencher| {
            bencher.iter(|| serde_json::from_slice::<Value>(black_box(&bytes)));
        });
    }
    let frame = parse(&prompt(90), &limits).expect("the example is a command");
    group.bench_function("fingerprint_prompt", |bencher| bencher.iter(|| black_box(&frame).fingerprint()));
    group.finish();
}

criterion_group!(benches, wire);
criterion_main!(benches);
