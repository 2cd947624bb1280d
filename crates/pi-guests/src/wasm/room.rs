//! What an instance has around it: its desk, what it works on, and how much of everything it may use.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use wasmtime::{
    ResourceLimiter, UpdateDeadline,
    component::{Resource, ResourceTable},
};

use pi_exthost::{Desk, Feed, Occasion, Output, Stopwatch, Terms, port::ControlPass};
use pi_extproto::{
    connector::{Call, stream::StreamItem},
    host::{ErrorCode, HostError},
};

use super::{
    limits::{self, Limits},
    machine::Machine,
    pool::{Errand, Traffic},
    ticker::Computing,
};

/// How many bytes of what a component wrote to stderr are told with its trap.
const LAST_WORDS: usize = 2048;

/// The data of a store.
pub(crate) struct Room {
    machine: Machine,
    desk: Desk,
    limits: Limits,
    traffic: Arc<Traffic>,
    terms: Arc<Terms>,
    /// Until when it may compute without asking for anything.
    until: Option<Instant>,
    computing: Option<Computing>,
    is_away: Arc<AtomicBool>,
    pub(super) table: ResourceTable,
    streams: usize,
    /// Bytes of all of its memories.
    memory: u64,
    /// Elements of all of its tables.
    elements: usize,
    /// The same, for whoever wants to know.
    told_memory: Arc<AtomicU64>,
    last_words: Vec<u8>,
}

/// What an instance does, and under which conditions.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) cancel: CancellationToken,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) occasion: Occasion,
    pub(crate) control: Option<ControlPass>,
}

/// The output of work that goes on.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the bindings name it, and they are public inside")]
pub struct OutputStream {
    /// Gone after the end.
    feed: Option<Feed>,
    next: u64,
    errand: Errand,
}

/// Which limit a component went over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trip {
    #[error("{0:?} of work without a pause")]
    Stretch(Duration),
    #[error("{0:?} for its work")]
    Deadline(Duration),
    #[error("memory: {} MiB (`max_memory_mb` of the policy)", .0 >> 20)]
    Memory(usize),
    #[error("table elements")]
    Table,
}

/// What several rooms of one guest share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    pub(crate) desk: Desk,
    pub(crate) limits: Limits,
    pub(crate) traffic: Arc<Traffic>,
    /// Bytes that the instance has which grew last.
    pub(crate) memory: Arc<AtomicU64>,
}

#[expect(clippy::disallowed_methods, reason = "the engine calls back where there is no other clock")]
fn now() -> Instant {
    Instant::now()
}

impl Room {
    /// It does nothing yet.
    pub(crate) fn new(shared: Shared) -> Self {
        let Shared { machine, desk, limits, traffic, memory } = shared;
        Self {
            machine,
            desk,
            limits,
            traffic,
            terms: Arc::new(Terms::background()),
            until: None,
            computing: None,
            is_away: Arc::new(AtomicBool::new(false)),
            table: ResourceTable::new(),
            streams: 0,
            memory: 0,
            elements: 0,
            told_memory: memory,
            last_words: Vec::new(),
        }
    }

    /// Work begins.
    pub(crate) fn begin(&mut self, work: Work) {
        let Work { cancel, stopwatch, occasion, control } = work;
        self.terms = Arc::new(Terms { cancel, timeout: None, stopwatch: Some(stopwatch), occasion, control });
        self.until = now().checked_add(self.limits.stretch);
        self.computing = Some(self.machine.ticker().computing());
        self.last_words.clear();
    }

    /// It has asked its host for something, and goes on with its own work.
    fn go_on(&mut self) {
        self.until = self.until.and_then(|_| now().checked_add(self.limits.stretch));
    }

    /// It is over.
    pub(crate) fn end(&mut self) {
        self.until = None;
        self.computing = None;
    }

    /// Whether it waits for its host now, for whoever holds no store.
    pub(crate) fn is_away(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_away)
    }

    /// What it wrote to stderr last.
    pub(crate) fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.last_words).trim().to_owned()
    }

    /// What happens at every tick: it goes on after a pause, unless its time is over.
    pub(crate) fn tick(&self) -> wasmtime::Result<UpdateDeadline> {
        if self.until.is_some_and(|until| now() >= until) {
            return Err(Trip::Stretch(self.limits.stretch).into());
        }
        if let Some(stopwatch) = self.terms.stopwatch.as_ref().filter(|it| it.left() == Some(Duration::ZERO)) {
            return Err(Trip::Deadline(stopwatch.allowed().unwrap_or_default()).into());
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    }

    /// Asks the host for something.
    pub(crate) async fn call(&mut self, call: Call) -> Result<Output, HostError> {
        let terms = self.terms()?;
        let (desk, errand) = (self.desk.clone(), errand(&call));
        self.away(errand, desk.call(call, terms)).await
    }

    /// Has the host begin something whose output comes in pieces.
    pub(crate) fn open(&mut self, call: Call) -> Result<Resource<OutputStream>, HostError> {
        let most = self.limits.streams;
        if self.streams >= most {
            let message = format!("more than {most} streams at the same time; drop some");
            return Err(HostError::new(ErrorCode::InvalidRequest, message));
        }
        let terms = self.terms()?;
        let errand = errand(&call);
        let feed = self.desk.open(call, Terms::clone(&terms));
        let pushed = self.table.push(OutputStream { feed: Some(feed), next: 0, errand });
        let stream = pushed.map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))?;
        self.streams += 1;
        self.go_on();
        Ok(stream)
    }

    /// The next item of a stream, and its number.
    pub(crate) async fn next_of(
        &mut self,
        stream: &Resource<OutputStream>,
    ) -> wasmtime::Result<Result<(u64, StreamItem), HostError>> {
        let open = self.table.get_mut(stream)?;
        let (taken, index, errand) = (open.feed.take(), open.next, open.errand);
        let Some(mut feed) = taken else {
            return Ok(Err(HostError::new(ErrorCode::InvalidRequest, "the stream is over")));
        };
        let (feed, item) = self
            .away(errand, async move {
                let item = feed.next().await;
                (feed, item)
            })
            .await;
        let item = match item {
            Some(Ok(item)) => item,
            Some(Err(error)) => return Ok(Err(error)),
            None => return Ok(Err(HostError::new(ErrorCode::Io, "the stream ended before its last piece"))),
        };
        if !matches!(item, StreamItem::End(_)) {
            let open = self.table.get_mut(stream)?;
            (open.feed, open.next) = (Some(feed), index + 1);
        }
        Ok(Ok((index, item)))
    }

    pub(crate) fn cancel_stream(&mut self, stream: &Resource<OutputStream>) -> wasmtime::Result<()> {
        // Dropping it stops the work, and what is on its way is not wanted any more.
        drop(self.table.get_mut(stream)?.feed.take());
        Ok(())
    }

    pub(crate) fn close_stream(&mut self, stream: Resource<OutputStream>) -> wasmtime::Result<()> {
        drop(self.table.delete(stream)?);
        self.streams = self.streams.saturating_sub(1);
        Ok(())
    }

    /// Waits for a time, as long as the work is wanted.
    pub(crate) async fn sleep_until(&mut self, when: Instant) {
        let cancel = self.terms.cancel.clone();
        self.away(Errand::Plain, async move {
            tokio::select! {
                () = tokio::time::sleep_until(when.into()) => {}
                () = cancel.cancelled() => {}
            }
        })
        .await;
    }

    /// Writes a line of stdout or stderr to the log of the extension.
    pub(crate) fn print(&mut self, channel: &str, bytes: &[u8]) {
        if channel == "stderr" {
            self.last_words.extend(bytes);
            let excess = self.last_words.len().saturating_sub(LAST_WORDS);
            self.last_words.drain(..excess);
        }
        let text = String::from_utf8_lossy(bytes);
        if !text.trim().is_empty() {
            self.desk.events().output(channel, text.trim_end(), &self.terms.occasion);
        }
    }

    fn terms(&self) -> Result<Arc<Terms>, HostError> {
        if self.terms.occasion == Occasion::Loading {
            let message = "no connector may be used before init has returned";
            return Err(HostError::new(ErrorCode::InvalidRequest, message));
        }
        Ok(Arc::clone(&self.terms))
    }

    /// Waits for the host. That is not its own work, and meanwhile another instance may be asked.
    async fn away<T>(&mut self, errand: Errand, waiting: impl Future<Output = T>) -> T {
        let mut waiting = pin!(waiting);
        // Most is answered at once: then it was never away.
        if let Poll::Ready(result) = poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await {
            self.go_on();
            return result;
        }
        self.computing = None;
        let away = Away::begin(&self.traffic, errand);
        // Not taken back when the future is dropped here: whoever drops it wants to know where it was.
        self.is_away.store(true, Ordering::SeqCst);
        let result = waiting.await;
        self.is_away.store(false, Ordering::SeqCst);
        drop(away);
        self.go_on();
        self.computing = Some(self.machine.ticker().computing());
        result
    }
}

/// Whether guests may have a part in what the host is asked for: tools may be theirs, and what happens in a session or on the
/// bus is told to them.
fn errand(call: &Call) -> Errand {
    match call {
        Call::Tool(_) | Call::Session(_) | Call::Events(_) | Call::Mcp(_) | Call::Other(_) => Errand::Entangled,
        Call::Exec(_)
        | Call::Fs(_)
        | Call::Http(_)
        | Call::Ui(_)
        | Call::Env(_)
        | Call::Log(_)
        | Call::Credentials(_) => Errand::Plain,
    }
}

/// An instance waits for its host.
struct Away {
    traffic: Arc<Traffic>,
    errand: Errand,
}

impl Away {
    fn begin(traffic: &Arc<Traffic>, errand: Errand) -> Self {
        traffic.leave(errand);
        Self { traffic: Arc::clone(traffic), errand }
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        self.traffic.come_back(self.errand);
    }
}

impl ResourceLimiter for Room {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if total > self.limits.memory as u64 {
            return Err(Trip::Memory(self.limits.memory).into());
        }
        self.memory = total;
        self.told_memory.store(total, Ordering::Relaxed);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements.saturating_add(desired.saturating_sub(current));
        if total > self.limits.table {
            return Err(Trip::Table.into());
        }
        self.elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        limits::CORE_INSTANCES as usize
    }

    fn memories(&self) -> usize {
        limits::MEMORIES as usize
    }

    fn tables(&self) -> usize {
        limits::TABLES as usize
    }
}
