//! Why decisions about extensions cannot be made or looked at, and what to do about it.

use std::{io, path::PathBuf};

use pi_exthost::consent::GrantsFault;
use pi_extproto::capability::Capability;

use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsentFailure {
    #[error("there is no place for decisions: no home folder")]
    Homeless,
    #[error(transparent)]
    Grants(#[from] GrantsFault),
    #[error("{text:?} is no length of time")]
    NoDuration { text: String },
    #[error("{word} is no capability")]
    NoCapability { word: String, meant: Option<String> },
    #[error("everything cannot be allowed at once")]
    AllowEverything,
    #[error("{}", faults.join("\n"))]
    BadDecision { faults: Vec<String> },
    #[error("{} extensions are called {name}", origins.len())]
    SeveralMeant { name: String, origins: Vec<String> },
    #[error("there is no extension {name} in {place}")]
    NotFrom { name: String, place: String, found: Vec<String> },
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
            | Self::NoCapability { .. }
            | Self::AllowEverything
            | Self::BadDecision { .. }
            | Self::SeveralMeant { .. }
            | Self::NotFrom { .. }
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
            Self::NoCapability { meant: Some(meant), .. } => format!("did you mean {meant}?"),
            Self::NoCapability { meant: None, .. } => {
                let known: Vec<&str> = Capability::KNOWN.iter().map(Capability::as_str).collect();
                format!("capabilities are {}", known.join(", "))
            }
            Self::AllowEverything => "allow what it needs, one by one; `pi ext scan` says what that may be".to_owned(),
            Self::BadDecision { .. } => {
                "read and write are narrowed by --path, http by --host, env by --env, exec by --command and --path"
                    .to_owned()
            }
            Self::SeveralMeant { origins, .. } => format!("say which with --from: {}", origins.join(", or ")),
            Self::NotFrom { found, .. } if found.is_empty() => "look at the path".to_owned(),
            Self::NotFrom { found, .. } => format!("it is called {} there", found.join(", ")),
            Self::AllowEverybody => "name the extension".to_owned(),
            Self::NoLedger { .. } => "ledgers are written when extensions run in a session".to_owned(),
            Self::NoSuchLedger { .. } => "`pi ext ledger list` lists them".to_owned(),
            Self::SeveralLedgers { sessions, .. } => format!("one of {}", sessions.join(", ")),
            Self::Ledger { .. } => "look at its permissions".to_owned(),
        }
    }
}
