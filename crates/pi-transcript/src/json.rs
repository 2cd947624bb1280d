//! How every vocabulary of this workspace treats JSON.
//!
//! Five rules, each with its home: a missing member is not `null` ([`present`], [`nullable`], [`schema`]); members, words and values that we
//! do not know are kept ([`Extra`], [`Open`], [`Loose`]); a number is written as it was read ([`Amount`]); equality of meaning is
//! equality of canonical bytes ([`canonical`], [`Digest`]); whatever is refused is refused with the path to it
//! ([`Problem`], [`shape`]).

pub mod amount;
pub mod canonical;
pub mod digest;
pub mod open;
pub mod schema;
pub mod shape;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

pub use self::{
    amount::Amount,
    digest::Digest,
    open::{Loose, Open},
    schema::nullable_schema,
    shape::Problem,
};

/// Members of an object that its type does not name, kept in the order in which they were read.
pub type Extra = Map<String, Value>;

/// Reads an optional member that may be absent but, once written, must have its type: `null` is refused.
///
/// Use with `#[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]`. A schema made by
/// [`schema::generator`] says the same.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Reads a member that must be there and may be `null`.
///
/// Use with `#[serde(deserialize_with = "nullable")]` and without a default: serde alone would take a missing member
/// for `null`. The schema needs `#[schemars(schema_with = "nullable_schema::<T>")]` to say the same.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
