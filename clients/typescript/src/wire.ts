// The pi server protocol, made by `pi schema wire --format ts`. Do not edit.

export const PROTOCOL_VERSION = "1.0.0";

/** What any command may carry beside its payload. */
export interface CommandHead {
  /** Unique per intent. Needed for `dependsOn` and for replay. */
  id?: string;
  /** Commands of this client that must have succeeded first. */
  dependsOn?: string[];
  /** The same command under the same key runs once. */
  idempotencyKey?: string;
}

export interface VersionedHead extends CommandHead {
  /** The command fails unless the session has this version. */
  ifSessionVersion?: number;
}

/** Lists the sessions that are loaded. */
export type ListSessionsCommand = CommandHead & {
  type: "list_sessions";
  /** Only sessions whose name, first message or directory holds this text. */
  search?: string;
};

/** Makes a session. `cwd` must be below one of the server's roots; without it the agent works where the server was started. */
export type CreateSessionCommand = CommandHead & {
  type: "create_session";
  /** Without it the server chooses one. */
  sessionId?: string;
  /** Where the agent works; an existing directory. */
  cwd?: string;
};

/** Unloads a session. Its file stays. */
export type DeleteSessionCommand = VersionedHead & {
  type: "delete_session";
  sessionId: string;
};

/** Sends this connection the session's events from now on, with whole messages. */
export type SwitchSessionCommand = CommandHead & {
  type: "switch_session";
  sessionId: string;
};

/** Counts and states of the server. */
export type GetMetricsCommand = CommandHead & {
  type: "get_metrics";
};

/** Whether the server is well. */
export type HealthCheckCommand = CommandHead & {
  type: "health_check";
};

/** Lists the sessions on disk, newest first. */
export type ListStoredSessionsCommand = CommandHead & {
  type: "list_stored_sessions";
  /** Only sessions whose name, first message or directory holds this text. */
  search?: string;
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
};

/** Loads a session from disk. The folder in which it worked must be there, or `cwd` names another. */
export type LoadSessionCommand = CommandHead & {
  type: "load_session";
  sessionPath: string;
  sessionId?: string;
  /** Where the agent works from now on, instead of where the file says; an existing directory. */
  cwd?: string;
};

/** What was found in the journal at the start. */
export type GetStartupRecoveryCommand = CommandHead & {
  type: "get_startup_recovery";
};

/** What commands did, newest first. */
export type GetCommandHistoryCommand = CommandHead & {
  type: "get_command_history";
  sessionIdFilter?: string;
  commandId?: string;
  /** Milliseconds since 1970. */
  fromTimestamp?: number;
  /** Milliseconds since 1970, not before `fromTimestamp`. */
  toTimestamp?: number;
  limit?: number;
};

/** Sends this connection the session's events, with deltas; first those after `afterSeq`, if any. */
export type SubscribeCommand = CommandHead & {
  type: "subscribe";
  sessionId: string;
  /** The last number that the client saw. */
  afterSeq?: number;
  /** The numbering to which it belongs. */
  epoch?: string;
};

/** Sends this connection no more events of the session. */
export type UnsubscribeCommand = CommandHead & {
  type: "unsubscribe";
  sessionId: string;
};

/** Chooses whose lifecycle events this connection is sent. */
export type SetLifecycleCommand = CommandHead & {
  type: "set_lifecycle";
  lifecycle: "all" | "own" | "none";
};

/** Removes a session's file from disk for good. */
export type DeleteStoredSessionCommand = CommandHead & {
  type: "delete_stored_session";
  sessionPath: string;
  /** The file's name once more: nobody removes a file by mistake. */
  fileName: string;
};

/** Lists the extensions that are installed and what they do. */
export type ListExtensionsCommand = CommandHead & {
  type: "list_extensions";
  /** With the state of each in this session. */
  sessionId?: string;
};

/** Switches an extension on for all sessions. */
export type EnableExtensionCommand = CommandHead & {
  type: "enable_extension";
  extensionId: string;
};

/** Switches an extension off for all sessions. */
export type DisableExtensionCommand = CommandHead & {
  type: "disable_extension";
  extensionId: string;
};

/** Reads extensions again from disk and restarts them. */
export type ReloadExtensionsCommand = CommandHead & {
  type: "reload_extensions";
  /** Only this one. */
  extensionId?: string;
};

/** The models that can be used: those with credentials. */
export type GetAvailableModelsCommand = VersionedHead & {
  type: "get_available_models";
  sessionId: string;
};

/** The slash commands. */
export type GetCommandsCommand = VersionedHead & {
  type: "get_commands";
  sessionId: string;
};

/** The skills. */
export type GetSkillsCommand = VersionedHead & {
  type: "get_skills";
  sessionId: string;
};

/** All tools, active or not. */
export type GetToolsCommand = VersionedHead & {
  type: "get_tools";
  sessionId: string;
};

/** The session files of the session's directory. */
export type ListSessionFilesCommand = VersionedHead & {
  type: "list_session_files";
  sessionId: string;
};

/** Says something to the agent. Answered when the run ends. */
export type PromptCommand = VersionedHead & {
  type: "prompt";
  sessionId: string;
  message: string;
  images?: ({ type: "image" } & ImageBlock)[];
  /** What to do if a run is in flight; without it the prompt waits for the run's end. */
  streamingBehavior?: "steer" | "followUp";
};

/** Says something to the agent in the middle of its run. */
export type SteerCommand = VersionedHead & {
  type: "steer";
  sessionId: string;
  message: string;
  images?: ({ type: "image" } & ImageBlock)[];
};

/** Says something to the agent when its run ends. */
export type FollowUpCommand = VersionedHead & {
  type: "follow_up";
  sessionId: string;
  message: string;
  images?: ({ type: "image" } & ImageBlock)[];
};

/** Ends the run in flight. */
export type AbortCommand = VersionedHead & {
  type: "abort";
  sessionId: string;
};

/** What the session is and does. */
export type GetStateCommand = VersionedHead & {
  type: "get_state";
  sessionId: string;
};

/** What was said. Without paging all that the model is shown; pages go on above the summary of a compaction. */
export type GetMessagesCommand = VersionedHead & {
  type: "get_messages";
  sessionId: string;
  limit?: number;
  /** Only messages before this entry, the nearest ones. */
  before?: string;
  /** Only messages after this entry, the nearest ones. */
  after?: string;
};

/** Asks another model from the next turn on. */
export type SetModelCommand = VersionedHead & {
  type: "set_model";
  sessionId: string;
  provider: string;
  modelId: string;
};

/** Asks the next or the previous model from the next turn on. */
export type CycleModelCommand = VersionedHead & {
  type: "cycle_model";
  sessionId: string;
  direction?: "forward" | "backward";
};

/** How hard the model may think from the next turn on. */
export type SetThinkingLevelCommand = VersionedHead & {
  type: "set_thinking_level";
  sessionId: string;
  level: "off" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
};

/** The next thinking level that the model has. */
export type CycleThinkingLevelCommand = VersionedHead & {
  type: "cycle_thinking_level";
  sessionId: string;
};

/** Names the session. */
export type SetSessionNameCommand = VersionedHead & {
  type: "set_session_name";
  sessionId: string;
  name: string;
};

/** Replaces the older messages by a summary. */
export type CompactCommand = VersionedHead & {
  type: "compact";
  sessionId: string;
  customInstructions?: string;
};

/** Ends a compaction in flight. */
export type AbortCompactionCommand = VersionedHead & {
  type: "abort_compaction";
  sessionId: string;
};

/** Whether to compact by itself when the context is nearly full. */
export type SetAutoCompactionCommand = VersionedHead & {
  type: "set_auto_compaction";
  sessionId: string;
  enabled: boolean;
};

/** Whether to try a turn again that failed for a passing reason. */
export type SetAutoRetryCommand = VersionedHead & {
  type: "set_auto_retry";
  sessionId: string;
  enabled: boolean;
};

/** Ends the wait before another attempt. */
export type AbortRetryCommand = VersionedHead & {
  type: "abort_retry";
  sessionId: string;
};

/** Runs a shell command in the session's directory. */
export type BashCommand = VersionedHead & {
  type: "bash";
  sessionId: string;
  command: string;
  /** Keeps command and output from the model. */
  excludeFromContext?: boolean;
  /** Extensions that wrote in it before the person sent it: each of them must be allowed to run it by itself. */
  writtenBy?: (string)[];
};

/** Ends a shell command in flight. */
export type AbortBashCommand = VersionedHead & {
  type: "abort_bash";
  sessionId: string;
};

/** Counts of messages and tokens, and the cost. */
export type GetSessionStatsCommand = VersionedHead & {
  type: "get_session_stats";
  sessionId: string;
};

/** Writes the session as one HTML file in its folder. A file that is no export of ours is not replaced unless that is said. */
export type ExportHtmlCommand = VersionedHead & {
  type: "export_html";
  sessionId: string;
  /** Without it the file has a name of its own. */
  outputPath?: string;
  /** Replaces whatever file is there. */
  overwrite?: boolean;
};

/** Goes on with an empty conversation in a new file. */
export type NewSessionCommand = VersionedHead & {
  type: "new_session";
  sessionId: string;
  /** The file that is named as its parent. */
  parentSession?: string;
};

/** Goes on with the conversation of another file. */
export type SwitchSessionFileCommand = VersionedHead & {
  type: "switch_session_file";
  sessionId: string;
  sessionPath: string;
};

/** Goes on in a new file from before a message of the user. */
export type ForkCommand = VersionedHead & {
  type: "fork";
  sessionId: string;
  entryId: string;
};

/** The messages from which one can fork. */
export type GetForkMessagesCommand = VersionedHead & {
  type: "get_fork_messages";
  sessionId: string;
};

/** What the model said last. */
export type GetLastAssistantTextCommand = VersionedHead & {
  type: "get_last_assistant_text";
  sessionId: string;
};

/** How full the context window is. */
export type GetContextUsageCommand = VersionedHead & {
  type: "get_context_usage";
  sessionId: string;
};

/** Answers a question of an extension. */
export type ExtensionUiResponseCommand = VersionedHead & {
  type: "extension_ui_response";
  sessionId: string;
  requestId: string;
  response: Answer;
};

/** The tree of entries. */
export type GetTreeCommand = VersionedHead & {
  type: "get_tree";
  sessionId: string;
};

/** Goes on from another entry of the tree. */
export type NavigateTreeCommand = VersionedHead & {
  type: "navigate_tree";
  sessionId: string;
  targetId: string;
  options?: {
    /** Whether to leave a summary of it behind. */
    summarize?: boolean;
    /** Whether `customInstructions` stand for the usual ones instead of beside them. */
    replaceInstructions?: boolean;
    customInstructions?: string;
    label?: string;
  };
};

/** Puts a label on an entry of the tree, or takes it away. The conversation stays where it is. */
export type SetLabelCommand = VersionedHead & {
  type: "set_label";
  sessionId: string;
  entryId: string;
  /** Without it, or if it is empty, the entry has none. */
  label?: string;
};

/** The calls of models that this session made, newest first. */
export type ListRequestsCommand = VersionedHead & {
  type: "list_requests";
  sessionId: string;
  limit?: number;
  /** Only calls before this one. */
  before?: string;
};

/** What a model was given in one call. */
export type GetEnvelopeCommand = VersionedHead & {
  type: "get_envelope";
  sessionId: string;
  requestId: string;
};

/** The same without what was said: enough to draw a bar of it. */
export type GetStripCommand = VersionedHead & {
  type: "get_strip";
  sessionId: string;
  requestId: string;
  /** The call before it, whose prompt the cache may hold. */
  before?: string;
};

/** What waits to be said. */
export type GetQueueCommand = VersionedHead & {
  type: "get_queue";
  sessionId: string;
};

/** Changes what waits to be said: the items listed are kept, in this order; all others are dropped. */
export type EditQueueCommand = VersionedHead & {
  type: "edit_queue";
  sessionId: string;
  /** The revision of the queue that the client saw. */
  revision: number;
  items: ({
    itemId: string;
    /** Its new text; without it the old one stays. */
    message?: string;
    /** When it shall be said; without it as before. */
    behavior?: "steer" | "followUp";
  })[];
};

/** Offers the model these tools from the next turn on, and no others. */
export type SetActiveToolsCommand = VersionedHead & {
  type: "set_active_tools";
  sessionId: string;
  tools: (string)[];
};

/** What fills the context beside the conversation: skills, memory files, sets of tools. */
export type ListContextSourcesCommand = VersionedHead & {
  type: "list_context_sources";
  sessionId: string;
};

/** Switches a source off or on from the next turn on. */
export type SetContextSourceCommand = VersionedHead & {
  type: "set_context_source";
  sessionId: string;
  sourceId: string;
  enabled: boolean;
};

/** Files of the session's directory by name, for completion after `@`. */
export type ListFilesCommand = VersionedHead & {
  type: "list_files";
  sessionId: string;
  query?: string;
  limit?: number;
};

/** A key for a component that an extension draws, or how much room the client has for it, or both. */
export type ExtensionUiKeyCommand = VersionedHead & {
  type: "extension_ui_key";
  sessionId: string;
  requestId: string;
  /** The text that was typed, or the key's name: `enter`, `ctrl+c`, `shift+tab`. */
  key?: string;
  /** The columns that the client has for the component. */
  width?: number;
  /** The rows that the client has for the component. */
  height?: number;
};

/** A command of a client. */
export type Command =
  | ListSessionsCommand
  | CreateSessionCommand
  | DeleteSessionCommand
  | SwitchSessionCommand
  | GetMetricsCommand
  | HealthCheckCommand
  | ListStoredSessionsCommand
  | LoadSessionCommand
  | GetStartupRecoveryCommand
  | GetCommandHistoryCommand
  | SubscribeCommand
  | UnsubscribeCommand
  | SetLifecycleCommand
  | DeleteStoredSessionCommand
  | ListExtensionsCommand
  | EnableExtensionCommand
  | DisableExtensionCommand
  | ReloadExtensionsCommand
  | GetAvailableModelsCommand
  | GetCommandsCommand
  | GetSkillsCommand
  | GetToolsCommand
  | ListSessionFilesCommand
  | PromptCommand
  | SteerCommand
  | FollowUpCommand
  | AbortCommand
  | GetStateCommand
  | GetMessagesCommand
  | SetModelCommand
  | CycleModelCommand
  | SetThinkingLevelCommand
  | CycleThinkingLevelCommand
  | SetSessionNameCommand
  | CompactCommand
  | AbortCompactionCommand
  | SetAutoCompactionCommand
  | SetAutoRetryCommand
  | AbortRetryCommand
  | BashCommand
  | AbortBashCommand
  | GetSessionStatsCommand
  | ExportHtmlCommand
  | NewSessionCommand
  | SwitchSessionFileCommand
  | ForkCommand
  | GetForkMessagesCommand
  | GetLastAssistantTextCommand
  | GetContextUsageCommand
  | ExtensionUiResponseCommand
  | GetTreeCommand
  | NavigateTreeCommand
  | SetLabelCommand
  | ListRequestsCommand
  | GetEnvelopeCommand
  | GetStripCommand
  | GetQueueCommand
  | EditQueueCommand
  | SetActiveToolsCommand
  | ListContextSourcesCommand
  | SetContextSourceCommand
  | ListFilesCommand
  | ExtensionUiKeyCommand;

/** The `data` of a successful answer, by the name of the command. */
export interface CommandData {
  list_sessions: SessionList;
  create_session: OpenedSession;
  delete_session: DeletedSession;
  switch_session: SwitchedSession;
  get_metrics: Metrics;
  health_check: Health;
  list_stored_sessions: StoredSessionList;
  load_session: OpenedSession;
  get_startup_recovery: StartupRecovery;
  get_command_history: CommandHistory;
  subscribe: Subscription;
  unsubscribe: Unsubscribed;
  set_lifecycle: ChosenLifecycle;
  delete_stored_session: DeletedStoredSession;
  list_extensions: ExtensionList;
  enable_extension: ExtensionState;
  disable_extension: ExtensionState;
  reload_extensions: ExtensionList;
  get_available_models: ModelList;
  get_commands: SlashCommandList;
  get_skills: SkillList;
  get_tools: ToolList;
  list_session_files: SessionFileList;
  prompt: undefined;
  steer: undefined;
  follow_up: undefined;
  abort: undefined;
  get_state: SessionInfo;
  get_messages: MessageList;
  set_model: ChosenModel;
  cycle_model: CycledModel | null;
  set_thinking_level: undefined;
  cycle_thinking_level: CycledThinkingLevel | null;
  set_session_name: undefined;
  compact: CompactionResult;
  abort_compaction: undefined;
  set_auto_compaction: undefined;
  set_auto_retry: undefined;
  abort_retry: undefined;
  bash: BashResult;
  abort_bash: undefined;
  get_session_stats: SessionStats;
  export_html: ExportedFile;
  new_session: Cancellable;
  switch_session_file: Cancellable;
  fork: Forked;
  get_fork_messages: ForkMessageList;
  get_last_assistant_text: LastAssistantText;
  get_context_usage: ContextUsage | null;
  extension_ui_response: undefined;
  get_tree: EntryTree;
  navigate_tree: Navigated;
  set_label: undefined;
  list_requests: ModelRequestList;
  get_envelope: KeptEnvelope;
  get_strip: KeptStrip;
  get_queue: Queue;
  edit_queue: Queue;
  set_active_tools: ActiveTools;
  list_context_sources: ContextSourceList;
  set_context_source: ContextSource;
  list_files: FileList;
  extension_ui_key: undefined;
}

export type CommandName = keyof CommandData;

/** Names of the commands that answer without data. */
export type SilentCommandName = {
  [Name in CommandName]: CommandData[Name] extends undefined ? Name : never;
}[CommandName];

export interface ResponseHead {
  type: "response";
  /** The session's version after the command. */
  sessionVersion?: number;
  /** The outcome of an earlier command with the same identity. */
  replayed?: true;
}

export type SuccessResponse<Name extends CommandName = CommandName> = {
  [Each in Name]: ResponseHead & { id?: string; command: Each; success: true } & (Each extends SilentCommandName
      ? { data?: undefined }
      : { data: CommandData[Each] });
}[Name];

export interface FailureResponse extends ResponseHead {
  /** As it was sent, valid or not. */
  id?: unknown;
  /** The command's type, or `unknown`. */
  command: string;
  success: false;
  /** For people. */
  error: string;
  /** For programs; absent from servers without the feature `error_codes`, maybe a new one from a later server. */
  code?: Open<ErrorCode>;
  /** The path of the field that is to blame. */
  field?: string;
  /** What to do about it. */
  hint?: string;
  retryAfterMs?: number;
  timedOut?: true;
}

export type Response<Name extends CommandName = CommandName> = SuccessResponse<Name> | FailureResponse;

/** Everything that a server sends. */
export type ServerMessage = Response | ServerEvent;

/** What the registry says about each command. */
export const COMMANDS = {
  list_sessions: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  create_session: { target: "server", effect: "creates", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "driver", feature: null },
  delete_session: { target: "server", effect: "deletes", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "driver", feature: null },
  switch_session: { target: "server", effect: "connects", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_metrics: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  health_check: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  list_stored_sessions: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  load_session: { target: "server", effect: "loads", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "driver", feature: null },
  get_startup_recovery: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "operator", feature: "startup_recovery" },
  get_command_history: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "operator", feature: "command_history" },
  subscribe: { target: "server", effect: "connects", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "subscribe" },
  unsubscribe: { target: "server", effect: "connects", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "subscribe" },
  set_lifecycle: { target: "server", effect: "connects", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "lifecycle" },
  delete_stored_session: { target: "server", effect: "acts", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "operator", feature: "delete_stored_session" },
  list_extensions: { target: "server", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "extensions" },
  enable_extension: { target: "server", effect: "acts", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "operator", feature: "extensions" },
  disable_extension: { target: "server", effect: "acts", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "operator", feature: "extensions" },
  reload_extensions: { target: "server", effect: "acts", class: "serverWork", order: "work", span: "long", timeout: "standard", role: "operator", feature: "extensions" },
  get_available_models: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_commands: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_skills: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_tools: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  list_session_files: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  prompt: { target: "session", effect: "mutates", class: "run", order: "work", span: "long", timeout: "unlimited", role: "driver", feature: null },
  steer: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  follow_up: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  abort: { target: "session", effect: "mutates", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  get_state: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_messages: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  set_model: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  cycle_model: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  set_thinking_level: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  cycle_thinking_level: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  set_session_name: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  compact: { target: "session", effect: "mutates", class: "longWork", order: "work", span: "long", timeout: "long", role: "driver", feature: null },
  abort_compaction: { target: "session", effect: "mutates", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  set_auto_compaction: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  set_auto_retry: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  abort_retry: { target: "session", effect: "mutates", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  bash: { target: "session", effect: "mutates", class: "longWork", order: "work", span: "long", timeout: "long", role: "driver", feature: null },
  abort_bash: { target: "session", effect: "mutates", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  get_session_stats: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  export_html: { target: "session", effect: "mutates", class: "work", order: "work", span: "short", timeout: "standard", role: "driver", feature: null },
  new_session: { target: "session", effect: "mutates", class: "work", order: "work", span: "short", timeout: "standard", role: "driver", feature: null },
  switch_session_file: { target: "session", effect: "mutates", class: "work", order: "work", span: "short", timeout: "standard", role: "driver", feature: null },
  fork: { target: "session", effect: "mutates", class: "work", order: "work", span: "short", timeout: "standard", role: "driver", feature: null },
  get_fork_messages: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_last_assistant_text: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  get_context_usage: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: null },
  extension_ui_response: { target: "session", effect: "acts", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: null },
  get_tree: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "tree" },
  navigate_tree: { target: "session", effect: "mutates", class: "work", order: "work", span: "short", timeout: "standard", role: "driver", feature: "tree" },
  set_label: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: "labels" },
  list_requests: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "envelopes" },
  get_envelope: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "envelopes" },
  get_strip: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "strips" },
  get_queue: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "queue" },
  edit_queue: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: "queue" },
  set_active_tools: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: "active_tools" },
  list_context_sources: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "context_sources" },
  set_context_source: { target: "session", effect: "mutates", class: "control", order: "control", span: "short", timeout: "short", role: "driver", feature: "context_sources" },
  list_files: { target: "session", effect: "read", class: "control", order: "control", span: "short", timeout: "short", role: "viewer", feature: "files" },
  extension_ui_key: { target: "session", effect: "passes", class: "neededByRun", order: "control", span: "short", timeout: "short", role: "driver", feature: "ui_render" },
} as const;

/** Every addition to the document that a server may announce. */
export const FEATURES = ["error_codes", "client_id", "lifecycle", "subscribe", "startup_recovery", "command_history", "tree", "labels", "message_paging", "session_search", "session_cost", "envelopes", "strips", "askers", "queue", "active_tools", "context_sources", "files", "delete_stored_session", "ui_resolved", "ui_render", "extensions"] as const;

/** When a failure with this code is worth another attempt, and under which identity. */
export const RETRY: Record<ErrorCode, "never" | "sameId" | "newId"> = {
  invalid_json: "never",
  not_an_object: "never",
  duplicate_member: "never",
  too_deep: "never",
  too_many_values: "never",
  message_too_large: "never",
  unknown_command: "never",
  validation_failed: "never",
  invalid_session_path: "never",
  outside_roots: "never",
  session_not_found: "never",
  session_exists: "never",
  session_limit: "newId",
  session_in_use: "newId",
  session_file_missing: "newId",
  folder_missing: "newId",
  file_exists: "newId",
  version_mismatch: "newId",
  conflict: "never",
  dependency_unknown: "newId",
  dependency_failed: "never",
  dependency_timeout: "newId",
  dependency_cycle: "never",
  timeout: "newId",
  rate_limited: "sameId",
  busy: "sameId",
  too_many_pending: "sameId",
  connection_limit: "sameId",
  shutting_down: "sameId",
  interrupted: "newId",
  circuit_open: "newId",
  bash_circuit_open: "newId",
  no_pending_request: "never",
  request_settled: "never",
  request_mismatch: "never",
  answer_refused: "never",
  model_not_found: "never",
  not_found: "never",
  queue_changed: "newId",
  aborted: "newId",
  aborted_unsaid: "newId",
  provider_failed: "newId",
  extension_failed: "newId",
  refused: "never",
  nothing_to_compact: "never",
  journal_unavailable: "sameId",
  storage_failed: "newId",
  forbidden: "never",
  internal: "never",
};

/**
 * To `set_active_tools`.
 */
export type ActiveTools = { tools: Array<string>, };

/**
 * One event of a session.
 */
export type AgentEvent = { "type": "agent_start" } | { "type": "agent_end", 
/**
 * What the run added.
 */
messages: Array<Message>, willRetry?: boolean, } | { "type": "agent_settled", aborted?: boolean, } | { "type": "turn_start" } | { "type": "turn_end", message: Message, toolResults: Array<Message>, } | { "type": "message_start", message: Message, } | { "type": "message_update", 
/**
 * The message so far, for readers that do not add up deltas themselves.
 */
message?: Message, usage?: Usage, assistantMessageEvent: AssistantMessageEvent, } | { "type": "message_end", message: Message, } | { "type": "tool_execution_start", toolCallId: ToolCallId, toolName: string, args: JsonValue, parentToolCallId?: ToolCallId, } | { "type": "tool_execution_update", toolCallId: ToolCallId, toolName: string, 
/**
 * Left out where `tool_execution_start` has told them and updates are small.
 */
args?: JsonValue, 
/**
 * The output so far, not the difference, unless there is a `delta`: then `content` is empty.
 */
partialResult: ToolOutput, 
/**
 * Ours: the output is one text, and this is what came to its end since the update before.
 */
delta?: string, 
/**
 * Ours, beside a `delta`: how many characters (Unicode code points) went from the beginning of that text.
 */
dropped?: number, parentToolCallId?: ToolCallId, } | { "type": "tool_execution_end", toolCallId: ToolCallId, toolName: string, result: ToolOutput, isError: boolean, 
/**
 * Ours: why the policy, a person or an extension did not allow the call.
 */
denied?: string, 
/**
 * Ours: who that was, unless an extension blocked it.
 */
deniedBy?: Open<DeniedBy>, durationMs?: number, parentToolCallId?: ToolCallId, } | { "type": "auto_compaction_start", reason: Open<CompactionReason>, } | { "type": "auto_compaction_end", reason?: Open<CompactionReason>, result?: CompactionResult, aborted: boolean, willRetry: boolean, errorMessage?: string, } | { "type": "auto_retry_start", attempt: number, maxAttempts: number, delayMs: number, errorMessage: string, } | { "type": "auto_retry_end", success: boolean, attempt: number, finalError?: string, } | { "type": "queue_update", steering: Array<string>, followUp: Array<string>, } | { "type": "entry_appended", entry: Entry, } | { "type": "session_info_changed", name?: string, } | { "type": "thinking_level_changed", level: ThinkingLevel, } | { "type": "bash_execution_update", id?: string, 
/**
 * What came to the end of the output.
 */
delta: string, 
/**
 * How many characters (Unicode code points) went from the beginning of the output, with `delta` at its end: only so much
 * of it is kept.
 */
dropped?: number, } | { "type": "extension_error", extensionPath: string, event: string, error: string, } | { "type": "extension_ui_request", requestId: RequestId, 
/**
 * Who it comes from, as the host knows it.
 */
asker?: Asker, } & (Question | Announcement) | { "type": "extension_ui_render", requestId: RequestId, 
/**
 * The extension that draws it.
 */
extensionId?: string, 
/**
 * From top to bottom, each a list of spans; all of it, not the difference.
 */
lines: Array<Array<Span>>, 
/**
 * The columns for which it was drawn.
 */
width: number, placement: ComponentPlacement, } | { "type": "extension_ui_resolved", requestId: RequestId, outcome: QuestionOutcome, } | { "type": "storage_failed", message: string, } | { "type": "storage_recovered" } | { "type": "input_notice", message: string, } | { "type": "guardrail", message: string, filter: string, action: GuardrailAction, side: GuardrailSide, 
/**
 * How many texts it was in.
 */
texts: number, 
/**
 * It was to be masked and is still there.
 */
left?: boolean, } | { "type": "messages_unsaid", texts: Array<string>, } | { "type": "offers_changed" } | { "type": "session_tree", newLeafId?: EntryId, oldLeafId?: EntryId, };

/**
 * Something to show that needs no answer.
 */
export type Announcement = { "method": "notify", message: string, notifyType?: NotifyType, } | { "method": "setStatus", key: string, text?: string, } | { "method": "setWidget", key: string, content?: Array<string>, placement?: WidgetPlacement, } | { "method": "setTitle", title: string, } | { "method": "setWorkingMessage", message?: string, } | { "method": "setEditorText", 
/**
 * What the editor holds from then on.
 */
text: string, 
/**
 * That this was put in at the cursor, where it was: whoever has one puts it in there and leaves the rest alone, for
 * `text` may lack what was typed meanwhile.
 */
inserted?: string, };

/**
 * What a person answered.
 */
export type Answer = { "method": "select", value: string, } | { "method": "confirm", confirmed: boolean, } | { "method": "input", value: string, } | { "method": "editor", value: string, } | { "method": "interview", 
/**
 * By the id of the question.
 */
responses: { [key in string]: JsonValue }, } | { "method": "cancelled" };

/**
 * What happens to a command whose record cannot be written.
 */
export type AppendFailurePolicy = "best_effort" | "fail_closed";

/**
 * What the host wants to know before it lets something happen.
 */
export type Approval = { capability: string, 
/**
 * The path, host, command or variable. A command is all that would be run, with its line breaks.
 */
target: string, 
/**
 * The folder in which a command would run, if that is not the project.
 */
folder?: string, 
/**
 * The extension that wants it; without one, the model does.
 */
extensionId?: string, 
/**
 * Where that extension comes from.
 */
origin?: string, 
/**
 * The call of a tool that waits for the answer.
 */
toolCallId?: ToolCallId, };

/**
 * Who puts something before a person. The host fills it in and no extension can: a client shows what the host asks in a way of its
 * own, whatever an extension writes into its questions.
 */
export type Asker = { "by": "host", approval: Approval, } | { "by": "extension", extensionId: string, } | { "by": "pi", 
/**
 * The extension that it is about, if it is about one.
 */
extensionId?: string, };

/**
 * What the model said.
 */
export type AssistantMessage = { content: Array<Block>, 
/**
 * The dialect that was spoken with the provider.
 */
api: string, provider: ProviderId, 
/**
 * The model that was asked.
 */
model: ModelId, usage: Usage, stopReason: Open<StopReason>, errorMessage?: string, timestamp: number, responseId?: string, 
/**
 * The model that answered, where the provider chose another one.
 */
responseModel?: ModelId, 
/**
 * The provider's own word for why it stopped.
 */
rawStopReason?: string, thinkingLevel?: Open<ThinkingLevel>, 
/**
 * The level that was sent, in the provider's words.
 */
providerThinkingLevel?: JsonValue, diagnostics?: JsonValue, deferred?: JsonValue, endTurn?: JsonValue, };

/**
 * One step of a streamed message.
 *
 * `content_index` says which block of the message; blocks need not end in the order in which they started. `partial` is
 * the whole message so far and is left out where deltas alone are sent.
 */
export type AssistantMessageEvent = { "type": "start", partial?: Message, } | { "type": "text_start", contentIndex: number, partial?: Message, } | { "type": "text_delta", contentIndex: number, delta: string, partial?: Message, } | { "type": "text_end", contentIndex: number, content: string, partial?: Message, } | { "type": "thinking_start", contentIndex: number, partial?: Message, } | { "type": "thinking_delta", contentIndex: number, delta: string, partial?: Message, } | { "type": "thinking_end", contentIndex: number, content: string, partial?: Message, } | { "type": "toolcall_start", contentIndex: number, id?: ToolCallId, toolName?: string, partial?: Message, } | { "type": "toolcall_delta", contentIndex: number, 
/**
 * A piece of the arguments as JSON text.
 */
delta: string, partial?: Message, } | { "type": "toolcall_end", contentIndex: number, 
/**
 * The finished block, of type `toolCall`.
 */
toolCall: Block, partial?: Message, } | { "type": "done", reason: Open<StopReason>, message?: Message, } | { "type": "error", reason: Open<StopReason>, error?: Message, };

export type BashCircuitBreakerMetrics = { enabled: boolean, globalState: CircuitState, globalFailureCount: number, sessionCount: number, openSessionCount: number, totalCalls: number, totalTimeouts: number, totalRejected: number, };

/**
 * A command that the user ran, not the model.
 */
export type BashExecutionMessage = { command: string, output: string, 
/**
 * Absent when the command did not end by itself.
 */
exitCode?: number, cancelled: boolean, truncated: boolean, fullOutputPath?: string, excludeFromContext?: boolean, timestamp: number, };

/**
 * To `bash`. A command that fails is still a success of `bash`.
 */
export type BashResult = { 
/**
 * 0 if it is not known.
 */
exitCode: number, output: string, cancelled: boolean, 
/**
 * Ours: `output` is the end of what was written, for all of it would be too much.
 */
truncated?: boolean, 
/**
 * Ours: where all of it is, on the machine of the server.
 */
fullOutputPath?: string, };

/**
 * One piece of content.
 */
export type Block = { "type": "text" } & TextBlock | { "type": "thinking" } & ThinkingBlock | { "type": "image" } & ImageBlock | { "type": "toolCall" } & ToolCall;

/**
 * A summary of the branch that ends in `from_id` and was left.
 */
export type BranchSummaryEntry = { fromId: EntryId, summary: string, details?: JsonValue, 
/**
 * An extension wrote the summary.
 */
fromHook?: boolean, 
/**
 * What writing the summary consumed.
 */
usage?: Usage, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * What happened on a branch that was left.
 */
export type BranchSummaryMessage = { summary: string, fromId: EntryId, timestamp: number, };

/**
 * Where a cache that holds the first envelope stops being of use for the second.
 */
export type CacheBreak = { 
/**
 * How many segments of the second envelope stand before it.
 */
index: number, cause: Cause, 
/**
 * Tokens behind the break that say the same as before, and are paid for again.
 */
tokensLost: number, };

/**
 * What the provider's cache did with a segment.
 */
export type CacheState = "cached" | "written" | "uncached";

/**
 * To `new_session` and `switch_session_file`.
 */
export type Cancellable = { 
/**
 * Whether an extension prevented it.
 */
cancelled: boolean, };

export type Cause = { "type": "model", before: string | null, after: string | null, } | { "type": "segment", change: Change, };

/**
 * What happened to a segment.
 */
export type Change = { what: What, kind: Kind, role: Role, id?: string, before?: Place, after?: Place, 
/**
 * Tokens in the second envelope less tokens in the first.
 */
tokens: number, 
/**
 * What changed inside a segment that lists things.
 */
items?: Items, };

/**
 * To `set_lifecycle`.
 */
export type ChosenLifecycle = { lifecycle: Lifecycle, };

/**
 * To `set_model`.
 */
export type ChosenModel = { model: Model, };

/**
 * A provider's circuit breaker. Times are milliseconds since 1970.
 */
export type CircuitBreakerMetrics = { providerName: ProviderId, state: CircuitState, failureCount: number, lastFailureTime: number | null, lastStateChange: number, lastAccessTime: number, totalCalls: number, totalRejected: number, totalSlowCalls: number, totalSuccesses: number, totalFailures: number, avgLatencyMs: number, halfOpenCalls: number, 
/**
 * For how many milliseconds nothing new is asked of it yet; only while it is open.
 */
retryAfterMs?: number, };

export type CircuitState = "closed" | "open" | "half_open";

export type ClosingReason = "too_slow" | "idle" | "too_large" | "shutting_down";

/**
 * A colour: `#rrggbb`, or one of the sixteen that every terminal has its own idea of, such as `red` or `brightRed`
 * ([`Colour::NAMES`]).
 */
export type Colour = string;

/**
 * To `get_command_history`.
 */
export type CommandHistory = { enabled: boolean, initialized: boolean, initState: JournalState, initializationError?: string, journalPath: string, schemaVersion: number, filters: HistoryFilters, 
/**
 * Newest first.
 */
entries: Array<HistoryEntry>, returned: number, truncated: boolean, 
/**
 * The limit in force.
 */
maxItemsReturned: number, maxItemsAllowed: number, };

/**
 * A command, as the client that sent it names it.
 */
export type CommandId = string;

/**
 * A command that was admitted or begins.
 */
export type CommandPhase = { 
/**
 * The client's id, or one that the server made; for other clients always an opaque one.
 */
commandId: CommandId, commandType: string, sessionId?: SessionId, 
/**
 * Always there; empty for other clients.
 */
dependsOn: Array<CommandId>, ifSessionVersion?: number, 
/**
 * Never for other clients.
 */
idempotencyKey?: IdempotencyKey, };

/**
 * A summary that stands for what came before `first_kept_entry_id`.
 */
export type CompactionEntry = { summary: string, 
/**
 * The entry's own id: nothing is kept.
 */
firstKeptEntryId: EntryId, tokensBefore: number, details?: JsonValue, 
/**
 * An extension wrote the summary.
 */
fromHook?: boolean, 
/**
 * What writing the summary consumed.
 */
usage?: Usage, 
/**
 * The system message in force at this point.
 */
systemMessage?: Message, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * Why a session is compacted.
 */
export type CompactionReason = "manual" | "threshold" | "overflow";

/**
 * What a compaction made.
 */
export type CompactionResult = { summary: string, firstKeptEntryId: EntryId, tokensBefore: number, details?: JsonValue, estimatedTokensAfter?: number, usage?: Usage, };

/**
 * What stands for the messages before a compaction.
 */
export type CompactionSummaryMessage = { summary: string, tokensBefore: number, timestamp: number, };

/**
 * Where a component stands.
 */
export type ComponentPlacement = "editor" | "overlay" | "aboveEditor" | "belowEditor" | "header" | "footer";

export type ConnectionClosing = { reason: ClosingReason, 
/**
 * The last number that was sent for each session that the connection listened to.
 */
resume: Array<ResumePoint>, };

/**
 * The content of a message: plain text, or blocks. Both forms are common and each is written as it was read.
 */
export type Content = string | Array<Block>;

/**
 * Changes what the model sees of another entry; the last one wins.
 */
export type ContextEdit = { targetId: EntryId, 
/**
 * `null`: the target is left out.
 */
replacement: Content | null, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * Something that fills the context beside the conversation.
 */
export type ContextSource = { sourceId: ContextSourceId, kind: ContextSourceKind, name: string, path?: string, enabled: boolean, 
/**
 * What it takes in every turn.
 */
tokens?: Tokens, };

/**
 * A skill, memory file or set of tools that can be switched off.
 */
export type ContextSourceId = string;

export type ContextSourceKind = "skill" | "memory" | "tools";

/**
 * To `list_context_sources`.
 */
export type ContextSourceList = { sources: Array<ContextSource>, };

/**
 * How full the context window is. `null` means not known yet, as after a compaction.
 */
export type ContextUsage = { tokens: number | null, contextWindow: number, percent: number | null, };

/**
 * Money, in US dollars.
 */
export type Cost = { input: number, output: number, cacheRead: number, cacheWrite: number, total: number, 
/**
 * What the provider itself said the call costs.
 */
totalFromProvider?: number, 
/**
 * Ours: the price of some tokens is not known, and the total is what they cost at least.
 */
atLeast?: boolean, 
/**
 * Ours: what they cost at most then, where that is known.
 */
totalAtMost?: number, };

/**
 * How a number of tokens is known, the surest first.
 */
export type Counted = "exact" | "counted" | "estimated";

/**
 * Data of an extension; no model sees it.
 */
export type CustomEntry = { customType: string, data?: JsonValue, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * A message of an extension.
 */
export type CustomMessage = { customType: string, content: Content, 
/**
 * Whether people see it.
 */
display: boolean, details?: JsonValue, timestamp: number, };

/**
 * A message of an extension; the model sees it as the user's.
 */
export type CustomMessageEntry = { customType: string, content: Content, 
/**
 * Whether people see it.
 */
display: boolean, details?: JsonValue, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * To `cycle_model`; `null` if there is no other.
 */
export type CycledModel = { model: Model, thinkingLevel: ThinkingLevel, 
/**
 * Whether only chosen models are gone through.
 */
isScoped: boolean, };

/**
 * To `cycle_thinking_level`; `null` if the model cannot think.
 */
export type CycledThinkingLevel = { level: ThinkingLevel, };

/**
 * To `delete_session`.
 */
export type DeletedSession = { 
/**
 * Always `true`.
 */
deleted: boolean, };

/**
 * To `delete_stored_session`.
 */
export type DeletedStoredSession = { 
/**
 * Always `true`.
 */
deleted: boolean, sessionPath: string, };

/**
 * Who did not allow a call of a tool.
 */
export type DeniedBy = "person" | "nobody" | "rule";

/**
 * One entry of a session.
 */
export type Entry = { "type": "message" } & MessageEntry | { "type": "model_change" } & ModelChange | { "type": "thinking_level_change" } & ThinkingLevelChange | { "type": "compaction" } & CompactionEntry | { "type": "branch_summary" } & BranchSummaryEntry | { "type": "custom" } & CustomEntry | { "type": "custom_message" } & CustomMessageEntry | { "type": "label" } & LabelEntry | { "type": "session_info" } & SessionName | { "type": "usage" } & UsageEntry | { "type": "context_edit" } & ContextEdit;

/**
 * An entry of a session; eight hexadecimal digits when we choose it, any text when we read it.
 */
export type EntryId = string;

/**
 * To `get_tree`.
 */
export type EntryTree = { currentLeafId: EntryId | null, nodes: Array<TreeNode>, 
/**
 * Whether there are more entries than fit.
 */
truncated?: boolean, };

/**
 * What a model was shown, message by message.
 */
export type Envelope = { version: Version, 
/**
 * The model that was asked.
 */
model?: string, 
/**
 * At least one.
 */
messages: Array<EnvelopeMessage>, meta?: EnvelopeMeta, };

/**
 * What one side said, in segments.
 */
export type EnvelopeMessage = { id: string, role: Role, 
/**
 * At least one.
 */
segments: Array<Segment>, 
/**
 * Milliseconds since 1970.
 */
timestamp: number, meta?: MessageMeta, };

/**
 * What we know about a whole prompt.
 */
export type EnvelopeMeta = { request?: Request, 
/**
 * The sum over the segments.
 */
tokens?: Tokens, 
/**
 * What the provider says the call consumed.
 */
usage?: Usage, 
/**
 * Tokens that the provider counted as sent, less our sum: markup of the provider, and our error.
 */
residual?: number, 
/**
 * Of the envelope without `meta`, SHA-256 of its canonical JSON.
 */
digest?: string, 
/**
 * Somebody sent another payload than the one that this envelope shows.
 */
replaced?: Replacement, };

/**
 * A numbering of a session's events. When it changes, numbers start anew.
 */
export type Epoch = string;

/**
 * Why, for programs.
 */
export type ErrorCode = "invalid_json" | "not_an_object" | "duplicate_member" | "too_deep" | "too_many_values" | "message_too_large" | "unknown_command" | "validation_failed" | "invalid_session_path" | "outside_roots" | "session_not_found" | "session_exists" | "session_limit" | "session_in_use" | "session_file_missing" | "folder_missing" | "file_exists" | "version_mismatch" | "conflict" | "dependency_unknown" | "dependency_failed" | "dependency_timeout" | "dependency_cycle" | "timeout" | "rate_limited" | "busy" | "too_many_pending" | "connection_limit" | "shutting_down" | "interrupted" | "circuit_open" | "bash_circuit_open" | "no_pending_request" | "request_settled" | "request_mismatch" | "answer_refused" | "model_not_found" | "not_found" | "queue_changed" | "aborted" | "aborted_unsaid" | "provider_failed" | "extension_failed" | "refused" | "nothing_to_compact" | "journal_unavailable" | "storage_failed" | "forbidden" | "internal";

export type ExecutionMetrics = { laneCount: number, };

/**
 * To `export_html`.
 */
export type ExportedFile = { path: string, };

/**
 * An extension.
 */
export type ExtensionId = string;

/**
 * To `list_extensions` and `reload_extensions`.
 */
export type ExtensionList = { extensions: Array<ListedExtension>, };

export type ExtensionPhase = "idle" | "running" | "parked" | "disabled" | "failed" | "untrusted";

/**
 * To `enable_extension` and `disable_extension`.
 */
export type ExtensionState = { extension: ListedExtension, };

/**
 * How an extension runs.
 */
export type ExtensionTier = "wasm" | "js" | "mcp";

export type ExtensionUiMetrics = { 
/**
 * Questions that wait for a person now.
 */
pendingCount: number, 
/**
 * Questions of one session that may wait.
 */
maxPendingRequests: number, 
/**
 * Questions that were not put before anybody, because as many waited as may.
 */
rejectedCount: number, answeredCount?: number, timedOutCount?: number, 
/**
 * Questions that a person dismissed, or whose extension went away.
 */
cancelledCount?: number, 
/**
 * Answers that did not fit, or to questions that were not open; such a question is none of those above.
 */
refusedAnswerCount?: number, };

/**
 * A named addition to the document's protocol; `server_ready` lists those that the server has.
 */
export type Feature = "error_codes" | "client_id" | "lifecycle" | "subscribe" | "startup_recovery" | "command_history" | "tree" | "labels" | "message_paging" | "session_search" | "session_cost" | "envelopes" | "strips" | "askers" | "queue" | "active_tools" | "context_sources" | "files" | "delete_stored_session" | "ui_resolved" | "ui_render" | "extensions";

/**
 * What the answer to a question of an interview looks like.
 */
export type FieldKind = "text" | "select" | "multi" | "confirm";

export type FileKind = "file" | "directory";

/**
 * To `list_files`.
 */
export type FileList = { files: Array<ListedFile>, 
/**
 * Whether there are more than fit.
 */
truncated: boolean, };

/**
 * A command that has its outcome.
 */
export type FinishedCommand = { success: boolean, error?: string, code?: Open<ErrorCode>, sessionVersion?: number, replayed?: boolean, 
/**
 * The client's id, or one that the server made; for other clients always an opaque one.
 */
commandId: CommandId, commandType: string, sessionId?: SessionId, 
/**
 * Always there; empty for other clients.
 */
dependsOn: Array<CommandId>, ifSessionVersion?: number, 
/**
 * Never for other clients.
 */
idempotencyKey?: IdempotencyKey, };

export type ForkMessage = { entryId: EntryId, text: string, };

/**
 * To `get_fork_messages`.
 */
export type ForkMessageList = { messages: Array<ForkMessage>, };

/**
 * To `fork`.
 */
export type Forked = { 
/**
 * The message from before which the fork starts.
 */
text: string, 
/**
 * Whether an extension prevented it.
 */
cancelled: boolean, };

/**
 * One question of an interview.
 */
export type FormField = { 
/**
 * The name of the answer in `responses`.
 */
id: string, type: FieldKind, label: string, 
/**
 * What can be chosen; only for `select` and `multi`.
 */
options?: Array<string>, 
/**
 * Without it, or with `false`, the answer may be left out.
 */
required?: boolean, };

/**
 * What is done about what a guardrail finds.
 */
export type GuardrailAction = "block" | "warn" | "log" | "mask";

/**
 * Which way a text goes that a guardrail looks at.
 */
export type GuardrailSide = "input" | "output";

/**
 * To `health_check`.
 */
export type Health = { healthy: boolean, 
/**
 * In words, one for each thing that is not as it should be.
 */
issues: Array<string>, hasOpenCircuit: boolean, hasOpenBashCircuit: boolean, };

/**
 * One phase of one command.
 */
export type HistoryEntry = { 
/**
 * Milliseconds since 1970.
 */
recordedAt: number, phase: Phase, commandId: CommandId, commandType: string, laneKey: string, laneSequence: number, fingerprint: string, 
/**
 * Whether the client chose the id.
 */
explicitId: boolean, sessionId?: SessionId, dependsOn?: Array<CommandId>, ifSessionVersion?: number, idempotencyKey?: IdempotencyKey, success?: boolean, error?: string, sessionVersion?: number, replayed?: boolean, timedOut?: boolean, recovered?: boolean, recoveryReason?: string, };

/**
 * The filters of the command, as they were understood.
 */
export type HistoryFilters = { sessionIdFilter?: SessionId, commandId?: CommandId, fromTimestamp?: number, toTimestamp?: number, };

/**
 * Under this key the same command may be sent again and runs once.
 */
export type IdempotencyKey = string;

export type ImageBlock = { 
/**
 * Base64.
 */
data: string, mimeType: string, };

/**
 * The names of memory files, skills or tools that came, went, or say something else.
 */
export type Items = { added: Array<string>, removed: Array<string>, changed: Array<string>, };

export type JournalCompaction = { runs: number, droppedEntries: number, 
/**
 * Milliseconds since 1970.
 */
lastCompactionAt?: number, lastEntriesBefore: number, lastEntriesAfter: number, lastBytesBefore: number, lastBytesAfter: number, };

export type JournalMetrics = { enabled: boolean, initialized: boolean, journalPath: string, schemaVersion: number, appendFailurePolicy: AppendFailurePolicy, redaction: RedactionHooks, entriesWritten: number, writeErrors: number, entriesScanned: number, malformedEntries: number, unsupportedVersionEntries: number, recoveredOutcomes: number, recoveredInFlightFailures: number, retention: Retention, compaction: JournalCompaction, };

export type JournalState = "disabled" | "pending" | "ready" | "failed" | "timed_out";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * To `get_envelope`.
 */
export type KeptEnvelope = { requestId: ModelRequestId, envelope: Envelope, };

/**
 * To `get_strip`.
 */
export type KeptStrip = { requestId: ModelRequestId, strip: Strip, };

/**
 * The eleven kinds of segment.
 */
export type Kind = "text" | "static_var" | "system_prompt" | "memory" | "skills" | "tool_overview" | "tool_call_request" | "tool_call_result" | "document" | "long_text" | "media";

/**
 * A bookmark on another entry; the last one wins.
 */
export type LabelEntry = { targetId: EntryId, 
/**
 * Absent: the bookmark is removed.
 */
label?: string, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * A model that cannot be asked for want of a credential.
 */
export type LackingModel = { provider: ProviderId, id: ModelId, 
/**
 * The variables in which the server looks for a credential; any of them will do.
 */
needs: Array<string>, };

/**
 * To `get_last_assistant_text`.
 */
export type LastAssistantText = { text: string | null, };

/**
 * Whose lifecycle events a connection is sent.
 */
export type Lifecycle = "all" | "own" | "none";

/**
 * An extension and what it has done.
 */
export type ListedExtension = { extensionId: ExtensionId, name: string, version: string, tier: ExtensionTier, enabled: boolean, state: ExtensionPhase, 
/**
 * Why it does not run.
 */
error?: string, 
/**
 * Where it was found.
 */
path?: string, 
/**
 * What it may do.
 */
capabilities: Array<string>, tools: Array<string>, 
/**
 * Slash commands.
 */
commands: Array<string>, 
/**
 * About what its tools cost in every request to a model, in tokens.
 */
toolTokens?: number, 
/**
 * Tools, commands and events that it was asked for.
 */
calls: number, 
/**
 * Calls of its own that policy did not allow.
 */
denials: number, 
/**
 * Milliseconds that it took for what it was asked for.
 */
busyMs: number, memoryBytes?: number, };

export type ListedFile = { 
/**
 * Relative to the session's directory.
 */
path: string, kind: FileKind, };

/**
 * A loaded session in a list.
 */
export type ListedSession = { 
/**
 * Where its agent works.
 */
cwd?: string, 
/**
 * US dollars so far.
 */
cost?: number, 
/**
 * `true` if the price of some tokens is not known, and `cost` is what they cost at least. Not told of others.
 */
costAtLeast?: boolean, 
/**
 * When something was said last, ISO 8601.
 */
updatedAt?: string, 
/**
 * The beginning of what was said first, in one line and without the files that were attached to it.
 */
firstMessage?: string, 
/**
 * `false` if its file was there and is gone. Not told of others.
 */
fileExists?: boolean, sessionId: SessionId, sessionName?: string, sessionFile?: string, model?: Model, 
/**
 * Not told of a session that is not loaded.
 */
thinkingLevel?: ThinkingLevel, 
/**
 * Whether a run is in flight.
 */
isStreaming: boolean, messageCount: number, 
/**
 * When it was created or loaded, ISO 8601.
 */
createdAt: string, };

/**
 * A session on disk in a list.
 */
export type ListedStoredSession = { 
/**
 * The beginning of what was said first, in one line and without the files that were attached to it.
 */
firstMessage?: string, 
/**
 * `true` if its folder is none that the server may work in: it is loaded only with another `cwd`. Not told of others.
 */
outsideRoots?: boolean, 
/**
 * US dollars so far.
 */
cost?: number, 
/**
 * `true` if the price of some tokens is not known, and `cost` is what they cost at least. Not told of others.
 */
costAtLeast?: boolean, 
/**
 * When something was said last, ISO 8601.
 */
updatedAt?: string, sessionId: SessionId, sessionName?: string, sessionFile: string, 
/**
 * The same value as `session_file`, under the name that `load_session` takes.
 */
sessionPath: string, cwd: string, createdAt: string, fileExists: boolean, messageCount: number, thinkingLevel?: ThinkingLevel, isStreaming?: boolean, };

export type ListedTool = { name: string, description: string, 
/**
 * Whether the model is offered it.
 */
active?: boolean, 
/**
 * Who brought it: `builtin`, an extension, an MCP server.
 */
source?: string, 
/**
 * The source of `list_context_sources` that it is switched with.
 */
sourceId?: ContextSourceId, 
/**
 * What it takes in every turn while it is offered: its definition, and what the system prompt says because of it.
 */
tokens?: Tokens, };

export type LockMetrics = { activeLocks: number, timeoutCount: number, waitingCount: number, queueFullRejections: number, };

export type MediaType = "image" | "audio" | "video";

export type MemoryItem = { title: string, content: string, };

/**
 * A message. Times are milliseconds since 1970.
 */
export type Message = { "role": "user" } & UserMessage | { "role": "assistant" } & AssistantMessage | { "role": "toolResult" } & ToolResultMessage | { "role": "bashExecution" } & BashExecutionMessage | { "role": "custom" } & CustomMessage | { "role": "branchSummary" } & BranchSummaryMessage | { "role": "compactionSummary" } & CompactionSummaryMessage | { "role": "system" } & SystemMessage;

export type MessageEntry = { message: Message, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * To `get_messages`.
 */
export type MessageList = { messages: Array<Message>, 
/**
 * The entry of each message, if the command asked for a page.
 */
entryIds?: Array<EntryId>, 
/**
 * Whether there are more in the direction asked for, if the command asked for a page.
 */
hasMore?: boolean, };

/**
 * What we know about a message.
 */
export type MessageMeta = { 
/**
 * The transcript's word for who spoke, where it has more of them than the envelope: `bashExecution`.
 */
role?: string, 
/**
 * The extension's own name for a custom message.
 */
customType?: string, 
/**
 * The sum over the segments.
 */
tokens?: Tokens, };

/**
 * To `get_metrics`.
 */
export type Metrics = { sessionCount: number, connectionCount: number, pendingConnectionCount: number, totalCommandsExecuted: number, commandsRejected: RejectedCommands, zombieSessionsDetected: number, zombieSessionsCleaned: number, doubleUnregisterErrors: number, rateLimitUsage: RateLimitUsage, stores: StoreMetrics, circuitBreakers: Array<CircuitBreakerMetrics>, bashCircuitBreaker: BashCircuitBreakerMetrics, metrics?: RecordedMetrics, };

/**
 * What a model can be shown.
 */
export type Modality = "text" | "image";

/**
 * A model that can be asked, as anybody may see it: it is sent to every client and stands in logs.
 *
 * What a request needs beyond that is the provider's secret. The models of other programs have a member `headers` with
 * keys in it; it is dropped on reading, so that no answer and no debug print can pass it on.
 */
export type Model = { id: ModelId, name: string, 
/**
 * The dialect that is spoken with the provider.
 */
api: string, provider: ProviderId, baseUrl: string, 
/**
 * Whether it can think before it answers.
 */
reasoning: boolean, input: Array<Open<Modality>>, cost: ModelCost, 
/**
 * Tokens that fit into one call, question and answer together.
 */
contextWindow: number, 
/**
 * Tokens that one answer may have.
 */
maxTokens: number, compat?: JsonValue, 
/**
 * Thinking level to the provider's word for it; `null` for a level that the model does not have.
 */
thinkingLevelMap?: { [key in string]: JsonValue }, };

/**
 * From here on another model is asked.
 */
export type ModelChange = { provider: ProviderId, modelId: ModelId, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * US dollars for a million tokens.
 */
export type ModelCost = { input: number, output: number, cacheRead: number, cacheWrite: number, };

/**
 * A model, as its provider names it; only together with a [`ProviderId`] does it name one model.
 */
export type ModelId = string;

/**
 * To `get_available_models`.
 */
export type ModelList = { models: Array<Model>, 
/**
 * Those that could be asked if their provider had a credential.
 */
lacking?: Array<LackingModel>, };

/**
 * A call of a model.
 */
export type ModelRequest = { requestId: ModelRequestId, 
/**
 * When, in milliseconds since 1970.
 */
time: number, provider: ProviderId, model: ModelId, purpose: Purpose, 
/**
 * The message that was said last before it.
 */
entryId?: EntryId, 
/**
 * Tokens of everything that was sent, as counted before the call.
 */
tokens?: Tokens, 
/**
 * The messages of its envelope.
 */
messageCount: number, 
/**
 * What the provider says it took.
 */
usage?: Usage, };

/**
 * A call of a model whose envelope is kept.
 */
export type ModelRequestId = string;

/**
 * To `list_requests`.
 */
export type ModelRequestList = { requests: Array<ModelRequest>, hasMore: boolean, };

/**
 * To `navigate_tree`.
 */
export type Navigated = { 
/**
 * What to put into the editor.
 */
editorText?: string, 
/**
 * Whether an extension prevented it.
 */
cancelled: boolean, 
/**
 * Whether the summary was aborted.
 */
aborted?: boolean, };

export type NotifyType = "info" | "warning" | "error";

/**
 * An event with its number. Within an epoch numbers grow by one from event to event.
 *
 * Coalesced updates carry the number of the last one that they stand for, so a client that resumes from it misses
 * nothing.
 */
export type Numbered = { sessionId: SessionId, 
/**
 * Absent from servers without `subscribe`.
 */
seq?: number, epoch?: Epoch, event: AgentEvent, };

/**
 * A word that we know, or one that a later version added; the latter is kept as it was written.
 */
export type Open<T> = T | string & {};

/**
 * A question that waits for an answer.
 */
export type OpenQuestion = { requestId: RequestId, 
/**
 * Who asks, as the host knows it.
 */
asker?: Asker, } & ({ "method": "select", title: string, options: Array<string>, timeout?: number, } | { "method": "confirm", title: string, message: string, timeout?: number, } | { "method": "input", title: string, placeholder?: string, timeout?: number, } | { "method": "editor", title: string, prefill?: string, timeout?: number, } | { "method": "interview", title?: string, questions: Array<FormField>, timeout?: number, });

/**
 * To `create_session` and `load_session`.
 */
export type OpenedSession = { sessionId: SessionId, sessionInfo: SessionInfo, };

/**
 * Where a text came from.
 */
export type Origin = { "from": "user" } | { "from": "built_in" } | { "from": "file", path: string, } | { "from": "web", url: string, } | { "from": "mcp", server: string, } | { "from": "extension", id: string, } | { "from": "tool", name: string, } | { "from": "provider", name: string, };

/**
 * What a segment was before it was put into one of the eleven kinds, where the kind alone does not say it.
 */
export type Part = "thinking" | "redacted_thinking" | "bash_execution" | "custom" | "branch_summary" | "compaction_summary" | "section" | "unknown" | "nothing";

export type Phase = "command_accepted" | "command_started" | "command_finished";

/**
 * Where a segment stands.
 */
export type Place = { message: number, segment: number, };

/**
 * Who runs a model, as manifests and settings name them.
 */
export type ProviderId = string;

/**
 * What a model is asked for.
 */
export type Purpose = "turn" | "compaction" | "branch_summary" | "extension";

/**
 * Something that waits for an answer. `timeout` is in milliseconds.
 */
export type Question = { "method": "select", title: string, options: Array<string>, timeout?: number, } | { "method": "confirm", title: string, message: string, timeout?: number, } | { "method": "input", title: string, placeholder?: string, timeout?: number, } | { "method": "editor", title: string, prefill?: string, timeout?: number, } | { "method": "interview", title?: string, questions: Array<FormField>, timeout?: number, };

/**
 * How a question, or a component that an extension drew, ended.
 */
export type QuestionOutcome = "answered" | "cancelled" | "timed_out" | "closed";

/**
 * To `get_queue` and `edit_queue`.
 */
export type Queue = { 
/**
 * Moves with every change.
 */
revision: number, items: Array<QueueItem>, };

/**
 * A message that waits to be said.
 */
export type QueueItem = { itemId: QueueItemId, behavior: StreamingBehavior, message: string, imageCount: number, };

/**
 * A message that waits to be said.
 */
export type QueueItemId = string;

export type RateLimitUsage = { globalCount: number, globalLimit: number, };

export type RecordedEvent = { name: string, type: string, tags?: { [key in string]: string }, value?: number, 
/**
 * Milliseconds since 1970.
 */
timestamp: number, };

/**
 * What the server's own recorder holds.
 */
export type RecordedMetrics = { counters: { [key in string]: number }, gauges: { [key in string]: number }, histograms: { [key in string]: JsonValue }, recentEvents: Array<RecordedEvent>, };

/**
 * A command that was in flight when the server stopped. It is failed, never run again.
 */
export type RecoveredCommand = { commandId: CommandId, commandType: string, laneKey: string, lastPhase: Phase, reason: string, };

export type RedactionHooks = { beforePersistHookEnabled: boolean, beforeExportHookEnabled: boolean, };

/**
 * Refused commands by limit.
 */
export type RejectedCommands = { sessionLimit: number, messageSize: number, rateLimit: number, globalRateLimit: number, connectionLimit: number, extensionUIResponseRateLimit: number, };

/**
 * Who replaced the payload of a request, and with what.
 */
export type Replacement = { by: Origin, 
/**
 * Of the payload that was sent.
 */
digest: string, };

export type ReplayMetrics = { inFlightCount: number, outcomeCount: number, idempotencyCacheSize: number, maxInFlightCommands: number, maxCommandOutcomes: number, inFlightRejections: number, 
/**
 * As many outcomes are kept as may be: for so long, commands that change something are refused as busy.
 */
outcomesFullForMs?: number, };

/**
 * The model call that a prompt was made for.
 */
export type Request = { id: string, provider: ProviderId, model: ModelId, 
/**
 * Milliseconds since 1970.
 */
time: number, 
/**
 * What it was asked for; without it, for a turn of the conversation.
 */
purpose?: Purpose, };

/**
 * A question that was put to a person.
 */
export type RequestId = string;

/**
 * How a subscription begins.
 */
export type Resume = "live" | "replay" | "snapshot";

/**
 * Where `subscribe` can go on.
 */
export type ResumePoint = { sessionId: SessionId, epoch: Epoch, seq: number, };

export type Retention = { enabled: boolean, maxEntries?: number, maxAgeMs?: number, maxBytes?: number, };

export type Role = "system" | "user" | "assistant" | "tool";

/**
 * A piece of a message that is shown in its own way.
 */
export type Segment = { meta?: SegmentMeta, } & ({ "kind": "text", content: string, } | { "kind": "static_var", name: string, value: string, description?: string, } | { "kind": "system_prompt", content: string, collapsed: boolean, } | { "kind": "memory", description?: string, items: Array<MemoryItem>, collapsed: boolean, } | { "kind": "skills", description?: string, items: Array<SkillItem>, collapsed: boolean, } | { "kind": "tool_overview", items: Array<ToolItem>, collapsed: boolean, } | { "kind": "tool_call_request", toolName: string, arguments: { [key in string]: JsonValue }, collapsed: boolean, } | { "kind": "tool_call_result", toolName: string, result: string, success: boolean, collapsed: boolean, } | { "kind": "document", fileName: string, mimeType: string, snippet: string, sizeBytes: number, parsedContent?: string, } | { "kind": "long_text", content: string, charCount: number, collapsed: boolean, } | { "kind": "media", mediaType: MediaType, url: string, altText?: string, });

/**
 * What we know about a segment.
 */
export type SegmentMeta = { 
/**
 * The same in every envelope in which this segment appears, changed or not.
 */
id?: string, origin?: Origin, trust?: Trust, tokens?: Tokens, cache?: CacheState, 
/**
 * Of the segment without `meta`, SHA-256 of its canonical JSON.
 */
digest?: string, 
/**
 * What the segment was before it was put into one of the eleven kinds.
 */
part?: Part, 
/**
 * The tool call that is asked for or answered.
 */
call?: ToolCallId, 
/**
 * Opaque data of the provider that is sent back to it with the segment.
 */
signature?: string, 
/**
 * The text sent before, between and after the texts of the segment.
 */
frame?: Array<string>, };

/**
 * Everything that the server sends by itself.
 */
export type ServerEvent = { "type": "server_ready", data: ServerReady, } | { "type": "server_shutdown", data: ServerShutdown, } | { "type": "session_created", data: SessionCreated, } | { "type": "session_deleted", data: SessionDeleted, } | { "type": "extensions_changed", data: ExtensionList, } | { "type": "startup_recovery_summary", data: StartupRecovery, } | { "type": "command_accepted", data: CommandPhase, } | { "type": "command_started", data: CommandPhase, } | { "type": "command_finished", data: FinishedCommand, } | { "type": "event" } & Numbered | { "type": "session_snapshot", data: SessionSnapshot, } | { "type": "connection_closing", data: ConnectionClosing, };

export type ServerReady = { serverVersion: string, protocolVersion: string, transports: Array<Transport>, 
/**
 * What this server has beyond the document. A client uses an addition only if its name is here.
 */
features?: Array<Open<Feature>>, 
/**
 * Bytes of the largest frame that is read; what is larger is refused.
 */
maxMessageBytes?: number, 
/**
 * What a session begins with if nobody says otherwise.
 */
usual?: Usual, };

export type ServerShutdown = { reason: ShutdownReason, 
/**
 * How long commands in flight still have.
 */
timeoutMs: number, };

export type SessionCreated = { sessionId: SessionId, sessionInfo: SessionInfo, };

export type SessionDeleted = { sessionId: SessionId, };

export type SessionFile = { path: string, name: string, 
/**
 * ISO 8601.
 */
modifiedAt?: string, };

/**
 * To `list_session_files`.
 */
export type SessionFileList = { files: Array<SessionFile>, };

/**
 * A conversation, as clients and files name it.
 */
export type SessionId = string;

/**
 * A session that is loaded.
 */
export type SessionInfo = { sessionId: SessionId, sessionName?: string, sessionFile?: string, model?: Model, 
/**
 * Not told of a session that is not loaded.
 */
thinkingLevel?: ThinkingLevel, 
/**
 * Whether a run is in flight.
 */
isStreaming: boolean, messageCount: number, 
/**
 * When it was created or loaded, ISO 8601.
 */
createdAt: string, };

/**
 * To `list_sessions`, in the order in which they were made.
 */
export type SessionList = { sessions: Array<ListedSession>, };

/**
 * The session's name; the last one wins.
 */
export type SessionName = { name?: string, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * What a session is now, for a client that missed too much to be told what happened.
 *
 * What was said before is read with `get_messages`; events go on after `seq`.
 */
export type SessionSnapshot = { sessionId: SessionId, epoch: Epoch, 
/**
 * The number of the last event that this snapshot contains.
 */
seq: number, reason: SnapshotReason, sessionInfo: SessionInfo, 
/**
 * The message that is being streamed, as far as it is.
 */
partial?: Message, queue: Queue, 
/**
 * The questions that wait for an answer.
 */
questions: Array<OpenQuestion>, };

/**
 * What a session holds and has cost.
 */
export type SessionStats = { sessionFile?: string, sessionId: SessionId, userMessages: number, assistantMessages: number, toolCalls: number, toolResults: number, totalMessages: number, tokens: TokenTotals, 
/**
 * US dollars.
 */
cost: number, 
/**
 * Ours: the price of some tokens is not known, and `cost` is what they cost at least.
 */
costAtLeast?: boolean, 
/**
 * Ours: what they cost at most then, where that is known.
 */
costAtMost?: number, };

export type SessionStoreMetrics = { metadataResetCount: number, 
/**
 * Sessions whose file cannot be written, or was taken away while they are loaded.
 */
unwrittenSessions?: number, };

export type ShutdownReason = "graceful_shutdown";

export type Skill = { name: string, description: string, filePath: string, source: string, };

export type SkillItem = { name: string, description: string, };

/**
 * To `get_skills`.
 */
export type SkillList = { skills: Array<Skill>, };

export type SlashCommand = { 
/**
 * Without the slash.
 */
name: string, description?: string, source: SlashCommandSource, 
/**
 * Whether it is the user's or the project's.
 */
location?: string, path?: string, };

/**
 * To `get_commands`.
 */
export type SlashCommandList = { commands: Array<SlashCommand>, };

export type SlashCommandSource = "extension" | "skill" | "prompt";

export type SnapshotReason = "too_far_behind" | "epoch_changed" | "ahead_of_end";

/**
 * Text in one style. It has no character that a terminal would obey.
 */
export type Span = { text: string, style?: Style, };

/**
 * To `get_startup_recovery`, and in `startup_recovery_summary`, where paths are redacted and lists are empty.
 */
export type StartupRecovery = { enabled: boolean, initialized: boolean, initState: JournalState, initializationError?: string, journalPath: string, schemaVersion: number, entriesScanned: number, malformedEntries: number, unsupportedVersionEntries: number, recoveredOutcomes: number, recoveredOutcomeIds: Array<CommandId>, recoveredOutcomeIdsTruncated: boolean, recoveredInFlightFailures: number, recoveredInFlight: Array<RecoveredCommand>, recoveredInFlightTruncated: boolean, maxItemsReturned: number, };

/**
 * Why the model stopped.
 */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted" | "pending" | "deferred";

export type StoreMetrics = { replay: ReplayMetrics, version: VersionMetrics, execution: ExecutionMetrics, lock: LockMetrics, extensionUI: ExtensionUiMetrics, sessionStore: SessionStoreMetrics, journal: JournalMetrics, };

/**
 * To `list_stored_sessions`, newest first.
 */
export type StoredSessionList = { sessions: Array<ListedStoredSession>, 
/**
 * The `cursor` of the next page; absent on the last.
 */
nextCursor?: string, };

/**
 * What a prompt does to a run in flight.
 */
export type StreamingBehavior = "steer" | "followUp";

/**
 * A prompt without its contents.
 */
export type Strip = { 
/**
 * Every segment in prompt order: its kind and its tokens.
 */
segments: [Kind, number][], 
/**
 * What the cache did with so many segments in turn.
 */
cache: Array<[StripCache, number]>, 
/**
 * All of them together.
 */
tokens: Tokens, 
/**
 * Absent where there was no request before it, or the cache held.
 */
cacheBreak?: CacheBreak, 
/**
 * The segment at which it broke, in a few words.
 */
brokenAt?: string, };

/**
 * What the cache did with a segment, as far as that is known.
 */
export type StripCache = "cached" | "written" | "uncached" | "unknown";

export type Style = { foreground?: Colour, background?: Colour, bold?: boolean, dim?: boolean, italic?: boolean, underline?: boolean, strikethrough?: boolean, inverse?: boolean, };

/**
 * To `subscribe`.
 */
export type Subscription = { sessionInfo: SessionInfo, 
/**
 * The numbering in force.
 */
epoch: Epoch, 
/**
 * The number of the session's last event.
 */
seq: number, resume: Resume, };

/**
 * To `switch_session`.
 */
export type SwitchedSession = { sessionInfo: SessionInfo, };

/**
 * A change of the system prompt or of the tools that the model is offered.
 */
export type SystemMessage = { content: Content, 
/**
 * Named parts of the system prompt, in order: the new text, or `null` for a part that is gone.
 */
sections?: { [key in string]: JsonValue }, toolsAdded?: Array<ToolDefinition>, toolsRemoved?: Array<ToolReference>, timestamp: number, };

export type TextBlock = { text: string, 
/**
 * Opaque: the provider gets it back as it came.
 */
textSignature?: string, };

export type ThinkingBlock = { thinking: string, 
/**
 * Opaque: the provider gets it back as it came.
 */
thinkingSignature?: string, 
/**
 * The provider withheld the text; only the signature has meaning.
 */
redacted?: boolean, };

/**
 * How hard a model may think, from not at all to as hard as it can.
 */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/**
 * From here on the model thinks harder, or less hard.
 */
export type ThinkingLevelChange = { thinkingLevel: Open<ThinkingLevel>, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

/**
 * Tokens of all model calls of a session.
 */
export type TokenTotals = { input: number, output: number, cacheRead: number, cacheWrite: number, total: number, };

/**
 * A number of tokens, and how it is known.
 */
export type Tokens = { count: number, how: Counted, };

export type ToolCall = { id: ToolCallId, name: string, arguments: { [key in string]: JsonValue }, 
/**
 * Opaque: the provider gets it back as it came.
 */
thoughtSignature?: string, namespace?: string, };

/**
 * A tool call, as the model's provider names it.
 */
export type ToolCallId = string;

/**
 * A tool as it is offered to a model.
 */
export type ToolDefinition = { name: string, description: string, 
/**
 * A JSON Schema of the arguments.
 */
parameters: JsonValue, };

export type ToolItem = { name: string, description: string, 
/**
 * The parameters in a form that people read.
 */
parameters: string, 
/**
 * The parameters as a JSON Schema.
 */
schema?: { [key in string]: JsonValue }, };

/**
 * To `get_tools`.
 */
export type ToolList = { tools: Array<ListedTool>, };

/**
 * What a tool returns.
 */
export type ToolOutput = { content: Array<Block>, 
/**
 * For people and programs, never for the model.
 */
details?: JsonValue, };

export type ToolReference = { name: string, };

export type ToolResultMessage = { toolCallId: ToolCallId, toolName: string, content: Array<Block>, 
/**
 * For people and programs, never for the model.
 */
details?: JsonValue, isError: boolean, timestamp: number, 
/**
 * What model calls made by the tool consumed.
 */
usage?: Usage, nestedCalls?: JsonValue, 
/**
 * Ours: how long the call took.
 */
durationMs?: number, 
/**
 * Ours: who did not allow the call, if somebody did not.
 */
deniedBy?: Open<DeniedBy>, };

export type Transport = "websocket" | "stdio";

export type TreeNode = { entryId: EntryId, parentId: EntryId | null, 
/**
 * The entry's type, as in the session file.
 */
entryType: string, 
/**
 * The role of a message.
 */
role: string | null, 
/**
 * Its beginning.
 */
text: string, 
/**
 * ISO 8601.
 */
timestamp: string | null, label?: string, };

/**
 * How far the writer of a text is trusted.
 */
export type Trust = "trusted" | "project" | "derived" | "untrusted";

/**
 * To `unsubscribe`.
 */
export type Unsubscribed = { 
/**
 * Whether there was a subscription.
 */
unsubscribed: boolean, };

/**
 * Tokens and money of one model call.
 */
export type Usage = { 
/**
 * Tokens sent that no cache held.
 */
input: number, output: number, cacheRead: number, cacheWrite: number, 
/**
 * The part of `cache_write` that is kept for an hour.
 */
cacheWrite1h?: number, 
/**
 * The part of `output` that was thinking.
 */
reasoning?: number, 
/**
 * As the provider counts; the first files did not have it.
 */
totalTokens?: number, cost: Cost, };

/**
 * A model call that left no message behind.
 */
export type UsageEntry = { 
/**
 * What the call was for.
 */
kind: string, provider: ProviderId, model: ModelId, usage: Usage, id: EntryId, 
/**
 * `null` for a root.
 */
parentId: EntryId | null, 
/**
 * ISO 8601.
 */
timestamp: string, };

export type UserMessage = { content: Content, timestamp: number, };

/**
 * What a session begins with if nobody says otherwise, as it was when the connection was made.
 */
export type Usual = { 
/**
 * The folder in which the agent works.
 */
cwd: string, 
/**
 * Who answers, as `provider/model`.
 */
model?: string, };

/**
 * The version of the format; there is one.
 */
export type Version = "1.0";

export type VersionMetrics = { sessionCount: number, };

export type What = "added" | "removed" | "changed" | "moved" | "unchanged";

export type WidgetPlacement = "aboveEditor" | "belowEditor";
