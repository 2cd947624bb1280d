//! What a client asks: one payload type per command.
//!
//! A payload is a list of fields, each with the rule (`rule.rs`) that reads it, writes it back, and describes it. A
//! field whose value is its default is not written, which is what makes "absent" and "default" the same command (see
//! `fingerprint`). Members that no rule names are kept: in the frame, or beside a nested object in [`Extended`].

mod server;
mod session;

use pi_transcript::json::Extra;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

pub use self::{server::*, session::*};
use crate::{fields::Fields, rule::Rule};

/// An object that may hold more than we know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extended<T> {
    pub known: T,
    pub extra: Extra,
}

impl<T: Serialize> Serialize for Extended<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(known) = serde_json::to_value(&self.known).map_err(serde::ser::Error::custom)? else {
            return Err(serde::ser::Error::custom("only an object can be extended"));
        };
        let mut map = serializer.serialize_map(None)?;
        known.iter().chain(&self.extra).try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// Implemented by every payload, through `payload!`.
pub(crate) trait Payload: Sized {
    /// One sentence, or two.
    const SUMMARY: &'static str;

    /// `None` when a field was refused; it is then reported.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
    fn write(&self, members: &mut Map<String, Value>);
    fn describe(visitor: &mut impl MemberVisitor);

    /// What the fields have to do with each other, as far as a JSON Schema can say it.
    fn relations() -> Value {
        Value::Object(Map::new())
    }
}

/// Looks at the fields of a payload one by one: once for JSON Schema, once for TypeScript.
pub(crate) trait MemberVisitor {
    fn member<R: Rule>(&mut self, presence: Presence, name: &'static str, doc: &'static str, rule: &R);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
}

/// How a field is written, by the word that stands before it in `payload!`.
mod write {
    use super::{Map, Presence, Serialize, Value};

    pub(super) const REQUIRED: Presence = Presence::Required;
    pub(super) const OPTIONAL: Presence = Presence::Optional;

    pub(super) fn required(members: &mut Map<String, Value>, name: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).expect("fields of commands have string keys only");
        members.insert(name.to_owned(), value);
    }

    pub(super) fn optional<T: Serialize>(members: &mut Map<String, Value>, name: &str, value: &Option<T>) {
        if let Some(value) = value {
            required(members, name, value);
        }
    }

    pub(super) fn defaulted<T>(members: &mut Map<String, Value>, name: &str, value: &T)
    where
        T: Serialize + Default + PartialEq,
    {
        if *value != T::default() {
            required(members, name, value);
        }
    }
}

/// Defines payloads: `field: Type = required|optional|defaulted "name" RULE`, and `check … as …` for what one field alone
/// cannot say: the function that checks it, and as much of it as a JSON Schema can express.
macro_rules! payload {
    (@presence required) => { write::REQUIRED };
    (@presence optional) => { write::OPTIONAL };
    (@presence defaulted) => { write::OPTIONAL };
    ($(
        $(#[doc = $doc:literal])+
        $(#[derive($derive:ident)])?
        $payload:ident {
            $( $(#[doc = $field_doc:literal])* $field:ident: $type:ty = $presence:ident $name:literal $rule:expr, )*
        }
        $(check $check:path as $relations:expr;)?
    )+) => { $(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, $($derive)?)]
        pub struct $payload {
            $( $(#[doc = $field_doc])* pub $field: $type, )*
        }

        impl Payload for $payload {
            const SUMMARY: &'static str = concat!($($doc),+).trim_ascii();

            fn read(fields: &mut Fields<'_>) -> Option<Self> {
                let _: &Fields<'_> = fields; // A payload without fields reads none.
                $( let $field = fields.$presence($name, &$rule); )*
                let payload = Self { $( $field: $field?, )* };
                $( $check(&payload, &mut fields.report)?; )?
                Some(payload)
            }

            fn write(&self, members: &mut Map<String, Value>) {
                let _: &Map<_, _> = members;
                $( write::$presence(members, $name, &self.$field); )*
            }

            fn describe(visitor: &mut impl MemberVisitor) {
                let _ = &visitor;
                $( visitor.member(payload!(@presence $presence), $name, concat!("", $($field_doc, "\n"),*), &$rule); )*
            }

            $(
                fn relations() -> Value {
                    $relations
                }
            )?
        }

        impl Serialize for $payload {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut members = Map::new();
                self.write(&mut members);
                members.serialize(serializer)
            }
        }
    )+ };
}
use payload;
