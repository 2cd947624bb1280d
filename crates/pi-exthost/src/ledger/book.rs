//! The files of a ledger: the one that is written, those that were put aside, and the head that knows the last line.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use serde_json::json;

use pi_extproto::{
    Object,
    log::{Component, Correlation, Level, LogEntry, LogEvent, LogSchema, Source},
};
use pi_policy::Moment;
use pi_redact::Redactor;
use pi_transcript::json::{Digest, Extra};

use super::{
    LedgerFault, Settings,
    chain::{self, Link},
    kept,
    line::Line,
};
use crate::guest::GuestId;

/// In whose name the ledger speaks of itself.
pub(super) const HOST: &str = GuestId::HOST;

/// The ledger in the hands of its writer.
#[derive(Debug)]
pub(super) struct Book {
    folder: PathBuf,
    session: String,
    scenario: String,
    segment_bytes: u64,
    segments: usize,
    redactor: Arc<Redactor>,
    now: fn() -> Moment,
    file: File,
    head: File,
    /// Of the file, without what a failed write may have left behind.
    length: u64,
    next: Link,
    /// Lines that have their place already and are not in the file yet.
    waiting: Vec<u8>,
    /// How many of them there are.
    lines: usize,
    /// Files that are removed when the line that says so is on the disk.
    surplus: Vec<PathBuf>,
}

/// The file that is written.
pub(super) fn path(folder: &Path, session: &str) -> PathBuf {
    folder.join(format!("{session}.jsonl"))
}

/// A file that was put aside; the first one is the oldest.
pub(super) fn segment(folder: &Path, session: &str, number: u64) -> PathBuf {
    folder.join(format!("{session}.{number}.jsonl"))
}

pub(super) fn head(folder: &Path, session: &str) -> PathBuf {
    folder.join(format!("{session}.head"))
}

/// The files that were put aside, the oldest first. Looks at the disk.
#[expect(clippy::disallowed_methods, reason = "this is the place where files of ledgers are looked for")]
pub(super) fn segments(folder: &Path, session: &str) -> io::Result<Vec<(u64, PathBuf)>> {
    let number = |name: &str| -> Option<u64> {
        name.strip_prefix(session)?.strip_prefix('.')?.strip_suffix(".jsonl")?.parse().ok()
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(number) {
            found.push((number, entry.path()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Sessions with a ledger in the folder and when it was written, the last one at the end. Looks at the disk.
#[expect(clippy::disallowed_methods, reason = "this is the place where files of ledgers are looked for")]
pub(super) fn sessions(folder: &Path) -> io::Result<Vec<(SystemTime, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let session = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let is_aside = |name: &str| name.rsplit_once('.').is_some_and(|(_, number)| number.parse::<u64>().is_ok());
        if let Some(session) = session.filter(|session| !is_aside(session)) {
            found.push((entry.metadata()?.modified()?, session.to_owned()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes all ledgers of a folder but the newest `keep`, and those that are being written. Looks at the disk.
pub(super) fn thin_out(folder: &Path, keep: usize) -> io::Result<()> {
    let sessions = sessions(folder)?;
    let surplus = sessions.len().saturating_sub(keep);
    for (_, session) in sessions.into_iter().take(surplus) {
        let path = path(folder, &session);
        if private(&path)?.try_lock().is_err() {
            continue;
        }
        for (_, aside) in segments(folder, &session)? {
            remove(&aside)?;
        }
        remove(&path)?;
        for beside in [head(folder, &session), kept::path(folder, &session)] {
            match remove(&beside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

impl Book {
    pub(super) fn open(settings: &Settings, redactor: Arc<Redactor>, now: fn() -> Moment) -> Result<Self, LedgerFault> {
        let Settings { folder, session, scenario, segment_bytes, segments, allowance: _ } = settings.clone();
        if session.is_empty() || session.starts_with('.') || session.contains(['/', '\\', ':', '\0']) {
            return Err(LedgerFault::Name { session });
        }
        let path = path(&folder, &session);
        let unusable = |source| LedgerFault::Unusable { path: path.clone(), source };
        make_folder(&folder).map_err(unusable)?;
        let mut file = private(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(LedgerFault::InUse { path }),
            Err(fs::TryLockError::Error(source)) => return Err(unusable(source)),
        }
        let head = private(&head(&folder, &session)).map_err(unusable)?;
        let found = Found::look(&mut file, &head, &folder, &session).map_err(unusable)?;
        file.set_len(found.length).map_err(unusable)?;
        let mut book = Self {
            folder,
            session,
            scenario,
            segment_bytes,
            segments,
            redactor,
            now,
            file,
            head,
            length: found.length,
            next: found.next,
            waiting: Vec::new(),
            lines: 0,
            surplus: Vec::new(),
        };
        if !found.torn.is_empty() {
            let data = json!({ "bytes": found.torn.len(), "digest": Digest::of(&found.torn) });
            book.say("ledger.repair", Level::Warn, "the last line was cut by a crash and was taken away", data);
        }
        Ok(book)
    }

    /// Gives a line its place; what is left of it belongs to whoever made it.
    pub(super) fn add(&mut self, line: Line) -> Line {
        match line {
            Line::Entry(entry) => return Line::Entry(Box::new(self.compose(*entry))),
            Line::Call(ref call) => drop(self.compose(call.entry())),
            Line::Work(ref work) => drop(self.compose(work.entry())),
        }
        line
    }

    fn compose(&mut self, entry: LogEntry) -> LogEntry {
        let (entry, start) = (entry.redact(&self.redactor), self.waiting.len());
        entry.write_line_with(chain::MEMBER, &self.next, &mut self.waiting);
        let line = &self.waiting[start..self.waiting.len() - 1];
        self.next = Link::after(self.next.index, line);
        self.lines += 1;
        entry.into_entry()
    }

    /// Says something about the ledger itself.
    pub(super) fn say(&mut self, event: &str, level: Level, message: &str, data: serde_json::Value) {
        let data = match data {
            serde_json::Value::Object(data) => Some(data),
            _ => None::<Object>,
        };
        let mut correlation = Correlation::new(HOST, self.scenario.clone());
        correlation.session_id = Some(self.session.clone());
        let entry = LogEntry {
            schema: LogSchema::V1,
            ts: (self.now)().to_string(),
            level,
            event: LogEvent::from(event),
            message: message.to_owned(),
            correlation,
            source: Some(Source { component: Component::Runtime, host: None, pid: None, extra: Extra::new() }),
            data,
            extra: Extra::new(),
        };
        drop(self.compose(entry));
    }

    /// How many lines wait.
    pub(super) fn waiting(&self) -> usize {
        self.lines
    }

    /// Writes what waits. After an error it waits still, and the file is as it was.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if self.length > 0 && self.length + self.waiting.len() as u64 > self.segment_bytes {
            self.turn_page()?;
        }
        if let Err(error) = self.append() {
            // Nobody shall find half a line; if even this fails, the next one who opens it repairs it.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += self.waiting.len() as u64;
        self.waiting.clear();
        self.lines = 0;
        self.mark()?;
        self.remove_surplus()
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.head.sync_data()
    }

    /// Lets others write it, before anybody is told that this one ended. A process that is being started at this moment may hold
    /// the file open for a while longer, and with it a lock that nobody gave up.
    pub(super) fn release(&mut self) {
        // What cannot be unlocked is free when the file is closed.
        let _ = self.file.unlock();
    }

    fn append(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&self.waiting)
    }

    /// Writes down which line is the last.
    fn mark(&mut self) -> io::Result<()> {
        let text = format!("{:020} {}\n", self.next.index, self.next.previous);
        self.head.seek(SeekFrom::Start(0))?;
        self.head.write_all(text.as_bytes())
    }

    /// Puts the file aside and begins another; the chain goes on.
    fn turn_page(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let aside = segments(&self.folder, &self.session)?;
        let number = aside.last().map_or(1, |(number, _)| number + 1);
        match fs::rename(path(&self.folder, &self.session), segment(&self.folder, &self.session, number)) {
            // It was put aside before, and what followed failed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        let file = private(&path(&self.folder, &self.session))?;
        file.try_lock().map_err(io::Error::from)?;
        self.file = file;
        self.length = 0;
        let surplus = (aside.len() + 1).saturating_sub(self.segments);
        let surplus: Vec<PathBuf> = aside.into_iter().take(surplus).map(|(_, path)| path).collect();
        if !surplus.is_empty() {
            let removal = kept::keep(&self.folder, &self.session, &surplus)?;
            self.say(kept::REMOVED, Level::Info, "the oldest files are removed", json!(removal));
            self.surplus = surplus;
        }
        Ok(())
    }

    /// Removes what was said to be removed. Before that line is on the disk, a crash would leave lines missing of which nobody
    /// knows that we removed them.
    fn remove_surplus(&mut self) -> io::Result<()> {
        if self.surplus.is_empty() {
            return Ok(());
        }
        self.sync()?;
        for old in std::mem::take(&mut self.surplus) {
            remove(&old)?;
        }
        Ok(())
    }
}

/// What is in the file already.
struct Found {
    /// Up to the end of the last whole line.
    length: u64,
    next: Link,
    torn: Vec<u8>,
}

impl Found {
    fn look(file: &mut File, head: &File, folder: &Path, session: &str) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = bytes.split_off(whole);
        let next = match last_link(&bytes)? {
            Some(next) => next,
            // Where nothing was ever written, nothing was put aside: the folder may be large.
            None if head.metadata()?.len() == 0 => Link::first(session),
            None => match segments(folder, session)?.last() {
                Some((_, path)) => last_link(&read(path)?)?.unwrap_or(Link::first(session)),
                None => Link::first(session),
            },
        };
        Ok(Self { length: whole as u64, next, torn })
    }
}

/// The place behind the last line; nothing if there is none.
fn last_link(bytes: &[u8]) -> io::Result<Option<Link>> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if text.is_empty() {
        return Ok(None);
    }
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let foreign = || io::Error::new(io::ErrorKind::InvalidData, "the last line is not one of a ledger");
    let line = std::str::from_utf8(&text[start..]).map_err(|_| foreign())?;
    let entry: LogEntry = serde_json::from_str(line).map_err(|_| foreign())?;
    Link::of(&entry).map(|link| Some(Link::after(link.index, line.as_bytes()))).ok_or_else(foreign)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where files of ledgers are read")]
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where old files of ledgers are removed")]
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

#[expect(clippy::disallowed_methods, reason = "this is the place where the folder of ledgers is made")]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Opens a file that only its owner may read.
pub(super) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}
