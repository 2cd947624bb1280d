//! The forms in which a value may appear in text: base64, percent-encoding, the inside of a JSON string.

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

/// What percent-encoders leave alone besides letters and digits, and how they write a blank: RFC 3986, JavaScript's
/// `encodeURIComponent`, the forms of HTML, encoders of paths, and JavaScript's `encodeURI`.
const PERCENT_ENCODERS: [(&str, &str); 6] = [
    ("-_.~", "%20"),
    ("-_.~", "+"),
    ("-_.!~*'()", "%20"),
    ("*-._", "+"),
    ("-_.~/", "%20"),
    ("-_.!~*'();,/?:@&=+$#", "%20"),
];

/// Which characters writers of JSON escape without having to: none, all that are not ASCII, those that HTML knows, both,
/// and PHP's solidus.
const JSON_WRITERS: [fn(char) -> bool; 5] = [
    |_| false,
    |letter| !letter.is_ascii(),
    |letter| is_html(letter),
    |letter| !letter.is_ascii() || is_html(letter),
    |letter| !letter.is_ascii() || letter == '/',
];

/// The text as each of the usual encoders of URLs writes it.
pub(crate) fn percent_encoded(text: &str) -> Vec<String> {
    let digits = [UPPER_DIGITS, LOWER_DIGITS];
    let encoders = PERCENT_ENCODERS.iter().flat_map(|encoder| digits.map(|digits| (encoder, digits)));
    encoders.map(|((open, blank), digits)| percent_encoded_by(text, open, blank, digits)).collect()
}

/// What a percent-encoded text says; nothing if it is not encoded, or no text.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let pair = behind.get(..2).filter(|_| byte == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        let code = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        decoded.push(code.unwrap_or(byte));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(decoded).ok().filter(|decoded| decoded != text)
}

/// The text as it stands inside a JSON string, and as that stands inside another.
pub(crate) fn json_escaped(text: &str) -> Vec<String> {
    let digits = [UPPER_DIGITS, LOWER_DIGITS];
    let writers = JSON_WRITERS.iter().flat_map(|escapes| digits.map(|digits| (escapes, digits)));
    let once: Vec<String> = writers.map(|(escapes, digits)| json_escaped_by(text, escapes, digits)).collect();
    let twice: Vec<String> = once.iter().map(|text| json_escaped_by(text, |_| false, LOWER_DIGITS)).collect();
    once.into_iter().chain(twice).collect()
}

fn percent_encoded_by(text: &str, open: &str, blank: &str, digits: &[u8; 16]) -> String {
    let mut encoded = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push_str(blank),
            _ if byte.is_ascii_alphanumeric() || open.as_bytes().contains(&byte) => encoded.push(char::from(byte)),
            _ => encoded.extend(['%', digit(digits, byte >> 4), digit(digits, byte)]),
        }
    }
    encoded
}

fn json_escaped_by(text: &str, escapes: impl Fn(char) -> bool, digits: &[u8; 16]) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            '/' if escapes('/') => escaped.push_str("\\/"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            _ if letter < ' ' || escapes(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let [high, low] = unit.to_be_bytes();
                    escaped.push_str("\\u");
                    escaped.extend([high >> 4, high, low >> 4, low].map(|nibble| digit(digits, nibble)));
                }
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

fn digit(digits: &[u8; 16], byte: u8) -> char {
    char::from(digits[usize::from(byte & 15)])
}

fn is_html(letter: char) -> bool {
    matches!(letter, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

const UPPER_DIGITS: &[u8; 16] = b"0123456789ABCDEF";
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
