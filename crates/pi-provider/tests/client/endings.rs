//! An answer that has said its end is complete, however its connection ends.

use pi_provider::{CallError, ErrorCode, breaker::CircuitState};
use pi_testkit::{
    Reply, Script,
    server::{Framing, Step},
};

use super::*;

/// How a server ends a connection after the last frame, other than it should.
const BAD_ENDS: [Step; 3] = [Step::Hang, Step::Reset, Step::Cut];

struct Case {
    name: &'static str,
    changes: Value,
    content_type: &'static str,
    frames: Vec<String>,
    /// A frame may follow, so that somebody waits for it that long.
    waits: Duration,
}

fn sse(frames: &[Value]) -> Vec<String> {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect()
}

fn style(strategy: &str) -> Value {
    json!({"streaming": {"decoder": {"format": "sse", "strategy": strategy}}})
}

fn case(name: &'static str, changes: Value, frames: Vec<String>) -> Case {
    Case { name, changes, content_type: "text/event-stream", frames, waits: Duration::ZERO }
}

fn cases() -> Vec<Case> {
    let anthropic = [
        json!({"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 3}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello, world"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let responses = |last: &str, response: Value| {
        sse(&[
            json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hello, world"}),
            json!({"type": last, "response": response}),
        ])
    };
    let incomplete = json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "Hello, world"}]}, "finishReason": "STOP"}]});
    let done = vec!["data: [DONE]\n\n".to_owned()];
    let ndjson = json!({"streaming": {
        "decoder": {"format": "ndjson", "strategy": "own"},
        "event_map": [
            {"match": "$.text", "emit": "PartialContentDelta", "extract": {"content": "$.text"}},
            {"match": "$.reason", "emit": "FinalCandidate", "extract": {"finish_reason": "$.reason"}},
        ],
        "stop_condition": "$.over == true",
    }});
    let lines = |last: &str| vec!["{\"text\":\"Hello, world\"}\n".to_owned(), format!("{last}\n")];
    let ndjson = |name, last| Case { content_type: "application/x-ndjson", ..case(name, ndjson.clone(), lines(last)) };
    // Counts may follow a reason that stands alone; behind one that came with a text, more of it may follow.
    let waiting = |case: Case| Case { waits: seconds(5), ..case };
    let doubting = |case: Case| Case { waits: seconds(30), ..case };
    vec![
        case("anthropic", style("anthropic_event_stream"), sse(&anthropic)),
        case("responses", style("openai_responses"), responses("response.completed", json!({"status": "completed"}))),
        case("incomplete", style("openai_responses"), responses("response.incomplete", incomplete)),
        case("chat", json!({}), [vec![delta("Hello, world"), stop()], done].concat()),
        ndjson("ndjson", "{\"over\":true}"),
        doubting(case("gemini", style("gemini_generate"), sse(&[gemini]))),
        waiting(case("chat without a signal", json!({}), vec![delta("Hello, world"), stop()])),
        waiting(ndjson("ndjson with a reason", "{\"over\":true,\"reason\":\"stop\"}")),
    ]
}

#[tokio::test(start_paused = true)]
async fn whole_answer_is_whole_however_the_connection_ends() {
    for Case { name, changes, content_type, frames, waits } in cases() {
        for end in BAD_ENDS {
            let is_held = end == Step::Hang;
            let reply = Reply::stream(content_type, frames.clone()).and(end.clone());
            let fixture = Fixture::with(Script::new().otherwise(reply), changes.clone()).await;
            let began = tokio::time::Instant::now();
            let said = fixture.text().await;
            assert_eq!(said.as_deref().ok(), Some("Hello, world"), "{name}, {end:?}: {said:?}");
            let expected = if is_held { waits } else { Duration::ZERO };
            assert_eq!(began.elapsed().as_secs(), expected.as_secs(), "{name}, {end:?}");
            assert_eq!(fixture.server.requests().len(), 1, "{name}, {end:?}");
            let (_, seen) = fixture.client.breakers().snapshots()[0];
            assert_eq!((seen.state, seen.calls, seen.failures), (CircuitState::Closed, 1, 0), "{name}, {end:?}");
        }
    }
}

/// The end is said in the events too, with what stood in the last frame.
#[tokio::test]
async fn last_event_is_the_end_with_its_reason() {
    for Case { name, changes, content_type, frames, .. } in cases() {
        let reply = Reply::stream(content_type, frames).and(Step::Cut);
        let fixture = Fixture::with(Script::new().otherwise(reply), changes).await;
        let mut answer = fixture.stream().await.unwrap();
        let mut last = None;
        while let Some(event) = answer.next().await {
            last = Some(event.unwrap());
        }
        let Some(StreamEvent::StreamEnd { finish }) = last else { panic!("{name}: {last:?}") };
        assert_eq!(finish.is_some(), name != "ndjson", "{name}");
    }
}

/// Counts behind the reason are waited for, and are part of the answer.
#[tokio::test(start_paused = true)]
async fn counts_behind_a_reason_are_read() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}});
    let changes =
        json!({"streaming": {"decoder": {"format": "sse"}, "stop_condition": "$.choices[0].finish_reason != null"}});
    let reply = Reply::events([delta("Hi"), stop()]).and(Step::Wait(seconds(4)));
    let reply = reply.and(Step::Bytes(format!("data: {usage}\n\n").into())).and(Step::Hang);
    let fixture = Fixture::with(Script::new().otherwise(reply), changes).await;
    let mut answer = fixture.stream().await.unwrap();
    let mut counted = None;
    while let Some(event) = answer.next().await {
        if let StreamEvent::Metadata { usage: Some(usage), .. } = event.unwrap() {
            counted = usage.total;
        }
    }
    assert_eq!(counted, Some(9));
}

fn chat(index: u32, content: Option<&str>, reason: Option<&str>) -> Step {
    let choice = json!({"index": index, "delta": {"content": content}, "finish_reason": reason});
    Step::Bytes(format!("data: {}\n\n", json!({"choices": [choice]})).into())
}

fn gemini(text: &str, reason: &str) -> Step {
    let candidate = json!({"index": 0, "content": {"parts": [{"text": text}]}, "finishReason": reason});
    Step::Bytes(format!("data: {}\n\n", json!({"candidates": [candidate]})).into())
}

fn done() -> Step {
    Step::Bytes("data: [DONE]\n\n".into())
}

fn of_steps(steps: &[Step]) -> Reply {
    steps.iter().cloned().fold(Reply::events(Vec::<String>::new()), Reply::and)
}

/// What each candidate says and how it ends, or the error.
async fn told(changes: &Value, steps: &[Step]) -> String {
    let fixture = Fixture::with(Script::new().otherwise(of_steps(steps)), changes.clone()).await;
    let mut answer = fixture.stream().await.unwrap();
    let mut told = String::new();
    while let Some(event) = answer.next().await {
        told += &match event {
            Ok(StreamEvent::PartialContentDelta { candidate, content, .. }) => format!("{candidate}:{content} "),
            Ok(StreamEvent::FinalCandidate { candidate, finish }) => format!("{candidate}={} ", finish.unwrap().raw),
            Ok(StreamEvent::StreamEnd { finish }) => format!("end={}", finish.unwrap().raw),
            Ok(_) => String::new(),
            Err(error) => format!("error: {error}"),
        };
    }
    told
}

/// Some servers write a reason into every frame: text that follows is read, and the last reason counts.
#[tokio::test(start_paused = true)]
async fn reason_is_not_the_end_where_text_follows() {
    let (plain, google) = (json!({}), style("gemini_generate"));
    let wait = || Step::Wait(seconds(7));
    let frames = [chat(0, Some("one"), Some("stop")), wait(), chat(0, Some("two"), Some("length")), done()];
    assert_eq!(told(&plain, &frames).await, "0:one 0:two 0=length end=length");
    let frames = [gemini("one", "STOP"), wait(), gemini("two", "STOP"), wait(), gemini("three", "MAX_TOKENS")];
    assert_eq!(told(&google, &frames).await, "0:one 0:two 0:three 0=MAX_TOKENS end=MAX_TOKENS");
    // One that stands alone is told at once; whoever goes on all the same is heard, and not left after five seconds.
    let frames = [
        chat(0, None, Some("stop")),
        Step::Wait(seconds(4)),
        chat(0, Some("one"), None),
        wait(),
        chat(0, None, Some("length")),
        done(),
    ];
    assert_eq!(told(&plain, &frames).await, "0=stop 0:one 0=length end=length");
    // What comes with the counts says less.
    let frames = [chat(0, Some("one"), None), chat(0, None, Some("length")), chat(0, None, Some("stop")), done()];
    assert_eq!(told(&plain, &frames).await, "0:one 0=length end=length");
}

/// Of an answer that went on behind a reason, nobody knows whether it was over when the connection broke.
#[tokio::test(start_paused = true)]
async fn reason_in_every_frame_ends_nothing_that_breaks_off() {
    let frames = [gemini("one", "STOP"), gemini("two", "STOP")];
    for end in BAD_ENDS {
        let steps = [&frames[..], std::slice::from_ref(&end)].concat();
        let told = told(&style("gemini_generate"), &steps).await;
        assert!(told.starts_with("0:one 0:two ") && told.contains("error: "), "{end:?}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn reason_of_one_candidate_does_not_end_another() {
    let frames = [
        chat(0, Some("A"), None),
        chat(1, Some("B1"), None),
        chat(0, None, Some("stop")),
        Step::Wait(seconds(7)),
        chat(1, Some("B2"), None),
        chat(1, None, Some("length")),
    ];
    let whole = "0:A 1:B1 0=stop 1:B2 1=length end=stop";
    let changes = json!({"streaming": {"decoder": {"format": "sse"}, "candidate": {"candidate_id_path": "$.choices[*].index", "fan_out": true}}});
    for changes in [json!({}), changes] {
        for end in [done(), Step::Hang] {
            let steps = [&frames[..], std::slice::from_ref(&end)].concat();
            assert_eq!(told(&changes, &steps).await, whole, "{end:?}");
        }
        let cut = [&frames[..3], &[Step::Cut]].concat();
        let told = told(&changes, &cut).await;
        assert_eq!(told, "0:A 1:B1 0=stop error: the answer of mock-one ended in the middle");
    }
}

/// A server that keeps the connection busy is not waited for longer than one that is silent.
#[tokio::test(start_paused = true)]
async fn comments_behind_the_end_do_not_prolong_it() {
    let ping = || [Step::Wait(seconds(2)), Step::Bytes(": ping\n\n".into())];
    let mut steps = vec![chat(0, Some("Hi"), None), chat(0, None, Some("stop"))];
    steps.extend((0..20).flat_map(|_| ping()));
    let began = tokio::time::Instant::now();
    assert_eq!(told(&json!({}), &steps).await, "0:Hi 0=stop end=stop");
    assert_eq!(began.elapsed().as_secs(), 5);
}

/// Frames that nobody can read are not part of the answer, and whoever asked can see that there were some.
#[tokio::test]
async fn frames_that_nobody_reads_are_counted() {
    let done = "data: [DONE]\n\n".to_owned();
    for (frames, unread) in [
        (vec![delta("Hi"), stop(), done.clone()], 0),
        (vec!["data: warming up\n\n".to_owned(), delta("Hi"), "data: 12\n\n".to_owned(), stop(), done.clone()], 2),
        (vec![delta("Hi"), stop(), "data: {\"usage\":".to_owned()], 1),
        (vec![delta("Hi"), stop(), done.clone(), done], 0),
    ] {
        let fixture = Fixture::new(Script::new().otherwise(Reply::events(frames))).await;
        let mut answer = fixture.stream().await.unwrap();
        assert_eq!(text(&mut answer).await.unwrap(), "Hi");
        assert_eq!(answer.facts().unread, unread);
    }
}

/// What has not said its end is no answer, whoever ends the connection.
#[tokio::test(start_paused = true)]
async fn answer_without_an_end_is_not_whole() {
    for Case { name, changes, content_type, mut frames, .. } in cases() {
        // All of Gemini's answer is in the frame that ends it.
        let said = match name {
            "gemini" => continue,
            "anthropic" => 4,
            "responses" | "incomplete" => 2,
            _ => 1,
        };
        frames.truncate(said);
        for end in [Step::Reset, Step::Cut] {
            let reply = Reply::stream(content_type, frames.clone()).and(end.clone());
            let fixture = Fixture::with(Script::new().otherwise(reply), changes.clone()).await;
            let error = fixture.error().await;
            assert!(matches!(error, CallError::Truncated { .. }), "{name}, {end:?}: {error}");
        }
    }
}

/// Servers fail in the middle of a stream with an object that stands there without the name of a field.
#[tokio::test]
async fn error_without_a_field_is_read() {
    let error = |code: &str| json!({"error": {"message": "engine died", "code": code}});
    let pretty = serde_json::to_string_pretty(&error("overloaded")).unwrap();
    for (name, frames) in [
        ("line", vec![delta("Hello"), format!("{}\n\n", error("overloaded"))]),
        ("no blank line", vec![delta("Hello"), format!("{}\n", error("overloaded"))]),
        ("several lines", vec![delta("Hello"), format!("{pretty}\n\n")]),
        ("behind data", vec![delta("Hello").trim_end().to_owned(), format!("\n{}\n", error("overloaded"))]),
    ] {
        let fixture = Fixture::new(Script::new().otherwise(Reply::events(frames))).await;
        let mut answer = fixture.stream().await.unwrap();
        let mut said = String::new();
        let error = loop {
            match answer.next().await {
                Some(Ok(StreamEvent::PartialContentDelta { content, .. })) => said += &content,
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("{name}: it ended well"),
            }
        };
        assert_eq!((said.as_str(), error.code()), ("Hello", ErrorCode::Overloaded), "{name}: {error}");
        assert!(error.to_string().contains("engine died"), "{name}: {error}");
    }
    let frames = ["\n".to_owned(), format!("{}\n\n", error("invalid_api_key"))];
    let fixture = Fixture::new(Script::new().otherwise(Reply::events(frames))).await;
    assert_eq!(fixture.error().await.code(), ErrorCode::Authentication);
    assert_eq!(fixture.server.requests().len(), 1);
}

/// A whole object is an answer, also where a stream was asked for, whatever the connection does behind it.
#[tokio::test(start_paused = true)]
async fn whole_object_is_an_answer_though_the_connection_breaks() {
    let choice = json!({"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"});
    let body = json!({"choices": [choice]}).to_string();
    let too_long = Framing::Length(body.len() + 50);
    for (name, framing, last) in [("too long", too_long, Step::Cut), ("left open", Framing::Close, Step::Hang)] {
        let reply = Reply::json_ending(&body, framing).and(last);
        let fixture = Fixture::new(Script::new().otherwise(reply)).await;
        let began = tokio::time::Instant::now();
        assert_eq!(fixture.text().await.unwrap(), "whole", "{name}");
        assert_eq!(fixture.complete().await.unwrap().body, body.as_bytes(), "{name}");
        assert!(began.elapsed() < seconds(3), "{name}: {:?}", began.elapsed());
        assert_eq!(fixture.server.requests().len(), 2, "{name}");
    }
}

/// What is called an object and begins with a blank line may still be a stream.
#[tokio::test]
async fn stream_that_is_called_an_object_may_begin_with_a_blank_line() {
    let frames = ["\n".to_owned(), delta("Hi"), stop(), "data: [DONE]\n\n".to_owned()];
    let fixture = Fixture::new(Script::new().otherwise(Reply::stream("application/json", frames))).await;
    assert_eq!(fixture.text().await.unwrap(), "Hi");
}
