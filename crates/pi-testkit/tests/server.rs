//! The scripted server against a client that reads raw bytes.

use pi_testkit::{
    Reply, Script, Server,
    server::{Framing, Step},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends a request on a connection of its own and reads all that comes; an error is part of the answer.
async fn ask(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    stream.shutdown().await.expect("it is open");
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).await;
    let mut text = String::from_utf8(answer).expect("it is text");
    if let Err(error) = ended {
        text.push_str(&format!("<{:?}>", error.kind()));
    }
    text
}

const GET: &str = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn replies_come_in_order_by_path_and_then_run_out() {
    let script = Script::new()
        .once("/z", Reply::text(200, "never asked for"))
        .once("/a", Reply::text(429, "first").header("retry-after", "5"))
        .then(Reply::json(200, &json!({"n": 2})));
    let server = Server::start(script).await.unwrap();
    let first = ask(&server, GET).await;
    assert_eq!(
        first,
        "HTTP/1.1 429 scripted\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 5\r\ncontent-length: 5\r\n\r\nfirst"
    );
    assert!(ask(&server, GET).await.ends_with("\r\n\r\n{\"n\":2}"));
    let last = ask(&server, GET).await;
    assert!(last.starts_with("HTTP/1.1 501") && last.ends_with("the script has no reply for GET /a?b=c"), "{last}");
}

#[tokio::test]
async fn requests_are_recorded_whole_and_connections_are_told_apart() {
    let server = Server::start(Script::new().otherwise(Reply::text(200, ""))).await.unwrap();
    let chunked =
        "POST /c?d HTTP/1.1\r\nX-Key: V\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
    let plain = "POST /e HTTP/1.1\r\nContent-Length: 7\r\n\r\n{\"f\":1}";
    ask(&server, &format!("{chunked}{plain}")).await;
    ask(&server, GET).await;
    let requests = server.requests();
    let seen: Vec<(usize, &str, &str, &[u8])> = requests
        .iter()
        .map(|request| (request.connection, request.method.as_str(), request.target.as_str(), request.body.as_slice()))
        .collect();
    assert_eq!(seen, [(0, "POST", "/c?d", &b"abcde"[..]), (0, "POST", "/e", b"{\"f\":1}"), (1, "GET", "/a?b=c", b"")]);
    assert_eq!((requests[0].header("x-KEY"), requests[1].json()), (Some("V"), json!({"f": 1})));
}

#[tokio::test]
async fn pieces_keep_their_boundaries_and_a_cut_leaves_the_body_open() {
    let script = Script::new()
        .then(Reply::events(["data: 1\n", "\nda"]))
        .then(Reply::events(["data: 1\n"]).and(Step::Cut))
        .then(Reply {
            steps: vec![Step::Head { status: 200, headers: vec![], framing: Framing::Length(9) }, Step::Cut],
        });
    let server = Server::start(script).await.unwrap();
    assert!(ask(&server, GET).await.ends_with("chunked\r\n\r\n8\r\ndata: 1\n\r\n3\r\n\nda\r\n0\r\n\r\n"));
    assert!(ask(&server, GET).await.ends_with("chunked\r\n\r\n8\r\ndata: 1\n\r\n"));
    assert!(ask(&server, GET).await.ends_with("content-length: 9\r\n\r\n"));
}

#[tokio::test]
async fn a_reset_is_a_reset_and_leaves_the_server_alive() {
    let server = Server::start(Script::new().then(Reply::reset()).then(Reply::text(200, "ok"))).await.unwrap();
    // Whether the reset is seen while writing or while reading is up to the system.
    let mut stream = TcpStream::connect(server.address()).await.expect("it listens");
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let error = stream.read_to_end(&mut answer).await.expect_err("there is no orderly end");
    assert_eq!((error.kind(), answer), (std::io::ErrorKind::ConnectionReset, vec![]));
    assert!(ask(&server, GET).await.ends_with("ok"));
}

#[tokio::test]
async fn a_held_reply_goes_on_when_it_is_released_and_a_client_that_leaves_is_noticed() {
    let script = Script::new()
        .then(Reply::events(["a"]).and(Step::Hold).and(Step::Bytes(b"b".to_vec())))
        .then(Reply::events(["a"]).and(Step::Hang));
    let server = Server::start(script).await.unwrap();
    let mut stream = TcpStream::connect(server.address()).await.expect("it listens");
    stream.write_all(GET.as_bytes()).await.unwrap();
    let mut answer = vec![0; 512];
    let mut length = 0;
    while !answer[..length].ends_with(b"1\r\na\r\n") {
        length += stream.read(&mut answer[length..]).await.unwrap();
    }
    server.release(1);
    while !answer[..length].ends_with(b"1\r\nb\r\n0\r\n\r\n") {
        length += stream.read(&mut answer[length..]).await.unwrap();
    }
    stream.write_all(GET.as_bytes()).await.unwrap();
    server.received(2).await;
    drop(stream);
    server.abandoned(1).await;
}
