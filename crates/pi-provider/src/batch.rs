//! Many questions at once, answered within a day for less money.
//!
//! A batch is put up, looked at until it is over, and its results are fetched. [`submit`], [`wait`] and
//! [`fetch`] send; the other functions make requests and read answers and are pure. How a provider wants its batches
//! (as a file of lines that goes up first, or in the request) is data: `operation/table.yaml`, or the manifest's
//! `endpoints.batch.wording`. Each question is a [`Request`] as [`build`](crate::request::build) makes it for an answer
//! that is not streamed, and each answer is read as any other.

mod outcome;
mod status;

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use pi_envelope::Tool;
use serde_json::{Map, Value};
use tokio::time::sleep;

pub use self::{
    outcome::{Outcome, read_results},
    status::{Batch, Counts, State, read_status},
};
use crate::{
    client::Whole,
    error::CallError,
    guardrail::Finding,
    manifest::{Manifest, model::Pricing},
    operation::{self, Answered, Asking, Kind, Place, guard, multipart, template, wire_model},
    request::{Request, Target},
    response::Reading,
    transport::Content,
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

/// What there is of a batch.
#[derive(Debug)]
pub struct Fetched {
    pub outcomes: Vec<Outcome>,
    /// What the guardrails found in the answers.
    pub findings: Vec<Finding>,
}

/// Puts up a batch. If the file is up and the batch is refused, the file stays with the provider.
pub async fn submit(asking: &Asking<'_>, items: &[Item]) -> Result<Answered<Batch>, CallError> {
    let mut items = items.to_vec();
    let findings = filter(asking.target.manifest, &mut items)?;
    let items = &items;
    let request = match start(asking.target, items)? {
        Start::Create(request) => request,
        Start::Upload(request) => {
            let file = asking.send(request, |reading, whole| read_upload(reading, &whole.body)).await?.value;
            creation(asking.target, items, &file)?
        }
    };
    let mut answered = asking.send(request, |reading, whole| read_status(reading, &whole.body)).await?;
    // Questions that are sent in the request itself are seen twice, and told of once.
    answered.facts.findings = findings;
    Ok(answered)
}

/// Filters the questions of a batch, in place: in a file the filters would not find them any more.
pub fn filter(manifest: &Manifest, items: &mut [Item]) -> Result<Vec<Finding>, CallError> {
    let mut findings = Vec::new();
    for item in items {
        guard::gather(&mut findings, guard::filter_request(manifest, &mut item.request)?);
    }
    Ok(findings)
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
    let read = |reading: &Reading<'_>, whole: &Whole| match reading.json(&whole.body)? {
        Value::Object(nothing) if nothing.is_empty() => Ok(None),
        _ => read_status(reading, &whole.body).map(Some),
    };
    match asking.send(cancellation(asking.target, id)?, read).await? {
        Answered { value: Some(batch), facts } => Ok(Answered { value: batch, facts }),
        Answered { value: None, .. } => look(asking, id).await,
    }
}

/// Fetches what there is of a batch: answers and errors. `tools` are those that the questions offered: a model that has
/// no calls of its own writes them as text, and they are found there as in any other answer.
pub async fn fetch(asking: &Asking<'_>, batch: &Batch, tools: &[Tool]) -> Result<Fetched, CallError> {
    let mut fetched = Fetched { outcomes: Vec::new(), findings: Vec::new() };
    for request in results(asking.target, batch)? {
        let read = |reading: &Reading<'_>, whole: &Whole| read_results(reading, asking.target, tools, &whole.body);
        for Outcome { id, answer } in asking.send_for(Content::Lines, request, read).await?.value {
            let filtered = |events| guard::filter_output(asking.target.manifest, events, &mut fetched.findings);
            fetched.outcomes.push(Outcome { id, answer: answer.and_then(filtered) });
        }
    }
    Ok(fetched)
}

/// What the answers of a batch cost; `None` where nobody knows. Batches have prices of their own, most of them half of the
/// usual ones.
pub fn pricing(target: &Target<'_>) -> Option<Pricing> {
    let factor = operation::listed(target.manifest, Kind::Batch)?.price_factor?;
    let is_part = (0.0..=1.0).contains(&factor);
    target.manifest.pricing_of(target.entry).filter(|_| is_part).map(|pricing| pricing.reduced(factor))
}

/// The first request for a batch.
pub fn start(target: &Target<'_>, items: &[Item]) -> Result<Start, CallError> {
    let place = batches(target)?;
    check(items)?;
    let questions = questions(target, &place, items)?;
    if !template::has_place(creation_template(target, &place)?, "file") {
        return place.json(target, made(target, &place, items, ("items", questions.into()))?).map(Start::Create);
    }
    let mut lines = String::new();
    for question in questions {
        let _ = writeln!(lines, "{question}");
    }
    let files = operation::find(target.manifest, Kind::Files)?;
    let mut form = multipart::Form::default();
    form.text("purpose", "batch");
    form.file("file", "batch.jsonl", "application/jsonl", lines.as_bytes());
    files.multipart(target, &form).map(Start::Upload)
}

/// Reads the id of an uploaded file.
pub fn read_upload(reading: &Reading<'_>, body: &[u8]) -> Result<String, CallError> {
    let body = reading.json(body)?;
    let id = body.get("id").and_then(Value::as_str).ok_or_else(|| reading.malformed("no id of the file in it"))?;
    Ok(id.to_owned())
}

/// The request that makes a batch of an uploaded file.
pub fn creation(target: &Target<'_>, items: &[Item], file: &str) -> Result<Request, CallError> {
    let place = batches(target)?;
    place.json(target, made(target, &place, items, ("file", file.into()))?)
}

/// The request that asks how a batch is.
pub fn status(target: &Target<'_>, id: &str) -> Result<Request, CallError> {
    jobs(target)?.below("GET", &format!("/{}", operation::path_segment(id)?)).empty(target)
}

/// The request that ends a batch early; what is answered already can still be fetched.
pub fn cancellation(target: &Target<'_>, id: &str) -> Result<Request, CallError> {
    let jobs = jobs(target)?;
    let cancel = jobs.wording.cancel.as_deref().unwrap_or_default();
    jobs.below("POST", &format!("/{}{cancel}", operation::path_segment(id)?)).empty(target)
}

/// The requests that fetch what there is of a batch: answers, then errors.
pub fn results(target: &Target<'_>, batch: &Batch) -> Result<Vec<Request>, CallError> {
    let jobs = jobs(target)?;
    if let Some(results) = &jobs.wording.results {
        let path = format!("/{}{results}", operation::path_segment(&batch.id)?);
        return Ok(vec![jobs.below("GET", &path).empty(target)?]);
    }
    let files = operation::find(target.manifest, Kind::Files)?;
    let fetch =
        |file: &String| files.below("GET", &format!("/{}/content", operation::path_segment(file)?)).empty(target);
    batch.files.iter().map(fetch).collect()
}

fn batches(target: &Target<'_>) -> Result<Place, CallError> {
    operation::find(target.manifest, Kind::Batch)
}

/// Where batches are when they have been made.
fn jobs(target: &Target<'_>) -> Result<Place, CallError> {
    let place = batches(target)?;
    Ok(match place.wording.jobs.clone() {
        Some(path) => place.at(&path),
        None => place,
    })
}

/// A form without it knows no batches.
fn creation_template<'p>(target: &Target<'_>, place: &'p Place) -> Result<&'p Value, CallError> {
    place.wording.creation.as_ref().ok_or_else(|| operation::unknown_form(target.manifest, Kind::Batch))
}

/// The body that makes a batch of a file, or of the items themselves.
fn made(
    target: &Target<'_>,
    place: &Place,
    items: &[Item],
    (name, content): (&str, Value),
) -> Result<Map<String, Value>, CallError> {
    let values = values([(name, content), ("endpoint", endpoint(items).into()), ("model", wire_model(target).into())]);
    let body = template::fill(creation_template(target, place)?, &values);
    Ok(body.as_object().cloned().unwrap_or_default())
}

/// Every item in the provider's words.
fn questions(target: &Target<'_>, place: &Place, items: &[Item]) -> Result<Vec<Value>, CallError> {
    let unknown = || operation::unknown_form(target.manifest, Kind::Batch);
    let template = place.wording.item.as_ref().ok_or_else(unknown)?;
    let question = |item: &Item| {
        let body = body(item)?;
        let values = values([("id", item.id.as_str().into()), ("endpoint", endpoint(items).into()), ("body", body)]);
        Ok(template::fill(template, &values))
    };
    items.iter().map(question).collect()
}

fn values<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn check(items: &[Item]) -> Result<(), CallError> {
    let fault = |reason: String| Err(CallError::Option { option: "items".to_owned(), reason });
    let Some(first) = items.first() else { return fault("there is no question".to_owned()) };
    let mut ids = BTreeSet::new();
    for item in items {
        if item.id.is_empty() || !ids.insert(&item.id) {
            return fault(format!("the id {:?} is empty or not unique", item.id));
        }
        if item.request.address != first.request.address {
            return fault(format!("{:?} goes to another address than the others", item.id));
        }
    }
    Ok(())
}

/// What is asked, as it would be sent by itself.
fn body(item: &Item) -> Result<Value, CallError> {
    serde_json::from_slice(&item.request.body).map_err(|fault| CallError::Option {
        option: "items".to_owned(),
        reason: format!("the body of {:?} is not JSON: {fault}", item.id),
    })
}

/// Where the questions go, in the words of a batch: the path from the version on.
fn endpoint(items: &[Item]) -> &str {
    let path = items.first().map_or("", |item| item.request.address.url.path());
    path.find("/v1/").map_or(path, |place| &path[place..])
}
