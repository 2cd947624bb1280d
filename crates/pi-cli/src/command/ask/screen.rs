//! An answer as a person sees it come: the text on standard output, and nothing else in a pipe; thinking, dimmed, and
//! whatever is said about the answer on standard error. A tool call is shown when it is complete.

use pi_provider::{NAMELESS_CALL, StreamEvent};
use serde_json::Value;

use crate::console::{Console, Tone, printable};

/// The event of the standard for what is no text in an answer.
const PICTURE: &str = "MultimodalFrame";

/// What of the answer is not shown yet.
#[derive(Default)]
pub(super) struct Screen {
    /// Of several answers people see the one that comes first; `--json` shows all.
    candidate: Option<u32>,
    /// Those whose arguments are still arriving.
    calls: Vec<Call>,
}

struct Call {
    /// The provider's number, which tells calls apart that have one id.
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Screen {
    pub(super) fn show(&mut self, event: &StreamEvent, console: &mut Console) {
        if let Some(candidate) = event.candidate()
            && *self.candidate.get_or_insert(candidate) != candidate
        {
            return;
        }
        match event {
            StreamEvent::PartialContentDelta { content, .. } => console.say(content),
            StreamEvent::ThinkingDelta { thinking, .. } => console.think(thinking),
            StreamEvent::ToolCallStarted { index, tool_call_id, tool_name, .. } => {
                let (index, id, name) = (*index, tool_call_id.clone(), tool_name.clone());
                self.calls.push(Call { index, id, name, arguments: String::new() });
            }
            StreamEvent::PartialToolCall { index, tool_call_id, arguments, .. } => {
                if let Some(place) = self.place_of(*index, tool_call_id) {
                    self.calls[place].arguments.push_str(arguments);
                }
            }
            StreamEvent::ToolCallEnded { index, tool_call_id, .. } => {
                let call = self.place_of(*index, tool_call_id).map(|place| self.calls.remove(place));
                if let Some(Call { name, arguments, .. }) = call {
                    // One without arguments has none, whether its provider writes that or nothing.
                    let arguments = if arguments.trim().is_empty() { "{}" } else { &arguments };
                    show_call(&name, arguments, console);
                }
            }
            StreamEvent::Other { name, .. } if name == NAMELESS_CALL => {
                console.end_line();
                console.note("pieces of a tool call without a name were dropped");
            }
            StreamEvent::Other { name, fields } if name == PICTURE => {
                console.end_line();
                let kind = fields.get("mime_type").and_then(Value::as_str).unwrap_or("something that is no text");
                console
                    .note(&format!("the answer holds {}, which is not shown here; --json prints it", printable(kind)));
            }
            StreamEvent::Metadata { .. }
            | StreamEvent::FinalCandidate { .. }
            | StreamEvent::StreamEnd { .. }
            | StreamEvent::StreamError { .. }
            | StreamEvent::Other { .. } => {}
        }
    }

    /// Shows what was begun and never ended.
    pub(super) fn finish(&mut self, console: &mut Console) {
        for Call { name, arguments, .. } in std::mem::take(&mut self.calls) {
            show_call(&name, &arguments, console);
        }
        console.end_line();
    }

    /// The call of this id, that of this number if several have one id.
    fn place_of(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let is_same = |call: &Call| call.index == index && call.id == id;
        self.calls.iter().position(is_same).or_else(|| self.calls.iter().position(|call| call.id == id))
    }
}

fn show_call(name: &str, arguments: &str, console: &mut Console) {
    console.end_line();
    let (arrow, name) = (console.paint(Tone::Accent, "→"), console.paint(Tone::Strong, &printable(name)));
    console.line(&format!("{arrow} {name} {}", printable(arguments.trim()).replace('\n', " ")));
}
