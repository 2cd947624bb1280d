//! The registry: one row per command, and everything that depends on which commands there are.
//!
//! Look here for what a command is called, who does it, what it changes, in which order it stands, how long it may take,
//! who may call it and where it is described. A row makes the command: its payload must be in `command`, its data in
//! `response`, and the compiler asks for both.

mod spec;
#[macro_use]
mod table;

use pi_transcript::{ContextUsage, SessionId, SessionInfo, SessionStats, event::CompactionResult};
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::spec::{Effect, Feature, IdempotencyScope, Need, Order, Role, Source, Spec, Target, Timeout};
use crate::{
    command::{self, MemberVisitor, Payload},
    fields::Fields,
    frame::Command,
    response::*,
    schema::typescript::Types,
};

registry! {
    server as ServerCommand, Server, "A command to the server itself." {
        /// Lists the sessions that are loaded.
        ListSessions = "list_sessions" -> SessionList: Read Control Short Viewer, document "17.1";
        /// Makes a session.
        CreateSession = "create_session" -> OpenedSession: Creates Work Standard Driver, document "17.1";
        /// Unloads a session. Its file stays.
        DeleteSession = "delete_session" -> DeletedSession: Deletes Work Standard Driver, document "17.1";
        /// Sends this connection the session's events from now on, with whole messages.
        SwitchSession = "switch_session" -> SwitchedSession: Connects Control Short Viewer, document "17.1";
        /// Counts and states of the server.
        GetMetrics = "get_metrics" -> Box<Metrics>: Read Control Short Viewer, document "17.1";
        /// Whether the server is well.
        HealthCheck = "health_check" -> Health: Read Control Short Viewer, document "17.1";
        /// Lists the sessions on disk, newest first.
        ListStoredSessions = "list_stored_sessions" -> StoredSessionList: Read Control Short Viewer, document "17.1";
        /// Loads a session from disk.
        LoadSession = "load_session" -> OpenedSession: Loads Work Standard Driver, document "17.1";
        /// What was found in the journal at the start.
        GetStartupRecovery = "get_startup_recovery" -> StartupRecovery: Read Control Short Operator, addition StartupRecovery;
        /// What commands did, newest first.
        GetCommandHistory = "get_command_history" -> CommandHistory: Read Control Short Operator, addition CommandHistory;
        /// Sends this connection the session's events, with deltas; first those after `afterSeq`, if any.
        Subscribe = "subscribe" -> Subscription: Connects Control Short Viewer, addition Subscribe;
        /// Sends this connection no more events of the session.
        Unsubscribe = "unsubscribe" -> Unsubscribed: Connects Control Short Viewer, addition Subscribe;
        /// Chooses whose lifecycle events this connection is sent.
        SetLifecycle = "set_lifecycle" -> ChosenLifecycle: Connects Control Short Viewer, addition Lifecycle;
        /// Removes a session's file from disk for good.
        DeleteStoredSession = "delete_stored_session" -> DeletedStoredSession: Acts Work Standard Operator, addition DeleteStoredSession;
        /// Lists the extensions that are installed and what they do.
        ListExtensions = "list_extensions" -> ExtensionList: Read Control Short Viewer, addition Extensions;
        /// Switches an extension on for all sessions.
        EnableExtension = "enable_extension" -> ExtensionState: Acts Work Standard Operator, addition Extensions;
        /// Switches an extension off for all sessions.
        DisableExtension = "disable_extension" -> ExtensionState: Acts Work Standard Operator, addition Extensions;
        /// Reads extensions again from disk and restarts them.
        ReloadExtensions = "reload_extensions" -> ExtensionList: Acts Work Standard Operator, addition Extensions;
    }
    session as SessionCommand, Session, "A command to a session." {
        /// The models that can be used: those with credentials.
        GetAvailableModels = "get_available_models" -> ModelList: Read Control Short Viewer, document "17.2";
        /// The slash commands.
        GetCommands = "get_commands" -> SlashCommandList: Read Control Short Viewer, document "17.2";
        /// The skills.
        GetSkills = "get_skills" -> SkillList: Read Control Short Viewer, document "17.2";
        /// All tools, active or not.
        GetTools = "get_tools" -> ToolList: Read Control Short Viewer, document "17.2";
        /// The session files of the session's directory.
        ListSessionFiles = "list_session_files" -> SessionFileList: Read Control Short Viewer, document "17.2";
        /// Says something to the agent. Answered when the run ends.
        Prompt = "prompt": Mutates Prompt Unlimited Driver, document "17.2";
        /// Says something to the agent in the middle of its run.
        Steer = "steer": Mutates Control Short Driver, document "17.2";
        /// Says something to the agent when its run ends.
        FollowUp = "follow_up": Mutates Control Short Driver, document "17.2";
        /// Ends the run in flight.
        Abort = "abort": Mutates Control Short Driver needed, document "17.2";
        /// What the session is and does.
        GetState = "get_state" -> SessionInfo: Read Control Short Viewer, document "17.2";
        /// What was said. Without paging all of it.
        GetMessages = "get_messages" -> MessageList: Read Control Short Viewer, document "17.2";
        /// Asks another model from the next turn on.
        SetModel = "set_model" -> ChosenModel: Mutates Control Short Driver, document "17.2";
        /// Asks the next or the previous model from the next turn on.
        CycleModel = "cycle_model" -> Option<CycledModel>: Mutates Control Short Driver, document "17.2";
        /// How hard the model may think from the next turn on.
        SetThinkingLevel = "set_thinking_level": Mutates Control Short Driver, document "17.2";
        /// The next thinking level that the model has.
        CycleThinkingLevel = "cycle_thinking_level" -> Option<CycledThinkingLevel>: Mutates Control Short Driver, document "17.2";
        /// Names the session.
        SetSessionName = "set_session_name": Mutates Control Short Driver, document "17.2";
        /// Replaces the older messages by a summary.
        Compact = "compact" -> CompactionResult: Mutates Work Long Driver, document "17.2";
        /// Ends a compaction in flight.
        AbortCompaction = "abort_compaction": Mutates Control Short Driver needed, document "17.2";
        /// Whether to compact by itself when the context is nearly full.
        SetAutoCompaction = "set_auto_compaction": Mutates Control Short Driver, document "17.2";
        /// Whether to try a turn again that failed for a passing reason.
        SetAutoRetry = "set_auto_retry": Mutates Control Short Driver, document "17.2";
        /// Ends the wait before another attempt.
        AbortRetry = "abort_retry": Mutates Control Short Driver needed, document "17.2";
        /// Runs a shell command in the session's directory.
        Bash = "bash" -> BashResult: Mutates Work Long Driver, document "17.2";
        /// Ends a shell command in flight.
        AbortBash = "abort_bash": Mutates Control Short Driver needed, document "17.2";
        /// Counts of messages and tokens, and the cost.
        GetSessionStats = "get_session_stats" -> SessionStats: Read Control Short Viewer, document "17.2";
        /// Writes the session as one HTML file.
        ExportHtml = "export_html" -> ExportedFile: Mutates Work Standard Driver, document "17.2";
        /// Goes on with an empty conversation in a new file.
        NewSession = "new_session" -> Cancellable: Mutates Work Standard Driver, document "17.2";
        /// Goes on with the conversation of another file.
        SwitchSessionFile = "switch_session_file" -> Cancellable: Mutates Work Standard Driver, document "17.2";
        /// Goes on in a new file from before a message of the user.
        Fork = "fork" -> Forked: Mutates Work Standard Driver, document "17.2";
        /// The messages from which one can fork.
        GetForkMessages = "get_fork_messages" -> ForkMessageList: Read Control Short Viewer, document "17.2";
        /// What the model said last.
        GetLastAssistantText = "get_last_assistant_text" -> LastAssistantText: Read Control Short Viewer, document "17.2";
        /// How full the context window is.
        GetContextUsage = "get_context_usage" -> Option<ContextUsage>: Read Control Short Viewer, document "17.2";
        /// Answers a question of an extension.
        ExtensionUiResponse = "extension_ui_response": Acts Control Short Driver needed, document "18.2";
        /// The tree of entries.
        GetTree = "get_tree" -> EntryTree: Read Control Short Viewer, addition Tree;
        /// Goes on from another entry of the tree.
        NavigateTree = "navigate_tree" -> Navigated: Mutates Work Standard Driver, addition Tree;
        /// The calls of models that this session made, newest first.
        ListRequests = "list_requests" -> ModelRequestList: Read Control Short Viewer, addition Envelopes;
        /// What a model was given in one call.
        GetEnvelope = "get_envelope" -> Box<KeptEnvelope>: Read Control Short Viewer, addition Envelopes;
        /// What waits to be said.
        GetQueue = "get_queue" -> Queue: Read Control Short Viewer, addition Queue;
        /// Changes what waits to be said: the items listed are kept, in this order; all others are dropped.
        EditQueue = "edit_queue" -> Queue: Mutates Control Short Driver, addition Queue;
        /// Offers the model these tools from the next turn on, and no others.
        SetActiveTools = "set_active_tools" -> ActiveTools: Mutates Control Short Driver, addition ActiveTools;
        /// What fills the context beside the conversation: skills, memory files, sets of tools.
        ListContextSources = "list_context_sources" -> ContextSourceList: Read Control Short Viewer, addition ContextSources;
        /// Switches a source off or on from the next turn on.
        SetContextSource = "set_context_source" -> ContextSource: Mutates Control Short Driver, addition ContextSources;
        /// Files of the session's directory by name, for completion after `@`.
        ListFiles = "list_files" -> FileList: Read Control Short Viewer, addition Files;
        /// A key for a component that an extension draws.
        ExtensionUiKey = "extension_ui_key": Acts Control Short Driver needed, addition UiRender;
    }
}

impl Kind {
    /// Its row.
    pub const fn spec(self) -> &'static Spec {
        &COMMANDS[self as usize]
    }

    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Every command, in the order of the registry.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        COMMANDS.iter().map(|spec| spec.kind)
    }

    /// The command whose name is most like `name`, if one is so like it that it may be meant.
    pub fn nearest(name: &str) -> Option<Self> {
        /// Longer names are no slips of the finger, and the distance costs their length.
        const LONGEST: usize = 40;
        if name.len() > LONGEST {
            return None;
        }
        let near = |kind: &Self| distance(name.as_bytes(), kind.name().as_bytes());
        Self::all().min_by_key(near).filter(|kind| near(kind) <= 1 + kind.name().len() / 5)
    }
}

/// How many bytes must be changed, added or removed to make one text of the other.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
