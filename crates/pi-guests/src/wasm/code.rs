//! From the bytes of a component to something that can be instantiated.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use wasmtime::component::Component;

use pi_extc::{Artifact, Cache, Excess, Outline, OutlineFault};
use pi_extproto::artifact::Digest;

use super::{
    machine::Machine,
    package::{self, Pre},
    raw, wasi,
};

/// A component, compiled and linked. Clones are the same.
#[derive(Clone)]
pub struct Code {
    pre: Arc<Pre>,
}

/// A component as somebody built it.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// By which its machine code is found again: of its artifact, or of the component if there is none. It belongs to these bytes,
    /// because code that is found by it runs in their place.
    hash: Digest,
    bytes: &'a [u8],
    /// For people.
    name: &'a str,
}

impl<'a> Piece<'a> {
    /// A component without an artifact.
    pub fn bare(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { hash: Digest::of(bytes), bytes, name }
    }

    pub(crate) fn hash(&self) -> &Digest {
        &self.hash
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    /// The component of an artifact; nothing if that is a script.
    pub fn of_artifact(artifact: &'a Artifact) -> Option<Self> {
        match &artifact.code {
            pi_extc::Code::Component(bytes) => Some(Self { hash: *artifact.hash(), bytes, name: artifact.name() }),
            pi_extc::Code::Script { .. } => None,
        }
    }
}

/// The same for whoever does not keep it.
#[derive(Clone)]
pub(crate) struct WeakCode(Weak<Pre>);

/// Why a component is no extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeFault {
    #[error("it is a WebAssembly module and not a component")]
    Module,
    #[error("it is not WebAssembly")]
    Foreign,
    #[error("it is not valid: {problem}")]
    Invalid { problem: String },
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error("it imports {name}, which no host of extensions has")]
    UnknownImport { name: String },
    #[error("it was written for {interface}, of which this host has version 1")]
    OtherVersion { interface: String },
    #[error("it is made of too many parts: {problem}")]
    Crowded { problem: String },
    #[error("it does not export pi:extension/guest, by which extensions are called")]
    Uncalled,
    #[error("it does not fit the interface of extensions: {problem}")]
    Misfit { problem: String },
}

impl CodeFault {
    /// What its author can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Module => "build it for wasm32-wasip2, or make a component of it with wasm-tools component new",
            Self::Foreign => "name a file that was built for wasm32-wasip2",
            Self::Invalid { .. } => "build it again, with tools that are not younger than this program",
            Self::Excess(_) => "build it optimised, leave out what it does not need, or divide its largest functions",
            Self::Crowded { .. } => "link its modules into fewer",
            Self::UnknownImport { .. } => "import interfaces of pi:extension@1 and of WASI 0.2 only",
            Self::OtherVersion { .. } => "build it with docs/wit/extension.wit of this release, or use a newer release",
            Self::Uncalled | Self::Misfit { .. } => "build it with the world extension of docs/wit/extension.wit",
        }
    }
}

/// How the bytes of a component and of a module begin.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// How the names of our interfaces begin, whatever their version.
const PACKAGE: &str = "pi:extension/";
/// What an extension is called by, of any version.
const GUEST: &str = "pi:extension/guest@";

impl Code {
    /// Compiles a component, or takes what was compiled before. It takes as long as the code is long: not for threads that
    /// others wait for. None of its code runs.
    pub fn prepare(machine: &Machine, piece: Piece<'_>, cache: Option<&Cache>) -> Result<Self, CodeFault> {
        match Self::kept(machine, piece, cache)? {
            Some(code) => Ok(code),
            None => Self::compile(machine, piece, cache),
        }
    }

    /// What was compiled before, if it was kept. That it is a component is known from here on.
    pub(crate) fn kept(machine: &Machine, piece: Piece<'_>, cache: Option<&Cache>) -> Result<Option<Self>, CodeFault> {
        if piece.bytes.starts_with(MODULE) {
            return Err(CodeFault::Module);
        }
        if !piece.bytes.starts_with(COMPONENT) {
            return Err(CodeFault::Foreign);
        }
        let kept = cache.and_then(|cache| cached(machine, &piece.hash, cache));
        kept.map(|component| Self::link(machine, &component)).transpose()
    }

    /// Compiles it, whether or not it was compiled before, and keeps what comes of it.
    pub(crate) fn compile(machine: &Machine, piece: Piece<'_>, cache: Option<&Cache>) -> Result<Self, CodeFault> {
        Self::link(machine, &compile(machine, piece, cache)?)
    }

    fn link(machine: &Machine, component: &Component) -> Result<Self, CodeFault> {
        let misfit = |error: wasmtime::Error| CodeFault::Misfit { problem: format!("{error:#}") };
        let mut linker = machine.linker().clone();
        // What of WASI is not there traps when it is used; much of it is imported and never used.
        wasi::refuse(&mut linker, component, machine.engine()).map_err(misfit)?;
        let pre = linker.instantiate_pre(component).and_then(Pre::new).map_err(misfit)?;
        Ok(Self { pre: Arc::new(pre) })
    }

    pub(super) fn pre(&self) -> &Pre {
        &self.pre
    }

    pub(crate) fn downgrade(&self) -> WeakCode {
        WeakCode(Arc::downgrade(&self.pre))
    }
}

impl WeakCode {
    /// As long as somebody keeps it.
    pub(crate) fn upgrade(&self) -> Option<Code> {
        self.0.upgrade().map(|pre| Code { pre })
    }
}

fn cached(machine: &Machine, hash: &Digest, cache: &Cache) -> Option<Component> {
    let code = cache.machine_code(hash, machine.identity())?;
    let loaded = raw::load(machine.engine(), &code);
    // An engine that refuses its own code was built differently; then it is compiled anew.
    loaded.inspect_err(|error| tracing::warn!(%error, "machine code of the cache is not used")).ok()
}

/// Whether there is something to link it with, and somebody to call.
fn check_names(outline: &Outline) -> Result<(), CodeFault> {
    let own = |name: &&String| name.starts_with(PACKAGE);
    if let Some(name) = outline.imports.iter().find(|name| !own(name) && !name.starts_with("wasi:")) {
        return Err(CodeFault::UnknownImport { name: name.clone() });
    }
    let mut names = outline.imports.iter().chain(&outline.exports).filter(own);
    if let Some(interface) = names.find(|name| !package::knows(name)) {
        return Err(CodeFault::OtherVersion { interface: interface.clone() });
    }
    if !outline.exports.iter().any(|name| name.starts_with(GUEST)) {
        return Err(CodeFault::Uncalled);
    }
    Ok(())
}

/// Compiles what can be an extension and is small enough: a compiler that has begun cannot be stopped.
fn compile(machine: &Machine, piece: Piece<'_>, cache: Option<&Cache>) -> Result<Component, CodeFault> {
    let Piece { hash, bytes, name } = piece;
    check_names(&pi_extc::outline(bytes)?)?;
    let component = Component::new(machine.engine(), bytes).map_err(|error| refused(&error))?;
    if let Some(cache) = cache {
        // Without a disk to keep it on it is still compiled.
        let kept = component.serialize().map_err(|error| format!("{error:#}")).and_then(|code| {
            let kept = cache.keep_machine_code(&hash, machine.identity(), name, &code);
            kept.map_err(|error| error.to_string())
        });
        if let Err(error) = kept {
            tracing::warn!(component = name, error, "machine code is not kept");
        }
    }
    Ok(component)
}

/// Why the engine does not take a component. It has no type for that.
fn refused(error: &wasmtime::Error) -> CodeFault {
    let problem = format!("{error:#}");
    match problem.strip_suffix(" in the pooling allocator") {
        Some(parts) => CodeFault::Crowded { problem: parts.to_owned() },
        None => CodeFault::Invalid { problem },
    }
}

impl From<OutlineFault> for CodeFault {
    fn from(fault: OutlineFault) -> Self {
        match fault {
            OutlineFault::Invalid { problem } => Self::Invalid { problem },
            OutlineFault::Excess(excess) => Self::Excess(excess),
        }
    }
}

/// Clones are equal, and no others.
impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pre, &other.pre)
    }
}

impl fmt::Debug for WeakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakCode").finish_non_exhaustive()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}
