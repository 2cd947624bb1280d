//! Why decisions about extensions cannot be made or looked at, and what to do about it.

use std::{io, path::PathBuf};

use pi_exthost::consent::GrantsFault;

use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsentFailure {
    #[error("there is no place for decisions: no home folder")]
    Homeless,
    #[error(transparent)]
    Grants(#[from] GrantsFault),
    #[error("{text:?} is no length of time")]
    NoDuration { text: String },
    #[error("a deny does not end by itself")]
    DenyForAWhile,
    #[error("everybody cannot be allowed something")]
    AllowEverybody,
    #[error("there is no ledger of extensions in {}", folder.display())]
    NoLedger { folder: PathBuf },
    #[error("there is no ledger of a session {session}")]
    NoSuchLedger { session: String },
    #[error("{} sessions begin with {session}", sessions.len())]
    SeveralLedgers { session: String, sessions: Vec<String> },
    #[error("cannot read the ledger in {}", folder.display())]
    Ledger { folder: PathBuf, source: io::Error },
}

impl ConsentFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoLedger { .. }
            | Self::NoSuchLedger { .. }
            | Self::Homeless
            | Self::Grants(_)
            | Self::NoDuration { .. }
            | Self::DenyForAWhile
            | Self::AllowEverybody
            | Self::SeveralLedgers { .. }
            | Self::Ledger { .. } => Exit::Trouble,
        }
    }

    /// What to do next.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Homeless => "set HOME, or PI_CODING_AGENT_DIR".to_owned(),
            Self::Grants(GrantsFault::Unusable { .. }) => "look at its permissions".to_owned(),
            Self::Grants(GrantsFault::InUse { .. }) => "try again when no other pi writes it".to_owned(),
            Self::Grants(GrantsFault::Newer { .. }) => "use the version of pi that wrote it".to_owned(),
            Self::Grants(GrantsFault::Malformed { .. } | GrantsFault::Invalid { .. }) => {
                "correct it, or remove it to decide anew".to_owned()
            }
            Self::NoDuration { .. } => "write a number and s, m, h, d or w: 30m, 12h, 7d".to_owned(),
            Self::DenyForAWhile => "leave --for out; `pi ext allow` takes it back".to_owned(),
            Self::AllowEverybody => "name the extension".to_owned(),
            Self::NoLedger { .. } => "ledgers are written when extensions run in a session".to_owned(),
            Self::NoSuchLedger { .. } => "`pi ext ledger list` lists them".to_owned(),
            Self::SeveralLedgers { sessions, .. } => format!("one of {}", sessions.join(", ")),
            Self::Ledger { .. } => "look at its permissions".to_owned(),
        }
    }
}
