//! Names and numbers by which the engine knows things. It compares them and looks into none.

use std::{fmt, sync::Arc};

/// Declares a cheap-to-clone name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name! {
    /// Whose credential: what one may have in flight is counted by it, whatever client names it chooses.
    Principal
}
name! {
    /// Who sends: the identity to which command ids and `dependsOn` belong. It outlives a connection.
    ClientName
}
name! {
    /// A command's `id`, unique within its client.
    CommandId
}
name! {
    /// An `idempotencyKey`, unique within its [`crate::Lane`], across clients.
    Key
}
name! {
    /// A session: the name of a lane and of a version.
    SessionName
}
name! {
    /// The command's type, for error texts and events: `prompt`, `get_state`.
    Kind
}

/// Two commands with equal fingerprints mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

/// An admitted command, numbered in the order of admission, across restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Where an answer goes. Chosen by whoever submits; the engine hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub u64);

/// The place of a record in the journal. Records are durable in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// A moment: milliseconds since 1970, never going back. It must mean the same after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment `milliseconds` later.
    pub fn after(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Milliseconds from `earlier` until this moment.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
