//! What an extension is, and short ways to say what it answers.

use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;

use crate::{
    CommandDefinition, ContentBlock, ErrorReport, Event, Host, Outcome, Register, SlashCommand, SlashResult, ToolCall,
    ToolDefinition, ToolOutput, ToolResult,
};

/// An extension. What it keeps in itself stays between calls, as long as it does not trap.
///
/// Functions are generic over [`Host`] so that a component imports only what is used, and so that tests bring their own.
pub trait Extension: Default + Send + 'static {
    /// Who it is and what it offers. Called first and once; the host cannot be asked for anything yet.
    fn register(&mut self) -> Result<Register, ErrorReport>;

    /// Runs one of its tools.
    fn call_tool<H: Host>(&mut self, host: &H, call: ToolCall) -> Result<ToolResult, ErrorReport> {
        let _ = host;
        Err(failed("not_offered", format!("there is no tool {}", call.name)))
    }

    /// Runs one of its slash commands.
    fn run_command<H: Host>(&mut self, host: &H, command: SlashCommand) -> Result<SlashResult, ErrorReport> {
        let _ = host;
        Err(failed("not_offered", format!("there is no command {}", command.name)))
    }

    /// Says what it thinks of an event that it asked for.
    fn handle_event<H: Host>(&mut self, host: &H, event: Event) -> Result<Outcome, ErrorReport> {
        let _ = (host, event);
        Ok(Outcome::Notice)
    }

    /// Called last and once, with little time.
    fn shutdown<H: Host>(&mut self, host: &H) {
        let _ = host;
    }
}

/// A registration that offers nothing yet.
pub fn register(name: &str, version: &str) -> Register {
    Register {
        name: name.to_owned(),
        version: version.to_owned(),
        api_version: "1.0".to_owned(),
        capabilities: None,
        capability_manifest: None,
        tools: None,
        slash_commands: None,
        event_hooks: None,
    }
}

/// A tool; `parameters` is the JSON Schema of its input.
pub fn tool(name: &str, description: &str, parameters: &serde_json::Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        label: None,
        description: description.to_owned(),
        parameters: parameters.to_string(),
        prompt_snippet: None,
        execution_mode: None,
    }
}

/// A slash command, without the slash.
pub fn command(name: &str, description: &str) -> CommandDefinition {
    CommandDefinition { name: name.to_owned(), description: Some(description.to_owned()) }
}

/// The input of a call, typed.
pub fn input<T: DeserializeOwned>(call: &ToolCall) -> Result<T, ErrorReport> {
    serde_json::from_str(&call.input).map_err(|error| failed("bad_input", error.to_string()))
}

/// An answer of a tool that is a text.
pub fn said(text: impl Into<String>) -> ToolResult {
    ToolResult { output: ToolOutput { content: vec![ContentBlock::Text(text.into())], details: None }, is_error: false }
}

/// Why something could not be done.
pub fn failed(code: &str, message: impl Into<String>) -> ErrorReport {
    ErrorReport { code: code.to_owned(), message: message.into(), details: None }
}

/// Where the one extension of a component is kept.
pub struct Cell<E>(Mutex<Option<E>>);

impl<E: Default> Cell<E> {
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The host calls one function at a time, so nobody waits here.
    pub fn with<T>(&self, work: impl FnOnce(&mut E) -> T) -> T {
        work(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
    }
}

impl<E: Default> Default for Cell<E> {
    fn default() -> Self {
        Self::new()
    }
}
