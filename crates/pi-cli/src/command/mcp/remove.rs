//! `pi mcp remove`: takes a server out of `mcp.json`, and forgets what its tools looked like.

use pi_guests::mcp::{Origin, Pins, places};
use serde_json::json;

use super::{Written, servers};
use crate::{
    arguments::mcp::McpRemoveArguments,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Elsewhere, Failure, McpFailure},
};

pub(crate) fn run(
    arguments: &McpRemoveArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let name = &arguments.name;
    let Written { ground, places: usual, origin: wanted } = Written::survey(arguments.project, environment)?;
    let known = servers(&ground, environment).servers;
    let files: Vec<_> = usual.files().into_iter().filter(|(origin, _)| *origin == wanted).collect();
    for (_, file) in &files {
        if !places::remove(file, name).map_err(McpFailure::Change)? {
            continue;
        }
        // One that cannot be used, because a variable is not set, is forgotten too.
        let server = known.iter().find(|server| server.name == *name && server.file == *file);
        if let Some(agent) = &environment.agent_directory
            && let Err(fault) = Pins::in_folder(agent).forget(name, file, server.map(|server| server.digest.as_str()))
        {
            console.note(&format!("{fault}; {}", fault.hint()));
        }
        match console.reader() {
            Reader::Machine => {
                console.line(&json!({ "name": name, "file": file.display().to_string() }).to_string());
            }
            Reader::Person => console.line(&format!("removed: {name} from {}", file.display())),
        }
        return Ok(Exit::Success);
    }
    let written = usual.files().into_iter().find(|(_, file)| places::holds(file, name));
    let known = known.into_iter().find(|server| server.name == *name).map(|server| (server.origin, server.file));
    let elsewhere = written
        .or(known)
        .map(|(origin, file)| Elsewhere { file: file.display().to_string(), is_projects: origin == Origin::Project });
    Err(McpFailure::Unknown { name: name.clone(), elsewhere }.into())
}
