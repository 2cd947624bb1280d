//! The folder for temporary files of extensions and servers: one for the process, which nobody else may look into.
//!
//! It has a name that nobody can guess, is made when the first guest needs it, and is removed when the program ends in
//! whatever order. A process that was killed cannot remove it; whoever makes the next one does, because a lock says which
//! of them are in use, also across containers that share a folder for temporary files.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use pi_exthost::private;

const PREFIX: &str = "pi-scratch-";

/// Held by the process whose folder it is.
const LOCK: &str = "lock";

/// So long a folder may be without its lock: between the two moments in which they are made.
const MAKING: Duration = Duration::from_secs(60 * 60);

/// The folder, made or not yet. Clones are the same; the last one removes it.
#[derive(Clone)]
pub(crate) struct Scratch(Arc<Shared>);

struct Shared {
    path: PathBuf,
    /// The lock, once the folder was made. A mutex and no message: it is held while the folder is made, once.
    lock: Mutex<Option<File>>,
}

impl Scratch {
    /// Chooses a name. Nothing is made.
    pub(crate) fn new(parent: &Path) -> Self {
        let name = format!("{PREFIX}{}-{:016x}", std::process::id(), fastrand::Rng::new().u64(..));
        Self(Arc::new(Shared { path: parent.join(name), lock: Mutex::new(None) }))
    }

    /// Where it is, or will be.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Makes it, if nobody did, and removes what processes left behind that are no more.
    pub(crate) fn make(&self) -> io::Result<()> {
        let mut lock = self.0.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_some() {
            return Ok(());
        }
        // Never one that is there already: somebody else may have made it.
        private::folders().create(&self.0.path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(self.0.path.join(LOCK))?;
        file.try_lock().map_err(io::Error::from)?;
        *lock = Some(file);
        if let Some(parent) = self.0.path.parent() {
            sweep(parent);
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.lock.get_mut().unwrap_or_else(PoisonError::into_inner).is_some() {
            remove(&self.path);
        }
    }
}

/// Removes the folders of processes that are no more. Those of other people cannot be looked into and stay.
#[expect(clippy::disallowed_methods, reason = "this is the place where the folder for temporary files is looked after")]
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_ours && is_orphan(&entry.path()) {
            remove(&entry.path());
        }
    }
}

fn is_orphan(folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    match OpenOptions::new().read(true).open(folder.join(LOCK)) {
        Ok(lock) => is_folder && lock.try_lock().is_ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            is_folder && folder.metadata().and_then(|found| found.modified()).is_ok_and(is_old)
        }
        Err(_) => false,
    }
}

#[expect(clippy::disallowed_methods, reason = "the file system tells when something was made, and by which clock")]
fn is_old(made: SystemTime) -> bool {
    SystemTime::now().duration_since(made).is_ok_and(|age| age > MAKING)
}

/// What cannot be removed now is removed by the next process.
#[expect(clippy::disallowed_methods, reason = "this is the place where the folder for temporary files is looked after")]
fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::debug!(%error, folder = %folder.display(), "a folder for temporary files was not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_private_and_gone_with_the_last_who_needs_it() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(parent.path());
        assert!(!scratch.path().exists(), "nobody needs it yet");
        scratch.make().unwrap();
        scratch.clone().make().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = scratch.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn orphans_are_swept_and_those_in_use_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::new(parent.path());
        living.make().unwrap();
        let dead = parent.path().join(format!("{PREFIX}1-0"));
        private::folders().create(&dead).unwrap();
        drop(OpenOptions::new().write(true).create_new(true).open(dead.join(LOCK)).unwrap());
        let beginning = parent.path().join(format!("{PREFIX}1-1"));
        private::folders().create(&beginning).unwrap();
        Scratch::new(parent.path()).make().unwrap();
        assert!(!dead.exists() && beginning.exists() && living.path().exists());
    }

    #[test]
    fn folder_of_somebody_else_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(parent.path());
        private::folders().create(scratch.path()).unwrap();
        assert!(scratch.make().is_err());
        drop(scratch);
    }
}
