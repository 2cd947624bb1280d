//! What is said to the model: instructions, tools, attached files and pictures, and the question.

use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_envelope::{
    Prompt,
    meta::Origin,
    prompt::{Provenance, Said, Span, SpanSource, SystemPart, SystemText, Tool},
};
use pi_exthost::guest::{LONGEST_TOOL_NAME, is_tool_name};
use pi_provider::{Options, call::CacheRetention};
use pi_redact::Redactor;
use pi_session::{attached::text_file, scrub};
use pi_transcript::{Block, EntryId, Message, ThinkingLevel, ToolDefinition};
use serde_json::{Map, Value, json};

use super::{
    binary,
    form::Form,
    media::{self, Kind},
};
use crate::{
    arguments::model::{AskArguments, HowArguments, SaidArguments},
    failure::{Failure, ModelFailure},
    input::{self, Document},
    refusal::{self, Cause, Refusal},
};

/// What is said, and how many secrets were hidden in what came from files and pipes.
pub(super) struct Asked {
    pub(super) prompt: Prompt,
    pub(super) hidden: usize,
    /// The files of pictures, sounds, films and documents, in the order in which they stand in the prompt.
    pub(super) attached: Vec<String>,
}

/// Text of the question while it is put together, with the stretches that came from elsewhere.
struct Text<'a> {
    written: String,
    spans: Vec<Span>,
    redactor: &'a Redactor,
    hidden: usize,
}

/// The question, and where it comes from.
enum Question {
    /// As it was typed.
    Typed(String),
    /// Standard input is all there is.
    Piped(String),
    /// What was typed is about what was piped in.
    About { typed: String, piped: String },
}

/// Reads everything that the arguments name and puts it together. Secrets in files and in what is piped in are hidden;
/// what was typed is what was meant.
pub(super) fn read(arguments: &AskArguments, redactor: &Redactor, now: u64) -> Result<Asked, Failure> {
    let mut text = Text { written: String::new(), spans: Vec::new(), redactor, hidden: 0 };
    let (mut blocks, mut attached) = (Vec::new(), Vec::new());
    let (said, files) = input::said_and_files(&arguments.words);
    let question = question(&said)?;
    let mentioned = files.iter().map(PathBuf::from);
    for path in arguments.said.file.iter().cloned().chain(mentioned) {
        if let Some(block) = attach(&path, &mut text)? {
            attached.push(path.display().to_string());
            blocks.push(block);
        }
    }
    for path in &arguments.said.image {
        attached.push(path.display().to_string());
        blocks.push(image(path)?);
    }
    match question {
        Question::Typed(typed) => text.written.push_str(&typed),
        Question::Piped(piped) => {
            let piped = text.scrubbed(&piped);
            text.written.push_str(&piped);
        }
        Question::About { typed, piped } => {
            text.push_quoted(&piped);
            text.written.push_str(&typed);
        }
    }
    if text.written.trim().is_empty() && blocks.is_empty() {
        return Err(ModelFailure::NoQuestion.into());
    }
    let user = Provenance::usual(Origin::User);
    let content = std::iter::once(Block::text(text.written)).chain(blocks).collect::<Vec<_>>();
    let said = Said::new(EntryId::from("question"), Message::user(content, now), user)
        .with_spans(text.spans)
        .expect("spans are whole files in their order");
    let prompt = Prompt { tools: tools(&arguments.said)?, system: system(&arguments.said), messages: vec![said] };
    Ok(Asked { prompt, hidden: text.hidden, attached })
}

/// The form that the answer is to have.
pub(super) fn form(how: &HowArguments) -> Result<Form, Failure> {
    match &how.json_schema {
        Some(path) => schema(path),
        None if how.json_object => Ok(Form::Json),
        None => Ok(Form::Text),
    }
}

/// How the model is to answer; the level is the one behind its name.
pub(super) fn options(how: &HowArguments, level: Option<ThinkingLevel>, form: &Form) -> Options {
    let mut parameters: Map<String, Value> = how.param.iter().cloned().collect();
    if let Some(most) = how.max_tokens {
        parameters.insert("max_tokens".to_owned(), most.into());
    }
    Options {
        thinking: how.thinking.or(level).unwrap_or_default(),
        thinking_asked: how.thinking.or(level).is_some(),
        tool_choice: how.tool_choice.clone(),
        response_format: form.response_format(),
        // Nobody asks the same twice from here.
        cache: CacheRetention::None,
        parameters,
        ..Options::plain()
    }
}

/// A question, standard input, both, or neither: a file alone is enough to be asked about.
fn question(said: &[String]) -> Result<Question, Failure> {
    let piped = || -> Result<Option<String>, Failure> {
        let piped = if io::stdin().is_terminal() { None } else { Some(standard_input()?) };
        Ok(piped.filter(|it| !it.trim().is_empty()))
    };
    match said {
        [word] if word == "-" => Ok(Question::Piped(standard_input()?)),
        [] => Ok(piped()?.map_or_else(|| Question::Typed(String::new()), Question::Piped)),
        // Whoever leaves the quotes out means one question.
        words => {
            let typed = words.join(" ");
            Ok(match piped()? {
                Some(piped) => Question::About { typed, piped },
                None => Question::Typed(typed),
            })
        }
    }
}

fn standard_input() -> Result<String, Failure> {
    let path = Path::new("-");
    Ok(readable(&input::read(path)?, path)?.to_owned())
}

fn system(said: &SaidArguments) -> Vec<SystemPart> {
    let part = |text: &String| SystemPart {
        id: "instructions".to_owned(),
        provenance: Provenance::usual(Origin::User),
        text: SystemText::Instructions { text: text.clone() },
    };
    said.system.iter().map(part).collect()
}

fn tools(said: &SaidArguments) -> Result<Vec<Tool>, Failure> {
    let tools: Vec<Tool> = said.tool.iter().map(|path| tool(path.as_path())).collect::<Result<_, _>>()?;
    for (index, tool) in tools.iter().enumerate() {
        let name = &tool.definition.name;
        if tools[..index].iter().any(|earlier| earlier.definition.name == *name) {
            return Err(ModelFailure::SameTool { name: name.clone() }.into());
        }
    }
    Ok(tools)
}

fn tool(path: &Path) -> Result<Tool, Failure> {
    let file = path.display().to_string();
    let refused = |refusal| ModelFailure::NotATool { file: file.clone(), refusal };
    let mut written = refusal::parse_any(input::read(path)?.bytes()).map_err(refused)?;
    // OpenAI's form wraps it, Anthropic's has another word for the parameters.
    if written["type"] == "function" {
        written = written["function"].take();
    }
    if let Some(members) = written.as_object_mut() {
        if let Some(schema) = members.remove("input_schema") {
            members.entry("parameters").or_insert(schema);
        }
        members.entry("description").or_insert_with(|| json!(""));
        members.entry("parameters").or_insert_with(|| json!({"type": "object", "properties": {}}));
    }
    let definition: ToolDefinition = serde_json::from_value(written).map_err(|error| {
        let message = format!("{error}; expected {{name, description, parameters}}");
        refused(Refusal {
            cause: Cause::Shape,
            problems: vec![pi_transcript::json::Problem { path: String::new(), message }],
        })
    })?;
    if !is_tool_name(&definition.name) {
        return Err(ModelFailure::ToolName { file, name: definition.name, most: LONGEST_TOOL_NAME }.into());
    }
    let provenance = Provenance::usual(Origin::File { path: path.display().to_string() });
    Ok(Tool { definition, provenance })
}

/// A schema against which the answer can be checked.
fn schema(path: &Path) -> Result<Form, Failure> {
    let file = path.display().to_string();
    let refused = |refusal| ModelFailure::NotASchema { file: file.clone(), refusal };
    let schema = refusal::parse_any(input::read(path)?.bytes()).map_err(refused)?;
    Ok(Form::of_schema(schema).map_err(refused)?)
}

/// Puts a text file in front of the question; anything else is a block of its kind.
fn attach(path: &Path, text: &mut Text<'_>) -> Result<Option<Block>, Failure> {
    let document = input::read(path)?;
    let file_name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(match media::kind(document.bytes(), path) {
        Some((Kind::Image, mime_type)) => Some(Block::image(STANDARD.encode(document.bytes()), mime_type)),
        Some((kind, mime_type)) => {
            let Value::Object(block) = json!({
                "type": kind.word(), "data": STANDARD.encode(document.bytes()),
                "mimeType": mime_type, "fileName": file_name,
            }) else {
                unreachable!("an object was written")
            };
            Some(Block::Other(block))
        }
        None => {
            text.push_file(path, &file_name, readable(&document, path)?);
            None
        }
    })
}

/// A document as text, or what it is instead.
fn readable<'a>(document: &'a Document, path: &Path) -> Result<&'a str, ModelFailure> {
    document.text(path).map_err(|failure| match failure {
        ModelFailure::NotText { .. } => binary::failure(document.bytes(), path),
        other => other,
    })
}

fn image(path: &Path) -> Result<Block, Failure> {
    let document = input::read(path)?;
    match media::kind(document.bytes(), path) {
        Some((Kind::Image, mime_type)) => Ok(Block::image(STANDARD.encode(document.bytes()), mime_type)),
        Some(_) | None => Err(ModelFailure::NotAnImage { file: path.display().to_string() }.into()),
    }
}

impl Text<'_> {
    fn scrubbed(&mut self, text: &str) -> String {
        let (text, count) = scrub::text(self.redactor, text);
        self.hidden += count;
        text.into_owned()
    }

    /// As Pi writes an attached file.
    fn push_file(&mut self, path: &Path, file_name: &str, content: &str) {
        let content = self.scrubbed(content);
        let start = self.written.len();
        self.written.push_str(&text_file(path, &content));
        let source = SpanSource::Document { file_name: file_name.to_owned(), mime_type: "text/plain".to_owned() };
        let origin = Origin::File { path: path.display().to_string() };
        self.close(start, origin, source);
    }

    fn push_quoted(&mut self, piped: &str) {
        let piped = self.scrubbed(piped);
        let start = self.written.len();
        self.written.push_str(piped.trim_end());
        self.close(start, Origin::User, SpanSource::Quote);
    }

    fn close(&mut self, start: usize, origin: Origin, source: SpanSource) {
        let bytes = start..self.written.len();
        self.spans.push(Span { block: 0, bytes, provenance: Provenance::usual(origin), source });
        self.written.push_str("\n\n");
    }
}
