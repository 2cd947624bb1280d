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

impl State {
    /// Whether nothing more will happen to the batch.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Expired | Self::Cancelled => true,
            Self::Waiting | Self::Running | Self::Cancelling => false,
        }
    }

    fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "in_progress" | "running" | "finalizing" => Self::Running,
            "cancelling" | "canceling" | "cancellation_requested" => Self::Cancelling,
            "completed" | "ended" | "success" => Self::Completed,
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
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(id), Some(raw_state)) = (text("id"), text("status").or_else(|| text("processing_status"))) else {
        return Err(reading.malformed("no batch in it"));
    };
    let files = ["output_file_id", "output_file", "error_file_id", "error_file"];
    Ok(Batch {
        id,
        state: State::from_word(&raw_state),
        raw_state,
        counts: counts(&body),
        files: files.iter().filter_map(|name| text(name)).filter(|file| !file.is_empty()).collect(),
        problem: body.pointer("/errors/data/0/message").and_then(Value::as_str).map(|words| reading.safe(words)),
    })
}

/// A batch may have an `error` member of its own that is empty; some wrap the description in `job`.
fn read_description(reading: &Reading<'_>, body: &[u8]) -> Result<Value, CallError> {
    let mut body = reading.json(body)?;
    Ok(body.get_mut("job").map(Value::take).unwrap_or(body))
}

fn counts(body: &Value) -> Counts {
    let at = |path: &str| body.pointer(path).and_then(Value::as_u64);
    let sum = |paths: &[&str]| paths.iter().filter_map(|path| at(path)).reduce(|sum, count| sum.saturating_add(count));
    let parts =
        ["processing", "succeeded", "errored", "canceled", "expired"].map(|name| format!("/request_counts/{name}"));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    Counts {
        total: at("/request_counts/total").or_else(|| at("/total_requests")).or_else(|| sum(&parts)),
        succeeded: at("/request_counts/completed")
            .or_else(|| at("/request_counts/succeeded"))
            .or_else(|| at("/succeeded_requests")),
        failed: at("/request_counts/failed")
            .or_else(|| at("/failed_requests"))
            .or_else(|| sum(&["/request_counts/errored", "/request_counts/expired"])),
    }
}
