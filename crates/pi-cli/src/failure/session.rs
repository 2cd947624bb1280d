//! Why there is no session to go on with, and what to do about it.

use std::io;

use pi_session::{
    PromptError, SessionGone, Silence,
    directory::{FindError, ForkError, KeepError, Stored},
    export::{ExportError, UnknownEnding},
    file::OpenError,
    input::InputError,
    resources::Problem,
    settings::change::ChangeError,
};
use pi_terminal::DeviceError;

use crate::{arguments::flags, exit::Exit};

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionFailure {
    #[error("{problem}")]
    NoExtensions { problem: String, hint: String },
    #[error("{}", problems.join("\n"))]
    Unloaded { problems: Vec<String> },
    #[error("{option} {value}: {why}")]
    Unusable { option: &'static str, value: String, why: String },
    #[error("pi has no option --{name}, and no extension here has a flag {name}")]
    NoSuchFlag { name: String, names: Vec<String> },
    #[error("the flag {name} takes {wanted}")]
    FlagValue { name: String, wanted: &'static str },
    #[error("there is nothing to say")]
    NothingToSay {
        /// A flag of an extension with a value, which may have been meant as the message.
        valued: Option<String>,
    },
    #[error("nothing is piped in, and `-` stands for it")]
    NothingPiped,
    #[error("standard input is larger than {limit} MiB")]
    MuchPiped { limit: u64 },
    #[error("standard input is not text")]
    PipedNoText,
    #[error("the folder that you are in cannot be used")]
    NoFolder(#[source] io::Error),
    #[error("{model}, the model of this session, ran on a server that was named by its address")]
    ServerGone { model: String },
    #[error("{model}, the model of this session, was asked at {address} and not where its provider is")]
    Elsewhere { model: String, address: String },
    #[error("the model of this session, {model}, cannot be asked: {why}")]
    ModelGone { model: String, why: String },
    #[error("there is neither a command nor a template /{name}")]
    NoSuchTemplate { name: String, nearest: Option<String> },
    #[error("the session cannot be deleted")]
    Keep(#[source] KeepError),
    #[error("nobody is here who could say whether {what} to be deleted")]
    Unconfirmed { what: String },
    #[error("there is no place for sessions: neither a home folder nor --session-dir")]
    Homeless,
    #[error("there is no tool {name}")]
    NoSuchTool { name: String, names: Vec<String> },
    #[error("there is no model {model}{}, and no extension brings it", named_in(default_in.as_deref()))]
    NoSuchModel {
        model: String,
        /// The settings whose default it is, where nobody named it.
        default_in: Option<String>,
    },
    #[error("{model} cannot be asked: {why}")]
    ProviderNotUsed { model: String, why: String },
    #[error(transparent)]
    Find(FindError),
    #[error(transparent)]
    Open(OpenError),
    #[error("nobody is here to choose a session")]
    NobodyChooses { sessions: Vec<Stored> },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{file} exists already")]
    Exists { file: String },
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
    #[error(transparent)]
    Gone(#[from] SessionGone),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("the session fell silent")]
    Silent(#[from] Silence),
    #[error("there is no agent directory in which a decision could be remembered")]
    NothingRemembered,
    #[error(transparent)]
    Trust(ChangeError),
    #[error("{} sessions begin with {word:?}", sessions.len())]
    Several { word: String, sessions: Vec<Stored> },
    #[error("cannot read the folder of sessions {folder}")]
    FolderOfSessions { folder: String, source: io::Error },
    #[error(transparent)]
    Ending(UnknownEnding),
}

/// How many sessions are listed where somebody has to choose.
const LISTED: usize = 10;

/// Where a name comes from that nobody said.
fn named_in(file: Option<&str>) -> String {
    file.map(|file| format!(", the default in {file}")).unwrap_or_default()
}

impl SessionFailure {
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NoExtensions { hint, .. } => hint.clone(),
            Self::Unloaded { .. } => {
                "correct that and start pi again, or leave --extension out; with it, nothing is said to a model unless it loads"
                    .to_owned()
            }
            Self::Unusable { option, .. } => {
                let takes = match *option {
                    "--session-dir" => "a folder that can be written to",
                    "--trace-protocol" => "a file that can be written to",
                    _ => "the path of a file or a folder, and not a name",
                };
                format!("{option} takes {takes}; correct it, or leave it out")
            }
            Self::NoSuchFlag { name, names } => {
                let flags = match names.as_slice() {
                    [] => format!("leave --{name} (or --extension-flag {name}) out"),
                    names => format!("their flags are {}; write --NAME or --extension-flag NAME[=VALUE]", names.join(", ")),
                };
                let option = flags::nearest(name).map(|option| format!("; the option of pi nearest to it is {option}"));
                flags + &option.unwrap_or_default()
            }
            Self::FlagValue { name, wanted } if *wanted == "a value" => {
                format!("write --{name}=text, or --extension-flag {name}=text")
            }
            Self::FlagValue { name, .. } => {
                format!("write --{name}=true, or --extension-flag {name}; a message stands before it, or behind --")
            }
            Self::NothingToSay { valued: Some(flag) } => {
                format!("{flag} is a flag with a value; write the message before it, or behind --: pi -p --NAME -- 'Hello'")
            }
            Self::NothingToSay { valued: None } => {
                "write it as an argument, `pi -p 'What is in this folder?'`, or pipe it in".to_owned()
            }
            Self::NothingPiped => "pipe something in, `git diff | pi -p 'Review this' -`, or leave `-` out".to_owned(),
            Self::MuchPiped { .. } => {
                "write it to a file and let the agent look into that, or pipe a part of it: `… | tail -n 1000 | pi -p …`"
                    .to_owned()
            }
            Self::PipedNoText => "attach a picture as @FILE; of other files the agent can read what is text".to_owned(),
            Self::NoFolder(source) if source.kind() == io::ErrorKind::NotFound => {
                "it was deleted; go to another one with `cd`".to_owned()
            }
            Self::NoFolder(_) => "check who may use it, or go to another one with `cd`".to_owned(),
            Self::ServerGone { model } => format!(
                "say where {model} is with `pi -c --base-url URL`, or let another model go on with --model PROVIDER/MODEL"
            ),
            Self::Elsewhere { address, .. } => format!(
                "`pi -c --base-url {address}` goes on there; --model PROVIDER/MODEL lets another model go on"
            ),
            Self::ModelGone { .. } => {
                "let another model go on with --model PROVIDER/MODEL; `pi models --available` lists those that can be \
                 asked"
                    .to_owned()
            }
            Self::NoSuchTemplate { name, nearest } => {
                let meant = nearest.as_ref().map(|name| format!("did you mean /{name}? ")).unwrap_or_default();
                format!("{meant}commands such as /help are for the chat, and ' /{name}' with a blank before it is said as it is")
            }
            Self::Keep(_) => "end whatever has it open, and check who may write to its folder".to_owned(),
            Self::Unconfirmed { .. } => "--yes says so".to_owned(),
            Self::Homeless => {
                "set HOME, name a folder with --session-dir, or keep nothing with --no-session".to_owned()
            }
            Self::NoSuchTool { names, .. } => format!("the tools are {}", names.join(", ")),
            Self::NoSuchModel { default_in: Some(file), .. } => {
                format!("correct defaultProvider and defaultModel in {file}, or name a model with --model")
            }
            Self::NoSuchModel { default_in: None, .. } => {
                "`pi models` shows those that need no extension; `pi ext inspect FILE` shows what an extension brings".to_owned()
            }
            Self::ProviderNotUsed { .. } => {
                "correct that in the extension, or name another model with --model; `pi models` shows them".to_owned()
            }
            Self::Find(FindError::NotFound { .. }) => "`pi sessions --all` lists every session with its id".to_owned(),
            Self::Several { sessions, .. } => {
                format!("write more of the id:{}", listed(sessions))
            }
            Self::FolderOfSessions { .. } => {
                "check the folder and who may read it; --session-dir names another, and sessionDir in settings.json too"
                    .to_owned()
            }
            Self::NothingRemembered => "set HOME, or name the folder with PI_CODING_AGENT_DIR".to_owned(),
            Self::Trust(ChangeError::NotAnObject { .. } | ChangeError::NotText { .. } | ChangeError::UnknownKey { .. }) => {
                "correct the file, or move it away".to_owned()
            }
            Self::Trust(ChangeError::Io { .. }) => "check the folder, the disk, and who may write there".to_owned(),
            Self::Ending(unknown) => unknown.hint().to_owned(),
            Self::Find(FindError::Ambiguous { paths, .. }) => {
                let lines: String = paths.iter().take(LISTED).map(|path| format!("\n  {}", path.display())).collect();
                format!("write more of the id, or the file:{lines}")
            }
            Self::Find(FindError::Io(_)) => "check who may read the folder of sessions".to_owned(),
            Self::Open(error) => open_hint(error).to_owned(),
            Self::NobodyChooses { sessions } if sessions.is_empty() => {
                "there is no session in this folder yet".to_owned()
            }
            Self::NobodyChooses { sessions } => {
                format!("name one with --session, or take the last with --continue:{}", listed(sessions))
            }
            Self::Exists { .. } => "choose another name, or write over it with --force".to_owned(),
            Self::NotKept => "begin one without --no-session".to_owned(),
            Self::Fork(_) => "check the folder of sessions, and the disk".to_owned(),
            Self::Terminal(_) => "`pi -p` needs no terminal".to_owned(),
            Self::NoneYet => "begin one with `pi -p`; `pi sessions --all` lists those of other folders".to_owned(),
            Self::Export(error) => export_hint(error).to_owned(),
            Self::Input(error) => input_hint(error).to_owned(),
            Self::Gone(_) | Self::Prompt(_) | Self::Silent(_) => {
                "go on with `pi --continue`: what was said is in the file".to_owned()
            }
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoExtensions { .. }
            | Self::Unloaded { .. }
            | Self::Unusable { .. }
            | Self::NoSuchFlag { .. }
            | Self::FlagValue { .. }
            | Self::NothingToSay { .. }
            | Self::NothingPiped
            | Self::MuchPiped { .. }
            | Self::PipedNoText
            | Self::NoFolder(_)
            | Self::ServerGone { .. }
            | Self::Elsewhere { .. }
            | Self::NoSuchTemplate { .. }
            | Self::Keep(_)
            | Self::Unconfirmed { .. }
            | Self::ModelGone { .. }
            | Self::Exists { .. }
            | Self::NoneYet
            | Self::NotKept
            | Self::Fork(_)
            | Self::Terminal(_)
            | Self::Export(_)
            | Self::Homeless
            | Self::NoSuchTool { .. }
            | Self::NoSuchModel { .. }
            | Self::ProviderNotUsed { .. }
            | Self::Find(_)
            | Self::Open(_)
            | Self::NobodyChooses { .. }
            | Self::Input(_)
            | Self::NothingRemembered
            | Self::Trust(_)
            | Self::Several { .. }
            | Self::FolderOfSessions { .. }
            | Self::Ending(_) => Exit::Trouble,
            Self::Gone(_) | Self::Prompt(_) | Self::Silent(_) => Exit::No,
        }
    }
}

/// What to do about a session that cannot be opened.
fn open_hint(error: &OpenError) -> &'static str {
    match error {
        OpenError::InUse { .. } => {
            "go on there: the page of `pi serve` shows its sessions and closes them, a chat ends with ctrl+d; or begin another \
             one, and `pi export` reads this one meanwhile"
        }
        OpenError::NotFound { .. } => "check the name; `pi sessions` lists what there is",
        OpenError::NotASession { .. } | OpenError::Unfinished { .. } => "`pi sessions` lists those that can be used",
        OpenError::Elsewhere { .. } => "somebody put a link on the way to it; look there, then try again",
        OpenError::Io { .. } => "check the file, its folder and who may use them",
    }
}

/// What to do about one that cannot be exported.
fn export_hint(error: &ExportError) -> &'static str {
    match error {
        ExportError::Open(_) => "`pi sessions` lists those that can be read",
        ExportError::NoEnvelopes => "sessions that Pi made, and those of which nobody kept envelopes, have none",
        ExportError::NoRequest { .. } => "`pi export SESSION --envelope --list` lists the requests",
        ExportError::Read(_) | ExportError::Envelopes(_) => {
            "the file was changed or is damaged; check it and try again"
        }
    }
}

/// What to do about something that cannot be said.
fn input_hint(error: &InputError) -> &'static str {
    match error {
        InputError::UnknownSkill { .. } => {
            "`/skill:` in the chat lists those that there are; with a blank before it, it is said as it is"
        }
        InputError::Misused { .. } => "write what the command wants behind its name",
        InputError::Missing { .. } => {
            "check the name after the @, which counts from this folder; a message that begins with @ needs a blank \
                 before it"
        }
        InputError::Outside { .. } => "ask the agent to read it, if policy lets it",
        InputError::NotAFile { .. } => "name a file in it, or ask the agent to look into the folder",
        InputError::NotText { .. } => {
            "text and pictures (PNG, JPEG, GIF, WebP) can be attached; ask the agent to look into other files"
        }
        InputError::Unreadable { problem: Problem::TooLarge { .. }, .. } => {
            "ask the agent to look into the file instead of attaching it"
        }
        InputError::Unreadable { .. } => "check the file and who may read it",
    }
}

/// Sessions to choose from, each by so much of its id that no other is meant.
fn listed(sessions: &[Stored]) -> String {
    let length = crate::command::sessions::telling(sessions);
    let line = |stored: &Stored| {
        let id: String = stored.id.as_str().chars().take(length).collect();
        let first: String = stored.title().chars().take(60).collect();
        format!("\n  {id}  {first}")
    };
    let more = sessions.len().saturating_sub(LISTED);
    let more =
        if more > 0 { format!("\n  … and {more} more; `pi sessions --all` lists them") } else { String::new() };
    sessions.iter().take(LISTED).map(line).collect::<String>() + &more
}
