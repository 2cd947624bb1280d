//! The ledger of a session: what its extensions did, line by line, in an order that nobody can change unseen.
//!
//! A line is an entry `pi.ext.log.v1`, redacted, with a link to the line before it inside `data`. One thread owns the file
//! and writes; everybody else hands it lines with a [`Pen`]. A host call reserves room for both of its lines before it
//! starts, so its end is written however it ends. Nothing here decides anything.
//!
//! Start with [`Ledger::open`] and [`Pen`]; [`reading`] is for those who look into it later.

mod book;
pub mod chain;
pub(crate) mod flood;
mod kept;
mod line;
pub(crate) mod pen;
pub mod reading;
mod spent;
mod writer;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use pi_policy::Moment;
use pi_redact::Redactor;

use self::{book::Book, line::Line, spent::Spent, writer::Order};
pub use self::{
    flood::{Allowance, Pace},
    pen::{Occasion, Pen, Span},
};
pub(crate) use self::{
    line::{CallEnd, CallNote},
    pen::{millis, object},
};

/// Entries that may wait for the writer, beside the ends of calls that are under way. Whoever wants to begin a call beyond
/// that waits.
const QUEUE: usize = 4096;

/// Where a ledger is kept, and how large it may become.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Usually `logs/extensions` in the agent directory.
    pub folder: PathBuf,
    /// The session; its id is the name of the file.
    pub session: String,
    /// `live`, or the scenario of a harness.
    pub scenario: String,
    /// A file that has grown beyond this is put aside, and another begun.
    pub segment_bytes: u64,
    /// Files that are kept, beside the one that is written; older ones are removed but for what was decided in them.
    pub segments: usize,
    pub allowance: Allowance,
}

impl Settings {
    /// The usual limits: sixteen files of eight mebibytes.
    pub fn new(folder: impl Into<PathBuf>, session: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            session: session.into(),
            scenario: "live".to_owned(),
            segment_bytes: 8 << 20,
            segments: 16,
            allowance: Allowance::default(),
        }
    }
}

/// Why a ledger cannot be kept, or not now.
#[derive(Debug, thiserror::Error)]
pub enum LedgerFault {
    #[error("{session:?} is no name for a file")]
    Name { session: String },
    #[error("another process writes {path}")]
    InUse { path: PathBuf },
    #[error("cannot use {path}: {source}")]
    Unusable { path: PathBuf, source: io::Error },
    /// It may get better: room on the disk, another mount.
    #[error("the ledger cannot be written: {reason}")]
    Broken { reason: String },
    #[error("the ledger is closed")]
    Closed,
}

/// A ledger that is being written. Clones are the same; the writer ends when it is closed or the last one is dropped.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    orders: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
    health: Arc<Health>,
    spent: Arc<Spent>,
    now: fn() -> Moment,
}

/// What the writer says about itself, and what it is told that nobody could write.
#[derive(Debug, Default)]
pub(crate) struct Health {
    is_broken: AtomicBool,
    is_closed: AtomicBool,
    /// Calls that were refused because of it.
    refused: AtomicU64,
    /// A lock and no message: it is read where a call is refused, and held for a copy.
    reason: Mutex<String>,
}

/// Room for the two lines of a host call. It may begin.
#[derive(Debug)]
pub(crate) struct Admission(OwnedSemaphorePermit);

impl Ledger {
    /// Opens or continues the ledger of a session, and starts its writer. What a crash left of a last line is taken away
    /// and said so in the next. Looks at the disk.
    pub fn open(settings: Settings, redactor: Arc<Redactor>, now: fn() -> Moment) -> Result<Self, LedgerFault> {
        let book = Book::open(&settings, redactor, now)?;
        let (orders, received) = mpsc::channel();
        let health = Arc::new(Health::default());
        let spent = Arc::new(Spent::default());
        let (told, kept) = (Arc::clone(&health), Arc::clone(&spent));
        let unusable = |source| LedgerFault::Unusable { path: settings.folder.clone(), source };
        // A thread and not a task: it waits for disks. It ends with its orders, which end with the ledger.
        thread::Builder::new()
            .name("pi-ledger".to_owned())
            .spawn(move || writer::write(book, &received, &told, &kept))
            .map_err(unusable)?;
        let room = Arc::new(Semaphore::new(QUEUE));
        Ok(Self { shared: Arc::new(Shared { settings, orders, room, health, spent, now }) })
    }

    /// The file that is being written.
    pub fn path(&self) -> PathBuf {
        book::path(&self.shared.settings.folder, &self.shared.settings.session)
    }

    pub fn folder(&self) -> &Path {
        &self.shared.settings.folder
    }

    pub fn session(&self) -> &str {
        &self.shared.settings.session
    }

    /// Waits until all that was handed in so far is on the disk.
    pub async fn flush(&self) -> Result<(), LedgerFault> {
        self.order(Order::Flush).await
    }

    /// Writes the last line and ends the writer. What is handed in later is lost.
    pub async fn close(&self) -> Result<(), LedgerFault> {
        let closed = self.order(Order::Close).await;
        self.shared.health.is_closed.store(true, Ordering::Relaxed);
        closed
    }

    async fn order(&self, make: fn(oneshot::Sender<Result<(), String>>) -> Order) -> Result<(), LedgerFault> {
        let (reply, answer) = oneshot::channel();
        self.shared.orders.send(make(reply)).map_err(|_| LedgerFault::Closed)?;
        let done = answer.await.map_err(|_| LedgerFault::Closed)?;
        done.map_err(|reason| LedgerFault::Broken { reason })
    }

    /// Room for a call; waits while the writer is behind. Dropping the future gives the place up.
    pub(crate) async fn admit(&self) -> Result<Admission, LedgerFault> {
        let Shared { room, health, .. } = &*self.shared;
        if health.is_closed.load(Ordering::Relaxed) {
            return Err(LedgerFault::Closed);
        }
        if health.is_broken.load(Ordering::Relaxed) {
            health.refused.fetch_add(1, Ordering::Relaxed);
            return Err(LedgerFault::Broken { reason: health.reason() });
        }
        let permit = Arc::clone(room).acquire_owned().await.map_err(|_| LedgerFault::Closed)?;
        Ok(Admission(permit))
    }

    /// Hands in the first line of a call that was admitted.
    fn begin(&self, admission: Admission, line: Line) {
        self.send(Order::Write { line, room: Some(admission.0) });
    }

    /// Hands in a line that is bounded elsewhere: the end of a call, or what an allowance let pass.
    fn write(&self, line: Line) {
        self.send(Order::Write { line, room: None });
    }

    fn send(&self, order: Order) {
        self.shared.spent.take_along();
        if self.shared.orders.send(order).is_err() {
            tracing::debug!("a line came after the ledger was closed");
        }
    }

    fn scenario(&self) -> &str {
        &self.shared.settings.scenario
    }

    fn allowance(&self) -> Allowance {
        self.shared.settings.allowance
    }

    fn now(&self) -> Moment {
        (self.shared.now)()
    }
}

impl Health {
    fn reason(&self) -> String {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn broke(&self, reason: &io::Error) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_string();
        self.is_broken.store(true, Ordering::Relaxed);
    }

    /// Works again; answers how many calls were refused meanwhile.
    pub(crate) fn healed(&self) -> u64 {
        self.is_broken.store(false, Ordering::Relaxed);
        self.refused.swap(0, Ordering::Relaxed)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("path", &self.path()).finish_non_exhaustive()
    }
}
