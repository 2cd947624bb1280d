//! What is found to be guarded only when somebody has looked: the code that pi runs from elsewhere than `.pi`, and files of settings in
//! which credentials stand.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};

use super::{Extent, PathFault, PathStyle, written::normalise};

/// The marks of a project, shared by all [`super::Places`] that were made with them: what is marked later counts in sessions that
/// already run.
// A lock and no message: it is held for a copy of a pointer, by whoever judges a path.
#[derive(Debug, Clone, Default)]
pub struct Marks(Arc<RwLock<Arc<[Mark]>>>);

/// A file or a folder that is guarded, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub(super) path: Arc<str>,
    pub(super) extent: Extent,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Code that pi runs. What belongs to one extension alone is not guarded from it.
    Program { owners: BTreeSet<String> },
    /// A file of settings in which credentials stand.
    Credentials,
}

/// The endings that are interchangeable where an import names none: one file beside another would take its place.
const MODULES: [&str; 9] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json"];

impl Marks {
    /// What is marked from now on, in place of all that was. Where several mark the same, all of them own it.
    pub fn set(&self, marks: impl IntoIterator<Item = Mark>) {
        let mut set: Vec<Mark> = Vec::new();
        for mark in marks {
            match set.iter_mut().find(|known| known.path == mark.path && known.extent == mark.extent) {
                Some(known) => known.join(mark),
                None => set.push(mark),
            }
        }
        // Nothing in here can panic half-way.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = set.into();
    }

    pub(super) fn current(&self) -> Arc<[Mark]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Mark {
    /// Code that pi runs, of an extension or, without one, of nobody who may ask for anything here.
    pub fn program(style: PathStyle, path: &str, extent: Extent, owner: Option<&str>) -> Result<Self, PathFault> {
        let owners = owner.map(str::to_owned).into_iter().collect();
        Ok(Self { path: normalise(style, path, None)?.into(), extent, kind: Kind::Program { owners } })
    }

    /// A file of settings in which credentials stand.
    pub fn credentials(style: PathStyle, path: &str) -> Result<Self, PathFault> {
        Ok(Self { path: normalise(style, path, None)?.into(), extent: Extent::File, kind: Kind::Credentials })
    }

    /// The file or folder, absolute.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether a path belongs to it.
    pub(super) fn covers(&self, style: PathStyle, absolute: &str) -> bool {
        match (&self.kind, self.extent) {
            (Kind::Program { .. }, Extent::File) => {
                let is_itself = style.below(&self.path, absolute) == Some(absolute.len());
                let beside = module(&self.path).zip(module(absolute));
                is_itself || beside.is_some_and(|(own, other)| style.below(own, other) == Some(other.len()))
            }
            (Kind::Program { .. }, Extent::Tree) => style.below(&self.path, absolute).is_some(),
            (Kind::Credentials, _) => style.below(&self.path, absolute) == Some(absolute.len()),
        }
    }

    /// Whether it is guarded from whoever is called so; the agent has no name.
    pub(super) fn is_guarded_from(&self, name: Option<&str>) -> bool {
        match (&self.kind, name) {
            (Kind::Program { owners }, Some(name)) => !(owners.len() == 1 && owners.contains(name)),
            (Kind::Program { .. }, None) | (Kind::Credentials, Some(_)) => true,
            // A person has the agent change their settings, and what it reads is redacted.
            (Kind::Credentials, None) => false,
        }
    }

    fn join(&mut self, other: Self) {
        match (&mut self.kind, other.kind) {
            (Kind::Program { owners }, Kind::Program { owners: others }) => {
                // What somebody else runs too is nobody's alone.
                if owners.is_empty() || others.is_empty() {
                    owners.clear();
                } else {
                    owners.extend(others);
                }
            }
            (Kind::Program { .. }, Kind::Credentials) => self.kind = Kind::Credentials,
            (Kind::Credentials, _) => {}
        }
    }
}

/// The path of a module without its ending; nothing of other files.
fn module(path: &str) -> Option<&str> {
    let (stem, ending) = path.rsplit_once('.')?;
    (!stem.ends_with('/') && MODULES.contains(&ending)).then_some(stem)
}
