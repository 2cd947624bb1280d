//! Makes guests of sources: looks at each, says who it is, and starts it at its desk.

mod built;
mod known;
mod machinery;
pub(crate) mod packed;
mod started;
mod stock;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use pi_exthost::{
    Desk, GuestId, data,
    launcher::{Identity, LaunchFault, Launcher, Prepared, Source},
};

use pi_extc::{CacheFault, SourceMap, Workshop};
use pi_transcript::question::NotifyType;

use self::built::{Built, Compiled, Yard};
pub use self::{
    known::{Known, known},
    machinery::Compiling,
    started::{PreparedGuest, Program, Started},
    stock::Stock,
};
use crate::{
    js::{self, Chance, Limits, Place, Sources, Time, architecture, platform, user},
    wasm,
};

/// Findings that are written into the log of an extension when it is started.
const MOST_NOTICES: usize = 32;

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
    pub screening: Screening,
}

/// What becomes of an extension that uses what extensions may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screening {
    /// It does not run.
    Refuse,
    /// It runs, fails where it uses it, and people are told.
    Tell,
}

/// Starts extensions of every tier that there is.
pub struct Tiers {
    yard: Yard,
    surroundings: Surroundings,
    started: AtomicU64,
}

impl Tiers {
    /// For a session that shares nothing with others.
    pub fn new(surroundings: Surroundings) -> Result<Self, CacheFault> {
        let stock = Stock::open(&surroundings.agent)?;
        Ok(Self::sharing(stock, surroundings))
    }

    /// For one of several sessions.
    pub fn sharing(stock: Stock, surroundings: Surroundings) -> Self {
        let trusted = surroundings.agent.join("trusted-keys.json");
        let workshop = Workshop::new(stock.folder().to_path_buf());
        let (memory, home) = (surroundings.limits.memory, surroundings.home.clone());
        let yard = Yard { workshop, stock, memory, trusted, home, screening: surroundings.screening };
        Self { yard, surroundings, started: AtomicU64::new(0) }
    }

    /// The same as [`Launcher::prepare`], for whoever wants to look at what runs in the end.
    pub async fn prepare_guest(&self, source: Source) -> Result<PreparedGuest, LaunchFault> {
        let around = &self.surroundings;
        let built = Built::make(&source, &self.yard).await?;
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
            origins: built.origins.clone(),
            declared: built.declared.clone(),
            evidence: built.evidence,
            folder: built.folder.clone(),
            own: built.own.clone(),
            data: data::folder(&around.agent, &built.name, &built.origins),
            temporary: around.temporary.join(format!("pi-ext-{}-{number}-{folder_name}", std::process::id())),
        };
        let program = match &built.code {
            Compiled::Script { code, source_map } => {
                let map = SourceMap::new(self.yard.stock.source_map(source_map));
                let sources = Sources { map, folder: built.folder.clone() };
                Program::Js(Box::new(self.script((code.clone(), sources), &built, &source, &identity)))
            }
            Compiled::Component { code, machine } => Program::Wasm(Box::new(wasm::Program {
                name: built.name.clone(),
                path: source.path.display().to_string(),
                machine: machine.clone(),
                code: code.clone(),
                limits: wasm::Limits { memory: around.limits.memory, ..wasm::Limits::default() },
            })),
        };
        let Built { notices, outdated, sources, missing, forbidden, .. } = built;
        Ok(PreparedGuest { identity, program, notices, outdated, sources, missing, forbidden })
    }

    fn script(
        &self,
        (bundle, sources): (js::Code, Sources),
        built: &Built,
        source: &Source,
        identity: &Identity,
    ) -> js::Program {
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
            user: user(),
            exec_path: text(&around.program),
            argv: vec![text(&around.program)],
            hostname: around.hostname.clone(),
            versions: BTreeMap::from([
                ("node".to_owned(), "20.20.2".to_owned()),
                ("pi".to_owned(), around.version.clone()),
            ]),
        };
        js::Program {
            name: built.name.clone(),
            path: source.path.display().to_string(),
            library: self.yard.stock.library().clone(),
            bundle,
            sources,
            place,
            flags: around.flags.clone(),
            limits: around.limits.clone(),
            time: Time::Real,
            chance: Chance::Real,
        }
    }
}

/// Tells a person that what runs was built from older sources, which only they can mend.
pub fn tell_outdated(desk: &Desk, outdated: String) {
    desk.tell(format!("Extension {}: {outdated}", desk.guest()), NotifyType::Warning);
    desk.events().warn(outdated, None);
}

/// Writes what the scanner found into the log of the extension.
fn tell(desk: &Desk, notices: Vec<String>) {
    let others = notices.len().saturating_sub(MOST_NOTICES);
    let more = (others > 0).then(|| format!("{others} further findings; `pi ext scan` shows all of them"));
    for notice in notices.into_iter().take(MOST_NOTICES).chain(more) {
        desk.events().warn(notice, None);
    }
}

impl Launcher for Tiers {
    fn prepare(&self, source: Source) -> BoxFuture<'_, Result<Prepared, LaunchFault>> {
        async move {
            let PreparedGuest { identity, mut program, notices, outdated, sources, missing, forbidden } =
                self.prepare_guest(source).await?;
            let tier = program.tier();
            let told = outdated.clone();
            let launch = move |desk: Desk| {
                async move {
                    tell(&desk, notices);
                    if let Some(outdated) = told {
                        tell_outdated(&desk, outdated);
                    }
                    // Whoever gave it its desk may have told it from another of its name.
                    program.keep_data_in(&desk.identity().data);
                    Ok(program.start(desk).await?.guest())
                }
                .boxed()
            };
            Ok(Prepared { identity, tier, sources, outdated, missing, forbidden, launch: Box::new(launch) })
        }
        .boxed()
    }
}
