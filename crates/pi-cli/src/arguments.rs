//! The words that a person types.

pub(crate) mod call;
pub(crate) mod config;
pub(crate) mod ext;
pub(crate) mod flags;
mod help;
pub(crate) mod journal;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod talk;

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::LazyLock};

use clap::{
    Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
    builder::NonEmptyStringValueParser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use pi_provider::likeness;

use self::{
    config::ConfigArguments,
    ext::ExtCommand,
    journal::JournalCommand,
    mcp::McpCommand,
    model::{AskArguments, ModelsArguments, ProviderCommand},
    serve::ServeArguments,
    session::{ContextArguments, ExportArguments, SessionCommand, SessionsArguments, TrustArguments},
    talk::{Mode, TalkArguments},
};
use crate::{answer::Answer, command, console::Reader, input::Layout};

/// Builds of releases set `PI_BUILD` to version, commit and date.
pub(crate) const VERSION: &str = match option_env!("PI_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

const USAGE: &str = "pi [OPTIONS] [MESSAGE]...\n       pi [OPTIONS] <COMMAND>";

/// A coding agent as a service: talk to it, ask models, look into its prompts, its protocols and its decisions.
#[derive(Parser)]
#[command(name = "pi", version = VERSION, styles = help::STYLES, override_usage = USAGE)]
pub(crate) struct Arguments {
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    #[command(flatten)]
    pub(crate) talk: TalkArguments,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List models: context, price, capabilities, and whether a credential is found
    Models(ModelsArguments),
    /// Look at providers, check their manifests and try them
    #[command(subcommand, arg_required_else_help = true)]
    Provider(ProviderCommand),
    /// Ask a model
    Ask(Box<AskArguments>),
    /// List sessions: age, messages, cost, and what was said first
    Sessions(SessionsArguments),
    /// Delete sessions
    #[command(subcommand, arg_required_else_help = true)]
    Session(SessionCommand),
    /// Write a session down as a page, as Markdown, or what the model was shown
    Export(ExportArguments),
    /// Show what filled the model's context, segment by segment
    Context(ContextArguments),
    /// Print a schema: JSON Schema, TypeScript or WIT
    #[command(arg_required_else_help = true)]
    Schema(SchemaArguments),
    /// Check, compare and sum up prompt envelopes
    #[command(subcommand, arg_required_else_help = true)]
    Envelope(EnvelopeCommand),
    /// Check messages between an extension and its host
    #[command(subcommand, arg_required_else_help = true)]
    ExtMessage(ExtMessageCommand),
    /// Ask what an extension may do, and why
    #[command(subcommand, arg_required_else_help = true)]
    Policy(PolicyCommand),
    /// Use what a project brings: extensions, servers, settings, skills, templates, models
    Trust(TrustArguments),
    /// Print a script that lets your shell complete the words of pi
    #[command(arg_required_else_help = true)]
    Completions(CompletionsArguments),
    /// Serve clients: the agent on a WebSocket, or on standard input and output
    Serve(Box<ServeArguments>),
    /// Show every setting, who chose it, and what cannot be used
    Config(Box<ConfigArguments>),
    /// Look at what the server wrote down about commands, and check it
    #[command(subcommand, arg_required_else_help = true)]
    Journal(JournalCommand),
    /// Write, build, check and sign extensions
    #[command(subcommand, arg_required_else_help = true)]
    Ext(ExtCommand),
    /// Add, list, try and remove servers of the Model Context Protocol
    #[command(subcommand, arg_required_else_help = true)]
    Mcp(McpCommand),
}

#[derive(Subcommand)]
pub(crate) enum EnvelopeCommand {
    /// Say whether files are valid envelopes, and what is wrong with those that are not
    Validate(ValidateArguments),
    /// Show what changed from one envelope to another, segment by segment
    Diff(DiffArguments),
    /// Show what envelopes are made of
    Stats(StatsArguments),
    /// Look at envelopes in a browser: one page that needs nothing else
    View(ViewArguments),
}

#[derive(Subcommand)]
pub(crate) enum ExtMessageCommand {
    /// Say whether files hold valid messages, and what is wrong with those that do not
    Validate(ValidateArguments),
}

#[derive(Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the decision about one host call with every reason on the way to it
    Explain(ExplainArguments),
}

#[derive(Args)]
pub(crate) struct SchemaArguments {
    /// The name of a schema
    #[arg(value_parser = schema)]
    pub(crate) schema: SchemaName,
    /// In which language
    #[arg(long, value_enum, default_value = "json")]
    pub(crate) format: SchemaFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// What clients and server say
    Wire,
    /// What an extension and its host say
    Extension,
    /// The file extension.json
    Manifest,
    /// The prompt envelope
    Envelope,
    /// A line of an extension log
    Log,
    /// The policy in a settings file
    Policy,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// JSON Schema, draft 2020-12
    Json,
    /// TypeScript
    Ts,
    /// WebAssembly interface types
    Wit,
}

#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// What is read.
#[derive(Args)]
pub(crate) struct InputArguments {
    /// Files; `-` is standard input, a folder stands for the .json and .jsonl files below it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read one document per line, as is done for .jsonl files anyway
    #[arg(long)]
    jsonl: bool,
}

#[derive(Args)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// Print one object per file: {file, valid, errors: [{line?, path, message}]}
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show valid files
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The earlier envelope; `-` is standard input
    pub(crate) before: PathBuf,
    /// The later envelope; `-` is standard input
    pub(crate) after: PathBuf,
    /// Print the diff as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// Print one JSON object per envelope: {file, line?, stats}, with {cache, sent} if the provider
    /// told, or {file, valid: false, errors: [{line?, path, message}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ViewArguments {
    /// Files; `-` is standard input. Of several, each is a request, in this order
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the page to this file instead of the folder for temporary ones; `-` is standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Only write it
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// The settings file that holds the policy [default: your settings, what was decided about extensions, and what the
    /// project forbids]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The extension that calls
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) extension: String,
    /// Which extension of that name is meant: its file or folder [default: the one of this folder, or the one that was last
    /// seen]
    #[arg(long, value_name = "PATH", conflicts_with = "config", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) from: Option<String>,
    /// The payload of the host call as JSON; @FILE reads it from a file, @- from standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) call: String,
    /// The extension's extension.json: its version, and what it declares to need
    #[arg(long, value_name = "FILE")]
    pub(crate) manifest: Option<PathBuf>,
    /// The extension's version, if there is no manifest
    #[arg(long, value_name = "VERSION", default_value = "0.0.0", conflicts_with = "manifest")]
    pub(crate) extension_version: String,
    /// Use this mode instead of the one in the settings
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ModeName>,
    /// The project folder from which paths count [default: the current folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// The extension came with a project that nobody trusts yet
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// What is known about the extension, as NAME=LEVEL with a level from 0 to 1; may be repeated [default: nobody
    /// looked: unsigned=1 unscanned=1]
    #[arg(long, value_name = "NAME=LEVEL", value_parser = evidence)]
    pub(crate) evidence: Vec<(pi_policy::Feature, f64)>,
    /// Decide as of this time [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<pi_policy::Moment>,
    /// Print the explanation as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    Strict,
    Prompt,
    Permissive,
}

/// Every word with its help, as clap describes them.
pub(crate) fn described() -> clap::Command {
    help::described(Arguments::command())
}

impl Arguments {
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Answer> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let parse = |command: clap::Command, words: &[OsString]| {
            let matches = command.try_get_matches_from(words);
            matches.and_then(|matches| Arguments::from_arg_matches(&matches))
        };
        // All help is written only for those who will read it.
        let read = |setting: fn(clap::Command) -> clap::Command, words: &[OsString]| {
            parse(setting(Arguments::command()), words).or_else(|_| parse(setting(described()), words))
        };
        let refused = |error| Answer::new(error, &arguments);
        if !names_command(&arguments) {
            // A message may be a word that is the name of a command, but not the first word.
            let mut words = arguments.clone();
            let read = loop {
                match read(|command| command.args_conflicts_with_subcommands(true), &words) {
                    Ok(read) => break read,
                    Err(error) => words = flags::meant(&words, &error).ok_or_else(|| refused(error))?,
                }
            };
            let is_message = arguments.iter().any(|word| word == "--");
            return match read.talk.misspelt_command().filter(|_| !is_message) {
                Some(error) => Err(Answer::new(error, &arguments)),
                None => Ok(read),
            };
        }
        read(|command| command, &arguments).map_err(refused)
    }

    /// Who will read what is printed.
    pub(crate) fn reader(&self) -> Reader {
        match (&self.command, self.talk.mode) {
            (Some(command), _) => command.reader(),
            (None, Mode::Json) => Reader::Machine,
            (None, Mode::Text) => Reader::Person,
        }
    }
}

impl TalkArguments {
    /// Whoever begins with a word that is nearly the name of a command, or says nothing but a word that other programs have
    /// for one, means that; unless they write `--print`, or `--` before it.
    fn misspelt_command(&self) -> Option<clap::Error> {
        let word = self.messages.first()?;
        if self.print || word.contains(|letter: char| letter.is_whitespace() || "/@?!.,".contains(letter)) {
            return None;
        }
        let mut command = described();
        let names = command.get_subcommands().map(|it| it.get_name().to_owned()).collect::<Vec<_>>();
        // One slip, no more: "Hello" is a greeting, however much it looks like help.
        let mut names = names.iter().map(String::as_str).chain(["help"]);
        let meant = names.find(|name| likeness::distance(word, name) == 1).map(ToOwned::to_owned);
        let elsewhere = ELSEWHERE.get(word.as_str()).filter(|_| self.messages.len() == 1);
        let mut error = clap::Error::new(ErrorKind::InvalidSubcommand).with_cmd(&command);
        error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word.clone()));
        let said = self.messages.join(" ");
        let way = format!("to say it to the agent, write it with --print: pi -p '{said}'");
        let mut tips = vec![way.into()];
        match (elsewhere, meant) {
            (Some(instead), _) => tips.insert(0, instead.into()),
            (None, Some(meant)) => {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
            }
            (None, None) => return None,
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        Some(error)
    }
}

/// Words that other programs have for commands, and what is done here instead.
static ELSEWHERE: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("arguments/elsewhere.yaml")).expect("our own file, read by a test")
});

/// Whether the first word, but for those about colours, is the name of a command.
fn names_command(arguments: &[OsString]) -> bool {
    let command = Arguments::command();
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == "--color" {
            words.next();
        } else if !word.starts_with("--color=") {
            return word == "help" || command.find_subcommand(&*word).is_some();
        }
    }
    false
}

impl Command {
    /// Who will read what the command prints.
    pub(crate) fn reader(&self) -> Reader {
        let json = match self {
            Command::Envelope(EnvelopeCommand::Validate(arguments))
            | Command::ExtMessage(ExtMessageCommand::Validate(arguments)) => arguments.json,
            Command::Envelope(EnvelopeCommand::Diff(arguments)) => arguments.json,
            Command::Envelope(EnvelopeCommand::Stats(arguments)) => arguments.json,
            Command::Policy(PolicyCommand::Explain(arguments)) => arguments.json,
            Command::Models(arguments) => arguments.json,
            Command::Provider(ProviderCommand::List(arguments)) => arguments.json,
            Command::Provider(ProviderCommand::Show(arguments)) => arguments.json,
            Command::Provider(ProviderCommand::Validate(arguments)) => arguments.json,
            Command::Provider(ProviderCommand::Test(arguments)) => arguments.json,
            Command::Provider(ProviderCommand::Call(command)) => command.wants_json(),
            Command::Ask(arguments) => arguments.json,
            Command::Sessions(arguments) => arguments.json,
            Command::Context(arguments) => arguments.json,
            Command::Export(arguments) => arguments.json,
            Command::Trust(arguments) => arguments.json,
            Command::Config(arguments) => arguments.json,
            Command::Serve(arguments) => arguments.json,
            Command::Journal(JournalCommand::Show(arguments)) => arguments.json,
            Command::Journal(JournalCommand::Verify(arguments)) => arguments.json,
            Command::Journal(JournalCommand::Compact(arguments)) => arguments.json,
            Command::Ext(command) => command.wants_json(),
            Command::Mcp(command) => command.wants_json(),
            Command::Session(SessionCommand::Delete(arguments)) => arguments.json,
            Command::Schema(_)
            | Command::Envelope(EnvelopeCommand::View(_))
            | Command::Journal(JournalCommand::Export(_))
            | Command::Completions(_)
            | Command::Provider(ProviderCommand::New(_) | ProviderCommand::Promote(_)) => false,
        };
        if json { Reader::Machine } else { Reader::Person }
    }
}

impl InputArguments {
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub(crate) fn layout(&self) -> Option<Layout> {
        self.jsonl.then_some(Layout::OnePerLine)
    }
}

fn schema(text: &str) -> Result<SchemaName, String> {
    SchemaName::from_str(text, false)
        .map_err(|_| format!("the schemas are\n{}", help::rows(&command::schema::table()).trim_end()))
}

fn evidence(text: &str) -> Result<(pi_policy::Feature, f64), String> {
    let names = || pi_policy::risk::WEIGHTS.map(|line| line.name).join(", ");
    let (name, level) =
        text.split_once('=').ok_or_else(|| format!("expected NAME=LEVEL; the names are {}", names()))?;
    let line = pi_policy::risk::WEIGHTS.iter().find(|line| line.name == name);
    let feature = line.map(|line| line.feature).ok_or_else(|| format!("the names are {}", names()))?;
    let level: f64 = level.parse().map_err(|_| "the level is a number from 0 to 1".to_owned())?;
    if !(0.0..=1.0).contains(&level) {
        return Err("the level is a number from 0 to 1".to_owned());
    }
    Ok((feature, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_well_formed() {
        described().debug_assert();
    }

    #[test]
    fn words_of_other_programs_are_no_commands_here() {
        let command = described();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(ELSEWHERE.keys().all(|word| !names.contains(&word.as_str()) && word != "help"), "{names:?}");
    }
}
