//! What a journal hands back at the start.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::Arc,
};

use pi_engine::{Header, Record, Sequence, SessionName, Ticket, Time, VersionMove};
use pi_wire::Kind;
use rusqlite::{Connection, Row, types::FromSql};

use super::{
    berth::{self, Berth, Move},
    fault::{JournalError, Malformed},
    row::{self, Columns, Ended, Rest},
    store::is_current,
};
use crate::{answer::Answer, room::seen};

/// Everything that the engine must know again, in the order in which it was written.
#[derive(Debug)]
pub struct Recovery {
    pub records: Vec<(Sequence, Record<Answer>)>,
    /// The sessions that there were, in the order in which they were made.
    pub berths: Vec<Berth>,
    /// Those of the commands that had begun when they were last heard of.
    pub started: HashSet<Ticket>,
    /// Rows that this version cannot read; they are left alone.
    pub malformed: u64,
    /// Why nothing can be written now, where there is hope that it can be later.
    pub trouble: Option<JournalError>,
}

/// One command, with its columns as they are.
struct Stored {
    ticket: i64,
    sequence: i64,
    at: i64,
    is_started: bool,
    columns: Columns,
    rest: String,
    alias_of: Option<i64>,
    finish: Option<Finish>,
    /// What is wrong with the columns, if something is.
    fault: Option<Malformed>,
}

struct Finish {
    sequence: i64,
    at: i64,
    size: i64,
    version: Option<u64>,
    /// Nothing where a column does not hold what it should.
    ended: Option<Ended>,
}

impl Recovery {
    /// Drops the sessions whose making was cut short: that is told as failed, so they must not be there. They are those
    /// without a version, which a session gets with the answer that it was made. Answers what is to be written of that, with
    /// the record that tells the failure.
    pub(super) fn drop_unmade(&mut self) -> Vec<Move> {
        if !self.has_unfinished(&[Kind::CreateSession, Kind::LoadSession]) {
            return Vec::new();
        }
        let versioned: HashSet<&str> = self.records.iter().filter_map(|(_, record)| versioned(record)).collect();
        let is_made = |berth: &Berth| versioned.contains(berth.session.as_str());
        let (made, unmade): (Vec<_>, Vec<_>) = std::mem::take(&mut self.berths).into_iter().partition(is_made);
        self.berths = made;
        let dropped = unmade.into_iter().map(|Berth { session, .. }| {
            tracing::warn!(%session, "the last server ended while it made this session; it is not there");
            Move::Drop(session)
        });
        dropped.collect()
    }

    /// Looks at the files of sessions in which a command was cut short. What it wrote there is ours, and its end moves the
    /// version; found later it would be taken for somebody else's. Answers what is to be written of that.
    pub(super) fn measure_interrupted(&mut self) -> Vec<Move> {
        let unfinished = unfinished(&self.records).into_iter();
        let sessions: HashSet<&str> = unfinished.filter_map(|header| Some(header.lane.session()?.as_str())).collect();
        let mut moved = Vec::new();
        for berth in self.berths.iter_mut().filter(|berth| sessions.contains(berth.session.as_str())) {
            let found = berth.file.as_deref().and_then(|file| seen(Path::new(file)));
            if let Some(found) = found.filter(|found| *found != berth.mark) {
                berth.mark = found;
                moved.push(Move::Change(berth.clone()));
            }
        }
        moved
    }

    fn has_unfinished(&self, kinds: &[Kind]) -> bool {
        let is_such = |header: &Header| kinds.iter().any(|kind| kind.name() == header.kind.as_str());
        unfinished(&self.records).into_iter().any(is_such)
    }
}

/// Commands that were accepted and have not ended.
fn unfinished(records: &[(Sequence, Record<Answer>)]) -> Vec<&Header> {
    let mut open = BTreeMap::new();
    for (_, record) in records {
        match record {
            Record::Accepted { ticket, header, .. } => drop(open.insert(*ticket, &**header)),
            Record::Finished { ticket, .. } => drop(open.remove(ticket)),
            Record::Alias { .. } | Record::Version(_) | Record::Reached(_) => {}
        }
    }
    open.into_values().collect()
}

/// The session of which a record says the version.
fn versioned(record: &Record<Answer>) -> Option<&str> {
    match record {
        Record::Version(moved) => moved.version.map(|_| moved.session.as_str()),
        Record::Accepted { .. } | Record::Finished { .. } | Record::Alias { .. } | Record::Reached(_) => None,
    }
}

/// Reads a journal. Of one that an earlier release wrote, and that nobody has brought up to date, only the commands are read.
pub(super) fn recover(connection: &Connection) -> Result<Recovery, JournalError> {
    let is_current = is_current(connection)?;
    let berths = if is_current { berth::berths(connection)? } else { Vec::new() };
    let mut recovery = Recovery { records: Vec::new(), berths, started: HashSet::new(), malformed: 0, trouble: None };
    let mut statement = connection.prepare(include_str!("sql/remembered.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let understood = match read(row) {
            Ok(stored) => {
                recovery.started.extend(stored.is_started.then_some(Ticket(unsigned(stored.ticket))));
                understand(stored, &mut recovery.records)
            }
            Err(error) if is_of_the_row(&error) => Err(Malformed::Column(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        if let Err(fault) = understood {
            tracing::warn!(error = %fault, "a record of the journal cannot be read");
            recovery.malformed += 1;
        }
    }
    // What the outcomes moved is known from the table of versions, which outlives them.
    let mut statement = connection.prepare(include_str!("sql/versions.sql"))?;
    let versions = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    for version in versions {
        let (session, version, sequence): (String, i64, i64) = version?;
        let moved = VersionMove { session: SessionName::from(session), version: Some(unsigned(version)) };
        recovery.records.push((Sequence(unsigned(sequence)), Record::Version(moved)));
    }
    if is_current {
        // The keys of a session go with it.
        let mut statement = connection.prepare(include_str!("sql/gone.sql"))?;
        for gone in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (session, sequence): (String, i64) = gone?;
            let moved = VersionMove { session: SessionName::from(session), version: None };
            recovery.records.push((Sequence(unsigned(sequence)), Record::Version(moved)));
        }
    }
    recovery.records.sort_by_key(|(sequence, record)| (*sequence, matches!(record, Record::Version(_))));
    let marked = |name: &str| connection.query_row(include_str!("sql/marked.sql"), [name], |row| row.get::<_, i64>(0));
    let (ticket, sequence) = (unsigned(marked("ticket")?), unsigned(marked("sequence")?));
    if sequence > 0 {
        recovery.records.push((Sequence(sequence), Record::Reached(Ticket(ticket))));
    }
    Ok(recovery)
}

/// Whether one row is to blame, and not the file.
fn is_of_the_row(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let mut fault = None;
    let columns = Columns {
        lane: column(row, "lane", &mut fault)?,
        kind: column(row, "kind", &mut fault)?,
        principal: column(row, "principal", &mut fault)?,
        client: column(row, "client", &mut fault)?,
        id: column(row, "id", &mut fault)?,
        key: column(row, "key", &mut fault)?,
        fingerprint: fingerprint(&column::<Vec<u8>>(row, "fingerprint", &mut fault)?, &mut fault),
        subject: column(row, "subject", &mut fault)?,
    };
    let rest = column(row, "header", &mut fault)?;
    let finish = match row.get::<_, Option<i64>>("finished_sequence")? {
        None => None,
        Some(sequence) => Some(Finish {
            sequence,
            at: row.get::<_, Option<i64>>("finished_at").ok().flatten().unwrap_or(row.get("accepted_at")?),
            size: row.get::<_, Option<i64>>("size").ok().flatten().unwrap_or(0),
            version: row.get::<_, Option<i64>>("version").ok().flatten().map(unsigned),
            ended: match ended(row) {
                Ok(ended) => Some(ended),
                Err(error) if is_of_the_row(&error) => None,
                Err(error) => return Err(error),
            },
        }),
    };
    Ok(Stored {
        ticket: row.get("ticket")?,
        sequence: row.get("sequence")?,
        at: row.get("accepted_at")?,
        is_started: row.get::<_, Option<i64>>("started_at")?.is_some(),
        columns,
        rest,
        alias_of: row.get("alias_of")?,
        finish,
        fault,
    })
}

/// What a column says; nothing where it does not hold what it should.
fn column<T: FromSql + Default>(row: &Row<'_>, name: &str, fault: &mut Option<Malformed>) -> rusqlite::Result<T> {
    match row.get(name) {
        Err(error) if is_of_the_row(&error) => {
            fault.get_or_insert_with(|| Malformed::Column(error.to_string()));
            Ok(T::default())
        }
        read => read,
    }
}

/// One that is damaged becomes one that no command has: what repeats its id or key is refused, and does not run again.
fn fingerprint(bytes: &[u8], fault: &mut Option<Malformed>) -> [u8; 32] {
    <[u8; 32]>::try_from(bytes).unwrap_or_else(|_| {
        fault.get_or_insert(Malformed::Fingerprint);
        [0; 32]
    })
}

fn ended(row: &Row<'_>) -> rusqlite::Result<Ended> {
    Ok(Ended {
        success: row.get("success")?,
        timed_out: row.get("timed_out")?,
        recovered: row.get("recovered")?,
        error: row.get("error")?,
        version: row.get::<_, Option<i64>>("version")?.map(unsigned),
        answer: row.get("answer")?,
    })
}

/// Adds what a row says. A command of which some of it cannot be read is added in any case: it must not run again.
fn understand(stored: Stored, records: &mut Vec<(Sequence, Record<Answer>)>) -> Result<(), Malformed> {
    let rest = serde_json::from_str::<Rest>(&stored.rest).map_err(Malformed::from);
    let (header, unread) = match rest.and_then(|rest| rest.header(&stored.columns)) {
        Ok(header) => (header, None),
        Err(fault) => (row::known_by_name(stored.columns), Some(fault)),
    };
    let header = Arc::new(header);
    let (ticket, at) = (Ticket(unsigned(stored.ticket)), Time(unsigned(stored.at)));
    let is_of_session = header.lane.session().is_some();
    let accepted = match stored.alias_of {
        None => Record::Accepted { ticket, at, header },
        Some(of) => Record::Alias { ticket, at, header, of: Ticket(unsigned(of)) },
    };
    records.push((Sequence(unsigned(stored.sequence)), accepted));
    let mut fault = stored.fault.or(unread);
    if let Some(Finish { sequence, at, size, version, ended }) = stored.finish {
        let (size, at) = (usize::try_from(size).unwrap_or(0), Time(unsigned(at)));
        let outcome = ended.map_or(Err(Malformed::Outcome), Ended::outcome).unwrap_or_else(|unreadable| {
            fault.get_or_insert(unreadable);
            // Without a version it would have ended where there was no session, and its key would count for nothing.
            row::unreadable(version.or(is_of_session.then_some(0)))
        });
        // The table of versions tells what it moved, and that of sessions that are gone what it removed.
        let record = Record::Finished { ticket, at, outcome: Arc::new(outcome), size, version: None };
        records.push((Sequence(unsigned(sequence)), record));
    }
    fault.map_or(Ok(()), Err)
}

/// Our numbers are never negative; a file that says otherwise was damaged.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
