//! What the desks of a session share: the one place where host calls are decided, done and recorded.

use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use pi_extproto::{
    capability::{Capability, Method},
    connector::{Call, environment::Credential, fs::FsCall},
    host::{ErrorCode, HostError},
};
use pi_policy::{Moment, PathFault, Policy, Target, config};
use pi_tools::{Registry, files::FileQueue, files::Folders};
use pi_transcript::ProviderId;

use crate::{
    connector::http::Resolver,
    consent::{GrantsFault, Rulebook},
    data,
    desk::{Counters, Desk, Figures, Inner, Output, Terms},
    guest::GuestId,
    guests::Guests,
    launcher::Identity,
    ledger::{Ledger, Pace},
    port::{ModelInfo, SessionPort},
    private,
    servers::Servers,
    trace::Trace,
};

/// Streams end as soon as nobody reads them: a process takes a moment to die.
const LAST_STREAMS: Duration = Duration::from_secs(5);

/// A session that is there takes what people are told at once.
const LAST_NOTICES: Duration = Duration::from_secs(1);

/// What a dispatcher is made of.
pub struct Fittings {
    pub port: Arc<dyn SessionPort>,
    pub rulebook: Rulebook,
    pub ledger: Ledger,
    /// The tools of the host that guests may use.
    pub tools: Registry,
    /// How those work, and what processes are given.
    pub tooling: pi_tools::Settings,
    /// Shared by all who change files in this process.
    pub queue: Arc<FileQueue>,
    pub folders: Folders,
    /// The environment of the program.
    pub variables: BTreeMap<String, String>,
    pub resolver: Arc<dyn Resolver>,
    /// Which proxy leads to a URL; without one requests go straight to the address that was checked, and so do those to
    /// addresses that are not of the public network.
    pub proxy: Option<ProxyFinder>,
    /// Where raw keys come from; without it there are none.
    pub keys: Option<KeyRing>,
    /// The models that are known before a session is there to be asked; without it there are none.
    pub models: Option<ModelList>,
    pub trace: Option<Trace>,
    pub limits: Limits,
    pub now: fn() -> Moment,
}

/// Finds the key of a provider; nothing if there is none.
pub type KeyRing = Arc<dyn Fn(ProviderId) -> BoxFuture<'static, Option<Credential>> + Send + Sync>;

/// Tells which models the program knows, with or without a key.
pub type ModelList = Arc<dyn Fn() -> Vec<ModelInfo> + Send + Sync>;

/// Finds the proxy that leads to a URL; nothing if none does.
pub type ProxyFinder = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Bounds for every guest. What goes beyond them is refused, with a word about the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls in a span of time. Those beyond are refused, and counted in the ledger together: a flood would push what was
    /// recorded before out of it.
    pub calls: Pace,
    /// Calls at work at the same time; others wait.
    pub in_flight: usize,
    /// Calls that may wait for their turn.
    pub waiting: usize,
    /// Of the parameters of one call.
    pub params_bytes: usize,
    /// Of the parameters of all calls that are at work or wait. Those beyond are refused and do not wait, because what
    /// waits is kept.
    pub pending_bytes: usize,
    /// Of what one call gives back.
    pub output_bytes: usize,
    /// Of what all calls give back that the guest has not taken yet. Those beyond fail and do not wait, because what waits is
    /// kept.
    pub untaken_bytes: usize,
    /// Of each of the two outputs of a process, unless the call wants less.
    pub process_bytes: usize,
    /// Of a whole stream.
    pub stream_bytes: u64,
    /// How often a request may be sent elsewhere.
    pub redirects: usize,
    /// How long a call may take that does not say it, where it speaks to another machine.
    pub request_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            calls: Pace { most: 50_000, span: Duration::from_secs(60) },
            in_flight: 64,
            waiting: 1024,
            params_bytes: 32 << 20,
            pending_bytes: 64 << 20,
            output_bytes: 64 << 20,
            untaken_bytes: 128 << 20,
            process_bytes: 16 << 20,
            stream_bytes: 1 << 30,
            redirects: 20,
            request_time: Duration::from_secs(300),
        }
    }
}

/// The dispatcher of one session. Clones are the same.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) house: Arc<House>,
}

pub(crate) struct House {
    pub(crate) fittings: Fittings,
    pub(crate) handle: Handle,
    /// Known once all guests are there; they own what owns us.
    pub(crate) guests: OnceLock<Weak<Guests>>,
    /// Servers that guests are connected to.
    pub(crate) servers: Servers,
    /// Streams that are read or end; each leaves a line when it is over.
    pub(crate) streams: TaskTracker,
    /// Processes that were told to end and that nobody waits for any more.
    pub(crate) departing: TaskTracker,
    /// Set when they get no more time.
    pub(crate) last_call: CancellationToken,
    /// What people are being told.
    pub(crate) notices: TaskTracker,
    /// What was counted of each guest, by who it is: one that is loaded anew, or switched off and on, goes on with it. A lock and
    /// no task: it is held for a look-up.
    counters: Mutex<HashMap<Who, Arc<Counters>>>,
    /// Desks own us, so we do not own them. A lock and no task: they are made and looked at now and then.
    desks: Mutex<Vec<Known>>,
}

/// The name of a guest, and where it comes from: another from elsewhere may have the same name.
type Who = (GuestId, Vec<String>);

/// What is known of a desk, as long as it is there and afterwards.
struct Known {
    desk: Weak<Inner>,
    temporary: PathBuf,
}

/// Why a guest gets no desk.
#[derive(Debug, thiserror::Error)]
pub enum NoDesk {
    #[error("{folder}: {fault}")]
    Folder { folder: PathBuf, fault: PathFault },
    #[error("cannot make {folder}: {source}")]
    NotMade { folder: PathBuf, source: io::Error },
}

impl Dispatcher {
    /// Needs a tokio runtime: streams are driven there.
    pub fn new(fittings: Fittings) -> Self {
        let house = House {
            fittings,
            handle: Handle::current(),
            guests: OnceLock::new(),
            servers: Servers::default(),
            streams: TaskTracker::new(),
            departing: TaskTracker::new(),
            last_call: CancellationToken::new(),
            notices: TaskTracker::new(),
            counters: Mutex::default(),
            desks: Mutex::default(),
        };
        Self { house: Arc::new(house) }
    }

    /// A desk for a guest. Makes its folders, and removes the temporary ones of those that are gone: a guest that is loaded
    /// anew again and again leaves nothing behind. Looks at the disk.
    pub fn desk(&self, mut identity: Identity) -> Result<Desk, NoDesk> {
        let unmade = |folder: &Path| {
            let folder = folder.to_owned();
            move |source| NoDesk::NotMade { folder, source }
        };
        let is_gone = |known: &mut Known| known.desk.strong_count() == 0;
        let gone: Vec<Known> = self.house.desks().extract_if(.., is_gone).collect();
        gone.iter().for_each(|known| sweep(&known.temporary));
        if !identity.data.exists() && self.house.fittings.rulebook.knows(&identity) {
            data::take_over(&identity.data);
        }
        make_folder(&identity.data).map_err(unmade(&identity.data))?;
        identity.temporary = make_new(&identity.temporary).map_err(unmade(&identity.temporary))?;
        self.house.fittings.rulebook.saw(&identity);
        let temporary = identity.temporary.clone();
        let desk = Desk::new(Arc::clone(&self.house), identity)?;
        self.house.desks().push(Known { desk: Arc::downgrade(&desk.inner), temporary });
        Ok(desk)
    }

    /// Other settings count from the next decision on. Answers, and what is remembered, stay.
    pub fn amend(&self, policy: &Policy, project: Option<&config::Settings>) -> Result<(), GrantsFault> {
        self.house.fittings.rulebook.amend(policy, project)
    }

    /// Lets guests use each other's tools. Once: a session has one set of guests, in which they come and go.
    pub fn introduce(&self, guests: &Arc<Guests>) {
        // Guests that are introduced twice are those that are known.
        let _ = self.house.guests.set(Arc::downgrade(guests));
        guests.settle_in(&self.house);
    }

    /// Where a path leads that a guest may read, without links. Whoever reads it does that for the guest, so it is decided and
    /// recorded like a call of its own; a refusal is told as any is.
    pub async fn readable(&self, guest: &GuestId, path: String, terms: Terms) -> Result<PathBuf, HostError> {
        let gone = || HostError::new(ErrorCode::Internal, format!("{guest} is not there any more"));
        let desk = self.house.desk_of(guest).ok_or_else(gone)?;
        match desk.call(Call::Fs(FsCall::Resolve { path }), terms).await? {
            Output::Place(place) => Ok(PathBuf::from(place.path)),
            other => unreachable!("a path is resolved to a place: {other:?}"),
        }
    }

    /// Whether a guest may run any program without somebody being asked. Leaves no trace.
    pub fn may_run_anything(&self, guest: &GuestId) -> bool {
        let desk = self.house.desk_of(guest);
        desk.is_some_and(|desk| {
            desk.would_allow(desk.action(Capability::Exec, Method::Exec, Target::Nothing)).is_some()
        })
    }

    /// Writes down that something about a guest does not work as its author thinks.
    pub fn warn(&self, guest: &GuestId, message: &str) {
        if let Some(desk) = self.house.desk_of(guest) {
            desk.events().warn(message, None);
        }
    }

    /// What each guest has asked for so far.
    pub fn figures(&self) -> Vec<(GuestId, Figures)> {
        let desks = self.house.desks();
        let desks = desks.iter().filter_map(|known| known.desk.upgrade()).map(|inner| Desk { inner });
        desks.map(|desk| (desk.guest().clone(), desk.figures())).collect()
    }

    pub fn ledger(&self) -> &Ledger {
        &self.house.fittings.ledger
    }

    /// Waits until people were told what they were to be told, removes the temporary folders of the guests, and closes the
    /// ledger. Call it when they have ended.
    pub async fn close(&self) {
        self.house.streams.close();
        if timeout(LAST_STREAMS, self.house.streams.wait()).await.is_err() {
            tracing::warn!("streams of extensions go on; the ledger misses their ends");
        }
        self.house.last_call.cancel();
        self.house.departing.close();
        self.house.departing.wait().await;
        self.house.notices.close();
        if timeout(LAST_NOTICES, self.house.notices.wait()).await.is_err() {
            tracing::warn!("nobody takes what people were to be told of extensions");
        }
        let desks = std::mem::take(&mut *self.house.desks());
        for inner in desks.iter().filter_map(|known| known.desk.upgrade()) {
            inner.settle();
        }
        let folders: Vec<PathBuf> = desks.into_iter().map(|known| known.temporary).collect();
        let kept = folders.clone();
        let swept = tokio::task::spawn_blocking(move || folders.iter().for_each(|folder| sweep(folder))).await;
        if swept.is_err() {
            // The runtime ends and has no threads for it any more: nothing else runs that could be held up.
            kept.iter().for_each(|folder| sweep(folder));
        }
        if let Err(fault) = self.house.fittings.ledger.close().await {
            tracing::warn!(%fault, "the ledger was not closed");
        }
    }
}

impl House {
    fn desks(&self) -> std::sync::MutexGuard<'_, Vec<Known>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted of a guest so far.
    pub(crate) fn counters_of(&self, identity: &Identity) -> Arc<Counters> {
        let who = (identity.id.clone(), identity.origins.clone());
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(counters.entry(who).or_default())
    }

    /// The same of one that need not be here.
    pub(crate) fn counted(&self, guest: &GuestId, origins: &[String]) -> Figures {
        let who = (guest.clone(), origins.to_vec());
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.get(&who).map(|counters| counters.read()).unwrap_or_default()
    }

    /// The desk of a guest, as long as it is there.
    pub(crate) fn desk_of(&self, guest: &GuestId) -> Option<Desk> {
        let desks = self.desks();
        // The newest: one that was started anew has another desk, and the old one may not be gone yet.
        let mut desks = desks.iter().rev().filter_map(|known| known.desk.upgrade()).map(|inner| Desk { inner });
        desks.find(|desk| desk.guest() == guest)
    }

    pub(crate) fn now(&self) -> Moment {
        (self.fittings.now)()
    }
}

/// Makes a folder that only its owner may look into, with those around it.
fn make_folder(folder: &Path) -> io::Result<()> {
    private::folders().recursive(true).create(folder)
}

/// The same for one that is not there yet, under another name if that is taken: two guests may be called alike, and
/// what somebody else put there is not used.
fn make_new(folder: &Path) -> io::Result<PathBuf> {
    folder.parent().map_or(Ok(()), make_folder)?;
    let mut made = folder.to_owned();
    for number in 2.. {
        match private::folders().create(&made) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                made.set_file_name(format!("{name}-{number}"));
            }
            created => return created.map(|()| made),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[expect(clippy::disallowed_methods, reason = "the temporary folder of a guest is removed where it was made")]
fn sweep(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "the temporary folder of an extension was not removed");
    }
}

impl fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("ledger", &self.house.fittings.ledger).finish_non_exhaustive()
    }
}
