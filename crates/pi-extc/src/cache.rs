//! What is made once and used often: bytecode, machine code, and artifacts built from sources. Every entry is named by what it was made
//! from and sealed with the key of this machine; one that is not as it was written is removed and made anew.

mod compile;
#[cfg(target_os = "linux")]
mod frozen;

use std::{
    borrow::Cow,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use pi_extproto::artifact::Digest;

use crate::{
    component::COMPONENT_ENGINE,
    fault::CacheFault,
    file,
    seal::{Inspection, Sealer, TAG_SIZE},
    shims::engine_version,
    unpacked,
};

const MAGIC: &[u8] = b"pi.ext.cache.v4\n";
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
pub struct MachineCode(Kept);

/// Where machine code is.
#[derive(Debug)]
enum Kept {
    Read(Content),
    #[cfg(target_os = "linux")]
    Frozen(frozen::Frozen),
}

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

/// The parts of an entry.
struct Parts<'e> {
    tag: &'e [u8; TAG_SIZE],
    kind: Kind,
    engine: &'e str,
    label: &'e str,
    /// Kind, engine and label, as they are written.
    header: &'e [u8],
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
    /// Where an engine can map it from, as long as `self` is kept. Nobody can change what lies there, from before it was checked
    /// on. Not every system has such a place.
    pub fn place(&self) -> Option<PathBuf> {
        match &self.0 {
            Kept::Read(_) => None,
            #[cfg(target_os = "linux")]
            Kept::Frozen(frozen) => Some(frozen.path()),
        }
    }

    /// The same for an engine that cannot.
    pub fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match &self.0 {
            Kept::Read(content) => Ok(content.as_bytes().into()),
            #[cfg(target_os = "linux")]
            Kept::Frozen(frozen) => frozen.bytes().map(Cow::Owned),
        }
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
    /// The cache in `folder`, which is made when the first entry is.
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
    /// `engine` says. The component is known by the digest of its artifact, or of itself.
    pub fn machine_code(&self, component: &Digest, engine: &str) -> Option<MachineCode> {
        let key = component_key(component, engine);
        #[cfg(target_os = "linux")]
        if let Some(frozen) = self.frozen(&key) {
            return Some(MachineCode(Kept::Frozen(frozen)));
        }
        self.get(Kind::MachineCode, &key).map(|content| MachineCode(Kept::Read(content)))
    }

    /// A sound entry, where it can be mapped. Nothing also where the system has no such place: whoever reads it as any other
    /// entry finds out.
    #[cfg(target_os = "linux")]
    fn frozen(&self, key: &Digest) -> Option<frozen::Frozen> {
        let (file, head) = file::open_with_head(&self.path(key)).ok()?;
        let Parts { tag, kind, engine, header, content, .. } = Parts::of(&head)?;
        if kind != Kind::MachineCode || engine != kind.engine() {
            return None;
        }
        let frozen = frozen::Frozen::copy(&file, (head.len() - content.len()) as u64);
        let frozen = frozen.inspect_err(|error| tracing::debug!(%error, "machine code is not mapped")).ok()?;
        let mut inspection = self.inspection()?;
        frozen.look(|piece| inspection.see(piece)).ok()?;
        inspection.bears(key, header, tag).then_some(frozen)
    }

    /// Keeps what that engine made of a component. It is believed later: hand it nothing that the engine did not make in
    /// this process.
    pub fn keep_machine_code(
        &self,
        component: &Digest,
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
        let header = format!("{}\n{}\n{label}\n", kind.word(), kind.engine()).into_bytes();
        let tag = self.sealer.seal(key, &header, content)?;
        let bytes = [MAGIC, &tag, &header, content].concat();
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

    /// What looks at the seal of an entry. Nothing can be told of one without the key: it is made anew.
    fn inspection(&self) -> Option<Inspection> {
        let inspection = self.sealer.inspect();
        let inspection = inspection.inspect_err(|error| tracing::warn!(%error, "the key of the cache cannot be read"));
        inspection.ok().flatten()
    }

    /// The parts of an entry, if its seal is true.
    fn opened<'e>(&self, key: &Digest, bytes: &'e [u8]) -> Option<Parts<'e>> {
        let parts = Parts::of(bytes)?;
        let mut inspection = self.inspection()?;
        inspection.see(parts.content);
        inspection.bears(key, parts.header, parts.tag).then_some(parts)
    }
}

impl<'e> Parts<'e> {
    /// Nothing of it is believed yet.
    fn of(bytes: &'e [u8]) -> Option<Self> {
        let (tag, sealed) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<TAG_SIZE>()?;
        let (kind, rest) = line(sealed)?;
        let (engine, rest) = line(rest)?;
        let (label, content) = line(rest)?;
        let header = &sealed[..sealed.len() - content.len()];
        Some(Self { tag, kind: Kind::of_word(kind)?, engine, label, header, content })
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

fn component_key(component: &Digest, engine: &str) -> Digest {
    key(Kind::MachineCode, &[&component.to_string(), engine])
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
