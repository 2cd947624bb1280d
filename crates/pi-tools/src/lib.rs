//! The built-in tools of the agent: read, write, edit, bash, grep, find, ls.
//!
//! Each tool is one file with its definition beside it in `definitions/`. Files and processes are reached through two
//! seams, [`files`] and [`process`], that take a grant of `pi-policy`, so a tool cannot skip the decision about its scope.
//! Tools decide nothing about permissions themselves, and they know neither sessions nor extensions: those call them.
//!
//! Start with [`Tool`] and [`Call`], then [`spell`], [`request`] and [`Registry`].

pub mod arguments;
pub mod files;
pub mod process;
pub mod truncate;

mod bash;
mod edit;
mod environment;
mod find;
mod grep;
mod ls;
mod mask;
mod notice;
mod path;
mod progress;
mod read;
mod registry;
mod shell_watch;
mod spill;
mod tool;
mod tree;
mod workspace;
mod write;

pub use self::{
    bash::{BashExecution, run_command},
    environment::{Environment, Withheld},
    progress::{Progress, Reports, progress},
    read::{Picture, picture},
    registry::{DEFAULT_ACTIVE, Registry},
    shell_watch::{ShellEnd, ShellPass, ShellWatch},
    spill::{OutputFault, keep_whole},
    tool::{Arguments, Call, Definition, Failure, Output, Tool},
    workspace::{Images, Settings, Shell, Workspace, request, spell},
};
