//! What may be meant by what somebody has typed so far: files behind an `@`, commands behind a `/`.
//!
//! Plain data for terminal and server. Files are listed as git sees the folder, without what it ignores; the walk is
//! bounded in number, and in time by the caller, who is asked whether to stop.

mod score;

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};
use serde::Serialize;

use self::score::Query;
use crate::{
    file::{Held, OpenError},
    resources::{Discovery, Resources},
};

/// What somebody who misspelt a name may have meant.
pub use pi_provider::likeness::nearest;

/// How many files and folders are looked at.
pub const MOST_VISITED: usize = 100_000;

/// A file or folder below the directory of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Relative, with `/` between the names.
    pub path: String,
    pub is_folder: bool,
}

/// The best ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    pub files: Vec<Listed>,
    /// Whether there are more, or the walk was stopped.
    pub is_cut: bool,
}

/// Something that can be called with a `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Without the `/`.
    pub name: String,
    pub description: String,
    /// Which arguments it takes, as people are told.
    pub hint: Option<String>,
    pub kind: CommandKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandKind {
    BuiltIn,
    Extension,
    Template,
    Skill,
}

/// At most `limit` files and folders whose path fits `query`, the best first. `stop` is asked now and then.
pub fn files(directory: &Path, query: &str, limit: usize, stop: &(dyn Fn() -> bool + Sync)) -> Listing {
    let query = Query::new(query.trim_start_matches("./"));
    let (mut ranked, is_stopped) = visit(directory, &query, stop);
    let is_cut = is_stopped || ranked.len() > limit;
    ranked.sort_by(|(left, one), (right, other)| {
        right.cmp(left).then(one.path.len().cmp(&other.path.len())).then_with(|| one.path.cmp(&other.path))
    });
    ranked.truncate(limit);
    Listing { files: ranked.into_iter().map(|(_, file)| file).collect(), is_cut }
}

/// The same in a folder that somebody checked, absolute and without links: it is walked through its handle, and refused if a
/// link leads there by now.
pub fn files_exactly(
    directory: &Path,
    query: &str,
    limit: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Listing, OpenError> {
    let held = Held::at(directory)?;
    Ok(files(&held.path(), query, limit, stop))
}

/// Own commands, templates and skills; of several with one name the first counts.
pub fn commands(own: &[Command], resources: &Resources, skills: Discovery) -> Vec<Command> {
    let templates = resources.templates.iter().map(|template| Command {
        name: template.name.clone(),
        description: template.description.clone(),
        hint: template.argument_hint.clone(),
        kind: CommandKind::Template,
    });
    let offered = resources.skills.iter().filter(|_| skills == Discovery::On);
    let skills = offered.map(|skill| Command {
        name: format!("skill:{}", skill.name),
        description: skill.description.clone(),
        hint: None,
        kind: CommandKind::Skill,
    });
    let mut all: Vec<Command> = Vec::new();
    for command in own.iter().cloned().chain(templates).chain(skills) {
        if !all.iter().any(|known| known.name == command.name) {
            all.push(command);
        }
    }
    all
}

/// The name behind a `/` at the beginning of a text, if it is one that a command, template or skill may have. A path is none.
pub fn called(text: &str) -> Option<&str> {
    let name = text.strip_prefix('/')?.split_whitespace().next()?;
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    let is_name = name.starts_with(char::is_alphabetic) && name.chars().all(is_letter);
    (is_name && text[1..].starts_with(name)).then_some(name)
}

/// Those whose name fits `query`, which is what stands behind the `/`; the best first, then in their own order.
pub fn matching<'a>(commands: &'a [Command], query: &str) -> Vec<&'a Command> {
    let query = Query::new(query);
    let fits = |command: &'a Command| Some((query.score(&command.name)?, command));
    let mut ranked: Vec<_> = commands.iter().filter_map(fits).collect();
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    ranked.into_iter().map(|(_, command)| command).collect()
}

/// Everything that fits, and whether the walk ended early. A link is a folder if it leads to one in the directory; of what lies
/// outside nothing is told.
fn visit(directory: &Path, query: &Query, stop: &(dyn Fn() -> bool + Sync)) -> (Vec<(i64, Listed)>, bool) {
    let mut builder = WalkBuilder::new(directory);
    builder.hidden(false).require_git(false).follow_links(false);
    builder.filter_entry(|entry| entry.file_name() != ".git");
    let root = directory.canonicalize().ok();
    let leads_to_folder = |entry: &DirEntry| {
        let target = entry.path().canonicalize().ok().zip(root.as_ref());
        target.is_some_and(|(target, root)| target.starts_with(root) && target.is_dir())
    };
    let mut found = Vec::new();
    for (count, entry) in builder.build().enumerate() {
        if count >= MOST_VISITED || (count % 256 == 255 && stop()) {
            return (found, true);
        }
        // A folder that cannot be read has nothing to offer.
        let Ok(entry) = entry else { continue };
        let Ok(path) = entry.path().strip_prefix(directory) else { continue };
        let is_folder =
            entry.file_type().is_some_and(|kind| kind.is_dir() || kind.is_symlink() && leads_to_folder(&entry));
        let Some(path) = path.to_str().filter(|path| !path.is_empty()) else { continue };
        let path = path.replace(std::path::MAIN_SEPARATOR, "/");
        if let Some(score) = query.score(&path) {
            found.push((score, Listed { path, is_folder }));
        }
    }
    (found, false)
}
