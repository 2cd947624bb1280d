//! One pattern in many files, several at a time.

use std::{
    fs::File,
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::{files::Folder, tree::Entry};

/// So many threads at most look through files for one call.
const MOST_THREADS: usize = 4;
/// A file with a longer line than this is no text.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Of a line that is longer than anybody would write, the rest is not kept.
const MAX_LINE: usize = 16 * 1024;

/// What to look for.
pub(super) struct Search {
    matcher: RegexMatcher,
    pub(super) context: usize,
    /// In one file; one more than is shown, so that it is known that there are more.
    limit: usize,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<Line>,
}

/// A line that matches, or one near it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Match,
    Context,
}

impl Search {
    pub(super) fn new(matcher: RegexMatcher, context: usize, limit: usize) -> Self {
        Self { matcher, context, limit: limit.saturating_add(1) }
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .max_matches(Some(self.limit as u64))
            .heap_limit(Some(LONGEST_LINE))
            .build()
    }

    pub(super) fn file(&self, file: File, cancel: &CancellationToken) -> io::Result<Hits> {
        self.with(&mut self.searcher(), Watched { file, cancel })
    }

    fn with(&self, searcher: &mut Searcher, file: Watched<'_>) -> io::Result<Hits> {
        let mut hits = Collected::default();
        searcher.search_reader(&self.matcher, file, &mut hits)?;
        Ok(if hits.is_binary { Hits::default() } else { hits.hits })
    }

    /// Looks into all files and answers in their order. A file that cannot be read has no hits: it may be gone by now.
    pub(super) fn files(&self, folder: &Folder, entries: &[Entry], cancel: &CancellationToken) -> Vec<Hits> {
        let next = AtomicUsize::new(0);
        // A lock and no channel: each thread comes once, when it is done.
        let found = Mutex::new(Vec::with_capacity(entries.len()));
        let work = || {
            let mut searcher = self.searcher();
            let mut own = Vec::new();
            while !cancel.is_cancelled()
                && let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(entry) = entries.get(index)
            {
                let file = folder.open(&entry.below).map(|file| Watched { file: file.into_std(), cancel });
                let hits = file.and_then(|file| self.with(&mut searcher, file));
                match hits {
                    Ok(hits) if hits.lines.is_empty() => {}
                    Ok(hits) => own.push((index, hits)),
                    Err(error) => tracing::debug!(%error, path = %entry.below.display(), "file was passed over"),
                }
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(entries.len());
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        let mut all: Vec<Hits> = entries.iter().map(|_| Hits::default()).collect();
        for (index, hits) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            all[index] = hits;
        }
        all
    }
}

/// A file that ends with an error when the call is cancelled.
struct Watched<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl io::Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => self.file.read(buffer),
        }
    }
}

#[derive(Default)]
struct Collected {
    hits: Hits,
    is_binary: bool,
}

impl Collected {
    fn push(&mut self, bytes: &[u8], number: Option<u64>, role: Role) {
        let bytes = &bytes[..bytes.len().min(MAX_LINE)];
        let text = String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).replace('\r', "");
        self.hits.lines.push(Line { number: number.unwrap_or_default(), text, role });
    }
}

impl Sink for Collected {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.push(found.bytes(), found.line_number(), Role::Match);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        self.push(around.bytes(), around.line_number(), Role::Context);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary = end.binary_byte_offset().is_some();
        Ok(())
    }
}
