//! The thread that writes a conversation down.
//!
//! What happened goes to the recorder together with what is to be told of it, and is told when it is written: nothing can
//! be reported that is not in the file. All steps that wait are written at once, and one sync serves all who asked for it.
//!
//! If the disk fails, that is said once, and everything is told all the same: the conversation goes on in memory. Each
//! further step tries again.

use std::{
    collections::VecDeque,
    io,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread,
};

use super::{Fault, Log, Medium};
use crate::tree::{Begins, Written};

/// Steps that may wait for the disk; more of them wait with their sender, who is told so.
const CAPACITY: usize = 1024;
/// Steps that are written at once.
const BATCH: usize = 256;

/// What happened in one step: its lines, and what is told when they are written.
#[derive(Debug)]
pub struct Record<T> {
    pub lines: Vec<Written>,
    pub then: T,
}

/// What the recorder tells, in the order in which it was given the steps.
#[derive(Debug)]
pub enum Report<T> {
    /// The lines of a step are in the file, which is written up to `upto`; or the disk fails, and that was told before.
    Written { upto: u64, then: T },
    /// Everything before is safe, or why it is not.
    Synced { durable: Result<(), Fault>, then: T },
    /// From here on nothing reaches the disk.
    Failed(Fault),
    /// Everything that was missing is in the file again, and safe if that was what failed.
    Recovered,
}

/// Whether more can be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a sender that does not slow down fills the memory"]
pub enum Pressure {
    Free,
    /// The disk is behind: take no new work, and call [`Recorder::advance`] at the next report.
    Full,
    /// The thread is gone.
    Closed,
}

/// The way to the thread. Dropping it lets the thread write and sync what it was given, and end.
#[derive(Debug)]
pub struct Recorder<T> {
    steps: SyncSender<Step<T>>,
    waiting: VecDeque<Step<T>>,
    thread: thread::JoinHandle<()>,
}

#[derive(Debug)]
enum Step<T> {
    Write(Record<T>),
    Sync(T),
}

impl<T: Send + 'static> Recorder<T> {
    /// Starts the thread. It calls `tell` for every report; that must not wait for who calls the recorder.
    pub fn start<M: Medium + 'static>(log: Log<M>, tell: impl FnMut(Report<T>) + Send + 'static) -> io::Result<Self> {
        Self::run(Thread { begun: log.written() > 0, log: Some(log), tell, failing: None })
    }

    /// A recorder for a conversation without a file.
    pub fn without_file(tell: impl FnMut(Report<T>) + Send + 'static) -> io::Result<Self> {
        Self::run(Thread::<super::Disk, _> { log: None, tell, begun: false, failing: None })
    }

    /// Takes a step. Nobody waits: steps that do not fit stay here, and the caller is told.
    pub fn record(&mut self, record: Record<T>) -> Pressure {
        self.waiting.push_back(Step::Write(record));
        self.advance()
    }

    /// Asks for everything so far to be safe.
    pub fn sync(&mut self, then: T) -> Pressure {
        self.waiting.push_back(Step::Sync(then));
        self.advance()
    }

    /// Hands over steps that waited.
    pub fn advance(&mut self) -> Pressure {
        while let Some(step) = self.waiting.pop_front() {
            match self.steps.try_send(step) {
                Ok(()) => {}
                Err(TrySendError::Full(step)) => {
                    self.waiting.push_front(step);
                    return Pressure::Full;
                }
                Err(TrySendError::Disconnected(_)) => return Pressure::Closed,
            }
        }
        Pressure::Free
    }

    /// Waits until everything is written, synced and told. Blocks; not for the inside of a task.
    pub fn close(self) {
        let Self { steps, waiting, thread } = self;
        for step in waiting {
            if steps.send(step).is_err() {
                break;
            }
        }
        drop(steps);
        if thread.join().is_err() {
            tracing::error!("the thread that writes a session ended in a panic");
        }
    }

    fn run<M: Medium + 'static, F: FnMut(Report<T>) + Send + 'static>(mut state: Thread<M, F>) -> io::Result<Self> {
        let (steps, received) = sync_channel(CAPACITY);
        let thread = thread::Builder::new().name("pi-recorder".to_owned()).spawn(move || state.work(&received))?;
        Ok(Self { steps, waiting: VecDeque::new(), thread })
    }
}

/// What the thread owns.
struct Thread<M, F> {
    log: Option<Log<M>>,
    tell: F,
    /// Whether there is something that makes the file worth its while.
    begun: bool,
    failing: Option<Stage>,
}

/// How far bytes get before the disk fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Write,
    /// A write that succeeds is then no good news.
    Sync,
}

impl<M: Medium, F> Thread<M, F> {
    fn work<T>(&mut self, steps: &Receiver<Step<T>>)
    where
        F: FnMut(Report<T>),
    {
        while let Ok(first) = steps.recv() {
            let batch: Vec<Step<T>> = std::iter::once(first).chain(steps.try_iter().take(BATCH - 1)).collect();
            self.batch(batch);
        }
        if let Err(fault) = self.sync() {
            tracing::error!(%fault, "the end of a session is not on the disk");
        }
    }

    fn batch<T>(&mut self, batch: Vec<Step<T>>)
    where
        F: FnMut(Report<T>),
    {
        for step in &batch {
            if let (Step::Write(record), Some(log)) = (step, &mut self.log) {
                for line in &record.lines {
                    self.begun |= line.begins == Begins::Now;
                    log.push(line.text.as_bytes());
                    log.push(b"\n");
                }
            }
        }
        let flushed = self.attempt(Log::flush);
        self.note(&flushed, Stage::Write);
        let mut durable: Option<Result<(), Fault>> = None;
        for step in batch {
            match step {
                Step::Write(Record { then, lines: _ }) => {
                    let upto = self.log.as_ref().map_or(0, Log::written);
                    (self.tell)(Report::Written { upto, then });
                }
                Step::Sync(then) => {
                    // All lines of the batch are written by now, so the first sync is good for every one.
                    if durable.is_none() {
                        let synced = self.sync();
                        self.note(&synced, Stage::Sync);
                        durable = Some(synced);
                    }
                    let durable = durable.clone().unwrap_or(Ok(()));
                    (self.tell)(Report::Synced { durable, then });
                }
            }
        }
    }

    /// Says that the disk began to fail, or that it works again.
    fn note<T>(&mut self, result: &Result<(), Fault>, stage: Stage)
    where
        F: FnMut(Report<T>),
    {
        match (result, self.failing) {
            (Err(fault), None) => {
                self.failing = Some(stage);
                (self.tell)(Report::Failed(fault.clone()));
            }
            (Err(_), Some(before)) => self.failing = Some(before.max(stage)),
            (Ok(()), Some(before)) if stage >= before => {
                self.failing = None;
                (self.tell)(Report::Recovered);
            }
            (Ok(()), Some(_) | None) => {}
        }
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.attempt(Log::sync)
    }

    /// Does something with the log, if there is one and it is time to write.
    fn attempt(&mut self, act: fn(&mut Log<M>) -> Result<(), Fault>) -> Result<(), Fault> {
        match &mut self.log {
            Some(log) if self.begun => act(log),
            Some(_) | None => Ok(()),
        }
    }
}
