//! From events to the message of a transcript.
//!
//! An [`Assembly`] takes the events of one answer, keeps the message so far, and says how it grew. Of several candidates
//! only the one that speaks first becomes a message, whatever its number. Money is computed from the model's prices; where the provider says what a call
//! cost, that stands beside it.

mod money;
mod partial;

use pi_transcript::{
    AssistantMessageEvent, Block, Message, ModelId, ProviderId, StopReason, ThinkingLevel, ToolCall, ToolCallId,
    content::{TextBlock, ThinkingBlock},
    json::{Extra, Loose, Open},
    message::AssistantMessage,
};
use serde_json::{Map, Value, json};

pub use self::{
    money::usage,
    partial::{Flaw, PartialReader, Soundness},
};
use crate::{
    error::Failure,
    event::{Finish, NAMELESS_CALL, StreamEvent, Termination, TokenUsage, UNKNOWN_USAGE},
    manifest::model::Pricing,
};

/// What a diagnostic of a call is called whose arguments are not whole, and of one whose arguments are no object at all.
const CUT_CALL: &str = "unfinished_tool_call";
const MALFORMED_CALL: &str = "malformed_tool_call";

/// So much of malformed arguments is kept to be shown, in bytes.
const KEPT: usize = 300;

/// How a message says that its provider refused to answer.
const REFUSED: &str = "the provider refused to answer";

/// What the diagnostic of an answer is called whose provider paused its turn.
const PAUSED_TURN: &str = "paused_turn";

/// What diagnostics of events are called that tell of what came and cannot be used.
const TOLD: [(&str, &str); 2] = [(NAMELESS_CALL, "nameless_tool_call"), (UNKNOWN_USAGE, "unknown_usage")];

/// What is known of an answer before it comes.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The dialect, by the name that transcripts use.
    pub api: String,
    pub provider: ProviderId,
    pub model: ModelId,
    pub pricing: Option<Pricing>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Milliseconds since 1970.
    pub timestamp: u64,
}

/// A message that grows.
#[derive(Debug)]
pub struct Assembly {
    message: AssistantMessage,
    /// Whose message it is, once somebody has spoken.
    candidate: Option<u32>,
    pricing: Option<Pricing>,
    usage: TokenUsage,
    blocks: Vec<Growth>,
    /// The block of text or thinking that may go on; there is never more than one.
    flowing: Option<usize>,
    finish: Option<Finish>,
    failure: Option<Failure>,
    /// What came and cannot be used, in Pi's shape of diagnostics.
    told: Vec<Value>,
    started: bool,
}

/// What is remembered of a block beside its content.
#[derive(Debug)]
struct Growth {
    /// The provider's number.
    number: Option<u64>,
    open: bool,
    /// Of a tool call.
    arguments: Option<PartialReader>,
    /// How the arguments of a tool call begin, as they were written.
    beginning: String,
}

/// Why a call must not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallFault {
    /// Its arguments end in the middle: half of a file is not a file.
    Cut,
    Malformed {
        flaw: Flaw,
        /// How its arguments begin, as they were written.
        written: String,
    },
}

/// Why no more events come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The stream said so.
    Proper,
    /// Somebody stopped it.
    Aborted,
    /// It broke off, for this reason.
    Broken(String),
}

impl Assembly {
    pub fn new(asked: Asked) -> Self {
        let message = AssistantMessage {
            content: Vec::new(),
            api: asked.api,
            provider: asked.provider,
            model: asked.model,
            usage: Loose::Known(usage(&TokenUsage::default(), asked.pricing.as_ref())),
            stop_reason: Open::Known(StopReason::Pending),
            error_message: None,
            timestamp: asked.timestamp,
            response_id: None,
            response_model: None,
            raw_stop_reason: None,
            thinking_level: asked.thinking_level.map(Open::Known),
            provider_thinking_level: None,
            diagnostics: None,
            deferred: None,
            end_turn: None,
            extra: Extra::new(),
        };
        Self {
            message,
            candidate: None,
            pricing: asked.pricing,
            usage: TokenUsage::default(),
            blocks: Vec::new(),
            flowing: None,
            finish: None,
            failure: None,
            told: Vec::new(),
            started: false,
        }
    }

    /// The message so far. Arguments of calls that are still open hold what is certain.
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// What the provider has counted so far.
    pub fn usage(&self) -> &TokenUsage {
        &self.usage
    }

    /// The error that the stream reported.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Calls whose arguments are not a whole object, and why. They must not be run.
    pub fn unusable_calls(&self) -> impl Iterator<Item = (&ToolCallId, CallFault)> {
        self.message.content.iter().zip(&self.blocks).filter_map(|(block, growth)| match block {
            Block::ToolCall(call) => Some((&call.id, growth.fault()?)),
            Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
        })
    }

    /// Takes the next event and appends what it means for the message.
    pub fn push(&mut self, event: StreamEvent, out: &mut Vec<AssistantMessageEvent>) {
        self.start(out);
        if let Some(candidate) = event.candidate()
            && *self.candidate.get_or_insert(candidate) != candidate
        {
            return;
        }
        match event {
            StreamEvent::PartialContentDelta { block, content, signature, .. } => {
                self.text(block, content, signature, out);
            }
            StreamEvent::ThinkingDelta { block, thinking, signature, redacted, .. } => {
                self.thinking(block, thinking, signature, redacted, out);
            }
            StreamEvent::ToolCallStarted { index, tool_call_id, tool_name, signature, .. } => {
                self.begin_call(index, tool_call_id, tool_name, signature, out);
            }
            StreamEvent::PartialToolCall { index, tool_call_id, arguments, .. } => {
                self.arguments(index, &tool_call_id, arguments, out);
            }
            StreamEvent::ToolCallEnded { index, tool_call_id, .. } => {
                if let Some(place) = self.place_of_call(index, &tool_call_id) {
                    self.close(place, out);
                }
            }
            StreamEvent::Metadata { usage, response_id, model } => self.metadata(usage, response_id, model),
            StreamEvent::FinalCandidate { finish, .. } | StreamEvent::StreamEnd { finish } => {
                // A later reason says more.
                self.finish = finish.or(self.finish.take());
            }
            StreamEvent::StreamError { failure } => {
                self.failure.get_or_insert(failure);
            }
            StreamEvent::Other { name, fields } => {
                if let Some((_, kind)) = TOLD.iter().find(|(own, _)| *own == name) {
                    self.told.push(json!({"type": kind, "timestamp": self.message.timestamp, "details": fields}));
                }
            }
        }
    }

    /// Closes what is open and says how it ended. An error that the stream reported makes any end an error.
    pub fn finish(mut self, end: End, out: &mut Vec<AssistantMessageEvent>) -> AssistantMessage {
        self.start(out);
        for place in 0..self.blocks.len() {
            self.close(place, out);
        }
        self.message.raw_stop_reason = self.finish.as_ref().map(|finish| finish.raw.clone());
        if end == End::Proper {
            self.message.diagnostics = self.diagnostics();
        }
        let (is_aborted, is_proper) = (end == End::Aborted, end == End::Proper);
        let said = self.failure.as_ref().map(Failure::to_string).filter(|_| !is_aborted);
        let refused = self.finish.as_ref().filter(|finish| is_proper && finish.reason == Termination::Refusal);
        self.message.error_message = match end {
            End::Broken(reason) => Some(said.unwrap_or(reason)),
            End::Proper | End::Aborted => said.or_else(|| refused.map(|finish| format!("{REFUSED} ({})", finish.raw))),
        };
        let reason = match &self.message.error_message {
            _ if is_aborted => StopReason::Aborted,
            Some(_) => StopReason::Error,
            None => self.stop_reason(),
        };
        self.message.stop_reason = Open::Known(reason);
        let message = Some(Message::Assistant(Box::new(self.message.clone())));
        let reason = Open::Known(reason);
        out.push(match reason {
            Open::Known(StopReason::Error | StopReason::Aborted) => {
                AssistantMessageEvent::Error { reason, error: message }
            }
            Open::Known(_) | Open::Other(_) => AssistantMessageEvent::Done { reason, message },
        });
        self.message
    }

    /// What whoever goes on with the message has to know: the calls in it that are cut, and what could not be used.
    fn diagnostics(&self) -> Option<Value> {
        let timestamp = self.message.timestamp;
        let fault = |(id, fault): (&ToolCallId, CallFault)| match fault {
            CallFault::Cut => json!({"type": CUT_CALL, "timestamp": timestamp, "details": {"toolCallId": id}}),
            CallFault::Malformed { flaw, written } => {
                let details = json!({"toolCallId": id, "reason": flaw.to_string(), "written": written});
                json!({"type": MALFORMED_CALL, "timestamp": timestamp, "details": details})
            }
        };
        let told: Vec<Value> =
            self.unusable_calls().map(fault).chain(self.told.iter().cloned()).chain(self.paused()).collect();
        (!told.is_empty()).then(|| told.into())
    }

    /// A turn that the provider paused is not at its end, though it ends like any other.
    fn paused(&self) -> Option<Value> {
        let paused = self.finish.as_ref().filter(|finish| finish.reason == Termination::PauseTurn)?;
        let (timestamp, details) = (self.message.timestamp, json!({"stopReason": paused.raw}));
        Some(json!({"type": PAUSED_TURN, "timestamp": timestamp, "details": details}))
    }

    fn stop_reason(&self) -> StopReason {
        let has_calls = self.message.content.iter().any(|block| matches!(block, Block::ToolCall(_)));
        match self.finish.as_ref().map(|finish| finish.reason) {
            Some(Termination::MaxTokens) => StopReason::Length,
            Some(Termination::ToolUse) => StopReason::ToolUse,
            _ if has_calls => StopReason::ToolUse,
            Some(
                Termination::EndTurn
                | Termination::StopSequence
                | Termination::Refusal
                | Termination::PauseTurn
                | Termination::Other,
            )
            | None => StopReason::Stop,
        }
    }

    fn start(&mut self, out: &mut Vec<AssistantMessageEvent>) {
        if !self.started {
            self.started = true;
            out.push(AssistantMessageEvent::Start { partial: None });
        }
    }

    fn text(
        &mut self,
        number: Option<u64>,
        delta: String,
        signature: Option<String>,
        out: &mut Vec<AssistantMessageEvent>,
    ) {
        let found = self.place_of(number, |block| matches!(block, Block::Text(text) if text.text_signature.is_none()));
        let place = found.unwrap_or_else(|| {
            self.open(number, Block::text(""), out);
            let content_index = index(self.blocks.len() - 1);
            out.push(AssistantMessageEvent::TextStart { content_index, partial: None });
            self.blocks.len() - 1
        });
        if let Block::Text(TextBlock { text, text_signature, .. }) = &mut self.message.content[place] {
            text.push_str(&delta);
            if signature.is_some() {
                *text_signature = signature;
            }
        }
        if !delta.is_empty() {
            out.push(AssistantMessageEvent::TextDelta { content_index: index(place), delta, partial: None });
        }
    }

    fn thinking(
        &mut self,
        number: Option<u64>,
        delta: String,
        signature: Option<String>,
        redacted: bool,
        out: &mut Vec<AssistantMessageEvent>,
    ) {
        // Without a number nothing says that a second signature continues the first.
        let continues = |block: &Block| match block {
            Block::Thinking(block) => {
                block.redacted.unwrap_or(false) == redacted && (number.is_some() || block.thinking_signature.is_none())
            }
            Block::Text(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other(_) => false,
        };
        let found = self.place_of(number, continues);
        let place = found.unwrap_or_else(|| {
            let block = ThinkingBlock {
                thinking: String::new(),
                thinking_signature: None,
                redacted: redacted.then_some(true),
                extra: Extra::new(),
            };
            self.open(number, Block::Thinking(block), out);
            let content_index = index(self.blocks.len() - 1);
            out.push(AssistantMessageEvent::ThinkingStart { content_index, partial: None });
            self.blocks.len() - 1
        });
        if let Block::Thinking(ThinkingBlock { thinking, thinking_signature, .. }) = &mut self.message.content[place] {
            thinking.push_str(&delta);
            if let Some(signature) = signature {
                thinking_signature.get_or_insert_default().push_str(&signature);
            }
        }
        if !delta.is_empty() {
            out.push(AssistantMessageEvent::ThinkingDelta { content_index: index(place), delta, partial: None });
        }
    }

    fn begin_call(
        &mut self,
        number: Option<u64>,
        id: String,
        name: String,
        signature: Option<String>,
        out: &mut Vec<AssistantMessageEvent>,
    ) {
        let call = ToolCall {
            id: ToolCallId(id),
            name,
            arguments: Map::new(),
            thought_signature: signature,
            namespace: None,
            extra: Extra::new(),
        };
        let (id, tool_name) = (Some(call.id.clone()), Some(call.name.clone()));
        self.open(number, Block::ToolCall(call), out);
        let content_index = index(self.blocks.len() - 1);
        out.push(AssistantMessageEvent::ToolCallStart { content_index, id, tool_name, partial: None });
    }

    fn arguments(&mut self, number: Option<u64>, id: &str, delta: String, out: &mut Vec<AssistantMessageEvent>) {
        let Some(place) = self.place_of_call(number, id) else { return };
        if let (Block::ToolCall(call), Some(reader)) =
            (&mut self.message.content[place], &mut self.blocks[place].arguments)
        {
            reader.push(&delta, &mut call.arguments);
            let beginning = &mut self.blocks[place].beginning;
            let room = KEPT.saturating_sub(beginning.len());
            beginning.push_str(&delta[..delta.floor_char_boundary(room)]);
        }
        out.push(AssistantMessageEvent::ToolCallDelta { content_index: index(place), delta, partial: None });
    }

    fn metadata(&mut self, counted: Option<TokenUsage>, response_id: Option<String>, model: Option<String>) {
        if let Some(counted) = counted {
            self.message.usage = Loose::Known(usage(&counted, self.pricing.as_ref()));
            self.usage = counted;
        }
        if response_id.is_some() {
            self.message.response_id = response_id;
        }
        if let Some(model) = model.filter(|model| *model != self.message.model.0) {
            self.message.response_model = Some(ModelId(model));
        }
    }

    /// A new block. Text and thinking end where something else begins; calls may go on beside each other.
    fn open(&mut self, number: Option<u64>, block: Block, out: &mut Vec<AssistantMessageEvent>) {
        if let Some(place) = self.flowing.take() {
            self.close(place, out);
        }
        let arguments = matches!(block, Block::ToolCall(_)).then(PartialReader::new);
        self.flowing = arguments.is_none().then_some(self.blocks.len());
        self.message.content.push(block);
        self.blocks.push(Growth { number, open: true, arguments, beginning: String::new() });
    }

    fn close(&mut self, place: usize, out: &mut Vec<AssistantMessageEvent>) {
        let growth = &mut self.blocks[place];
        if !std::mem::replace(&mut growth.open, false) {
            return;
        }
        let content_index = index(place);
        match &self.message.content[place] {
            Block::Text(block) => {
                let content = block.text.clone();
                out.push(AssistantMessageEvent::TextEnd { content_index, content, partial: None });
            }
            Block::Thinking(block) => {
                let content = block.thinking.clone();
                out.push(AssistantMessageEvent::ThinkingEnd { content_index, content, partial: None });
            }
            Block::ToolCall(call) => {
                let tool_call = Block::ToolCall(call.clone());
                out.push(AssistantMessageEvent::ToolCallEnd { content_index, tool_call, partial: None });
            }
            Block::Image(_) | Block::Other(_) => {}
        }
    }

    /// The block that goes on, if it has this number and fits.
    fn place_of(&self, number: Option<u64>, fits: impl Fn(&Block) -> bool) -> Option<usize> {
        self.flowing.filter(|&place| self.blocks[place].number == number && fits(&self.message.content[place]))
    }

    /// The last call of this id, that of this number if several have one id: some servers give all calls the same.
    fn place_of_call(&self, number: Option<u64>, id: &str) -> Option<usize> {
        let is_meant = |block: &Block| matches!(block, Block::ToolCall(call) if call.id.as_str() == id);
        let last = self.message.content.iter().rposition(is_meant)?;
        let is_same = |place: &usize| self.blocks[*place].number == number && is_meant(&self.message.content[*place]);
        Some((0..=last).rev().find(is_same).unwrap_or(last))
    }
}

impl Growth {
    fn fault(&self) -> Option<CallFault> {
        match self.arguments.as_ref().map_or(Soundness::Cut, PartialReader::soundness) {
            Soundness::Whole => None,
            Soundness::Cut => Some(CallFault::Cut),
            Soundness::Flawed(flaw) => Some(CallFault::Malformed { flaw, written: self.beginning.clone() }),
        }
    }
}

/// Whether the message failed because its provider refused to answer, and not because something broke.
pub fn is_refusal(message: &AssistantMessage) -> bool {
    message.error_message.as_deref().is_some_and(|words| words.starts_with(REFUSED))
}

/// The provider's word for a pause, where the message is one that its provider did not finish.
pub fn paused(message: &AssistantMessage) -> Option<&str> {
    let told = message.diagnostics.as_ref()?.as_array()?;
    let paused = told.iter().find(|told| told.get("type").and_then(Value::as_str) == Some(PAUSED_TURN))?;
    paused.pointer("/details/stopReason")?.as_str()
}

/// The calls of a finished message whose arguments end in the middle, by its diagnostics. They must not be run.
pub fn unfinished_calls(message: &AssistantMessage) -> Vec<ToolCallId> {
    told_of(message, CUT_CALL).filter_map(call_of).collect()
}

/// The calls of a finished message whose arguments are no object, by its diagnostics, each with the reason. They must not be
/// run.
pub fn malformed_calls(message: &AssistantMessage) -> Vec<(ToolCallId, String)> {
    let reason = |told: &Value| Some((call_of(told)?, told.pointer("/details/reason")?.as_str()?.to_owned()));
    told_of(message, MALFORMED_CALL).filter_map(reason).collect()
}

/// The diagnostics of this kind.
fn told_of<'m>(message: &'m AssistantMessage, kind: &str) -> impl Iterator<Item = &'m Value> {
    let told = message.diagnostics.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    told.iter().filter(move |told| told.get("type").and_then(Value::as_str) == Some(kind))
}

fn call_of(told: &Value) -> Option<ToolCallId> {
    Some(ToolCallId(told.pointer("/details/toolCallId")?.as_str()?.to_owned()))
}

fn index(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}
