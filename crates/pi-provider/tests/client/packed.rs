//! Answers of servers that compress although nobody asked.

use std::io::Write as _;

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};

use super::*;

/// Compresses pieces so that each can be read when it is there.
fn packed(name: &str, pieces: &[String]) -> Vec<Vec<u8>> {
    let level = Compression::default();
    match name {
        "gzip" | "x-gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            let mut parts: Vec<Vec<u8>> = pieces
                .iter()
                .map(|piece| {
                    encoder.write_all(piece.as_bytes()).unwrap();
                    encoder.flush().unwrap();
                    std::mem::take(encoder.get_mut())
                })
                .collect();
            parts.push(encoder.finish().unwrap());
            parts
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            pieces.iter().for_each(|piece| encoder.write_all(piece.as_bytes()).unwrap());
            vec![encoder.finish().unwrap()]
        }
        "raw" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            pieces.iter().for_each(|piece| encoder.write_all(piece.as_bytes()).unwrap());
            vec![encoder.finish().unwrap()]
        }
        other => panic!("{other}"),
    }
}

fn frames() -> Vec<String> {
    vec![delta("Hello, "), delta("wörld"), stop(), "data: [DONE]\n\n".to_owned()]
}

fn body(content: &str) -> String {
    let choice = json!({"message": {"role": "assistant", "content": content}, "finish_reason": "stop"});
    json!({"choices": [choice]}).to_string()
}

#[tokio::test]
async fn compressed_streams_are_read_however_they_are_cut() {
    for (packing, encoding) in
        [("gzip", "gzip"), ("gzip", "GZIP"), ("x-gzip", "x-gzip"), ("zlib", "deflate"), ("raw", "deflate")]
    {
        let all = packed(packing, &frames()).concat();
        for size in [1, 7, all.len()] {
            let pieces = all.chunks(size).map(<[u8]>::to_vec);
            let reply = Reply::stream("text/event-stream", pieces).header("content-encoding", encoding);
            let fixture = Fixture::new(Script::new().then(reply)).await;
            assert_eq!(fixture.text().await.unwrap(), "Hello, wörld", "{packing} in pieces of {size}");
        }
    }
}

/// The second piece is never sent: what was compressed so far is read all the same.
#[tokio::test]
async fn compressed_piece_is_handed_out_when_it_is_there() {
    let first = packed("gzip", &frames()).swap_remove(0);
    let reply = Reply::stream("text/event-stream", [first]).header("content-encoding", "gzip");
    let fixture = Fixture::new(Script::new().then(reply.and(pi_testkit::server::Step::Hang))).await;
    let mut answer = fixture.stream().await.unwrap();
    let event = answer.next().await.unwrap().unwrap();
    assert!(matches!(&event, StreamEvent::PartialContentDelta { content, .. } if content == "Hello, "), "{event:?}");
}

#[tokio::test]
async fn compressed_whole_answers_and_refusals_are_read() {
    for (packing, encoding) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate"), ("gzip", "identity, gzip")] {
        let bytes = packed(packing, &[body("Hi")]).concat();
        let reply = Reply::whole(200, "application/json", &bytes).header("content-encoding", encoding);
        let completion = Fixture::new(Script::new().then(reply)).await.complete().await.unwrap();
        let said =
            |event: &StreamEvent| matches!(event, StreamEvent::PartialContentDelta { content, .. } if content == "Hi");
        assert!(completion.events.iter().any(said), "{packing}: {:?}", completion.events);
    }
    let bytes = packed("gzip", &[json!({"error": {"message": "no such key"}}).to_string()]).concat();
    let reply = Reply::whole(401, "application/json", &bytes).header("content-encoding", "gzip");
    let error = Fixture::new(Script::new().then(reply)).await.error().await;
    assert_eq!(error.to_string(), "mock-one answered: 401 authentication: no such key");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_unpacked_is_told_and_never_shown_as_text() {
    let plain = || frames().concat().into_bytes();
    let cut = packed("gzip", &frames())[..2].concat();
    for (encoding, bytes, told) in [
        ("br", plain(), "it is compressed as br, which nobody asked for and is not understood here"),
        ("gzip, br", plain(), "it is compressed as gzip, br, which nobody asked for and is not understood here"),
        ("gzip", plain(), "it says that it is compressed, and cannot be unpacked"),
        ("gzip", cut, "it says that it is compressed, and cannot be unpacked"),
    ] {
        for (kind, whole) in [("text/event-stream", false), ("application/json", true)] {
            let reply = Reply::whole(200, kind, &bytes).header("content-encoding", encoding);
            let fixture = Fixture::new(Script::new().otherwise(reply)).await;
            let error = if whole { fixture.complete().await.unwrap_err() } else { fixture.error().await };
            assert_eq!(
                error.to_string(),
                format!("the answer of mock-one cannot be read: {told}"),
                "{encoding} {kind}"
            );
            if encoding.contains("br") {
                let is_once = (fixture.server.requests().len(), error.code().is_retryable());
                assert_eq!(is_once, (1, false), "whoever compresses it so does it again");
            }
        }
    }
    let reply = Reply::whole(429, "application/json", &plain()).header("content-encoding", "br");
    let error = Fixture::new(Script::new().otherwise(reply)).await.error().await;
    let told = "mock-one answered: 429 rate_limited: Too Many Requests; what it says is compressed as br";
    assert_eq!(error.to_string(), told, "the status is not compressed");
}

/// Ten megabytes of nothing are ten kilobytes on the wire; what does not fit is refused, not held.
#[tokio::test]
async fn limit_counts_what_is_unpacked() {
    let bytes = packed("gzip", &[" ".repeat(10_000_000)]).concat();
    assert!(bytes.len() < 50_000);
    let reply = Reply::whole(200, "application/json", &bytes).header("content-encoding", "gzip");
    let server = Server::start(Script::new().then(reply)).await.unwrap();
    let manifest = manifest(&server.url(), json!({}));
    let fixture = Fixture::of(server, manifest, Settings { largest_answer: 1_000_000, ..settings() });
    let error = fixture.complete().await.unwrap_err();
    assert_eq!(error.to_string(), "the answer of mock-one cannot be read: it is larger than 1000000 bytes");
}
