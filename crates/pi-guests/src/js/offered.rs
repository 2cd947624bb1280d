//! What an extension registered, as its host wants it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use pi_exthost::{
    Registration,
    guest::{
        CommandOffer, Flag, FlagDefault, GuestId, ProviderOffer, RendererOffer, Shortcut, ToolOffer, UnusableOffer,
    },
};
use pi_extproto::{
    Object,
    connector::tool::{CommandDefinition, ExecutionMode, ToolDefinition},
    hook::Hook,
};

/// What the Pi API says that was registered.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Offered {
    tools: Vec<Item<Tool>>,
    commands: Vec<Item<Command>>,
    hooks: BTreeMap<String, usize>,
    channels: BTreeSet<String>,
    flags: Vec<Item<OfferedFlag>>,
    shortcuts: Vec<Item<OfferedShortcut>>,
    renderers: Vec<String>,
    entry_renderers: Vec<String>,
    providers: Vec<Item<Provider>>,
    unusable: Vec<Unusable>,
}

/// Something that was registered.
#[derive(Debug, Deserialize)]
struct Item<T> {
    /// In words.
    what: String,
    offer: Fit<T>,
}

/// One of several things, of which each costs itself if it cannot be read.
#[derive(Debug)]
enum Fit<T> {
    Fits(T),
    Unfit(String),
}

#[derive(Debug, Deserialize)]
struct Unusable {
    what: String,
    why: String,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fit<T> {
    /// The reader of a value of the engine has nothing behind it that could be left unread.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(T::deserialize(deserializer).map_or_else(|unfit| Self::Unfit(unfit.to_string()), Self::Fits))
    }
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
        let unusable = |Unusable { what, why }| UnusableOffer { what, why };
        registration.unusable = self.unusable.into_iter().map(unusable).collect();
        let left_out = &mut registration.unusable;
        registration.tools = fitting(self.tools, left_out).map(Tool::into_offer).collect();
        registration.commands = fitting(self.commands, left_out).map(Command::into_offer).collect();
        for (hook, handlers) in self.hooks {
            if let Some(hook) = Hook::find(&hook) {
                *registration.hooks.entry(hook).or_default() += handlers;
            }
        }
        registration.channels = self.channels;
        registration.flags = fitting(self.flags, left_out).map(OfferedFlag::into_flag).collect();
        let shortcut = |shortcut: OfferedShortcut| Shortcut { key: shortcut.key, description: shortcut.description };
        registration.shortcuts = fitting(self.shortcuts, left_out).map(shortcut).collect();
        registration.renderers = self.renderers.into_iter().map(|custom_type| RendererOffer { custom_type }).collect();
        registration.entry_renderers = self.entry_renderers;
        let provider = |Provider { name, config, streams }| ProviderOffer { name, config, streams };
        registration.providers = fitting(self.providers, left_out).map(provider).collect();
        registration
    }
}

/// Those that could be read; the others are told.
fn fitting<T>(items: Vec<Item<T>>, left_out: &mut Vec<UnusableOffer>) -> impl Iterator<Item = T> {
    let fit = |Item { what, offer }| match offer {
        Fit::Fits(offer) => Some(offer),
        Fit::Unfit(why) => {
            left_out.push(UnusableOffer { what, why: format!("it cannot be read: {why}") });
            None
        }
    };
    items.into_iter().filter_map(fit)
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
