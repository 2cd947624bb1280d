//! What went wrong with a guest, as data that a session can tell and log.

use std::{fmt, time::Duration};

use pi_extproto::hook::Hook;
use pi_transcript::AgentEvent;

use crate::guest::{GuestFault, GuestId};

/// A guest failed at something. It costs what was asked of it, nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub guest: GuestId,
    /// Where the guest was loaded from.
    pub path: String,
    pub during: During,
    pub trouble: Trouble,
}

/// What was asked of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum During {
    /// To hear an event; the handlers of a hook are counted.
    Hook {
        hook: Hook,
        handler: usize,
    },
    Tool {
        name: String,
    },
    Command {
        name: String,
    },
    Completion {
        command: String,
    },
    Shortcut {
        key: String,
    },
    Rendering,
    Stream {
        provider: String,
    },
    Shutdown,
}

/// How it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Fault(#[from] GuestFault),
    #[error("the extension panicked: {message}")]
    Panicked { message: String },
    /// It did not answer within the time for its own work, and was abandoned.
    #[error("the extension did not answer within {allowed:?}")]
    Hung { allowed: Duration },
    /// It did not stop when it was cancelled, and was abandoned.
    #[error("the extension did not stop within {grace:?} of being cancelled")]
    Deaf { grace: Duration },
    /// It answered as if it had heard another event.
    #[error("the extension answered an event of another kind")]
    WrongFamily,
    /// It answered an event with something that does not fit what the event said.
    #[error("the extension answered with {problem}")]
    Misfit { problem: String },
}

impl Incident {
    /// As clients hear of it.
    pub fn to_event(&self) -> AgentEvent {
        AgentEvent::ExtensionError {
            extension_path: self.path.clone(),
            event: self.during.to_string(),
            error: self.trouble.told(),
        }
    }
}

impl Trouble {
    /// For whoever looks after the extension: what went wrong, and where in its sources if that is known.
    pub fn told(&self) -> String {
        match self {
            Self::Fault(fault) => fault.told(),
            Self::Panicked { .. } | Self::Hung { .. } | Self::Deaf { .. } | Self::WrongFamily | Self::Misfit { .. } => {
                self.to_string()
            }
        }
    }
}

impl fmt::Display for During {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hook { hook, .. } => f.write_str(hook.as_str()),
            Self::Tool { name } => write!(f, "tool:{name}"),
            Self::Command { name } => write!(f, "command:{name}"),
            Self::Completion { command } => write!(f, "completion:{command}"),
            Self::Shortcut { key } => write!(f, "shortcut:{key}"),
            Self::Rendering => f.write_str("rendering"),
            Self::Stream { provider } => write!(f, "stream:{provider}"),
            Self::Shutdown => f.write_str("shutdown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clients_hear_which_extension_failed_at_what() {
        let incident = Incident {
            guest: GuestId::from("guard"),
            path: "./guard.ts".to_owned(),
            during: During::Hook { hook: Hook::ToolCall, handler: 0 },
            trouble: Trouble::Hung { allowed: Duration::from_secs(10) },
        };
        let expected = json!({ "type": "extension_error", "extensionPath": "./guard.ts", "event": "tool_call",
            "error": "the extension did not answer within 10s" });
        assert_eq!(serde_json::to_value(incident.to_event()).expect("JSON"), expected);
    }
}
