//! The task that owns the journal.
//!
//! One batch is under way at a time; what arrives meanwhile goes into the next. Most of what a batch holds is soon followed
//! by as much: a command that was accepted ends, and a client that was answered asks again. A batch that left without these
//! would make them wait for the one behind it: everybody would be in one of two groups that take turns at the disk, and every
//! command would take twice as long. So on a slow disk a batch waits for what the last one brings, a fraction of what writing
//! takes, unless that was in vain of late. After a failure everything that is not durable is thrown away, the failure is
//! reported once, and the journal is tried again until it works.

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
const SHARE: u32 = 2;
/// The longest that it waits.
const LONGEST: Duration = Duration::from_millis(10);
/// Batches that wait for nothing after one that waited in vain.
const HURRIED: u32 = 8;

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
    /// How many had gathered when it was written.
    carried: usize,
    /// How long the next one may wait for others.
    patience: Duration,
    /// Until when it does.
    until: Option<Instant>,
    /// Batches that wait for nothing yet.
    hurried: u32,
}

impl Gathering {
    fn new() -> Self {
        let now = Instant::now();
        Self { last: 0, sent: now, carried: 0, patience: Duration::ZERO, until: None, hurried: 0 }
    }

    /// Whether so many records are worth a batch now: those that had gathered, and one for each of the last batch.
    fn is_complete(&mut self, records: usize) -> bool {
        if records >= self.carried + self.last || self.patience.is_zero() {
            return true;
        }
        let now = Instant::now();
        *self.until.get_or_insert(now + self.patience) <= now
    }

    fn send(&mut self, records: usize) {
        let brought = records.saturating_sub(self.carried);
        if self.until.is_some() && brought * 2 < self.last {
            self.hurried = HURRIED;
        }
        (self.last, self.sent, self.until) = (records, Instant::now(), None);
    }

    /// The batch is written, and so many records have gathered. The clock of tasks counts whole milliseconds; less is no
    /// waiting.
    fn written(&mut self, carried: usize) {
        self.carried = carried;
        let share = (self.sent.elapsed() / SHARE).min(LONGEST);
        self.patience = match self.hurried.checked_sub(1) {
            None => Duration::from_millis(u64::try_from(share.as_millis()).unwrap_or(0)),
            Some(left) => {
                self.hurried = left;
                Duration::ZERO
            }
        };
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
            Report::Durable(_) => self.gathering.written(self.records.len()),
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

    /// After a batch of ten that took so long, in which so many more had gathered.
    async fn after(took: Duration, carried: usize) -> Gathering {
        let mut gathering = Gathering::new();
        gathering.send(10);
        advance(took).await;
        gathering.written(carried);
        gathering
    }

    #[tokio::test(start_paused = true)]
    async fn batch_waits_for_what_the_last_one_brings_and_not_for_long() {
        let mut gathering = after(milliseconds(3), 0).await;
        assert!(!gathering.is_complete(1));
        assert!(gathering.is_complete(10));
        advance(milliseconds(1)).await;
        assert!(gathering.is_complete(1), "half of the time is over");
        let mut slow = after(milliseconds(100), 0).await;
        assert!(!slow.is_complete(9));
        advance(LONGEST).await;
        assert!(slow.is_complete(9));
    }

    #[tokio::test(start_paused = true)]
    async fn what_had_gathered_does_not_leave_without_what_the_last_batch_brings() {
        let mut gathering = after(milliseconds(4), 10).await;
        assert!(!gathering.is_complete(10));
        assert!(gathering.is_complete(20));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_quick_disk() {
        assert!(Gathering::new().is_complete(1));
        assert!(after(milliseconds(1), 3).await.is_complete(3));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_where_it_was_in_vain() {
        let mut gathering = after(milliseconds(4), 10).await;
        assert!(!gathering.is_complete(11));
        advance(milliseconds(2)).await;
        assert!(gathering.is_complete(11));
        for _ in 0..HURRIED {
            gathering.send(11);
            advance(milliseconds(4)).await;
            gathering.written(5);
            assert!(gathering.is_complete(5));
        }
        gathering.send(11);
        advance(milliseconds(4)).await;
        gathering.written(5);
        assert!(!gathering.is_complete(5), "it is tried again");
    }
}
