//! `pi ext run-command`: one slash command, as a person would type it.

use pi_exthost::Trouble;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::trial::{Shown, Trial, not_among, offers, show};
use crate::{
    arguments::ext::ExtRunCommandArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
};

pub(crate) fn run(
    arguments: &ExtRunCommandArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    show(call(arguments, environment), environment, console)
}

async fn call(arguments: &ExtRunCommandArguments, environment: &Environment) -> Result<Shown, Failure> {
    let (trial, guests) = Trial::begin(&arguments.tried, environment).await?;
    let name = arguments.name.trim_start_matches('/');
    let Some(command) = guests.command(name) else {
        let known: Vec<String> = guests.commands().iter().map(|command| command.typed.clone()).collect();
        let problem = not_among("command", name, &known);
        return Err(SessionFailure::NoExtensions { problem, hint: offers(&arguments.tried) }.into());
    };
    let ran = command.run(arguments.arguments.clone(), &CancellationToken::new()).await;
    let actions = trial.end(&guests).await;
    let error = ran.as_ref().err().map(Trouble::told);
    Ok(Shown { told: json!({ "error": error, "actions": actions }), is_error: ran.is_err() })
}
