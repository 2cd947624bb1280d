//! The words that manifests use for events and their fields, and what they mean here.

/// The events that have a meaning here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Content,
    Thinking,
    CallStarted,
    CallPiece,
    CallEnded,
    Metadata,
    FinalCandidate,
    End,
    Error,
    Other,
}

/// Every event that has a name in the standard; the last four pass through as they are.
pub const EVENTS: [&str; 14] = [
    "PartialContentDelta",
    "ThinkingDelta",
    "ToolCallStarted",
    "PartialToolCall",
    "ToolCallEnded",
    "Metadata",
    "UsageReport",
    "FinalCandidate",
    "StreamEnd",
    "StreamError",
    "MultimodalFrame",
    "AgentStateSync",
    "ToolExecutionFeedback",
    "SchemaLessField",
];

/// Every field of these events that has a name, also those that are not looked at.
pub const FIELDS: [&str; 43] = [
    "content",
    "text",
    "thinking",
    "reasoning",
    "signature",
    "redacted",
    "refused",
    "repeats",
    "tool_call_id",
    "id",
    "item_id",
    "tool_name",
    "name",
    "arguments",
    "partial_json",
    "args",
    "whole_arguments",
    "tool_calls",
    "tool_call",
    "is_complete",
    "run_by_provider",
    "index",
    "block",
    "usage",
    "prompt_tokens",
    "input_tokens",
    "completion_tokens",
    "output_tokens",
    "total_tokens",
    "finish_reason",
    "stop_reason",
    "candidate_index",
    "response_id",
    "model",
    "model_version",
    "error",
    "code",
    "type",
    "message",
    "sequence_id",
    "tool_consideration",
    "event_id",
    "safety_ratings",
];

/// What a field means, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Content,
    Thinking,
    Signature,
    Redacted,
    Refused,
    /// It says as a whole what pieces may have said before.
    Repeats,
    CallId,
    ItemId,
    ToolName,
    Arguments,
    WholeArguments,
    Calls,
    Complete,
    /// The provider runs the tool itself.
    Foreign,
    Index,
    Usage,
    PromptTokens,
    CompletionTokens,
    TotalTokens,
    FinishReason,
    CandidateIndex,
    ResponseId,
    Model,
    Error,
    ErrorCode,
    ErrorType,
    ErrorMessage,
    Other,
}

impl Kind {
    pub(crate) fn of(event: &str) -> Self {
        match event {
            "PartialContentDelta" => Self::Content,
            "ThinkingDelta" => Self::Thinking,
            "ToolCallStarted" => Self::CallStarted,
            "PartialToolCall" => Self::CallPiece,
            "ToolCallEnded" => Self::CallEnded,
            "Metadata" | "UsageReport" => Self::Metadata,
            "FinalCandidate" => Self::FinalCandidate,
            "StreamEnd" => Self::End,
            "StreamError" => Self::Error,
            _ => Self::Other,
        }
    }

    /// The fields that matter most, the first one first.
    pub(super) fn primary(self) -> &'static [Role] {
        match self {
            Self::Content => &[Role::Content],
            Self::Thinking => &[Role::Thinking, Role::Signature],
            Self::CallStarted => &[Role::ToolName, Role::CallId],
            Self::CallPiece => &[Role::Arguments, Role::Calls, Role::WholeArguments, Role::ToolName],
            Self::CallEnded => &[Role::Index, Role::CallId],
            Self::Metadata => &[Role::Usage],
            Self::FinalCandidate | Self::End => &[Role::FinishReason],
            Self::Error => &[Role::Error],
            Self::Other => &[],
        }
    }

    /// The fields of which a rule for this event must have one: without all of them it says nothing, whatever comes. Empty
    /// where the event says something by itself.
    pub(crate) fn telling(self) -> &'static [Role] {
        match self {
            Self::Content => &[Role::Content, Role::Signature],
            Self::Thinking => &[Role::Thinking, Role::Signature],
            Self::CallStarted | Self::CallPiece => {
                &[Role::ToolName, Role::CallId, Role::Arguments, Role::WholeArguments, Role::Calls]
            }
            Self::Metadata | Self::FinalCandidate => &[
                Role::Usage,
                Role::PromptTokens,
                Role::CompletionTokens,
                Role::TotalTokens,
                Role::ResponseId,
                Role::Model,
                Role::FinishReason,
                Role::Refused,
            ],
            Self::CallEnded | Self::End | Self::Error | Self::Other => &[],
        }
    }

    /// Whether it is said once however many rules say it; pieces are handed on as they come, and would come twice.
    pub(crate) fn is_fact(self) -> bool {
        match self {
            Self::Metadata | Self::FinalCandidate | Self::End | Self::Error | Self::CallEnded => true,
            Self::Content | Self::Thinking | Self::CallStarted | Self::CallPiece | Self::Other => false,
        }
    }

    /// Whether two events say the same kind of thing.
    pub fn is_like(self, other: Self) -> bool {
        let family = |kind| match kind {
            Self::CallPiece => Self::CallStarted,
            Self::End => Self::FinalCandidate,
            kind => kind,
        };
        family(self) == family(other) && self != Self::Other
    }
}

impl Role {
    pub(crate) fn of(field: &str) -> Self {
        match field {
            "content" | "text" => Self::Content,
            "thinking" | "reasoning" => Self::Thinking,
            "signature" => Self::Signature,
            "redacted" => Self::Redacted,
            "refused" => Self::Refused,
            "repeats" => Self::Repeats,
            "tool_call_id" | "id" => Self::CallId,
            "item_id" => Self::ItemId,
            "tool_name" | "name" => Self::ToolName,
            "arguments" | "partial_json" | "args" => Self::Arguments,
            "whole_arguments" => Self::WholeArguments,
            "tool_calls" | "tool_call" => Self::Calls,
            "is_complete" => Self::Complete,
            "run_by_provider" => Self::Foreign,
            "index" | "block" => Self::Index,
            "usage" => Self::Usage,
            "prompt_tokens" | "input_tokens" => Self::PromptTokens,
            "completion_tokens" | "output_tokens" => Self::CompletionTokens,
            "total_tokens" => Self::TotalTokens,
            "finish_reason" | "stop_reason" => Self::FinishReason,
            "candidate_index" => Self::CandidateIndex,
            "response_id" => Self::ResponseId,
            "model" | "model_version" => Self::Model,
            "error" => Self::Error,
            "code" => Self::ErrorCode,
            "type" => Self::ErrorType,
            "message" => Self::ErrorMessage,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_what_has_a_meaning() {
        let experimental = ["MultimodalFrame", "AgentStateSync", "ToolExecutionFeedback", "SchemaLessField"];
        for event in EVENTS {
            assert_eq!(Kind::of(event) == Kind::Other, experimental.contains(&event), "{event}");
        }
        let unread = ["sequence_id", "tool_consideration", "event_id", "safety_ratings"];
        for field in FIELDS {
            assert_eq!(Role::of(field) == Role::Other, unread.contains(&field), "{field}");
        }
    }
}
