//! What `.gitignore`, `.ignore` and `.git/info/exclude` leave out.

use std::{io::Read as _, path::Path, rc::Rc};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use pi_policy::{Grant, Location};

use super::{GIT, Kind};
use crate::files::{Folder, exists, open_root};

/// The rules of one folder, behind them those of the folders around it. The innermost rule that speaks of a path decides;
/// `.ignore` comes before `.gitignore`.
#[derive(Debug, Default)]
pub(super) struct Rules {
    own: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// What is around a repository says nothing about what is in it.
    is_repository: bool,
    around: Option<Rc<Rules>>,
}

/// Where a `.gitignore` counts. `.ignore` counts everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// In a repository only, as ripgrep has it: Pi's `grep`.
    Repositories,
    /// Also outside of one: Pi's `find` hands every list to `fd`.
    Everywhere,
}

/// A list that is longer was not written by anybody.
const MAX_LIST: u64 = 1024 * 1024;

impl Rules {
    /// The rules that hold for a folder before its own: those of the folders between it and the root of its place.
    pub(super) fn above(grant: &Grant, location: &Location) -> Rc<Self> {
        let Some((root, below)) = grant.root(location) else { return Rc::new(Self::default()) };
        // The place may be a part of a repository, whose own lists are not for us to read.
        let mut rules = Rc::new(Self { is_repository: is_in_repository(root), ..Self::default() });
        let Ok(mut folder) = open_root(root) else { return rules };
        let mut path = root.trim_end_matches('/').to_owned();
        for name in below.split('/').filter(|name| !name.is_empty()) {
            rules = Self::of(&folder, &path, &rules);
            path = format!("{path}/{name}");
            match folder.enter(Path::new(name), crate::files::Missing::Refuse) {
                Ok(next) => folder = next,
                Err(_) => return rules,
            }
        }
        rules
    }

    /// The rules of an opened folder, whose path is `absolute`, within those around it.
    pub(super) fn of(folder: &Folder, absolute: &str, around: &Rc<Self>) -> Rc<Self> {
        let is_repository = folder.dir().symlink_metadata(GIT).is_ok();
        let own = read(folder, ".ignore", absolute);
        let git = read(folder, ".gitignore", absolute);
        let exclude = if is_repository { read(folder, ".git/info/exclude", absolute) } else { None };
        if own.is_none() && git.is_none() && exclude.is_none() && !is_repository {
            return Rc::clone(around);
        }
        Rc::new(Self { own, git, exclude, is_repository, around: Some(Rc::clone(around)) })
    }

    pub(super) fn ignore(&self, absolute: &str, kind: Kind, gitignore: Reach) -> bool {
        let is_folder = kind == Kind::Folder;
        let says = |rules: &Option<Gitignore>| match rules.as_ref().map(|rules| rules.matched(absolute, is_folder)) {
            Some(Match::Ignore(_)) => Some(true),
            Some(Match::Whitelist(_)) => Some(false),
            Some(Match::None) | None => None,
        };
        let chain = || std::iter::successors(Some(self), |rules| rules.around.as_deref());
        let own = chain().find_map(|rules| says(&rules.own));
        let git = || {
            let mut left = false;
            let inside = chain().take_while(|rules| !std::mem::replace(&mut left, rules.is_repository));
            inside.flat_map(|rules| [&rules.git, &rules.exclude]).find_map(&says)
        };
        let counts = match gitignore {
            Reach::Everywhere => true,
            Reach::Repositories => chain().any(|rules| rules.is_repository),
        };
        own.or_else(|| if counts { git() } else { None }).unwrap_or(false)
    }
}

fn is_in_repository(folder: &str) -> bool {
    Path::new(folder).ancestors().any(|folder| exists(&format!("{}/{GIT}", folder.display())))
}

/// The rules in a file; nothing if there is none. A line that cannot be understood is passed over, as git does.
fn read(folder: &Folder, name: &str, absolute: &str) -> Option<Gitignore> {
    let file = folder.open(name).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.into_std().take(MAX_LIST).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(if absolute.is_empty() { "/" } else { absolute });
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        if let Err(error) = builder.add_line(None, line) {
            tracing::debug!(%error, list = name, "rule was passed over");
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
