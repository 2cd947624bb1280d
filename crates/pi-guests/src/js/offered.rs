//! What an extension registered, as its host wants it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use pi_exthost::{
    Registration,
    guest::{CommandOffer, Flag, FlagDefault, GuestId, ProviderOffer, RendererOffer, Shortcut, ToolOffer},
};
use pi_extproto::{
    Object,
    connector::tool::{CommandDefinition, ExecutionMode, ToolDefinition},
    hook::Hook,
};

/// What the Pi API says that was registered.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Offered {
    tools: Vec<Tool>,
    commands: Vec<Command>,
    hooks: BTreeMap<String, usize>,
    channels: BTreeSet<String>,
    flags: Vec<OfferedFlag>,
    shortcuts: Vec<OfferedShortcut>,
    renderers: Vec<String>,
    providers: Vec<Provider>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    label: Option<String>,
    description: String,
    parameters: Object,
    prompt_snippet: Option<String>,
    execution_mode: Option<ExecutionMode>,
    prompt_guidelines: Vec<String>,
    default_active: bool,
    renders: bool,
}

#[derive(Debug, Deserialize)]
struct Command {
    name: String,
    description: Option<String>,
    completes: bool,
}

#[derive(Debug, Deserialize)]
struct OfferedFlag {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    kind: FlagKind,
    default: Option<FlagValue>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FlagKind {
    Boolean,
    String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FlagValue {
    Truth(bool),
    Text(String),
}

#[derive(Debug, Deserialize)]
struct OfferedShortcut {
    key: String,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Provider {
    name: String,
    config: Object,
    streams: bool,
}

impl Offered {
    /// The registration of the extension. Hooks that nobody fires are left out: whoever listens to one is told elsewhere.
    pub(crate) fn into_registration(self, id: GuestId, name: &str, path: &str) -> Registration {
        let mut registration = Registration::new(id, path);
        registration.name = name.to_owned();
        registration.tools = self.tools.into_iter().map(Tool::into_offer).collect();
        registration.commands = self.commands.into_iter().map(Command::into_offer).collect();
        for (hook, handlers) in self.hooks {
            if let Some(hook) = Hook::find(&hook) {
                *registration.hooks.entry(hook).or_default() += handlers;
            }
        }
        registration.channels = self.channels;
        registration.flags = self.flags.into_iter().map(OfferedFlag::into_flag).collect();
        let shortcut = |shortcut: OfferedShortcut| Shortcut { key: shortcut.key, description: shortcut.description };
        registration.shortcuts = self.shortcuts.into_iter().map(shortcut).collect();
        registration.renderers = self.renderers.into_iter().map(|custom_type| RendererOffer { custom_type }).collect();
        let provider = |Provider { name, config, streams }| ProviderOffer { name, config, streams };
        registration.providers = self.providers.into_iter().map(provider).collect();
        registration
    }
}

impl Tool {
    fn into_offer(self) -> ToolOffer {
        let definition = ToolDefinition {
            name: self.name,
            label: self.label,
            description: self.description,
            parameters: self.parameters,
            prompt_snippet: self.prompt_snippet,
            execution_mode: self.execution_mode,
        };
        ToolOffer {
            definition,
            prompt_guidelines: self.prompt_guidelines,
            default_active: self.default_active,
            renders: self.renders,
        }
    }
}

impl Command {
    fn into_offer(self) -> CommandOffer {
        let definition = CommandDefinition { name: self.name, description: self.description };
        CommandOffer { definition, completes: self.completes }
    }
}

impl OfferedFlag {
    fn into_flag(self) -> Flag {
        let default = match (self.kind, self.default) {
            (FlagKind::Boolean, Some(FlagValue::Truth(truth))) => FlagDefault::Boolean(Some(truth)),
            (FlagKind::Boolean, None | Some(FlagValue::Text(_))) => FlagDefault::Boolean(None),
            (FlagKind::String, Some(FlagValue::Text(text))) => FlagDefault::Text(Some(text)),
            (FlagKind::String, Some(FlagValue::Truth(truth))) => FlagDefault::Text(Some(truth.to_string())),
            (FlagKind::String, None) => FlagDefault::Text(None),
        };
        Flag { name: self.name, description: self.description, default }
    }
}
