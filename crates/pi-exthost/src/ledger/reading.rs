//! Reading ledgers: what is in them, whether all of it is there, and what it adds up to.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Serialize;
use serde_json::Value;

use pi_extproto::log::{LogEntry, LogEvent};
use pi_transcript::json::Digest;

use super::{
    book,
    chain::Link,
    kept::{self, Removal},
    pen::SLOW_EVENT,
};

/// The lines of a session's ledger, the oldest first, across its files; what was kept of removed files comes before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    pub entries: Vec<LogEntry>,
    /// Lines that cannot be read, by file and number.
    pub unreadable: Vec<(PathBuf, usize)>,
}

/// Whether a ledger is what was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    pub files: usize,
    pub lines: u64,
    /// The number of the first line that is there; older files were removed.
    pub first: u64,
    /// Lines that were kept of removed files: what was decided and denied in them.
    pub kept: u64,
    /// Whether its writer said that this is the end.
    pub is_closed: bool,
    /// The session that it was written for, where its file is named after another.
    pub written_for: Option<String>,
    pub breaks: Vec<Break>,
}

/// Where a ledger is not what was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Break {
    pub file: PathBuf,
    /// Counts from one; zero for the file as a whole.
    pub line: usize,
    pub fault: Fault,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// It ends in the middle: a crash, which the next writer repairs.
    Torn,
    /// It is no line of a ledger.
    Unreadable,
    /// It has no place in the chain.
    Unchained,
    /// Lines before it are missing, or it was put elsewhere.
    Misplaced { expected: u64, found: u64 },
    /// The line before it is not the one that was there.
    PreviousChanged,
    /// Lines after it were cut off.
    CutOff { missing: u64 },
    /// It is not the line that was written last.
    LastChanged,
    /// Nothing says which line was written last, so nobody knows whether some are missing.
    Headless,
    /// The ledger does not begin with its first line, and no line says that the older ones were removed in order.
    BeginningMissing { missing: u64 },
    /// What was kept of removed files is not what it was.
    KeptChanged,
}

/// What a ledger adds up to.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Statistics {
    pub lines: u64,
    pub extensions: BTreeMap<String, ExtensionStatistics>,
}

/// What one extension did.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ExtensionStatistics {
    pub calls: u64,
    /// Calls that began and of whose end nothing is known.
    pub unfinished: u64,
    pub denials: u64,
    pub errors: u64,
    pub duration_ms: u64,
    pub methods: BTreeMap<String, u64>,
    /// How long its calls took, by method.
    pub durations_ms: BTreeMap<String, u64>,
    /// What was asked of its host, by what that needed.
    pub capabilities: BTreeMap<String, CapabilityUse>,
    pub tool_calls: u64,
    pub commands: u64,
    pub events: u64,
    /// Spent on tool calls, commands and events, with everything that they waited for but people.
    pub work_ms: u64,
    pub notes: u64,
    /// How often a handler took longer than it should.
    pub slow: u64,
    /// Lines of its own that were left out.
    pub left_out: u64,
}

/// How often a capability was used, and how often that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CapabilityUse {
    pub granted: u64,
    pub denied: u64,
}

impl ExtensionStatistics {
    /// How often it was asked for something.
    pub fn asked(&self) -> u64 {
        self.tool_calls + self.commands + self.events
    }

    /// The same with what it did elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.unfinished += other.unfinished;
        self.denials += other.denials;
        self.errors += other.errors;
        self.duration_ms += other.duration_ms;
        self.tool_calls += other.tool_calls;
        self.commands += other.commands;
        self.events += other.events;
        self.work_ms += other.work_ms;
        self.notes += other.notes;
        self.slow += other.slow;
        self.left_out += other.left_out;
        for (method, calls) in &other.methods {
            *self.methods.entry(method.clone()).or_default() += calls;
        }
        for (method, took) in &other.durations_ms {
            *self.durations_ms.entry(method.clone()).or_default() += took;
        }
        for (capability, uses) in &other.capabilities {
            let own = self.capabilities.entry(capability.clone()).or_default();
            own.granted += uses.granted;
            own.denied += uses.denied;
        }
    }
}

/// The files of a session's ledger, the oldest first. Looks at the disk.
pub fn files(folder: &Path, session: &str) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = book::segments(folder, session)?.into_iter().map(|(_, path)| path).collect();
    let current = book::path(folder, session);
    if current.exists() {
        files.push(current);
    }
    Ok(files)
}

/// Sessions that have a ledger in a folder, the one that was written last at the end. Looks at the disk.
pub fn sessions(folder: &Path) -> io::Result<Vec<String>> {
    Ok(book::sessions(folder)?.into_iter().map(|(_, session)| session).collect())
}

/// The same with the time at which each was written last.
pub fn dated(folder: &Path) -> io::Result<Vec<(SystemTime, String)>> {
    book::sessions(folder)
}

/// Removes the ledgers of a folder but for the newest `keep`; what is being written stays. Looks at the disk.
pub fn thin_out(folder: &Path, keep: usize) -> io::Result<()> {
    book::thin_out(folder, keep)
}

/// Reads everything that can be read.
pub fn read(folder: &Path, session: &str) -> io::Result<Reading> {
    let mut reading = Reading::default();
    let files = files(folder, session)?;
    let first = files.first().map(|path| book::read(path)).transpose()?.and_then(|bytes| first_link(&bytes));
    // What is kept already of a file that is still there is not told twice.
    let is_gone = |link: Link| first.is_none_or(|first| link.index < first.index);
    let kept = kept::read(folder, session)?;
    let kept = lines(&kept).filter_map(|line| parse(line.bytes));
    reading.entries.extend(kept.map(|(entry, _)| entry).filter(|entry| Link::of(entry).is_some_and(is_gone)));
    for path in files {
        let bytes = book::read(&path)?;
        for (number, line) in lines(&bytes).enumerate() {
            match parse(line.bytes) {
                Some((entry, _)) => reading.entries.push(entry),
                None => reading.unreadable.push((path.clone(), number + 1)),
            }
        }
    }
    Ok(reading)
}

/// Compares every line with the one before it, and the last one with the head.
pub fn verify(folder: &Path, session: &str) -> io::Result<Verification> {
    let files = files(folder, session)?;
    let mut walk = Walk::default();
    for path in &files {
        let bytes = book::read(path)?;
        for (number, line) in lines(&bytes).enumerate() {
            walk.step(path, number + 1, &line, session);
        }
    }
    let kept = kept::read(folder, session)?;
    if let Some(path) = files.first() {
        walk.judge_beginning(path);
    }
    walk.judge_kept(&kept, &kept::path(folder, session));
    match head(folder, session)? {
        Some(head) => walk.compare_head(head, &book::path(folder, session)),
        None if walk.lines > 0 => {
            walk.breaks.push(Break { file: book::head(folder, session), line: 0, fault: Fault::Headless });
        }
        // Nothing was written yet.
        None => {}
    }
    let kept = lines(&kept).count() as u64;
    let Walk { lines, first, is_closed, written_for, breaks, .. } = walk;
    let first = first.map_or(0, |first| first.index);
    Ok(Verification { files: files.len(), lines, first, kept, is_closed, written_for, breaks })
}

/// Adds up what extensions did.
pub fn statistics(reading: &Reading) -> Statistics {
    let mut statistics = Statistics { lines: reading.entries.len() as u64, ..Statistics::default() };
    for entry in &reading.entries {
        let own = statistics.extensions.entry(entry.correlation.extension_id.clone()).or_default();
        let member = |name: &str| entry.data.as_ref().and_then(|data| data.get(name));
        match &entry.event {
            LogEvent::HostCallStart => {
                own.calls += 1;
                own.unfinished += 1;
                let method = member("method").and_then(Value::as_str).unwrap_or("?");
                *own.methods.entry(method.to_owned()).or_default() += 1;
            }
            LogEvent::HostCallEnd => {
                own.unfinished = own.unfinished.saturating_sub(1);
                let took = member("duration_ms").and_then(Value::as_u64).unwrap_or_default();
                let method = member("method").and_then(Value::as_str).unwrap_or("?");
                own.duration_ms += took;
                *own.durations_ms.entry(method.to_owned()).or_default() += took;
                let code = member("error").and_then(|error| error.get("code")).and_then(Value::as_str);
                let capability = member("capability").and_then(Value::as_str).unwrap_or("?");
                let uses = own.capabilities.entry(capability.to_owned()).or_default();
                match code {
                    None => uses.granted += 1,
                    Some("denied") => {
                        own.denials += 1;
                        uses.denied += 1;
                    }
                    Some(_) => {
                        own.errors += 1;
                        uses.granted += 1;
                    }
                }
            }
            LogEvent::ToolCallStart => own.tool_calls += 1,
            LogEvent::EventHookStart => own.events += 1,
            LogEvent::SlashCommandStart => own.commands += 1,
            LogEvent::ToolCallEnd | LogEvent::EventHookEnd | LogEvent::SlashCommandEnd => {
                let milliseconds = |name| member(name).and_then(Value::as_u64).unwrap_or_default();
                own.work_ms += milliseconds("duration_ms").saturating_sub(milliseconds("person_ms"));
            }
            LogEvent::ExtensionRegister
            | LogEvent::ExtensionReady
            | LogEvent::PolicyDecision
            | LogEvent::CompatWarning => {}
            LogEvent::Other(word) if word.as_str() == "log.flood" => {
                own.left_out += member("left_out").and_then(Value::as_u64).unwrap_or_default();
            }
            LogEvent::Other(word) if word.as_str() == SLOW_EVENT => own.slow += 1,
            LogEvent::Other(_) => own.notes += 1,
        }
    }
    statistics
}

/// A line as it stands in a file.
struct Line<'a> {
    bytes: &'a [u8],
    is_whole: bool,
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|line| match line.strip_suffix(b"\n") {
        Some(bytes) => Line { bytes, is_whole: true },
        None => Line { bytes: line, is_whole: false },
    })
}

fn parse(bytes: &[u8]) -> Option<(LogEntry, &str)> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some((serde_json::from_str(text).ok()?, text))
}

fn first_link(bytes: &[u8]) -> Option<Link> {
    lines(bytes).find_map(|line| parse(line.bytes).and_then(|(entry, _)| Link::of(&entry)))
}

/// The number of the line after the last one, and the digest of the last.
fn head(folder: &Path, session: &str) -> io::Result<Option<Link>> {
    let bytes = match book::read(&book::head(folder, session)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes);
    let link = text.trim_end().split_once(' ').and_then(|(index, digest)| {
        Some(Link { index: index.parse().ok()?, previous: digest.parse::<Digest>().ok()? })
    });
    Ok(link)
}

struct Last {
    /// The place behind it.
    next: Link,
    line: usize,
}

#[derive(Default)]
struct Walk {
    /// What the next line has to say; nothing before the first, and after one that says nothing.
    expected: Option<Link>,
    lines: u64,
    /// The place of the first line that has one.
    first: Option<Link>,
    /// What the lines say of removed ones, by their order.
    removals: Vec<Removal>,
    last: Option<Last>,
    is_closed: bool,
    written_for: Option<String>,
    breaks: Vec<Break>,
}

impl Walk {
    fn step(&mut self, file: &Path, number: usize, line: &Line<'_>, session: &str) {
        let mut report = |fault| self.breaks.push(Break { file: file.to_owned(), line: number, fault });
        if !line.is_whole {
            return report(Fault::Torn);
        }
        self.lines += 1;
        let Some((entry, text)) = parse(line.bytes) else {
            report(Fault::Unreadable);
            self.expected = self.expected.map(|link| Link { index: link.index + 1, ..link });
            return;
        };
        let Some(link) = Link::of(&entry) else {
            report(Fault::Unchained);
            return;
        };
        let named = entry.correlation.session_id.as_deref();
        match self.expected {
            None if link.index == 0 && link != Link::first(session) => match named {
                Some(named) if link == Link::first(named) => self.written_for = Some(named.to_owned()),
                Some(_) | None => report(Fault::PreviousChanged),
            },
            None => {}
            Some(expected) if expected.index != link.index => {
                report(Fault::Misplaced { expected: expected.index, found: link.index });
            }
            Some(expected) if expected.previous != link.previous => report(Fault::PreviousChanged),
            Some(_) => {}
        }
        self.first.get_or_insert(link);
        self.removals.extend(Removal::of(&entry));
        let next = Link::after(link.index, text.as_bytes());
        self.expected = Some(next);
        match entry.event.as_str() {
            // The end may be what made a file too large, and the older ones go.
            kept::REMOVED => {}
            event => self.is_closed = event == "ledger.close",
        }
        self.last = Some(Last { next, line: number });
    }

    /// The first line is the first that was written, or stands behind what was removed by us.
    fn judge_beginning(&mut self, file: &Path) {
        let Some(first) = self.first.filter(|first| first.index > 0) else { return };
        if !self.removals.iter().any(|removal| removal.behind() == Some(first)) {
            let fault = Fault::BeginningMissing { missing: first.index };
            self.breaks.push(Break { file: file.to_owned(), line: 1, fault });
        }
    }

    /// What was kept is what the last removal says of it. More may be there only while a removal is under way: then what is removed
    /// is still there.
    fn judge_kept(&mut self, kept: &[u8], file: &Path) {
        let (length, is_whole) = match self.removals.last() {
            Some(removal) => (removal.kept_bytes, removal.vouches_for(kept)),
            None => (0, true),
        };
        let is_settled = match self.removals.last() {
            Some(removal) => removal.behind() == self.first,
            None => self.first.is_none_or(|first| first.index > 0),
        };
        if !is_whole || (is_settled && kept.len() as u64 > length) {
            self.breaks.push(Break { file: file.to_owned(), line: 0, fault: Fault::KeptChanged });
        }
    }

    fn compare_head(&mut self, head: Link, file: &Path) {
        let (next, line) = match &self.last {
            Some(last) => (last.next.index, last.line),
            None => (0, 0),
        };
        let fault = if head.index > next {
            Fault::CutOff { missing: head.index - next }
        } else if head.index == next && self.last.as_ref().is_some_and(|last| last.next.previous != head.previous) {
            Fault::LastChanged
        } else {
            return;
        };
        self.breaks.push(Break { file: file.to_owned(), line, fault });
    }
}

impl Verification {
    pub fn is_intact(&self) -> bool {
        self.breaks.is_empty()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn => f.write_str("the line ends in the middle; the next writer repairs it"),
            Self::Unreadable => f.write_str("the line cannot be read"),
            Self::Unchained => f.write_str("the line has no place in the chain"),
            Self::Misplaced { expected, found } => {
                write!(f, "line number {found} stands where {expected} should: lines were removed, added or moved")
            }
            Self::PreviousChanged => f.write_str("the line before it is not the one that was written"),
            Self::CutOff { missing } => write!(f, "{missing} lines after it were cut off"),
            Self::LastChanged => f.write_str("it is not the line that was written last"),
            Self::Headless => {
                f.write_str("it is missing or empty, so nobody knows whether lines were cut off at the end")
            }
            Self::BeginningMissing { missing } => {
                write!(f, "{missing} lines before it are missing, and nothing says that they were removed in order")
            }
            Self::KeptChanged => f.write_str("what was kept of removed files is not what it was"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(event: &str, data: &Value) -> LogEntry {
        let entry = json!({ "schema": "pi.ext.log.v1", "ts": "2026-01-01T00:00:00.000Z", "level": "info", "event": event,
            "message": "m", "correlation": { "extension_id": "guard", "scenario_id": "s" }, "data": data });
        serde_json::from_value(entry).expect("an entry")
    }

    #[test]
    fn work_and_capabilities_are_counted_beside_host_calls() {
        let call = |capability: &str| json!({ "capability": capability, "method": "fs" });
        let ended = |capability: &str, code: Option<&str>| {
            let error = code.map(|code| json!({ "code": code }));
            json!({ "capability": capability, "method": "fs", "duration_ms": 5, "error": error })
        };
        let entries = vec![
            entry("tool_call.start", &json!({ "name": "t" })),
            entry("host_call.start", &call("read")),
            entry("host_call.end", &ended("read", None)),
            entry("host_call.start", &call("read")),
            entry("host_call.end", &ended("read", Some("io"))),
            entry("host_call.start", &call("write")),
            entry("host_call.end", &ended("write", Some("denied"))),
            entry("tool_call.end", &json!({ "duration_ms": 40 })),
            entry("event_hook.start", &json!({})),
            entry("event_hook.end", &json!({ "duration_ms": 2 })),
            entry("slash_command.start", &json!({})),
            entry("slash_command.end", &json!({ "duration_ms": 30_001, "person_ms": 30_000 })),
        ];
        let statistics = statistics(&Reading { entries, unreadable: Vec::new() });
        let mut own = statistics.extensions["guard"].clone();
        assert_eq!((own.asked(), own.work_ms, own.calls, own.duration_ms), (3, 43, 3, 15));
        let uses = |granted, denied| CapabilityUse { granted, denied };
        let expected = [("read".to_owned(), uses(2, 0)), ("write".to_owned(), uses(0, 1))];
        assert_eq!(own.capabilities, BTreeMap::from(expected));
        own.add(&statistics.extensions["guard"]);
        assert_eq!((own.asked(), own.work_ms, own.capabilities["read"]), (6, 86, uses(4, 0)));
    }
}
