//! Texts as vectors.
//!
//! [`request()`] and [`read`] are pure; [`embed`] puts the wire between them, several times where there are more texts than one
//! request may have. Forms: OpenAI's, which most have, Gemini's and Cohere's version 2; vectors are found in the answers of
//! servers with a form of their own as well.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    client::Facts,
    error::CallError,
    event::TokenUsage,
    manifest::Manifest,
    operation::{self, Answered, Asking, Form, Kind},
    request::{Request, Target},
    response::Reading,
};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embed {
    /// At least one, none of them empty.
    pub texts: Vec<String>,
    /// The length of the vectors, where the model lets one choose.
    pub dimensions: Option<u32>,
    /// What the vectors are for, where the model makes a difference.
    pub purpose: Option<Purpose>,
}

/// What vectors are for. Gemini and Cohere have other vectors for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To be compared with those of documents.
    Query,
    /// To be found.
    Document,
    Similarity,
    Classification,
    Clustering,
}

/// What comes back: one vector for each text, in the same order.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    pub vectors: Vec<Vec<f32>>,
    /// The model that answered, if the provider says.
    pub model: Option<String>,
    pub usage: Option<TokenUsage>,
}

/// How far several requests have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Texts that have their vectors.
    pub done: usize,
    pub all: usize,
}

/// Turns texts into vectors.
pub async fn embed(asking: &Asking<'_>, embed: &Embed) -> Result<Answered<Embeddings>, CallError> {
    embed_telling(asking, embed, |_| {}).await
}

/// The same, with word of every answer that has come. Requests follow one another; the first that fails ends it.
pub async fn embed_telling(
    asking: &Asking<'_>,
    embed: &Embed,
    mut told: impl FnMut(Progress),
) -> Result<Answered<Embeddings>, CallError> {
    check(embed)?;
    let mut all: Option<Answered<Embeddings>> = None;
    for portion in portions(asking.target.manifest, embed)? {
        let request = request(asking.target, &portion)?;
        let next = asking.send(request, |reading, whole| read(reading, &whole.body, portion.texts.len())).await?;
        let sum = match all.take() {
            Some(before) => before.followed_by(next),
            None => next,
        };
        told(Progress { done: sum.value.vectors.len(), all: embed.texts.len() });
        all = Some(sum);
    }
    Ok(all.expect("there is at least one text, so there is a portion"))
}

/// What is asked in one request each, in order: as many texts as the provider takes at once.
pub fn portions(manifest: &Manifest, embed: &Embed) -> Result<Vec<Embed>, CallError> {
    let most = |kind: Kind| operation::listed(manifest, kind).and_then(|operation| operation.max_inputs);
    let most = match operation::find(manifest, Kind::Embeddings)?.form {
        Form::Gemini => most(Kind::BatchEmbeddings).or_else(|| most(Kind::Embeddings)),
        Form::Openai | Form::Cohere | Form::Anthropic => most(Kind::Embeddings),
    };
    let most = most.map_or(usize::MAX, |most| usize::try_from(most.get()).unwrap_or(usize::MAX));
    let Embed { dimensions, purpose, .. } = *embed;
    Ok(embed.texts.chunks(most).map(|texts| Embed { texts: texts.to_vec(), dimensions, purpose }).collect())
}

impl Answered<Embeddings> {
    /// Both together, as if they had been one answer.
    fn followed_by(self, next: Self) -> Self {
        let Embeddings { mut vectors, model, usage } = self.value;
        vectors.extend(next.value.vectors);
        let usage = usage.zip(next.value.usage).map(|(usage, more)| usage.plus(&more));
        let value = Embeddings { vectors, model, usage };
        let (attempts, waited) = (self.facts.attempts + next.facts.attempts, self.facts.waited + next.facts.waited);
        let findings = self.facts.findings.into_iter().chain(next.facts.findings).collect();
        Answered { value, facts: Facts { attempts, waited, findings, ..next.facts } }
    }
}

/// The request for these texts.
pub fn request(target: &Target<'_>, embed: &Embed) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::Embeddings)?;
    check(embed)?;
    let model = operation::wire_model(target);
    let mut dropped = Vec::new();
    let mut request = match place.form {
        Form::Openai => {
            dropped.extend(embed.purpose.map(|_| operation::dropped("purpose")));
            let length = place.wording.dimensions.as_deref().unwrap_or("dimensions");
            place.json(target, openai(model, embed, length))
        }
        Form::Cohere => place.json(target, cohere(model, embed)),
        Form::Gemini => match embed.texts.as_slice() {
            [text] => place.json(target, gemini(text, embed)),
            _ => {
                let several = operation::find(target.manifest, Kind::BatchEmbeddings)?;
                several.json(target, gemini_several(model, embed))
            }
        },
        Form::Anthropic => return Err(operation::unknown_form(target.manifest, Kind::Embeddings)),
    }?;
    request.changes.extend(dropped);
    Ok(request)
}

/// Reads the answer to so many texts.
pub fn read(reading: &Reading<'_>, body: &[u8], count: usize) -> Result<Embeddings, CallError> {
    let body = reading.json(body)?;
    if let Some(index) = repeated_index(&body) {
        return Err(reading.malformed(&format!("two vectors have the index {index}")));
    }
    let vectors = vectors(&body).ok_or_else(|| reading.malformed("no vectors in it"))?;
    if vectors.len() != count {
        return Err(reading.malformed(&format!("{} vectors for {count} texts", vectors.len())));
    }
    // Vectors are there to be compared.
    let length = vectors.first().map_or(0, Vec::len);
    if let Some(other) = vectors.iter().map(Vec::len).find(|other| *other == 0 || *other != length) {
        let fault = match other {
            0 => "a vector is empty".to_owned(),
            _ => format!("a vector has {length} numbers, and another {other}"),
        };
        return Err(reading.malformed(&fault));
    }
    let model = body.get("model").and_then(Value::as_str).map(|word| reading.word(word));
    Ok(Embeddings { vectors, model, usage: reading.usage(&body) })
}

fn check(embed: &Embed) -> Result<(), CallError> {
    let reason = match embed.texts.iter().position(String::is_empty) {
        _ if embed.texts.is_empty() => "there is no text".to_owned(),
        Some(place) => format!("text {} is empty", place + 1),
        None => return Ok(()),
    };
    Err(CallError::Option { option: "texts".to_owned(), reason })
}

fn openai(model: &str, embed: &Embed, length: &str) -> Map<String, Value> {
    let mut body = object(json!({"model": model, "input": embed.texts}));
    if let Some(dimensions) = embed.dimensions {
        body.insert(length.to_owned(), dimensions.into());
    }
    body
}

fn cohere(model: &str, embed: &Embed) -> Map<String, Value> {
    // Cohere refuses a request that does not say what for; a text by itself is most like a document.
    let purpose = match embed.purpose.unwrap_or(Purpose::Document) {
        Purpose::Query => "search_query",
        Purpose::Document | Purpose::Similarity => "search_document",
        Purpose::Classification => "classification",
        Purpose::Clustering => "clustering",
    };
    let mut body =
        object(json!({"model": model, "texts": embed.texts, "input_type": purpose, "embedding_types": ["float"]}));
    if let Some(dimensions) = embed.dimensions {
        body.insert("output_dimension".to_owned(), dimensions.into());
    }
    body
}

fn gemini(text: &str, embed: &Embed) -> Map<String, Value> {
    let mut body = object(json!({"content": {"parts": [{"text": text}]}}));
    if let Some(purpose) = embed.purpose {
        let purpose = match purpose {
            Purpose::Query => "RETRIEVAL_QUERY",
            Purpose::Document => "RETRIEVAL_DOCUMENT",
            Purpose::Similarity => "SEMANTIC_SIMILARITY",
            Purpose::Classification => "CLASSIFICATION",
            Purpose::Clustering => "CLUSTERING",
        };
        body.insert("taskType".to_owned(), purpose.into());
    }
    if let Some(dimensions) = embed.dimensions {
        body.insert("outputDimensionality".to_owned(), dimensions.into());
    }
    body
}

fn gemini_several(model: &str, embed: &Embed) -> Map<String, Value> {
    let model = if model.starts_with("models/") { model.to_owned() } else { format!("models/{model}") };
    let one = |text: &String| {
        let mut request = object(json!({"model": model}));
        request.extend(gemini(text, embed));
        Value::Object(request)
    };
    object(json!({"requests": embed.texts.iter().map(one).collect::<Vec<_>>()}))
}

/// The vectors, wherever they are.
fn vectors(body: &Value) -> Option<Vec<Vec<f32>>> {
    if let Some(items) = body.get("data").and_then(Value::as_array) {
        return numbered(items);
    }
    if let Some(one) = body.pointer("/embedding/values") {
        return Some(vec![vector(one)?]);
    }
    let several = body.pointer("/embeddings/float").or_else(|| body.get("embeddings"))?.as_array()?;
    several.iter().map(|item| vector(item.get("values").unwrap_or(item))).collect()
}

/// The first index that comes twice, where vectors are numbered.
fn repeated_index(body: &Value) -> Option<u64> {
    let mut seen = BTreeSet::new();
    let items = body.get("data").and_then(Value::as_array)?;
    items.iter().filter_map(|item| item.get("index").and_then(Value::as_u64)).find(|index| !seen.insert(*index))
}

/// OpenAI numbers the vectors and promises no order.
fn numbered(items: &[Value]) -> Option<Vec<Vec<f32>>> {
    let mut vectors = vec![None; items.len()];
    for (place, item) in items.iter().enumerate() {
        let index =
            item.get("index").and_then(Value::as_u64).map_or(Some(place), |index| usize::try_from(index).ok())?;
        *vectors.get_mut(index)? = Some(vector(item.get("embedding")?)?);
    }
    vectors.into_iter().collect()
}

/// A list of numbers, or the same as little-endian bytes in base64.
fn vector(value: &Value) -> Option<Vec<f32>> {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "models compute with no more than 32 bits")]
        Value::Array(numbers) => numbers.iter().map(|number| Some(number.as_f64()? as f32)).collect(),
        Value::String(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            let (numbers, rest) = bytes.as_chunks::<4>();
            rest.is_empty().then(|| numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
