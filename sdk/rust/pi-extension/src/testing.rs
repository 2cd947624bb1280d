//! A host for unit tests: files in memory, everything else answers what a test says, and a list of what was asked.

mod answers;
mod stream;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
};

use crate::{
    ContentBlock, Credential, ErrorCode, ErrorReport, Event, Extension, FieldAnswer, Header, HostError, HostToolOutput,
    Outcome, Register, Response, ResponseHead, SessionMode, SessionState, SlashCommand, SlashResult, ThinkingLevel,
    ToolCall, ToolResult, hooks::ToolCallEvent,
};

pub use self::stream::TestStream;

/// A host whose files and answers a test writes down. What no test prepared is refused, with a word about what is missing.
pub struct TestHost {
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    programs: BTreeMap<String, String>,
    pages: BTreeMap<String, Response>,
    tools: BTreeMap<String, HostToolOutput>,
    variables: BTreeMap<String, String>,
    keys: BTreeMap<String, Credential>,
    denied: BTreeSet<String>,
    consents: bool,
    /// By the title of the question.
    answers: BTreeMap<String, String>,
    forms: BTreeMap<String, Vec<(String, FieldAnswer)>>,
    completions: RefCell<VecDeque<String>>,
    entries: RefCell<Vec<String>>,
    labels: RefCell<BTreeMap<String, String>>,
    system_prompt: String,
    editor: RefCell<Option<String>>,
    state: RefCell<SessionState>,
    asked: RefCell<Vec<String>>,
}

impl Default for TestHost {
    fn default() -> Self {
        Self {
            files: RefCell::default(),
            programs: BTreeMap::new(),
            pages: BTreeMap::new(),
            tools: BTreeMap::new(),
            variables: BTreeMap::new(),
            keys: BTreeMap::new(),
            denied: BTreeSet::new(),
            consents: false,
            answers: BTreeMap::new(),
            forms: BTreeMap::new(),
            completions: RefCell::default(),
            entries: RefCell::default(),
            labels: RefCell::default(),
            system_prompt: String::new(),
            editor: RefCell::default(),
            state: RefCell::new(state()),
            asked: RefCell::default(),
        }
    }
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

    /// What another machine answers to every request for a URL.
    #[must_use]
    pub fn page(mut self, url: &str, status: u16, body: &str) -> Self {
        let head = ResponseHead { status, url: url.to_owned(), headers: Vec::new() };
        self.pages.insert(url.to_owned(), Response { head, body: body.as_bytes().to_vec() });
        self
    }

    /// The same, with all of the response.
    #[must_use]
    pub fn response(mut self, url: &str, response: Response) -> Self {
        self.pages.insert(url.to_owned(), response);
        self
    }

    /// A tool of somebody else that always says this.
    #[must_use]
    pub fn tool(self, name: &str, says: &str) -> Self {
        let content = vec![ContentBlock::Text(says.to_owned())];
        self.tool_output(name, HostToolOutput { content, details: None, is_error: false })
    }

    /// The same, with all of the output.
    #[must_use]
    pub fn tool_output(mut self, name: &str, output: HostToolOutput) -> Self {
        self.tools.insert(name.to_owned(), output);
        self
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The raw key of a provider.
    #[must_use]
    pub fn key(mut self, provider: &str, key: &str) -> Self {
        let headers: Vec<Header> = Vec::new();
        self.keys.insert(provider.to_owned(), Credential { api_key: Some(key.to_owned()), headers });
        self
    }

    /// Denies a connector: `fs`, `exec`, `http`, `tool`, `session`, `ui`, `events`, `env`, `credentials` or `log`.
    #[must_use]
    pub fn denies(mut self, connector: &str) -> Self {
        self.denied.insert(connector.to_owned());
        self
    }

    /// Somebody who says yes to every question that wants yes or no.
    #[must_use]
    pub fn consents(mut self) -> Self {
        self.consents = true;
        self.state.borrow_mut().has_ui = true;
        self
    }

    /// Somebody who answers the question of this title, be it a choice, a line or a text. All others are dismissed.
    #[must_use]
    pub fn answers(mut self, title: &str, answer: &str) -> Self {
        self.answers.insert(title.to_owned(), answer.to_owned());
        self
    }

    /// The same for several questions at once.
    #[must_use]
    pub fn fills_in(mut self, title: &str, answers: Vec<(String, FieldAnswer)>) -> Self {
        self.forms.insert(title.to_owned(), answers);
        self
    }

    /// What a model says, as JSON: the first to the first call of [`crate::Host::complete`], the second to the next.
    #[must_use]
    pub fn completes(self, message: &str) -> Self {
        self.completions.borrow_mut().push_back(message.to_owned());
        self
    }

    /// An entry of the session, as JSON.
    #[must_use]
    pub fn entry(self, entry: &str) -> Self {
        self.entries.borrow_mut().push(entry.to_owned());
        self
    }

    #[must_use]
    pub fn system_prompt(mut self, text: &str) -> Self {
        text.clone_into(&mut self.system_prompt);
        self
    }

    /// Another state of the session.
    #[must_use]
    pub fn state(self, change: impl FnOnce(&mut SessionState)) -> Self {
        change(&mut self.state.borrow_mut());
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

fn state() -> SessionState {
    SessionState {
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
        has_ui: false,
        is_project_trusted: true,
        context_usage: None,
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

    /// Runs a slash command with these arguments.
    pub fn command(&mut self, name: &str, arguments: &[&str]) -> Result<SlashResult, ErrorReport> {
        let args = Some(arguments.iter().map(|it| (*it).to_owned()).collect());
        self.extension.run_command(&self.host, SlashCommand { name: name.to_owned(), args, input: None })
    }

    /// Lets it hear an event, and gives its answer.
    pub fn hear(&mut self, event: Event) -> Result<Outcome, ErrorReport> {
        self.extension.handle_event(&self.host, event)
    }

    /// What it thinks of a tool call of the model.
    pub fn judge(&mut self, tool: &str, input: &serde_json::Value) -> Result<Outcome, ErrorReport> {
        let event =
            ToolCallEvent { tool_name: tool.to_owned(), tool_call_id: "test".to_owned(), input: input.to_string() };
        self.hear(Event::ToolCall(event))
    }
}

/// The text of an answer.
pub fn text(result: &ToolResult) -> String {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.clone(),
        ContentBlock::Image(image) => format!("[{}]", image.mime_type),
    };
    result.output.content.iter().map(text).collect::<Vec<_>>().join("\n")
}
