//! `pi serve --check-config`: everything that a start would look at, looked at one after the other.

use pi_server::{door, journal, roots::Roots, server::StartError, settings::Settings};
use serde_json::{Value, json};

use super::{address, prepare};
use crate::{
    arguments::serve::ServeArguments,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Failure, ServeFailure},
};

/// Says with what the server would start; why it could not, if so. Nothing is made or changed.
pub(super) async fn check(
    arguments: &ServeArguments,
    settings: &Settings,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let prepared = prepare(arguments, environment, console).await?;
    tell("model", &json!(prepared.model), console);
    tell("stdio", &json!(arguments.stdio), console);
    if let Some(at) = settings.listen {
        drop(address::listen(at, settings).await?);
        tell("address", &json!(at.to_string()), console);
        address::warn(at, console);
    }
    let started = |error| Failure::from(ServeFailure::Start(error));
    let here = &prepared.ground.directory;
    let roots = Roots::find(&settings.roots, here, settings.home.as_deref());
    let roots = roots.map_err(|error| started(StartError::Roots(error)))?;
    tell("roots", &json!(roots.folders()), console);
    tell("folder", &json!(settings.folder), console);
    if arguments.insecure_no_auth {
        tell("auth", &json!("none"), console);
    } else if settings.listen.is_some() {
        let token = settings.token();
        door::look_at_token(&token).map_err(|error| started(StartError::Token(error)))?;
        tell("auth", &json!("token"), console);
        tell("token", &json!(token), console);
    }
    if !arguments.stdio {
        journal::look(&settings.journal()).map_err(|error| started(StartError::Journal(error)))?;
    }
    tell("journal", &json!(settings.journal()), console);
    Ok(Exit::Success)
}

fn tell(name: &str, value: &Value, console: &mut Console) {
    let line = match (console.reader(), value) {
        (Reader::Machine, value) => json!({"check": name, "value": value}).to_string(),
        (Reader::Person, Value::String(text)) => format!("{name:<8} {text}"),
        (Reader::Person, Value::Array(list)) => {
            let list: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            format!("{name:<8} {}", list.join(", "))
        }
        (Reader::Person, value) => format!("{name:<8} {value}"),
    };
    console.line(&line);
}
