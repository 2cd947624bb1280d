//! A conversation that nobody takes part in: everything is said, and what came of it is printed.

use std::{pin::pin, time::Duration};

use futures_util::FutureExt as _;
use pi_session::{Cause, Departure, Ending, PromptError, Prompted, Session, Subscription, Wish, input::Utterance};
use pi_transcript::{
    AgentEvent, Block, Header, Line, Message, StopReason, json::Open, message::AssistantMessage, write_line,
};
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use super::{
    lines::Lines,
    notes::Notes,
    stop::{Stop, Stops},
};
use crate::{
    command::ask::form,
    console::Console,
    exit::Exit,
    failure::{Failure, SessionFailure, session_hint},
};

/// What becomes of what was said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    File,
    Nothing,
    /// There is a file, and it was told that it cannot be written.
    InVain,
}

/// A session, what is said to it, and where its extensions want to go.
pub(super) struct Plan {
    pub(super) session: Session,
    /// What happens in it, from its beginning on.
    pub(super) events: Subscription,
    pub(super) keeping: Keeping,
    pub(super) sayings: Vec<Utterance>,
    pub(super) wishes: mpsc::Receiver<Wish>,
    pub(super) stops: Stops,
}

/// Prints the model's last words.
pub(super) async fn answer(plan: Plan, console: &mut Console) -> Result<Exit, Failure> {
    let Plan { session, events, keeping, sayings, wishes, stops } = plan;
    let mut screen = Screen { last: None, notes: Notes { keeping }, doing: String::new(), seconds: 0 };
    let mut talk = Talk::begin(&session, events, wishes, stops, console).await?;
    let mut end = talk.say_all(sayings, &mut screen, console).await?;
    match &end {
        End::Done => {
            screen.answer(console);
            end = screen.lack().map_or(end, End::Empty);
        }
        // No call failed: the answer is there and says why it is none.
        End::Failed { cause: None, .. } => screen.answer(console),
        End::Failed { cause: Some(_), .. } | End::Reported | End::Empty(_) | End::Stopped(_) | End::Left(_) => {}
    }
    end.tell(keeping, console);
    talk.close(end, &mut screen, console).await
}

/// Prints the header of the session and every event.
pub(super) async fn events(plan: Plan, header: &Header, console: &mut Console) -> Result<Exit, Failure> {
    let Plan { session, events, keeping, sayings, wishes, stops } = plan;
    console.line(&write_line(&Line::Header(header.clone().into())));
    console.flush();
    let mut tape = Tape { lines: Lines::new(), notes: Notes { keeping } };
    let mut talk = Talk::begin(&session, events, wishes, stops, console).await?;
    let end = talk.say_all(sayings, &mut tape, console).await?;
    end.tell(keeping, console);
    talk.close(end, &mut tape, console).await
}

/// Who sees what happens: [`Screen`] for people, [`Tape`] for machines.
trait Witness {
    fn take(&mut self, event: &AgentEvent, console: &mut Console);

    /// A second has passed in which something may have happened or not.
    fn tick(&mut self, console: &mut Console);
}

/// How a conversation ended.
enum End {
    Done,
    /// All went well, and the model had nothing to say: what it lacks, in words.
    Empty(String),
    Failed {
        message: String,
        cause: Option<Cause>,
    },
    /// A command failed, which was told when it did.
    Reported,
    Stopped(Stop),
    /// Somebody could not wait: nothing is done any more.
    Left(Stop),
}

impl End {
    fn exit(&self) -> Exit {
        match self {
            End::Done => Exit::Success,
            End::Failed { cause: Some(cause), .. } if cause.error().code().is_retryable() => Exit::TryAgain,
            End::Failed { .. } | End::Reported | End::Empty(_) => Exit::No,
            End::Stopped(stop) | End::Left(stop) => stop.exit(),
        }
    }

    /// Says why there is no answer, and what to do about it.
    fn tell(&self, keeping: Keeping, console: &mut Console) {
        match self {
            End::Done | End::Reported | End::Left(_) => {}
            End::Empty(told) => console.note(&format!("the answer is empty: {told}")),
            End::Failed { message, cause } => {
                console.complaint(message);
                if let Some(cause) = cause {
                    console.hint(&session_hint(cause.error()));
                }
            }
            End::Stopped(stop) => {
                let kept = match keeping {
                    Keeping::File => "what was said so far is kept",
                    Keeping::Nothing | Keeping::InVain => "nothing of it is kept",
                };
                console.note(&format!("{}; {kept}", stop.told()));
            }
        }
    }
}

/// A session to which things are said, one after the other.
///
/// Ctrl-C, a request to terminate and a terminal that is gone end the run in order: what was said is in the file. A second
/// signal ends at once. A reader that went away changes nothing: what was asked for is done.
struct Talk<'a> {
    session: &'a Session,
    events: Subscription,
    stops: Stops,
    /// The first signal.
    stopped: Option<Stop>,
    wishes: mpsc::Receiver<Wish>,
    /// An extension wants the program to end.
    is_leaving: bool,
}

impl<'a> Talk<'a> {
    async fn begin(
        session: &'a Session,
        events: Subscription,
        wishes: mpsc::Receiver<Wish>,
        stops: Stops,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        for complaint in session.complaints().await.map_err(SessionFailure::Gone)? {
            console.note(&complaint.to_string());
        }
        Ok(Self { session, events, stops, stopped: None, wishes, is_leaving: false })
    }

    /// Goes on as long as all goes well.
    async fn say_all(
        &mut self,
        sayings: Vec<Utterance>,
        witness: &mut impl Witness,
        console: &mut Console,
    ) -> Result<End, Failure> {
        let mut sayings = sayings.into_iter();
        while let Some(saying) = sayings.next() {
            let end = self.say(saying, witness, console).await?;
            if !matches!(end, End::Done) || self.is_leaving {
                for unsent in sayings {
                    console.note(&format!("not sent any more: {}", unsent.text));
                }
                return Ok(end);
            }
        }
        Ok(End::Done)
    }

    async fn say(
        &mut self,
        said: Utterance,
        witness: &mut impl Witness,
        console: &mut Console,
    ) -> Result<End, Failure> {
        let session = self.session;
        let mut prompting = pin!(async {
            let prompted = session.say(said).await?;
            if matches!(prompted, Prompted::Handled { .. }) {
                // A command may have begun a run, and what it says is an answer too: its events are there when this returns.
                session.idle().await?;
                session.flush().await?;
            }
            Ok(prompted)
        });
        let mut seconds = interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut is_settled = false;
        let mut ended = None;
        let mut reported = Vec::new();
        while ended.is_none() || !is_settled {
            tokio::select! {
                event = self.events.next() => {
                    let event = event.map_err(SessionFailure::Silent)?;
                    is_settled |= matches!(*event, AgentEvent::AgentSettled { .. });
                    reported.extend(error_in(&event));
                    witness.take(&event, console);
                }
                prompted = &mut prompting, if ended.is_none() => {
                    let prompted = prompted.map_err(unsaid)?;
                    is_settled |= !matches!(prompted, Prompted::Ran(_));
                    ended = Some(prompted);
                }
                Some(wish) = self.wishes.recv() => self.decide(wish),
                stop = self.stops.next() => match self.stopped {
                    Some(first) => return Ok(End::Left(first)),
                    None => {
                        self.stopped = Some(stop);
                        console.activity("stopping");
                        abort(self.session);
                    }
                },
                _ = seconds.tick(), if self.stopped.is_none() => witness.tick(console),
            }
        }
        // Those of a run that a command began.
        while let Some(Ok(event)) = self.events.next().now_or_never() {
            reported.extend(error_in(&event));
            witness.take(&event, console);
        }
        Ok(match ended {
            Some(Prompted::Ran(Ending::Done)) => End::Done,
            Some(Prompted::Ran(Ending::Failed { message, cause })) => End::Failed { message, cause },
            Some(Prompted::Ran(Ending::Aborted) | Prompted::Unsaid | Prompted::TakenBack) => {
                End::Stopped(self.stopped.unwrap_or(Stop::Interrupt))
            }
            Some(Prompted::Handled { trouble: Some(message), .. }) if is_among(&message, &reported) => End::Reported,
            Some(Prompted::Handled { trouble: Some(message), .. }) => End::Failed { message, cause: None },
            Some(Prompted::Handled { trouble: None, .. }) => End::Done,
            Some(Prompted::Queued(_)) | None => unreachable!("nothing else runs in this session"),
        })
    }

    /// There is one session here and nobody who could go on in another, but everybody may want to end.
    fn decide(&mut self, wish: Wish) {
        match wish.departure {
            Departure::Quit => {
                self.is_leaving = true;
                wish.grant();
            }
            Departure::New { .. } | Departure::Resume(_) | Departure::Fork(_) | Departure::Reload => {
                wish.refuse("nobody is here who could go on in another session");
            }
        }
    }

    /// Writes what is to be written. Whoever does not want to wait for it sends a signal: all that was said is in the file
    /// already.
    async fn close(mut self, end: End, witness: &mut impl Witness, console: &mut Console) -> Result<Exit, Failure> {
        console.flush();
        if matches!(end, End::Left(_)) {
            return Ok(end.exit());
        }
        tokio::select! {
            // What was not said is told among the events.
            closed = self.session.close() => drop(closed.map_err(SessionFailure::Gone)?),
            stop = self.stops.next() => return Ok(self.stopped.unwrap_or(stop).exit()),
        }
        while let Ok(event) = self.events.next().await {
            witness.take(&event, console);
        }
        Ok(end.exit())
    }
}

/// Whether it was told before: the event says behind it where in the source it was.
fn is_among(message: &str, reported: &[String]) -> bool {
    reported.iter().any(|told| told.starts_with(message))
}

/// What went wrong in an extension, as the event tells it.
fn error_in(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::ExtensionError { error, .. } => Some(error.clone()),
        _ => None,
    }
}

fn unsaid(error: PromptError) -> SessionFailure {
    match error {
        PromptError::Input(error) => SessionFailure::Input(error),
        PromptError::Busy | PromptError::Unwritten { .. } | PromptError::LeftAlone(_) | PromptError::Gone(_) => {
            SessionFailure::Prompt(error)
        }
    }
}

/// Ends the run; its events tell when it has ended. The task ends with the run, and with the runtime at the latest.
fn abort(session: &Session) {
    let session = session.clone();
    tokio::spawn(async move {
        // A session that is gone runs nothing.
        let _ = session.abort().await;
    });
}

/// Events as lines.
struct Tape {
    lines: Lines,
    notes: Notes,
}

impl Witness for Tape {
    fn take(&mut self, event: &AgentEvent, console: &mut Console) {
        console.line(&self.lines.line(event));
        console.flush();
        self.notes.take(event, console);
    }

    fn tick(&mut self, _console: &mut Console) {
        // The events are the sign of life.
    }
}

/// Keeps the last answer, and tells people who watch what goes on.
struct Screen {
    last: Option<Box<AssistantMessage>>,
    notes: Notes,
    /// What the agent does, and for how many seconds it has done it.
    doing: String,
    seconds: u64,
}

impl Screen {
    fn answer(&self, console: &mut Console) {
        let Some(last) = &self.last else { return };
        let text = words(last);
        if !text.is_empty() {
            console.say(&format!("{text}\n"));
        }
        if last.stop_reason == Open::Known(StopReason::Length) {
            console.note("the answer was cut: it reached its largest length");
        }
    }

    /// What the last answer lacks, if it says nothing; a conversation in which nobody was asked lacks nothing.
    fn lack(&self) -> Option<String> {
        let last = self.last.as_ref()?;
        Some(form::lack(last)?.told(&last.stop_reason, last.raw_stop_reason.as_deref()))
    }

    fn set_doing(&mut self, doing: String, console: &mut Console) {
        console.activity(&doing);
        (self.doing, self.seconds) = (doing, 0);
    }
}

impl Witness for Screen {
    fn take(&mut self, event: &AgentEvent, console: &mut Console) {
        match event {
            AgentEvent::TurnStart => self.set_doing("waiting for the model".to_owned(), console),
            AgentEvent::MessageStart { message: Message::Assistant(_) } => {
                self.set_doing("the model answers".to_owned(), console);
            }
            AgentEvent::MessageEnd { message: Message::Assistant(said) } => self.last = Some(said.clone()),
            AgentEvent::ToolExecutionStart { tool_name, args, .. } => {
                let aim = ["command", "path", "pattern"].iter().find_map(|name| args.get(name)?.as_str());
                self.set_doing(format!("{tool_name} {}", aim.unwrap_or_default().replace('\n', " ")), console);
            }
            AgentEvent::AutoCompactionStart { .. } => {
                self.set_doing("summarising the conversation".to_owned(), console);
            }
            _ => {}
        }
        self.notes.take(event, console);
    }

    fn tick(&mut self, console: &mut Console) {
        // Nobody needs to be told that a moment has passed.
        self.seconds += 1;
        if self.seconds > 2 && !self.doing.is_empty() {
            console.activity(&format!("{} s  {}", self.seconds - 1, self.doing));
        }
    }
}

/// The text of an answer, block by block as Pi prints it.
fn words(said: &AssistantMessage) -> String {
    said.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}
