//! What a handler of an event may answer, one small type per family.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::EntryId;

use super::Family;
use crate::connector::{
    http::Header,
    tool::{Content, ContentBlock},
};

/// The answer to an event. Its variant must be the family of the event; [`Outcome::family`] is compared by the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "family", content = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing to say, for any family: everything goes on as if nobody had asked.
    Notice,
    Session(SessionOutcome),
    Compaction(CompactionOutcome),
    Tree(TreeOutcome),
    Input(InputOutcome),
    Start(StartOutcome),
    Turn(TurnOutcome),
    Message(MessageOutcome),
    ToolCall(ToolCallOutcome),
    ToolResult(ToolResultOutcome),
    Bash(BashOutcome),
    Context(ContextOutcome),
    Request(RequestOutcome),
    Headers(Vec<HeaderChange>),
    Resources(ResourcePaths),
    Trust(TrustOutcome),
    /// Where session files go. The last answer wins.
    SessionDirectory(String),
    Warming(WarmingOutcome),
}

impl Outcome {
    pub fn family(&self) -> Family {
        match self {
            Self::Notice => Family::Notice,
            Self::Session(_) => Family::Session,
            Self::Compaction(_) => Family::Compaction,
            Self::Tree(_) => Family::Tree,
            Self::Input(_) => Family::Input,
            Self::Start(_) => Family::Start,
            Self::Turn(_) => Family::Turn,
            Self::Message(_) => Family::Message,
            Self::ToolCall(_) => Family::ToolCall,
            Self::ToolResult(_) => Family::ToolResult,
            Self::Bash(_) => Family::Bash,
            Self::Context(_) => Family::Context,
            Self::Request(_) => Family::Request,
            Self::Headers(_) => Family::Headers,
            Self::Resources(_) => Family::Resources,
            Self::Trust(_) => Family::Trust,
            Self::SessionDirectory(_) => Family::SessionDirectory,
            Self::Warming(_) => Family::Warming,
        }
    }

    /// Whether this answers an event of `family`. Having nothing to say answers every event.
    pub fn answers(&self, family: Family) -> bool {
        *self == Self::Notice || self.family() == family
    }
}

/// Before a session is left or forked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SessionOutcome {
    Continue,
    Cancel,
}

/// Before a conversation is compacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum CompactionOutcome {
    Continue,
    Cancel,
    /// The extension's own summary takes the place of the model's.
    Replace(Summary),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Summary {
    pub summary: String,
    pub first_kept_entry_id: EntryId,
    pub tokens_before: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Before another branch of the conversation becomes the current one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum TreeOutcome {
    Continue,
    Cancel,
    Replace(TreeSummary),
}

/// What the branch that is left is summarised with; absent members stay as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct TreeSummary {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether the instructions stand instead of the usual words. Of scripts alone: the record of components is as it was
    /// published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    #[ts(skip)]
    pub replace_instructions: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// When somebody wrote something. Transformations are chained; the first `handled` ends the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum InputOutcome {
    Continue,
    Transform {
        content: Vec<ContentBlock>,
    },
    /// The extension took care of it; the model does not see it.
    Handled,
}

/// Before a run: messages accumulate, the system prompt is handed from one handler to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct StartOutcome {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<DraftMessage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

/// A message of the extension's own type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct DraftMessage {
    pub custom_type: String,
    /// Plain text of scripts alone: the record of components is as it was published.
    #[schemars(with = "Vec<ContentBlock>")]
    pub content: Content,
    pub display: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// At the end of a turn or before a run settles: entries to add, and whether the model goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct TurnOutcome {
    /// Session entries as they stand in a session file, without ids.
    pub entries: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<bool>,
}

/// When a message is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum MessageOutcome {
    Continue,
    /// Another message of the same role takes its place.
    Replace {
        message: Value,
    },
}

/// Before a tool runs. The first block wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum ToolCallOutcome {
    Continue,
    Block {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the run ends as well.
        terminate: bool,
    },
    /// Other arguments; they are not validated again.
    Transform {
        input: Value,
    },
}

/// After a tool ran. Patches are chained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ToolResultOutcome {
    Continue,
    Transform(ToolResultPatch),
}

/// Absent members stay as they were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ToolResultPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ContentBlock>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// When a person runs a shell command. The first answer wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BashOutcome {
    Continue,
    /// The extension ran it.
    Handled(BashResult),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct BashResult {
    pub output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// Before messages go to a model. Replacements are chained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ContextOutcome {
    Continue,
    Replace { messages: Vec<Value> },
}

/// Before a request goes to a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum RequestOutcome {
    Continue,
    Replace { payload: Value },
}

/// One change of the headers of a provider request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum HeaderChange {
    Set(Header),
    Remove { name: String },
}

/// Further places of skills, prompts and themes; the answers of all handlers are joined.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
pub struct ResourcePaths {
    pub skill_paths: Vec<String>,
    pub prompt_paths: Vec<String>,
    pub theme_paths: Vec<String>,
}

/// Whether a project is trusted. The first answer that is not undecided wins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct TrustOutcome {
    pub trusted: Trust,
    pub remember: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Yes,
    No,
    Undecided,
}

/// Whether a prompt cache is kept warm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum WarmingOutcome {
    Warm,
    Stop,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hook::Hook;

    #[track_caller]
    fn check(hook: Hook, json: &Value) {
        let outcome: Outcome = serde_json::from_value(json.clone()).expect("an outcome");
        assert!(outcome.answers(hook.family()), "{hook} {json}");
        assert_eq!(serde_json::to_value(outcome).expect("JSON"), *json);
    }

    #[test]
    fn outcomes_have_one_json_form() {
        check(Hook::AgentStart, &json!({ "family": "notice" }));
        check(Hook::ToolCall, &json!({ "family": "notice" }));
        let block = json!({ "action": "block", "reason": "no", "terminate": false });
        check(Hook::ToolCall, &json!({ "family": "tool_call", "outcome": block }));
        let patch = json!({ "action": "transform", "content": [{ "type": "text", "text": "t" }] });
        check(Hook::ToolResult, &json!({ "family": "tool_result", "outcome": patch }));
        let headers = json!([{ "action": "set", "name": "a", "value": "b" }, { "action": "remove", "name": "c" }]);
        check(Hook::BeforeProviderHeaders, &json!({ "family": "headers", "outcome": headers }));
        let trust = json!({ "trusted": "undecided", "remember": false });
        check(Hook::ProjectTrust, &json!({ "family": "trust", "outcome": trust }));
    }

    #[test]
    fn outcome_of_another_family_is_no_answer() {
        let outcome = Outcome::ToolCall(ToolCallOutcome::Continue);
        assert!(!outcome.answers(Hook::ToolResult.family()));
        assert!(!outcome.answers(Hook::AgentEnd.family()));
    }
}
