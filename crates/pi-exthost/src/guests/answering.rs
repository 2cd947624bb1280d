//! Who answers for what the agent or a person does: a guest that had a hand in a call of a tool could have made it itself.

use std::sync::Weak;

use pi_extproto::{
    connector::tool::ToolUse,
    host::{ErrorCode, HostError},
};
use pi_transcript::ToolCallId;
use tokio_util::sync::CancellationToken;

use super::Guests;
use crate::{
    desk::{Occasion, Terms},
    guest::GuestId,
};

/// A call of the agent that a guest changed, put into an answer, or streamed; or a command that it wrote into somebody's editor.
#[derive(Debug, Clone, PartialEq)]
pub struct Influenced {
    /// That of the agent's call. What a person sends has none.
    pub id: Option<ToolCallId>,
    /// What is about to be done.
    pub call: ToolUse,
}

impl Guests {
    /// Whether the guest may have this done: decided as if it had asked its host for it, with one start and one end in
    /// its ledger. Waits for a person if it must. One that is gone, or has no desk, may nothing.
    ///
    /// Dropping the future takes a question back.
    pub async fn answer_for(
        &self,
        guest: &GuestId,
        influenced: Influenced,
        cancel: &CancellationToken,
    ) -> Result<(), HostError> {
        let Influenced { id, call } = influenced;
        let desk = self.house.get().and_then(Weak::upgrade).and_then(|house| house.desk_of(guest));
        let gone = || HostError::new(ErrorCode::Internal, format!("extension {guest} is not there any more"));
        let occasion = id.map_or(Occasion::Background, Occasion::ToolCall);
        let terms = Terms { cancel: cancel.child_token(), occasion, ..Terms::background() };
        desk.ok_or_else(gone)?.answer_for(call, &terms).await
    }
}
