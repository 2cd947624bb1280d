//! The forms in which a value may appear in text: base64, percent-encoding, hexadecimal.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The part of a base64 text that depends on nothing but `bytes`, for each of the three positions at which they may
/// start inside a longer encoded value, in both alphabets.
pub(crate) fn base64_cores(bytes: &[u8]) -> Vec<String> {
    let mut cores = Vec::new();
    for alphabet in [STANDARD, URL_SAFE] {
        for lead in 0..3_usize {
            let mut padded = vec![0; lead];
            padded.extend_from_slice(bytes);
            let sextets = sextets(&padded);
            // Sextet `i` covers the bits 6i..6i+6; only those that lie wholly inside `bytes` are certain.
            let first = (lead * 8).div_ceil(6);
            let last = padded.len() * 8 / 6;
            cores.push(sextets[first..last].iter().map(|&sextet| char::from(alphabet[usize::from(sextet)])).collect());
        }
    }
    cores
}

/// `bytes` with everything but unreserved characters percent-encoded.
pub(crate) fn percent_encoded(text: &str, digits: &[u8; 16], space: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            b' ' => encoded.push_str(space),
            _ => {
                encoded.push('%');
                encoded.push(char::from(digits[usize::from(byte >> 4)]));
                encoded.push(char::from(digits[usize::from(byte & 15)]));
            }
        }
    }
    encoded
}

pub(crate) const UPPER_DIGITS: &[u8; 16] = b"0123456789ABCDEF";
pub(crate) const LOWER_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Whether the byte may stand in a base64 text of either alphabet.
pub(crate) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

fn sextets(bytes: &[u8]) -> Vec<u8> {
    let mut sextets = Vec::with_capacity(bytes.len() * 4 / 3 + 1);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            sextets.push((word >> (18 - 6 * index) & 63) as u8);
        }
    }
    sextets
}
