//! What comes back when all goes well, and when the answer itself is broken.

use pi_provider::{CallError, ErrorCode, Finish, Manifest, StreamEvent, Termination};
use pi_testkit::{
    Reply, Script,
    server::{Framing, Step},
};
use serde_json::json;

use super::*;

fn content(content: &str) -> StreamEvent {
    StreamEvent::PartialContentDelta { candidate: 0, block: None, content: content.to_owned(), signature: None }
}

#[tokio::test]
async fn stream_is_handed_out_event_by_event_with_its_facts() {
    let reply = hello()
        .header("x-request-id", "req_1")
        .header("x-ratelimit-limit-requests", "60")
        .header("x-ratelimit-remaining-requests", "59");
    let fixture = Fixture::new(Script::new().then(reply)).await;
    let mut answer = fixture.stream().await.unwrap();
    let facts = answer.facts().clone();
    let mut events = Vec::new();
    while let Some(event) = answer.next().await {
        events.push(event.unwrap());
    }
    let finish = Some(Finish { reason: Termination::EndTurn, raw: "stop".to_owned() });
    assert_eq!(events[..2], [content("Hello, "), content("world")]);
    assert_eq!(events.last(), Some(&StreamEvent::StreamEnd { finish }));
    assert!(answer.next().await.is_none(), "it stays over");
    assert_eq!((facts.status, facts.attempts, facts.request_id.as_deref()), (Some(200), 1, Some("req_1")));
    assert_eq!((facts.limits.requests.limit, facts.limits.requests.remaining), (Some(60), Some(59)));
    let request = &fixture.server.requests()[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {PLANTED}").as_str()));
    assert_eq!(request.json()["stream"], true);
}

#[tokio::test]
async fn whole_answer_gives_the_same_kind_of_events() {
    let fixture = Fixture::new(Script::new().then(whole("Hi"))).await;
    let completion = fixture.complete().await.unwrap();
    assert!(completion.events.contains(&content("Hi")), "{:?}", completion.events);
    assert!(matches!(completion.events.last(), Some(StreamEvent::StreamEnd { finish: Some(_) })));
    assert_eq!(completion.facts.status, Some(200));
    assert!(!completion.body.is_empty());
    assert_ne!(fixture.server.requests()[0].json()["stream"], true);
}

/// It neither says how long the answer is nor ends it.
#[tokio::test]
async fn whole_answer_ends_with_its_object_and_not_with_the_connection() {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"});
    let body = json!({ "choices": [choice] }).to_string();
    let (first, second) = body.split_at(body.len() / 2);
    let head = Step::Head { status: 200, headers: Vec::new(), framing: Framing::Close };
    let pieces = [first, second].map(|piece| Step::Bytes(piece.as_bytes().to_vec()));
    let reply = Reply { steps: [head].into_iter().chain(pieces).chain([Step::Hang]).collect() };
    let fixture = Fixture::new(Script::new().then(reply)).await;
    let completion = fixture.complete().await.unwrap();
    assert!(completion.events.contains(&content("Hi")), "{:?}", completion.events);
}

/// However long it is silent in between.
#[tokio::test]
async fn whole_answer_is_read_to_the_end_that_is_told() {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"});
    let body = json!({ "choices": [choice] }).to_string();
    let lines = ("content-type".to_owned(), "application/x-ndjson; charset=utf-8".to_owned());
    for (framing, headers) in
        [(Framing::Length(body.len() + 1), vec![]), (Framing::Chunked, vec![]), (Framing::Close, vec![lines])]
    {
        let head = Step::Head { status: 200, headers, framing };
        let pause = Step::Wait(Duration::from_millis(800));
        let steps = vec![head, Step::Bytes(body.clone().into_bytes()), pause, Step::Bytes(b"\n".to_vec())];
        let fixture = Fixture::new(Script::new().then(Reply { steps })).await;
        let completion = fixture.complete().await.unwrap();
        assert_eq!(completion.body, format!("{body}\n"), "{framing:?}");
    }
}

#[tokio::test]
async fn stream_is_read_though_a_whole_answer_was_asked_for() {
    let fixture = Fixture::new(Script::new().then(hello())).await;
    let completion = fixture.complete().await.unwrap();
    assert_eq!(completion.events[..2], [content("Hello, "), content("world")]);
    assert!(completion.facts.is_streamed);
}

#[tokio::test]
async fn it_is_known_whether_an_answer_was_streamed() {
    let fixture = Fixture::new(Script::new().then(hello()).then(whole("Hi"))).await;
    assert!(fixture.stream().await.unwrap().facts().is_streamed);
    assert!(!fixture.stream().await.unwrap().facts().is_streamed);
}

#[tokio::test]
async fn connections_are_used_again() {
    let fixture = Fixture::new(Script::new().then(hello()).then(whole("a")).then(hello())).await;
    fixture.text().await.unwrap();
    fixture.complete().await.unwrap();
    fixture.text().await.unwrap();
    let connections: Vec<usize> = fixture.server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn stream_that_ends_in_the_middle_is_truncated() {
    for (name, reply) in [
        ("no end", Reply::events([delta("Hel")])),
        ("clean end inside a frame", Reply::events([delta("Hel"), delta("lo")[..30].to_owned()])),
        ("cut off", Reply::events([delta("Hel")]).and(Step::Cut)),
        ("reset", Reply::events([delta("Hel")]).and(Step::Reset)),
    ] {
        let fixture = Fixture::new(Script::new().then(reply)).await;
        let mut answer = fixture.stream().await.unwrap();
        assert_eq!(answer.next().await.unwrap().unwrap(), content("Hel"), "{name}");
        let error = answer.next().await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Truncated { .. }), "{name}: {error}");
        assert!(answer.next().await.is_none(), "{name}");
        assert_eq!(fixture.server.requests().len(), 1, "{name}: an answer that has begun is not asked for again");
    }
}

#[tokio::test]
async fn error_inside_a_stream_is_classified_and_ends_it() {
    let error = json!({"error": {"code": "server_error", "message": format!("upstream saw {PLANTED}")}});
    let reply = Reply::events([delta("Hel"), format!("data: {error}\n\n"), delta("lo")]);
    let fixture = Fixture::new(Script::new().then(reply)).await;
    let mut answer = fixture.stream().await.unwrap();
    answer.next().await.unwrap().unwrap();
    let error = answer.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ServerError);
    assert_eq!(error.to_string(), "mock-one answered: server_error: upstream saw [REDACTED]");
    assert!(answer.next().await.is_none());
}

#[tokio::test]
async fn provider_that_declares_no_streaming_is_asked_for_a_whole_answer() {
    let silent = json!({"capabilities": {"required": ["text"]}, "streaming": null});
    let fixture = Fixture::with(Script::new().then(whole("all at once")), silent).await;
    assert_eq!(fixture.text().await.unwrap(), "all at once");
    assert_eq!(fixture.server.requests()[0].json().get("stream"), None);
}

#[tokio::test]
async fn whole_answer_to_a_request_for_a_stream_is_read_all_the_same() {
    let fixture = Fixture::new(Script::new().then(whole("all at once"))).await;
    assert_eq!(fixture.text().await.unwrap(), "all at once");
    let body = json!({"choices": [{"message": {"content": "in pieces"}, "finish_reason": "stop"}]}).to_string();
    let (begin, end) = body.split_at(20);
    let fixture = Fixture::new(Script::new().then(Reply::stream("application/json", [begin, end]))).await;
    assert_eq!(fixture.text().await.unwrap(), "in pieces");
    let error = json!({"error": {"code": 402, "message": "no credits"}});
    let fixture = Fixture::new(Script::new().then(Reply::json(200, &error))).await;
    assert_eq!(fixture.error().await.code(), ErrorCode::QuotaExhausted);
}

/// Gateways write what they like into `content-type`.
#[tokio::test]
async fn what_an_answer_is_shows_in_its_first_bytes() {
    let body = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).to_string();
    for kind in ["text/event-stream", "text/plain", "application/octet-stream"] {
        let reply = Reply::whole(200, kind, format!("\n {body}").as_bytes());
        assert_eq!(Fixture::new(Script::new().then(reply)).await.text().await.unwrap(), "whole", "{kind}");
    }
    let stream = format!(": waiting\n\n{}{}data: [DONE]\n\n", delta("streamed"), stop());
    for cut in [1, 3, stream.len()] {
        let pieces = stream.as_bytes().chunks(cut).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let reply = Reply::stream("application/json", pieces);
        assert_eq!(Fixture::new(Script::new().then(reply)).await.text().await.unwrap(), "streamed", "{cut}");
    }
    let odd = format!("ping\n\nfoo: bar\n{}{}data: [DONE]\n\n", delta("streamed"), stop());
    for cut in [1, 6, odd.len()] {
        let pieces = odd.as_bytes().chunks(cut).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let reply = Reply::stream("text/plain", pieces);
        assert_eq!(Fixture::new(Script::new().then(reply)).await.text().await.unwrap(), "streamed", "odd, {cut}");
    }
    let lines = format!("{body}\n{body}\n");
    let fixture =
        Fixture::new(Script::new().otherwise(Reply::whole(200, "application/x-ndjson", lines.as_bytes()))).await;
    assert!(matches!(fixture.error().await, CallError::Malformed { .. }));
    assert_eq!(fixture.server.requests().len(), 1, "it would come again");
}

/// What a server says in plain words is told, without what it was sent, and not asked for again.
#[tokio::test]
async fn words_in_the_place_of_an_answer_are_the_servers_own() {
    let words = format!("no answer today, {PLANTED}\n");
    let mut bytes = words.as_bytes().chunks(1).map(<[u8]>::to_vec);
    let pieces = Reply::stream("text/plain", [bytes.next().unwrap(), bytes.flatten().collect()]);
    let unnamed = Reply::whole(201, "", words.as_bytes());
    for (reply, status) in [(Reply::text(200, &words), 200), (pieces, 200), (unnamed, 201)] {
        let fixture = Fixture::new(Script::new().otherwise(reply)).await;
        for error in [fixture.error().await, fixture.complete().await.unwrap_err()] {
            let told = error.to_string();
            assert!(told.contains(&format!("{status} unknown: no answer today")) && !told.contains(PLANTED), "{told}");
        }
        assert_eq!(fixture.server.requests().len(), 2, "each is asked once");
    }
    for like_a_field in ["database is asleep", "identity unknown", "\ndata"] {
        let fixture = Fixture::new(Script::new().otherwise(Reply::text(200, like_a_field))).await;
        let told = fixture.error().await.to_string();
        assert!(told.contains(&format!("200 unknown: {}", like_a_field.trim())), "{told}");
        assert_eq!(fixture.server.requests().len(), 1, "it is asked once");
    }
    let called_json = Reply::whole(200, "application/json", b"no answer today");
    let fixture = Fixture::new(Script::new().otherwise(called_json)).await;
    assert!(fixture.error().await.to_string().contains("200 unknown: no answer today"));
    let silent = Fixture::new(Script::new().otherwise(Reply::whole(204, "text/plain", b""))).await;
    for error in [silent.error().await, silent.complete().await.unwrap_err()] {
        assert!(error.to_string().contains("204 unknown: No Content"), "{error}");
    }
    assert_eq!(silent.server.requests().len(), 2, "each is asked once");
}

/// Some servers stream unless they are told not to, in lines as in events.
#[tokio::test]
async fn lines_in_the_place_of_a_whole_answer_are_read_as_a_stream() {
    let changes = json!({"streaming": {
        "decoder": {"format": "ndjson", "strategy": "own"},
        "event_map": [
            {"match": "$.text", "emit": "PartialContentDelta", "extract": {"content": "$.text"}},
            {"match": "$.reason", "emit": "FinalCandidate", "extract": {"finish_reason": "$.reason"}},
        ],
    }});
    let lines = "{\"text\": \"Hello, \"}\n{\"text\": \"world\"}\n{\"reason\": \"stop\"}\n";
    let reply = Reply::whole(200, "application/x-ndjson", lines.as_bytes());
    let fixture = Fixture::with(Script::new().otherwise(reply), changes).await;
    let said = fixture.complete().await.unwrap().events.into_iter().filter_map(|event| match event {
        StreamEvent::PartialContentDelta { content, .. } => Some(content),
        _ => None,
    });
    assert_eq!(said.collect::<String>(), "Hello, world");
}

#[tokio::test]
async fn unreadable_answers_are_malformed() {
    let broken = Fixture::new(Script::new().otherwise(Reply::json(200, &json!({"odd": 1})))).await;
    assert!(matches!(broken.complete().await.unwrap_err(), CallError::Malformed { .. }));
    let half = Fixture::new(Script::new().otherwise(Reply::text(200, "{\"odd\": "))).await;
    assert!(matches!(half.complete().await.unwrap_err(), CallError::Malformed { .. }));
    let no_text = Fixture::new(Script::new().otherwise(Reply::whole(200, "", b"\x80\x81"))).await;
    assert!(matches!(no_text.complete().await.unwrap_err(), CallError::Malformed { .. }));
}

#[tokio::test]
async fn answers_that_are_too_large_are_not_read_to_the_end() {
    let server = Server::start(Script::new().otherwise(whole(&"x".repeat(10_000)))).await.unwrap();
    let manifest = manifest(&server.url(), json!({}));
    let fixture = Fixture::of(server, manifest, Settings { largest_answer: 1000, ..settings() });
    let error = fixture.complete().await.unwrap_err();
    assert_eq!(error.to_string(), "the answer of mock-one cannot be read: it is larger than 1000 bytes");
    assert_eq!(fixture.server.requests().len(), 1);
}

#[tokio::test]
async fn demo_model_answers_through_the_same_path() {
    let built_in = pi_provider::builtin::find("demo").unwrap();
    let loaded =
        pi_provider::manifest::load::load(built_in.text, &built_in.path(), pi_provider::manifest::load::Format::Yaml);
    let demo: Manifest = loaded.manifest.unwrap();
    let model = demo.models.keys().next().unwrap().clone();
    let fixture = Fixture::new(Script::new()).await;
    let target =
        Target { manifest: &demo, model: &model, entry: demo.models.get(&model), base_url: None, lookup: &|_| None };
    let mut answer = fixture.client.stream(&target, fixture.call(), None, &fixture.cancel).await.unwrap();
    assert_eq!(answer.facts().status, Some(200));
    let streamed = text(&mut answer).await.unwrap();
    let whole = fixture.client.complete(&target, fixture.call(), None, &fixture.cancel).await.unwrap();
    let whole: String = whole
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::PartialContentDelta { content, .. } => Some(content.as_str()),
            _ => None,
        })
        .collect();
    assert!(streamed.to_lowercase().contains("demo"), "{streamed}");
    assert_eq!(streamed, whole);
    assert!(fixture.server.requests().is_empty());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the client holds dates against the same clock")]
async fn dates_in_an_error_inside_a_stream_are_held_against_the_clock() {
    let soon = std::time::SystemTime::now() + seconds(90);
    let soon = soon.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let error = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down", "retry_after": soon}});
    let fixture = Fixture::new(Script::new().then(Reply::events([delta("Hel"), format!("data: {error}\n\n")]))).await;
    let CallError::Refused { failure, .. } = fixture.error().await else { panic!("it is refused") };
    let wait = failure.retry_after.unwrap();
    assert!(wait > seconds(60) && wait <= seconds(90), "{wait:?}");
}
