//! How many bytes of parameters a guest has under way.
//!
//! They lie in the memory of the host and count in no engine, so they have a bound of their own. Nobody waits for room: a
//! call that waits brings its bytes along.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use pi_extproto::{connector::Call, host::HostError, log::ledger::Start};

/// The bytes of all calls of one guest that are not over.
#[derive(Debug, Default)]
pub(super) struct Pending(Arc<AtomicUsize>);

/// The bytes of one call. They count until this is dropped.
#[derive(Debug)]
pub(super) struct Load {
    pending: Arc<AtomicUsize>,
    pub(super) bytes: usize,
}

/// A call whose bytes count among those that its guest has under way, or which there was no room for. They count until it is
/// over or this is dropped.
#[derive(Debug)]
#[must_use = "nothing was asked yet"]
pub struct Weighed(pub(super) Result<(Call, Load), Box<TooMuch>>);

/// A call that is refused for its size, without its parameters.
#[derive(Debug)]
pub(super) struct TooMuch {
    pub(super) start: Start,
    pub(super) error: HostError,
}

impl Pending {
    /// Nothing if all together would be more than `most`.
    pub(super) fn take(&self, bytes: usize, most: usize) -> Option<Load> {
        let more = |pending: usize| pending.checked_add(bytes).filter(|sum| *sum <= most);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| Load { pending: Arc::clone(&self.0), bytes })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.pending.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
