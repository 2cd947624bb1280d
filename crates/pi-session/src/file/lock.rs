//! One writer a file.
//!
//! The lock is advisory, on the session file itself: nothing is left behind when a process is killed, and nobody is
//! kept from reading. It belongs to the open file, which no command that we start inherits. On NFS the kernel makes a
//! lock of the server of it; where the file system has none we go on and say so. Pi does not lock: that somebody wrote to
//! the file nevertheless is noticed before the next line (see [`Fault::Changed`](super::Fault::Changed)).

use std::{
    fmt,
    fs::{File, TryLockError},
    io,
};

/// A process that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub process: u32,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)
    }
}

/// Whether we hold the lock.
#[derive(Debug)]
pub(super) enum Locked<T> {
    Ours(T),
    /// There are no locks here.
    Unknown(T),
    Taken(Option<Holder>),
}

impl<T> Locked<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Locked<U> {
        match self {
            Self::Ours(inner) => Locked::Ours(change(inner)),
            Self::Unknown(inner) => Locked::Unknown(change(inner)),
            Self::Taken(holder) => Locked::Taken(holder),
        }
    }
}

pub(super) fn take(file: File) -> io::Result<Locked<File>> {
    match file.try_lock() {
        Ok(()) => Ok(Locked::Ours(file)),
        Err(TryLockError::WouldBlock) => Ok(Locked::Taken(holder(&file))),
        Err(TryLockError::Error(error)) if is_unsupported(&error) => Ok(Locked::Unknown(file)),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// ENOLCK is what NFS without a lock service says, and it has no kind.
fn is_unsupported(error: &io::Error) -> bool {
    const ENOLCK: i32 = 37;
    error.kind() == io::ErrorKind::Unsupported || cfg!(target_os = "linux") && error.raw_os_error() == Some(ENOLCK)
}

/// Who holds the lock, if the system tells.
#[cfg(target_os = "linux")]
pub(super) fn holder(file: &File) -> Option<Holder> {
    use std::os::unix::fs::MetadataExt;

    #[expect(clippy::disallowed_methods, reason = "the kernel's list of locks")]
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    find_holder(&locks, file.metadata().ok()?.ino())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holder(_file: &File) -> Option<Holder> {
    None
}

/// Finds the holder of a lock of the file with this number. Device numbers are not compared, since layered file systems
/// show others there; if two files have the number, nobody is named.
#[cfg(any(target_os = "linux", test))]
fn find_holder(locks: &str, inode: u64) -> Option<Holder> {
    let mut found = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK" | "POSIX" | "OFDLCK", _, "WRITE", process, place, ..] = words[..] else { return None };
        let number: u64 = place.rsplit(':').next()?.parse().ok()?;
        (number == inode).then(|| process.parse().ok())?
    });
    let process = found.next()?;
    (found.next().is_none() && process > 0).then_some(Holder { process })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_read_from_the_kernels_list() {
        let locks = "1: POSIX  ADVISORY  READ 10 08:01:5 0 EOF\n2: FLOCK  ADVISORY  WRITE 4242 fe:00:131090 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 4243 fe:00:131090 0 EOF\n4: FLOCK ADVISORY WRITE 1 08:01:7 0 EOF\n\
                     5: FLOCK ADVISORY WRITE 2 08:02:7 0 EOF";
        assert_eq!(find_holder(locks, 131_090), Some(Holder { process: 4242 }));
        assert_eq!([find_holder(locks, 5), find_holder(locks, 7), find_holder(locks, 8)], [None; 3]);
    }
}
