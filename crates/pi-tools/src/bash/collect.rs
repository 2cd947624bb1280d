//! The output of a command: its end as text, all of it in a file if it is long, in memory that does not grow.

use std::path::{Path, PathBuf};

use tokio::{fs::File, io::AsyncWriteExt};

use super::{
    sanitise::{Sanitiser, Stroke},
    spill,
};
use crate::truncate::{self, Extent, MAX_BYTES, MAX_LINES, Truncation};

/// When so much text has come together, its beginning goes.
const MOST_KEPT: usize = 8 * MAX_BYTES;
/// So much of it stays: more than is ever shown.
const LEAST_KEPT: usize = 2 * MAX_BYTES;
/// A file that is larger than this fills disks and is not read by anybody.
const MAX_FILE: u64 = 1024 * 1024 * 1024;

/// Takes the output piece by piece.
#[derive(Debug)]
pub(super) struct Collector {
    sanitiser: Sanitiser,
    tail: Tail,
    raw: Raw,
}

/// The end of the text, and how long it is in all.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    breaks: usize,
    bytes: usize,
    /// The length of the line that is being written.
    line: usize,
}

/// The bytes as they came.
#[derive(Debug)]
struct Raw {
    folder: PathBuf,
    held: Vec<u8>,
    written: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// Few enough to be held.
    Memory,
    File {
        file: File,
        path: PathBuf,
    },
    /// The file has reached its largest size.
    Full {
        path: PathBuf,
    },
    Lost(std::io::Error),
}

/// Where all of the output is.
#[derive(Debug)]
pub(super) enum Whole {
    /// In the text itself.
    Shown,
    File(PathBuf),
    /// Only the beginning is in the file.
    Beginning(PathBuf),
    Lost(std::io::Error),
}

impl Collector {
    /// A file for long output would go into `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        let raw = Raw { folder: folder.to_owned(), held: Vec::new(), written: 0, place: Place::Memory };
        Self { sanitiser: Sanitiser::default(), tail: Tail::default(), raw }
    }

    /// Dropping the future may lose the end of the file, never that of the text.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        let tail = &mut self.tail;
        self.sanitiser.push(bytes, |stroke| tail.apply(&stroke));
        self.raw.push(bytes).await;
    }

    /// What there is so far.
    pub(super) fn snapshot(&self) -> Truncation {
        truncate::tail(&self.tail.text, self.tail.extent(), MAX_LINES, MAX_BYTES)
    }

    /// The path of the file, if there is one already.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.raw.place {
            Place::File { path, .. } | Place::Full { path } => Some(path),
            Place::Memory | Place::Lost(_) => None,
        }
    }

    /// The length of the last line.
    pub(super) fn last_line(&self) -> usize {
        self.tail.line
    }

    /// Ends it. Text that is cut only because it has too many lines goes into a file as well.
    pub(super) async fn finish(&mut self) -> (Truncation, Whole) {
        let tail = &mut self.tail;
        self.sanitiser.finish(|stroke| tail.apply(&stroke));
        let truncation = self.snapshot();
        if truncation.truncated {
            self.raw.open().await;
        }
        let whole = match std::mem::replace(&mut self.raw.place, Place::Memory) {
            Place::Memory => Whole::Shown,
            Place::Full { path } => Whole::Beginning(path),
            Place::Lost(error) => Whole::Lost(error),
            Place::File { mut file, path } => match file.flush().await {
                Ok(()) => Whole::File(path),
                Err(error) => Whole::Lost(error),
            },
        };
        (truncation, whole)
    }
}

impl Tail {
    fn extent(&self) -> Extent {
        Extent { lines: self.breaks + 1, bytes: self.bytes }
    }

    fn apply(&mut self, stroke: &Stroke<'_>) {
        match stroke {
            Stroke::Text(text) => {
                self.breaks += memchr::memchr_iter(b'\n', text.as_bytes()).count();
                self.bytes += text.len();
                self.line = match memchr::memrchr(b'\n', text.as_bytes()) {
                    Some(at) => text.len() - at - 1,
                    None => self.line + text.len(),
                };
                self.text.push_str(text);
                self.trim();
            }
            Stroke::Restart => {
                self.bytes -= self.line;
                self.text.truncate(self.text.len().saturating_sub(self.line));
                self.line = 0;
            }
            Stroke::Erase => {
                if self.line > 0
                    && let Some(sign) = self.text.pop()
                {
                    self.bytes -= sign.len_utf8();
                    self.line -= sign.len_utf8();
                }
            }
        }
    }

    fn trim(&mut self) {
        if self.text.len() > MOST_KEPT {
            let start = self.text.ceil_char_boundary(self.text.len() - LEAST_KEPT);
            self.text.drain(..start);
        }
    }
}

impl Raw {
    async fn push(&mut self, bytes: &[u8]) {
        if matches!(self.place, Place::Memory) && self.held.len() + bytes.len() > MAX_BYTES {
            self.open().await;
        }
        match &self.place {
            Place::Memory => self.held.extend_from_slice(bytes),
            Place::File { .. } => self.write(bytes).await,
            Place::Full { .. } | Place::Lost(_) => {}
        }
    }

    /// Makes the file and moves what is held into it; a file that is there already stays.
    async fn open(&mut self) {
        if !matches!(self.place, Place::Memory) {
            return;
        }
        let path = spill::name(&self.folder);
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        // Output may hold secrets: it is for nobody else.
        #[cfg(unix)]
        options.mode(0o600);
        match options.open(&path).await {
            Ok(file) => {
                let newest = path.clone();
                self.place = Place::File { file, path };
                let held = std::mem::take(&mut self.held);
                self.write(&held).await;
                match tokio::task::spawn_blocking(move || spill::sweep(&newest)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "old output was not looked for"),
                    Err(broken) => tracing::warn!(%broken, "old output was not looked for"),
                }
            }
            Err(error) => self.lose(error),
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        let Place::File { file, path } = &mut self.place else { return };
        let room = usize::try_from(MAX_FILE - self.written).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        self.written += part.len() as u64;
        match file.write_all(part).await {
            Ok(()) if part.len() == bytes.len() => {}
            Ok(()) => {
                let path = std::mem::take(path);
                match file.flush().await {
                    Ok(()) => self.place = Place::Full { path },
                    Err(error) => self.lose(error),
                }
            }
            Err(error) => self.lose(error),
        }
    }

    fn lose(&mut self, error: std::io::Error) {
        tracing::warn!(%error, "long output of a command could not be kept");
        self.held = Vec::new();
        self.place = Place::Lost(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_does_not_grow_with_the_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut collector = Collector::new(folder.path());
        let line = format!("{}\n", "é".repeat(500));
        let piece = line.repeat(64);
        for _ in 0..500 {
            collector.push(piece.as_bytes()).await;
            assert!(collector.tail.text.capacity() <= 2 * (MOST_KEPT + piece.len()));
            assert!(collector.raw.held.capacity() <= 2 * MAX_BYTES);
        }
        let (truncation, whole) = collector.finish().await;
        assert_eq!((truncation.total_lines, truncation.total_bytes), (32_001, 32_000 * 1001));
        let Whole::File(path) = whole else { panic!("{whole:?}") };
        let written = tokio::fs::read(path).await.expect("a file");
        assert!(written == piece.repeat(500).as_bytes());
    }

    #[tokio::test]
    async fn text_of_many_short_lines_is_in_a_file_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut collector = Collector::new(folder.path());
        collector.push("x\n".repeat(2500).as_bytes()).await;
        assert_eq!(collector.path(), None);
        let (truncation, whole) = collector.finish().await;
        assert_eq!((truncation.output_lines, truncation.total_lines), (2000, 2501));
        assert!(matches!(whole, Whole::File(_)), "{whole:?}");
    }

    #[tokio::test]
    async fn output_that_cannot_be_kept_is_still_shown() {
        let mut collector = Collector::new(Path::new("/proc/no such folder"));
        collector.push("y".repeat(MAX_BYTES + 1).as_bytes()).await;
        let (truncation, whole) = collector.finish().await;
        assert_eq!((truncation.output_bytes, truncation.last_line_partial), (MAX_BYTES, true));
        assert!(matches!(whole, Whole::Lost(_)), "{whole:?}");
    }
}
