//! How fast a server may speak: whoever says more is read more slowly, and so has to wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep};

use pi_exthost::{Desk, Terms};
use pi_extproto::connector::{
    Call,
    ui::{NoticeLevel, UiCall},
};

/// What somebody who waits for a server is told after so long.
const NOTICED: Duration = Duration::from_secs(2);

/// How fast one server may speak. Clones are the same: a person is told once that it is slowed down.
#[derive(Clone)]
pub(super) struct Pace {
    rate: u32,
    desk: Desk,
    has_told: Arc<AtomicBool>,
}

/// Takes in so many messages a second on average, and some at once.
pub(super) struct Throttle {
    pace: Pace,
    left: u32,
    filled: Instant,
    waited: Duration,
}

impl Pace {
    /// So many messages a second.
    pub(super) fn new(rate: u32, desk: Desk) -> Self {
        Self { rate, desk, has_told: Arc::default() }
    }

    fn tell(&self) {
        if self.has_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (desk, rate) = (self.desk.clone(), self.rate);
        let name = desk.guest().server().unwrap_or(desk.guest().as_str()).to_owned();
        let message = format!(
            "MCP server {name} sends more than {rate} messages a second; it is read more slowly, and its answers take longer"
        );
        // It is answered at once, or refused because the session is over.
        tokio::spawn(async move {
            let notice = UiCall::Notify { message, level: NoticeLevel::Warning };
            if let Err(fault) = desk.call(Call::Ui(notice), Terms::background()).await {
                tracing::debug!(guest = %desk.guest(), fault = fault.message, "nobody was told");
            }
        });
    }
}

impl Throttle {
    pub(super) fn new(pace: Pace) -> Self {
        Self { left: pace.rate * 2, pace, filled: Instant::now(), waited: Duration::ZERO }
    }

    pub(super) fn count(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    pub(super) async fn wait(&mut self) {
        const MOMENT: Duration = Duration::from_millis(20);
        while self.left == 0 {
            let passed = self.filled.elapsed().as_millis().min(2000);
            let earned = u64::from(self.pace.rate) * u64::try_from(passed).unwrap_or(2000) / 1000;
            self.left = u32::try_from(earned).unwrap_or(self.pace.rate);
            if self.left == 0 {
                sleep(MOMENT).await;
                self.waited += MOMENT;
                if self.waited >= NOTICED {
                    self.pace.tell();
                }
            } else {
                self.filled = Instant::now();
            }
        }
    }
}
