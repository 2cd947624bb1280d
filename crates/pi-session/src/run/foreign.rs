//! Answers of models that an extension brings: the extension streams, and the provider's client takes it for any stream.
//!
//! Extensions speak in Pi's steps, which may be few or none before the whole message comes. What they streamed counts; what
//! the message has beyond that follows at its end.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use pi_envelope::{Prompt, Said, wording};
use pi_exthost::{GuestFault, GuestId, Guests, Trouble, guest::StreamCall};
use pi_provider::{
    CallError, Finish, Manifest, Options, StreamEvent, Termination, TokenUsage,
    classify::classify_event,
    client::{EventStream, ForeignCall, ForeignStream},
};
use pi_redact::Redactor;
use pi_transcript::{
    AssistantMessageEvent, Block, Message, StopReason, ThinkingLevel, ToolCall, Usage, json::Loose,
    message::AssistantMessage,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::Parts;
use crate::models::Choice;

/// Steps that may wait; the extension waits when there are more.
const STEPS: usize = 64;

type Answered = Result<Box<AssistantMessage>, Trouble>;

/// The extension behind a model, as the provider's client sees it.
pub(super) struct GuestStream<'a> {
    parts: &'a Parts,
    choice: &'a Choice,
    guest: &'a GuestId,
}

impl<'a> GuestStream<'a> {
    pub(super) fn new(parts: &'a Parts, choice: &'a Choice, guest: &'a GuestId) -> Self {
        Self { parts, choice, guest }
    }
}

impl ForeignStream for GuestStream<'_> {
    fn open<'a>(&'a self, asked: ForeignCall<'a>) -> BoxFuture<'a, Result<EventStream, CallError>> {
        let (steps, received) = mpsc::channel(STEPS);
        let call = StreamCall {
            provider: asked.provider.to_string(),
            model: serde_json::to_value(self.choice.model()).expect("a model is JSON"),
            context: context(asked.call.prompt),
            options: options(asked.call.options),
            steps,
        };
        let (guests, cancel): (Arc<Guests>, _) = (Arc::clone(&self.parts.guests), asked.cancel.clone());
        let guest = self.guest.clone();
        let work = async move { guests.stream(&guest, call, &cancel).await }.boxed();
        let interpreter = Interpreter {
            manifest: self.choice.manifest().clone(),
            redactor: Arc::clone(&self.parts.redactor),
            now: SystemTime::UNIX_EPOCH + Duration::from_millis((self.parts.now)().unix_millis()),
            told: BTreeMap::new(),
        };
        let hearing = Hearing { work: Some(work), received, interpreter, ready: VecDeque::new() };
        let events = stream::unfold(hearing, |mut hearing| async move { Some((hearing.next().await?, hearing)) });
        async move { Ok(events.boxed() as EventStream) }.boxed()
    }
}

/// An answer that is coming.
struct Hearing {
    /// Nothing once it is over.
    work: Option<BoxFuture<'static, Answered>>,
    received: mpsc::Receiver<AssistantMessageEvent>,
    interpreter: Interpreter,
    ready: VecDeque<Result<StreamEvent, CallError>>,
}

impl Hearing {
    async fn next(&mut self) -> Option<Result<StreamEvent, CallError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let work = self.work.as_mut()?;
            tokio::select! {
                biased;
                Some(step) = self.received.recv() => self.interpreter.step(&step, &mut self.ready),
                answered = work => {
                    self.work = None;
                    while let Ok(step) = self.received.try_recv() {
                        self.interpreter.step(&step, &mut self.ready);
                    }
                    self.interpreter.end(answered, &mut self.ready);
                }
            }
        }
    }
}

/// Turns Pi's steps into the events that a provider's stream has.
struct Interpreter {
    manifest: Manifest,
    redactor: Arc<Redactor>,
    now: SystemTime,
    /// What was told of each block.
    told: BTreeMap<u64, Told>,
}

/// What was told of a block.
enum Told {
    /// So many bytes of its text.
    Text(usize),
    Call {
        id: String,
        has_arguments: bool,
        has_ended: bool,
    },
}

type Events = VecDeque<Result<StreamEvent, CallError>>;

impl Interpreter {
    fn step(&mut self, step: &AssistantMessageEvent, out: &mut Events) {
        match step {
            AssistantMessageEvent::TextDelta { content_index, delta, .. } => {
                self.grow(*content_index, delta.len());
                out.push_back(Ok(text(*content_index, delta, None)));
            }
            AssistantMessageEvent::ThinkingDelta { content_index, delta, .. } => {
                self.grow(*content_index, delta.len());
                out.push_back(Ok(thinking(*content_index, delta, None, false)));
            }
            AssistantMessageEvent::ToolCallStart { content_index, id: Some(id), tool_name: Some(name), .. } => {
                self.begin_call(*content_index, id.as_str(), name, None, out);
            }
            AssistantMessageEvent::ToolCallDelta { content_index, delta, .. } => {
                // The arguments of a call that was not named are told with its end.
                if let Some(Told::Call { id, has_arguments, .. }) = self.told.get_mut(content_index) {
                    *has_arguments = true;
                    out.push_back(Ok(arguments(*content_index, id, delta.clone())));
                }
            }
            AssistantMessageEvent::ToolCallEnd { content_index, tool_call: Block::ToolCall(call), .. } => {
                self.end_call(*content_index, call, out);
            }
            AssistantMessageEvent::Start { .. }
            | AssistantMessageEvent::TextStart { .. }
            | AssistantMessageEvent::TextEnd { .. }
            | AssistantMessageEvent::ThinkingStart { .. }
            | AssistantMessageEvent::ThinkingEnd { .. }
            | AssistantMessageEvent::ToolCallStart { .. }
            | AssistantMessageEvent::ToolCallEnd { .. }
            // The end is what the extension answers.
            | AssistantMessageEvent::Done { .. }
            | AssistantMessageEvent::Error { .. }
            | AssistantMessageEvent::Other(_) => {}
        }
    }

    fn end(&mut self, answered: Answered, out: &mut Events) {
        let message = match answered {
            Ok(message) => message,
            Err(Trouble::Fault(GuestFault::Cancelled) | Trouble::Deaf { .. }) => {
                return out.push_back(Err(CallError::Cancelled));
            }
            Err(trouble) => return out.push_back(Ok(self.failure(&trouble.to_string()))),
        };
        for (index, block) in (0..).zip(&message.content) {
            self.rest_of(index, block, out);
        }
        let usage = match &message.usage {
            Loose::Known(usage) => Some(counted(usage)),
            Loose::Other(_) => None,
        };
        let (response_id, model) =
            (message.response_id.clone(), message.response_model.as_ref().map(ToString::to_string));
        out.push_back(Ok(StreamEvent::Metadata { usage, response_id, model }));
        out.push_back(match message.stop_reason.known() {
            Some(StopReason::Aborted) => Err(CallError::Cancelled),
            Some(StopReason::Error) => {
                Ok(self.failure(message.error_message.as_deref().unwrap_or("the extension reports an error")))
            }
            Some(
                StopReason::Stop
                | StopReason::Length
                | StopReason::ToolUse
                | StopReason::Pending
                | StopReason::Deferred,
            )
            | None => Ok(StreamEvent::StreamEnd { finish: Some(finish(&message)) }),
        });
    }

    /// What was not streamed of a block.
    fn rest_of(&mut self, index: u64, block: &Block, out: &mut Events) {
        let told = match self.told.get(&index) {
            Some(Told::Text(bytes)) => *bytes,
            Some(Told::Call { .. }) | None => 0,
        };
        match block {
            Block::Text(block) => {
                let rest = block.text.get(told..).unwrap_or_default();
                if !rest.is_empty() || block.text_signature.is_some() {
                    out.push_back(Ok(text(index, rest, block.text_signature.clone())));
                }
            }
            Block::Thinking(block) => {
                let rest = block.thinking.get(told..).unwrap_or_default();
                let redacted = block.redacted.unwrap_or(false);
                if !rest.is_empty() || block.thinking_signature.is_some() {
                    out.push_back(Ok(thinking(index, rest, block.thinking_signature.clone(), redacted)));
                }
            }
            Block::ToolCall(call) => self.end_call(index, call, out),
            // No model answers with these.
            Block::Image(_) | Block::Other(_) => {}
        }
    }

    fn grow(&mut self, index: u64, bytes: usize) {
        match self.told.entry(index).or_insert(Told::Text(0)) {
            Told::Text(told) => *told += bytes,
            Told::Call { .. } => {}
        }
    }

    fn begin_call(&mut self, index: u64, id: &str, name: &str, signature: Option<String>, out: &mut Events) {
        let told = Told::Call { id: id.to_owned(), has_arguments: false, has_ended: false };
        self.told.insert(index, told);
        out.push_back(Ok(StreamEvent::ToolCallStarted {
            candidate: 0,
            index: Some(index),
            tool_call_id: id.to_owned(),
            tool_name: name.to_owned(),
            signature,
        }));
    }

    /// Tells what is left of a call.
    fn end_call(&mut self, index: u64, call: &ToolCall, out: &mut Events) {
        if !matches!(self.told.get(&index), Some(Told::Call { .. })) {
            self.begin_call(index, call.id.as_str(), &call.name, call.thought_signature.clone(), out);
        }
        let Some(Told::Call { id, has_arguments, has_ended }) = self.told.get_mut(&index) else { return };
        if !*has_arguments {
            *has_arguments = true;
            out.push_back(Ok(arguments(index, id, Value::Object(call.arguments.clone()).to_string())));
        }
        if !*has_ended {
            *has_ended = true;
            out.push_back(Ok(StreamEvent::ToolCallEnded {
                candidate: 0,
                index: Some(index),
                tool_call_id: id.clone(),
            }));
        }
    }

    /// What an error means is read from its words: an extension has no others.
    fn failure(&self, message: &str) -> StreamEvent {
        let error = json!({ "error": { "message": message } });
        StreamEvent::StreamError { failure: classify_event(&self.manifest, &error, &self.redactor, self.now) }
    }
}

fn text(block: u64, content: &str, signature: Option<String>) -> StreamEvent {
    StreamEvent::PartialContentDelta { candidate: 0, block: Some(block), content: content.to_owned(), signature }
}

fn thinking(block: u64, thinking: &str, signature: Option<String>, redacted: bool) -> StreamEvent {
    StreamEvent::ThinkingDelta { candidate: 0, block: Some(block), thinking: thinking.to_owned(), signature, redacted }
}

fn arguments(index: u64, id: &str, arguments: String) -> StreamEvent {
    StreamEvent::PartialToolCall { candidate: 0, index: Some(index), tool_call_id: id.to_owned(), arguments }
}

fn counted(usage: &Usage) -> TokenUsage {
    let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    TokenUsage {
        prompt: Some(prompt),
        completion: Some(usage.output),
        total: usage.total_tokens,
        reasoning: usage.reasoning,
        cache_read: Some(usage.cache_read),
        cache_write: Some(usage.cache_write),
        cache_write_1h: usage.cache_write_1h,
        ..TokenUsage::default()
    }
}

fn finish(message: &AssistantMessage) -> Finish {
    let reason = match message.stop_reason.known() {
        Some(StopReason::Length) => Termination::MaxTokens,
        Some(StopReason::ToolUse) => Termination::ToolUse,
        Some(
            StopReason::Stop | StopReason::Error | StopReason::Aborted | StopReason::Pending | StopReason::Deferred,
        )
        | None => Termination::EndTurn,
    };
    let own = || serde_json::to_value(&message.stop_reason).ok()?.as_str().map(str::to_owned);
    Finish { reason, raw: message.raw_stop_reason.clone().or_else(own).unwrap_or_default() }
}

/// What the model is given, in the form of Pi's `Context`.
fn context(prompt: &Prompt) -> Value {
    let messages: Vec<Value> = prompt.messages.iter().filter(|said| said.is_sent()).filter_map(message).collect();
    let tools: Vec<_> = prompt.tools.iter().map(|tool| &tool.definition).collect();
    let mut context = Map::from_iter([("messages".to_owned(), messages.into())]);
    let system = prompt.system_text();
    if !system.is_empty() {
        context.insert("systemPrompt".to_owned(), system.into());
    }
    if !tools.is_empty() {
        context.insert("tools".to_owned(), json!(tools));
    }
    Value::Object(context)
}

/// A message in a role that every model knows.
fn message(said: &Said) -> Option<Value> {
    let user = |content: Value, timestamp: u64| json!({ "role": "user", "content": content, "timestamp": timestamp });
    Some(match said.message() {
        known @ (Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) | Message::System(_)) => {
            json!(known)
        }
        Message::Custom(custom) => user(json!(custom.content), custom.timestamp),
        Message::BashExecution(bash) => user(wording::bash_execution(bash).into(), bash.timestamp),
        Message::BranchSummary(branch) => user(wording::branch_summary(branch).into(), branch.timestamp),
        Message::CompactionSummary(summary) => user(wording::compaction_summary(summary).into(), summary.timestamp),
        Message::Other(_) => return None,
    })
}

/// In the form of Pi's `SimpleStreamOptions`; keys and headers are not ours to give.
fn options(options: &Options) -> Value {
    let mut written = Map::new();
    if options.thinking != ThinkingLevel::Off {
        written.insert("reasoning".to_owned(), options.thinking.as_str().into());
    }
    for (name, own) in [("temperature", "temperature"), ("max_tokens", "maxTokens")] {
        written.extend(options.parameters.get(name).map(|value| (own.to_owned(), value.clone())));
    }
    written.extend(options.session.clone().map(|session| ("sessionId".to_owned(), session.into())));
    Value::Object(written)
}
