//! Shows a prompt as an envelope.
//!
//! `tests/mapping.json` is the table of what becomes what, with an example for each row. Two rules hold for all of it:
//! every text of the prompt is in some segment, in prompt order, and [`Segment::sent`] of a segment is what is sent for it.

mod parts;

use pi_transcript::{
    Block, Content, Message as Spoken,
    json::Extra,
    message::{SystemMessage, ToolResultMessage},
};
use serde_json::{Map, Number, Value};

use self::parts::{document, json_text, media, prose, system_part, tool_overview};
use crate::{
    envelope::{Body, Envelope, Message, Role, Segment, Version},
    meta::{EnvelopeMeta, MessageMeta, Meta, Part, Request, SegmentMeta},
    prompt::{Prompt, Provenance, Said, Span, SpanSource},
    tokens::{Counter, sum},
    wording,
};

pub use self::parts::{LONG_TEXT, SNIPPET};

/// When something was said that has no time of its own. It must not be that of the request: a message that is the same in the
/// next request would be another one then, and would be kept again.
const TIMELESS: u64 = 0;

/// The envelope of `prompt`, valid whatever the prompt holds. The messages of it depend on the prompt alone.
pub fn project(prompt: &Prompt, request: &Request, counter: &Counter<'_>) -> Envelope {
    let mut messages: Vec<Message> = opening(prompt).into_iter().collect();
    messages.extend(prompt.messages.iter().filter(|said| said.is_sent()).map(message));
    if messages.is_empty() {
        let provenance = Provenance::usual(crate::Origin::BuiltIn);
        let nothing = Draft::new("system", &provenance);
        messages.push(nothing.finish(Role::System, TIMELESS.into(), MessageMeta::default()));
    }
    messages.iter_mut().for_each(|message| weigh(message, counter));
    let mut envelope = Envelope {
        version: Version::V1,
        model: Some(request.model.0.clone()),
        messages,
        meta: None,
        extra: Extra::new(),
    };
    envelope.meta = Some(Meta::Ours(EnvelopeMeta {
        request: Some(request.clone()),
        tokens: Some(sum(envelope.segments().map(|(_, segment)| segment.tokens()))),
        digest: Some(envelope.digest()),
        ..EnvelopeMeta::default()
    }));
    envelope
}

/// Tools and system text; `None` if there are none.
fn opening(prompt: &Prompt) -> Option<Message> {
    let built_in = Provenance::usual(crate::Origin::BuiltIn);
    let mut draft = Draft::new("system", &built_in);
    // One overview for neighbours of the same origin, so that what a server's tools cost can be seen.
    for tools in prompt.tools.chunk_by(|a, b| a.provenance == b.provenance) {
        let provenance = &tools[0].provenance;
        let meta = SegmentMeta { id: Some(format!("tools/{}", provenance.origin)), ..of(provenance) };
        draft.push(tool_overview(tools.iter().map(|tool| &tool.definition)), meta);
    }
    for part in &prompt.system {
        if let Some((body, frame)) = system_part(&part.text) {
            let meta = SegmentMeta { id: Some(format!("system/{}", part.id)), frame, ..of(&part.provenance) };
            draft.push(body, meta);
        }
    }
    (!draft.segments.is_empty()).then(|| draft.finish(Role::System, TIMELESS.into(), MessageMeta::default()))
}

fn message(said: &Said) -> Message {
    let mut draft = Draft::new(said.id().as_str(), said.provenance());
    let spoken = |role: &str| MessageMeta { role: Some(role.to_owned()), ..MessageMeta::default() };
    match said.message() {
        Spoken::User(user) => {
            draft.content(&user.content, said.spans(), None);
            draft.finish(Role::User, user.timestamp.into(), MessageMeta::default())
        }
        Spoken::Assistant(assistant) => {
            assistant.content.iter().for_each(|block| draft.block(block, None));
            draft.finish(Role::Assistant, assistant.timestamp.into(), MessageMeta::default())
        }
        Spoken::ToolResult(result) => {
            draft.tool_result(result);
            draft.finish(Role::Tool, result.timestamp.into(), MessageMeta::default())
        }
        Spoken::BashExecution(bash) => {
            draft.prose(&wording::bash_execution(bash), Part::BashExecution);
            draft.finish(Role::User, bash.timestamp.into(), spoken("bashExecution"))
        }
        Spoken::Custom(custom) => {
            draft.content(&custom.content, said.spans(), Some(Part::Custom));
            let meta = MessageMeta { custom_type: Some(custom.custom_type.clone()), ..spoken("custom") };
            draft.finish(Role::User, custom.timestamp.into(), meta)
        }
        Spoken::BranchSummary(branch) => {
            draft.prose(&wording::branch_summary(branch), Part::BranchSummary);
            draft.finish(Role::User, branch.timestamp.into(), spoken("branchSummary"))
        }
        Spoken::CompactionSummary(compaction) => {
            draft.prose(&wording::compaction_summary(compaction), Part::CompactionSummary);
            draft.finish(Role::User, compaction.timestamp.into(), spoken("compactionSummary"))
        }
        Spoken::System(system) => {
            draft.system(system);
            draft.finish(Role::System, system.timestamp.into(), MessageMeta::default())
        }
        Spoken::Other(members) => unknown(draft, members),
    }
}

/// A message of a role that we do not know is shown as it is written.
fn unknown(mut draft: Draft<'_>, members: &Map<String, Value>) -> Message {
    draft.prose(&json_text(members), Part::Unknown);
    let timestamp = members.get("timestamp").and_then(Value::as_number).cloned();
    let role = members.get("role").and_then(Value::as_str).map(str::to_owned);
    draft.finish(Role::User, timestamp.unwrap_or(TIMELESS.into()), MessageMeta { role, ..MessageMeta::default() })
}

/// Writes down what each segment costs and which it is.
fn weigh(message: &mut Message, counter: &Counter<'_>) {
    let tokens = sum(message.segments.iter_mut().map(|segment| {
        let (tokens, digest) = (segment.count(counter), segment.digest());
        if let Some(meta) = Meta::write(&mut segment.meta) {
            (meta.tokens, meta.digest) = (Some(tokens), Some(digest));
        }
        tokens
    }));
    if let Some(meta) = Meta::write(&mut message.meta) {
        meta.tokens = Some(tokens);
    }
}

fn of(provenance: &Provenance) -> SegmentMeta {
    SegmentMeta { origin: Some(provenance.origin.clone()), trust: Some(provenance.trust), ..SegmentMeta::default() }
}

/// A message in the making.
struct Draft<'a> {
    id: &'a str,
    provenance: &'a Provenance,
    segments: Vec<Segment>,
}

impl<'a> Draft<'a> {
    fn new(id: &'a str, provenance: &'a Provenance) -> Self {
        Self { id, provenance, segments: Vec::new() }
    }

    /// Adds a segment; one without an id is named by its place in the message.
    fn push(&mut self, body: Body, mut meta: SegmentMeta) {
        meta.id.get_or_insert_with(|| format!("{}/{}", self.id, self.segments.len()));
        self.segments.push(Segment { body, meta: Some(Meta::Ours(meta)), extra: Extra::new() });
    }

    fn meta(&self) -> SegmentMeta {
        of(self.provenance)
    }

    fn prose(&mut self, text: &str, part: Part) {
        self.push(prose(text), SegmentMeta { part: Some(part), ..self.meta() });
    }

    fn content(&mut self, content: &Content, spans: &[Span], part: Option<Part>) {
        match content {
            Content::Text(text) => self.cut(text, spans, &SegmentMeta { part, ..self.meta() }),
            Content::Blocks(blocks) => {
                for (index, block) in blocks.iter().enumerate() {
                    match block {
                        Block::Text(text) => {
                            let spans: Vec<_> = spans.iter().filter(|span| span.block == index).cloned().collect();
                            let meta = SegmentMeta { part, signature: text.text_signature.clone(), ..self.meta() };
                            self.cut(&text.text, &spans, &meta);
                        }
                        Block::Image(image) => {
                            let marked = spans.iter().find(|span| span.block == index);
                            let provenance = marked.map_or(self.provenance, |span| &span.provenance);
                            self.push(media(image), SegmentMeta { part, ..of(provenance) });
                        }
                        Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => self.block(block, part),
                    }
                }
            }
        }
    }

    /// A text, cut where stretches of it came from elsewhere.
    fn cut(&mut self, text: &str, spans: &[Span], meta: &SegmentMeta) {
        let mut at = 0;
        for span in spans {
            if at < span.bytes.start {
                self.push(prose(&text[at..span.bytes.start]), meta.clone());
            }
            at = span.bytes.end;
            let stretch = &text[span.bytes.clone()];
            let body = match &span.source {
                SpanSource::Quote => prose(stretch),
                SpanSource::Document { file_name, mime_type } => document(file_name, mime_type, stretch),
                SpanSource::Variable { name } => {
                    Body::StaticVar { name: name.clone(), value: stretch.to_owned(), description: None }
                }
            };
            self.push(body, of(&span.provenance));
        }
        if at < text.len() || spans.is_empty() {
            self.push(prose(&text[at..]), meta.clone());
        }
    }

    fn block(&mut self, block: &Block, part: Option<Part>) {
        let mut meta = SegmentMeta { part, ..self.meta() };
        let body = match block {
            Block::Text(text) => {
                meta.signature.clone_from(&text.text_signature);
                prose(&text.text)
            }
            Block::Thinking(thinking) => {
                let redacted = thinking.redacted == Some(true);
                meta.part = Some(if redacted { Part::RedactedThinking } else { Part::Thinking });
                meta.signature.clone_from(&thinking.thinking_signature);
                prose(&thinking.thinking)
            }
            Block::Image(image) => media(image),
            Block::ToolCall(call) => {
                meta.call = Some(call.id.clone());
                meta.signature.clone_from(&call.thought_signature);
                Body::ToolCallRequest {
                    tool_name: call.name.clone(),
                    arguments: call.arguments.clone(),
                    collapsed: true,
                }
            }
            Block::Other(members) => {
                meta.part = Some(Part::Unknown);
                prose(&json_text(members))
            }
        };
        self.push(body, meta);
    }

    /// A failed call is shown open, because it explains what follows.
    fn tool_result(&mut self, result: &ToolResultMessage) {
        let segment = |text: &str| Body::ToolCallResult {
            tool_name: result.tool_name.clone(),
            result: text.to_owned(),
            success: !result.is_error,
            collapsed: !result.is_error,
        };
        let meta = SegmentMeta { call: Some(result.tool_call_id.clone()), ..self.meta() };
        if !result.content.iter().any(|block| matches!(block, Block::Text(_))) {
            self.push(segment(""), meta.clone());
        }
        for block in &result.content {
            match block {
                Block::Text(text) => self.push(segment(&text.text), meta.clone()),
                Block::Image(image) => self.push(media(image), meta.clone()),
                Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => self.block(block, None),
            }
        }
    }

    /// A change of the system text. Sections that the text itself contains are not shown twice.
    fn system(&mut self, system: &SystemMessage) {
        let text = system.content.text();
        if !text.is_empty() {
            self.push(Body::SystemPrompt { content: text.clone(), collapsed: true }, self.meta());
        }
        for (_, section) in system.sections.iter().flatten() {
            if let Value::String(section) = section
                && !text.contains(section)
            {
                let meta = SegmentMeta { part: Some(Part::Section), ..self.meta() };
                self.push(Body::SystemPrompt { content: section.clone(), collapsed: true }, meta);
            }
        }
        if let Some(tools @ [_, ..]) = system.tools_added.as_deref() {
            self.push(tool_overview(tools.iter()), self.meta());
        }
    }

    /// The message, with a segment that says so if there is nothing in it.
    fn finish(mut self, role: Role, timestamp: Number, meta: MessageMeta) -> Message {
        if self.segments.is_empty() {
            self.prose("", Part::Nothing);
        }
        let meta = Some(Meta::Ours(meta));
        Message { id: self.id.to_owned(), role, segments: self.segments, timestamp, meta, extra: Extra::new() }
    }
}
