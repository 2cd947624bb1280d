//! Asks a person whether they trust the project that they are in, before anything of it is used.

use pi_session::settings::trust::{self, Trust};
use pi_terminal::{Colours, Device};
use pi_transcript::question::{Answer, Asked, Question};

use crate::{
    console::Console,
    env::{self, Environment},
    failure::{Failure, McpFailure, SessionFailure},
    trust::{Brought, agree_to_servers, brought},
    workshop::Ground,
};

const YES: &str = "Yes, here and below, from now on";
const NO: &str = "No, and do not ask again";
const LATER: &str = "Not now";

/// What came of the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    /// Somebody decided, and it is written down.
    Now,
    /// There was nothing to ask, or nobody answered.
    Not,
    /// A signal ended the program.
    Terminated,
}

/// Asks, if the project brings something that nobody has decided about.
pub(super) async fn ask(ground: &Ground, environment: &Environment) -> Result<Decided, Failure> {
    let Some(agent) = environment.agent_directory.as_deref().filter(|_| ground.is_to_be_asked()) else {
        return Ok(Decided::Not);
    };
    let Some(question) = question(ground, environment) else { return Ok(Decided::Not) };
    let mut device = Device::open(env::lookup("TERM").as_deref()).map_err(SessionFailure::Terminal)?;
    let colours = Colours::of(&env::lookup);
    let answered = pi_terminal::ask(&question, &mut device, &ground.theme(), colours).await;
    drop(device);
    let decision = match answered.map_err(|error| SessionFailure::Terminal(error.into()))? {
        None => return Ok(Decided::Terminated),
        Some(Answer::Select { value }) if value == YES => Trust::Trusted,
        Some(Answer::Select { value }) if value == NO => Trust::Untrusted,
        Some(_) => return Ok(Decided::Not),
    };
    if decision == Trust::Trusted {
        agree_to_servers(&ground.directory, environment).map_err(McpFailure::Pins)?;
    }
    trust::decide(agent, &ground.directory, decision).map_err(SessionFailure::Trust)?;
    Ok(Decided::Now)
}

/// Says what is not used, and how it would be; those who decided know.
pub(super) fn note(ground: &Ground, how: &str, environment: &Environment, console: &mut Console) {
    if !ground.is_undecided() {
        return;
    }
    let brought = brought(&ground.directory, environment);
    let names: Vec<String> =
        brought.iter().filter(|it| !it.is_told_elsewhere()).map(|it| it.name(&ground.directory)).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        console.note(&format!("nobody has trusted this project, so this is not used: {names}; {how} switches it on"));
    }
}

fn question(ground: &Ground, environment: &Environment) -> Option<Asked> {
    let brought = brought(&ground.directory, environment);
    if brought.is_empty() {
        return None;
    }
    let names: Vec<String> = brought.iter().map(|it| it.name(&ground.directory)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let row = |(name, it): (&String, &Brought)| {
        let servers: String = it.servers.iter().map(|server| format!("    {server}\n")).collect();
        format!("  {name:<width$}  {}\n{servers}", it.what)
    };
    let rows: String = names.iter().zip(&brought).map(row).collect();
    let title = format!(
        "This project brings what can run programs, tell the agent what to do, or say where your words are sent:\n{rows}\
         Do you trust {}?",
        ground.directory.display()
    );
    // Whoever presses enter without reading has trusted nobody.
    let options = [LATER, YES, NO].map(str::to_owned).to_vec();
    Asked::try_from(Question::Select { title, options, timeout: None }).ok()
}
