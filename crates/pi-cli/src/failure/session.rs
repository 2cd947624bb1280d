//! Why there is no session to go on with, and what to do about it.

use pi_session::{
    PromptError, SessionGone, Silence,
    directory::{FindError, ForkError, Stored},
    export::ExportError,
    file::OpenError,
    input::InputError,
};
use pi_terminal::DeviceError;

use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionFailure {
    #[error("there is nothing to say")]
    NothingToSay,
    #[error("there is no place for sessions: neither a home folder nor --session-dir")]
    Homeless,
    #[error("there is no tool {name}")]
    NoSuchTool { name: String, names: Vec<String> },
    #[error(transparent)]
    Find(FindError),
    #[error(transparent)]
    Open(OpenError),
    #[error("nobody is here to choose a session")]
    NobodyChooses { sessions: Vec<Stored> },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("there is no session in this folder yet")]
    NoneYet,
    #[error("this session is kept nowhere, so it has no forks")]
    NotKept,
    #[error(transparent)]
    Fork(ForkError),
    #[error(transparent)]
    Terminal(DeviceError),
    #[error(transparent)]
    Export(ExportError),
    #[error("the session cannot be started")]
    Start(#[source] std::io::Error),
    #[error(transparent)]
    Gone(#[from] SessionGone),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("the session fell silent")]
    Silent(#[from] Silence),
}

/// How many sessions are listed where somebody has to choose.
const LISTED: usize = 10;

impl SessionFailure {
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NothingToSay => {
                "write it as an argument, `pi -p 'What is in this folder?'`, or pipe it in".to_owned()
            }
            Self::Homeless => {
                "set HOME, name a folder with --session-dir, or keep nothing with --no-session".to_owned()
            }
            Self::NoSuchTool { names, .. } => format!("the tools are {}", names.join(", ")),
            Self::Find(FindError::NotFound { .. }) => "`pi sessions --all` lists every session with its id".to_owned(),
            Self::Find(FindError::Ambiguous { paths, .. }) => {
                let paths: Vec<String> = paths.iter().take(LISTED).map(|path| path.display().to_string()).collect();
                format!("write more of the id, or the file: {}", paths.join(", "))
            }
            Self::Find(FindError::Io(_)) => "check who may read the folder of sessions".to_owned(),
            Self::Open(OpenError::InUse { .. }) => {
                "close it there, or begin another one; `pi export` reads it meanwhile".to_owned()
            }
            Self::Open(OpenError::NotFound { .. }) => "check the name; `pi sessions` lists what there is".to_owned(),
            Self::Open(OpenError::NotASession { .. } | OpenError::Unfinished { .. }) => {
                "`pi sessions` lists those that can be used".to_owned()
            }
            Self::Open(OpenError::Io { .. }) => "check the file, its folder and who may use them".to_owned(),
            Self::NobodyChooses { sessions } if sessions.is_empty() => {
                "there is no session in this folder yet".to_owned()
            }
            Self::NobodyChooses { sessions } => {
                let line = |stored: &Stored| {
                    let id: String = stored.id.as_str().chars().take(13).collect();
                    let first: String = stored.first_message.chars().take(60).collect();
                    format!("\n  {id}  {}", first.replace('\n', " "))
                };
                let lines: String = sessions.iter().take(LISTED).map(line).collect();
                format!("name one with --session, or take the last with --continue:{lines}")
            }
            Self::NotKept => "begin one without --no-session".to_owned(),
            Self::Fork(_) => "check the folder of sessions, and the disk".to_owned(),
            Self::Terminal(_) => "`pi -p` needs no terminal".to_owned(),
            Self::NoneYet => "begin one with `pi -p`; `pi sessions --all` lists those of other folders".to_owned(),
            Self::Export(ExportError::Open(_)) => "`pi sessions` lists those that can be read".to_owned(),
            Self::Export(ExportError::NoEnvelopes) => {
                "sessions that Pi made, and those of which nobody kept envelopes, have none".to_owned()
            }
            Self::Export(ExportError::NoRequest { .. }) => {
                "`pi export SESSION --envelope --list` lists the requests".to_owned()
            }
            Self::Export(ExportError::Read(_) | ExportError::Envelopes(_)) => {
                "the file was changed or is damaged; check it and try again".to_owned()
            }
            Self::Input(_) => "check the name after the @".to_owned(),
            Self::Start(_) => "the system refuses more threads; close some programs".to_owned(),
            Self::Gone(_) | Self::Prompt(_) | Self::Silent(_) => {
                "go on with `pi --continue`: what was said is in the file".to_owned()
            }
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NothingToSay
            | Self::NoneYet
            | Self::NotKept
            | Self::Fork(_)
            | Self::Terminal(_)
            | Self::Export(_)
            | Self::Homeless
            | Self::NoSuchTool { .. }
            | Self::Find(_)
            | Self::Open(_)
            | Self::NobodyChooses { .. }
            | Self::Input(_)
            | Self::Start(_) => Exit::Trouble,
            Self::Gone(_) | Self::Prompt(_) | Self::Silent(_) => Exit::No,
        }
    }
}
