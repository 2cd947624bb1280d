//! What calls have written so far, told to a client that adds up pieces.

use pi_transcript::{AgentEvent, Block, ToolCallId, ToolOutput, event::Grown};
use serde_json::Value;

/// The output of every call that runs, as it was told last.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    told: Vec<(ToolCallId, String)>,
}

impl Outputs {
    /// Takes from an update what was told before: arguments, and all of the output but what is new. The first update of a call
    /// has all of its output.
    pub(super) fn shorten(&mut self, event: &mut AgentEvent) {
        match event {
            AgentEvent::ToolExecutionUpdate { tool_call_id, args, partial_result, delta, dropped, .. } => {
                *args = None;
                let before = self.take(tool_call_id);
                let Some(text) = only_text(partial_result) else { return };
                let text = text.to_owned();
                drop_copy(partial_result, &text);
                if let Some(grown) = before.and_then(|before| Grown::between(&before, &text)) {
                    *delta = Some(text[grown.kept..].to_owned());
                    *dropped = Some(grown.dropped).filter(|dropped| *dropped > 0);
                    partial_result.content.clear();
                }
                self.told.push((tool_call_id.clone(), text));
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => drop(self.take(tool_call_id)),
            AgentEvent::AgentStart => self.told.clear(),
            _ => {}
        }
    }

    fn take(&mut self, call: &ToolCallId) -> Option<String> {
        let place = self.told.iter().position(|(known, _)| known == call)?;
        Some(self.told.swap_remove(place).1)
    }
}

/// The output, if it is one text and nothing else.
fn only_text(output: &ToolOutput) -> Option<&str> {
    match output.content.as_slice() {
        [Block::Text(block)] if block.text_signature.is_none() && block.extra.is_empty() => Some(&block.text),
        _ => None,
    }
}

/// What was left out of the beginning is told with a copy of what was not.
fn drop_copy(output: &mut ToolOutput, text: &str) {
    let truncation = output.details.as_mut().and_then(|details| details.get_mut("truncation"));
    if let Some(Value::Object(truncation)) = truncation
        && truncation.get("content").is_some_and(|content| content == text)
    {
        truncation.remove("content");
    }
}
