//! What a call of a tool costs, from the arguments of the model to the result, beside the bare operation.
//!
//! In memory if there is a file system in memory: what a disk needs to keep a file is the same for both. `rg` is measured
//! where it is installed; its libraries, used as it uses them, always are.

#![expect(clippy::disallowed_methods, reason = "the bare operations are what is measured")]

#[expect(dead_code, reason = "a bench uses the part of the room that it needs")]
#[path = "../tests/support/room.rs"]
mod room;

use std::{
    hint::black_box,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, SearcherBuilder, sinks::UTF8};
use ignore::{WalkBuilder, WalkState};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use room::Room;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn tools(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let room = Room::below(&place, |_| {});
    let mut group = criterion.benchmark_group("tools");
    files(&mut group, &runtime, &room);
    commands(&mut group, &runtime, &room);
    search(&mut group, &runtime, &room);
    group.finish();
}

fn call(runtime: &Runtime, room: &Room, tool: &str, arguments: &Value) {
    let output = runtime.block_on(room.call(tool, arguments.clone()));
    black_box(output.expect("an output"));
}

fn files(group: &mut Group<'_>, runtime: &Runtime, room: &Room) {
    let text: String = (0..800).map(|number| format!("line {number:04} of a file that is read and edited\n")).collect();
    room.put("read.txt", &text);
    room.put("edit.txt", &text);
    let path = |name: &str| room.at(name);
    group.bench_function("read", |bencher| {
        bencher.iter(|| call(runtime, room, "read", &json!({ "path": "read.txt" })));
    });
    group.bench_function("bare_read", |bencher| {
        bencher.iter(|| black_box(std::fs::read_to_string(path("read.txt")).expect("text")));
    });
    group.bench_function("write", |bencher| {
        bencher.iter(|| call(runtime, room, "write", &json!({ "path": "write.txt", "content": text })));
    });
    group.bench_function("bare_write", |bencher| bencher.iter(|| replace(&path("bare.txt"), &text)));
    let turns = [("0400", "four hundred"), ("four hundred", "0400")];
    // Forth and back, whatever is measured in how many parts.
    let mut turn = turns.iter().cycle();
    group.bench_function("edit", |bencher| {
        bencher.iter(|| {
            let (old, new) = turn.next().expect("a cycle");
            call(runtime, room, "edit", &json!({ "path": "edit.txt", "edits": [{ "oldText": old, "newText": new }] }));
        });
    });
    replace(&path("bare.txt"), &text);
    let mut turn = turns.iter().cycle();
    group.bench_function("bare_edit", |bencher| {
        bencher.iter(|| {
            let (old, new) = turn.next().expect("a cycle");
            let text = std::fs::read_to_string(path("bare.txt")).expect("text");
            replace(&path("bare.txt"), &text.replacen(old, new, 1));
        });
    });
}

/// As safely as the tool does it, and nothing else.
fn replace(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    let mut file = std::fs::File::create(&draft).expect("a file");
    file.write_all(text.as_bytes()).expect("room");
    file.sync_all().expect("a file on the disk");
    std::fs::rename(draft, path).expect("a file");
}

fn commands(group: &mut Group<'_>, runtime: &Runtime, room: &Room) {
    group.bench_function("bash_true", |bencher| {
        bencher.iter(|| call(runtime, room, "bash", &json!({ "command": "true" })));
    });
    group.bench_function("bare_bash_true", |bencher| {
        bencher.iter(|| {
            let mut bash = Command::new("/bin/bash");
            black_box(bash.args(["-c", "true"]).stdin(Stdio::null()).output().expect("bash"));
        });
    });
}

/// Two thousand files, of which forty hold what is looked for.
fn search(group: &mut Group<'_>, runtime: &Runtime, room: &Room) {
    for number in 0..2000 {
        let line = format!("fn function_{number}() {{ let value = {number}; call(value) }}\n");
        let rare = if number % 50 == 0 { "the needle in the haystack\n" } else { "" };
        room.put(&format!("tree/d{:02}/f{number:04}.rs", number % 40), format!("{}{rare}", line.repeat(40)));
    }
    room.put("tree/.gitignore", "*.log\n/target/\n");
    group.bench_function("grep", |bencher| {
        bencher.iter(|| call(runtime, room, "grep", &json!({ "pattern": "needle in", "path": "tree" })));
    });
    group.bench_function("find", |bencher| {
        bencher.iter(|| call(runtime, room, "find", &json!({ "pattern": "f1*.rs", "path": "tree" })));
    });
    let tree = room.at("tree");
    group.bench_function("bare_grep", |bencher| bencher.iter(|| assert_eq!(matches(&tree), 40)));
    let is_installed = Command::new("rg").arg("--version").output().is_ok();
    if is_installed {
        group.bench_function("rg", |bencher| {
            bencher.iter(|| {
                let mut rg = Command::new("rg");
                let rg = rg.args(["--json", "--hidden", "needle in"]).arg(&tree).stdin(Stdio::null());
                black_box(rg.output().expect("rg"));
            });
        });
    }
}

/// What ripgrep does with its libraries, without its output.
fn matches(tree: &Path) -> usize {
    let matcher = RegexMatcher::new_line_matcher("needle in").expect("a pattern");
    let found = AtomicUsize::new(0);
    let walk = WalkBuilder::new(tree).hidden(false).require_git(false).build_parallel();
    walk.run(|| {
        let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).build();
        let (matcher, found) = (&matcher, &found);
        Box::new(move |entry| {
            let entry = entry.expect("an entry");
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let count = UTF8(|_, _| {
                    found.fetch_add(1, Ordering::Relaxed);
                    Ok(true)
                });
                searcher.search_path(matcher, entry.path(), count).expect("a file");
            }
            WalkState::Continue
        })
    });
    found.into_inner()
}

criterion_group!(benches, tools);
criterion_main!(benches);
