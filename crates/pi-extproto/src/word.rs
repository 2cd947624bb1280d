//! Open word lists: names that we know, and every other name kept as it was written.
//!
//! The protocol says "string" wherever a later version may add a word. Matching on an enum is safer than comparing
//! strings, and refusing a word that we do not know would break the protocol: `open_words` gives both.
//!
//! Unlike `pi_transcript::json::Open`, where a known word can be held as an unknown one, two of these values are equal
//! exactly if their texts are: grants and denials compare capabilities, and must not be passed by in a second spelling.

use std::fmt;

/// A word outside the known list of its type. Only the parser of that type makes one, so it never hides a known word.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherWord(Box<str>);

impl OtherWord {
    pub(crate) fn new(word: &str) -> Self {
        Self(word.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for OtherWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Declares an enum of known words with a last variant `Other` for the rest; any string is a valid value.
macro_rules! open_words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_attribute])* $variant,)*
            /// A word that this version does not know.
            Other($crate::word::OtherWord),
        }

        impl $name {
            /// Every word that has its own variant, in the order of declaration.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Other($crate::word::OtherWord::new(other)),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str>>::deserialize(deserializer).map(|word| Self::from(word.as_ref()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "examples": [$($word),*] })
            }
        }

        impl ts_rs::TS for $name {
            type WithoutGenerics = Self;
            type OptionInnerType = Self;

            fn name(_: &ts_rs::Config) -> String {
                "string".to_owned()
            }

            fn inline(_: &ts_rs::Config) -> String {
                "string".to_owned()
            }
        }
    };
}

pub(crate) use open_words;
