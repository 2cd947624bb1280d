//! The extensions of a session while it runs: which there are, which are on, and how they are loaded anew.
//!
//! A session does not start extensions; whoever made it does, and stays behind it as its [`Steward`].

use std::{fmt, sync::Weak};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{Figures, Guests, guest::Condition, guests::Enrolled};
use pi_extproto::{hook::event::payload::DiscoverReason, manifest::Tier};

use crate::session::Switch;

/// An extension of a session, and what it has done there.
#[derive(Debug, Clone, PartialEq)]
pub struct Extension {
    pub id: String,
    pub name: String,
    pub version: Option<String>,
    pub tier: Tier,
    /// Where it was found.
    pub path: String,
    pub phase: Phase,
    /// Why it does not run, or why not what is on the disk now.
    pub problem: Option<String>,
    /// What it says that it needs.
    pub capabilities: Vec<String>,
    pub tools: Vec<String>,
    pub commands: Vec<String>,
    /// About what its tools cost in every request, where somebody counted.
    pub tokens: Option<u64>,
    /// In this session, however often it was loaded anew or switched.
    pub figures: Figures,
    /// Bytes, where anybody can tell.
    pub memory: Option<u64>,
}

/// Whether an extension runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is on its way, and offers nothing yet.
    Starting,
    Running,
    /// It was stopped, and starts anew when it is needed.
    Resting,
    /// Somebody switched it off.
    Off,
    /// It could not be started, or not be kept running.
    Failed,
}

/// Why an extension was not switched or loaded anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    #[error("there is no extension {id} in this session")]
    Unknown { id: String },
    /// Somebody else has the last word.
    #[error("{id} stays as it is: {why}")]
    Withheld { id: String, why: String },
}

/// Looks after the extensions of a session while it runs. It cuts the cycle session → whoever starts extensions → session;
/// sessions that were given none have one that only lists.
///
/// Everything can be done beside a run: an extension that is switched off is asked nothing more from then on, and what it
/// was doing ends as if it had gone by itself; tools that come or go do so at the next turn.
pub trait Steward: Send + Sync + fmt::Debug {
    /// All that there are, those that do not run as well.
    fn list(&self) -> BoxFuture<'_, Vec<Extension>>;

    /// Switches one on or off in this session, until it ends. Answers how it stands then; one that cannot be started is
    /// no error.
    ///
    /// Dropping the future only ends the waiting: what was begun comes to its end.
    fn switch<'a>(&'a self, id: &'a str, switch: Switch) -> BoxFuture<'a, Result<Extension, SwitchError>>;

    /// Looks anew what is on the disk, and starts it in the place of what runs; of one, or of all. What cannot be built
    /// goes on as it was, and says so. Answers how they stand then.
    ///
    /// Dropping the future only ends the waiting: what was begun comes to its end.
    fn reload<'a>(&'a self, id: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Extension>, SwitchError>>;

    /// Asks extensions which skills and prompt templates they bring, and gives them to the session. Called once, when all have
    /// heard that the session has begun; what somebody says first waits for it.
    fn gather(&self, reason: DiscoverReason) -> BoxFuture<'_, ()>;
}

/// Of a session whose extensions were started by somebody who does not look after them. It does not keep them: they go with
/// the session, even if somebody still has a handle of it.
#[derive(Debug)]
pub(crate) struct Unattended(pub(crate) Weak<Guests>);

impl Unattended {
    fn refuse<T: Send>(&self, id: &str) -> Result<T, SwitchError> {
        let registrations = self.0.upgrade().map(|guests| guests.registrations()).unwrap_or_default();
        let is_known = registrations.iter().any(|registration| registration.id.as_str() == id);
        let id = id.to_owned();
        match is_known {
            true => Err(SwitchError::Withheld { id, why: "nobody here could start it again".to_owned() }),
            false => Err(SwitchError::Unknown { id }),
        }
    }
}

impl Steward for Unattended {
    fn list(&self) -> BoxFuture<'_, Vec<Extension>> {
        async {
            match self.0.upgrade() {
                Some(guests) => guests.enrolled().await.into_iter().map(Extension::from).collect(),
                None => Vec::new(),
            }
        }
        .boxed()
    }

    fn switch<'a>(&'a self, id: &'a str, _: Switch) -> BoxFuture<'a, Result<Extension, SwitchError>> {
        async move { self.refuse(id) }.boxed()
    }

    fn reload<'a>(&'a self, id: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Extension>, SwitchError>> {
        async move {
            match id {
                Some(id) => self.refuse(id),
                None => Ok(self.list().await),
            }
        }
        .boxed()
    }

    /// Whoever looks after nobody reads no files for the session either.
    fn gather(&self, _: DiscoverReason) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

impl From<Enrolled> for Extension {
    fn from(enrolled: Enrolled) -> Self {
        let (phase, problem) = match enrolled.condition {
            Condition::Starting => (Phase::Starting, None),
            Condition::Running => (Phase::Running, None),
            Condition::Resting => (Phase::Resting, None),
            Condition::Failed { why } => (Phase::Failed, Some(why)),
        };
        Self {
            id: enrolled.id,
            name: enrolled.name,
            version: enrolled.version,
            tier: enrolled.tier,
            path: enrolled.path,
            phase,
            problem,
            capabilities: enrolled.capabilities,
            tools: enrolled.tools,
            commands: enrolled.commands,
            tokens: None,
            figures: enrolled.figures,
            memory: enrolled.memory,
        }
    }
}
