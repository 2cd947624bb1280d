//! Folds the answers of guests into one verdict. Pure: it waits for nobody and knows no guest.
//!
//! The event itself carries what was changed so far, so the next guest hears it as the last one left it.

pub mod comparison;
mod reading;

use std::{mem, ops::ControlFlow, sync::Arc};

use pi_extproto::{
    Object,
    connector::tool::ContentBlock,
    hook::{
        BashOutcome, CompactionOutcome, ContextOutcome, Failure, HeaderChange, Hook, InputOutcome, MessageOutcome,
        Outcome, RequestOutcome, ResourcePaths, SessionOutcome, StartOutcome, ToolCallOutcome, ToolResultOutcome,
        TreeOutcome, Trust, TrustOutcome, TurnOutcome, WarmingOutcome,
        event::{Event, payload::*},
    },
};
use serde_json::Value;

use self::{
    comparison::{foreign_calls, is_same},
    reading::{draft, message, messages, object},
};
use crate::{
    guest::GuestId,
    incident::Trouble,
    verdict::{
        BashVerdict, CompactionVerdict, ContextVerdict, InputVerdict, MessageVerdict, RequestVerdict, SessionVerdict,
        ToolCallVerdict, ToolResultVerdict, TreeVerdict, TrustVerdict, Verdict,
    },
};

/// Whether further guests are heard.
pub(crate) type Flow = ControlFlow<()>;

const ON: Flow = ControlFlow::Continue(());
const END: Flow = ControlFlow::Break(());

/// An event on its way from guest to guest. [`Guests`](crate::Guests) lead it; others have it to show each answer.
pub struct Chain {
    event: Arc<Event>,
    on_failure: Failure,
    verdict: Verdict,
}

impl Chain {
    pub fn new(hook: Hook, event: Event) -> Self {
        let family = hook.family();
        Self { event: Arc::new(event), on_failure: family.on_failure(), verdict: Verdict::untouched(family) }
    }

    /// The event as the next guest hears it.
    pub fn event(&self) -> &Arc<Event> {
        &self.event
    }

    /// The arguments that guests have put into a call so far; nothing if they are the model's.
    pub(crate) fn put_in(&self) -> Option<&Object> {
        let Verdict::ToolCall(ToolCallVerdict::Transformed { by: _, input }) = &self.verdict else { return None };
        Some(input)
    }

    /// Writes what guests have put into a call in another way that means the same.
    pub(crate) fn respell(&mut self, spelled: Object) {
        let (Verdict::ToolCall(ToolCallVerdict::Transformed { by: _, input }), Event::ToolCall(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return;
        };
        event.input.clone_from(&spelled);
        *input = spelled;
    }

    pub(crate) fn verdict(self) -> Verdict {
        self.verdict
    }

    /// Takes an answer in. One that is refused has changed nothing.
    pub fn take(&mut self, guest: &GuestId, outcome: Outcome) -> Result<Flow, Trouble> {
        match outcome {
            Outcome::Notice => Ok(ON),
            Outcome::Session(outcome) => self.session(guest, &outcome),
            Outcome::Compaction(outcome) => self.compaction(guest, outcome),
            Outcome::Tree(outcome) => self.tree(guest, outcome),
            Outcome::Input(outcome) => self.input(guest, outcome),
            Outcome::Start(outcome) => self.start(guest, outcome),
            Outcome::Turn(outcome) => self.turn(guest, outcome),
            Outcome::Message(outcome) => self.message(guest, outcome),
            Outcome::ToolCall(outcome) => self.tool_call(guest, outcome),
            Outcome::ToolResult(outcome) => self.tool_result(guest, outcome),
            Outcome::Bash(outcome) => self.bash(guest, outcome),
            Outcome::Context(outcome) => self.context(guest, outcome),
            Outcome::Request(outcome) => self.request(guest, outcome),
            Outcome::Headers(changes) => self.headers(guest, changes),
            Outcome::Resources(outcome) => self.resources(guest, outcome),
            Outcome::Trust(outcome) => self.trust(guest, &outcome),
            Outcome::SessionDirectory(folder) => self.session_directory(guest, folder),
            Outcome::Warming(outcome) => self.warming(guest, outcome),
        }
    }

    /// A guest failed, or was not asked because nobody waits any more: what was about to happen does not, if it was for
    /// the guest to judge it.
    pub(crate) fn fail(&mut self, guest: &GuestId, reason: String) -> Flow {
        match (self.on_failure, &mut self.verdict) {
            (Failure::Skip, _) => ON,
            (Failure::Block, Verdict::ToolCall(verdict)) => {
                *verdict = ToolCallVerdict::Blocked { by: guest.clone(), reason: Some(reason), terminate: false };
                END
            }
            (Failure::Block, Verdict::Bash(verdict)) => {
                *verdict = BashVerdict::Blocked { by: guest.clone(), reason };
                END
            }
            (Failure::Block, verdict) => unreachable!("only guards fail closed, and their verdicts can: {verdict:?}"),
        }
    }
}

/// What an event said may be changed only through these, and only by an answer of its family.
impl Chain {
    fn session(&mut self, guest: &GuestId, outcome: &SessionOutcome) -> Result<Flow, Trouble> {
        let Verdict::Session(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        match outcome {
            SessionOutcome::Continue => Ok(ON),
            SessionOutcome::Cancel => {
                *verdict = SessionVerdict::Cancelled { by: guest.clone() };
                Ok(END)
            }
        }
    }

    fn compaction(&mut self, guest: &GuestId, outcome: CompactionOutcome) -> Result<Flow, Trouble> {
        let Verdict::Compaction(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        match outcome {
            CompactionOutcome::Continue => Ok(ON),
            CompactionOutcome::Cancel => {
                *verdict = CompactionVerdict::Cancelled { by: guest.clone() };
                Ok(END)
            }
            CompactionOutcome::Replace(summary) => {
                *verdict = CompactionVerdict::Replaced { by: guest.clone(), summary };
                Ok(ON)
            }
        }
    }

    fn tree(&mut self, guest: &GuestId, outcome: TreeOutcome) -> Result<Flow, Trouble> {
        let Verdict::Tree(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        match outcome {
            TreeOutcome::Continue => Ok(ON),
            TreeOutcome::Cancel => {
                *verdict = TreeVerdict::Cancelled { by: guest.clone() };
                Ok(END)
            }
            TreeOutcome::Replace(summary) => {
                *verdict = TreeVerdict::Replaced { by: guest.clone(), summary };
                Ok(ON)
            }
        }
    }

    fn input(&mut self, guest: &GuestId, outcome: InputOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Input(verdict), Event::Input(event)) = (&mut self.verdict, Arc::make_mut(&mut self.event)) else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            InputOutcome::Continue => Ok(ON),
            InputOutcome::Transform { content } => {
                let (mut texts, mut images) = (Vec::new(), Vec::new());
                for block in content {
                    match block {
                        ContentBlock::Text(block) => texts.push(block.text),
                        ContentBlock::Image(image) => images.push(image),
                    }
                }
                event.text = texts.join("\n");
                event.images = (!images.is_empty()).then(|| images.clone());
                *verdict = InputVerdict::Transformed { by: guest.clone(), text: event.text.clone(), images };
                Ok(ON)
            }
            InputOutcome::Handled => {
                *verdict = InputVerdict::Handled { by: guest.clone() };
                Ok(END)
            }
        }
    }

    fn start(&mut self, guest: &GuestId, outcome: StartOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Start(verdict), Event::BeforeAgentStart(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        verdict.messages.extend(outcome.message.map(|message| (guest.clone(), message)));
        if let Some(prompt) = outcome.system_prompt {
            event.system_prompt.clone_from(&prompt);
            verdict.system_prompt = Some((guest.clone(), prompt));
        }
        Ok(ON)
    }

    fn turn(&mut self, guest: &GuestId, outcome: TurnOutcome) -> Result<Flow, Trouble> {
        let Verdict::Turn(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        let drafts = outcome.entries.into_iter().map(draft).collect::<Result<Vec<_>, _>>()?;
        let values = drafts.iter().cloned().map(Value::Object);
        let event = Arc::make_mut(&mut self.event);
        if let Event::TurnEnd(event) = event {
            event.entries.get_or_insert_default().extend(values);
            event.resume = outcome.resume.or(event.resume);
        } else if let Event::AgentBeforeSettle(event) = event {
            event.entries.extend(values);
            event.resume = outcome.resume.unwrap_or(event.resume);
        }
        verdict.entries.extend(drafts.into_iter().map(|draft| (guest.clone(), draft)));
        verdict.resume = outcome.resume.or(verdict.resume);
        Ok(ON)
    }

    fn message(&mut self, guest: &GuestId, outcome: MessageOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Message(verdict), Event::MessageEnd(event)) = (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            MessageOutcome::Continue => {}
            MessageOutcome::Replace { message: value } => {
                let message = Box::new(message(&value, &event.message)?);
                let mut calls = match mem::take(verdict) {
                    MessageVerdict::Keep => Vec::new(),
                    MessageVerdict::Replaced { by: _, message: _, calls } => calls,
                };
                calls.extend(foreign_calls(&event.message, &message).into_iter().map(|call| (guest.clone(), call)));
                event.message = value;
                *verdict = MessageVerdict::Replaced { by: guest.clone(), message, calls };
            }
        }
        Ok(ON)
    }

    fn tool_call(&mut self, guest: &GuestId, outcome: ToolCallOutcome) -> Result<Flow, Trouble> {
        let (Verdict::ToolCall(verdict), Event::ToolCall(event)) = (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            ToolCallOutcome::Continue => Ok(ON),
            ToolCallOutcome::Block { reason, terminate } => {
                *verdict = ToolCallVerdict::Blocked { by: guest.clone(), reason, terminate };
                Ok(END)
            }
            ToolCallOutcome::Transform { input } => {
                let input = object(input, "arguments")?;
                // A guest in JavaScript hands back what it was given.
                if is_same(&input, &event.input) {
                    return Ok(ON);
                }
                let mut by = match mem::take(verdict) {
                    ToolCallVerdict::Transformed { by, input: _ } => by,
                    ToolCallVerdict::Proceed | ToolCallVerdict::Blocked { .. } => Vec::new(),
                };
                if !by.contains(guest) {
                    by.push(guest.clone());
                }
                event.input.clone_from(&input);
                *verdict = ToolCallVerdict::Transformed { by, input };
                Ok(ON)
            }
        }
    }

    fn tool_result(&mut self, guest: &GuestId, outcome: ToolResultOutcome) -> Result<Flow, Trouble> {
        let (Verdict::ToolResult(verdict), Event::ToolResult(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            ToolResultOutcome::Continue => {}
            ToolResultOutcome::Transform(patch) => {
                if let Some(content) = patch.content {
                    event.content = content;
                }
                event.details = patch.details.or_else(|| event.details.take());
                event.is_error = patch.is_error.unwrap_or(event.is_error);
                *verdict = ToolResultVerdict::Transformed {
                    by: guest.clone(),
                    content: event.content.clone(),
                    details: event.details.clone(),
                    is_error: event.is_error,
                };
            }
        }
        Ok(ON)
    }

    fn bash(&mut self, guest: &GuestId, outcome: BashOutcome) -> Result<Flow, Trouble> {
        let Verdict::Bash(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        match outcome {
            BashOutcome::Continue => Ok(ON),
            BashOutcome::Handled(result) => {
                *verdict = BashVerdict::Handled { by: guest.clone(), result };
                Ok(END)
            }
        }
    }

    fn context(&mut self, guest: &GuestId, outcome: ContextOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Context(verdict), Event::Context(event) | Event::ContextWithSystem(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            ContextOutcome::Continue => {}
            ContextOutcome::Replace { messages: values } => {
                *verdict = ContextVerdict::Replaced { by: guest.clone(), messages: messages(&values)? };
                event.messages = values;
            }
        }
        Ok(ON)
    }

    fn request(&mut self, guest: &GuestId, outcome: RequestOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Request(verdict), Event::BeforeProviderRequest(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        match outcome {
            RequestOutcome::Continue => {}
            RequestOutcome::Replace { payload } => {
                event.payload.clone_from(&payload);
                *verdict = RequestVerdict::Replaced { by: guest.clone(), payload };
            }
        }
        Ok(ON)
    }

    fn headers(&mut self, guest: &GuestId, changes: Vec<HeaderChange>) -> Result<Flow, Trouble> {
        let (Verdict::Headers(verdict), Event::BeforeProviderHeaders(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        changes.iter().for_each(|change| change_header(event, change));
        verdict.extend(changes.into_iter().map(|change| (guest.clone(), change)));
        Ok(ON)
    }

    fn resources(&mut self, guest: &GuestId, outcome: ResourcePaths) -> Result<Flow, Trouble> {
        let Verdict::Resources(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        verdict.push((guest.clone(), outcome));
        Ok(ON)
    }

    fn trust(&mut self, guest: &GuestId, outcome: &TrustOutcome) -> Result<Flow, Trouble> {
        let Verdict::Trust(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        let (by, remember) = (guest.clone(), outcome.remember);
        match outcome.trusted {
            Trust::Undecided => return Ok(ON),
            Trust::Yes => *verdict = TrustVerdict::Trusted { by, remember },
            Trust::No => *verdict = TrustVerdict::Distrusted { by, remember },
        }
        Ok(END)
    }

    fn session_directory(&mut self, guest: &GuestId, folder: String) -> Result<Flow, Trouble> {
        let Verdict::SessionDirectory(verdict) = &mut self.verdict else { return Err(Trouble::WrongFamily) };
        *verdict = Some((guest.clone(), folder));
        Ok(ON)
    }

    fn warming(&mut self, guest: &GuestId, outcome: WarmingOutcome) -> Result<Flow, Trouble> {
        let (Verdict::Warming(verdict), Event::CacheWarmingDecision(event)) =
            (&mut self.verdict, Arc::make_mut(&mut self.event))
        else {
            return Err(Trouble::WrongFamily);
        };
        event.action = match outcome {
            WarmingOutcome::Warm => WarmingAction::Warm,
            WarmingOutcome::Stop => WarmingAction::Stop,
        };
        *verdict = Some((guest.clone(), outcome));
        Ok(ON)
    }
}

fn change_header(event: &mut BeforeProviderHeadersEvent, change: &HeaderChange) {
    let name = match change {
        HeaderChange::Set(header) => &header.name,
        HeaderChange::Remove { name } => name,
    };
    event.headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
    if let HeaderChange::Set(header) = change {
        event.headers.insert(header.name.clone(), header.value.clone());
    }
}
