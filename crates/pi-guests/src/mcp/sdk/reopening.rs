//! How often streams of a server are opened that it closes: with growing pauses, whatever it asks for itself.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use pi_exthost::{Desk, Occasion};
use pi_extproto::log::{Level, LogEvent, LogNote};
use pi_transcript::question::NotifyType;

use crate::mcp::limits::Limits;

/// A stream that held so long is not counted among those that were closed.
const STABLE: Duration = Duration::from_secs(60);
/// Streams in a row that are closed before a person is told.
const TOLD: u32 = 3;

/// The streams of one server. Clones are the same.
#[derive(Clone)]
pub(super) struct Reopening {
    desk: Desk,
    shortest: Duration,
    longest: Duration,
    /// A lock and no task: it is held for a look.
    streams: Arc<Mutex<Streams>>,
}

#[derive(Debug, Default)]
struct Streams {
    last: Option<Instant>,
    /// Wanted so soon after the one before that it had to wait.
    soon: u32,
    has_told: bool,
}

impl Reopening {
    pub(super) fn new(limits: &Limits, desk: Desk) -> Self {
        Self { desk, shortest: limits.pause, longest: limits.longest_pause, streams: Arc::default() }
    }

    /// Waits until one more stream may be opened.
    pub(super) async fn wait(&self) {
        let (due, is_news) = {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            let due = streams.next(Instant::now(), self.shortest, self.longest);
            (due, streams.is_news())
        };
        if is_news {
            self.tell();
        }
        sleep_until(due).await;
    }

    fn tell(&self) {
        let guest = self.desk.guest();
        let name = guest.server().unwrap_or(guest.as_str());
        let longest = self.longest;
        let message =
            format!("it closes its streams again and again; they are opened with pauses of up to {longest:?}");
        let note = LogNote { level: Level::Warn, event: LogEvent::from("mcp.server"), message, data: None };
        self.desk.events().note(note, &Occasion::Background);
        let message = format!(
            "MCP server {name} closes its streams again and again; they are opened with pauses of up to {longest:?}, and what it \
             says meanwhile comes later"
        );
        self.desk.tell(message, NotifyType::Warning);
    }
}

impl Streams {
    /// When the next one may be opened, which counts as done.
    fn next(&mut self, now: Instant, shortest: Duration, longest: Duration) -> Instant {
        let due = match self.last {
            Some(last) if now.saturating_duration_since(last) < STABLE.max(longest) => {
                let pause = shortest.saturating_mul(2_u32.saturating_pow(self.soon)).min(longest);
                let due = (last + pause).max(now);
                // A server that takes that long by itself makes nobody wait.
                self.soon += u32::from(due > now);
                due
            }
            Some(_) | None => {
                self.soon = 0;
                now
            }
        };
        self.last = Some(due);
        due
    }

    /// Whether a person is to be told, which counts as done.
    fn is_news(&mut self) -> bool {
        let is_news = self.soon >= TOLD && !self.has_told;
        self.has_told |= is_news;
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_are_closed_are_opened_with_growing_pauses() {
        let mut streams = Streams::default();
        let began = Instant::now();
        let (mut now, mut opened) = (began, Vec::new());
        for _ in 0..8 {
            now = streams.next(now, Duration::from_secs(1), Duration::from_secs(30));
            opened.push(((now - began).as_secs(), streams.is_news()));
        }
        let expected =
            [(0, false), (1, false), (3, false), (7, true), (15, false), (31, false), (61, false), (91, false)];
        assert_eq!(opened, expected);
        let mut ordinary = Streams::default();
        for number in 0..8 {
            let now = began + Duration::from_secs(20) * number;
            assert_eq!(ordinary.next(now, Duration::from_secs(1), Duration::from_secs(30)), now);
            assert!(!ordinary.is_news(), "a server that closes streams now and then is an ordinary one");
        }
        // One that held is followed by another at once.
        let later = now + STABLE;
        assert_eq!(streams.next(later, Duration::from_secs(1), Duration::from_secs(30)), later);
    }
}
