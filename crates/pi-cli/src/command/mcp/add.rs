//! `pi mcp add`: writes a server into `mcp.json`.

use pi_guests::mcp::{
    Origin, Pins, Server,
    entry::{EntryFault, check_name},
    places::{self, Present},
};
use serde_json::{Map, Value, json};

use super::Written;
use crate::{
    arguments::mcp::McpAddArguments,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Failure, McpFailure},
};

pub(crate) fn run(
    arguments: &McpAddArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let name = &arguments.name;
    let Written { ground: _, places: usual, origin } = Written::survey(arguments.project, environment)?;
    let file = match origin {
        Origin::Project => usual.projects(),
        Origin::Person => usual.persons().ok_or(McpFailure::Homeless)?,
    };
    let entry = entry(arguments)?;
    let not_usable = |fault: EntryFault| McpFailure::Entry { name: name.clone(), fault };
    check_name(name).map_err(not_usable)?;
    // Variables need not be set where the entry is written.
    let (server, _) =
        Server::read(name, &entry, (origin, file.clone()), &|_| Some(String::new())).map_err(not_usable)?;
    let present = if arguments.force { Present::Replace } else { Present::Keep };
    places::add(&file, name, entry.clone(), present).map_err(McpFailure::Change)?;
    if let Some(agent) = &environment.agent_directory
        && origin == Origin::Project
    {
        // Whoever writes it has agreed to it. It is written by now, so that a record which cannot be kept costs a question.
        if let Err(fault) = Pins::in_folder(agent).agree(&server) {
            console.note(&format!("that you agreed to it is not recorded: {fault}; {}", fault.hint()));
        }
    }
    match console.reader() {
        Reader::Machine => {
            console.line(&json!({ "name": name, "file": file.display().to_string(), "entry": entry }).to_string());
        }
        Reader::Person => {
            console.line(&format!("added: {name} to {}", file.display()));
            if arguments.project && !usual.is_trusted {
                console.hint("it is started once the project is trusted: `pi trust`");
            }
            console.hint(&format!("`pi mcp test {name}` connects to it and shows its tools"));
        }
    }
    Ok(Exit::Success)
}

fn entry(arguments: &McpAddArguments) -> Result<Value, Failure> {
    let (first, rest) = arguments.target.split_first().ok_or(McpFailure::NoTarget)?;
    let mut entry = Map::new();
    let is_url = first.starts_with("http://") || first.starts_with("https://");
    if !is_url && first.contains("://") {
        return Err(McpFailure::Scheme { url: first.clone() }.into());
    }
    if is_url {
        if let Some(more) = rest.first() {
            return Err(McpFailure::BehindUrl { word: more.clone() }.into());
        }
        if !arguments.env.is_empty() || arguments.cwd.is_some() {
            return Err(McpFailure::NotForUrl.into());
        }
        entry.insert("type".to_owned(), json!("http"));
        entry.insert("url".to_owned(), json!(first));
        let headers = pairs(&arguments.header, ':', "--header", "NAME: VALUE")?;
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), Value::Object(headers));
        }
    } else {
        if !arguments.header.is_empty() {
            return Err(McpFailure::NotForProgram.into());
        }
        entry.insert("command".to_owned(), json!(first));
        entry.insert("args".to_owned(), json!(rest));
        let variables = pairs(&arguments.env, '=', "--env", "NAME=VALUE")?;
        if !variables.is_empty() {
            entry.insert("env".to_owned(), Value::Object(variables));
        }
        if let Some(folder) = &arguments.cwd {
            entry.insert("cwd".to_owned(), json!(folder));
        }
    }
    if let Some(timeout) = arguments.timeout {
        entry.insert("timeout".to_owned(), json!(timeout));
    }
    Ok(Value::Object(entry))
}

/// Names with values, as they were typed.
fn pairs(
    typed: &[String],
    divider: char,
    option: &'static str,
    form: &'static str,
) -> Result<Map<String, Value>, Failure> {
    let pair = |text: &String| {
        let pair = text.split_once(divider).filter(|(name, _)| !name.trim().is_empty());
        // What stands there may be a secret, so it is not repeated.
        let (name, value) = pair.ok_or(McpFailure::Pair { option, form })?;
        Ok((name.trim().to_owned(), json!(value.trim())))
    };
    typed.iter().map(pair).collect()
}
