//! Documents in the order in which they answer a question.
//!
//! [`request()`] and [`read`] are pure; [`rerank()`] puts the wire between them. Cohere's version 2 and Jina's
//! form, which llama.cpp, vLLM and Together took, ask alike and differ in what they answer.

use serde_json::{Map, Value};

use crate::{
    error::CallError,
    event::TokenUsage,
    operation::{self, Answered, Asking, Form, Kind},
    request::{Request, Target},
    response::Reading,
};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerank {
    pub query: String,
    /// At least one.
    pub documents: Vec<String>,
    /// How many are wanted; all, if nobody says.
    pub top: Option<u32>,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The best first.
    pub results: Vec<Ranked>,
    pub model: Option<String>,
    pub usage: Option<TokenUsage>,
    /// What Cohere bills: searches, not tokens.
    pub search_units: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Which of the documents.
    pub index: usize,
    /// Higher is better; how high is the model's own matter.
    pub score: f64,
}

/// Puts documents in order.
pub async fn rerank(asking: &Asking<'_>, rerank: &Rerank) -> Result<Answered<Ranking>, CallError> {
    let request = request(asking.target, rerank)?;
    asking.send(request, |reading, whole| read(reading, &whole.body, rerank.documents.len())).await
}

/// The request for this ranking.
pub fn request(target: &Target<'_>, rerank: &Rerank) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::Rerank)?;
    match place.form {
        Form::Openai | Form::Cohere => {}
        Form::Anthropic | Form::Gemini => return Err(operation::unknown_form(target.manifest, Kind::Rerank)),
    }
    if rerank.documents.is_empty() {
        return Err(CallError::Option { option: "documents".to_owned(), reason: "there is no document".to_owned() });
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), operation::wire_model(target).into());
    body.insert("query".to_owned(), rerank.query.as_str().into());
    body.insert("documents".to_owned(), rerank.documents.clone().into());
    if let Some(top) = rerank.top {
        body.insert("top_n".to_owned(), top.into());
    }
    place.json(target, body)
}

/// Reads the answer to so many documents.
pub fn read(reading: &Reading<'_>, body: &[u8], count: usize) -> Result<Ranking, CallError> {
    let body = reading.json(body)?;
    let list = body.get("results").or_else(|| body.get("data")).unwrap_or(&body).as_array();
    let list = list.ok_or_else(|| reading.malformed("no results in it"))?;
    let ranked = |item: &Value| {
        let index = usize::try_from(item.get("index")?.as_u64()?).ok().filter(|index| *index < count)?;
        let score = item.get("relevance_score").or_else(|| item.get("score"))?.as_f64()?;
        Some(Ranked { index, score })
    };
    let results: Option<Vec<_>> = list.iter().map(ranked).collect();
    let mut results =
        results.ok_or_else(|| reading.malformed("a result has no score, or no document of its number"))?;
    results.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.index.cmp(&other.index)));
    let model = body.get("model").and_then(Value::as_str).map(|word| reading.word(word));
    let search_units = body.pointer("/meta/billed_units/search_units").and_then(Value::as_u64);
    Ok(Ranking { results, model, usage: reading.usage(&body), search_units })
}
