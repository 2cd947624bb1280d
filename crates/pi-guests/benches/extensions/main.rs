//! What extensions cost: starting one, calling its tool, telling twenty of them something, keeping one.
//!
//! `start_hello` is everything from a file on the disk to a guest that has registered its tool, with code that was built
//! before. `tool_call` goes through the guests of a session, with its ledger, and asks its host for nothing;
//! `tool_call_asking` also asks for a variable and `tool_call_reading` for a file, through dispatcher and policy.
//! `bare_call` is the first of these, of the same JavaScript, on a thread with an engine and nothing else.
//! Published packages are measured where `PI_BENCH_PACKAGES` names a folder of them, as `cargo xtask bench` does.
//!
//! What a tool answered is compared with what it must answer, each time: a call that became fast by doing something else
//! ends the bench.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock and makes the folders that it works in")]
#![expect(clippy::print_stdout, reason = "figures that criterion does not measure are printed")]

mod bare;
mod packages;
#[path = "../support/stage.rs"]
mod stage;

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use pi_exthost::{Guests, guest::ToolInvocation};
use pi_extproto::hook::event::Event;
use pi_transcript::{Block, ToolOutput};
use serde_json::json;
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_util::sync::CancellationToken;

use self::{bare::Bare, stage::Stage};

/// A tool that greets, one that asks for a variable, one that reads a file, one that tells how far it is, and a handler.
const HELLO: &str = r#"
import { readFileSync } from "node:fs";
const text = (said) => ({ content: [{ type: "text", text: said }], details: {} });
export default function (pi) {
    const tool = (name, execute) => pi.registerTool({
        name, label: name, description: "A tool", parameters: { type: "object", properties: { name: { type: "string" } } }, execute,
    });
    tool("hello", async (id, params) => text(`Hello, ${params.name}!`));
    tool("ask", async (id, params) => text(process.env.PATH === undefined ? "no path" : "a path"));
    tool("look", async (id, params) => text(readFileSync("note.txt", "utf8")));
    tool("stream", async (id, params, signal, onUpdate) => {
        for (let at = 0; at < 1000; at++) onUpdate(text(`${at}`));
        return text("1000");
    });
    pi.on("turn_start", () => {});
}
"#;
/// Guests that hear the same event.
const FAN: usize = 20;
/// Guests that are kept to see what one of them takes.
const KEPT: usize = 40;
/// Calls for what criterion does not say.
const CALLS: usize = 2_000;
/// Updates of one call of `stream`.
const UPDATES: usize = 1_000;

/// Calls a tool of a session's guests and holds its answer against the one that it must give.
async fn call(guests: &Guests, name: &str, expected: &str) {
    let (updates, _) = mpsc::channel(1);
    let answer = call_with(guests, name, updates).await;
    assert_eq!(text(&answer), expected, "{name}");
}

async fn call_with(guests: &Guests, name: &str, updates: mpsc::Sender<ToolOutput>) -> ToolOutput {
    let input = json!({ "name": "you" }).as_object().unwrap().clone();
    let call = ToolInvocation { call_id: "c1".into(), name: name.to_owned(), input, updates };
    guests.tool(name).unwrap().call(call, &CancellationToken::new()).await.unwrap().output
}

fn text(output: &ToolOutput) -> &str {
    match output.content.as_slice() {
        [Block::Text(text)] => &text.text,
        other => panic!("{other:?}"),
    }
}

fn cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    let time = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    time(usage.user_time()) + time(usage.system_time())
}

/// Median, 95th percentile and CPU time of one call.
fn distribution(runtime: &Runtime, name: &str, mut work: impl AsyncFnMut()) {
    let mut times = Vec::with_capacity(CALLS);
    let before = cpu();
    runtime.block_on(async {
        for _ in 0..CALLS {
            let begin = Instant::now();
            work().await;
            times.push(begin.elapsed());
        }
    });
    let spent = (cpu() - before).as_nanos() / CALLS as u128;
    times.sort();
    println!("metric {name}_p95 {} ns", times[CALLS * 95 / 100].as_nanos());
    println!("metric {name}_cpu {spent} ns");
}

fn calls(criterion: &mut Criterion) {
    let stage = Stage::new("ts", HELLO);
    stage.runtime.block_on(stage.guests(1));
    let (guests, bare) = (stage.runtime.block_on(stage.guests(1)), Bare::start(HELLO));
    let input = json!({ "name": "you" });
    let bare_call = async || assert_eq!(bare.call(&input).await, "Hello, you!");
    let mut group = criterion.benchmark_group("extensions");
    group.bench_function("bare_call", |bencher| bencher.iter(|| stage.runtime.block_on(bare_call())));
    group.bench_function("tool_call", |bencher| {
        bencher.iter(|| stage.runtime.block_on(call(&guests, "hello", "Hello, you!")));
    });
    group.bench_function("tool_call_asking", |bencher| {
        bencher.iter(|| stage.runtime.block_on(call(&guests, "ask", "a path")));
    });
    group.bench_function("tool_call_reading", |bencher| {
        bencher.iter(|| stage.runtime.block_on(call(&guests, "look", stage::NOTE)));
    });
    group.finish();
    distribution(&stage.runtime, "bare_call", bare_call);
    distribution(&stage.runtime, "tool_call", async || call(&guests, "hello", "Hello, you!").await);
    distribution(&stage.runtime, "tool_call_asking", async || call(&guests, "ask", "a path").await);
    distribution(&stage.runtime, "tool_call_reading", async || call(&guests, "look", stage::NOTE).await);
}

/// Starting an extension whose code is in the cache; and from a start to the answer of its first call, beyond that.
fn start(criterion: &mut Criterion) {
    let stage = Stage::new("ts", HELLO);
    // Builds and compiles what the others find.
    stage.runtime.block_on(stage.guests(1));
    criterion.bench_function("extensions/start_hello", |bencher| {
        bencher.iter(|| stage.runtime.block_on(stage.guests(1)));
    });
    let mut times: Vec<Duration> = (0..40)
        .map(|_| {
            let guests = stage.runtime.block_on(stage.guests(1));
            let begin = Instant::now();
            stage.runtime.block_on(call(&guests, "hello", "Hello, you!"));
            begin.elapsed()
        })
        .collect();
    times.sort();
    println!("metric first_call {} ns", times[times.len() / 2].as_nanos());
}

fn fan(criterion: &mut Criterion) {
    let stage = Stage::new("ts", HELLO);
    let guests = stage.runtime.block_on(stage.guests(FAN));
    let event = || Event::read("turn_start", json!({ "turnIndex": 1, "timestamp": 1 }).as_object().cloned()).unwrap();
    criterion.bench_function("extensions/hook_to_20", |bencher| {
        bencher.iter(|| stage.runtime.block_on(guests.dispatch(event(), &CancellationToken::new())));
    });
}

/// How long a piece of what a tool says while it works takes to arrive, one after the other.
fn stream(_: &mut Criterion) {
    let stage = Stage::new("ts", HELLO);
    let guests = stage.runtime.block_on(stage.guests(1));
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            stage.runtime.block_on(async {
                let (updates, mut heard) = mpsc::channel(2 * UPDATES);
                let begin = Instant::now();
                let answer = call_with(&guests, "stream", updates).await;
                let took = begin.elapsed();
                assert_eq!(text(&answer), "1000");
                let mut count = 0;
                while let Ok(update) = heard.try_recv() {
                    assert_eq!(text(&update), count.to_string());
                    count += 1;
                }
                assert_eq!(count, UPDATES, "none is lost while there is room");
                took
            })
        })
        .collect();
    times.sort();
    println!("metric stream_update {} ns 1", times[times.len() / 2].as_nanos() / UPDATES as u128);
}

/// What a guest that waits takes, of memory that nobody shares with it.
fn memory(_: &mut Criterion) {
    let stage = Stage::new("ts", HELLO);
    let first = stage.runtime.block_on(stage.guests(1));
    let Some(before) = private() else { return };
    let guests = stage.runtime.block_on(stage.guests(KEPT));
    std::thread::sleep(Duration::from_millis(200));
    let added = private().unwrap() - before;
    println!("metric idle_memory {} KiB", added as f64 / KEPT as f64);
    drop((first, guests));
}

/// Kibibytes that this process alone has, where the system tells.
fn private() -> Option<i64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let of = |name: &str| -> Option<i64> {
        let line = rollup.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(of("Private_Dirty:")? + of("Private_Clean:")?)
}

criterion_group!(benches, memory, start, calls, fan, stream, packages::measure);
criterion_main!(benches);
