//! The file of a conversation: Pi's JSONL, version 3, one line an entry.
//!
//! A file is read once, line by line, into a [`Tree`] ([`open`] to write to it, [`view`] to look at it), and from then on
//! only added to. Nothing is written before the first thing that the user says, or the first run; then everything that waited is.
//!
//! [`Log`] is the end of the file: it knows what is on the disk, and what is not gets there at the next try. [`Recorder`]
//! is the thread that owns it, so that nobody else waits for a disk. [`Medium`] is what the two need of a file, for the
//! operating system and for a disk that loses what was not synced.

mod disk;
mod fault;
mod held;
mod lines;
mod lock;
mod log;
mod medium;
mod old;
mod reader;
mod recorder;
mod scan;
mod unwritable;

use std::{
    io,
    path::{Path, PathBuf},
};

use pi_policy::Moment;
use pi_transcript::{Header, Line, write_line};

use self::held::Links;
pub use self::{
    disk::Disk,
    fault::Fault,
    lock::Holder,
    log::{Log, Source},
    medium::Medium,
    reader::{ReadError, Reader, load},
    recorder::{Pressure, Record, Recorder, Report},
    scan::{Scan, ScanError, Tail, scan},
    unwritable::{go_on, go_on_exactly},
};
pub(crate) use self::{
    disk::{
        Listed, append_to, beginning_with, beside, create_folder, folders_in, is_link, remove, replace, sessions_in,
    },
    held::{Held, Neighbour},
    lines::each_line,
};
use crate::{
    finished::{self, Finished},
    queue::slate::{self, Waits},
    tree::{Destination, Tree},
};

/// A session that can be looked at. What others write meanwhile is not seen.
#[derive(Debug)]
pub struct Viewed {
    pub header: Header,
    pub tree: Tree,
    pub reader: Reader,
    pub notices: Vec<Notice>,
}

/// A session that can be gone on with. As long as its log lives, nobody else of us can.
#[derive(Debug)]
pub struct Opened {
    pub header: Header,
    pub tree: Tree,
    pub reader: Reader,
    pub log: Log<Box<dyn Medium>>,
    /// Results that were told of before a crash and do not stand in the file.
    pub finished: Vec<Finished>,
    /// What waited to be said when a server ended.
    pub waits: Vec<Waits>,
    pub notices: Vec<Notice>,
}

/// What a person should know about a file that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The end was no whole line; it was cut off, and lies in a file of its own.
    Trimmed { bytes: u64, kept: PathBuf },
    /// The end is no whole line; it was left where it is.
    Torn { bytes: u64 },
    /// These lines are passed over, and stay where they are.
    Unreadable { lines: u64 },
    /// The file had an old version. It was rewritten, and lies as it was in a file of its own.
    Migrated { version: u64, kept: PathBuf },
    /// The version is younger than this program.
    Newer { version: u64 },
    /// The file system knows no locks: nobody prevents a second writer.
    NotLocked,
    /// Nothing can be written here now, and why: the conversation goes on in memory.
    Unwritable { why: String },
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("there is no file {path}")]
    NotFound { path: PathBuf },
    #[error("{path} is open in another process{}", holder.as_ref().map(|holder| format!(" ({holder})")).unwrap_or_default())]
    InUse { path: PathBuf, holder: Option<Holder> },
    #[error("{path} is no session")]
    NotASession { path: PathBuf },
    /// Empty, or cut within its header: nothing in it was ever reported.
    #[error("{path} was begun and never written")]
    Unfinished { path: PathBuf },
    /// A link leads there that was not there when the path was checked.
    #[error("{path} leads somewhere else by now")]
    Elsewhere { path: PathBuf },
    #[error("cannot use {path}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    /// The same, told of the path by which somebody named the file.
    pub(crate) fn about(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::NotFound { .. } => Self::NotFound { path },
            Self::InUse { holder, .. } => Self::InUse { path, holder },
            Self::NotASession { .. } => Self::NotASession { path },
            Self::Unfinished { .. } => Self::Unfinished { path },
            Self::Elsewhere { .. } => Self::Elsewhere { path },
            Self::Io { source, .. } => Self::Io { path, source },
        }
    }
}

/// Begins a session whose file will be `path`; it is made when there is something to write.
pub fn create(path: &Path, header: Header, random: fastrand::Rng) -> Opened {
    let mut line = write_line(&Line::Header(header.clone().into()));
    line.push('\n');
    let end = line.len() as u64;
    let place = path.to_owned();
    let mut log = Log::new(Source::Absent(Box::new(move || Ok(Box::new(Disk::create(&place)?) as Box<dyn Medium>))));
    log.push(line.as_bytes());
    let mut tree = Tree::new(Destination::File { end }, random);
    tree.move_leaf(None);
    Opened {
        header,
        tree,
        reader: Reader::new(path),
        log,
        finished: Vec::new(),
        waits: Vec::new(),
        notices: Vec::new(),
    }
}

/// Opens a session to write to it. An old one is rewritten first, and a torn end is cut off; what was there stays beside it.
pub fn open(path: &Path, now: Moment, random: fastrand::Rng) -> Result<Opened, OpenError> {
    open_by(Links::Followed, path, path, now, random)
}

/// The same for a path that somebody checked, absolute and without links. Everything goes through the handle of its folder,
/// so that nothing outside is read or written if a link is put on the way meanwhile.
pub(crate) fn open_exactly(path: &Path, now: Moment, random: fastrand::Rng) -> Result<Opened, OpenError> {
    let held = Held::at(path.parent().unwrap_or(Path::new("/")))?;
    let place = held.path().join(path.file_name().unwrap_or_default());
    let opened = open_by(Links::Refused, path, &place, now, random).map_err(|error| error.about(path))?;
    let reader = opened.reader.inside(held);
    Ok(Opened { reader, ..opened })
}

/// `path` is how the file is called, `place` where it is found.
fn open_by(links: Links, path: &Path, place: &Path, now: Moment, random: fastrand::Rng) -> Result<Opened, OpenError> {
    let io = |source| cannot(path, source);
    let called = |kept: PathBuf| path.with_file_name(kept.file_name().unwrap_or_default());
    let (mut disk, mut notices) = lock_file(place)?;
    check_place(links, &disk, path)?;
    let mut scanned = scan_file(path, &disk, random.clone())?;
    if let Some(version) = scanned.old_version() {
        let kept = old::rewrite(place, &disk, version, random.clone()).map_err(io)?;
        notices.push(Notice::Migrated { version, kept: called(kept) });
        // The name now leads to another file.
        (disk, _) = lock_file(place)?;
        check_place(links, &disk, path)?;
        scanned = scan_file(path, &disk, random)?;
    }
    if let Tail::Torn { bytes } = scanned.tail {
        let kept = disk.cut(place, scanned.end, now).map_err(io)?;
        notices.push(Notice::Trimmed { bytes, kept: called(kept) });
    }
    notices.extend(common_notices(&scanned));
    let mut log = Log::at(Box::new(disk) as Box<dyn Medium>, scanned.length());
    // A handle of its own: a copy of ours would keep the lock when the log is gone.
    let read = Disk::read(place).map_err(io)?;
    check_place(links, &read, path)?;
    let reader = Reader::of(path, read);
    if scanned.tail == Tail::Unterminated {
        log.push(b"\n");
    }
    let Scan { header, mut tree, .. } = scanned;
    load(&mut tree, &reader).map_err(|error| error.into_open(path))?;
    let beside = |source| if is_link(&source) { OpenError::Elsewhere { path: path.to_owned() } } else { io(source) };
    let finished = finished::read(place).map_err(beside)?;
    let waits = slate::read(place).map_err(beside)?;
    Ok(Opened { header, tree, reader, log, finished, waits, notices })
}

/// Opens a session to read it. Nothing is locked or changed; an old version is brought up to date in memory.
pub fn view(path: &Path, random: fastrand::Rng) -> Result<Viewed, OpenError> {
    view_of(Disk::read(path).map_err(|source| cannot(path, source))?, path, random)
}

/// The same for a path that somebody checked, absolute and without links: what it leads to by now is not read.
pub fn view_exactly(path: &Path, random: fastrand::Rng) -> Result<Viewed, OpenError> {
    view_of(read_exactly(path)?, path, random)
}

/// Opens a file to read it if it is still the one at this path.
pub(crate) fn read_exactly(path: &Path) -> Result<Disk, OpenError> {
    let disk = Disk::read(path).map_err(|source| cannot(path, source))?;
    check_place(Links::Refused, &disk, path)?;
    Ok(disk)
}

fn view_of(disk: Disk, path: &Path, random: fastrand::Rng) -> Result<Viewed, OpenError> {
    let mut scanned = scan_file(path, &disk, random.clone())?;
    let mut notices: Vec<Notice> = common_notices(&scanned).collect();
    if let Tail::Torn { bytes } = scanned.tail {
        notices.push(Notice::Torn { bytes });
    }
    if scanned.old_version().is_some() {
        let lines = old::migrated(&disk, random.clone()).map_err(|source| cannot(path, source))?;
        scanned.tree = old::tree(lines, random);
    }
    let reader = Reader::of(path, disk);
    let Scan { header, mut tree, .. } = scanned;
    load(&mut tree, &reader).map_err(|error| error.into_open(path))?;
    Ok(Viewed { header, tree, reader, notices })
}

/// A file whose path was checked must be the one that was opened.
fn check_place(links: Links, disk: &Disk, path: &Path) -> Result<(), OpenError> {
    let is_good = match links {
        Links::Followed => true,
        Links::Refused => disk.is_exactly(path).map_err(|source| cannot(path, source))?,
    };
    if is_good { Ok(()) } else { Err(OpenError::Elsewhere { path: path.to_owned() }) }
}

fn lock_file(path: &Path) -> Result<(Disk, Vec<Notice>), OpenError> {
    match Disk::open(path).map_err(|source| cannot(path, source))? {
        lock::Locked::Ours(disk) => Ok((disk, Vec::new())),
        lock::Locked::Unknown(disk) => Ok((disk, vec![Notice::NotLocked])),
        lock::Locked::Taken(holder) => Err(OpenError::InUse { path: path.to_owned(), holder }),
    }
}

fn scan_file(path: &Path, disk: &Disk, random: fastrand::Rng) -> Result<Scan, OpenError> {
    scan(disk.reader(), random).map_err(|error| match error {
        ScanError::NotASession => OpenError::NotASession { path: path.to_owned() },
        ScanError::Unfinished => OpenError::Unfinished { path: path.to_owned() },
        ScanError::Io(source) => cannot(path, source),
    })
}

fn common_notices(scanned: &Scan) -> impl Iterator<Item = Notice> + use<> {
    let unreadable = (scanned.unreadable > 0).then_some(Notice::Unreadable { lines: scanned.unreadable });
    let version = scanned.header.version.filter(|version| *version > pi_transcript::entry::VERSION);
    unreadable.into_iter().chain(version.map(|version| Notice::Newer { version }))
}

fn cannot(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => OpenError::NotFound { path },
        _ => OpenError::Io { path, source },
    }
}
