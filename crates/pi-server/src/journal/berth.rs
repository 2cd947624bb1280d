//! Where each session is found again after a restart.

use pi_transcript::SessionId;
use rusqlite::{Connection, Transaction, named_params};

use super::{fault::JournalError, recovery::unsigned, store::number};

/// A session that the server has, loaded or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Berth {
    pub session: SessionId,
    /// Its file, which is not there as long as nothing was said. `None`: it is kept nowhere.
    pub file: Option<String>,
    /// Where its agent works.
    pub cwd: String,
    /// When it was created or loaded, ISO 8601.
    pub created: String,
    pub mark: Mark,
    pub auto: Auto,
}

/// How the file of a session is once everything is written that commands did: who finds it otherwise knows that somebody else
/// was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// `None`: nobody knows.
    pub length: Option<u64>,
    /// When it was written last, in nanoseconds since 1970. `None`: it was not there, or nobody knows.
    pub modified: Option<i64>,
}

/// What a client chose that is done by itself in a session. `None`: what the settings say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Auto {
    pub compaction: Option<bool>,
    pub retry: Option<bool>,
}

/// What becomes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    Keep(Berth),
    /// The same of one that is there; otherwise nothing.
    Change(Berth),
    Drop(SessionId),
}

pub(super) fn berths(connection: &Connection) -> Result<Vec<Berth>, JournalError> {
    let mut statement = connection.prepare(include_str!("sql/berths.sql"))?;
    let berths = statement.query_map([], |row| {
        let session: String = row.get("session")?;
        let (file, cwd, created) = (row.get("file")?, row.get("cwd")?, row.get("created")?);
        let mark = Mark { length: row.get::<_, Option<i64>>("length")?.map(unsigned), modified: row.get("modified")? };
        let auto = Auto { compaction: row.get("auto_compaction")?, retry: row.get("auto_retry")? };
        Ok(Berth { session: session.into(), file, cwd, created, mark, auto })
    })?;
    Ok(berths.collect::<Result<_, _>>()?)
}

pub(super) fn apply(transaction: &Transaction<'_>, change: &Move) -> Result<(), JournalError> {
    match change {
        Move::Keep(berth) => write(transaction, include_str!("sql/keep_berth.sql"), berth),
        Move::Change(berth) => write(transaction, include_str!("sql/change_berth.sql"), berth),
        Move::Drop(session) => {
            let parameters = named_params! { ":session": session.as_str() };
            transaction.prepare_cached(include_str!("sql/drop_berth.sql"))?.execute(parameters)?;
            Ok(())
        }
    }
}

fn write(transaction: &Transaction<'_>, statement: &str, berth: &Berth) -> Result<(), JournalError> {
    let Berth { session, file, cwd, created, mark, auto } = berth;
    transaction.prepare_cached(statement)?.execute(named_params! {
        ":session": session.as_str(), ":file": file, ":cwd": cwd, ":created": created,
        ":length": mark.length.map(number), ":modified": mark.modified, ":auto_compaction": auto.compaction, ":auto_retry": auto.retry,
    })?;
    Ok(())
}
