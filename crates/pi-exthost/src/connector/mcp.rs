//! `mcp`: tools of servers that run beside us.

use pi_extproto::{
    connector::tool::{HostToolOutput, McpUse},
    host::HostError,
};

use super::invalid;
use crate::{
    desk::{Desk, Occasion, Terms},
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
    found.call(ServerCall { name, input, updates, cancel: terms.cancel.child_token() }).await
}
