//! Events of a stream as lines of text, so that a whole answer can be compared at once.

use std::fmt::Write as _;

use pi_provider::{Finish, StreamEvent};

/// One line per event. The candidate is written only where it is not the first.
pub(crate) fn transcribe(events: &[StreamEvent]) -> String {
    let mut text = String::new();
    for event in events {
        writeln!(text, "{}", line(event)).unwrap();
    }
    text
}

fn line(event: &StreamEvent) -> String {
    match event {
        StreamEvent::PartialContentDelta { candidate, block, content, signature } => {
            format!("content{} {content:?}{}", place(*candidate, *block), signed(signature.as_deref()))
        }
        StreamEvent::ThinkingDelta { candidate, block, thinking, signature, redacted } => {
            let redacted = if *redacted { " redacted" } else { "" };
            format!("thinking{} {thinking:?}{}{redacted}", place(*candidate, *block), signed(signature.as_deref()))
        }
        StreamEvent::ToolCallStarted { candidate, index, tool_call_id, tool_name, signature } => {
            let signed = signed(signature.as_deref());
            format!("call{} {tool_call_id} {tool_name}{signed}", place(*candidate, *index))
        }
        StreamEvent::PartialToolCall { candidate, index, tool_call_id, arguments } => {
            format!("arguments{} {tool_call_id} {arguments:?}", place(*candidate, *index))
        }
        StreamEvent::ToolCallEnded { candidate, index, tool_call_id } => {
            format!("called{} {tool_call_id}", place(*candidate, *index))
        }
        StreamEvent::Metadata { usage, response_id, model } => {
            let mut text = "metadata".to_owned();
            for (name, value) in [("id", response_id), ("model", model)] {
                if let Some(value) = value {
                    write!(text, " {name}={value}").unwrap();
                }
            }
            if let Some(usage) = usage {
                let counts = [
                    ("prompt", usage.prompt),
                    ("completion", usage.completion),
                    ("total", usage.total),
                    ("reasoning", usage.reasoning),
                    ("cache_read", usage.cache_read),
                    ("cache_write", usage.cache_write),
                    ("cache_write_1h", usage.cache_write_1h),
                ];
                for (name, count) in counts {
                    if let Some(count) = count {
                        write!(text, " {name}={count}").unwrap();
                    }
                }
                if let Some(cost) = usage.cost {
                    write!(text, " cost={cost}").unwrap();
                }
            }
            text
        }
        StreamEvent::FinalCandidate { candidate, finish } => {
            format!("final{} {}", place(*candidate, None), reason(finish.as_ref()))
        }
        StreamEvent::StreamEnd { finish } => format!("end {}", reason(finish.as_ref())),
        StreamEvent::StreamError { failure } => {
            format!("error {failure} ({})", failure.provider_code.as_deref().unwrap_or("no code"))
        }
        StreamEvent::Other { name, fields } => format!("{name} {}", serde_json::to_string(fields).unwrap()),
    }
}

fn place(candidate: u32, block: Option<u64>) -> String {
    let candidate = if candidate > 0 { format!(" of {candidate}") } else { String::new() };
    block.map(|block| format!(" {block}")).unwrap_or_default() + &candidate
}

fn signed(signature: Option<&str>) -> String {
    signature.map(|signature| format!(" signed {signature}")).unwrap_or_default()
}

fn reason(finish: Option<&Finish>) -> String {
    finish.map_or_else(|| "unknown".to_owned(), |finish| format!("{:?} ({})", finish.reason, finish.raw))
}
