//! Where each session is found again after a restart.

use pi_transcript::SessionId;
use rusqlite::{Connection, Transaction, named_params};

use super::fault::JournalError;

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
}

/// What becomes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    Keep(Berth),
    Drop(SessionId),
}

pub(super) fn berths(connection: &Connection) -> Result<Vec<Berth>, JournalError> {
    let mut statement = connection.prepare(include_str!("sql/berths.sql"))?;
    let berths = statement.query_map([], |row| {
        let session: String = row.get("session")?;
        let (file, cwd, created) = (row.get("file")?, row.get("cwd")?, row.get("created")?);
        Ok(Berth { session: session.into(), file, cwd, created })
    })?;
    Ok(berths.collect::<Result<_, _>>()?)
}

pub(super) fn apply(transaction: &Transaction<'_>, change: &Move) -> Result<(), JournalError> {
    match change {
        Move::Keep(Berth { session, file, cwd, created }) => {
            let parameters =
                named_params! { ":session": session.as_str(), ":file": file, ":cwd": cwd, ":created": created };
            transaction.prepare_cached(include_str!("sql/keep_berth.sql"))?.execute(parameters)?;
        }
        Move::Drop(session) => {
            let parameters = named_params! { ":session": session.as_str() };
            transaction.prepare_cached(include_str!("sql/drop_berth.sql"))?.execute(parameters)?;
        }
    }
    Ok(())
}
