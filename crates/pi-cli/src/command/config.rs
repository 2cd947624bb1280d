//! `pi config`: every setting, who chose it, and what cannot be used.

use std::path::{Path, PathBuf};

use pi_redact::Redactor;
use pi_server::{
    roots,
    settings::{Fault, Origin, Problem, Resolved, Row, Said, resolve, said_in, said_in_file},
};
use pi_session::settings::{self as session, Notice, Place};
use serde_json::{Map, Value, json};

use super::journal::redactor;
use crate::{
    arguments::{config::ConfigArguments, serve::SettingArguments},
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    table::{self, Align, Cell, Column, Room},
    workshop::{self, Ground},
};

const COLUMNS: [Column; 4] = [
    Column { title: "SETTING", align: Align::Left, room: Room::Whole },
    Column { title: "VALUE", align: Align::Right, room: Room::CutTo(8) },
    Column { title: "UNIT", align: Align::Left, room: Room::LeaveOut(1) },
    Column { title: "ORIGIN", align: Align::Left, room: Room::CutTo(12) },
];

pub(crate) fn run(
    arguments: &ConfigArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let here = std::env::current_dir().map_err(SessionFailure::NoFolder)?;
    let here = here.canonicalize().unwrap_or(here);
    let (_, _, sessions) = Ground::resolve(&here, environment);
    let server = resolved(&arguments.settings, environment.agent_directory.as_deref(), environment);
    let settings = sessions.rows.iter().map(Setting::of_session).chain(server.rows.iter().map(Setting::of_server));
    let is_wanted = |setting: &Setting| {
        arguments.names.is_empty() || arguments.names.iter().any(|name| setting.name.contains(name.as_str()))
    };
    let settings: Vec<Setting> = settings.filter(is_wanted).collect();
    show(&settings, console);
    let about_file: Vec<String> = server.problems.iter().map(ToString::to_string).collect();
    let notices = sessions.notices.iter().filter(|notice| !about_file.contains(&notice.to_string()));
    let wrong = server.problems.iter().map(Wrong::of_server).chain(notices.map(Wrong::of_session));
    for wrong in wrong {
        wrong.tell(console);
    }
    let broken = wrong_rules(environment);
    broken.iter().for_each(|wrong| wrong.tell(console));
    let is_good = !settings.is_empty() && broken.is_empty() && !server.problems.iter().any(Problem::is_fatal);
    if settings.is_empty() {
        console.remark("no setting is called like this; `pi config` shows all of them");
    }
    Ok(if is_good { Exit::Success } else { Exit::No })
}

/// What is wrong with the policy: no session begins with one that cannot be used. A file that cannot be read is told with the settings.
fn wrong_rules(environment: &Environment) -> Vec<Wrong> {
    match workshop::policy(environment) {
        Err(Failure::NotAPolicy { file, problems }) => {
            problems.iter().map(|problem| Wrong::of_policy(&file, problem)).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// What was said about the server, and what it means. Without an agent directory there is no file.
pub(super) fn resolved(arguments: &SettingArguments, agent: Option<&Path>, environment: &Environment) -> Resolved {
    let file = agent.map(|agent| said_in_file(&agent.join("settings.json"))).unwrap_or_default();
    let folder = agent.map(|agent| agent.join("server")).unwrap_or_default();
    let mut resolved = resolve(folder, file, &environment.server, said(arguments));
    resolved.settings.home.clone_from(&environment.home);
    resolved
}

fn said(arguments: &SettingArguments) -> Vec<Said> {
    let SettingArguments { listen, hosts, roots, log, log_format, set } = arguments;
    let mut said: Vec<Said> = set.iter().map(|(name, value)| said_in(name, value, Origin::Flag("--set"))).collect();
    if let Some(at) = listen {
        said.push(said_in("listen", &at.to_string(), Origin::Flag("--listen")));
    }
    if !hosts.is_empty() {
        said.push(Said { name: "hosts".to_owned(), value: json!(hosts), origin: Origin::Flag("--host") });
    }
    if !roots.is_empty() {
        let roots: Vec<String> = roots.iter().map(|root| from_here(root)).collect();
        said.push(Said { name: "roots".to_owned(), value: json!(roots), origin: Origin::Flag("--root") });
    }
    let words = [("logLevel", log, "--log"), ("logFormat", log_format, "--log-format")];
    let words = words.into_iter().filter_map(|(name, word, flag)| Some((name, word.as_deref()?, flag)));
    said.extend(words.map(|(name, word, flag)| said_in(name, word, Origin::Flag(flag))));
    said
}

/// A folder that was named on the command line, from / on. `~` is there only if the shell left it.
fn from_here(root: &str) -> String {
    if root == roots::HERE || root == roots::HOME || root.starts_with("~/") {
        return root.to_owned();
    }
    std::path::absolute(root).map_or_else(|_| root.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The server's settings as a table, and what is wrong with them.
pub(super) fn show_server(resolved: &Resolved, console: &mut Console) {
    let settings: Vec<Setting> = resolved.rows.iter().map(Setting::of_server).collect();
    show(&settings, console);
}

/// A setting as it is shown.
struct Setting {
    name: String,
    value: Value,
    unit: Option<&'static str>,
    said: Whence,
}

/// Where something was said.
enum Whence {
    Nowhere,
    File(PathBuf, Option<Place>),
    Variable(String),
    Flag(String),
}

impl Setting {
    fn of_session(row: &session::Row) -> Self {
        let said = row.file.clone().map_or(Whence::Nowhere, |file| Whence::File(file, row.place));
        let unit = session::keys::find(row.key).and_then(|key| key.unit);
        Self { name: row.key.to_owned(), value: row.value.clone(), unit, said }
    }

    fn of_server(row: &Row) -> Self {
        let unit = row.key.unit().map(|unit| unit.word());
        Self { name: format!("server.{}", row.key.name), value: row.value.clone(), unit, said: Whence::of(&row.origin) }
    }

    fn object(&self, redactor: &Redactor) -> Value {
        let mut value = self.value.clone();
        redactor.redact_value(&mut value);
        let mut object = Map::from_iter([("setting".to_owned(), json!(self.name)), ("value".to_owned(), value)]);
        object.extend(self.unit.map(|unit| ("unit".to_owned(), json!(unit))));
        object.extend(self.said.members());
        object.into()
    }

    fn cells(&self, redactor: &Redactor) -> Vec<Cell> {
        let value = match &self.value {
            Value::Null => "-".to_owned(),
            Value::String(text) => redactor.redact_text(text).into_owned(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                let mut value = self.value.clone();
                redactor.redact_value(&mut value);
                value.to_string()
            }
        };
        let tone = match self.said {
            Whence::Nowhere => Tone::Quiet,
            Whence::File(..) | Whence::Variable(_) | Whence::Flag(_) => Tone::Strong,
        };
        vec![
            Cell::plain(&self.name),
            Cell::toned(tone, value),
            Cell::plain(self.unit.unwrap_or_default()),
            Cell::toned(tone, self.said.shown()),
        ]
    }
}

impl Whence {
    fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Default => Self::Nowhere,
            Origin::File { file, place } => Self::File(file.clone(), *place),
            Origin::Variable(name) => Self::Variable(name.clone()),
            Origin::Flag(flag) => Self::Flag((*flag).to_owned()),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Nowhere => "default".to_owned(),
            Self::File(file, Some(place)) => format!("{}:{}", file.display(), place.line),
            Self::File(file, None) => file.display().to_string(),
            Self::Variable(name) | Self::Flag(name) => name.clone(),
        }
    }

    /// The same for machines.
    fn members(&self) -> Map<String, Value> {
        let object = match self {
            Self::Nowhere => json!({"origin": "default"}),
            Self::File(file, Some(place)) => {
                json!({"origin": "file", "file": file, "line": place.line, "column": place.column})
            }
            Self::File(file, None) => json!({"origin": "file", "file": file}),
            Self::Variable(name) => json!({"origin": "variable", "variable": name}),
            Self::Flag(flag) => json!({"origin": "flag", "flag": flag}),
        };
        match object {
            Value::Object(members) => members,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        }
    }
}

fn show(settings: &[Setting], console: &mut Console) {
    let redactor = redactor();
    match console.reader() {
        Reader::Machine => settings.iter().for_each(|setting| console.line(&setting.object(&redactor).to_string())),
        Reader::Person if settings.is_empty() => {}
        Reader::Person => {
            let rows: Vec<Vec<Cell>> = settings.iter().map(|setting| setting.cells(&redactor)).collect();
            table::show(&COLUMNS, &rows, console);
        }
    }
}

/// Something that cannot be used.
struct Wrong {
    /// With its place, for people.
    told: String,
    what: String,
    is_error: bool,
    said: Whence,
}

impl Wrong {
    fn of_server(problem: &Problem) -> Self {
        let said = match (&problem.origin, &problem.fault) {
            (Origin::File { file, .. }, Fault::File(session::Problem::NotJson { line, column, .. })) => {
                Whence::File(file.clone(), Some(Place { line: *line, column: *column }))
            }
            (origin, _) => Whence::of(origin),
        };
        Self { told: problem.to_string(), what: problem.fault.to_string(), is_error: problem.is_fatal(), said }
    }

    fn of_session(notice: &Notice) -> Self {
        let said = notice.file.clone().map_or(Whence::Nowhere, |file| Whence::File(file, notice.place));
        Self { told: notice.to_string(), what: notice.problem.to_string(), is_error: false, said }
    }

    fn of_policy(file: &str, problem: &pi_policy::config::Problem) -> Self {
        let what = format!("{}: {}", problem.path, problem.fault);
        Self { told: format!("{file}: {what}"), what, is_error: true, said: Whence::File(PathBuf::from(file), None) }
    }

    fn tell(&self, console: &mut Console) {
        if console.reader() == Reader::Machine {
            let severity = if self.is_error { "error" } else { "note" };
            let mut object = self.said.members();
            object.insert("problem".to_owned(), json!(self.what));
            object.insert("severity".to_owned(), json!(severity));
            console.line(&Value::Object(object).to_string());
        }
        match self.is_error {
            true => console.complaint(&self.told),
            false => console.note(&self.told),
        }
    }
}
