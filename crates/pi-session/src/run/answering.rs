//! Calls that extensions had a hand in: whoever changed one, put it into an answer or streamed it answers for it beside the model.

use pi_exthost::{guest::GuestId, guests::Influenced};
use pi_extproto::{connector::tool::ToolUse, host::HostError};
use pi_policy::Target;
use pi_tools::Arguments;
use pi_transcript::{ToolCall, ToolCallId};

use super::Run;

/// An extension's hand in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hand {
    pub(super) guest: GuestId,
    pub(super) call: ToolCallId,
}

/// A call that an extension may not have the agent do.
pub(super) struct Unanswered {
    guest: GuestId,
    error: HostError,
}

impl Hand {
    /// That of the extension whose model made the calls, if it is one's.
    pub(super) fn streamed(by: Option<&GuestId>, calls: &[ToolCall]) -> Vec<Self> {
        let hand = |guest: &GuestId| {
            let guest = guest.clone();
            move |call: &ToolCall| Self { guest: guest.clone(), call: call.id.clone() }
        };
        by.map(|guest| calls.iter().map(hand(guest)).collect()).unwrap_or_default()
    }
}

/// Who answers for a call, each once. Nobody answers for a tool of its own: that does nothing which its owner does not do.
pub(super) fn influences(
    hands: &[Hand],
    call: &ToolCallId,
    changed_by: Vec<GuestId>,
    owner: Option<&GuestId>,
) -> Vec<GuestId> {
    let before = hands.iter().filter(|hand| hand.call == *call).map(|hand| hand.guest.clone());
    let mut guests: Vec<GuestId> = before.chain(changed_by).filter(|guest| Some(guest) != owner).collect();
    guests.sort();
    guests.dedup();
    guests
}

impl Run {
    /// Lets each of them answer for what the agent is about to do.
    pub(super) async fn let_answer(
        &self,
        guests: Vec<GuestId>,
        call: &ToolCall,
        arguments: &Arguments,
        target: &Target,
    ) -> Result<(), Unanswered> {
        for guest in guests {
            let mut input = arguments.clone();
            if let Target::Path(location) = target {
                // What the agent opens is what is judged: a link may lead elsewhere by now.
                input.insert("path".to_owned(), location.absolute().into());
            }
            let influenced = Influenced { id: Some(call.id.clone()), call: ToolUse { name: call.name.clone(), input } };
            let answered = self.parts.guests.answer_for(&guest, influenced, &self.cancel).await;
            answered.map_err(|error| Unanswered { guest, error })?;
        }
        Ok(())
    }
}

impl Unanswered {
    /// What a person reads.
    pub(super) fn told(&self) -> String {
        let Self { guest, error } = self;
        format!("the extension {guest} had a hand in it: {}", error.message)
    }

    /// What the model reads.
    pub(super) fn refusal(&self) -> String {
        let Self { guest, error } = self;
        format!(
            "Not allowed: the extension {guest} made or changed this call, and may not do what it asks for. {}. Do not try the \
             same another way; ask the user, or go on without it.",
            error.message
        )
    }
}
