//! The message that the model is saying, as far as it has.

use pi_transcript::{
    AgentEvent, AssistantMessageEvent, Block, Message,
    content::{TextBlock, ThinkingBlock, ToolCall},
    json::Extra,
};

/// Adds up deltas, for readers that want the message so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Growing {
    message: Option<Message>,
}

impl Growing {
    /// Whatever happens, the message is what the deltas so far make of it.
    pub(crate) fn follow(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageStart { message } => {
                self.message = matches!(message, Message::Assistant(_)).then(|| message.clone());
            }
            AgentEvent::MessageUpdate { assistant_message_event, .. } => self.grow(assistant_message_event),
            AgentEvent::MessageEnd { .. } | AgentEvent::AgentStart | AgentEvent::AgentEnd { .. } => self.end(),
            AgentEvent::AgentSettled { .. }
            | AgentEvent::TurnStart
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::ToolExecutionStart { .. }
            | AgentEvent::ToolExecutionUpdate { .. }
            | AgentEvent::ToolExecutionEnd { .. }
            | AgentEvent::AutoCompactionStart { .. }
            | AgentEvent::AutoCompactionEnd { .. }
            | AgentEvent::AutoRetryStart { .. }
            | AgentEvent::AutoRetryEnd { .. }
            | AgentEvent::QueueUpdate { .. }
            | AgentEvent::EntryAppended { .. }
            | AgentEvent::SessionInfoChanged { .. }
            | AgentEvent::ThinkingLevelChanged { .. }
            | AgentEvent::BashExecutionUpdate { .. }
            | AgentEvent::ExtensionError { .. }
            | AgentEvent::ExtensionUiRequest { .. }
            | AgentEvent::ExtensionUiRender { .. }
            | AgentEvent::ExtensionUiResolved { .. }
            | AgentEvent::StorageFailed { .. }
            | AgentEvent::StorageRecovered
            | AgentEvent::InputNotice { .. }
            | AgentEvent::Guardrail { .. }
            | AgentEvent::MessagesUnsaid { .. }
            | AgentEvent::OffersChanged
            | AgentEvent::SessionTree { .. }
            | AgentEvent::Other(_) => {}
        }
    }

    pub(crate) fn end(&mut self) {
        self.message = None;
    }

    pub(crate) fn so_far(&self) -> Option<&Message> {
        self.message.as_ref()
    }

    fn grow(&mut self, step: &AssistantMessageEvent) {
        let Some(Message::Assistant(message)) = &mut self.message else { return };
        let blocks = &mut message.content;
        match step {
            AssistantMessageEvent::TextStart { content_index, .. } => drop(text(blocks, *content_index)),
            AssistantMessageEvent::TextDelta { content_index, delta, .. } => {
                text(blocks, *content_index).into_iter().for_each(|text| text.push_str(delta));
            }
            AssistantMessageEvent::TextEnd { content_index, content, .. } => {
                text(blocks, *content_index).into_iter().for_each(|text| text.clone_from(content));
            }
            AssistantMessageEvent::ThinkingStart { content_index, .. } => drop(thinking(blocks, *content_index)),
            AssistantMessageEvent::ThinkingDelta { content_index, delta, .. } => {
                thinking(blocks, *content_index).into_iter().for_each(|text| text.push_str(delta));
            }
            AssistantMessageEvent::ThinkingEnd { content_index, content, .. } => {
                thinking(blocks, *content_index).into_iter().for_each(|text| text.clone_from(content));
            }
            AssistantMessageEvent::ToolCallStart { content_index, id, tool_name, .. } => {
                let (Some(id), Some(name)) = (id, tool_name) else { return };
                place(blocks, *content_index, || {
                    Block::ToolCall(ToolCall {
                        id: id.clone(),
                        name: name.clone(),
                        arguments: serde_json::Map::new(),
                        thought_signature: None,
                        namespace: None,
                        extra: Extra::new(),
                    })
                });
            }
            AssistantMessageEvent::ToolCallDelta { content_index, delta, .. } => {
                // Pieces of JSON are no arguments yet; readers find them where Pi puts them.
                if let Some(Block::ToolCall(call)) = known(blocks, *content_index) {
                    let so_far = call.extra.entry("partialJson").or_insert_with(|| "".into());
                    if let serde_json::Value::String(so_far) = so_far {
                        so_far.push_str(delta);
                    }
                }
            }
            AssistantMessageEvent::ToolCallEnd { content_index, tool_call, .. } => {
                if let Some(block) = place(blocks, *content_index, || tool_call.clone()) {
                    block.clone_from(tool_call);
                }
            }
            AssistantMessageEvent::Start { .. }
            | AssistantMessageEvent::Done { .. }
            | AssistantMessageEvent::Error { .. }
            | AssistantMessageEvent::Other(_) => {}
        }
    }
}

fn known(blocks: &mut [Block], index: u64) -> Option<&mut Block> {
    blocks.get_mut(usize::try_from(index).ok()?)
}

/// The block of this number, made now if it is the next one. A number beyond that belongs to no message of ours.
fn place(blocks: &mut Vec<Block>, index: u64, make: impl FnOnce() -> Block) -> Option<&mut Block> {
    let index = usize::try_from(index).ok()?;
    if index == blocks.len() {
        blocks.push(make());
    }
    blocks.get_mut(index)
}

fn text(blocks: &mut Vec<Block>, index: u64) -> Option<&mut String> {
    let empty = || Block::Text(TextBlock { text: String::new(), text_signature: None, extra: Extra::new() });
    match place(blocks, index, empty)? {
        Block::Text(block) => Some(&mut block.text),
        Block::Thinking(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other(_) => None,
    }
}

fn thinking(blocks: &mut Vec<Block>, index: u64) -> Option<&mut String> {
    let empty = || {
        Block::Thinking(ThinkingBlock {
            thinking: String::new(),
            thinking_signature: None,
            redacted: None,
            extra: Extra::new(),
        })
    };
    match place(blocks, index, empty)? {
        Block::Thinking(block) => Some(&mut block.thinking),
        Block::Text(_) | Block::Image(_) | Block::ToolCall(_) | Block::Other(_) => None,
    }
}
