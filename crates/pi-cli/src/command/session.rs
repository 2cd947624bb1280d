//! `pi session delete`: takes sessions away, with everything that was kept beside them.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::PathBuf,
};

use pi_session::directory;
use serde_json::json;

use crate::{
    arguments::session::{DeleteArguments, SessionCommand},
    console::{Console, Reader, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    workshop::{Ground, now, seat},
};

pub(crate) fn run(command: &SessionCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        SessionCommand::Delete(arguments) => delete(arguments, environment, console),
    }
}

fn delete(arguments: &DeleteArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let ground = Ground::survey(environment)?;
    let project = seat::project(arguments.folder.session_dir.as_deref(), &ground, environment);
    let project = project.ok_or(SessionFailure::Homeless)?;
    let mut paths: Vec<PathBuf> = Vec::new();
    // All of them are found before one is deleted: `last` means the same for each.
    for word in &arguments.sessions {
        let path = seat::find(word, &project)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    if !arguments.yes && !is_confirmed(&paths, &project, console)? {
        console.remark("nothing is deleted");
        return Ok(Exit::No);
    }
    for path in &paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        directory::delete(path, &name, now()).map_err(SessionFailure::Keep)?;
        match console.reader() {
            Reader::Machine => console.line(&json!({"file": path, "deleted": true}).to_string()),
            Reader::Person => console.remark(&format!("deleted {}", path.display())),
        }
    }
    Ok(Exit::Success)
}

/// Asks the person at the terminal.
fn is_confirmed(paths: &[PathBuf], project: &directory::Project, console: &mut Console) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let what = if paths.len() == 1 { "1 session is".to_owned() } else { format!("{} sessions are", paths.len()) };
        return Err(SessionFailure::Unconfirmed { what }.into());
    }
    let stored = directory::list_all(project).map_err(|error| seat::missed(error.into(), project))?;
    for path in paths {
        let title = stored.iter().find(|stored| stored.path == *path).map(directory::Stored::title);
        console.remark(&format!("{}  {}", path.display(), printable(&title.unwrap_or_default())));
    }
    let what = if paths.len() == 1 { "this session" } else { "these sessions" };
    console.murmur(&format!("delete {what} for ever? [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::NoRuntime)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
