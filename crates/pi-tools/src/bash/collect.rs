//! The output of a command: its end as text, all of it in a file if it is long, in memory that does not grow.
//!
//! Bytes become lines as a terminal would show them, and secrets are hidden in the lines before anything else is done
//! with them: a secret that is cut, at the border of a piece or of what is shown, would not be recognised. So the text and
//! the file hold the same, and nothing of a secret reaches a disk.

use std::path::{Path, PathBuf};

use pi_redact::{MARK, Redactor, Stream};
use tokio::{fs::File, io::AsyncWriteExt};

use super::sanitise::{Sanitiser, Stroke};
use crate::{
    spill,
    truncate::{self, Extent, MAX_BYTES, MAX_LINES, Truncation},
};

/// When so much text has come together, its beginning goes.
const MOST_KEPT: usize = 8 * MAX_BYTES;
/// So much of it stays: more than is ever shown.
const LEAST_KEPT: usize = 2 * MAX_BYTES;
/// A file that is larger than this fills disks and is not read by anybody.
const MAX_FILE: u64 = 1024 * 1024 * 1024;
/// The longest secret that may be cut by the border of a piece: the block of any usual private key.
const LONGEST_SECRET: usize = 8192;

/// Takes the output piece by piece.
pub(super) struct Collector<'a> {
    taken: usize,
    redactor: &'a Redactor,
    sanitiser: Sanitiser,
    lines: Lines,
    secrets: Stream<'a>,
    tail: Tail,
    kept: Kept,
    /// Marks that were there, and marks there are now.
    marks: (usize, usize),
}

/// The lines that are written, and the one that is being written and may still begin anew.
#[derive(Debug, Default)]
struct Lines {
    done: String,
    open: String,
}

/// The end of the text, and how long it is in all.
#[derive(Debug, Default, Clone)]
struct Tail {
    text: String,
    breaks: usize,
    bytes: usize,
    /// The length of the last line.
    line: usize,
}

/// All of the text.
#[derive(Debug)]
struct Kept {
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

/// Output that has come to its end.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) truncation: Truncation,
    pub(super) whole: Whole,
    /// The length of the last line.
    pub(super) last_line: usize,
    /// Secrets that are not shown.
    pub(super) hidden: usize,
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

impl<'a> Collector<'a> {
    /// A file for long output would go into `folder`.
    pub(super) fn new(folder: &Path, redactor: &'a Redactor) -> Self {
        Self {
            taken: 0,
            redactor,
            sanitiser: Sanitiser::default(),
            lines: Lines::default(),
            secrets: redactor.stream(LONGEST_SECRET),
            tail: Tail::default(),
            kept: Kept { folder: folder.to_owned(), held: Vec::new(), written: 0, place: Place::Memory },
            marks: (0, 0),
        }
    }

    /// Dropping the future may lose the end of the file, never that of the text.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        self.taken += bytes.len();
        let lines = &mut self.lines;
        self.sanitiser.push(bytes, |stroke| lines.apply(&stroke));
        let done = std::mem::take(&mut self.lines.done);
        self.marks.0 += count(&done);
        let certain = self.secrets.push(&done);
        self.take(&certain).await;
    }

    /// How many bytes have come so far.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// What there is so far, without an end that may be the beginning of a secret.
    pub(super) fn snapshot(&self) -> Truncation {
        let waiting = format!("{}{}", self.secrets.held(), self.lines.open);
        let mut tail = self.tail.clone();
        tail.push(&self.redactor.redact_text(self.redactor.settled(&waiting)));
        tail.truncated()
    }

    /// The path of the file, if there is one already.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.kept.place {
            Place::File { path, .. } | Place::Full { path } => Some(path),
            Place::Memory | Place::Lost(_) => None,
        }
    }

    /// Ends it. Text that is cut only because it has too many lines goes into a file as well.
    pub(super) async fn finish(mut self) -> Collected {
        let lines = &mut self.lines;
        self.sanitiser.finish(|stroke| lines.apply(&stroke));
        let rest = std::mem::take(&mut self.lines.done) + &std::mem::take(&mut self.lines.open);
        self.marks.0 += count(&rest);
        let certain = self.secrets.push(&rest);
        let certain = certain + &std::mem::replace(&mut self.secrets, self.redactor.stream(0)).finish();
        self.take(&certain).await;
        let truncation = self.tail.truncated();
        if truncation.truncated {
            self.kept.open().await;
        }
        let whole = match std::mem::replace(&mut self.kept.place, Place::Memory) {
            Place::Memory => Whole::Shown,
            Place::Full { path } => Whole::Beginning(path),
            Place::Lost(error) => Whole::Lost(error),
            Place::File { mut file, path } => match file.flush().await {
                Ok(()) => Whole::File(path),
                Err(error) => Whole::Lost(error),
            },
        };
        let hidden = count(&truncation.content).min(self.marks.1.saturating_sub(self.marks.0));
        Collected { truncation, whole, last_line: self.tail.line, hidden }
    }

    async fn take(&mut self, certain: &str) {
        self.marks.1 += count(certain);
        self.tail.push(certain);
        self.kept.push(certain.as_bytes()).await;
    }
}

fn count(text: &str) -> usize {
    text.matches(MARK).count()
}

impl Lines {
    fn apply(&mut self, stroke: &Stroke<'_>) {
        match stroke {
            Stroke::Text(text) => {
                self.open.push_str(text);
                // A line that is longer than everything that is shown does not begin anew.
                let is_long = self.open.len() > MAX_BYTES;
                let end = if is_long { self.open.len() } else { self.open.rfind('\n').map_or(0, |at| at + 1) };
                self.done.push_str(&self.open[..end]);
                self.open.drain(..end);
            }
            Stroke::Restart => self.open.clear(),
            Stroke::Erase => drop(self.open.pop()),
        }
    }
}

impl Tail {
    fn push(&mut self, text: &str) {
        self.breaks += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        self.bytes += text.len();
        self.line = match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(at) => text.len() - at - 1,
            None => self.line + text.len(),
        };
        self.text.push_str(text);
        self.trim();
    }

    fn truncated(&self) -> Truncation {
        let extent = Extent { lines: self.breaks + 1, bytes: self.bytes };
        truncate::tail(&self.text, extent, MAX_LINES, MAX_BYTES)
    }

    fn trim(&mut self) {
        if self.text.len() > MOST_KEPT {
            let start = self.text.ceil_char_boundary(self.text.len() - LEAST_KEPT);
            self.text.drain(..start);
        }
    }
}

impl Kept {
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
        let path = spill::name(&self.folder, spill::COMMAND);
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        // What no rule takes for a secret may be one: it is for nobody else.
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
    use pi_redact::{Evidence, Options, Personal};

    use super::*;

    const SECRET: &str = "correct-horse battery\nstaple";

    fn redactor() -> Redactor {
        let secrets = vec![SECRET.to_owned()];
        Redactor::new(Options { secrets, evidence: Evidence::Shapes, personal: Personal::Keep })
    }

    #[tokio::test]
    async fn memory_does_not_grow_with_the_output() {
        let (folder, redactor) = (tempfile::tempdir().expect("a folder"), redactor());
        let mut collector = Collector::new(folder.path(), &redactor);
        let line = format!("{}\n", "é".repeat(500));
        let piece = line.repeat(64);
        for _ in 0..100 {
            collector.push(piece.as_bytes()).await;
            assert!(collector.tail.text.capacity() <= 2 * (MOST_KEPT + piece.len()));
            assert!(collector.kept.held.capacity() <= 2 * MAX_BYTES);
            assert!(collector.secrets.held().len() <= 10 * LONGEST_SECRET + piece.len());
        }
        let Collected { truncation, whole, .. } = collector.finish().await;
        assert_eq!((truncation.total_lines, truncation.total_bytes), (6401, 6400 * 1001));
        let Whole::File(path) = whole else { panic!("{whole:?}") };
        let written = tokio::fs::read(path).await.expect("a file");
        assert!(written == piece.repeat(100).as_bytes());
    }

    #[tokio::test]
    async fn text_of_many_short_lines_is_in_a_file_too() {
        let (folder, redactor) = (tempfile::tempdir().expect("a folder"), redactor());
        let mut collector = Collector::new(folder.path(), &redactor);
        collector.push("x\n".repeat(2500).as_bytes()).await;
        assert_eq!(collector.path(), None);
        let Collected { truncation, whole, .. } = collector.finish().await;
        assert_eq!((truncation.output_lines, truncation.total_lines), (2000, 2501));
        assert!(matches!(whole, Whole::File(_)), "{whole:?}");
    }

    #[tokio::test]
    async fn output_that_cannot_be_kept_is_still_shown() {
        let redactor = redactor();
        let mut collector = Collector::new(Path::new("/proc/no such folder"), &redactor);
        collector.push("y".repeat(MAX_BYTES + 1).as_bytes()).await;
        let Collected { truncation, whole, .. } = collector.finish().await;
        assert_eq!((truncation.output_bytes, truncation.last_line_partial), (MAX_BYTES, true));
        assert!(matches!(whole, Whole::Lost(_)), "{whole:?}");
    }

    /// Whatever the size of the pieces, neither text nor file holds any part of the secret.
    #[tokio::test]
    async fn secret_is_hidden_in_text_and_file_wherever_it_is_cut() {
        let (folder, redactor) = (tempfile::tempdir().expect("a folder"), redactor());
        let filler = "a plain line\n".repeat(5000);
        // One secret stands where what is shown begins, another at the very end.
        let border = "b plain line\n".repeat(MAX_BYTES / 13 - 1);
        let output = format!("{filler}x {SECRET}{border}\u{1b}[31m{SECRET}");
        for size in [1, 7, 1000, output.len()] {
            let mut collector = Collector::new(folder.path(), &redactor);
            for piece in output.as_bytes().chunks(size) {
                collector.push(piece).await;
            }
            let Collected { truncation, whole, hidden, .. } = collector.finish().await;
            let Whole::File(path) = whole else { panic!("{whole:?}") };
            let written = tokio::fs::read_to_string(path).await.expect("a file");
            assert!(written == format!("{filler}x {MARK}{border}{MARK}"), "in pieces of {size}");
            assert!(!truncation.content.contains("staple"), "in pieces of {size}");
            assert!(truncation.content.ends_with(MARK) && hidden > 0, "in pieces of {size}");
        }
    }

    #[tokio::test]
    async fn beginning_of_a_secret_is_not_shown_before_it_is_known_to_be_none() {
        let (folder, redactor) = (tempfile::tempdir().expect("a folder"), redactor());
        for cut in 1..SECRET.len() {
            let mut collector = Collector::new(folder.path(), &redactor);
            collector.push(format!("so far {}", &SECRET[..cut]).as_bytes()).await;
            assert_eq!(collector.snapshot().content, "so far ", "{cut}");
            collector.push(&SECRET.as_bytes()[cut..]).await;
            collector.push(b" and more ").await;
            assert_eq!(collector.snapshot().content, format!("so far {MARK} and more "), "{cut}");
        }
        let mut collector = Collector::new(folder.path(), &redactor);
        collector.push(b"testing .....").await;
        assert_eq!(collector.snapshot().content, "testing .....");
        collector.push(b" correct-horse race\n").await;
        assert_eq!(collector.snapshot().content, "testing ..... correct-horse race\n");
    }

    #[tokio::test]
    async fn line_that_begins_anew_is_written_once() {
        let (folder, redactor) = (tempfile::tempdir().expect("a folder"), redactor());
        let mut collector = Collector::new(folder.path(), &redactor);
        for piece in ["10%", "\r20%", "\r100%\nd", "one"] {
            collector.push(piece.as_bytes()).await;
        }
        assert_eq!(collector.finish().await.truncation.content, "100%\ndone");
    }
}
