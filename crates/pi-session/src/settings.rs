//! What the person and the project chose: Pi's `settings.json`, read in layers and resolved once.
//!
//! [`load`] reads the files, [`resolve`](resolve()) turns layers into [`Settings`]. Nothing in a file is fatal: what cannot be used is
//! reported as a [`Notice`] and the next layer below, or the built-in value, counts instead. A key that we do not know is
//! reported and otherwise left alone, so that a file may be shared with other programs. `settings/keys.json` lists every
//! key that is understood, with its built-in value; `docs/settings.md` is its readable form.
//!
//! Who may say what: a project's file counts only if the project is [trusted](trust), and some keys only where the person
//! writes them (`personal` in the list). Changing a file is [`change`]'s work.

pub mod change;
pub mod keys;
mod layer;
mod notice;
mod place;
mod resolve;
pub mod trust;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use pi_transcript::{ModelId, ProviderId, ThinkingLevel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::trust::Trust;
pub use self::{
    layer::{Layer, Origin},
    notice::{Notice, Problem},
    place::Place,
    resolve::{nearest, resolve},
};
use crate::{queue::Delivery, retry::RetrySettings};

/// What the settings mean. Every value is valid; where a key has no built-in value, nobody chose one.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub default_provider: Option<ProviderId>,
    pub default_model: Option<ModelId>,
    pub default_thinking_level: Option<ThinkingLevel>,
    /// By model, as `provider/model` or its id alone.
    pub model_thinking_levels: BTreeMap<String, ThinkingLevel>,
    /// Tokens that a level of thinking may cost.
    pub thinking_budgets: BTreeMap<ThinkingLevel, u64>,
    pub hide_thinking_block: bool,
    /// Patterns of models that cycling goes through; empty for all.
    pub enabled_models: Vec<String>,
    pub transport: Transport,
    pub steering_mode: Delivery,
    pub follow_up_mode: Delivery,
    pub compaction: Compaction,
    pub branch_summary: BranchSummary,
    pub retry: RetrySettings,
    pub shell_path: Option<PathBuf>,
    /// Variables that commands get although they hold a secret.
    pub pass_environment: Vec<String>,
    pub shell_command_prefix: Option<String>,
    /// See [`Settings::tools`].
    pub default_tools: Vec<String>,
    pub images: Images,
    pub session_directory: Option<Location>,
    pub skills: Vec<Location>,
    pub prompts: Vec<Location>,
    /// Paths of extensions, of every layer; the strongest first.
    pub extensions: Vec<Listed>,
    /// Packages that bring extensions, of every layer; each is a text or an object with a source.
    pub packages: Vec<Listed>,
    /// Ids of extensions that are switched off, of every layer: a project may add to them and takes none away.
    pub disabled_extensions: Vec<Location>,
    /// Whether what changes on the disk is loaded anew by itself.
    pub watch_extensions: bool,
    /// How long the first request waits for servers that are still starting.
    pub server_wait: Duration,
    pub enable_skill_commands: bool,
    pub default_project_trust: DefaultTrust,
    pub theme: Option<String>,
    pub quiet_startup: bool,
    pub show_images: bool,
    /// For questions that no client sees.
    pub question_timeout: Limit,
    /// For silence; absent where nobody chose, so that a manifest may.
    pub http_idle_timeout: Option<Limit>,
    /// For a whole answer.
    pub http_total_timeout: Limit,
}

/// How long something may take. Written in milliseconds, where 0 is for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "u64")]
pub enum Limit {
    Never,
    After(Duration),
}

impl From<u64> for Limit {
    fn from(milliseconds: u64) -> Self {
        match milliseconds {
            0 => Self::Never,
            milliseconds => Self::After(Duration::from_millis(milliseconds)),
        }
    }
}

/// How a provider that offers several ways is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    Sse,
    Websocket,
    WebsocketCached,
    Auto,
}

/// What holds for a project about which nobody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultTrust {
    /// Ask where there is somebody to ask; otherwise it is not trusted.
    Ask,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    pub enabled: bool,
    /// Tokens that are kept free for the answer.
    pub reserve_tokens: u64,
    /// Tokens at the end of the conversation that are not summarised.
    pub keep_recent_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchSummary {
    pub reserve_tokens: u64,
    /// Leave a branch without asking for a summary.
    pub skip_prompt: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Images {
    pub auto_resize: bool,
    /// No image is sent to a model.
    pub block_images: bool,
}

/// An entry of a list of a settings file, as it was written, and the folder that it is relative to.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub value: Value,
    pub folder: PathBuf,
    pub origin: Origin,
}

/// A path or pattern of a settings file, and the folder that it is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub text: String,
    pub folder: PathBuf,
    pub origin: Origin,
}

/// The settings, where each value comes from, and what could not be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub settings: Settings,
    /// In the order of `keys.json`.
    pub rows: Vec<Row>,
    pub notices: Vec<Notice>,
}

/// A key, its value, and who chose it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub key: &'static str,
    /// `null` where nobody chose one and none is built in.
    pub value: Value,
    pub origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Where the key stands in the file.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// Where the settings files are.
#[derive(Debug, Clone)]
pub struct Files<'a> {
    /// The agent directory.
    pub agent: Option<&'a Path>,
    /// The directory of the session; its file is `.pi/settings.json`.
    pub project: Option<&'a Path>,
    pub trust: Trust,
}

/// Reads both files and resolves them together with what the environment and the arguments say.
///
/// The file of a project that is not trusted is not read; that it is there is reported.
pub fn load(files: &Files<'_>, given: Vec<Layer>) -> Resolved {
    let mut notices = Vec::new();
    let mut layers = Vec::new();
    let mut read = |origin, path: &Path| match Layer::read(origin, path) {
        Ok(layer) => layers.extend(layer),
        Err(notice) => notices.push(notice),
    };
    if let Some(agent) = files.agent {
        read(Origin::User, &agent.join("settings.json"));
    }
    if let Some(project) = files.project {
        let path = project.join(".pi").join("settings.json");
        match files.trust {
            Trust::Trusted => read(Origin::Project, &path),
            Trust::Untrusted if path.exists() => notices.push(Notice::about(&path, Problem::Untrusted)),
            Trust::Untrusted => {}
        }
    }
    layers.extend(given);
    let mut resolved = resolve(layers);
    notices.append(&mut resolved.notices);
    Resolved { notices, ..resolved }
}

impl Settings {
    /// The tools that are active at the beginning, given those that usually are.
    ///
    /// Plain names in `defaultTools` replace the usual ones; `+name` adds one and `-name` takes one away.
    pub fn tools(&self, usual: &[&str]) -> Vec<String> {
        let is_plain = |name: &&String| !name.starts_with(['+', '-']);
        let mut tools: Vec<String> = match self.default_tools.iter().any(|name| is_plain(&name)) {
            true => Vec::new(),
            false => usual.iter().map(|&name| name.to_owned()).collect(),
        };
        for choice in &self.default_tools {
            match choice.strip_prefix('-') {
                Some(name) => tools.retain(|tool| tool != name),
                None => {
                    let name = choice.strip_prefix('+').unwrap_or(choice);
                    if !tools.iter().any(|tool| tool == name) {
                        tools.push(name.to_owned());
                    }
                }
            }
        }
        tools
    }

    /// Where sessions are kept, if somebody chose a place.
    pub fn session_directory(&self, home: Option<&Path>) -> Option<PathBuf> {
        self.session_directory.as_ref().map(|location| location.path(home))
    }
}

impl Location {
    /// The path, with `~` spelled out, relative to the folder of its file.
    pub fn path(&self, home: Option<&Path>) -> PathBuf {
        self.folder.join(expand_home(&self.text, home))
    }
}

/// A path with a `~` at its beginning spelled out.
pub fn expand_home(text: &str, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with(['/', '\\']) => home.join(&rest[1..]),
        _ => PathBuf::from(text),
    }
}
