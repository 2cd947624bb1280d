//! The registry: one row per command, and everything that depends on which commands there are.
//!
//! Look here for what a command is called, who does it, what it changes, what it is to its lane ([`Class`]), who may call
//! it and where it is described. What it does and takes stands with its payload in `command`. A row makes the command:
//! the compiler asks for the payload, and for the data in `response`.

mod class;
mod spec;
#[macro_use]
mod table;

use pi_transcript::{ContextUsage, SessionId, SessionInfo, SessionStats, event::CompactionResult};
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

pub use self::{
    class::{Class, Need, Order, Span, Timeout},
    spec::{Effect, Feature, IdempotencyScope, Role, Source, Spec, Target},
};
use crate::{
    command::{self, MemberVisitor, Payload},
    fields::Fields,
    frame::Command,
    response::*,
    schema::typescript::Types,
};

registry! {
    // Payload = name -> data: effect, class, role, where it is described
    server as ServerCommand, Server, "A command to the server itself." {
        ListSessions = "list_sessions" -> SessionList:                              Read     Control     Viewer, document "17.1";
        CreateSession = "create_session" -> OpenedSession:                          Creates  ServerWork  Driver, document "17.1";
        DeleteSession = "delete_session" -> DeletedSession:                         Deletes  ServerWork  Driver, document "17.1";
        SwitchSession = "switch_session" -> SwitchedSession:                        Connects Control     Viewer, document "17.1";
        GetMetrics = "get_metrics" -> Box<Metrics>:                                 Read     Control     Viewer, document "17.1";
        HealthCheck = "health_check" -> Health:                                     Read     Control     Viewer, document "17.1";
        ListStoredSessions = "list_stored_sessions" -> StoredSessionList:           Read     Control     Viewer, document "17.1";
        LoadSession = "load_session" -> OpenedSession:                              Loads    ServerWork  Driver, document "17.1";
        GetStartupRecovery = "get_startup_recovery" -> StartupRecovery:             Read     Control     Operator, addition StartupRecovery;
        GetCommandHistory = "get_command_history" -> CommandHistory:                Read     Control     Operator, addition CommandHistory;
        Subscribe = "subscribe" -> Subscription:                                    Connects Control     Viewer, addition Subscribe;
        Unsubscribe = "unsubscribe" -> Unsubscribed:                                Connects Control     Viewer, addition Subscribe;
        SetLifecycle = "set_lifecycle" -> ChosenLifecycle:                          Connects Control     Viewer, addition Lifecycle;
        DeleteStoredSession = "delete_stored_session" -> DeletedStoredSession:      Acts     ServerWork  Operator, addition DeleteStoredSession;
        ListExtensions = "list_extensions" -> ExtensionList:                        Read     Control     Viewer, addition Extensions;
        EnableExtension = "enable_extension" -> ExtensionState:                     Acts     ServerWork  Operator, addition Extensions;
        DisableExtension = "disable_extension" -> ExtensionState:                   Acts     ServerWork  Operator, addition Extensions;
        ReloadExtensions = "reload_extensions" -> ExtensionList:                    Acts     ServerWork  Operator, addition Extensions;
    }
    session as SessionCommand, Session, "A command to a session." {
        GetAvailableModels = "get_available_models" -> ModelList:                   Read     Control     Viewer, document "17.2";
        GetCommands = "get_commands" -> SlashCommandList:                           Read     Control     Viewer, document "17.2";
        GetSkills = "get_skills" -> SkillList:                                      Read     Control     Viewer, document "17.2";
        GetTools = "get_tools" -> ToolList:                                         Read     Control     Viewer, document "17.2";
        ListSessionFiles = "list_session_files" -> SessionFileList:                 Read     Control     Viewer, document "17.2";
        Prompt = "prompt":                                                          Mutates  Run         Driver, document "17.2";
        Steer = "steer":                                                            Mutates  Control     Driver, document "17.2";
        FollowUp = "follow_up":                                                     Mutates  Control     Driver, document "17.2";
        Abort = "abort":                                                            Mutates  NeededByRun Driver, document "17.2";
        GetState = "get_state" -> SessionInfo:                                      Read     Control     Viewer, document "17.2";
        GetMessages = "get_messages" -> MessageList:                                Read     Control     Viewer, document "17.2";
        SetModel = "set_model" -> ChosenModel:                                      Mutates  Control     Driver, document "17.2";
        CycleModel = "cycle_model" -> Option<CycledModel>:                          Mutates  Control     Driver, document "17.2";
        SetThinkingLevel = "set_thinking_level":                                    Mutates  Control     Driver, document "17.2";
        CycleThinkingLevel = "cycle_thinking_level" -> Option<CycledThinkingLevel>: Mutates  Control     Driver, document "17.2";
        SetSessionName = "set_session_name":                                        Mutates  Control     Driver, document "17.2";
        Compact = "compact" -> CompactionResult:                                    Mutates  LongWork    Driver, document "17.2";
        AbortCompaction = "abort_compaction":                                       Mutates  NeededByRun Driver, document "17.2";
        SetAutoCompaction = "set_auto_compaction":                                  Mutates  Control     Driver, document "17.2";
        SetAutoRetry = "set_auto_retry":                                            Mutates  Control     Driver, document "17.2";
        AbortRetry = "abort_retry":                                                 Mutates  NeededByRun Driver, document "17.2";
        Bash = "bash" -> BashResult:                                                Mutates  LongWork    Driver, document "17.2";
        AbortBash = "abort_bash":                                                   Mutates  NeededByRun Driver, document "17.2";
        GetSessionStats = "get_session_stats" -> SessionStats:                      Read     Control     Viewer, document "17.2";
        ExportHtml = "export_html" -> ExportedFile:                                 Mutates  Work        Driver, document "17.2";
        NewSession = "new_session" -> Cancellable:                                  Mutates  Work        Driver, document "17.2";
        SwitchSessionFile = "switch_session_file" -> Cancellable:                   Mutates  Work        Driver, document "17.2";
        Fork = "fork" -> Forked:                                                    Mutates  Work        Driver, document "17.2";
        GetForkMessages = "get_fork_messages" -> ForkMessageList:                   Read     Control     Viewer, document "17.2";
        GetLastAssistantText = "get_last_assistant_text" -> LastAssistantText:      Read     Control     Viewer, document "17.2";
        GetContextUsage = "get_context_usage" -> Option<ContextUsage>:              Read     Control     Viewer, document "17.2";
        ExtensionUiResponse = "extension_ui_response":                              Acts     NeededByRun Driver, document "18.2";
        GetTree = "get_tree" -> EntryTree:                                          Read     Control     Viewer, addition Tree;
        NavigateTree = "navigate_tree" -> Navigated:                                Mutates  Work        Driver, addition Tree;
        SetLabel = "set_label":                                                     Mutates  Control     Driver, addition Labels;
        ListRequests = "list_requests" -> ModelRequestList:                         Read     Control     Viewer, addition Envelopes;
        GetEnvelope = "get_envelope" -> Box<KeptEnvelope>:                          Read     Control     Viewer, addition Envelopes;
        GetStrip = "get_strip" -> KeptStrip:                                        Read     Control     Viewer, addition Strips;
        GetQueue = "get_queue" -> Queue:                                            Read     Control     Viewer, addition Queue;
        EditQueue = "edit_queue" -> Queue:                                          Mutates  Control     Driver, addition Queue;
        SetActiveTools = "set_active_tools" -> ActiveTools:                         Mutates  Control     Driver, addition ActiveTools;
        ListContextSources = "list_context_sources" -> ContextSourceList:           Read     Control     Viewer, addition ContextSources;
        SetContextSource = "set_context_source" -> ContextSource:                   Mutates  Control     Driver, addition ContextSources;
        ListFiles = "list_files" -> FileList:                                       Read     Control     Viewer, addition Files;
        ExtensionUiKey = "extension_ui_key":                                        Passes   NeededByRun Driver, addition UiRender;
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
