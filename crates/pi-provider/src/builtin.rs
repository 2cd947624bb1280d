//! The manifests that come with the program.
//!
//! They are files in `manifests/`, one for each provider, named by its id; this module only carries their text. They are
//! the first source of manifests, so a file of the user's with the same id replaces one. Every start reads all of them, so
//! the build script writes them once more as JSON, without what only people need.

/// A manifest inside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    pub id: &'static str,
    /// As it was written, in YAML.
    pub text: &'static str,
    /// The same in JSON.
    pub json: &'static str,
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
