//! The ledger: whole, chained, redacted, bounded.

use std::{fs, time::Duration};

use pi_exthost::{
    Ledger, Occasion,
    ledger::{
        Allowance, LedgerFault, Pace, Settings,
        reading::{Fault, read, statistics, verify},
    },
};
use pi_extproto::log::LogEntry;
use serde_json::{Value, json};

use crate::stage::{AGES, Plan, Stage, now, redactor};

async fn written(plan: Plan, calls: usize) -> Stage {
    let stage = Stage::new(plan);
    for number in 0..calls {
        stage.ask("log", json!({ "level": "info", "event": "x", "message": format!("note {number}") })).await;
    }
    stage.dispatcher.ledger().flush().await.expect("it is written");
    stage
}

/// The faults that are found after the lines were changed.
async fn faults(change: impl FnOnce(&mut Vec<String>)) -> Vec<(usize, Fault)> {
    let stage = written(Plan::default(), 3).await;
    stage.dispatcher.close().await;
    let mut lines: Vec<String> = stage.lines().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(stage.path("logs/s1.jsonl"), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .expect("a file");
    let verified = verify(&stage.path("logs"), "s1").expect("a ledger");
    verified.breaks.into_iter().map(|found| (found.line, found.fault)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_keeps_the_contract_of_the_log() {
    let stage = written(Plan::default(), 2).await;
    stage.ask("fs", json!({ "op": "read", "path": "ROOT/home/.ssh/id_rsa" })).await;
    stage.desk.events().begin(Occasion::ToolCall("t1".into()), "deploy").end(None, Duration::ZERO);
    stage.dispatcher.close().await;
    let schema = jsonschema::validator_for(&pi_extproto::schema::log()).expect("a schema");
    let mut events = Vec::new();
    for line in stage.lines().lines() {
        let value: Value = serde_json::from_str(line).expect("JSON");
        assert!(schema.is_valid(&value), "{line}");
        let entry: LogEntry = serde_json::from_value(value).expect("an entry");
        assert_eq!(entry.breaches(), [], "{line}");
        assert_eq!(entry.correlation.scenario_id, "live");
        events.push(entry.event.as_str().to_owned());
    }
    assert_eq!(
        events,
        [
            "host_call.start",
            "x",
            "host_call.end",
            "host_call.start",
            "x",
            "host_call.end",
            "host_call.start",
            "policy.decision",
            "host_call.end",
            "tool_call.start",
            "tool_call.end",
            "ledger.close"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_removed_and_moved_lines_are_found() {
    assert_eq!(faults(|_| {}).await, []);
    let changed = faults(|lines| lines[2] = lines[2].replace("\"info\"", "\"warn\"")).await;
    assert_eq!(changed, [(4, Fault::PreviousChanged)]);
    let removed = faults(|lines| drop(lines.remove(2))).await;
    assert_eq!(removed, [(3, Fault::Misplaced { expected: 2, found: 3 })]);
    let moved = faults(|lines| lines.swap(2, 3)).await;
    assert_eq!(moved.first(), Some(&(3, Fault::Misplaced { expected: 2, found: 3 })));
    let cut = faults(|lines| lines.truncate(4)).await;
    assert_eq!(cut, [(4, Fault::CutOff { missing: 6 })]);
    let last = faults(|lines| *lines.last_mut().expect("a line") = lines[9].replace("ends here", "goes on")).await;
    assert_eq!(last, [(10, Fault::LastChanged)]);
    let first = faults(|lines| drop(lines.remove(0))).await;
    assert_eq!(first, [(1, Fault::BeginningMissing { missing: 1 })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn denials_stay_when_reads_push_their_file_out() {
    let stage = Stage::new(Plan { segment_bytes: 2000, ..Plan::default() });
    for _ in 0..2 {
        stage.ask("fs", json!({ "op": "read", "path": "ROOT/home/.ssh/id_rsa" })).await;
    }
    for number in 0..80 {
        stage.ask("log", json!({ "level": "info", "event": "policy.decision", "message": format!("{number}") })).await;
        stage.dispatcher.ledger().flush().await.expect("it is written");
    }
    stage.dispatcher.close().await;
    let folder = stage.path("logs");
    let faults = || {
        let verified = verify(&folder, "s1").expect("a ledger");
        verified.breaks.into_iter().map(|found| found.fault).collect::<Vec<_>>()
    };
    let verified = verify(&folder, "s1").expect("a ledger");
    assert!(verified.is_intact() && verified.files == 17 && verified.first > 6, "{verified:?}");
    let reading = read(&folder, "s1").expect("a ledger");
    let of = |event: &str| reading.entries.iter().filter(|entry| entry.event.as_str() == event).count();
    assert_eq!(statistics(&reading).extensions["g1"].denials, 2);
    assert!(of("ledger.removed") > 16 && of("policy.decision") < 80, "{}", of("ledger.removed"));
    let decided = &reading.entries[0].data.as_ref().expect("data")["capability"];
    assert_eq!((reading.entries[0].event.as_str(), decided), ("policy.decision", &json!("read")));

    let kept = fs::read_to_string(stage.path("logs/s1.kept")).expect("a file");
    fs::write(stage.path("logs/s1.kept"), kept.replace("id_rsa", "id_pub")).expect("a file");
    assert_eq!(faults(), [Fault::KeptChanged]);
    fs::write(stage.path("logs/s1.kept"), format!("{kept}{}\n", kept.lines().next().expect("a line"))).expect("a file");
    assert_eq!(faults(), [Fault::KeptChanged]);
    fs::write(stage.path("logs/s1.kept"), kept).expect("a file");
    assert_eq!(faults(), []);
    let oldest = fs::read_dir(&folder).expect("a folder").filter_map(|entry| {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        name.strip_prefix("s1.")?.strip_suffix(".jsonl")?.parse::<u64>().ok()
    });
    let oldest = oldest.min().expect("a file");
    fs::remove_file(stage.path(&format!("logs/s1.{oldest}.jsonl"))).expect("it is removed");
    assert!(matches!(faults()[..], [Fault::BeginningMissing { .. }, ..]), "{:?}", faults());
}

#[tokio::test(flavor = "multi_thread")]
async fn torn_line_is_named_and_repaired_by_the_next_writer() {
    let stage = written(Plan::default(), 1).await;
    stage.dispatcher.close().await;
    let path = stage.path("logs/s1.jsonl");
    let mut text = stage.lines();
    text.push_str(r#"{"schema":"pi.ext.log.v1","ts":"20"#);
    fs::write(&path, &text).expect("a file");
    let folder = stage.path("logs");
    let verified = verify(&folder, "s1").expect("a ledger");
    assert_eq!(verified.breaks.iter().map(|found| found.fault.clone()).collect::<Vec<_>>(), [Fault::Torn]);
    let ledger = Ledger::open(Settings::new(&folder, "s1"), redactor(), now).expect("a ledger");
    ledger.close().await.expect("it is written");
    assert!(verify(&folder, "s1").expect("a ledger").is_intact());
    assert!(stage.lines().contains("ledger.repair"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chain_goes_on_across_files_and_processes() {
    let stage = written(Plan { segment_bytes: 2000, ..Plan::default() }, 20).await;
    stage.dispatcher.close().await;
    let folder = stage.path("logs");
    let reopened = Ledger::open(Settings::new(&folder, "s1"), redactor(), now).expect("a ledger");
    let second = Ledger::open(Settings::new(&folder, "s1"), redactor(), now);
    assert!(matches!(second, Err(LedgerFault::InUse { .. })));
    reopened.close().await.expect("it is written");
    let verified = verify(&folder, "s1").expect("a ledger");
    assert!(verified.is_intact() && verified.files > 1 && verified.is_closed, "{verified:?}");
    assert_eq!(verified.lines, 62);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_contents_and_parameters_are_not_written() {
    let stage = Stage::new(Plan::default());
    stage
        .ask(
            "log",
            json!({ "level": "info", "event": "x", "message": "it is hunter2-is-the-secret",
        "data": { "api_key": "abc", "text": "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345" } }),
        )
        .await;
    let content = "the content of a file";
    stage.ask("fs", json!({ "op": "write", "path": "f", "content": { "text": content }, "mode": "replace" })).await;
    stage.desk.events().output("stdout", "password=hunter2-is-the-secret", &Occasion::Background);
    stage.dispatcher.ledger().flush().await.expect("it is written");
    let lines = stage.lines();
    for secret in ["hunter2", "\"abc\"", "abcdefghijklmnopqrstuvwxyz012345", content] {
        assert!(!lines.contains(secret), "{secret} in {lines}");
    }
    assert!(lines.contains("[REDACTED]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_notes_is_bounded_and_counted() {
    let allowance = Allowance { lines: Pace { most: 10, span: Duration::from_secs(3600) }, bytes: 100 };
    let stage = written(Plan { allowance, ..Plan::default() }, 50).await;
    stage.ask("log", json!({ "level": "info", "event": "x", "message": "y".repeat(5000) })).await;
    stage.desk.events().settle();
    stage.dispatcher.ledger().flush().await.expect("it is written");
    let lines = stage.lines();
    assert_eq!(lines.matches(r#""message":"note "#).count(), 10);
    assert!(lines.contains(r#""left_out":41"#), "{lines}");
    assert!(!lines.contains(&"y".repeat(200)));
}

/// While the folder is away no file can be put aside, which is as good as a full disk.
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_refused_while_nothing_can_be_written_and_nothing_is_lost() {
    let stage = written(Plan { segment_bytes: 2000, ..Plan::default() }, 1).await;
    let (folder, away) = (stage.path("logs"), stage.path("away"));
    fs::rename(&folder, &away).expect("it is moved");
    let note = || stage.ask("log", json!({ "level": "info", "event": "x", "message": "note" }));
    let refused = tokio::time::timeout(AGES, async {
        loop {
            if let Some(error) = note().await.error {
                return error;
            }
        }
    });
    let error = refused.await.expect("it is noticed");
    assert!(error.message.starts_with("the ledger cannot be written: "), "{}", error.message);
    assert_eq!((json!(error.code), error.retryable), (json!("internal"), Some(true)));
    fs::rename(&away, &folder).expect("it is back");
    let healed = tokio::time::timeout(AGES, async {
        while note().await.error.is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    healed.await.expect("it goes on");
    stage.dispatcher.close().await;
    let verified = verify(&folder, "s1").expect("a ledger");
    assert!(verified.is_intact() && verified.is_closed, "{verified:?}");
    let reading = read(&folder, "s1").expect("a ledger");
    let gap = reading.entries.iter().find(|entry| entry.event.as_str() == "ledger.gap").expect("it is said");
    let data = gap.data.as_ref().expect("data");
    assert!(data["refused_calls"].as_u64() >= Some(1) && data["lost_lines"] == json!(0), "{data:?}");
    let own = &statistics(&reading).extensions["g1"];
    assert_eq!(own.unfinished, 0);
}
