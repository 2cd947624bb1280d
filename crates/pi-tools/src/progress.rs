//! Results before the result: what a running tool has so far.

use tokio::sync::watch;

use crate::tool::Output;

/// The end that a tool holds. It never waits: each report replaces the one before it that nobody has taken yet, because a
/// report says all that there is so far. Without a listener reports go nowhere.
#[derive(Debug, Clone)]
pub struct Progress(watch::Sender<Option<Output>>);

/// The end that the caller holds.
#[derive(Debug)]
pub struct Reports(watch::Receiver<Option<Output>>);

/// A pair of ends with room for one report.
pub fn progress() -> (Progress, Reports) {
    let (sender, receiver) = watch::channel(None);
    (Progress(sender), Reports(receiver))
}

impl Progress {
    /// For a caller that wants the result only.
    pub fn unheard() -> Self {
        Self(watch::channel(None).0)
    }

    /// Whether anybody listens; saves making reports for nobody.
    pub fn is_heard(&self) -> bool {
        !self.0.is_closed()
    }

    pub fn report(&self, output: Output) {
        self.0.send_replace(Some(output));
    }
}

impl Reports {
    /// The newest report that was not taken yet; nothing when the tool is done. Safe to drop and call again.
    pub async fn next(&mut self) -> Option<Output> {
        self.0.changed().await.ok()?;
        self.0.borrow_and_update().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn newest_report_replaces_those_that_nobody_took() {
        let (progress, mut reports) = progress();
        progress.report(Output::text("1"));
        progress.report(Output::text("2"));
        assert_eq!(reports.next().await, Some(Output::text("2")));
        progress.report(Output::text("3"));
        drop(progress);
        assert_eq!(reports.next().await, Some(Output::text("3")));
        assert_eq!(reports.next().await, None);
    }

    #[test]
    fn nobody_listens_to_unheard_progress() {
        assert!(!Progress::unheard().is_heard());
        let (progress, reports) = progress();
        assert!(progress.is_heard());
        drop(reports);
        assert!(!progress.is_heard());
    }
}
