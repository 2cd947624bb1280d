//! Others take part in a call: filters, interceptors, foreign streams.

use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use pi_provider::{
    CallError, StreamEvent,
    client::{Draft, EventStream, ForeignCall, ForeignStream, Interception, Interceptor, Replacer},
    manifest::load::{Format, load},
};
use pi_testkit::Script;

use super::*;

/// Name, payload, headers.
type Seen = (String, Value, Vec<(String, String)>);

/// Keeps what it saw and does what it was told.
struct Scripted {
    seen: Mutex<Vec<Seen>>,
    does: Result<Interception, ()>,
}

impl Interceptor for Scripted {
    fn intercept<'a>(&'a self, draft: Draft<'a>) -> BoxFuture<'a, Result<Interception, CallError>> {
        let seen = (format!("{}/{}", draft.provider, draft.model), draft.payload.clone(), draft.headers.to_vec());
        self.seen.lock().unwrap().push(seen);
        let does = self.does.clone().map_err(|()| CallError::Cancelled);
        async move { does }.boxed()
    }
}

async fn intercepted(does: Result<Interception, ()>) -> (Fixture, Arc<Scripted>) {
    let server = Server::start(Script::new().otherwise(hello())).await.unwrap();
    let manifest = manifest(&server.url(), json!({}));
    let interceptor = Arc::new(Scripted { seen: Mutex::default(), does });
    let settings = Settings { interceptor: Some(Arc::clone(&interceptor) as Arc<dyn Interceptor>), ..settings() };
    (Fixture::of(server, manifest, settings), interceptor)
}

#[tokio::test]
async fn interceptor_sees_the_request_without_its_credential() {
    let (fixture, interceptor) = intercepted(Ok(Interception::Unchanged)).await;
    let answer = fixture.stream().await.unwrap();
    assert_eq!((answer.facts().replaced_by.as_slice(), answer.facts().sent_body.clone()), (&[][..], None));
    let (name, payload, headers) = interceptor.seen.lock().unwrap().remove(0);
    assert_eq!(name, "mock-one/small");
    assert_eq!(payload, fixture.server.requests()[0].json());
    assert!(!format!("{headers:?}").contains(PLANTED));
}

#[tokio::test]
async fn interceptor_replaces_payload_and_headers_and_it_is_told() {
    let payload = json!({"model": "other", "stream": true});
    let headers =
        vec![("content-type".to_owned(), "application/json".to_owned()), ("x-own".to_owned(), "1".to_owned())];
    let does = Interception::Replaced { payload: Some(payload.clone()), headers: Some(headers) };
    let (fixture, _) = intercepted(Ok(does)).await;
    let answer = fixture.stream().await.unwrap();
    assert_eq!(answer.facts().replaced_by, [Replacer::Interceptor]);
    assert_eq!(answer.facts().sent_body.as_deref(), Some(payload.to_string().as_bytes()));
    let request = &fixture.server.requests()[0];
    assert_eq!((request.json(), request.header("x-own")), (payload, Some("1")));
    assert!(request.header("authorization").is_some(), "the credential is attached afterwards");
}

#[tokio::test]
async fn interceptor_can_stop_a_call() {
    let (fixture, _) = intercepted(Err(())).await;
    assert!(matches!(fixture.error().await, CallError::Cancelled));
    assert!(fixture.server.requests().is_empty());
}

#[tokio::test]
async fn guardrails_mask_what_is_sent_and_what_comes() {
    let filters = json!([{"type": "pii_detection", "action": "mask"}]);
    let rails = json!({"guardrails": {"input_filters": filters, "output_filters": filters}});
    let reply = Reply::events([delta("write to bob@exa"), delta("mple.org"), stop(), "data: [DONE]\n\n".to_owned()]);
    let fixture = Fixture::with(Script::new().then(reply), rails).await;
    let mut answer = fixture.stream().await.unwrap();
    assert_eq!(answer.facts().replaced_by, [Replacer::Guardrail]);
    assert_eq!(text(&mut answer).await.unwrap(), "write to b***@e***.org");
    let sides: Vec<String> = answer.facts().findings.iter().map(|finding| finding.side.to_string()).collect();
    assert_eq!(sides, ["prompt", "answer"]);
    assert!(fixture.server.requests()[0].json().to_string().contains("Hello, a***@e***.com"));
}

#[tokio::test]
async fn guardrails_block_before_sending_and_in_the_middle() {
    let block = |side: &str| json!({"guardrails": {side: [{"type": "house", "action": "block", "words": ["hello"]}]}});
    let fixture = Fixture::with(Script::new().otherwise(hello()), block("input_filters")).await;
    assert_eq!(fixture.error().await.to_string(), "guardrail house blocked the prompt");
    assert!(fixture.server.requests().is_empty());
    let fixture = Fixture::with(Script::new().otherwise(hello()), block("output_filters")).await;
    assert_eq!(fixture.error().await.to_string(), "guardrail house blocked the answer");
}

#[tokio::test]
async fn filter_that_is_to_keep_something_back_and_cannot_be_used_refuses_the_call() {
    let rails = |side: &str, action: &str| {
        let filters = json!([{"type": "house", "action": action, "patterns": ["("], "words": ["moon"]}]);
        json!({"guardrails": {side: filters}})
    };
    for side in ["input_filters", "output_filters"] {
        for action in ["block", "mask"] {
            let fixture = Fixture::with(Script::new().otherwise(hello()), rails(side, action)).await;
            let error = fixture.error().await;
            assert!(matches!(error, CallError::Unguarded { .. }), "{error}");
            let told = "guardrail house of mock-one cannot be used: ( is not a regular expression";
            assert_eq!((error.to_string(), fixture.server.requests().len()), (told.to_owned(), 0));
        }
        for action in ["warn", "log"] {
            let fixture = Fixture::with(Script::new().otherwise(hello()), rails(side, action)).await;
            assert_eq!(fixture.text().await.unwrap(), "Hello, world", "{action} keeps nothing back");
        }
    }
}

/// A slip in what is written of a filter must not be the same as no filter.
#[tokio::test]
async fn filters_that_cannot_be_read_refuse_the_call() {
    for (text, refused) in [
        (
            "guardrails: {input_filters: [{type: pii_detection, action: maks}]}",
            Some("guardrails.input_filters[0] of acme cannot be used: \"maks\" is not one of block, warn, log, mask"),
        ),
        (
            "guardrails: {output_filters: [{type: pii_detection}]}",
            Some("guardrails.output_filters[0] of acme cannot be used: action is missing"),
        ),
        (
            "guardrails: {input_filters: {type: pii_detection, action: mask}}",
            Some("guardrails.input_filters of acme cannot be used: a list is expected, not an object"),
        ),
        (
            "guardrails: {input_filter: [{type: pii_detection, action: mask}]}",
            Some("guardrails.input_filter of acme cannot be used: input_filter is not known; input_filters is"),
        ),
        (
            "guardrails: [{type: pii_detection, action: mask}]",
            Some("guardrails of acme cannot be used: an object is expected, not a list"),
        ),
        (
            "guardrail: {input_filters: [{type: pii_detection, action: mask}]}",
            Some("guardrail of acme cannot be used: guardrail is not known; guardrails is"),
        ),
        (
            "guardrails: {input_filters: [{type: content_safety, action: block, pattern: [moon]}]}",
            Some("content_safety of acme cannot be used: its pattern is not known; patterns is"),
        ),
        (
            "guardrails: {input_filters: [{type: content_safety, action: block, words: moon}]}",
            Some("content_safety of acme cannot be used: its words are not a list of texts"),
        ),
        ("guardrails: {input_filters: [{action: warn}], output_filters: null, purpose: none}", None),
        ("guardrails: {input_filters: [{type: pii_detection, action: mask, words: null}]}", None),
    ] {
        let server = Server::start(Script::new().otherwise(hello())).await.unwrap();
        let manifest = loaded(&server.url(), text);
        let fixture = Fixture::of(server, manifest, settings());
        let outcome = fixture.text().await.map_err(|error| error.to_string());
        let expected = match refused {
            Some(reason) => Err(format!("guardrail {reason}")),
            None => Ok("Hello, world".to_owned()),
        };
        let asked = usize::from(expected.is_ok());
        assert_eq!((outcome, fixture.server.requests().len()), (expected, asked), "{text}");
    }
}

/// A small manifest, read as a file is, with one more line.
fn loaded(base_url: &str, line: &str) -> Manifest {
    let text = format!(
        r#"
id: acme
protocol_version: "2.0"
endpoint:
  base_url: {base_url}
  chat: /chat/completions
  auth: {{ type: bearer, header: Authorization, token_env: ACME_TOKEN }}
error_classification:
  by_http_status: {{ "400": invalid_request, "401": authentication, "429": rate_limited, "500": server_error }}
capabilities: {{ required: [text, streaming] }}
streaming: {{ decoder: {{ format: sse, strategy: openai_chat }} }}
{line}
"#
    );
    let loaded = load(&text, "acme.yaml", Format::Yaml);
    loaded.manifest.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// Says what it was asked.
struct Echo;

impl ForeignStream for Echo {
    fn open<'a>(&'a self, asked: ForeignCall<'a>) -> BoxFuture<'a, Result<EventStream, CallError>> {
        let Message::User(user) = asked.call.prompt.messages[0].message() else { panic!("not the user's") };
        let said = serde_json::to_value(&user.content).unwrap();
        let content = format!("{} {} {said}", asked.provider, asked.model);
        let delta = StreamEvent::PartialContentDelta { candidate: 0, block: None, content, signature: None };
        let events = [Ok(delta), Ok(StreamEvent::StreamEnd { finish: None })];
        async move { Ok(stream::iter(events).chain(stream::pending()).boxed() as EventStream) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn foreign_stream_is_filtered_and_cancelled_like_any_other() {
    let filters = json!([{"type": "pii_detection", "action": "mask"}]);
    let fixture = Fixture::with(Script::new(), json!({"guardrails": {"input_filters": filters}})).await;
    let client = &fixture.client;
    let mut answer =
        client.stream_foreign(&Echo, &fixture.manifest, "m", fixture.call(), &fixture.cancel).await.unwrap();
    let first = answer.next().await.unwrap().unwrap();
    let StreamEvent::PartialContentDelta { content, .. } = first else { panic!("{first:?}") };
    assert_eq!(content, "mock-one m \"Hello, a***@e***.com\"");
    assert!(matches!(answer.next().await, Some(Ok(StreamEvent::StreamEnd { .. }))));
    assert_eq!(answer.facts().replaced_by, [Replacer::Guardrail]);
    fixture.cancel.cancel();
    assert!(matches!(answer.next().await, None | Some(Err(CallError::Cancelled))));
}

#[tokio::test]
async fn findings_and_held_text_survive_every_end() {
    let filters = json!([
        {"type": "house_rules", "action": "warn", "words": ["moon"]},
        {"type": "no_mail", "action": "block", "words": ["mail"]},
    ]);
    let changes = json!({"guardrails": {"output_filters": filters}});
    let begun = || Reply::events([delta("to the moon and ba")]);
    let warned = "house_rules Warn";
    for (name, reply, said, found) in [
        ("clean", begun(), "to the moon and ba", vec![warned]),
        ("reset", begun().and(pi_testkit::server::Step::Reset), "to the moon and ba", vec![warned]),
        ("blocked", Reply::events([delta("moon "), delta("by mail "), stop()]), "", vec![warned, "no_mail Block"]),
    ] {
        let fixture = Fixture::with(Script::new().then(reply), changes.clone()).await;
        let mut answer = fixture.stream().await.unwrap();
        let (mut seen, mut failed) = (String::new(), false);
        while let Some(event) = answer.next().await {
            match event {
                Ok(StreamEvent::PartialContentDelta { content, .. }) => seen.push_str(&content),
                Ok(_) => {}
                Err(_) => failed = true,
            }
        }
        let findings: Vec<String> =
            answer.facts().findings.iter().map(|found| format!("{} {:?}", found.filter, found.action)).collect();
        assert_eq!(
            (seen.as_str(), findings.iter().map(String::as_str).collect(), failed),
            (said, found, true),
            "{name}"
        );
    }
}
