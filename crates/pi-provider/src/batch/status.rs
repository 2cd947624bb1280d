//! How a batch is.

use serde_json::Value;

use crate::{error::CallError, response::Reading};

/// A batch as the provider last described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub id: String,
    pub state: State,
    /// The provider's own word.
    pub raw_state: String,
    pub counts: Counts,
    /// Files with results, and with errors, where the provider keeps them in files.
    pub files: Vec<String>,
    /// What the provider says against the batch as a whole.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Being checked or waiting; also a word that we do not know.
    Waiting,
    Running,
    Cancelling,
    /// Every question has an answer or an error.
    Completed,
    Failed,
    /// Time was up; some questions may be answered.
    Expired,
    Cancelled,
}

/// Questions by what became of them; what the provider does not count is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: Option<u64>,
    pub succeeded: Option<u64>,
    pub failed: Option<u64>,
}

impl Batch {
    /// Whether anything can be fetched of it: answers, or what is wrong with questions.
    pub fn has_results(&self) -> bool {
        match self.state {
            State::Completed => true,
            State::Failed | State::Expired | State::Cancelled => {
                !self.files.is_empty() || self.counts.succeeded.is_some_and(|count| count > 0)
            }
            State::Waiting | State::Running | State::Cancelling => false,
        }
    }

    /// How many questions have neither an answer nor an error, where so many have one.
    pub fn missing(&self, outcomes: usize) -> Option<u64> {
        let outcomes = u64::try_from(outcomes).unwrap_or(u64::MAX);
        self.counts.total.and_then(|total| total.checked_sub(outcomes)).filter(|missing| *missing > 0)
    }
}

impl State {
    /// Whether nothing more will happen to the batch.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Expired | Self::Cancelled => true,
            Self::Waiting | Self::Running | Self::Cancelling => false,
        }
    }

    fn from_word(word: &str) -> Self {
        let word = word.to_ascii_lowercase();
        match word.trim_start_matches("batch_state_").trim_start_matches("job_state_") {
            "in_progress" | "running" | "finalizing" => Self::Running,
            "cancelling" | "canceling" | "cancellation_requested" => Self::Cancelling,
            "completed" | "ended" | "success" | "succeeded" => Self::Completed,
            "failed" => Self::Failed,
            "expired" | "timeout_exceeded" => Self::Expired,
            "cancelled" | "canceled" => Self::Cancelled,
            _ => Self::Waiting,
        }
    }
}

/// Reads the description of a batch.
pub fn read_status(reading: &Reading<'_>, body: &[u8]) -> Result<Batch, CallError> {
    let body = read_description(reading, body)?;
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).map(|text| reading.word(text));
    let first = |paths: &[&str]| paths.iter().find_map(|path| text(path));
    // A name is a path, of which the last part is the id.
    let name = || text("/name").map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    let (Some(id), Some(raw_state)) =
        (text("/id").or_else(name), first(&["/status", "/processing_status", "/metadata/state"]))
    else {
        return Err(reading.malformed("no batch in it"));
    };
    let files = ["/output_file_id", "/output_file", "/error_file_id", "/error_file"];
    Ok(Batch {
        id,
        state: State::from_word(&raw_state),
        raw_state,
        counts: counts(&body),
        files: files.iter().filter_map(|path| text(path)).filter(|file| !file.is_empty()).collect(),
        problem: first(&["/errors/data/0/message", "/error/message"]).map(|words| reading.safe(&words)),
    })
}

/// A batch may have an `error` member of its own, empty or not; some wrap the description in `job`.
fn read_description(reading: &Reading<'_>, body: &[u8]) -> Result<Value, CallError> {
    let is_operation = |body: &Value| body.pointer("/metadata/state").is_some();
    if let Some(operation) = serde_json::from_slice(body).ok().filter(is_operation) {
        return Ok(operation);
    }
    let mut body = reading.json(body)?;
    Ok(body.get_mut("job").map(Value::take).unwrap_or(body))
}

fn counts(body: &Value) -> Counts {
    // Some write numbers as texts.
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let at = |path: &&str| body.pointer(path).and_then(number);
    let first = |paths: &[&str]| paths.iter().find_map(at);
    let sum = |paths: &[&str]| paths.iter().filter_map(at).reduce(u64::saturating_add);
    Counts {
        total: first(&["/request_counts/total", "/total_requests", "/metadata/batchStats/requestCount"]).or_else(
            || {
                sum(&[
                    "/request_counts/processing",
                    "/request_counts/succeeded",
                    "/request_counts/errored",
                    "/request_counts/canceled",
                    "/request_counts/expired",
                ])
            },
        ),
        succeeded: first(&[
            "/request_counts/completed",
            "/request_counts/succeeded",
            "/succeeded_requests",
            "/metadata/batchStats/successfulRequestCount",
        ]),
        failed: first(&["/request_counts/failed", "/failed_requests", "/metadata/batchStats/failedRequestCount"])
            .or_else(|| sum(&["/request_counts/errored", "/request_counts/expired"])),
    }
}
