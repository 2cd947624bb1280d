//! `pi ext list`: the extensions of this folder, what they are allowed to ask for and what they use.

use std::{collections::BTreeMap, path::PathBuf};

use pi_exthost::ledger::reading;
use pi_extproto::manifest::Tier;
use pi_guests::mcp::{self, Route, Server};
use serde_json::{Value, json};

use super::trial::Trial;
use crate::{
    arguments::ext::ExtListArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::Failure,
    runtime,
    workshop::{self, Ground, extensions::Extensions},
};

/// Sessions that are looked at for what was slow.
const SESSIONS: usize = 20;

pub(crate) fn run(
    arguments: &ExtListArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let (rows, notices) = runtime::start_many()?.block_on(list(arguments, environment))?;
    notices.iter().for_each(|notice| console.note(notice));
    if arguments.json {
        console.line(&Value::Array(rows).to_string());
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        console.remark("there are no extensions here; `pi ext new` writes one to start from");
    }
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| row[name].as_u64().unwrap_or_default();
        console.line(&format!(
            "{:<24} {} {:<8} {:>6} KiB  {} calls  {} denied  {} slow  {} ms  {}",
            text("name"),
            text("tier"),
            text("state"),
            number("memory") / 1024,
            number("calls"),
            number("denials"),
            number("slow"),
            number("timeMs"),
            text("path")
        ));
        if let Some(error) = row["error"].as_str() {
            console.line(&format!("  {error}"));
        }
    }
    Ok(Exit::Success)
}

/// How often each extension was slow in the sessions before: their ledgers say so.
fn slow(logs: Option<PathBuf>) -> BTreeMap<String, u64> {
    let mut slow = BTreeMap::new();
    let Some(logs) = logs else { return slow };
    // Sessions are named by their time, so the last ones come last. Without a log nothing was slow.
    let sessions = reading::sessions(&logs).unwrap_or_default();
    for session in sessions.iter().rev().take(SESSIONS) {
        let statistics = reading::read(&logs, session).map(|reading| reading::statistics(&reading)).unwrap_or_default();
        for (name, own) in statistics.extensions {
            *slow.entry(name).or_default() += own.slow;
        }
    }
    slow
}

async fn list(arguments: &ExtListArguments, environment: &Environment) -> Result<(Vec<Value>, Vec<String>), Failure> {
    let ground = Ground::survey(environment)?;
    let policy = workshop::policy(environment)?;
    let (extensions, notices) = Extensions::find(&arguments.extensions, &ground, &policy, environment)?;
    let slow = slow(extensions.logs());
    let trial = Trial::open(None, environment).await?;
    let mut rows = Vec::new();
    for source in extensions.sources() {
        let path = source.path.display().to_string();
        let started = match trial.prepare(source.clone()).await {
            Ok(prepared) => {
                let declared = prepared.identity.declared.clone();
                trial.launch(prepared).await.map(|guest| (guest, declared))
            }
            Err(fault) => Err(fault),
        };
        rows.push(match started {
            Ok((guest, declared)) => {
                let needs: Vec<&str> = declared.requirements().iter().map(|need| need.capability.as_str()).collect();
                let registration = guest.guest().registration();
                let figures = trial.dispatcher().figures().into_iter().find(|(id, _)| *id == registration.id);
                let figures = figures.map(|(_, figures)| figures).unwrap_or_default();
                let row = json!({ "name": registration.id.as_str(), "tier": guest.tier(), "state": "running", "path": path,
                    "memory": guest.memory().await.unwrap_or_default(), "calls": figures.calls, "denials": figures.denials,
                    "slow": slow.get(registration.id.as_str()).copied().unwrap_or_default(),
                    "timeMs": u64::try_from(figures.time.as_millis()).unwrap_or(u64::MAX),
                    "tools": registration.tools.len(), "commands": registration.commands.len(),
                    "capabilities": needs });
                guest.guest().shutdown().await;
                row
            }
            Err(fault) => {
                let name = source.path.file_stem().map(|name| name.to_string_lossy().into_owned());
                json!({ "name": name, "tier": tier(&source.path), "state": "broken", "path": path, "error": fault.to_string() })
            }
        });
    }
    trial.close().await;
    rows.extend(extensions.servers().iter().map(server));
    Ok((rows, notices))
}

/// A server is not started to be listed: `pi mcp test` does that.
fn server(server: &Server) -> Value {
    json!({ "name": mcp::guest_id(&server.name).as_str(), "tier": Tier::Mcp, "state": "written",
        "path": server.file.display().to_string(), "memory": 0, "calls": 0, "denials": 0, "timeMs": 0,
        "capabilities": match server.route {
            Route::Process(_) => ["exec", "tool"],
            Route::Http(_) => ["http", "tool"],
        } })
}

/// Of what cannot be loaded only the name of the file is known.
fn tier(path: &std::path::Path) -> Tier {
    if path.extension().is_some_and(|end| end == "wasm") { Tier::Wasm } else { Tier::Js }
}
