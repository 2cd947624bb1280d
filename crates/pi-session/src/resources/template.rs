//! Prompt templates: Markdown files that people call by name, with arguments.

mod arguments;

use std::path::{Path, PathBuf};

use pi_envelope::Provenance;

use super::{
    Places, Scope, SourceId, disk,
    frontmatter::{split, word},
    gather::{self, Named},
    notice::{Notice, Problem},
};
use crate::settings::trust::Trust;

pub use self::arguments::{Piece, expand, words};

/// A description that is made from the first line is not longer.
const LONGEST_LINE: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The name of the file without `.md`.
    pub name: String,
    /// What it is for; the first line, if nobody wrote it down. May be empty.
    pub description: String,
    /// Which arguments it wants, as people are told.
    pub argument_hint: Option<String>,
    pub path: PathBuf,
    /// Without its head.
    pub text: String,
    pub scope: Scope,
    pub provenance: Provenance,
}

/// Every template of every place; of those with one name the first counts, as for skills.
pub(super) fn find(places: &Places, notices: &mut Vec<Notice>) -> Vec<Template> {
    let below = |folder: &Path, notices: &mut Vec<Notice>| disk::list(folder, "md", notices);
    let usual = |notices: &mut Vec<Notice>| {
        let project = places.directory.join(".pi").join("prompts");
        let mut found = Vec::new();
        match places.trust {
            Trust::Trusted => found.extend(below(&project, notices).into_iter().map(|file| (file, Scope::Project))),
            Trust::Untrusted if disk::is_folder(&project) => notices.push(Notice::new(&project, Problem::Untrusted)),
            Trust::Untrusted => {}
        }
        let mine = places.agent.as_ref().map(|agent| below(&agent.join("prompts"), notices)).unwrap_or_default();
        found.extend(mine.into_iter().map(|file| (file, Scope::User)));
        found
    };
    let files = gather::files(places, &places.templates, usual, below, notices);
    gather::first_of_each(files, |path, scope, notices| read(path, scope, places, notices), notices)
}

fn read(path: &Path, scope: Scope, places: &Places, notices: &mut Vec<Notice>) -> Option<Template> {
    let text = disk::text(path, notices)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if name.is_empty() || name.contains(char::is_whitespace) {
        notices.push(Notice::new(path, Problem::BadName { name }));
        return None;
    }
    let (members, body) = split(&text);
    let members = members.unwrap_or_else(|problem| {
        notices.push(Notice::new(path, problem));
        Default::default()
    });
    Some(Template {
        description: word(&members, "description").filter(|it| !it.is_empty()).unwrap_or_else(|| first_line(body)),
        argument_hint: word(&members, "argument-hint").filter(|it| !it.is_empty()),
        name,
        path: path.to_owned(),
        text: body.to_owned(),
        scope,
        provenance: places.provenance(path),
    })
}

fn first_line(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

impl Named for Template {
    fn name(&self) -> &str {
        &self.name
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Template {
    pub fn id(&self) -> SourceId {
        SourceId::from(format!("prompt:{}", self.name).as_str())
    }
}
