//! What comes from a stream of the host, and for `fetch` a body that is unpacked while it is read: as in Node the headers stay
//! as they were sent.

mod brotli;
mod zstd;

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use pi_exthost::desk::Feed;
use pi_extproto::{
    connector::{
        data::Data,
        http::ResponseHead,
        stream::{Channel, Piece, StreamItem},
    },
    host::{ErrorCode, HostError},
};

use self::{brotli::Brotli, zstd::Zstd};
use super::natives::refused;

/// How much is handed out at once, about.
const PIECE: usize = 64 << 10;
/// How much one body may become.
const MOST: u64 = 256 << 20;

/// A stream of the host, as an extension reads it.
pub(crate) struct Reading {
    feed: Feed,
    is_unpacked: bool,
    body: Option<Body>,
}

/// A packed body.
struct Body {
    form: Form,
    /// What came and was not unpacked yet.
    waiting: Vec<u8>,
    /// Whether anything came.
    is_begun: bool,
    given: u64,
}

enum Form {
    Gzip(MultiGzDecoder<Vec<u8>>),
    /// With a head or without one: servers mean either by the name, and the first byte tells.
    Deflate,
    Zlib(ZlibDecoder<Vec<u8>>),
    Raw(DeflateDecoder<Vec<u8>>),
    Brotli(Brotli),
    Zstd(Zstd),
    /// It is over; what follows means nothing.
    Over,
    Unknown(String),
}

/// How far a step came.
enum Step {
    Took(usize),
    /// More must come first.
    Waits,
    /// It is at its end.
    Over,
}

impl Reading {
    pub(crate) fn new(feed: Feed, is_unpacked: bool) -> Self {
        Self { feed, is_unpacked, body: None }
    }

    /// The next item; nothing behind the last. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<StreamItem>, HostError> {
        loop {
            if let Some(body) = &mut self.body {
                let data = body.unpack()?;
                if !data.is_empty() {
                    return Ok(Some(StreamItem::Piece(Piece { channel: Channel::Body, data: Data(data) })));
                }
            }
            let Some(item) = self.feed.next().await.transpose()? else { return Ok(None) };
            match (item, &mut self.body) {
                (StreamItem::Piece(piece), Some(body)) => body.waiting.extend_from_slice(&piece.data.0),
                (StreamItem::End(end), Some(body)) => {
                    if !end.truncated {
                        body.finish()?;
                    }
                    return Ok(Some(StreamItem::End(end)));
                }
                (StreamItem::Head(head), _) => {
                    self.body = if self.is_unpacked { Body::of(&head) } else { None };
                    return Ok(Some(StreamItem::Head(head)));
                }
                (item @ (StreamItem::Piece(_) | StreamItem::End(_)), None) => return Ok(Some(item)),
            }
        }
    }
}

impl Body {
    /// How the body behind this head is packed; nothing if it is not.
    fn of(head: &ResponseHead) -> Option<Self> {
        let named = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("content-encoding"));
        let forms = named.flat_map(|header| header.value.split(',')).map(|form| form.trim().to_ascii_lowercase());
        let forms: Vec<String> = forms.filter(|form| !form.is_empty() && form != "identity").collect();
        let form = match forms.as_slice() {
            [] => return None,
            [form] if form == "gzip" || form == "x-gzip" => Form::Gzip(MultiGzDecoder::new(Vec::new())),
            [form] if form == "deflate" => Form::Deflate,
            [form] if form == "br" => Form::Brotli(Brotli::new()),
            [form] if form == "zstd" => Form::Zstd(Zstd::new()),
            other => Form::Unknown(other.join(", ")),
        };
        Some(Self { form, waiting: Vec::new(), is_begun: false, given: 0 })
    }

    /// What can be told of what came, and about as much as a piece holds.
    fn unpack(&mut self) -> Result<Vec<u8>, HostError> {
        let (mut out, mut used) = (Vec::new(), 0);
        while (used < self.waiting.len() || self.form.has_more()) && out.len() < PIECE {
            let rest = &self.waiting[used..];
            let taken = match &mut self.form {
                Form::Deflate => {
                    // The head of zlib names its method, 8, in the lower half of the first byte.
                    self.form = match rest[0] & 15 {
                        8 => Form::Zlib(ZlibDecoder::new(Vec::new())),
                        _ => Form::Raw(DeflateDecoder::new(Vec::new())),
                    };
                    continue;
                }
                Form::Gzip(unpacker) => step(unpacker, MultiGzDecoder::get_mut, rest, &mut out),
                Form::Zlib(unpacker) => step(unpacker, ZlibDecoder::get_mut, rest, &mut out),
                Form::Raw(unpacker) => step(unpacker, DeflateDecoder::get_mut, rest, &mut out),
                Form::Brotli(unpacker) => unpacker.step(rest, &mut out),
                Form::Zstd(unpacker) => unpacker.step(rest, &mut out),
                Form::Over => Ok(Step::Took(rest.len())),
                Form::Unknown(form) => {
                    let message = format!("the answer is packed as {form}, which is not unpacked here; ask for gzip");
                    return Err(refused(ErrorCode::Io, message));
                }
            };
            match taken.map_err(|error| broken(&error))? {
                Step::Took(taken) => used += taken,
                Step::Waits => break,
                Step::Over => self.form = Form::Over,
            }
        }
        self.is_begun |= used > 0;
        self.waiting.drain(..used);
        self.given += out.len() as u64;
        if self.given > MOST {
            return Err(refused(ErrorCode::Io, format!("the answer unpacks to more than {MOST} bytes")));
        }
        Ok(out)
    }

    /// Nothing more comes: whether that was all.
    fn finish(&mut self) -> Result<(), HostError> {
        match &mut self.form {
            // An answer without a body is packed in no way.
            _ if !self.is_begun => Ok(()),
            Form::Gzip(unpacker) => unpacker.try_finish(),
            Form::Zlib(unpacker) => unpacker.try_finish(),
            Form::Raw(unpacker) => unpacker.try_finish(),
            Form::Zstd(unpacker) if unpacker.is_whole() && self.waiting.is_empty() => Ok(()),
            Form::Brotli(_) | Form::Zstd(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Form::Deflate | Form::Over | Form::Unknown(_) => Ok(()),
        }
        .map_err(|error| broken(&error))
    }
}

impl Form {
    /// Whether there is more to be told of what was taken.
    fn has_more(&self) -> bool {
        match self {
            Self::Brotli(unpacker) => unpacker.has_more(),
            Self::Zstd(unpacker) => unpacker.has_more(),
            Self::Gzip(_) | Self::Deflate | Self::Zlib(_) | Self::Raw(_) | Self::Over | Self::Unknown(_) => false,
        }
    }
}

/// Unpacks some of these bytes. One that is over takes none.
fn step<U: Write>(
    unpacker: &mut U,
    unpacked: impl Fn(&mut U) -> &mut Vec<u8>,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> io::Result<Step> {
    let taken = unpacker.write(bytes)?;
    // What is held back would come with the next bytes, which may be a while.
    unpacker.flush()?;
    out.append(unpacked(unpacker));
    Ok(if taken == 0 { Step::Over } else { Step::Took(taken) })
}

fn broken(error: &io::Error) -> HostError {
    refused(ErrorCode::Io, format!("the answer cannot be unpacked: {error}"))
}

#[cfg(test)]
mod tests {
    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };
    use pi_extproto::connector::http::Header;

    use super::*;

    const TEXT: &[u8] = b"one two three two one";
    /// The text as Node packs it.
    const BROTLI: &[u8] = &[
        0x0B, 0x0A, 0x80, 0x6F, 0x6E, 0x65, 0x20, 0x74, 0x77, 0x6F, 0x20, 0x74, 0x68, 0x72, 0x65, 0x65, 0x20, 0x74,
        0x77, 0x6F, 0x20, 0x6F, 0x6E, 0x65, 0x03,
    ];
    const ZSTD: &[u8] = &[
        0x28, 0xB5, 0x2F, 0xFD, 0x24, 0x15, 0xA9, 0x00, 0x00, 0x6F, 0x6E, 0x65, 0x20, 0x74, 0x77, 0x6F, 0x20, 0x74,
        0x68, 0x72, 0x65, 0x65, 0x20, 0x74, 0x77, 0x6F, 0x20, 0x6F, 0x6E, 0x65, 0x59, 0x3C, 0x04, 0x39,
    ];
    /// A MiB of zeros.
    const BROTLI_BOMB: &[u8] = &[0x5B, 0xFF, 0xFF, 0x8F, 0x7F, 0x02, 0x20, 0x1E, 0x0B, 0x04, 0x72, 0xEF, 0x1F, 0x00];
    const ZSTD_BOMB: &[u8] = &[
        0x28, 0xB5, 0x2F, 0xFD, 0xA4, 0x00, 0x00, 0x10, 0x00, 0x54, 0x00, 0x00, 0x10, 0x00, 0x00, 0x01, 0x00, 0xFB,
        0xFF, 0x39, 0xC0, 0x02, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00,
        0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x02, 0x00, 0x10, 0x00, 0x03, 0x00, 0x10, 0x00, 0xF1, 0x3E, 0x16, 0xE1,
    ];

    fn packed(form: &str, bytes: &[u8]) -> Vec<u8> {
        fn all<W: Write>(mut packer: W, bytes: &[u8], end: impl Fn(W) -> io::Result<Vec<u8>>) -> Vec<u8> {
            packer.write_all(bytes).expect("memory");
            end(packer).expect("memory")
        }
        match form {
            "gzip" => all(GzEncoder::new(Vec::new(), Compression::best()), bytes, GzEncoder::finish),
            "brotli" => BROTLI.to_vec(),
            "zstd" => ZSTD.to_vec(),
            "zlib" => all(ZlibEncoder::new(Vec::new(), Compression::best()), bytes, ZlibEncoder::finish),
            _ => all(DeflateEncoder::new(Vec::new(), Compression::best()), bytes, DeflateEncoder::finish),
        }
    }

    fn body(form: &str) -> Option<Body> {
        let header = Header { name: "Content-Encoding".to_owned(), value: form.to_owned() };
        Body::of(&ResponseHead { status: 200, url: "http://here/".to_owned(), headers: vec![header] })
    }

    /// What comes out where so many bytes come at once, and why it ends if it does not end well.
    fn told(form: &str, bytes: &[u8], at_once: usize) -> Result<Vec<u8>, String> {
        let (mut body, mut all) = (body(form).expect("it is packed"), Vec::new());
        for piece in bytes.chunks(at_once) {
            body.waiting.extend_from_slice(piece);
            loop {
                let out = body.unpack().map_err(|fault| fault.message)?;
                if out.is_empty() {
                    break;
                }
                assert!(out.len() < PIECE * 2, "{} bytes at once", out.len());
                all.extend(out);
            }
        }
        body.finish().map(|()| all).map_err(|fault| fault.message)
    }

    #[test]
    fn bodies_are_unpacked_however_they_come() {
        let forms = [
            ("gzip", "gzip"),
            ("deflate", "zlib"),
            ("deflate", "raw"),
            (" X-GZIP ", "gzip"),
            ("br", "brotli"),
            ("zstd", "zstd"),
        ];
        for (name, form) in forms {
            for at_once in [1, 7, 1000] {
                assert_eq!(told(name, &packed(form, TEXT), at_once), Ok(TEXT.to_vec()), "{name} {form} {at_once}");
            }
        }
        let twice = [packed("gzip", TEXT), packed("gzip", b"!")].concat();
        assert_eq!(told("gzip", &twice, 5), Ok([TEXT, b"!"].concat()));
        let skipped = [0x53, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 7, 7];
        assert_eq!(told("zstd", &[&skipped, ZSTD, ZSTD].concat(), 3), Ok([TEXT, TEXT].concat()));
        assert_eq!(told("br", b"", 1), Ok(Vec::new()));
        assert!(body("identity").is_none() && body("").is_none());
    }

    #[test]
    fn what_is_no_such_body_is_refused() {
        for (name, form) in [("gzip", "gzip"), ("br", "brotli"), ("zstd", "zstd")] {
            let cut = packed(form, TEXT);
            assert!(told(name, &cut[..cut.len() - 4], 100).is_err(), "{name}");
            assert!(told(name, b"plain", 100).is_err(), "{name}");
        }
        let mut other = ZSTD.to_vec();
        *other.last_mut().expect("a checksum") ^= 1;
        assert!(told("zstd", &other, 100).is_err());
        let unknown = "the answer is packed as lzma, which is not unpacked here; ask for gzip";
        assert_eq!(told("lzma", b"x", 100), Err(unknown.to_owned()));
        // Both are told by what stands first: a window of 4 GiB, and one of 2 GiB.
        assert!(told("zstd", &[0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xB0, 1, 0, 0], 100).is_err());
        assert!(told("br", &[0x11, 0x1F, 0, 0], 100).is_err());
    }

    #[test]
    fn bomb_comes_in_pieces_and_ends() {
        let bombs =
            [("gzip", packed("gzip", &vec![0; 1 << 20])), ("br", BROTLI_BOMB.to_vec()), ("zstd", ZSTD_BOMB.to_vec())];
        for (name, bomb) in bombs {
            assert_eq!(told(name, &bomb, bomb.len()).map(|all| all.len()), Ok(1 << 20), "{name}");
            let mut body = body(name).expect("it is packed");
            body.given = MOST;
            body.waiting = bomb;
            let mut fault = None;
            while fault.is_none() {
                fault = body.unpack().err();
            }
        }
    }
}
