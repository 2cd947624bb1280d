//! The model that is always there: prepared answers about pi, calls of tools on request, nothing else.
//!
//! It stands where a server would: [`answer`] takes the bytes of a Chat Completions request and gives the bytes that such
//! a server sends, so that building requests, decoding streams and putting answers together are the same as for every other
//! provider. It is pure and says the same to the same request. What it knows is in `demo/knowledge.yaml`, how it hears that
//! a tool is wanted in `demo/tools.yaml`.

mod call;
mod knowledge;
mod request;
mod schema;
mod talk;
mod wire;
mod words;

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use self::request::Request;

/// What the demo model's server would send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    /// The body; one piece for each event of a stream.
    pub pieces: Vec<Bytes>,
}

/// Answers the body of a Chat Completions request. A body that is none gets an error in the form of that interface.
pub fn answer(body: &[u8]) -> Answer {
    let request = match Request::read(body) {
        Ok(request) => request,
        Err(fault) => {
            return Answer {
                status: fault.status,
                content_type: "application/json",
                pieces: vec![wire::error(&fault)],
            };
        }
    };
    let reply = talk::reply(&request);
    if request.streams {
        Answer { status: 200, content_type: "text/event-stream", pieces: wire::streamed(&request, &reply) }
    } else {
        Answer { status: 200, content_type: "application/json", pieces: vec![wire::whole(&request, &reply)] }
    }
}

impl Answer {
    /// The whole body.
    pub fn body(&self) -> Bytes {
        self.pieces.concat().into()
    }

    /// The pieces with a pause before each but the first, as if somebody were writing. Dropping the stream ends it.
    pub fn into_stream(self, pause: Duration) -> impl Stream<Item = Bytes> + Send {
        stream::iter(self.pieces.into_iter().enumerate()).then(move |(at, piece)| async move {
            if at > 0 && !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            piece
        })
    }
}
