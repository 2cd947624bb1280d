//! Whole numbers as JSON Schema counts them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Number;
use ts_rs::TS;

use pi_transcript::json::shape::is_count;

/// A whole number, zero or more, of any size and spelling: `3`, `3.0` and `1e300` are all counts, and are written again
/// as they were read.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
#[ts(as = "f64")]
pub struct Count(Number);

impl Count {
    /// The value; a number beyond 64 bits is the largest that fits.
    pub fn get(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count is whole and not negative, and a cast from a double stops at the largest value"
        )]
        let from_double = |double: f64| double as u64;
        self.0.as_u64().or_else(|| self.0.as_f64().map(from_double)).unwrap_or_default()
    }
}

impl From<u64> for Count {
    fn from(value: u64) -> Self {
        Self(value.into())
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        if is_count(&number) {
            Ok(Self(number))
        } else {
            Err(D::Error::custom("expected a whole number, zero or more"))
        }
    }
}

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<u64>) {
        let read = serde_json::from_str::<Count>(json);
        assert_eq!(read.as_ref().ok().map(Count::get), expected, "{json}");
        if let Ok(count) = read {
            let again = serde_json::to_string(&count).expect("JSON");
            assert_eq!(serde_json::from_str::<Count>(&again).expect("a count"), count, "{json}");
        }
    }

    #[test]
    fn counts_have_any_size_and_spelling() {
        check("0", Some(0));
        check("-0", Some(0));
        check("3.0", Some(3));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", Some(u64::MAX));
        check("1e300", Some(u64::MAX));
        for json in ["-1", "0.5", "-1e300", "\"1\"", "null", "true"] {
            check(json, None);
        }
    }
}
