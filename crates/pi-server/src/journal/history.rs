//! What commands did, for people: the newest first.

use pi_engine::{ClientName, Ticket, Time};
use rusqlite::{Connection, Row, named_params};

use super::{fault::JournalError, recovery::unsigned, row::Rest, store::number};
use crate::connection::Identity;

/// Which commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub session: Option<String>,
    /// As the history names it: the client's id, or `anon:` and the ticket.
    pub id: Option<String>,
    /// Of which client; of all if nobody is named.
    pub sender: Option<ClientName>,
    pub from: Option<Time>,
    pub until: Option<Time>,
    pub limit: usize,
}

/// As many commands as were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub commands: Vec<Told>,
    /// Whether there are older ones.
    pub is_truncated: bool,
}

/// One command and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub ticket: Ticket,
    pub kind: String,
    pub lane: String,
    pub lane_sequence: u64,
    /// On which way it came: `websocket` or `stdio`.
    pub transport: &'static str,
    /// The name that its client chose.
    pub client: Option<String>,
    /// Who sent it, as nobody is told.
    pub sender: ClientName,
    pub id: Option<String>,
    pub key: Option<String>,
    pub fingerprint: Vec<u8>,
    pub session: Option<String>,
    pub depends_on: Vec<String>,
    pub if_version: Option<u64>,
    pub accepted: Time,
    pub started: Option<Time>,
    pub finish: Option<ToldFinish>,
    /// It was answered like this earlier one.
    pub alias_of: Option<Ticket>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldFinish {
    pub at: Time,
    pub success: bool,
    pub timed_out: bool,
    pub recovered: bool,
    pub error: Option<String>,
    pub version: Option<u64>,
}

pub(super) fn history(connection: &Connection, filter: &Filter) -> Result<Page, JournalError> {
    let mut statement = connection.prepare(include_str!("sql/history.sql"))?;
    let parameters = named_params! {
        ":subject": filter.session,
        ":id": filter.id,
        ":sender": filter.sender.as_ref().map(ClientName::as_str),
        ":from": filter.from.map(|from| number(from.0)),
        ":until": filter.until.map(|until| number(until.0)),
        // One more than is wanted says whether there are more.
        ":limit": i64::try_from(filter.limit.saturating_add(1)).unwrap_or(i64::MAX),
    };
    let rows = statement.query_map(parameters, tell)?;
    let mut commands = rows.collect::<Result<Vec<_>, _>>()?;
    let is_truncated = commands.len() > filter.limit;
    commands.truncate(filter.limit);
    Ok(Page { commands, is_truncated })
}

pub(super) fn tell(row: &Row<'_>) -> rusqlite::Result<Told> {
    let header: String = row.get("header")?;
    // A header that a later release wrote tells less; the columns still tell the rest.
    let rest = serde_json::from_str::<Rest>(&header).ok();
    let finish = match row.get::<_, Option<i64>>("finished_at")? {
        None => None,
        Some(at) => Some(ToldFinish {
            at: Time(unsigned(at)),
            success: row.get("success")?,
            timed_out: row.get("timed_out")?,
            recovered: row.get("recovered")?,
            error: row.get("error")?,
            version: row.get::<_, Option<i64>>("version")?.map(unsigned),
        }),
    };
    Ok(Told {
        ticket: Ticket(unsigned(row.get("ticket")?)),
        kind: row.get("kind")?,
        lane: row.get("lane")?,
        lane_sequence: unsigned(row.get("lane_sequence")?),
        transport: Identity::transport(&row.get::<_, String>("principal")?),
        client: Identity::chosen(&row.get::<_, String>("client")?).map(str::to_owned),
        sender: row.get::<_, String>("client")?.into(),
        id: row.get("id")?,
        key: row.get("key")?,
        fingerprint: row.get("fingerprint")?,
        session: row.get("subject")?,
        if_version: rest.as_ref().and_then(|rest| rest.if_version),
        depends_on: rest.map(|rest| rest.depends_on).unwrap_or_default(),
        accepted: Time(unsigned(row.get("accepted_at")?)),
        started: row.get::<_, Option<i64>>("started_at")?.map(|at| Time(unsigned(at))),
        finish,
        alias_of: row.get::<_, Option<i64>>("alias_of")?.map(|of| Ticket(unsigned(of))),
    })
}
