//! How values pass the border: lowered to the guest, lifted from it.
//!
//! Both sides have the same names, so most of it is a list of names. Records are taken apart without a rest, on both
//! sides: a member that one side learns does not compile before the other has it.

use std::collections::BTreeMap;

use serde_json::Value;

use pi_extproto::{Object, connector::data::Data};
use pi_transcript::{EntryId, ModelId, ProviderId, SessionId, ToolCallId};

/// On its way to a guest.
pub(super) trait Lower<T> {
    fn lower(self) -> T;
}

/// On its way from a guest.
pub(super) trait Lift<T> {
    fn lift(self) -> Result<T, NotJson>;
}

/// A text that should be JSON and is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected JSON: {problem}")]
pub(super) struct NotJson {
    problem: String,
}

macro_rules! same {
    ($($kind:ty),*) => {$(
        impl Lower<$kind> for $kind {
            fn lower(self) -> $kind {
                self
            }
        }

        impl Lift<$kind> for $kind {
            fn lift(self) -> Result<$kind, NotJson> {
                Ok(self)
            }
        }
    )*};
}

same!(String, bool, u16, u32, u64, i32, f64);

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl Lower<String> for $id {
            fn lower(self) -> String {
                self.0
            }
        }

        impl Lift<$id> for String {
            fn lift(self) -> Result<$id, NotJson> {
                Ok(<$id>::from(self))
            }
        }
    )*};
}

ids!(EntryId, ModelId, ProviderId, SessionId, ToolCallId);

impl<A: Lower<B>, B> Lower<Option<B>> for Option<A> {
    fn lower(self) -> Option<B> {
        self.map(Lower::lower)
    }
}

impl<A: Lift<B>, B> Lift<Option<B>> for Option<A> {
    fn lift(self) -> Result<Option<B>, NotJson> {
        self.map(Lift::lift).transpose()
    }
}

impl<A: Lower<B>, B> Lower<Vec<B>> for Vec<A> {
    fn lower(self) -> Vec<B> {
        self.into_iter().map(Lower::lower).collect()
    }
}

impl<A: Lift<B>, B> Lift<Vec<B>> for Vec<A> {
    fn lift(self) -> Result<Vec<B>, NotJson> {
        self.into_iter().map(Lift::lift).collect()
    }
}

impl Lower<String> for Value {
    fn lower(self) -> String {
        self.to_string()
    }
}

impl Lower<String> for Object {
    fn lower(self) -> String {
        Value::Object(self).to_string()
    }
}

impl Lift<Value> for String {
    fn lift(self) -> Result<Value, NotJson> {
        serde_json::from_str(&self).map_err(|error| NotJson { problem: error.to_string() })
    }
}

impl Lift<Object> for String {
    fn lift(self) -> Result<Object, NotJson> {
        serde_json::from_str(&self).map_err(|error| NotJson { problem: error.to_string() })
    }
}

impl Lower<Vec<u8>> for Data {
    fn lower(self) -> Vec<u8> {
        self.0
    }
}

impl Lift<Data> for Vec<u8> {
    fn lift(self) -> Result<Data, NotJson> {
        Ok(Data(self))
    }
}

impl Lower<Vec<(String, String)>> for BTreeMap<String, String> {
    fn lower(self) -> Vec<(String, String)> {
        self.into_iter().collect()
    }
}

/// Of two pairs with one name the last counts.
impl Lift<BTreeMap<String, String>> for Vec<(String, String)> {
    fn lift(self) -> Result<BTreeMap<String, String>, NotJson> {
        Ok(self.into_iter().collect())
    }
}

/// Ours to theirs: records by their members, enums by their words, variants by their cases.
macro_rules! lower {
    ($(record $from:ty => $to:ty { $($field:ident),* $(,)? })*) => {$(
        impl Lower<$to> for $from {
            fn lower(self) -> $to {
                type From = $from;
                type To = $to;
                let From { $($field),* } = self;
                To { $($field: $field.lower()),* }
            }
        }
    )*};
    ($(words $from:ty => $to:ty { $($word:ident),* $(,)? })*) => {$(
        impl Lower<$to> for $from {
            fn lower(self) -> $to {
                match self { $(<$from>::$word => <$to>::$word),* }
            }
        }
    )*};
}

/// Theirs to ours.
macro_rules! lift {
    ($(record $from:ty => $to:ty { $($field:ident),* $(,)? })*) => {$(
        impl Lift<$to> for $from {
            fn lift(self) -> Result<$to, NotJson> {
                type From = $from;
                type To = $to;
                let From { $($field),* } = self;
                Ok(To { $($field: $field.lift()?),* })
            }
        }
    )*};
    ($(words $from:ty => $to:ty { $($word:ident),* $(,)? })*) => {$(
        impl Lift<$to> for $from {
            fn lift(self) -> Result<$to, NotJson> {
                Ok(match self { $(<$from>::$word => <$to>::$word),* })
            }
        }
    )*};
}

pub(super) use {lift, lower};
