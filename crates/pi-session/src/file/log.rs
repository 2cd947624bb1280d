//! The end of a file that is only added to, and what is still missing from it.
//!
//! Bytes are kept until a sync has succeeded. After a failed write the rest is tried again; after a failed sync everything
//! since the last good one is written anew, because the system may have forgotten it and report success next time.

use std::{fmt, io};

use super::{Fault, Medium};

/// Bytes that are kept before the log syncs by itself, so that a run without an end does not hold everything twice.
const MOST_KEPT: usize = 4 << 20;

/// Where the bytes go.
pub enum Source<M> {
    Present(M),
    /// Made when there is something to write.
    Absent(Box<dyn FnMut() -> io::Result<M> + Send>),
}

/// A file and what is to be added to it.
#[derive(Debug)]
pub struct Log<M> {
    source: Source<M>,
    /// What lies before is safe.
    synced: u64,
    /// Everything behind that, written or not.
    tail: Vec<u8>,
    /// How much of the tail is in the file.
    written: usize,
    /// Something failed, and the file may be longer than we know.
    doubtful: bool,
}

impl<M: Medium> Log<M> {
    /// A log from the first byte on.
    pub fn new(source: Source<M>) -> Self {
        Self { source, synced: 0, tail: Vec::new(), written: 0, doubtful: false }
    }

    /// A log behind the first `length` bytes of a file.
    pub fn at(medium: M, length: u64) -> Self {
        Self::behind(Source::Present(medium), length)
    }

    /// The same, of a file that may have to be opened first.
    pub fn behind(source: Source<M>, length: u64) -> Self {
        Self { synced: length, ..Self::new(source) }
    }

    /// Remembers bytes; they get to the file with the next [`flush`](Self::flush).
    pub fn push(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    /// Where the bytes go.
    pub fn source(&self) -> &Source<M> {
        &self.source
    }

    /// How much of the file is written.
    pub fn written(&self) -> u64 {
        self.synced + self.written as u64
    }

    /// How long the file is when everything is written.
    pub fn end(&self) -> u64 {
        self.synced + self.tail.len() as u64
    }

    /// Writes everything that is missing. What failed is tried again next time, from the same place.
    pub fn flush(&mut self) -> Result<(), Fault> {
        if self.written < self.tail.len() {
            self.write()?;
        }
        if self.tail.len() > MOST_KEPT { self.sync() } else { Ok(()) }
    }

    /// Writes everything that is missing, and returns when it is safe.
    pub fn sync(&mut self) -> Result<(), Fault> {
        if self.tail.is_empty() {
            return Ok(());
        }
        if self.written < self.tail.len() {
            self.write()?;
        }
        let medium = self.source.open()?;
        if !medium.is_there()? {
            return Err(Fault::Deleted);
        }
        if let Err(error) = medium.sync() {
            (self.written, self.doubtful) = (0, true);
            return Err(error.into());
        }
        self.synced = self.end();
        self.tail = Vec::new();
        self.written = 0;
        Ok(())
    }

    fn write(&mut self) -> Result<(), Fault> {
        let (expected, most, doubtful) = (self.written(), self.end(), self.doubtful);
        let medium = self.source.open()?;
        if !medium.is_there()? {
            return Err(Fault::Deleted);
        }
        let found = medium.length()?;
        if doubtful && found > expected && found <= most {
            medium.truncate(expected)?;
        } else if found != expected {
            return Err(Fault::Changed { expected, found });
        }
        // Only what we write ourselves can be more than we know of: whatever else is in the file is somebody's.
        self.doubtful = true;
        while self.written < self.tail.len() {
            match medium.append(&self.tail[self.written..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.doubtful = false;
        Ok(())
    }
}

impl<M: Medium + 'static> Log<M> {
    /// The same log, of whatever medium.
    pub(super) fn boxed(self) -> Log<Box<dyn Medium>> {
        let Self { source, synced, tail, written, doubtful } = self;
        let source = match source {
            Source::Present(medium) => Source::Present(Box::new(medium) as Box<dyn Medium>),
            Source::Absent(mut make) => Source::Absent(Box::new(move || Ok(Box::new(make()?) as Box<dyn Medium>))),
        };
        Log { source, synced, tail, written, doubtful }
    }
}

impl<M> Source<M> {
    /// The file, made if it is not there yet.
    fn open(&mut self) -> io::Result<&mut M> {
        if let Self::Absent(make) = self {
            *self = Self::Present(make()?);
        }
        match self {
            Self::Present(medium) => Ok(medium),
            Self::Absent(_) => unreachable!("it was made above"),
        }
    }
}

impl<M> fmt::Debug for Source<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Present(_) => "Present",
            Self::Absent(_) => "Absent",
        })
    }
}
