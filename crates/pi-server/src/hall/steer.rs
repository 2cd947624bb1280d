//! Commands that say something to a session, or stop what it does.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use pi_engine::{Change, Header};
use pi_session::{
    BashError, Ending, Exposure, PromptError, Prompted, Session, SessionGone, ShellEnd, input::Utterance, queue::When,
};
use pi_transcript::{Block, SessionId, content::ImageBlock};
use pi_wire::{
    Class, Data, Error,
    command::{Bash, Prompt, StreamingBehavior},
    response::BashResult,
};
use tokio::{
    task::unconstrained,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{Outcome, Pass, Undone, conversation::circuit_open, done, gone, now, told};
use crate::{
    circuit::Circuits,
    room::{Entry, Room},
    signature::sign,
};

/// How a prompt comes.
pub(super) struct Coming<'a> {
    /// As what it was admitted.
    pub(super) class: Class,
    pub(super) entry: Option<Entry>,
    pub(super) cancel: &'a CancellationToken,
    pub(super) pass: Pass<'a>,
}

/// Lets those who would stop some work pass once the session has heard of it: with its first poll the work is in the session's
/// mailbox, or in line before it.
pub(super) async fn hand_in<T>(entry: Option<Entry>, work: impl Future<Output = T>) -> T {
    // A first poll that is put off would hand in nothing.
    let mut work = pin!(unconstrained(work));
    let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    drop(entry);
    match first {
        Poll::Ready(done) => done,
        Poll::Pending => work.await,
    }
}

/// Says something and waits for the end of the run that it begins, if it is to begin one.
pub(super) async fn prompt(room: &Room, session: &Session, prompt: Prompt, coming: Coming<'_>) -> Outcome {
    let Coming { class, entry, cancel, pass } = coming;
    let when = prompt.streaming_behavior.map(when);
    // Of a session that was not loaded when the command was admitted nobody knew what its extensions can do.
    let calls = class == Class::ExtensionCommand || prompt.slash_command().is_some_and(|name| room.has_command(name));
    let utterance = utterance(prompt.message, prompt.images);
    match (class, when) {
        // Until then it is in the mailbox, or in line where it can be told that it was stopped.
        (Class::JoinsRun, Some(when)) => hand_in(entry, join(room, session, utterance, when, pass)).await,
        _ => {
            // What an extension does in a command of its own may begin a run, and nobody waits for the end of that.
            let _commanded = (!calls).then(|| room.command());
            run(room, session, (utterance, when), entry, cancel).await
        }
    }
}

/// Begins a run and waits for its end. A run that is in flight comes first: nobody commanded it, so it holds no lane.
async fn run(
    room: &Room,
    session: &Session,
    (utterance, when): (Utterance, Option<When>),
    mut entry: Option<Entry>,
    cancel: &CancellationToken,
) -> Outcome {
    loop {
        let said = async {
            match when {
                Some(when) => session.say_during(utterance.clone(), when).await,
                None => session.say(utterance.clone()).await,
            }
        };
        let mut said = pin!(hand_in(entry.take(), said));
        let prompted = tokio::select! {
            // What is stopped has been handed in: only then can it be said what became of it.
            biased;
            prompted = &mut said => prompted,
            () = cancel.cancelled() => {
                session.abort().await.map_err(gone(room.id()))?;
                return Err(match said.await {
                    Ok(Prompted::Unsaid | Prompted::TakenBack) => Error::AbortedUnsaid.into(),
                    _ => changed(Error::Aborted),
                });
            }
        };
        match prompted {
            Err(PromptError::Busy) => session.idle().await.map_err(gone(room.id()))?,
            Err(PromptError::Input(fault)) => return Err(Error::Refused { reason: fault.to_string() }.into()),
            Err(fault @ PromptError::Unwritten { .. }) => return Err(unwritten(&fault)),
            Err(PromptError::LeftAlone(left)) => return Err(circuit_open(left)),
            Err(PromptError::Gone(SessionGone)) => return Err(Error::SessionNotFound(room.id().clone()).into()),
            Ok(prompted) => return ended(prompted, session).await,
        }
    }
}

/// How long what waits for a run to begin, or to end, keeps others waiting.
const PATIENCE: Duration = Duration::from_secs(1);

/// When something is not over soon: an extension asks a person about it, or about what it waits for, or takes its time.
pub(super) async fn is_slow(asks: impl Future<Output = ()>) {
    tokio::select! {
        () = asks => {}
        () = sleep(PATIENCE) => {}
    }
}

/// Puts a message into the run in flight. If the run has just ended the message begins another one, and that is as good:
/// it was said, and nobody waits for more.
async fn join(room: &Room, session: &Session, utterance: Utterance, when: When, pass: Pass<'_>) -> Outcome {
    let begun = async {
        let line = room.line().await;
        room.begun().await;
        line
    };
    let line = tokio::select! {
        // What is stopped before its run has begun would begin another one.
        biased;
        () = room.joining_stopped() => return Err(Error::AbortedUnsaid.into()),
        line = pass.when(is_slow(room.asks()), begun) => line,
    };
    let _joining = room.join();
    // Before it is handed in: a run may have begun when it is looked again.
    let runs = room.flight().runs();
    let (speaker, id) = (session.clone(), room.id().clone());
    let mut saying = Box::pin(unconstrained(async move { speaker.say_during(utterance, when).await }));
    // With its first poll it is in the mailbox, or in line before it, and whoever comes next comes behind it.
    let first = poll_fn(|context| Poll::Ready(saying.as_mut().poll(context))).await;
    drop(line);
    // Its owner is the session: a run that it begins goes on when the command is answered.
    let saying = tokio::spawn(async move {
        match first {
            Poll::Ready(said) => said,
            Poll::Pending => saying.await,
        }
    });
    let said_or_begun = async {
        tokio::select! {
            said = saying => Some(said),
            () = room.flight().until(|_| room.flight().runs() > runs) => None,
        }
    };
    match pass.when(is_slow(room.asks()), said_or_begun).await {
        Some(Ok(Ok(prompted))) => ended(prompted, session).await,
        Some(Ok(Err(PromptError::Gone(SessionGone)))) => Err(Error::SessionNotFound(id).into()),
        Some(Ok(Err(PromptError::LeftAlone(left)))) => Err(circuit_open(left)),
        Some(Ok(Err(fault @ PromptError::Unwritten { .. }))) => Err(unwritten(&fault)),
        Some(Ok(Err(fault))) => Err(Error::Refused { reason: fault.to_string() }.into()),
        Some(Err(panic)) => Err(Error::Internal { incident: panic.to_string() }.into()),
        None => done(),
    }
}

/// Steers, or waits for the end of the run. Without a run, the message waits for the next one.
pub(super) async fn queue(
    room: &Room,
    session: &Session,
    (message, images): (String, Vec<Block>),
    when: When,
    (entry, pass): (Option<Entry>, Pass<'_>),
) -> Outcome {
    hand_in(entry, join(room, session, utterance(message, images), when, pass)).await
}

async fn ended(prompted: Prompted, session: &Session) -> Outcome {
    match prompted {
        Prompted::Queued(_) | Prompted::Ran(Ending::Done) => done(),
        Prompted::Ran(Ending::Aborted) => Err(changed(Error::Aborted)),
        Prompted::Unsaid | Prompted::TakenBack => Err(Error::AbortedUnsaid.into()),
        // Also where a circuit opened under the run: `circuit_open` says that nothing was said and that it may be said again.
        Prompted::Ran(Ending::Failed { message, .. }) => Err(changed(provider_failed(session, message).await)),
        Prompted::Handled { trouble: None, .. } => done(),
        Prompted::Handled { by, trouble: Some(trouble) } => {
            Err(changed(Error::ExtensionFailed { extension: by.to_string(), message: trouble }))
        }
    }
}

/// It waits, and is lost if the server ends before it is said.
fn unwritten(fault: &PromptError) -> Undone {
    changed(Error::StorageFailed { reason: fault.to_string() })
}

/// It failed, but what was said is in the conversation.
fn changed(error: Error) -> Undone {
    Undone { error, change: Change::Altered }
}

/// How much later than the engine a handler looks at the clock, and how much earlier it may think that it is.
const TICK: Duration = Duration::from_millis(20);

/// How shell commands of a client are run.
pub(super) struct Shell<'a> {
    pub(super) circuits: &'a Arc<Circuits>,
    pub(super) header: &'a Header,
    pub(super) cancel: &'a CancellationToken,
    /// When the engine ends it.
    pub(super) until: Instant,
}

impl Shell<'_> {
    pub(super) async fn run(&self, id: &SessionId, session: &Session, command: Bash, entry: Option<Entry>) -> Outcome {
        let pass = self.circuits.admit(id, now())?;
        let exposure = if command.exclude_from_context { Exposure::Hidden } else { Exposure::Shown };
        let name = self.header.id.as_ref().map(|id| sign(&self.header.client, id));
        let written_by = command.written_by.iter().map(|id| id.as_str().into()).collect();
        let late = CancellationToken::new();
        let ran = session.bash_until(late.clone(), name, written_by, command.command, exposure);
        let mut running = pin!(hand_in(entry, ran));
        let ran = tokio::select! {
            ran = &mut running => ran,
            () = self.cancel.cancelled() => {
                // The engine asks to stop when the time is up, and when the session or the server ends.
                if Instant::now() + TICK >= self.until {
                    pass.end(ShellEnd::TimedOut, now());
                    // That is answered already, with the version of a conversation in which it does not stand.
                    late.cancel();
                    drop(running.await);
                    return Err(Error::Aborted.into());
                }
                pass.end(ShellEnd::Aborted, now());
                session.abort_bash().await.map_err(gone(id))?;
                return Err(changed(Error::Aborted));
            }
        };
        pass.end(
            match &ran {
                Ok(ran) if ran.cancelled => ShellEnd::Aborted,
                Ok(_) => ShellEnd::Exited,
                Err(BashError::Broken { .. }) => ShellEnd::Broken,
                Err(BashError::Refused { .. } | BashError::TimedOut | BashError::Gone(SessionGone)) => {
                    ShellEnd::Aborted
                }
            },
            now(),
        );
        match ran {
            Ok(ran) => told(Data::Bash(BashResult {
                exit_code: ran.exit_code.unwrap_or(0),
                output: ran.output,
                cancelled: ran.cancelled,
                truncated: ran.truncated.then_some(true),
                full_output_path: ran.full_output_path,
            })),
            Err(BashError::Refused { reason } | BashError::Broken { reason }) => Err(Error::Refused { reason }.into()),
            Err(BashError::TimedOut) => Err(Error::Aborted.into()),
            Err(BashError::Gone(SessionGone)) => Err(Error::SessionNotFound(id.clone()).into()),
        }
    }
}

/// That the model could not do what it was asked for.
pub(super) async fn provider_failed(session: &Session, message: String) -> Error {
    // Of a session that ended meanwhile nobody can say who was asked.
    let provider = session.state().await.map_or_else(|_| "of the session".into(), |state| state.model.provider.clone());
    Error::ProviderFailed { provider, message, retry_after_ms: None }
}

pub(super) fn when(behavior: StreamingBehavior) -> When {
    match behavior {
        StreamingBehavior::Steer => When::Steer,
        StreamingBehavior::FollowUp => When::FollowUp,
    }
}

fn utterance(text: String, images: Vec<Block>) -> Utterance {
    // The rule that reads them lets nothing but images pass.
    let images: Vec<ImageBlock> = images
        .into_iter()
        .filter_map(|block| if let Block::Image(image) = block { Some(image) } else { None })
        .collect();
    Utterance { text, files: Vec::new(), piped: None, images }
}
