//! Where the events of an answer come from.

use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use reqwest::header::HeaderMap;

use super::{exchange::ReplyBody, prepared::Prepared, seam::EventStream};
use crate::{secret::Carried, stream::Decoder, transport::Inflow};

/// What is still to be read.
pub(super) enum Source {
    Http {
        first: Option<Bytes>,
        rest: Box<Inflow>,
        decoder: Decoder,
    },
    Local {
        pieces: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
        decoder: Decoder,
    },
    Foreign(EventStream),
    /// All of it is here, and was not streamed.
    Whole(Bytes),
    /// A whole answer although a stream was asked for; the rest of it is still to come.
    Unstreamed {
        body: BytesMut,
        rest: Box<Inflow>,
    },
    Over,
}

impl Source {
    pub(super) fn of_reply(body: ReplyBody, prepared: &Prepared, carried: &Carried, headers: &HeaderMap) -> Self {
        match body {
            ReplyBody::Whole(body) => Self::Whole(body),
            ReplyBody::Stream { first, rest } if is_unstreamed(prepared, headers) => {
                Self::Unstreamed { body: first.into(), rest }
            }
            ReplyBody::Stream { first, rest } => {
                Self::Http { first: Some(first), rest, decoder: prepared.decoder(carried) }
            }
        }
    }
}

/// Some servers answer a request for a stream with one object. Where the manifest's own streams are JSON, that is fine.
fn is_unstreamed(prepared: &Prepared, headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let format = prepared.manifest.streaming.as_ref().and_then(|streaming| streaming.decoder.format.as_deref());
    kind.starts_with("application/json") && !format.is_some_and(|format| format.contains("json"))
}
