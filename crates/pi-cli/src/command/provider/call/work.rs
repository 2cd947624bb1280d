//! What is asked of a model beside a chat, and what came of it in words, as JSON and as files.

use std::path::{Path, PathBuf};

use pi_provider::{
    CallError, Target, TokenUsage,
    client::Facts,
    embeddings::{self, Embed, Progress},
    image::{self, Draw, Image, ImageSource},
    operation::{Answered, Asking, guard},
    request::{Change, ChangeKind},
    rerank::{self, Rerank},
    speech::{self, Detail, Speak, Transcribe},
};
use pi_redact::Redactor;
use serde_json::{Map, Value, json};

use super::{Content, Draft};
use crate::{
    arguments::{call::CallCommand, model::Ability},
    console::Console,
    failure::Failure,
    input,
    table::cut,
};

/// So much of a text stands in a line about it.
const SHOWN: usize = 60;
/// So many numbers of a vector are shown to people.
const FIRST_NUMBERS: usize = 4;

/// One request.
pub(super) enum Work {
    Embed(Embed, Option<PathBuf>),
    Rerank(Rerank),
    Draw(Draw, PathBuf),
    Transcribe(Box<Transcribe>, Option<PathBuf>),
    Speak(Speak, PathBuf),
}

/// What came back.
pub(super) struct Done {
    /// For people.
    pub(super) lines: Vec<String>,
    /// For machines.
    pub(super) result: Value,
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
    /// How many files that were asked for could not be made of the answer.
    pub(super) unwritten: usize,
    pub(super) usage: Option<TokenUsage>,
    pub(super) facts: Facts,
}

impl Work {
    /// Reads everything that the arguments name. Secrets in files are hidden; what was typed is what was meant.
    pub(super) fn read(command: &CallCommand, redactor: &Redactor) -> Result<Self, Failure> {
        Ok(match command {
            CallCommand::Embed(arguments) => {
                let texts = texts(&arguments.text, arguments.file.as_deref(), redactor)?;
                let (dimensions, purpose) = (arguments.dimensions, arguments.purpose.map(|purpose| purpose.meant()));
                Work::Embed(Embed { texts, dimensions, purpose }, arguments.output.clone())
            }
            CallCommand::Rerank(arguments) => {
                let documents = texts(&arguments.text, arguments.file.as_deref(), redactor)?;
                Work::Rerank(Rerank { query: arguments.query.clone(), documents, top: arguments.top })
            }
            CallCommand::Draw(arguments) => {
                let (prompt, count, size) = (arguments.prompt.clone(), arguments.count, arguments.size.clone());
                Work::Draw(Draw { prompt, count, size, parameters: Map::new() }, arguments.output.clone())
            }
            CallCommand::Transcribe(arguments) => {
                let path = &arguments.recording;
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let transcribe = Transcribe {
                    media_type: media_type(path).to_owned(),
                    file_name: name,
                    audio: input::read(path)?.bytes().to_vec(),
                    language: arguments.language.clone(),
                    prompt: arguments.prompt.clone(),
                    temperature: None,
                    detail: if arguments.segments { Detail::Segments } else { Detail::Text },
                };
                Work::Transcribe(Box::new(transcribe), arguments.output.clone())
            }
            CallCommand::Speak(arguments) => {
                let text = match arguments.text.as_str() {
                    "-" => redactor.redact_text(&input::read_text(Path::new("-"))?).into_owned(),
                    typed => typed.to_owned(),
                };
                let ending = arguments.output.extension().map(|it| it.to_string_lossy().to_lowercase());
                let speak = Speak {
                    text,
                    voice: arguments.voice.clone(),
                    format: arguments.format.clone().or(ending),
                    speed: arguments.speed,
                    instructions: arguments.instructions.clone(),
                };
                Work::Speak(speak, arguments.output.clone())
            }
            CallCommand::Batch(_) => unreachable!("batches are asked for elsewhere"),
        })
    }

    /// What a model must be able to do for it.
    pub(super) fn ability(&self) -> Ability {
        match self {
            Work::Embed(..) => Ability::Embeds,
            Work::Rerank(_) => Ability::Ranks,
            Work::Draw(..) => Ability::Draws,
            Work::Transcribe(..) => Ability::Transcribes,
            Work::Speak(..) => Ability::Speaks,
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Work::Embed(..) => "embed",
            Work::Rerank(_) => "rerank",
            Work::Draw(..) => "draw",
            Work::Transcribe(..) => "transcribe",
            Work::Speak(..) => "speak",
        }
    }

    /// Where something is to be written.
    pub(super) fn outputs(&self) -> Vec<PathBuf> {
        match self {
            Work::Embed(_, output) | Work::Transcribe(_, output) => output.iter().cloned().collect(),
            Work::Rerank(_) => Vec::new(),
            Work::Draw(draw, output) => (0..draw.count.unwrap_or(1)).map(|place| numbered(output, place)).collect(),
            Work::Speak(_, output) => vec![output.clone()],
        }
    }

    /// The request, filtered as it is when it is sent.
    pub(super) fn draft(&self, target: &Target<'_>) -> Result<Draft, CallError> {
        let mut findings = Vec::new();
        let mut request = match self {
            Work::Embed(embed, _) => {
                let portions = embeddings::portions(target.manifest, embed)?;
                let mut request = embeddings::request(target, portions.first().unwrap_or(embed))?;
                if let [first, _, ..] = portions.as_slice() {
                    let (all, most) = (embed.texts.len(), first.texts.len());
                    let reason =
                        format!("{all} go in {} requests of at most {most}; this is the first", portions.len());
                    let option = "texts".to_owned();
                    request.changes.push(Change { kind: ChangeKind::Changed, option, reason });
                }
                request
            }
            Work::Rerank(rerank) => rerank::request(target, rerank)?,
            Work::Draw(draw, _) => image::request(target, draw)?,
            Work::Transcribe(transcribe, _) => {
                let (transcribe, found) = speech::filtered(target.manifest, transcribe)?;
                findings = found;
                speech::transcription(target, &transcribe)?
            }
            Work::Speak(speak, _) => speech::synthesis(target, speak)?,
        };
        findings.extend(guard::filter_request(target.manifest, &mut request)?);
        Ok(Draft { request, findings, content: Content::Usual })
    }

    pub(super) async fn run(&self, asking: &Asking<'_>, console: &mut Console) -> Result<Done, CallError> {
        Ok(match self {
            Work::Embed(embed, output) => embedded(embed, output.as_deref(), embed_all(embed, asking, console).await?),
            Work::Rerank(rerank) => ranked(rerank, rerank::rerank(asking, rerank).await?),
            Work::Draw(draw, output) => drawn(output, image::draw(asking, draw).await?),
            Work::Transcribe(transcribe, output) => {
                heard(output.as_deref(), speech::transcribe(asking, transcribe).await?)
            }
            Work::Speak(speak, output) => {
                let Answered { value, facts } = speech::speak(asking, speak).await?;
                let result = json!({"media_type": value.media_type, "bytes": value.bytes.len()});
                let lines = vec![format!("{} of {} bytes", value.media_type, value.bytes.len())];
                Done { lines, result, files: vec![(output.clone(), value.bytes)], unwritten: 0, usage: None, facts }
            }
        })
    }
}

/// Makes all vectors, and tells how far it has come where that takes several requests.
async fn embed_all(
    embed: &Embed,
    asking: &Asking<'_>,
    console: &mut Console,
) -> Result<Answered<embeddings::Embeddings>, CallError> {
    let mut reached = 0;
    let told = |Progress { done, all }: Progress| {
        reached = done;
        if done < all {
            console.activity(&format!("{done} of {all} texts have their vectors"));
        }
    };
    let answered = embeddings::embed_telling(asking, embed, told).await;
    if answered.is_err() && reached > 0 {
        console.note(&format!("{reached} of {} texts had been answered; nothing of it is kept", embed.texts.len()));
    }
    answered
}

fn embedded(embed: &Embed, output: Option<&Path>, answered: Answered<embeddings::Embeddings>) -> Done {
    let Answered { value, facts } = answered;
    let vectors: Vec<Vec<f64>> =
        value.vectors.iter().map(|vector| vector.iter().copied().map(plain).collect()).collect();
    let pairs = || embed.texts.iter().zip(&vectors);
    let shown = |(text, vector): (&String, &Vec<f64>)| {
        let first: Vec<String> = vector.iter().take(FIRST_NUMBERS).map(f64::to_string).collect();
        let more = if vector.len() > FIRST_NUMBERS { ", …" } else { "" };
        format!("{}: {} numbers, {}{more}", cut(text, SHOWN), vector.len(), first.join(", "))
    };
    let lines = pairs().map(shown).collect();
    let line = |(text, vector): (&String, &Vec<f64>)| format!("{}\n", json!({"text": text, "vector": vector}));
    let files = output.map(|path| (path.to_owned(), pairs().map(line).collect::<String>().into_bytes()));
    // What is in a file is not printed too.
    let result = match &files {
        Some(_) => json!({"count": vectors.len(), "dimensions": vectors.first().map(Vec::len)}),
        None => json!({"count": vectors.len(), "dimensions": vectors.first().map(Vec::len), "vectors": vectors}),
    };
    Done { lines, result, files: files.into_iter().collect(), unwritten: 0, usage: value.usage, facts }
}

fn ranked(rerank: &Rerank, answered: Answered<rerank::Ranking>) -> Done {
    let Answered { value, facts } = answered;
    let text = |index: usize| rerank.documents.get(index).map_or("", String::as_str);
    let lines = value.results.iter().map(|it| format!("{:.4}  {}", it.score, cut(text(it.index), SHOWN))).collect();
    let results = value.results.iter().map(|it| json!({"index": it.index, "score": it.score, "text": text(it.index)}));
    let result = json!({"results": results.collect::<Vec<_>>(), "search_units": value.search_units});
    Done { lines, result, files: Vec::new(), unwritten: 0, usage: value.usage, facts }
}

fn drawn(output: &Path, answered: Answered<image::Images>) -> Done {
    let Answered { value, facts } = answered;
    let (mut lines, mut results, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut unwritten = 0;
    for (Image { source, revised_prompt }, place) in value.images.into_iter().zip(0..) {
        match source {
            ImageSource::Bytes { media_type, bytes } => {
                lines.push(format!("{media_type} of {} bytes", bytes.len()));
                let path = numbered(output, place);
                results
                    .push(json!({"media_type": media_type, "bytes": bytes.len(), "file": path.display().to_string(),
                                    "revised_prompt": revised_prompt}));
                files.push((path, bytes));
            }
            ImageSource::Url(url) => {
                unwritten += 1;
                lines.push(format!("to be fetched for a while at {url}"));
                results.push(json!({"url": url, "revised_prompt": revised_prompt}));
            }
        }
    }
    Done { lines, result: json!({ "images": results }), files, unwritten, usage: value.usage, facts }
}

fn heard(output: Option<&Path>, answered: Answered<speech::Transcript>) -> Done {
    let Answered { value, facts } = answered;
    let mut lines = vec![value.text.clone()];
    for segment in &value.segments {
        let (start, end) = (segment.start.as_secs_f64(), segment.end.as_secs_f64());
        lines.push(format!("{start:7.1} – {end:.1}  {}", segment.text.trim()));
    }
    let segments = value.segments.iter().map(
        |segment| json!({"start": segment.start.as_secs_f64(), "end": segment.end.as_secs_f64(), "text": segment.text}),
    );
    let result = json!({
        "text": value.text, "language": value.language, "segments": segments.collect::<Vec<_>>(),
        "seconds": value.duration.map(|duration| duration.as_secs_f64()),
    });
    let files = output.map(|path| (path.to_owned(), format!("{}\n", lines.join("\n")).into_bytes()));
    Done { lines, result, files: files.into_iter().collect(), unwritten: 0, usage: value.usage, facts }
}

/// What was typed, and every line of a file that says something.
fn texts(typed: &[String], file: Option<&Path>, redactor: &Redactor) -> Result<Vec<String>, Failure> {
    // As everywhere, `-` is what comes in.
    let (piped, mut texts): (Vec<String>, Vec<String>) = typed.iter().cloned().partition(|text| text == "-");
    let files = piped.first().map(|_| Path::new("-")).into_iter().chain(file);
    for file in files {
        let read = input::read_text(file)?;
        let lines = read.lines().map(str::trim).filter(|line| !line.is_empty());
        texts.extend(lines.map(|line| redactor.redact_text(line).into_owned()));
    }
    Ok(texts)
}

/// The file of a picture; the first has the name that was given.
fn numbered(path: &Path, place: u32) -> PathBuf {
    if place == 0 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}", place + 1));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// Providers tell the format by the name; the type is what the name says.
fn media_type(path: &Path) -> &'static str {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match ending.as_str() {
        "mp3" | "mpga" | "mpeg" => "audio/mpeg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "m4a" | "mp4" => "audio/mp4",
        "webm" => "audio/webm",
        _ => "application/octet-stream",
    }
}

/// The number with the digits that it was written with.
fn plain(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_beyond_the_first_are_numbered() {
        for (path, place, expected) in [
            ("out/a.png", 0, "out/a.png"),
            ("out/a.png", 1, "out/a-2.png"),
            ("a", 2, "a-3"),
            ("a.b.png", 1, "a.b-2.png"),
        ] {
            assert_eq!(numbered(Path::new(path), place), Path::new(expected));
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        assert_eq!([0.1, -0.25, 1.0e-9].map(plain), [0.1, -0.25, 1.0e-9]);
    }
}
