//! `pi ext rehearse`: a script of events, tool calls and commands, in one session, and all that came of it.

use std::{path::Path, sync::Arc, time::Duration};

use pi_exthost::{Ask, Guest, Guests, Stopwatch, Trouble, guest::ToolInvocation};
use pi_extproto::{
    Object,
    hook::{Hook, event::Event},
};
use pi_guests::js::Steps;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    rehearsal::{Script, Step},
    trial::{Staging, Trial, failed},
};
use crate::{
    arguments::ext::ExtRehearseArguments,
    compiling::tell_while,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, SessionFailure},
    runtime,
};

/// How long one step may take, waiting included.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) fn run(
    arguments: &ExtRehearseArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let script = read(&arguments.script)?;
    let rehearsed = tell_while(rehearse(arguments, script, environment), &environment.stock, console);
    let told = runtime::start_many()?.block_on(rehearsed)?;
    console.line(&told.to_string());
    Ok(Exit::Success)
}

#[expect(clippy::disallowed_methods, reason = "the person names the script")]
fn read(path: &Path) -> Result<Script, Failure> {
    let unreadable = |source| Failure::Unreadable { file: path.display().to_string(), source };
    let text = std::fs::read(path).map_err(unreadable)?;
    serde_json::from_slice(&text).map_err(|error| problem(format!("{}: {error}", path.display())))
}

fn problem(problem: String) -> Failure {
    let hint = "write an object with the scene and the steps".to_owned();
    SessionFailure::NoExtensions { problem, hint }.into()
}

/// What it registered, and for each step what it answered and what it did.
async fn rehearse(
    arguments: &ExtRehearseArguments,
    script: Script,
    environment: &Environment,
) -> Result<Value, Failure> {
    let sources = Trial::sources(&arguments.tried, environment)?;
    let Some(source) = sources.into_iter().next() else { return Err(problem("there is no extension".to_owned())) };
    let number = Steps::default();
    let staging = Staging { scene: script.scene, scenario: script.scenario, steps: number.clone() };
    let trial = Trial::stage(arguments.tried.profile, staging, environment).await?;
    let path = source.path.clone();
    let guest = trial.start(source).await.map_err(|fault| failed(&path, &fault))?;
    let guests = trial.gather([guest.clone()]);
    let mut told = guest.inspect().await.map_err(|fault| problem(fault.to_string()))?;
    let mut steps = Vec::new();
    for (planned, step) in script.steps.into_iter().zip(1..) {
        trial.session.invite(planned.person);
        number.begin(step);
        let outcome = perform(planned.step, &guest.guest(), &guests).await;
        trial.session.settle().await;
        steps.push(json!({ "outcome": outcome, "actions": trial.session.take_actions() }));
    }
    told["steps"] = Value::Array(steps);
    guests.shutdown().await;
    trial.close().await;
    Ok(told)
}

async fn perform(step: Step, guest: &Arc<dyn Guest>, guests: &Arc<Guests>) -> Value {
    let cancel = CancellationToken::new();
    let work = async {
        match step {
            Step::Fire { fire, event } => fired(&fire, event, guest).await,
            Step::Tool { tool, input } => called(&tool, input, guests, &cancel).await,
            Step::Command { command, arguments } => match guests.command(&command) {
                Some(command) => command.run(arguments, &cancel).await.map_or_else(threw, |()| json!({})),
                None => json!({ "missing": true }),
            },
            Step::Shortcut { shortcut } => json!({ "missing": !guests.press_shortcut(&shortcut, &cancel).await }),
        }
    };
    timeout(PATIENCE, work).await.unwrap_or_else(|_| json!({ "late": true }))
}

/// Every handler in turn hears the event as it was.
async fn fired(name: &str, data: Object, guest: &Arc<dyn Guest>) -> Value {
    let Some(hook) = Hook::find(name) else { return json!({ "missing": true }) };
    let event = match Event::read(name, Some(data)) {
        Ok(event) => Arc::new(event),
        Err(bad) => return json!({ "bad": bad.to_string() }),
    };
    let mut outcomes = Vec::new();
    for handler in 0..guest.registration().handlers(hook) {
        let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(PATIENCE) };
        outcomes.push(match guest.handle(handler, Arc::clone(&event), ask).await {
            Ok(outcome) => json!(outcome),
            Err(fault) => json!({ "error": fault.to_string() }),
        });
    }
    Value::Array(outcomes)
}

async fn called(name: &str, input: Object, guests: &Arc<Guests>, cancel: &CancellationToken) -> Value {
    let Some(tool) = guests.tool(name) else { return json!({ "missing": true }) };
    let (updates, mut heard) = mpsc::channel(64);
    let call = ToolInvocation { call_id: "rehearsed-call".into(), name: name.to_owned(), input, updates };
    let answer = tool.call(call, cancel).await;
    let mut count = 0;
    while heard.try_recv().is_ok() {
        count += 1;
    }
    match answer {
        Ok(answer) => json!({ "content": answer.output.content, "details": answer.output.details,
            "isError": answer.is_error, "terminate": answer.terminate, "updates": count }),
        Err(trouble) => threw(trouble),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what results are mapped with")]
fn threw(trouble: Trouble) -> Value {
    json!({ "error": trouble.to_string() })
}
