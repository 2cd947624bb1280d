//! Prompt templates: Markdown files that people call by name, with arguments.

mod arguments;

use std::path::{Path, PathBuf};

use pi_envelope::Provenance;

use super::{
    Discovery, Places, Scope, SourceId, disk,
    frontmatter::{split, word},
    notice::{Notice, Problem},
    selection::Selection,
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
    let selection = Selection::of(&places.templates.settings, places.home.as_deref(), notices);
    let mut files: Vec<(PathBuf, Scope)> = Vec::new();
    for path in &places.templates.named {
        let path = places.directory.join(path);
        files.extend(files_of(&path, notices).into_iter().map(|file| (file, Scope::Named)));
    }
    if places.templates.discovery == Discovery::On {
        let mut found = Vec::new();
        let project = places.directory.join(".pi").join("prompts");
        match places.trust {
            Trust::Trusted => {
                found.extend(disk::list(&project, "md", notices).into_iter().map(|file| (file, Scope::Project)));
            }
            Trust::Untrusted if disk::is_folder(&project) => notices.push(Notice::new(&project, Problem::Untrusted)),
            Trust::Untrusted => {}
        }
        if let Some(agent) = &places.agent {
            let mine = disk::list(&agent.join("prompts"), "md", notices);
            found.extend(mine.into_iter().map(|file| (file, Scope::User)));
        }
        for (path, scope) in &selection.places {
            found.extend(files_of(path, notices).into_iter().map(|file| (file, *scope)));
        }
        found.retain(|(file, _)| selection.keeps(file));
        found.sort_by_key(|(_, scope)| *scope);
        files.extend(found);
    }
    let mut templates: Vec<Template> = Vec::new();
    for (file, scope) in files {
        if templates.iter().any(|template| template.path == file) {
            continue;
        }
        let Some(template) = read(&file, scope, places, notices) else { continue };
        match templates.iter().find(|kept| kept.name == template.name) {
            Some(kept) => {
                let problem = Problem::Collision { name: template.name, kept: kept.path.clone() };
                notices.push(Notice::new(&file, problem));
            }
            None => templates.push(template),
        }
    }
    templates
}

fn files_of(path: &Path, notices: &mut Vec<Notice>) -> Vec<PathBuf> {
    if disk::is_folder(path) {
        return disk::list(path, "md", notices);
    }
    if !disk::exists(path) {
        notices.push(Notice::new(path, Problem::Missing));
        return Vec::new();
    }
    vec![path.to_owned()]
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

impl Template {
    pub fn id(&self) -> SourceId {
        SourceId::from(format!("prompt:{}", self.name).as_str())
    }
}
