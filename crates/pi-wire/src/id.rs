//! Names that only this protocol has. Sessions, entries and questions are named in `pi-transcript`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
        #[serde(transparent)]
        #[ts(type = "string")]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
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
    /// A command, as the client that sent it names it.
    CommandId
}
id! {
    /// Under this key the same command may be sent again and runs once.
    IdempotencyKey
}
id! {
    /// A client across its connections; chosen by itself.
    ClientId
}
id! {
    /// A call of a model whose envelope is kept.
    ModelRequestId
}
id! {
    /// A numbering of a session's events. When it changes, numbers start anew.
    Epoch
}
id! {
    /// A message that waits to be said.
    QueueItemId
}
id! {
    /// A skill, memory file or set of tools that can be switched off.
    ContextSourceId
}
id! {
    /// An extension.
    ExtensionId
}
