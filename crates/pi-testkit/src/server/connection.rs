//! One connection: requests are read, replies are written, and a client that goes away is noticed.

use std::{io, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    Request, Shared,
    reply::{Framing, Reply, Step},
};

/// A request larger than this is a fault of the test.
const LARGEST: usize = 64 << 20;

/// Where a reply left the connection.
enum After {
    /// The next request may follow.
    Open,
    Closed,
}

/// Serves one client to its end. Errors of the socket end the connection, which is all that a client sees of them.
pub(super) async fn serve(mut stream: TcpStream, number: usize, shared: Arc<Shared>) {
    // Pieces are to arrive as they are written.
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer, number).await {
        let reply = shared.receive(request);
        match play(&mut stream, &reply, &shared).await {
            Ok(After::Open) => {}
            Ok(After::Closed) => return,
            Err(_) => {
                shared.abandon();
                return;
            }
        }
    }
}

async fn play(stream: &mut TcpStream, reply: &Reply, shared: &Shared) -> io::Result<After> {
    let (mut chunked, mut closes) = (false, false);
    for step in &reply.steps {
        match step {
            Step::Head { status, headers, framing } => {
                (chunked, closes) = (*framing == Framing::Chunked, *framing == Framing::Close);
                stream.write_all(&head(*status, headers, *framing)).await?;
            }
            Step::Bytes(bytes) if chunked && bytes.is_empty() => {}
            Step::Bytes(bytes) if chunked => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                stream.write_all(&chunk).await?;
            }
            Step::Bytes(bytes) => stream.write_all(bytes).await?,
            Step::Wait(time) => {
                tokio::select! {
                    () = tokio::time::sleep(*time) => {}
                    error = gone(stream) => return Err(error),
                }
            }
            Step::Hold => {
                tokio::select! {
                    permit = shared.releases.acquire() => permit.map_err(io::Error::other)?.forget(),
                    error = gone(stream) => return Err(error),
                }
            }
            Step::Hang => return Err(gone(stream).await),
            Step::Cut => return stream.shutdown().await.map(|()| After::Closed),
            Step::Reset => return stream.set_zero_linger().map(|()| After::Closed),
        }
    }
    if chunked {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    if closes {
        return stream.shutdown().await.map(|()| After::Closed);
    }
    Ok(After::Open)
}

/// Waits until the client closes the connection. Clients that send more in the middle of a reply do not exist here.
async fn gone(stream: &TcpStream) -> io::Error {
    let mut byte = [0];
    match stream.peek(&mut byte).await {
        Ok(0) => io::ErrorKind::ConnectionAborted.into(),
        Ok(_) => io::Error::other("the client did not wait for its reply"),
        Err(error) => error,
    }
}

fn head(status: u16, headers: &[(String, String)], framing: Framing) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} scripted\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match framing {
        Framing::Length(length) => head.push_str(&format!("content-length: {length}\r\n\r\n")),
        Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n\r\n"),
        Framing::Close => head.push_str("connection: close\r\n\r\n"),
    }
    head.into_bytes()
}

/// The next request, or `None` if the client has said its last. `buffer` keeps what belongs to the one after it.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>, number: usize) -> io::Result<Option<Request>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if !more(stream, buffer).await? {
            return Ok(None);
        }
    };
    let head: Vec<u8> = buffer.drain(..end).collect();
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
    let mut first = lines.next().unwrap_or_default().splitn(3, ' ').map(str::to_owned);
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request { connection: number, method, target, headers, body: Vec::new() };
    if request.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    request.body = if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        read_chunks(stream, buffer).await?
    } else {
        let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        take(stream, buffer, length).await?
    };
    Ok(Some(request))
}

async fn read_chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(2).position(|window| window == b"\r\n") {
                break at + 2;
            }
            if !more(stream, buffer).await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let mut chunk = take(stream, buffer, size + 2).await?;
        if size == 0 {
            return Ok(body);
        }
        chunk.truncate(size);
        body.append(&mut chunk);
    }
}

/// Exactly so many bytes.
async fn take(stream: &mut TcpStream, buffer: &mut Vec<u8>, length: usize) -> io::Result<Vec<u8>> {
    if length > LARGEST {
        return Err(io::Error::other("the request is too large"));
    }
    while buffer.len() < length {
        if !more(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

/// Reads on; `false` at the end.
async fn more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 16 << 10];
    let read = stream.read(&mut piece).await?;
    buffer.extend_from_slice(&piece[..read]);
    Ok(read > 0)
}
