//! What a client is made of, and how long it waits for what.

use std::{sync::Arc, time::Duration};

use super::seam::Interceptor;
use crate::{breaker::Breakers, retry::Retrying, transport::Network};

/// What a client is made of.
pub struct Settings {
    pub network: Network,
    pub timeouts: Timeouts,
    /// The largest answer that is read as a whole, in bytes.
    pub largest_answer: usize,
    /// Shared with whoever shows them.
    pub breakers: Breakers,
    pub interceptor: Option<Arc<dyn Interceptor>>,
    /// Between 0 and 1, for the delays of retries.
    pub chance: fn() -> f64,
    /// Told before every retry, so that somebody who waits can be told why. It is called between two attempts and must
    /// not block.
    pub retry_listener: Option<RetryListener>,
    /// Between two pieces of the demo model's answers, as if somebody were writing.
    pub demo_pause: Duration,
}

/// Whoever wants to know of retries.
pub type RetryListener = Arc<dyn Fn(Retrying<'_>) + Send + Sync>;

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of a streamed answer. Models may think for minutes before they say a word.
    pub first_byte: Duration,
    /// Between two pieces of a stream.
    pub idle: Duration,
    /// For a call with all its attempts and its whole answer. `None` leaves answers that are not streamed to the manifest's
    /// `timeout_ms`, else ten minutes, and bounds no stream.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            total: None,
        }
    }
}

impl Settings {
    /// The usual ones, for this network.
    pub fn new(network: Network) -> Self {
        Self {
            network,
            timeouts: Timeouts::default(),
            largest_answer: 64 * 1024 * 1024,
            breakers: Breakers::new(),
            interceptor: None,
            chance: fastrand::f64,
            retry_listener: None,
            demo_pause: Duration::ZERO,
        }
    }
}
