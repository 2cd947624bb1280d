//! A session as the server has it: loaded or not, with its events numbered, and what the engine must know about it.

mod flight;
mod pump;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::UNIX_EPOCH,
};

use pi_engine::SessionName;
use pi_session::{
    Beginning, Owner, Session, SessionGone, ShellWatch, State, Switch, Wish, listing::Overview, tree::stamp_of,
};
use pi_transcript::{Model, SessionId, SessionInfo, ThinkingLevel, json::Amount};
use pi_wire::{Activity, Error, error::SessionPathError, id::Epoch};
use tokio::sync::{self, mpsc};
use tokio_util::sync::CancellationToken;

use self::flight::Flight;
pub use self::pump::Turns;
use crate::{
    circuit::{self, Circuits},
    door::Secret,
    feed::{Feed, Limits},
    journal::{Auto, Berth, Mark},
    places,
    rooms::News,
    roots::Roots,
    tally::Tally,
    workshop::{Conversation, Made, MakeError, Order, Workshop},
};

/// Wishes of extensions that may wait in the whole server.
const WISHES: usize = 64;

/// One session.
#[derive(Debug)]
pub struct Room {
    id: SessionId,
    feed: Arc<Feed>,
    /// Not a task: looked at for every command, changed when the session is loaded or goes on in another file.
    stage: RwLock<Stage>,
    /// Held by whoever loads the session, so that it is loaded once, brings another into the room, or removes it.
    standing: sync::Mutex<Standing>,
    /// Runs that commands of clients wait for.
    commanded: AtomicUsize,
    /// Work of clients that was admitted and has not ended, and runs among it that nothing is ahead of.
    work: AtomicUsize,
    expected: AtomicUsize,
    /// Work that has started and that the session has not heard of yet.
    entering: AtomicUsize,
    /// Messages of clients that are being put into a run, or begin one.
    joining: AtomicUsize,
    /// Held by the message that waits for a run to begin until the session has it: those behind it come behind it.
    line: sync::Mutex<()>,
    /// Tells messages that wait for a run to begin that it is stopped.
    stopped: sync::Notify,
    /// Commands that may have written to the file since it was measured. One that is cut short is counted for good.
    writing: AtomicUsize,
    flight: Flight,
    tide: pump::Tide,
    /// What is told about it in lists.
    info: Mutex<Known>,
    /// Why its file cannot be written, while it cannot. Not a task: looked at for health, changed when that changes.
    trouble: Mutex<Option<Arc<str>>>,
    ties: Ties,
}

/// What a session shares with all others of the server.
#[derive(Debug, Clone)]
pub struct Ties {
    /// Told when something changes that a list tells.
    pub news: News,
    /// Told when the file of a session begins to fail, and when it is written again.
    pub troubles: News,
    /// What became of questions.
    pub questions: Arc<Tally>,
    /// The circuits of shell commands.
    pub shell: Arc<Circuits>,
    /// Where extensions say that they want to leave a session, by the name of its room.
    wishes: mpsc::Sender<(SessionId, Wish)>,
}

impl Ties {
    /// Ties, and where extensions of all sessions want to go.
    pub fn new() -> (Self, mpsc::Receiver<(SessionId, Wish)>) {
        let (wishes, asked) = mpsc::channel(WISHES);
        let ties = Self {
            news: News::default(),
            troubles: News::default(),
            questions: Arc::default(),
            shell: Arc::default(),
            wishes,
        };
        (ties, asked)
    }

    /// Who decides about extensions that want to leave a session in the room of this name.
    pub fn owner(&self, room: &SessionId) -> Owner {
        Owner::Host { name: room.clone(), wishes: self.wishes.clone() }
    }
}

/// What is told of a session until something happens in it, without what its room knows anyhow.
#[derive(Debug, Clone)]
struct Lasting {
    name: Option<String>,
    model: Arc<Model>,
    thinking: ThinkingLevel,
    messages: usize,
}

/// What is known about a session, until something happens in it.
#[derive(Debug, Default)]
struct Known {
    lasting: Option<Lasting>,
    account: Option<Account>,
    /// How often something happened: what was asked before is old.
    changes: u64,
}

/// Whether anybody will come back to a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Kept,
    Removed,
}

/// What a session has cost, in US dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    pub sum: Amount,
    /// Some tokens have no price that is known: it was that much, or more.
    pub is_least: bool,
}

/// What lists tell of a session beyond its state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// What it has cost so far; nothing if nobody has a price.
    pub cost: Option<Bill>,
    /// When somebody spoke last, ISO 8601.
    pub updated_at: Option<String>,
    /// What the person said first, so far as lists tell it.
    pub opening: Option<Arc<str>>,
    /// How much was said; nothing if nobody knows more than the state says.
    pub messages: Option<u64>,
}

#[derive(Debug)]
struct Stage {
    berth: Berth,
    /// How its file is as the journal has it.
    kept_mark: Mark,
    /// The folder of its file, when that was first seen there by this session.
    folder: Option<places::Identity>,
    session: Option<Session>,
    /// Signalled when another session comes into its place: what happens in it is carried to nobody any more.
    left: CancellationToken,
    /// Slash commands of its extensions.
    commands: Arc<HashSet<String>>,
}

/// Where a run is that a client waits for.
pub struct Commanded<'a>(&'a Room);

impl Drop for Commanded<'_> {
    fn drop(&mut self) {
        self.0.commanded.fetch_sub(1, Ordering::SeqCst);
        // Whoever waits for its run to begin waits in vain if it never did.
        self.0.flight.wake();
        self.0.ties.news.tell();
    }
}

/// Work that was admitted, until it ends or is refused after all.
#[derive(Debug)]
pub struct Admitted {
    room: Arc<Room>,
    is_expected: bool,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.room.work.fetch_sub(1, Ordering::SeqCst);
        self.room.expected.fetch_sub(usize::from(self.is_expected), Ordering::SeqCst);
        self.room.flight.wake();
    }
}

/// Work that has started, until its session has heard of it.
#[derive(Debug)]
pub struct Entry(Arc<Room>);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.entering.fetch_sub(1, Ordering::SeqCst);
        self.0.flight.wake();
    }
}

/// Where a message is being put into a run, or begins one.
pub struct Joining<'a>(&'a Room);

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        self.0.joining.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Room {
    pub fn new(berth: Berth, kept: Limits, ties: Ties) -> Self {
        let id = berth.session.clone();
        Self {
            feed: Arc::new(Feed::new(id.clone(), epoch(), kept)),
            id,
            stage: RwLock::new(Stage {
                kept_mark: berth.mark,
                folder: None,
                berth,
                session: None,
                left: CancellationToken::new(),
                commands: Arc::default(),
            }),
            standing: sync::Mutex::new(Standing::Kept),
            commanded: AtomicUsize::new(0),
            work: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            entering: AtomicUsize::new(0),
            joining: AtomicUsize::new(0),
            line: sync::Mutex::default(),
            stopped: sync::Notify::new(),
            writing: AtomicUsize::new(0),
            flight: Flight::default(),
            tide: pump::Tide::new(),
            info: Mutex::default(),
            trouble: Mutex::default(),
            ties,
        }
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub fn berth(&self) -> Berth {
        self.stage().berth.clone()
    }

    /// Whether a run is in flight, or about to be.
    pub fn activity(&self) -> Activity {
        if self.commanded.load(Ordering::SeqCst) > 0 { Activity::Running } else { self.flight.activity() }
    }

    /// The same for a command that is admitted now: a run that was admitted, and that nothing is ahead of, is in flight
    /// when its turn comes.
    pub fn activity_ahead(&self) -> Activity {
        if self.expected.load(Ordering::SeqCst) > 0 { Activity::Running } else { self.activity() }
    }

    /// Counts work that is admitted.
    pub fn admit_work(self: &Arc<Self>) -> Admitted {
        self.work.fetch_add(1, Ordering::SeqCst);
        Admitted { room: Arc::clone(self), is_expected: false }
    }

    /// Counts a run that is admitted, and that waits for nothing but the work ahead of it.
    pub fn admit_run(self: &Arc<Self>) -> Admitted {
        let is_expected = self.work.fetch_add(1, Ordering::SeqCst) == 0;
        self.expected.fetch_add(usize::from(is_expected), Ordering::SeqCst);
        Admitted { room: Arc::clone(self), is_expected }
    }

    /// Counts work that starts, and of which the session will hear.
    pub fn start_work(self: &Arc<Self>) -> Entry {
        self.entering.fetch_add(1, Ordering::SeqCst);
        Entry(Arc::clone(self))
    }

    /// Waits until the session has heard of all work that has started: whoever stops it must not come before it.
    pub async fn entered(&self) {
        self.flight.until(|_| self.entering.load(Ordering::SeqCst) == 0).await;
    }

    /// As long as the answer lives, a run that begins is that of a message that a client sent.
    pub fn join(&self) -> Joining<'_> {
        self.joining.fetch_add(1, Ordering::SeqCst);
        Joining(self)
    }

    /// The turn of a message that is to be put into a run.
    pub async fn line(&self) -> sync::MutexGuard<'_, ()> {
        self.line.lock().await
    }

    /// Lets messages that wait for a run to begin wait no longer: it is stopped.
    pub fn stop_joining(&self) {
        self.stopped.notify_waiters();
    }

    /// Waits until messages that wait for a run are stopped. What was stopped before does not count.
    pub async fn joining_stopped(&self) {
        self.stopped.notified().await;
    }

    /// Waits until a question of the session is open.
    pub async fn asks(&self) {
        self.flight.until(|_| self.feed.last_asked().is_some()).await;
    }

    /// Waits until the session asks something that it had not asked when this was called.
    pub fn asks_anew(&self) -> impl Future<Output = ()> + '_ {
        let before = self.feed.last_asked();
        async move { self.flight.until(|_| self.feed.last_asked().is_some_and(|last| Some(last) > before)).await }
    }

    /// Waits until a run that a client commanded is in flight, or will not be.
    pub async fn begun(&self) {
        let is_coming = || self.commanded.load(Ordering::SeqCst) + self.expected.load(Ordering::SeqCst) > 0;
        self.flight.until(|activity| activity == Activity::Running || !is_coming()).await;
    }

    /// Waits until everything that has happened in the session so far is on its way to whoever listens.
    pub async fn caught_up(&self) {
        self.tide.caught_up().await;
    }

    /// For whoever waits for a run to begin or to end.
    pub(crate) fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Whether an extension of the session has this slash command.
    pub fn has_command(&self, name: &str) -> bool {
        self.stage().commands.contains(name)
    }

    /// As long as the answer lives, a run that begins is that of a client.
    pub fn command(&self) -> Commanded<'_> {
        self.commanded.fetch_add(1, Ordering::SeqCst);
        self.ties.news.tell();
        Commanded(self)
    }

    /// Who decides about extensions that want to leave the session in it.
    pub fn owner(&self) -> Owner {
        self.ties.owner(&self.id)
    }

    /// Who watches over the shell commands of its model.
    pub fn shell(&self) -> Arc<dyn ShellWatch> {
        circuit::watch(&self.ties.shell, &self.id)
    }

    /// The session, which is loaded if it was not.
    pub async fn session(
        self: &Arc<Self>,
        workshop: &dyn Workshop,
        roots: &Roots,
        turns: &Turns,
    ) -> Result<Session, MakeError> {
        if let Some(session) = self.loaded() {
            return Ok(session);
        }
        let _standing = self.hold().await.map_err(|SessionGone| MakeError::Gone)?;
        if let Some(session) = self.loaded() {
            return Ok(session);
        }
        if self.is_changed_elsewhere()
            && let Some(engine) = turns.get()
        {
            // An engine that has ended needs no versions.
            let _ = engine.changed(SessionName::from(self.id.as_str())).await;
        }
        let berth = self.berth();
        let cwd = allowed(Path::new(&berth.cwd), roots)?;
        let is_lost = places::is_lost(&berth);
        let conversation = match berth.file.map(PathBuf::from) {
            None => Conversation::New { parent: None },
            Some(file) if file.exists() => Conversation::Stored(kept_file(&file, workshop)?),
            Some(file) if is_lost => return Err(MakeError::Lost { file }),
            // Nothing was said in it so far.
            Some(file) => Conversation::NewAt(new_file(file, workshop)?),
        };
        let beginning = Beginning::Resume { left: None };
        let order = Order { cwd, conversation, beginning, owner: self.owner(), shell: self.shell() };
        let made = workshop.make(order).await?;
        self.enter(made, turns).await.map_err(|SessionGone| MakeError::Failed {
            reason: "the session ended while it was being loaded".to_owned(),
        })
    }

    /// Keeps the room from being removed, and others from bringing a session into it.
    pub async fn hold(&self) -> Result<sync::MutexGuard<'_, Standing>, SessionGone> {
        let standing = self.standing.lock().await;
        match *standing {
            Standing::Kept => Ok(standing),
            Standing::Removed => Err(SessionGone),
        }
    }

    /// Takes over which slash commands the extensions of the session have now.
    async fn learn_commands(&self, session: &Session) {
        // A session that is gone has none that anybody could call.
        let Ok(commands) = extension_commands(session).await else { return };
        self.stage.write().unwrap_or_else(PoisonError::into_inner).commands = commands;
    }

    /// Puts a session into the room, in the place of the one that was in it.
    pub async fn enter(self: &Arc<Self>, made: Made, turns: &Turns) -> Result<Session, SessionGone> {
        let Made { session, file, text: _ } = made;
        let (_, subscription) = session.subscribe().await?;
        let commands = extension_commands(&session).await?;
        let mark = mark(&session, file.as_deref()).await?;
        let Auto { compaction, retry } = self.stage().berth.auto;
        if let Some(enabled) = compaction {
            session.set_auto_compaction(switch(enabled)).await?;
        }
        if let Some(enabled) = retry {
            session.set_auto_retry(switch(enabled)).await?;
        }
        let is_left = CancellationToken::new();
        let left = {
            let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut stage.left, is_left.clone()).cancel();
            stage.berth.file = file.as_deref().map(shown);
            stage.berth.mark = mark;
            stage.folder = mark.modified.and_then(|_| places::folder(&stage.berth));
            stage.commands = commands;
            stage.session.replace(session.clone())
        };
        if left.is_some() {
            // Whoever listened to the other one must look anew, and what was asked there is asked no more.
            self.feed.begin_epoch(epoch());
            self.feed.drop_questions();
            self.flight.set(Activity::Idle);
        }
        self.feed.attend(session.attendance());
        // Who begins to listen is told of trouble that there is.
        self.storage_is(None);
        self.forget_info();
        pump::start(
            Arc::clone(self),
            pump::Source { session: session.clone(), subscription, left: is_left },
            turns.clone(),
        );
        Ok(session)
    }

    /// Its file cannot be written, for this reason; or it can again.
    fn storage_is(&self, trouble: Option<&str>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble.map(Arc::from);
        self.ties.troubles.tell();
    }

    /// Why its file cannot be written, if that is known: what has happened before is known once it is
    /// [carried](Self::caught_up).
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its file, if that was taken away while the session is loaded. Where another folder stands in the place of its own nobody
    /// did: what is said is written to where it went. Looks at the disk.
    pub fn lost_file(&self) -> Option<String> {
        let (berth, own) = {
            let stage = self.stage();
            stage.session.is_some().then(|| (stage.berth.clone(), stage.folder.clone()))?
        };
        let is_elsewhere = || own.is_some_and(|own| places::folder(&berth).is_some_and(|found| found != own));
        (places::is_lost(&berth) && !is_elsewhere()).then_some(berth.file)?
    }

    /// Whether somebody else made the session's file another one while it was not loaded. Says so once.
    pub fn is_changed_elsewhere(&self) -> bool {
        let known = {
            let stage = self.stage();
            let unloaded =
                stage.session.is_none().then(|| stage.berth.file.clone().map(|file| (file, stage.berth.mark)));
            unloaded.flatten()
        };
        let Some((file, known)) = known else { return false };
        // Of one that is not there, whoever loads the session is told.
        let Some(found) = seen(Path::new(&file)) else { return false };
        let is_other = known.length.is_some_and(|length| found.length != Some(length))
            || known.modified.is_some_and(|modified| found.modified != Some(modified));
        if !is_other {
            return false;
        }
        // Of several who see it at once only the first says so.
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        stage.session.is_none() && std::mem::replace(&mut stage.berth.mark, found) == known
    }

    /// The berth, if what was found of its file is news for the journal.
    pub fn unkept(&self) -> Option<Berth> {
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        let mark = stage.berth.mark;
        (std::mem::replace(&mut stage.kept_mark, mark) != mark).then(|| stage.berth.clone())
    }

    /// Looks how the file of the session is; the berth, if that is news for the journal.
    pub async fn measure(&self, session: &Session) -> Result<Option<Berth>, SessionGone> {
        let file = self.stage().berth.file.clone();
        let mark = mark(session, file.as_deref().map(Path::new)).await?;
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        if stage.berth.file != file {
            // Another conversation came into the room, and its mark with it.
            return Ok(None);
        }
        // Of a file that somebody took away it must be known that there was one.
        let mark = Mark { modified: mark.modified.or(stage.berth.mark.modified), ..mark };
        stage.berth.mark = mark;
        if stage.folder.is_none() && mark.modified.is_some() {
            stage.folder = places::folder(&stage.berth);
        }
        Ok((std::mem::replace(&mut stage.kept_mark, mark) != mark).then(|| stage.berth.clone()))
    }

    /// A command begins that may write to the file.
    pub fn begin_writing(&self) {
        self.writing.fetch_add(1, Ordering::SeqCst);
    }

    /// It has ended, and the file is measured.
    pub fn end_writing(&self) {
        self.writing.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a command may have written what nobody measured.
    pub fn is_being_written(&self) -> bool {
        self.writing.load(Ordering::SeqCst) > 0
    }

    /// Looks how the file of a session is that was closed; the berth, if that is news for the journal.
    pub fn measure_closed(&self) -> Option<Berth> {
        let file = self.stage().berth.file.clone()?;
        let found = seen(Path::new(&file))?;
        self.stage.write().unwrap_or_else(PoisonError::into_inner).berth.mark = found;
        self.unkept()
    }

    /// Takes over what is done by itself.
    pub fn note_auto(&self, change: impl FnOnce(&mut Auto)) -> Berth {
        let mut stage = self.stage.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut stage.berth.auto);
        stage.berth.clone()
    }

    pub fn is_loaded(&self) -> bool {
        self.stage().session.is_some()
    }

    /// The session, if it is loaded.
    pub fn loaded(&self) -> Option<Session> {
        self.stage().session.clone()
    }

    /// What is told about the session, from what is known or by asking it.
    pub async fn info(&self, session: &Session) -> Result<SessionInfo, SessionGone> {
        let Lasting { name, model, thinking, messages } = self.lasting(session).await?;
        let berth = self.berth();
        Ok(SessionInfo {
            session_id: self.id.clone(),
            session_name: name,
            session_file: berth.file,
            model: Some(Arc::unwrap_or_clone(model)),
            thinking_level: Some(thinking),
            is_streaming: self.activity() == Activity::Running,
            message_count: u64::try_from(messages).unwrap_or(u64::MAX),
            created_at: berth.created,
        })
    }

    async fn lasting(&self, session: &Session) -> Result<Lasting, SessionGone> {
        let changes = {
            let known = self.known();
            if let Some(lasting) = &known.lasting {
                return Ok(lasting.clone());
            }
            known.changes
        };
        let (state, messages) = (session.state().await?, session.messages().await?);
        let State { name, model, thinking, .. } = state;
        let lasting = Lasting { name, model, thinking, messages: messages.len() };
        let mut known = self.known();
        if known.changes == changes {
            known.lasting = Some(lasting.clone());
        }
        Ok(lasting)
    }

    /// What lists tell, of a session that is loaded: from what is known, or by counting all that it holds.
    pub async fn account(&self, session: &Session) -> Result<Account, SessionGone> {
        let changes = {
            let known = self.known();
            if let Some(account) = &known.account {
                return Ok(account.clone());
            }
            known.changes
        };
        let spoken = session.messages().await?;
        let updated_at = spoken.iter().rev().find_map(|(_, message)| message.timestamp()).map(stamp_of);
        let account = match session.overview().await {
            // A compaction changes what the model is shown, and neither how the session began nor how much was said in it.
            Ok(Overview { stats, opening }) => Account {
                cost: (stats.cost.as_f64() > 0.0)
                    .then(|| Bill { is_least: stats.cost_at_least == Some(true), sum: stats.cost }),
                updated_at,
                opening,
                messages: Some(stats.total_messages),
            },
            // A file that cannot be read tells nothing that anybody knows.
            Err(_) => Account { updated_at, ..Account::default() },
        };
        let mut known = self.known();
        if known.changes == changes {
            known.account = Some(account.clone());
        }
        Ok(account)
    }

    /// What was known about the session may be wrong from here on.
    pub fn forget_info(&self) {
        let mut known = self.known();
        known.changes += 1;
        (known.lasting, known.account) = (None, None);
        drop(known);
        self.ties.news.tell();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing in here can panic half-way.
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> RwLockReadGuard<'_, Stage> {
        // Nothing in here can panic half-way.
        self.stage.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the file of a session is. What waits to be written is written first, so that length and moment belong together.
async fn mark(session: &Session, file: Option<&Path>) -> Result<Mark, SessionGone> {
    let length = session.file_length().await?;
    let look = || file.and_then(seen);
    let mut found = look();
    if found.is_some_and(|found| found.length != length) {
        session.flush().await?;
        found = look();
    }
    Ok(Mark { length, modified: found.and_then(|found| found.modified) })
}

/// How the file at this path is, if it is there.
pub(crate) fn seen(file: &Path) -> Option<Mark> {
    let found = file.metadata().ok()?;
    let since = found.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    // A file system without moments has the beginning of all of them.
    let modified = i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX);
    Some(Mark { length: Some(found.len()), modified: Some(modified) })
}

/// The session's word for it.
pub fn switch(enabled: bool) -> Switch {
    if enabled { Switch::On } else { Switch::Off }
}

async fn extension_commands(session: &Session) -> Result<Arc<HashSet<String>>, SessionGone> {
    let commands = session.commands().await?.into_iter();
    let of_extensions =
        commands.filter(|command| matches!(command.source, pi_session::CommandSource::Extension { .. }));
    Ok(Arc::new(of_extensions.map(|command| command.definition.name).collect()))
}

/// A numbering that nobody has seen before. Every event carries it, so it is short: 48 random bits.
pub(crate) fn epoch() -> Epoch {
    Epoch(Secret::random().reveal()[..8].to_owned())
}

/// The folder of a session, which must still be there, and one where an agent may work.
fn allowed(cwd: &Path, roots: &Roots) -> Result<PathBuf, MakeError> {
    roots.folder(cwd).map_err(|error| match error {
        Error::CwdOutside { roots } => MakeError::OutsideRoots { roots },
        _ => MakeError::Homeless { cwd: cwd.to_owned() },
    })
}

/// The file of a session, which must still be where it may be.
fn kept_file(file: &Path, workshop: &dyn Workshop) -> Result<PathBuf, MakeError> {
    places::kept_file(file, workshop.sessions_folder().as_deref()).map_err(|error| match error {
        Error::SessionPath(SessionPathError::Missing) => MakeError::Missing,
        _ => MakeError::Elsewhere,
    })
}

/// The same for one that is still to be written.
fn new_file(file: PathBuf, workshop: &dyn Workshop) -> Result<PathBuf, MakeError> {
    match places::may_begin(&file, workshop.sessions_folder().as_deref()) {
        true => Ok(file),
        false => Err(MakeError::Elsewhere),
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
