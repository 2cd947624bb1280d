//! What a client is made of, and how long it waits for what.

use std::{sync::Arc, time::Duration};

use super::{
    deadline::{Deadline, Patience},
    seam::Interceptor,
};
use crate::{
    breaker::Breakers,
    error::{Phase, SetBy},
    manifest::Manifest,
    request::Mode,
    retry::Retrying,
    transport::Network,
};

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

/// How long to wait for what. What nobody chose is `None`; [`Duration::MAX`] is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of a streamed answer, for each attempt. `None` is five minutes, since models may
    /// think for minutes before they say a word, or the manifest's `timeout_ms` if that is less.
    pub first_byte: Option<Duration>,
    /// Between two pieces of a stream. `None` is five minutes.
    pub idle: Option<Duration>,
    /// For a call with all its attempts and its whole answer. `None` leaves answers that are not streamed to the manifest's
    /// `timeout_ms`, else ten minutes, and bounds no stream.
    pub total: Option<Duration>,
}

/// For an answer that is not streamed, where nobody says otherwise.
const WHOLE: Duration = Duration::from_secs(600);

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: None, idle: None, total: None }
    }
}

impl Timeouts {
    /// Silence that is borne where nobody says otherwise, before the first byte and after it.
    pub const USUAL_SILENCE: Duration = Duration::from_secs(300);

    /// When a call that begins now has to be over.
    pub(super) fn deadline(&self, manifest: &Manifest, mode: Mode) -> Option<Deadline> {
        let chosen = self.total.map(|total| (total, SetBy::Caller));
        let (total, set_by) = match mode {
            Mode::Stream => chosen?,
            Mode::Whole => chosen.or(written(manifest)).unwrap_or((WHOLE, SetBy::Nobody)),
        };
        Some(Deadline::after(total, set_by))
    }

    /// How long an attempt may go without a byte. What is not streamed has no first byte that says anything.
    pub(super) fn patience(&self, manifest: &Manifest, mode: Mode) -> Option<Patience> {
        let chosen = self.first_byte.map(|after| (after, SetBy::Caller));
        // A manifest means a whole answer as well, so its time may be far longer than anybody bears silence.
        let shorter = || written(manifest).filter(|(after, _)| *after < Self::USUAL_SILENCE);
        let (after, set_by) = match mode {
            Mode::Stream => chosen.or_else(shorter).unwrap_or((Self::USUAL_SILENCE, SetBy::Nobody)),
            Mode::Whole => return None,
        };
        Some(Patience { phase: Phase::FirstByte, after, set_by })
    }

    pub(super) fn idle(&self) -> Patience {
        let set_by = if self.idle.is_some() { SetBy::Caller } else { SetBy::Nobody };
        Patience { phase: Phase::Idle, after: self.idle.unwrap_or(Self::USUAL_SILENCE), set_by }
    }
}

fn written(manifest: &Manifest) -> Option<(Duration, SetBy)> {
    manifest.endpoint.timeout_ms.map(|time| (Duration::from_millis(time), SetBy::Manifest))
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
