//! `pi ext enable` and `pi ext disable`: whether an extension is started in sessions to come.

use pi_exthost::GuestId;
use pi_session::Switch;
use serde_json::json;

use super::meant;
use crate::{
    arguments::ext::SwitchArguments,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    workshop::extensions,
};

pub(crate) fn run(
    arguments: &SwitchArguments,
    switch: Switch,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let agent = environment.agent_directory.as_deref();
    let hint = "look at settings.json in the agent directory and at who may write there";
    let unwritten = |problem| SessionFailure::NoExtensions { problem, hint: hint.to_owned() };
    let name = named(&arguments.name, environment, console);
    extensions::remember(agent, &name, switch).map_err(unwritten)?;
    let word = if switch == Switch::On { "on" } else { "off" };
    match console.reader() {
        Reader::Machine => console.line(&json!({ "name": name, "state": word }).to_string()),
        Reader::Person => {
            console.line(&format!("{word}: {name}, in sessions that begin from now on"));
            console.hint("`/extensions` in the chat and the commands of the server switch it in sessions that run");
        }
    }
    Ok(Exit::Success)
}

/// The name by which settings know it: lists show servers without the beginning that theirs have.
fn named(name: &str, environment: &Environment, console: &mut Console) -> String {
    let server = GuestId::of_server(name).to_string();
    if meant::is_known(name, environment) {
        return name.to_owned();
    }
    if meant::is_known(&server, environment) {
        return server;
    }
    meant::note_unseen(name, environment, console);
    name.to_owned()
}
