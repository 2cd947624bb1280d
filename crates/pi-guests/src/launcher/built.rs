//! From a source to the code that an engine runs.

use std::{path::PathBuf, sync::Arc};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use pi_extc::{Artifact, BuildFault, Code, Scan, SignatureState, Workshop};
use pi_exthost::launcher::{Evidence, Feature, LaunchFault, Source};
use pi_extproto::{artifact::Verdict, capability::Declared, manifest::is_name};

use super::{
    machinery::{Piece, PieceFault},
    packed::{self, Packed, signature_of_build},
    stock::Stock,
};
use crate::{js, wasm};

/// The size at which an extension is as large as it gets, for whoever weighs it.
const LARGE: u64 = 10 << 20;

/// What a signature leaves open whose key nobody here knows: it says that nothing was changed, and not by whom.
const BARELY_KNOWN: f64 = 0.6;

/// What the pipeline made of a source.
pub(super) struct Built {
    pub(super) name: String,
    pub(super) version: String,
    /// `sha256:…`
    pub(super) hash: String,
    /// As grants name it.
    pub(super) origins: Vec<String>,
    pub(super) declared: Declared,
    pub(super) evidence: Evidence,
    pub(super) folder: PathBuf,
    pub(super) entry: PathBuf,
    pub(super) code: Compiled,
    /// What its author should know.
    pub(super) notices: Vec<String>,
    /// The files that it was built from.
    pub(super) sources: Vec<PathBuf>,
    /// Packages that it imports and that are not installed.
    pub(super) missing: Vec<String>,
}

/// Code that an engine runs.
pub(super) enum Compiled {
    Script { code: js::Code, source_map: Arc<str> },
    Component { code: wasm::Code, machine: wasm::Machine },
}

/// What building takes.
#[derive(Clone)]
pub(super) struct Yard {
    pub(super) workshop: Workshop,
    pub(super) stock: Stock,
    /// Of every component.
    pub(super) memory: usize,
    /// The file of keys that somebody here trusts.
    pub(super) trusted: PathBuf,
}

impl Built {
    /// Builds it, unless it was built before and has not changed. What comes built is judged by its signature. Reading,
    /// hashing and compiling take as long as disk and code do, so all of it happens beside the tasks. Dropping the future ends
    /// the bundler, and the rest where it waits next.
    pub(super) async fn make(source: &Source, yard: &Yard) -> Result<Self, LaunchFault> {
        let (source, yard, handle) = (source.clone(), yard.clone(), Handle::current());
        let wanted = CancellationToken::new();
        let _unwanted = wanted.clone().drop_guard();
        let made = tokio::task::spawn_blocking(move || {
            handle.block_on(wanted.run_until_cancelled(Self::make_here(&source, &yard)))
        });
        match made.await {
            Ok(Some(made)) => made,
            // Nobody is left who could read it.
            Ok(None) => Err(LaunchFault::Unusable { message: "nobody wants it any more".to_owned() }),
            Err(broken) => Err(LaunchFault::Unusable { message: broken.to_string() }),
        }
    }

    async fn make_here(source: &Source, yard: &Yard) -> Result<Self, LaunchFault> {
        let Yard { workshop, stock, trusted, .. } = yard;
        let (path, cache) = (&source.path, stock.cache());
        if !path.exists() {
            return Err(LaunchFault::Missing { path: path.display().to_string() });
        }
        if let Some(folder) = packed::folder_of(path) {
            let packed = Packed::read(folder, trusted)?;
            let origins = packed.origins(folder);
            let Packed { artifact, signature, digest } = packed;
            let scan = pi_extc::scan(&artifact, workshop, cache).await.map_err(|fault| unusable(&fault))?;
            let unwritable = |error: std::io::Error| LaunchFault::Unusable { message: error.to_string() };
            let sources = packed::files(folder);
            let folder = pi_extc::unpack(&digest, &artifact.assets, &workshop.cache).map_err(unwritable)?;
            let entry = folder.join("index.js");
            let built = Self::of(&artifact, &scan, &signature, (folder, entry), yard)?;
            return Ok(Self { origins, sources, ..built });
        }
        let loaded = pi_extc::load(path, workshop, cache).await.map_err(|fault| unusable(&fault))?;
        let several = loaded.len();
        let Some(one) = loaded.into_iter().next().filter(|_| several == 1) else {
            let message = format!("{} has {several} entries; name one of them", path.display());
            return Err(LaunchFault::Unusable { message });
        };
        let signature = signature_of_build(one.root(), &one.artifact, trusted);
        let place = (one.root().to_owned(), one.entry().to_owned());
        let origins = vec![one.origin().display().to_string()];
        let built = Self::of(&one.artifact, &one.scan, &signature, place, yard)?;
        Ok(Self { origins, sources: one.artifact.sources, ..built })
    }

    /// It lies in a folder, and begins with a file in it.
    fn of(
        artifact: &Artifact,
        scan: &Scan,
        signature: &SignatureState,
        (folder, entry): (PathBuf, PathBuf),
        yard: &Yard,
    ) -> Result<Self, LaunchFault> {
        let name = artifact.name();
        // It stands in questions to people, in grants and in names of folders, and those of other tiers look otherwise.
        if !is_name(name) {
            let message = format!("{name:?} is no name for an extension; lower-case letters, digits, '.', '_', '-'");
            return Err(LaunchFault::Unusable { message });
        }
        let code = match (&artifact.code, artifact.module()) {
            (Code::Script { source_map, .. }, Some(module)) => {
                let bytecode = yard.stock.cache().bytecode(&module);
                let bytecode =
                    bytecode.map_err(|fault| LaunchFault::Unusable { message: told(&fault, fault.hint()) })?;
                Compiled::Script { code: js::Code::Compiled(bytecode), source_map: Arc::clone(source_map) }
            }
            (Code::Component(bytes), _) => {
                let piece = Piece { hash: *artifact.hash(), bytes, name };
                let prepared = yard.stock.machinery().prepare(piece, yard.memory, yard.stock.cache());
                let (machine, code) = prepared.map_err(|fault| unusable_component(name, &fault))?;
                Compiled::Component { code, machine }
            }
            (Code::Script { .. }, None) => {
                return Err(LaunchFault::Unusable { message: "it has no code".to_owned() });
            }
        };
        let is_noted = |verdict: Verdict| match verdict {
            Verdict::Compatible => false,
            Verdict::Warning | Verdict::Blocked => true,
        };
        let notices = scan.findings().iter().filter(|finding| is_noted(finding.verdict));
        Ok(Self {
            name: name.to_owned(),
            version: artifact.descriptor.version.clone(),
            hash: format!("sha256:{}", artifact.hash()),
            origins: Vec::new(),
            declared: artifact.manifest.declared(),
            evidence: evidence(artifact.evidence(scan), signature),
            folder,
            entry,
            code,
            notices: notices.map(|finding| finding.message.clone()).collect(),
            sources: Vec::new(),
            missing: artifact.missing.clone(),
        })
    }
}

fn told(fault: &impl std::fmt::Display, hint: &str) -> String {
    format!("{fault}; {hint}")
}

fn unusable_component(name: &str, fault: &PieceFault) -> LaunchFault {
    let message = match fault {
        PieceFault::Machine(fault) => fault.to_string(),
        PieceFault::Code(fault) => format!("{name}: {}", told(fault, fault.hint())),
    };
    LaunchFault::Unusable { message }
}

/// How little is known of who vouches for it.
fn unsigned(signature: &SignatureState) -> f64 {
    match signature {
        SignatureState::Trusted { .. } => 0.0,
        SignatureState::Untrusted { .. } => BARELY_KNOWN,
        SignatureState::Unsigned | SignatureState::Broken => 1.0,
    }
}

fn evidence(found: pi_extc::Evidence, signature: &SignatureState) -> Evidence {
    let level = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    Evidence::CLEAN
        .with(Feature::Unsigned, unsigned(signature))
        .with(Feature::UsesFs, level(found.uses_files))
        .with(Feature::UsesExec, level(found.uses_processes))
        .with(Feature::UsesNetwork, level(found.uses_network))
        .with(Feature::UsesEnv, level(found.uses_environment))
        .with_count(Feature::Findings, found.forbidden, 5)
        .with_count(Feature::Obfuscated, found.obfuscated, 5)
        .with_count(Feature::SizeMb, found.bytes, LARGE)
}

fn unusable(fault: &BuildFault) -> LaunchFault {
    let message = match fault {
        BuildFault::Sources { faults } => faults.iter().map(pi_extc::frame).collect::<Vec<_>>().join("\n"),
        other => format!("{other}; {}", other.hint()),
    };
    LaunchFault::Unusable { message }
}
