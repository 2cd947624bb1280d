//! What guests of a session stand on, as the binary has it: folders, a cache, a ledger, a dispatcher.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    Dispatcher, Fittings, Guest, GuestId, Guests, Ledger, Patience, Rulebook, SessionPort, SystemResolver,
    launcher::{Launcher, Prepared, Provenance, Source},
    ledger::{self, Pace},
    port::Request,
};
use pi_guests::{Screening, Surroundings, Tiers, js::Limits};
use pi_policy::{Moment, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{
    Environment, Images, Registry, Shell, Withheld,
    files::{FileQueue, Folders},
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// What the tool `look` finds.
pub(crate) const NOTE: &str = "a note of some length";
const POLICY: &[u8] = br#"{"extensions":{"policy":{"mode":"permissive","deny_caps":[]}}}"#;

/// Where guests are started. Each set of them has a dispatcher of its own.
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    folder: TempDir,
    tiers: Tiers,
    /// What every extension is: the ending of its file, and what is in it.
    extension: (&'static str, Vec<u8>),
}

/// A session that is not there.
struct Nobody;

impl SessionPort for Nobody {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        drop(request);
        async {}.boxed()
    }
}

impl Stage {
    /// Extensions are files with this ending and content.
    pub(crate) fn new(ending: &'static str, content: impl Into<Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "tmp", "logs", "agent"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("project/note.txt"), NOTE).unwrap();
        let tiers = tiers(folder.path(), &folder.path().join("agent"));
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, folder, tiers, extension: (ending, content.into()) }
    }

    /// Starts `count` extensions that are equal but for their names.
    pub(crate) async fn guests(&self, count: usize) -> Guests {
        self.start(&self.tiers, &self.files(count)).await
    }

    /// Files of extensions that are equal but for their names.
    pub(crate) fn files(&self, count: usize) -> Vec<PathBuf> {
        let (ending, content) = &self.extension;
        let path = |at| self.folder().join(format!("hello{at}.{ending}"));
        let paths: Vec<PathBuf> = (0..count).map(path).collect();
        for path in paths.iter().filter(|path| !path.exists()) {
            fs::write(path, content).unwrap();
        }
        paths
    }

    /// As if the machine had never seen an extension.
    pub(crate) fn fresh(&self, agent: &Path) -> Tiers {
        tiers(self.folder(), agent)
    }

    pub(crate) async fn start(&self, tiers: &Tiers, paths: &[PathBuf]) -> Guests {
        let dispatcher = self.dispatcher();
        let mut guests = Guests::new(Patience::default(), Arc::new(|incident| panic!("{incident:?}")))
            .recorded(dispatcher.ledger().clone(), None);
        for path in paths {
            let source = Source { path: path.clone(), provenance: Provenance::Trusted };
            let Prepared { identity, launch, .. } = tiers.prepare(source).await.unwrap();
            let guest: Arc<dyn Guest> = launch(dispatcher.desk(identity).unwrap()).await.unwrap();
            guests.attach(guest).unwrap();
        }
        guests
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn dispatcher(&self) -> Dispatcher {
        // Its ledger is written by a task.
        let _inside = self.runtime.enter();
        Dispatcher::new(self.fittings())
    }

    fn fittings(&self) -> Fittings {
        let folder = self.folder();
        let redaction = Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep };
        let redactor = Arc::new(Redactor::new(redaction));
        let now = || Moment::from_unix_millis(1_794_787_200_000);
        let log = ledger::Settings::new(folder.join("logs"), format!("{:016x}", fastrand::u64(..)));
        Fittings {
            port: Arc::new(Nobody),
            rulebook: Rulebook::new(config::load(POLICY).unwrap().value),
            ledger: Ledger::open(log, Arc::clone(&redactor), now).unwrap(),
            tools: Registry::built_in(),
            tooling: pi_tools::Settings {
                shell: Shell::default(),
                environment: Environment::new(std::iter::empty(), &Withheld::default()),
                temporary: folder.join("tmp"),
                images: Images::AsTheyAre,
                redactor,
            },
            queue: Arc::new(FileQueue::default()),
            folders: Folders { project: folder.join("project"), home: None, agent: None, ..Folders::default() },
            variables: ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default())).into(),
            resolver: Arc::new(SystemResolver),
            proxy: None,
            keys: None,
            models: None,
            trace: None,
            // As many calls as it takes.
            limits: pi_exthost::Limits {
                calls: Pace { most: u32::MAX, ..pi_exthost::Limits::default().calls },
                ..pi_exthost::Limits::default()
            },
            now,
        }
    }
}

fn tiers(folder: &Path, agent: &Path) -> Tiers {
    let surroundings = Surroundings {
        cwd: folder.join("project"),
        agent: agent.to_owned(),
        home: folder.to_owned(),
        temporary: folder.join("tmp"),
        program: PathBuf::from("pi"),
        hostname: "here".to_owned(),
        version: "0".to_owned(),
        flags: BTreeMap::new(),
        screening: Screening::Tell,
        limits: Limits::default(),
    };
    Tiers::new(surroundings).unwrap()
}
