//! `pi serve --check-config`: everything that a start would look at, looked at one after the other.
//!
//! What is wrong stops nothing here: whoever mends a configuration wants to know of all of it.

use pi_server::{
    door, journal,
    roots::Roots,
    server::StartError,
    settings::{Resolved, Settings},
};
use serde_json::{Value, json};

use super::{address, closed_to_others, folders, prepare, sorted};
use crate::{
    arguments::serve::ServeArguments,
    command::config,
    complaint::Complaint,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Failure, ServeFailure, SessionFailure},
};

/// Says with what the server would start, and everything for which it could not. Nothing is made or changed.
pub(super) async fn check(
    arguments: &ServeArguments,
    resolved: Resolved,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    config::show_server(&resolved, console);
    let (settings, problems) = sorted(resolved, arguments, console);
    let mut table = Table { console, worst: Exit::Success };
    if !problems.is_empty() {
        table.fault("settings", &ServeFailure::Settings { problems }.into());
    }
    match prepare(arguments, environment, table.console).await {
        Ok(prepared) => table.tell("model", &json!(prepared.model)),
        Err(failure) => table.fault("model", &failure),
    }
    table.tell("stdio", &json!(arguments.stdio));
    address(arguments, &settings, &mut table).await;
    roots(&settings, &mut table);
    places(arguments, settings, &mut table);
    Ok(table.worst)
}

async fn address(arguments: &ServeArguments, settings: &Settings, table: &mut Table<'_>) {
    let Some(at) = settings.listen else { return };
    let listened = match closed_to_others(arguments, settings) {
        Ok(()) => address::take(at, settings).await.map(drop),
        Err(failure) => Err(failure),
    };
    match listened {
        Ok(()) => table.tell("address", &json!(at.to_string())),
        Err(failure) => table.fault("address", &failure.into()),
    }
    address::warn(at, table.console);
}

fn roots(settings: &Settings, table: &mut Table<'_>) {
    let found = match std::env::current_dir() {
        Ok(here) => {
            let here = here.canonicalize().unwrap_or(here);
            let roots = Roots::find(&settings.roots, &here, settings.home.as_deref());
            roots.map_err(|error| Failure::from(ServeFailure::Start(StartError::Roots(error))))
        }
        Err(error) => Err(SessionFailure::NoFolder(error).into()),
    };
    match found {
        Ok(roots) => table.tell("roots", &json!(roots.folders())),
        Err(failure) => table.fault("roots", &failure),
    }
}

/// What lies in the server's folder.
fn places(arguments: &ServeArguments, mut settings: Settings, table: &mut Table<'_>) {
    let places = folders(&settings, arguments);
    let is_free =
        |settings: &Settings| !matches!(journal::look(&settings.journal()), Err(journal::JournalError::InUse { .. }));
    for folder in places {
        settings.folder = folder;
        if is_free(&settings) {
            break;
        }
    }
    table.tell("folder", &json!(settings.folder));
    if arguments.insecure_no_auth {
        table.tell("auth", &json!("none"));
    } else if settings.listen.is_some() {
        table.tell("auth", &json!("token"));
        let token = settings.token();
        match door::look_at_token(&token) {
            Ok(_) => table.tell("token", &json!(token)),
            Err(error) => table.fault("token", &ServeFailure::Start(StartError::Token(error)).into()),
        }
    }
    match journal::look(&settings.journal()) {
        Ok(wrong) => {
            table.tell("journal", &json!(settings.journal()));
            if let Some(error) = wrong {
                table.warn("journal", &error);
            }
        }
        Err(error) => table.fault("journal", &ServeFailure::Start(StartError::Journal(error)).into()),
    }
}

/// What is told, line by line.
struct Table<'a> {
    console: &'a mut Console,
    /// How it ends: as the first fault does.
    worst: Exit,
}

impl Table<'_> {
    fn tell(&mut self, name: &str, value: &Value) {
        let line = match (self.console.reader(), value) {
            (Reader::Machine, value) => json!({"check": name, "value": value}).to_string(),
            (Reader::Person, Value::String(text)) => format!("{name:<8} {text}"),
            (Reader::Person, Value::Array(list)) => {
                let list: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                format!("{name:<8} {}", list.join(", "))
            }
            (Reader::Person, value) => format!("{name:<8} {value}"),
        };
        self.console.line(&line);
    }

    /// Damage with which the server would start, and refuse what changes something.
    fn warn(&mut self, name: &str, error: &journal::JournalError) {
        let told = match error {
            journal::JournalError::Malformed { .. } => format!("{error}; a server starts with it, and goes on"),
            error => format!("{error}; a server starts with it, and refuses commands that change something"),
        };
        if self.console.reader() == Reader::Machine {
            self.console.line(&json!({"check": name, "warning": told, "hint": error.hint()}).to_string());
        }
        self.console.note(&format!("{name}: {told}"));
        self.console.hint(error.hint());
    }

    /// Something for which the server would not start.
    fn fault(&mut self, name: &str, failure: &Failure) {
        if self.console.reader() == Reader::Machine {
            let error = Complaint::about(failure).into_content();
            self.console.line(&json!({"check": name, "error": error}).to_string());
        }
        self.console.complaint(&format!("{name}: {}", failure.told()));
        self.console.hint(&failure.hint());
        if self.worst == Exit::Success {
            self.worst = failure.exit();
        }
    }
}
