//! Calls of the agent that a guest had a hand in: it answers for them as for its own, and the agent carries them out.

use pi_extproto::{
    connector::{Call, tool::ToolUse},
    host::HostError,
    log::ledger::Start,
};

use super::{Desk, Output, OwnEnd, Terms};
use crate::connector::tool;

impl Desk {
    /// Whether the guest may make this call of a tool. Decided and recorded as if it had made it itself; nothing is done.
    pub(crate) async fn answer_for(&self, call: ToolUse, terms: &Terms) -> Result<(), HostError> {
        let (checked, load) = match self.weigh_natively(Call::Tool(call.clone()), terms) {
            Ok(weighed) => weighed,
            Err(too_much) => return Err(self.turn_away(*too_much, terms).await),
        };
        let (id, start) = (checked.call_id().to_owned(), Start::new(&checked));
        self.trace_call(&checked);
        self.inner.counters.sent(load.bytes as u64);
        let work = async { tool::allow(self, &call, terms).await.map(|()| Output::Empty) };
        let result = self.run(id.clone(), start, terms, OwnEnd::None, work).await;
        drop(load);
        self.trace_result(&id, &result);
        result.map(drop)
    }
}
