//! What the server says, as data.

use std::time::Duration;

use serde_json::Value;

/// One answer: its steps in order. After the last one the body is complete, unless the connection was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub steps: Vec<Step>,
}

/// One thing that the server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The status line and the headers.
    Head { status: u16, headers: Vec<(String, String)>, framing: Framing },
    /// A piece of the body, written and flushed at once; a chunk of its own where the body is chunked.
    Bytes(Vec<u8>),
    /// Silence, on tokio's clock.
    Wait(Duration),
    /// Silence until the test says [`release`](super::Server::release).
    Hold,
    /// Silence until the client goes away.
    Hang,
    /// Closes the connection as if all had been said.
    Cut,
    /// Closes the connection with a reset.
    Reset,
}

/// How the client knows where the body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    Length(usize),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Not at all, but by the end of the connection.
    Close,
}

impl Reply {
    /// A whole body of JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::whole(status, "application/json", body.to_string().as_bytes())
    }

    pub fn text(status: u16, body: &str) -> Self {
        Self::whole(status, "text/plain; charset=utf-8", body.as_bytes())
    }

    /// A whole body of any kind.
    pub fn whole(status: u16, content_type: &str, body: &[u8]) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let head = Step::Head { status, headers, framing: Framing::Length(body.len()) };
        Self { steps: vec![head, Step::Bytes(body.to_vec())] }
    }

    /// A stream of server-sent events in these pieces.
    pub fn events<P: Into<Vec<u8>>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::stream("text/event-stream", pieces)
    }

    /// A chunked body in these pieces.
    pub fn stream<P: Into<Vec<u8>>>(content_type: &str, pieces: impl IntoIterator<Item = P>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let head = Step::Head { status: 200, headers, framing: Framing::Chunked };
        let pieces = pieces.into_iter().map(|piece| Step::Bytes(piece.into()));
        Self { steps: std::iter::once(head).chain(pieces).collect() }
    }

    /// A body of JSON whose end is told in this way, be it right or not.
    pub fn json_ending(body: &str, framing: Framing) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { steps: vec![Step::Head { status: 200, headers, framing }, Step::Bytes(body.into())] }
    }

    /// Never an answer.
    pub fn hang() -> Self {
        Self { steps: vec![Step::Hang] }
    }

    /// A reset instead of an answer.
    pub fn reset() -> Self {
        Self { steps: vec![Step::Reset] }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        for step in &mut self.steps {
            if let Step::Head { headers, .. } = step {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        self
    }

    /// One more step at the end.
    pub fn and(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// One more step at the beginning.
    pub fn after(mut self, step: Step) -> Self {
        self.steps.insert(0, step);
        self
    }
}
