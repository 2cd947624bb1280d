//! Skills: folders with a `SKILL.md` that says what they are for.

use std::path::{Path, PathBuf};

use pi_envelope::Provenance;
use pi_transcript::json::Digest;
use serde_json::Value;

use super::{
    Places, Scope, disk,
    frontmatter::{split, word},
    gather::{self, Named},
    notice::{Notice, Problem},
};
use crate::settings::trust::Trust;

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The file that a model reads.
    pub path: PathBuf,
    /// The folder that paths in it are relative to.
    pub folder: PathBuf,
    /// Only people may use it; a model is not told of it.
    pub is_hidden: bool,
    pub scope: Scope,
    pub provenance: Provenance,
    /// Of its text, to see whether it changed.
    pub digest: Digest,
}

impl Skill {
    /// What it says behind its head, read anew: it may have changed since it was found.
    pub fn body(&self) -> Result<String, Problem> {
        let text = disk::Text::read(&self.path)?.ok_or(Problem::Missing)?;
        Ok(split(&text.text).1.to_owned())
    }
}

impl Named for Skill {
    fn name(&self) -> &str {
        &self.name
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Which Markdown files directly in a folder are skills themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loose {
    All,
    None,
}

/// Every skill of every place. Of those with one name the first counts: named ones, then the project's from the nearest
/// folder upwards, then the person's; in each, usual places before those of the settings.
pub(super) fn find(places: &Places, notices: &mut Vec<Notice>) -> Vec<Skill> {
    let usual = |notices: &mut Vec<Notice>| {
        let folders = usual_places(places, notices);
        let files = folders.into_iter().flat_map(|(folder, scope, loose)| {
            files_in(&folder, loose, notices).into_iter().map(move |file| (file, scope))
        });
        files.collect()
    };
    let below = |folder: &Path, notices: &mut Vec<Notice>| files_in(folder, Loose::All, notices);
    let files = gather::files(places, &places.skills, usual, below, notices);
    gather::first_of_each(files, |path, scope, notices| read(path, scope, places, notices), notices)
}

/// The usual places; those of a project that nobody trusts are told.
fn usual_places(places: &Places, notices: &mut Vec<Notice>) -> Vec<(PathBuf, Scope, Loose)> {
    let mut usual = vec![(places.directory.join(".pi").join("skills"), Scope::Project, Loose::All)];
    let persons = places.home.as_ref().map(|home| home.join(".agents").join("skills"));
    let shared = places.directory.ancestors().map(|folder| folder.join(".agents").join("skills"));
    // In a repository nothing above it is looked at, else everything up to the root of the file system.
    let root = places.root();
    let is_repository = disk::exists(&root.join(".git"));
    let shared = shared.filter(|folder| !is_repository || folder.starts_with(root));
    usual.extend(shared.filter(|folder| Some(folder) != persons.as_ref()).map(|it| (it, Scope::Project, Loose::None)));
    // Most are not there, and whether somebody trusts a folder takes many looks at the disk.
    usual.retain(|(folder, ..)| disk::is_folder(folder));
    usual.retain(|(folder, ..)| match places.trust_of(folder.parent().and_then(Path::parent).unwrap_or(folder)) {
        Trust::Trusted => true,
        Trust::Untrusted => {
            notices.push(Notice::new(folder, Problem::Untrusted));
            false
        }
    });
    usual.extend(places.agent.as_ref().map(|agent| (agent.join("skills"), Scope::User, Loose::All)));
    usual.extend(persons.map(|folder| (folder, Scope::User, Loose::None)));
    usual
}

/// Below a folder that is a skill there are no further ones.
fn files_in(folder: &Path, loose: Loose, notices: &mut Vec<Notice>) -> Vec<PathBuf> {
    let found = disk::walk(folder, notices);
    let is_skill = |path: &&PathBuf| path.file_name().is_some_and(|name| name == "SKILL.md");
    let folders: Vec<&Path> = found.iter().filter(is_skill).filter_map(|path| path.parent()).collect();
    let is_inner = |path: &Path| folders.iter().any(|outer| path.parent() != Some(outer) && path.starts_with(outer));
    let is_loose = |path: &Path| {
        loose == Loose::All
            && path.parent() == Some(folder)
            && path.extension().is_some_and(|ending| ending == "md")
            && !folders.contains(&folder)
    };
    let mut files: Vec<PathBuf> =
        found.iter().filter(|path| (is_skill(path) || is_loose(path)) && !is_inner(path)).cloned().collect();
    files.sort();
    files
}

fn read(path: &Path, scope: Scope, places: &Places, notices: &mut Vec<Notice>) -> Option<Skill> {
    let text = disk::text(path, notices)?;
    let mut note = |problem| notices.push(Notice::new(path, problem));
    let members = match split(&text).0 {
        Ok(members) => members,
        Err(problem) => {
            note(problem);
            return None;
        }
    };
    let folder = path.parent().unwrap_or(path).to_owned();
    let is_loose = path.file_name().is_none_or(|name| name != "SKILL.md");
    let usual = if is_loose { path.file_stem() } else { folder.file_name() };
    let usual = usual.unwrap_or_default().to_string_lossy().into_owned();
    let name = word(&members, "name").filter(|name| !name.is_empty()).unwrap_or_else(|| usual.clone());
    if !is_usable(&name) {
        note(Problem::BadName { name });
        return None;
    }
    if !is_regular(&name) {
        note(Problem::OddName { name: name.clone() });
    } else if name != usual && !is_loose {
        note(Problem::OtherName { name: name.clone() });
    }
    let Some(description) = word(&members, "description").filter(|it| !it.is_empty()) else {
        note(Problem::NoDescription);
        return None;
    };
    let characters = description.chars().count();
    if characters > LONGEST_DESCRIPTION {
        note(Problem::LongDescription { characters, limit: LONGEST_DESCRIPTION });
    }
    Some(Skill {
        name,
        description: description.chars().take(LONGEST_DESCRIPTION).collect(),
        path: path.to_owned(),
        folder,
        is_hidden: members.get("disable-model-invocation") == Some(&Value::Bool(true)),
        scope,
        provenance: places.provenance(path),
        digest: Digest::of(text.as_bytes()),
    })
}

/// Whether the name can be typed behind `/skill:` and stand in the markup that a model is shown.
fn is_usable(name: &str) -> bool {
    name.chars().count() <= 4 * LONGEST_NAME
        && name.chars().all(|it| !it.is_whitespace() && !it.is_control() && !matches!(it, '<' | '>' | '"' | '&' | '/'))
}

fn is_regular(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}
