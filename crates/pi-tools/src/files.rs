//! The seam to files: everything is opened below a folder that a grant names, and no link is followed on the way.
//!
//! [`request`](crate::request) resolves links *before* policy is asked, so a grant names the real path. What is opened
//! here is that path, name by name from the root of the grant; a link that appears in between is refused and not
//! followed. On Linux this is one call of `openat2` where the kernel has it.

mod errno;
mod fault;
#[cfg(target_os = "linux")]
mod linux;
pub mod operation;
mod queue;
mod real;
mod replace;

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path},
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, File, Metadata, OpenOptions},
};

use pi_policy::{Grant, Location, Target};

pub(crate) use self::real::{exists, real_path};
pub use self::{
    errno::errno,
    fault::FileFault,
    queue::FileQueue,
    real::{Folders, real_location, real_text},
};

/// A folder that a grant permits to enter, opened.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
}

/// A file or folder by the opened folder around it and its name there. It need not exist.
#[derive(Debug)]
pub(crate) struct Spot {
    folder: Folder,
    name: OsString,
    /// For messages: the way a person would write it.
    shown: String,
}

/// What to do about folders on the way that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Refuse,
    Make,
}

/// The path that a grant for a file tool is about.
pub(crate) fn granted(grant: &Grant) -> Result<&Location, FileFault> {
    match &grant.action().target {
        Target::Path(location) => Ok(location),
        Target::Nothing
        | Target::Move { .. }
        | Target::Host(_)
        | Target::Variable(_)
        | Target::Environment
        | Target::Command(_)
        | Target::Tool(_) => Err(FileFault::NotGranted { path: grant.action().target.to_string() }),
    }
}

/// Divides a path at the root from which its grant wants it opened.
fn divide<'a>(grant: &Grant, location: &'a Location) -> Result<(&'a str, &'a str), FileFault> {
    grant.root(location).ok_or_else(|| FileFault::NotGranted { path: location.to_string() })
}

impl Spot {
    /// Opens the folder around `location`, if `grant` permits that.
    pub(crate) fn find(grant: &Grant, location: &Location, missing: Missing) -> Result<Self, FileFault> {
        let shown = location.to_string();
        let (root, below) = divide(grant, location)?;
        let (root, below) = match below {
            // The root itself was asked for: it is a name in the folder around it.
            "" => (parent(root), name(root)),
            below => (root, below),
        };
        let (around, name) = below.rsplit_once('/').unwrap_or(("", below));
        let root = match missing {
            Missing::Refuse => open_root(root),
            Missing::Make => make_root(root),
        };
        let root = root.map_err(|error| FileFault::opening(&shown, error))?;
        let folder = root.enter(Path::new(around), missing).map_err(|error| FileFault::opening(&shown, error))?;
        Ok(Self { folder, name: name.into(), shown })
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Says if the file is not any more the one that was opened and had this metadata.
    pub(crate) fn check_unchanged(&self, known: &Metadata) -> Result<(), FileFault> {
        let (_, now) = self.open()?;
        let state = |metadata: &Metadata| (metadata.len(), metadata.modified().map(|time| time.into_std()).ok());
        if state(&now) == state(known) { Ok(()) } else { Err(FileFault::Changed { path: self.shown.clone() }) }
    }

    /// Opens the file for reading. Nothing but a regular file is opened: a pipe or a device might never end.
    pub(crate) fn open(&self) -> Result<(std::fs::File, Metadata), FileFault> {
        let file = self.folder.open(&self.name).map_err(|error| FileFault::opening(&self.shown, error))?;
        let metadata = file.metadata().map_err(|error| FileFault::opening(&self.shown, error))?;
        match (metadata.is_file(), metadata.is_dir()) {
            (true, _) => Ok((file.into_std(), metadata)),
            (false, true) => Err(FileFault::IsFolder { path: self.shown.clone() }),
            (false, false) => Err(FileFault::Special { path: self.shown.clone() }),
        }
    }
}

impl Folder {
    /// Opens the folder that a grant is about, or one below it.
    pub(crate) fn of(grant: &Grant, location: &Location) -> Result<Self, FileFault> {
        let shown = location.to_string();
        let (root, below) = divide(grant, location)?;
        let entered = open_root(root).and_then(|root| root.enter(Path::new(below), Missing::Refuse));
        entered.map_err(|error| FileFault::entering(&shown, error))
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Opens a file of this folder, or one further below, without following any link.
    pub(crate) fn open(&self, below: impl AsRef<Path>) -> io::Result<File> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = linux::open(&self.dir, below.as_ref(), linux::Kind::File) {
            return opened.map(File::from_std);
        }
        self.open_by_name(below.as_ref())
    }

    /// Opens a folder below this one, name by name, without following any link.
    pub(crate) fn enter(&self, below: &Path, missing: Missing) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = linux::open(&self.dir, below, linux::Kind::Folder) {
            match (opened, missing) {
                (Err(error), Missing::Make) if error.kind() == io::ErrorKind::NotFound => {}
                (opened, _) => return opened.map(|file| Self { dir: Dir::from_std_file(file) }),
            }
        }
        self.enter_by_name(below, missing)
    }

    /// The same on systems that cannot do it in one call.
    fn open_by_name(&self, below: &Path) -> io::Result<File> {
        let around = below.parent().unwrap_or(Path::new(""));
        let name = below.file_name().unwrap_or(OsStr::new("."));
        let folder = self.enter_by_name(around, Missing::Refuse)?;
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        do_not_wait(&mut options);
        folder.dir.open_with(name, &options)
    }

    /// The same on systems that cannot do it in one call, and where folders are to be made.
    fn enter_by_name(&self, below: &Path, missing: Missing) -> io::Result<Self> {
        let mut dir = self.dir.try_clone()?;
        for part in below.components() {
            let Component::Normal(name) = part else { continue };
            dir = match (dir.open_dir_nofollow(name), missing) {
                (Err(error), Missing::Make) if error.kind() == io::ErrorKind::NotFound => {
                    match dir.create_dir(name) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                        Ok(()) | Err(_) => {}
                    }
                    dir.open_dir_nofollow(name)?
                }
                (opened, _) => opened?,
            };
        }
        Ok(Self { dir })
    }
}

/// The only place where a path counts from the root of the file system: the folder that a grant says to begin with.
pub(crate) fn open_root(path: &str) -> io::Result<Folder> {
    Dir::open_ambient_dir(path, ambient_authority()).map(|dir| Folder { dir })
}

/// The same where folders are to be made: a grant for one path begins with the folder around it, which need not exist.
fn make_root(path: &str) -> io::Result<Folder> {
    let mut nearest = path;
    loop {
        match open_root(nearest) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && nearest != "/" => nearest = parent(nearest),
            Ok(folder) if nearest != path => {
                return folder.enter(Path::new(path[nearest.len()..].trim_start_matches('/')), Missing::Make);
            }
            opened => return opened,
        }
    }
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Opening a named pipe must not wait for somebody to write into it.
#[cfg(unix)]
fn do_not_wait(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

#[cfg(not(unix))]
fn do_not_wait(_: &mut OpenOptions) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Whether something is opened, or why not.
    fn outcome<T>(opened: io::Result<T>) -> String {
        match opened.map_err(|error| FileFault::opening("it", error)) {
            Ok(_) => "opened".to_owned(),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn missing_root_is_made_from_the_nearest_folder_that_exists() {
        let place = tempfile::tempdir().expect("a folder");
        let place = place.path().to_str().expect("text");
        assert_eq!(outcome(open_root(&format!("{place}/a/b"))), "File not found: it");
        for root in ["a/b", "a/b/c", "a"] {
            assert_eq!(outcome(make_root(&format!("{place}/{root}"))), "opened", "{root}");
        }
        assert_eq!(outcome(open_root(&format!("{place}/a/b/c"))), "opened");
    }

    #[test]
    fn both_ways_of_opening_agree() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = open_root(place.path().to_str().expect("text")).expect("a folder");
        folder.dir.create_dir_all("a/b").expect("a folder");
        folder.dir.write("a/b/file", "x").expect("a file");
        symlink("a", place.path().join("inside")).expect("a link");
        symlink("/etc", place.path().join("outside")).expect("a link");
        symlink("b/file", place.path().join("a/link")).expect("a link");
        symlink("nowhere", place.path().join("a/lost")).expect("a link");
        let link = FileFault::Link { path: "it".to_owned() }.to_string();
        let (opened, missing) = ("opened".to_owned(), "File not found: it".to_owned());
        for (path, expected) in
            [("a/b/file", &opened), ("a/none", &missing), ("none/file", &missing), ("a/link", &link), ("a/lost", &link)]
        {
            let path = Path::new(path);
            assert_eq!(
                [outcome(folder.open(path)), outcome(folder.open_by_name(path))],
                [expected.clone(), expected.clone()]
            );
        }
        // On the way a link may look like a file that is no folder; both are refused.
        for path in ["inside/b/file", "outside/passwd", "a/b/file/x"] {
            let path = Path::new(path);
            assert!(folder.open(path).is_err() && folder.open_by_name(path).is_err(), "{path:?}");
        }
        for (path, expected) in [("a/b", &opened), ("", &opened), ("a/none", &missing)] {
            let path = Path::new(path);
            let ways = [folder.enter(path, Missing::Refuse), folder.enter_by_name(path, Missing::Refuse)].map(outcome);
            assert_eq!(ways, [expected.clone(), expected.clone()], "{path:?}");
        }
        for path in ["inside/new", "outside/new", "a/link/new"] {
            assert!(folder.enter(Path::new(path), Missing::Make).is_err(), "{path}");
        }
        assert_eq!(outcome(folder.enter(Path::new("a/new/er"), Missing::Make)), opened);
    }
}
