//! From what was said in a file, in variables and in arguments to what it means.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use pi_session::settings::{self as session, Layer, Place};
use serde_json::Value;

use super::{
    Settings,
    keys::{self, Key},
    list::KEYS,
};

/// The variable that names the port alone.
const PORT: &str = "PI_SERVER_PORT";
/// What the names of our variables begin with.
const PREFIX: &str = "PI_SERVER_";
/// The member of the settings file.
const MEMBER: &str = "server";

/// Where a value was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is built in.
    Default,
    File {
        file: PathBuf,
        place: Option<Place>,
    },
    Variable(String),
    /// With its dashes.
    Flag(&'static str),
}

/// One thing that somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// As in [`KEYS`].
    pub name: String,
    pub value: Value,
    pub origin: Origin,
}

/// A setting, its value, and who chose it.
#[derive(Debug, Clone)]
pub struct Row {
    pub key: &'static Key,
    pub value: Value,
    pub origin: Origin,
}

/// Something that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub origin: Origin,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{MEMBER}.{name} is not known{}", nearest(.meant))]
    Unknown { name: String, meant: Option<&'static str> },
    /// It is one, and sessions have it.
    #[error("{name} is no setting of the server; here only those are set, others stand in settings.json")]
    OfSessions { name: String },
    /// It stands beside the others of the server instead of among them.
    #[error("{name} is not known here; did you mean {MEMBER}.{name}?")]
    Misplaced { name: &'static str },
    #[error("no setting has this variable{}", meant_variable(.meant))]
    UnknownVariable { meant: Option<&'static str> },
    /// Without the value: a secret may stand in the wrong place.
    #[error("{MEMBER}.{name} should be {expected}")]
    Value { name: &'static str, expected: String },
    #[error("it should be a port from 1 to 65535")]
    Port,
    #[error("{MEMBER}.{less} should not be more than {MEMBER}.{more}")]
    Order { less: &'static str, more: &'static str },
    #[error("{MEMBER} should be an object")]
    NotAnObject,
    /// Its name may have no dot: then it is the member of all of them.
    #[error("{name} stands there more than once")]
    Repeated { name: String },
    /// The file as a whole cannot be used.
    #[error("{0}")]
    File(session::Problem),
}

/// What the settings mean, where each comes from, and what cannot be used.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub settings: Settings,
    /// In the order of [`KEYS`].
    pub rows: Vec<Row>,
    pub problems: Vec<Problem>,
}

impl Problem {
    /// Whether a server must not start with it. A variable that nobody knows may be somebody else's.
    pub fn is_fatal(&self) -> bool {
        !matches!(self.fault, Fault::UnknownVariable { .. })
    }
}

/// What a settings file says about the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaidInFile {
    pub said: Vec<Said>,
    pub problems: Vec<Problem>,
}

/// What the person's settings file says. One that is not there says nothing.
pub fn said_in_file(file: &Path) -> SaidInFile {
    let layer = match Layer::read(session::Origin::User, file) {
        Ok(Some(layer)) => layer,
        Ok(None) => return SaidInFile::default(),
        Err(notice) => {
            let origin = Origin::File { file: file.to_owned(), place: None };
            let problem = Problem { origin, fault: Fault::File(notice.problem) };
            return SaidInFile { said: Vec::new(), problems: vec![problem] };
        }
    };
    let at = |key: &str| Origin::File { file: file.to_owned(), place: layer.place(key) };
    let misplaced = KEYS.iter().map(|key| key.name).filter(|name| session::keys::find(name).is_none());
    let misplaced = misplaced.filter(|name| layer.members.contains_key(*name));
    let mut problems: Vec<Problem> =
        misplaced.map(|name| Problem { origin: at(name), fault: Fault::Misplaced { name } }).collect();
    problems.extend(layer.repeated(MEMBER).into_iter().map(|name| {
        let origin = at(&name);
        Problem { origin, fault: Fault::Repeated { name } }
    }));
    let said = match layer.members.get(MEMBER) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(members)) => {
            let said = members.iter().filter(|(_, value)| !value.is_null());
            said.map(|(name, value)| Said {
                name: name.clone(),
                value: value.clone(),
                origin: at(&format!("{MEMBER}.{name}")),
            })
            .collect()
        }
        Some(_) => {
            problems.push(Problem { origin: at(MEMBER), fault: Fault::NotAnObject });
            Vec::new()
        }
    };
    SaidInFile { said, problems }
}

/// What a variable or an argument says.
pub fn said_in(name: &str, text: &str, origin: Origin) -> Said {
    let value = keys::find(name).map_or_else(|| text.into(), |key| key.read(text));
    Said { name: name.to_owned(), value, origin }
}

/// What all of it means together; what is said later counts more. Variables are those that begin with `PI_SERVER_`.
pub fn resolve(folder: PathBuf, file: SaidInFile, variables: &[(String, String)], flags: Vec<Said>) -> Resolved {
    let mut settings = Settings::usual(folder);
    let SaidInFile { mut said, mut problems } = file;
    said.extend(said_in_variables(variables, &mut problems));
    said.extend(flags);
    let mut origins = vec![Origin::Default; KEYS.len()];
    for Said { name, value, origin } in said {
        let Some(index) = KEYS.iter().position(|key| key.name == name) else {
            let meant = session::nearest(&name, KEYS.iter().map(|key| key.name));
            // In a file it would stand among those of the server, where nobody looks for it.
            let is_of_sessions = matches!(origin, Origin::Flag(_)) && session::keys::find(&name).is_some();
            let fault = if is_of_sessions { Fault::OfSessions { name } } else { Fault::Unknown { name, meant } };
            problems.push(Problem { origin, fault });
            continue;
        };
        let key = &KEYS[index];
        match key.set(&mut settings, &value) {
            Some(()) => origins[index] = origin,
            None => problems.push(Problem { origin, fault: Fault::Value { name: key.name, expected: key.expected() } }),
        }
    }
    problems.extend(disorder(&settings, &origins));
    let row = |(key, origin): (&'static Key, Origin)| Row { key, value: key.get(&settings), origin };
    let rows = KEYS.iter().zip(origins).map(row).collect();
    Resolved { settings, rows, problems }
}

/// Bounds of which one must not exceed the other. Whoever chose one of them is told.
fn disorder(settings: &Settings, origins: &[Origin]) -> Option<Problem> {
    let (less, more) = ("historyBytes", "journalMaxBytes");
    let chosen = |name: &str| {
        let chosen = KEYS.iter().zip(origins).find(|(key, _)| key.name == name).map(|(_, origin)| origin.clone());
        chosen.filter(|origin| *origin != Origin::Default)
    };
    let origin = chosen(less).or_else(|| chosen(more)).unwrap_or(Origin::Default);
    let is_wrong = settings.retention.bytes > settings.journal_bytes;
    is_wrong.then_some(Problem { origin, fault: Fault::Order { less, more } })
}

fn said_in_variables(variables: &[(String, String)], problems: &mut Vec<Problem>) -> Vec<Said> {
    let mut said = Vec::new();
    for (name, text) in variables {
        let origin = Origin::Variable(name.clone());
        let key = KEYS.iter().find(|key| key.variable() == *name);
        match key {
            Some(key) => said.push(said_in(key.name, text, origin)),
            None if name == PORT => match text.trim().parse::<u16>() {
                // The weakest of the variables: who names an address means it.
                Ok(port) if port != 0 => said.insert(0, said_in("listen", &format!("127.0.0.1:{port}"), origin)),
                Ok(_) | Err(_) => problems.push(Problem { origin, fault: Fault::Port }),
            },
            None => {
                let wanted = name.strip_prefix(PREFIX).unwrap_or(name).replace('_', "").to_lowercase();
                let meant = session::nearest(&wanted, KEYS.iter().map(|key| key.name));
                problems.push(Problem { origin, fault: Fault::UnknownVariable { meant } });
            }
        }
    }
    said
}

fn nearest(meant: &Option<&'static str>) -> String {
    meant.map(|name| format!("; did you mean {MEMBER}.{name}?")).unwrap_or_default()
}

fn meant_variable(meant: &Option<&'static str>) -> String {
    let key = meant.and_then(keys::find);
    key.map(|key| format!("; did you mean {}?", key.variable())).unwrap_or_default()
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, place: Some(place) } => write!(f, "{}:{place}", file.display()),
            Self::File { file, place: None } => write!(f, "{}", file.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.fault)
    }
}
