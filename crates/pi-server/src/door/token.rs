//! The file with the server's token: made at the first start, for its owner only.

use std::{
    fs::{File, OpenOptions},
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
}

impl TokenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check that the folder exists and may be written".to_owned(),
            Self::Exposed { path, .. } => {
                format!("chmod 600 {}, or remove the file to get a new token", path.display())
            }
            Self::Foreign { path, .. } => {
                format!("chown it to yourself, or remove {} to get a new token", path.display())
            }
            Self::Short { path } => format!("remove {} to get a new token", path.display()),
        }
    }
}

/// The token in the file at `path`, which is made if there is none.
pub fn load_or_create(path: &Path) -> Result<Secret, TokenError> {
    let failed = |source| TokenError::Io { path: path.to_owned(), source };
    match create(path) {
        Ok(mut file) => {
            let token = Secret::random();
            writeln!(file, "{}", token.reveal()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(token)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => load(path),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a server could use the file as it is; one that is not there will be made. Makes nothing.
pub fn look(path: &Path) -> Result<(), TokenError> {
    match load(path) {
        Ok(_) => Ok(()),
        Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn load(path: &Path) -> Result<Secret, TokenError> {
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
    let token = text.trim();
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
