//! `pi ext fire`: an event, and what every handler that hears it answers.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc, time::Duration};

use pi_exthost::{Ask, Chain, Stopwatch};
use pi_extproto::{
    Object,
    hook::{Hook, event::Event},
};
use pi_session::input::complete::nearest;
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

/// What each event says unless somebody wants it to say something else, by its name.
const EXAMPLES: &str = include_str!("fire/events.json");

/// What an event says by itself.
fn example(hook: Hook) -> Object {
    let mut examples: BTreeMap<String, Object> = serde_json::from_str(EXAMPLES).expect("our own file is valid");
    examples.remove(hook.as_str()).unwrap_or_default()
}

pub(crate) fn run(
    arguments: &ExtFireArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    show(fire(arguments, environment), environment, console)
}

async fn fire(arguments: &ExtFireArguments, environment: &Environment) -> Result<Shown, Failure> {
    let Some(hook) = Hook::find(&arguments.event) else {
        let names = Hook::ALL.iter().map(|hook| hook.as_str());
        let problem = format!("there is no event {}", arguments.event);
        let hint = match nearest(&arguments.event, names.clone()).first() {
            Some(name) => format!("did you mean {name}? docs/extensions.md lists them with what they say"),
            None => format!("one of {}", names.collect::<Vec<_>>().join(", ")),
        };
        return Err(SessionFailure::NoExtensions { problem, hint }.into());
    };
    // What somebody says of it stands in place of what it usually says.
    let mut data = example(hook);
    data.extend(object(&arguments.data)?);
    let usual = Value::Object(example(hook));
    let event = Event::read(hook.as_str(), Some(data)).map_err(|bad| SessionFailure::NoExtensions {
        problem: bad.to_string(),
        hint: format!("it may say {usual}, which is what it says unless told otherwise"),
    })?;
    let mut chain = Chain::new(hook, event);
    let trial = Trial::open(arguments.tried.profile, environment).await?;
    let mut outcomes: Vec<Value> = Vec::new();
    let mut has_failed = false;
    'guests: for source in Trial::sources(&arguments.tried, environment)? {
        let path = source.path.clone();
        let guest = trial.start(source).await.map_err(|fault| failed(&path, &fault))?.guest();
        for handler in 0..guest.registration().handlers(hook) {
            let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::from_secs(10)) };
            // Each hears what those before it made of the event, as in a session.
            let answered = timeout(PATIENCE, guest.handle(handler, Arc::clone(chain.event()), ask)).await;
            let error = |error: String| (json!({ "error": error }), ControlFlow::Continue(()));
            let (outcome, flow) = match answered {
                Ok(Ok(outcome)) => {
                    let told = json!(outcome);
                    match chain.take(&guest.registration().id, outcome) {
                        Ok(flow) => (told, flow),
                        Err(trouble) => error(trouble.to_string()),
                    }
                }
                Ok(Err(fault)) => error(fault.to_string()),
                Err(_) => error(format!("no answer within {PATIENCE:?}")),
            };
            has_failed |= outcome.get("error").is_some();
            outcomes.push(outcome);
            if flow.is_break() {
                guest.shutdown().await;
                break 'guests;
            }
        }
        guest.shutdown().await;
    }
    let told = json!({ "event": hook.as_str(), "outcomes": outcomes, "actions": trial.session.actions() });
    trial.close().await;
    Ok(Shown { told, is_error: has_failed })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of an event in the documents.
    fn row(hook: Hook) -> String {
        let fields: Vec<String> = example(hook).keys().map(|name| format!("`{name}`")).collect();
        let fields = if fields.is_empty() { "–".to_owned() } else { fields.join(", ") };
        format!("| `{}` | {fields} |", hook.as_str())
    }

    #[test]
    fn every_event_says_something_that_it_can_say_and_is_in_the_documents() {
        let examples: BTreeMap<String, Object> = serde_json::from_str(EXAMPLES).expect("JSON");
        assert_eq!(examples.len(), Hook::ALL.len());
        let page = include_str!("../../../../../docs/extensions.md");
        for hook in Hook::ALL {
            assert!(examples.contains_key(hook.as_str()), "{hook:?}");
            let event = Event::read(hook.as_str(), Some(example(*hook))).expect("an event");
            assert_eq!(event.hook(), Some(*hook));
            assert!(page.contains(&row(*hook)), "docs/extensions.md lacks: {}", row(*hook));
        }
    }
}
