//! The words without a command: what is said to the agent, in which session, and how.

use std::path::PathBuf;

use clap::{Args, ValueEnum, builder::NonEmptyStringValueParser};
use pi_provider::breaker::Breakers;
use pi_transcript::ThinkingLevel;

use super::model::{ReachArguments, SourceArguments, thinking};
use crate::workshop::Kit;

#[derive(Args)]
pub(crate) struct TalkArguments {
    /// What to say; several are said one after the other, and @FILE attaches a file to the first
    #[arg(value_name = "MESSAGE")]
    pub(crate) messages: Vec<String>,
    /// Print the last answer and end; so it is anyway where standard output is no terminal
    #[arg(long, short)]
    pub(crate) print: bool,
    /// What is printed: text (the last answer) or json (every event, one object per line)
    #[arg(long, value_enum, default_value = "text", hide_default_value = true, hide_possible_values = true)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
    #[command(flatten)]
    pub(crate) who: ModelArguments,
    #[command(flatten)]
    pub(crate) told: ToldArguments,
    #[command(flatten)]
    pub(crate) offered: ToolArguments,
    #[command(flatten)]
    pub(crate) extensions: ExtensionArguments,
}

impl TalkArguments {
    /// What holds for every session that these arguments begin.
    pub(crate) fn kit(&self) -> Kit<'_> {
        Kit { told: &self.told, offered: &self.offered, extensions: &self.extensions, breakers: Breakers::new() }
    }
}

/// What standard output gets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Text,
    Json,
}

/// In which session it is said; a new one unless told otherwise.
#[derive(Args)]
pub(crate) struct SessionArguments {
    /// Go on with the last session of this folder
    #[arg(long = "continue", short = 'c')]
    pub(crate) last: bool,
    /// Choose a session of this folder to go on with
    #[arg(long, short, conflicts_with_all = ["last", "session", "no_session"])]
    pub(crate) resume: bool,
    /// Go on with this session: its file, the beginning of its id, or `last`
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["last", "no_session"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
    /// Keep nothing of it
    #[arg(long, conflicts_with = "last")]
    pub(crate) no_session: bool,
    #[command(flatten)]
    pub(crate) kept: KeptArguments,
}

/// Where sessions are kept.
#[derive(Args)]
pub(crate) struct KeptArguments {
    /// Keep sessions below this folder instead of the agent directory
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}

/// Which tools the model may call.
#[derive(Args)]
pub(crate) struct ToolArguments {
    /// The only tools that are offered, such as read,grep,find,ls
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "no_tools", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tools: Vec<String>,
    /// Offer no tools
    #[arg(long)]
    pub(crate) no_tools: bool,
}

/// Which extensions are loaded.
#[derive(Args)]
pub(crate) struct ExtensionArguments {
    /// Also load this extension, or those in this folder; may be repeated
    #[arg(long, short, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) extension: Vec<String>,
    /// Load no extensions but those that are named
    #[arg(long)]
    pub(crate) no_extensions: bool,
    /// Give a flag of an extension a value; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) extension_flag: Vec<String>,
    /// Write everything that extensions and pi say to each other to this file, one JSON message a line
    #[arg(long, value_name = "FILE")]
    pub(crate) trace_protocol: Option<PathBuf>,
}

/// Who answers.
#[derive(Args)]
pub(crate) struct ModelArguments {
    /// The model as PROVIDER/MODEL, PROVIDER or MODEL; :LEVEL behind it says how hard to think [default: of the session, then as in `pi ask`]
    #[arg(long, short, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// The provider of that model, if its name does not say it
    #[arg(long, value_name = "PROVIDER", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) provider: Option<String>,
    /// How hard to think: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", value_parser = thinking)]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// The models that ctrl+p goes through, the first of which answers unless another is named: names or parts of them, and * and ? in PROVIDER/MODEL or MODEL, such as 'openai/*:high,sonnet' [default: enabledModels of the settings]
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
}

/// What the model is told beside the conversation.
#[derive(Args, Clone)]
pub(crate) struct ToldArguments {
    /// Instructions instead of ours
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// More instructions; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Vec<String>,
    /// Also use this skill, or those in this folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) skill: Vec<PathBuf>,
    /// Use no skills but those that are named
    #[arg(long)]
    pub(crate) no_skills: bool,
    /// Also use this prompt template, or those in this folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) prompt_template: Vec<PathBuf>,
    /// Use no prompt templates but those that are named
    #[arg(long)]
    pub(crate) no_prompt_templates: bool,
    /// Read no AGENTS.md or CLAUDE.md
    #[arg(long)]
    pub(crate) no_context_files: bool,
}
