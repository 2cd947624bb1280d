//! Files that only their owner may read: read whole, replaced whole, changed under a lock; and folders of that kind.
//!
//! A file that is replaced has its old content or its new one, whatever happens meanwhile; two programs that change it at
//! once both do.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// How long another program that changes the file is waited for: it reads and writes one small file.
pub const TURN: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(10);

/// Such a file. It need not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    path: PathBuf,
}

/// Nobody else changes the file as long as it lives.
#[derive(Debug)]
pub struct Hold {
    _lock: File,
}

impl PrivateFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; nothing if there is no file.
    pub fn read(&self) -> io::Result<Option<String>> {
        let mut text = String::new();
        match open(&self.path).and_then(|mut file| file.read_to_string(&mut text)) {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for its turn to change the file, on the thread that it is called on; an error of the kind `TimedOut` if another
    /// program does not let go of it. Makes the folder of the file if it must.
    pub fn hold(&self) -> io::Result<Hold> {
        make_folder(self.path.parent().unwrap_or(Path::new(".")))?;
        let lock = private(&self.path.with_extension("lock"))?;
        for _ in 0..TURN.as_millis() / MOMENT.as_millis() {
            match lock.try_lock() {
                Ok(()) => return Ok(Hold { _lock: lock }),
                Err(TryLockError::WouldBlock) => thread::sleep(MOMENT),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("another program has held it for {TURN:?}")))
    }

    /// Puts a text in the place of what is there. Whoever read before what they write now holds the file meanwhile.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        let draft = self.path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = private(&draft)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)
    }
}

/// Makes folders that only their owner may look into.
pub fn folders() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "elsewhere folders have no mode"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
}

#[expect(clippy::disallowed_methods, reason = "this is the place where private files are read")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[expect(clippy::disallowed_methods, reason = "private files lie in the agent directory, which may not be there yet")]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_and_replaced_whole_and_is_its_owners() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = PrivateFile::new(folder.path().join("below/record.json"));
        assert_eq!(file.read().expect("no file"), None);
        let hold = file.hold().expect("the only one");
        file.replace("a long text").expect("room");
        file.replace("short").expect("room");
        drop(hold);
        assert_eq!(file.read().expect("a file").as_deref(), Some("short"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.path().metadata().expect("a file").permissions().mode() & 0o777, 0o600);
        }
    }
}
