//! Writes a conversation down, beside whoever leads it.
//!
//! What happened goes to the recorder together with what is to be told of it, and is told when it is written: nothing can
//! be reported that is not in the file. All steps that wait are written at once, and one sync serves all who asked for it.
//! A step without lines that finds nothing before it, as every word of a model does, is told where it is recorded.
//!
//! If the disk fails, that is said once, and everything is told all the same: the conversation goes on in memory. Each
//! further step tries again.

use std::collections::VecDeque;

use super::{Fault, Log, Medium};
use crate::{
    clerk::{Clerk, Gone, Work},
    tree::{Begins, Written},
};

/// Steps that may wait for the disk; whoever records more is told to stop.
const CAPACITY: usize = 1024;

type AnyLog = Log<Box<dyn Medium>>;

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
    /// The disk is behind: take no new work, and look at [`Recorder::pressure`] at the next report.
    Full,
    /// What writes ended in a panic.
    Closed,
}

/// The way to the file. Dropping it lets everything that it was given be written and synced.
pub struct Recorder<T: Send + 'static> {
    clerk: Clerk<Writer<T>>,
}

#[derive(Debug)]
enum Step<T> {
    Write(Record<T>),
    Sync(T),
}

impl<T: Send + 'static> Recorder<T> {
    /// Needs a tokio runtime, whose blocking threads write. `tell` is called for every report; it must neither wait for who
    /// calls the recorder nor call it.
    pub fn start<M: Medium + 'static>(log: Log<M>, tell: impl FnMut(Report<T>) + Send + 'static) -> Self {
        let begun = log.written() > 0;
        Self::run(Writer { log: Some(log.boxed()), tell: Box::new(tell), begun, failing: None })
    }

    /// A recorder for a conversation without a file.
    pub fn without_file(tell: impl FnMut(Report<T>) + Send + 'static) -> Self {
        Self::run(Writer { log: None, tell: Box::new(tell), begun: false, failing: None })
    }

    /// Takes a step. Nobody waits; who records more than can be written is told.
    pub fn record(&mut self, record: Record<T>) -> Pressure {
        let step = Step::Write(record);
        let waiting = match &step {
            Step::Write(record) if record.lines.is_empty() => self.clerk.order_or(step, Writer::tell_at_once),
            Step::Write(_) | Step::Sync(_) => self.clerk.order(step),
        };
        Pressure::of(waiting)
    }

    /// Asks for everything so far to be safe.
    pub fn sync(&mut self, then: T) -> Pressure {
        Pressure::of(self.clerk.order(Step::Sync(then)))
    }

    /// Whether more can be taken now.
    pub fn pressure(&self) -> Pressure {
        Pressure::of(self.clerk.waiting())
    }

    /// Waits until everything is written, synced and told. Blocks; not for the inside of a task.
    pub fn close(self) {
        if self.clerk.finish(Writer::end) == Err(Gone) {
            tracing::error!("what writes a session ended in a panic");
        }
    }

    fn run(writer: Writer<T>) -> Self {
        Self { clerk: Clerk::new(writer) }
    }
}

impl Pressure {
    fn of(waiting: Result<usize, Gone>) -> Self {
        match waiting {
            Ok(waiting) if waiting < CAPACITY => Self::Free,
            Ok(_) => Self::Full,
            Err(Gone) => Self::Closed,
        }
    }
}

/// What writes.
struct Writer<T> {
    log: Option<AnyLog>,
    tell: Box<dyn FnMut(Report<T>) + Send>,
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

impl<T: Send + 'static> Work for Writer<T> {
    type Order = Step<T>;

    fn carry_out(&mut self, steps: VecDeque<Step<T>>) {
        for step in &steps {
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
        for step in steps {
            match step {
                Step::Write(Record { then, lines: _ }) => self.tell_written(then),
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
}

impl<T> Writer<T> {
    /// Tells of a step that has nothing to be written, unless there is something to be tried again before it.
    fn tell_at_once(&mut self, step: Step<T>) -> Result<(), Step<T>> {
        match step {
            Step::Write(Record { lines, then }) if lines.is_empty() && self.failing.is_none() => {
                self.tell_written(then);
                Ok(())
            }
            step => Err(step),
        }
    }

    fn tell_written(&mut self, then: T) {
        let upto = self.log.as_ref().map_or(0, Log::written);
        (self.tell)(Report::Written { upto, then });
    }

    /// Says that the disk began to fail, or that it works again.
    fn note(&mut self, result: &Result<(), Fault>, stage: Stage) {
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
    fn attempt(&mut self, act: fn(&mut AnyLog) -> Result<(), Fault>) -> Result<(), Fault> {
        match &mut self.log {
            Some(log) if self.begun => act(log),
            Some(_) | None => Ok(()),
        }
    }

    /// Syncs, and lets go of the file, so that somebody else can go on with it.
    fn end(&mut self) {
        if let Err(fault) = self.sync() {
            tracing::error!(%fault, "the end of a session is not on the disk");
        }
        self.log = None;
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T: Send + 'static> std::fmt::Debug for Recorder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
