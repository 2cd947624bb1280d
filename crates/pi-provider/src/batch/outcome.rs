//! What came of the questions of a batch.

use pi_envelope::Tool;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::{
    classify::{self, Refusal},
    dialect::Dialect,
    error::CallError,
    event::StreamEvent,
    operation::{self, Kind},
    request::{Target, text_calls},
    response::{Answers, Reading},
    text_call::{Grammar, filter::Filter},
};

/// The answer to one question. The order is the provider's.
#[derive(Debug)]
pub struct Outcome {
    /// The item's. Where a provider forgets it, the place of the answer among all, counted from 1.
    pub id: String,
    /// The events of the answer, as if it had been streamed.
    pub answer: Result<Vec<StreamEvent>, CallError>,
}

/// How the answers of one batch are read.
struct Reader<'a> {
    reading: &'a Reading<'a>,
    answers: Answers,
    /// How calls in their texts are read, where the model has no others.
    grammar: Option<Grammar>,
    /// Where an answer has its id.
    id: String,
}

/// Reads results: a line of JSON for each question, or one document with all. `target` says which dialect the answers are
/// in, `tools` which ones the questions offered.
pub fn read_results(
    reading: &Reading<'_>,
    target: &Target<'_>,
    tools: &[Tool],
    body: &[u8],
) -> Result<Vec<Outcome>, CallError> {
    let place = operation::find(target.manifest, Kind::Batch)?;
    let reader = Reader {
        reading,
        answers: Answers::of(target.manifest, Dialect::of(target.manifest, target.entry))?,
        grammar: text_calls(target, tools),
        id: place.wording.id.unwrap_or_else(|| "/custom_id".to_owned()),
    };
    if let Some(path) = &place.wording.answers {
        let body = reading.json(body)?;
        let list = body.pointer(path).and_then(Value::as_array);
        let list = list.ok_or_else(|| reading.malformed("no answers in it"))?;
        return Ok(list.iter().zip(1..).map(|(record, number)| reader.numbered(record, number)).collect());
    }
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    lines.zip(1..).map(|(line, number)| reader.line(line, number)).collect()
}

impl Reader<'_> {
    fn line(&self, line: &[u8], number: usize) -> Result<Outcome, CallError> {
        let fault = |reason: &str| self.reading.malformed(&format!("line {number}: {reason}"));
        let record: Value = serde_json::from_slice(line).map_err(|source| fault(&source.to_string()))?;
        let id = self.id(&record).ok_or_else(|| fault("no id of a question"))?;
        Ok(Outcome { id, answer: self.answer(&record) })
    }

    fn numbered(&self, record: &Value, number: usize) -> Outcome {
        let id = self.id(record).unwrap_or_else(|| number.to_string());
        Outcome { id, answer: self.answer(record) }
    }

    fn id(&self, record: &Value) -> Option<String> {
        record.pointer(&self.id).and_then(Value::as_str).map(|id| self.reading.word(id))
    }

    fn answer(&self, record: &Value) -> Result<Vec<StreamEvent>, CallError> {
        let reading = self.reading;
        if let Some(result) = record.get("result") {
            return match (result.get("type").and_then(Value::as_str), result.get("message")) {
                (Some("succeeded"), Some(message)) => self.whole(message),
                (Some("errored"), _) => Err(reading.refused(result.get("error").unwrap_or(result))),
                (Some("canceled"), _) => Err(CallError::Cancelled),
                (kind, _) => Err(reading.malformed(&format!("no answer ({})", kind.unwrap_or("unknown")))),
            };
        }
        match (record.get("response").filter(|response| !response.is_null()), record.get("error")) {
            (Some(response), _) => {
                // Some wrap the answer in what HTTP would say of it.
                let body = response.get("body").unwrap_or(response);
                let status = response.get("status_code").and_then(Value::as_u64).unwrap_or(200);
                match u16::try_from(status) {
                    Ok(200..=299) => self.whole(body),
                    Ok(status) => Err(refusal(reading, status, body)),
                    Err(_) => Err(reading.malformed("no status in it")),
                }
            }
            (None, Some(error)) if !error.is_null() => Err(reading.refused(&json!({"error": error}))),
            (None, _) => Err(reading.malformed("neither an answer nor an error")),
        }
    }

    fn whole(&self, body: &Value) -> Result<Vec<StreamEvent>, CallError> {
        let mut events = self.answers.read(self.reading, body.to_string().as_bytes())?;
        let carried = self.reading.carried();
        events.iter_mut().for_each(|event| carried.hide_in_event(event));
        let Some(grammar) = &self.grammar else { return Ok(events) };
        let mut found = Vec::with_capacity(events.len());
        Filter::new(grammar.clone()).apply_whole(events, &mut found);
        Ok(found)
    }
}

fn refusal(reading: &Reading<'_>, status: u16, body: &Value) -> CallError {
    let (headers, body) = (HeaderMap::new(), body.to_string());
    let refusal = Refusal { status, headers: &headers, body: body.as_bytes(), received: reading.received };
    let failure = classify::classify(reading.manifest, refusal, &reading.redactor());
    CallError::Refused { provider: reading.manifest.id.clone(), failure: Box::new(failure) }
}
