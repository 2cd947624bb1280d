//! Makes guests of sources: looks at each, says who it is, and starts it at its desk.

mod built;
pub(crate) mod packed;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use pi_exthost::{
    Desk, Guest, GuestId,
    launcher::{Identity, LaunchFault, Launcher, Prepared, Source},
};

use pi_extc::{Cache, CacheFault, Workshop};

use self::built::Built;
use crate::js::{JsGuest, Library, Limits, Place, Program, Time, architecture, platform};

/// What guests are told of where they are, and what they may use up.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub cwd: PathBuf,
    pub agent: PathBuf,
    pub home: PathBuf,
    pub temporary: PathBuf,
    /// This program.
    pub program: PathBuf,
    pub hostname: String,
    /// Ours.
    pub version: String,
    /// Values that somebody gave to flags of extensions.
    pub flags: BTreeMap<String, Value>,
    pub limits: Limits,
}

/// Starts extensions of every tier that there is.
pub struct Tiers {
    library: Library,
    workshop: Workshop,
    cache: Arc<Cache>,
    surroundings: Surroundings,
    started: AtomicU64,
}

impl Tiers {
    /// Opens the cache, which is made at first use.
    pub fn new(surroundings: Surroundings) -> Result<Self, CacheFault> {
        let folder = surroundings.agent.join("cache").join("extensions");
        let cache = Arc::new(Cache::open(&folder)?);
        let library = Library::new(Some(Arc::clone(&cache)));
        Ok(Self { library, workshop: Workshop::new(folder), cache, surroundings, started: AtomicU64::new(0) })
    }

    /// The same as [`Launcher::prepare`], for whoever wants to look at what runs in the end.
    pub async fn prepare_js(&self, source: Source) -> Result<PreparedJs, LaunchFault> {
        let around = &self.surroundings;
        let trusted = around.agent.join("trusted-keys.json");
        let built = Built::make(&source, &self.workshop, &self.cache, &trusted).await?;
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let folder_name: String = built
            .name
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || "._-".contains(letter) { letter } else { '+' })
            .collect();
        let identity = Identity {
            id: GuestId::from(built.name.as_str()),
            version: built.version.clone(),
            artifact: Some(built.hash.clone()),
            provenance: source.provenance,
            declared: built.declared.clone(),
            evidence: built.evidence,
            folder: built.folder.clone(),
            data: around.agent.join("extension-data").join(&folder_name),
            temporary: around.temporary.join(format!("pi-ext-{}-{number}-{folder_name}", std::process::id())),
        };
        let program = self.program(&built, &source, &identity);
        Ok(PreparedJs { identity, program, notices: built.notices })
    }

    fn program(&self, built: &Built, source: &Source, identity: &Identity) -> Program {
        let around = &self.surroundings;
        let text = |path: &PathBuf| path.display().to_string();
        let place = Place {
            cwd: text(&around.cwd),
            agent_dir: text(&around.agent),
            extension_dir: text(&built.folder),
            entry: text(&built.entry),
            data_dir: text(&identity.data),
            temp_dir: text(&identity.temporary),
            home_dir: text(&around.home),
            platform: platform().to_owned(),
            arch: architecture().to_owned(),
            pid: std::process::id(),
            exec_path: text(&around.program),
            argv: vec![text(&around.program)],
            hostname: around.hostname.clone(),
            versions: BTreeMap::from([
                ("node".to_owned(), "20.20.2".to_owned()),
                ("pi".to_owned(), around.version.clone()),
            ]),
        };
        Program {
            name: built.name.clone(),
            path: source.path.display().to_string(),
            library: self.library.clone(),
            bundle: built.bundle.clone(),
            place,
            flags: around.flags.clone(),
            limits: around.limits.clone(),
            time: Time::Real,
        }
    }
}

/// An extension in JavaScript that was looked at.
#[derive(Debug)]
pub struct PreparedJs {
    pub identity: Identity,
    pub program: Program,
    /// What its author should know.
    pub notices: Vec<String>,
}

impl Launcher for Tiers {
    fn prepare(&self, source: Source) -> BoxFuture<'_, Result<Prepared, LaunchFault>> {
        async move {
            let PreparedJs { identity, mut program, notices: _ } = self.prepare_js(source).await?;
            let launch = move |desk: Desk| {
                async move {
                    // Whoever gave it its desk may have told it from another of its name.
                    program.place.data_dir = desk.identity().data.display().to_string();
                    let guest: Arc<dyn Guest> = JsGuest::start(program, desk).await?;
                    Ok(guest)
                }
                .boxed()
            };
            Ok(Prepared { identity, launch: Box::new(launch) })
        }
        .boxed()
    }
}
