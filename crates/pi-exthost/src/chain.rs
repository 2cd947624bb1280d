//! Folds the answers of guests into one verdict. Pure: it waits for nobody and knows no guest.
//!
//! The event itself carries what was changed so far, so the next guest hears it as the last one left it.

mod reading;

use std::{ops::ControlFlow, sync::Arc};

use pi_extproto::{
    connector::tool::ContentBlock,
    hook::{
        BashOutcome, CompactionOutcome, ContextOutcome, Failure, HeaderChange, Hook, InputOutcome, MessageOutcome,
        Outcome, RequestOutcome, ResourcePaths, SessionOutcome, StartOutcome, ToolCallOutcome, ToolResultOutcome,
        TreeOutcome, Trust, TrustOutcome, TurnOutcome, WarmingOutcome,
        event::{Event, payload::*},
    },
};
use serde_json::Value;

use self::reading::{Misfit, draft, message, messages, object};
use crate::{
    guest::GuestId,
    incident::Trouble,
    verdict::{
        BashVerdict, CompactionVerdict, ContextVerdict, InputVerdict, MessageVerdict, RequestVerdict, SessionVerdict,
        StartVerdict, ToolCallVerdict, ToolResultVerdict, TreeVerdict, TrustVerdict, TurnVerdict, Verdict,
    },
};

/// Whether further guests are heard.
pub(crate) type Flow = ControlFlow<()>;

const ON: Flow = ControlFlow::Continue(());
const END: Flow = ControlFlow::Break(());

/// An event on its way from guest to guest.
pub(crate) struct Chain {
    event: Arc<Event>,
    on_failure: Failure,
    verdict: Verdict,
}

impl Chain {
    pub(crate) fn new(hook: Hook, event: Event) -> Self {
        let family = hook.family();
        Self { event: Arc::new(event), on_failure: family.on_failure(), verdict: Verdict::untouched(family) }
    }

    /// The event as the next guest hears it.
    pub(crate) fn event(&self) -> &Arc<Event> {
        &self.event
    }

    pub(crate) fn verdict(self) -> Verdict {
        self.verdict
    }

    /// Takes an answer in. One that is refused has changed nothing.
    pub(crate) fn take(&mut self, guest: &GuestId, outcome: Outcome) -> Result<Flow, Trouble> {
        if outcome == Outcome::Notice {
            return Ok(ON);
        }
        let flow = match (Arc::make_mut(&mut self.event), &mut self.verdict, outcome) {
            (_, Verdict::Session(verdict), Outcome::Session(outcome)) => session(guest, verdict, &outcome),
            (_, Verdict::Compaction(verdict), Outcome::Compaction(outcome)) => compaction(guest, verdict, outcome),
            (_, Verdict::Tree(verdict), Outcome::Tree(outcome)) => tree(guest, verdict, outcome),
            (Event::Input(event), Verdict::Input(verdict), Outcome::Input(outcome)) => {
                input(guest, event, verdict, outcome)
            }
            (Event::BeforeAgentStart(event), Verdict::Start(verdict), Outcome::Start(outcome)) => {
                start(guest, event, verdict, outcome)
            }
            (event, Verdict::Turn(verdict), Outcome::Turn(outcome)) => turn(guest, event, verdict, outcome)?,
            (Event::MessageEnd(event), Verdict::Message(verdict), Outcome::Message(outcome)) => {
                replace_message(guest, event, verdict, outcome)?
            }
            (Event::ToolCall(event), Verdict::ToolCall(verdict), Outcome::ToolCall(outcome)) => {
                tool_call(guest, event, verdict, outcome)?
            }
            (Event::ToolResult(event), Verdict::ToolResult(verdict), Outcome::ToolResult(outcome)) => {
                tool_result(event, verdict, outcome)
            }
            (_, Verdict::Bash(verdict), Outcome::Bash(outcome)) => bash(guest, verdict, outcome),
            (
                Event::Context(event) | Event::ContextWithSystem(event),
                Verdict::Context(verdict),
                Outcome::Context(outcome),
            ) => context(guest, event, verdict, outcome)?,
            (Event::BeforeProviderRequest(event), Verdict::Request(verdict), Outcome::Request(outcome)) => {
                request(guest, event, verdict, outcome)
            }
            (Event::BeforeProviderHeaders(event), Verdict::Headers(verdict), Outcome::Headers(changes)) => {
                headers(event, verdict, changes)
            }
            (_, Verdict::Resources(verdict), Outcome::Resources(outcome)) => resources(verdict, outcome),
            (_, Verdict::Trust(verdict), Outcome::Trust(outcome)) => trust(guest, verdict, &outcome),
            (_, Verdict::SessionDirectory(verdict), Outcome::SessionDirectory(folder)) => {
                *verdict = Some(folder);
                ON
            }
            (Event::CacheWarmingDecision(event), Verdict::Warming(verdict), Outcome::Warming(outcome)) => {
                warming(event, verdict, outcome)
            }
            (_, _, _) => return Err(Trouble::WrongFamily),
        };
        Ok(flow)
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

fn session(guest: &GuestId, verdict: &mut SessionVerdict, outcome: &SessionOutcome) -> Flow {
    match outcome {
        SessionOutcome::Continue => ON,
        SessionOutcome::Cancel => {
            *verdict = SessionVerdict::Cancelled { by: guest.clone() };
            END
        }
    }
}

fn compaction(guest: &GuestId, verdict: &mut CompactionVerdict, outcome: CompactionOutcome) -> Flow {
    match outcome {
        CompactionOutcome::Continue => ON,
        CompactionOutcome::Cancel => {
            *verdict = CompactionVerdict::Cancelled { by: guest.clone() };
            END
        }
        CompactionOutcome::Replace(summary) => {
            *verdict = CompactionVerdict::Replaced { by: guest.clone(), summary };
            ON
        }
    }
}

fn tree(guest: &GuestId, verdict: &mut TreeVerdict, outcome: TreeOutcome) -> Flow {
    match outcome {
        TreeOutcome::Continue => ON,
        TreeOutcome::Cancel => {
            *verdict = TreeVerdict::Cancelled { by: guest.clone() };
            END
        }
        TreeOutcome::Replace(summary) => {
            *verdict = TreeVerdict::Replaced { by: guest.clone(), summary };
            ON
        }
    }
}

fn input(guest: &GuestId, event: &mut InputEvent, verdict: &mut InputVerdict, outcome: InputOutcome) -> Flow {
    match outcome {
        InputOutcome::Continue => ON,
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
            *verdict = InputVerdict::Transformed { text: event.text.clone(), images };
            ON
        }
        InputOutcome::Handled => {
            *verdict = InputVerdict::Handled { by: guest.clone() };
            END
        }
    }
}

fn start(
    guest: &GuestId,
    event: &mut BeforeAgentStartEvent,
    verdict: &mut StartVerdict,
    outcome: StartOutcome,
) -> Flow {
    verdict.messages.extend(outcome.message.map(|message| (guest.clone(), message)));
    if let Some(prompt) = outcome.system_prompt {
        event.system_prompt.clone_from(&prompt);
        verdict.system_prompt = Some(prompt);
    }
    ON
}

fn turn(guest: &GuestId, event: &mut Event, verdict: &mut TurnVerdict, outcome: TurnOutcome) -> Result<Flow, Misfit> {
    let drafts = outcome.entries.into_iter().map(draft).collect::<Result<Vec<_>, _>>()?;
    let values = drafts.iter().cloned().map(Value::Object);
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

fn replace_message(
    guest: &GuestId,
    event: &mut MessageEvent,
    verdict: &mut MessageVerdict,
    outcome: MessageOutcome,
) -> Result<Flow, Misfit> {
    match outcome {
        MessageOutcome::Continue => {}
        MessageOutcome::Replace { message: value } => {
            let message = Box::new(message(&value, &event.message)?);
            event.message = value;
            *verdict = MessageVerdict::Replaced { by: guest.clone(), message };
        }
    }
    Ok(ON)
}

fn tool_call(
    guest: &GuestId,
    event: &mut ToolCallEvent,
    verdict: &mut ToolCallVerdict,
    outcome: ToolCallOutcome,
) -> Result<Flow, Misfit> {
    match outcome {
        ToolCallOutcome::Continue => Ok(ON),
        ToolCallOutcome::Block { reason, terminate } => {
            *verdict = ToolCallVerdict::Blocked { by: guest.clone(), reason, terminate };
            Ok(END)
        }
        ToolCallOutcome::Transform { input } => {
            event.input = object(input, "arguments")?;
            *verdict = ToolCallVerdict::Transformed { input: event.input.clone() };
            Ok(ON)
        }
    }
}

fn tool_result(event: &mut ToolResultEvent, verdict: &mut ToolResultVerdict, outcome: ToolResultOutcome) -> Flow {
    match outcome {
        ToolResultOutcome::Continue => {}
        ToolResultOutcome::Transform(patch) => {
            if let Some(content) = patch.content {
                event.content = content;
            }
            event.details = patch.details.or_else(|| event.details.take());
            event.is_error = patch.is_error.unwrap_or(event.is_error);
            *verdict = ToolResultVerdict::Transformed {
                content: event.content.clone(),
                details: event.details.clone(),
                is_error: event.is_error,
            };
        }
    }
    ON
}

fn bash(guest: &GuestId, verdict: &mut BashVerdict, outcome: BashOutcome) -> Flow {
    match outcome {
        BashOutcome::Continue => ON,
        BashOutcome::Handled(result) => {
            *verdict = BashVerdict::Handled { by: guest.clone(), result };
            END
        }
    }
}

fn context(
    guest: &GuestId,
    event: &mut ContextEvent,
    verdict: &mut ContextVerdict,
    outcome: ContextOutcome,
) -> Result<Flow, Misfit> {
    match outcome {
        ContextOutcome::Continue => {}
        ContextOutcome::Replace { messages: values } => {
            *verdict = ContextVerdict::Replaced { by: guest.clone(), messages: messages(&values)? };
            event.messages = values;
        }
    }
    Ok(ON)
}

fn request(
    guest: &GuestId,
    event: &mut BeforeProviderRequestEvent,
    verdict: &mut RequestVerdict,
    outcome: RequestOutcome,
) -> Flow {
    match outcome {
        RequestOutcome::Continue => {}
        RequestOutcome::Replace { payload } => {
            event.payload.clone_from(&payload);
            *verdict = RequestVerdict::Replaced { by: guest.clone(), payload };
        }
    }
    ON
}

fn headers(
    event: &mut BeforeProviderHeadersEvent,
    verdict: &mut Vec<HeaderChange>,
    changes: Vec<HeaderChange>,
) -> Flow {
    changes.iter().for_each(|change| change_header(event, change));
    verdict.extend(changes);
    ON
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

fn resources(verdict: &mut ResourcePaths, outcome: ResourcePaths) -> Flow {
    verdict.skill_paths.extend(outcome.skill_paths);
    verdict.prompt_paths.extend(outcome.prompt_paths);
    verdict.theme_paths.extend(outcome.theme_paths);
    ON
}

fn warming(
    event: &mut CacheWarmingDecisionEvent,
    verdict: &mut Option<WarmingOutcome>,
    outcome: WarmingOutcome,
) -> Flow {
    event.action = match outcome {
        WarmingOutcome::Warm => WarmingAction::Warm,
        WarmingOutcome::Stop => WarmingAction::Stop,
    };
    *verdict = Some(outcome);
    ON
}

fn trust(guest: &GuestId, verdict: &mut TrustVerdict, outcome: &TrustOutcome) -> Flow {
    let (by, remember) = (guest.clone(), outcome.remember);
    match outcome.trusted {
        Trust::Undecided => return ON,
        Trust::Yes => *verdict = TrustVerdict::Trusted { by, remember },
        Trust::No => *verdict = TrustVerdict::Distrusted { by, remember },
    }
    END
}
