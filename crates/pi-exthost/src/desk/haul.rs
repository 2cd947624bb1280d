//! How many bytes of results a guest has not taken yet.
//!
//! They lie in the memory of the host and count in no engine, so all of them together have a bound, as one of them has. They
//! are counted while they come and until the guest has them; a result for which there is no room is an error that says so.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use pi_extproto::host::{ErrorCode, HostError};

use super::Output;

/// The bytes of all results of one guest that it has not taken.
#[derive(Debug, Default)]
pub(super) struct Untaken(Arc<AtomicUsize>);

/// The bytes of one result. They count until this is dropped.
#[derive(Debug)]
pub(crate) struct Haul {
    untaken: Arc<AtomicUsize>,
    bytes: AtomicUsize,
    most: usize,
}

/// A result, whose bytes count until this is dropped.
#[derive(Debug)]
pub struct Hauled {
    pub output: Output,
    pub(super) _haul: Haul,
}

impl Untaken {
    /// For one result; all together have at most so many bytes.
    pub(super) fn begin(&self, most: usize) -> Haul {
        Haul { untaken: Arc::clone(&self.0), bytes: AtomicUsize::new(0), most }
    }
}

impl Haul {
    /// Counts more bytes of the result, before anybody keeps them.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), HostError> {
        let more = |untaken: usize| untaken.checked_add(bytes).filter(|sum| *sum <= self.most);
        match self.untaken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok(())
            }
            Err(_) => {
                let message = format!(
                    "the results that this extension has asked for and not taken yet have more than {} bytes together with \
                     this one; await some of them first, or ask for streams",
                    self.most
                );
                Err(HostError { retryable: Some(true), ..HostError::new(ErrorCode::InvalidRequest, message) })
            }
        }
    }
}

impl Drop for Haul {
    fn drop(&mut self) {
        self.untaken.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}
