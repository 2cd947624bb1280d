//! The task that owns the journal.
//!
//! One batch is under way at a time; what arrives meanwhile goes into the next. After a failure everything that is not
//! durable is thrown away, the failure is reported once, and the journal is tried again until it works.

use std::{future::pending, mem, time::Duration};

use tokio::{sync::mpsc, task::JoinHandle, time::sleep};

use super::Journal;
use crate::{
    name::{Sequence, Ticket},
    record::Record,
};

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
    busy: bool,
    failed: bool,
    /// The task is gone; nothing more is reported.
    gone: bool,
}

impl<B: Send + Sync + 'static> Writer<B> {
    pub(super) fn spawn(journal: impl Journal<B>, retry: Duration) -> Self {
        // One order is under way at a time, so neither channel is ever full.
        let (orders, inbox) = mpsc::channel(1);
        let (outbox, reports) = mpsc::channel(1);
        let task = tokio::spawn(write(journal, retry, inbox, outbox));
        Self { orders, reports, task, records: Vec::new(), forget: Vec::new(), busy: false, failed: false, gone: false }
    }

    pub(super) fn append(&mut self, sequence: Sequence, record: Record<B>) {
        self.records.push((sequence, record));
    }

    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.forget.push(ticket);
    }

    /// Sends what has gathered, unless a batch is under way.
    pub(super) fn flush(&mut self) {
        if self.busy || (self.records.is_empty() && self.forget.is_empty()) {
            return;
        }
        let (records, forget) = (mem::take(&mut self.records), mem::take(&mut self.forget));
        self.send(Order::Append { records, forget });
    }

    /// Waits for the next report. Cancelled, nothing is lost.
    pub(super) async fn report(&mut self) -> Report {
        if self.gone {
            pending::<()>().await;
        }
        let report = self.reports.recv().await.unwrap_or_else(|| {
            self.gone = true;
            Report::Failed("the journal panicked".to_owned())
        });
        self.busy = false;
        match &report {
            Report::Durable(_) => {}
            Report::Failed(_) => {
                self.failed = true;
                self.records.clear();
                if !self.gone {
                    self.send(Order::Recover);
                }
            }
            Report::Recovered => self.failed = false,
        }
        report
    }

    /// Lets the batch under way end, then the task. A journal that failed is not waited for.
    pub(super) async fn finish(self) {
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
