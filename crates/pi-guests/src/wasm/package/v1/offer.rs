//! What a guest offers.

use std::collections::BTreeMap;

use pi_exthost::Registration;
use pi_extproto::{
    connector::tool::{self as ours, ExecutionMode},
    hook::Hook,
    message::VERSION,
};

use super::{
    bindings::{exports::pi::extension::guest as theirs, pi::extension::types},
    carry::{Lift, NotJson, lift},
    nonsense,
};
use crate::wasm::instance::Refused;

/// Fills in what a guest offers. What it says that it needs is not asked: its manifest said so before it ran.
pub(super) fn read(offered: theirs::Register, mut registration: Registration) -> Result<Registration, Refused> {
    let theirs::Register { api_version, tools, slash_commands, event_hooks, .. } = offered;
    if api_version != VERSION {
        return Err(Refused::Threw {
            message: format!("it was written for version {api_version} of the protocol; this host speaks {VERSION}"),
        });
    }
    let mut by_name = BTreeMap::new();
    for tool in tools.unwrap_or_default() {
        let tool: ours::ToolDefinition = tool.lift().map_err(nonsense)?;
        // What is registered again takes the place of the first.
        match by_name.get(&tool.name) {
            Some(&place) => registration.tools[place] = tool.into(),
            None => {
                by_name.insert(tool.name.clone(), registration.tools.len());
                registration.tools.push(tool.into());
            }
        }
    }
    for command in slash_commands.unwrap_or_default() {
        let command: ours::CommandDefinition = command.lift().map_err(nonsense)?;
        registration.commands.retain(|other| other.definition.name != command.name);
        registration.commands.push(command.into());
    }
    for hook in event_hooks.unwrap_or_default() {
        registration.hooks.insert(hook.lift().map_err(nonsense)?, 1);
    }
    Ok(registration)
}

lift! {
    record theirs::ToolDefinition => ours::ToolDefinition {
        name, label, description, parameters, prompt_snippet, execution_mode,
    }
    record types::CommandDefinition => ours::CommandDefinition { name, description }
}

lift! {
    words theirs::ExecutionMode => ExecutionMode { Parallel, Sequential }
    words theirs::Hook => Hook {
        SessionDirectory, ProjectTrust, ResourcesDiscover, SessionStart, SessionBeforeSwitch, SessionSwitch,
        SessionBeforeFork, SessionFork, SessionBeforeCompact, SessionCompact, SessionCompactFailed, SessionBeforeTree,
        SessionTree, SessionShutdown, SessionInfoChanged, ThinkingLevelSelect, ModelSelect, McpServersChange,
        UiPromptStart, UiPromptEnd, Input, BeforeAgentStart, AgentStart, AgentEnd, AgentBeforeSettle, AgentSettled,
        TurnStart, TurnEnd, MessageStart, MessageUpdate, MessageEnd, ToolExecutionStart, ToolExecutionUpdate,
        ToolExecutionEnd, ToolCall, ToolResult, UserBash, Context, ContextWithSystem, BeforeProviderRequest,
        BeforeProviderHeaders, AfterProviderResponse, ProviderStreamEvent, CacheWarmingDecision, Bus,
    }
}
