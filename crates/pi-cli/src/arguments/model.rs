//! The words of the commands about providers and models: `pi models`, `pi provider` and `pi ask`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum, builder::NonEmptyStringValueParser};
use pi_provider::ToolChoice;
use pi_transcript::ThinkingLevel;
use serde_json::Value;

use super::call::CallCommand;

/// Where manifests come from beside the usual places.
#[derive(Args)]
pub(crate) struct SourceArguments {
    /// Also read manifests from this folder or file; may be repeated, and a later one wins
    #[arg(long, value_name = "DIR")]
    pub(crate) provider_dir: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ModelsArguments {
    /// Only models whose `provider/model` contains one of these or, with * and ?, is like one of them
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) pattern: Vec<String>,
    /// Only models that can do all of this, such as tools,vision; also those of which only the provider says so (`?`)
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub(crate) can: Vec<Ability>,
    /// Only models that can be asked now: a credential is found, or none is needed
    #[arg(long)]
    pub(crate) available: bool,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Print one object per model
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a model can do beside answering in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ability {
    /// Call tools
    Tools,
    /// Think before it answers
    Thinking,
    /// Answer in JSON of a given form
    Json,
    /// Look at pictures
    Vision,
    /// Read PDF files
    Pdf,
    /// Listen to sound
    Audio,
    /// Watch films
    Video,
    /// Make pictures
    Draws,
    /// Make sound
    Speaks,
    /// Make embeddings
    Embeds,
    /// Put texts in order
    Ranks,
    /// Write down what is said in a recording
    Transcribes,
}

impl Ability {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Ability::Tools => "tools",
            Ability::Thinking => "thinking",
            Ability::Json => "json",
            Ability::Vision => "vision",
            Ability::Pdf => "pdf",
            Ability::Audio => "audio",
            Ability::Video => "video",
            Ability::Draws => "draws",
            Ability::Speaks => "speaks",
            Ability::Embeds => "embeds",
            Ability::Ranks => "ranks",
            Ability::Transcribes => "transcribes",
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum ProviderCommand {
    /// Show every provider, where it was described and whether a credential is found
    List(ListArguments),
    /// Show everything that a provider's manifest says
    Show(ShowArguments),
    /// Say whether files are manifests, and what is wrong with those that are not
    Validate(ManifestArguments),
    /// Print a manifest to start from, with comments, that is valid as it is
    New(NewArguments),
    /// Print a manifest of an older version in the form of version 2
    Promote(PromoteArguments),
    /// Send a small question, a stream and a tool call, and show how each went
    Test(TestArguments),
    /// Ask for something else than a chat: vectors, rankings, pictures, speech, batches
    #[command(subcommand, arg_required_else_help = true)]
    Call(CallCommand),
}

#[derive(Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Print one object per provider
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// The id of a provider, or another name of it
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Print it as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the text of its file instead, to be copied and changed
    #[arg(long, conflicts_with = "json")]
    pub(crate) source: bool,
}

#[derive(Args)]
pub(crate) struct NewArguments {
    /// The id of the new provider: lower case letters, digits, - and _
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,
    /// Where its server answers
    #[arg(long, value_name = "URL", default_value = "https://models.example/v1", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) base_url: String,
    /// What its server speaks
    #[arg(long, value_enum, default_value = "openai_chat")]
    pub(crate) dialect: Speech,
    /// The model that is listed in it, as the server names it
    #[arg(long, value_name = "NAME", default_value = "my-model", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    /// Write it to this file, which must not exist yet, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// A dialect, as manifests name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Speech {
    /// Chat Completions, which nearly all servers speak
    OpenaiChat,
    /// OpenAI's Responses
    OpenaiResponses,
    /// Anthropic's Messages
    #[value(alias = "anthropic")]
    AnthropicEventStream,
    /// Gemini's generateContent
    #[value(alias = "gemini")]
    GeminiGenerate,
    /// Cohere's Chat, version 2
    #[value(alias = "cohere", name = "cohere_v2")]
    CohereV2,
}

impl Speech {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Speech::OpenaiChat => "openai_chat",
            Speech::OpenaiResponses => "openai_responses",
            Speech::AnthropicEventStream => "anthropic_event_stream",
            Speech::GeminiGenerate => "gemini_generate",
            Speech::CohereV2 => "cohere_v2",
        }
    }
}

#[derive(Args)]
pub(crate) struct ManifestArguments {
    /// Files; `-` is standard input, a folder stands for the .yaml, .yml and .json files below it. Each argument is a source
    /// of its own, of which a later one replaces providers of an earlier one
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one object per file: {file, valid, errors, warnings, …}
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not show valid files
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct PromoteArguments {
    /// The manifest; `-` is standard input
    pub(crate) file: PathBuf,
    /// In which notation
    #[arg(long, value_enum, default_value = "yaml")]
    pub(crate) format: Notation,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notation {
    Yaml,
    Json,
}

#[derive(Args)]
pub(crate) struct TestArguments {
    /// The id of a provider, or another name of it; /MODEL behind it says which model is asked
    #[arg(value_parser = NonEmptyStringValueParser::new(), required_unless_present = "base_url")]
    pub(crate) id: Option<String>,
    /// The model that is asked [default: the provider's usual one, as in `pi ask`]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Give a check up that is not done after this time; 0 waits for ever [default: of the settings, else 30]
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Print one object per check
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where a model is reached otherwise than its manifest says.
#[derive(Args)]
pub(crate) struct ReachArguments {
    /// Ask here instead of at the provider's address; without a provider, a server of the OpenAI kind
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) base_url: Option<String>,
    /// Take the credential from this variable
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) api_key_env: Option<String>,
}

#[derive(Args)]
pub(crate) struct AskArguments {
    /// The question, and @FILE for every file that belongs to it; `-`, or no question at all, reads standard input, and beside a question piped input is put in front of it
    #[arg(value_name = "QUESTION")]
    pub(crate) words: Vec<String>,
    /// The model as PROVIDER/MODEL, PROVIDER or MODEL; :LEVEL behind it says how hard to think [default: of the settings, of the cheapest provider with a credential, on this machine, or the demo]
    #[arg(long, short, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// The provider of that model, if its name does not say it
    #[arg(long, value_name = "PROVIDER", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) provider: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArguments,
    #[command(flatten)]
    pub(crate) said: SaidArguments,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    /// Give up if the answer is not complete after this time, all attempts included; 0 waits for ever [default: of the settings; for ever if streamed]
    #[arg(long, value_name = "SECONDS", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Wait for the whole answer instead of showing it as it comes
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Show the request instead of sending it, without the credential
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one object per event and at last {message, usage, …}
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is said beside the question.
#[derive(Args)]
pub(crate) struct SaidArguments {
    /// Show this picture; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Put this text in front of the question; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Instructions for the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Offer this tool, {name, description, parameters} as JSON; it is not run, the call is shown; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) tool: Vec<PathBuf>,
}

/// How the model is to answer.
#[derive(Args)]
pub(crate) struct HowArguments {
    /// How hard to think: off, minimal, low, medium, high, xhigh or max
    #[arg(long, value_name = "LEVEL", value_parser = thinking)]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Whether to call a tool: auto, none, required, or the name of one
    #[arg(long, value_name = "CHOICE", default_value = "auto", hide_default_value = true, value_parser = tool_choice)]
    pub(crate) tool_choice: ToolChoice,
    /// A parameter by its standard name, such as temperature=0.2; the value is JSON, or else text; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) param: Vec<(String, Value)>,
    /// How many tokens the answer may have
    #[arg(long, value_name = "N", value_parser = max_tokens)]
    pub(crate) max_tokens: Option<u64>,
    /// The answer must be JSON that fits this schema; exit code 1 if it does not
    #[arg(long, value_name = "FILE", conflicts_with = "json_object")]
    pub(crate) json_schema: Option<PathBuf>,
    /// The answer must be a JSON object; exit code 1 if it is none
    #[arg(long)]
    pub(crate) json_object: bool,
}

pub(super) fn thinking(text: &str) -> Result<ThinkingLevel, String> {
    let levels = ThinkingLevel::ALL.map(ThinkingLevel::as_str);
    ThinkingLevel::ALL
        .into_iter()
        .find(|level| level.as_str() == text)
        .ok_or_else(|| format!("the levels are {}", levels.join(", ")))
}

pub(super) fn timeout(text: &str) -> Result<Duration, String> {
    match text.parse().map(Duration::try_from_secs_f64) {
        Ok(Ok(Duration::ZERO)) => Ok(Duration::MAX),
        Ok(Ok(time)) => Ok(time),
        Ok(Err(_)) | Err(_) => Err("write a number of seconds, such as 90 or 0.5".to_owned()),
    }
}

fn max_tokens(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("an answer needs at least 1 token; leave the option out for the model's own limit".to_owned()),
        Ok(most) => Ok(most),
        Err(_) => Err("write a number of tokens, such as 1000".to_owned()),
    }
}

fn tool_choice(text: &str) -> Result<ToolChoice, String> {
    match text {
        "" => Err("write auto, none, required, or the name of a tool".to_owned()),
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" | "any" => Ok(ToolChoice::Required),
        name => Ok(ToolChoice::Tool(name.to_owned())),
    }
}

fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as temperature=0.2")?;
    if name.is_empty() {
        return Err("expected a name before the =".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_parameters_are_json_or_else_text() {
        for (text, expected) in [
            ("temperature=0.2", Ok(("temperature", json!(0.2)))),
            ("seed=7", Ok(("seed", json!(7)))),
            (r#"stop=["a","b"]"#, Ok(("stop", json!(["a", "b"])))),
            ("user=someone=else", Ok(("user", json!("someone=else")))),
            ("user=", Ok(("user", json!("")))),
            ("temperature", Err("expected NAME=VALUE, such as temperature=0.2")),
            ("=1", Err("expected a name before the =")),
        ] {
            let expected = expected.map(|(name, value)| (name.to_owned(), value)).map_err(str::to_owned);
            assert_eq!(parameter(text), expected, "{text}");
        }
    }

    #[test]
    fn answer_has_at_least_one_token() {
        for (text, expected) in [
            ("1", Ok(1)),
            ("4096", Ok(4096)),
            ("0", Err("an answer needs at least 1 token; leave the option out for the model's own limit")),
            ("-1", Err("write a number of tokens, such as 1000")),
            ("many", Err("write a number of tokens, such as 1000")),
        ] {
            assert_eq!(max_tokens(text), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn abilities_are_asked_for_in_the_words_that_are_shown() {
        for ability in Ability::value_variants() {
            let name = ability.to_possible_value().map(|it| it.get_name().to_owned());
            assert_eq!(name.as_deref(), Some(ability.word()));
        }
    }

    #[test]
    fn choice_of_a_tool_is_a_word_or_a_name() {
        for (text, expected) in [
            ("auto", Ok(ToolChoice::Auto)),
            ("none", Ok(ToolChoice::None)),
            ("required", Ok(ToolChoice::Required)),
            ("any", Ok(ToolChoice::Required)),
            ("get_weather", Ok(ToolChoice::Tool("get_weather".to_owned()))),
            ("", Err("write auto, none, required, or the name of a tool".to_owned())),
        ] {
            assert_eq!(tool_choice(text), expected, "{text}");
        }
    }
}
