//! The words of `pi provider call`: what models do beside talking.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use pi_provider::embeddings::Purpose;

use super::model::{ReachArguments, SourceArguments, timeout};

#[derive(Subcommand)]
pub(crate) enum CallCommand {
    /// Turn texts into vectors
    Embed(EmbedArguments),
    /// Put texts in order by how well they answer a question
    Rerank(RerankArguments),
    /// Make pictures
    Draw(DrawArguments),
    /// Write down what is said in a recording
    Transcribe(TranscribeArguments),
    /// Say a text
    Speak(SpeakArguments),
    /// Ask many questions at once: cheaper, and answered later
    #[command(subcommand, arg_required_else_help = true)]
    Batch(BatchCommand),
}

/// Who is asked, and how the answer is shown.
#[derive(Args)]
pub(crate) struct WhomArguments {
    /// The model as PROVIDER/MODEL [default: the first that can do this and can be asked now]
    #[arg(long, short, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Give up after this time; 0 waits for ever
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Show the request instead of sending it, without the credential
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct EmbedArguments {
    /// The texts, each of which becomes a vector
    #[arg(required_unless_present = "file")]
    pub(crate) text: Vec<String>,
    /// Also every line of this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How long the vectors are to be, where the model lets one choose
    #[arg(long, value_name = "N")]
    pub(crate) dimensions: Option<u32>,
    /// What the vectors are for, where the model makes a difference
    #[arg(long, value_enum)]
    pub(crate) purpose: Option<PurposeName>,
    /// Write {text, vector}, one object per line, to this file, which must not exist yet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PurposeName {
    /// To be compared with those of documents
    Query,
    /// To be found
    Document,
    Similarity,
    Classification,
    Clustering,
}

impl PurposeName {
    pub(crate) const fn meant(self) -> Purpose {
        match self {
            PurposeName::Query => Purpose::Query,
            PurposeName::Document => Purpose::Document,
            PurposeName::Similarity => Purpose::Similarity,
            PurposeName::Classification => Purpose::Classification,
            PurposeName::Clustering => Purpose::Clustering,
        }
    }
}

#[derive(Args)]
pub(crate) struct RerankArguments {
    /// The question
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) query: String,
    /// The texts that are put in order
    #[arg(required_unless_present = "file")]
    pub(crate) text: Vec<String>,
    /// Also every line of this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Only so many, the best
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<u32>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Args)]
pub(crate) struct DrawArguments {
    /// What is to be seen
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) prompt: String,
    /// Where the picture goes, a file that does not exist yet; of several the others get a number behind the name
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// In the provider's words: 1024x1024, or 16:9
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) size: Option<String>,
    /// How many pictures
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u32>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Args)]
pub(crate) struct TranscribeArguments {
    /// The recording
    pub(crate) recording: PathBuf,
    /// Its language, in two letters
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) language: Option<String>,
    /// Words that help: names, the sentence before
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) prompt: Option<String>,
    /// Also say when each part is said
    #[arg(long)]
    pub(crate) segments: bool,
    /// Write the text to this file, which must not exist yet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Args)]
pub(crate) struct SpeakArguments {
    /// What is to be said; `-` reads standard input
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) text: String,
    /// The voice, in the provider's words
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) voice: String,
    /// Where the sound goes, a file that does not exist yet
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// mp3, wav, opus [default: what the name of the file ends with]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) format: Option<String>,
    /// How fast; 1 is usual
    #[arg(long)]
    pub(crate) speed: Option<f32>,
    /// How it is to be said, for models that can be told
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) instructions: Option<String>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Subcommand)]
pub(crate) enum BatchCommand {
    /// Put up a batch: every line of a file is a question
    Submit(BatchSubmitArguments),
    /// Say how a batch is
    Status(BatchArguments),
    /// Print the answers of a batch, one object per line
    Fetch(BatchArguments),
    /// End a batch early; what is answered can still be fetched
    Cancel(BatchArguments),
}

#[derive(Args)]
pub(crate) struct BatchSubmitArguments {
    /// The questions, one per line: a text, or {"id": "…", "question": "…"}; `-` is standard input
    pub(crate) file: PathBuf,
    /// Instructions for the model, with every question
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) system: Option<String>,
    /// How many tokens each answer may have
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

#[derive(Args)]
pub(crate) struct BatchArguments {
    /// The id of the batch, as `submit` printed it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) whom: WhomArguments,
}

impl CallCommand {
    pub(crate) fn wants_json(&self) -> bool {
        let whom = match self {
            CallCommand::Embed(arguments) => &arguments.whom,
            CallCommand::Rerank(arguments) => &arguments.whom,
            CallCommand::Draw(arguments) => &arguments.whom,
            CallCommand::Transcribe(arguments) => &arguments.whom,
            CallCommand::Speak(arguments) => &arguments.whom,
            CallCommand::Batch(BatchCommand::Submit(arguments)) => &arguments.whom,
            CallCommand::Batch(
                BatchCommand::Status(arguments) | BatchCommand::Fetch(arguments) | BatchCommand::Cancel(arguments),
            ) => &arguments.whom,
        };
        whom.json
    }
}
