//! The host of an extension that runs: its imports.

use crate::{
    Command, CommandOutput, DirectoryEntry, FileInfo, Host, HostError, HostToolOutput, Level, NoticeLevel, Request,
    Response, SessionState, WriteMode,
    bindings::pi::extension::{env, exec, fs, http, log, session, tool, ui},
};

/// What this component imports. It can be used where a component runs, and nowhere else.
#[derive(Debug, Clone, Copy)]
pub struct Component;

impl Host for Component {
    fn read(&self, path: &str) -> Result<Vec<u8>, HostError> {
        fs::read(path, None, None)
    }

    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, HostError> {
        fs::list(path)
    }

    fn stat(&self, path: &str) -> Result<Option<FileInfo>, HostError> {
        fs::stat(path, true)
    }

    fn write(&self, path: &str, content: &[u8], mode: WriteMode) -> Result<(), HostError> {
        fs::write(path, content, mode)
    }

    fn run(&self, command: &Command) -> Result<CommandOutput, HostError> {
        exec::run(command)
    }

    fn fetch(&self, request: &Request) -> Result<Response, HostError> {
        http::fetch(request)
    }

    fn use_tool(&self, name: &str, input: &str) -> Result<HostToolOutput, HostError> {
        tool::use_(name, input)
    }

    fn session_state(&self) -> Result<SessionState, HostError> {
        session::get_state()
    }

    fn notify(&self, message: &str, level: NoticeLevel) -> Result<(), HostError> {
        ui::notify(message, level)
    }

    fn confirm(&self, title: &str, message: &str) -> Result<bool, HostError> {
        ui::confirm(title, message, None)
    }

    fn variable(&self, name: &str) -> Result<Option<String>, HostError> {
        env::get(name)
    }

    fn log(&self, level: Level, event: &str, message: &str) -> Result<(), HostError> {
        log::write(level, event, message, None)
    }
}
