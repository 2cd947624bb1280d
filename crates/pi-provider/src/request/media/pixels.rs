//! How large a picture is, from its first bytes. Nothing is decoded; a form that is not known has no size here.

/// Width and height of a PNG, GIF, WebP or JPEG.
pub(super) fn of(bytes: &[u8]) -> Option<(u32, u32)> {
    png(bytes).or_else(|| gif(bytes)).or_else(|| webp(bytes)).or_else(|| jpeg(bytes))
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.strip_prefix(b"GIF8")?;
    Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

/// Three forms in one container: with losses, without, and with extras.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(8..12)? != b"WEBP" {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        b"VP8L" => {
            let packed = little(bytes, 21, 4)?;
            Some(((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

/// Segments follow each other until the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.strip_prefix(b"\xff\xd8")?;
    let mut at = 2;
    while let [0xff, kind] = *bytes.get(at..at + 2)? {
        match kind {
            // Fill bytes, and markers without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            _ => at += 2 + big(bytes, at + 2, 2)? as usize,
        }
    }
    None
}

fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    Some(bytes.get(at..at + count)?.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    Some(bytes.get(at..at + count)?.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_stands_in_the_first_bytes() {
        let webp = |kind: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP".as_slice(), kind, &[0; 4], rest].concat();
        for (bytes, expected) in [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x12\0\0\0\0\x03".to_vec(), Some((0x1200, 3))),
            (b"GIF89a\x05\x01\x02\0".to_vec(), Some((261, 2))),
            (b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\0\x02\x01\0\x03".to_vec(), Some((256, 2))),
            (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x10\0\x20\0"), Some((16, 32))),
            (webp(b"VP8L", b"\x2f\x0f\xc0\x07\0"), Some((16, 32))),
            (webp(b"VP8X", b"\0\0\0\0\x0f\0\0\x1f\0\0"), Some((16, 32))),
            (b"\xff\xd8\xff\xe0\0\x02".to_vec(), None),
            (b"\xff\xd8\xff\xda\0\x00".to_vec(), None),
            (b"hello".to_vec(), None),
            (Vec::new(), None),
        ] {
            assert_eq!(of(&bytes), expected, "{bytes:?}");
        }
    }
}
