//! What a guest offers.

use std::collections::BTreeMap;

use pi_exthost::{Registration, guest::Introduction};
use pi_extproto::{
    capability::{Capability, CapabilityManifest, Method, Requirement, Scope},
    connector::tool::{self as ours, ExecutionMode},
    hook::Hook,
    message::VERSION,
};
use pi_transcript::json::Extra;

use super::{
    bindings::{exports::pi::extension::guest as theirs, pi::extension::types},
    carry::{Lift, NotJson, lift},
};
use crate::wasm::instance::Refused;

/// Fills in what a guest offers and what it says of itself. What it may do was decided by its manifest before it ran; where
/// it says something else, its desk writes that down.
pub(super) fn read(offered: theirs::Register, mut registration: Registration) -> Result<Registration, Refused> {
    let theirs::Register {
        name,
        version,
        api_version,
        capabilities,
        capability_manifest,
        tools,
        slash_commands,
        event_hooks,
    } = offered;
    if api_version != VERSION {
        return Err(Refused::Threw {
            message: format!("it was written for version {api_version} of the protocol; this host speaks {VERSION}"),
        });
    }
    registration.introduction = Some(Introduction {
        name,
        version,
        api_version,
        capabilities: capabilities.map(|words| words.iter().map(|word| Capability::from(word.as_str())).collect()),
        capability_manifest: capability_manifest
            .map(|manifest| CapabilityManifest::new(manifest.capabilities.into_iter().map(requirement).collect())),
    });
    let mut by_name = BTreeMap::new();
    for tool in tools.unwrap_or_default() {
        let tool: ours::ToolDefinition = tool.lift().map_err(Refused::from)?;
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
        let command: ours::CommandDefinition = command.lift().map_err(Refused::from)?;
        registration.commands.retain(|other| other.definition.name != command.name);
        registration.commands.push(command.into());
    }
    for hook in event_hooks.unwrap_or_default() {
        registration.hooks.insert(hook.lift().map_err(Refused::from)?, 1);
    }
    Ok(registration)
}

fn requirement(theirs::Requirement { capability, methods, scope }: theirs::Requirement) -> Requirement {
    let scope = scope.map(|theirs::Scope { paths, hosts, env }| Scope { paths, hosts, env, extra: Extra::new() });
    let methods = methods.map(|words| words.iter().map(|word| Method::from(word.as_str())).collect());
    Requirement { capability: Capability::from(capability.as_str()), methods, scope, extra: Extra::new() }
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
