//! Where the events of an answer come from.

use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use reqwest::header::HeaderMap;
use serde::de::IgnoredAny;

use super::{exchange::ReplyBody, prepared::Prepared, seam::EventStream};
use crate::{
    manifest::Manifest,
    secret::Carried,
    stream::{Decoder, framing::Form},
    transport::Inflow,
};

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
            ReplyBody::Whole(body) if is_streamed(prepared, headers, &body) => {
                let pieces = Box::pin(futures_util::stream::iter([body]));
                Self::Local { pieces, decoder: prepared.decoder(carried) }
            }
            ReplyBody::Whole(body) => Self::Whole(body),
            ReplyBody::Stream { first, rest } if is_unstreamed(prepared, headers, &first) => {
                Self::Unstreamed { body: first.into(), rest }
            }
            ReplyBody::Stream { first, rest } => {
                Self::Http { first: Some(first), rest, decoder: prepared.decoder(carried) }
            }
        }
    }

    /// Takes what was called an object for a stream, once it begins like one.
    pub(super) fn reconsider(&mut self, prepared: &Prepared, carried: &Carried) {
        let Self::Unstreamed { body, .. } = self else { return };
        let decoder = prepared.manifest.streaming.as_ref().map(|streaming| &streaming.decoder);
        if !matches!(decoder.map_or(Form::Sse, Form::of), Form::Sse) || !begins_with_field(body) {
            return;
        }
        if let Self::Unstreamed { body, rest } = std::mem::replace(self, Self::Over) {
            *self = Self::Http { first: Some(body.freeze()), rest, decoder: prepared.decoder(carried) };
        }
    }

    /// Whether it comes in pieces.
    pub(super) fn is_streamed(&self) -> bool {
        match self {
            Self::Http { .. } | Self::Local { .. } | Self::Foreign(_) => true,
            Self::Whole(_) | Self::Unstreamed { .. } | Self::Over => false,
        }
    }
}

/// Some servers know nothing but streams, and answer with one whatever they were asked for.
fn is_streamed(prepared: &Prepared, headers: &HeaderMap, body: &[u8]) -> bool {
    let decoder = prepared.manifest.streaming.as_ref().map(|streaming| &streaming.decoder);
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let body = without_mark(body).trim_ascii_start();
    match decoder.map_or(Form::Sse, Form::of) {
        Form::Sse => {
            let begins =
                kind.starts_with("text/event-stream") || body.starts_with(b"data:") || body.starts_with(b"event:");
            begins && !body.starts_with(b"{")
        }
        Form::Delimited { .. } => is_in_lines(body),
        Form::JsonArray => false,
    }
}

/// Whether there is a document in the first line, and another behind it.
fn is_in_lines(body: &[u8]) -> bool {
    let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let is_document = |line: &[u8]| serde_json::from_slice::<IgnoredAny>(line).is_ok();
    lines.next().is_some_and(is_document) && lines.next().is_some()
}

/// Some servers answer a request for a stream with one object, whatever they call it, and some call a stream an object. Where
/// the manifest's own streams are JSON, that is fine.
fn is_unstreamed(prepared: &Prepared, headers: &HeaderMap, first: &[u8]) -> bool {
    let decoder = prepared.manifest.streaming.as_ref().map(|streaming| &streaming.decoder);
    if decoder.and_then(|decoder| decoder.format.as_deref()).is_some_and(|format| format.contains("json")) {
        return false;
    }
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_called_json = kind.starts_with("application/json");
    match decoder.map_or(Form::Sse, Form::of) {
        Form::Sse => begins_with_object(first) || (is_called_json && !begins_with_field(first)),
        Form::Delimited { .. } | Form::JsonArray => is_called_json,
    }
}

/// Whether a stream that was asked for may be what a server has to say in plain words. An answer that is called a stream is
/// one, and what stands before the lines of a stream with a form of its own is not known.
pub(super) fn may_be_words(manifest: &Manifest, headers: &HeaderMap, first: &[u8]) -> bool {
    if !is_undecided(first) {
        return false;
    }
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    let is_named = ["event-stream", "json", "octet-stream"].iter().any(|name| kind.contains(name));
    let decoder = manifest.streaming.as_ref().map(|streaming| &streaming.decoder);
    !is_named && decoder.map_or(Form::Sse, Form::of) == Form::Sse
}

/// Whether nobody can tell yet whether these are words or the beginning of something that is read: lines that browsers pass over
/// may stand before events, and blanks before JSON.
pub(super) fn is_undecided(heard: &[u8]) -> bool {
    let is_json = without_mark(heard).trim_ascii_start().first().is_some_and(|letter| b"{[\"".contains(letter));
    !is_json && !has_field(heard)
}

/// Whether a line of these is one of server-sent events.
fn has_field(bytes: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let lines = without_mark(bytes).split(|letter| matches!(letter, b'\n' | b'\r'));
    lines.into_iter().any(|line| FIELDS.iter().any(|field| line.starts_with(field)))
}

/// Whether these are neither JSON nor server-sent events; of blanks and of half a mark nobody can tell.
pub(super) fn begins_with_words(first: &[u8]) -> bool {
    let body = without_mark(first).trim_ascii_start();
    let begins = body.first().is_some_and(|letter| !b"{[\"".contains(letter));
    begins && !begins_with_field(body) && !"\u{feff}".as_bytes().starts_with(body)
}

/// No line of server-sent events begins so.
fn begins_with_object(first: &[u8]) -> bool {
    without_mark(first).trim_ascii_start().starts_with(b"{")
}

/// Whether these may be server-sent events; the first piece may be a single letter.
fn begins_with_field(first: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
    let first = without_mark(first).trim_ascii_start();
    FIELDS.iter().any(|field| first.starts_with(field) || (!first.is_empty() && field.starts_with(first)))
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}
