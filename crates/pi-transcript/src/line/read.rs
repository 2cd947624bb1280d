//! Reading JSON, and whether the value says all that the text says.
//!
//! `serde_json` reads strings exactly or not at all. It loses digits of numbers, and all but the last of members with one
//! name; what is read here is what it would read, but it is noticed.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::number;

/// The value of a text, and whether writing it would give a text of the same meaning.
pub(super) fn read(text: &str) -> serde_json::Result<(Value, bool)> {
    let watch = Watch::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = watch.deserialize(&mut deserializer)?;
    deserializer.end()?;
    // An integer that did not become a double is the integer that was written.
    let is_whole = !watch.repeats.get() && (!watch.doubles.get() || number::are_exact(text));
    Ok((value, is_whole))
}

/// Builds a value, and remembers what might have been lost on the way.
#[derive(Default)]
struct Watch {
    /// A name stood twice in one object.
    repeats: Cell<bool>,
    /// A number became a double.
    doubles: Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for &Watch {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &Watch {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Value, E> {
        Ok(integer.into())
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Value, E> {
        Ok(integer.into())
    }

    fn visit_f64<E: Error>(self, double: f64) -> Result<Value, E> {
        self.doubles.set(true);
        Ok(double.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let member = access.next_value_seed(self)?;
            if members.insert(name, member).is_some() {
                self.repeats.set(true);
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_that_of_serde_json() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        for text in [
            r#" {"b":[null,true,-1,18446744073709551615,1.5,"\u00e9\n"],"a":{},"b":{"x":[]}} "#,
            "-0",
            "1e400",
            r#""\ud83d""#,
            "[1,]",
            "{}}",
            "",
            &deep(127),
            &deep(128),
        ] {
            let expected = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            let found = read(text).map(|(value, _)| value).map_err(|error| error.to_string());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn names_that_stand_twice_are_noticed() {
        let cases = [
            ("{}", true),
            (r#"{"a":1,"b":{"a":[{"a":2},{"a":3}]}}"#, true),
            (r#"{"a":":\":","\"":":\\"}"#, true),
            (r#"{"a":1,"a":1}"#, false),
            (r#"{"a":1,"\u0061":2}"#, false),
            (r#"[{"b":[{"a":1,"c":2,"a":3}]}]"#, false),
            (r#"{"a":{"b":1,"c":2},"a":{"b":1,"c":2,"d":3}}"#, false),
        ];
        for (text, whole) in cases {
            assert_eq!(read(text).unwrap().1, whole, "{text}");
        }
    }
}
