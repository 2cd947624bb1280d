//! What every journal does for a server, whatever keeps it: one suite, for SQLite and for memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/header.rs"]
mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pi_engine::{
    Config, Effect, Ending, Engine, Outcome, Record, Sequence, SessionName, Ticket, Time, VersionMove, driver,
};
use pi_redact::Redactor;
use pi_server::{
    answer::Answer,
    connection::Identity,
    journal::{
        Auto, Berth, Book, Earlier, Filter, JournalError, Mark, Opened, Options, Page, Recovery, Retention, Shortened,
        Told, ToldFinish, open_book,
    },
    server::Server,
    settings::Settings,
    workshop::{Made, MakeError, Order as Wish, Workshop},
};
use pi_session::{
    Switch,
    directory::{Catalogue, Stored},
};
use pi_transcript::{ProviderId, SessionId};
use pi_wire::{command::Lifecycle, response::CircuitBreakerMetrics};
use tempfile::TempDir;

/// A journal that lasts as long as the test.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    records: Vec<(Sequence, Record<Answer>)>,
    started: BTreeMap<Ticket, Time>,
    forgotten: BTreeSet<Ticket>,
    berths: Vec<Berth>,
}

impl Memory {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    fn open(&self) -> Opened<Self> {
        let kept = self.kept();
        let is_kept = |record: &Record<Answer>| match record {
            Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => !kept.forgotten.contains(ticket),
            Record::Finished { .. } | Record::Version(_) | Record::Reached(_) => true,
        };
        let records = kept.records.iter().filter(|(_, record)| is_kept(record)).cloned().collect();
        let recovery = Recovery {
            records,
            berths: kept.berths.clone(),
            started: kept.started.keys().copied().collect(),
            malformed: 0,
            trouble: None,
        };
        Opened { keeper: self.clone(), book: Arc::new(self.clone()), recovery }
    }
}

impl driver::Journal<Answer> for Memory {
    type Error = Infallible;

    async fn append(&mut self, records: Vec<(Sequence, Record<Answer>)>) -> Result<(), Infallible> {
        self.kept().records.extend(records);
        Ok(())
    }

    async fn forget(&mut self, tickets: Vec<Ticket>) -> Result<(), Infallible> {
        self.kept().forgotten.extend(tickets);
        Ok(())
    }

    async fn recover(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Book for Memory {
    fn note_start(&self, ticket: Ticket, at: Time) {
        self.kept().started.insert(ticket, at);
    }

    fn note(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>> {
        let mut kept = self.kept();
        if let Some(known) = kept.berths.iter_mut().find(|known| known.session == berth.session) {
            *known = berth;
        }
        Box::pin(async { Ok(()) })
    }

    fn keep(&self, berth: Berth) -> BoxFuture<'_, Result<(), JournalError>> {
        let mut kept = self.kept();
        kept.berths.retain(|known| known.session != berth.session);
        kept.berths.push(berth);
        Box::pin(async { Ok(()) })
    }

    fn drop_berth(&self, session: SessionId) -> BoxFuture<'_, Result<(), JournalError>> {
        self.kept().berths.retain(|known| known.session != session);
        Box::pin(async { Ok(()) })
    }

    fn history(&self, filter: Filter) -> BoxFuture<'_, Result<Page, JournalError>> {
        let kept = self.kept();
        let ended = |of: Ticket| {
            kept.records.iter().find_map(|(_, record)| match record {
                Record::Finished { ticket, at, outcome, .. } if *ticket == of => Some(ToldFinish {
                    at: *at,
                    success: outcome.is_success(),
                    timed_out: outcome.is_timeout(),
                    recovered: false,
                    error: outcome.error(),
                    version: outcome.version,
                }),
                _ => None,
            })
        };
        let told = kept.records.iter().rev().filter_map(|(_, record)| match record {
            Record::Accepted { ticket, at, header } => Some(Told {
                ticket: *ticket,
                kind: header.kind.to_string(),
                lane: header.lane.to_string(),
                lane_sequence: 0,
                transport: "websocket",
                client: None,
                sender: header.client.clone(),
                id: header.id.as_ref().map(ToString::to_string),
                key: None,
                fingerprint: header.fingerprint.0.to_vec(),
                session: header.subject().map(ToString::to_string),
                depends_on: Vec::new(),
                if_version: header.if_version,
                accepted: *at,
                started: kept.started.get(ticket).copied(),
                finish: ended(*ticket),
                alias_of: None,
            }),
            _ => None,
        });
        let mut commands: Vec<Told> =
            told.filter(|told| filter.session.is_none() || filter.session == told.session).collect();
        let is_truncated = commands.len() > filter.limit;
        commands.truncate(filter.limit);
        Box::pin(async move { Ok(Page { commands, is_truncated }) })
    }

    fn written(&self) -> u64 {
        self.kept().records.len() as u64
    }

    fn is_there(&self) -> bool {
        true
    }

    fn damage(&self) -> Option<String> {
        None
    }

    fn shortened(&self) -> Shortened {
        Shortened::default()
    }

    fn schema_version(&self) -> u32 {
        0
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

fn accepted(ticket: u64, id: &str, session: &str) -> Record<Answer> {
    Record::Accepted { ticket: Ticket(ticket), at: Time(ticket * 10), header: Arc::new(support::header(id, session)) }
}

fn finished(ticket: u64, version: u64) -> Record<Answer> {
    let ending = Ending::Succeeded(Answer::Success(None));
    let outcome = Arc::new(Outcome { ending, version: Some(version) });
    let version = Some(VersionMove { session: SessionName::from("s"), version: Some(version) });
    Record::Finished { ticket: Ticket(ticket), at: Time(ticket * 10 + 9), outcome, size: 0, version }
}

fn berth(session: &str, length: Option<u64>, auto: Auto) -> Berth {
    let (cwd, created) = ("/w".to_owned(), format!("2026-01-01T00:00:00.000Z {session}"));
    let mark = Mark { length, modified: None };
    Berth { session: session.into(), file: Some(format!("/f/{session}")), cwd, created, mark, auto }
}

/// What an engine knows that begins with this, and what the server knows of sessions.
fn told(recovery: Recovery) -> String {
    let Recovery { records, berths, started, malformed, trouble } = recovery;
    assert!(trouble.is_none(), "{trouble:?}");
    let mut effects: Vec<Effect<(), Answer>> = Vec::new();
    let engine = Engine::restore(Config::standard(), Time(1000), records, &mut effects);
    let ended = effects.iter().filter(|effect| matches!(effect, Effect::Persist { .. })).count();
    let (version, load) = (engine.version(&SessionName::from("s")), engine.load());
    let berths: Vec<_> = berths.iter().map(|berth| (berth.session.as_str(), berth.mark.length, berth.auto)).collect();
    let mut started: Vec<u64> = started.iter().map(|ticket| ticket.0).collect();
    started.sort_unstable();
    format!(
        "version {version:?}, outcomes {}, ids {}, given up {ended}, started {started:?}, malformed {malformed}, {berths:?}",
        load.outcomes, load.ids
    )
}

/// Does everything that a server does with a journal; `open` opens it once more.
async fn suite<K: driver::Journal<Answer>>(open: impl Fn() -> Opened<K>) {
    let numbered = |from: u64, records: Vec<Record<Answer>>| -> Vec<(Sequence, Record<Answer>)> {
        records.into_iter().zip(from..).map(|(record, sequence)| (Sequence(sequence), record)).collect()
    };
    let Opened { mut keeper, book, recovery } = open();
    assert_eq!(told(recovery), "version None, outcomes 0, ids 0, given up 0, started [], malformed 0, []");
    book.keep(berth("s", None, Auto::default())).await.unwrap();
    book.keep(berth("t", None, Auto::default())).await.unwrap();
    keeper
        .append(numbered(1, vec![accepted(1, "a", "s"), accepted(2, "b", "s"), accepted(3, "c", "t")]))
        .await
        .unwrap();
    book.note_start(Ticket(1), Time(11));
    book.note_start(Ticket(2), Time(21));
    // What is noted of a session that goes does not bring it back.
    book.note(berth("t", Some(5), Auto::default())).await.unwrap();
    book.drop_berth("t".into()).await.unwrap();
    book.note(berth("t", Some(6), Auto::default())).await.unwrap();
    let auto = Auto { compaction: None, retry: Some(false) };
    book.note(berth("s", Some(77), auto)).await.unwrap();
    keeper.append(numbered(4, vec![finished(1, 1)])).await.unwrap();
    let page = book.history(Filter { limit: 1, session: Some("s".to_owned()), ..Filter::default() }).await.unwrap();
    let seen: Vec<_> = page.commands.iter().map(|told| (told.id.as_deref(), told.finish.is_some())).collect();
    assert_eq!((seen, page.is_truncated), (vec![(Some("b"), false)], true));
    let page = book.history(Filter { limit: 9, ..Filter::default() }).await.unwrap();
    let last = page.commands.last().unwrap();
    let end = last.finish.as_ref().map(|finish| (finish.at, finish.success, finish.version));
    assert_eq!((last.started, end), (Some(Time(11)), Some((Time(19), true, Some(1)))));
    assert_eq!(book.written(), 4);
    drop((keeper, book));
    let Opened { mut keeper, book, recovery } = open();
    let berths = "[(\"s\", Some(77), Auto { compaction: None, retry: Some(false) })]";
    // The two that did not end are given up, and each moves the version of its session, if that has one.
    let known = "outcomes 3, ids 3, given up 2, started [1, 2], malformed 0";
    assert_eq!(told(recovery), format!("version Some(2), {known}, {berths}"));
    keeper.forget(vec![Ticket(1)]).await.unwrap();
    drop((keeper, book));
    let Opened { recovery, .. } = open();
    let after = told(recovery);
    assert!(after.starts_with("version Some(2), outcomes 2, ids 2, given up 2"), "{after}");
}

#[tokio::test]
async fn journal_in_sqlite_does_what_a_server_needs() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal.sqlite");
    let options = || Options {
        retention: Retention::default(),
        ceiling_bytes: 1 << 40,
        redactor: Arc::new(Redactor::default()),
        started_as: String::new(),
        earlier: Earlier::Kept,
    };
    suite(|| open_book(&path, options()).unwrap()).await;
}

/// Makes no sessions.
struct Idle(PathBuf);

impl Workshop for Idle {
    fn make(&self, _: Wish) -> BoxFuture<'_, Result<Made, MakeError>> {
        Box::pin(async { Err(MakeError::Missing) })
    }

    fn stored(&self, _: Arc<Catalogue>) -> BoxFuture<'_, Result<Vec<Stored>, MakeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn delete(&self, _: PathBuf, _: String) -> BoxFuture<'_, Result<(), MakeError>> {
        Box::pin(async { Err(MakeError::Missing) })
    }

    fn remember_extension(&self, _: &str, _: Switch) -> BoxFuture<'_, Result<(), MakeError>> {
        Box::pin(async { Err(MakeError::Missing) })
    }

    fn extensions(&self) -> Switch {
        Switch::Off
    }

    fn circuits(&self) -> Vec<CircuitBreakerMetrics> {
        Vec::new()
    }

    fn left_alone(&self, _: &ProviderId) -> Option<Duration> {
        None
    }

    fn usual_folder(&self) -> PathBuf {
        self.0.clone()
    }

    fn usual_model(&self) -> Option<String> {
        None
    }

    fn sessions_folder(&self) -> Option<PathBuf> {
        None
    }
}

#[tokio::test]
async fn server_runs_on_a_journal_that_is_no_file() {
    let (folder, memory) = (TempDir::new().unwrap(), Memory::default());
    let start = || {
        let settings = Settings::usual(folder.path().join("server"));
        let workshop = Arc::new(Idle(folder.path().to_owned()));
        Server::start_on(memory.open(), settings, workshop, Arc::new(Redactor::default())).unwrap()
    };
    let server = start();
    let client = server.enter(Identity::new("token", None), Lifecycle::None).unwrap();
    client.hear(br#"{"type":"delete_session","id":"d","sessionId":"nobody"}"#).await.unwrap();
    server.drain().await;
    server.ended().await;
    let page = server.hall().journal.history(Filter { limit: 9, ..Filter::default() }).await.unwrap();
    let told: Vec<_> = page.commands.iter().map(|told| (told.kind.as_str(), told.finish.is_some())).collect();
    assert_eq!(told, [("delete_session", true)]);
    let server = start();
    let recovery = server.hall().recovery.report();
    assert_eq!((recovery.journal_path.as_str(), recovery.recovered_outcomes), ("memory", 1));
    assert!(!folder.path().join("server").exists());
}

#[tokio::test]
async fn journal_in_memory_does_what_a_server_needs() {
    let memory = Memory::default();
    suite(|| memory.open()).await;
}
