//! What the session gives a provider: system parts, tools and messages, each with its origin.
//!
//! The request to the provider and the envelope are two projections of a [`Prompt`]. How structured parts are put into
//! words is therefore decided here, once: [`Prompt::system_text`] and [`wording`](crate::wording) say what is sent, and
//! the envelope shows the same texts.

use std::{ops::Range, sync::Arc};

use pi_transcript::{Block, Content, EntryId, Message, ToolDefinition};
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    meta::{Origin, Trust},
    wording::Words,
};

/// Everything that one model call is given.
///
/// A provider's cache sees tools first, then the system text, then the messages; the envelope shows them in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    #[serde(default)]
    pub tools: Vec<Tool>,
    #[serde(default)]
    pub system: Vec<SystemPart>,
    #[serde(default)]
    pub messages: Vec<Said>,
}

/// Who a part comes from and how far it is trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    pub origin: Origin,
    pub trust: Trust,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    pub definition: ToolDefinition,
    pub provenance: Provenance,
}

/// A part of the system text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemPart {
    /// The same in every prompt of a session in which this part appears: `memory:AGENTS.md`.
    pub id: String,
    pub provenance: Provenance,
    #[serde(flatten)]
    pub text: SystemText,
}

/// What a part of the system text says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SystemText {
    /// Sent as it is.
    Instructions { text: String },
    /// A file that is always in the prompt, such as `AGENTS.md`.
    Memory { title: String, content: String },
    /// Skills that the model may read. An empty list is not sent.
    Skills { skills: Vec<Skill> },
    /// A value that the session fills in: the date, the working directory.
    Variable { name: String, value: String, label: String },
}

/// A skill as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Where the model finds the rest of it.
    pub location: String,
}

/// A message of the transcript as part of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Said {
    id: EntryId,
    /// Shared with whoever keeps the conversation: a prompt of a long one is made anew for every turn.
    #[serde(serialize_with = "write_shared")]
    message: Arc<Message>,
    provenance: Provenance,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spans: Vec<Span>,
}

/// A part of a message that came from elsewhere: a stretch of its text, such as an attached file, a template variable or a
/// quoted page, or a whole picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The content block; 0 for a message whose content is plain text.
    pub block: usize,
    /// The bytes of the block's text; none of a picture, which is always meant as a whole.
    pub bytes: Range<usize>,
    pub provenance: Provenance,
    pub source: SpanSource,
}

/// What a span is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SpanSource {
    /// Words of another origin.
    Quote,
    /// A file that the user attached, or a skill or template that was expanded.
    Document { file_name: String, mime_type: String },
    /// A template variable.
    Variable { name: String },
}

/// Why spans do not fit a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    #[error("span {index} is in a message whose text is not the user's or an extension's")]
    NoText { index: usize },
    #[error("span {index} is in block {block}, which has no text and is no picture")]
    NoBlock { index: usize, block: usize },
    #[error("span {index} does not cover whole characters of its block")]
    OutOfRange { index: usize },
    #[error("span {index} begins before the one before it ends")]
    OutOfOrder { index: usize },
}

impl Provenance {
    /// Trusted as texts of this origin usually are.
    pub fn usual(origin: Origin) -> Self {
        let trust = origin.usual_trust();
        Self { origin, trust }
    }
}

impl Said {
    pub fn new(id: EntryId, message: impl Into<Arc<Message>>, provenance: Provenance) -> Self {
        Self { id, message: message.into(), provenance, spans: Vec::new() }
    }

    /// Marks the stretches that came from elsewhere: in order, without overlap, on character boundaries.
    pub fn with_spans(self, spans: Vec<Span>) -> Result<Self, SpanError> {
        let content = match &*self.message {
            Message::User(user) => Some(&user.content),
            Message::Custom(custom) => Some(&custom.content),
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => None,
        };
        let mut end = (0, 0);
        for (index, span) in spans.iter().enumerate() {
            let content = content.ok_or(SpanError::NoText { index })?;
            let text = markable(content, span.block).ok_or(SpanError::NoBlock { index, block: span.block })?;
            if text.get(span.bytes.clone()).is_none() {
                return Err(SpanError::OutOfRange { index });
            }
            if (span.block, span.bytes.start) < end {
                return Err(SpanError::OutOfOrder { index });
            }
            end = (span.block, span.bytes.end);
        }
        Ok(Self { spans, ..self })
    }

    pub fn id(&self) -> &EntryId {
        &self.id
    }

    pub fn message(&self) -> &Message {
        &self.message
    }

    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Whether the message is sent at all: a command that its user kept to themselves is not.
    pub fn is_sent(&self) -> bool {
        !matches!(&*self.message, Message::BashExecution(bash) if bash.exclude_from_context == Some(true))
    }
}

impl SystemPart {
    /// The exact text that is sent for this part.
    pub fn sent(&self) -> String {
        Words::of(&self.text).join()
    }
}

impl Prompt {
    /// The exact system text that is sent.
    pub fn system_text(&self) -> String {
        self.system.iter().map(SystemPart::sent).collect()
    }
}

/// The text of a block in which spans may be; a picture has none, and one empty span.
fn markable(content: &Content, block: usize) -> Option<&str> {
    match content {
        Content::Text(text) => (block == 0).then_some(text),
        Content::Blocks(blocks) => match blocks.get(block)? {
            Block::Text(text) => Some(&text.text),
            Block::Image(_) => Some(""),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
        },
    }
}

fn write_shared<S: Serializer>(message: &Arc<Message>, serializer: S) -> Result<S::Ok, S::Error> {
    message.as_ref().serialize(serializer)
}

/// A [`Said`] as it is written, before its spans are checked.
#[derive(Deserialize)]
struct Unchecked {
    id: EntryId,
    message: Message,
    provenance: Provenance,
    #[serde(default)]
    spans: Vec<Span>,
}

impl TryFrom<Unchecked> for Said {
    type Error = SpanError;

    fn try_from(unchecked: Unchecked) -> Result<Self, SpanError> {
        let Unchecked { id, message, provenance, spans } = unchecked;
        Self::new(id, message, provenance).with_spans(spans)
    }
}
