//! What is in a folder and below it, without what is ignored, denied, or behind a link.
//!
//! Sorted by name and depth first, so that the same tree always gives the same order. Every folder is opened anew from the
//! one that was granted, by a path on which no link is followed: however deep a tree is, one handle is open at a time.

mod ignored;

use std::{
    ffi::OsString,
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    rc::Rc,
};

use tokio_util::sync::CancellationToken;

use pi_policy::{Extent, Grant, Location, Place, Places};

use crate::files::{FileFault, Folder, Missing, Spot};
pub(crate) use ignored::Reach;
use ignored::Rules;

/// What a search begins with.
pub(crate) enum Base {
    Folder(Folder),
    File(Spot),
}

/// A folder that was granted with everything in it.
pub(crate) struct Tree<'a> {
    pub(crate) grant: &'a Grant,
    pub(crate) places: &'a Places,
    pub(crate) location: &'a Location,
    pub(crate) folder: &'a Folder,
    pub(crate) gitignore: Reach,
}

/// Something in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path from the folder that was granted.
    pub(crate) below: PathBuf,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// Shown and never followed.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// The folder of a repository that belongs to git.
const GIT: &str = ".git";

impl Base {
    /// Opens what a grant for a tree is about, be it a folder or a single file.
    pub(crate) fn open(grant: &Grant, location: &Location) -> Result<Self, FileFault> {
        match Folder::of(grant, location) {
            Ok(folder) => Ok(Self::Folder(folder)),
            Err(FileFault::NotFolder { .. }) => Spot::find(grant, location, Missing::Refuse).map(Self::File),
            Err(fault) => Err(fault),
        }
    }
}

impl Entry {
    /// With `/` between names and behind a folder; signs that are no text are replaced.
    pub(crate) fn shown(&self) -> String {
        let names = self.below.iter().map(|name| name.to_string_lossy());
        let mut shown = names.collect::<Vec<_>>().join("/");
        if self.kind == Kind::Folder {
            shown.push('/');
        }
        shown
    }
}

impl Tree<'_> {
    /// Shows everything that is not ignored to `visit`, until that has enough or the call is cancelled. What cannot be
    /// opened is passed over: it may be gone, or not be for us.
    pub(crate) fn walk(&self, cancel: &CancellationToken, visit: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        let rules = Rules::above(self.grant, self.location);
        let mut waiting = self.children(Path::new(""), &rules);
        waiting.reverse();
        while let Some((entry, rules)) = waiting.pop() {
            if cancel.is_cancelled() {
                return;
            }
            let below = (entry.kind == Kind::Folder).then(|| entry.below.clone());
            if visit(entry).is_break() {
                return;
            }
            if let Some(below) = below {
                waiting.extend(self.children(&below, &rules).into_iter().rev());
            }
        }
    }

    /// What is in one folder, sorted, each with the rules that hold below it.
    fn children(&self, below: &Path, above: &Rc<Rules>) -> Vec<(Entry, Rc<Rules>)> {
        let listed = self.folder.enter(below, Missing::Refuse).and_then(|folder| {
            let rules = Rules::of(&folder, &self.absolute(below), above);
            Ok((list(&folder)?, rules))
        });
        let (mut entries, rules) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                tracing::debug!(%error, path = %below.display(), "folder was passed over");
                return Vec::new();
            }
        };
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let entries = entries.into_iter().filter(|(name, _)| name != GIT);
        let entries = entries.map(|(name, kind)| Entry { below: below.join(name), kind });
        let files_are_permitted = self.permits_files_of(&self.absolute(below));
        let is_shown = |entry: &Entry| {
            let absolute = self.absolute(&entry.below);
            let is_known = files_are_permitted && entry.kind != Kind::Folder;
            !rules.ignore(&absolute, entry.kind, self.gitignore) && (is_known || self.permits(&absolute))
        };
        entries.filter(is_shown).map(|entry| (entry, Rc::clone(&rules))).collect()
    }

    /// Whether everything in a folder of the project is permitted but perhaps for other folders: then nobody need be asked
    /// about each file. Elsewhere a single file may be a place of its own, and here those that are known beforehand.
    fn permits_files_of(&self, absolute: &str) -> bool {
        let folder = self.places.locate(absolute, Extent::Tree);
        let is_single = |inner: &&Location| inner.extent() == Extent::File;
        folder.is_ok_and(|folder| {
            let is_whole = folder.inner().iter().filter(is_single).all(|file| self.grant.permits(file));
            folder.place() == Place::Project && is_whole && self.grant.permits(&folder)
        })
    }

    /// Whether the grant extends to a path in the tree.
    pub(crate) fn permits(&self, absolute: &str) -> bool {
        self.places.locate(absolute, Extent::File).is_ok_and(|location| self.grant.permits(&location))
    }

    pub(crate) fn absolute(&self, below: &Path) -> String {
        let mut absolute = self.location.absolute().trim_end_matches('/').to_owned();
        for name in below {
            absolute.push('/');
            absolute.push_str(&name.to_string_lossy());
        }
        absolute
    }
}

/// The names in a folder, as the system gives them.
pub(crate) fn list(folder: &Folder) -> io::Result<Vec<(OsString, Kind)>> {
    let entries = folder.dir().entries()?;
    entries
        .map(|entry| {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => Kind::Folder,
                kind if kind.is_file() => Kind::File,
                kind if kind.is_symlink() => Kind::Link,
                _ => Kind::Special,
            };
            Ok((entry.file_name(), kind))
        })
        .collect()
}
