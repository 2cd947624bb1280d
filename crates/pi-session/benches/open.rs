//! What it costs to come back to a conversation of a hundred megabytes, and to list a thousand of them.
//!
//! `100mb` is a session as it looks in practice: answers, calls, results with code, and a compaction every hundred
//! thousand tokens. `100mb_of_short_lines` has some six hundred thousand entries, the worst case of the index. The files are
//! in the page cache. Before anything else the peak memory of a process that has only opened the first one is printed.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a bench makes the files that it measures")]

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
};

use criterion::{Criterion, criterion_group, criterion_main};
use pi_policy::Moment;
use pi_session::{
    directory::{self, Project},
    file,
};
use serde_json::{Value, json};

const SIZE: u64 = 100 << 20;
const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-16T00:00:00.000Z","cwd":"/w"}"#;
const CODE: &str = include_str!("../src/tree.rs");
/// Bytes between two compactions, and how many entries each of them keeps.
const STRETCH: u64 = 400 << 10;
const KEPT: u64 = 20;

struct Session {
    file: BufWriter<File>,
    written: u64,
    entries: u64,
}

impl Session {
    fn create(path: &Path) -> Self {
        let mut session = Self { file: BufWriter::new(File::create(path).unwrap()), written: 0, entries: 0 };
        session.line(HEADER);
        session
    }

    fn line(&mut self, text: &str) {
        writeln!(self.file, "{text}").unwrap();
        self.written += text.len() as u64 + 1;
    }

    fn entry(&mut self, kind: &str, member: &str, payload: Value) {
        self.entries += 1;
        let parent = (self.entries > 1).then(|| format!("{:08x}", self.entries - 1));
        let mut entry = json!({
            "type": kind, "id": format!("{:08x}", self.entries), "parentId": parent, "timestamp": "2026-11-16T00:00:00.000Z",
        });
        entry[member] = payload;
        self.line(&entry.to_string());
    }

    fn turn(&mut self, number: u64) {
        let usage = json!({"input": 900, "output": 90, "cacheRead": 9, "cacheWrite": 0, "totalTokens": 999,
            "cost": {"input": 0.1, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.35}});
        let cut = |bytes: usize| &CODE[..CODE.floor_char_boundary(bytes)];
        self.entry("message", "message", json!({"role": "user", "content": cut(300), "timestamp": number}));
        for step in 0..4 {
            let id = format!("call_{number}_{step}");
            self.entry("message", "message", json!({
                "role": "assistant", "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse",
                "timestamp": number, "content": [
                    {"type": "thinking", "thinking": cut(700), "thinkingSignature": "c2ln"}, {"type": "text", "text": cut(200)},
                    {"type": "toolCall", "id": id, "name": "edit", "arguments": {"path": "src/tree.rs", "oldText": cut(400)}},
                ],
            }));
            self.entry(
                "message",
                "message",
                json!({
                    "role": "toolResult", "toolCallId": id, "toolName": "edit", "isError": false, "timestamp": number,
                    "content": [{"type": "text", "text": cut(2000 + (number as usize * 977 + step * 3001) % 8000)}],
                }),
            );
        }
    }

    fn compaction(&mut self) {
        self.entries += 1;
        let entry = json!({
            "type": "compaction", "id": format!("{:08x}", self.entries), "parentId": format!("{:08x}", self.entries - 1),
            "timestamp": "2026-11-16T00:00:00.000Z", "summary": &CODE[..3000],
            "firstKeptEntryId": format!("{:08x}", self.entries - KEPT), "tokensBefore": 100_000,
        });
        self.line(&entry.to_string());
    }
}

fn long(path: &Path) {
    let mut session = Session::create(path);
    let mut next = STRETCH;
    while session.written < SIZE {
        session.turn(session.entries);
        if session.written > next {
            session.compaction();
            next = session.written + STRETCH;
        }
    }
}

fn short_lines(path: &Path) {
    let mut session = Session::create(path);
    while session.written < SIZE {
        session.entry("custom", "data", json!("a bit of an extension's data, of the usual length of such things"));
    }
}

fn project(folder: &Path) -> Project {
    let project = Project::new(folder, "/w");
    fs::create_dir_all(project.folder()).unwrap();
    for number in 0..1000 {
        let mut session = Session::create(&project.folder().join(format!("2026-11-16T00-00-00-000Z_{number}.jsonl")));
        (0..3).for_each(|turn| session.turn(turn));
    }
    project
}

/// Peak memory of this process in KiB; nothing where the system does not tell.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn open_once(path: &Path) -> usize {
    let now = Moment::from_unix_millis(0);
    file::open(path, now, fastrand::Rng::with_seed(1)).unwrap().tree.len()
}

#[expect(clippy::print_stdout, reason = "read from the output of the bench by `cargo xtask bench`")]
fn print_peak(name: &str, path: &Path) {
    open_once(path);
    if let Some(peak) = peak() {
        println!("metric open/{name} {peak} KiB");
    }
}

fn open(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let (practice, short) = (folder.path().join("practice.jsonl"), folder.path().join("short.jsonl"));
    long(&practice);
    short_lines(&short);
    print_peak("100mb_memory", &practice);
    print_peak("100mb_of_short_lines_memory", &short);
    let project = project(folder.path());
    let mut group = criterion.benchmark_group("open");
    group.sample_size(10);
    group.bench_function("100mb", |bencher| bencher.iter(|| open_once(&practice)));
    group.bench_function("100mb_of_short_lines", |bencher| bencher.iter(|| open_once(&short)));
    group.bench_function("list_1000", |bencher| bencher.iter(|| directory::list(&project).unwrap().len()));
    group.finish();
}

criterion_group!(benches, open);
criterion_main!(benches);
