//! Paths that clients name: which of them are theirs to name.

use std::{
    ffi::OsStr,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use pi_session::{
    directory::{self, Stored},
    export::{self, PAGE_HEAD},
    file::OpenError,
    tree::stamp_of,
};
use pi_transcript::{Header, SessionInfo, Spent, Usage, json::Amount};
use pi_wire::{Error, error::SessionPathError};

use crate::{
    door::Secret,
    journal::Berth,
    room::{Account, Bill},
    roots::destination,
};

/// A session file that a client may load: below the folder of all sessions, or below any `.pi/sessions`.
///
/// Links are followed before it is decided, so that none leads out.
pub(crate) fn session_file(path: &Path, sessions: Option<&Path>) -> Result<PathBuf, Error> {
    let refused = |fault| Err(Error::SessionPath(fault));
    let sessions = Sessions::find(sessions);
    // What lies outside is refused before anybody learns whether it is there.
    if !sessions.may_name(path) {
        return refused(SessionPathError::OutsideRoots);
    }
    let real = path.canonicalize();
    // The same holds for what a link leads to.
    if !sessions.may_hold(real.as_deref().unwrap_or(&destination(path))) {
        return refused(SessionPathError::OutsideRoots);
    }
    match real {
        Ok(real) if real.is_file() => Ok(real),
        Ok(_) | Err(_) => refused(SessionPathError::Missing),
    }
}

/// A file that a session has already, before it is opened again: one that a client may name, or could have named, must
/// still be such a one. Others are where the settings keep sessions.
pub(crate) fn kept_file(path: &Path, sessions: Option<&Path>) -> Result<PathBuf, Error> {
    if Sessions::find(sessions).may_name(path) {
        return session_file(path, sessions);
    }
    path.canonicalize().map_err(|_| Error::SessionPath(SessionPathError::Missing))
}

/// What the file of a session that was checked says at its beginning; what its path leads to by now is not read.
pub(crate) fn header(path: &Path) -> Result<Header, Error> {
    let fault = match directory::header_exactly(path) {
        Ok(Some(header)) => return Ok(header),
        Err(OpenError::Elsewhere { .. }) => SessionPathError::OutsideRoots,
        Err(OpenError::NotFound { .. }) => SessionPathError::Missing,
        Ok(None)
        | Err(
            OpenError::InUse { .. }
            | OpenError::NotASession { .. }
            | OpenError::Unfinished { .. }
            | OpenError::Io { .. },
        ) => SessionPathError::NotASession,
    };
    Err(Error::SessionPath(fault))
}

/// Whether the file of a session may be made at this place, where none is yet: its folder must not lead out of where files
/// of sessions may be by now.
pub(crate) fn may_begin(path: &Path, sessions: Option<&Path>) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
    // A folder that is not there leads nowhere; it will be made.
    let Ok(folder) = folder.canonicalize() else { return true };
    let sessions = Sessions::find(sessions);
    !sessions.may_name(path) || sessions.may_hold(&folder.join(name))
}

/// The folder of all sessions, as the operator names it and where that leads: a session is told under one of the two, and
/// what clients are told they may say.
struct Sessions<'a> {
    named: Option<&'a Path>,
    real: Option<PathBuf>,
}

impl<'a> Sessions<'a> {
    fn find(named: Option<&'a Path>) -> Self {
        Self { named, real: named.and_then(|folder| folder.canonicalize().ok()) }
    }

    /// Whether a path that may lead elsewhere is one that a client may say.
    fn may_name(&self, path: &Path) -> bool {
        is_below(path, self.named) || self.may_hold(path)
    }

    /// Whether there may be a session at a path without links.
    fn may_hold(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        let is_project = parent.ancestors().any(|folder| folder.ends_with(".pi/sessions"));
        is_project || is_below(path, self.real.as_deref())
    }
}

fn is_below(path: &Path, folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder) && path != folder)
}

/// Which file it is, whatever it is called: links give it other names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    number: u64,
    /// Where nobody tells more, a hard link is another file.
    #[cfg(not(unix))]
    real: PathBuf,
}

impl Identity {
    /// `None`: there is no file at this path, or none that can be seen.
    #[cfg(unix)]
    pub(crate) fn at(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = path.metadata().ok()?;
        Some(Self { device: found.dev(), number: found.ino() })
    }

    #[cfg(not(unix))]
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Some(Self { real: path.canonicalize().ok()? })
    }
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("the file must be inside the folder of the session, {}", folder.display())]
    Outside { folder: PathBuf },
    #[error("there is a file {} already", path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// What may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// A page that we exported before.
    Pages,
    Anything,
}

/// Writes a file inside `folder`, whole or not at all, and answers where it is. A link that leads out is not followed:
/// everything is done through the folder.
pub(crate) fn write_inside(folder: &Path, path: &Path, bytes: &[u8], replace: Replace) -> Result<PathBuf, WriteError> {
    let outside = || WriteError::Outside { folder: folder.to_owned() };
    let inside = if path.is_absolute() { path.strip_prefix(folder).map_err(|_| outside())? } else { path };
    let name = inside.file_name().ok_or_else(outside)?;
    let whole = folder.join(inside);
    let failed = |source: io::Error| match source.kind() {
        // What cap-std says of a path that leads out.
        io::ErrorKind::PermissionDenied => WriteError::Outside { folder: folder.to_owned() },
        _ => WriteError::Io { path: whole.clone(), source },
    };
    let root = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
    if !is_exactly(&root, folder).map_err(failed)? {
        return Err(outside());
    }
    let parent = inside.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map(|parent| root.open_dir(parent)).transpose().map_err(failed)?.unwrap_or(root);
    let draft = format!(".{}.{}", name.to_string_lossy(), &Secret::random().reveal()[..8]);
    let written = parent.write(&draft, bytes).and_then(|()| {
        let place = match replace {
            Replace::Anything => Place::Old,
            Replace::Pages => take_place(&parent, name)?,
        };
        parent.rename(&draft, &parent, name).inspect_err(|_| {
            if place == Place::New {
                // We made it, and there is nothing in it.
                let _ = parent.remove_file(name);
            }
        })
    });
    if let Err(error) = written {
        // It may not be there at all.
        let _ = parent.remove_file(&draft);
        return Err(match error.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists { path: whole },
            _ => failed(error),
        });
    }
    Ok(whole)
}

/// Where a page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An empty file that keeps the name for us.
    New,
    Old,
}

/// Takes a name that is free, or that a page of ours has. Nobody else gets it between the look and the writing.
fn take_place(folder: &Dir, name: &OsStr) -> io::Result<Place> {
    match folder.open_with(name, OpenOptions::new().write(true).create_new(true)) {
        Ok(_) => return Ok(Place::New),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
    }
    // Neither a link nor anything that might not end is opened.
    let is_file = folder.symlink_metadata(name)?.is_file();
    let mut head = Vec::new();
    if is_file {
        folder.open(name)?.take(u64::try_from(PAGE_HEAD).unwrap_or(u64::MAX)).read_to_end(&mut head)?;
    }
    if export::is_page(&head) { Ok(Place::Old) } else { Err(io::ErrorKind::AlreadyExists.into()) }
}

/// Whether the open folder is the one at this path, and no link leads there by now.
#[cfg(target_os = "linux")]
fn is_exactly(folder: &Dir, path: &Path) -> io::Result<bool> {
    use std::os::fd::{AsFd as _, AsRawFd as _};
    Ok(std::fs::read_link(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))? == path)
}

/// Whether the folder at this path is reached without links.
#[cfg(not(target_os = "linux"))]
fn is_exactly(_folder: &Dir, path: &Path) -> io::Result<bool> {
    Ok(path.canonicalize()? == path)
}

/// Whether something was said in the session, and its file is not there any more.
pub(crate) fn is_lost(berth: &Berth) -> bool {
    let was_there = berth.mark.modified.is_some();
    was_there && berth.file.as_deref().is_some_and(|file| !Path::new(file).exists())
}

/// The folder that holds the file of a session, if it is there.
pub(crate) fn folder(berth: &Berth) -> Option<Identity> {
    Identity::at(Path::new(berth.file.as_deref()?).parent()?)
}

/// What can be told about a session that is not loaded, by a look into its file. Of one that leads elsewhere by now nothing is
/// told.
pub(crate) fn sleeping(berth: &Berth, sessions: Option<&Path>) -> (SessionInfo, Account) {
    let (info, account) = unread(berth);
    // Without a file nothing was said yet, and of one that cannot be read there is nothing to tell.
    let file = berth.file.as_deref().and_then(|file| kept_file(Path::new(file), sessions).ok());
    let stored = file.and_then(|file| directory::stored(&file).ok().flatten());
    let Some(stored) = stored else { return (info, account) };
    let account = Account {
        cost: cost(&stored, |stored| export::spent(&stored.path)),
        updated_at: Some(stamp_of(stored.modified)),
        opening: directory::opening(&stored.first_message),
        messages: None,
    };
    (SessionInfo { session_name: stored.name, message_count: stored.message_count, ..info }, account)
}

/// The same without its file.
pub(crate) fn unread(berth: &Berth) -> (SessionInfo, Account) {
    let info = SessionInfo {
        session_id: berth.session.clone(),
        session_name: None,
        session_file: berth.file.clone(),
        model: None,
        thinking_level: None,
        is_streaming: false,
        message_count: 0,
        created_at: berth.created.clone(),
    };
    (info, Account::default())
}

/// In US dollars, where anybody has a price. A very long session would have to be read for it from end to end.
pub(crate) fn cost(stored: &Stored, spent: impl FnOnce(&Stored) -> io::Result<Usage>) -> Option<Bill> {
    if stored.skipped > 0 {
        return None;
    }
    let spent = spent(stored).ok()?.cost.spent();
    let is_least = !matches!(spent, Spent::Exact(_));
    let sum = Amount::try_from(spent.least()).ok().filter(|_| spent.least() > 0.0)?;
    Some(Bill { sum, is_least })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the world of these tests is made of files")]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn files_are_written_inside_the_folder_and_nowhere_else() {
        let (folder, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let at = &folder.path().canonicalize().unwrap();
        std::fs::create_dir(at.join("pages")).unwrap();
        std::os::unix::fs::symlink(outside.path(), at.join("out")).unwrap();
        let write = |path: &Path| {
            write_inside(at, path, b"page", Replace::Pages).map_err(|error| matches!(error, WriteError::Outside { .. }))
        };
        assert_eq!(write(Path::new("pages/a.html")), Ok(at.join("pages/a.html")));
        assert_eq!(write(&at.join("b.html")), Ok(at.join("b.html")));
        assert_eq!(std::fs::read_to_string(at.join("b.html")).unwrap(), "page");
        for path in ["../c.html", "out/c.html", "/c.html", ".."] {
            assert_eq!(write(Path::new(path)), Err(true), "{path}");
        }
        assert_eq!(write(Path::new("none/c.html")), Err(false));
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_pages_of_ours_are_replaced_unless_it_is_said() {
        let folder = TempDir::new().unwrap();
        let at = &folder.path().canonicalize().unwrap();
        let page = b"<!doctype html><meta name=\"generator\" content=\"pi\">";
        let write = |name: &str, replace| match write_inside(at, Path::new(name), page, replace) {
            Ok(_) => "written",
            Err(WriteError::Exists { .. }) => "there already",
            Err(_) => "failed",
        };
        std::fs::write(at.join("notes.html"), "mine").unwrap();
        std::fs::create_dir(at.join("folder")).unwrap();
        std::os::unix::fs::symlink(at.join("a.html"), at.join("link")).unwrap();
        assert_eq!(write("a.html", Replace::Pages), "written");
        assert_eq!(write("a.html", Replace::Pages), "written");
        for name in ["notes.html", "folder", "link"] {
            assert_eq!(write(name, Replace::Pages), "there already", "{name}");
        }
        assert_eq!(std::fs::read_to_string(at.join("notes.html")).unwrap(), "mine");
        assert_eq!(write("notes.html", Replace::Anything), "written");
        assert_eq!(write("folder", Replace::Anything), "failed");
        assert_eq!(std::fs::read_dir(at).unwrap().count(), 4, "nothing else is left behind");
    }

    #[test]
    fn folder_that_became_a_link_since_it_was_checked_is_not_written_to() {
        let (place, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let folder = place.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&folder).unwrap();
        assert!(write_inside(&folder, Path::new("a.html"), b"page", Replace::Anything).is_ok());
        std::fs::rename(&folder, place.path().join("away")).unwrap();
        std::os::unix::fs::symlink(outside.path(), &folder).unwrap();
        let written = write_inside(&folder, Path::new("b.html"), b"page", Replace::Anything);
        assert!(matches!(written, Err(WriteError::Outside { .. })), "{written:?}");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_files_of_sessions_can_be_named() {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{}").unwrap();
            path
        };
        let (own, project, secret) =
            (make("agent/sessions/--p--/a.jsonl"), make("p/.pi/sessions/b.json"), make("secret.jsonl"));
        let link = root.join("agent/sessions/out.jsonl");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let void = root.join("agent/sessions/void.jsonl");
        std::os::unix::fs::symlink(root.join("none.jsonl"), &void).unwrap();
        let sessions = root.join("agent/sessions");
        let out = root.join("q/.pi/sessions");
        std::fs::create_dir_all(root.join("q/.pi")).unwrap();
        std::os::unix::fs::symlink(&root, &out).unwrap();
        for (path, expected) in [
            (&own, true),
            (&project, true),
            (&root.join("p/.pi/sessions/new.jsonl"), true),
            (&sessions.join("--none--/new.jsonl"), true),
            (&out.join("new.jsonl"), false),
            // Where the settings of a project keep its sessions.
            (&root.join("new.jsonl"), true),
        ] {
            assert_eq!(may_begin(path, Some(&sessions)), expected, "{}", path.display());
        }
        for (path, expected) in [
            (&own, Ok(own.clone())),
            (&project, Ok(project.clone())),
            (&secret, Err(Error::SessionPath(SessionPathError::OutsideRoots))),
            (&link, Err(Error::SessionPath(SessionPathError::OutsideRoots))),
            (&void, Err(Error::SessionPath(SessionPathError::OutsideRoots))),
            (&sessions.join("none.jsonl"), Err(Error::SessionPath(SessionPathError::Missing))),
            (&sessions, Err(Error::SessionPath(SessionPathError::OutsideRoots))),
            (&root.join("p/.pi/sessions"), Err(Error::SessionPath(SessionPathError::OutsideRoots))),
        ] {
            assert_eq!(session_file(path, Some(&sessions)), expected, "{}", path.display());
        }
    }
}
