//! What holds for every stream: how the bytes are cut does not matter, nothing panics, memory is bounded.

use pi_provider::{
    Dialect, StreamEvent,
    stream::{Ending, FrameTooLarge, Pipeline},
};
use proptest::prelude::*;
use serde_json::json;

use crate::manifest::manifest;

const LIMIT: usize = 2048;

/// Few cases, since each goes through every dialect and every way to cut a stream; `PROPTEST_CASES=5000` tries more.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let is_chosen = std::env::var_os("PROPTEST_CASES").is_some();
    if is_chosen { usual } else { ProptestConfig { cases: 24, ..usual } }
}

/// One pipeline for every dialect and every way to cut a stream, with a small limit.
fn pipelines() -> Vec<Pipeline> {
    let rules = json!([
        {"match": "$.event == 'a' || $.data", "emit": "PartialContentDelta", "extract": {"content": "$.data"}},
        {"match": "$.choices[*].delta", "emit": "Raw", "extract": {"delta": "$.choices[*].delta"}},
    ]);
    let decoders = [
        json!({"decoder": {"format": "sse"}}),
        json!({"decoder": {"format": "sse", "strategy": "own"}, "event_map": rules}),
        json!({"decoder": {"format": "ndjson"}}),
        json!({"decoder": {"format": "gemini_json"}}),
        json!({"decoder": {"format": "sse", "delimiter": "\n", "done_signal": ""}}),
        json!({"decoder": {"delimiter": "\r\n-", "prefix": "x:"}, "frame_selector": "$.type != 'a'", "stop_condition": "$.a"}),
    ];
    let compile = |(dialect, streaming)| {
        let manifest = manifest("http://127.0.0.1:1", json!({ "streaming": streaming }));
        Pipeline::compile_with_limit(&manifest, dialect, LIMIT).unwrap()
    };
    let all = Dialect::ALL.into_iter().flat_map(|dialect| decoders.iter().map(move |decoder| (dialect, decoder)));
    all.map(compile).collect()
}

/// What becomes of a stream that arrives in these pieces. The memory is looked at after each.
fn decode<'a>(
    pipeline: &Pipeline,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, Result<Ending, FrameTooLarge>) {
    let mut decoder = pipeline.start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    for piece in pieces {
        if let Err(refused) = decoder.push(piece, &mut events) {
            return (events, Err(refused));
        }
        assert!(decoder.memory() < 128 * 1024 + 4 * piece.len(), "{} bytes", decoder.memory());
    }
    let ending = decoder.finish(&mut events);
    (events, ending)
}

/// Pieces that streams are made of, sensible and not.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let recorded = [
        include_str!("../streams/openai.sse"),
        include_str!("../streams/anthropic.sse"),
        include_str!("../streams/gemini.sse"),
        include_str!("../streams/gemini_array.json"),
        include_str!("../streams/cohere.sse"),
        include_str!("../streams/responses.sse"),
    ];
    let lines: Vec<String> = recorded.iter().flat_map(|stream| stream.lines()).map(str::to_owned).collect();
    let line = prop_oneof![
        8 => prop::sample::select(lines).prop_map(String::into_bytes),
        1 => "\\PC{0,20}".prop_map(String::into_bytes),
        1 => "(data|event|id|retry)?:? ?[\\[\\]{}\",:a\\\\é1]{0,20}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (0_usize..3000).prop_map(|length| vec![b'x'; length]),
        1 => Just(b"data: [DONE]".to_vec()),
    ];
    let end =
        prop_oneof![Just("\n"), Just("\n\n"), Just("\r\n"), Just("\r"), Just("\r\r\n\n"), Just(""), Just("\r\n-x:")];
    prop::collection::vec((line, end), 0..30)
        .prop_map(|lines| lines.into_iter().flat_map(|(line, end)| [line, end.as_bytes().to_vec()].concat()).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_chunking_gives_the_same(stream in any_stream(), sizes in prop::collection::vec(1_usize..200, 1..8)) {
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for size in sizes.into_iter().cycle() {
            let (piece, behind) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        for pipeline in pipelines() {
            let whole = decode(&pipeline, [stream.as_slice()]);
            prop_assert_eq!(&decode(&pipeline, pieces.iter().copied()), &whole);
            prop_assert_eq!(&decode(&pipeline, stream.chunks(1)), &whole);
        }
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(stream in prop::collection::vec(any::<u8>(), 0..6000), size in 1_usize..500) {
        for pipeline in pipelines() {
            let _outcome = decode(&pipeline, stream.chunks(size));
        }
    }
}

#[test]
fn a_stream_that_never_ends_a_frame_is_refused_before_it_fills_the_memory() {
    for pipeline in pipelines() {
        for byte in [b'x', b'{', b'"', b' ', b':', b'\\'] {
            let piece = [byte; 512];
            let prefix = b"[{\"".as_slice();
            let pieces = std::iter::once(prefix).chain(std::iter::repeat_n(piece.as_slice(), 100));
            let (_, ending) = decode(&pipeline, pieces);
            assert_eq!(ending, Err(FrameTooLarge { limit: LIMIT }), "{:?}", char::from(byte));
        }
    }
}

#[test]
fn calls_that_never_end_do_not_fill_the_memory() {
    let manifest = manifest("http://127.0.0.1:1", json!({"streaming": {"decoder": {}}}));
    let mut decoder = Pipeline::compile(&manifest, Dialect::OpenaiChat).unwrap().start();
    let mut events = Vec::new();
    let mut ended = 0;
    for number in 0..3000 {
        let call = json!({"index": number, "id": format!("c{number}"), "function": {"name": "f", "arguments": "{"}});
        let frame = format!("data: {}\n\n", json!({"choices": [{"index": number, "delta": {"tool_calls": [call]}}]}));
        decoder.push(frame.as_bytes(), &mut events).unwrap();
        ended += events.drain(..).filter(|event| matches!(event, StreamEvent::ToolCallEnded { .. })).count();
    }
    assert_eq!(ended, 3000 - 1024);
}
