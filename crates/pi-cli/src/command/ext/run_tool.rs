//! `pi ext run-tool`: one call of a tool, as a model would make it.

use pi_exthost::{GuestId, guest::ToolInvocation};
use pi_tools::arguments;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::trial::{Shown, Trial, not_among, object, offers, show};
use crate::{
    arguments::ext::ExtRunToolArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
};

/// Updates that are shown. A session shows the last one, and passes over what comes faster than it is drawn.
const MOST_UPDATES: usize = 10_000;

pub(crate) fn run(
    arguments: &ExtRunToolArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    show(call(arguments, environment), environment, console)
}

async fn call(given: &ExtRunToolArguments, environment: &Environment) -> Result<Shown, Failure> {
    let input = object(&given.input)?;
    let (trial, guests) = Trial::begin(&given.tried, environment).await?;
    // A tool of a server may be called as the server calls it.
    let whole = GuestId::from(given.tried.source.as_str()).server().map(|name| format!("mcp__{name}__{}", given.tool));
    let tool = guests.tool(&given.tool).or_else(|| guests.tool(&whole?));
    let Some(tool) = tool else {
        let known: Vec<String> = guests.tools().iter().map(|tool| tool.offer.definition.name.clone()).collect();
        let problem = not_among("tool", &given.tool, &known);
        return Err(SessionFailure::NoExtensions { problem, hint: offers(&given.tried) }.into());
    };
    let input = match arguments::fit(&tool.offer.definition.parameters, Value::Object(input)) {
        Ok(input) => input,
        Err(bad) => {
            let actions = trial.end(&guests).await;
            let told = json!({ "error": bad.to_string(), "isError": true, "updates": [], "actions": actions });
            return Ok(Shown { told, is_error: true });
        }
    };
    let (updates, mut heard) = mpsc::channel(MOST_UPDATES);
    let name = tool.offer.definition.name.clone();
    let call = ToolInvocation { call_id: "trial".into(), name, input, updates };
    let answer = tool.call(call, &CancellationToken::new()).await;
    let mut seen = Vec::new();
    while let Ok(update) = heard.try_recv() {
        seen.push(json!(update));
    }
    let actions = trial.end(&guests).await;
    let is_cut = seen.len() == MOST_UPDATES;
    let (mut told, is_error) = match answer {
        Ok(answer) => {
            let told = json!({ "content": answer.output.content, "details": answer.output.details,
                "isError": answer.is_error, "terminate": answer.terminate, "updates": seen, "actions": actions });
            (told, answer.is_error)
        }
        Err(fault) => (json!({ "error": fault.told(), "isError": true, "updates": seen, "actions": actions }), true),
    };
    if is_cut {
        told["updatesCut"] = json!(true);
    }
    Ok(Shown { told, is_error })
}
