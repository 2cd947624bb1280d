//! One client on a WebSocket.

use std::{io, sync::Arc};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code};
use bytes::Bytes;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use pi_wire::event::ClosingReason;
use tokio::time::{Instant, interval_at, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use super::traffic::{Progress, Traffic};
use crate::{
    client::Client,
    hall::Counts,
    outbox::Outbox,
    server::Server,
    settings::Heartbeat,
    speaker::{End, Transport, speak},
};

/// How many pings may come before a pong does. Each is answered, and the answers of a client that does not read wait in memory:
/// halfway it is asked for a sign that it reads.
const MOST_PINGS: usize = 2_000;

/// Serves a client until either end closes.
pub(super) async fn serve(server: Arc<Server>, client: Client, socket: WebSocket, traffic: Arc<Traffic>) {
    let (sink, mut stream) = socket.split();
    let (connection, hall) = (Arc::clone(&client.connection), Arc::clone(&client.hall));
    let (pace, heartbeat) = (hall.settings.pace, hall.settings.heartbeat);
    let outbox = Arc::clone(&connection.outbox);
    tracing::info!(connection = connection.id.0, "a client came in");
    let mut voice = Voice { sink };
    let (heard, told) = {
        let speaking = async {
            let end = speak(&outbox, &mut voice, &hall, pace).await;
            if let End::Closed(reason) = end {
                voice.close(reason).await;
            }
        };
        let mut speaking = std::pin::pin!(speaking);
        let heard = tokio::select! {
            () = &mut speaking => None,
            heard = listen(&client, &mut stream, heartbeat, &traffic) => Some(heard),
        };
        let mut told = Told::Everything;
        if let Some(Heard::Enough(_)) = heard {
            // What is to be said is said, to a client that still listens: as long as it takes something.
            let mut progress = Progress::new(&traffic);
            while timeout(heartbeat.patience, &mut speaking).await.is_err() {
                if !progress.look() {
                    told = Told::NotTheReason;
                    break;
                }
            }
        }
        (heard, told)
    };
    if let Some(Heard::Enough(reason)) = heard {
        let client = connection.identity.client.as_str().escape_debug();
        tracing::info!(connection = connection.id.0, %client, ?reason, ?told, "a client is sent away");
    }
    let goodbye = async {
        match heard {
            // Reading on sends the answer to its goodbye, and nothing else may follow.
            Some(Heard::Goodbye) => while stream.next().await.is_some() {},
            Some(Heard::Nonsense(code)) => voice.say_goodbye(code, "this is no WebSocket message").await,
            Some(Heard::Enough(_)) | None => {}
        }
    };
    drop(timeout(heartbeat.patience, goodbye).await);
    server.leave(&connection);
    tracing::info!(connection = connection.id.0, "a client left");
}

/// Why no more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// The client has closed the connection, or it broke.
    Goodbye,
    /// We close it.
    Enough(ClosingReason),
    /// What came is against the rules of WebSockets; this code says which.
    Nonsense(u16),
}

/// Whether a client that is sent away could be told why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Everything,
    /// It took nothing more, so that nothing could be said to it.
    NotTheReason,
}

/// What a ping is made of beside what it says: two bytes, and a mask of four.
const PING_HEAD: usize = 6;

/// Takes frames until the client closes or shows no sign of life. A frame that comes or is taken piece by piece is one.
async fn listen(
    client: &Client,
    stream: &mut SplitStream<WebSocket>,
    heartbeat: Heartbeat,
    traffic: &Traffic,
) -> Heard {
    let mut progress = Progress::new(traffic);
    let mut beats = interval_at(Instant::now() + heartbeat.every, heartbeat.every);
    let mut heard = Instant::now();
    let patience = heartbeat.every + heartbeat.patience;
    // Moved on when it is due, and not for every frame.
    let mut silence = std::pin::pin!(sleep_until(heard + patience));
    let outbox = &client.connection.outbox;
    let mut pings = 0;
    loop {
        // Who does not take his answers is asked for no more commands; who takes some of them is not too slow.
        while !outbox.has_room() {
            if timeout(patience, outbox.progress()).await.is_err() && !progress.look() {
                return enough(outbox, ClosingReason::TooSlow);
            }
            heard = Instant::now();
        }
        let message = tokio::select! {
            message = stream.next() => message,
            _ = beats.tick() => {
                outbox.ping();
                continue;
            }
            () = &mut silence => {
                if heard + patience <= Instant::now() {
                    if !progress.look() {
                        return enough(outbox, ClosingReason::Idle);
                    }
                    heard = Instant::now();
                }
                silence.as_mut().reset(heard + patience);
                continue;
            }
        };
        // A ping says that somebody sends, and not that he hears what he is sent.
        match &message {
            Some(Ok(Message::Ping(said))) => progress.pass_over(PING_HEAD + said.len()),
            Some(_) | None => {
                heard = Instant::now();
                progress.look();
            }
        }
        let taken = match message {
            Some(Ok(Message::Text(text))) => client.hear(text.as_bytes()).await,
            Some(Ok(Message::Binary(bytes))) => client.hear(&bytes).await,
            Some(Ok(Message::Ping(_))) => {
                pings += 1;
                if pings == MOST_PINGS / 2 {
                    outbox.ping();
                }
                if pings > MOST_PINGS {
                    Counts::count(&client.hall.counts.refused_rate);
                    tracing::info!(connection = client.connection.id.0, "a client sends pings and takes no answers");
                    return enough(outbox, ClosingReason::TooSlow);
                }
                Ok(())
            }
            // Everything that was sent before what it answers was taken.
            Some(Ok(Message::Pong(_))) => {
                pings = 0;
                Ok(())
            }
            Some(Err(error)) if is_too_large(&error) => {
                tracing::info!(connection = client.connection.id.0, %error, "a frame is too large to be read");
                return enough(outbox, ClosingReason::TooLarge);
            }
            Some(Err(error)) => return broken(&error),
            Some(Ok(Message::Close(_))) | None => return Heard::Goodbye,
        };
        if taken.is_err() {
            return enough(outbox, ClosingReason::ShuttingDown);
        }
    }
}

fn enough(outbox: &Outbox, reason: ClosingReason) -> Heard {
    outbox.close(reason);
    Heard::Enough(reason)
}

fn is_too_large(error: &axum::Error) -> bool {
    matches!(inner(error), Some(tungstenite::Error::Capacity(_)))
}

/// What an error of the connection means.
fn broken(error: &axum::Error) -> Heard {
    match inner(error) {
        Some(tungstenite::Error::Utf8(_)) => Heard::Nonsense(close_code::INVALID),
        Some(tungstenite::Error::Protocol(fault)) if !matches!(fault, ProtocolError::ResetWithoutClosingHandshake) => {
            Heard::Nonsense(close_code::PROTOCOL)
        }
        Some(_) | None => Heard::Goodbye,
    }
}

fn inner(error: &axum::Error) -> Option<&tungstenite::Error> {
    std::error::Error::source(error).and_then(|source| source.downcast_ref())
}

/// The writing half.
struct Voice {
    sink: SplitSink<WebSocket, Message>,
}

impl Voice {
    async fn close(&mut self, reason: ClosingReason) {
        let (code, text) = match reason {
            ClosingReason::TooSlow => (close_code::POLICY, "too slow"),
            ClosingReason::Idle => (close_code::AWAY, "no sign of life"),
            ClosingReason::TooLarge => (close_code::SIZE, "the frame is too large"),
            ClosingReason::ShuttingDown => (close_code::AWAY, "Server shutting down"),
        };
        self.say_goodbye(code, text).await;
    }

    async fn say_goodbye(&mut self, code: u16, text: &'static str) {
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(text) };
        // Who is gone needs no goodbye.
        drop(self.sink.send(Message::Close(Some(frame))).await);
    }
}

impl Transport for Voice {
    async fn send(&mut self, frame: Bytes) -> io::Result<()> {
        let text = Utf8Bytes::try_from(frame).map_err(io::Error::other)?;
        self.sink.feed(Message::Text(text)).await.map_err(io::Error::other)
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.sink.flush().await.map_err(io::Error::other)
    }

    async fn ping(&mut self) -> io::Result<()> {
        self.sink.send(Message::Ping(Bytes::new())).await.map_err(io::Error::other)
    }
}
