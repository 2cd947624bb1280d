//! How much of the archive's room a prompt takes while it waits to be counted.

use pi_envelope::{Prompt, Said, SystemPart, Tool};
use pi_transcript::{Block, Message};
use serde_json::Value;

/// Bytes for which one unit of room stands.
pub(super) const UNIT: usize = 64 << 10;
/// All the room there is: 4 MiB.
pub(super) const ROOM: u32 = 64;
/// What even a short prompt takes, so that there are never many.
const LEAST: u32 = 4;

/// The units that a prompt takes; one that is larger than the room takes all of it.
pub(super) fn of(prompt: &Prompt) -> u32 {
    let tools: usize = prompt.tools.iter().map(tool).sum();
    let system: usize = prompt.system.iter().map(|part| SystemPart::sent(part).len()).sum();
    let messages: usize = prompt.messages.iter().map(Said::message).map(message).sum();
    let units = (tools + system + messages).div_ceil(UNIT);
    u32::try_from(units).unwrap_or(ROOM).clamp(LEAST, ROOM)
}

fn tool(tool: &Tool) -> usize {
    tool.definition.description.len() + value(&tool.definition.parameters)
}

fn message(message: &Message) -> usize {
    match message {
        Message::User(user) => blocks(&user.content.blocks()),
        Message::Assistant(said) => blocks(&said.content),
        Message::ToolResult(result) => blocks(&result.content),
        Message::BashExecution(bash) => bash.command.len() + bash.output.len(),
        Message::Custom(custom) => blocks(&custom.content.blocks()),
        Message::BranchSummary(branch) => branch.summary.len(),
        Message::CompactionSummary(compaction) => compaction.summary.len(),
        Message::System(system) => blocks(&system.content.blocks()),
        Message::Other(members) => members.values().map(value).sum(),
    }
}

fn blocks(blocks: &[Block]) -> usize {
    let size = |block: &Block| match block {
        Block::Text(block) => block.text.len(),
        Block::Thinking(block) => block.thinking.len(),
        Block::Image(image) => image.data.len(),
        Block::ToolCall(call) => call.arguments.values().map(value).sum(),
        Block::Other(members) => members.values().map(value).sum(),
    };
    blocks.iter().map(size).sum()
}

fn value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => size_of::<Value>(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(self::value).sum(),
        Value::Object(members) => members.iter().map(|(name, member)| name.len() + self::value(member)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Origin, Provenance};

    use super::*;

    #[test]
    fn large_prompt_takes_more_room_and_never_more_than_there_is() {
        let prompt = |bytes: usize| {
            let said = Message::user("x".repeat(bytes).as_str(), 0);
            let said = Said::new("1".into(), said, Provenance::usual(Origin::User));
            Prompt { messages: vec![said], ..Prompt::default() }
        };
        let sizes = [0, 1, 10 * UNIT, 10 * UNIT + 1, 1000 * UNIT];
        assert_eq!(sizes.map(|bytes| of(&prompt(bytes))), [LEAST, LEAST, 10, 11, ROOM]);
    }
}
