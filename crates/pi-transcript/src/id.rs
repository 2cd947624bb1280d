//! Names of things, each its own type so that one cannot be passed for another.

use std::{borrow::Borrow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A conversation, as clients and files name it.
    SessionId
}
id! {
    /// An entry of a session; eight hexadecimal digits when we choose it, any text when we read it.
    EntryId
}
id! {
    /// A tool call, as the model's provider names it.
    ToolCallId
}
id! {
    /// A question that was put to a person.
    RequestId
}
id! {
    /// Who runs a model, as manifests and settings name them.
    ProviderId
}
id! {
    /// A model, as its provider names it; only together with a [`ProviderId`] does it name one model.
    ModelId
}
