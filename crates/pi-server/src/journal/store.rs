//! The database under the journal: SQLite in WAL mode, one connection that writes.
//!
//! Synchronous, and used from one thread. A commit returns when the log of the database is on the disk, and everything
//! that is appended together shares that one wait.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_engine::{Header, Record, Sequence, Ticket, Time, VersionMove};
use pi_redact::Redactor;
use rusqlite::{Connection, OpenFlags, Transaction, named_params};

use super::{
    berth::{self, Move},
    fault::JournalError,
    lock,
    row::{Ended, Rest},
};
use crate::answer::Answer;

/// `pijl` in ASCII: tells our files from other databases.
const APPLICATION: u32 = 0x7069_6a6c;
/// Each takes the schema one version further.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];
/// The version that this release writes.
pub const SCHEMA_VERSION: u32 = 4;
const _: () = assert!(MIGRATIONS.len() == SCHEMA_VERSION as usize);

/// Pages that the log of the database may have before a commit carries them over to the file, which waits for the disk twice
/// more. Four times the usual: under load a commit in a hundred does. Mostly it is done [in between](Store::carry_over).
const LOG_PAGES: u32 = 4000;

/// A file up to this size is checked at every start; that takes a fraction of a second.
const CHECKED_BYTES: u64 = 64 << 20;

/// How much history is kept of commands that nobody can ask for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age_ms: u64,
    pub count: u64,
    /// Of the whole file. When it is larger, the oldest history goes.
    pub bytes: u64,
}

/// How long a journal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub commands: u64,
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age_ms: 30 * 24 * 60 * 60 * 1000, count: 100_000, bytes: 1 << 30 }
    }
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The disk: it survives a loss of power.
    Synced,
    /// The system: it survives the end of the process.
    Written,
}

impl Durability {
    const fn word(self) -> &'static str {
        match self {
            Self::Synced => "full",
            Self::Written => "normal",
        }
    }
}

/// Who may open the file beside us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Others,
    /// Nobody: the index of its log is in our memory, because its disk has no room for that.
    Alone,
}

#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    sharing: Sharing,
    redactor: Arc<Redactor>,
    path: PathBuf,
    /// How far the file may grow, where that was said.
    ceiling: Option<u64>,
}

impl Store {
    pub(super) fn open(path: &Path, redactor: Arc<Redactor>) -> Result<Self, JournalError> {
        let (connection, sharing) = connect(path)?;
        let mut store = Self { connection, sharing, redactor, path: path.to_owned(), ceiling: None };
        store.migrate(path)?;
        Ok(store)
    }

    /// Whether nobody else can open the file, until it is [probed](Self::probe) with success.
    pub(super) fn is_alone(&self) -> bool {
        self.sharing == Sharing::Alone
    }

    /// Lets others open the file again if there is room for the index of its log by now.
    fn share(&mut self) -> Result<(), JournalError> {
        // Ours is closed first: while it is open nobody else's can be.
        self.connection = Connection::open_in_memory()?;
        (self.connection, self.sharing) = connect(&self.path)?;
        self.ceiling.map_or(Ok(()), |bytes| self.limit(bytes))
    }

    /// Lets the file grow so far and no further.
    pub(super) fn limit(&mut self, bytes: u64) -> Result<(), JournalError> {
        self.ceiling = Some(bytes);
        let size: i64 = self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = number(bytes) / size.max(1);
        // It answers the limit in force, which is never less than what there is.
        self.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        Ok(())
    }

    /// Tells apart why there is no room: SQLite has one word for a full disk and for the limit of a file.
    pub(super) fn explain(&self, error: JournalError) -> JournalError {
        let Some(ceiling) = self.ceiling else { return error };
        let JournalError::Full(source) = error else { return error };
        let left = bytes(&self.connection).map_or(u64::MAX, |used| ceiling.saturating_sub(used));
        // What is written lies in the log too, for a while.
        let is_at_ceiling = free_space(&self.path).is_some_and(|free| left.saturating_mul(2) <= free);
        if is_at_ceiling { JournalError::AtCeiling { ceiling, source } } else { JournalError::Full(source) }
    }

    fn migrate(&mut self, path: &Path) -> Result<(), JournalError> {
        let found = user_version(&self.connection)?;
        if found > SCHEMA_VERSION {
            return Err(JournalError::Newer { path: path.to_owned(), found, known: SCHEMA_VERSION });
        }
        // A file that is as it should be is not written: its disk may be full.
        if found == SCHEMA_VERSION {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        for migration in MIGRATIONS.iter().skip(found as usize) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.commit()?;
        Ok(())
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Writes the records, which commands have started, and what became of sessions; all or nothing.
    pub(super) fn append(
        &mut self,
        records: &[(Sequence, Record<Answer>)],
        started: &[(Ticket, Time)],
        moved: &[Move],
        durability: Durability,
    ) -> Result<(), JournalError> {
        self.connection.pragma_update(None, "synchronous", durability.word())?;
        let transaction = self.connection.transaction()?;
        for (sequence, record) in records {
            write(&transaction, &self.redactor, *sequence, record)?;
        }
        for (ticket, at) in started {
            let mut statement = transaction.prepare_cached(include_str!("sql/start.sql"))?;
            statement.execute(named_params! { ":ticket": number(ticket.0), ":at": number(at.0) })?;
        }
        for change in moved {
            berth::apply(&transaction, change)?;
        }
        if let Some((sequence, _)) = records.last() {
            mark(&transaction, "sequence", sequence.0)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Keeps these commands as history only. The disk is not waited for: what comes back after a loss of power is forgotten once
    /// more.
    pub(super) fn forget(&mut self, tickets: &[Ticket]) -> Result<(), JournalError> {
        self.connection.pragma_update(None, "synchronous", Durability::Written.word())?;
        let transaction = self.connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached(include_str!("sql/forget.sql"))?;
            for ticket in tickets {
                statement.execute(named_params! { ":ticket": number(ticket.0) })?;
            }
            transaction.prepare_cached(include_str!("sql/drop_answers.sql"))?.execute([])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Whether something can be written.
    pub(super) fn probe(&mut self, now: Time) -> Result<(), JournalError> {
        if self.is_alone() {
            self.share()?;
        }
        self.connection.pragma_update(None, "synchronous", Durability::Synced.word())?;
        let transaction = self.connection.transaction()?;
        // What is written twice alike is not written at all.
        let before: i64 = transaction.query_row(include_str!("sql/marked.sql"), ["probed"], |row| row.get(0))?;
        let before = u64::try_from(before).unwrap_or(0);
        mark(&transaction, "probed", now.0.max(before.saturating_add(1)))?;
        transaction.commit()?;
        Ok(())
    }

    /// Carries what is in the log of the database over to its file, as far as nobody reads the log; then the log begins anew.
    /// What was held of the file in memory is given back: it is done when nobody waits, and the system holds it as well.
    pub(super) fn carry_over(&self) -> Result<(), JournalError> {
        self.connection.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()))?;
        self.connection.execute_batch("pragma shrink_memory")?;
        Ok(())
    }

    /// Drops history beyond what is to be kept; answers how many commands went.
    pub(super) fn prune(&mut self, retention: Retention, now: Time) -> Result<usize, JournalError> {
        let oldest = now.0.saturating_sub(retention.age_ms);
        let mut pruned = self.prune_to(oldest, retention.count)?;
        while self.bytes()? > retention.bytes {
            let kept: i64 = self.connection.query_row(include_str!("sql/count_forgotten.sql"), [], |row| row.get(0))?;
            // A quarter at a time: what is left is measured anew.
            let went = self.prune_to(oldest, u64::try_from(kept).unwrap_or(0) * 3 / 4)?;
            if went == 0 {
                break;
            }
            pruned += went;
        }
        Ok(pruned)
    }

    fn prune_to(&mut self, oldest: u64, count: u64) -> Result<usize, JournalError> {
        let transaction = self.connection.transaction()?;
        let parameters = named_params! { ":oldest": number(oldest), ":count": number(count) };
        let pruned = transaction.prepare_cached(include_str!("sql/prune.sql"))?.execute(parameters)?;
        if pruned > 0 {
            transaction.prepare_cached(include_str!("sql/prune_lanes.sql"))?.execute([])?;
            transaction.prepare_cached(include_str!("sql/prune_gone.sql"))?.execute([])?;
        }
        transaction.commit()?;
        Ok(pruned)
    }

    /// How long it is.
    pub(super) fn extent(&self) -> Result<Extent, JournalError> {
        let commands =
            self.connection.query_row(include_str!("sql/count_commands.sql"), [], |row| row.get::<_, i64>(0))?;
        Ok(Extent { commands: u64::try_from(commands).unwrap_or(0), bytes: self.bytes()? })
    }

    /// How many commands may still be asked for.
    pub(super) fn remembered(&self) -> Result<u64, JournalError> {
        let count: i64 = self.connection.query_row(include_str!("sql/count_remembered.sql"), [], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Bytes in use, free pages not counted.
    pub(super) fn bytes(&self) -> Result<u64, JournalError> {
        bytes(&self.connection)
    }

    /// Gives free pages back to the disk.
    pub(super) fn compact(&mut self) -> Result<(), JournalError> {
        self.connection.execute_batch(include_str!("sql/compact.sql"))?;
        Ok(())
    }
}

/// Opens a journal to write it. On a disk so full that there is no room for the index of its log it is opened for us alone:
/// what is kept can be read then.
fn connect(path: &Path) -> Result<(Connection, Sharing), JournalError> {
    match connect_as(path, Sharing::Others) {
        Err(JournalError::Full(_)) => Ok((connect_as(path, Sharing::Alone)?, Sharing::Alone)),
        connected => Ok((connected?, Sharing::Others)),
    }
}

fn connect_as(path: &Path, sharing: Sharing) -> Result<Connection, JournalError> {
    let connection = Connection::open(path)?;
    if sharing == Sharing::Alone {
        // Before anything is read: then the index stays in memory.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    claim(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", Durability::Synced.word())?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// How many bytes may still be written on the disk of a file, where the system tells.
#[cfg(unix)]
fn free_space(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}

fn bytes(connection: &Connection) -> Result<u64, JournalError> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let used = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
    Ok(u64::try_from(used).unwrap_or(0))
}

/// What is broken in the file, if it is small enough to be read through.
pub(super) fn damage(connection: &Connection) -> Result<Option<String>, JournalError> {
    if bytes(connection)? > CHECKED_BYTES {
        return Ok(None);
    }
    let checked = connection.query_row("pragma quick_check(1)", [], |row| row.get::<_, String>(0));
    match checked.map_err(JournalError::from) {
        Ok(said) => Ok((said != "ok").then_some(said)),
        Err(JournalError::Damaged { said }) => Ok(Some(said)),
        Err(error) => Err(error),
    }
}

/// Opens a journal that somebody else may be writing, to look into it.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, JournalError> {
    if path.metadata().is_ok_and(|facts| facts.len() == 0) {
        return Err(JournalError::Empty { path: path.to_owned() });
    }
    // Where a server had its lock, it is a journal of which the beginning is broken.
    if !is_database(path)? && !lock::beside(path).exists() {
        return Err(JournalError::NoDatabase { path: path.to_owned() });
    }
    open_own_to_read(path)
}

/// The same for the process that writes it, which must not open the file in any other way: closing it there would give up the
/// locks that SQLite has on it.
pub(super) fn open_own_to_read(path: &Path) -> Result<Connection, JournalError> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = user_version(&connection)?;
    let application: u32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application != APPLICATION {
        return Err(JournalError::Foreign { path: path.to_owned() });
    }
    if found > SCHEMA_VERSION {
        return Err(JournalError::Newer { path: path.to_owned(), found, known: SCHEMA_VERSION });
    }
    Ok(connection)
}

/// Whether the file begins as databases do; an empty one may become one.
#[expect(clippy::disallowed_methods, reason = "SQLite does not say what kind of file it refused")]
fn is_database(path: &Path) -> Result<bool, JournalError> {
    const BEGINNING: &[u8] = b"SQLite format 3\0";
    let failed = |source| JournalError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut found = Vec::new();
    file.take(BEGINNING.len() as u64).read_to_end(&mut found).map_err(failed)?;
    Ok(found.is_empty() || found == BEGINNING)
}

/// An empty file becomes ours; any other must be.
fn claim(connection: &Connection, path: &Path) -> Result<(), JournalError> {
    let application: u32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row(include_str!("sql/count_tables.sql"), [], |row| row.get(0))?;
    if application == APPLICATION || (application == 0 && tables == 0) {
        return Ok(());
    }
    Err(JournalError::Foreign { path: path.to_owned() })
}

/// Whether its tables are those of this release.
pub(super) fn is_current(connection: &Connection) -> Result<bool, JournalError> {
    Ok(user_version(connection)? == SCHEMA_VERSION)
}

fn user_version(connection: &Connection) -> Result<u32, JournalError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn write(
    transaction: &Transaction<'_>,
    redactor: &Redactor,
    sequence: Sequence,
    record: &Record<Answer>,
) -> Result<(), JournalError> {
    match record {
        Record::Accepted { ticket, at, header } => accept(transaction, sequence, *ticket, *at, header, None),
        Record::Alias { ticket, at, header, of } => accept(transaction, sequence, *ticket, *at, header, Some(*of)),
        Record::Finished { ticket, at, outcome, size, version } => {
            let kind = kind_of(transaction, *ticket)?;
            let ended = Ended::of(&kind, outcome, redactor);
            let mut statement = transaction.prepare_cached(include_str!("sql/finish.sql"))?;
            statement.execute(named_params! {
                ":ticket": number(ticket.0),
                ":sequence": number(sequence.0),
                ":at": number(at.0),
                ":success": ended.success,
                ":timed_out": ended.timed_out,
                ":recovered": ended.recovered,
                ":error": ended.error,
                ":version": ended.version.map(number),
                ":answer": ended.answer,
                ":size": i64::try_from(*size).unwrap_or(i64::MAX),
            })?;
            version.as_ref().map_or(Ok(()), |moved| move_version(transaction, sequence, moved))
        }
        Record::Version(moved) => move_version(transaction, sequence, moved),
        // Only what we hand back holds one.
        Record::Reached(_) => Ok(()),
    }
}

fn accept(
    transaction: &Transaction<'_>,
    sequence: Sequence,
    ticket: Ticket,
    at: Time,
    header: &Header,
    alias_of: Option<Ticket>,
) -> Result<(), JournalError> {
    let lane = header.lane.to_string();
    let counted = named_params! { ":lane": lane };
    let lane_sequence: i64 =
        transaction.prepare_cached(include_str!("sql/count_lane.sql"))?.query_row(counted, |row| row.get(0))?;
    let rest = serde_json::to_string(&Rest::of(header)).expect("a header is words and numbers");
    transaction.prepare_cached(include_str!("sql/accept.sql"))?.execute(named_params! {
        ":ticket": number(ticket.0),
        ":sequence": number(sequence.0),
        ":at": number(at.0),
        ":lane": lane,
        ":lane_sequence": lane_sequence,
        ":kind": header.kind.as_str(),
        ":principal": header.principal.as_str(),
        ":client": header.client.as_str(),
        ":id": header.id.as_ref().map(|id| id.as_str()),
        ":key": header.key.as_ref().map(|key| key.as_str()),
        ":fingerprint": header.fingerprint.0,
        ":subject": header.subject().map(|session| session.as_str()),
        ":header": rest,
        ":alias_of": alias_of.map(|of| number(of.0)),
    })?;
    mark(transaction, "ticket", ticket.0)
}

fn move_version(transaction: &Transaction<'_>, sequence: Sequence, moved: &VersionMove) -> Result<(), JournalError> {
    let session = moved.session.as_str();
    match moved.version {
        Some(version) => {
            let parameters =
                named_params! { ":session": session, ":version": number(version), ":sequence": number(sequence.0) };
            transaction.prepare_cached(include_str!("sql/move_version.sql"))?.execute(parameters)?;
        }
        None => {
            let parameters = named_params! { ":session": session };
            transaction.prepare_cached(include_str!("sql/drop_version.sql"))?.execute(parameters)?;
            let parameters = named_params! { ":session": session, ":sequence": number(sequence.0) };
            transaction.prepare_cached(include_str!("sql/let_go.sql"))?.execute(parameters)?;
        }
    }
    Ok(())
}

fn kind_of(transaction: &Transaction<'_>, ticket: Ticket) -> Result<pi_engine::Kind, JournalError> {
    let parameters = named_params! { ":ticket": number(ticket.0) };
    let kind: String =
        transaction.prepare_cached(include_str!("sql/kind.sql"))?.query_row(parameters, |row| row.get(0))?;
    Ok(kind.into())
}

fn mark(transaction: &Transaction<'_>, name: &str, value: u64) -> Result<(), JournalError> {
    let parameters = named_params! { ":name": name, ":value": number(value) };
    transaction.prepare_cached(include_str!("sql/mark.sql"))?.execute(parameters)?;
    Ok(())
}

/// SQLite counts with a sign; none of our numbers gets that far.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{berth::Berth, *};

    #[test]
    fn log_is_carried_over_between_commits_and_not_by_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.sqlite");
        let mut store = Store::open(&path, Arc::default()).expect("it is made");
        let length = || path.metadata().expect("it is there").len();
        store.carry_over().expect("nobody reads it");
        let before = length();
        // More pages than SQLite would leave in the log by itself.
        let cwd = "x".repeat(1 << 20);
        for number in 0..6 {
            let berth = Berth {
                session: format!("s{number}").as_str().into(),
                file: None,
                cwd: cwd.clone(),
                created: String::new(),
                mark: Default::default(),
                auto: Default::default(),
            };
            store.append(&[], &[], &[Move::Keep(berth)], Durability::Synced).expect("it can be written");
        }
        assert_eq!(length(), before);
        store.carry_over().expect("nobody reads it");
        assert!(length() > before + 6 * (1 << 20), "{} bytes", length());
    }

    #[test]
    fn disk_is_waited_for_where_somebody_relies_on_it_and_only_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(&folder.path().join("journal.sqlite"), Arc::default()).expect("it is made");
        let waits = |store: &Store| -> i64 {
            store.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).expect("it is known")
        };
        const FULL: i64 = 2;
        store.forget(&[Ticket(1)]).expect("it can be written");
        assert!(waits(&store) < FULL);
        store.probe(Time(1)).expect("it can be written");
        assert_eq!(waits(&store), FULL);
        store.append(&[], &[], &[], Durability::Written).expect("it can be written");
        assert!(waits(&store) < FULL);
        store.append(&[], &[], &[], Durability::Synced).expect("it can be written");
        assert_eq!(waits(&store), FULL);
    }
}
