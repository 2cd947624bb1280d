//! What comes back from a model, in the standard's events.
//!
//! The events of one answer are in order. `candidate` is 0 unless several answers were asked for. `block` and `index` are
//! the provider's own numbers and only tell pieces apart: two pieces with the same number belong together.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Failure;

/// The event of a call that has ended and never had a name. It says how many bytes of arguments came, and not which.
pub const NAMELESS_CALL: &str = "ToolCallWithoutName";

/// The event of a usage that has members, and none that is known. It comes once.
pub const UNKNOWN_USAGE: &str = "UsageNotKnown";

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    PartialContentDelta {
        candidate: u32,
        block: Option<u64>,
        /// May be empty where only a signature arrived.
        content: String,
        /// Opaque; the provider wants it back.
        signature: Option<String>,
    },
    ThinkingDelta {
        candidate: u32,
        block: Option<u64>,
        thinking: String,
        /// Opaque; the provider wants it back. Pieces are concatenated.
        signature: Option<String>,
        /// The provider withheld the text; only the signature has meaning.
        redacted: bool,
    },
    ToolCallStarted {
        candidate: u32,
        index: Option<u64>,
        tool_call_id: String,
        tool_name: String,
        /// Opaque; the provider wants it back.
        signature: Option<String>,
    },
    PartialToolCall {
        candidate: u32,
        index: Option<u64>,
        tool_call_id: String,
        /// A piece of JSON text.
        arguments: String,
    },
    ToolCallEnded {
        candidate: u32,
        index: Option<u64>,
        tool_call_id: String,
    },
    /// Facts about the answer. Each is sent as soon as it is known, and may be sent again with more in it.
    Metadata {
        usage: Option<TokenUsage>,
        response_id: Option<String>,
        model: Option<String>,
    },
    FinalCandidate {
        candidate: u32,
        finish: Option<Finish>,
    },
    StreamEnd {
        finish: Option<Finish>,
    },
    StreamError {
        failure: Failure,
    },
    /// An event that the manifest names and this crate does not interpret, or one of what came and cannot be used:
    /// [`NAMELESS_CALL`], [`UNKNOWN_USAGE`].
    Other {
        name: String,
        fields: Map<String, Value>,
    },
}

impl StreamEvent {
    /// Whose it is, unless it is of the answer as a whole.
    pub fn candidate(&self) -> Option<u32> {
        match self {
            Self::PartialContentDelta { candidate, .. }
            | Self::ThinkingDelta { candidate, .. }
            | Self::ToolCallStarted { candidate, .. }
            | Self::PartialToolCall { candidate, .. }
            | Self::ToolCallEnded { candidate, .. }
            | Self::FinalCandidate { candidate, .. } => Some(*candidate),
            Self::Metadata { .. } | Self::StreamEnd { .. } | Self::StreamError { .. } | Self::Other { .. } => None,
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    pub reason: Termination,
    /// The provider's own word; that of a refusal which ends like any answer is `refusal`, as the place is called in which
    /// it stands.
    pub raw: String,
}

impl Finish {
    /// The end of an answer that is a refusal and says no more of why it ended.
    pub(crate) fn refusal() -> Self {
        Self { reason: Termination::Refusal, raw: "refusal".to_owned() }
    }

    /// The end of an answer that is a refusal: some end it with the word for an ordinary end, or with one of no meaning.
    pub(crate) fn of_refusal(self) -> Self {
        match self.reason {
            Termination::EndTurn => Self::refusal(),
            Termination::Other => Self { reason: Termination::Refusal, ..self },
            Termination::MaxTokens
            | Termination::StopSequence
            | Termination::ToolUse
            | Termination::Refusal
            | Termination::PauseTurn => self,
        }
    }
}

/// The standard reasons for the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    EndTurn,
    MaxTokens,
    StopSequence,
    ToolUse,
    Refusal,
    PauseTurn,
    Other,
}

impl Termination {
    /// The reason of an answer that has calls: Gemini and others end it with the word for an ordinary end.
    pub(crate) const fn of_calls(self) -> Self {
        match self {
            Self::EndTurn | Self::ToolUse => Self::ToolUse,
            Self::MaxTokens | Self::StopSequence | Self::Refusal | Self::PauseTurn | Self::Other => self,
        }
    }
}

/// What the provider counted. `None` means that it did not say; counts are cumulative, so the latest wins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenUsage {
    /// All tokens of the prompt, those from a cache included.
    pub prompt: Option<u64>,
    /// All tokens of the answer, thinking included.
    pub completion: Option<u64>,
    pub total: Option<u64>,
    pub reasoning: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub cache_write_1h: Option<u64>,
    /// Tokens of the prompt that are charged, where the provider charges others than it counts.
    pub billed_prompt: Option<u64>,
    /// The same of the answer.
    pub billed_completion: Option<u64>,
    /// US dollars, from providers that say so.
    pub cost: Option<f64>,
}

impl TokenUsage {
    /// Both together. What one of them does not say is not known of both, and neither is a sum that no count can be: servers
    /// choose these numbers.
    #[must_use]
    pub(crate) fn plus(&self, more: &Self) -> Self {
        let sum = |count: fn(&Self) -> Option<u64>| count(self)?.checked_add(count(more)?);
        Self {
            prompt: sum(|usage| usage.prompt),
            completion: sum(|usage| usage.completion),
            total: sum(|usage| usage.total),
            reasoning: sum(|usage| usage.reasoning),
            cache_read: sum(|usage| usage.cache_read),
            cache_write: sum(|usage| usage.cache_write),
            cache_write_1h: sum(|usage| usage.cache_write_1h),
            billed_prompt: sum(|usage| usage.billed_prompt),
            billed_completion: sum(|usage| usage.billed_completion),
            cost: self.cost.zip(more.cost).map(|(cost, more)| cost + more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_that_no_count_can_be_is_not_known() {
        let usage = |prompt, total| TokenUsage { prompt: Some(prompt), total: Some(total), ..TokenUsage::default() };
        let sum = usage(u64::MAX, 2).plus(&usage(1, 3));
        assert_eq!(sum, TokenUsage { total: Some(5), ..TokenUsage::default() });
    }
}
