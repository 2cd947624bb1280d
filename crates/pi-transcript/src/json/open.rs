//! A word from a list that may grow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// A word that we know, or one that a later version added; the latter is kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
pub enum Open<T> {
    Known(T),
    /// In TypeScript `string & {}`, which a compiler does not merge with the words that it knows.
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
