//! Which files and folders the lists in settings mean: places, patterns, and what is left out.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{
    Scope, disk,
    notice::{Notice, Problem},
};
use crate::settings::{Location, Origin};

/// The entries of a list, read.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Files and folders to look at, and whose they are.
    pub(super) places: Vec<(PathBuf, Scope)>,
    left_out: Vec<(PathBuf, GlobMatcher)>,
    never: Vec<PathBuf>,
    always: Vec<PathBuf>,
}

impl Selection {
    pub(super) fn of(locations: &[Location], home: Option<&Path>, notices: &mut Vec<Notice>) -> Self {
        let mut selection = Self::default();
        for location in locations {
            let rest = |text: &str| Location { text: text.to_owned(), ..location.clone() }.path(home);
            match location.text.split_at_checked(1) {
                Some(("!", pattern)) => match glob(pattern) {
                    Some(glob) => selection.left_out.push((location.folder.clone(), glob)),
                    None => notices.push(bad(location)),
                },
                Some(("-", path)) => selection.never.push(plain(&rest(path))),
                Some(("+", path)) => {
                    selection.always.push(plain(&rest(path)));
                    selection.places.push((rest(path), scope(location)));
                }
                _ if location.text.contains(['*', '?', '[', '{']) => selection.matching(location, home, notices),
                _ => selection.places.push((location.path(home), scope(location))),
            }
        }
        selection
    }

    /// Whether a file that was found counts. For a skill its folder is meant as well.
    pub(super) fn keeps(&self, path: &Path) -> bool {
        let path = plain(path);
        let folder = path.parent().unwrap_or(&path);
        let names = |list: &[PathBuf]| list.iter().any(|named| *named == path || *named == folder);
        let fits = |(base, glob): &(PathBuf, GlobMatcher)| {
            let base = plain(base);
            [path.as_path(), folder].into_iter().any(|it| {
                let inside = it.strip_prefix(&base).unwrap_or(it);
                glob.is_match(inside) || it.file_name().is_some_and(|name| glob.is_match(name))
            })
        };
        names(&self.always) || !(names(&self.never) || self.left_out.iter().any(fits))
    }

    /// Everything below the part of the pattern that is plain and fits the whole.
    fn matching(&mut self, location: &Location, home: Option<&Path>, notices: &mut Vec<Notice>) {
        let whole = location.path(home);
        let Some(glob) = whole.to_str().and_then(glob) else { return notices.push(bad(location)) };
        let is_plain = |part: &&Path| !part.to_string_lossy().contains(['*', '?', '[', '{']);
        let Some(base) = whole.ancestors().find(is_plain) else { return };
        let found = disk::walk(base, notices).into_iter().filter(|path| glob.is_match(path));
        self.places.extend(found.map(|path| (path, scope(location))));
    }
}

fn scope(location: &Location) -> Scope {
    match location.origin {
        Origin::Project => Scope::Project,
        Origin::BuiltIn | Origin::User | Origin::Environment | Origin::Flag => Scope::User,
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

fn bad(location: &Location) -> Notice {
    Notice::new(&location.folder, Problem::BadPattern { pattern: location.text.clone() })
}

/// The path by which two names of one file are the same.
fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
