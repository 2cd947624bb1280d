//! What we know, or else what was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// A word that we know, or one that a later version added; the latter is kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Open<T> {
    Known(T),
    // `string & {}`, which a TypeScript compiler does not merge with the words that it knows.
    #[ts(type = "string & {}")]
    Other(String),
}

impl<T> Open<T> {
    /// The word if we know it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(word) => Some(word),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Open<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

impl<T: PartialEq> PartialEq<T> for Open<T> {
    fn eq(&self, word: &T) -> bool {
        self.known() == Some(word)
    }
}

/// A value of a type that we know, or any other, kept as it was written.
///
/// For members whose faults must not hide what is around them: a price that is `null`, because JavaScript had no number
/// for it, is no reason to lose the answer that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Loose<T> {
    Known(T),
    Other(Value),
}

impl<T> Loose<T> {
    /// The value if it is of the type that we know.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Loose<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}
