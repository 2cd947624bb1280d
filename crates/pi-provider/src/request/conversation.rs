//! A prompt's messages as turns that any provider accepts.
//!
//! Everything that does not depend on the shape of a dialect happens here: messages of roles that no provider knows
//! become words of the user, calls and results are paired, thinking and ids of other models are made fit, and content
//! that the model cannot take is degraded. What comes out borrows from the prompt.

mod content;

use std::{borrow::Cow, collections::BTreeSet};

use pi_envelope::{Prompt, wording};
use pi_transcript::{
    Block, Content, Message,
    content::{ThinkingBlock, ToolCall},
    message::{AssistantMessage, StopReason, SystemMessage, ToolResultMessage},
};
use serde_json::Value;

use self::content::{Contents, Words, is_blank, text};
use super::{
    change::Changes,
    ids::{self, CallId, Ids},
    media::{Senses, Surplus},
    tools::{self, ToolsAs},
    turn::{Answer, Part, Turn},
};
use crate::{
    dialect::Dialect,
    error::CallError,
    manifest::{Capability, Manifest, contract::IdRule},
    text_call,
};

/// The result of a call that has none.
const NO_RESULT: &str = "No result was recorded for this call.";
/// What a tool message says when its content follows in a message of its own.
const RESULT_FOLLOWS: &str = "(the content follows)";
/// What the user says first where a conversation may not begin with the model.
const OPENING: &str = "(the conversation begins with the assistant)";

/// How the messages are to be taken.
pub(super) struct Manner<'m> {
    pub(super) manifest: &'m Manifest,
    pub(super) model: &'m str,
    pub(super) dialect: Dialect,
    pub(super) ids: &'m IdRule,
    pub(super) tools: ToolsAs<'m>,
    pub(super) senses: Senses,
    /// A system message may stand between others.
    pub(super) inline_system: bool,
    pub(super) alternate: bool,
    pub(super) result_media: bool,
    /// What the first call of an answer carries where none has a signature of this model.
    pub(super) missing_signature: Option<&'m str>,
    /// What the model thought goes back to it as text.
    pub(super) thinking_as_text: bool,
}

/// Reads the messages of a prompt. `used` collects the capabilities that they need.
pub(super) fn turns<'a, 'm: 'a>(
    prompt: &'a Prompt,
    manner: &Manner<'m>,
    changes: &mut Changes,
    used: &mut BTreeSet<Capability>,
) -> Result<Vec<Turn<'a>>, CallError> {
    let said: Vec<&Message> = prompt.messages.iter().filter(|said| said.is_sent()).map(|said| said.message()).collect();
    let surplus = Surplus::of(manner.manifest, &said);
    let contents = Contents { manner, changes, used, surplus };
    let mut reader =
        Reader { contents, ids: Ids::expecting(said.len() / 2), turns: Vec::with_capacity(said.len() + 1) };
    // Results that already stand behind their calls.
    let mut taken = vec![false; said.len()];
    for (index, message) in said.iter().enumerate() {
        match message {
            Message::User(user) => {
                let parts = reader.contents.parts(&user.content)?;
                reader.user(parts, user.extra.get("metadata").filter(|metadata| metadata.is_object()));
            }
            Message::Assistant(assistant) => {
                reader.assistant(assistant, &said[index + 1..], &mut taken[index + 1..])?
            }
            Message::ToolResult(_) if taken[index] => {}
            Message::ToolResult(result) => reader.orphan(result)?,
            Message::BashExecution(bash) => reader.words(wording::bash_execution(bash)),
            Message::BranchSummary(branch) => reader.words(wording::branch_summary(branch)),
            Message::CompactionSummary(compaction) => reader.words(wording::compaction_summary(compaction)),
            Message::Custom(custom) => {
                let parts = reader.contents.parts(&custom.content)?;
                reader.user(parts, None);
            }
            Message::System(system) => reader.system(system),
            Message::Other(_) => {
                reader.contents.changes.dropped("message", format!("no provider knows the role {:?}", message.role()));
            }
        }
    }
    Ok(reader.finish())
}

struct Reader<'r, 'a, 'm> {
    contents: Contents<'r, 'm>,
    ids: Ids<'a>,
    turns: Vec<Turn<'a>>,
}

impl<'a, 'm: 'a> Reader<'_, 'a, 'm> {
    fn finish(mut self) -> Vec<Turn<'a>> {
        let first = self.turns.iter().position(|turn| !matches!(turn, Turn::System(_)));
        if let Some(first) = first
            && self.contents.manner.alternate
            && matches!(self.turns[first], Turn::Assistant(_))
        {
            self.contents.changes.added("message", "a conversation with this provider begins with the user");
            self.turns.insert(first, Turn::User { parts: vec![text(OPENING)], metadata: None });
        }
        self.turns
    }

    fn user(&mut self, parts: Vec<Part<'a>>, metadata: Option<&'a Value>) {
        if !parts.is_empty() {
            self.turns.push(Turn::User { parts, metadata });
        }
    }

    fn words(&mut self, words: String) {
        self.user(vec![Part::Text { text: words.into(), signature: None }], None);
    }

    fn assistant(
        &mut self,
        assistant: &'a AssistantMessage,
        after: &[&'a Message],
        taken: &mut [bool],
    ) -> Result<(), CallError> {
        let only_text = match assistant.stop_reason.known() {
            // Retried or given up: what came of it is no part of the conversation.
            Some(StopReason::Error) => {
                self.contents.changes.dropped("message", "an answer that ended in an error is not sent again");
                return Ok(());
            }
            // Thinking and calls may have been cut in the middle.
            Some(StopReason::Aborted) => true,
            Some(
                StopReason::Stop
                | StopReason::Length
                | StopReason::ToolUse
                | StopReason::Pending
                | StopReason::Deferred,
            )
            | None => false,
        };
        let is_own = self.is_own(assistant);
        let stand_in = self.contents.manner.missing_signature.filter(|_| !(is_own && has_signed_call(assistant)));
        let mut spoken = Spoken { is_own, stand_in, ..Spoken::default() };
        for block in &assistant.content {
            match block {
                Block::Text(block) if is_blank(&block.text) => {}
                Block::Text(block) => {
                    spoken.end_thought();
                    let signature = block.text_signature.as_deref().filter(|_| spoken.is_own);
                    spoken.parts.push(Part::Text { text: (&*block.text).into(), signature });
                }
                Block::Thinking(_) | Block::ToolCall(_) if only_text => {}
                Block::Thinking(thinking) => self.thinking(thinking, &mut spoken),
                Block::ToolCall(call) => {
                    let result = result_of(call.id.as_str(), after, taken);
                    self.call(call, result, &mut spoken)?;
                }
                Block::Image(_) | Block::Other(_) => {
                    self.contents.changes.dropped("content", "what the model showed is not sent back to it");
                }
            }
        }
        self.say(spoken);
        Ok(())
    }

    /// The model's turn, the answers to its calls, and behind them what the user has to say of them.
    fn say(&mut self, spoken: Spoken<'a>) {
        let Spoken { parts, answers, mut told, mut shown, is_own: _, stand_in: _, has_thought: _ } = spoken;
        if !parts.is_empty() {
            self.turns.push(Turn::Assistant(parts));
        }
        if !answers.is_empty() {
            self.contents.used.insert(Capability::Tools);
            self.turns.push(Turn::Results(answers));
        }
        told.append(&mut shown);
        self.user(told, None);
    }

    fn call(
        &mut self,
        call: &'a ToolCall,
        result: Option<&'a ToolResultMessage>,
        spoken: &mut Spoken<'a>,
    ) -> Result<(), CallError> {
        match self.contents.manner.tools {
            ToolsAs::Native => {
                let (id, item) = ids::split(call.id.as_str());
                let CallId { id, is_repeated } = self.ids.next(id, self.contents.manner.ids);
                let item = item.filter(|_| spoken.is_own && !is_repeated);
                spoken.answers.push(self.answer(id.clone(), &call.name, result, &mut spoken.shown)?);
                let own = call.thought_signature.as_deref().filter(|_| spoken.is_own);
                let signature = own.or_else(|| spoken.stand_in.take());
                let (name, arguments) = (call.name.as_str(), &call.arguments);
                spoken.parts.push(Part::Call { id, item, name, arguments, signature });
            }
            ToolsAs::Text(form) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                let words = text_call::prompt::call(form, &call.name, &arguments);
                spoken.parts.push(Part::Text { text: words.into(), signature: None });
                let answer = self.answer(Cow::Borrowed(""), &call.name, result, &mut spoken.shown)?;
                let words = tools::told(&call.name, &answer.text);
                spoken.told.push(Part::Text { text: words.into(), signature: None });
            }
        }
        Ok(())
    }

    /// Whether this model said it, so that its signatures have meaning.
    fn is_own(&self, assistant: &AssistantMessage) -> bool {
        assistant.provider == self.contents.manner.manifest.id
            && assistant.model.as_str() == self.contents.manner.model
            && assistant.api == self.contents.manner.dialect.api()
    }

    /// Thinking goes back to its model where that has a form for it; another model reads it as text.
    fn thinking(&self, block: &'a ThinkingBlock, spoken: &mut Spoken<'a>) {
        let redacted = block.redacted == Some(true);
        let signature = block.thinking_signature.as_deref().filter(|signature| !signature.is_empty());
        let generative = &self.contents.manner.manifest.contract.capability_contracts.generative;
        let has_form = match self.contents.manner.dialect {
            Dialect::AnthropicMessages | Dialect::OpenaiResponses => signature.is_some(),
            Dialect::GeminiGenerate | Dialect::CohereV2 => !is_blank(&block.thinking),
            Dialect::OpenaiChat | Dialect::Demo if self.contents.manner.thinking_as_text => false,
            Dialect::OpenaiChat | Dialect::Demo => {
                let mode = &generative.reasoning_mode;
                let is_detail = mode.details_field.is_some() && signature.is_some();
                if spoken.is_own && mode.replay_field.is_none() && !is_detail {
                    return;
                }
                true
            }
        };
        if spoken.is_own && has_form {
            spoken.parts.push(Part::Thinking { text: &block.thinking, signature, redacted });
        } else if !redacted && !is_blank(&block.thinking) {
            spoken.end_thought();
            spoken.parts.push(text(&block.thinking));
            spoken.has_thought = matches!(self.contents.manner.dialect, Dialect::OpenaiChat | Dialect::Demo);
        }
    }

    /// The answer to a call; what it cannot hold goes to `shown`.
    fn answer(
        &mut self,
        id: Cow<'a, str>,
        name: &'a str,
        result: Option<&'a ToolResultMessage>,
        shown: &mut Vec<Part<'a>>,
    ) -> Result<Answer<'a>, CallError> {
        let Some(result) = result else {
            self.contents.changes.added("message", format!("the call of {name} has no result; the model is told so"));
            return Ok(Answer { id, name, text: NO_RESULT.into(), is_error: true, media: Vec::new() });
        };
        let mut words = Words::default();
        let (mut media, mut parts, before) = (Vec::new(), Vec::new(), shown.len());
        for block in &result.content {
            match block {
                Block::Text(block) if is_blank(&block.text) => {}
                Block::Text(block) => words.add((&*block.text).into()),
                Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => {
                    self.contents.block(block, &mut parts)?;
                }
            }
        }
        let holds_media = self.contents.manner.result_media && matches!(self.contents.manner.tools, ToolsAs::Native);
        for part in parts {
            match part {
                Part::Text { text, .. } => words.add(text),
                Part::Media(block) if holds_media => media.push(block),
                Part::Media(_) | Part::Thinking { .. } | Part::Call { .. } => shown.push(part),
            }
        }
        if words.0.is_empty() && shown.len() > before {
            words.add(RESULT_FOLLOWS.into());
        }
        Ok(Answer { id, name, text: words.0, is_error: result.is_error, media })
    }

    /// A result whose call is not in the conversation is told by the user.
    fn orphan(&mut self, result: &'a ToolResultMessage) -> Result<(), CallError> {
        self.contents
            .changes
            .changed("message", format!("a result of {} without its call is sent as text", result.tool_name));
        let mut parts = Vec::new();
        for block in &result.content {
            self.contents.block(block, &mut parts)?;
        }
        self.user(parts, None);
        Ok(())
    }

    /// A change of the system text: its text, and the sections that the text does not contain.
    fn system(&mut self, system: &'a SystemMessage) {
        let mut words = Words::default();
        match &system.content {
            Content::Text(text) => words.add(text.into()),
            Content::Blocks(_) => words.add(system.content.text().into()),
        }
        for section in system.sections.iter().flatten().filter_map(|(_, section)| section.as_str()) {
            if !words.0.contains(section) {
                words.add(section.into());
            }
        }
        if is_blank(&words.0) {
            return;
        }
        if self.contents.manner.inline_system {
            self.turns.push(Turn::System(words.0));
        } else {
            self.user(vec![Part::Text { text: words.0, signature: None }], None);
        }
    }
}

/// A message of the model while it is read.
#[derive(Default)]
struct Spoken<'a> {
    /// This model said it, so that its signatures have meaning.
    is_own: bool,
    /// For the first call without a signature, where the provider insists on one.
    stand_in: Option<&'a str>,
    parts: Vec<Part<'a>>,
    answers: Vec<Answer<'a>>,
    /// Results for a model that knows no tools.
    told: Vec<Part<'a>>,
    /// What the answers cannot hold.
    shown: Vec<Part<'a>>,
    /// The last part is thinking that is read as text, and text that follows would run into it.
    has_thought: bool,
}

impl Spoken<'_> {
    /// Parts the thinking of another model from the text that follows, in a dialect that writes all text as one.
    fn end_thought(&mut self) {
        if std::mem::take(&mut self.has_thought)
            && let Some(Part::Text { text, .. }) = self.parts.last_mut()
            && !text.ends_with("\n\n")
        {
            text.to_mut().push_str("\n\n");
        }
    }
}

/// Whether the model signed one of the calls of this answer; of several at once only the first is.
fn has_signed_call(assistant: &AssistantMessage) -> bool {
    assistant.content.iter().any(|block| match block {
        Block::ToolCall(call) => call.thought_signature.is_some(),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => false,
    })
}

/// The first result of this call before the model speaks again; it is taken.
fn result_of<'a>(id: &str, after: &[&'a Message], taken: &mut [bool]) -> Option<&'a ToolResultMessage> {
    for (message, taken) in after.iter().zip(taken) {
        match message {
            Message::ToolResult(result) if !*taken && result.tool_call_id.as_str() == id => {
                *taken = true;
                return Some(result);
            }
            Message::Assistant(next) if next.stop_reason != StopReason::Error => return None,
            Message::User(_)
            | Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::Custom(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
    }
    None
}
