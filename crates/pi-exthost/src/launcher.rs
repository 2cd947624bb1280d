//! From a source to a guest.
//!
//! Two steps, because a decision about what an extension may do needs to know what it is: first it is looked at, then it
//! gets a desk that knows that, and only then any of its code runs.

use std::{fmt, path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;

use pi_extproto::{capability::Declared, manifest::Tier};
pub use pi_policy::{Evidence, Feature, Provenance};

use crate::{
    desk::Desk,
    guest::{Guest, GuestFault, GuestId},
};

/// Where an extension is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// A file or a folder.
    pub path: PathBuf,
    pub provenance: Provenance,
}

/// Who a guest is: what decisions, grants and the ledger know of it. The guest itself cannot change any of it.
#[derive(Debug, Clone)]
pub struct Identity {
    pub id: GuestId,
    pub version: String,
    /// The digest of what runs, as `sha256:…`.
    pub artifact: Option<String>,
    pub provenance: Provenance,
    /// Where it comes from, as grants name it: its file or folder, before that the key that signed it if somebody here
    /// trusts it. A grant for another extension of its name is none for it.
    pub origins: Vec<String>,
    pub declared: Declared,
    pub evidence: Evidence,
    /// The folder that it lies in.
    pub folder: PathBuf,
    pub own: Own,
    /// What it keeps between runs; made if it is not there.
    pub data: PathBuf,
    /// Made if it is not there, and removed when its dispatcher is closed.
    pub temporary: PathBuf,
}

/// What an extension may read because it was loaded from it. Of a single file that is the file and what was built into it: its
/// folder may be anybody's.
#[derive(Debug, Clone)]
pub struct Own {
    pub folders: Vec<PathBuf>,
    pub files: Vec<PathBuf>,
}

impl Own {
    pub fn folder(folder: PathBuf) -> Self {
        Self { folders: vec![folder], files: Vec::new() }
    }
}

/// An extension that was looked at. None of its code has run.
pub struct Prepared {
    pub identity: Identity,
    /// How it would run.
    pub tier: Tier,
    /// The files that it was built from, for whoever wants to know whether they change; nothing of a server.
    pub sources: Vec<PathBuf>,
    /// That its sources changed since a compiler made it of them, and what to do about it.
    pub outdated: Option<String>,
    /// Packages that it imports and that are not installed: using them fails, and loading does not.
    pub missing: Vec<String>,
    /// What the scanner would have it blocked for: it runs all the same where the rules are not strict.
    pub forbidden: Vec<String>,
    /// Starts it at its desk. Dropping the future stops it.
    pub launch: Launch,
}

/// Starts a guest at its desk.
pub type Launch = Box<dyn FnOnce(Desk) -> Launching + Send>;

/// A guest that is being started. Dropping it stops it.
pub type Launching = BoxFuture<'static, Result<Arc<dyn Guest>, LaunchFault>>;

/// Makes guests of sources. Implemented by the tiers, and by the scripted guests of tests.
pub trait Launcher: Send + Sync {
    /// Looks at a source: builds it if it must, scans it, and says who it is.
    fn prepare(&self, source: Source) -> BoxFuture<'_, Result<Prepared, LaunchFault>>;
}

/// Why there is no guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchFault {
    #[error("there is no extension at {path}")]
    Missing { path: String },
    /// It cannot be built, or is not what it says. What the scanner found refuses it under strict rules, and is
    /// evidence under others.
    #[error("{message}")]
    Unusable { message: String },
    /// Its code ran and failed.
    #[error("{}", .0.told())]
    Failed(#[source] GuestFault),
}

impl From<GuestFault> for LaunchFault {
    fn from(fault: GuestFault) -> Self {
        Self::Failed(fault)
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("identity", &self.identity).finish_non_exhaustive()
    }
}
