//! What a guest offers and what it wants to hear.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use pi_extproto::{
    Object,
    capability::{Capability, CapabilityManifest, Declared},
    connector::tool::{CommandDefinition, ToolDefinition},
    hook::Hook,
};

/// An extension of a session. No two guests of a session have the same; it is the one that ledger and grants name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestId(Arc<str>);

/// What the ids of servers of the Model Context Protocol begin with.
const SERVER: &str = "mcp:";

impl GuestId {
    /// In whose name the host itself speaks, in ledgers and to sessions. No extension has it.
    pub const HOST: &str = "pi";

    /// Of the server of that name. No extension of another tier has such an id, so none gets its grants.
    pub fn of_server(name: &str) -> Self {
        Self(format!("{SERVER}{name}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the server that it is, if it is one.
    pub fn server(&self) -> Option<&str> {
        self.0.strip_prefix(SERVER)
    }
}

impl From<&str> for GuestId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for GuestId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that a guest has registered, in the order in which it did. Names are unique in each list: what is registered
/// again takes the place of the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    pub id: GuestId,
    /// For people.
    pub name: String,
    /// Where it was loaded from; reports of errors name it.
    pub path: String,
    pub tools: Vec<ToolOffer>,
    pub commands: Vec<CommandOffer>,
    /// How many handlers it has for each hook.
    pub hooks: BTreeMap<Hook, usize>,
    /// Channels of the bus between extensions that it listens to.
    pub channels: BTreeSet<String>,
    pub flags: Vec<Flag>,
    pub shortcuts: Vec<Shortcut>,
    pub renderers: Vec<RendererOffer>,
    /// The types of entries that it draws.
    pub entry_renderers: Vec<String>,
    pub providers: Vec<ProviderOffer>,
    /// What it registered and cannot be used; the rest counts.
    pub unusable: Vec<UnusableOffer>,
    /// What it said of itself; nothing where its tier has no words for that.
    pub introduction: Option<Introduction>,
}

/// What a guest says of itself when it registers. Its host knows it from its manifest, which was read before it ran: where both
/// differ it is written down. What it does not say that it needs it may not do; what its manifest does not declare it may
/// not do either, whatever it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Introduction {
    pub name: String,
    pub version: String,
    /// The version of the protocol that it was written for.
    pub api_version: String,
    /// The older, coarse form of a capability manifest.
    pub capabilities: Option<Vec<Capability>>,
    pub capability_manifest: Option<CapabilityManifest>,
}

impl Introduction {
    /// What it says that it needs, in either form.
    pub fn declared(&self) -> Declared {
        Declared::new(self.capability_manifest.as_ref(), self.capabilities.as_deref())
    }
}

impl Registration {
    /// A guest that offers nothing and hears nothing.
    pub fn new(id: GuestId, path: impl Into<String>) -> Self {
        Self {
            name: id.as_str().to_owned(),
            id,
            path: path.into(),
            tools: Vec::new(),
            commands: Vec::new(),
            hooks: BTreeMap::new(),
            channels: BTreeSet::new(),
            flags: Vec::new(),
            shortcuts: Vec::new(),
            renderers: Vec::new(),
            entry_renderers: Vec::new(),
            providers: Vec::new(),
            unusable: Vec::new(),
            introduction: None,
        }
    }

    /// How many handlers hear `hook`.
    pub fn handlers(&self, hook: Hook) -> usize {
        self.hooks.get(&hook).copied().unwrap_or_default()
    }

    pub fn tool(&self, name: &str) -> Option<&ToolOffer> {
        self.tools.iter().find(|tool| tool.definition.name == name)
    }
}

/// Something that was registered and is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableOffer {
    /// In words: `the tool "greet"`.
    pub what: String,
    /// What is wrong with it, and what would be right.
    pub why: String,
}

/// So long the name of a tool may be where the bound of providers is lowest.
pub const LONGEST_TOOL_NAME: usize = 64;

/// Whether every provider takes it as the name of a tool. One that does not would cost every request to it.
pub fn is_tool_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    !name.is_empty() && name.len() <= LONGEST_TOOL_NAME && name.chars().all(is_letter)
}

/// A tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    pub definition: ToolDefinition,
    /// Lines for the guidelines section of the system prompt.
    pub prompt_guidelines: Vec<String>,
    /// Whether it is active without being asked for.
    pub default_active: bool,
    /// Whether [`super::Guest::render`] draws its calls and results.
    pub renders: bool,
}

impl From<ToolDefinition> for ToolOffer {
    fn from(definition: ToolDefinition) -> Self {
        Self { definition, prompt_guidelines: Vec::new(), default_active: true, renders: false }
    }
}

/// A slash command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOffer {
    pub definition: CommandDefinition,
    /// Whether [`super::Guest::complete_argument`] knows something about it.
    pub completes: bool,
}

impl From<CommandDefinition> for CommandOffer {
    fn from(definition: CommandDefinition) -> Self {
        Self { definition, completes: false }
    }
}

/// A flag of the command line. Only the guest that registered it sees its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub name: String,
    pub description: Option<String>,
    pub default: FlagDefault,
}

/// The kind of a flag, and its value where nobody gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagDefault {
    Boolean(Option<bool>),
    Text(Option<String>),
}

/// A key that means something to the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortcut {
    /// As Pi writes it, for instance `ctrl+shift+p`.
    pub key: String,
    pub description: Option<String>,
}

/// What can be held down with a key.
const HELD: [&str; 4] = ["ctrl", "alt", "shift", "super"];

/// The name of a key in the one way in which two names of the same key are equal: `Shift+Ctrl+P` is `ctrl+shift+p`.
pub fn chord(name: &str) -> String {
    let name = name.to_lowercase();
    let (mut rest, mut held) = (name.as_str(), [false; HELD.len()]);
    while let Some((word, behind)) = rest.split_once('+').filter(|(_, behind)| !behind.is_empty()) {
        let Some(place) = HELD.iter().position(|known| *known == word) else { break };
        held[place] = true;
        rest = behind;
    }
    let key = match rest {
        "esc" => "escape",
        "return" => "enter",
        other => other,
    };
    let held = HELD.iter().zip(held).filter(|(_, is_held)| *is_held);
    held.map(|(word, _)| format!("{word}+")).collect::<String>() + key
}

/// A type of custom messages that the guest draws.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RendererOffer {
    pub custom_type: String,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderOffer {
    pub name: String,
    /// What was registered, without functions and without credentials.
    pub config: Object,
    /// Whether the guest itself produces the stream, by [`super::Guest::stream`].
    pub streams: bool,
}
