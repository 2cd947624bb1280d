//! A server may send anything, in pieces of any size. Every dialect reads it without harm, and the pieces do not matter.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pi_provider::{Asked, Assembly, Dialect, Pipeline, StreamEvent, assembly::End};
use serde_json::json;

const LIMIT: usize = 4096;

static PIPELINES: LazyLock<Vec<Pipeline>> = LazyLock::new(|| {
    let decoders = [
        json!({"decoder": {"format": "sse"}}),
        json!({"decoder": {"format": "ndjson"}}),
        json!({"decoder": {"format": "gemini_json"}}),
        json!({"decoder": {"format": "sse", "delimiter": "\n", "done_signal": ""}}),
        json!({"decoder": {"format": "sse", "strategy": "own"}, "event_map": [
            {"match": "$.event || $.data", "emit": "PartialContentDelta", "extract": {"content": "$.data"}},
            {"match": "$.a[*].b =~ 'x*'", "emit": "PartialToolCall", "fields": {"tool_calls": "$.a[*].b"}},
        ]}),
    ];
    let compile = |(dialect, streaming)| {
        let manifest = serde_json::from_value(json!({
            "id": "fuzz", "protocol_version": "2.0", "error_classification": {}, "streaming": streaming,
            "endpoint": {"base_url": "http://127.0.0.1:1", "auth": {"type": "none"}},
        }));
        let manifest = manifest.expect("the manifest is ours");
        Pipeline::compile_with_limit(&manifest, dialect, LIMIT).expect("its rules are ours")
    };
    let all = Dialect::ALL.into_iter().flat_map(|dialect| decoders.iter().map(move |decoder| (dialect, decoder)));
    all.map(compile).collect()
});

fn decode<'a>(pipeline: &Pipeline, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<StreamEvent>, String) {
    let mut decoder = pipeline.start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(refused) = decoder.push(piece, &mut events) {
            return (events, refused.to_string());
        }
        assert!(decoder.memory() < 256 * 1024 + 4 * piece.len(), "memory is bounded");
    }
    let ending = decoder.finish(&mut events);
    (events, format!("{ending:?}"))
}

// The first byte chooses how the stream is read, the second the size of the pieces.
fuzz_target!(|bytes: &[u8]| {
    let [choice, size, stream @ ..] = bytes else { return };
    let pipeline = &PIPELINES[usize::from(*choice) % PIPELINES.len()];
    let whole = decode(pipeline, [stream]);
    assert_eq!(decode(pipeline, stream.chunks(usize::from(*size).max(1))), whole, "pieces do not matter");

    let asked = Asked {
        api: String::new(),
        provider: "fuzz".into(),
        model: "fuzz".into(),
        pricing: None,
        thinking_level: None,
        timestamp: 0,
    };
    let mut assembly = Assembly::new(asked);
    let mut steps = Vec::new();
    whole.0.into_iter().for_each(|event| assembly.push(event, &mut steps));
    let message = assembly.finish(End::Proper, &mut steps);
    serde_json::to_string(&message).expect("a message can be written");
});
