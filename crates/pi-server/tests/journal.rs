//! The journal on a real disk: what was written comes back, what is wrong is said.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/header.rs"]
mod support;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_engine::{
    Access, Admission, CommandId, Config, Effect, Ending, Engine, Failure, Header, Input, Key, Kind, Lane, Limit,
    Order, Outcome, Record, Request, Sequence, SessionName, Span, Ticket, Time, VersionMove, driver::Journal as _,
};
use pi_redact::{Evidence, Personal, Redactor};
use pi_server::{
    answer::{self, Answer},
    journal::{
        Auto, Berth, Earlier, Filter, JournalError, Keeper, Mark, Options, Reader, Recovery, Retention, SCHEMA_VERSION,
        Shortened, Told,
        audit::{self, Finding},
        look, open,
    },
};
use pi_wire::{Data, Error};
use proptest::prelude::*;
use tempfile::TempDir;

const SECRET: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";

/// Bytes of a page of the database.
const PAGE: usize = 4096;

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal.sqlite")
    }

    fn open(&self) -> (Keeper, Reader, Recovery) {
        open(&self.path(), options()).unwrap()
    }

    /// Writes the records, closes the journal and opens it again.
    async fn keep(&self, records: &[(Sequence, Record<Answer>)]) -> Recovery {
        let (mut keeper, _, _) = self.open();
        keeper.append(records.to_vec()).await.unwrap();
        drop(keeper);
        self.open().2
    }
}

fn options() -> Options {
    Options {
        retention: Retention::default(),
        ceiling_bytes: 1 << 40,
        redactor: redactor(),
        started_as: "a test".to_owned(),
        earlier: Earlier::Kept,
    }
}

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(pi_redact::Options {
        evidence: Evidence::Shapes,
        personal: Personal::Keep,
        secrets: Vec::new(),
    }))
}

fn header(id: &str) -> Header {
    support::header(id, "s1")
}

fn accepted(ticket: u64, header: Header) -> Record<Answer> {
    Record::Accepted { ticket: Ticket(ticket), at: Time(1000 + ticket), header: Arc::new(header) }
}

fn finished(ticket: u64, ending: Ending<Answer>) -> Record<Answer> {
    let version = Some(VersionMove { session: SessionName::from("s1"), version: Some(ticket) });
    let outcome = Arc::new(Outcome { ending, version: Some(ticket) });
    Record::Finished { ticket: Ticket(ticket), at: Time(2000 + ticket), outcome, size: 40, version }
}

fn done() -> Ending<Answer> {
    Ending::Succeeded(Answer::Success(None))
}

fn numbered(records: impl IntoIterator<Item = Record<Answer>>) -> Vec<(Sequence, Record<Answer>)> {
    records.into_iter().zip(1..).map(|(record, sequence)| (Sequence(sequence), record)).collect()
}

/// Records as text: answers cannot be compared, but read.
fn lines(records: &[(Sequence, Record<Answer>)]) -> Vec<String> {
    records.iter().map(|(sequence, record)| format!("{} {record:?}", sequence.0)).collect()
}

/// What comes back of `records`: the versions apart, because they outlive the commands that moved them.
fn expected(records: &[(Sequence, Record<Answer>)]) -> Vec<String> {
    let (mut versions, mut gone) = (std::collections::BTreeMap::new(), std::collections::BTreeMap::new());
    let (mut kept, mut last_ticket) = (Vec::new(), 0);
    for (sequence, record) in records {
        let moved = match record {
            Record::Finished { version, .. } => version.clone(),
            Record::Version(moved) => Some(moved.clone()),
            Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => {
                last_ticket = last_ticket.max(ticket.0);
                None
            }
            Record::Reached(_) => None,
        };
        if let Some(moved) = moved {
            match moved.version {
                Some(_) => drop(versions.insert(moved.session.clone(), (*sequence, moved))),
                None => {
                    versions.remove(&moved.session);
                    gone.insert(moved.session.clone(), (*sequence, moved));
                }
            }
        }
        let record = match record.clone() {
            Record::Finished { ticket, at, outcome, size, version: _ } => {
                Record::Finished { ticket, at, outcome, size, version: None }
            }
            Record::Version(_) => continue,
            other @ (Record::Accepted { .. } | Record::Alias { .. } | Record::Reached(_)) => other,
        };
        kept.push((*sequence, record));
    }
    kept.extend(
        versions.into_values().chain(gone.into_values()).map(|(sequence, moved)| (sequence, Record::Version(moved))),
    );
    kept.sort_by_key(|(sequence, record)| (*sequence, matches!(record, Record::Version(_))));
    if let Some((sequence, _)) = records.last() {
        kept.push((*sequence, Record::Reached(Ticket(last_ticket))));
    }
    lines(&kept)
}

#[tokio::test]
async fn what_was_written_comes_back_in_order() {
    let full = Header {
        key: Some(Key::from("k")),
        lane: Lane::Server,
        about: Some(SessionName::from("s1")),
        order: Order::Work(Span::Long),
        access: Access::Act,
        limit: Limit::Unlimited,
        depends_on: vec![CommandId::from("a"), CommandId::from("b")],
        if_version: Some(3),
        ..header("two")
    };
    let refused = Error::SessionNotFound("s2".into());
    let records = numbered([
        accepted(1, header("one")),
        finished(1, Ending::Succeeded(Answer::Success(Some(answer::written(&Data::CycleThinkingLevel(None)))))),
        accepted(2, full),
        finished(2, Ending::Failed { error: refused.to_string(), body: answer::failure(&refused) }),
        Record::Alias { ticket: Ticket(3), at: Time(3000), header: Arc::new(header("three")), of: Ticket(1) },
        Record::Version(VersionMove { session: SessionName::from("s9"), version: Some(4) }),
        Record::Version(VersionMove { session: SessionName::from("s9"), version: None }),
        accepted(4, header("four")),
    ]);
    let bench = Bench::new();
    let recovery = bench.keep(&records).await;
    assert_eq!(lines(&recovery.records), expected(&records));
    assert_eq!(recovery.malformed, 0);
}

#[tokio::test]
async fn an_ending_of_the_engine_is_said_again_in_the_same_words() {
    let kind = Kind::from("set_session_name");
    let timed_out = Failure::TimedOut { kind: kind.clone(), after_ms: 30_000 };
    assert_eq!(said_again(timed_out).await["timedOut"], true);
    // Also one that could not be written down when it was said.
    let unrecorded = Failure::Unrecorded { kind, reason: "the journal's disk is full".into() };
    let error = said_again(unrecorded).await["error"].clone();
    assert!(error.as_str().is_some_and(|error| error.ends_with("the journal's disk is full")), "{error}");
}

/// Keeps an ending of the engine, and looks whether it is said the same afterwards.
async fn said_again(failure: Failure) -> serde_json::Value {
    let records = numbered([accepted(1, header("one")), finished(1, Ending::Broken(failure.clone()))]);
    let recovery = Bench::new().keep(&records).await;
    let Record::Finished { outcome, .. } = &recovery.records[1].1 else { panic!("{:?}", recovery.records) };
    let Ending::Failed { error, body } = &outcome.ending else { panic!("{outcome:?}") };
    let said =
        |answer: &Answer| serde_json::to_value(answer::response(None, "set_session_name", answer, None)).unwrap();
    assert_eq!(*error, failure.to_string());
    assert_eq!(said(body), said(&answer::broken(&failure)));
    said(body)
}

#[tokio::test]
async fn numbers_go_on_although_the_records_went() {
    let bench = Bench::new();
    let nameless = Header { id: None, ..header("-") };
    let records = numbered([accepted(1, nameless), finished(1, done())]);
    let (mut keeper, _, _) = bench.open();
    keeper.append(records).await.unwrap();
    keeper.forget(vec![Ticket(1)]).await.unwrap();
    drop(keeper);
    let recovery = bench.open().2;
    let version = VersionMove { session: SessionName::from("s1"), version: Some(1) };
    let left = vec![(Sequence(2), Record::Version(version)), (Sequence(2), Record::Reached(Ticket(1)))];
    assert_eq!(lines(&recovery.records), lines(&left));
}

#[tokio::test]
async fn an_outcome_stays_as_long_as_an_alias_stands_for_it() {
    let bench = Bench::new();
    let alias = |ticket, of| Record::Alias {
        ticket: Ticket(ticket),
        at: Time(3000),
        header: Arc::new(header(&format!("alias {ticket}"))),
        of: Ticket(of),
    };
    let (mut keeper, _, _) = bench.open();
    let records = [accepted(1, header("one")), finished(1, done()), alias(2, 1), alias(3, 2)];
    keeper.append(numbered(records)).await.unwrap();
    for (forgotten, left) in [(1, 4), (2, 4), (3, 0)] {
        keeper.forget(vec![Ticket(forgotten)]).await.unwrap();
        drop(keeper);
        audit::compact(&bench.path(), Retention { count: 0, ..Retention::default() }, Time(9), redactor()).unwrap();
        let (next, _, recovery) = bench.open();
        let is_command = |record: &Record<Answer>| !matches!(record, Record::Version(_) | Record::Reached(_));
        let found = recovery.records.iter().filter(|(_, record)| is_command(record)).count();
        assert_eq!(found, left, "after {forgotten} was forgotten");
        keeper = next;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test looks at the very files")]
async fn secrets_are_not_kept() {
    let bench = Bench::new();
    let error =
        Error::ProviderFailed { provider: "x".into(), message: format!("key {SECRET} refused"), retry_after_ms: None };
    let ending = Ending::Failed { error: error.to_string(), body: answer::failure(&error) };
    bench.keep(&numbered([accepted(1, header("one")), finished(1, ending)])).await;
    for file in std::fs::read_dir(bench.folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
    let mut exported = Vec::new();
    audit::export(&bench.path(), &redactor(), &mut exported).unwrap();
    assert!(String::from_utf8(exported).unwrap().contains("[REDACTED]"));
}

#[tokio::test]
async fn journal_of_an_earlier_release_is_brought_up_to_date() {
    let bench = Bench::new();
    let old = rusqlite::Connection::open(bench.path()).unwrap();
    old.execute_batch(include_str!("../src/journal/schema/1.sql")).unwrap();
    old.execute_batch("pragma application_id = 0x70696a6c; pragma user_version = 1;").unwrap();
    old.execute_batch("insert into berth values ('s', '/f', '/w', '2026')").unwrap();
    old.execute_batch(
        "insert into command (ticket, sequence, accepted_at, lane, lane_sequence, kind, principal, client, fingerprint, subject,
            header, finished_sequence, finished_at, success, timed_out, recovered, size, forgotten)
         values (2, 3, 1, 'server', 1, 'delete_session', 't', 't', x'00', 'gone', '{}', 4, 1, 1, 0, 0, 0, 1);
         insert into mark values ('ticket', 2), ('sequence', 4);",
    )
    .unwrap();
    drop(old);
    look(&bench.path()).unwrap();
    assert_eq!(audit::verify(&bench.path()).unwrap().findings, []);
    let (keeper, reader, recovery) = bench.open();
    let berth = Berth {
        session: "s".into(),
        file: Some("/f".to_owned()),
        cwd: "/w".to_owned(),
        created: "2026".to_owned(),
        mark: Mark::default(),
        auto: Auto::default(),
    };
    assert_eq!(recovery.berths, std::slice::from_ref(&berth));
    let gone = Record::Version(VersionMove { session: SessionName::from("gone"), version: None });
    let known = [(Sequence(4), gone), (Sequence(4), Record::Reached(Ticket(2)))];
    assert_eq!(lines(&recovery.records), lines(&known), "sessions that were deleted before");
    let later = Mark { length: Some(7), modified: Some(1_800_000_000_123_456_789) };
    reader.keep(Berth { mark: later, ..berth.clone() }).await.unwrap();
    drop((keeper, reader));
    assert_eq!(bench.open().2.berths, [Berth { mark: later, ..berth }]);
}

#[tokio::test]
async fn history_is_filtered_and_says_whether_there_is_more() {
    let bench = Bench::new();
    let (mut keeper, reader, _) = bench.open();
    let other = Header { lane: Lane::Session(SessionName::from("s2")), ..header("three") };
    let records = [accepted(1, header("one")), finished(1, done()), accepted(2, header("two")), accepted(3, other)];
    reader.note_start(Ticket(1), Time(1500));
    keeper.append(numbered(records)).await.unwrap();
    let all = Filter { limit: 10, ..Filter::default() };
    for (filter, ids, is_truncated) in [
        (all.clone(), vec!["three", "two", "one"], false),
        (Filter { limit: 2, ..all.clone() }, vec!["three", "two"], true),
        (Filter { session: Some("s1".into()), ..all.clone() }, vec!["two", "one"], false),
        (Filter { id: Some("two".into()), ..all.clone() }, vec!["two"], false),
        (Filter { until: Some(Time(1001)), ..all.clone() }, vec!["one"], false),
        (Filter { from: Some(Time(1500)), ..all.clone() }, vec!["one"], false),
    ] {
        let page = reader.history(filter.clone()).await.unwrap();
        let found: Vec<&str> = page.commands.iter().filter_map(|told| told.id.as_deref()).collect();
        assert_eq!((found, page.is_truncated), (ids, is_truncated), "{filter:?}");
    }
    let page = reader.history(Filter { id: Some("one".into()), ..all }).await.unwrap();
    let [Told { started, lane_sequence, finish: Some(finish), .. }] = &page.commands[..] else { panic!("{page:?}") };
    assert_eq!((*started, *lane_sequence, finish.success), (Some(Time(1500)), 1, true));
}

#[tokio::test]
async fn old_history_goes_and_what_is_remembered_stays() {
    let bench = Bench::new();
    let (mut keeper, _, _) = bench.open();
    let records: Vec<_> = (1..=40).flat_map(|n| [accepted(n, header(&format!("c{n}"))), finished(n, done())]).collect();
    keeper.append(numbered(records)).await.unwrap();
    keeper.forget((1..=30).map(Ticket).collect()).await.unwrap();
    drop(keeper);
    let retention = Retention { count: 15, ..Retention::default() };
    let compacted = audit::compact(&bench.path(), retention, Time(5000), redactor()).unwrap();
    assert_eq!(compacted.dropped, 25);
    let aged = Retention { age_ms: 100, ..retention };
    assert_eq!(audit::compact(&bench.path(), aged, Time(5000), redactor()).unwrap().dropped, 5);
    let verdict = audit::verify(&bench.path()).unwrap();
    assert_eq!((verdict.commands, verdict.findings), (10, vec![]));
    assert_eq!(bench.open().2.records.len(), 10 * 2 + 2);
}

#[tokio::test]
async fn what_went_while_the_server_ran_is_told() {
    let bench = Bench::new();
    let retention = Retention { count: 15, ..Retention::default() };
    let (mut keeper, reader, _) = open(&bench.path(), Options { retention, ..options() }).unwrap();
    let records: Vec<_> = (1..=40).flat_map(|n| [accepted(n, header(&format!("c{n}"))), finished(n, done())]).collect();
    keeper.append(numbered(records)).await.unwrap();
    keeper.forget((1..=30).map(Ticket).collect()).await.unwrap();
    assert_eq!(reader.shortened(), Shortened::default());
    let late = accepted(100_000, header("late"));
    keeper.append(vec![(Sequence(81), late)]).await.unwrap();
    // It is done when nobody waits any more, at the latest now.
    drop(keeper);
    let Shortened { times, commands, last: Some(last) } = reader.shortened() else { panic!("nothing went") };
    assert_eq!((times, commands, last.at), (1, 26, Time(101_000)));
    assert_eq!((last.before.commands, last.after.commands), (41, 15));
    assert!(last.after.bytes <= last.before.bytes, "{last:?}");
}

#[tokio::test]
async fn a_second_server_is_refused_and_readers_are_not() {
    let bench = Bench::new();
    let (keeper, ..) = bench.open();
    let told = open(&bench.path(), options()).map(|_| ()).unwrap_err().to_string();
    assert!(told.ends_with(&format!("is in use by process {} (a test)", std::process::id())), "{told}");
    assert!(matches!(
        audit::compact(&bench.path(), Retention::default(), Time(0), redactor()),
        Err(JournalError::InUse { .. })
    ));
    assert_eq!(audit::verify(&bench.path()).unwrap().findings, []);
    drop(keeper);
    bench.open();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test looks at the very files")]
fn files_that_are_not_ours_stay_as_they_are() {
    let bench = Bench::new();
    let path = bench.path();
    rusqlite::Connection::open(&path).unwrap().execute_batch("create table theirs (x)").unwrap();
    assert!(matches!(open(&path, options()), Err(JournalError::Foreign { .. })));
    std::fs::write(&path, "no database at all, but a text that is long enough to be looked at").unwrap();
    assert!(open(&path, options()).is_err());
    assert_eq!(std::fs::read(&path).unwrap()[..2], *b"no");
}

#[tokio::test]
async fn a_journal_that_is_not_ours_to_use_is_not_called_damaged() {
    let bench = Bench::new();
    // A folder in its place: whoever may do everything may not open that either.
    std::fs::create_dir(bench.path()).unwrap();
    let error = open(&bench.path(), options()).map(|_| ()).unwrap_err();
    assert!(matches!(error, JournalError::Forbidden(_)), "{error:?}");
    std::fs::remove_dir(bench.path()).unwrap();

    let (mut keeper, ..) = bench.open();
    let other = rusqlite::Connection::open(bench.path()).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let error = keeper.append(numbered([accepted(1, header("one"))])).await.unwrap_err();
    assert!(matches!(error, JournalError::Busy(_)), "{error:?}");
    other.execute_batch("rollback").unwrap();
    keeper.append(numbered([accepted(1, header("one"))])).await.unwrap();
}

#[test]
fn a_journal_of_a_later_release_is_refused() {
    let bench = Bench::new();
    drop(bench.open());
    let connection = rusqlite::Connection::open(bench.path()).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(connection);
    let found = SCHEMA_VERSION + 1;
    assert!(matches!(open(&bench.path(), options()), Err(JournalError::Newer { found: f, .. }) if f == found));
    assert!(matches!(audit::verify(&bench.path()), Err(JournalError::Newer { found: f, .. }) if f == found));
}

#[tokio::test]
async fn a_journal_at_its_limit_fails_the_batch_and_nothing_else() {
    let bench = Bench::new();
    let (mut keeper, reader, _) = bench.open();
    keeper.append(numbered([accepted(1, header("one")), finished(1, done())])).await.unwrap();
    drop(keeper);
    let (mut keeper, _, _) = open(&bench.path(), Options { ceiling_bytes: 80_000, ..options() }).unwrap();
    let large = Header { key: Some(Key::from("x".repeat(100_000))), ..header("two") };
    let error = keeper.append(vec![(Sequence(3), accepted(2, large))]).await.unwrap_err();
    assert!(matches!(error, JournalError::AtCeiling { ceiling: 80_000, .. }), "{error:?}");
    assert!(error.hint().contains("server.journalMaxBytes"), "{}", error.hint());
    let page = reader.history(Filter { limit: 9, ..Filter::default() }).await.unwrap();
    assert_eq!(page.commands.len(), 1);
    keeper.recover().await.unwrap();
    keeper.append(vec![(Sequence(3), accepted(2, header("two")))]).await.unwrap();
}

#[tokio::test]
async fn damage_is_found() {
    let bench = Bench::new();
    bench.keep(&numbered([accepted(1, header("one")), finished(1, done()), accepted(2, header("two"))])).await;
    for (change, finding) in [
        (
            "update command set alias_of = 2 where ticket = 2",
            Finding::Broken { rule: "an alias stands for a command before it", rows: 1 },
        ),
        (
            "update command set alias_of = null, sequence = 99 where ticket = 2",
            Finding::Broken { rule: "no number is higher than the highest given out", rows: 1 },
        ),
        ("update command set sequence = 3, header = '{}' where ticket = 2", Finding::Malformed(1)),
    ] {
        sql(&bench.path(), change);
        assert_eq!(audit::verify(&bench.path()).unwrap().findings, [finding], "{change}");
    }
    let recovery = bench.open().2;
    assert_eq!((recovery.malformed, recovery.records.len()), (1, 5), "what cannot be read was accepted all the same");
}

#[tokio::test]
async fn outcome_that_cannot_be_read_is_told_and_stops_nobody() {
    let bench = Bench::new();
    let records =
        numbered([accepted(1, header("one")), finished(1, done()), accepted(2, header("two")), finished(2, done())]);
    bench.keep(&records).await;
    look(&bench.path()).unwrap();
    for (change, malformed) in [
        ("update command set answer = null where ticket = 1", 1),
        ("update command set answer = '{' where ticket = 2", 2),
        ("update command set success = null where ticket = 2", 2),
    ] {
        sql(&bench.path(), change);
        look(&bench.path()).unwrap();
        let recovery = bench.open().2;
        // Both are known to have ended, and so do not run again.
        let finished = recovery.records.iter().filter(|(_, record)| matches!(record, Record::Finished { .. }));
        assert_eq!((recovery.malformed, finished.count()), (malformed, 2), "{change}");
        let ends = recovery.records.iter().filter_map(|(_, record)| match record {
            Record::Finished { outcome, .. } => outcome.error(),
            _ => None,
        });
        let errors: Vec<String> = ends.collect();
        assert_eq!(errors.len() as u64, malformed, "{change}");
        assert!(
            errors.iter().all(|error| error.starts_with("The command has ended, and its outcome cannot be read")),
            "{errors:?}"
        );
    }
    let findings = audit::verify(&bench.path()).unwrap().findings;
    assert!(findings.contains(&Finding::Malformed(2)), "{findings:?}");
}

/// What becomes of a command that comes after a restart, with what the journal knows.
fn admitted(recovery: Recovery, header: Header) -> &'static str {
    let mut effects: Vec<Effect<(), Answer>> = Vec::new();
    let mut engine = Engine::restore(Config::standard(), Time(9000), recovery.records, &mut effects);
    effects.clear();
    let admission = Admission { request: Request(1), header, command: () };
    engine.step(Input::Admit(admission), Time(9000), &mut effects);
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Refuse { .. } => Some("refused"),
        Effect::Respond { .. } | Effect::Persist { record: Record::Alias { .. }, .. } => Some("replayed"),
        Effect::Persist { record: Record::Accepted { .. }, .. } => Some("new"),
        _ => None,
    });
    told.unwrap()
}

fn with_key(id: &str) -> Header {
    Header { key: Some(Key::from("k")), ..header(id) }
}

#[tokio::test]
async fn keys_of_a_session_that_is_gone_mean_nothing_however_it_went() {
    let deletion = |id: Option<&str>| Header {
        id: id.map(CommandId::from),
        kind: Kind::from("delete_session"),
        lane: Lane::Server,
        about: Some(SessionName::from("s1")),
        ..header("-")
    };
    let gone = || VersionMove { session: SessionName::from("s1"), version: None };
    let removed = |ticket| Record::Finished {
        ticket: Ticket(ticket),
        at: Time(3000),
        outcome: Arc::new(Outcome { ending: done(), version: None }),
        size: 40,
        version: Some(gone()),
    };
    let late = Ending::Broken(Failure::TimedOut { kind: Kind::from("delete_session"), after_ms: 1 });
    let timed_out = Record::Finished {
        ticket: Ticket(2),
        at: Time(3000),
        outcome: Arc::new(Outcome { ending: late, version: Some(1) }),
        size: 40,
        version: None,
    };
    let begun = Record::Version(VersionMove { session: SessionName::from("s1"), version: Some(0) });
    for (how, rest, change) in [
        ("by a command without a name", vec![accepted(2, deletion(None)), removed(2)], ""),
        (
            "by one whose outcome cannot be read",
            vec![accepted(2, deletion(Some("d"))), removed(2)],
            "update command set success = null, answer = '{' where ticket = 2",
        ),
        ("late", vec![accepted(2, deletion(Some("d"))), timed_out, Record::Version(gone())], ""),
    ] {
        let bench = Bench::new();
        let mut records = vec![accepted(1, with_key("one")), finished(1, done())];
        let before = bench.keep(&numbered(records.clone())).await;
        assert_eq!(admitted(before, with_key("two")), "replayed", "while it is there");
        records.extend(rest);
        records.push(begun.clone());
        let (mut keeper, _, _) = bench.open();
        keeper.append(numbered(records).split_off(2)).await.unwrap();
        if how == "by a command without a name" {
            keeper.forget(vec![Ticket(2)]).await.unwrap();
        }
        drop(keeper);
        sql(&bench.path(), change);
        assert_eq!(admitted(bench.open().2, with_key("two")), "new", "{how}");
        assert_eq!(admitted(bench.open().2, header("one")), "replayed", "ids belong to clients");
    }
}

#[tokio::test]
async fn what_is_known_of_sessions_that_went_goes_with_the_commands_before() {
    let bench = Bench::new();
    let went = |session: &str| Record::Version(VersionMove { session: SessionName::from(session), version: None });
    let records = [went("a"), accepted(1, header("one")), finished(1, done()), went("b")];
    bench.keep(&numbered(records)).await;
    let known = || -> Vec<String> {
        let connection = rusqlite::Connection::open(bench.path()).unwrap();
        let mut statement = connection.prepare("select session from gone order by session").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(known(), ["a", "b"]);
    let (mut keeper, _, _) = bench.open();
    let records =
        numbered([went("a"), accepted(1, header("one")), finished(1, done()), went("b"), accepted(2, header("two"))]);
    keeper.append(records[4..].to_vec()).await.unwrap();
    keeper.forget(vec![Ticket(1)]).await.unwrap();
    drop(keeper);
    audit::compact(&bench.path(), Retention { count: 0, ..Retention::default() }, Time(9), redactor()).unwrap();
    assert!(known().is_empty(), "{:?}", known());
}

#[tokio::test]
async fn command_that_cannot_be_read_does_not_run_again() {
    for change in [
        "update command set fingerprint = x'0707' where ticket = 1",
        "update command set fingerprint = x'' where ticket = 1",
        "update command set header = '{' where ticket = 1",
        "update command set header = '{}', answer = null where ticket = 1",
        "update command set answer = null, version = null where ticket = 1",
        "update command set lane = 'sessions1' where ticket = 1",
        "update command set lane = '', kind = 'no such kind' where ticket = 1",
    ] {
        let bench = Bench::new();
        bench.keep(&numbered([accepted(1, with_key("one")), finished(1, done())])).await;
        sql(&bench.path(), change);
        let looked = look(&bench.path());
        assert!(matches!(looked, Ok(Some(JournalError::Malformed { rows: 1 }))), "{change}: {looked:?}");
        let recovered = || {
            let recovery = bench.open().2;
            assert_eq!(recovery.malformed, 1, "{change}");
            recovery
        };
        let expected = if change.contains("fingerprint") { "refused" } else { "replayed" };
        assert_eq!(admitted(recovered(), with_key("one")), expected, "{change}");
        assert_eq!(admitted(recovered(), with_key("two")), expected, "by its key: {change}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test looks at the very files")]
fn look_finds_what_a_start_would_find() {
    let bench = Bench::new();
    look(&bench.path()).unwrap();
    std::fs::write(bench.path(), b"").unwrap();
    look(&bench.path()).unwrap();
    assert!(matches!(audit::verify(&bench.path()), Err(JournalError::Empty { .. })));
    drop(bench.open());
    look(&bench.path()).unwrap();
    let running = bench.open();
    assert!(matches!(look(&bench.path()), Err(JournalError::InUse { .. })));
    drop(running);
    sql(&bench.path(), "drop table version");
    assert!(look(&bench.path()).is_err() && open(&bench.path(), options()).is_err());
    let findings = audit::verify(&bench.path()).unwrap().findings;
    assert!(matches!(&findings[..], [Finding::Damaged(said)] if said.contains("no such table")), "{findings:?}");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test looks at the very files")]
async fn look_and_start_say_the_same_of_damage_in_whichever_page() {
    let bench = Bench::new();
    drop(bench.keep(&numbered([accepted(1, header("one")), finished(1, done())])).await);
    let sound = std::fs::read(bench.path()).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for page in (1..sound.len() / PAGE).map(|page| page * PAGE) {
        let mut bytes = sound.clone();
        bytes[page..page + PAGE].fill(0xff);
        std::fs::write(bench.path(), &bytes).unwrap();
        let looked = look(&bench.path());
        let started = open(&bench.path(), options())
            .map(|(_, reader, _)| reader.damage().map(|said| JournalError::Damaged { said }));
        let told = |found: &Result<Option<JournalError>, JournalError>| match found {
            Ok(damage) => damage.as_ref().map_or("sound", |_| "damaged"),
            Err(JournalError::Damaged { .. }) => "unusable",
            Err(_) => "something else",
        };
        assert_eq!(told(&looked), told(&started), "page {}: {looked:?} {started:?}", page / PAGE);
        seen.insert(told(&looked));
        for suffix in ["-wal", "-shm"] {
            // They are not there when nothing was written.
            let _ = std::fs::remove_file(bench.folder.path().join(format!("journal.sqlite{suffix}")));
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["damaged", "unusable"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test looks at the very files")]
fn what_is_no_journal_is_neither_compacted_nor_given_a_lock() {
    let bench = Bench::new();
    std::fs::write(bench.path(), b"this is no journal, however one looks at it").unwrap();
    let compacted = audit::compact(&bench.path(), Retention::default(), Time(0), Arc::new(Redactor::default()));
    assert!(matches!(compacted, Err(JournalError::NoDatabase { .. })), "{compacted:?}");
    assert_eq!(bench.folder.path().read_dir().unwrap().count(), 1, "nothing else was made");
}

fn sql(path: &Path, text: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_ends_comes_back(order in Just((1..=12_u64).collect::<Vec<_>>()).prop_shuffle(), cut in 0..12_usize) {
        let starts = (1..=12).map(|n| accepted(n, header(&format!("c{n}"))));
        let ends = order.into_iter().take(cut).map(|n| finished(n, done()));
        let records = numbered(starts.chain(ends));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bench = Bench::new();
        let recovery = runtime.block_on(bench.keep(&records));
        prop_assert_eq!(lines(&recovery.records), expected(&records));
    }
}
