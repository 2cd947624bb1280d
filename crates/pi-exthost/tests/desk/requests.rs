//! `http`: each hop decided, each address checked and pinned.

use std::sync::{Arc, Mutex};

use pi_exthost::{Limits, Output, ProxyFinder, Terms};
use pi_extproto::connector::{
    Call,
    data::Data,
    http::{Header, Request},
    stream::StreamItem,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::stage::{Plan, Script, Stage};

/// A server that answers each request by its path, and remembers what it was asked.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (known, answers) = (Arc::clone(&asked), Arc::new(answers));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (known, answers) = (Arc::clone(&known), Arc::clone(&answers));
                tokio::spawn(async move {
                    let mut bytes = vec![0; 64 << 10];
                    let mut length = 0;
                    while !bytes[..length].windows(4).any(|end| end == b"\r\n\r\n") {
                        match stream.read(&mut bytes[length..]).await {
                            Ok(0) | Err(_) => return,
                            Ok(count) => length += count,
                        }
                    }
                    let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
                    known.lock().expect("no panic").push(text);
                    let _ = stream.write_all(answers(&path).as_bytes()).await;
                });
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn get(url: &str) -> Value {
    json!({ "method": "GET", "url": url, "headers": [], "follow_redirects": true, "stream": false })
}

/// A guest to whom these hosts are granted, and names that lead where the script says.
fn plan(hosts: &[String], script: Script) -> Plan {
    let grants = json!({ "g1": [{ "capability": "http", "scope": { "hosts": hosts } }] });
    Plan { policy: json!({ "mode": "strict", "grants": grants }), resolver: Arc::new(script), ..Plan::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_and_answer_pass_whole() {
    let server = Server::start(|_| answer("201 Created", "x-it: works\r\n", "made")).await;
    let host = format!("api.test:{}", server.port);
    let stage = Stage::new(plan(std::slice::from_ref(&host), Script::default().with("api.test", &[&["127.0.0.1"]])));
    let request = Request {
        method: "put".to_owned(),
        url: format!("http://{host}/thing?q=1"),
        headers: vec![Header { name: "X-Own".to_owned(), value: "yes".to_owned() }],
        body: Some(Data::from("body")),
        timeout_ms: None,
        follow_redirects: false,
        stream: false,
    };
    let output = stage.desk.call(Call::Http(request), Terms::background()).await;
    let Ok(Output::Response(response)) = output else { panic!("{output:?}") };
    assert_eq!((response.head.status, response.body), (201, Data::from("made")));
    assert!(response.head.headers.contains(&Header { name: "x-it".to_owned(), value: "works".to_owned() }));
    let asked = server.asked().remove(0).to_ascii_lowercase();
    for part in ["put /thing?q=1 http/1.1", "x-own: yes", &format!("host: {host}"), "content-length: 4"] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_are_refused_however_they_are_written() {
    let names = Script::default()
        .with("public.example.org", &[&["127.0.0.1"]])
        .with("mixed.example.org", &[&["93.184.216.34", "10.0.0.1"]])
        .with("mapped.example.org", &[&["::ffff:169.254.169.254"]])
        .with("shared.example.org", &[&["100.64.0.1"]])
        .with("metadata.example.org", &[&["169.254.169.254"]]);
    let stage = Stage::new(Plan { resolver: Arc::new(names), ..Plan::default() });
    for url in [
        "http://public.example.org/",
        "http://mixed.example.org/",
        "http://mapped.example.org/",
        "http://shared.example.org/",
        "http://metadata.example.org/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.0.1/",
        "http://localhost/",
    ] {
        let result = stage.ask("http", get(url)).await;
        let error = result.error.unwrap_or_else(|| panic!("{url} was answered"));
        assert_eq!(json!(error.code), "denied", "{url}: {}", error.message);
    }
    for url in ["http://2130706433/", "http://0x7f.0.0.1/", "http://127.1/", "http://user@public.example.org/"] {
        let error = stage.ask("http", get(url)).await.error.unwrap_or_else(|| panic!("{url} was answered"));
        assert_eq!(json!(error.code), "invalid_request", "{url}: {}", error.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn name_that_leads_elsewhere_a_moment_later_leads_nowhere() {
    let server = Server::start(|_| answer("200 OK", "", "inside")).await;
    // Public when it is asked for, private ever after.
    let script = Script::default().with("rebind.example.org", &[&["203.0.114.1"], &["127.0.0.1"]]);
    let limits = Limits { request_time: std::time::Duration::from_millis(500), ..Limits::default() };
    let stage = Stage::new(Plan { resolver: Arc::new(script), limits, ..Plan::default() });
    let url = format!("http://rebind.example.org:{}/", server.port);
    let first = stage.ask("http", get(&url)).await.error.expect("nobody is there");
    assert_ne!(json!(first.code), "denied", "{}", first.message);
    let second = stage.ask("http", get(&url)).await.error.expect("it leads inside now");
    assert_eq!(json!(second.code), "denied", "{}", second.message);
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_decided_anew_and_carry_no_credentials_elsewhere() {
    let inside = Server::start(|_| answer("200 OK", "", "inside")).await;
    let port = inside.port;
    let server = Server::start(move |path| match path {
        "/away" => answer("302 Found", &format!("location: http://127.0.0.1:{port}/secret\r\n"), ""),
        "/other" => answer("307 Temporary Redirect", &format!("location: http://other.test:{port}/x\r\n"), ""),
        "/loop" => answer("302 Found", "location: /loop\r\n", ""),
        _ => answer("303 See Other", "location: /away\r\n", ""),
    })
    .await;
    let hosts = [format!("a.test:{}", server.port), format!("other.test:{port}")];
    let script = Script::default().with("a.test", &[&["127.0.0.1"]]).with("other.test", &[&["127.0.0.1"]]);
    let limits = Limits { redirects: 3, ..Limits::default() };
    let stage = Stage::new(Plan { limits, ..plan(&hosts, script) });
    let at = |path: &str| format!("http://a.test:{}{path}", server.port);

    let denied = stage.ask("http", get(&at("/away"))).await.error.expect("not granted");
    assert_eq!(json!(denied.code), "denied", "{}", denied.message);
    assert_eq!(inside.asked(), Vec::<String>::new());

    let mut request = get(&at("/other"));
    request["headers"] = json!([{ "name": "authorization", "value": "Bearer x" }, { "name": "x-kept", "value": "y" }]);
    let result = stage.ask("http", request).await;
    assert_eq!(result.output["body"], json!({ "text": "inside" }), "{:?}", result.error);
    let asked = inside.asked().remove(0).to_ascii_lowercase();
    assert!(asked.contains("x-kept: y") && !asked.contains("bearer"), "{asked}");

    let error = stage.ask("http", get(&at("/loop"))).await.error.expect("it never ends");
    assert_eq!(error.message, "the request was sent on more than 3 times");
    let mut request = get(&at("/away"));
    request["follow_redirects"] = json!(false);
    assert_eq!(stage.ask("http", request).await.output["head"]["status"], json!(302));
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_is_asked_for_what_is_public_and_for_nothing_else() {
    let proxy = Server::start(|_| answer("200 OK", "", "by proxy")).await;
    let inside = Server::start(|_| answer("200 OK", "", "straight")).await;
    let hosts = ["public.example.org".to_owned(), format!("inside.test:{}", inside.port)];
    let script = Script::default()
        .with("public.example.org", &[&["93.184.216.34"]])
        .with("private.example.org", &[&["10.0.0.1"]])
        .with("inside.test", &[&["127.0.0.1"]]);
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let finder: ProxyFinder = Arc::new(move |_| Some(address.clone()));
    let stage = Stage::new(Plan { proxy: Some(finder), ..plan(&hosts, script) });
    let public = stage.ask("http", get("http://public.example.org/x")).await;
    assert_eq!(public.output["body"], json!({ "text": "by proxy" }), "{:?}", public.error);
    let straight = stage.ask("http", get(&format!("http://inside.test:{}/y", inside.port))).await;
    assert_eq!(straight.output["body"], json!({ "text": "straight" }), "{:?}", straight.error);
    let refused = stage.ask("http", get("http://private.example.org/z")).await.error.expect("it is not granted");
    assert_eq!(json!(refused.code), "denied", "{}", refused.message);
    assert!(proxy.asked()[0].starts_with("GET http://public.example.org/x HTTP/1.1"), "{:?}", proxy.asked());
    assert_eq!((proxy.asked().len(), inside.asked().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_the_connection_are_ours() {
    let server = Server::start(|_| answer("200 OK", "", "ok")).await;
    let host = format!("api.test:{}", server.port);
    let script = Script::default().with("api.test", &[&["127.0.0.1"]]);
    let stage = Stage::new(plan(std::slice::from_ref(&host), script));
    let with = |name: &str, value: &str| {
        let mut request = get(&format!("http://{host}/"));
        request["headers"] = json!([{ "name": name, "value": value }]);
        request
    };
    for (name, value) in [("Content-Length", "999"), ("Transfer-Encoding", "chunked"), ("Host", &host)] {
        assert!(stage.ask("http", with(name, value)).await.error.is_none(), "{name}");
    }
    for asked in server.asked() {
        let asked = asked.to_ascii_lowercase();
        assert!(
            !asked.contains("length: 999") && !asked.contains("chunked") && asked.matches("host:").count() == 1,
            "{asked}"
        );
    }
    let other = stage.told("http", with("Host", "inside.test")).await;
    assert_eq!(other, "invalid_request params.headers: Host would speak to another than the URL");
    let split = stage.told("http", with("x", "a\r\nb: c")).await;
    assert_eq!(split, "invalid_request params.headers: x cannot be sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_bounded_and_streams_come_in_pieces() {
    let server = Server::start(|_| answer("200 OK", "", &"x".repeat(5000))).await;
    let host = format!("big.test:{}", server.port);
    let limits = Limits { output_bytes: 1000, ..Limits::default() };
    let script = Script::default().with("big.test", &[&["127.0.0.1"]]);
    let stage = Stage::new(Plan { limits, ..plan(std::slice::from_ref(&host), script) });
    let error = stage.ask("http", get(&format!("http://{host}/"))).await.error.expect("too large");
    assert_eq!(error.message, "the answer has more than 1000 bytes; ask for a stream");
    let request = Request {
        method: "GET".to_owned(),
        url: format!("http://{host}/"),
        headers: Vec::new(),
        body: None,
        timeout_ms: None,
        follow_redirects: true,
        stream: true,
    };
    let mut feed = stage.desk.open(Call::Http(request), Terms::background());
    let mut shapes = String::new();
    let mut bytes = 0;
    while let Some(item) = feed.next().await {
        match item.expect("no error") {
            StreamItem::Head(head) => shapes.push_str(&head.status.to_string()),
            StreamItem::Piece(piece) => bytes += piece.data.0.len(),
            StreamItem::End(end) => shapes.push_str(if end.truncated { " cut" } else { " end" }),
        }
    }
    assert_eq!((shapes.as_str(), bytes), ("200 end", 5000));
}
