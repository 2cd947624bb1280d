//! An extension that was bundled and scanned, or is a component.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pi_extproto::{
    artifact::{
        self as descriptor, ArtifactCapabilities, ArtifactSchema, Digest, Engine, Extra, Finding, Sizes, SourceFile,
        SourcePlace, Verdict, canonical,
    },
    capability::{Capability, CapabilityManifest, DeclaredBy, HOOKS},
    manifest::{ExtensionManifest, InsidePath, Tier},
};
use serde_json::{Value, json};

use crate::{
    bundler::{
        self,
        protocol::{Answer, Built, Found, Place, Purpose, Question, Request},
    },
    cache::{Bytecode, Cache, Module},
    component::{self, COMPONENT_ENGINE},
    container,
    crates::{self, Progress},
    fault::{BuildFault, CacheFault, Fault},
    file, rules,
    scan::Scan,
    scripts,
    shims::{HOST_MODULES, engine_version},
    source::{Source, is_script, sources},
    source_map::SourceMap,
};

/// Many times what the largest extension takes.
const LIMIT: Duration = Duration::from_secs(120);
/// How much the assets of an extension may hold: they are copied into the artifact.
const MOST_FILES: u64 = 2000;
const MOST_BYTES: u64 = 64 << 20;
/// The member of a description that has the digests of sources that lie outside the folder of the extension.
const OUTSIDE: &str = "outside";
/// Where an extension is built to, unless somebody says otherwise.
const BUILT: &str = "dist/extension.artifact";

/// Where and how extensions are built.
#[derive(Debug, Clone)]
pub struct Workshop {
    /// The folder of the cache.
    pub cache: PathBuf,
    /// How long bundling may take.
    pub limit: Duration,
    pub compilers: Compilers,
    /// Who hears what a compiler says while it works.
    pub progress: Option<Progress>,
}

/// What is done about an extension of which a program that is not ours makes a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compilers {
    /// That program runs, and with it whatever the extension wants of it: only when somebody asks for it.
    Run,
    /// The extension is taken as it was built last.
    AsBuilt,
}

/// A built extension: what it is, what was found, and everything that it needs to run elsewhere.
#[derive(Debug, Clone)]
pub struct Artifact {
    pub descriptor: descriptor::Artifact,
    pub manifest: ExtensionManifest,
    pub code: Code,
    pub assets: Vec<Asset>,
    /// Every file that was read to build it; none for one that was read from a container.
    pub sources: Vec<PathBuf>,
    /// Packages that were not found.
    pub missing: Vec<String>,
}

/// A file that an artifact was built from.
pub(crate) struct Original {
    pub(crate) path: PathBuf,
    digest: Digest,
    /// Whether it lies with the extension.
    is_inside: bool,
}

/// What of an artifact runs.
#[derive(Debug, Clone)]
pub enum Code {
    Script {
        /// One ES module whose only import is `pi:shims`.
        bundle: Arc<str>,
        source_map: Arc<str>,
    },
    /// A WebAssembly component.
    Component(Arc<[u8]>),
}

/// A file that belongs to an extension besides its code.
#[derive(Debug, Clone, PartialEq)]
pub struct Asset {
    pub path: InsidePath,
    pub bytes: Arc<[u8]>,
}

/// What speaks for and against an extension, in numbers, for policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Forbidden interfaces.
    pub forbidden: u64,
    /// Code from text, names known only at run time, encoded text.
    pub obfuscated: u64,
    /// Of the container's parts.
    pub bytes: u64,
    pub uses_files: bool,
    pub uses_processes: bool,
    pub uses_network: bool,
    pub uses_environment: bool,
}

impl Workshop {
    pub fn new(cache: PathBuf) -> Self {
        Self { cache, limit: LIMIT, compilers: Compilers::AsBuilt, progress: None }
    }
}

/// Builds the one extension at `source`: a file, or a folder with one entry. Dropping the future ends the bundler.
pub async fn build(source: &Path, workshop: &Workshop) -> Result<Artifact, BuildFault> {
    let found = sources(source)?;
    match found.as_slice() {
        [one] => build_source(one, workshop).await,
        several => {
            let entries = several.iter().map(|it| it.entry.display().to_string()).collect();
            Err(BuildFault::SeveralEntries { path: source.to_path_buf(), entries })
        }
    }
}

/// Builds every extension at `source`, one after the other.
pub async fn build_all(source: &Path, workshop: &Workshop) -> Result<Vec<Artifact>, BuildFault> {
    let mut built = Vec::new();
    for source in sources(source)? {
        built.push(build_source(&source, workshop).await?);
    }
    Ok(built)
}

/// Builds one extension.
pub(crate) async fn build_source(source: &Source, workshop: &Workshop) -> Result<Artifact, BuildFault> {
    match source.manifest.tier() {
        Ok(Tier::Js) => bundle(source, workshop).await,
        Ok(Tier::Wasm) if crates::is_crate(&source.entry) => match workshop.compilers {
            Compilers::Run => {
                let component = crates::compile(&source.entry, workshop.progress.as_ref()).await?;
                as_component(source, Compiled::of(&component, crates::sources(&source.entry, &component))?)
            }
            Compilers::AsBuilt => as_built(source),
        },
        Ok(Tier::Wasm) if is_script(&source.entry) => match workshop.compilers {
            Compilers::Run => componentize(source, workshop).await,
            Compilers::AsBuilt => as_built(source),
        },
        Ok(Tier::Wasm) => as_component(source, Compiled::of(&source.entry, vec![source.entry.clone()])?),
        Ok(Tier::Mcp) | Err(_) => Err(BuildFault::OtherTier { path: source.entry.clone() }),
    }
}

/// A component, and what was found on the way to it.
struct Compiled {
    /// For whoever is told that it is none.
    path: PathBuf,
    bytes: Vec<u8>,
    /// What it was made from, as far as it lies with the extension.
    sources: Vec<PathBuf>,
    findings: Vec<Finding>,
    /// Files that the sources name.
    named: Vec<PathBuf>,
    /// The script in it, if it is an engine with one.
    script: Option<String>,
}

impl Compiled {
    fn of(path: &Path, sources: Vec<PathBuf>) -> Result<Self, BuildFault> {
        let bytes = file::read_source(path)?;
        Ok(Self { path: path.to_path_buf(), bytes, sources, findings: Vec::new(), named: Vec::new(), script: None })
    }
}

fn as_component(source: &Source, compiled: Compiled) -> Result<Artifact, BuildFault> {
    let Compiled { path, bytes, sources, mut findings, named, script } = compiled;
    let imports = component::imports(&bytes).map_err(|fault| BuildFault::BadComponent { path, fault })?;
    findings.extend(imports.findings());
    let made = Made {
        code: Code::Component(bytes.into()),
        assets: assets(source, &named)?,
        sources,
        findings,
        inferred: match &script {
            Some(script) => imports.capabilities_of_script(script),
            None => imports.capabilities(),
        },
        missing: Vec::new(),
    };
    assembled(source, made)
}

/// JavaScript that asks to run as a component.
async fn componentize(source: &Source, workshop: &Workshop) -> Result<Artifact, BuildFault> {
    let built = bundled(source, workshop, Purpose::Component).await?;
    let bytes = scripts::componentize(&source.root, &workshop.cache, &built).await?;
    let findings = built.findings.iter().map(|it| finding(it, &source.root)).collect();
    let path = source.entry.clone();
    let script = Some(built.bundle);
    as_component(source, Compiled { path, bytes, sources: built.sources, findings, named: built.assets, script })
}

/// What was built of it before.
fn as_built(source: &Source) -> Result<Artifact, BuildFault> {
    let path = source.root.join(BUILT);
    if !path.is_file() {
        return Err(BuildFault::NotBuilt { path: source.root.clone() });
    }
    let read = container::read(&file::read_source(&path)?);
    let mut artifact = read.map_err(|fault| BuildFault::BadArtifact { path: path.clone(), fault })?;
    artifact.sources = vec![path];
    artifact.sources.extend(source.described_by.iter().cloned());
    Ok(artifact)
}

async fn bundle(source: &Source, workshop: &Workshop) -> Result<Artifact, BuildFault> {
    let built = bundled(source, workshop, Purpose::Script).await?;
    let Built { bundle, source_map, findings, missing, sources, capabilities, assets: named, .. } = built;
    let mut findings: Vec<Finding> = findings.iter().map(|it| finding(it, &source.root)).collect();
    findings.sort_by_key(|it| std::cmp::Reverse(it.verdict));
    let made = Made {
        code: Code::Script { bundle: bundle.into(), source_map: source_map.into() },
        assets: assets(source, &named)?,
        sources,
        findings,
        inferred: capabilities.iter().map(|it| Capability::from(it.as_str())).collect(),
        missing,
    };
    assembled(source, made)
}

async fn bundled(source: &Source, workshop: &Workshop, purpose: Purpose) -> Result<Built, BuildFault> {
    let hosts = match purpose {
        Purpose::Script => HOST_MODULES.clone(),
        Purpose::Component => BTreeMap::new(),
    };
    let hooks = HOOKS.map(str::to_owned).to_vec();
    // It may not have been made yet; what is there already tells what lies around it.
    let cache = workshop.cache.ancestors().find_map(|folder| folder.canonicalize().ok()).unwrap_or_default();
    let (root, entry) = (source.root.clone(), source.entry.clone());
    let request = Request { root, entry, cache, hosts, hooks, purpose };
    match bundler::ask(&Question::Bundle(request), &workshop.cache, workshop.limit).await? {
        Answer::Scanned(_) => Err(BuildFault::off_topic()),
        Answer::Built(built) => Ok(*built),
        Answer::Refused(faults) => {
            let faults = faults.into_iter().map(|it| fault(it, &source.root)).collect();
            Err(BuildFault::Sources { faults })
        }
    }
}

fn fault(fault: bundler::protocol::Fault, root: &Path) -> Fault {
    let (place, line, length) = match fault.place {
        Some(place) => (Some(shown_place(&place, root)), place.text, place.length),
        None => (None, String::new(), 1),
    };
    Fault { message: fault.message, hint: fault.hint, place, line, length }
}

/// What the engine says of a place in a bundle.
fn unreadable(message: &str, map: &SourceMap, (line, column): (u32, u32)) -> Fault {
    let found = map.find(line, column);
    Fault {
        message: format!("the engine cannot read this: {message}"),
        hint: Some("write it in other words; the engine is QuickJS, and knows the language up to ES2023".to_owned()),
        line: found.as_ref().and_then(|it| map.line(it)).unwrap_or_default(),
        place: found.map(|it| {
            let file = it.source.trim_start_matches("../").to_owned();
            SourcePlace { file, line: it.line, column: it.column }
        }),
        length: 1,
    }
}

fn shown_place(place: &Place, root: &Path) -> SourcePlace {
    SourcePlace { file: name_of(&place.file, root), line: place.line, column: place.column }
}

/// A file by its path inside the extension, or inside the folder of packages that it comes from.
fn name_of(file: &Path, root: &Path) -> String {
    let path = file.strip_prefix(root).unwrap_or(file);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let packages = parts.iter().position(|part| part == "node_modules").filter(|_| path.is_absolute());
    let parts = &parts[packages.unwrap_or(0)..];
    parts.join("/").trim_start_matches('/').replace([':', '\\'], "_")
}

/// How a file outside the extension is found from its folder; nothing for one that lies in it, and for one of a package, which
/// is known by the name of the package.
fn outside_name(file: &Path, root: &Path) -> Option<String> {
    if file.starts_with(root) || file.components().any(|part| part.as_os_str() == "node_modules") {
        return None;
    }
    let (steps, shared) = root.ancestors().enumerate().find(|(_, above)| file.starts_with(above))?;
    let rest = file.strip_prefix(shared).ok()?;
    Some(format!("{}{}", "../".repeat(steps), rest.to_string_lossy().replace('\\', "/")))
}

/// What the parts of an artifact were made to.
struct Made {
    code: Code,
    assets: Vec<Asset>,
    sources: Vec<PathBuf>,
    findings: Vec<Finding>,
    inferred: BTreeSet<Capability>,
    missing: Vec<String>,
}

fn assembled(source: &Source, made: Made) -> Result<Artifact, BuildFault> {
    let Made { code, assets, sources, findings, inferred, missing } = made;
    let mut manifest = source.manifest.clone();
    if manifest.assets.is_none() && !assets.is_empty() {
        manifest.assets = Some(assets.iter().map(|it| it.path.clone()).collect());
    }
    let (mut files, mut outside) = (Vec::new(), BTreeMap::new());
    for path in &sources {
        let bytes = file::read_source(path)?;
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        match outside_name(path, &source.root) {
            Some(name) => drop(outside.insert(name, digest)),
            None => {
                // Every name that `name_of` makes is inside; a stranger one is a fault in it, and is shown as such.
                let path = InsidePath::try_from(name_of(path, &source.root))
                    .map_err(|_| BuildFault::NoEntry { path: path.clone() })?;
                files.push(SourceFile { path, digest, size });
            }
        }
    }
    let sizes = Sizes {
        sources: files.iter().map(|it| it.size).sum(),
        bundle: code.as_bytes().len() as u64,
        assets: assets.iter().map(|it| it.bytes.len() as u64).sum(),
    };
    let mut extra = Extra::new();
    if !missing.is_empty() {
        extra.insert("missing".to_owned(), json!(missing));
    }
    if !outside.is_empty() {
        extra.insert(OUTSIDE.to_owned(), json!(outside));
    }
    let descriptor = descriptor::Artifact {
        schema: ArtifactSchema::V1,
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        engine: Engine { tier: code.tier(), version: code.engine().to_owned() },
        hash: hash(&manifest, &code),
        capabilities: ArtifactCapabilities { declared: declared(&manifest), inferred },
        findings,
        sources: files,
        sizes,
        extra,
    };
    let sources = sources.into_iter().chain(source.described_by.iter().cloned()).collect();
    Ok(Artifact { descriptor, manifest, code, assets, sources, missing })
}

pub(crate) fn declared(manifest: &ExtensionManifest) -> Option<CapabilityManifest> {
    let declared = manifest.declared();
    match declared.by() {
        DeclaredBy::Nothing => None,
        DeclaredBy::FlatList | DeclaredBy::Manifest => Some(CapabilityManifest::new(declared.requirements().to_vec())),
    }
}

pub(crate) fn finding(found: &Found, root: &Path) -> Finding {
    let meaning = rules::meaning(found.rule);
    Finding {
        verdict: meaning.verdict,
        rule: rules::name(found.rule),
        message: meaning.message.replace("{}", &found.subject),
        place: Some(shown_place(&found.place, root)),
        excerpt: Some(found.place.text.trim_end().to_owned()).filter(|text| !text.is_empty()),
        remedy: Some(rules::remedy(found.rule, &found.subject).to_owned()),
    }
}

/// The key of the cache: `sha256(manifest + bundle + engine_version)`, the manifest as canonical JSON.
pub(crate) fn hash(manifest: &ExtensionManifest, code: &Code) -> Digest {
    let manifest = serde_json::to_value(manifest).expect("a manifest is plain JSON");
    let mut bytes = canonical::to_vec(&manifest);
    bytes.extend(code.as_bytes());
    bytes.extend(code.engine().as_bytes());
    Digest::of(&bytes)
}

/// What the manifest lists and what the sources name.
fn assets(source: &Source, named: &[PathBuf]) -> Result<Vec<Asset>, BuildFault> {
    let listed = source.manifest.assets.iter().flatten().map(|it| source.root.join(it.as_str()));
    // Of a single file what is hidden beside it is not its own, whatever it names.
    let is_single = source.origin() == source.entry;
    let is_hidden = |path: &Path| {
        let beside = path.strip_prefix(&source.root).unwrap_or(path);
        beside.components().any(|name| name.as_os_str().to_string_lossy().starts_with('.'))
    };
    let named = named.iter().filter(|path| !is_single || !is_hidden(path)).cloned();
    let mut waiting: Vec<PathBuf> = listed.chain(named).collect();
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        let real = path.canonicalize().map_err(|source| BuildFault::Unreadable { path: path.clone(), source })?;
        // A link out of the folder is no asset.
        if !real.starts_with(&source.root) || is_private(&path) {
            continue;
        }
        if path.is_dir() {
            let unreadable = |error| BuildFault::Unreadable { path: path.clone(), source: error };
            waiting.extend(file::list(&path).map_err(unreadable)?);
        } else if path != source.entry {
            files.insert(path);
        }
        if files.len() as u64 > MOST_FILES {
            return Err(BuildFault::TooMuch { limit: MOST_FILES, unit: "files" });
        }
    }
    let (mut assets, mut size) = (Vec::new(), 0);
    for path in files {
        let bytes = file::read_source(&path)?;
        size += bytes.len() as u64;
        if size > MOST_BYTES {
            return Err(BuildFault::TooMuch { limit: MOST_BYTES, unit: "bytes" });
        }
        // A name that cannot travel is left where it is.
        if let Ok(path) = InsidePath::try_from(name_of(&path, &source.root)) {
            assets.push(Asset { path, bytes: bytes.into() });
        }
    }
    Ok(assets)
}

fn is_private(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "node_modules" || name == ".git")
}

impl Code {
    /// Bundle or component.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Script { bundle, .. } => bundle.as_bytes(),
            Self::Component(bytes) => bytes,
        }
    }

    pub fn tier(&self) -> Tier {
        match self {
            Self::Script { .. } => Tier::Js,
            Self::Component(_) => Tier::Wasm,
        }
    }

    pub(crate) fn engine(&self) -> &'static str {
        match self {
            Self::Script { .. } => engine_version(),
            Self::Component(_) => COMPONENT_ENGINE,
        }
    }
}

impl Artifact {
    pub fn name(&self) -> &str {
        &self.descriptor.name
    }

    pub fn hash(&self) -> &Digest {
        &self.descriptor.hash
    }

    pub fn findings(&self) -> &[Finding] {
        &self.descriptor.findings
    }

    /// Whether a file that it was built from, in `root` or near it, is another one now. What lies outside `root` may be missing:
    /// it did not come along.
    pub(crate) fn is_outdated(&self, root: &Path) -> bool {
        self.originals(root).into_iter().any(|Original { path, digest, is_inside }| match file::read(&path) {
            Ok(bytes) => Digest::of(&bytes) != digest,
            Err(_) => is_inside && !path.is_file(),
        })
    }

    /// What it was built from, where that lies in `root` or near it, or would lie.
    pub(crate) fn originals(&self, root: &Path) -> Vec<Original> {
        let inside = self.descriptor.sources.iter().map(|it| {
            // A package may lie further up.
            let mut places = root.ancestors().map(|folder| folder.join(it.path.as_str()));
            let path = places.find(|path| path.is_file()).unwrap_or_else(|| root.join(it.path.as_str()));
            Original { path, digest: it.digest, is_inside: true }
        });
        let outside = |(name, digest): (&String, &Value)| {
            let digest = digest.as_str()?.parse().ok()?;
            Some(Original { path: root.join(name), digest, is_inside: false })
        };
        let named = self.descriptor.extra.get(OUTSIDE).and_then(Value::as_object);
        inside.chain(named.into_iter().flatten().filter_map(outside)).collect()
    }

    /// The worst of the findings.
    pub fn verdict(&self) -> Verdict {
        self.descriptor.verdict()
    }

    /// The script that runs; a component has none.
    pub fn bundle(&self) -> &str {
        match &self.code {
            Code::Script { bundle, .. } => bundle,
            Code::Component(_) => "",
        }
    }

    /// Where the script comes from; a component has none.
    pub fn source_map(&self) -> &str {
        match &self.code {
            Code::Script { source_map, .. } => source_map,
            Code::Component(_) => "",
        }
    }

    /// The bytecode of the script, compiled at first use; a component has none. What the engine cannot read is shown as it
    /// stands in the sources.
    pub fn bytecode(&self, cache: &Cache) -> Result<Option<Bytecode>, BuildFault> {
        let Some(module) = self.module() else { return Ok(None) };
        let compiled = cache.bytecode(&module).map_err(|fault| match fault {
            CacheFault::Syntax { message, at: Some(at), .. } => {
                let map = SourceMap::new(self.source_map().into());
                BuildFault::Sources { faults: vec![unreadable(&message, &map, at)] }
            }
            other => BuildFault::Cache(other),
        });
        compiled.map(Some)
    }

    /// The bundle, for the cache to compile; a component has none.
    fn module(&self) -> Option<Module> {
        match &self.code {
            Code::Script { bundle, .. } => {
                let name = format!("pi:bundle/{}", self.descriptor.name);
                Some(Module { name, source: Arc::clone(bundle) })
            }
            Code::Component(_) => None,
        }
    }

    /// What policy weighs: what the scanner here found, and whatever the description says against it. What a description
    /// leaves out says nothing.
    pub fn evidence(&self, scan: &Scan) -> Evidence {
        let count = |test: fn(&Finding) -> bool| {
            let most = [self.findings(), scan.findings()].map(|findings| findings.iter().filter(|it| test(it)).count());
            most.into_iter().max().unwrap_or_default() as u64
        };
        let inferred = [&self.descriptor.capabilities.inferred, scan.inferred()];
        let uses = |capabilities: &[Capability]| {
            capabilities.iter().any(|it| inferred.iter().any(|inferred| inferred.contains(it)))
        };
        Evidence {
            forbidden: count(|it| it.verdict == Verdict::Blocked),
            obfuscated: count(|it| it.rule.starts_with("code.")),
            bytes: self.descriptor.sizes.bundle + self.descriptor.sizes.assets,
            uses_files: uses(&[Capability::Read, Capability::Write]),
            uses_processes: uses(&[Capability::Exec]),
            uses_network: uses(&[Capability::Http]),
            uses_environment: uses(&[Capability::Env]),
        }
    }
}
