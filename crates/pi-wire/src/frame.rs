//! One frame of a client: from bytes to a command that is known to be well-formed.
//!
//! Start with [`parse`]. Inside the server nobody looks at JSON again: a [`Frame`] is the proof that its command is known
//! and that every field is as the registry and the rules want it.

pub(crate) mod members;
pub(crate) mod opening;

use pi_transcript::{SessionId, json::Extra};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    Limits,
    command::{CreateSession, DeleteSession, ListExtensions, LoadSession, Subscribe, SwitchSession, Unsubscribe},
    fault::Fault,
    fields::Fields,
    id::{CommandId, IdempotencyKey},
    registry::{Class, Kind, ServerCommand, SessionCommand, Target},
    reject::{Cause, Reject},
    rule::{Refused, Report, Rule, names},
};

/// A well-formed command with everything that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub head: Head,
    pub command: Command,
    /// Members that we do not know. They change nothing but the fingerprint.
    pub extra: Extra,
}

/// What any command may carry beside its payload: §4.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub id: Option<CommandId>,
    /// Commands that must have succeeded first; not empty only with an `id`.
    pub depends_on: Vec<CommandId>,
    pub if_session_version: Option<u64>,
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A command, by who does it.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Server(ServerCommand),
    Session(SessionId, SessionCommand),
}

/// Whether a session has a run in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Idle,
    Running,
}

/// Reads one frame.
///
/// The size is checked before anything else; memory stays within a small multiple of the limits, whatever the bytes.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Frame, Box<Reject>> {
    let mut members = members::read(bytes, limits).map_err(|cause| Box::new(Reject::unreadable(bytes, cause)))?;
    let id = members.take("id");
    let name = match members.take("type") {
        Some(Value::String(name)) if !name.is_empty() => name,
        _ => return Err(Box::new(Reject::new(id, None, Cause::invalid("type", Fault::NoType)))),
    };
    let Some(kind) = Kind::named(&name) else {
        let nearest = Kind::nearest(&name);
        return Err(Box::new(Reject::new(id, Some(&name), Cause::UnknownCommand { name: name.clone(), nearest })));
    };
    let mut fields = Fields::new(members, Report::default());
    let has_id = check_id(id.as_ref(), &mut fields.report);
    let read = read_head(kind, has_id, &mut fields).zip(read_command(kind, &mut fields));
    let (extra, report) = fields.finish();
    let faults = report.faults();
    match read {
        Some((head, command)) if faults.is_empty() => {
            let id = id.and_then(|id| if let Value::String(id) = id { Some(CommandId(id)) } else { None });
            Ok(Frame { head: Head { id, ..head }, command, extra })
        }
        _ => Err(Box::new(Reject::new(id, Some(kind.name()), Cause::Invalid(faults)))),
    }
}

/// Whether there is an id; what is wrong with it is reported. The id itself stays untouched, to be echoed as it was sent.
fn check_id(id: Option<&Value>, report: &mut Report) -> bool {
    let Some(id) = id else { return false };
    report.within_member("id", |report| {
        let checked = match id {
            Value::String(text) => names::COMMAND_ID.text.check(text, report),
            _ => Err(Refused::Mistyped),
        };
        if checked == Err(Refused::Mistyped) {
            report.fault(Fault::Mistyped(names::COMMAND_ID.wanted()));
        }
    });
    true
}

fn read_head(kind: Kind, has_id: bool, fields: &mut Fields<'_>) -> Option<Head> {
    let idempotency_key = fields.optional("idempotencyKey", &names::IDEMPOTENCY_KEY);
    let depends_on = fields.defaulted("dependsOn", &names::DEPENDENCIES);
    if !has_id && depends_on.as_ref().is_some_and(|list| !list.is_empty()) {
        fields.report.within_member("id", |report| report.fault(Fault::IdRequired));
    }
    let if_session_version = fields.optional("ifSessionVersion", &names::WHOLE);
    if !kind.spec().takes_version() && matches!(if_session_version, Some(Some(_))) {
        fields.report.within_member("ifSessionVersion", |report| report.fault(Fault::VersionNotSupported));
    }
    Some(Head {
        id: None,
        depends_on: depends_on?,
        if_session_version: if_session_version?,
        idempotency_key: idempotency_key?,
    })
}

fn read_command(kind: Kind, fields: &mut Fields<'_>) -> Option<Command> {
    let session_id = match kind.spec().target {
        Target::Session => fields.required_or("sessionId", &names::SESSION_ID, || Fault::NoSession),
        Target::Server => None,
    };
    let command = kind.read(session_id, fields);
    // Where it is no argument, a session's id is one more unknown member; but an object there is surely a mistake.
    if fields.members().get("sessionId").is_some_and(|stray| !stray.is_string()) {
        fields.report.within_member("sessionId", |report| report.fault(Fault::Mistyped(crate::fault::Wanted::String)));
    }
    command
}

impl Frame {
    pub fn kind(&self) -> Kind {
        self.command.kind()
    }

    /// Payload and unknown members, without the head: what the command *means*. Fields that hold their default are
    /// left out.
    pub(crate) fn meaning(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("type".to_owned(), self.kind().name().into());
        match &self.command {
            Command::Server(command) => command.write(&mut members),
            Command::Session(session_id, command) => {
                members.insert("sessionId".to_owned(), session_id.as_str().into());
                command.write(&mut members);
            }
        }
        members.extend(self.extra.iter().map(|(name, value)| (name.clone(), value.clone())));
        members
    }
}

/// As a client sends it.
impl Serialize for Frame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = self.meaning();
        let Head { id, depends_on, if_session_version, idempotency_key } = &self.head;
        if let Some(id) = id {
            members.insert("id".to_owned(), id.as_str().into());
        }
        if !depends_on.is_empty() {
            members.insert("dependsOn".to_owned(), depends_on.iter().map(CommandId::as_str).collect());
        }
        if let Some(version) = if_session_version {
            members.insert("ifSessionVersion".to_owned(), (*version).into());
        }
        if let Some(key) = idempotency_key {
            members.insert("idempotencyKey".to_owned(), key.as_str().into());
        }
        members.serialize(serializer)
    }
}

impl Command {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Server(command) => command.kind(),
            Self::Session(_, command) => command.kind(),
        }
    }

    /// The session in whose lane it stands; [`subject`](Self::subject) says what it is about.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Server(_) => None,
            Self::Session(session_id, _) => Some(session_id),
        }
    }

    /// The session that it is about, in whichever lane it stands: whose version `ifSessionVersion` means and the answer
    /// carries, and which lifecycle events name. `None` also where the server chooses the session's id.
    pub fn subject(&self) -> Option<&SessionId> {
        match self {
            Self::Session(session_id, _)
            | Self::Server(
                ServerCommand::DeleteSession(DeleteSession { session_id })
                | ServerCommand::SwitchSession(SwitchSession { session_id })
                | ServerCommand::Subscribe(Subscribe { session_id, .. })
                | ServerCommand::Unsubscribe(Unsubscribe { session_id }),
            ) => Some(session_id),
            Self::Server(
                ServerCommand::CreateSession(CreateSession { session_id, .. })
                | ServerCommand::LoadSession(LoadSession { session_id, .. })
                | ServerCommand::ListExtensions(ListExtensions { session_id }),
            ) => session_id.as_ref(),
            Self::Server(
                ServerCommand::ListSessions(_)
                | ServerCommand::GetMetrics(_)
                | ServerCommand::HealthCheck(_)
                | ServerCommand::ListStoredSessions(_)
                | ServerCommand::GetStartupRecovery(_)
                | ServerCommand::GetCommandHistory(_)
                | ServerCommand::SetLifecycle(_)
                | ServerCommand::DeleteStoredSession(_)
                | ServerCommand::EnableExtension(_)
                | ServerCommand::DisableExtension(_)
                | ServerCommand::ReloadExtensions(_),
            ) => None,
        }
    }

    /// What it is to its lane at this moment.
    ///
    /// Only of a `prompt` that depends on the moment: it joins a run only while one is in flight, and
    /// `is_extension_command` says which slash commands the session's extensions have. Those are called at once, also
    /// by a prompt that would otherwise join the run. A `navigate_tree` that waits for a model to sum up is a job as `compact`
    /// is; without that it is over soon.
    pub fn class(&self, activity: Activity, is_extension_command: impl FnOnce(&str) -> bool) -> Class {
        match self {
            Self::Session(_, SessionCommand::Prompt(prompt)) => {
                if prompt.slash_command().is_some_and(is_extension_command) {
                    Class::ExtensionCommand
                } else if activity == Activity::Running && prompt.streaming_behavior.is_some() {
                    Class::JoinsRun
                } else {
                    Class::Run
                }
            }
            Self::Session(_, SessionCommand::NavigateTree(wanted)) if wanted.options.known.summarize => Class::LongWork,
            Self::Server(_) | Self::Session(_, _) => self.kind().spec().class,
        }
    }
}
