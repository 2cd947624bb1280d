//! `pi mcp`: servers of the Model Context Protocol. One file a command.

mod add;
mod list;
mod remove;
mod test;

use pi_guests::mcp::{
    Base, Origin, Server,
    entry::safe_name,
    places::{Found, Notice, Where},
};

use crate::{
    arguments::mcp::McpCommand,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, McpFailure},
    workshop::Ground,
};

pub(crate) fn run(command: &McpCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        McpCommand::Add(arguments) => add::run(arguments, environment, console),
        McpCommand::List(arguments) => list::run(arguments, environment, console),
        McpCommand::Test(arguments) => test::run(arguments, environment, console),
        McpCommand::Remove(arguments) => remove::run(arguments, environment, console),
    }
}

/// Whose file of servers is to be changed, and where that may be.
struct Written {
    ground: Ground,
    places: Where,
    origin: Origin,
}

impl Written {
    /// Of the person, unless the project's is meant.
    fn survey(is_projects: bool, environment: &Environment) -> Result<Self, Failure> {
        let ground = Ground::survey(environment)?;
        let places = places(&ground, environment);
        Ok(Self { ground, places, origin: if is_projects { Origin::Project } else { Origin::Person } })
    }
}

/// Where servers of this folder are written.
fn places(ground: &Ground, environment: &Environment) -> Where {
    Where {
        project: ground.directory.clone(),
        is_trusted: ground.is_trusted(),
        agent: environment.agent_directory.clone(),
    }
}

/// A server that is written somewhere and not used.
#[derive(Debug)]
pub(crate) struct Unused {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) why: String,
}

/// Those that are not used, and why.
fn unused_in(found: &Found) -> Vec<Unused> {
    let unused = |notice: &Notice| match notice {
        Notice::Entry { name, file, fault } => {
            vec![Unused { name: name.clone(), file: file.clone(), why: fault.to_string() }]
        }
        Notice::Untrusted(names) => all_unused(names, "not trusted"),
        Notice::Unclear { names, file } => {
            all_unused(names, &format!("{file} cannot be read, and a name in it would be yours"))
        }
        Notice::Unreadable { .. } | Notice::Shadowed { .. } | Notice::Odd(_) => Vec::new(),
    };
    found.notices.iter().flat_map(unused).collect()
}

/// Servers of the project that are not used for one reason.
fn all_unused(names: &[String], why: &str) -> Vec<Unused> {
    let one = |name: &String| Unused { name: name.clone(), file: "this project".to_owned(), why: why.to_owned() };
    names.iter().map(one).collect()
}

/// The server of this name, or why it cannot be used.
pub(crate) fn named<'a>(name: &str, found: &'a Found) -> Result<&'a Server, Failure> {
    let server = found.servers.iter().find(|server| server.name == safe_name(name));
    server.ok_or_else(|| match unused_in(found).into_iter().find(|unused| unused.name == name) {
        Some(unused) => McpFailure::Unused(unused).into(),
        None => McpFailure::Unknown { name: name.to_owned(), elsewhere: None }.into(),
    })
}

/// Why a server is not tried: nobody agreed to its entry as it is now.
#[derive(Debug)]
pub(crate) struct Withheld {
    pub(crate) why: String,
    /// What changed in the entry, in lines for people; nothing where that is not known.
    pub(crate) difference: Option<String>,
}

pub(crate) fn withheld(server: &Server, base: &Base) -> Result<(), Withheld> {
    let Some(pins) = &base.pins else { return Ok(()) };
    let why = || format!("its entry in {} is not the one that you agreed to", server.file.display());
    match pins.unagreed(server) {
        Ok(None) => Ok(()),
        Ok(Some(unagreed)) => Err(Withheld { why: why(), difference: Some(unagreed.told()) }),
        Err(fault) => Err(Withheld { why: format!("{fault}; {}", fault.hint()), difference: None }),
    }
}

/// The servers of this folder, and what is left out.
pub(crate) fn servers(ground: &Ground, environment: &Environment) -> Found {
    crate::servers::find(&places(ground, environment), &ground.settings, environment)
}

/// Takes what the project names for agreed to, if nobody has met it yet: it is about to be used.
pub(crate) fn meet(found: &Found, ground: &Ground, environment: &Environment) -> Result<(), Failure> {
    crate::servers::meet(found, &places(ground, environment)).map_err(|fault| McpFailure::Pins(fault).into())
}
