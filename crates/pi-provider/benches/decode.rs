//! What decoding and mapping a stream costs, against the least that anybody can do: cutting it at blank lines and reading
//! each frame into a `serde_json::Value`.

use std::{fmt::Write as _, hint::black_box};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memchr::memmem;
use pi_provider::{Asked, Assembly, Dialect, Manifest, Pipeline, assembly::End};
use serde_json::{Value, json};

/// As many bytes as a connection usually hands over at once.
const PIECE: usize = 8 * 1024;
const WORDS: [&str; 8] = ["The", " quick", " brown", " fox", " jumps\\n", " über", " the", " \\\"lazy\\\" dog."];

fn manifest(strategy: &str) -> Manifest {
    let manifest = json!({
        "id": "bench", "protocol_version": "2.0", "error_classification": {},
        "endpoint": {"base_url": "http://127.0.0.1:1", "auth": {"type": "none"}},
        "streaming": {"decoder": {"format": "sse", "strategy": strategy}},
    });
    serde_json::from_value(manifest).expect("the manifest is ours")
}

/// Text, and then the arguments of a tool call, in the words of Chat Completions.
fn openai() -> String {
    let head = r#""id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk","created":1741570283,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_fc9f1d7035""#;
    let mut stream = String::new();
    for number in 0..1000 {
        let word = WORDS[number % WORDS.len()];
        let delta = if number < 800 {
            format!(r#"{{"content":"{word}"}}"#)
        } else if number == 800 {
            r#"{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"write","arguments":"{\"text\":\""}}]}"#.to_owned()
        } else {
            r#"{"tool_calls":[{"index":0,"function":{"arguments":" word"}}]}"#.to_owned()
        };
        let _ = write!(
            stream,
            "data: {{{head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null}}\n\n"
        );
    }
    stream + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
}

fn anthropic() -> String {
    let mut stream = String::new();
    let mut event = |name: &str, rest: &str| {
        let _ = write!(stream, "event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}\n\n");
    };
    event(
        "message_start",
        r#","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}"#,
    );
    event("content_block_start", r#","index":0,"content_block":{"type":"text","text":""}"#);
    for number in 0..1600 {
        let word = WORDS[number % WORDS.len()];
        event("content_block_delta", &format!(r#","index":0,"delta":{{"type":"text_delta","text":"{word}"}}"#));
    }
    event("content_block_stop", r#","index":0"#);
    event(
        "content_block_start",
        r#","index":1,"content_block":{"type":"tool_use","id":"toolu_01","name":"write","input":{}}"#,
    );
    for _ in 0..400 {
        event("content_block_delta", r#","index":1,"delta":{"type":"input_json_delta","partial_json":"\"word\", "}"#);
    }
    event("content_block_stop", r#","index":1"#);
    event("message_delta", r#","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}"#);
    event("message_stop", "");
    stream
}

fn gemini() -> String {
    let mut stream = String::new();
    for number in 0..800 {
        let (first, second) = (WORDS[number % WORDS.len()], WORDS[(number + 3) % WORDS.len()]);
        let _ = write!(
            stream,
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{first}{second}{first}{second}\"}}],\"role\":\"model\"}},\"index\":0}}],\"usageMetadata\":{{\"promptTokenCount\":10,\"candidatesTokenCount\":{number},\"totalTokenCount\":{},\"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":10}}]}},\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"mXmKaJq0KJvVjMcP\"}}\n\n",
            number + 10
        );
    }
    stream
        + "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":1}}}]},\"finishReason\":\"STOP\",\"index\":0}]}\n\n"
}

/// Cuts at blank lines, takes the data lines, reads each into a value.
fn bare(stream: &[u8]) -> usize {
    let mut count = 0;
    let mut start = 0;
    for end in memmem::find_iter(stream, b"\n\n") {
        let frame = &stream[start..end];
        start = end + 2;
        let data = frame.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: "));
        if let Some(Ok(value)) = data.map(serde_json::from_slice::<Value>) {
            black_box(&value);
            count += 1;
        }
    }
    count
}

fn decode(pipeline: &Pipeline, stream: &[u8]) -> usize {
    let mut decoder = pipeline.start();
    let mut events = Vec::new();
    let mut count = 0;
    for piece in stream.chunks(PIECE) {
        decoder.push(piece, &mut events).expect("frames are small");
        count += events.len();
        black_box(&events);
        events.clear();
    }
    decoder.finish(&mut events).expect("frames are small");
    count + events.len()
}

/// The same, up to the message of a transcript.
fn assemble(pipeline: &Pipeline, stream: &[u8]) -> usize {
    let mut decoder = pipeline.start();
    let asked = Asked {
        api: String::new(),
        provider: "bench".into(),
        model: "bench".into(),
        pricing: None,
        thinking_level: None,
        timestamp: 0,
    };
    let mut assembly = Assembly::new(asked);
    let (mut events, mut steps) = (Vec::new(), Vec::new());
    for piece in stream.chunks(PIECE) {
        decoder.push(piece, &mut events).expect("frames are small");
        for event in events.drain(..) {
            assembly.push(event, &mut steps);
        }
        black_box(&steps);
        steps.clear();
    }
    assembly.finish(End::Proper, &mut steps).content.len()
}

fn streams(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for (name, dialect, strategy, stream) in [
        ("openai", Dialect::OpenaiChat, "openai_chat", openai()),
        ("anthropic", Dialect::AnthropicMessages, "anthropic_event_stream", anthropic()),
        ("gemini", Dialect::GeminiGenerate, "gemini_generate", gemini()),
    ] {
        let pipeline = Pipeline::compile(&manifest(strategy), dialect).expect("the rules are ours");
        let bytes = stream.as_bytes();
        assert!(bare(bytes) >= 800 && decode(&pipeline, bytes) >= 800, "{name}: both read the stream");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("bare", name), |bencher| bencher.iter(|| bare(black_box(bytes))));
        group.bench_function(BenchmarkId::new("events", name), |bencher| {
            bencher.iter(|| decode(&pipeline, black_box(bytes)));
        });
        group.bench_function(BenchmarkId::new("message", name), |bencher| {
            bencher.iter(|| assemble(&pipeline, black_box(bytes)));
        });
    }
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);
