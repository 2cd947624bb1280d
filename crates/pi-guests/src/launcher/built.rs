//! From a source to the code that an engine runs.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use pi_extc::{Artifact, BuildFault, Code, Loaded, Scan, SignatureState, Workshop};
use pi_exthost::{
    GuestId,
    launcher::{Evidence, Feature, LaunchFault, Own, Source},
};
use pi_extproto::{
    artifact::{Finding, Verdict},
    capability::Declared,
    manifest::is_name,
};

use super::{
    Screening,
    machinery::PieceFault,
    packed::{self, Packed, signature_of_build},
    stock::Stock,
};
use crate::{js, wasm};

/// The size at which an extension is as large as it gets, for whoever weighs it.
const LARGE: u64 = 10 << 20;

/// Findings that are told with a refusal.
const MOST_FINDINGS: usize = 8;

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
    pub(super) own: Own,
    pub(super) entry: PathBuf,
    pub(super) code: Compiled,
    /// What its author should know.
    pub(super) notices: Vec<String>,
    /// That its sources changed since a compiler made it of them, and what to do about it.
    pub(super) outdated: Option<String>,
    /// The files that it is, and those that it was built from.
    pub(super) sources: Vec<PathBuf>,
    /// Packages that it imports and that are not installed.
    pub(super) missing: Vec<String>,
    /// What the scanner would have it blocked for.
    pub(super) forbidden: Vec<String>,
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
    /// Of the person.
    pub(super) home: PathBuf,
    pub(super) screening: Screening,
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
            let built = Self::of(&artifact, &scan, &signature, (folder, entry), source, yard)?;
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
        let own = own(&one, &yard.home);
        let outdated = one.is_outdated().then(|| {
            let again = one.root().display();
            format!("it was built from older sources; `pi ext build {again}` builds it from those that are there")
        });
        let built = Self::of(&one.artifact, &one.scan, &signature, place, source, yard)?;
        // Whoever watches them learns that it is outdated when they are saved.
        let sources = one.artifact.sources.iter().cloned().chain(one.originals()).collect();
        Ok(Self { origins, own, outdated, sources, ..built })
    }

    /// It lies in a folder, and begins with a file in it.
    fn of(
        artifact: &Artifact,
        scan: &Scan,
        signature: &SignatureState,
        (folder, entry): (PathBuf, PathBuf),
        source: &Source,
        yard: &Yard,
    ) -> Result<Self, LaunchFault> {
        let name = artifact.name();
        // It stands in questions to people, in grants and in names of folders, and those of other tiers look otherwise.
        if !is_name(name) {
            let message = format!("{name:?} is no name for an extension; lower-case letters, digits, '.', '_', '-'");
            return Err(LaunchFault::Unusable { message });
        }
        if name == GuestId::HOST {
            let message = format!(
                "{name:?} is the name under which the program itself stands in the ledger; give the extension another: rename \
                 its file or folder, or change the name in its extension.json or package.json"
            );
            return Err(LaunchFault::Unusable { message });
        }
        let blocked: Vec<&Finding> =
            scan.findings().iter().filter(|finding| finding.verdict == Verdict::Blocked).collect();
        if yard.screening == Screening::Refuse && !blocked.is_empty() {
            let message = format!("the mode is strict, and it uses what extensions may not: {}", in_words(&blocked));
            return Err(LaunchFault::Unusable { message });
        }
        let code = compile(artifact, &source.path, yard)?;
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
            evidence: evidence(artifact.evidence(scan), scan, signature),
            own: Own::folder(folder.clone()),
            folder,
            entry,
            code,
            notices: notices.map(|finding| finding.message.clone()).collect(),
            outdated: None,
            sources: Vec::new(),
            missing: unguarded(artifact, scan),
            forbidden: blocked.iter().map(|finding| finding.message.clone()).collect(),
        })
    }
}

/// The code of an artifact as its tier runs it, from the cache where it was compiled before.
fn compile(artifact: &Artifact, path: &Path, yard: &Yard) -> Result<Compiled, LaunchFault> {
    let cache = yard.stock.cache();
    if let Some(piece) = wasm::Piece::of_artifact(artifact) {
        let prepared = yard.stock.machinery().prepare(piece, path, yard.memory, cache);
        let (machine, code) = prepared.map_err(|fault| unusable_component(artifact.name(), &fault))?;
        return Ok(Compiled::Component { code, machine });
    }
    match (&artifact.code, artifact.bytecode(cache).map_err(|fault| unusable(&fault))?) {
        (Code::Script { source_map, .. }, Some(bytecode)) => {
            Ok(Compiled::Script { code: js::Code::Compiled(bytecode), source_map: Arc::clone(source_map) })
        }
        (Code::Script { .. } | Code::Component(_), _) => {
            Err(LaunchFault::Unusable { message: "it has no code".to_owned() })
        }
    }
}

/// The first of what the scanner found, each with its place.
fn in_words(findings: &[&Finding]) -> String {
    let told = |finding: &&Finding| match &finding.place {
        Some(place) => format!("{} ({}:{})", finding.message, place.file, place.line),
        None => finding.message.clone(),
    };
    let others = findings.len().saturating_sub(MOST_FINDINGS);
    let more = (others > 0).then(|| format!("{others} more, which `pi ext scan` shows"));
    findings.iter().take(MOST_FINDINGS).map(told).chain(more).collect::<Vec<_>>().join("; ")
}

/// What an extension may read because it was loaded from it: its folder. Around a single file, or in the home folder, lies what
/// is not its own; so there it is the file, what was built into it, and what it names beside itself.
fn own(loaded: &Loaded, home: &Path) -> Own {
    let (root, entry) = (loaded.root(), loaded.entry());
    let is_around_home = home.canonicalize().unwrap_or_else(|_| home.to_owned()).starts_with(root);
    if loaded.origin() != entry && !is_around_home {
        return Own::folder(root.to_owned());
    }
    let is_hidden = |path: &Path| path.components().any(|name| name.as_os_str().to_string_lossy().starts_with('.'));
    let assets = loaded.artifact.assets.iter().map(|asset| Path::new(asset.path.as_str()));
    // Whoever names files of the home folder means somebody else's.
    let assets = assets.filter(|asset| !is_around_home && !is_hidden(asset)).map(|asset| root.join(asset));
    let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::from([entry.to_owned()]));
    files.extend(assets);
    for source in &loaded.artifact.sources {
        match package_of(source) {
            Some(folder) => folders.insert(folder),
            None => files.insert(source.clone()),
        };
    }
    Own { folders: folders.into_iter().collect(), files: files.into_iter().collect() }
}

/// The folder of the package that a file belongs to, if it belongs to one.
fn package_of(file: &Path) -> Option<PathBuf> {
    let names: Vec<_> = file.components().collect();
    let start = names.iter().rposition(|name| name.as_os_str() == "node_modules")? + 1;
    let is_scoped = names.get(start).is_some_and(|name| name.as_os_str().to_string_lossy().starts_with('@'));
    let end = start + if is_scoped { 2 } else { 1 };
    (end < names.len()).then(|| names[..end].iter().collect())
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

/// Packages that are not there and that something in the extension needs. Nothing was found where it stands by for the error.
fn unguarded(artifact: &Artifact, scan: &Scan) -> Vec<String> {
    let is_needed = |package: &&String| {
        let mut findings = scan.findings().iter();
        findings.any(|finding| finding.rule == "package.missing" && finding.message.contains(package.as_str()))
    };
    artifact.missing.iter().filter(is_needed).cloned().collect()
}

/// How little is known of who vouches for it.
fn unsigned(signature: &SignatureState) -> f64 {
    match signature {
        SignatureState::Trusted { .. } => 0.0,
        SignatureState::Untrusted { .. } => BARELY_KNOWN,
        SignatureState::Unsigned | SignatureState::Broken => 1.0,
    }
}

/// What is known of an extension before it runs. The imports of a component are all that it can do, so it is read as a whole.
fn evidence(found: pi_extc::Evidence, scan: &Scan, signature: &SignatureState) -> Evidence {
    let level = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    Evidence::CLEAN
        .with(Feature::Unsigned, unsigned(signature))
        .with(Feature::UsesFs, level(found.uses_files))
        .with(Feature::UsesExec, level(found.uses_processes))
        .with(Feature::UsesNetwork, level(found.uses_network))
        .with(Feature::UsesEnv, level(found.uses_environment))
        .with(Feature::Unscanned, level(scan.is_unseen()))
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
