//! Paths that clients name: which of them are theirs to name.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::{ambient_authority, fs::Dir};
use pi_session::{
    directory::{self, Stored},
    export,
    tree::stamp_of,
};
use pi_transcript::{SessionInfo, ThinkingLevel, json::Amount};
use pi_wire::{Error, error::SessionPathError};

use crate::{door::Secret, journal::Berth, room::Account};

/// A session file that a client may load: below the folder of all sessions, or below any `.pi/sessions`.
///
/// Links are followed before it is decided, so that none leads out.
pub(crate) fn session_file(path: &Path, sessions: Option<&Path>) -> Result<PathBuf, Error> {
    let refused = |fault| Err(Error::SessionPath(fault));
    // What lies outside is refused before anybody learns whether it is there.
    if !is_allowed(path, sessions) {
        return refused(SessionPathError::OutsideRoots);
    }
    let Ok(real) = path.canonicalize() else { return refused(SessionPathError::Missing) };
    let sessions = sessions.and_then(|sessions| sessions.canonicalize().ok());
    if !is_allowed(&real, sessions.as_deref()) {
        return refused(SessionPathError::OutsideRoots);
    }
    if !real.is_file() {
        return refused(SessionPathError::Missing);
    }
    Ok(real)
}

/// A file that a session has already, before it is opened again: one that a client may name, or could have named, must
/// still be such a one. Others are where the settings keep sessions.
pub(crate) fn kept_file(path: &Path, sessions: Option<&Path>) -> Result<PathBuf, Error> {
    if is_allowed(path, sessions) {
        return session_file(path, sessions);
    }
    path.canonicalize().map_err(|_| Error::SessionPath(SessionPathError::Missing))
}

/// Whether the file of a session may be made at this place, where none is yet: its folder must not lead out of where files
/// of sessions may be by now.
pub(crate) fn may_begin(path: &Path, sessions: Option<&Path>) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
    // A folder that is not there leads nowhere; it will be made.
    let Ok(folder) = folder.canonicalize() else { return true };
    let sessions_now = sessions.and_then(|sessions| sessions.canonicalize().ok());
    !is_allowed(path, sessions) || is_allowed(&folder.join(name), sessions_now.as_deref())
}

fn is_allowed(path: &Path, sessions: Option<&Path>) -> bool {
    let is_project = || {
        let parent = path.parent().unwrap_or(path);
        parent.ancestors().any(|folder| folder.ends_with(".pi/sessions"))
    };
    sessions.is_some_and(|sessions| path.starts_with(sessions) && path != sessions) || is_project()
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("the file must be inside the folder of the session, {}", folder.display())]
    Outside { folder: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Writes a file inside `folder`, whole or not at all, and answers where it is. A link that leads out is not followed:
/// the file is opened through the folder.
pub(crate) fn write_inside(folder: &Path, path: &Path, bytes: &[u8]) -> Result<PathBuf, WriteError> {
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
    let written = parent.write(&draft, bytes).and_then(|()| parent.rename(&draft, &parent, name));
    if let Err(error) = written {
        // It may not be there at all.
        let _ = parent.remove_file(&draft);
        return Err(failed(error));
    }
    Ok(whole)
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

/// What can be told about a session that is not loaded, by a look into its file.
pub(crate) fn sleeping(berth: &Berth) -> (SessionInfo, Account) {
    let (info, account) = unread(berth);
    // Without a file nothing was said yet, and of one that cannot be read there is nothing to tell.
    let stored = berth.file.as_deref().and_then(|file| directory::stored(Path::new(file)).ok().flatten());
    let Some(stored) = stored else { return (info, account) };
    let account = Account {
        cost: cost(&stored),
        updated_at: Some(stamp_of(stored.modified)),
        opening: opening(&stored.first_message),
    };
    (SessionInfo { session_name: stored.name, message_count: stored.message_count, ..info }, account)
}

/// So much of what was said first as a search looks at.
pub(crate) fn opening(text: &str) -> Option<Arc<str>> {
    const MOST: usize = 1024;
    let end = (0..=text.len().min(MOST)).rev().find(|end| text.is_char_boundary(*end))?;
    Some(text[..end].into()).filter(|text: &Arc<str>| !text.is_empty())
}

/// The same without its file.
pub(crate) fn unread(berth: &Berth) -> (SessionInfo, Account) {
    let info = SessionInfo {
        session_id: berth.session.clone(),
        session_name: None,
        session_file: berth.file.clone(),
        model: None,
        thinking_level: ThinkingLevel::Off,
        is_streaming: false,
        message_count: 0,
        created_at: berth.created.clone(),
    };
    (info, Account::default())
}

/// In US dollars, where anybody has a price. A very long session would have to be read for it from end to end.
pub(crate) fn cost(stored: &Stored) -> Option<Amount> {
    if stored.skipped > 0 {
        return None;
    }
    let spent = export::spent(&stored.path).ok()?.cost.spent().least();
    Amount::try_from(spent).ok().filter(|_| spent > 0.0)
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
        let write =
            |path: &Path| write_inside(at, path, b"page").map_err(|error| matches!(error, WriteError::Outside { .. }));
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
    fn folder_that_became_a_link_since_it_was_checked_is_not_written_to() {
        let (place, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let folder = place.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&folder).unwrap();
        assert!(write_inside(&folder, Path::new("a.html"), b"page").is_ok());
        std::fs::rename(&folder, place.path().join("away")).unwrap();
        std::os::unix::fs::symlink(outside.path(), &folder).unwrap();
        let written = write_inside(&folder, Path::new("b.html"), b"page");
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
            (&sessions.join("none.jsonl"), Err(Error::SessionPath(SessionPathError::Missing))),
            (&sessions, Err(Error::SessionPath(SessionPathError::OutsideRoots))),
            (&root.join("p/.pi/sessions"), Err(Error::SessionPath(SessionPathError::OutsideRoots))),
        ] {
            assert_eq!(session_file(path, Some(&sessions)), expected, "{}", path.display());
        }
    }
}
