//! Bytes in JSON: readable where they are text.

use std::{borrow::Cow, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use ts_rs::TS;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The place of every letter in the alphabet; [`NO_DIGIT`] for every other byte.
static DIGITS: [u8; 256] = digits();
const NO_DIGIT: u8 = u8::MAX;

/// Bytes of a file, a body or a stream. Written as `{"text": …}` if they are UTF-8, else as `{"base64": …}`: the same
/// bytes always have the same JSON form, and the other one is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Data(pub Vec<u8>);

/// Bytes: as text if they are UTF-8, else in base64.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "Data")]
enum Written<'a> {
    Text(Cow<'a, str>),
    Base64(Cow<'a, str>),
}

/// The text is not standard base64 with padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected standard base64 with padding")]
pub struct NotBase64;

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Text(text.into()),
            Err(_) => Written::Base64(encode(&self.0).into()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_owned().into_bytes())),
            Written::Base64(text) => match decode(&text) {
                Ok(bytes) if std::str::from_utf8(&bytes).is_ok() => {
                    Err(D::Error::custom("expected {\"text\": …}, because these bytes are UTF-8"))
                }
                Ok(bytes) => Ok(Self(bytes)),
                Err(fault) => Err(D::Error::custom(fault)),
            },
        }
    }
}

impl JsonSchema for Data {
    fn schema_name() -> Cow<'static, str> {
        "Data".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes: as text if they are UTF-8, else in base64.",
            "oneOf": [
                { "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } },
                {
                    "type": "object",
                    "required": ["base64"],
                    "properties": { "base64": { "type": "string", "contentEncoding": "base64" } },
                },
            ],
        })
    }
}

impl TS for Data {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn docs() -> Option<String> {
        Written::docs()
    }

    fn name(cfg: &ts_rs::Config) -> String {
        Written::name(cfg)
    }

    fn inline(cfg: &ts_rs::Config) -> String {
        Written::inline(cfg)
    }

    fn decl(cfg: &ts_rs::Config) -> String {
        Written::decl(cfg)
    }

    fn output_path() -> Option<PathBuf> {
        Written::output_path()
    }
}

/// Standard base64 (RFC 4648 §4) with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for position in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * position)) as usize & 63];
            text.push(if position > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// The bytes of standard base64 with padding; unused bits must be zero, so that a text has one meaning only.
pub fn decode(text: &str) -> Result<Vec<u8>, NotBase64> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return Err(NotBase64);
    }
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for (index, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|digit| **digit == b'=').count();
        if padding > 2 || (padding > 0 && index + 1 < groups.len()) {
            return Err(NotBase64);
        }
        let bits = group[..4 - padding].iter().try_fold(0_u32, |bits, digit| match DIGITS[usize::from(*digit)] {
            NO_DIGIT => Err(NotBase64),
            value => Ok(bits << 6 | u32::from(value)),
        })? << (6 * padding);
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (kept, unused) = decoded.split_at(3 - padding);
        if unused.iter().any(|byte| *byte != 0) {
            return Err(NotBase64);
        }
        bytes.extend_from_slice(kept);
    }
    Ok(bytes)
}

const fn digits() -> [u8; 256] {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 64 {
        digits[ALPHABET[value as usize] as usize] = value;
        value += 1;
    }
    digits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], json: &str) {
        assert_eq!(serde_json::to_string(&Data(bytes.to_vec())).expect("JSON"), json);
        assert_eq!(serde_json::from_str::<Data>(json).expect("data"), Data(bytes.to_vec()));
    }

    #[test]
    fn text_is_readable_and_other_bytes_are_base64() {
        check(b"", r#"{"text":""}"#);
        check("grüße".as_bytes(), r#"{"text":"grüße"}"#);
        check(b"\xff", r#"{"base64":"/w=="}"#);
        check(b"\xff\xfe", r#"{"base64":"//4="}"#);
        check(b"\xff\xfe\xfd", r#"{"base64":"//79"}"#);
    }

    #[test]
    fn text_in_base64_is_refused() {
        for json in [r#"{"base64":"aGk="}"#, r#"{"base64":""}"#] {
            let refused = serde_json::from_str::<Data>(json).expect_err("a second spelling").to_string();
            assert!(refused.starts_with(r#"expected {"text": …}, because these bytes are UTF-8"#), "{refused}");
        }
    }

    #[test]
    fn text_that_is_not_canonical_base64_is_refused() {
        for text in ["a", "ab=c", "====", "/x==", "//5=", "/w==/w==", "é===", "/w= =", "-_8="] {
            assert_eq!(decode(text), Err(NotBase64), "{text}");
        }
        for json in [r#""x""#, r#"{"text":"a","base64":"YQ=="}"#, r"{}", r#"{"text":1}"#] {
            assert!(serde_json::from_str::<Data>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn base64_reads_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes));
        }
    }
}
