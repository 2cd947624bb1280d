//! How much a guest has asked of its host, and how much was asked of it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use pi_extproto::host::ErrorCode;

/// What was counted of a guest in this session, however often it was loaded anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Tools, commands and events that the guest was asked for, as far as they are over.
    pub asked: u64,
    /// How long they took together, without the time in which people were waited for.
    pub busy: Duration,
    /// Host calls.
    pub calls: u64,
    /// Calls that failed for another reason than a refusal.
    pub errors: u64,
    pub denials: u64,
    /// Spent on calls, waiting included.
    pub time: Duration,
    /// Bytes handed to the guest, and taken from it.
    pub received: u64,
    pub sent: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    errors: AtomicU64,
    denials: AtomicU64,
    /// How often it had to be stopped.
    traps: AtomicU64,
    micros: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

impl Counters {
    pub(crate) fn call(&self, error: Option<ErrorCode>, time: Duration) {
        self.calls.fetch_add(1, Relaxed);
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Relaxed);
        match error {
            None => {}
            Some(ErrorCode::Denied) => drop(self.denials.fetch_add(1, Relaxed)),
            Some(ErrorCode::Timeout | ErrorCode::Io | ErrorCode::InvalidRequest | ErrorCode::Internal) => {
                self.errors.fetch_add(1, Relaxed);
            }
        }
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn trap(&self) {
        self.traps.fetch_add(1, Relaxed);
    }

    pub(crate) fn traps(&self) -> u64 {
        self.traps.load(Relaxed)
    }

    pub(crate) fn denials(&self) -> u64 {
        self.denials.load(Relaxed)
    }

    pub(crate) fn read(&self) -> Figures {
        Figures {
            // Known to whoever asks it.
            asked: 0,
            busy: Duration::ZERO,
            calls: self.calls.load(Relaxed),
            errors: self.errors.load(Relaxed),
            denials: self.denials.load(Relaxed),
            time: Duration::from_micros(self.micros.load(Relaxed)),
            received: self.received.load(Relaxed),
            sent: self.sent.load(Relaxed),
        }
    }
}
