//! Everything that fills the context beside the conversation, by an id, so that it can be switched off and on.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Resources, Skill};

/// The same in every session in which the source appears: `memory:/work/AGENTS.md`, `skill:deploy`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceId(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A context file.
    Memory,
    Skill,
    /// `SYSTEM.md` or `APPEND_SYSTEM.md`.
    Instructions,
}

/// Something that a model is told in every turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub id: SourceId,
    pub kind: SourceKind,
    pub name: String,
    pub path: PathBuf,
    pub is_on: bool,
}

/// Which sources are switched off. All others are on, those that appear later too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Switches {
    off: BTreeSet<SourceId>,
}

impl SourceId {
    pub fn of_memory(path: &Path) -> Self {
        Self(format!("memory:{}", path.display()))
    }

    pub fn of_skill(name: &str) -> Self {
        Self(format!("skill:{name}"))
    }

    /// Of all tools of one extension, or of the built-in ones.
    pub fn of_tools(extension: Option<&str>) -> Self {
        Self(format!("tools:{}", extension.unwrap_or("builtin")))
    }

    /// Of `SYSTEM.md`.
    pub fn system() -> Self {
        Self("system".to_owned())
    }

    /// Of `APPEND_SYSTEM.md`.
    pub fn append() -> Self {
        Self("append".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SourceId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Switches {
    pub fn switch_off(&mut self, id: SourceId) {
        self.off.insert(id);
    }

    pub fn switch_on(&mut self, id: &SourceId) {
        self.off.remove(id);
    }

    pub fn are_all_on(&self) -> bool {
        self.off.is_empty()
    }

    pub fn is_on(&self, id: &SourceId) -> bool {
        !self.off.contains(id)
    }
}

impl Resources {
    /// Every source, in the order in which a model is told of them.
    pub fn sources(&self, switches: &Switches) -> Vec<Source> {
        let source = |id: SourceId, kind, name: String, path: &Path| {
            let is_on = switches.is_on(&id);
            Source { id, kind, name, path: path.to_owned(), is_on }
        };
        let file_name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let instructions = [(SourceId::system(), &self.system), (SourceId::append(), &self.append)];
        let instructions = instructions.into_iter().filter_map(|(id, file)| {
            let file = file.as_ref()?;
            Some(source(id, SourceKind::Instructions, file_name(&file.path), &file.path))
        });
        let memory = self
            .context
            .iter()
            .map(|file| source(SourceId::of_memory(&file.path), SourceKind::Memory, file_name(&file.path), &file.path));
        let told = self.skills.iter().filter(|skill| !skill.is_hidden);
        let skills = told.map(|skill: &Skill| {
            source(SourceId::of_skill(&skill.name), SourceKind::Skill, skill.name.clone(), &skill.path)
        });
        instructions.chain(memory).chain(skills).collect()
    }
}
