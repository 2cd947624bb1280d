//! Watching over the shell that models use: somebody may refuse commands for a while, and hears how each ended.

use std::fmt;

/// How a shell command ended, as far as the shell is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellEnd {
    /// By itself, with whatever exit code.
    Exited,
    TimedOut,
    /// It was not started, or could not be followed to its end.
    Broken,
    /// Somebody stopped it.
    Aborted,
}

/// Takes the end of a command. Dropped without one, the command was aborted.
pub type ShellPass = Box<dyn FnOnce(ShellEnd) + Send>;

/// Watches over shell commands. It cuts the way from tools to the server that implements it.
pub trait ShellWatch: fmt::Debug + Send + Sync {
    /// Leave to run one command, or why not, in words for the model.
    fn admit(&self) -> Result<ShellPass, String>;
}
