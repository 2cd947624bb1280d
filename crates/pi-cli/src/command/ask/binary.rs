//! What a file is that can be neither read nor shown to a model, and what to do with it instead.

use std::path::Path;

use super::media::{self, Kind};
use crate::failure::ModelFailure;

/// First bytes, where they stand, what such a file is, and advice in which FILE stands for its name.
const KNOWN: [(usize, &[u8], &str, &str); 21] = [
    (0, b"PK\x03\x04", "a zip archive", "unpack it, and attach what is in it"),
    (0, b"\x1f\x8b", "compressed with gzip", "unpack it: gunzip -c FILE | pi ask '…'"),
    (0, b"BZh", "compressed with bzip2", "unpack it: bunzip2 -c FILE | pi ask '…'"),
    (0, b"\xfd7zXZ\0", "compressed with xz", "unpack it: xz -dc FILE | pi ask '…'"),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it: zstd -dc FILE | pi ask '…'"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it, and attach what is in it"),
    (0, b"Rar!", "a rar archive", "unpack it, and attach what is in it"),
    (257, b"ustar", "a tar archive", "unpack it: tar -xf FILE, and attach what is in it"),
    (0, b"\x7fELF", "a program", "attach its source, or ask about what `file FILE` or `strings FILE` prints"),
    (0, b"\xcf\xfa\xed\xfe", "a program", "attach its source, or ask about what `file FILE` or `strings FILE` prints"),
    (0, b"MZ", "a program", "attach its source, or ask about what `file FILE` or `strings FILE` prints"),
    (0, b"\xca\xfe\xba\xbe", "compiled code", "attach its source"),
    (0, b"\0asm", "compiled code", "attach its source"),
    (0, b"SQLite format 3\0", "a database", "ask about what it holds: sqlite3 FILE .dump | pi ask '…'"),
    (0, b"PAR1", "a table of Parquet", "ask about some rows of it, saved as CSV"),
    (0, b"\xd0\xcf\x11\xe0", "an old Office document", "save it as PDF or as text, and attach that"),
    (0, b"BM", "a BMP picture", "save it as PNG or JPEG, and attach that"),
    (0, b"II*\0", "a TIFF picture", "save it as PNG or JPEG, and attach that"),
    (0, b"MM\0*", "a TIFF picture", "save it as PNG or JPEG, and attach that"),
    (0, b"\0\0\x01\0", "an icon", "save it as PNG or JPEG, and attach that"),
    (0, b"wOF", "a font", "fonts cannot be shown to a model; a picture of the letters can"),
];

/// Zip archives that people know by another name.
const OFFICE: [&str; 8] = ["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "pages"];

/// Says what the bytes are that were to be text.
pub(super) fn failure(bytes: &[u8], path: &Path) -> ModelFailure {
    let is_piped = path.as_os_str() == "-";
    let file = if is_piped { "standard input".to_owned() } else { path.display().to_string() };
    let Some((what, advice)) = guess(bytes, path) else { return ModelFailure::Unattachable { file } };
    // What is piped in has no name until it is saved.
    let name = if is_piped { "FILE" } else { &file };
    ModelFailure::Binary { what, hint: advice.replace("FILE", name), file }
}

fn guess(bytes: &[u8], path: &Path) -> Option<(String, String)> {
    if let Some((kind, mime_type)) = media::kind(bytes, path) {
        let article = match kind {
            Kind::Image => "a picture",
            Kind::Document => "a PDF",
            Kind::Audio => "sound",
            Kind::Video => "a film",
        };
        let advice = "only text is read from a pipe; save it and name the file: pi ask 'What is this?' @FILE";
        return Some((format!("{article} ({mime_type})"), advice.to_owned()));
    }
    let ending = path.extension().map(|it| it.to_string_lossy().to_lowercase()).unwrap_or_default();
    if bytes.starts_with(b"PK\x03\x04") && OFFICE.contains(&ending.as_str()) {
        let advice = "save it as PDF or as text, and attach that; `pandoc FILE -t plain` writes text";
        return Some(("an Office document".to_owned(), advice.to_owned()));
    }
    let starts = |at: usize, with: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(with));
    let known = KNOWN.iter().find(|(at, with, ..)| starts(*at, with));
    if let Some((_, _, what, advice)) = known {
        return Some(((*what).to_owned(), (*advice).to_owned()));
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0xa0..);
    let advice = "write it in UTF-8: iconv -f LATIN1 -t UTF-8 FILE | pi ask '…'";
    bytes.iter().all(is_text).then(|| ("text in another encoding than UTF-8".to_owned(), advice.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_what_a_file_is_and_what_to_do() {
        for (bytes, name, expected) in [
            (&b"PK\x03\x04\xff"[..], "a.docx", "a.docx is not text: it is an Office document"),
            (b"PK\x03\x04\xff", "a.zip", "a.zip is not text: it is a zip archive"),
            (b"\x1f\x8b\x08", "-", "standard input is not text: it is compressed with gzip"),
            (b"\x89PNG\r\n\x1a\n", "-", "standard input is not text: it is a picture (image/png)"),
            (b"caf\xe9 cr\xe8me\n", "a.txt", "a.txt is not text: it is text in another encoding than UTF-8"),
            (b"\xff\x00\x01", "a.bin", "a.bin is not text"),
        ] {
            let failure = failure(bytes, Path::new(name));
            assert_eq!(failure.to_string(), expected);
            assert!(!failure.hint().contains("FILE") || name == "-", "{}", failure.hint());
        }
    }
}
