//! A host for unit tests: files in memory, programs that answer what a test says, and a list of what was asked.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    Command, CommandOutput, DirectoryEntry, ErrorCode, ErrorReport, Extension, FileInfo, FileKind, Host, HostError,
    HostToolOutput, Level, NoticeLevel, Outcome, Register, Request, Response, SessionState, ToolCall, ToolResult,
    WriteMode,
    bindings::pi::extension::{
        session::{SessionMode, ThinkingLevel},
        streams::Exit,
    },
    hooks::{Event, ToolCallEvent},
};

/// A host whose files and answers a test writes down.
#[derive(Default)]
pub struct TestHost {
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    programs: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    denied: BTreeSet<String>,
    consents: bool,
    asked: RefCell<Vec<String>>,
}

impl TestHost {
    /// An empty project, where everything is allowed and nobody consents to anything.
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn file(self, path: &str, content: &str) -> Self {
        self.files.borrow_mut().insert(path.to_owned(), content.as_bytes().to_vec());
        self
    }

    /// A program whose every call prints this.
    #[must_use]
    pub fn program(mut self, name: &str, prints: &str) -> Self {
        self.programs.insert(name.to_owned(), prints.to_owned());
        self
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Denies a connector: `fs`, `exec`, `http`, `tool`, `session`, `ui`, `env` or `log`.
    #[must_use]
    pub fn denies(mut self, connector: &str) -> Self {
        self.denied.insert(connector.to_owned());
        self
    }

    /// Somebody who says yes to every question.
    #[must_use]
    pub fn consents(mut self) -> Self {
        self.consents = true;
        self
    }

    /// What was asked, in order, one line each.
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().clone()
    }

    /// What a file holds.
    pub fn content(&self, path: &str) -> Option<String> {
        self.files.borrow().get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn ask(&self, connector: &str, what: String) -> Result<(), HostError> {
        self.asked.borrow_mut().push(format!("{connector} {what}"));
        match self.denied.contains(connector) {
            true => Err(fault(ErrorCode::Denied, format!("{connector} is denied"))),
            false => Ok(()),
        }
    }
}

fn fault(code: ErrorCode, message: impl Into<String>) -> HostError {
    HostError { code, message: message.into(), details: None, retryable: None }
}

/// A path without `./` at its beginning, and empty for the project itself.
fn plain(path: &str) -> &str {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path == "." { "" } else { path }
}

impl Host for TestHost {
    fn read(&self, path: &str) -> Result<Vec<u8>, HostError> {
        self.ask("fs", format!("read {path}"))?;
        let files = self.files.borrow();
        files.get(plain(path)).cloned().ok_or_else(|| fault(ErrorCode::Io, format!("ENOENT: {path}")))
    }

    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, HostError> {
        self.ask("fs", format!("list {path}"))?;
        let folder = plain(path);
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = BTreeMap::new();
        for file in self.files.borrow().keys() {
            if let Some(rest) = file.strip_prefix(&prefix) {
                match rest.split_once('/') {
                    Some((folder, _)) => entries.insert(folder.to_owned(), FileKind::Directory),
                    None => entries.insert(rest.to_owned(), FileKind::File),
                };
            }
        }
        match entries.is_empty() && !folder.is_empty() {
            true => Err(fault(ErrorCode::Io, format!("ENOENT: {path}"))),
            false => Ok(entries.into_iter().map(|(name, kind)| DirectoryEntry { name, kind }).collect()),
        }
    }

    fn stat(&self, path: &str) -> Result<Option<FileInfo>, HostError> {
        self.ask("fs", format!("stat {path}"))?;
        let files = self.files.borrow();
        let path = plain(path);
        let info = |kind, size| FileInfo { kind, size, modified_ms: None, mode: None };
        if let Some(bytes) = files.get(path) {
            return Ok(Some(info(FileKind::File, bytes.len() as u64)));
        }
        let is_folder = path.is_empty() || files.keys().any(|file| file.starts_with(&format!("{path}/")));
        Ok(is_folder.then(|| info(FileKind::Directory, 0)))
    }

    fn write(&self, path: &str, content: &[u8], mode: WriteMode) -> Result<(), HostError> {
        self.ask("fs", format!("write {path}"))?;
        let mut files = self.files.borrow_mut();
        if mode == WriteMode::CreateNew && files.contains_key(plain(path)) {
            return Err(fault(ErrorCode::Io, format!("EEXIST: {path}")));
        }
        files.insert(plain(path).to_owned(), content.to_vec());
        Ok(())
    }

    fn run(&self, command: &Command) -> Result<CommandOutput, HostError> {
        self.ask("exec", format!("{} {}", command.command, command.args.join(" ")))?;
        let prints = self.programs.get(&command.command);
        let prints = prints.ok_or_else(|| fault(ErrorCode::Io, format!("ENOENT: {}", command.command)))?;
        let exit = Exit { code: Some(0), killed: false };
        Ok(CommandOutput { stdout: prints.clone().into_bytes(), stderr: Vec::new(), exit, truncated: false })
    }

    fn fetch(&self, request: &Request) -> Result<Response, HostError> {
        self.ask("http", format!("{} {}", request.method, request.url))?;
        Err(fault(ErrorCode::Io, "there is no network in a test"))
    }

    fn use_tool(&self, name: &str, input: &str) -> Result<HostToolOutput, HostError> {
        self.ask("tool", format!("{name} {input}"))?;
        Err(fault(ErrorCode::InvalidRequest, format!("there is no tool {name}")))
    }

    fn session_state(&self) -> Result<SessionState, HostError> {
        self.ask("session", "state".to_owned())?;
        Ok(SessionState {
            session_id: "test".to_owned(),
            file: None,
            folder: None,
            name: None,
            leaf_id: None,
            cwd: "/project".to_owned(),
            model: None,
            model_info: None,
            thinking_level: ThinkingLevel::Off,
            is_idle: true,
            has_pending_messages: false,
            mode: SessionMode::Print,
            has_ui: self.consents,
            is_project_trusted: true,
            context_usage: None,
        })
    }

    fn notify(&self, message: &str, _: NoticeLevel) -> Result<(), HostError> {
        self.ask("ui", format!("notify {message}"))
    }

    fn confirm(&self, title: &str, message: &str) -> Result<bool, HostError> {
        self.ask("ui", format!("confirm {title}: {message}"))?;
        Ok(self.consents)
    }

    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        self.ask("env", name.to_owned())?;
        Ok(self.variables.get(name).cloned())
    }

    fn log(&self, _: Level, event: &str, message: &str) -> Result<(), HostError> {
        self.ask("log", format!("{event} {message}"))
    }
}

/// An extension that has registered, at its host.
pub struct Stage<E> {
    pub extension: E,
    pub host: TestHost,
    pub registered: Register,
}

impl<E: Extension> Stage<E> {
    /// Panics if the extension does not register.
    pub fn new(host: TestHost) -> Self {
        let mut extension = E::default();
        let registered = extension.register().expect("the extension registers");
        Self { extension, host, registered }
    }

    /// Calls a tool with this JSON.
    pub fn call(&mut self, name: &str, input: &serde_json::Value) -> Result<ToolResult, ErrorReport> {
        let call =
            ToolCall { call_id: "test".to_owned(), name: name.to_owned(), input: input.to_string(), context: None };
        self.extension.call_tool(&self.host, call)
    }

    /// What it thinks of a tool call of the model.
    pub fn judge(&mut self, tool: &str, input: &serde_json::Value) -> Result<Outcome, ErrorReport> {
        let event =
            ToolCallEvent { tool_name: tool.to_owned(), tool_call_id: "test".to_owned(), input: input.to_string() };
        self.extension.handle_event(&self.host, Event::ToolCall(event))
    }
}

/// The text of an answer.
pub fn text(result: &ToolResult) -> String {
    let text = |block: &crate::ContentBlock| match block {
        crate::ContentBlock::Text(text) => text.clone(),
        crate::ContentBlock::Image(image) => format!("[{}]", image.mime_type),
    };
    result.output.content.iter().map(text).collect::<Vec<_>>().join("\n")
}
