//! Who makes sessions: the one thing that the server leaves to whoever starts it.
//!
//! Providers, tools, settings, trust and extensions are no business of a server. It asks for a session in a folder, and
//! gets one, or is told in a sentence why not.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use pi_session::{
    Beginning, Owner, Session, ShellWatch, Switch,
    directory::{Catalogue, ForkPoint, Stored},
};
use pi_transcript::{EntryId, ProviderId};
use pi_wire::response::CircuitBreakerMetrics;

/// Makes sessions and knows those on the disk. The binary implements it, and so do the tests.
pub trait Workshop: Send + Sync + 'static {
    /// Makes a session. Waits for the disk.
    fn make(&self, order: Order) -> BoxFuture<'_, Result<Made, MakeError>>;

    /// Every session file that there is, the latest first. Waits for the disk. What `catalogue` knows need not be read.
    fn stored(&self, catalogue: Arc<Catalogue>) -> BoxFuture<'_, Result<Vec<Stored>, MakeError>>;

    /// Removes a session file for good; `name` is the file's name once more. Waits for the disk.
    fn delete(&self, file: PathBuf, name: String) -> BoxFuture<'_, Result<(), MakeError>>;

    /// Writes down for good that an extension is switched on or off for this person. Waits for the disk.
    fn remember_extension(&self, id: &str, switch: Switch) -> BoxFuture<'_, Result<(), MakeError>>;

    /// Whether sessions can have extensions at all.
    fn extensions(&self) -> Switch;

    /// How the circuit breakers of the providers stand that were asked so far.
    fn circuits(&self) -> Vec<CircuitBreakerMetrics>;

    /// How long a provider is left alone yet, if it is because it failed.
    fn left_alone(&self, provider: &ProviderId) -> Option<Duration>;

    /// Where an agent works if nobody says where.
    fn usual_folder(&self) -> PathBuf;

    /// Who answers if nobody chooses, as `provider/model`, as far as that is known.
    fn usual_model(&self) -> Option<String>;

    /// The folder that holds the sessions of all projects, if there is one.
    fn sessions_folder(&self) -> Option<PathBuf>;
}

/// What is wanted.
#[derive(Debug)]
pub struct Order {
    /// Where the agent works; absolute.
    pub cwd: PathBuf,
    pub conversation: Conversation,
    pub beginning: Beginning,
    /// Who decides about extensions that want to leave it.
    pub owner: Owner,
    /// Who watches over the shell commands of its model.
    pub shell: Arc<dyn ShellWatch>,
}

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conversation {
    /// A new one, which says from which file it came.
    New { parent: Option<PathBuf> },
    /// A new one whose file has this name, because somebody was told so.
    NewAt(PathBuf),
    /// That of a file.
    Stored(PathBuf),
    /// One that begins like that of a file.
    Fork { from: PathBuf, at: ForkPoint },
}

/// A session, and where it is kept.
#[derive(Debug)]
pub struct Made {
    pub session: Session,
    /// Where its file is, or will be when something is said.
    pub file: Option<PathBuf>,
    /// What the person said at the place of a fork.
    pub text: Option<String>,
}

/// Why there is no session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MakeError {
    #[error("there is no session file at that place")]
    Missing,
    #[error("the file holds no session")]
    NotASession,
    /// Something was said in the session, and its file is not there any more.
    #[error("the session has lost its file {}", file.display())]
    Lost { file: PathBuf },
    #[error("the folder of the session, {}, is not there", cwd.display())]
    Homeless { cwd: PathBuf },
    /// A link leads there since the path was checked.
    #[error("the session file is in another place by now")]
    Elsewhere,
    /// The folder in which the session worked is outside of what is allowed by now.
    #[error("the folder of the session is outside of the allowed roots")]
    OutsideRoots { roots: Vec<String> },
    /// The conversation has no such entry.
    #[error("there is no entry {entry} in the conversation")]
    NoEntry { entry: EntryId },
    #[error("another process writes the session file")]
    InUse,
    #[error("the session was removed meanwhile")]
    Gone,
    /// In words that tell what to do.
    #[error("{reason}")]
    Failed { reason: String },
}
