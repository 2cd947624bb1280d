//! Decides when commands run.
//!
//! A command comes in as an [`Admission`]: a [`Header`] that says who sends it, what it is for, in which [`Lane`] and
//! [`Order`], and a payload that stays closed. [`Engine::step`] answers with effects:
//!
//! 1. Seen before, by id or by key? Then it gets the same answer ([`Replay::Replayed`]) and nothing runs.
//! 2. Otherwise it is refused, or gets a [`Ticket`]. What writes is handed to the journal first ([`Effect::Persist`]).
//! 3. When its acceptance is durable, its dependencies have succeeded, its turn in the lane has come and the session has
//!    the version that it expects, it starts ([`Effect::Start`]), once.
//! 4. It ends by itself, by its time limit, or with its session; that outcome goes to the journal, and when it is durable
//!    the client gets it ([`Effect::Respond`]). It stays known for a while, so that a retry is answered and not run.
//!
//! The engine does no IO, reads no clock, starts no task and looks into no payload: it is a value with a `step` function,
//! and tests drive it through crashes and a million random commands. [`driver`] is the thin part that waits: it owns an
//! engine on a tokio task, writes to a [`driver::Journal`] and has a [`driver::Host`] do the work.
//!
//! Read [`Header`] first, then [`Effect`], then [`Engine`].

mod config;
mod deadline;
pub mod driver;
mod effect;
mod engine;
mod header;
mod identity;
mod journal;
mod lane;
mod name;
mod outcome;
mod record;
mod shelf;
mod table;
mod version;

pub use self::{
    config::{Config, Retention},
    effect::{Announcement, Change, Completion, Effect, Input, Phase, Replay},
    engine::{Engine, Load},
    header::{Access, Admission, Header, Lane, Limit, Order, Role, Span},
    name::{ClientName, CommandId, Fingerprint, Key, Kind, Principal, Request, Sequence, SessionName, Ticket, Time},
    outcome::{Ending, Failure, Outcome, Refusal, Scarcity},
    record::{Record, VersionMove},
    shelf::OVERHEAD,
};
