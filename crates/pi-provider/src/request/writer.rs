//! JSON, letter for letter as serde_json writes it, in less time.
//!
//! A request is mostly texts, and writing one is mostly looking for characters that have to be escaped. serde_json looks at
//! them one by one; here eight are looked at together, and names of members that stand in our own code not at all. Numbers
//! are left to serde_json. Start with [`write()`]; [`TEXT_OF_JSON`] is how JSON becomes a text inside of JSON.

use serde::{
    Serialize, Serializer,
    ser::{self, Error as _},
};

/// The name of a newtype whose content is written as a text that holds its JSON.
pub(super) const TEXT_OF_JSON: &str = "$pi::TextOfJson";

/// Writes a value. `size` is about how long it will be.
pub(super) fn write(value: &impl Serialize, size: usize) -> Result<Vec<u8>, serde_json::Error> {
    let mut writer = Writer { out: Vec::with_capacity(size), inner: Vec::new() };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    /// Kept for its memory: JSON that is about to become a text.
    inner: Vec<u8>,
}

/// A list or an object whose end is not written yet.
struct Open<'w> {
    writer: &'w mut Writer,
    is_empty: bool,
    end: &'static [u8],
}

impl Writer {
    fn open(&mut self, beginning: &[u8], end: &'static [u8]) -> Open<'_> {
        self.out.extend_from_slice(beginning);
        Open { writer: self, is_empty: true, end }
    }

    /// The beginning of an object with one member, whose name is our own.
    fn only_member(&mut self, name: &'static str) {
        self.out.push(b'{');
        self.own_name(name);
    }

    /// A name that stands in our code, where none needs escapes.
    fn own_name(&mut self, name: &'static str) {
        debug_assert!(!name.bytes().any(is_special), "{name:?} is a name of ours");
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn text(&mut self, text: &[u8]) {
        write_text(&mut self.out, text);
    }

    /// What serde_json writes of a scalar.
    fn scalar(&mut self, scalar: &impl Serialize) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut self.out, scalar)
    }
}

impl Open<'_> {
    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn member(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.separate();
        self.writer.own_name(name);
        value.serialize(&mut *self.writer)
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.writer.out.push(b',');
        }
    }

    fn close(self) {
        self.writer.out.extend_from_slice(self.end);
    }
}

impl<'w> Serializer for &'w mut Writer {
    type Ok = ();
    type Error = serde_json::Error;
    type SerializeSeq = Open<'w>;
    type SerializeTuple = Open<'w>;
    type SerializeTupleStruct = Open<'w>;
    type SerializeTupleVariant = Open<'w>;
    type SerializeMap = Open<'w>;
    type SerializeStruct = Open<'w>;
    type SerializeStructVariant = Open<'w>;

    fn serialize_bool(self, value: bool) -> Result<(), Self::Error> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, number: i8) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_i16(self, number: i16) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_i32(self, number: i32) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_i64(self, number: i64) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_u8(self, number: u8) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_u16(self, number: u16) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_u32(self, number: u32) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_u64(self, number: u64) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_f32(self, number: f32) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), Self::Error> {
        self.scalar(&number)
    }

    fn serialize_char(self, character: char) -> Result<(), Self::Error> {
        self.scalar(&character)
    }

    fn serialize_str(self, text: &str) -> Result<(), Self::Error> {
        self.text(text.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.scalar(&bytes)
    }

    fn serialize_none(self) -> Result<(), Self::Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Self::Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Self::Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Self::Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Self::Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Self::Error> {
        if name != TEXT_OF_JSON {
            return value.serialize(self);
        }
        let start = self.out.len();
        value.serialize(&mut *self)?;
        self.inner.clear();
        self.inner.extend_from_slice(&self.out[start..]);
        self.out.truncate(start);
        write_text(&mut self.out, &self.inner);
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Self::Error> {
        self.only_member(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'w>, Self::Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'w>, Self::Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Self::Error> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Self::Error> {
        self.only_member(variant);
        Ok(self.open(b"[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'w>, Self::Error> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'w>, Self::Error> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'w>, Self::Error> {
        self.only_member(variant);
        Ok(self.open(b"{", b"}}"))
    }
}

impl ser::SerializeSeq for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTuple for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleStruct for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeTupleVariant for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        self.element(value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Self::Error> {
        self.separate();
        let start = self.writer.out.len();
        name.serialize(&mut *self.writer)?;
        if self.writer.out.get(start) != Some(&b'"') {
            return Err(serde_json::Error::custom("the name of a member is not a text"));
        }
        self.writer.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStruct for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Self::Error> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

impl ser::SerializeStructVariant for Open<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Self::Error> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Self::Error> {
        self.close();
        Ok(())
    }
}

/// A text between quotes.
fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    loop {
        let (clean, behind) = rest.split_at(clean_length(rest));
        out.extend_from_slice(clean);
        let Some((special, behind)) = behind.split_first() else { break };
        write_escaped(out, *special);
        rest = behind;
    }
    out.push(b'"');
}

/// How many bytes at the beginning stand for themselves. The end of a text is looked at together with what stands before
/// it, since most texts are short.
fn clean_length(text: &[u8]) -> usize {
    let (words, rest) = text.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return number * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_clean = match (text.last_chunk::<8>(), text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(last), ..) => specials(u64::from_le_bytes(*last)) == 0,
        (None, Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            specials(u64::from(first) << 32 | u64::from(last)) == 0
        }
        (None, ..) => false,
    };
    if is_clean {
        return text.len();
    }
    words.len() * 8 + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// Not zero if a byte of these eight cannot stand for itself, and then the lowest bit is in the first such byte. Bits above it
/// mean nothing, because a byte that is found lends from those above.
const fn specials(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (quote, backslash) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & (ONES * 0x80)
}

/// Whether a byte cannot stand for itself inside a text.
const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

fn write_escaped(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            let digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0x0F)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    /// JSON as a text inside of JSON.
    struct AsText<'v>(&'v Value);

    impl Serialize for AsText<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_newtype_struct(TEXT_OF_JSON, self.0)
        }
    }

    /// Every shape that serde knows.
    #[derive(Serialize)]
    struct Shapes {
        #[serde(rename = "type")]
        kind: &'static str,
        unit: (),
        tuple: (u8, i16, char),
        options: [Option<f32>; 2],
        plain: Plain,
        wrapped: Wrapped,
        numbers: (i8, u16, i32, u32, i64, u64, f64, bool),
        variants: [Variant; 4],
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
        #[serde(flatten)]
        rest: Map<String, Value>,
    }

    #[derive(Serialize)]
    struct Plain;

    #[derive(Serialize)]
    struct Wrapped(u8, Pair);

    #[derive(Serialize)]
    struct Pair(String);

    #[derive(Serialize)]
    enum Variant {
        Unit,
        Newtype(u8),
        Tuple(u8, u8),
        Struct { a: u8, b: u8 },
    }

    fn check(value: &impl Serialize) {
        let written = String::from_utf8(write(value, 0).unwrap()).unwrap();
        assert_eq!(written, serde_json::to_string(value).unwrap());
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        check(&Shapes {
            kind: "shapes",
            unit: (),
            tuple: (1, -2, '"'),
            options: [None, Some(f32::NAN)],
            plain: Plain,
            wrapped: Wrapped(1, Pair("\u{1}".to_owned())),
            numbers: (-8, 16, -32, 32, i64::MIN, u64::MAX, 1e300, true),
            variants: [Variant::Unit, Variant::Newtype(1), Variant::Tuple(1, 2), Variant::Struct { a: 1, b: 2 }],
            absent: None,
            rest: Map::from_iter([("na\"me".to_owned(), json!({}))]),
        });
    }

    #[test]
    fn every_byte_is_escaped_as_serde_json_does() {
        let all: String = (0..=0x250).filter_map(char::from_u32).collect();
        check(&all);
        for length in 0..40 {
            for special in ["\"", "\\", "\n", "\u{0}", "\u{7f}", "ü"] {
                for place in 0..=length {
                    let text = "x".repeat(place) + special + &"y".repeat(length - place);
                    check(&text);
                }
            }
        }
    }

    #[test]
    fn names_that_are_no_texts_are_refused() {
        assert!(write(&BTreeMap::from([(vec![1], 1)]), 0).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a-z \"\\\\\n\u{1}é]{0,60}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-c\"\n]{0,20}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_is_written_as_serde_json_writes_it(value in any_json()) {
            prop_assert_eq!(write(&value, 0).unwrap(), serde_json::to_vec(&value).unwrap());
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(write(&[AsText(&value)], 0).unwrap(), serde_json::to_vec(&[text]).unwrap());
        }
    }
}
