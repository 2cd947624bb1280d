//! Looking at a journal from outside: whether it is sound, what is in it, and making it smaller.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use pi_engine::Time;
use pi_redact::Redactor;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{
    fault::JournalError,
    history::{Filter, Page, Told, history, tell},
    lock::Lock,
    recovery::recover,
    store::{Extent, Retention, Store, open_to_read},
};

/// What was found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The database itself says so.
    Damaged(String),
    /// A rule that every journal of ours keeps, and how many rows break it.
    Broken { rule: &'static str, rows: u64 },
    /// Commands that this version cannot read.
    Malformed(u64),
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub commands: u64,
    pub unfinished: u64,
    pub sessions: u64,
    pub findings: Vec<Finding>,
}

/// Rules of every journal, each a query that counts what breaks it.
const RULES: [(&str, &str); 5] = [
    ("a command that ended was accepted before", include_str!("sql/rule/order.sql")),
    ("a command that ended has an outcome", include_str!("sql/rule/outcome.sql")),
    ("an alias stands for a command before it", include_str!("sql/rule/alias.sql")),
    ("numbers in a lane grow with the order of acceptance", include_str!("sql/rule/lane.sql")),
    ("no number is higher than the highest given out", include_str!("sql/rule/mark.sql")),
];

/// Reads the whole journal and checks it. Somebody may be writing it meanwhile.
pub fn verify(path: &Path) -> Result<Verdict, JournalError> {
    match examine(path) {
        // What SQLite could not even read is an answer too.
        Err(JournalError::Damaged { said }) => {
            Ok(Verdict { commands: 0, unfinished: 0, sessions: 0, findings: vec![Finding::Damaged(said)] })
        }
        // A table or a column is missing: the file is a database, and no journal any more.
        Err(JournalError::Database(source)) => {
            let findings = vec![Finding::Damaged(source.to_string())];
            Ok(Verdict { commands: 0, unfinished: 0, sessions: 0, findings })
        }
        examined => examined,
    }
}

fn examine(path: &Path) -> Result<Verdict, JournalError> {
    let connection = open_to_read(path)?;
    let count = |query: &str| -> Result<u64, JournalError> {
        let found: i64 = connection.query_row(query, [], |row| row.get(0))?;
        Ok(u64::try_from(found).unwrap_or(0))
    };
    let mut findings = damage(&connection)?;
    if findings.is_empty() {
        for (rule, query) in RULES {
            let rows = count(query)?;
            findings.extend((rows > 0).then_some(Finding::Broken { rule, rows }));
        }
        let malformed = recover(&connection)?.malformed;
        findings.extend((malformed > 0).then_some(Finding::Malformed(malformed)));
    }
    let is_damaged = findings.iter().any(|finding| matches!(finding, Finding::Damaged(_)));
    let counted = |query: &str| match count(query) {
        // What cannot be counted in a damaged file is told as damage.
        Err(JournalError::Damaged { .. }) if is_damaged => Ok(0),
        counted => counted,
    };
    Ok(Verdict {
        commands: counted(include_str!("sql/count_commands.sql"))?,
        unfinished: counted(include_str!("sql/count_unfinished.sql"))?,
        sessions: counted(include_str!("sql/count_versions.sql"))?,
        findings,
    })
}

fn damage(connection: &Connection) -> Result<Vec<Finding>, JournalError> {
    let mut statement = connection.prepare("pragma integrity_check(20)")?;
    let said = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(said.into_iter().filter(|line| line != "ok").map(Finding::Damaged).collect())
}

/// What commands did, newest first.
pub fn show(path: &Path, filter: &Filter) -> Result<Page, JournalError> {
    history(&open_to_read(path)?, filter)
}

/// Why an export did not get to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the export cannot be written")]
    Write(#[from] io::Error),
}

/// Writes every command as a line of JSON, the oldest first, without secrets; answers how many.
pub fn export(path: &Path, redactor: &Redactor, to: &mut impl Write) -> Result<u64, ExportError> {
    let connection = open_to_read(path)?;
    let mut statement = connection.prepare(include_str!("sql/export.sql")).map_err(JournalError::from)?;
    let rows = statement.query_map([], tell).map_err(JournalError::from)?;
    let mut count = 0;
    for told in rows {
        let mut line = line(&told.map_err(JournalError::from)?);
        redactor.redact_value(&mut line);
        writeln!(to, "{line}")?;
        count += 1;
    }
    Ok(count)
}

/// One command as an export tells it.
pub fn line(told: &Told) -> Value {
    let finish = told.finish.as_ref().map(|finish| {
        json!({
            "at": finish.at.0,
            "success": finish.success,
            "timedOut": finish.timed_out,
            "recovered": finish.recovered,
            "error": finish.error,
            "sessionVersion": finish.version,
        })
    });
    json!({
        "ticket": told.ticket.0,
        "command": told.kind,
        "lane": told.lane,
        "laneSequence": told.lane_sequence,
        "transport": told.transport,
        "clientId": told.client,
        "id": told.id,
        "idempotencyKey": told.key,
        "fingerprint": hexadecimal(&told.fingerprint),
        "sessionId": told.session,
        "dependsOn": told.depends_on,
        "ifSessionVersion": told.if_version,
        "acceptedAt": told.accepted.0,
        "startedAt": told.started.map(|at| at.0),
        "finished": finish,
        "aliasOf": told.alias_of.map(|of| of.0),
    })
}

/// As fingerprints are written.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What compacting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    pub dropped: usize,
    /// All that are still there.
    pub kept: u64,
    /// Those of them whose outcome a client may still ask for. They stay, however little is to be kept.
    pub remembered: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Drops history beyond `retention` and gives its room back to the disk. Refused while a server writes the journal.
pub fn compact(
    path: &Path,
    retention: Retention,
    now: Time,
    redactor: Arc<Redactor>,
) -> Result<Compacted, JournalError> {
    // What is no journal gets no lock beside it.
    drop(open_to_read(path)?);
    let _lock = Lock::take(path, "pi journal compact")?;
    let mut store = Store::open(path, redactor)?;
    let bytes_before = store.bytes()?;
    let dropped = store.prune(retention, now)?;
    store.compact()?;
    let Extent { commands: kept, bytes: bytes_after } = store.extent()?;
    Ok(Compacted { dropped, kept, remembered: store.remembered()?, bytes_before, bytes_after })
}
