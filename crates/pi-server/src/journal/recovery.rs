//! What a journal hands back at the start.

use std::{collections::HashSet, sync::Arc};

use pi_engine::{Record, Sequence, SessionName, Ticket, Time, VersionMove};
use pi_wire::Kind;
use rusqlite::{Connection, Row};

use super::{
    berth::{self, Berth, Move},
    fault::{JournalError, Malformed},
    row::{Columns, Ended, Rest, unreadable},
};
use crate::answer::Answer;

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
    columns: Result<Columns, Malformed>,
    rest: String,
    alias_of: Option<i64>,
    finish: Option<Finish>,
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

    fn has_unfinished(&self, kinds: &[Kind]) -> bool {
        let mut unfinished = HashSet::new();
        for (_, record) in &self.records {
            match record {
                Record::Accepted { ticket, header, .. } => {
                    if kinds.iter().any(|kind| kind.name() == header.kind.as_str()) {
                        unfinished.insert(*ticket);
                    }
                }
                Record::Finished { ticket, .. } => drop(unfinished.remove(ticket)),
                Record::Alias { .. } | Record::Version(_) | Record::Reached(_) => {}
            }
        }
        !unfinished.is_empty()
    }
}

/// The session of which a record says the version.
fn versioned(record: &Record<Answer>) -> Option<&str> {
    match record {
        Record::Version(moved) => Some(moved.session.as_str()),
        Record::Accepted { .. } | Record::Finished { .. } | Record::Alias { .. } | Record::Reached(_) => None,
    }
}

pub(super) fn recover(connection: &Connection) -> Result<Recovery, JournalError> {
    let berths = berth::berths(connection)?;
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
    let fingerprint: Vec<u8> = row.get("fingerprint")?;
    let columns = match <[u8; 32]>::try_from(fingerprint) {
        Ok(fingerprint) => Ok(Columns {
            lane: row.get("lane")?,
            kind: row.get("kind")?,
            principal: row.get("principal")?,
            client: row.get("client")?,
            id: row.get("id")?,
            key: row.get("key")?,
            fingerprint,
        }),
        Err(_) => Err(Malformed::Number),
    };
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
        rest: row.get("header")?,
        alias_of: row.get("alias_of")?,
        finish,
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

/// Adds what a row says. A command of which is known that it ended is added in any case: it must not run again.
fn understand(stored: Stored, records: &mut Vec<(Sequence, Record<Answer>)>) -> Result<(), Malformed> {
    let rest: Rest = serde_json::from_str(&stored.rest)?;
    let header = Arc::new(rest.header(stored.columns?)?);
    let (ticket, at) = (Ticket(unsigned(stored.ticket)), Time(unsigned(stored.at)));
    let is_deletion = header.kind.as_str() == Kind::DeleteSession.name();
    let about = header.about.clone();
    let accepted = match stored.alias_of {
        None => Record::Accepted { ticket, at, header },
        Some(of) => Record::Alias { ticket, at, header, of: Ticket(unsigned(of)) },
    };
    records.push((Sequence(unsigned(stored.sequence)), accepted));
    let Some(Finish { sequence, at, size, version, ended }) = stored.finish else { return Ok(()) };
    let (size, at) = (usize::try_from(size).unwrap_or(0), Time(unsigned(at)));
    let understood = match ended {
        Some(ended) => ended.outcome(),
        None => Err(Malformed::Outcome),
    };
    let (outcome, fault) = match understood {
        Ok(outcome) => (outcome, Ok(())),
        Err(fault) => (unreadable(version), Err(fault)),
    };
    // The table of versions tells what is there, and not what went: the keys of a session go with it.
    let gone = about.filter(|_| is_deletion && outcome.is_success());
    let version = gone.map(|session| VersionMove { session, version: None });
    let record = Record::Finished { ticket, at, outcome: Arc::new(outcome), size, version };
    records.push((Sequence(unsigned(sequence)), record));
    fault
}

/// Our numbers are never negative; a file that says otherwise was damaged.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
