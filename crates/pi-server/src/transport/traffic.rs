//! What goes over a connection, counted where it goes: a large frame that comes or is taken slowly is a sign of life long before
//! it is whole.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes since the connection began.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    received: AtomicU64,
    taken: AtomicU64,
}

impl Traffic {
    /// So many bytes came in.
    pub(super) fn receive(&self, bytes: usize) {
        self.received.fetch_add(wide(bytes), Ordering::Relaxed);
    }

    /// There was room again for so many bytes where there had been none: the other side took as many. What fits into the room
    /// between the two tells nothing.
    pub(super) fn take(&self, bytes: usize) {
        self.taken.fetch_add(wide(bytes), Ordering::Relaxed);
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

/// Fewer bytes than this between two looks are not somebody who sends or reads a frame.
const LEAST: u64 = 1 << 10;

/// Whether a connection goes on, from one look to the next.
#[derive(Debug)]
pub(super) struct Progress<'a> {
    traffic: &'a Traffic,
    received: u64,
    taken: u64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(traffic: &'a Traffic) -> Self {
        Self { traffic, received: traffic.received(), taken: traffic.taken() }
    }

    /// So many of the bytes that came in say nothing: they are a ping.
    pub(super) fn pass_over(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(wide(bytes));
    }

    /// Whether a good deal came in or was taken since the last look, or since the beginning.
    pub(super) fn look(&mut self) -> bool {
        let (received, taken) = (self.traffic.received(), self.traffic.taken());
        let went_on = received.saturating_sub(self.received) >= LEAST || taken.saturating_sub(self.taken) >= LEAST;
        (self.received, self.taken) = (received, taken);
        went_on
    }
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_no_progress_and_pieces_of_frames_are() {
        let traffic = Traffic::default();
        let mut progress = Progress::new(&traffic);
        assert!(!progress.look());
        traffic.receive(4096);
        progress.pass_over(4096);
        assert!(!progress.look());
        traffic.receive(4096);
        assert!(progress.look());
        assert!(!progress.look());
        traffic.take(1000);
        assert!(!progress.look(), "too little");
        traffic.take(4096);
        assert!(progress.look());
    }
}
