//! An answer as it arrives, unpacked where its server packed it although nobody asked.

use std::{
    fmt,
    future::poll_fn,
    io::{self, Write as _},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use futures_util::Stream;
use reqwest::{
    Response, Version,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING},
};

use super::TransportFault;

/// The body of an answer. Dropping it closes the connection.
pub struct Inflow {
    headers: HeaderMap,
    arriving: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    packing: Packing,
    end: End,
    /// Arrived, and not unpacked yet.
    packed: Bytes,
}

/// How the end of an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By its length, or by a mark: what is not there yet will come.
    Told,
    /// By the end of the connection alone.
    Untold,
}

/// So much is unpacked at once, in bytes: what comes of it, at most a thousand times as much, must fit.
const PORTION: usize = 4096;

/// How it is packed.
#[derive(Debug)]
enum Packing {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// `deflate`, of which the first byte says which of two forms it is.
    Deflate,
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    Raw(Box<DeflateDecoder<Vec<u8>>>),
    /// In a way that is not known here.
    Unknown(String),
}

impl Inflow {
    pub(crate) fn of(mut response: Response) -> Self {
        let packing = Packing::of(response.headers());
        let end = End::of(response.version(), response.headers());
        let headers = std::mem::take(response.headers_mut());
        Self { headers, arriving: Box::pin(response.bytes_stream()), packing, end, packed: Bytes::new() }
    }

    /// The headers; they are gone afterwards.
    pub(crate) fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(&mut self.headers)
    }

    /// How its end shows.
    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// How it is compressed, where that is not understood here.
    pub(crate) fn unknown_encoding(&self) -> Option<&str> {
        match &self.packing {
            Packing::Unknown(name) => Some(name),
            Packing::Plain | Packing::Gzip(_) | Packing::Deflate | Packing::Zlib(_) | Packing::Raw(_) => None,
        }
    }

    /// The next piece, `None` at the end. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, TransportFault> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for whoever polls: a piece of a stream is asked for so often that each future in between counts.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, TransportFault>> {
        if let Packing::Plain = self.packing {
            return Poll::Ready(ready!(self.poll_arriving(context)));
        }
        if let Packing::Unknown(name) = &self.packing {
            return Poll::Ready(Err(TransportFault::Packed { name: name.clone() }));
        }
        loop {
            if self.packed.is_empty() {
                match ready!(self.poll_arriving(context))? {
                    Some(piece) => self.packed = piece,
                    None => {
                        self.packing.end().map_err(TransportFault::Garbled)?;
                        return Poll::Ready(Ok(None));
                    }
                }
            }
            let portion = self.packed.split_to(self.packed.len().min(PORTION));
            let piece = self.packing.unpack(portion).map_err(TransportFault::Garbled)?;
            if !piece.is_empty() {
                return Poll::Ready(Ok(Some(piece)));
            }
        }
    }

    /// The next piece as it arrives.
    fn poll_arriving(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, TransportFault>> {
        let broken = |error: reqwest::Error| TransportFault::Broken(error.without_url());
        self.arriving.as_mut().poll_next(context).map(|arrived| arrived.transpose().map_err(broken))
    }
}

impl End {
    fn of(version: Version, headers: &HeaderMap) -> Self {
        // From version 2 on the protocol itself marks the end.
        let is_marked = version > Version::HTTP_11 || headers.contains_key(TRANSFER_ENCODING);
        if is_marked || headers.contains_key(CONTENT_LENGTH) { Self::Told } else { Self::Untold }
    }
}

impl Packing {
    fn of(headers: &HeaderMap) -> Self {
        let names = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let names = names.flat_map(|names| names.split(',')).map(|name| name.trim().to_ascii_lowercase());
        let names: Vec<String> = names.filter(|name| !name.is_empty() && name != "identity").collect();
        match names.join(", ").as_str() {
            "" => Self::Plain,
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            "deflate" => Self::Deflate,
            other => Self::Unknown(other.to_owned()),
        }
    }

    fn unpack(&mut self, piece: Bytes) -> io::Result<Bytes> {
        if let (Self::Deflate, Some(first)) = (&self, piece.first()) {
            // The standard means zlib; some servers leave its two bytes out.
            let is_zlib = first & 0x0F == 8;
            *self = if is_zlib {
                Self::Zlib(Box::new(ZlibDecoder::new(Vec::new())))
            } else {
                Self::Raw(Box::new(DeflateDecoder::new(Vec::new())))
            };
        }
        let unpacked = match self {
            Self::Plain | Self::Deflate | Self::Unknown(_) => return Ok(piece),
            Self::Gzip(decoder) => {
                decoder.write_all(&piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Zlib(decoder) => {
                decoder.write_all(&piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Raw(decoder) => {
                decoder.write_all(&piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
        };
        Ok(std::mem::take(unpacked).into())
    }

    /// Nothing more comes: what is packed must be whole.
    fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Plain | Self::Deflate | Self::Unknown(_) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::Raw(decoder) => decoder.try_finish(),
        }
    }
}

impl fmt::Debug for Inflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflow").field("packing", &self.packing).field("end", &self.end).finish_non_exhaustive()
    }
}
