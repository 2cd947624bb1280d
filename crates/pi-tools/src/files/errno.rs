//! The system's names for its errors, as programs compare them.

use std::io;

use super::FileFault;

/// `ENOENT` and its kin; nothing for an error that the system has no name for.
pub fn errno(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind;
    if let Some(name) = named(error) {
        return Some(name);
    }
    Some(match error.kind() {
        ErrorKind::NotFound => "ENOENT",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::AlreadyExists => "EEXIST",
        ErrorKind::NotADirectory => "ENOTDIR",
        ErrorKind::IsADirectory => "EISDIR",
        ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
        ErrorKind::ReadOnlyFilesystem => "EROFS",
        ErrorKind::StorageFull => "ENOSPC",
        ErrorKind::QuotaExceeded => "EDQUOT",
        ErrorKind::FileTooLarge => "EFBIG",
        ErrorKind::ResourceBusy => "EBUSY",
        ErrorKind::ExecutableFileBusy => "ETXTBSY",
        ErrorKind::CrossesDevices => "EXDEV",
        ErrorKind::TooManyLinks => "EMLINK",
        ErrorKind::InvalidFilename => "ENAMETOOLONG",
        ErrorKind::ArgumentListTooLong => "E2BIG",
        ErrorKind::Interrupted => "EINTR",
        ErrorKind::InvalidInput => "EINVAL",
        ErrorKind::WouldBlock => "EAGAIN",
        ErrorKind::TimedOut => "ETIMEDOUT",
        ErrorKind::BrokenPipe => "EPIPE",
        ErrorKind::ConnectionRefused => "ECONNREFUSED",
        ErrorKind::ConnectionReset => "ECONNRESET",
        ErrorKind::ConnectionAborted => "ECONNABORTED",
        ErrorKind::HostUnreachable => "EHOSTUNREACH",
        ErrorKind::NetworkUnreachable => "ENETUNREACH",
        _ => return None,
    })
}

/// Those that the standard library has no kind for, or one kind for several.
#[cfg(unix)]
fn named(error: &io::Error) -> Option<&'static str> {
    use rustix::io::Errno;
    let raw = Errno::from_raw_os_error(error.raw_os_error()?);
    [
        (Errno::LOOP, "ELOOP"),
        (Errno::PERM, "EPERM"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NFILE, "ENFILE"),
        (Errno::IO, "EIO"),
        (Errno::NXIO, "ENXIO"),
        (Errno::NOTSUP, "ENOTSUP"),
    ]
    .into_iter()
    .find(|(known, _)| *known == raw)
    .map(|(_, name)| name)
}

#[cfg(not(unix))]
fn named(_: &io::Error) -> Option<&'static str> {
    None
}

#[cfg(unix)]
pub(super) fn raw(errno: rustix::io::Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw_os_error())
}

/// The error of the system that a fault stands for.
impl From<FileFault> for io::Error {
    fn from(fault: FileFault) -> Self {
        let kind = match fault {
            FileFault::NotOpened { source, .. }
            | FileFault::NotRead { source, .. }
            | FileFault::NotWritten { source, .. } => return source,
            #[cfg(unix)]
            FileFault::Link { .. } => return raw(rustix::io::Errno::LOOP),
            #[cfg(not(unix))]
            FileFault::Link { .. } => io::ErrorKind::PermissionDenied,
            FileFault::NotGranted { .. } => io::ErrorKind::PermissionDenied,
            FileFault::Missing { .. } | FileFault::MissingFolder { .. } => io::ErrorKind::NotFound,
            FileFault::NotFolder { .. } | FileFault::FileOnTheWay { .. } => io::ErrorKind::NotADirectory,
            FileFault::IsFolder { .. } => io::ErrorKind::IsADirectory,
            FileFault::Special { .. } => io::ErrorKind::InvalidInput,
            FileFault::Changed { .. } => io::ErrorKind::ResourceBusy,
        };
        io::Error::new(kind, fault.to_string())
    }
}
