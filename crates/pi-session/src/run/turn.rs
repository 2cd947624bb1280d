//! One turn: the prompt, the answer as it comes, and the calls in it.

use std::{collections::HashMap, sync::Arc};

use futures_util::FutureExt;
use pi_envelope::{Origin, Prompt, Provenance, Said, meta};
use pi_exthost::{GuestId, verdict::ContextVerdict};
use pi_extproto::hook::event::payload::{AfterProviderResponseEvent, ContextEvent};
use pi_extproto::hook::{Hook, event::Event};
use pi_provider::{
    Attempts, CallError, Options, Side,
    assembly::{Assembly, CallFault, End},
    client::{Answer, Facts, Interceptor, Replacer},
    guardrail::Finding,
    manifest::resilience::FilterAction,
    request::Unsendable,
};
use pi_transcript::{
    AgentEvent, AssistantMessageEvent, Block, EntryId, Message, ModelId, RequestId, StopReason, ToolCall, ToolCallId,
    event::{GuardrailAction, GuardrailSide},
    json::{Loose, Open},
    message::AssistantMessage,
};

use super::{
    Cause, Hand, Retried, Run, Trouble,
    blocked::{self, Blocked},
    calls::Batch,
    context,
    desk::{Gone, Plan},
    intercept::Hooked,
    to_value,
};
use crate::{
    archive::{Counted, Shown},
    context::blocked_diagnostics,
    retry::Fault,
};

/// How many steps of an answer are told at once when they are there at once.
const BATCH: usize = 64;

/// How a turn ended.
pub(super) enum Turned {
    Answered {
        /// Whether the model wants to see what its calls came to.
        goes_on: bool,
    },
    Aborted,
    Failed(Trouble),
}

/// An answer that is complete, or as complete as it gets.
struct Heard {
    message: AssistantMessage,
    unusable: HashMap<ToolCallId, CallFault>,
    /// What is wrong with it.
    fault: Option<Fault>,
    /// The call that failed.
    cause: Option<Cause>,
    facts: Option<Facts>,
    /// The extension that sent another payload.
    replaced_by: Option<GuestId>,
    /// A filter of the provider blocked the prompt.
    is_blocked: bool,
    /// What was not told of yet.
    steps: Vec<AgentEvent>,
}

impl Run {
    pub(super) async fn turn(&mut self) -> Result<Turned, Gone> {
        let plan = self.desk.plan().await?;
        let prompt = Arc::new(self.assemble(&plan).await);
        self.tell_left_out(&plan, &prompt).await?;
        let request = self.parts.next_request();
        self.show(&plan, &prompt, &request).await;
        let heard = self.listen(&plan, &prompt).await?;
        self.count(&request, &heard);
        self.tell_findings(heard.facts.as_ref()).await?;
        if heard.is_blocked {
            self.tell(AgentEvent::InputNotice { message: blocked::TOLD.to_owned() }).await?;
        }
        let Heard { message, unusable, fault, cause, facts: _, replaced_by: _, is_blocked: _, steps } = heard;
        let (reason, error) = (message.stop_reason.clone(), message.error_message.clone());
        let (message, mut hands) = self.finish_message(Message::Assistant(Box::new(message))).await;
        let calls = calls_of(&message);
        // Whatever an extension streams it says itself, whichever model it may have asked.
        hands.extend(Hand::streamed(plan.terms.choice.extension(), &calls));
        let written = self.write(steps, message).await?;
        match reason {
            Open::Known(StopReason::Aborted) => {
                self.end_turn(written, Vec::new()).await?;
                return Ok(Turned::Aborted);
            }
            Open::Known(StopReason::Error) => {
                self.end_turn(written, Vec::new()).await?;
                let message = error.unwrap_or_else(|| "the answer failed".to_owned());
                return Ok(Turned::Failed(Trouble { fault: fault.unwrap_or(Fault::Lasting), message, cause }));
            }
            // The calls of the answer may take long, and what fails after them is another failure.
            Open::Known(_) | Open::Other(_) => self.end_retry(Retried::Helped).await?,
        }
        if calls.is_empty() {
            let resumes = self.end_turn(written, Vec::new()).await?;
            return Ok(match fault {
                Some(Fault::Overflow) => {
                    let message = "the prompt is larger than the model's window".to_owned();
                    Turned::Failed(Trouble { fault: Fault::Overflow, message, cause })
                }
                Some(_) | None => Turned::Answered { goes_on: resumes },
            });
        }
        let batch = Batch { answer: &written.id, calls, unusable: &unusable, hands: &hands };
        let answered = self.answer_calls(&plan.tools, batch).await?;
        let resumes = self.end_turn(written, answered.results).await?;
        self.parts.notebook.clear().await;
        Ok(Turned::Answered { goes_on: resumes || !answered.terminate })
    }

    /// What the model is given.
    async fn assemble(&self, plan: &Plan) -> Prompt {
        let system = self.system.as_ref().unwrap_or(&plan.terms.system);
        let messages = self.hear_context(&plan.messages).await;
        Prompt { tools: plan.tools.offered(), system: system.to_vec(), messages }
    }

    /// Tells what of the words that are yet to be answered the model is not sent. Another try is not told again.
    async fn tell_left_out(&self, plan: &Plan, prompt: &Prompt) -> Result<(), Gone> {
        let is_answer = |said: &Said| matches!(said.message(), Message::Assistant(_));
        let new = prompt.messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
        if self.tries > 0 {
            return Ok(());
        }
        let asked = Prompt { tools: Vec::new(), system: Vec::new(), messages: prompt.messages[new..].to_vec() };
        for Unsendable { kind, why, .. } in self.parts.models.unsendable(&plan.terms.choice, &asked) {
            let model = plan.terms.choice.name();
            let message = format!("the {kind} was not sent to {model}: {why}");
            self.tell(AgentEvent::InputNotice { message }).await?;
        }
        Ok(())
    }

    /// Lets extensions change which messages the model sees; entries are not touched by it. Those that know of system
    /// messages are heard after those that do not.
    async fn hear_context(&self, messages: &[Said]) -> Vec<Said> {
        let is_system = |said: &Said| matches!(said.message(), Message::System(_));
        let event = |messages: &[Said]| ContextEvent {
            messages: messages.iter().map(|said| to_value(said.message())).collect(),
        };
        let spoken: Vec<Said> = messages.iter().filter(|said| !is_system(said)).cloned().collect();
        let heard = match self.parts.guests.context(|| event(&spoken), &self.cancel).await {
            ContextVerdict::Keep => messages.to_vec(),
            ContextVerdict::Replaced { by, messages: others } => {
                context::with_system(messages, replaced(&spoken, others, &by))
            }
        };
        match self.parts.guests.context_with_system(|| event(&heard), &self.cancel).await {
            ContextVerdict::Keep => heard,
            ContextVerdict::Replaced { by, messages } => replaced(&heard, messages, &by),
        }
    }

    /// Asks the model and tells of its answer while it comes.
    async fn listen(&self, plan: &Plan, prompt: &Prompt) -> Result<Heard, Gone> {
        let mut assembly = Assembly::new(plan.terms.choice.asked(plan.terms.thinking, self.now().unix_millis()));
        let options = Options {
            thinking: plan.terms.thinking,
            session: Some(self.parts.session.to_string()),
            // A turn that fails is tried again as a whole, and people see each try.
            attempts: Attempts::Caller { attempt: self.tries + 1 },
            ..Options::plain()
        };
        let interceptor = Hooked::wanted(&self.parts.guests, &self.cancel);
        let seen = interceptor.clone().map(|hooked| hooked as Arc<dyn Interceptor>);
        let asking = self.parts.ask(&plan.terms.choice, prompt, &options, seen, &self.cancel);
        let mut answer = match asking.await {
            Ok(answer) => answer,
            Err(error) => {
                let blocked = Blocked::of(&error, &plan.terms.choice, prompt);
                let mut heard = self.unanswered(assembly, error, None);
                if let Some(Blocked { filter, entries }) = blocked {
                    let timestamp = heard.message.timestamp;
                    heard.message.diagnostics = Some(blocked_diagnostics(&filter, &entries, timestamp));
                    heard.is_blocked = true;
                }
                return Ok(heard);
            }
        };
        self.hear_response(answer.facts()).await;
        let (mut grown, mut broken, mut opening) = (Vec::new(), None, None);
        while let Some(event) = answer.next().await {
            match event {
                Ok(event) => assembly.push(event, &mut grown),
                Err(error) => broken = Some(error),
            }
            take_ready(&mut answer, &mut assembly, &mut grown, &mut broken);
            self.tell_steps(&assembly, &mut grown, &mut opening).await?;
            if broken.is_some() {
                break;
            }
        }
        let facts = Some(answer.facts().clone());
        let replaced_by = interceptor.and_then(|hooked| hooked.replaced_by());
        let heard = match broken {
            Some(error) => self.unanswered(assembly, error, facts),
            None => self.answered(plan, assembly, facts),
        };
        Ok(Heard { replaced_by, ..heard })
    }

    fn answered(&self, plan: &Plan, assembly: Assembly, facts: Option<Facts>) -> Heard {
        let failure = assembly.failure().cloned();
        let unusable = assembly.unusable_calls().map(|(id, fault)| (id.clone(), fault)).collect();
        let mut heard = Heard::finish(assembly, End::Proper);
        heard.unusable = unusable;
        heard.facts = facts;
        let fault = failure.as_ref().map(Fault::of_failure);
        heard.fault = fault.or_else(|| overflows(&heard.message, plan.terms.choice.model().context_window));
        let provider = plan.terms.choice.provider().clone();
        heard.cause = failure.map(|failure| Cause::new(CallError::Refused { provider, failure: Box::new(failure) }));
        heard
    }

    /// The message that stands for an answer that did not come, or not to its end.
    fn unanswered(&self, assembly: Assembly, error: CallError, facts: Option<Facts>) -> Heard {
        let is_aborted = self.cancel.is_cancelled() || matches!(error, CallError::Cancelled);
        let end = if is_aborted { End::Aborted } else { End::Broken(words(&error)) };
        let mut heard = Heard::finish(assembly, end);
        heard.fault = (!is_aborted).then(|| Fault::of_call(&error));
        heard.cause = Some(Cause::new(error));
        heard.facts = facts;
        heard
    }

    /// Tells of steps. Extensions hear them first, and with the first of them the message that they add to, so that they can add
    /// them up: a copy of what there is with each of them would cost the more the longer the answer gets.
    async fn tell_steps(
        &self,
        assembly: &Assembly,
        grown: &mut Vec<AssistantMessageEvent>,
        opening: &mut Option<Message>,
    ) -> Result<(), Gone> {
        let events: Vec<AgentEvent> = grown.drain(..).filter_map(|step| to_event(step, assembly.message())).collect();
        self.parts.brake.wait(&self.cancel).await;
        for event in &events {
            if let AgentEvent::MessageStart { message } = event {
                *opening = self.parts.guests.listens(Hook::MessageUpdate).then(|| message.clone());
            }
            match (event, opening.take_if(|_| matches!(event, AgentEvent::MessageUpdate { .. }))) {
                (AgentEvent::MessageUpdate { usage, assistant_message_event, .. }, Some(message)) => {
                    let (usage, assistant_message_event) = (usage.clone(), assistant_message_event.clone());
                    self.hear(&AgentEvent::MessageUpdate { message: Some(message), usage, assistant_message_event })
                        .await;
                }
                (event, _) => self.hear(event).await,
            }
        }
        self.desk.tell_all(events).await
    }

    /// Tells what the provider's guardrails found in the prompt and in the answer.
    async fn tell_findings(&self, facts: Option<&Facts>) -> Result<(), Gone> {
        let findings = facts.map(|facts| facts.findings.as_slice()).unwrap_or_default();
        for finding in findings {
            self.tell(found(finding)).await?;
        }
        Ok(())
    }

    async fn hear_response(&self, facts: &Facts) {
        let Some(status) = facts.status else { return };
        let event = || {
            let headers = facts.headers.iter();
            let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
            let headers = headers.collect();
            Event::AfterProviderResponse(AfterProviderResponseEvent { status, headers })
        };
        self.parts.guests.notice(Hook::AfterProviderResponse, event, &self.cancel).await;
    }

    /// Hands over what the model is shown, before it is.
    async fn show(&self, plan: &Plan, prompt: &Arc<Prompt>, id: &RequestId) {
        let request = meta::Request {
            id: id.to_string(),
            provider: plan.terms.choice.provider().clone(),
            model: ModelId::from(plan.terms.choice.id()),
            time: self.now().unix_millis(),
            purpose: meta::Purpose::Turn,
        };
        self.parts.archive.show(Shown { prompt: Arc::clone(prompt), request, entry: plan.after.clone() }).await;
    }

    /// Hands over what the provider counted.
    fn count(&self, id: &RequestId, heard: &Heard) {
        let usage = match &heard.message.usage {
            // There is no prompt of nothing: whoever counted no token at all has not counted.
            Loose::Known(usage) if [usage.input, usage.cache_read, usage.cache_write, usage.output] == [0; 4] => None,
            Loose::Known(usage) => Some(usage.clone()),
            Loose::Other(_) => None,
        };
        let replaced = heard.facts.as_ref().and_then(|facts| replacement(facts, heard.replaced_by.as_ref()));
        self.parts.archive.count(Counted { request: id.to_string(), usage, replaced });
    }
}

impl Heard {
    fn finish(assembly: Assembly, end: End) -> Self {
        let so_far = assembly.message().clone();
        let mut grown = Vec::new();
        let message = assembly.finish(end, &mut grown);
        let steps = grown.into_iter().filter_map(|step| to_event(step, &so_far)).collect();
        Self {
            message,
            unusable: HashMap::new(),
            fault: None,
            cause: None,
            facts: None,
            replaced_by: None,
            is_blocked: false,
            steps,
        }
    }
}

/// What an extension put in the place of messages. What it left alone keeps its origin.
fn replaced(before: &[Said], messages: Vec<Message>, by: &GuestId) -> Vec<Said> {
    let said = |(index, message): (usize, Message)| {
        let same = before.iter().find(|said| *said.message() == message);
        same.cloned().unwrap_or_else(|| {
            let origin = Origin::Extension { id: by.to_string() };
            Said::new(EntryId::from(format!("context-{index}")), message, Provenance::usual(origin))
        })
    };
    messages.into_iter().enumerate().map(said).collect()
}

/// Takes what has arrived already, so that it is told in one piece.
fn take_ready(
    answer: &mut Answer,
    assembly: &mut Assembly,
    grown: &mut Vec<AssistantMessageEvent>,
    broken: &mut Option<CallError>,
) {
    while broken.is_none() && grown.len() < BATCH {
        match answer.next().now_or_never() {
            Some(Some(Ok(event))) => assembly.push(event, grown),
            Some(Some(Err(error))) => *broken = Some(error),
            Some(None) | None => return,
        }
    }
}

/// What everybody is told of a step. The end is told with the whole message.
fn to_event(step: AssistantMessageEvent, so_far: &AssistantMessage) -> Option<AgentEvent> {
    match step {
        AssistantMessageEvent::Start { .. } => {
            let started = AssistantMessage { content: Vec::new(), ..so_far.clone() };
            Some(AgentEvent::MessageStart { message: Message::Assistant(Box::new(started)) })
        }
        AssistantMessageEvent::Done { .. } | AssistantMessageEvent::Error { .. } => None,
        step @ (AssistantMessageEvent::TextStart { .. }
        | AssistantMessageEvent::TextDelta { .. }
        | AssistantMessageEvent::TextEnd { .. }
        | AssistantMessageEvent::ThinkingStart { .. }
        | AssistantMessageEvent::ThinkingDelta { .. }
        | AssistantMessageEvent::ThinkingEnd { .. }
        | AssistantMessageEvent::ToolCallStart { .. }
        | AssistantMessageEvent::ToolCallDelta { .. }
        | AssistantMessageEvent::ToolCallEnd { .. }
        | AssistantMessageEvent::Other(_)) => {
            Some(AgentEvent::MessageUpdate { message: None, usage: None, assistant_message_event: Box::new(step) })
        }
    }
}

/// What everybody is told of what a guardrail found.
fn found(finding: &Finding) -> AgentEvent {
    let Finding { filter, action, side, texts, left } = finding;
    let action = match action {
        FilterAction::Block => GuardrailAction::Block,
        FilterAction::Warn => GuardrailAction::Warn,
        FilterAction::Log => GuardrailAction::Log,
        FilterAction::Mask => GuardrailAction::Mask,
    };
    let side = match side {
        Side::Input => GuardrailSide::Input,
        Side::Output => GuardrailSide::Output,
    };
    let message = finding.to_string();
    AgentEvent::Guardrail { message, filter: filter.clone(), action, side, texts: *texts as u64, left: *left }
}

fn calls_of(message: &Message) -> Vec<ToolCall> {
    let Message::Assistant(assistant) = message else { return Vec::new() };
    let call = |block: &Block| match block {
        Block::ToolCall(call) => Some(call.clone()),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    };
    assistant.content.iter().filter_map(call).collect()
}

/// Some providers cut a prompt that is too long instead of refusing it.
fn overflows(message: &AssistantMessage, window: u64) -> Option<Fault> {
    let Loose::Known(usage) = &message.usage else { return None };
    (window > 0 && usage.input.saturating_add(usage.cache_read) > window).then_some(Fault::Overflow)
}

/// An error with its causes.
pub(super) fn words(error: &CallError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Who sent another payload than the one that the envelope shows.
fn replacement(facts: &Facts, extension: Option<&GuestId>) -> Option<meta::Replacement> {
    let body = facts.sent_body.as_ref()?;
    let by = match extension {
        Some(id) => Origin::Extension { id: id.to_string() },
        None if facts.replaced_by.contains(&Replacer::Guardrail) => Origin::BuiltIn,
        // Only headers were changed, and these are not shown.
        None => return None,
    };
    Some(meta::Replacement { by, digest: pi_transcript::json::Digest::of(body) })
}
