//! Why there is no artifact, or no bytecode.

use std::{io, path::PathBuf, time::Duration};

use pi_extproto::artifact::SourcePlace;

use crate::{component::ComponentFault, container::ContainerFault};

/// Why an extension could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildFault {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{} is no extension: it has no entry", path.display())]
    NoEntry { path: PathBuf },
    #[error("{} has several entries", path.display())]
    SeveralEntries { path: PathBuf, entries: Vec<String> },
    #[error("{} is not a valid manifest: {}", path.display(), problems.join("; "))]
    BadManifest { path: PathBuf, problems: Vec<String> },
    #[error("{} is neither TypeScript or JavaScript nor a component", path.display())]
    OtherTier { path: PathBuf },
    #[error("{} is not an extension: {fault}", path.display())]
    BadComponent { path: PathBuf, fault: ComponentFault },
    #[error("{} was not built yet", path.display())]
    NotBuilt { path: PathBuf },
    #[error("{} cannot be used: {fault}", path.display())]
    BadArtifact { path: PathBuf, fault: ContainerFault },
    #[error("cargo cannot be started")]
    NoCargo(#[source] io::Error),
    #[error("{} cannot be compiled: the target {target} is not installed", path.display())]
    NoTarget { path: PathBuf, target: &'static str },
    #[error("{} does not compile:\n{said}", path.display())]
    Compiler { path: PathBuf, said: String },
    #[error("{} makes no component", path.display())]
    NoComponent { path: PathBuf },
    #[error("{} is to run as a component, and componentize-qjs, which makes one of JavaScript, is not installed", path.display())]
    NoComponentizer { path: PathBuf },
    #[error("componentize-qjs is installed, but Node, which runs it, cannot be started")]
    NoNode { source: io::Error },
    /// What is wrong with the sources; never empty.
    #[error("{}", told(faults))]
    Sources { faults: Vec<Fault> },
    #[error("this build carries no bundler")]
    NoBundler,
    #[error("the bundler cannot be started")]
    Start(#[source] io::Error),
    #[error("bundling took longer than {limit:?}")]
    TooLong { limit: Duration },
    #[error("the bundler ended without an answer ({status}): {said}")]
    Died { status: String, said: String },
    #[error(transparent)]
    Cache(CacheFault),
    #[error("the folder with assets holds too much: more than {limit} {unit}")]
    TooMuch { limit: u64, unit: &'static str },
}

/// One thing that is wrong with the sources.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub message: String,
    pub hint: Option<String>,
    pub place: Option<SourcePlace>,
    /// How many characters it is about.
    pub length: u32,
    /// The line that it is about.
    pub line: String,
}

/// Why there is no bytecode.
#[derive(Debug, thiserror::Error)]
pub enum CacheFault {
    #[error("cannot use the cache at {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the machine's key at {} is not 32 bytes", path.display())]
    BadKey { path: PathBuf },
    #[error("no random numbers here")]
    NoRandom,
    #[error("{module} is not a program: {message}")]
    Syntax {
        module: String,
        message: String,
        /// Line and column, from one, if the engine says them.
        at: Option<(u32, u32)>,
    },
    #[error("the engine does not start")]
    Engine,
}

fn told(faults: &[Fault]) -> String {
    faults.iter().map(|fault| crate::frame(fault).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

impl BuildFault {
    /// The bundler answered another question than the one that it was asked.
    pub(crate) fn off_topic() -> Self {
        Self::Died { status: "it goes on".to_owned(), said: "it answers another question".to_owned() }
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "check the name, and who may read it",
            Self::Unwritable { .. } => "check the disk, and who may write there",
            Self::NoEntry { .. } => {
                "name a file, or a folder with extension.json, package.json (\"pi\": {\"extensions\": […]}), index.ts or Cargo.toml"
            }
            Self::SeveralEntries { .. } => "name one of the files",
            Self::BadManifest { .. } => "`pi schema manifest` prints what is expected",
            Self::OtherTier { .. } => {
                "only TypeScript, JavaScript and components are built; MCP servers run as they are"
            }
            Self::BadComponent { fault: ComponentFault::Foreign, .. } => {
                "name a source, or a file that was built for wasm32-wasip2"
            }
            Self::BadComponent { fault: ComponentFault::Module | ComponentFault::Invalid { .. }, .. } => {
                "build it for wasm32-wasip2, or make a component of it with wasm-tools component new"
            }
            Self::NotBuilt { .. } => "`pi ext build` compiles it; nothing else runs a compiler",
            Self::BadArtifact { .. } => "build it again with `pi ext build`",
            Self::NoCargo(_) => {
                "install Rust from https://rustup.rs, and the target with `rustup target add wasm32-wasip2`"
            }
            Self::NoTarget { .. } => "install the target with `rustup target add wasm32-wasip2`",
            Self::Compiler { said, .. } if said.contains("target may not be installed") => {
                "install the target with `rustup target add wasm32-wasip2`"
            }
            Self::Compiler { .. } => "correct the sources and build again",
            Self::NoComponent { .. } => "add crate-type = [\"cdylib\"] to [lib] in Cargo.toml",
            Self::NoComponentizer { .. } => {
                "install it with `npm install --save-dev componentize-qjs@0.4.5` in the folder of the extension (it needs Node \
                 18), or leave \"engine\": \"wasm\" out of extension.json: JavaScript runs without it"
            }
            Self::NoNode { .. } => {
                "install Node 18 or newer, or leave \"engine\": \"wasm\" out of extension.json: JavaScript runs without it"
            }
            Self::Sources { .. } => "correct the sources and build again",
            Self::NoBundler => {
                "use a build of pi that was made on this kind of machine, or build the extension elsewhere"
            }
            Self::Start(_) => "the system refuses processes or files without names; check its limits",
            Self::TooLong { .. } => "look for imports of very large packages",
            Self::Died { .. } => {
                "if it ran out of memory the extension imports too much; otherwise report it with the sources"
            }
            Self::Cache(fault) => fault.hint(),
            Self::TooMuch { .. } => "name the files that belong to the extension in \"assets\" of extension.json",
        }
    }
}

impl CacheFault {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the disk, and who may write there",
            Self::BadKey { .. } => {
                "remove the file; a new key is made, and what was cached with the old one is made anew"
            }
            Self::NoRandom | Self::Engine => "the system is out of resources; try again",
            Self::Syntax { .. } => "correct the source",
        }
    }
}
