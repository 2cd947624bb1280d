//! The journal: what every mutating command was, when it ran and how it ended, on the disk.
//!
//! The engine hands over records in order ([`Keeper`]), and after a restart it gets back what it must know again
//! ([`Recovery`]): outcomes, keys, versions, and which commands never ended. The rest is history for people ([`Reader`],
//! [`audit`]) and goes after a while. Payloads of commands are not in it, and what answers say is redacted first.
//!
//! It is SQLite because a transaction, a lock, a reader beside the writer and a repair tool come with it (ADR 149). Another
//! store would implement [`pi_engine::driver::Journal`] and [`Book`]: that is all that the server knows of it.
//!
//! Start with [`open`].

pub mod audit;
mod berth;
mod book;
mod fault;
mod history;
mod keeper;
mod lock;
mod presence;
mod recovery;
mod row;
mod store;

pub use self::{
    berth::{Auto, Berth, Mark},
    book::{Book, Opened},
    fault::{DAMAGED, GONE, JournalError},
    history::{Filter, Page, Told, ToldFinish},
    keeper::{Earlier, Keeper, Options, Reader, Shortened, Shortening, look, open, open_book},
    lock::{Holder, holder},
    recovery::Recovery,
    store::{Extent, Retention, SCHEMA_VERSION},
};
