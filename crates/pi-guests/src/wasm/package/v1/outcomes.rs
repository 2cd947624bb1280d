//! What a guest answers to an event.

use pi_extproto::hook as ours;

use super::{
    bindings::pi::extension::outcomes as theirs,
    carry::{Lift, NotJson, lift},
};

impl Lift<ours::Outcome> for theirs::Outcome {
    fn lift(self) -> Result<ours::Outcome, NotJson> {
        use ours::Outcome;
        Ok(match self {
            Self::Notice => Outcome::Notice,
            Self::Session(answer) => Outcome::Session(answer.lift()?),
            Self::Compaction(answer) => Outcome::Compaction(answer.lift()?),
            Self::Tree(answer) => Outcome::Tree(answer.lift()?),
            Self::Input(answer) => Outcome::Input(answer.lift()?),
            Self::Start(answer) => Outcome::Start(answer.lift()?),
            Self::Turn(answer) => Outcome::Turn(answer.lift()?),
            Self::Message(answer) => Outcome::Message(answer.lift()?),
            Self::ToolCall(answer) => Outcome::ToolCall(answer.lift()?),
            Self::ToolResult(answer) => Outcome::ToolResult(answer.lift()?),
            Self::Bash(answer) => Outcome::Bash(answer.lift()?),
            Self::Context(answer) => Outcome::Context(answer.lift()?),
            Self::Request(answer) => Outcome::Request(answer.lift()?),
            Self::Headers(answer) => Outcome::Headers(answer.lift()?),
            Self::Resources(answer) => Outcome::Resources(answer.lift()?),
            Self::Trust(answer) => Outcome::Trust(answer.lift()?),
            Self::SessionDirectory(folder) => Outcome::SessionDirectory(folder),
            Self::Warming(answer) => Outcome::Warming(answer.lift()?),
        })
    }
}

lift! {
    record theirs::Summary => ours::Summary { summary, first_kept_entry_id, tokens_before, details }
    record theirs::DraftMessage => ours::DraftMessage { custom_type, content, display, details }
    record theirs::StartOutcome => ours::StartOutcome { message, system_prompt }
    record theirs::TurnOutcome => ours::TurnOutcome { entries, resume }
    record theirs::ToolResultPatch => ours::ToolResultPatch { content, details, is_error }
    record theirs::BashResult => ours::BashResult { output, exit_code, cancelled, truncated, full_output_path }
    record theirs::ResourcePaths => ours::ResourcePaths { skill_paths, prompt_paths, theme_paths }
    record theirs::TrustOutcome => ours::TrustOutcome { trusted, remember }
}

lift! {
    words theirs::SessionOutcome => ours::SessionOutcome { Continue, Cancel }
    words theirs::Trust => ours::Trust { Yes, No, Undecided }
    words theirs::WarmingOutcome => ours::WarmingOutcome { Warm, Stop }
}

impl Lift<ours::CompactionOutcome> for theirs::CompactionOutcome {
    fn lift(self) -> Result<ours::CompactionOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::CompactionOutcome::Continue,
            Self::Cancel => ours::CompactionOutcome::Cancel,
            Self::Replace(summary) => ours::CompactionOutcome::Replace(summary.lift()?),
        })
    }
}

impl Lift<ours::TreeOutcome> for theirs::TreeOutcome {
    fn lift(self) -> Result<ours::TreeOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::TreeOutcome::Continue,
            Self::Cancel => ours::TreeOutcome::Cancel,
            Self::Replace(summary) => ours::TreeOutcome::Replace(summary.lift()?),
        })
    }
}

impl Lift<ours::TreeSummary> for theirs::TreeSummary {
    fn lift(self) -> Result<ours::TreeSummary, NotJson> {
        let Self { summary, details, instructions, label } = self;
        Ok(ours::TreeSummary {
            summary: summary.lift()?,
            details: details.lift()?,
            instructions: instructions.lift()?,
            replace_instructions: None,
            label: label.lift()?,
        })
    }
}

impl Lift<ours::InputOutcome> for theirs::InputOutcome {
    fn lift(self) -> Result<ours::InputOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::InputOutcome::Continue,
            Self::Transform(content) => ours::InputOutcome::Transform { content: content.lift()? },
            Self::Handled => ours::InputOutcome::Handled,
        })
    }
}

impl Lift<ours::MessageOutcome> for theirs::MessageOutcome {
    fn lift(self) -> Result<ours::MessageOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::MessageOutcome::Continue,
            Self::Replace(message) => ours::MessageOutcome::Replace { message: message.lift()? },
        })
    }
}

impl Lift<ours::ToolCallOutcome> for theirs::ToolCallOutcome {
    fn lift(self) -> Result<ours::ToolCallOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::ToolCallOutcome::Continue,
            Self::Block(theirs::ToolBlock { reason, terminate }) => ours::ToolCallOutcome::Block { reason, terminate },
            Self::Transform(input) => ours::ToolCallOutcome::Transform { input: input.lift()? },
        })
    }
}

impl Lift<ours::ToolResultOutcome> for theirs::ToolResultOutcome {
    fn lift(self) -> Result<ours::ToolResultOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::ToolResultOutcome::Continue,
            Self::Transform(patch) => ours::ToolResultOutcome::Transform(patch.lift()?),
        })
    }
}

impl Lift<ours::BashOutcome> for theirs::BashOutcome {
    fn lift(self) -> Result<ours::BashOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::BashOutcome::Continue,
            Self::Handled(result) => ours::BashOutcome::Handled(result.lift()?),
        })
    }
}

impl Lift<ours::ContextOutcome> for theirs::ContextOutcome {
    fn lift(self) -> Result<ours::ContextOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::ContextOutcome::Continue,
            Self::Replace(messages) => ours::ContextOutcome::Replace { messages: messages.lift()? },
        })
    }
}

impl Lift<ours::RequestOutcome> for theirs::RequestOutcome {
    fn lift(self) -> Result<ours::RequestOutcome, NotJson> {
        Ok(match self {
            Self::Continue => ours::RequestOutcome::Continue,
            Self::Replace(payload) => ours::RequestOutcome::Replace { payload: payload.lift()? },
        })
    }
}

impl Lift<ours::HeaderChange> for theirs::HeaderChange {
    fn lift(self) -> Result<ours::HeaderChange, NotJson> {
        Ok(match self {
            Self::Set(header) => ours::HeaderChange::Set(header.lift()?),
            Self::Remove(name) => ours::HeaderChange::Remove { name },
        })
    }
}
