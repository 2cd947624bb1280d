//! Builds what changed, and only that.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use pi_extproto::{artifact::Digest, manifest::Tier};
use serde::{Deserialize, Serialize};

use crate::{
    artifact::{Artifact, Compilers, Workshop, build_source},
    cache::{Cache, Kind, key},
    component, container, crates,
    fault::BuildFault,
    file,
    scan::{Scan, scan},
    source::{Source, is_script, sources},
};

/// What the bundler and the names of the host were when something was built.
pub(crate) const RECIPE: &str = env!("PI_EXTC_RECIPE");

/// The ending of artifacts.
const ARTIFACT: &str = "artifact";

/// An artifact and what its sources looked like.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub artifact: Artifact,
    pub origin: Origin,
    /// What the scanner of this program found in it.
    pub scan: Scan,
    source: Source,
    state: State,
}

/// Whether it was built just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Built,
    Cached,
}

/// The files that an artifact was built from, as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    files: Vec<FileState>,
    missing: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FileState {
    path: PathBuf,
    size: u64,
    /// Nanoseconds since 1970, as text: they are too large for some readers of JSON.
    modified: String,
    digest: Digest,
}

/// Every extension at `path`, built at first or when its sources changed, else as it was built before.
pub async fn load(path: &Path, workshop: &Workshop, cache: &Cache) -> Result<Vec<Loaded>, BuildFault> {
    if path.extension().is_some_and(|end| end == ARTIFACT) && path.is_file() {
        return Ok(vec![load_artifact(path, workshop, cache).await?]);
    }
    let mut loaded = Vec::new();
    for source in sources(path)? {
        loaded.push(load_source(source, workshop, cache).await?);
    }
    Ok(loaded)
}

/// An artifact as somebody built it.
async fn load_artifact(path: &Path, workshop: &Workshop, cache: &Cache) -> Result<Loaded, BuildFault> {
    let unreadable = |source| BuildFault::Unreadable { path: path.to_path_buf(), source };
    let path = path.canonicalize().map_err(unreadable)?;
    let read = container::read(&file::read_source(&path)?);
    let mut artifact = read.map_err(|fault| BuildFault::BadArtifact { path: path.clone(), fault })?;
    artifact.sources = vec![path.clone()];
    let source = Source {
        root: path.parent().unwrap_or(Path::new("/")).to_path_buf(),
        entry: path,
        manifest: artifact.manifest.clone(),
        described_by: Vec::new(),
    };
    let state = State::of(&artifact)?;
    let scan = scan(&artifact, workshop, cache).await?;
    Ok(Loaded { artifact, origin: Origin::Cached, scan, source, state })
}

async fn load_source(source: Source, workshop: &Workshop, cache: &Cache) -> Result<Loaded, BuildFault> {
    if is_compiled(&source) {
        return load_compiled(source, workshop, cache).await;
    }
    let entry = source.entry.to_string_lossy();
    // By its name as well: what was built under another one says who it was then.
    let key =
        key(Kind::Built, &[RECIPE, component::RULES, &entry, &source.root.to_string_lossy(), &source.manifest.name]);
    if let Some((state, artifact)) = cache.get(Kind::Built, &key).and_then(|bytes| parsed(bytes.as_bytes()))
        && !state.is_changed(&source)
    {
        let scan = Scan::of_built(&artifact);
        return Ok(Loaded { artifact, origin: Origin::Cached, scan, source, state });
    }
    let artifact = build_source(&source, workshop).await?;
    let scan = Scan::of_built(&artifact);
    let state = State::of(&artifact)?;
    let mut bytes = serde_json::to_vec(&state).expect("paths and digests are plain JSON");
    bytes.push(b'\n');
    bytes.extend(container::write(&artifact));
    // What cannot be kept is built again next time.
    if let Err(error) = cache.put(Kind::Built, &key, &entry, &bytes) {
        tracing::warn!(source = %entry, %error, "a built extension is not kept");
    }
    Ok(Loaded { artifact, origin: Origin::Built, scan, source, state })
}

/// What a compiler makes is not kept here: it lies where `pi ext build` wrote it, and whoever asks for a compiler is to have
/// what it says now. It knows best whether it has anything to do.
async fn load_compiled(source: Source, workshop: &Workshop, cache: &Cache) -> Result<Loaded, BuildFault> {
    let artifact = build_source(&source, workshop).await?;
    let scan = scan(&artifact, workshop, cache).await?;
    let state = State::of(&artifact)?;
    let origin = match workshop.compilers {
        Compilers::Run => Origin::Built,
        Compilers::AsBuilt => Origin::Cached,
    };
    Ok(Loaded { artifact, origin, scan, source, state })
}

/// Whether a compiler makes it that runs only when somebody asks for it.
fn is_compiled(source: &Source) -> bool {
    source.manifest.tier() == Ok(Tier::Wasm) && (crates::is_crate(&source.entry) || is_script(&source.entry))
}

fn parsed(bytes: &[u8]) -> Option<(State, Artifact)> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let state: State = serde_json::from_slice(&bytes[..end]).ok()?;
    let mut artifact = container::read_kept(&bytes[end + 1..]).ok()?;
    artifact.sources = state.files.iter().map(|it| it.path.clone()).collect();
    artifact.missing.clone_from(&state.missing);
    Some((state, artifact))
}

impl Loaded {
    /// Whether a source changed since: cheap enough to ask before every use. A file that was only touched did not change.
    pub fn is_stale(&self) -> bool {
        self.state.is_changed(&self.source)
    }

    /// Whether what was built of it, by a compiler that runs only when somebody asks for it, was built from other sources than
    /// those that lie here now.
    pub fn is_outdated(&self) -> bool {
        is_compiled(&self.source) && self.artifact.is_outdated(&self.source.root)
    }

    /// The files of which [`Loaded::is_outdated`] says whether they are others now; none of what is built when it is loaded.
    pub fn originals(&self) -> Vec<PathBuf> {
        match is_compiled(&self.source) {
            true => self.artifact.originals(&self.source.root).into_iter().map(|original| original.path).collect(),
            false => Vec::new(),
        }
    }

    /// The folder that is the extension.
    pub fn root(&self) -> &Path {
        &self.source.root
    }

    /// The file or the folder that is the extension, whichever of its files is the first.
    pub fn origin(&self) -> &Path {
        self.source.origin()
    }

    /// The file where it begins.
    pub fn entry(&self) -> &Path {
        &self.source.entry
    }
}

impl State {
    fn of(artifact: &Artifact) -> Result<Self, BuildFault> {
        let files = artifact.sources.iter().map(|path| FileState::of(path)).collect::<Result<_, _>>()?;
        Ok(Self { files, missing: artifact.missing.clone() })
    }

    fn is_changed(&self, source: &Source) -> bool {
        self.files.iter().any(FileState::is_changed)
            || source.described_by.iter().any(|path| !self.files.iter().any(|it| it.path == *path))
            || self.missing.iter().any(|package| is_installed(package, &source.root))
    }
}

impl FileState {
    fn of(path: &Path) -> Result<Self, BuildFault> {
        let bytes = file::read_source(path)?;
        let unreadable = |source| BuildFault::Unreadable { path: path.to_path_buf(), source };
        let modified = file::metadata(path).and_then(|it| it.modified()).map_err(unreadable)?;
        let (size, digest) = (bytes.len() as u64, Digest::of(&bytes));
        Ok(Self { path: path.to_path_buf(), size, modified: nanoseconds(modified), digest })
    }

    fn is_changed(&self) -> bool {
        let Ok(metadata) = file::metadata(&self.path) else { return true };
        if metadata.len() != self.size {
            return true;
        }
        let is_touched = metadata.modified().map(nanoseconds).ok().as_ref() != Some(&self.modified);
        is_touched && file::read(&self.path).map(|bytes| Digest::of(&bytes)).ok() != Some(self.digest)
    }
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// Whether a package that was missing lies there now.
fn is_installed(specifier: &str, root: &Path) -> bool {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let package: PathBuf = specifier.split('/').take(parts).collect();
    root.ancestors().any(|folder| folder.join("node_modules").join(&package).exists())
}
