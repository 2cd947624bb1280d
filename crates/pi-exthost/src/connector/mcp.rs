//! `mcp`: tools of servers that run beside us. What they answer is cut here, for models and for other extensions alike.

use std::sync::Arc;

use pi_extproto::{
    connector::tool::{HostToolOutput, McpUse},
    host::HostError,
};

use super::invalid;
use crate::{
    desk::{Desk, Occasion, Terms},
    guests::excess::Shelf,
    servers::ServerCall,
};

pub(super) async fn call(desk: &Desk, call: McpUse, terms: &Terms) -> Result<HostToolOutput, HostError> {
    let McpUse { server, name, input } = call;
    let Some(found) = desk.inner.house.servers.get(&server) else {
        return Err(invalid(format!("no MCP server {server} is connected")));
    };
    let updates = match &terms.occasion {
        Occasion::ToolCall(call) => desk.updates_of(call),
        Occasion::Loading | Occasion::SlashCommand(_) | Occasion::Event(_) | Occasion::Background => None,
    };
    let answered = found.call(ServerCall { name, input, updates, cancel: terms.cancel.child_token() }).await?;
    let shelf = Shelf(Arc::downgrade(&desk.inner.house));
    Ok(HostToolOutput { output: shelf.shorten_served(answered.output).await, ..answered })
}
