//! What is made once and used often: bytecode, machine code, and artifacts built from sources. Every entry is named by what it was made
//! from and sealed with the key of this machine; one that is not as it was written is removed and made anew.

mod compile;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use pi_extproto::artifact::Digest;

use crate::{
    component::COMPONENT_ENGINE,
    fault::CacheFault,
    file,
    seal::{Sealer, TAG_SIZE},
    shims::engine_version,
    unpacked,
};

const MAGIC: &[u8] = b"pi.ext.cache.v3\n";
const ENTRIES: &str = "entries";
const END: &str = "sealed";
/// Stands where the name of a module would, for entries that hold several.
const SEVERAL: &str = "several";

/// JavaScript that is to be compiled.
#[derive(Debug, Clone)]
pub struct Module {
    /// Under which other modules import it, and stack traces show it.
    pub name: String,
    pub source: Arc<str>,
}

/// Bytecode for the engine in this binary, made by this machine. Nothing but [`Cache`] makes one, so that nothing else is
/// ever loaded as code.
#[derive(Debug, Clone)]
pub struct Bytecode(Arc<[u8]>);

/// Machine code of a component, made by this machine. Nothing but [`Cache`] makes one, from an entry that it sealed.
#[derive(Debug)]
pub struct MachineCode(Content);

/// The cache of one machine. Several processes may use it at once.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    sealer: Sealer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bytecode,
    /// Of a component.
    MachineCode,
    /// An artifact with the state of its sources.
    Built,
    /// What the scanner found in an artifact that somebody else built.
    Scanned,
}

/// One entry, as `pi ext cache list` shows it.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: String,
    /// What it is, if that can be read.
    pub kind: Option<Kind>,
    /// Of which module or source.
    pub label: String,
    /// For which engine it was made.
    pub engine: String,
    pub size: u64,
    pub written: Option<SystemTime>,
    pub health: Health,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Sound,
    /// Made for another engine: sound, and of no use any more.
    Stale,
    /// Changed, cut or forged.
    Broken,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    pub entries: u64,
    pub bytes: u64,
}

/// What a sound entry holds, where it was read to: machine code is large and is not moved.
#[derive(Debug)]
pub(crate) struct Content {
    entry: Vec<u8>,
    start: usize,
}

/// The parts of an entry that passed.
struct Opened<'e> {
    kind: Kind,
    engine: &'e str,
    label: &'e str,
    content: &'e [u8],
}

impl Bytecode {
    /// For the engine, as long as `self` is kept.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same, for whoever keeps it as long as the engine runs.
    pub fn shared(&self) -> Arc<[u8]> {
        Arc::clone(&self.0)
    }
}

impl MachineCode {
    /// For the engine of components.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Content {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.entry[self.start..]
    }
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytecode => "bytecode",
            Self::MachineCode => "machine code",
            Self::Built => "built",
            Self::Scanned => "scanned",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Bytecode, Self::MachineCode, Self::Built, Self::Scanned].into_iter().find(|kind| kind.word() == word)
    }

    /// The engine that such entries are made for.
    fn engine(self) -> &'static str {
        match self {
            Self::Bytecode | Self::Built | Self::Scanned => engine_version(),
            Self::MachineCode => COMPONENT_ENGINE,
        }
    }
}

impl Cache {
    /// The cache in `folder`, which is made at first use.
    pub fn open(folder: &Path) -> Result<Self, CacheFault> {
        Ok(Self { folder: folder.to_path_buf(), sealer: Sealer::open(folder)? })
    }

    /// The bytecode of a module, compiled at first use.
    pub fn bytecode(&self, module: &Module) -> Result<Bytecode, CacheFault> {
        let key = key(Kind::Bytecode, &[&module.name, &module.source]);
        if let Some(kept) = self.get(Kind::Bytecode, &key) {
            return Ok(Bytecode(kept.as_bytes().into()));
        }
        let bytes = compile::compile(module)?;
        // Without a disk to keep it on it is still bytecode.
        if let Err(error) = self.put(Kind::Bytecode, &key, &module.name, &bytes) {
            tracing::warn!(module = module.name, %error, "bytecode is not kept");
        }
        Ok(Bytecode(bytes.into()))
    }

    /// The bytecode of modules that are used together, kept as one entry: one file to read, and one seal to check.
    pub fn bytecodes(&self, label: &str, modules: &[Module]) -> Result<Vec<Bytecode>, CacheFault> {
        let named = modules.iter().flat_map(|module| [module.name.as_str(), &*module.source]);
        let key = key(Kind::Bytecode, &[SEVERAL].into_iter().chain(named).collect::<Vec<_>>());
        let kept = self.get(Kind::Bytecode, &key).and_then(|kept| divided(kept.as_bytes()));
        if let Some(kept) = kept.filter(|kept| kept.len() == modules.len()) {
            return Ok(kept);
        }
        let compiled = modules.iter().map(compile::compile).collect::<Result<Vec<_>, _>>()?;
        let mut content = Vec::new();
        for bytes in &compiled {
            content.extend((bytes.len() as u64).to_le_bytes());
            content.extend(bytes);
        }
        // Without a disk to keep it on it is still bytecode.
        if let Err(error) = self.put(Kind::Bytecode, &key, label, &content) {
            tracing::warn!(modules = label, %error, "bytecode is not kept");
        }
        Ok(compiled.into_iter().map(|bytes| Bytecode(bytes.into())).collect())
    }

    /// The machine code of a component, if it was kept: for the engine whose name, version, settings and processor
    /// `engine` says.
    pub fn machine_code(&self, component: &[u8], engine: &str) -> Option<MachineCode> {
        self.get(Kind::MachineCode, &component_key(component, engine)).map(MachineCode)
    }

    /// Keeps what that engine made of a component. It is believed later: hand it nothing that the engine did not make in
    /// this process.
    pub fn keep_machine_code(
        &self,
        component: &[u8],
        engine: &str,
        label: &str,
        code: &[u8],
    ) -> Result<(), CacheFault> {
        self.put(Kind::MachineCode, &component_key(component, engine), label, code)
    }

    /// The content of a sound entry. One that is not sound is removed.
    pub(crate) fn get(&self, kind: Kind, key: &Digest) -> Option<Content> {
        let path = self.path(key);
        let entry = file::read(&path).ok()?;
        let sound = self.opened(key, &entry).filter(|it| it.kind == kind && it.engine == kind.engine());
        match sound.map(|it| entry.len() - it.content.len()) {
            Some(start) => Some(Content { entry, start }),
            None => {
                tracing::warn!(entry = %path.display(), "an entry of the cache is not as it was written and is removed");
                if let Err(error) = file::remove(&path) {
                    tracing::warn!(entry = %path.display(), %error, "it cannot be removed");
                }
                None
            }
        }
    }

    pub(crate) fn put(&self, kind: Kind, key: &Digest, label: &str, content: &[u8]) -> Result<(), CacheFault> {
        let path = self.path(key);
        let io = |source| CacheFault::Io { path: path.clone(), source };
        // Labels stand in one line.
        let label: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut sealed = format!("{}\n{}\n{label}\n", kind.word(), kind.engine()).into_bytes();
        sealed.extend(content);
        let tag = self.sealer.seal(key, &sealed);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(tag);
        bytes.extend(sealed);
        let folder = path.parent().unwrap_or(&self.folder);
        file::make_folder(folder).and_then(|()| file::replace(&path, &bytes, 0o600)).map_err(io)
    }

    /// Every entry, each checked.
    pub fn list(&self) -> Result<Vec<Entry>, CacheFault> {
        let mut entries = Vec::new();
        let io = |path: &Path| {
            let path = path.to_path_buf();
            |source| CacheFault::Io { path, source }
        };
        let folder = self.folder.join(ENTRIES);
        for shelf in file::list(&folder).map_err(io(&folder))? {
            for path in file::list(&shelf).map_err(io(&shelf))? {
                if path.extension().is_some_and(|end| end == END)
                    && let Some(entry) = self.entry(path)
                {
                    entries.push(entry);
                }
            }
        }
        Ok(entries)
    }

    /// One that another process removed meanwhile is none.
    fn entry(&self, path: PathBuf) -> Option<Entry> {
        let (bytes, metadata) = (file::read(&path).ok()?, file::metadata(&path).ok()?);
        let key = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let opened = key.parse().ok().and_then(|key| self.opened(&key, &bytes));
        let health = match &opened {
            Some(opened) if opened.engine == opened.kind.engine() => Health::Sound,
            Some(_) => Health::Stale,
            None => Health::Broken,
        };
        let (kind, label, engine) = match opened {
            Some(it) => (Some(it.kind), it.label.to_owned(), it.engine.to_owned()),
            None => (None, String::new(), String::new()),
        };
        let (size, written) = (metadata.len(), metadata.modified().ok());
        Some(Entry { key, kind, label, engine, size, written, health, path })
    }

    /// Removes what is broken or stale, and what was written longer ago than `age`, seen from `now`. Files that artifacts
    /// brought are of use as long as the artifact is, wherever it lies: they go by their age alone.
    pub fn prune(&self, age: Option<Duration>, now: SystemTime) -> Result<Pruned, CacheFault> {
        let mut pruned = Pruned::default();
        let is_old = |written: Option<SystemTime>| {
            let since = written.and_then(|written| now.duration_since(written).ok());
            age.is_some_and(|age| since.is_none_or(|since| since >= age))
        };
        let io = |path: &Path| {
            let path = path.to_path_buf();
            |source| CacheFault::Io { path, source }
        };
        for folder in unpacked::folders(&self.folder).map_err(io(&self.folder))? {
            if is_old(file::metadata(&folder).and_then(|it| it.modified()).ok()) {
                pruned.bytes += file::size(&folder).map_err(io(&folder))?;
                pruned.entries += 1;
                file::remove_folder(&folder).map_err(io(&folder))?;
            }
        }
        for entry in self.list()? {
            let is_old = is_old(entry.written);
            if entry.health != Health::Sound || is_old {
                file::remove(&entry.path).map_err(|source| CacheFault::Io { path: entry.path.clone(), source })?;
                pruned.entries += 1;
                pruned.bytes += entry.size;
            }
        }
        Ok(pruned)
    }

    fn path(&self, key: &Digest) -> PathBuf {
        let key = key.to_string();
        self.folder.join(ENTRIES).join(&key[..2]).join(format!("{key}.{END}"))
    }

    fn opened<'e>(&self, key: &Digest, bytes: &'e [u8]) -> Option<Opened<'e>> {
        let (tag, sealed) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<TAG_SIZE>()?;
        if !self.sealer.is_sealed(key, sealed, tag) {
            return None;
        }
        let (kind, rest) = line(sealed)?;
        let (engine, rest) = line(rest)?;
        let (label, content) = line(rest)?;
        Some(Opened { kind: Kind::of_word(kind)?, engine, label, content })
    }
}

/// What an entry is named by.
pub(crate) fn key(kind: Kind, parts: &[&str]) -> Digest {
    let mut bytes = format!("{}\n{}\n{}\n", kind.word(), kind.engine(), std::env::consts::ARCH).into_bytes();
    for part in parts {
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part.as_bytes());
    }
    Digest::of(&bytes)
}

fn component_key(component: &[u8], engine: &str) -> Digest {
    key(Kind::MachineCode, &[blake3::hash(component).to_hex().as_str(), engine])
}

/// The parts of an entry that holds several, each behind its length.
fn divided(mut content: &[u8]) -> Option<Vec<Bytecode>> {
    let mut parts = Vec::new();
    while let Some((length, rest)) = content.split_first_chunk() {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, others) = rest.split_at_checked(length)?;
        parts.push(Bytecode(part.into()));
        content = others;
    }
    content.is_empty().then_some(parts)
}

fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}
