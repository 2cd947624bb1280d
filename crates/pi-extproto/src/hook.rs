//! Events that an extension may hook into, and what it may answer.
//!
//! [`Hook`] is the closed list: a name outside it is a mistake worth a warning, never an event that will come. Each
//! belongs to a [`Family`] that says which [`Outcome`] an answer has, and [`event::Event`] is one with what it says. The answer to an event is not a protocol message:
//! it travels as a value inside the host and as a WIT type.

pub mod event;
mod outcome;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

pub use self::outcome::{
    BashOutcome, BashResult, CompactionOutcome, ContextOutcome, DraftMessage, HeaderChange, InputOutcome,
    MessageOutcome, Outcome, RequestOutcome, ResourcePaths, SessionOutcome, StartOutcome, Summary, ToolCallOutcome,
    ToolResultOutcome, ToolResultPatch, TreeOutcome, TreeSummary, Trust, TrustOutcome, TurnOutcome, WarmingOutcome,
};

macro_rules! hooks {
    ($($variant:ident = $name:literal, $family:ident;)*) => {
        /// An event that extensions can hook into. The list holds those of older and newer versions of Pi: we fire them
        /// all, so that extensions of every age work.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS)]
        pub enum Hook {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl Hook {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Which answers the event takes.
            pub fn family(self) -> Family {
                match self { $(Self::$variant => Family::$family,)* }
            }
        }
    };
}

hooks! {
    SessionDirectory = "session_directory", SessionDirectory;
    ProjectTrust = "project_trust", Trust;
    ResourcesDiscover = "resources_discover", Resources;
    SessionStart = "session_start", Notice;
    SessionBeforeSwitch = "session_before_switch", Session;
    SessionSwitch = "session_switch", Notice;
    SessionBeforeFork = "session_before_fork", Session;
    SessionFork = "session_fork", Notice;
    SessionBeforeCompact = "session_before_compact", Compaction;
    SessionCompact = "session_compact", Notice;
    SessionCompactFailed = "session_compact_failed", Notice;
    SessionBeforeTree = "session_before_tree", Tree;
    SessionTree = "session_tree", Notice;
    SessionShutdown = "session_shutdown", Notice;
    SessionInfoChanged = "session_info_changed", Notice;
    ThinkingLevelSelect = "thinking_level_select", Notice;
    ModelSelect = "model_select", Notice;
    McpServersChange = "mcp_servers_change", Notice;
    UiPromptStart = "ui_prompt_start", Notice;
    UiPromptEnd = "ui_prompt_end", Notice;
    Input = "input", Input;
    BeforeAgentStart = "before_agent_start", Start;
    AgentStart = "agent_start", Notice;
    AgentEnd = "agent_end", Notice;
    AgentBeforeSettle = "agent_before_settle", Turn;
    AgentSettled = "agent_settled", Notice;
    TurnStart = "turn_start", Notice;
    TurnEnd = "turn_end", Turn;
    MessageStart = "message_start", Notice;
    MessageUpdate = "message_update", Notice;
    MessageEnd = "message_end", Message;
    ToolExecutionStart = "tool_execution_start", Notice;
    ToolExecutionUpdate = "tool_execution_update", Notice;
    ToolExecutionEnd = "tool_execution_end", Notice;
    ToolCall = "tool_call", ToolCall;
    ToolResult = "tool_result", ToolResult;
    UserBash = "user_bash", Bash;
    Context = "context", Context;
    ContextWithSystem = "context_with_system", Context;
    BeforeProviderRequest = "before_provider_request", Request;
    BeforeProviderHeaders = "before_provider_headers", Headers;
    AfterProviderResponse = "after_provider_response", Notice;
    ProviderStreamEvent = "provider_stream_event", Notice;
    CacheWarmingDecision = "cache_warming_decision", Warming;
    Bus = "bus", Notice;
}

/// Other names under which an event with the same payload is asked for: those of other hosts and of the wire.
const ALIASES: &[(&str, Hook)] =
    &[("startup", Hook::SessionStart), ("thinking_level_changed", Hook::ThinkingLevelSelect)];

/// Events that take the same kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    Notice,
    Session,
    Compaction,
    Tree,
    Input,
    Start,
    Turn,
    Message,
    ToolCall,
    ToolResult,
    Bash,
    Context,
    Request,
    Headers,
    Resources,
    Trust,
    SessionDirectory,
    Warming,
}

/// What happens when a handler throws, hangs or answers nonsense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Reported, and as if it had not answered.
    Skip,
    /// What was about to happen does not: a broken guard must not open the gate.
    Block,
}

impl Hook {
    /// The hook of that name, by its own name or an alias.
    pub fn find(name: &str) -> Option<Self> {
        let own = Self::ALL.iter().find(|hook| hook.as_str() == name);
        own.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, hook)| hook)).copied()
    }

    /// The event that newer versions of Pi fire in place of one that only older ones have.
    pub fn replaced_by(self) -> Option<Self> {
        matches!(self, Self::SessionSwitch | Self::SessionFork).then_some(Self::SessionStart)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Family {
    pub fn on_failure(self) -> Failure {
        match self {
            Self::ToolCall | Self::Bash => Failure::Block,
            Self::Notice
            | Self::Session
            | Self::Compaction
            | Self::Tree
            | Self::Input
            | Self::Start
            | Self::Turn
            | Self::Message
            | Self::ToolResult
            | Self::Context
            | Self::Request
            | Self::Headers
            | Self::Resources
            | Self::Trust
            | Self::SessionDirectory
            | Self::Warming => Failure::Skip,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, hook) in Hook::ALL.iter().enumerate() {
            assert_eq!(Hook::find(hook.as_str()), Some(*hook));
            assert!(!Hook::ALL[..index].iter().any(|earlier| earlier.as_str() == hook.as_str()), "{hook}");
            assert_eq!(serde_json::to_value(hook).expect("JSON"), hook.as_str());
        }
        for (alias, hook) in ALIASES {
            assert_eq!(Hook::find(alias), Some(*hook));
            assert!(Hook::ALL.iter().all(|hook| hook.as_str() != *alias), "{alias} is a name of its own");
        }
        assert_eq!(Hook::find("tool_calls"), None);
    }

    #[test]
    fn guards_fail_closed() {
        let closed: Vec<_> = Hook::ALL.iter().filter(|hook| hook.family().on_failure() == Failure::Block).collect();
        assert_eq!(closed, [&Hook::ToolCall, &Hook::UserBash]);
    }

    #[test]
    fn successor_takes_the_same_answers_and_has_no_successor() {
        for hook in Hook::ALL {
            if let Some(successor) = hook.replaced_by() {
                assert_eq!((hook.family(), successor.replaced_by()), (successor.family(), None), "{hook}");
            }
        }
        assert_eq!(Hook::SessionSwitch.replaced_by(), Some(Hook::SessionStart));
    }
}
