//! Files of the operating system: the only place of this crate that touches session files.
//!
//! What we make can be read by its owner alone, because a conversation holds whatever its files and commands held.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use pi_policy::Moment;

use super::{
    Medium, held,
    lock::{self, Holder, Locked},
};
use crate::tree::Span;

/// A file on a disk. One that was opened to be written to is locked as long as it is open.
#[derive(Debug)]
pub struct Disk {
    file: File,
    /// The folder that does not safely know of the file yet.
    fresh: Option<PathBuf>,
}

/// How often a file is opened again that was replaced while we waited for its lock.
const TRIES: usize = 8;

impl Disk {
    /// Makes a file, and its folders. A file that is already there must be empty.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::create_by(private(), path)
    }

    /// The same for a file that belongs to another: no link is followed to it.
    pub(crate) fn create_own(path: &Path) -> io::Result<Self> {
        Self::create_by(own(), path)
    }

    fn create_by(mut options: OpenOptions, path: &Path) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        let file = options.read(true).append(true).create(true).open(path)?;
        if file.metadata()?.len() > 0 {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        match lock::take(file)? {
            Locked::Ours(file) | Locked::Unknown(file) => Ok(Self { file, fresh: Some(folder.to_owned()) }),
            Locked::Taken(_) => Err(io::ErrorKind::ResourceBusy.into()),
        }
    }

    /// Opens a file to add to it.
    pub(super) fn open(path: &Path) -> io::Result<Locked<Self>> {
        let mut locked = lock::take(OpenOptions::new().read(true).append(true).open(path)?)?;
        for _ in 0..TRIES {
            match &locked {
                Locked::Ours(file) if !is_at(file, path)? => {
                    locked = lock::take(OpenOptions::new().read(true).append(true).open(path)?)?;
                }
                Locked::Ours(_) | Locked::Unknown(_) | Locked::Taken(_) => break,
            }
        }
        Ok(locked.map(|file| Self { file, fresh: None }))
    }

    /// Whether it is the file at this path, and no link leads there.
    pub(super) fn is_exactly(&self, path: &Path) -> io::Result<bool> {
        held::is_exactly(&self.file, path)
    }

    /// Opens a file to read it.
    #[expect(clippy::disallowed_methods, reason = "this is the place where session files are opened")]
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, fresh: None })
    }

    /// Opens a file to read it that belongs to another: no link is followed to it.
    pub(crate) fn read_own(path: &Path) -> io::Result<Self> {
        Ok(Self { file: own().read(true).open(path)?, fresh: None })
    }

    /// Opens a file to add to it that needs no lock of its own, because it belongs to one that is locked. No link is followed
    /// to it.
    pub(crate) fn own(path: &Path) -> io::Result<Self> {
        Ok(Self { file: own().read(true).append(true).open(path)?, fresh: None })
    }

    /// The bytes of a line.
    pub(crate) fn bytes_at(&self, span: Span) -> io::Result<Vec<u8>> {
        self.bytes(span.offset, span.length as usize)
    }

    /// Reads from the beginning.
    pub fn reader(&self) -> impl Read + '_ {
        self.reader_from(0)
    }

    /// Reads from `offset` on.
    pub(crate) fn reader_from(&self, offset: u64) -> impl Read + '_ {
        At { file: &self.file, offset }
    }

    /// How long the file is now.
    pub(crate) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Who has it locked, where the system tells.
    pub(crate) fn holder(&self) -> Option<Holder> {
        lock::holder(&self.file)
    }

    /// The bytes from `offset` on; an error if there are not so many.
    fn bytes(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        At { file: &self.file, offset }.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Moves everything behind `end` to a file beside `path`, and says to which. If that fails, everything stays as it was.
    pub(super) fn cut(&mut self, path: &Path, end: u64, now: Moment) -> io::Result<PathBuf> {
        let kept = beside(path, &format!("torn-{}", now.unix_millis()));
        let mut file = private().append(true).create_new(true).open(&kept)?;
        let copied = io::copy(&mut At { file: &self.file, offset: end }, &mut file);
        match copied.and_then(|_| file.sync_all()).and_then(|()| self.file.set_len(end)) {
            Ok(()) => Ok(kept),
            Err(error) => {
                drop(file);
                // A part of a copy is of no use; what it was made of is where it was.
                remove(&kept)?;
                Err(error)
            }
        }
    }
}

impl Medium for Disk {
    fn length(&mut self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        if let Some(folder) = &self.fresh {
            sync_folder(folder)?;
            self.fresh = None;
        }
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    #[cfg(unix)]
    fn is_there(&mut self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;

        Ok(self.file.metadata()?.nlink() > 0)
    }

    #[cfg(not(unix))]
    fn is_there(&mut self) -> io::Result<bool> {
        // An open file cannot be deleted there.
        Ok(true)
    }
}

/// Puts `write`'s bytes in the place of a file, wholly or not at all.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = beside(path, &format!("new-{}", std::process::id()));
    let result = write_new(&temporary, write).and_then(|()| fs::rename(&temporary, path));
    match result {
        Ok(()) => sync_folder(path.parent().unwrap_or(Path::new("."))),
        Err(error) => {
            // Nothing is lost if it stays: it is no session, and the next attempt writes over it.
            remove(&temporary)
                .or_else(|gone| if gone.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(gone) })?;
            Err(error)
        }
    }
}

/// Gives a file a second name, or copies it where there are no second names. Whoever has the name keeps it.
pub(super) fn keep_as(path: &Path, kept: &Path) -> io::Result<()> {
    match fs::hard_link(path, kept) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => fs::copy(path, kept).map(drop),
        Ok(()) => Ok(()),
    }
}

/// `session.jsonl` becomes `session.jsonl.<word>`, which nobody takes for a session.
pub(crate) fn beside(path: &Path, word: &str) -> PathBuf {
    // As much as it takes and no more: sessions keep such names.
    let mut name = OsString::with_capacity(path.as_os_str().len() + 1 + word.len());
    name.push(path);
    name.push(".");
    name.push(word);
    name.into()
}

#[expect(clippy::disallowed_methods, reason = "this is the place where files beside sessions are removed")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Adds bytes to a file that belongs to another and only its owner reads, and makes it if it is not there. Not synced.
pub(crate) fn append_to(path: &Path, bytes: &[u8]) -> io::Result<()> {
    own().append(true).create(true).open(path)?.write_all(bytes)
}

/// Makes a folder and those above it.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file as a folder lists it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub path: PathBuf,
    /// Milliseconds since 1970.
    pub modified: u64,
    /// The same as the file system says it.
    pub changed: SystemTime,
    /// In bytes.
    pub length: u64,
}

/// The files of a folder whose names end like those of sessions. A folder that is not there has none.
pub(crate) fn sessions_in(folder: &Path) -> io::Result<Vec<Listed>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_session = name.to_str().is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".json"));
        if !is_session {
            continue;
        }
        // Gone between the two looks: not there.
        let Ok(facts) = entry.path().metadata() else { continue };
        if facts.is_file() {
            let changed = facts.modified()?;
            let modified = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let modified = u64::try_from(modified.as_millis()).unwrap_or(u64::MAX);
            found.push(Listed { path: entry.path(), modified, changed, length: facts.len() });
        }
    }
    Ok(found)
}

/// The folders in a folder.
pub(crate) fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The files in a folder whose names begin like this.
pub(crate) fn beginning_with(folder: &Path, beginning: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(beginning)) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where folders of sessions are read")]
fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

fn write_new(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let file = own().write(true).create(true).truncate(true).open(path)?;
    let mut buffered = io::BufWriter::with_capacity(1 << 16, file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Options for files that only their owner reads.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The same for files that belong to another file: nobody but us makes them, so a link in their place is somebody's trick, and
/// leads out of the folder.
#[cfg(unix)]
fn own() -> OpenOptions {
    let mut options = private();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.cast_signed());
    options
}

#[cfg(not(unix))]
fn own() -> OpenOptions {
    // To make a link there one must be an administrator, or somebody to whom the machine was opened for development.
    private()
}

/// Whether a file was not opened because a link stands in its place.
#[cfg(unix)]
pub(crate) fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
pub(crate) fn is_link(_error: &io::Error) -> bool {
    false
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a folder must be opened to be synced")]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether `path` leads to `file`.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let (ours, theirs) = (file.metadata()?, fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()))
}

#[cfg(not(unix))]
pub(super) fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Reads a file from a place of its own, whatever others do with it.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(self.file, bytes, self.offset)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(self.file, bytes, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}
