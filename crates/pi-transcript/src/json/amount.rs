//! A number that is written as it was read.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use ts_rs::{Config, TS};

/// A finite number, such as a price or a share.
///
/// `0` stays `0` and `0.0` stays `0.0`: a double alone would write both the same way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(Number);

/// Neither infinity nor "not a number" can be written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a number in JSON is finite")]
pub struct NotFinite;

impl Amount {
    pub fn as_f64(&self) -> f64 {
        self.0.as_f64().expect("without arbitrary precision every number is a finite double")
    }

    /// The sum; one that no double holds is the first of the two.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self::try_from(self.as_f64() + other.as_f64()).unwrap_or_else(|_| self.clone())
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self(0.into())
    }
}

impl From<u32> for Amount {
    fn from(whole: u32) -> Self {
        Self(whole.into())
    }
}

/// Whole numbers are written without a fraction, as JavaScript writes them.
impl TryFrom<f64> for Amount {
    type Error = NotFinite;

    fn try_from(double: f64) -> Result<Self, NotFinite> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        // Whole and below 2^53: the cast is exact.
        if double.fract() == 0.0 && double.abs() < EXACT {
            return Ok(Self((double as i64).into()));
        }
        Number::from_f64(double).map(Self).ok_or(NotFinite)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

impl TS for Amount {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn name(_: &Config) -> String {
        "number".to_owned()
    }

    fn inline(_: &Config) -> String {
        "number".to_owned()
    }
}
