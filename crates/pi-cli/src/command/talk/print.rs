//! A conversation that nobody takes part in: everything is said, and what came of it is printed.

use std::pin::pin;

use pi_session::{Ending, Prompted, Session, Subscription, queue::Saying};
use pi_transcript::{
    AgentEvent, Block, Header, Line, Message, StopReason, json::Open, message::AssistantMessage, write_line,
};

use super::lines::Lines;
use crate::{
    console::{Console, printable},
    exit::Exit,
    failure::{Failure, SessionFailure},
};

/// Prints the model's last words.
pub(super) async fn answer(session: &Session, sayings: Vec<Saying>, console: &mut Console) -> Result<Exit, Failure> {
    let mut last = None;
    let end = hold(session, sayings, console, |event, console| tell(event, &mut last, console)).await?;
    match &end {
        End::Interrupted => console.note("interrupted; what was said so far is kept"),
        End::Failed { message } => console.complaint(message),
        End::Done => {
            let text = last.as_deref().map(words).unwrap_or_default();
            if !text.is_empty() {
                console.line(&safe(&text));
            }
            if last.is_some_and(|last| last.stop_reason == Open::Known(StopReason::Length)) {
                console.note("the answer was cut: it reached its largest length");
            }
            return Ok(Exit::Success);
        }
    }
    Ok(end.exit())
}

/// Prints the header of the session and every event.
pub(super) async fn events(
    session: &Session,
    header: &Header,
    sayings: Vec<Saying>,
    console: &mut Console,
) -> Result<Exit, Failure> {
    console.line(&write_line(&Line::Header(header.clone().into())));
    console.flush();
    let mut lines = Lines::new();
    let end = hold(session, sayings, console, |event, console| {
        console.line(&lines.line(event));
        console.flush();
        warn(event, console);
    });
    let end = end.await?;
    if let End::Failed { message } = &end {
        console.complaint(message);
    }
    Ok(end.exit())
}

/// How a conversation ended.
enum End {
    Done,
    Failed { message: String },
    Interrupted,
}

impl End {
    fn exit(&self) -> Exit {
        match self {
            End::Done => Exit::Success,
            End::Failed { .. } => Exit::No,
            End::Interrupted => Exit::Interrupted,
        }
    }
}

/// Says one thing after the other as long as all goes well, and hands out what happens. Ctrl-C ends the run in order: what
/// was said is in the file. A second one ends at once.
async fn hold(
    session: &Session,
    sayings: Vec<Saying>,
    console: &mut Console,
    mut take: impl FnMut(&AgentEvent, &mut Console),
) -> Result<End, Failure> {
    let (_, mut events) = session.subscribe().await.map_err(SessionFailure::Gone)?;
    let mut end = End::Done;
    for saying in sayings {
        end = say(session, saying, &mut events, console, &mut take).await?;
        if !matches!(end, End::Done) {
            break;
        }
    }
    session.close().await.map_err(SessionFailure::Gone)?;
    while let Ok(event) = events.next().await {
        take(&event, console);
    }
    Ok(end)
}

async fn say(
    session: &Session,
    saying: Saying,
    events: &mut Subscription,
    console: &mut Console,
    take: &mut impl FnMut(&AgentEvent, &mut Console),
) -> Result<End, Failure> {
    let mut prompting = pin!(session.prompt(saying));
    // One listener for the whole run: an interrupt that comes while nobody listens is lost.
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let mut is_interrupted = false;
    let mut is_settled = false;
    let mut ended = None;
    while ended.is_none() || !is_settled {
        tokio::select! {
            event = events.next() => {
                let event = event.map_err(SessionFailure::Silent)?;
                is_settled |= matches!(*event, AgentEvent::AgentSettled { .. });
                take(&event, console);
                // Nobody reads any more, and every further word may cost something.
                if console.is_lost() && !is_interrupted {
                    is_interrupted = true;
                    stop(session);
                }
            }
            prompted = &mut prompting, if ended.is_none() => ended = Some(prompted.map_err(SessionFailure::Prompt)?),
            Ok(()) = &mut interrupt => {
                interrupt.set(tokio::signal::ctrl_c());
                if is_interrupted {
                    return Ok(End::Interrupted);
                }
                is_interrupted = true;
                console.activity("stopping");
                stop(session);
            }
        }
    }
    Ok(match ended {
        Some(Prompted::Ran(Ending::Done)) => End::Done,
        Some(Prompted::Ran(Ending::Failed { message, .. })) => End::Failed { message },
        Some(Prompted::Ran(Ending::Aborted)) => End::Interrupted,
        Some(Prompted::Queued(_)) | None => unreachable!("nothing else runs in this session"),
    })
}

/// Ends the run; its events tell when it has ended. The task ends with the run, and with the runtime at the latest.
fn stop(session: &Session) {
    let session = session.clone();
    tokio::spawn(async move {
        // A session that is gone runs nothing.
        let _ = session.abort().await;
    });
}

/// Keeps the last answer, and tells people who watch what goes on.
fn tell(event: &AgentEvent, last: &mut Option<Box<AssistantMessage>>, console: &mut Console) {
    match event {
        AgentEvent::MessageEnd { message: Message::Assistant(said) } => *last = Some(said.clone()),
        AgentEvent::ToolExecutionStart { tool_name, args, .. } => {
            let aim = ["command", "path", "pattern"].iter().find_map(|name| args.get(name)?.as_str());
            console.activity(&format!("{tool_name} {}", aim.unwrap_or_default().replace('\n', " ")));
        }
        _ => {}
    }
    warn(event, console);
}

/// What somebody should know even if only the answer is printed.
fn warn(event: &AgentEvent, console: &mut Console) {
    match event {
        AgentEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = *delay_ms as f64 / 1000.0;
            console.remark(&format!("retrying {attempt} of {max_attempts} in {seconds:.1} s: {error_message}"));
        }
        AgentEvent::AutoCompactionStart { .. } => console.activity("summarising the conversation"),
        AgentEvent::ExtensionError { extension_path, error, .. } => {
            console.note(&format!("the extension {extension_path} failed: {error}"));
        }
        AgentEvent::Other(members) if members.get("type").is_some_and(|kind| kind == "storage_failed") => {
            let why = members.get("message").and_then(|message| message.as_str()).unwrap_or_default();
            console.note(&format!("the session is kept in memory only: {why}"));
        }
        AgentEvent::Other(members) if members.get("type").is_some_and(|kind| kind == "guardrail") => {
            console.note(members.get("message").and_then(|message| message.as_str()).unwrap_or_default());
        }
        AgentEvent::Other(members) if members.get("type").is_some_and(|kind| kind == "storage_recovered") => {
            console.note("the session is on the disk again");
        }
        _ => {}
    }
}

/// The text of an answer, block by block as Pi prints it.
fn words(said: &AssistantMessage) -> String {
    said.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

/// What a model says must not command the terminal; line ends and tabs stay.
fn safe(text: &str) -> String {
    text.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}
