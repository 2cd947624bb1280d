//! Why a server does not start, or not any more.

use std::{io, net::SocketAddr, path::PathBuf};

use pi_server::{door::NotLoopback, journal::JournalError, lobby::Crowded, server::StartError, settings};
use pi_transcript::json::Problem;

/// Who has the port.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Occupant {
    #[error("your own server is there already{}", process.map(|number| format!(" (process {number})")).unwrap_or_default())]
    Own { process: Option<u32>, token: PathBuf },
    #[error("another server of pi is there, of somebody else or with another agent directory")]
    Pi,
    #[error("another program is there")]
    Other,
}

impl Occupant {
    fn hint(&self, port: u16) -> String {
        match self {
            Self::Own { process, token } => {
                let end = process.map(|number| format!(", or end it with `kill {number}`")).unwrap_or_default();
                format!("use it: its token is in {}{end}", token.display())
            }
            Self::Pi => "--listen 127.0.0.1:0 takes any port that is free".to_owned(),
            Self::Other => format!(
                "`ss -ltnp 'sport = :{port}'` or `lsof -i :{port}` says which; --listen 127.0.0.1:0 takes any port that is free"
            ),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeFailure {
    #[error("there is no place for the server's files: no home folder")]
    Homeless,
    #[error("the server's settings cannot be used")]
    Settings { problems: Vec<settings::Problem> },
    #[error("cannot listen on {at}")]
    Bind { at: SocketAddr, source: io::Error },
    #[error("cannot listen on {at}: {by}")]
    Taken { at: SocketAddr, by: Occupant },
    #[error(transparent)]
    NotLoopback(NotLoopback),
    #[error(transparent)]
    Start(StartError),
    #[error("client {name} has a server already: {by}")]
    SameClient { name: String, by: JournalError },
    #[error(transparent)]
    Crowded(Crowded),
    #[error(transparent)]
    Journal(JournalError),
    #[error("there is no journal at {}", path.display())]
    NoJournal { path: PathBuf },
    #[error("no server of yours runs")]
    NotRunning,
    #[error("the server that runs gave no ticket")]
    NoTicket,
    #[error("signals cannot be heard")]
    Signals(#[source] io::Error),
    #[error("standard error cannot be used for the log")]
    Log(#[source] io::Error),
    #[error("standard input cannot be read")]
    Input(#[source] io::Error),
    #[error("standard output cannot be used")]
    Output(#[source] io::Error),
}

impl ServeFailure {
    /// What is wrong in what was read, if it was.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let Self::Settings { problems } = self else { return Vec::new() };
        problems.iter().map(|it| Problem { path: String::new(), message: it.to_string() }).collect()
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Homeless => "set HOME, or PI_CODING_AGENT_DIR to a folder".to_owned(),
            Self::Settings { .. } => "`pi config server` shows every setting and who chose it".to_owned(),
            Self::Taken { at, by } => by.hint(at.port()),
            Self::Bind { .. } => "choose another address with --listen".to_owned(),
            Self::NotLoopback(_) => "leave --insecure-no-auth out, or listen on 127.0.0.1".to_owned(),
            Self::Start(StartError::Journal(JournalError::InUse { by, .. })) => {
                let end = by.as_ref().map_or("end it".to_owned(), |by| format!("end it with `kill {}`", by.process));
                format!(
                    "another server of yours runs: use it, {end}, or give this one a folder with PI_CODING_AGENT_DIR"
                )
            }
            Self::SameClient { .. } => "choose another --client-id, or leave it out".to_owned(),
            Self::Start(StartError::NotLoopback(_)) => {
                "leave --insecure-no-auth out, or listen on 127.0.0.1".to_owned()
            }
            Self::Start(StartError::Token(error)) => error.hint(),
            Self::Start(StartError::Journal(JournalError::Full(_))) => {
                "make room on the disk of the server's folder and start it again; the journal is left as it is"
                    .to_owned()
            }
            Self::Start(StartError::Journal(
                error @ (JournalError::Open { .. }
                | JournalError::Forbidden(_)
                | JournalError::Busy(_)
                | JournalError::Disk(_)
                | JournalError::TooLarge { .. }
                | JournalError::AtCeiling { .. }
                | JournalError::Database(_)),
            )) => error.hint().to_owned(),
            Self::Start(StartError::Journal(_)) => {
                "the file is left as it is; move it away to begin anew, sessions are kept in files of their own"
                    .to_owned()
            }
            Self::Start(StartError::Roots(error)) => error.hint().to_owned(),
            Self::Start(StartError::Folder { .. }) => "see that the folder can be written to".to_owned(),
            Self::NotRunning => "start one with `pi serve`; in a terminal it prints a ticket by itself".to_owned(),
            Self::NoTicket => "see its log, or start it again".to_owned(),
            Self::Journal(error) => error.hint().to_owned(),
            Self::NoJournal { .. } => "`pi serve` makes it when it starts; --journal names another file".to_owned(),
            Self::Crowded(_) | Self::Signals(_) | Self::Log(_) | Self::Input(_) | Self::Output(_) => {
                "start it again; if it stays so, please report it".to_owned()
            }
        }
    }
}
