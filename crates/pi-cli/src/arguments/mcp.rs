//! The words of `pi mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};

/// One file a command in `command/mcp/`.
#[derive(Subcommand)]
pub(crate) enum McpCommand {
    /// Write a server into mcp.json
    Add(McpAddArguments),
    /// List the servers that sessions of this folder have
    List(McpListArguments),
    /// Connect to servers and show their tools, what those cost in tokens, and how long it took
    Test(McpTestArguments),
    /// Take a server out of mcp.json
    Remove(McpRemoveArguments),
}

#[derive(Args)]
pub(crate) struct McpAddArguments {
    /// What to call it: letters, digits, '-', '_' and '.'
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// A URL, or a program with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "URL|COMMAND")]
    pub(crate) target: Vec<String>,
    /// A variable of its environment; ${NAME} stands for one of yours
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header of every request
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The folder in which it runs [default: the project]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// How long a call may take without a sign of progress, in milliseconds
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// For everybody who works on this project, in .mcp.json
    #[arg(long)]
    pub(crate) project: bool,
    /// Replace one of the same name
    #[arg(long)]
    pub(crate) force: bool,
    /// Print what was written, as an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct McpListArguments {
    /// Print the servers, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct McpTestArguments {
    /// The servers [default: all that are not switched off]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Agree to what changed in the servers named: an entry of the project, tools described otherwise than before
    #[arg(long)]
    pub(crate) accept: bool,
    /// Print what was found, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct McpRemoveArguments {
    /// The name of the server
    pub(crate) name: String,
    /// The one of the project
    #[arg(long)]
    pub(crate) project: bool,
    /// Print what was done, as an object
    #[arg(long)]
    pub(crate) json: bool,
}

impl McpCommand {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            McpCommand::Add(arguments) => arguments.json,
            McpCommand::List(arguments) => arguments.json,
            McpCommand::Test(arguments) => arguments.json,
            McpCommand::Remove(arguments) => arguments.json,
        }
    }
}
