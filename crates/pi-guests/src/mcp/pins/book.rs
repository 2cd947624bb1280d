//! What stands in the file: of each server its tools as somebody saw them, of each project the entries that somebody agreed to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use pi_extproto::Object;

use crate::mcp::{
    difference,
    entry::{Origin, Server},
    reading::ToolFace,
};

pub(super) const VERSION: u64 = 2;
/// Records of this version know a server by the digest of its entry, and are taken over where the entry is the same.
pub(super) const BY_ENTRY: u64 = 1;
/// Definitions whose arguments are recorded, in bytes: each, and all of a server together.
pub(super) const LARGEST: u64 = 8 << 10;
const ROOM: u64 = 256 << 10;

/// The whole file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Book {
    pub(super) version: u64,
    /// By name and place.
    pub(super) servers: BTreeMap<String, Page>,
    /// Entries of projects that somebody agreed to: by file, and by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) entries: BTreeMap<String, BTreeMap<String, Agreed>>,
}

/// An entry that somebody agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Agreed {
    pub(super) digest: String,
    /// For people, as it was written.
    pub(super) shown: String,
    /// A digest of each member; of older records nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) members: BTreeMap<String, String>,
}

impl Agreed {
    pub(super) fn of(server: &Server) -> Self {
        Self { digest: server.digest.clone(), shown: server.shown_whole(), members: server.digests.clone() }
    }
}

/// What is known of one server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) name: String,
    /// The digest of the entry with which its tools were seen, or agreed to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<u64>,
    /// How many tools cost so much: also those that the server does not list, such as the one for its resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) offered: Option<usize>,
    /// The digest of that which costs so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) weighed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    pub(super) tools: BTreeMap<String, Pin>,
    /// Tools that were described otherwise when they were last seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) changed: BTreeMap<String, Pin>,
}

/// A tool as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    pub(super) digest: String,
    pub(super) description: String,
    /// Of the whole definition. It says how much room a tool takes, and nothing about whether it is the same.
    #[serde(default)]
    pub(super) bytes: u64,
    /// Of what kind its arguments were, to show what changed in them; nothing where there is too much of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Object>,
}

/// The entries of a project by file and name; none of a file that is not there yet.
pub(super) fn entries(files: &[PathBuf], servers: &[Server]) -> BTreeMap<String, BTreeMap<String, Agreed>> {
    let mut found: BTreeMap<String, BTreeMap<String, Agreed>> =
        files.iter().map(|file| (place(file), BTreeMap::new())).collect();
    for server in servers.iter().filter(|server| server.origin == Origin::Project) {
        found.entry(place(&server.file)).or_default().insert(server.name.clone(), Agreed::of(server));
    }
    found
}

/// By what a server is known again, whatever is changed in its entry. No digest looks like it.
pub(super) fn key(name: &str, file: &Path) -> String {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    format!("{name} in {}", file.display())
}

/// By what a file of a project is known again: by its name in the project, whether or not it is there, and wherever it leads.
/// One that comes later as a link, or in a folder that is one, is still the same.
pub(super) fn place(file: &Path) -> String {
    let parent = file.parent().unwrap_or(Path::new(""));
    let project =
        if parent.file_name().is_some_and(|name| name == ".pi") { parent.parent().unwrap_or(parent) } else { parent };
    match (project.canonicalize(), file.strip_prefix(project)) {
        (Ok(project), Ok(name)) => project.join(name).display().to_string(),
        (Err(_), _) | (_, Err(_)) => file.display().to_string(),
    }
}

impl Pin {
    pub(super) fn of(tool: &ToolFace) -> Self {
        const SHOWN: usize = 2000;
        let shown = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
        let bytes = u64::try_from(shown.to_string().len()).unwrap_or(u64::MAX);
        let schema = (bytes <= LARGEST).then(|| tool.schema.clone());
        Self { digest: tool.digest(), description: tool.description.chars().take(SHOWN).collect(), bytes, schema }
    }

    /// What changed in the arguments of a tool that is not the same any more.
    pub(super) fn arguments_changed(&self, tool: &ToolFace) -> Vec<String> {
        let is_described_alike = tool.description.starts_with(&self.description);
        match &self.schema {
            Some(before) => difference::lines(before, &tool.schema),
            None if is_described_alike => vec!["they changed; how they were is not recorded".to_owned()],
            None => Vec::new(),
        }
    }
}

impl Page {
    /// Records a tool as it is; its arguments only while there is room for them, so that a server cannot fill the file.
    pub(super) fn record(&mut self, name: &str, mut pin: Pin) {
        let others = self.tools.iter().filter(|(other, pin)| *other != name && pin.schema.is_some());
        if others.map(|(_, pin)| pin.bytes).sum::<u64>() + pin.bytes > ROOM {
            pin.schema = None;
        }
        self.tools.insert(name.to_owned(), pin);
    }
}
