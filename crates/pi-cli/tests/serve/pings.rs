//! Clients that send pings: whoever takes the answers may, and whoever does not is closed before they fill the memory.

use std::time::Duration;

use pi_testkit::Script;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::serving::Serving;

const PING: u8 = 9;

#[test]
fn whoever_sends_pings_and_does_not_read_is_closed() {
    let serving = Serving::with(Script::new(), &["--set", "idleCloseMs=300"]);
    serving.block_on(async {
        let mut deaf = bare(&serving).await;
        let ping = [&[0x80 | PING, 0x80 | 125, 0, 0, 0, 0][..], &[b'p'; 125]].concat();
        let many = ping.repeat(1000);
        // More than any buffer between us holds.
        let flood = async { while deaf.write_all(&many).await.is_ok() {} };
        timeout(Duration::from_secs(30), flood).await.expect("it is closed");
        let mut client = serving.connect("").await;
        let mut tries = 0;
        let metrics = loop {
            let metrics = client.ask(&json!({"type": "get_metrics", "id": format!("m{tries}")})).await["data"].clone();
            if metrics["connectionCount"] == 1 {
                break metrics;
            }
            tries += 1;
            assert!(tries < 200, "it is still there: {metrics}");
            sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(metrics["commandsRejected"]["rateLimit"], 1, "{metrics}");
    });
}

/// A WebSocket, byte by byte.
async fn bare(serving: &Serving) -> TcpStream {
    let mut bare = TcpStream::connect(&serving.address).await.expect("it listens");
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
        sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
    let (address, token) = (&serving.address, serving.token());
    let request = format!("GET /ws HTTP/1.1\r\nhost: {address}\r\n{upgrade}\r\nauthorization: Bearer {token}\r\n\r\n");
    bare.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = [0; 12];
    bare.read_exact(&mut answer).await.expect("it answers");
    assert_eq!(&answer, b"HTTP/1.1 101");
    bare
}

/// Reads until these words came; false if the connection ends before.
async fn hears(stream: &mut TcpStream, words: &[u8]) -> bool {
    let (mut heard, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while !heard.windows(words.len()).any(|part| part == words) {
        match stream.read(&mut piece).await {
            Ok(count @ 1..) => heard.extend_from_slice(&piece[..count]),
            Ok(0) | Err(_) => return false,
        }
    }
    true
}

#[test]
fn frame_that_comes_slowly_is_a_sign_of_life() {
    let serving = Serving::with(Script::new(), &["--set", "pingMs=1000", "--set", "idleCloseMs=300"]);
    serving.block_on(async {
        let mut slow = bare(&serving).await;
        let command = format!("{{\"type\":\"health_check\",\"id\":\"slow\"{}}}", " ".repeat(60_000));
        let length = u16::try_from(command.len()).expect("it is short enough");
        // A mask of zeros leaves everything as it is.
        let frame = [&[0x81, 0xfe][..], &length.to_be_bytes(), &[0; 4], command.as_bytes()].concat();
        // Longer than a client may be silent, and no piece of it is a frame.
        for piece in frame.chunks(3_000) {
            slow.write_all(piece).await.expect("it reads");
            sleep(Duration::from_millis(150)).await;
        }
        assert!(hears(&mut slow, br#""id":"slow""#).await, "it was closed");
    });
}

#[test]
fn whoever_says_nothing_is_sent_away_and_that_is_in_the_log() {
    let serving = Serving::prepared_and_logged(Script::new(), |room| {
        crate::room::write(&room.at("agent/settings.json"), br#"{"server": {"pingMs": 1000, "idleCloseMs": 300}}"#);
    });
    serving.block_on(async {
        let mut silent = bare(&serving).await;
        assert!(hears(&mut silent, b"no sign of life").await, "it is told why");
        let told = async {
            while !serving.log().contains("a client is sent away") {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(10), told).await.expect("it is logged");
        assert!(serving.log().contains("Idle"), "{}", serving.log());
    });
}

#[test]
fn whoever_takes_the_answers_may_send_pings() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for round in 0..30 {
            for _ in 0..200 {
                client.ping().await;
            }
            let health = client.ask(&json!({"type": "health_check", "id": format!("h{round}")})).await;
            assert_eq!(health["success"], true, "{health}");
        }
    });
}
