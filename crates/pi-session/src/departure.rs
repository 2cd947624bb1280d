//! How a session begins and how it is left: for another one, or for good.
//!
//! A session does not open another one. Whoever owns it does: a person leaves through the owner, and an extension that
//! wants to leave asks the owner with a [`Wish`], after the other extensions were asked whether they object.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_exthost::{GuestId, SessionPort};
use pi_transcript::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{Session, directory::ForkPoint};

/// Wishes that may wait for the owner; an extension that has one more waits.
const WISHES: usize = 8;

/// How a session came to begin. `left` is the file of the session that was left for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// The program was started with it.
    Startup,
    /// The same session, with its extensions loaded anew.
    Reload,
    New {
        left: Option<PathBuf>,
    },
    Resume {
        left: Option<PathBuf>,
    },
    Fork {
        left: Option<PathBuf>,
    },
}

/// What a session is left for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Departure {
    Quit,
    /// A new session. `parent` is the file that it says it came from.
    New {
        parent: Option<PathBuf>,
    },
    Resume(PathBuf),
    Fork(ForkPoint),
    /// The same session, with its extensions loaded anew.
    Reload,
}

/// Who decides what becomes of a session.
#[derive(Debug, Clone)]
pub enum Owner {
    /// Extensions that want to leave are told that it is not possible here.
    Nobody,
    Somebody(mpsc::Sender<Wish>),
    /// The same of somebody who has many sessions: no extension of one of them ends the program.
    Host {
        /// By which the host knows the session.
        name: SessionId,
        wishes: mpsc::Sender<(SessionId, Wish)>,
    },
}

/// An extension wants to leave. It waits for an answer; a wish that is dropped is refused.
#[derive(Debug)]
pub struct Wish {
    /// The conversation that is to be left.
    pub session: SessionId,
    pub by: GuestId,
    pub departure: Departure,
    ended: CancellationToken,
    decision: oneshot::Sender<Decision>,
}

/// What the owner decided.
pub(crate) enum Decision {
    /// `next` is the session that the extension goes on in.
    Granted {
        next: Option<Arc<dyn SessionPort>>,
    },
    Refused {
        reason: String,
    },
}

/// An owner, and where the wishes arrive. Whoever stops listening refuses all of them.
pub fn owner() -> (Owner, mpsc::Receiver<Wish>) {
    let (wishes, received) = mpsc::channel(WISHES);
    (Owner::Somebody(wishes), received)
}

impl Owner {
    /// Puts a wish before them. One that nobody takes is gone, which refuses it.
    pub(crate) async fn hear(&self, wish: Wish) {
        match self {
            Self::Nobody => drop(wish),
            Self::Somebody(wishes) => drop(wishes.send(wish).await),
            Self::Host { name, wishes } => drop(wishes.send((name.clone(), wish)).await),
        }
    }
}

impl Wish {
    pub(crate) fn new(
        session: SessionId,
        by: GuestId,
        departure: Departure,
        ended: CancellationToken,
    ) -> (Self, oneshot::Receiver<Decision>) {
        let (decision, decided) = oneshot::channel();
        (Self { session, by, departure, ended, decision }, decided)
    }

    /// Signalled when the command that wants to leave has ended. It has something to do in the next session until then.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// It is done, or as good as done: close the session soon, the extension is told now.
    pub fn grant(self) {
        self.decide(Decision::Granted { next: None });
    }

    /// It is done: what the command still has to say it says in `next`. Close its own session when it has ended.
    pub fn grant_in(self, next: &Session) {
        self.decide(Decision::Granted { next: Some(next.port()) });
    }

    /// It is not done, for a reason that the extension is told.
    pub fn refuse(self, reason: impl Into<String>) {
        self.decide(Decision::Refused { reason: reason.into() });
    }

    fn decide(self, decision: Decision) {
        // An extension that has gone away does not want to know.
        drop(self.decision.send(decision));
    }
}

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted { next } => f.debug_struct("Granted").field("goes_on", &next.is_some()).finish(),
            Self::Refused { reason } => f.debug_struct("Refused").field("reason", reason).finish(),
        }
    }
}

/// A path as extensions are told it.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
