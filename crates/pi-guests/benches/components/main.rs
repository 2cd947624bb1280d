//! What components and MCP servers cost, beside the engine and the SDK by themselves in the same run.
//!
//! `compile`, `load` and `instantiate` are the way from a component to a guest that has said what it offers, with and without
//! code that was made before; `start` and `start_cold` are the same from a file on the disk, with everything around it. The
//! component is an example of the SDK where `PI_BENCH_COMPONENT` names its file, as `cargo xtask bench` does, and a small
//! one in text form elsewhere.
//!
//! `guest_call` asks a guest to use its tool, `tool_call` asks the guests of a session, with its ledger, and
//! `tool_call_asking` lets the tool ask its host for something, through dispatcher and policy. `host_call` is what that
//! costs, of which `crossing` is the way between component and host and the rest is what the dispatcher does. Beside them
//! stands `bare_async_host_call`, the same function with the same types that is a future too and only answers;
//! `bare_host_call` answers at once, without one.
//!
//! What a tool answered is compared with what it must answer, each time.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock and makes the folders that it works in")]
#![expect(clippy::print_stdout, reason = "figures that criterion does not measure are printed")]

mod bare;
#[expect(dead_code, reason = "tests lay out more than a bench needs")]
#[path = "../../tests/wasm/component.rs"]
mod component;
mod servers;
#[path = "../support/stage.rs"]
mod stage;

use std::{
    env, fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use pi_extc::Cache;
use pi_exthost::{
    Ask, Desk, Dispatcher, Guest, Guests, Stopwatch, Terms,
    guest::ToolInvocation,
    launcher::{Evidence, Identity, Own, Provenance},
};
use pi_extproto::{
    capability::Declared,
    connector::{Call, environment::EnvCall},
};
use pi_guests::wasm::{Code, Limits, Machine, Piece, Program, WasmGuest};
use pi_transcript::{Block, ToolOutput};
use serde_json::json;
use tokio::{runtime::Runtime, sync::mpsc};
use tokio_util::sync::CancellationToken;

use self::{bare::Bare, component::Assembler, stage::Stage};

/// Where a component is that a compiler made.
const COMPONENT: &str = "PI_BENCH_COMPONENT";
const MEMORY: usize = 256 << 20;
/// How often the tool `ask` asks.
const ASKS: u32 = 100;
/// Instances that are kept to see what one of them takes.
const KEPT: usize = 100;
/// Calls for what criterion does not say.
const CALLS: usize = 1_000;
const HELLO: &str = "Hello, you!";
const INPUT: &str = r#"{"name":"you"}"#;

/// The component of `hello.wat`.
fn hello() -> Vec<u8> {
    let tool = |name: &str| json!({ "name": name, "description": "d", "parameters": r#"{"type":"object"}"# });
    let tools = ["hello", "ask"].map(tool);
    let register = json!({ "name": "hello", "version": "1.0.0", "api-version": "1.0", "tools": tools });
    let answer = json!({ "ok": { "output": { "content": [{ "text": HELLO }] }, "is-error": false } });
    let assembler = Assembler::new()
        .result("init", "guest", "init", &json!({ "ok": register }))
        .result("answer", "guest", "call-tool", &answer)
        .result("returned", "env", "get", &json!({ "ok": null }))
        .number("asks", ASKS as usize);
    assembler.component(include_str!("hello.wat"))
}

/// A component as large as usual, if there is one.
fn usual() -> Vec<u8> {
    match env::var_os(COMPONENT) {
        Some(path) => fs::read(PathBuf::from(path)).unwrap(),
        None => hello(),
    }
}

fn program(machine: &Machine, code: &Code) -> Program {
    Program {
        name: "hello".to_owned(),
        path: "hello.wasm".to_owned(),
        machine: machine.clone(),
        code: code.clone(),
        limits: Limits::default(),
    }
}

fn desk(stage: &Stage, dispatcher: &Dispatcher) -> Desk {
    let folder = stage.folder();
    let identity = Identity {
        id: "hello".into(),
        version: "1.0.0".into(),
        artifact: None,
        origins: Vec::new(),
        provenance: Provenance::Trusted,
        declared: Declared::new(None, None),
        evidence: Evidence::CLEAN,
        folder: folder.join("project"),
        own: Own::folder(folder.join("project")),
        data: folder.join("data"),
        temporary: folder.join("tmp/hello"),
    };
    dispatcher.desk(identity).unwrap()
}

/// Calls a tool of a session's guests and holds its answer against the one that it must give.
async fn call(guests: &Guests, name: &str, expected: &str) {
    let answer = guests.tool(name).unwrap().call(invocation(name), &CancellationToken::new()).await.unwrap();
    assert_eq!(text(&answer.output), expected, "{name}");
}

fn invocation(name: &str) -> ToolInvocation {
    let input = serde_json::from_str(INPUT).unwrap();
    let (updates, _) = mpsc::channel(1);
    ToolInvocation { call_id: "c1".into(), name: name.to_owned(), input, updates }
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

/// CPU time of one piece of work, of this whole process.
fn cpu_of(runtime: &Runtime, times: usize, mut work: impl AsyncFnMut()) -> Duration {
    let before = cpu();
    runtime.block_on(async {
        for _ in 0..times {
            work().await;
        }
    });
    (cpu() - before) / u32::try_from(times).unwrap()
}

/// Half of the times are shorter.
fn median_of(runtime: &Runtime, times: usize, mut work: impl AsyncFnMut()) -> Duration {
    let mut all: Vec<Duration> = runtime.block_on(async {
        let mut all = Vec::with_capacity(times);
        for _ in 0..times {
            let begin = Instant::now();
            work().await;
            all.push(begin.elapsed());
        }
        all
    });
    all.sort();
    all[times / 2]
}

/// From bytes to code, with and without code that was made before.
fn code(criterion: &mut Criterion) {
    let (folder, component) = (tempfile::tempdir().unwrap(), usual());
    println!("metric component {} KiB", component.len() / 1024);
    let (machine, bare) = (Machine::new(MEMORY).unwrap(), Bare::new());
    let caches = || Cache::open(tempfile::tempdir_in(folder.path()).unwrap().keep().as_path()).unwrap();
    let cache = caches();
    let written = folder.path().join("bare.cwasm");
    bare.write(&component, &written);
    let piece = Piece::bare("hello", &component);
    let prepare = |cache: &Cache| Code::prepare(&machine, piece, Some(cache)).unwrap();
    prepare(&cache);
    let mut group = criterion.benchmark_group("components");
    group.sample_size(10);
    group.bench_function("bare_compile", |bencher| bencher.iter(|| bare.compile(&component)));
    group.bench_function("compile", |bencher| {
        bencher.iter_batched(caches, |cache| prepare(&cache), BatchSize::PerIteration);
    });
    group.finish();
    let mut group = criterion.benchmark_group("components");
    group.bench_function("bare_load", |bencher| bencher.iter(|| bare.load(&written)));
    group.bench_function("load", |bencher| bencher.iter(|| prepare(&cache)));
    group.finish();
}

/// From code to a guest that has said what it offers, and from a file.
fn start(criterion: &mut Criterion) {
    let (stage, component) = (Stage::new("wasm", usual()), usual());
    let (machine, bare) = (Machine::new(MEMORY).unwrap(), Bare::new());
    let dispatcher = stage.dispatcher();
    let desk = desk(&stage, &dispatcher);
    let (code, ready) =
        (Code::prepare(&machine, Piece::bare("hello", &component), None).unwrap(), bare.compile(&component));
    let mut group = criterion.benchmark_group("components");
    group.bench_function("bare_instantiate", |bencher| bencher.iter(|| stage.runtime.block_on(bare.instance(&ready))));
    group.bench_function("instantiate", |bencher| {
        bencher.iter(|| stage.runtime.block_on(WasmGuest::start(program(&machine, &code), desk.clone())).unwrap());
    });
    // What is built is kept for those that follow.
    stage.runtime.block_on(stage.guests(1));
    group.bench_function("start", |bencher| bencher.iter(|| stage.runtime.block_on(stage.guests(1))));
    group.finish();
    let files = stage.files(1);
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let agent = tempfile::tempdir().unwrap();
            let tiers = stage.fresh(agent.path());
            let begin = Instant::now();
            stage.runtime.block_on(stage.start(&tiers, &files));
            begin.elapsed()
        })
        .collect();
    times.sort();
    println!("metric start_cold {} ns", times[times.len() / 2].as_nanos());
}

fn calls(criterion: &mut Criterion) {
    let stage = Stage::new("wasm", hello());
    let (machine, bare, component) = (Machine::new(MEMORY).unwrap(), Bare::new(), hello());
    let dispatcher = stage.dispatcher();
    let desk = desk(&stage, &dispatcher);
    let code = Code::prepare(&machine, Piece::bare("hello", &component), None).unwrap();
    let guest: Arc<WasmGuest> =
        stage.runtime.block_on(WasmGuest::start(program(&machine, &code), desk.clone())).unwrap();
    let guests = stage.runtime.block_on(stage.guests(1));
    let mut instance = stage.runtime.block_on(bare.instance(&bare.compile(&component)));
    let mut in_futures = stage.runtime.block_on(bare.instance(&bare.compile_for_futures(&component)));
    let (bare_hello, bare_ask) = (bare::tool_call("hello", INPUT), bare::tool_call("ask", INPUT));
    // What whoever asks has to make is made before, on both sides.
    let asked =
        |tool: &str| (invocation(tool), Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::unlimited() });
    let guest_call = async |(invocation, ask): (ToolInvocation, Ask)| {
        assert_eq!(text(&guest.call_tool(invocation, ask).await.unwrap().output), HELLO);
    };
    let mut group = criterion.benchmark_group("components");
    group.bench_function("bare_call", |bencher| {
        bencher.iter(|| assert_eq!(stage.runtime.block_on(instance.call(&bare_hello)), HELLO));
    });
    group.bench_function("guest_call", |bencher| {
        let run = |asked| stage.runtime.block_on(guest_call(asked));
        bencher.iter_batched(|| asked("hello"), run, BatchSize::SmallInput);
    });
    group.bench_function("tool_call", |bencher| {
        bencher.iter(|| stage.runtime.block_on(call(&guests, "hello", HELLO)));
    });
    group.finish();
    let per_ask = |with: Duration, without: Duration| difference(with, without) / i128::from(ASKS);
    let runtime = &stage.runtime;
    let bare_host_call = |instance: &mut bare::Instance| {
        let hello = median_of(runtime, CALLS, async || assert_eq!(instance.call(&bare_hello).await, HELLO));
        let ask = median_of(runtime, CALLS, async || assert_eq!(instance.call(&bare_ask).await, HELLO));
        per_ask(ask, hello)
    };
    println!("metric bare_host_call {} ns", bare_host_call(&mut instance));
    println!("metric bare_async_host_call {} ns", bare_host_call(&mut in_futures));
    let (hello, ask) = (
        median_of(runtime, CALLS, async || guest_call(asked("hello")).await),
        median_of(runtime, CALLS / 4, async || guest_call(asked("ask")).await),
    );
    let host_call = per_ask(ask, hello);
    // As often as the tool does, because whoever asks without a pause waits for the ledger.
    let at_desk = median_of(runtime, CALLS / 4, async || {
        for _ in 0..ASKS {
            let get = Call::Env(EnvCall::Get { name: "HOME".to_owned() });
            desk.call(get, Terms::background()).await.unwrap();
        }
    });
    let at_desk = at_desk / ASKS;
    println!("metric host_call {host_call} ns");
    println!("metric desk_call {} ns", at_desk.as_nanos());
    println!("metric crossing {} ns", host_call - nanoseconds(at_desk));
    let tool_call = median_of(runtime, CALLS, async || call(&guests, "hello", HELLO).await);
    println!("metric tool_call_asking {} ns", nanoseconds(tool_call) + host_call);
    println!(
        "metric tool_call_cpu {} ns",
        cpu_of(runtime, CALLS, async || call(&guests, "hello", HELLO).await).as_nanos()
    );
}

/// What a guest that waits takes, of memory that nobody shares with it; and an instance of the engine alone.
fn memory(_: &mut Criterion) {
    let (stage, component) = (Stage::new("wasm", usual()), usual());
    let (machine, bare) = (Machine::new(MEMORY).unwrap(), Bare::new());
    let dispatcher = stage.dispatcher();
    let desk = desk(&stage, &dispatcher);
    let (code, ready) =
        (Code::prepare(&machine, Piece::bare("hello", &component), None).unwrap(), bare.compile(&component));
    let guest = || stage.runtime.block_on(WasmGuest::start(program(&machine, &code), desk.clone())).unwrap();
    // The first of each brings what all of them share.
    let instance = || stage.runtime.block_on(bare.instance(&ready));
    let (first_guest, first_instance) = (guest(), instance());
    let Some(before) = private() else { return };
    let guests: Vec<Arc<WasmGuest>> = (0..KEPT).map(|_| guest()).collect();
    let between = private().unwrap();
    let instances: Vec<bare::Instance> = (0..KEPT).map(|_| instance()).collect();
    let after = private().unwrap();
    println!("metric idle_memory {} KiB", (between - before) as f64 / KEPT as f64);
    println!("metric bare_idle_memory {} KiB", (after - between) as f64 / KEPT as f64);
    drop((first_guest, first_instance, guests, instances));
}

/// What one thing took more than another, in nanoseconds. Less than nothing is a figure too: it says how little the rest of
/// them is worth.
fn difference(with: Duration, without: Duration) -> i128 {
    nanoseconds(with) - nanoseconds(without)
}

fn nanoseconds(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).expect("a short time")
}

/// Kibibytes that this process alone has, where the system tells.
fn private() -> Option<i64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let of = |name: &str| -> Option<i64> {
        let line = rollup.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(of("Private_Dirty:")? + of("Private_Clean:")?)
}

criterion_group!(benches, memory, code, start, calls, servers::measure);
criterion_main!(benches);
