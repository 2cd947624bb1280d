//! The thread that owns the files of a ledger.
//!
//! It writes what has come within a moment in one go, so that the two lines of a quick call, and those of many guests, share a write
//! and nobody wakes it for each. When that fails (a full disk, a mount that went away) nothing is
//! lost at first: lines wait, no new call begins, and it tries again every second. What does not fit into its memory is
//! counted and said once it works again.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use pi_extproto::log::Level;

use super::{Health, book::Book, line::Line, spent::Spent};

/// Lines that are kept while the disk does not take them.
const MOST_WAITING: usize = 16_384;
/// How often a disk that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long lines are gathered before they are written.
const MOMENT: Duration = Duration::from_millis(1);
/// Lines that go into one write.
const BATCH: usize = 4096;

type Reply = oneshot::Sender<Result<(), String>>;

pub(super) enum Order {
    /// The room is given back when the line is composed.
    Write {
        line: Line,
        room: Option<OwnedSemaphorePermit>,
    },
    Flush(Reply),
    Close(Reply),
}

/// Writes until it is told to stop or nobody is left who could tell it anything.
pub(super) fn write(book: Book, orders: &Receiver<Order>, health: &Health, spent: &Spent) {
    let mut writer = Writer { book, health, spent, lost: 0, is_broken: false };
    loop {
        let first = if writer.is_broken { orders.recv_timeout(PAUSE) } else { orders.recv().map_err(Into::into) };
        match first {
            Ok(order) => {
                if matches!(order, Order::Write { .. }) {
                    thread::sleep(MOMENT);
                }
                let more = std::iter::from_fn(|| orders.try_recv().ok()).take(BATCH);
                for order in std::iter::once(order).chain(more) {
                    if writer.take(order) {
                        return;
                    }
                }
                writer.commit();
            }
            Err(RecvTimeoutError::Timeout) => writer.commit(),
            Err(RecvTimeoutError::Disconnected) => {
                // Nobody is left who could be told.
                drop(writer.finish());
                return;
            }
        }
    }
}

struct Writer<'a> {
    book: Book,
    health: &'a Health,
    spent: &'a Spent,
    /// Lines that did not fit into memory while the disk failed.
    lost: u64,
    is_broken: bool,
}

impl Writer<'_> {
    /// Does what it is told; answers whether that was the last thing.
    fn take(&mut self, order: Order) -> bool {
        match order {
            Order::Write { line, room } => {
                if self.book.waiting() < MOST_WAITING {
                    self.spent.put(self.book.add(line));
                } else {
                    self.lost += 1;
                }
                drop(room);
                false
            }
            Order::Flush(reply) => {
                self.commit();
                // Who does not wait any more does not need to know.
                drop(reply.send(self.synced()));
                false
            }
            Order::Close(reply) => {
                drop(reply.send(self.finish()));
                true
            }
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        self.book.say("ledger.close", Level::Info, "the ledger ends here", json!({}));
        self.commit();
        let synced = self.synced();
        self.book.release();
        synced
    }

    fn synced(&mut self) -> Result<(), String> {
        if self.is_broken {
            return Err(self.health.reason());
        }
        self.book.sync().map_err(|error| error.to_string())
    }

    fn commit(&mut self) {
        match self.book.commit() {
            Ok(()) if self.is_broken => self.heal(),
            Ok(()) => {}
            Err(error) => {
                if !self.is_broken {
                    tracing::error!(%error, "the ledger of extensions cannot be written; their calls are refused");
                }
                self.is_broken = true;
                self.health.broke(&error);
            }
        }
    }

    fn heal(&mut self) {
        self.is_broken = false;
        let (refused, lost) = (self.health.healed(), std::mem::take(&mut self.lost));
        let data = json!({ "refused_calls": refused, "lost_lines": lost });
        self.book.say("ledger.gap", Level::Error, "the ledger could not be written for a while", data);
        self.commit();
    }
}
