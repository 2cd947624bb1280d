//! Sessions that can be read and not be written: on a medium that is read-only, of somebody else, or on a full disk.
//!
//! They are opened all the same. What is said then stays in memory, and each step tries again to write it, as it does
//! where a disk fails later.

use std::{io, path::Path};

use pi_policy::Moment;

use super::{
    Disk, Fault, Links, Log, Medium, Notice, OpenError, Opened, Source, Tail, Viewed, cannot, check_place, lock_file,
    open, open_exactly, scan_file, view,
};
use crate::{finished, queue::slate};

/// Opens a session to go on with it: as [`open`] does, or in memory where it cannot be written. A notice says so then, and
/// the file stays as it is until it can be.
pub fn go_on(path: &Path, now: Moment, random: fastrand::Rng) -> Result<Opened, OpenError> {
    match open(path, now, random.clone()) {
        Err(OpenError::Io { source, .. }) => in_memory(path, now, source, random),
        opened => opened,
    }
}

/// The same for a path that somebody checked, absolute and without links: if it leads elsewhere by now, it is refused.
pub fn go_on_exactly(path: &Path, now: Moment, random: fastrand::Rng) -> Result<Opened, OpenError> {
    match open_exactly(path, now, random.clone()) {
        Err(OpenError::Io { source, .. }) => {
            let read = Disk::read(path).map_err(|source| cannot(path, source))?;
            check_place(Links::Refused, &read, path)?;
            in_memory(path, now, source, random)
        }
        opened => opened,
    }
}

/// What can be read of a session in whose place nothing could be written for this reason.
fn in_memory(path: &Path, now: Moment, why: io::Error, random: fastrand::Rng) -> Result<Opened, OpenError> {
    let kind = why.kind();
    // Whoever cannot even read it is told why it could not be opened.
    let unusable = |_| OpenError::Io { path: path.to_owned(), source: why };
    let disk = match Disk::read(path) {
        Ok(disk) => disk,
        Err(error) => return Err(unusable(error)),
    };
    let scanned = scan_file(path, &disk, random.clone())?;
    let (length, end, tail) = (scanned.length(), scanned.end, scanned.tail);
    let Viewed { header, tree, reader, mut notices } = view(path, random)?;
    let finished = finished::read(path).unwrap_or_default();
    let waits = slate::read(path).unwrap_or_default();
    notices.push(Notice::Unwritable { why: Fault::from(io::Error::from(kind)).to_string() });
    let source: Source<Box<dyn Medium>> = match scanned.old_version() {
        // Its lines are other ones than those in memory, so there is no place in it for what is said now.
        Some(_) => Source::Absent(Box::new(move || Err(kind.into()))),
        None => {
            let place = path.to_owned();
            Source::Absent(Box::new(move || Ok(Box::new(reopen(&place, end, tail, now)?) as Box<dyn Medium>)))
        }
    };
    let mut log = Log::behind(source, length);
    if tail == Tail::Unterminated {
        log.push(b"\n");
    }
    Ok(Opened { header, tree, reader, log, finished, waits, notices })
}

/// Opens the file to write to it behind `end`, if it still ends as it did.
fn reopen(path: &Path, end: u64, tail: Tail, now: Moment) -> io::Result<Disk> {
    let (mut disk, _) = lock_file(path).map_err(|error| match error {
        OpenError::Io { source, .. } => source,
        OpenError::NotFound { .. } => io::ErrorKind::NotFound.into(),
        OpenError::InUse { .. } => io::ErrorKind::ResourceBusy.into(),
        OpenError::NotASession { .. } | OpenError::Unfinished { .. } | OpenError::Elsewhere { .. } => {
            io::ErrorKind::InvalidData.into()
        }
    })?;
    match tail {
        // Of a file of another length the log says that it was changed.
        Tail::Torn { bytes } if disk.size()? == end + bytes => disk.cut(path, end, now).map(drop)?,
        Tail::Torn { .. } | Tail::Unterminated | Tail::Whole => {}
    }
    Ok(disk)
}
