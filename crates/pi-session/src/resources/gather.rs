//! Brings together what several places offer, in the order in which it counts.

use std::path::{Path, PathBuf};

use super::{
    Discovery, Places, Scope, Wanted, disk,
    notice::{Notice, Problem},
    selection::Selection,
};

/// What skills and templates have in common.
pub(super) trait Named {
    fn name(&self) -> &str;
    fn path(&self) -> &Path;
}

/// The files of every place, those that count first. `usual` are those of the usual places; `below` says which files a
/// folder stands for that was named in arguments or settings.
pub(super) fn files(
    places: &Places,
    wanted: &Wanted,
    usual: impl FnOnce(&mut Vec<Notice>) -> Vec<(PathBuf, Scope)>,
    below: impl Fn(&Path, &mut Vec<Notice>) -> Vec<PathBuf>,
    notices: &mut Vec<Notice>,
) -> Vec<(PathBuf, Scope)> {
    let files_of = |path: &Path, scope: Scope, notices: &mut Vec<Notice>| -> Vec<(PathBuf, Scope)> {
        if disk::is_folder(path) {
            return below(path, notices).into_iter().map(|file| (file, scope)).collect();
        }
        if !disk::exists(path) {
            notices.push(Notice::new(path, Problem::Missing));
            return Vec::new();
        }
        vec![(path.to_owned(), scope)]
    };
    let named = wanted.named.iter().map(|path| places.directory.join(path));
    let mut files: Vec<(PathBuf, Scope)> = named.flat_map(|path| files_of(&path, Scope::Named, notices)).collect();
    match wanted.discovery {
        Discovery::Off => files,
        Discovery::On => {
            let selection = Selection::of(&wanted.settings, places.home.as_deref(), notices);
            let mut found = usual(notices);
            found.extend(selection.places.iter().flat_map(|(path, scope)| files_of(path, *scope, notices)));
            for path in wanted.brought.iter().map(|path| places.directory.join(path)) {
                let mut brought = files_of(&path, Scope::Extension, notices);
                brought.retain(|(file, _)| stays_below(file, &path, notices));
                found.append(&mut brought);
            }
            found.retain(|(file, _)| selection.keeps(file));
            // The order inside a scope stays.
            found.sort_by_key(|(_, scope)| *scope);
            files.append(&mut found);
            files
        }
    }
}

/// The first of each name; the others are told. A file that was found twice counts once.
pub(super) fn first_of_each<T: Named>(
    files: Vec<(PathBuf, Scope)>,
    read: impl Fn(&Path, Scope, &mut Vec<Notice>) -> Option<T>,
    notices: &mut Vec<Notice>,
) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for (file, scope) in files {
        if kept.iter().any(|it| same(it.path(), &file)) {
            continue;
        }
        let Some(found) = read(&file, scope, notices) else { continue };
        match kept.iter().find(|it| it.name() == found.name()) {
            Some(first) => {
                let problem = Problem::Collision { name: found.name().to_owned(), kept: first.path().to_owned() };
                notices.push(Notice::new(&file, problem));
            }
            None => kept.push(found),
        }
    }
    kept
}

/// Whether a file lies where the extension said: it may have read for it what it named, and not what a link there leads to.
fn stays_below(file: &Path, named: &Path, notices: &mut Vec<Notice>) -> bool {
    let (target, named) = (disk::resolved(file), disk::resolved(named));
    let stays = target.starts_with(named);
    if !stays {
        notices.push(Notice::new(file, Problem::Strays { target }));
    }
    stays
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
