//! `pi ext enable` and `pi ext disable`: whether an extension is started in sessions to come.

use pi_session::Switch;
use serde_json::json;

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
    extensions::remember(agent, &arguments.name, switch).map_err(unwritten)?;
    let word = if switch == Switch::On { "on" } else { "off" };
    match console.reader() {
        Reader::Machine => console.line(&json!({ "name": arguments.name, "state": word }).to_string()),
        Reader::Person => {
            console.line(&format!("{word}: {}, in sessions that begin from now on", arguments.name));
            console.hint("`/extensions` in the chat and the commands of the server switch it in sessions that run");
        }
    }
    Ok(Exit::Success)
}
