//! What redaction costs per log line and per JSON value.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use pi_redact::{Evidence, Options, Personal, Redactor};
use serde_json::json;

/// 200 bytes, as a request log writes them: times, paths, numbers, no secret.
const CLEAN: &str = "2026-02-03T03:01:02.123Z INFO pi_server::ws session=sess-abc123 command=prompt lane=work seq=1042 \
                     duration_ms=12 bytes=48211 path=/home/user/project/src/main.rs status=ok model=claude-sonnet turn=17\n";
/// The token is written in two parts, so that no scanner of repositories takes it for a real one.
const WITH_SECRET: &str = concat!(
    "2026-02-03T03:01:02.123Z INFO pi_provider::http POST https://api.example.com/v1/messages headers: ",
    "Authorization: Bearer sk-ant-",
    "api03-q7Lw0ZkP3vXy9TnB5sRf2HdGc8MjUe4A status=200 ms=812"
);

fn redact(criterion: &mut Criterion) {
    let redactor = Redactor::new(Options {
        secrets: vec!["correct horse battery staple".to_owned(), "b8f1c2d3e4f5a6b7".to_owned()],
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Mask,
    });
    let mut group = criterion.benchmark_group("redact");
    group.throughput(Throughput::Bytes(CLEAN.len() as u64));
    group.bench_function("clean_log_line", |bencher| bencher.iter(|| redactor.redact_text(black_box(CLEAN))));
    group.throughput(Throughput::Bytes(WITH_SECRET.len() as u64));
    group.bench_function("line_with_secret", |bencher| bencher.iter(|| redactor.redact_text(black_box(WITH_SECRET))));
    let value = json!({
        "schema": "pi.ext.log.v1", "ts": "2026-02-03T03:01:02.123Z", "level": "info", "event": "host_call.end",
        "message": "host call finished", "correlation": {"extension_id": "ext.demo", "scenario_id": "scn-001"},
        "data": {"method": "http", "headers": [["Authorization", "Bearer abcdefgh12345678"], ["Accept", "*/*"]],
                 "usage": {"input_tokens": 812, "output_tokens": 44}, "api_key": "b8f1c2d3e4f5a6b7", "duration_ms": 12}
    });
    group.throughput(Throughput::Bytes(value.to_string().len() as u64));
    group.bench_function("json_value", |bencher| {
        bencher.iter_batched_ref(|| value.clone(), |value| redactor.redact_value(value), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, redact);
criterion_main!(benches);
