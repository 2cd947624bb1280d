//! `pi ext inspect`: what an extension registers, after its factory has run and before any session begins.

use pi_exthost::guest::UnusableOffer;
use serde_json::{Value, json};

use super::trial::Trial;
use crate::{
    arguments::ext::ExtInspectArguments,
    command::talk::stop::unless_stopped,
    compiling::tell_while,
    console::{Console, printable},
    env::Environment,
    exit::Exit,
    failure::Failure,
    runtime,
};

pub(crate) fn run(
    arguments: &ExtInspectArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let inspected = tell_while(unless_stopped(inspect(arguments, environment)), &environment.stock, console);
    let (found, notes) = runtime::start_many()?.block_on(inspected)?;
    // They quote what an extension called its things.
    notes.iter().for_each(|note| console.note(&printable(note)));
    let is_loaded = found["loaded"] == true;
    if arguments.json {
        console.line(&found.to_string());
    } else {
        tell(&found, console);
    }
    Ok(if is_loaded { Exit::Success } else { Exit::No })
}

/// What is registered, and what of it cannot be used.
async fn inspect(arguments: &ExtInspectArguments, environment: &Environment) -> Result<(Value, Vec<String>), Failure> {
    let sources = Trial::sources(&arguments.tried, environment)?;
    let trial = Trial::open(arguments.tried.profile, environment).await?;
    let (mut whole, mut notes) = (None::<Value>, Vec::new());
    for source in sources {
        let started = match trial.prepare(source).await {
            Ok(prepared) => {
                notes.extend(prepared.outdated.clone());
                trial.launch(prepared).await
            }
            Err(fault) => Err(fault),
        };
        let found = match started {
            Ok(guest) => {
                let found = guest.inspect().await.unwrap_or_else(|fault| not_loaded(&fault.to_string()));
                let guest = guest.guest();
                let unusable = guest.registration().unusable.clone().into_iter();
                notes.extend(unusable.map(|UnusableOffer { what, why }| format!("{what} is left out: {why}")));
                guest.shutdown().await;
                found
            }
            Err(fault) => not_loaded(&fault.to_string()),
        };
        whole = Some(match whole {
            None => found,
            Some(before) => join(before, found),
        });
    }
    trial.close().await;
    Ok((whole.unwrap_or_else(|| not_loaded("there is no extension")), notes))
}

fn not_loaded(error: &str) -> Value {
    json!({ "loaded": false, "error": error, "handlers": {}, "tools": [], "commands": [], "shortcuts": [], "flags": [],
        "messageRenderers": [], "providers": [] })
}

/// What several extensions of one package register together.
fn join(mut before: Value, after: Value) -> Value {
    let Value::Object(after) = after else { return before };
    for (name, value) in after {
        match (&mut before[&name], value) {
            (Value::Array(list), Value::Array(more)) => list.extend(more),
            (Value::Object(counts), Value::Object(more)) => {
                for (event, count) in more {
                    let sum = counts.get(&event).and_then(Value::as_u64).unwrap_or_default()
                        + count.as_u64().unwrap_or_default();
                    counts.insert(event, sum.into());
                }
            }
            (loaded @ Value::Bool(true), Value::Bool(false)) => *loaded = false.into(),
            (error @ Value::Null, told @ Value::String(_)) => *error = told,
            _ => {}
        }
    }
    before
}

fn tell(found: &Value, console: &mut Console) {
    if let Some(error) = found["error"].as_str() {
        console.complaint(&printable(&format!("the extension is not loaded: {error}")));
        return;
    }
    let (empty, mut lines) = (Vec::new(), Vec::new());
    for (title, list, name) in [
        ("tool", "tools", "name"),
        ("command", "commands", "name"),
        ("shortcut", "shortcuts", "shortcut"),
        ("flag", "flags", "name"),
        ("provider", "providers", "name"),
    ] {
        for item in found[list].as_array().unwrap_or(&empty) {
            let description =
                item["description"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            let name = item[name].as_str().unwrap_or_default();
            lines.push(format!("{title:<9} {name:<24} {description}"));
        }
    }
    for kind in found["messageRenderers"].as_array().unwrap_or(&empty) {
        lines.push(format!("renderer  {}", kind.as_str().unwrap_or_default()));
    }
    for (event, count) in found["handlers"].as_object().into_iter().flatten() {
        lines.push(format!("handlers  {event:<24} {count}"));
    }
    // An extension chose these texts: none of them commands the terminal, or begins a line.
    for line in lines {
        console.line(printable(&line.replace('\n', " ")).trim_end());
    }
}
