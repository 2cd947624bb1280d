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
        let mut deaf = TcpStream::connect(&serving.address).await.expect("it listens");
        let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
            sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
        let (address, token) = (&serving.address, serving.token());
        let request =
            format!("GET /ws HTTP/1.1\r\nhost: {address}\r\n{upgrade}\r\nauthorization: Bearer {token}\r\n\r\n");
        deaf.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = [0; 12];
        deaf.read_exact(&mut answer).await.expect("it answers");
        assert_eq!(&answer, b"HTTP/1.1 101");
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
