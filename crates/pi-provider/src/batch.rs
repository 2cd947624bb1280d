//! Many questions at once, answered within a day for less money.
//!
//! A batch is put up, looked at until it is over, and its results are fetched. [`submit`], [`wait`] and
//! [`fetch`] send; the other functions make requests and read answers and are pure. Forms: OpenAI's (a file of lines goes up first),
//! Mistral's (the same with other words) and Anthropic's (the questions are in the request). Each question is a
//! [`Request`] as [`build`](crate::request::build) makes it for an answer that is not streamed, and each answer is read as
//! any other.

mod status;

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

pub use self::status::{Batch, Counts, State, read_status};
use crate::{
    classify::{self, Refusal},
    dialect::Dialect,
    error::CallError,
    event::StreamEvent,
    operation::{self, Answered, Asking, Form, Kind, Place, guard, multipart},
    request::{Request, Target},
    response::{Answers, Reading},
    secret::redactor,
};

/// One question of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Finds the answer again; unique in the batch.
    pub id: String,
    /// Not a streamed one; all of a batch go to the same address.
    pub request: Request,
}

/// What to send first.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// The questions as a file; [`read_upload`] and [`creation`] come next.
    Upload(Request),
    /// The whole batch.
    Create(Request),
}

/// The answer to one question. The order is the provider's.
#[derive(Debug)]
pub struct Outcome {
    /// The item's.
    pub id: String,
    /// The events of the answer, as if it had been streamed.
    pub answer: Result<Vec<StreamEvent>, CallError>,
}

/// Puts up a batch. If the file is up and the batch is refused, the file stays with the provider.
pub async fn submit(asking: &Asking<'_>, items: &[Item]) -> Result<Answered<Batch>, CallError> {
    let mut items = items.to_vec();
    for item in &mut items {
        // In a file the filters would not find them any more.
        guard::filter_input(asking.target.manifest, &mut item.request.body)?;
    }
    let items = &items;
    let request = match start(asking.target, items)? {
        Start::Create(request) => request,
        Start::Upload(request) => {
            let file = asking.send(request, |reading, whole| read_upload(reading, &whole.body)).await?.value;
            creation(asking.target, items, &file)?
        }
    };
    asking.send(request, |reading, whole| read_status(reading, &whole.body)).await
}

/// Asks how a batch is.
pub async fn look(asking: &Asking<'_>, id: &str) -> Result<Answered<Batch>, CallError> {
    asking.send(status(asking.target, id)?, |reading, whole| read_status(reading, &whole.body)).await
}

/// Looks at a batch every so often until it is over. Dropping the future, or cancelling, ends the waiting and not the
/// batch.
pub async fn wait(asking: &Asking<'_>, id: &str, every: Duration) -> Result<Answered<Batch>, CallError> {
    loop {
        let batch = look(asking, id).await?;
        if batch.value.state.is_over() {
            return Ok(batch);
        }
        tokio::select! {
            () = asking.cancel.cancelled() => return Err(CallError::Cancelled),
            () = sleep(every) => {}
        }
    }
}

/// Ends a batch early; what is answered already can still be fetched.
pub async fn cancel(asking: &Asking<'_>, id: &str) -> Result<Answered<Batch>, CallError> {
    asking.send(cancellation(asking.target, id)?, |reading, whole| read_status(reading, &whole.body)).await
}

/// Fetches what there is of a batch: answers and errors.
pub async fn fetch(asking: &Asking<'_>, batch: &Batch) -> Result<Vec<Outcome>, CallError> {
    let mut outcomes = Vec::new();
    for request in results(asking.target, batch)? {
        let read = asking.send(request, |reading, whole| read_results(reading, asking.target, &whole.body)).await?;
        let filtered = |Outcome { id, answer }| Outcome {
            id,
            answer: answer.and_then(|events| guard::filter_output(asking.target.manifest, events)),
        };
        outcomes.extend(read.value.into_iter().map(filtered));
    }
    Ok(outcomes)
}

/// The first request for a batch.
pub fn start(target: &Target<'_>, items: &[Item]) -> Result<Start, CallError> {
    let place = operation::find(target.manifest, Kind::Batch)?;
    check(items)?;
    match place.form {
        Form::Openai | Form::Mistral => {
            let lines = lines(place.form, items)?;
            let files = operation::find(target.manifest, Kind::Files)?;
            let mut form = multipart::Form::default();
            form.text("purpose", "batch");
            form.file("file", "batch.jsonl", "application/jsonl", lines.as_bytes());
            files.multipart(target, &form).map(Start::Upload)
        }
        Form::Anthropic => {
            let requests: Result<Vec<_>, _> =
                items.iter().map(|item| Ok(json!({"custom_id": item.id, "params": question(item)?}))).collect();
            let body = Map::from_iter([("requests".to_owned(), Value::Array(requests?))]);
            place.json(target, body).map(Start::Create)
        }
        Form::Gemini | Form::Cohere | Form::Ollama => Err(operation::unknown_form(target.manifest, Kind::Batch)),
    }
}

/// Reads the id of an uploaded file.
pub fn read_upload(reading: &Reading<'_>, body: &[u8]) -> Result<String, CallError> {
    let body = reading.json(body)?;
    let id = body.get("id").and_then(Value::as_str).ok_or_else(|| reading.malformed("no id of the file in it"))?;
    Ok(id.to_owned())
}

/// The request that makes a batch of an uploaded file.
pub fn creation(target: &Target<'_>, items: &[Item], file: &str) -> Result<Request, CallError> {
    let place = operation::find(target.manifest, Kind::Batch)?;
    let endpoint = endpoint(items);
    let body = if place.form == Form::Mistral {
        let model = operation::wire_model(target);
        json!({"input_files": [file], "model": model, "endpoint": endpoint, "timeout_hours": 24})
    } else {
        json!({"input_file_id": file, "endpoint": endpoint, "completion_window": "24h"})
    };
    place.json(target, body.as_object().cloned().unwrap_or_default())
}

/// The request that asks how a batch is.
pub fn status(target: &Target<'_>, id: &str) -> Result<Request, CallError> {
    batches(target)?.below("GET", &format!("/{}", operation::path_segment(id)?)).empty(target)
}

/// The request that ends a batch early; what is answered already can still be fetched.
pub fn cancellation(target: &Target<'_>, id: &str) -> Result<Request, CallError> {
    batches(target)?.below("POST", &format!("/{}/cancel", operation::path_segment(id)?)).empty(target)
}

/// The requests that fetch what there is of a batch: answers, then errors.
pub fn results(target: &Target<'_>, batch: &Batch) -> Result<Vec<Request>, CallError> {
    let place = batches(target)?;
    if place.form == Form::Anthropic {
        let path = format!("/{}/results", operation::path_segment(&batch.id)?);
        return Ok(vec![place.below("GET", &path).empty(target)?]);
    }
    let files = operation::find(target.manifest, Kind::Files)?;
    let fetch =
        |file: &String| files.below("GET", &format!("/{}/content", operation::path_segment(file)?)).empty(target);
    batch.files.iter().map(fetch).collect()
}

/// Reads results: a line of JSON for each question. `target` says which dialect the answers are in.
pub fn read_results(reading: &Reading<'_>, target: &Target<'_>, body: &[u8]) -> Result<Vec<Outcome>, CallError> {
    let answers = Answers::of(target.manifest, Dialect::of(target.manifest, target.entry))?;
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let outcome = |(number, line)| {
        let fault = |reason: String| reading.malformed(&format!("line {}: {reason}", number + 1));
        let line: Value = serde_json::from_slice(line).map_err(|source| fault(source.to_string()))?;
        let id = line.get("custom_id").and_then(Value::as_str).ok_or_else(|| fault("no custom_id".to_owned()))?;
        Ok(Outcome { id: id.to_owned(), answer: answer(reading, &answers, &line) })
    };
    lines.enumerate().map(outcome).collect()
}

fn answer(reading: &Reading<'_>, answers: &Answers, line: &Value) -> Result<Vec<StreamEvent>, CallError> {
    let whole = |body: &Value| answers.read(reading, body.to_string().as_bytes());
    if let Some(result) = line.get("result") {
        return match (result.get("type").and_then(Value::as_str), result.get("message")) {
            (Some("succeeded"), Some(message)) => whole(message),
            (Some("errored"), _) => Err(reading.refused(result.get("error").unwrap_or(result))),
            (Some("canceled"), _) => Err(CallError::Cancelled),
            (kind, _) => Err(reading.malformed(&format!("no answer ({})", kind.unwrap_or("unknown")))),
        };
    }
    match (line.get("response").filter(|response| !response.is_null()), line.get("error")) {
        (Some(response), _) => {
            let body = response.get("body").unwrap_or(&Value::Null);
            let status = response.get("status_code").and_then(Value::as_u64).unwrap_or(200);
            match u16::try_from(status) {
                Ok(200..=299) => whole(body),
                Ok(status) => Err(refusal(reading, status, body)),
                Err(_) => Err(reading.malformed("no status in it")),
            }
        }
        (None, Some(error)) if !error.is_null() => Err(reading.refused(&json!({"error": error}))),
        (None, _) => Err(reading.malformed("neither an answer nor an error")),
    }
}

fn refusal(reading: &Reading<'_>, status: u16, body: &Value) -> CallError {
    let (headers, body) = (HeaderMap::new(), body.to_string());
    let refusal = Refusal { status, headers: &headers, body: body.as_bytes(), received: reading.received };
    let failure =
        classify::classify(reading.manifest, refusal, &redactor(&reading.manifest.endpoint.auth, reading.secret));
    CallError::Refused { provider: reading.manifest.id.clone(), failure }
}

fn batches(target: &Target<'_>) -> Result<Place, CallError> {
    operation::find(target.manifest, Kind::Batch)
}

fn check(items: &[Item]) -> Result<(), CallError> {
    let fault = |reason: String| Err(CallError::Option { option: "items".to_owned(), reason });
    let Some(first) = items.first() else { return fault("there is no question".to_owned()) };
    let mut ids = BTreeSet::new();
    for item in items {
        if item.id.is_empty() || !ids.insert(&item.id) {
            return fault(format!("the id {:?} is empty or not unique", item.id));
        }
        if item.request.url != first.request.url {
            return fault(format!("{:?} goes to another address than the others", item.id));
        }
    }
    Ok(())
}

/// A question's body.
fn question(item: &Item) -> Result<Value, CallError> {
    serde_json::from_slice(&item.request.body).map_err(|fault| CallError::Option {
        option: "items".to_owned(),
        reason: format!("the body of {:?} is not JSON: {fault}", item.id),
    })
}

fn lines(form: Form, items: &[Item]) -> Result<String, CallError> {
    let endpoint = endpoint(items);
    let mut lines = String::new();
    for item in items {
        let body = question(item)?;
        let line = if form == Form::Mistral {
            json!({"custom_id": item.id, "body": body})
        } else {
            json!({"custom_id": item.id, "method": "POST", "url": endpoint, "body": body})
        };
        let _ = writeln!(lines, "{line}");
    }
    Ok(lines)
}

/// Where the questions go, in the words of a batch: the path from the version on.
fn endpoint(items: &[Item]) -> &str {
    let path = items.first().map_or("", |item| item.request.url.path());
    path.find("/v1/").map_or(path, |place| &path[place..])
}
