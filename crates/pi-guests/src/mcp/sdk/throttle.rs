//! How fast a server may speak: whoever says more is read more slowly, and so has to wait.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Takes in so many messages a second on average, and some at once.
pub(super) struct Throttle {
    rate: u32,
    left: u32,
    filled: Instant,
}

impl Throttle {
    pub(super) fn new(rate: u32) -> Self {
        Self { rate, left: rate * 2, filled: Instant::now() }
    }

    pub(super) fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(super) async fn wait(&mut self) {
        while self.left == 0 {
            let passed = self.filled.elapsed().as_millis().min(2000);
            let earned = u64::from(self.rate) * u64::try_from(passed).unwrap_or(2000) / 1000;
            self.left = u32::try_from(earned).unwrap_or(self.rate);
            if self.left == 0 {
                sleep(Duration::from_millis(20)).await;
            } else {
                self.filled = Instant::now();
            }
        }
    }
}
