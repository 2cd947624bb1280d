//! An extension that keeps the model away from files that hold secrets and from commands that cannot be undone.
//!
//! It hears every tool call before it runs, and nothing that a person types: that is theirs to do. What is dangerous is asked about where somebody can answer, and blocked
//! otherwise. [`rules`] says what is dangerous, without a host.

pub mod rules;

use pi_extension::{
    ErrorReport, Event, Extension, Hook, Host, Level, Outcome, Register,
    outcomes::{ToolBlock, ToolCallOutcome},
    register,
};

/// The extension. It keeps nothing.
#[derive(Default)]
pub struct Guard;

impl Extension for Guard {
    fn register(&mut self) -> Result<Register, ErrorReport> {
        let event_hooks = Some(vec![Hook::ToolCall]);
        Ok(Register { event_hooks, ..register("guard", env!("CARGO_PKG_VERSION")) })
    }

    fn handle_event<H: Host>(&mut self, host: &H, event: Event) -> Result<Outcome, ErrorReport> {
        let Event::ToolCall(call) = event else { return Ok(Outcome::Notice) };
        let Some(danger) = rules::danger(&call.tool_name, &call.input) else {
            return Ok(Outcome::ToolCall(ToolCallOutcome::Continue));
        };
        // Nobody who could answer is a no; so is a host that does not let us ask.
        let is_allowed = host.confirm("Let the model do this?", &danger).unwrap_or(false);
        // The guard works without its log.
        let _ = host.log(Level::Warn, "guard.danger", &format!("{danger}; allowed: {is_allowed}"));
        Ok(Outcome::ToolCall(match is_allowed {
            true => ToolCallOutcome::Continue,
            false => ToolCallOutcome::Block(ToolBlock { reason: Some(format!("guard: {danger}")), terminate: false }),
        }))
    }
}

#[cfg(target_family = "wasm")]
pi_extension::export!(Guard);
