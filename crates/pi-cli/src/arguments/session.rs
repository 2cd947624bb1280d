//! The words of the commands about sessions that are kept, and about the projects that they are in: `pi sessions`,
//! `pi session delete`, `pi export`, `pi context` and `pi trust`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};

/// Where sessions are kept.
#[derive(Args)]
pub(crate) struct FolderArguments {
    /// Look below this folder instead of the agent directory
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct SessionsArguments {
    /// Only sessions in which this was said, or that are called like this
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) pattern: Option<String>,
    /// Those of every folder, not only of this one
    #[arg(long, short)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Print one object per session
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is done to sessions that are kept.
#[derive(Subcommand)]
pub(crate) enum SessionCommand {
    /// Delete sessions, with the envelopes of their requests
    Delete(DeleteArguments),
}

#[derive(Args)]
pub(crate) struct DeleteArguments {
    /// Each by its file, the beginning of its id, or `last`
    #[arg(required = true, value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) sessions: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Print one object per session that is deleted
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The session: its file, the beginning of its id, or `last`
    #[arg(default_value = "last", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// As one page that needs nothing else; so it is unless told otherwise, or a terminal shows it
    #[arg(long, group = "form")]
    pub(crate) html: bool,
    /// As a page in which everything that the model was shown can be looked at, request by request; it needs a browser that runs
    /// scripts
    #[arg(long, requires = "html")]
    pub(crate) envelopes: bool,
    /// As Markdown; so it is for a file that ends with .md or .txt
    #[arg(long, group = "form")]
    pub(crate) md: bool,
    /// What the model was shown in the last turn, as a prompt envelope; so it is for a file that ends with .json
    #[arg(long, group = "form")]
    pub(crate) envelope: bool,
    /// Of this request instead; --list shows them
    #[arg(long, value_name = "ID", requires = "envelope", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) request: Option<String>,
    /// Of every request instead, as a list; `pi envelope view` shows it
    #[arg(long, requires = "envelope", conflicts_with = "request")]
    pub(crate) all: bool,
    /// List the requests whose envelopes are kept; `pi sessions` lists the sessions
    #[arg(long, conflicts_with_all = ["request", "output", "html", "md"])]
    pub(crate) list: bool,
    /// With --list: print one object per request
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
    /// Write it to this file instead of standard output; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
}

#[derive(Args)]
pub(crate) struct TrustArguments {
    /// The folder of the project [default: the current folder]
    pub(crate) directory: Option<PathBuf>,
    /// Take the decision back: neither trusted nor refused
    #[arg(long)]
    pub(crate) remove: bool,
    /// List every decision
    #[arg(long, conflicts_with_all = ["directory", "remove"])]
    pub(crate) list: bool,
    /// Print one object per decision
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ContextArguments {
    /// The session: its file, the beginning of its id, or `last`
    #[arg(default_value = "last", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// Of this request instead of the last turn; `pi export SESSION --envelope --list` shows all, those for summaries too
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) request: Option<String>,
    #[command(flatten)]
    pub(crate) folder: FolderArguments,
    /// Print one object per segment
    #[arg(long)]
    pub(crate) json: bool,
}
