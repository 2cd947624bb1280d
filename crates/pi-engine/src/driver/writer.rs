//! The task that owns the journal.
//!
//! One batch is under way at a time; what arrives meanwhile goes into the next. Most of what a batch holds is soon followed
//! by as much: a command that was accepted ends, and a client that was answered asks again. A batch that left at the first
//! of these would make all others wait for a second one, so on a slow disk it waits for them, a fraction of what writing
//! takes. After a failure everything that is not
//! durable is thrown away, the failure is reported once, and the journal is tried again until it works.

use std::{future::pending, mem, time::Duration};

use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep, sleep_until},
};

use super::Journal;
use crate::{
    name::{Sequence, Ticket},
    record::Record,
};

/// The share of the time of a batch that the next one may wait for more records.
const SHARE: u32 = 4;
/// The longest that it waits.
const LONGEST: Duration = Duration::from_millis(2);

/// What became of a batch.
#[derive(Debug)]
pub(super) enum Report {
    Durable(Sequence),
    Failed(String),
    Recovered,
}

enum Order<B> {
    Append { records: Vec<(Sequence, Record<B>)>, forget: Vec<Ticket> },
    Recover,
}

pub(super) struct Writer<B> {
    orders: mpsc::Sender<Order<B>>,
    reports: mpsc::Receiver<Report>,
    task: JoinHandle<()>,
    records: Vec<(Sequence, Record<B>)>,
    forget: Vec<Ticket>,
    gathering: Gathering,
    busy: bool,
    failed: bool,
    /// The task is gone; nothing more is reported.
    gone: bool,
}

/// When a batch is complete.
#[derive(Debug)]
struct Gathering {
    /// How many records the last batch had, and when it was sent.
    last: usize,
    sent: Instant,
    /// How long the first record of the next one may wait for others.
    patience: Duration,
    /// Until when it does.
    until: Option<Instant>,
}

impl Gathering {
    fn new() -> Self {
        Self { last: 0, sent: Instant::now(), patience: Duration::ZERO, until: None }
    }

    /// Whether so many records are worth a batch now.
    fn is_complete(&mut self, records: usize) -> bool {
        if records >= self.last || self.patience.is_zero() {
            return true;
        }
        let now = Instant::now();
        *self.until.get_or_insert(now + self.patience) <= now
    }

    fn send(&mut self, records: usize) {
        (self.last, self.sent, self.until) = (records, Instant::now(), None);
    }

    /// The batch is written. The clock of tasks counts whole milliseconds; less is no waiting.
    fn written(&mut self) {
        let share = (self.sent.elapsed() / SHARE).min(LONGEST);
        self.patience = Duration::from_millis(u64::try_from(share.as_millis()).unwrap_or(0));
    }
}

impl<B: Send + Sync + 'static> Writer<B> {
    pub(super) fn spawn(journal: impl Journal<B>, retry: Duration) -> Self {
        // One order is under way at a time, so neither channel is ever full.
        let (orders, inbox) = mpsc::channel(1);
        let (outbox, reports) = mpsc::channel(1);
        let task = tokio::spawn(write(journal, retry, inbox, outbox));
        Self {
            orders,
            reports,
            task,
            records: Vec::new(),
            forget: Vec::new(),
            gathering: Gathering::new(),
            busy: false,
            failed: false,
            gone: false,
        }
    }

    pub(super) fn append(&mut self, sequence: Sequence, record: Record<B>) {
        self.records.push((sequence, record));
    }

    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.forget.push(ticket);
    }

    /// Sends what has gathered, unless a batch is under way or more will come in a moment.
    pub(super) fn flush(&mut self) {
        if self.busy || (self.records.is_empty() && self.forget.is_empty()) {
            return;
        }
        if !self.gathering.is_complete(self.records.len()) {
            return;
        }
        self.gathering.send(self.records.len());
        let (records, forget) = (mem::take(&mut self.records), mem::take(&mut self.forget));
        self.send(Order::Append { records, forget });
    }

    /// Waits for the next report. Cancelled, nothing is lost.
    pub(super) async fn report(&mut self) -> Report {
        if self.gone {
            pending::<()>().await;
        }
        while !self.busy
            && let Some(until) = self.gathering.until
        {
            sleep_until(until).await;
            self.flush();
            self.gathering.until = None;
        }
        let report = self.reports.recv().await.unwrap_or_else(|| {
            self.gone = true;
            Report::Failed("the journal panicked".to_owned())
        });
        self.busy = false;
        match &report {
            Report::Durable(_) => self.gathering.written(),
            Report::Failed(_) => {
                self.records.clear();
                if self.gone {
                    self.failed = true;
                } else {
                    self.recover();
                }
            }
            Report::Recovered => self.failed = false,
        }
        report
    }

    /// Tries the journal until it works; what gathers meanwhile waits for that.
    pub(super) fn recover(&mut self) {
        self.failed = true;
        self.send(Order::Recover);
    }

    /// Sends what has gathered, and lets the batch under way end, then the task. A journal that failed is not waited for.
    pub(super) async fn finish(mut self) {
        self.gathering = Gathering::new();
        self.flush();
        let Self { orders, task, failed, .. } = self;
        drop(orders);
        if failed {
            task.abort();
        }
        if let Err(error) = task.await
            && error.is_panic()
        {
            tracing::error!(%error, "the journal panicked");
        }
    }

    fn send(&mut self, order: Order<B>) {
        self.busy = true;
        if self.orders.try_send(order).is_err() {
            tracing::error!("the journal's task has ended");
        }
    }
}

async fn write<B>(
    mut journal: impl Journal<B>,
    retry: Duration,
    mut orders: mpsc::Receiver<Order<B>>,
    reports: mpsc::Sender<Report>,
) {
    while let Some(order) = orders.recv().await {
        let report = match order {
            Order::Append { records, forget } => {
                let last = records.last().map(|(sequence, _)| *sequence);
                match append(&mut journal, records, forget).await {
                    Ok(()) => Report::Durable(last.unwrap_or(Sequence(0))),
                    Err(error) => Report::Failed(error.to_string()),
                }
            }
            Order::Recover => {
                while let Err(error) = journal.recover().await {
                    tracing::debug!(%error, "the journal still cannot be written");
                    sleep(retry).await;
                }
                Report::Recovered
            }
        };
        if reports.send(report).await.is_err() {
            return;
        }
    }
}

async fn append<B, J: Journal<B>>(
    journal: &mut J,
    records: Vec<(Sequence, Record<B>)>,
    forget: Vec<Ticket>,
) -> Result<(), J::Error> {
    if !records.is_empty() {
        journal.append(records).await?;
    }
    if !forget.is_empty()
        && let Err(error) = journal.forget(forget).await
    {
        // Records that stay longer than they must do no harm.
        tracing::warn!(%error, "old records could not be dropped");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// After a batch of ten that took so long.
    async fn after(took: Duration) -> Gathering {
        let mut gathering = Gathering::new();
        gathering.send(10);
        advance(took).await;
        gathering.written();
        gathering
    }

    #[tokio::test(start_paused = true)]
    async fn batch_waits_for_as_many_as_the_last_one_had_and_not_for_long() {
        let mut gathering = after(milliseconds(5)).await;
        assert!(!gathering.is_complete(1));
        assert!(gathering.is_complete(10));
        advance(milliseconds(1)).await;
        assert!(gathering.is_complete(1), "a quarter of the time is over");
        let mut slow = after(milliseconds(100)).await;
        assert!(!slow.is_complete(9));
        advance(LONGEST).await;
        assert!(slow.is_complete(9));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_quick_disk() {
        assert!(Gathering::new().is_complete(1));
        assert!(after(milliseconds(3)).await.is_complete(1));
    }
}
