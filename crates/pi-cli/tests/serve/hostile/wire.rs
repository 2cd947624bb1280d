//! Broken WebSockets, byte by byte, on a bare socket.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::PATIENCE;
use crate::serving::Serving;

/// Shakes hands as a good client would.
async fn shake_hands(serving: &Serving) -> TcpStream {
    let mut stream = TcpStream::connect(&serving.address).await.expect("it listens");
    let head = format!(
        "GET /ws?clientId=raw&lifecycle=none HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        serving.address,
        serving.token()
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut byte = [0];
        let read = timeout(PATIENCE, stream.read(&mut byte)).await.expect("an answer").expect("an answer");
        assert_eq!(read, 1, "it hangs up: {}", String::from_utf8_lossy(&answer));
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream
}

/// A frame as a client sends it: with a mask.
fn framed(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..=125 => frame.push(0x80 | u8::try_from(short).unwrap_or(0)),
        middle @ 126..=65535 => {
            frame.push(0xfe);
            frame.extend(u16::try_from(middle).unwrap_or(0).to_be_bytes());
        }
        long => {
            frame.push(0xff);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.into_iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

const TEXT: u8 = 0x81;
const HEALTH: &[u8] = br#"{"type":"health_check","id":"raw"}"#;

/// What is wrong with a connection.
fn broken(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = framed(TEXT, HEALTH);
    let more = match random.usize(..13) {
        // Not UTF-8, which a text must be.
        0 => framed(TEXT, &[b'{', 0xff, 0xfe, b'}']),
        // Bits and kinds that mean nothing.
        1 => framed(TEXT | 0x70, HEALTH),
        2 => framed(0x83 + random.u8(..5), HEALTH),
        3 => framed(0x8b + random.u8(..5), b""),
        // Control frames that are long or in pieces.
        4 => framed(0x89, &[b'p'; 4000]),
        5 => framed(0x09, b"ping"),
        // A middle without a beginning, a beginning without an end, a beginning in a middle.
        6 => framed(0x80, HEALTH),
        7 => framed(0x01, &HEALTH[..10]),
        8 => [framed(0x01, &HEALTH[..10]), framed(TEXT, HEALTH)].concat(),
        // No mask.
        9 => [[TEXT, u8::try_from(HEALTH.len()).unwrap_or(0)].as_slice(), HEALTH].concat(),
        // Sizes that nobody has, and sizes that never come.
        10 => [[TEXT, 0xff].as_slice(), &(u64::MAX >> random.u8(..40)).to_be_bytes(), &[0; 14]].concat(),
        11 => framed(0x88, &[3]),
        _ => (0..random.usize(1..400)).map(|_| random.u8(..)).collect(),
    };
    if random.bool() {
        bytes = more;
    } else {
        bytes.extend(more);
    }
    if random.u8(..4) == 0 {
        bytes.truncate(random.usize(..=bytes.len()));
    }
    bytes
}

/// Opens a connection, breaks it, and is gone, at once or when the server has closed it.
pub(super) async fn break_socket(serving: &Serving, random: &mut fastrand::Rng) {
    let mut stream = shake_hands(serving).await;
    // It may close before everything is written.
    drop(stream.write_all(&broken(random)).await);
    if random.bool() {
        drop(stream.shutdown().await);
        let mut rest = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "it does not hang up on who hung up");
    }
}

/// Says something that is no HTTP, or no good HTTP.
pub(super) async fn break_http(serving: &Serving, random: &mut fastrand::Rng) {
    let mut stream = TcpStream::connect(&serving.address).await.expect("it listens");
    let said: Vec<u8> = match random.usize(..6) {
        0 => b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        1 => format!("GET /ws HTTP/1.1\r\nHost: {}\r\n\r\n", "h".repeat(60_000)).into_bytes(),
        2 => format!("GET /{} HTTP/1.1\r\n", "%".repeat(5000)).into_bytes(),
        3 => {
            [b"POST /login HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n".as_slice(), &[b'{'; 100]].concat()
        }
        4 => b"POST /login HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: 127.0.0.1\r\n\r\nffffffffffffffff\r\n"
            .to_vec(),
        _ => (0..random.usize(1..400)).map(|_| random.u8(..)).collect(),
    };
    // It may close before everything is written.
    drop(stream.write_all(&said).await);
    drop(stream.shutdown().await);
    let mut rest = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "it does not hang up on who hung up");
}
