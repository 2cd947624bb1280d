//! Who may come in.

use pi_testkit::{Client, Script, client::refused};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::serving::Serving;

async fn status(url: &str, token: Option<&str>) -> u16 {
    match Client::connect(url, token).await {
        Ok(_) => 101,
        Err(error) => refused(&error).unwrap_or_else(|other| panic!("no answer: {other}")),
    }
}

/// One request as it stands; the status and the body.
async fn http(serving: &Serving, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&serving.address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (status, body)
}

fn get(path: &str, host: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n")
}

#[test]
fn only_the_token_lets_a_client_in() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        assert_eq!(status(&serving.url(""), Some(&serving.token())).await, 101);
        assert_eq!(status(&serving.url(""), Some("wrong")).await, 401);
        assert_eq!(status(&serving.url(""), None).await, 401);
        assert_eq!(status(&serving.url("?lifecycle=some"), Some(&serving.token())).await, 400);
    });
}

#[test]
fn health_needs_no_token_but_the_right_host() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let own = serving.address.clone();
        assert_eq!(http(&serving, &get("/healthz", &own, "")).await, (200, "ok\n".to_owned()));
        assert_eq!(http(&serving, &get("/healthz", "evil.example", "")).await.0, 403);
        assert_eq!(http(&serving, &get("/readyz", &own, "")).await.0, 401);
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (status, body) = http(&serving, &get("/readyz", &own, &token)).await;
        assert_eq!((status, body.as_str()), (200, r#"{"ready":true,"problems":[]}"#));
        let (status, body) = http(&serving, &get("/metrics", &own, &token)).await;
        assert_eq!(status, 200);
        assert!(body.contains("pi_server_sessions 0"), "{body}");
    });
}

#[test]
fn pages_of_other_sites_are_turned_away_even_with_the_token() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let own = serving.address.clone();
        let more = format!("authorization: Bearer {}\r\norigin: https://evil.example\r\n", serving.token());
        assert_eq!(http(&serving, &get("/metrics", &own, &more)).await.0, 403);
    });
}

#[test]
fn without_auth_this_machine_comes_in_and_nobody_else_is_served() {
    let serving = Serving::with(Script::new(), &["--insecure-no-auth"]);
    serving.block_on(async { assert_eq!(status(&serving.url(""), None).await, 101) });
    let mut open = serving.room.pi_to(&["serve"]);
    open.args(["--listen", "0.0.0.0:0", "--insecure-no-auth"]);
    let refused = open.output().expect("it starts");
    assert!(!refused.status.success());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("without a token only this machine may be served"), "{told}");
}
