//! The thread that owns the database, and the ways to it.
//!
//! SQLite waits for the disk, so it gets a thread of its own. What the engine hands over while the disk is busy goes into
//! the next transaction: many clients share one wait. What nobody waits for goes with it, or is written when nothing has come
//! for a moment. Whoever reads opens the file for himself; only where the file is open for the thread alone, it reads for him.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, JoinHandle, Thread},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pi_engine::{Record, Sequence, Ticket, Time, driver};
use pi_redact::Redactor;
use pi_transcript::SessionId;
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

use super::{
    berth::{Berth, Move},
    book::{Book, Opened},
    fault::JournalError,
    history::{Filter, Page},
    lock::{Lock, holder},
    presence::Presence,
    recovery::{Recovery, recover},
    store::{Durability, Extent, Retention, SCHEMA_VERSION, Store, damage, open_own_to_read, open_to_read},
};
use crate::answer::Answer;

/// Orders that may wait. The engine has one under way at a time; the rest is room for notes.
const ORDERS: usize = 1024;
/// How long nothing comes before what nobody waits for is written by itself.
const QUIET: Duration = Duration::from_millis(25);
/// So many records are worth carrying over from the log of the database to its file while nothing comes.
const CARRIED: usize = 500;
/// As much of that is written although something comes all the time.
const MOST_LEFT: usize = 512;
/// Between two looks at whether history is too long.
const PRUNE_EVERY_MS: u64 = 60_000;

type Reply = oneshot::Sender<Result<(), JournalError>>;

enum Order {
    Append(Vec<(Sequence, Record<Answer>)>, Reply),
    Forget(Vec<Ticket>, Reply),
    Probe(Reply),
    Started(Ticket, Time),
    /// Written with what comes next.
    Noted(Move),
    Berth(Move, Reply),
    /// Everything so far is to be in the file, as far as it can be.
    Settle(oneshot::Sender<()>),
    /// Somebody wants to read what only we can.
    History(Filter, oneshot::Sender<Result<Page, JournalError>>),
}

/// The engine's end of the thread: writes. Dropping it lets the thread finish what it has and end.
#[derive(Debug)]
pub struct Keeper {
    orders: mpsc::Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// Everybody else's end: notes and reads. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Weak: the thread ends with the engine.
    orders: mpsc::WeakSender<Order>,
    path: Arc<Path>,
    /// Records so far.
    written: Arc<AtomicU64>,
    /// What is broken in the file. Not a message: it is found once and never mended.
    damage: Arc<OnceLock<String>>,
    presence: Arc<Presence>,
    /// Whether the file is open for the thread alone. Not a message: whoever reads must know before he opens it.
    alone: Arc<AtomicBool>,
    /// Not a message: looked at by whoever asks for numbers, changed once a minute at most.
    shortened: Arc<Mutex<Shortened>>,
}

/// What went from the journal since the start, because it was too old or too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shortened {
    pub times: u64,
    pub commands: u64,
    pub last: Option<Shortening>,
}

/// One time that something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortening {
    pub at: Time,
    pub before: Extent,
    pub after: Extent,
}

/// What a journal is opened with.
#[derive(Debug)]
pub struct Options {
    pub retention: Retention,
    /// The file never gets larger than this; what does not fit is refused, as on a disk that is full.
    pub ceiling_bytes: u64,
    /// Hides secrets in what is kept.
    pub redactor: Arc<Redactor>,
    /// How the process was started, for whoever finds the journal in use.
    pub started_as: String,
    pub earlier: Earlier,
}

/// What becomes of the commands that an earlier server left in the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// They are remembered: the client is the same.
    Kept,
    /// They are removed, because they were somebody else's.
    Removed,
}

/// Whether a server could start with the journal at `path` now; one that is not there could be made. Reads as much of it as a
/// start does. Answers what is wrong with one that can be read all the same: with one that is damaged a server starts and writes
/// nothing, with one of which records cannot be read it goes on.
pub fn look(path: &Path) -> Result<Option<JournalError>, JournalError> {
    if !path.exists() {
        return Ok(None);
    }
    if let Some(by) = holder(path) {
        return Err(JournalError::InUse { path: path.to_owned(), by: Some(by) });
    }
    let connection = match open_to_read(path) {
        // It becomes a journal when a server starts.
        Err(JournalError::Empty { .. }) => return Ok(None),
        opened => opened?,
    };
    let broken = damage(&connection)?.map(|said| JournalError::Damaged { said });
    let rows = recover(&connection)?.malformed;
    Ok(broken.or((rows > 0).then_some(JournalError::Malformed { rows })))
}

/// Opens or makes the journal at `path` and reads what the engine must know again. Blocks on the disk.
pub fn open(path: &Path, options: Options) -> Result<(Keeper, Reader, Recovery), JournalError> {
    let lock = Lock::take(path, &options.started_as)?;
    if options.earlier == Earlier::Removed {
        remove(path)?;
    }
    let mut store = Store::open(path, options.redactor)?;
    store.limit(options.ceiling_bytes)?;
    let broken = Arc::new(OnceLock::new());
    if let Some(said) = damage(store.connection())? {
        broken.get_or_init(|| said);
    }
    let mut recovery = recover(store.connection())?;
    let mut moved = Vec::new();
    if broken.get().is_none() {
        moved = recovery.drop_unmade();
        moved.extend(recovery.measure_interrupted());
        // What is kept can be read although there is no room for more.
        recovery.trouble = match store.probe(Time(0)) {
            Ok(()) => None,
            Err(full @ (JournalError::Full(_) | JournalError::TooLarge { .. })) => Some(store.explain(full)),
            Err(error) => return Err(error),
        };
    }
    let presence = Arc::new(Presence::of(path));
    let (orders, inbox) = mpsc::channel(ORDERS);
    let written = Arc::new(AtomicU64::new(0));
    let alone = Arc::new(AtomicBool::new(store.is_alone()));
    let desk = Desk {
        store,
        alone: Arc::clone(&alone),
        damage: Arc::clone(&broken),
        presence: Arc::clone(&presence),
        retention: options.retention,
        started: Vec::new(),
        moved,
        logged: 0,
        now: Time(0),
        pruned: Time(0),
        written: Arc::clone(&written),
        shortened: Arc::default(),
        _lock: lock,
    };
    let shortened = Arc::clone(&desk.shortened);
    let spawned = thread::Builder::new().name("journal".to_owned()).spawn(move || desk.work(inbox));
    let thread = spawned.map_err(|source| JournalError::Open { path: path.to_owned(), source })?;
    let orders_to = orders.downgrade();
    let reader = Reader { orders: orders_to, path: path.into(), written, damage: broken, presence, alone, shortened };
    Ok((Keeper { orders, thread: Some(thread) }, reader, recovery))
}

/// Removes a journal that nobody writes.
#[expect(clippy::disallowed_methods, reason = "the one file of the journal, and those that SQLite keeps beside it")]
fn remove(path: &Path) -> Result<(), JournalError> {
    // The log first: what is in it belongs to no other file.
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(JournalError::Open { path: name.into(), source });
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// The same as a server takes it.
pub fn open_book(path: &Path, options: Options) -> Result<Opened<Keeper>, JournalError> {
    let (keeper, reader, recovery) = open(path, options)?;
    Ok(Opened { keeper, book: Arc::new(reader), recovery })
}

impl Keeper {
    async fn ask(&self, order: impl FnOnce(Reply) -> Order) -> Result<(), JournalError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.map_err(|_| JournalError::Ended)?;
        answer.await.map_err(|_| JournalError::Ended)?
    }
}

impl driver::Journal<Answer> for Keeper {
    type Error = JournalError;

    async fn append(&mut self, records: Vec<(Sequence, Record<Answer>)>) -> Result<(), JournalError> {
        self.ask(|reply| Order::Append(records, reply)).await
    }

    async fn forget(&mut self, tickets: Vec<Ticket>) -> Result<(), JournalError> {
        self.ask(|reply| Order::Forget(tickets, reply)).await
    }

    async fn recover(&mut self) -> Result<(), JournalError> {
        self.ask(Order::Probe).await
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The thread ends when the last sender is gone.
        let (closed, _) = mpsc::channel(1);
        self.orders = closed;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's thread panicked");
        }
    }
}

impl Reader {
    /// A command begins. It is written with whatever comes next, and not waited for.
    pub fn note_start(&self, ticket: Ticket, at: Time) {
        let noted = self.orders.upgrade().is_some_and(|orders| orders.try_send(Order::Started(ticket, at)).is_ok());
        if !noted {
            // It is missing from the history, and from nothing else.
            tracing::debug!(ticket = ticket.0, "the start of a command is not in the journal");
        }
    }

    /// Something about a session is another. It is written with whatever comes next, and not waited for.
    pub async fn note(&self, berth: Berth) -> Result<(), JournalError> {
        self.order(Order::Noted(Move::Change(berth))).await
    }

    /// Remembers where a session is found again.
    pub async fn keep(&self, berth: Berth) -> Result<(), JournalError> {
        self.move_to(Move::Keep(berth)).await
    }

    /// Forgets a session.
    pub async fn drop_berth(&self, session: SessionId) -> Result<(), JournalError> {
        self.move_to(Move::Drop(session)).await
    }

    async fn move_to(&self, change: Move) -> Result<(), JournalError> {
        let (reply, answer) = oneshot::channel();
        self.order(Order::Berth(change, reply)).await?;
        answer.await.map_err(|_| JournalError::Ended)?
    }

    async fn order(&self, order: Order) -> Result<(), JournalError> {
        let orders = self.orders.upgrade().ok_or(JournalError::Ended)?;
        orders.send(order).await.map_err(|_| JournalError::Ended)
    }

    pub async fn history(&self, filter: Filter) -> Result<Page, JournalError> {
        if self.alone.load(Ordering::Relaxed) {
            let (reply, page) = oneshot::channel();
            self.order(Order::History(filter, reply)).await?;
            return page.await.map_err(|_| JournalError::Ended)?;
        }
        let (reply, settled) = oneshot::channel();
        if self.order(Order::Settle(reply)).await.is_ok() {
            // A thread that ends meanwhile has written everything.
            drop(settled.await);
        }
        let path = Arc::clone(&self.path);
        let read = spawn_blocking(move || super::history::history(&open_own_to_read(&path)?, &filter)).await;
        read.map_err(|_| JournalError::Ended)?
    }

    /// How many records were written since the start.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// What is broken in the file, as far as somebody noticed.
    pub fn damage(&self) -> Option<String> {
        self.damage.get().cloned()
    }

    /// Whether its files are where they were, a moment ago at the latest.
    pub fn is_there(&self) -> bool {
        self.presence.was_seen()
    }

    /// What went from it since the start.
    pub fn shortened(&self) -> Shortened {
        *self.shortened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }
}

impl Book for Reader {
    fn note_start(&self, ticket: Ticket, at: Time) {
        self.note_start(ticket, at);
    }

    fn note(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.note(berth))
    }

    fn keep(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.keep(berth))
    }

    fn drop_berth(&self, session: SessionId) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.drop_berth(session))
    }

    fn history(&self, filter: Filter) -> BoxFuture<'_, Result<Page, JournalError>> {
        Box::pin(self.history(filter))
    }

    fn written(&self) -> u64 {
        self.written()
    }

    fn damage(&self) -> Option<String> {
        self.damage()
    }

    fn is_there(&self) -> bool {
        self.is_there()
    }

    fn shortened(&self) -> Shortened {
        self.shortened()
    }

    fn schema_version(&self) -> u32 {
        SCHEMA_VERSION
    }

    fn place(&self) -> String {
        self.path().to_string_lossy().into_owned()
    }
}

/// What the thread has.
struct Desk {
    store: Store,
    alone: Arc<AtomicBool>,
    /// What is broken in the file. Nothing is written to it any more, whatever could be.
    damage: Arc<OnceLock<String>>,
    presence: Arc<Presence>,
    retention: Retention,
    started: Vec<(Ticket, Time)>,
    /// What became of sessions and is not written.
    moved: Vec<Move>,
    /// Records since the log of the database was last carried over by itself.
    logged: usize,
    /// The latest moment that a record told of.
    now: Time,
    pruned: Time,
    written: Arc<AtomicU64>,
    shortened: Arc<Mutex<Shortened>>,
    _lock: Lock,
}

impl Desk {
    fn work(mut self, mut inbox: mpsc::Receiver<Order>) {
        while let Some(order) = self.next(&mut inbox) {
            self.serve(order);
            if self.left() >= MOST_LEFT {
                self.write_left();
            }
            if inbox.is_empty() {
                self.shorten_if_due();
            }
        }
        self.write_left();
    }

    /// Waits for the next order. What nobody waits for is done if none comes for a moment: mostly the next records do.
    fn next(&mut self, inbox: &mut mpsc::Receiver<Order>) -> Option<Order> {
        if self.left() > 0 || self.logged >= CARRIED {
            if let Poll::Ready(order) = receive_within(inbox, QUIET) {
                return order;
            }
            self.write_left();
            self.carry_over();
        }
        inbox.blocking_recv()
    }

    /// Empties the log of the database, if there is much in it: a commit that had to would wait for the disk three times.
    fn carry_over(&mut self) {
        if self.logged < CARRIED || self.sound().is_err() {
            return;
        }
        self.logged = 0;
        if let Err(error) = self.store.carry_over() {
            // A commit does it when the log is long enough.
            tracing::debug!(%error, "the log of the journal is as long as it was");
        }
    }

    /// How much is not written that nobody waits for.
    fn left(&self) -> usize {
        self.started.len() + self.moved.len()
    }

    fn serve(&mut self, order: Order) {
        match order {
            Order::Append(records, reply) => {
                self.now = records.iter().filter_map(|(_, record)| time(record)).fold(self.now, Ord::max);
                let started = std::mem::take(&mut self.started);
                let appended = self.append(&records, &started, Durability::Synced);
                if appended.is_ok() {
                    self.moved.clear();
                    self.logged += records.len();
                    self.written.fetch_add(u64::try_from(records.len()).unwrap_or(0), Ordering::Relaxed);
                }
                answer(reply, appended);
            }
            Order::Forget(tickets, reply) => {
                let forgotten = self.sound().and_then(|()| self.store.forget(&tickets));
                answer(reply, self.noticed(forgotten));
            }
            Order::Noted(change) => note(&mut self.moved, change),
            // The record of the command that did it comes later, and with it the disk. What was noted before comes first.
            Order::Berth(change, reply) => {
                self.moved.push(change);
                let written = self.append(&[], &[], Durability::Written);
                match &written {
                    Ok(()) => self.moved.clear(),
                    Err(_) => drop(self.moved.pop()),
                }
                answer(reply, written);
            }
            Order::Probe(reply) => {
                let probed = self.sound().and_then(|()| self.probe());
                self.alone.store(self.store.is_alone(), Ordering::Relaxed);
                answer(reply, self.noticed(probed));
            }
            Order::Settle(reply) => {
                self.write_left();
                if reply.send(()).is_err() {
                    tracing::debug!("whoever wanted to read the journal has gone");
                }
            }
            Order::History(filter, reply) => {
                if reply.send(super::history::history(self.store.connection(), &filter)).is_err() {
                    tracing::debug!("whoever wanted to read the journal has gone");
                }
            }
            Order::Started(ticket, at) => {
                self.now = self.now.max(at);
                self.started.push((ticket, at));
            }
        }
    }

    /// Writes these, and what became of sessions meanwhile.
    fn append(
        &mut self,
        records: &[(Sequence, Record<Answer>)],
        started: &[(Ticket, Time)],
        durability: Durability,
    ) -> Result<(), JournalError> {
        let appended = self.sound().and_then(|()| self.store.append(records, started, &self.moved, durability));
        self.noticed(appended.map_err(|error| self.store.explain(error)))
    }

    /// Whether something can be written.
    fn probe(&mut self) -> Result<(), JournalError> {
        let Self { store, presence, now, .. } = self;
        let probed = match store.is_alone() {
            true => presence.while_opened_anew(|| store.probe(*now)),
            false => store.probe(*now),
        };
        probed.map_err(|error| store.explain(error))
    }

    /// Whether the file may be written at all.
    fn sound(&self) -> Result<(), JournalError> {
        match self.damage.get() {
            Some(said) => Err(JournalError::Damaged { said: said.clone() }),
            None => self.presence.check(),
        }
    }

    /// Remembers damage: another write may hit a page that is whole, and would say that all is well.
    fn noticed(&self, done: Result<(), JournalError>) -> Result<(), JournalError> {
        if let Err(JournalError::Damaged { said }) = &done {
            self.damage.get_or_init(|| said.clone());
        }
        done
    }

    /// Writes what nobody waits for.
    fn write_left(&mut self) {
        let started = std::mem::take(&mut self.started);
        if !started.is_empty() || !self.moved.is_empty() {
            match self.append(&[], &started, Durability::Written) {
                Ok(()) => self.moved.clear(),
                Err(error) => tracing::debug!(%error, "starts of commands are not in the journal"),
            }
        }
    }

    fn shorten_if_due(&mut self) {
        if self.sound().is_ok() && self.now.since(self.pruned) >= PRUNE_EVERY_MS {
            self.pruned = self.now;
            if let Err(error) = self.shorten() {
                // It is tried again; meanwhile the journal is larger than it need be.
                tracing::warn!(%error, "old commands stay in the journal");
            }
        }
    }

    /// Drops history beyond what is to be kept.
    fn shorten(&mut self) -> Result<(), JournalError> {
        let before = self.store.extent()?;
        let count = self.store.prune(self.retention, self.now)?;
        if count > 0 {
            tracing::debug!(count, "old commands went from the journal");
            let last = Shortening { at: self.now, before, after: self.store.extent()? };
            let mut shortened = self.shortened.lock().unwrap_or_else(PoisonError::into_inner);
            shortened.times += 1;
            shortened.commands += u64::try_from(count).unwrap_or(0);
            shortened.last = Some(last);
        }
        Ok(())
    }
}

/// Waits for an order, and not longer than this; `Pending` if none came.
fn receive_within(inbox: &mut mpsc::Receiver<Order>, time: Duration) -> Poll<Option<Order>> {
    struct Woken(Thread);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Woken(thread::current())));
    let mut context = Context::from_waker(&waker);
    if let Poll::Ready(order) = inbox.poll_recv(&mut context) {
        return Poll::Ready(order);
    }
    // Woken for no reason, it has waited long enough: that costs a write too many and nothing else.
    thread::park_timeout(time);
    inbox.poll_recv(&mut context)
}

/// Adds what became of a session to what is not written yet. A change takes the place of an earlier one of the same session,
/// of which nothing would be left: while the disk is full there is one for each session, and not for each command.
fn note(moved: &mut Vec<Move>, change: Move) {
    if let Move::Change(new) = &change {
        moved.retain(|old| !matches!(old, Move::Change(old) if old.session == new.session));
    }
    moved.push(change);
}

/// When a record was made.
fn time(record: &Record<Answer>) -> Option<Time> {
    match record {
        Record::Accepted { at, .. } | Record::Finished { at, .. } | Record::Alias { at, .. } => Some(*at),
        Record::Version(_) | Record::Reached(_) => None,
    }
}

/// The engine may have ended while we wrote; then nobody wants to know.
fn answer(reply: Reply, result: Result<(), JournalError>) {
    if let Err(Err(error)) = reply.send(result) {
        tracing::warn!(%error, "a record was not written, and nobody waits for it");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_of_each_session_waits_for_the_disk() {
        let berth = |session: &str, created: &str| Berth {
            session: session.into(),
            file: None,
            cwd: "/".to_owned(),
            created: created.to_owned(),
            mark: Default::default(),
            auto: Default::default(),
        };
        let (keep, drop) = (Move::Keep(berth("a", "0")), Move::Drop("b".into()));
        let mut moved = vec![keep.clone(), drop.clone()];
        for time in ["1", "2", "3"] {
            note(&mut moved, Move::Change(berth("a", time)));
            note(&mut moved, Move::Change(berth("b", time)));
        }
        assert_eq!(moved, [keep, drop, Move::Change(berth("a", "3")), Move::Change(berth("b", "3"))]);
    }
}
