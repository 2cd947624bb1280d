//! Commands to a session. Its id is not part of these payloads: it stands beside them in `Command::Session`.

use pi_transcript::{Block, EntryId, ModelId, ProviderId, RequestId, ThinkingLevel, question::Answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use ts_rs::TS;

use super::{Extended, MemberVisitor, Payload, payload, write};
use crate::{
    fault::Fault,
    fields::Fields,
    id::{ContextSourceId, ExtensionId, ModelRequestId, QueueItemId},
    limits,
    rule::{AnswerRule, Flag, List, Object, Path, Report, Word, names::*},
};

payload! {
    /// The models that can be used: those with credentials.
    GetAvailableModels {}

    /// The slash commands.
    GetCommands {}

    /// The skills.
    GetSkills {}

    /// All tools, active or not.
    GetTools {}

    /// The session files of the session's directory.
    ListSessionFiles {}

    /// Says something to the agent. Answered when the run ends.
    Prompt {
        message: String = required "message" MESSAGE,
        images: Vec<Block> = defaulted "images" IMAGES,
        /// What to do if a run is in flight; without it the prompt waits for the run's end.
        streaming_behavior: Option<StreamingBehavior> = optional "streamingBehavior" STREAMING_BEHAVIOR,
    }

    /// Says something to the agent in the middle of its run.
    Steer {
        message: String = required "message" MESSAGE,
        images: Vec<Block> = defaulted "images" IMAGES,
    }

    /// Says something to the agent when its run ends.
    FollowUp {
        message: String = required "message" MESSAGE,
        images: Vec<Block> = defaulted "images" IMAGES,
    }

    /// Ends the run in flight.
    Abort {}

    /// What the session is and does.
    GetState {}

    /// What was said. Without paging all that the model is shown; pages go on above the summary of a compaction.
    GetMessages {
        limit: Option<u64> = optional "limit" PAGE_LIMIT,
        /// Only messages before this entry, the nearest ones.
        before: Option<EntryId> = optional "before" ENTRY_ID,
        /// Only messages after this entry, the nearest ones.
        after: Option<EntryId> = optional "after" ENTRY_ID,
    } check one_direction as json!({ "not": { "required": ["before", "after"] } });

    /// Asks another model from the next turn on.
    SetModel {
        provider: ProviderId = required "provider" PROVIDER,
        model_id: ModelId = required "modelId" MODEL_ID,
    }

    /// Asks the next or the previous model from the next turn on.
    CycleModel {
        direction: Direction = defaulted "direction" DIRECTION,
    }

    /// How hard the model may think from the next turn on.
    SetThinkingLevel {
        level: ThinkingLevel = required "level" THINKING_LEVEL,
    }

    /// The next thinking level that the model has.
    CycleThinkingLevel {}

    /// Names the session.
    SetSessionName {
        name: String = required "name" SESSION_NAME,
    }

    /// Replaces the older messages by a summary.
    Compact {
        custom_instructions: Option<String> = optional "customInstructions" INSTRUCTIONS,
    }

    /// Ends a compaction in flight.
    AbortCompaction {}

    /// Whether to compact by itself when the context is nearly full.
    SetAutoCompaction {
        enabled: bool = required "enabled" Flag,
    }

    /// Whether to try a turn again that failed for a passing reason.
    SetAutoRetry {
        enabled: bool = required "enabled" Flag,
    }

    /// Ends the wait before another attempt.
    AbortRetry {}

    /// Runs a shell command in the session's directory.
    Bash {
        command: String = required "command" SHELL_COMMAND,
        /// Keeps command and output from the model.
        exclude_from_context: bool = defaulted "excludeFromContext" Flag,
        /// Extensions that wrote in it before the person sent it: each of them must be allowed to run it by itself.
        written_by: Vec<ExtensionId> = defaulted "writtenBy" EXTENSION_IDS,
    }

    /// Ends a shell command in flight.
    AbortBash {}

    /// Counts of messages and tokens, and the cost.
    GetSessionStats {}

    /// Writes the session as one HTML file in its folder. A file that is no export of ours is not replaced unless that is said.
    ExportHtml {
        /// Without it the file has a name of its own.
        output_path: Option<String> = optional "outputPath" Path::Free,
        /// Replaces whatever file is there.
        overwrite: bool = defaulted "overwrite" Flag,
    }

    /// Goes on with an empty conversation in a new file.
    NewSession {
        /// The file that is named as its parent.
        parent_session: Option<String> = optional "parentSession" Path::Free,
    }

    /// Goes on with the conversation of another file.
    SwitchSessionFile {
        session_path: String = required "sessionPath" Path::SessionFile,
    }

    /// Goes on in a new file from before a message of the user.
    Fork {
        entry_id: EntryId = required "entryId" ENTRY_ID,
    }

    /// The messages from which one can fork.
    GetForkMessages {}

    /// The tree of entries.
    GetTree {}

    /// Goes on from another entry of the tree.
    NavigateTree {
        target_id: EntryId = required "targetId" ENTRY_ID,
        options: Extended<NavigateOptions> = defaulted "options" Object::<NavigateOptions>::new(),
    }

    /// How to leave the branch.
    #[derive(Default)]
    NavigateOptions {
        /// Whether to leave a summary of it behind.
        summarize: bool = defaulted "summarize" Flag,
        /// Whether `customInstructions` stand for the usual ones instead of beside them.
        replace_instructions: bool = defaulted "replaceInstructions" Flag,
        custom_instructions: Option<String> = optional "customInstructions" INSTRUCTIONS,
        label: Option<String> = optional "label" LABEL,
    }

    /// Puts a label on an entry of the tree, or takes it away. The conversation stays where it is.
    SetLabel {
        entry_id: EntryId = required "entryId" ENTRY_ID,
        /// Without it, or if it is empty, the entry has none.
        label: Option<String> = optional "label" LABEL,
    }

    /// What the model said last.
    GetLastAssistantText {}

    /// How full the context window is.
    GetContextUsage {}

    /// Answers a question of an extension.
    ExtensionUiResponse {
        request_id: RequestId = required "requestId" REQUEST_ID,
        response: Extended<Answer> = required "response" AnswerRule,
    }

    /// The calls of models that this session made, newest first.
    ListRequests {
        limit: Option<u64> = optional "limit" PAGE_LIMIT,
        /// Only calls before this one.
        before: Option<ModelRequestId> = optional "before" MODEL_REQUEST_ID,
    }

    /// What a model was given in one call.
    GetEnvelope {
        request_id: ModelRequestId = required "requestId" MODEL_REQUEST_ID,
    }

    /// The same without what was said: enough to draw a bar of it.
    GetStrip {
        request_id: ModelRequestId = required "requestId" MODEL_REQUEST_ID,
        /// The call before it, whose prompt the cache may hold.
        before: Option<ModelRequestId> = optional "before" MODEL_REQUEST_ID,
    }

    /// What waits to be said.
    GetQueue {}

    /// Changes what waits to be said: the items listed are kept, in this order; all others are dropped.
    EditQueue {
        /// The revision of the queue that the client saw.
        revision: u64 = required "revision" WHOLE,
        items: Vec<Extended<QueueEdit>> = required "items" QUEUE_EDITS,
    }

    /// One item of the queue as it shall be.
    QueueEdit {
        item_id: QueueItemId = required "itemId" QUEUE_ITEM_ID,
        /// Its new text; without it the old one stays.
        message: Option<String> = optional "message" MESSAGE,
        /// When it shall be said; without it as before.
        behavior: Option<StreamingBehavior> = optional "behavior" STREAMING_BEHAVIOR,
    }

    /// Offers the model these tools from the next turn on, and no others.
    SetActiveTools {
        tools: Vec<String> = required "tools" TOOL_NAMES,
    }

    /// What fills the context beside the conversation: skills, memory files, sets of tools.
    ListContextSources {}

    /// Switches a source off or on from the next turn on.
    SetContextSource {
        source_id: ContextSourceId = required "sourceId" CONTEXT_SOURCE_ID,
        enabled: bool = required "enabled" Flag,
    }

    /// Files of the session's directory by name, for completion after `@`.
    ListFiles {
        query: Option<String> = optional "query" SEARCH,
        limit: Option<u64> = optional "limit" PAGE_LIMIT,
    }

    /// A key for a component that an extension draws, or how much room the client has for it, or both.
    ExtensionUiKey {
        request_id: RequestId = required "requestId" REQUEST_ID,
        /// The text that was typed, or the key's name: `enter`, `ctrl+c`, `shift+tab`.
        key: Option<String> = optional "key" KEY,
        /// The columns that the client has for the component.
        width: Option<u64> = optional "width" CELLS,
        /// The rows that the client has for the component.
        height: Option<u64> = optional "height" CELLS,
    } check something_said as json!({ "anyOf": [{ "required": ["key"] }, { "required": ["width"] }] });
}

/// What a prompt does to a run in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    /// It is said in the middle of the run.
    Steer,
    /// It is said when the run ends.
    FollowUp,
}

const STREAMING_BEHAVIOR: Word<StreamingBehavior> =
    Word(&[("steer", StreamingBehavior::Steer), ("followUp", StreamingBehavior::FollowUp)]);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    #[default]
    Forward,
    Backward,
}

const DIRECTION: Word<Direction> = Word(&[("forward", Direction::Forward), ("backward", Direction::Backward)]);

const QUEUE_EDITS: List<Object<QueueEdit>> =
    List { items: Object::new(), max: limits::NAMES, too_many: Fault::TooManyItems { max: limits::NAMES } };

fn one_direction(payload: &GetMessages, report: &mut Report) -> Option<()> {
    if payload.before.is_some() && payload.after.is_some() {
        report.within_member("after", |report| report.fault(Fault::NotWith { with: "before" }));
        return None;
    }
    Some(())
}

/// A key, or at least the columns: without either there is nothing to say.
fn something_said(payload: &ExtensionUiKey, report: &mut Report) -> Option<()> {
    if payload.key.is_none() && payload.width.is_none() {
        report.within_member("key", |report| report.fault(Fault::RequiredWithout { without: "width" }));
        return None;
    }
    Some(())
}

impl Prompt {
    /// The name of the slash command that this prompt calls: `review` for `/review src`.
    pub fn slash_command(&self) -> Option<&str> {
        let name = self.message.strip_prefix('/')?.split_whitespace().next()?;
        self.message[1..].starts_with(name).then_some(name)
    }
}
