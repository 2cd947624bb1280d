//! Records as rows: what the engine says of a command, in words that outlive a release.

use pi_engine::{
    Access, ClientName, CommandId, Ending, Failure, Fingerprint, Header, Key, Kind, Lane, Limit, Order, Outcome,
    Principal, Role, SessionName, Span,
};
use pi_redact::Redactor;
use pi_wire::{Error, Response, registry::Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::to_raw_value};

use super::fault::Malformed;
use crate::answer::{self, Answer};

/// The part of a header that needs no column of its own.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    order: String,
    access: String,
    limit: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) if_version: Option<u64>,
}

/// The part of a header that has columns.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) lane: String,
    pub(super) kind: String,
    pub(super) principal: String,
    pub(super) client: String,
    pub(super) id: Option<String>,
    pub(super) key: Option<String>,
    pub(super) fingerprint: [u8; 32],
    /// The session that it is about.
    pub(super) subject: Option<String>,
}

const ORDERS: [(Order, &str); 6] = [
    (Order::Work(Span::Short), "work"),
    (Order::Work(Span::Long), "long work"),
    (Order::Control { span: Span::Short, role: Role::Bystander }, "control"),
    (Order::Control { span: Span::Long, role: Role::Bystander }, "long control"),
    (Order::Control { span: Span::Short, role: Role::NeededByRun }, "needed by run"),
    (Order::Control { span: Span::Long, role: Role::NeededByRun }, "long, needed by run"),
];
const ACCESSES: [(Access, &str); 3] = [(Access::Read, "read"), (Access::Act, "act"), (Access::Write, "write")];
const LIMITS: [(Limit, &str); 4] = [
    (Limit::Brief, "brief"),
    (Limit::Normal, "normal"),
    (Limit::Extended, "extended"),
    (Limit::Unlimited, "unlimited"),
];

impl Rest {
    pub(super) fn of(header: &Header) -> Self {
        Self {
            about: header.about.as_ref().map(ToString::to_string),
            order: word(&ORDERS, header.order),
            access: word(&ACCESSES, header.access),
            limit: word(&LIMITS, header.limit),
            depends_on: header.depends_on.iter().map(ToString::to_string).collect(),
            if_version: header.if_version,
        }
    }

    pub(super) fn header(self, columns: &Columns) -> Result<Header, Malformed> {
        Ok(Header {
            principal: Principal::from(columns.principal.as_str()),
            client: ClientName::from(columns.client.as_str()),
            id: columns.id.as_deref().map(CommandId::from),
            key: columns.key.as_deref().map(Key::from),
            kind: Kind::from(columns.kind.as_str()),
            fingerprint: Fingerprint(columns.fingerprint),
            lane: lane(&columns.lane)?,
            about: self.about.map(SessionName::from),
            order: meaning(&ORDERS, &self.order)?,
            access: meaning(&ACCESSES, &self.access)?,
            limit: meaning(&LIMITS, &self.limit)?,
            depends_on: self.depends_on.into_iter().map(CommandId::from).collect(),
            if_version: self.if_version,
        })
    }
}

/// The header of a command of which the rest cannot be read. Its id is known, and its key where its lane is: by these it is
/// found again.
pub(super) fn known_by_name(columns: Columns) -> Header {
    let lane = lane(&columns.lane).ok().or_else(|| usual_lane(&columns));
    let key = columns.key.filter(|_| lane.is_some());
    Header {
        principal: Principal::from(columns.principal),
        client: ClientName::from(columns.client),
        id: columns.id.map(CommandId::from),
        key: key.map(Key::from),
        kind: Kind::from(columns.kind),
        fingerprint: Fingerprint(columns.fingerprint),
        lane: lane.unwrap_or(Lane::Server),
        about: None,
        order: Order::Work(Span::Short),
        access: Access::Write,
        limit: Limit::Normal,
        depends_on: Vec::new(),
        if_version: None,
    }
}

/// The lane in which commands of its kind stand: the server's, or that of the session which it is about.
fn usual_lane(columns: &Columns) -> Option<Lane> {
    let kind = pi_wire::Kind::all().find(|kind| kind.name() == columns.kind);
    match kind.map(|kind| kind.spec().target) {
        Some(Target::Server) => Some(Lane::Server),
        // A kind that nobody knows any more was one of a session as far as it names one.
        Some(Target::Session) | None => columns.subject.as_deref().map(|name| Lane::Session(SessionName::from(name))),
    }
}

fn word<T: PartialEq + Copy>(words: &[(T, &str)], value: T) -> String {
    let found = words.iter().find(|(known, _)| *known == value);
    found.map(|(_, word)| (*word).to_owned()).expect("the table has a word for every value")
}

fn meaning<T: Copy>(words: &[(T, &str)], text: &str) -> Result<T, Malformed> {
    let found = words.iter().find(|(_, word)| *word == text);
    found.map(|(value, _)| *value).ok_or_else(|| Malformed::Word(text.to_owned()))
}

fn lane(text: &str) -> Result<Lane, Malformed> {
    match text.split_once(':') {
        None if text == "server" => Ok(Lane::Server),
        Some(("session", name)) => Ok(Lane::Session(SessionName::from(name))),
        None | Some(_) => Err(Malformed::Word(text.to_owned())),
    }
}

/// How a command ended, as it is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) success: bool,
    pub(super) timed_out: bool,
    pub(super) recovered: bool,
    pub(super) error: Option<String>,
    pub(super) version: Option<u64>,
    /// A response without id.
    pub(super) answer: String,
}

impl Ended {
    /// Whatever looks like a secret is hidden: the file is read by more people than the answer was meant for.
    pub(super) fn of(kind: &Kind, outcome: &Outcome<Answer>, redactor: &Redactor) -> Self {
        let made;
        let answer = match &outcome.ending {
            Ending::Succeeded(answer) | Ending::Failed { body: answer, .. } => answer,
            Ending::Broken(failure) => {
                made = answer::broken(failure);
                &made
            }
        };
        let response = answer::response(None, kind.as_str().to_owned(), answer, outcome.version);
        let text = serde_json::to_string(&response).expect("an answer can be written as JSON");
        Self {
            success: outcome.is_success(),
            timed_out: outcome.is_timeout(),
            recovered: matches!(outcome.ending, Ending::Broken(Failure::Recovered)),
            error: outcome.error().map(|error| redactor.redact_text(&error).into_owned()),
            version: outcome.version,
            answer: redact(text, redactor),
        }
    }

    /// What is said again. The engine's own endings come back as failures with the same text and code.
    pub(super) fn outcome(self) -> Result<Outcome<Answer>, Malformed> {
        let response: Response<Value> = serde_json::from_str(&self.answer)?;
        let ending = match response.outcome {
            pi_wire::Outcome::Success(data) => {
                let text = data.map(|data| to_raw_value(&data)).transpose()?;
                Ending::Succeeded(pi_wire::Outcome::Success(text))
            }
            pi_wire::Outcome::Failure(failure) => {
                let error = failure.error.clone();
                Ending::Failed { error, body: pi_wire::Outcome::Failure(failure) }
            }
        };
        Ok(Outcome { ending, version: self.version })
    }
}

/// What is said of a command that ended, nobody can tell how any more. It does not run again.
pub(super) fn unreadable(version: Option<u64>) -> Outcome<Answer> {
    let error = Error::OutcomeUnreadable;
    Outcome { ending: Ending::Failed { error: error.to_string(), body: answer::failure(&error) }, version }
}

/// Most answers hold nothing to hide and stay as they are.
fn redact(text: String, redactor: &Redactor) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return text };
    let before = value.clone();
    redactor.redact_value(&mut value);
    if value == before { text } else { value.to_string() }
}
