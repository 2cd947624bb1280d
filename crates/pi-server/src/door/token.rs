//! The file with the server's token: made at the first start, for its owner only.

use std::{
    fs::{File, OpenOptions, remove_file, rename},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use super::Secret;

/// A token that somebody wrote by hand must be at least so long.
const SHORTEST: usize = 16;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} can be read by others (mode {mode:o})", .path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} belongs to another user (number {owner})", .path.display())]
    Foreign { path: PathBuf, owner: u32 },
    #[error("the token in {} is shorter than {SHORTEST} characters", .path.display())]
    Short { path: PathBuf },
    #[error("there is no token in {}", .path.display())]
    Empty { path: PathBuf },
}

impl TokenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { path, .. } => format!(
                "check that the folder exists and may be written, or remove {} to get a new token",
                path.display()
            ),
            Self::Exposed { path, .. } => {
                format!("chmod 600 {}, or remove the file to get a new token", path.display())
            }
            Self::Foreign { path, .. } => {
                format!("chown it to yourself, or remove {} to get a new token", path.display())
            }
            Self::Short { path } => format!("remove {} to get a new token", path.display()),
            Self::Empty { .. } => "start the server again: it writes a new one".to_owned(),
        }
    }
}

/// The token in the file at `path`, which is made if there is none. Nobody else makes one meanwhile: the server holds its
/// folder.
pub fn load_or_create(path: &Path) -> Result<Secret, TokenError> {
    match load(path) {
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Err(TokenError::Empty { path }) => {
            tracing::warn!(path = %path.display(), "there was no token in its file; there is a new one");
        }
        loaded => return loaded,
    }
    let token = Secret::random();
    put(path, &token).map_err(|source| TokenError::Io { path: path.to_owned(), source })?;
    Ok(token)
}

/// Whether a server could use the file as it is; one that is not there, or empty, will be made. Makes nothing.
pub fn look(path: &Path) -> Result<(), TokenError> {
    match load(path) {
        Ok(_) | Err(TokenError::Empty { .. }) => Ok(()),
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes the token into its file, which holds all of it or is not there.
#[expect(clippy::disallowed_methods, reason = "the one file of ours that may be left over here")]
fn put(path: &Path, token: &Secret) -> io::Result<()> {
    let draft = path.with_extension("new");
    // One that is left over belongs to a server that ended while it wrote.
    match remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = create(&draft)?;
    writeln!(file, "{}", token.reveal()).and_then(|()| file.sync_all())?;
    rename(&draft, path)?;
    sync_folder(path)
}

/// The token in the file at `path`.
pub fn load(path: &Path) -> Result<Secret, TokenError> {
    let failed = |source| TokenError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).open(path).map_err(failed)?;
    if let Some(owner) = stranger(&file).map_err(failed)? {
        return Err(TokenError::Foreign { path: path.to_owned(), owner });
    }
    let mode = mode(&file).map_err(failed)?;
    if mode & 0o077 != 0 {
        return Err(TokenError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    // A crash may leave a file whose bytes never got to the disk.
    let token = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    if token.is_empty() {
        return Err(TokenError::Empty { path: path.to_owned() });
    }
    if token.len() < SHORTEST {
        return Err(TokenError::Short { path: path.to_owned() });
    }
    Ok(Secret::from(token.to_owned()))
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)
}

/// The folder knows the new name when this returns.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| OpenOptions::new().read(true).open(folder)?.sync_all())
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The owner, if that is somebody else: who can write the file chooses who comes in.
#[cfg(unix)]
fn stranger(file: &File) -> io::Result<Option<u32>> {
    use std::os::unix::fs::MetadataExt;
    Ok(Some(file.metadata()?.uid()).filter(|owner| *owner != rustix::process::geteuid().as_raw()))
}

#[cfg(not(unix))]
fn stranger(_: &File) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(unix)]
fn mode(file: &File) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o777)
}

/// Elsewhere a file belongs to whoever owns the folder of his profile.
#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).write(true).open(path)
}

#[cfg(not(unix))]
fn mode(_: &File) -> io::Result<u32> {
    Ok(0o600)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let first = load_or_create(&path).expect("made");
        assert_eq!(load_or_create(&path).expect("read"), first);
        let file = OpenOptions::new().read(true).open(&path).expect("there");
        assert_eq!(mode(&file).expect("known"), 0o600);
        assert!(first.reveal().len() >= 43);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the world of this test is a file")]
    fn empty_file_gets_a_token_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        for left in ["", "\n", "\0\0\0\0"] {
            let mut file = create(&path).expect("made");
            file.write_all(left.as_bytes()).expect("ours");
            look(&path).expect("it will be made anew");
            // A server that ended while it wrote leaves this one.
            drop(create(&path.with_extension("new")).expect("made"));
            let token = load_or_create(&path).expect("made");
            assert_eq!(load(&path).expect("read"), token);
            assert_eq!(folder.path().read_dir().expect("ours").count(), 1);
            remove_file(&path).expect("ours");
        }
    }

    #[test]
    fn token_of_another_user_is_refused_and_looking_makes_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        look(&path).expect("it can be made");
        assert!(!path.exists());
        load_or_create(&path).expect("made");
        look(&path).expect("it is good");
        if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
            eprintln!("SKIPPED: only root can give a file away");
            return;
        }
        assert!(matches!(look(&path), Err(TokenError::Foreign { owner: 12_345, .. })));
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        load_or_create(&path).expect("made");
        let file = OpenOptions::new().write(true).open(&path).expect("there");
        file.set_permissions(std::fs::Permissions::from_mode(0o644)).expect("ours");
        assert!(matches!(load_or_create(&path), Err(TokenError::Exposed { mode: 0o644, .. })));
        file.set_permissions(std::fs::Permissions::from_mode(0o600)).expect("ours");
        file.set_len(3).expect("ours");
        assert!(matches!(load_or_create(&path), Err(TokenError::Short { .. })));
    }
}
