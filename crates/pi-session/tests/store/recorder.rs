//! What the recorder tells, and what is on the disk when it does.

use std::sync::mpsc::{Receiver, channel};

use pi_session::{
    file::{Log, Pressure, Record, Recorder, Report, Source, Tail, scan},
    tree::{Begins, Written},
};
use proptest::prelude::*;

use crate::{cases, faulty::Faulty};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-16T00:00:00.000Z","cwd":"/"}"#;

fn line(number: usize) -> String {
    format!(r#"{{"type":"custom","id":"{number:08x}","parentId":null,"timestamp":"t","customType":"é"}}"#)
}

fn written(text: String, begins: Begins) -> Written {
    Written { text, begins }
}

/// A recorder to a file that is not there yet, with its header waiting.
fn recorder(disk: &Faulty) -> (Recorder<usize>, Receiver<String>) {
    let file = disk.clone();
    let mut log = Log::new(Source::Absent(Box::new(move || Ok(file.clone()))));
    log.push(format!("{HEADER}\n").as_bytes());
    start(disk, log)
}

/// Reports as words: `2@120` for step 2 with 120 bytes on the disk, then syncs and faults.
fn start(disk: &Faulty, log: Log<Faulty>) -> (Recorder<usize>, Receiver<String>) {
    let (sender, received) = channel();
    let disk = disk.clone();
    let recorder = Recorder::start(log, move |report| {
        let (length, safe) = disk.change(|state| (state.bytes.len() as u64, state.safe as u64));
        let words = match report {
            Report::Written { upto, then } => {
                assert!(upto <= length, "told before it was written");
                format!("{then}@{upto}")
            }
            Report::Synced { durable: Ok(()), then } => {
                assert_eq!(safe, length, "told before it was safe");
                format!("{then} safe")
            }
            Report::Synced { durable: Err(fault), then } => format!("{then} not safe: {fault}"),
            Report::Failed(fault) => format!("failed: {fault}"),
            Report::Recovered => "recovered".to_owned(),
        };
        sender.send(words).unwrap();
    });
    (recorder, received)
}

fn record(recorder: &mut Recorder<usize>, then: usize, begins: Begins) {
    let lines = vec![written(line(then), begins)];
    assert_eq!(recorder.record(Record { lines, then }), Pressure::Free);
}

/// The next reports. Waiting for each of them keeps the steps apart.
fn next<const N: usize>(reports: &Receiver<String>) -> [String; N] {
    std::array::from_fn(|_| reports.recv().unwrap())
}

#[tokio::test]
async fn nothing_is_written_before_the_user_speaks_and_then_everything_is() {
    let disk = Faulty::default();
    let (mut recorder, reports) = recorder(&disk);
    record(&mut recorder, 0, Begins::Later);
    assert_eq!(recorder.sync(1), Pressure::Free);
    assert_eq!(next(&reports), ["0@0", "1 safe"]);
    assert_eq!(disk.bytes(), b"");
    record(&mut recorder, 2, Begins::Now);
    let expected = format!("{HEADER}\n{}\n{}\n", line(0), line(2));
    assert_eq!(next(&reports), [format!("2@{}", expected.len())]);
    assert_eq!(String::from_utf8(disk.bytes()).unwrap(), expected);
    recorder.close();
    assert_eq!(disk.change(|state| state.safe), expected.len());
}

#[tokio::test]
async fn full_disk_is_told_once_and_everything_arrives_when_there_is_room() {
    let disk = Faulty::default();
    let (mut recorder, reports) = recorder(&disk);
    record(&mut recorder, 0, Begins::Now);
    let length = disk_length(&reports);
    disk.change(|state| state.room = Some(length + 7));
    record(&mut recorder, 1, Begins::Later);
    assert_eq!(next(&reports), ["failed: the disk is full".to_owned(), format!("1@{length}")]);
    record(&mut recorder, 2, Begins::Later);
    assert_eq!(recorder.sync(3), Pressure::Free);
    assert_eq!(next(&reports), [format!("2@{length}"), "3 not safe: the disk is full".to_owned()]);
    disk.change(|state| state.room = None);
    assert_eq!(recorder.sync(4), Pressure::Free);
    assert_eq!(next(&reports), ["recovered", "4 safe"]);
    let expected = format!("{HEADER}\n{}\n{}\n{}\n", line(0), line(1), line(2));
    assert_eq!(String::from_utf8(disk.bytes()).unwrap(), expected);
}

#[tokio::test]
async fn disk_that_takes_everything_and_keeps_nothing_is_told_once() {
    let disk = Faulty::default();
    let (mut recorder, reports) = recorder(&disk);
    record(&mut recorder, 0, Begins::Now);
    let length = disk_length(&reports);
    disk.change(|state| state.bad_syncs = 2);
    assert_eq!(recorder.sync(1), Pressure::Free);
    assert_eq!(next(&reports), ["failed: the disk failed", "1 not safe: the disk failed"]);
    record(&mut recorder, 2, Begins::Later);
    let [written] = next(&reports);
    assert!(written.starts_with("2@") && written != format!("2@{length}"), "{written}");
    assert_eq!(recorder.sync(3), Pressure::Free);
    assert_eq!(next(&reports), ["3 not safe: the disk failed"]);
    assert_eq!(recorder.sync(4), Pressure::Free);
    assert_eq!(next(&reports), ["recovered", "4 safe"]);
    assert_eq!(String::from_utf8(disk.bytes()).unwrap(), format!("{HEADER}\n{}\n{}\n", line(0), line(2)));
}

fn disk_length(reports: &Receiver<String>) -> usize {
    let [words] = next(reports);
    words.split_once('@').unwrap().1.parse().unwrap()
}

#[tokio::test]
async fn deleted_file_and_foreign_writer_are_told_and_left_alone() {
    let disk = Faulty::holding(b"x\n");
    let (mut recorder, reports) = start(&disk, Log::at(disk.clone(), 2));
    disk.change(|state| state.bytes.extend(b"theirs\n"));
    record(&mut recorder, 0, Begins::Later);
    let told = "failed: somebody else wrote to the file of the session: it has 9 bytes instead of 2";
    assert_eq!(next(&reports), [told, "0@2"]);
    assert_eq!(disk.bytes(), b"x\ntheirs\n");
    disk.change(|state| state.deleted = true);
    assert_eq!(recorder.sync(1), Pressure::Free);
    assert_eq!(next(&reports), ["1 not safe: the file of the session was deleted"]);
}

#[tokio::test]
async fn waiting_steps_share_one_write_and_one_sync() {
    let disk = Faulty::default();
    let (tell, reports) = channel();
    let (hold, held) = channel::<()>();
    let log = Log::at(disk.clone(), 0);
    let mut recorder = Recorder::start(log, move |report| {
        if let Report::Written { then: 0, .. } = report {
            held.recv().unwrap();
        }
        tell.send(matches!(report, Report::Synced { durable: Ok(()), .. })).unwrap();
    });
    record(&mut recorder, 0, Begins::Now);
    for then in (1..100).step_by(2) {
        record(&mut recorder, then, Begins::Later);
        assert_eq!(recorder.sync(then + 1), Pressure::Free);
    }
    hold.send(()).unwrap();
    recorder.close();
    assert_eq!(reports.iter().filter(|synced| *synced).count(), 50);
    assert!(disk.change(|state| state.syncs) <= 2, "one sync for all that wait, and one at the end");
}

#[tokio::test]
async fn who_records_more_than_is_written_is_told() {
    let disk = Faulty::default();
    let (hold, held) = channel::<()>();
    let (tell, reports) = channel();
    let mut recorder = Recorder::start(Log::at(disk, 0), move |report| {
        if let Report::Written { then, .. } = report {
            if then == 0 {
                held.recv().unwrap();
            }
            tell.send(then).unwrap();
        }
    });
    record(&mut recorder, 0, Begins::Now);
    let mut pressure = Pressure::Free;
    let mut sent = 1;
    while pressure == Pressure::Free {
        pressure = recorder.record(Record { lines: Vec::new(), then: sent });
        sent += 1;
        assert!(sent < 10_000, "nobody says stop");
    }
    assert_eq!(recorder.record(Record { lines: Vec::new(), then: sent }), Pressure::Full);
    hold.send(()).unwrap();
    recorder.close();
    assert_eq!(reports.iter().collect::<Vec<_>>(), (0..=sent).collect::<Vec<_>>());
}

#[tokio::test]
async fn step_without_lines_is_told_at_once_unless_something_is_to_be_tried_again() {
    let disk = Faulty::default();
    let (mut recorder, reports) = recorder(&disk);
    let nothing = |recorder: &mut Recorder<usize>, then| {
        assert_eq!(recorder.record(Record { lines: Vec::new(), then }), Pressure::Free);
    };
    nothing(&mut recorder, 0);
    assert_eq!(reports.try_recv().as_deref(), Ok("0@0"));
    disk.change(|state| state.room = Some(0));
    record(&mut recorder, 1, Begins::Now);
    assert_eq!(next(&reports), ["failed: the disk is full", "1@0"]);
    disk.change(|state| state.room = None);
    nothing(&mut recorder, 2);
    let length = HEADER.len() + line(1).len() + 2;
    assert_eq!(next(&reports), ["recovered".to_owned(), format!("2@{length}")]);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a file for the test")]
async fn closed_recorder_has_let_go_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    for _ in 0..50 {
        std::fs::write(&path, format!("{HEADER}\n")).unwrap();
        let now = pi_session::Moment::from_unix_millis(0);
        let opened = pi_session::file::open(&path, now, fastrand::Rng::new()).expect("nobody else writes to it");
        let mut recorder = Recorder::start(opened.log, |_| {});
        record(&mut recorder, 0, Begins::Now);
        recorder.close();
    }
}

#[tokio::test]
async fn conversation_without_a_file_is_told_the_same() {
    let (tell, reports) = channel();
    let mut recorder = Recorder::without_file(move |report| {
        let words = match report {
            Report::Written { then, upto } => format!("{then}@{upto}"),
            Report::Synced { then, durable } => format!("{then} {}", durable.is_ok()),
            Report::Failed(_) | Report::Recovered => "unexpected".to_owned(),
        };
        tell.send(words).unwrap();
    });
    record(&mut recorder, 0, Begins::Now);
    assert_eq!(recorder.sync(1), Pressure::Free);
    recorder.close();
    assert_eq!(reports.iter().collect::<Vec<_>>(), ["0@0", "1 true"]);
}

/// Wherever the disk gets full and however often it stutters, the file is the whole text in the end.
#[test]
fn disk_that_is_full_at_any_byte_loses_nothing() {
    let whole: String = (0..4).map(|number| format!("{}\n", line(number))).collect();
    for room in 0..=whole.len() {
        for gulp in [None, Some(1), Some(17)] {
            let disk = Faulty::default();
            disk.change(|state| (state.room, state.gulp) = (Some(room), gulp));
            let mut log = Log::at(disk.clone(), 0);
            for number in 0..4 {
                log.push(format!("{}\n", line(number)).as_bytes());
                let flushed = log.flush();
                assert_eq!(flushed.is_ok(), log.written() == log.end());
                assert!(log.written() <= room as u64);
            }
            assert_eq!(log.sync().is_ok(), room == whole.len(), "room for {room}");
            disk.change(|state| state.room = None);
            log.sync().unwrap();
            assert_eq!(String::from_utf8(disk.bytes()).unwrap(), whole, "room for {room}");
            assert_eq!(disk.change(|state| state.safe), whole.len());
        }
    }
}

#[derive(Debug, Clone)]
enum Act {
    Line,
    Flush,
    Sync,
    Room(usize),
    Free,
    BadSync,
    Death(bool),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Line),
        6 => Just(Act::Flush),
        3 => Just(Act::Sync),
        1 => (0usize..200).prop_map(Act::Room),
        1 => Just(Act::Free),
        1 => Just(Act::BadSync),
        1 => any::<bool>().prop_map(Act::Death),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    /// After a crash at any moment, with any part of what was not synced: the file opens, every line that was acknowledged
    /// is in it, and there is none that was never written.
    #[test]
    fn crash_loses_nothing_that_was_acknowledged(
        acts in prop::collection::vec(act(), 1..60), survives in 0.0f64..=1.0, garbled in any::<bool>(),
    ) {
        let disk = Faulty::holding(format!("{HEADER}\n").as_bytes());
        let mut log = Log::at(disk.clone(), HEADER.len() as u64 + 1);
        let (mut lines, mut acknowledged) = (0, 0);
        for act in acts {
            match act {
                Act::Line => {
                    log.push(format!("{}\n", line(lines)).as_bytes());
                    lines += 1;
                }
                Act::Flush => drop(log.flush()),
                Act::Sync => {
                    if log.sync().is_ok() {
                        acknowledged = lines;
                    }
                }
                Act::Room(more) => disk.change(|state| state.room = Some(state.bytes.len() + more)),
                Act::Free => disk.change(|state| state.room = None),
                Act::BadSync => disk.change(|state| state.bad_syncs = 1),
                Act::Death(dead) => disk.change(|state| state.dead = dead),
            }
        }
        let surviving = disk.change(|state| {
            let unsafe_bytes = state.bytes.len() - state.safe;
            let kept = state.safe + (unsafe_bytes as f64 * survives) as usize;
            let mut bytes = state.bytes[..kept].to_vec();
            if garbled {
                let middle = state.safe + (kept - state.safe) / 2;
                bytes[middle..].fill(0);
            }
            bytes
        });
        let scanned = scan(&surviving[..], fastrand::Rng::with_seed(1)).unwrap();
        let found: Vec<String> = scanned.tree.places().map(|place| scanned.tree.id(place).0).collect();
        prop_assert!(found.len() >= acknowledged, "{} of {acknowledged}", found.len());
        let expected: Vec<String> = (0..found.len()).map(|number| format!("{number:08x}")).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(scanned.tail != Tail::Whole || scanned.end == surviving.len() as u64);
    }
}
