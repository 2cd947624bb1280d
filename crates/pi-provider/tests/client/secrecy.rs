//! A planted credential appears nowhere but in the request.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use pi_testkit::{Reply, Script};
use tokio::{io::AsyncWriteExt as _, net::TcpListener};
use tracing::{Event, Metadata, Subscriber, field::Visit, span};

use super::*;

/// Writes down everything that is logged, by us and by the libraries below.
#[derive(Clone, Default)]
struct Listener {
    heard: Arc<Mutex<String>>,
}

impl Visit for Listener {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        let _ = writeln!(self.heard.lock().unwrap(), "{field}={value:?}");
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// All that an error shows, its causes included.
fn shown(error: &CallError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(text, " {error} {error:?}");
        cause = error.source();
    }
    text
}

#[tokio::test(start_paused = true)]
async fn errors_logs_and_debug_output_do_not_show_the_credential() {
    let listener = Listener::default();
    let _guard = tracing::subscriber::set_default(listener.clone());
    let quoting = json!({"error": {"code": PLANTED, "message": format!("bad key {PLANTED}"), "request_id": PLANTED}});
    let in_stream = format!("data: {quoting}\n\n");
    let replies = [
        Reply::json(401, &quoting).header("x-request-id", PLANTED),
        Reply::json(500, &quoting),
        Reply::text(502, &format!("proxy saw {PLANTED}")),
        Reply::events([in_stream]),
        Reply::json(200, &quoting),
        Reply::reset(),
        Reply::hang(),
    ];
    for placement in [json!({"type": "bearer"}), json!({"type": "query_param", "param_name": "key"})] {
        for reply in &replies {
            // A place in the code that another test reached first, where nobody listens, is believed to be silent.
            tracing::callsite::rebuild_interest_cache();
            let changes = json!({"endpoint": {"auth": placement}});
            let fixture = Fixture::with(Script::new().otherwise(reply.clone()), changes).await;
            let error = fixture.error().await;
            assert!(!shown(&error).contains(PLANTED), "{}", shown(&error));
            assert!(!format!("{:?}", fixture.client).contains(PLANTED));
            let request = &fixture.server.requests()[0];
            assert!(format!("{request:?}").contains(PLANTED), "the server got it");
        }
    }
    let unreachable =
        manifest("http://127.0.0.1:1", json!({"endpoint": {"auth": {"type": "query_param", "param_name": "key"}}}));
    let fixture = Fixture::of(Server::start(Script::new()).await.unwrap(), unreachable, settings());
    let error = fixture.error().await;
    assert!(!shown(&error).contains("planted"), "{}", shown(&error));
    assert_eq!(error.to_string(), "nothing answers at http://127.0.0.1:1", "no path and no query");
    let fixture = Fixture::new(Script::new().then(hello())).await;
    let answer = fixture.stream().await.unwrap();
    assert!(!format!("{answer:?}").contains(PLANTED));
    let heard = listener.heard.lock().unwrap();
    assert!(heard.contains("mock-one"), "the listener hears something");
    assert!(!heard.contains(PLANTED), "{heard}");
}

/// Servers repeat a path that they do not know, and lead elsewhere below it.
#[tokio::test]
async fn secret_in_an_address_is_sent_and_not_repeated() {
    let away = Reply::text(302, "").header("location", "/walnut%2F7/v2");
    let unknown = Reply::json(404, &json!({"error": {"message": "cannot POST /walnut%2F7/chat (walnut/7)"}}));
    for (reply, told) in [
        (away, "mock-one sends the request elsewhere (302 to URL/***/v2), where it is not followed"),
        (unknown, "mock-one answered: 404 not_found: cannot POST /***/chat (***)"),
    ] {
        let mut fixture = Fixture::new(Script::new().otherwise(reply)).await;
        fixture.manifest.endpoint.base_url.push_str("/${OTHER_API_KEY}");
        let lookup = |name: &str| (name == "OTHER_API_KEY").then(|| "walnut/7".to_owned());
        let target = Target { lookup: &lookup, ..fixture.target() };
        let key = Credential::key(Secret::new(PLANTED));
        let asked = fixture.client.complete(&target, fixture.call(), Some(&key), &fixture.cancel).await;
        let error = asked.unwrap_err();
        assert_eq!(error.to_string(), told.replace("URL", &fixture.server.url()));
        assert!(!shown(&error).contains("walnut"), "{}", shown(&error));
        assert!(fixture.server.requests()[0].target.starts_with("/walnut%2F7/chat"));
    }
}

/// A server that leads elsewhere says where, and may put what it was sent into it.
#[tokio::test]
async fn credential_in_a_redirection_is_not_repeated() {
    let to = format!("http://evil.example/{PLANTED}?k={PLANTED}");
    let fixture = Fixture::new(Script::new().otherwise(Reply::text(307, "").header("location", &to))).await;
    let error = fixture.stream().await.unwrap_err();
    let told = "mock-one sends the request elsewhere (307 to http://evil.example/***), where it is not followed";
    assert_eq!(error.to_string(), told);
    assert!(!shown(&error).contains(PLANTED), "{}", shown(&error));
}

/// People put keys into the query of an address under any name, and into headers of their own.
#[tokio::test(start_paused = true)]
async fn what_the_base_address_and_headers_carry_is_sent_and_not_repeated() {
    let quoting =
        "no POST /chat/completions?tenant=walnut%20harbour&short=hut7 (walnut harbour) for lantern-of-blue: hut7";
    let body = json!({"error": {"message": quoting, "code": "walnut harbour", "request_id": "lantern-of-blue"}});
    let mangled =
        "no POST /chat/completions?tenant=[REDACTED]&short=[REDACTED] ([REDACTED]) for [REDACTED]: [REDACTED]";
    for (reply, beginning) in [
        (Reply::json(404, &body), "404 not_found: "),
        (Reply::json(200, &body), ""),
        (Reply::events([format!("data: {body}\n\n")]), ""),
    ] {
        let changes = json!({"provider_contract": {"request_mapping": {"required_headers": [
            {"name": "x-tenant", "value": "${TENANT}"},
        ]}}});
        let mut fixture = Fixture::with(Script::new().otherwise(reply), changes).await;
        fixture.manifest.endpoint.base_url.push_str("?tenant=walnut%20harbour&short=hut7");
        let lookup = |name: &str| (name == "TENANT").then(|| "lantern-of-blue".to_owned());
        let target = Target { lookup: &lookup, ..fixture.target() };
        let error = match fixture.client.stream(&target, fixture.call(), None, &fixture.cancel).await {
            Ok(mut answer) => text(&mut answer).await.unwrap_err(),
            Err(error) => error,
        };
        let CallError::Refused { failure, .. } = &error else { panic!("{error}") };
        let told = failure.to_string();
        assert!(told.contains(beginning) && failure.message == mangled, "{told}");
        for secret in ["walnut", "lantern", "hut7"] {
            assert!(!shown(&error).contains(secret), "{}", shown(&error));
        }
        let request = &fixture.server.requests()[0];
        assert!(request.target.ends_with("/chat/completions?tenant=walnut%20harbour&short=hut7"), "{}", request.target);
        assert!(format!("{request:?}").contains("lantern-of-blue"), "the server got it: {request:?}");
    }
}

/// Some services put a name that only their customer knows before their own.
#[tokio::test]
async fn secret_in_the_name_of_a_host_is_not_repeated_when_it_is_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let not_tls = format!("mock-one cannot be reached: https://***:{port} does not speak TLS");
    for (base_url, told) in [
        ("http://${OTHER_API_KEY}:1".to_owned(), "nothing answers at http://***:1"),
        (format!("https://${{OTHER_API_KEY}}:{port}"), not_tls.as_str()),
    ] {
        let mut fixture = Fixture::new(Script::new()).await;
        fixture.manifest.endpoint.base_url = base_url;
        let lookup = |name: &str| (name == "OTHER_API_KEY").then(|| "127.0.0.1".to_owned());
        let target = Target { lookup: &lookup, ..fixture.target() };
        let asked = fixture.client.complete(&target, fixture.call(), None, &fixture.cancel).await;
        let error = asked.unwrap_err();
        assert_eq!(pi_provider::Cause::of(&error).message, told);
        assert!(!shown(&error).contains("127.0.0.1"), "{}", shown(&error));
    }
    server.await.unwrap();
}

/// Also an answer that is one may repeat the credential, in what is kept of it beside its text.
#[tokio::test]
async fn credential_that_an_answer_repeats_is_not_handed_on() {
    let id = format!("resp-{PLANTED}");
    let calls = json!([{"index": 0, "id": id, "type": "function", "function": {"name": id, "arguments": "{}"}}]);
    let frame = json!({"id": id, "model": id,
        "choices": [{"index": 0, "delta": {"content": "Hi", "tool_calls": calls}, "finish_reason": id}],
        "usage": {"echo": [id]}});
    let streamed = Reply::events([format!("data: {frame}\n\n"), "data: [DONE]\n\n".to_owned()]);
    let message = json!({"id": id, "model": id,
        "choices": [{"index": 0, "message": {"content": "Hi", "tool_calls": calls}, "finish_reason": id}],
        "usage": {"echo": [id]}});
    for reply in [streamed, Reply::json(200, &message)] {
        let reply = reply.header("x-request-id", &id);
        let fixture = Fixture::new(Script::new().otherwise(reply)).await;
        let mut answer = fixture.stream().await.unwrap();
        let mut seen = String::new();
        while let Some(event) = answer.next().await {
            let _ = writeln!(seen, "{:?}", event.unwrap());
        }
        let _ = writeln!(seen, "{:?}", answer.facts());
        assert!(seen.contains("resp-***") && !seen.contains(PLANTED), "{seen}");
        assert_eq!(answer.facts().request_id.as_deref(), Some("resp-***"));
    }
}
