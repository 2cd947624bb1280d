//! What an extension can ask of its host.

use crate::{
    Command, CommandOutput, DirectoryEntry, FileInfo, HostError, HostToolOutput, Level, NoticeLevel, Request, Response,
    SessionState, WriteMode,
};

/// The connectors that most extensions need; [`crate::bindings`] has the rest. Every call may be denied.
///
/// Implemented by [`crate::Component`] for extensions that run, and by [`crate::testing::TestHost`] for those under test.
pub trait Host {
    fn read(&self, path: &str) -> Result<Vec<u8>, HostError>;
    fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>, HostError>;
    /// Nothing if nothing is there.
    fn stat(&self, path: &str) -> Result<Option<FileInfo>, HostError>;
    fn write(&self, path: &str, content: &[u8], mode: WriteMode) -> Result<(), HostError>;
    /// Runs a program to its end, without a shell.
    fn run(&self, command: &Command) -> Result<CommandOutput, HostError>;
    fn fetch(&self, request: &Request) -> Result<Response, HostError>;
    /// A tool of the host or of another extension; `input` is JSON.
    fn use_tool(&self, name: &str, input: &str) -> Result<HostToolOutput, HostError>;
    fn session_state(&self) -> Result<SessionState, HostError>;
    fn notify(&self, message: &str, level: NoticeLevel) -> Result<(), HostError>;
    /// Asks a person; false if nobody answers.
    fn confirm(&self, title: &str, message: &str) -> Result<bool, HostError>;
    /// Nothing if it is not set.
    fn variable(&self, name: &str) -> Result<Option<String>, HostError>;
    fn log(&self, level: Level, event: &str, message: &str) -> Result<(), HostError>;
}
