//! An extension that keeps the model away from files that hold secrets and from commands that cannot be undone.
//!
//! It hears every tool call before it runs, and nothing that a person types: that is theirs to do. What is dangerous is asked
//! about where somebody can answer, and blocked otherwise. What a search found in files that hold secrets is taken out of its
//! result. [`rules`] says what is dangerous, without a host.
//!
//! An example of rules about texts. Such rules can be got around by whoever wants to; they keep a model from what it does by
//! mistake. What holds is the policy of pi.

pub mod rules;

use pi_extension::{
    ContentBlock, ErrorReport, Event, Extension, Hook, Host, Level, Outcome, Register,
    hooks::{ToolCallEvent, ToolResultEvent},
    outcomes::{ToolBlock, ToolCallOutcome, ToolResultOutcome, ToolResultPatch},
    register,
};

/// Tools that show lines of files that nobody named.
const SEARCHES: [&str; 2] = ["grep", "bash"];

/// The extension. It keeps nothing.
#[derive(Default)]
pub struct Guard;

impl Extension for Guard {
    fn register(&mut self) -> Result<Register, ErrorReport> {
        let event_hooks = Some(vec![Hook::ToolCall, Hook::ToolResult]);
        Ok(Register { event_hooks, ..register("guard", env!("CARGO_PKG_VERSION")) })
    }

    fn handle_event<H: Host>(&mut self, host: &H, event: Event) -> Result<Outcome, ErrorReport> {
        Ok(match event {
            Event::ToolCall(call) => Outcome::ToolCall(judge(host, &call)),
            Event::ToolResult(result) => Outcome::ToolResult(veil(&result)),
            _ => Outcome::Notice,
        })
    }
}

fn judge<H: Host>(host: &H, call: &ToolCallEvent) -> ToolCallOutcome {
    let Some(danger) = rules::danger(&call.tool_name, &call.input) else { return ToolCallOutcome::Continue };
    // Nobody who could answer is a no; so is a host that does not let us ask.
    let is_allowed = host.confirm("Let the model do this?", &danger).unwrap_or(false);
    // The guard works without its log.
    let _ = host.log(Level::Warn, "guard.danger", &format!("{danger}; allowed: {is_allowed}"));
    match is_allowed {
        true => ToolCallOutcome::Continue,
        false => ToolCallOutcome::Block(ToolBlock { reason: Some(format!("guard: {danger}")), terminate: false }),
    }
}

fn veil(result: &ToolResultEvent) -> ToolResultOutcome {
    let mut is_changed = false;
    let mut show = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => match rules::without_secrets(text) {
            Some(open) => {
                is_changed = true;
                ContentBlock::Text(open)
            }
            None => block.clone(),
        },
        ContentBlock::Image(_) => block.clone(),
    };
    let content: Vec<ContentBlock> = result.content.iter().map(&mut show).collect();
    if !is_changed || !SEARCHES.contains(&result.tool_name.as_str()) {
        return ToolResultOutcome::Continue;
    }
    ToolResultOutcome::Transform(ToolResultPatch { content: Some(content), details: None, is_error: None })
}

#[cfg(target_family = "wasm")]
pi_extension::export!(Guard);
