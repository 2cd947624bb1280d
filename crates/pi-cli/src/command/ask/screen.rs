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
    /// Calls whose arguments are still arriving: id, name, arguments.
    calls: Vec<(String, String, String)>,
}

impl Screen {
    pub(super) fn show(&mut self, event: &StreamEvent, console: &mut Console) {
        match event {
            StreamEvent::PartialContentDelta { candidate: 0, content, .. } => console.piece(&safe(content)),
            StreamEvent::ThinkingDelta { candidate: 0, thinking, .. } => console.murmur(&safe(thinking)),
            StreamEvent::ToolCallStarted { candidate: 0, tool_call_id, tool_name, .. } => {
                self.calls.push((tool_call_id.clone(), tool_name.clone(), String::new()));
            }
            StreamEvent::PartialToolCall { candidate: 0, tool_call_id, arguments, .. } => {
                if let Some((.., written)) = self.calls.iter_mut().find(|(id, ..)| id == tool_call_id) {
                    written.push_str(arguments);
                }
            }
            StreamEvent::ToolCallEnded { candidate: 0, tool_call_id, .. } => {
                let call = self.calls.iter().position(|(id, ..)| id == tool_call_id);
                if let Some((_, name, arguments)) = call.map(|index| self.calls.remove(index)) {
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
            // Of several answers people see the first; `--json` shows all.
            StreamEvent::PartialContentDelta { .. }
            | StreamEvent::ThinkingDelta { .. }
            | StreamEvent::ToolCallStarted { .. }
            | StreamEvent::PartialToolCall { .. }
            | StreamEvent::ToolCallEnded { .. }
            | StreamEvent::Metadata { .. }
            | StreamEvent::FinalCandidate { .. }
            | StreamEvent::StreamEnd { .. }
            | StreamEvent::StreamError { .. }
            | StreamEvent::Other { .. } => {}
        }
    }

    /// Shows what was begun and never ended.
    pub(super) fn finish(&mut self, console: &mut Console) {
        for (_, name, arguments) in std::mem::take(&mut self.calls) {
            show_call(&name, &arguments, console);
        }
        console.end_line();
    }
}

fn show_call(name: &str, arguments: &str, console: &mut Console) {
    console.end_line();
    let (arrow, name) = (console.paint(Tone::Accent, "→"), console.paint(Tone::Strong, &printable(name)));
    console.line(&format!("{arrow} {name} {}", printable(arguments.trim()).replace('\n', " ")));
}

/// What a model says must not command the terminal; line ends and tabs stay.
fn safe(text: &str) -> String {
    text.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}
