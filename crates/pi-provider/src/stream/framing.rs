//! Cutting bytes into frames.
//!
//! Bytes may be cut anywhere, also inside a character or between `\r` and `\n`. A frame that grows beyond the limit is an
//! error, so that no stream can use more memory than that.

mod array;
mod delimited;
mod sse;

use std::borrow::Cow;

use self::{array::JsonArray, delimited::Delimited, sse::Sse};
use crate::manifest::streaming;

/// The largest frame, unless somebody says otherwise.
pub const FRAME_LIMIT: usize = 16 * 1024 * 1024;

/// One piece of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The name that the server gave to it; empty if none.
    pub event: &'a str,
    /// The last id that the server sent; empty if none.
    pub id: &'a str,
    pub data: &'a str,
}

/// A frame is larger than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame is larger than {limit} bytes")]
pub struct FrameTooLarge {
    pub limit: usize,
}

/// How a stream is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Server-sent events as browsers read them.
    Sse,
    /// Blocks between delimiters. With a prefix, the lines that have it are the data, and lines of server-sent events
    /// beside them are understood.
    Delimited { delimiter: String, prefix: Option<String> },
    /// The objects of one JSON array.
    JsonArray,
}

/// Cuts one stream. Keeps what is not complete yet.
#[derive(Debug)]
pub enum Framing {
    Sse(Sse),
    Delimited(Box<Delimited>),
    JsonArray(JsonArray),
}

impl Form {
    /// The formats that manifests may name.
    pub const NAMES: [&str; 9] = [
        "sse",
        "openai_sse",
        "anthropic_sse",
        "gemini_sse",
        "cohere_native",
        "ndjson",
        "jsonl",
        "json_lines",
        "gemini_json",
    ];

    /// Whether a format is one of them.
    pub fn is_known(format: &str) -> bool {
        Self::NAMES.contains(&format)
    }

    /// As a manifest asks for it. A format that nobody knows is taken for server-sent events, which all but few are.
    pub fn of(decoder: &streaming::Decoder) -> Self {
        let delimiter = decoder.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty());
        let prefix = decoder.prefix.as_deref().map(str::trim).filter(|prefix| !prefix.is_empty());
        match decoder.format.as_deref() {
            Some("gemini_json") => Self::JsonArray,
            Some("ndjson" | "jsonl" | "json_lines") => {
                let delimiter = delimiter.unwrap_or("\n").to_owned();
                Self::Delimited { delimiter, prefix: prefix.map(str::to_owned) }
            }
            _ => {
                let delimiter = delimiter.unwrap_or("\n\n");
                let prefix = prefix.unwrap_or("data:");
                if prefix == "data:" && matches!(delimiter, "\n\n" | "\r\n\r\n" | "\r\r") {
                    Self::Sse
                } else {
                    Self::Delimited { delimiter: delimiter.to_owned(), prefix: Some(prefix.to_owned()) }
                }
            }
        }
    }
}

impl Framing {
    pub fn new(form: &Form, limit: usize) -> Self {
        match form {
            Form::Sse => Self::Sse(Sse::new(limit)),
            Form::Delimited { delimiter, prefix } => {
                Self::Delimited(Box::new(Delimited::new(delimiter, prefix.as_deref(), limit)))
            }
            Form::JsonArray => Self::JsonArray(JsonArray::new(limit)),
        }
    }

    /// The bytes that it holds.
    pub fn memory(&self) -> usize {
        match self {
            Self::Sse(sse) => sse.memory(),
            Self::Delimited(delimited) => delimited.memory(),
            Self::JsonArray(array) => array.memory(),
        }
    }

    /// Takes the next bytes and hands on the frames that they complete.
    pub fn push(&mut self, bytes: &[u8], visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        match self {
            Self::Sse(sse) => sse.push(bytes, visit),
            Self::Delimited(delimited) => delimited.push(bytes, visit),
            Self::JsonArray(array) => array.push(bytes, visit),
        }
    }

    /// The stream is over: hands on what was not closed properly.
    pub fn finish(&mut self, visit: &mut dyn FnMut(Frame<'_>)) -> Result<(), FrameTooLarge> {
        match self {
            Self::Sse(sse) => sse.finish(visit),
            Self::Delimited(delimited) => delimited.finish(visit),
            Self::JsonArray(array) => {
                array.finish(visit);
                Ok(())
            }
        }
    }
}

/// Server-sent events are UTF-8; what is not is replaced, as browsers do.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly always it is, and then this is several times faster.
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The name of an event that tells of a failure, whatever the rules of the stream are.
pub(super) const ERROR: &str = "error";

/// After a large frame its memory is given back.
const KEPT: usize = 16 * 1024;
