//! The words of `pi ext`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};

use super::talk::ExtensionArguments;

/// One file a command in `command/ext/`.
#[derive(Subcommand)]
pub(crate) enum ExtCommand {
    /// Build an extension: an artifact that runs without Node and node_modules
    Build(ExtBuildArguments),
    /// Say what an extension does that it may not, or only within limits, and what it seems to need
    Scan(ExtScanArguments),
    /// Look after what was built and compiled on this machine
    #[command(subcommand, arg_required_else_help = true)]
    Cache(ExtCacheCommand),
    /// Sign an artifact, so that others can see that it is yours
    Sign(ExtSignArguments),
    /// Say what the signature of an artifact is worth here
    Verify(ExtVerifyArguments),
    /// Write a small extension to start from, with a test
    New(ExtNewArguments),
    /// Write the SDK for extensions in Rust into a crate, or renew it there
    Sdk(ExtSdkArguments),
    /// Show what an extension registers
    Inspect(ExtInspectArguments),
    /// Run a tool of an extension, without a model
    RunTool(ExtRunToolArguments),
    /// Run a command of an extension
    RunCommand(ExtRunCommandArguments),
    /// Let an extension hear an event, and show what it answers
    Fire(ExtFireArguments),
    /// Go through a script of events, tool calls and commands, and show all that came of it
    #[command(hide = true)]
    Rehearse(ExtRehearseArguments),
    /// List the extensions that sessions of this folder have, with what they use
    List(ExtListArguments),
    /// Allow an extension something, from now on and in every session
    Allow(AllowArguments),
    /// Forbid an extension something, whatever settings grant
    Deny(DecisionArguments),
    /// Take back what was decided about an extension, as if nobody had ever been asked
    Forget(ForgetArguments),
    /// Start an extension again in sessions to come
    Enable(SwitchArguments),
    /// Do not start an extension in sessions to come
    Disable(SwitchArguments),
    /// Show what was decided about extensions
    Grants(GrantsArguments),
    /// Look at what extensions did
    #[command(subcommand)]
    Ledger(LedgerCommand),
}

#[derive(Subcommand)]
pub(crate) enum ExtCacheCommand {
    /// List what is kept
    List(ExtCacheArguments),
    /// Check that everything is as it was written
    Verify(ExtCacheArguments),
    /// Remove what is broken or of no use any more
    Prune(ExtPruneArguments),
}

#[derive(Args)]
pub(crate) struct ExtBuildArguments {
    /// A file (TypeScript, JavaScript, a WebAssembly component), or a folder with extension.json, package.json, an index or, for a crate in Rust, Cargo.toml
    pub(crate) source: PathBuf,
    /// Where extension.artifact and artifact.json are put [default: dist in the extension's folder]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print what was built, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtScanArguments {
    /// Files, or folders with extension.json, package.json or an index
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    /// A warning is a no as well
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the descriptions, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtCacheArguments {
    /// One object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtPruneArguments {
    /// Remove also what was made longer ago than so many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u64>,
    /// As an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtSignArguments {
    /// The folder with extension.artifact and artifact.json
    pub(crate) folder: PathBuf,
    /// The key [default: keys/extensions.pem in the agent directory, made at first use]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ExtVerifyArguments {
    /// The folder with extension.artifact and artifact.json
    pub(crate) folder: PathBuf,
    /// Trust the key that signed it from now on, under this name
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) trust: Option<String>,
    /// As an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtNewArguments {
    /// The name of the extension; it is put into a folder of this name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// What runs it
    #[arg(long, value_enum, default_value_t = NewEngine::Wasm)]
    pub(crate) engine: NewEngine,
    /// Offer only a tool to the model; otherwise there is a command for a person as well
    #[arg(long)]
    pub(crate) tool: bool,
    /// Another folder for it
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ExtSdkArguments {
    /// The folder of the crate; the SDK is put into sdk/pi-extension there
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// What a new extension is written for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewEngine {
    /// A component, in Rust
    Wasm,
    /// TypeScript
    Js,
}

/// Under which rules an extension is tried.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// Everything is allowed and recorded
    Permissive,
    /// As in a session where nobody can be asked
    Prompt,
    /// Nothing but what was granted
    Strict,
}

/// The extension, and under which rules it is tried.
#[derive(Args)]
pub(crate) struct TriedArguments {
    /// A file, a folder or a package; for tools and commands also an MCP server (mcp:NAME)
    #[arg(value_name = "FILE|DIR", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) source: String,
    /// The rules for this run [default: those of the settings]
    #[arg(long, value_enum)]
    pub(crate) profile: Option<Profile>,
}

#[derive(Args)]
pub(crate) struct ExtInspectArguments {
    #[command(flatten)]
    pub(crate) tried: TriedArguments,
    /// As one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExtRunToolArguments {
    #[command(flatten)]
    pub(crate) tried: TriedArguments,
    /// The name of the tool
    pub(crate) tool: String,
    /// Its arguments, as a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) input: String,
}

#[derive(Args)]
pub(crate) struct ExtRunCommandArguments {
    #[command(flatten)]
    pub(crate) tried: TriedArguments,
    /// The name of the command, without the slash
    pub(crate) name: String,
    /// What stands behind it
    #[arg(value_name = "ARGUMENTS", default_value = "")]
    pub(crate) arguments: String,
}

#[derive(Args)]
pub(crate) struct ExtFireArguments {
    #[command(flatten)]
    pub(crate) tried: TriedArguments,
    /// The name of the event, such as tool_call
    pub(crate) event: String,
    /// What it says, as a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(crate) data: String,
}

#[derive(Args)]
pub(crate) struct ExtRehearseArguments {
    #[command(flatten)]
    pub(crate) tried: TriedArguments,
    /// A JSON file: the scene and the steps
    pub(crate) script: PathBuf,
}

#[derive(Args)]
pub(crate) struct ExtListArguments {
    #[command(flatten)]
    pub(crate) extensions: ExtensionArguments,
    /// As a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SwitchArguments {
    /// The extension, as `pi ext list` names it; an MCP server is mcp:NAME
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// Print what was done as an object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct DecisionArguments {
    /// The extension, as denials and `pi ext list` name it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// What is decided: read, write, exec, http, tool, env, credentials, session, ui, events or log; * is all of them and
    /// can only be denied
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) capability: String,
    /// Only for these files: patterns relative to the project, or absolute
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Vec<String>,
    /// Only for these hosts, such as api.example.org, *.example.org or localhost:8080
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// Only for these environment variables
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Only for these commands: a program, or a program with its first arguments
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Only for these versions of the extension, such as ^1.2
    #[arg(long, value_name = "RANGE")]
    pub(crate) versions: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct AllowArguments {
    #[command(flatten)]
    pub(crate) decision: DecisionArguments,
    /// Only for so long: 30m, 12h, 7d
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// Which extension of that name is meant: its file or folder [default: the one of this folder, or the one that was last
    /// seen]
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) from: Option<String>,
}

#[derive(Args)]
pub(crate) struct ForgetArguments {
    /// The extension, as `pi ext grants` names it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// What is forgotten: read, write, exec, http, tool, env, credentials, session, ui, events, log, or * for everything
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) capability: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct GrantsArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// List the sessions whose extensions did something, the newest first
    List(LedgerListArguments),
    /// Print what extensions did, line by line
    Show(LedgerArguments),
    /// Add up what each extension did
    Stats(LedgerArguments),
    /// Check that no line was changed, removed or moved
    Verify(LedgerArguments),
}

#[derive(Args)]
pub(crate) struct LedgerListArguments {
    /// All of them, not only the newest
    #[arg(long)]
    pub(crate) all: bool,
    /// Those of `pi ext inspect`, `run-tool`, `run-command`, `fire` and `list`
    #[arg(long)]
    pub(crate) trials: bool,
    /// One object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct LedgerArguments {
    /// A file, or a session by the beginning of its id, the newest if left out; `trial` is the last trial
    #[arg(value_name = "FILE|SESSION")]
    pub(crate) ledger: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ExtCommand {
    /// Whether everything on standard output is to be JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            ExtCommand::Inspect(arguments) => arguments.json,
            ExtCommand::List(arguments) => arguments.json,
            ExtCommand::RunTool(_) | ExtCommand::RunCommand(_) | ExtCommand::Fire(_) | ExtCommand::Rehearse(_) => true,
            ExtCommand::Allow(arguments) => arguments.decision.json,
            ExtCommand::Deny(arguments) => arguments.json,
            ExtCommand::Forget(arguments) => arguments.json,
            ExtCommand::Enable(arguments) | ExtCommand::Disable(arguments) => arguments.json,
            ExtCommand::Grants(arguments) => arguments.json,
            ExtCommand::Ledger(LedgerCommand::List(arguments)) => arguments.json,
            ExtCommand::Ledger(
                LedgerCommand::Show(arguments) | LedgerCommand::Stats(arguments) | LedgerCommand::Verify(arguments),
            ) => arguments.json,
            ExtCommand::Build(arguments) => arguments.json,
            ExtCommand::Scan(arguments) => arguments.json,
            ExtCommand::Cache(ExtCacheCommand::List(arguments) | ExtCacheCommand::Verify(arguments)) => arguments.json,
            ExtCommand::Cache(ExtCacheCommand::Prune(arguments)) => arguments.json,
            ExtCommand::Verify(arguments) => arguments.json,
            ExtCommand::Sign(_) | ExtCommand::New(_) | ExtCommand::Sdk(_) => false,
        }
    }
}
