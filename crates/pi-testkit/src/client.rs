//! A client of a pi server, as bare as can be: it sends frames, and waits for frames that are like what is expected.
//!
//! It knows WebSocket and JSON and nothing of the protocol's meaning, so that a server which gets that wrong is found out.

use std::{io, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        http::{HeaderValue, header::AUTHORIZATION},
        protocol::{
            CloseFrame,
            frame::{Frame, coding::OpCode},
        },
    },
};

/// Nobody waits longer for a frame: a test that does has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection.
pub struct Client {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// Everything that was received and not asked for yet, in order.
    seen: Vec<Value>,
    closed: Option<Option<CloseFrame>>,
}

impl Client {
    /// Connects to `url`, with a token or without.
    pub async fn connect(url: &str, token: Option<&str>) -> Result<Self, Box<Error>> {
        let mut request = url.into_client_request()?;
        if let Some(token) = token {
            let value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|error| Error::HttpFormat(error.into()))?;
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let (socket, _) = connect_async(request).await.map_err(Box::new)?;
        Ok(Self { socket, seen: Vec::new(), closed: None })
    }

    pub async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    /// Sends a frame to a server that may be gone.
    pub async fn try_send(&mut self, frame: &Value) -> Result<(), Box<Error>> {
        self.socket.send(Message::text(frame.to_string())).await.map_err(Box::new)
    }

    /// The same with any text.
    pub async fn try_send_text(&mut self, text: &str) -> Result<(), Box<Error>> {
        self.socket.send(Message::text(text)).await.map_err(Box::new)
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("the server takes frames");
    }

    pub async fn send_bytes(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).await.expect("the server takes frames");
    }

    /// The next frame that fits, whatever came before it. What came before is still there.
    pub async fn expect(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(place) = self.seen.iter().position(&fits) {
                return self.seen.remove(place);
            }
            if !self.read(PATIENCE).await {
                panic!("no frame is {what}; seen: {:#?}", self.seen);
            }
        }
    }

    /// Everything that came and was not asked for yet, in order.
    pub fn seen(&self) -> &[Value] {
        &self.seen
    }

    /// The answer to the command with this id.
    pub async fn answer(&mut self, id: &str) -> Value {
        let what = format!("the response to {id}");
        self.expect(&what, |frame| frame["type"] == "response" && frame["id"] == id).await
    }

    /// Sends a command and waits for its answer.
    pub async fn ask(&mut self, frame: &Value) -> Value {
        self.send(frame).await;
        let id = frame["id"].as_str().expect("a command that is waited for has an id").to_owned();
        self.answer(&id).await
    }

    /// The next frame, whatever it is.
    pub async fn next(&mut self) -> Option<Value> {
        self.next_within(PATIENCE).await
    }

    /// The next frame, if one comes so soon.
    pub async fn next_within(&mut self, patience: Duration) -> Option<Value> {
        if self.seen.is_empty() && !self.read(patience).await {
            return None;
        }
        Some(self.seen.remove(0))
    }

    /// Everything that has come by now, and comes within `quiet` of the last.
    pub async fn rest(&mut self, quiet: Duration) -> Vec<Value> {
        while self.read(quiet).await {}
        std::mem::take(&mut self.seen)
    }

    /// How the server closed the connection; waits for it.
    pub async fn closed(&mut self) -> Option<CloseFrame> {
        while self.closed.is_none() {
            if !self.read(PATIENCE).await && self.closed.is_none() {
                panic!("the server does not close the connection");
            }
        }
        self.closed.clone().flatten()
    }

    /// Sends a ping; the answer is read with whatever comes next.
    pub async fn ping(&mut self) {
        self.socket.send(Message::Ping(Vec::new().into())).await.expect("the server takes pings");
    }

    /// Sends a frame that is against the rules.
    pub async fn send_nonsense(&mut self, opcode: u8, bytes: Vec<u8>) {
        let frame = Frame::message(bytes, OpCode::from(opcode), true);
        self.socket.send(Message::Frame(frame)).await.expect("the server takes frames");
    }

    /// Says goodbye with this code; [`Self::closed`] waits for the answer.
    pub async fn say_goodbye(&mut self, code: u16) {
        let frame = CloseFrame { code: code.into(), reason: "".into() };
        self.socket.close(Some(frame)).await.expect("the server listens");
    }

    /// Closes it as a good client does.
    pub async fn close(mut self) -> Result<(), Box<Error>> {
        self.socket.close(None).await.map_err(Box::new)
    }

    /// Whether something came in time.
    async fn read(&mut self, patience: Duration) -> bool {
        if self.closed.is_some() {
            return false;
        }
        loop {
            let message = match timeout(patience, self.socket.next()).await {
                Err(_) => return false,
                Ok(None | Some(Err(_))) => {
                    self.closed = Some(None);
                    return false;
                }
                Ok(Some(Ok(message))) => message,
            };
            match message {
                Message::Text(text) => {
                    self.seen.push(serde_json::from_str(&text).expect("the server speaks JSON"));
                    return true;
                }
                Message::Close(frame) => {
                    self.closed = Some(frame);
                    return false;
                }
                Message::Binary(_) => panic!("the server speaks text"),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// The status with which a server refused the connection.
pub fn refused(error: &Error) -> io::Result<u16> {
    match error {
        Error::Http(response) => Ok(response.status().as_u16()),
        other => Err(io::Error::other(other.to_string())),
    }
}
