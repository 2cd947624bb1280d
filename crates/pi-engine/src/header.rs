//! What the engine is told about a command. The payload itself stays closed.

use std::fmt;

use crate::name::{ClientName, CommandId, Fingerprint, Key, Kind, Principal, Request, SessionName};

/// All that decides when a command runs and whether it was seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub principal: Principal,
    pub client: ClientName,
    /// Without one the command cannot be replayed or depended upon by id.
    pub id: Option<CommandId>,
    pub key: Option<Key>,
    pub kind: Kind,
    pub fingerprint: Fingerprint,
    pub lane: Lane,
    /// The session that the command is about, where that is not its lane's: `delete_session` runs in the server's lane.
    pub about: Option<SessionName>,
    pub order: Order,
    pub access: Access,
    pub limit: Limit,
    /// Ids of the same client.
    pub depends_on: Vec<CommandId>,
    /// The version that the session must have when the command's turn comes.
    pub if_version: Option<u64>,
}

impl Header {
    /// The session whose version the command expects, moves and reports.
    pub fn subject(&self) -> Option<&SessionName> {
        self.about.as_ref().or(self.lane.session())
    }

    /// Whether a run may be waiting for it.
    pub fn is_needed_by_run(&self) -> bool {
        matches!(self.order, Order::Control { role: Role::NeededByRun, .. })
    }

    /// The same command, of which nothing is recorded: it moves no version, and its outcome is kept as a read's is.
    pub(crate) fn unrecorded(&self) -> Self {
        Self { access: Access::Read, ..self.clone() }
    }
}

/// A command on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission<C> {
    pub request: Request,
    pub header: Header,
    pub command: C,
}

/// What is serialised together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Server,
    Session(SessionName),
}

impl Lane {
    pub fn session(&self) -> Option<&SessionName> {
        match self {
            Self::Server => None,
            Self::Session(session) => Some(session),
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("server"),
            Self::Session(session) => write!(f, "session:{session}"),
        }
    }
}

/// Which of a lane's two orders a command keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// One at a time, in the order of admission.
    Work(Span),
    /// Passes long work that is in flight; otherwise in the order of admission with everything else.
    Control { span: Span, role: Role },
}

impl Order {
    pub fn span(self) -> Span {
        match self {
            Self::Work(span) | Self::Control { span, .. } => span,
        }
    }

    pub fn is_work(self) -> bool {
        matches!(self, Self::Work(_))
    }
}

/// Whether a command in flight lets control commands pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// It is over soon; whatever was admitted later waits.
    Short,
    /// A run, a job such as `bash`, or a server command that may be slow: control commands pass it.
    Long,
}

/// What a control command is to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Bystander,
    /// The run may be waiting for it (an answer, an abort): it must never wait for the run.
    NeededByRun,
}

/// What a command does to its session, or to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Needs no journal and moves no version.
    Read,
    /// Is recorded like a write, but its success moves no version: it answers a question, or changes something that has
    /// none.
    Act,
    Write,
}

impl Access {
    /// Whether acceptance and outcome go to the journal.
    pub fn is_recorded(self) -> bool {
        match self {
            Self::Read => false,
            Self::Act | Self::Write => true,
        }
    }
}

/// How long a command may run, counted from its start. The times are in [`crate::Config`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Reads and control commands.
    Brief,
    /// Most work.
    Normal,
    /// `bash`, `compact`.
    Extended,
    /// Runs and extension commands.
    Unlimited,
}
