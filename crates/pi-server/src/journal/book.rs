//! The seam between a server and whatever keeps its journal.
//!
//! A journal has two ends. The engine writes through [`driver::Journal`](pi_engine::driver::Journal) and waits; everybody else
//! notes and reads through a [`Book`]. What is in a journal comes back as a [`Recovery`] when it is opened.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_engine::{Ticket, Time};
use pi_transcript::SessionId;

use super::{
    berth::Berth,
    fault::JournalError,
    history::{Filter, Page},
    keeper::Shortened,
    recovery::Recovery,
};

/// What the handlers of a server do with a journal. SQLite implements it for one machine, the tests in memory; a database
/// that several machines share would be another.
///
/// Whatever is noted before a command ends is durable when the command is answered.
pub trait Book: Send + Sync + 'static {
    /// A command begins. It may be missing from the history after a crash, and from nothing else.
    fn note_start(&self, ticket: Ticket, at: Time);

    /// Something about a session is another; written with whatever the engine hands over next. A session that is gone stays
    /// gone.
    fn note(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Remembers where a session is found again. Returns when it is written.
    fn keep(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Forgets a session. Returns when it is written.
    fn drop_berth(&self, session: SessionId) -> BoxFuture<'_, Result<(), JournalError>>;

    /// What commands did, newest first.
    fn history(&self, filter: Filter) -> BoxFuture<'_, Result<Page, JournalError>>;

    /// How many records were written since the start.
    fn written(&self) -> u64;

    /// What is broken in it, as far as somebody noticed. Nothing is written from then on.
    fn damage(&self) -> Option<String>;

    /// Whether it is where it was when it was opened. What is written to one that is not will not be found again.
    fn is_there(&self) -> bool;

    /// What went from it since the start.
    fn shortened(&self) -> Shortened;

    /// The version of what is written.
    fn schema_version(&self) -> u32;

    /// Where it is, for people.
    fn place(&self) -> String;
}

/// A journal that was opened. `K` is the engine's end.
pub struct Opened<K> {
    pub keeper: K,
    pub book: Arc<dyn Book>,
    pub recovery: Recovery,
}
