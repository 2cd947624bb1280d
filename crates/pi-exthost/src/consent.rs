//! What guests may do, as it stands: settings, what people decided for good, what they answered in this session.
//!
//! [`Rulebook`] is the policy in force and hears of changes; [`GrantsFile`] is where decisions are remembered, and
//! [`SeenFile`] about whom they can be made; `asking` puts questions before a person, in the words of [`wording`]. Whether
//! something is allowed is decided by `pi-policy` alone.

pub(crate) mod asking;
mod grants;
mod rulebook;
mod seen;
pub mod wording;

pub use self::{
    grants::{Change, Changed, GrantsFault, GrantsFile},
    rulebook::Rulebook,
    seen::{Seen, SeenFile},
};
