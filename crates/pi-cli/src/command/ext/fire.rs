//! `pi ext fire`: an event, and what every handler of it answers.

use std::{sync::Arc, time::Duration};

use pi_exthost::{Ask, Stopwatch};
use pi_extproto::hook::{Hook, event::Event};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::trial::{Shown, Trial, failed, object, show};
use crate::{
    arguments::ext::ExtFireArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
};

/// How long a handler may take, waiting included.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(
    arguments: &ExtFireArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    show(fire(arguments, environment), console)
}

async fn fire(arguments: &ExtFireArguments, environment: &Environment) -> Result<Shown, Failure> {
    let Some(hook) = Hook::find(&arguments.event) else {
        let problem = format!("there is no event {}; docs/extensions.md lists them", arguments.event);
        return Err(SessionFailure::NoExtensions { problem }.into());
    };
    let event = Event::read(&arguments.event, Some(object(&arguments.data)?));
    let event = Arc::new(event.map_err(|bad| SessionFailure::NoExtensions { problem: bad.to_string() })?);
    let trial = Trial::open(arguments.tried.profile, environment).await?;
    let mut outcomes: Vec<Value> = Vec::new();
    let mut has_failed = false;
    for source in Trial::sources(&arguments.tried, environment)? {
        let path = source.path.clone();
        let guest = trial.start(source).await.map_err(|fault| failed(&path, &fault))?.guest();
        for handler in 0..guest.registration().handlers(hook) {
            let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::from_secs(10)) };
            let outcome = match timeout(PATIENCE, guest.handle(handler, Arc::clone(&event), ask)).await {
                Ok(Ok(outcome)) => json!(outcome),
                Ok(Err(fault)) => json!({ "error": fault.to_string() }),
                Err(_) => json!({ "error": format!("no answer within {PATIENCE:?}") }),
            };
            has_failed |= outcome.get("error").is_some();
            outcomes.push(outcome);
        }
        guest.shutdown().await;
    }
    let told = json!({ "event": hook.as_str(), "outcomes": outcomes, "actions": trial.session.actions() });
    trial.close().await;
    Ok(Shown { told, is_error: has_failed })
}
