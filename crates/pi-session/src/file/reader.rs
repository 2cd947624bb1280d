//! Entries that are not held, read from their place.

use std::{
    io,
    path::Path,
    sync::{Arc, OnceLock},
};

use pi_transcript::{Entry, Line, entry::Base, entry::OtherEntry, json::Extra, read_line};

use super::{
    Disk, OpenError,
    held::{Held, Neighbour},
};
use crate::tree::{Place, Span, Tree};

/// Reads entries of one file, beside whoever writes to it.
#[derive(Debug)]
pub struct Reader {
    path: Arc<Path>,
    disk: OnceLock<Disk>,
    /// The folder of the file, where it was held when the file was opened.
    folder: Option<Arc<Held>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the entry is not in the file")]
    Absent(#[source] io::Error),
    /// Somebody changed the file, or the line is nested too deeply.
    #[error("there is no entry at byte {}", span.offset)]
    NotAnEntry { span: Span },
}

impl Reader {
    /// A reader of a file that may not be there yet.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.into(), disk: OnceLock::new(), folder: None }
    }

    pub(super) fn of(path: &Path, disk: Disk) -> Self {
        Self { path: path.into(), disk: disk.into(), folder: None }
    }

    /// The same in a folder that is held from here on.
    pub(super) fn inside(self, folder: Held) -> Self {
        Self { folder: Some(Arc::new(folder)), ..self }
    }

    /// For whoever opens files beside it.
    pub(crate) fn neighbour(&self) -> Neighbour {
        Neighbour::new(Arc::clone(&self.path), self.folder.clone())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of a line, as they are.
    pub fn line(&self, span: Span) -> Result<Vec<u8>, ReadError> {
        self.open()?.bytes_at(span).map_err(ReadError::Absent)
    }

    /// Opens the file if it is not open yet: from then on it can be read even if it loses its name.
    pub(crate) fn open(&self) -> Result<&Disk, ReadError> {
        if let Some(disk) = self.disk.get() {
            return Ok(disk);
        }
        let disk = Disk::read(&self.path).map_err(ReadError::Absent)?;
        Ok(self.disk.get_or_init(|| disk))
    }

    /// Reads an entry. Blocks for as long as the disk does.
    pub fn entry(&self, span: Span) -> Result<Entry, ReadError> {
        let bytes = self.line(span)?;
        match read_line(&String::from_utf8_lossy(&bytes)) {
            Line::Entry(entry) => Ok(entry.into_value()),
            Line::Header(_) | Line::Foreign(_) | Line::Unreadable(_) => Err(ReadError::NotAnEntry { span }),
        }
    }
}

/// Brings everything that the tree needs for its next prompt.
pub fn load(tree: &mut Tree, reader: &Reader) -> Result<(), ReadError> {
    loop {
        let missing = tree.missing();
        if missing.is_empty() {
            return Ok(());
        }
        for (place, span) in missing {
            let entry = match reader.entry(span) {
                Err(ReadError::NotAnEntry { .. }) => stand_in(tree, place),
                read => read?,
            };
            tree.hold(place, entry);
        }
    }
}

/// What stands for an entry that can be found and not be understood: it has its place in the tree, and says nothing.
fn stand_in(tree: &Tree, place: Place) -> Entry {
    let parent_id = tree.parent(place).map(|parent| tree.id(parent));
    let base = Base { id: tree.id(place), parent_id, timestamp: String::new() };
    Entry::Other(OtherEntry { kind: "unreadable".to_owned(), base, extra: Extra::new() })
}

impl ReadError {
    pub(super) fn into_open(self, path: &Path) -> OpenError {
        let source = match self {
            Self::Absent(source) => source,
            Self::NotAnEntry { .. } => io::Error::new(io::ErrorKind::InvalidData, self),
        };
        OpenError::Io { path: path.to_owned(), source }
    }
}
