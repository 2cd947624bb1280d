//! `events`: the bus between extensions, and news of tools that run.

use pi_extproto::{
    connector::{events::EventsCall, tool::ToolOutput},
    host::HostError,
};

use super::{invalid, refused};
use crate::{
    content,
    desk::{Desk, Output},
};

pub(super) async fn perform(desk: &Desk, call: EventsCall) -> Result<Output, HostError> {
    let conversation = &desk.inner.conversation;
    let changed = match call {
        EventsCall::Emit { channel, data } => {
            conversation.emit(channel, data).await.map_err(|refusal| refused(&refusal))?;
            false
        }
        EventsCall::Subscribe { channel } => desk.subscribe(channel),
        EventsCall::Unsubscribe { channel } => desk.unsubscribe(&channel),
        EventsCall::ToolUpdate { call_id, content, details } => {
            let updates = desk
                .updates_of(&call_id)
                .ok_or_else(|| invalid(format!("no call {call_id} of a tool of this extension is running")))?;
            // A full channel drops it: the next one says more.
            let _ = updates.try_send(content::output_from_protocol(ToolOutput { content, details }));
            false
        }
    };
    if changed {
        conversation.registration_changed().await.map_err(|refusal| refused(&refusal))?;
    }
    Ok(Output::Empty)
}
