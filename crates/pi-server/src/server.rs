//! A server: everything that its connections share, from the first look into the journal to the last answer.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pi_engine::{
    Config, Effect, Engine, Input, Record, Sequence, SessionName,
    driver::{self, Mailbox},
};
use pi_redact::Redactor;
use pi_session::{Switch, Wish};
use pi_transcript::{SessionId, json::Open};
use pi_wire::{
    Feature, ServerEvent,
    command::Lifecycle,
    event::{
        ClosingReason, OpenQuestion, ServerReady, ServerShutdown, SessionSnapshot, ShutdownReason, SnapshotReason,
        Usual,
    },
};
use tokio::{
    sync::{OnceCell, mpsc},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};

use crate::{
    answer::Answer,
    bustle::Bustle,
    client::{self, Client},
    connection::{Connection, Identity},
    door::{Door, NotLoopback, Rule, TokenError, load_or_create},
    gauges::Gauges,
    hall::{self, Counts, Hall, Job, Looks, Unwritten, download::AT_ONCE, now, queue_of},
    journal::{self, DAMAGED, JournalError, Opened, Recovery},
    lobby::{Crowded, Lobby},
    outbox::Outbox,
    porch::Porch,
    rates::Rates,
    recovered::Recovered,
    room::Room,
    rooms::Rooms,
    roots::{RootError, Roots},
    settings::Settings,
    speaker::{Snapshots, frame},
    workshop::Workshop,
};

/// Messages that may wait for the engine.
const MAILBOX: usize = 4096;
/// How often a journal that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How long clients have to read the last that is said to them.
const GOODBYE: Duration = Duration::from_secs(2);

/// A server that runs.
pub struct Server {
    hall: Arc<Hall>,
    engine: Mailbox<Job, Answer>,
    task: Mutex<Option<JoinHandle<()>>>,
    /// It takes nothing new any more.
    draining: AtomicBool,
    /// Lets those in who wait for a session; ends with the server.
    porter: JoinHandle<()>,
    /// Does what extensions of sessions want that leave them; ends with the server.
    usher: JoinHandle<()>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot use the server's folder {}", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    NotLoopback(#[from] NotLoopback),
    #[error(transparent)]
    Roots(#[from] RootError),
}

impl Server {
    /// Opens the journal in the server's folder and starts on it. Needs a tokio runtime; blocks on the disk.
    pub fn start(settings: Settings, workshop: Arc<dyn Workshop>, redactor: Arc<Redactor>) -> Result<Self, StartError> {
        let roots = Roots::find(&settings.roots, &workshop.usual_folder(), settings.home.as_deref())?;
        create_folder(&settings.folder)?;
        let options = journal::Options {
            retention: settings.retention,
            ceiling_bytes: settings.journal_bytes,
            redactor: Arc::clone(&redactor),
            started_as: settings.started_as(),
            earlier: settings.earlier,
        };
        let journal = journal::open_book(&settings.journal(), options)?;
        Ok(Self::begin(journal, settings, roots, workshop, redactor))
    }

    /// The same on a journal that is kept elsewhere.
    pub fn start_on<K: driver::Journal<Answer>>(
        journal: Opened<K>,
        settings: Settings,
        workshop: Arc<dyn Workshop>,
        redactor: Arc<Redactor>,
    ) -> Result<Self, StartError> {
        let roots = Roots::find(&settings.roots, &workshop.usual_folder(), settings.home.as_deref())?;
        Ok(Self::begin(journal, settings, roots, workshop, redactor))
    }

    /// Starts the engine where the journal says that the last one left off.
    fn begin<K: driver::Journal<Answer>>(
        journal: Opened<K>,
        settings: Settings,
        roots: Roots,
        workshop: Arc<dyn Workshop>,
        redactor: Arc<Redactor>,
    ) -> Self {
        let Opened { keeper, book, recovery } = journal;
        let config = Config { max_pending_per_client: settings.pending, ..settings.engine.clone() };
        let recovered = Recovered::new(&*book, &recovery);
        let Recovery { records, berths, trouble, started: _, malformed: _ } = recovery;
        recovered.log(berths.len());
        let (rooms, asked) = Rooms::new(settings.sessions);
        for berth in berths {
            rooms.insert(Arc::new(Room::new(berth, settings.kept, rooms.ties())));
        }
        let ties = rooms.ties();
        let hall = Arc::new(Hall {
            lobby: Arc::new(Lobby::new(settings.connections)),
            strangers: Arc::default(),
            porch: Porch::new(settings.pending),
            rooms,
            bustle: Bustle::default(),
            workshop,
            catalogue: Arc::default(),
            looks: Looks::default(),
            downloads: Arc::new(tokio::sync::Semaphore::new(AT_ONCE)),
            unwritten: Unwritten::default(),
            roots,
            journal: book,
            turns: Arc::new(OnceCell::new()),
            counts: Counts::default(),
            gauges: Gauges::new(),
            recovery: recovered,
            rates: Rates::new(settings.rates),
            bash: Arc::clone(&ties.shell),
            questions: ties.questions,
            redactor,
            engine: config.clone(),
            settings,
        });
        let (engine, task) = wake(config, records, trouble, Arc::clone(&hall), keeper);
        if let Some(said) = hall.journal.damage() {
            let journal = hall.journal.place();
            tracing::warn!(
                journal,
                said,
                hint = DAMAGED,
                "the journal is damaged; commands that change something are refused"
            );
        }
        // It was just made and nobody else sets it.
        drop(hall.turns.set(engine.clone()));
        let porter = tokio::spawn(receive(Arc::clone(&hall), engine.clone()));
        let usher = tokio::spawn(usher(Arc::clone(&hall), asked));
        Self { hall, engine, task: Mutex::new(Some(task)), draining: AtomicBool::new(false), porter, usher }
    }

    pub fn hall(&self) -> &Arc<Hall> {
        &self.hall
    }

    /// Makes the door of this server: who may come in, and with which token.
    pub fn door(&self, rule: Rule, at: std::net::SocketAddr) -> Result<Door, StartError> {
        let token = load_or_create(&self.hall.settings.token())?;
        let hosts = crate::door::Hosts::of(self.hall.settings.hosts.iter().cloned());
        Ok(Door::new(rule, token, hosts, at)?)
    }

    /// Lets a client in; its first frames are ready.
    pub fn enter(&self, identity: Identity, lifecycle: Lifecycle) -> Result<Client, Crowded> {
        let outbox = Arc::new(Outbox::new(self.hall.settings.outbox));
        for first in
            [ready(&self.hall), ServerEvent::StartupRecoverySummary { data: Box::new(self.hall.recovery.summary()) }]
        {
            // An outbox that was just made has room.
            let _ = outbox.send(frame(&first));
        }
        let connection = self.hall.lobby.enter(identity, lifecycle, outbox).inspect_err(|_| {
            Counts::count(&self.hall.counts.refused_connections);
        })?;
        Ok(Client { hall: Arc::clone(&self.hall), engine: self.engine.clone(), connection })
    }

    /// The client is gone.
    pub fn leave(&self, connection: &Connection) {
        self.hall.lobby.leave(connection.id);
        self.hall.rooms.leave(&connection.outbox);
    }

    /// Whether it ends: those who are here are served to the end, and nobody comes in any more.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Why commands that change something are not taken, if they are not.
    pub async fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.hall.obstacle().into_iter().collect();
        if self.is_draining() || self.engine.load().await.is_err() {
            problems.push("the server is ending".to_owned());
        }
        problems
    }

    /// What is counted, as Prometheus reads it.
    pub async fn prometheus(&self) -> String {
        self.hall.gauges.render(&self.hall.metrics().await, &self.hall.counts)
    }

    /// Refuses what is new, and tells everybody; what is in flight has a while to end.
    pub async fn drain(&self) {
        let within = self.hall.settings.drain;
        let timeout_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let data = ServerShutdown { reason: ShutdownReason::GracefulShutdown, timeout_ms };
        self.draining.store(true, Ordering::SeqCst);
        // First, so that whoever was told is refused. One that has ended needs not be told.
        let _ = self.engine.shut_down(within).await;
        self.hall.lobby.broadcast(&ServerEvent::ServerShutdown { data });
    }

    /// Ends what is in flight now.
    pub async fn hurry(&self) {
        let _ = self.engine.shut_down(Duration::ZERO).await;
    }

    /// Waits until every command has its answer. Whoever asks second does not wait.
    pub async fn ended(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!("the engine panicked");
        }
    }

    /// Closes connections and sessions, and waits a little for clients to read the last that is said to them.
    pub async fn close(&self) {
        for connection in self.hall.lobby.everybody() {
            connection.outbox.close(ClosingReason::ShuttingDown);
        }
        hall::close(&self.hall.rooms.everyone()).await;
        let deadline = Instant::now() + GOODBYE;
        while self.hall.lobby.count() > 0 && Instant::now() < deadline {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.porter.abort();
        self.usher.abort();
    }
}

/// Hands the engine what waited for a session.
async fn receive(hall: Arc<Hall>, engine: Mailbox<Job, Answer>) {
    loop {
        let (session, arrival) = hall.porch.next().await;
        // An engine that has ended has answered everything that it ever will.
        let _ = client::admit(&hall, &engine, arrival).await;
        hall.porch.passed(&session);
    }
}

/// Leads extensions that want to leave their sessions to others, each beside the others.
async fn usher(hall: Arc<Hall>, mut asked: mpsc::Receiver<(SessionId, Wish)>) {
    let mut leaving = JoinSet::new();
    loop {
        tokio::select! {
            asked = asked.recv() => match asked {
                Some((room, wish)) => {
                    let hall = Arc::clone(&hall);
                    leaving.spawn(async move { hall.fulfil(&room, wish).await });
                }
                None => return,
            },
            // One that panicked was told by the runtime; the wish that it dropped is refused.
            Some(_) = leaving.join_next() => {}
        }
    }
}

/// Starts the engine where the last one left off.
fn wake<K: driver::Journal<Answer>>(
    config: Config,
    records: Vec<(Sequence, Record<Answer>)>,
    trouble: Option<JournalError>,
    hall: Arc<Hall>,
    keeper: K,
) -> (Mailbox<Job, Answer>, JoinHandle<()>) {
    let opened: Vec<SessionName> = hall.rooms.everyone().iter().map(|room| room.id().as_str().into()).collect();
    let versioned = records.iter().filter_map(|(_, record)| match record {
        Record::Version(moved) => moved.version.map(|_| moved.session.clone()),
        Record::Accepted { .. } | Record::Finished { .. } | Record::Alias { .. } | Record::Reached(_) => None,
    });
    let known: HashSet<&SessionName> = opened.iter().collect();
    // The last server ended while it removed these.
    let closed: Vec<SessionName> = versioned.filter(|session| !known.contains(session)).collect();
    let mut effects: Vec<Effect<Job, Answer>> = Vec::new();
    let start = now();
    let mut engine = Engine::restore(config, start, records, &mut effects);
    for session in closed {
        engine.step(Input::Closed(session), start, &mut effects);
    }
    let trouble = trouble.map(|trouble| trouble.to_string());
    let options = driver::Options { mailbox: MAILBOX, retry: RETRY, start, opened, trouble };
    driver::spawn(engine, effects, hall, keeper, options)
}

/// The server's own folder, which nobody else reads.
#[expect(clippy::disallowed_methods, reason = "the one folder of the server")]
fn create_folder(folder: &Path) -> Result<(), StartError> {
    let failed = |source| StartError::Folder { folder: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Answers and paths are in the journal, whoever may look into the folder above.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// The first frame on every connection.
fn ready(hall: &Hall) -> ServerEvent {
    let largest = u64::try_from(hall.settings.frame.bytes).unwrap_or(u64::MAX);
    let mut data = ServerReady::new(env!("CARGO_PKG_VERSION"), largest);
    let cwd = hall.usual_folder().to_string_lossy().into_owned();
    data.usual = Some(Usual { cwd, model: hall.workshop.usual_model() });
    if let (Switch::Off, Some(features)) = (hall.workshop.extensions(), &mut data.features) {
        features.retain(|feature| *feature != Open::Known(Feature::Extensions));
    }
    ServerEvent::ServerReady { data }
}

impl Snapshots for Arc<Hall> {
    async fn take(&self, session: &SessionId, reason: SnapshotReason) -> Option<SessionSnapshot> {
        let room = self.rooms.get(session)?;
        let loaded = self.wake(&room).await.ok()?;
        // First where the events are: whatever is read later may be newer, and events that tell it again do no harm.
        let position = room.feed().position();
        let (seq, partial) = room.feed().growing();
        let info = room.info(&loaded).await.ok()?;
        let questions = loaded.open_questions().await.ok()?;
        let asked = |open: pi_session::OpenQuestion| OpenQuestion {
            request_id: open.id,
            asker: Some(open.asker),
            question: open.asked,
        };
        Some(SessionSnapshot {
            session_id: session.clone(),
            epoch: position.epoch,
            seq,
            reason,
            session_info: info,
            partial,
            queue: queue_of(&loaded).await.ok()?,
            questions: questions.into_iter().map(asked).collect(),
        })
    }
}
