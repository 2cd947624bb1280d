//! `pi ext run-command`: one slash command, as a person would type it.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::trial::{Trial, trouble};
use crate::{
    arguments::ext::ExtRunCommandArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    runtime,
};

pub(crate) fn run(
    arguments: &ExtRunCommandArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let (line, is_error) = runtime::start_many()?.block_on(call(arguments, environment))?;
    console.line(&line);
    Ok(if is_error { Exit::No } else { Exit::Success })
}

async fn call(arguments: &ExtRunCommandArguments, environment: &Environment) -> Result<(String, bool), Failure> {
    let sources = Trial::sources(&arguments.tried, environment)?;
    let trial = Trial::open(arguments.tried.profile, environment)?;
    let guests = trial.start_all(sources).await?;
    let name = arguments.name.trim_start_matches('/');
    let Some(command) = guests.command(name) else {
        let known: Vec<String> = guests.commands().iter().map(|command| command.typed.clone()).collect();
        let problem = format!("it has no command {name}; its commands are: {}", known.join(", "));
        return Err(SessionFailure::NoExtensions { problem }.into());
    };
    let ran = command.run(arguments.arguments.clone(), &CancellationToken::new()).await;
    guests.shutdown().await;
    let actions = trial.session.actions();
    trial.close().await;
    let error = ran.as_ref().err().map(trouble);
    Ok((json!({ "error": error, "actions": actions }).to_string(), ran.is_err()))
}
