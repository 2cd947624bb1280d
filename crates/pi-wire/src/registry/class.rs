//! What a command is to its lane: before whom it may go, how long it holds others up, how long it may take.

use std::time::Duration;

use serde::Serialize;

/// What a command is to its lane. Closed: whoever schedules commands needs to know no more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Something with a session that is over soon.
    Work,
    /// A job in a session: `bash`, `compact`, `navigate_tree` with a summary.
    LongWork,
    /// A change of the server that may be slow. Reads of the server do not wait for it.
    ServerWork,
    /// Reads, and whatever takes effect at the next turn.
    Control,
    /// An answer to a run's question, a key for its component, an abort.
    NeededByRun,
    /// A `prompt` that begins a run.
    Run,
    /// A `prompt` that is said into the run in flight, or queued behind it.
    JoinsRun,
    /// A `prompt` that calls a slash command of an extension.
    ExtensionCommand,
}

impl Class {
    pub const fn order(self) -> Order {
        self.row().0
    }

    pub const fn span(self) -> Span {
        self.row().1
    }

    pub const fn need(self) -> Need {
        self.row().2
    }

    pub const fn timeout(self) -> Timeout {
        self.row().3
    }

    const fn row(self) -> (Order, Span, Need, Timeout) {
        match self {
            Self::Work => (Order::Work, Span::Short, Need::Independent, Timeout::Standard),
            Self::LongWork => (Order::Work, Span::Long, Need::Independent, Timeout::Long),
            Self::ServerWork => (Order::Work, Span::Long, Need::Independent, Timeout::Standard),
            Self::Control => (Order::Control, Span::Short, Need::Independent, Timeout::Short),
            Self::NeededByRun => (Order::Control, Span::Short, Need::RunNeedsIt, Timeout::Short),
            Self::Run => (Order::Work, Span::Long, Need::Independent, Timeout::Unlimited),
            Self::JoinsRun => (Order::Control, Span::Short, Need::Independent, Timeout::Short),
            Self::ExtensionCommand => (Order::Control, Span::Long, Need::Independent, Timeout::Unlimited),
        }
    }
}

/// In which of a lane's two orders a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Behind all work that was admitted before.
    Work,
    /// Past long work that is in flight; otherwise in the order of admission with the rest.
    Control,
}

/// Whether a command in flight lets control commands pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// It is over soon; whatever was admitted later waits.
    Short,
    /// Control commands pass it.
    Long,
}

/// Whether the run in flight may be waiting for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    Independent,
    /// Without it the run may never end, so it must never wait for the run.
    RunNeedsIt,
}

/// How long a command may take, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Timeout {
    /// Reads and control.
    Short,
    Standard,
    /// `bash`, `compact`, `navigate_tree` with a summary.
    Long,
    /// Runs, and slash commands of extensions.
    Unlimited,
}

impl Timeout {
    /// The default; a server may be configured otherwise.
    pub const fn default_duration(self) -> Option<Duration> {
        match self {
            Self::Short => Some(Duration::from_secs(30)),
            Self::Standard => Some(Duration::from_secs(60)),
            Self::Long => Some(Duration::from_secs(300)),
            Self::Unlimited => None,
        }
    }
}
