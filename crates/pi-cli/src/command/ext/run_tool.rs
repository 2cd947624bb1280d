//! `pi ext run-tool`: one call of a tool, as a model would make it.

use pi_exthost::guest::ToolInvocation;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::trial::{Trial, object, trouble};
use crate::{
    arguments::ext::ExtRunToolArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    runtime,
};

pub(crate) fn run(
    arguments: &ExtRunToolArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let (line, is_error) = runtime::start_many()?.block_on(call(arguments, environment))?;
    console.line(&line);
    Ok(if is_error { Exit::No } else { Exit::Success })
}

async fn call(arguments: &ExtRunToolArguments, environment: &Environment) -> Result<(String, bool), Failure> {
    let input = object(&arguments.input)?;
    let sources = Trial::sources(&arguments.tried, environment)?;
    let trial = Trial::open(arguments.tried.profile, environment)?;
    let guests = trial.start_all(sources).await?;
    let Some(tool) = guests.tool(&arguments.tool) else {
        let known: Vec<String> = guests.tools().iter().map(|tool| tool.offer.definition.name.clone()).collect();
        let problem = format!("it has no tool {}; its tools are: {}", arguments.tool, known.join(", "));
        return Err(SessionFailure::NoExtensions { problem }.into());
    };
    let (updates, mut heard) = mpsc::channel(64);
    let call = ToolInvocation { call_id: "trial".into(), name: arguments.tool.clone(), input, updates };
    let answer = tool.call(call, &CancellationToken::new()).await;
    let mut seen = Vec::new();
    while let Ok(update) = heard.try_recv() {
        seen.push(json!(update));
    }
    guests.shutdown().await;
    let actions = trial.session.actions();
    trial.close().await;
    let (told, is_error) = match answer {
        Ok(answer) => (
            json!({ "content": answer.output.content, "details": answer.output.details, "isError": answer.is_error,
            "terminate": answer.terminate, "updates": seen, "actions": actions }),
            answer.is_error,
        ),
        Err(fault) => (json!({ "error": trouble(&fault), "isError": true, "updates": seen, "actions": actions }), true),
    };
    Ok((told.to_string(), is_error))
}
