//! What a file is that is not text: by its first bytes, which do not lie as names do.

use std::path::Path;

/// What a model does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Document,
    Audio,
    Video,
}

/// First bytes, and where they stand.
const SIGNATURES: [(usize, &[u8], Kind, &str); 13] = [
    (0, b"\x89PNG\r\n\x1a\n", Kind::Image, "image/png"),
    (0, b"\xff\xd8\xff", Kind::Image, "image/jpeg"),
    (0, b"GIF8", Kind::Image, "image/gif"),
    (8, b"WEBP", Kind::Image, "image/webp"),
    (4, b"ftypheic", Kind::Image, "image/heic"),
    (0, b"%PDF-", Kind::Document, "application/pdf"),
    (8, b"WAVE", Kind::Audio, "audio/wav"),
    (0, b"ID3", Kind::Audio, "audio/mpeg"),
    (0, b"fLaC", Kind::Audio, "audio/flac"),
    (0, b"OggS", Kind::Audio, "audio/ogg"),
    (4, b"ftypM4A", Kind::Audio, "audio/mp4"),
    (4, b"ftyp", Kind::Video, "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", Kind::Video, "video/webm"),
];

impl Kind {
    /// The type of its block.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Kind::Image => "image",
            Kind::Document => "document",
            Kind::Audio => "audio",
            Kind::Video => "video",
        }
    }
}

/// The kind of a file and its media type; `None` for text and for whatever is not known.
pub(super) fn kind(bytes: &[u8], path: &Path) -> Option<(Kind, &'static str)> {
    let starts = |at: usize, with: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(with));
    let known = SIGNATURES.iter().find(|(at, with, ..)| starts(*at, with));
    // An MP3 without a tag begins with any frame; its name is all there is.
    let is_mp3 = || bytes.first() == Some(&0xff) && path.extension().is_some_and(|it| it.eq_ignore_ascii_case("mp3"));
    known.map(|(_, _, kind, mime_type)| (*kind, *mime_type)).or_else(|| is_mp3().then_some((Kind::Audio, "audio/mpeg")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_a_file_is() {
        for (bytes, name, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], "a.txt", Some((Kind::Image, "image/png"))),
            (b"\xff\xd8\xff\xe0", "a", Some((Kind::Image, "image/jpeg"))),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "a", Some((Kind::Image, "image/webp"))),
            (b"RIFF\x10\0\0\0WAVEfmt ", "a", Some((Kind::Audio, "audio/wav"))),
            (b"%PDF-1.7", "a", Some((Kind::Document, "application/pdf"))),
            (b"\0\0\0\x20ftypM4A ", "a", Some((Kind::Audio, "audio/mp4"))),
            (b"\0\0\0\x20ftypisom", "a", Some((Kind::Video, "video/mp4"))),
            (b"\xff\xfb\x90", "a.mp3", Some((Kind::Audio, "audio/mpeg"))),
            (b"\xff\xfe\x90", "a.txt", None),
            (b"hello", "a.png", None),
            (b"", "a", None),
        ] {
            assert_eq!(kind(bytes, Path::new(name)), expected, "{name} {bytes:?}");
        }
    }
}
