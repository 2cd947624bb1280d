//! What happens in a session while it happens.
//!
//! Names are those of the server protocol; where later versions of Pi renamed an event, its new name is read as well.
//! Events pass by and are not kept, so a member of an event itself that we do not know is dropped, unlike in messages and
//! entries. What an event carries keeps its own rule: a message, an entry and [`ToolOutput`] keep such members here too.

mod assistant;
mod grown;
mod joined;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

pub use self::{assistant::AssistantMessageEvent, grown::Grown, joined::Joined};
use crate::{
    content::Block,
    drawn::{Placement, Span},
    entry::Entry,
    id::{EntryId, RequestId, ToolCallId},
    json::{Extra, Open, present},
    message::{DeniedBy, Message},
    model::ThinkingLevel,
    question::{Asker, Outcome, UiRequest},
    usage::Usage,
};

/// One event of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum AgentEvent {
    AgentStart,
    AgentEnd {
        /// What the run added.
        messages: Vec<Message>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        will_retry: Option<bool>,
    },
    /// Nothing more comes by itself: retries, compaction and queues are done.
    AgentSettled {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        aborted: Option<bool>,
    },
    TurnStart,
    TurnEnd {
        message: Message,
        tool_results: Vec<Message>,
    },
    MessageStart {
        message: Message,
    },
    MessageUpdate {
        /// The message so far, for readers that do not add up deltas themselves.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        message: Option<Message>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        usage: Option<Box<Usage>>,
        assistant_message_event: Box<AssistantMessageEvent>,
    },
    MessageEnd {
        message: Message,
    },
    ToolExecutionStart {
        tool_call_id: ToolCallId,
        tool_name: String,
        args: Value,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<ToolCallId>,
    },
    ToolExecutionUpdate {
        tool_call_id: ToolCallId,
        tool_name: String,
        /// Left out where `tool_execution_start` has told them and updates are small.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        args: Option<Value>,
        /// The output so far, not the difference, unless there is a `delta`: then `content` is empty.
        partial_result: ToolOutput,
        /// Ours: the output is one text, and this is what came to its end since the update before.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        delta: Option<String>,
        /// Ours, beside a `delta`: how many characters (Unicode code points) went from the beginning of that text.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        dropped: Option<u64>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<ToolCallId>,
    },
    ToolExecutionEnd {
        tool_call_id: ToolCallId,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
        /// Ours: why the policy, a person or an extension did not allow the call.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        denied: Option<String>,
        /// Ours: who that was, unless an extension blocked it.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        denied_by: Option<Open<DeniedBy>>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<ToolCallId>,
    },
    #[serde(alias = "compaction_start")]
    AutoCompactionStart {
        reason: Open<CompactionReason>,
    },
    #[serde(alias = "compaction_end")]
    AutoCompactionEnd {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        reason: Option<Open<CompactionReason>>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        result: Option<Box<CompactionResult>>,
        aborted: bool,
        will_retry: bool,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    AutoRetryStart {
        attempt: u64,
        max_attempts: u64,
        delay_ms: u64,
        error_message: String,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u64,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// What waits to be said, in order.
    QueueUpdate {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    EntryAppended {
        entry: Entry,
    },
    SessionInfoChanged {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
    },
    BashExecutionUpdate {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// What came to the end of the output.
        delta: String,
        /// How many characters (Unicode code points) went from the beginning of the output, with `delta` at its end: only so much
        /// of it is kept.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        dropped: Option<u64>,
    },
    ExtensionError {
        extension_path: String,
        event: String,
        error: String,
    },
    /// An extension asks a person, or tells them something.
    ExtensionUiRequest {
        request_id: RequestId,
        /// Who it comes from, as the host knows it.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        asker: Option<Asker>,
        #[serde(flatten)]
        request: UiRequest,
    },
    /// What a component of an extension looks like now; a new one begins with its first render. Keys go back by its id.
    ExtensionUiRender {
        request_id: RequestId,
        /// The extension that draws it.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        extension_id: Option<String>,
        /// From top to bottom, each a list of spans; all of it, not the difference.
        lines: Vec<Vec<Span>>,
        /// The columns for which it was drawn.
        width: u16,
        placement: Placement,
    },
    /// A question is no longer open, or a component is gone: clients that still show it put it away.
    ExtensionUiResolved {
        request_id: RequestId,
        outcome: Outcome,
    },
    /// Ours: the conversation cannot be written to its file and is in memory only, until it is told that it can be again.
    StorageFailed {
        message: String,
    },
    /// Ours: the file has everything again.
    StorageRecovered,
    /// Ours: something that whoever typed should know, such as a picture that the model cannot see.
    InputNotice {
        message: String,
    },
    /// Ours: a filter of the provider's guardrails found something.
    Guardrail {
        message: String,
        filter: String,
        action: GuardrailAction,
        side: GuardrailSide,
        /// How many texts it was in.
        texts: u64,
        /// It was to be masked and is still there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[ts(as = "Option<bool>", optional)]
        left: bool,
    },
    /// Ours: what waited to be said, and is not said any more.
    MessagesUnsaid {
        texts: Vec<String>,
    },
    /// Ours: the lists of commands, models and tools are to be read anew.
    OffersChanged,
    /// Ours: the conversation goes on elsewhere in its tree and is to be read anew.
    SessionTree {
        new_leaf_id: Option<EntryId>,
        old_leaf_id: Option<EntryId>,
    },
    /// A type that we do not know, or a known one with a member that is missing or of the wrong type.
    #[serde(untagged)]
    #[ts(skip)]
    Other(Map<String, Value>),
}

/// What is done about what a guardrail finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum GuardrailAction {
    Block,
    Warn,
    Log,
    Mask,
}

/// Which way a text goes that a guardrail looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum GuardrailSide {
    /// To the model.
    Input,
    Output,
}

/// What a tool returns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolOutput {
    pub content: Vec<Block>,
    /// For people and programs, never for the model.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Why a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    Manual,
    /// The context is nearly full.
    Threshold,
    /// The provider refused the prompt as too long.
    Overflow,
}

/// What a compaction made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CompactionResult {
    pub summary: String,
    pub first_kept_entry_id: EntryId,
    pub tokens_before: u64,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub estimated_tokens_after: Option<u64>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}
