//! `pi trust`: whether what a project brings is used.

use std::path::{Path, PathBuf};

use pi_session::settings::trust::{self, Decisions, Trust};
use serde_json::json;

use crate::{
    arguments::session::TrustArguments,
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{Failure, McpFailure, SessionFailure},
    table::{self, Align, Cell, Column, Room},
    trust::{agree_to_servers, brought},
};

const COLUMNS: [Column; 2] = [
    Column { title: "TRUSTED", align: Align::Left, room: Room::Whole },
    Column { title: "FOLDER", align: Align::Left, room: Room::Whole },
];

pub(crate) fn run(
    arguments: &TrustArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let agent = environment.agent_directory.as_deref().ok_or(SessionFailure::NothingRemembered)?;
    let decisions = Decisions::read(agent);
    if arguments.list {
        list(&decisions, console);
        return Ok(Exit::Success);
    }
    let directory = folder(arguments.directory.as_deref())?;
    if arguments.remove {
        return remove(&directory, agent, &decisions, console);
    }
    let brought = brought(&directory, environment);
    agree_to_servers(&directory, environment).map_err(McpFailure::Pins)?;
    trust::decide(agent, &directory, Trust::Trusted).map_err(SessionFailure::Trust)?;
    if console.reader() == Reader::Machine {
        let brings: Vec<_> =
            brought.iter().map(|it| json!({"path": it.path, "what": it.what, "servers": it.servers})).collect();
        console.line(&json!({"folder": directory, "trusted": true, "brings": brings}).to_string());
        return Ok(Exit::Success);
    }
    console.line(&format!("trusted: {} and everything below it", directory.display()));
    for it in &brought {
        console.line(&format!("  {}: {}", it.name(&directory), it.what));
        it.servers.iter().for_each(|server| console.line(&format!("    {server}")));
    }
    if brought.is_empty() {
        console.line("  it brings nothing yet that would need it");
    }
    Ok(Exit::Success)
}

/// Takes the decision about exactly this folder back.
fn remove(directory: &Path, agent: &Path, decisions: &Decisions, console: &mut Console) -> Result<Exit, Failure> {
    let is_decided = decisions.list().any(|(folder, _)| folder == directory);
    trust::forget(agent, directory).map_err(SessionFailure::Trust)?;
    let shown = directory.display();
    let (told, exit) = match is_decided {
        true => (format!("no decision any more: {shown}"), Exit::Success),
        false => (format!("there was no decision: {shown}"), Exit::No),
    };
    match console.reader() {
        Reader::Machine => console.line(&json!({"folder": directory, "removed": is_decided}).to_string()),
        Reader::Person => console.line(&told),
    }
    let above = directory.parent().and_then(|above| Some((above, Decisions::read(agent).about(above)?)));
    if let Some((_, Trust::Trusted)) = above {
        console.note("a folder above it is trusted, and so is this; `pi trust --list` shows which");
    }
    Ok(exit)
}

fn list(decisions: &Decisions, console: &mut Console) {
    let word = |trust| if trust == Trust::Trusted { ("yes", Tone::Good) } else { ("no", Tone::Warning) };
    let all: Vec<(&Path, Trust)> = decisions.list().collect();
    match console.reader() {
        Reader::Machine => {
            for (folder, trust) in all {
                console.line(&json!({"folder": folder, "trusted": trust == Trust::Trusted}).to_string());
            }
        }
        Reader::Person if all.is_empty() => {
            console.remark("nobody decided about any folder yet; `pi trust` trusts the one that you are in");
        }
        Reader::Person => {
            let row = |(folder, trust): &(&Path, Trust)| {
                let (word, tone) = word(*trust);
                vec![Cell::toned(tone, word), Cell::plain(folder.display().to_string())]
            };
            table::show(&COLUMNS, &all.iter().map(row).collect::<Vec<_>>(), console);
        }
    }
}

/// The folder as decisions name it: absolute and without links.
fn folder(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_dir().map_err(SessionFailure::NoFolder)?,
    };
    let unreadable = |source| Failure::NotThere {
        file: path.display().to_string(),
        hint: "name a folder that is there; without one it is the folder that you are in".to_owned(),
        source,
    };
    let folder = path.canonicalize().map_err(unreadable)?;
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(unreadable(std::io::ErrorKind::NotADirectory.into()))
}
