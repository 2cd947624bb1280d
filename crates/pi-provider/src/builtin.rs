//! The manifests that come with the program.
//!
//! They are files in `manifests/`, one for each provider, named by its id; this module only carries their text. They are
//! the first source of manifests, so a file of the user's with the same id replaces one. The build script writes each once
//! more as JSON, without what only people need, and its [`Index`], so that most starts read one of them or none.

/// A manifest inside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    pub id: &'static str,
    /// As it was written, in YAML.
    pub text: &'static str,
    /// The same in JSON.
    pub json: &'static str,
    pub index: Index,
}

/// What is asked of all manifests at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    pub aliases: &'static [&'static str],
    /// The variable in which its credential stands.
    pub token_env: Option<&'static str>,
    /// Whether it describes a server on this machine.
    pub is_local: bool,
    /// In the order of the file.
    pub models: &'static [Listed<'static>],
}

/// The names of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<'a> {
    pub id: &'a str,
    /// The name on the wire.
    pub wire_id: &'a str,
    /// The name that people are shown.
    pub name: Option<&'a str>,
}

impl BuiltIn {
    /// What diagnostics call the file.
    pub fn path(&self) -> String {
        format!("<built in>/{}.yaml", self.id)
    }
}

macro_rules! embedded {
    ($($id:literal),* $(,)?) => {
        &[$(BuiltIn {
            id: $id,
            text: include_str!(concat!("../manifests/", $id, ".yaml")),
            json: include_str!(concat!(env!("OUT_DIR"), "/", $id, ".json")),
            index: include!(concat!(env!("OUT_DIR"), "/", $id, ".rs")),
        }),*]
    };
}

/// All of them: those of companies, then servers on this machine, then the demo model; by name in each group.
pub const MANIFESTS: &[BuiltIn] = embedded![
    "anthropic",
    "azure-openai",
    "cerebras",
    "cohere",
    "deepseek",
    "doubao",
    "fireworks",
    "gemini",
    "groq",
    "huggingface",
    "minimax",
    "mistral",
    "moonshot",
    "nvidia",
    "openai",
    "openrouter",
    "perplexity",
    "qwen",
    "together",
    "xai",
    "zhipu",
    "llamacpp",
    "lmstudio",
    "ollama",
    "vllm",
    "demo",
];

/// The manifest with this id.
pub fn find(id: &str) -> Option<&'static BuiltIn> {
    MANIFESTS.iter().find(|manifest| manifest.id == id)
}
