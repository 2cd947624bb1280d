//! Canonical JSON (RFC 8785): one byte sequence for one meaning.
//!
//! Numbers are IEEE doubles printed as ECMAScript prints them, so an integer beyond 2^53 is rounded: that is the rule of
//! the RFC, and what makes a hash taken here equal to one taken in JavaScript. Members are sorted by UTF-16 units.

use serde_json::{Map, Number, Value};

use super::Digest;

/// The canonical bytes of `value`.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write(value, &mut out);
    out
}

/// The digest of the canonical bytes of `value`.
pub fn digest(value: &Value) -> Digest {
    Digest::of(&to_vec(value))
}

/// The digest of an object with two members, a text and an object, without a copy of either. The names are in their order.
pub fn digest_of_two(text: (&str, &str), object: (&str, &Map<String, Value>)) -> Digest {
    debug_assert!(text.0.encode_utf16().lt(object.0.encode_utf16()), "{text:?} stands before {}", object.0);
    let mut out = Vec::with_capacity(256);
    out.push(b'{');
    write_string(text.0, &mut out);
    out.push(b':');
    write_string(text.1, &mut out);
    out.push(b',');
    write_string(object.0, &mut out);
    out.push(b':');
    write_object(object.1, &mut out);
    out.push(b'}');
    Digest::of(&out)
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => write_object(members, out),
    }
}

fn write_object(members: &Map<String, Value>, out: &mut Vec<u8>) {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
    out.push(b'{');
    for (index, (name, member)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write(member, out);
    }
    out.push(b'}');
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    let double = number.as_f64().expect("without arbitrary precision every number is a finite double");
    out.extend_from_slice(ryu_js::Buffer::new().format_finite(double).as_bytes());
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}
