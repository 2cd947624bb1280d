//! What an extension can ask of its host.

use crate::{
    Chunk, Command, CommandInfo, CommandOutput, ContentBlock, Credential, Delivery, DirectoryEntry, EntrySelection,
    FieldAnswer, FileInfo, ForkPoint, FormField, HostError, HostToolOutput, Level, ModelInfo, ModelName, NoticeLevel,
    Placement, Request, Response, SessionState, StreamItem, ThinkingLevel, ToolInfo, WriteMode,
};

/// Every connector of the package. Every call may be denied. Texts that are called JSON are JSON.
///
/// Implemented by [`crate::Component`] for extensions that run, and by [`crate::testing::TestHost`] for those under test.
/// A component imports what it uses of this, and nothing else.
pub trait Host {
    /// Output of work that goes on.
    type Stream: Stream;

    // Files.
    fn read(&self, path: &str) -> Result<Vec<u8>, HostError>;
    /// At most `limit` bytes from `offset` on.
    fn read_part(&self, path: &str, offset: u64, limit: u64) -> Result<Vec<u8>, HostError>;
    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, HostError>;
    /// Nothing if nothing is there. Of a link, what it leads to.
    fn stat(&self, path: &str) -> Result<Option<FileInfo>, HostError>;
    /// The same of a link itself.
    fn stat_link(&self, path: &str) -> Result<Option<FileInfo>, HostError>;
    /// The path without links, `.` and `..`.
    fn resolve(&self, path: &str) -> Result<String, HostError>;
    fn write(&self, path: &str, content: &[u8], mode: WriteMode) -> Result<(), HostError>;
    /// Adds to the end of a file, making it if there is none.
    fn append(&self, path: &str, content: &[u8]) -> Result<(), HostError>;
    /// Makes a folder in one that is there.
    fn make_directory(&self, path: &str) -> Result<(), HostError>;
    /// The same with those around it; one that is there already is fine.
    fn make_directories(&self, path: &str) -> Result<(), HostError>;
    /// An empty folder with a new name, in the extension's temporary folder.
    fn make_temporary(&self, prefix: &str) -> Result<String, HostError>;
    /// Removes a file or an empty folder.
    fn remove(&self, path: &str) -> Result<(), HostError>;
    /// The same with everything in it.
    fn remove_all(&self, path: &str) -> Result<(), HostError>;
    /// Moves a file or folder, replacing a file at `to`.
    fn rename(&self, from: &str, to: &str) -> Result<(), HostError>;
    fn set_mode(&self, path: &str, mode: u32) -> Result<(), HostError>;

    // Processes, other machines, tools.
    /// Runs a program to its end, without a shell.
    fn run(&self, command: &Command) -> Result<CommandOutput, HostError>;
    /// The same, with its output while it runs.
    fn start(&self, command: &Command) -> Result<Self::Stream, HostError>;
    fn fetch(&self, request: &Request) -> Result<Response, HostError>;
    /// The same, with the body as it arrives.
    fn open(&self, request: &Request) -> Result<Self::Stream, HostError>;
    /// A tool of the host or of another extension; `input` is JSON.
    fn use_tool(&self, name: &str, input: &str) -> Result<HostToolOutput, HostError>;

    // The conversation, to look at.
    fn session_state(&self) -> Result<SessionState, HostError>;
    fn system_prompt(&self) -> Result<String, HostError>;
    /// The first line of the session file, as JSON.
    fn session_header(&self) -> Result<String, HostError>;
    /// Entries as they stand in a session file, as JSON.
    fn entries(&self, selection: EntrySelection) -> Result<Vec<String>, HostError>;
    fn entry(&self, id: &str) -> Result<Option<String>, HostError>;
    fn label(&self, entry: &str) -> Result<Option<String>, HostError>;
    fn tools(&self) -> Result<Vec<ToolInfo>, HostError>;
    fn commands(&self) -> Result<Vec<CommandInfo>, HostError>;
    fn models(&self) -> Result<Vec<ModelInfo>, HostError>;

    // The conversation, to act on.
    /// Adds an entry that the model does not see; `data` is JSON. Returns its id.
    fn append_entry(&self, custom_type: &str, data: Option<&str>) -> Result<String, HostError>;
    fn send_message(&self, message: &OwnMessage) -> Result<(), HostError>;
    /// Speaks in the user's place, as it stands. Always a turn.
    fn send_user_message(&self, content: &[ContentBlock], delivery: Delivery) -> Result<(), HostError>;
    /// The same, with skills and templates expanded as if a person had typed it.
    fn send_prompt(&self, content: &[ContentBlock], delivery: Delivery) -> Result<(), HostError>;
    fn set_name(&self, name: &str) -> Result<(), HostError>;
    /// Nothing removes it.
    fn set_label(&self, entry: &str, label: Option<&str>) -> Result<(), HostError>;
    /// Names that do not exist are ignored.
    fn set_active_tools(&self, names: &[String]) -> Result<(), HostError>;
    /// False without a key for the provider.
    fn set_model(&self, provider: &str, model: &str) -> Result<bool, HostError>;
    /// Returns what it became.
    fn set_thinking_level(&self, level: ThinkingLevel) -> Result<ThinkingLevel, HostError>;
    /// A model call of the extension's own; it needs no key. Returns the assistant message, as JSON.
    fn complete(&self, completion: &Completion) -> Result<String, HostError>;
    /// Returns what was compacted, as JSON.
    fn compact(&self, instructions: Option<&str>) -> Result<String, HostError>;
    fn abort(&self) -> Result<(), HostError>;
    /// What the extension offers has changed.
    fn registration_changed(&self) -> Result<(), HostError>;
    /// Ends the program in good order; whoever owns the session may refuse.
    fn quit(&self) -> Result<(), HostError>;

    // The conversation, to leave it: only for slash commands. False if another extension objected.
    fn wait_for_idle(&self) -> Result<(), HostError>;
    fn new_session(&self, parent: Option<&str>) -> Result<bool, HostError>;
    fn fork(&self, entry: &str, position: ForkPoint) -> Result<bool, HostError>;
    fn navigate(&self, navigation: &Navigation) -> Result<bool, HostError>;
    fn switch_session(&self, path: &str) -> Result<bool, HostError>;
    /// Loads the extensions anew.
    fn reload(&self) -> Result<bool, HostError>;

    // A person. Questions without an answer, or dismissed, give nothing; after `timeout_ms` they are a `timeout`.
    fn notify(&self, message: &str, level: NoticeLevel) -> Result<(), HostError>;
    /// Asks for yes or no; false if nobody answers.
    fn confirm(&self, title: &str, message: &str) -> Result<bool, HostError>;
    fn confirm_within(&self, title: &str, message: &str, timeout_ms: u64) -> Result<bool, HostError>;
    /// One of the options.
    fn select(&self, title: &str, options: &[String], timeout_ms: Option<u64>) -> Result<Option<String>, HostError>;
    /// One line.
    fn input(
        &self,
        title: &str,
        placeholder: Option<&str>,
        timeout_ms: Option<u64>,
    ) -> Result<Option<String>, HostError>;
    /// Several lines.
    fn editor(&self, title: &str, prefill: Option<&str>, timeout_ms: Option<u64>) -> Result<Option<String>, HostError>;
    /// Several questions at once. Answers by the id of the question.
    fn interview(
        &self,
        title: Option<&str>,
        questions: &[FormField],
        timeout_ms: Option<u64>,
    ) -> Result<Option<Vec<(String, FieldAnswer)>>, HostError>;
    /// A short text in the status line; nothing removes it.
    fn set_status(&self, key: &str, text: Option<&str>) -> Result<(), HostError>;
    /// Lines beside the editor; nothing removes them.
    fn set_widget(&self, key: &str, lines: Option<&[String]>, placement: Placement) -> Result<(), HostError>;
    fn set_title(&self, title: &str) -> Result<(), HostError>;
    /// What is shown while the agent works; nothing restores the usual text.
    fn set_working_message(&self, text: Option<&str>) -> Result<(), HostError>;
    fn set_editor_text(&self, text: &str) -> Result<(), HostError>;
    fn editor_text(&self) -> Result<Option<String>, HostError>;

    // Other extensions, and news of tools.
    /// Says something to every extension that listens; `data` is JSON.
    fn emit(&self, channel: &str, data: &str) -> Result<(), HostError>;
    /// What others say there arrives as the event `bus`.
    fn subscribe(&self, channel: &str) -> Result<(), HostError>;
    fn unsubscribe(&self, channel: &str) -> Result<(), HostError>;
    /// What the tool call that is being answered has found so far: all of it, not the difference.
    fn tool_update(&self, call_id: &str, content: &[ContentBlock], details: Option<&str>) -> Result<(), HostError>;

    // Surroundings.
    /// Nothing if it is not set.
    fn variable(&self, name: &str) -> Result<Option<String>, HostError>;
    /// The names that may be read and are set.
    fn variables(&self) -> Result<Vec<String>, HostError>;
    /// The raw key of a provider; denied unless somebody granted it.
    fn credential(&self, provider: &str) -> Result<Credential, HostError>;
    fn log(&self, level: Level, event: &str, message: &str) -> Result<(), HostError>;
    /// The same with more; `data` is JSON.
    fn log_with(&self, level: Level, event: &str, message: &str, data: &str) -> Result<(), HostError>;
}

/// The output of work that goes on. Nothing is sent before it is asked for, so a slow reader slows the work. Dropping it ends
/// the work.
pub trait Stream {
    /// Waits for the next item. After the last one, or an error, it is an `invalid-request` to ask again.
    fn next(&self) -> Result<(Chunk, StreamItem), HostError>;
    /// Ends the work, now and for good.
    fn cancel(&self);
}

/// A message of the extension's own type.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnMessage {
    pub custom_type: String,
    pub content: Vec<ContentBlock>,
    /// Whether people see it.
    pub display: bool,
    /// JSON.
    pub details: Option<String>,
    pub delivery: Delivery,
    /// Whether it starts a run if there is none.
    pub trigger_turn: bool,
}

/// A model call of the extension's own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completion {
    /// That of the conversation, unless given.
    pub model: Option<ModelName>,
    pub system_prompt: Option<String>,
    /// As they stand in a session file, as JSON.
    pub messages: Vec<String>,
    /// As JSON.
    pub tools: Option<Vec<String>>,
    pub max_tokens: Option<u64>,
    pub thinking_level: Option<ThinkingLevel>,
}

/// Another place in the tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Navigation {
    pub entry: String,
    /// Whether what is left behind is summarised.
    pub summarize: bool,
    pub instructions: Option<String>,
    /// Whether the instructions take the place of the usual ones.
    pub replace_instructions: bool,
    pub label: Option<String>,
}
