//! Components that misbehave: each costs its own call, and is named.

use std::time::Duration;

use pi_exthost::{Ask, Guest, GuestFault, Stopwatch};
use pi_guests::{
    Health, Restarts,
    wasm::{Code, CodeFault, Limits, Machine, Piece, Program, WasmGuest},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    component::Assembler,
    house::{COMPONENT, House, MACHINE, OPEN, invocation, never, program, start, told},
};

fn quick() -> Limits {
    Limits {
        memory: 16 << 20,
        stretch: Duration::from_millis(200),
        restarts: Restarts { back_off: Duration::from_millis(1), ..Restarts::default() },
        ..Limits::default()
    }
}

fn unlimited() -> Ask {
    Ask { cancel: never(), stopwatch: Stopwatch::unlimited() }
}

async fn call(guest: &WasmGuest, tool: &str, ask: Ask) -> String {
    told(&guest.call_tool(invocation(tool, json!({})), ask).await)
}

/// The fault of a tool, and that the extension was started anew and knows nothing of what it knew before.
async fn contained(tool: &str, expected: &str) {
    let house = House::new(OPEN);
    let guest = start(&house, quick()).await.expect("it starts");
    assert_eq!(call(&guest, "count", unlimited()).await, "1");
    let fault = call(&guest, tool, unlimited()).await;
    assert!(fault.starts_with(expected), "{tool}: {fault}");
    // The model reads it: one line, and no numbers of functions.
    assert!(!fault.contains('\n') && !fault.contains("wasm function"), "{tool}: {fault}");
    assert_eq!(guest.memory(), 0, "the instance is gone, and its memory with it");
    assert_eq!(call(&guest, "count", unlimited()).await, "1", "after {tool}");
}

#[tokio::test]
async fn endless_loop_is_stopped() {
    contained("loop", "the extension went over its limit of 200ms of work without a pause").await;
}

#[tokio::test]
async fn memory_bomb_is_stopped() {
    contained("bomb", "the extension went over its limit of memory: 16 MiB (`max_memory_mb` of the policy)").await;
}

#[tokio::test]
async fn deep_recursion_is_stopped() {
    contained("deep", "the extension went over its limit of stack").await;
}

#[tokio::test]
async fn trap_costs_the_call() {
    contained("trap", "the extension trapped: wasm `unreachable` instruction executed").await;
}

#[tokio::test]
async fn list_of_giants_is_refused_before_it_fills_the_memory_of_the_host() {
    contained("giant", "the extension trapped: ").await;
}

#[tokio::test]
async fn host_call_that_hands_over_too_much_is_refused_before_it_fills_the_memory_of_the_host() {
    contained("yell", "the extension trapped: ").await;
}

#[tokio::test]
async fn table_bomb_is_stopped() {
    contained("xray", "the extension went over its limit of table elements").await;
}

#[tokio::test]
async fn pointer_to_nowhere_is_refused() {
    contained("paint", "the extension trapped: ").await;
}

#[tokio::test]
async fn details_that_are_not_json_are_nonsense() {
    let house = House::new(OPEN);
    let guest = start(&house, quick()).await.expect("it starts");
    let fault = call(&guest, "quarrel", unlimited()).await;
    assert!(fault.starts_with("the extension answered nonsense: expected JSON"), "{fault}");
    assert_eq!(call(&guest, "count", unlimited()).await, "1");
}

#[tokio::test]
async fn input_of_a_tool_that_is_not_json_is_an_invalid_request() {
    let house = House::new(OPEN);
    let guest = start(&house, quick()).await.expect("it starts");
    assert!(call(&guest, "jumble", unlimited()).await.starts_with("expected JSON"));
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_host_calls_is_counted_and_harms_nobody() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    assert_eq!(call(&guest, "hail", unlimited()).await, "done");
    let figures = house.dispatcher.figures();
    assert_eq!(figures[0].1.calls, 2000);
    let lines = house.ledger().await;
    let (starts, ends) = ["host_call.start", "host_call.end"]
        .map(|event| lines.iter().filter(|line| line["event"] == event).count())
        .into();
    assert_eq!((starts, ends), (2000, 2000));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_allowance_are_refused_and_counted_in_one_line() {
    let house = House::furnished(OPEN, |fittings| fittings.limits.calls.most = 500);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    assert_eq!(call(&guest, "hail", unlimited()).await, "done");
    assert_eq!(house.dispatcher.figures()[0].1.calls, 500);
    guest.shutdown().await;
    let lines = house.ledger().await;
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("host_call.start"), count("host_call.end"), count("host_call.flood")), (500, 500, 2));
    let last = lines.iter().rfind(|line| line["event"] == "host_call.flood").expect("a line");
    assert_eq!(last["data"]["refused"], 1500);
}

#[tokio::test]
async fn deadline_of_a_call_stops_it() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    let ask = Ask { cancel: never(), stopwatch: Stopwatch::new(Duration::from_millis(50)) };
    assert_eq!(call(&guest, "loop", ask).await, "the extension went over its limit of 50ms for its work");
}

#[tokio::test]
async fn call_that_nobody_waits_for_is_dropped_and_others_go_on() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    let waiting = tokio::time::timeout(Duration::from_millis(50), call(&guest, "loop", unlimited()));
    assert!(waiting.await.is_err(), "it runs");
    assert_eq!(guest.health(), Health::Resting { restarts: 1 });
    assert_eq!(call(&guest, "count", unlimited()).await, "1");
}

#[tokio::test]
async fn call_that_waits_for_its_host_hears_that_it_is_cancelled() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    let cancel = CancellationToken::new();
    let ask = Ask { cancel: cancel.clone(), stopwatch: Stopwatch::unlimited() };
    let (told, ()) = tokio::join!(call(&guest, "vigil", ask), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    });
    // The program was ended, which is a result and no error.
    assert_eq!(told, "");
    assert_eq!(guest.health(), Health::Running);
}

#[tokio::test]
async fn abandoning_a_call_that_waits_for_its_host_is_not_its_fault() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    let waiting = tokio::time::timeout(Duration::from_millis(100), call(&guest, "vigil", unlimited()));
    assert!(waiting.await.is_err(), "it waits");
    assert_eq!(guest.health(), Health::Running);
    assert_eq!(call(&guest, "count", unlimited()).await, "1");
}

#[tokio::test]
async fn call_that_has_no_place_because_all_wait_for_it_gives_up() {
    let house = House::new(OPEN);
    let limits = Limits { instances: 1, standstill: Duration::from_millis(50), ..Limits::default() };
    let guest = start(&house, limits).await.expect("it starts");
    let _guests = house.attend(guest.clone());
    // The tool uses another of its own, which stands in line behind it.
    let told = call(&guest, "own", unlimited()).await;
    let limit = "the extension went over its limit of 1 calls of test at the same time, all of which wait for the host";
    assert!(told.contains(limit), "{told}");
    assert_eq!(guest.health(), Health::Running);
    assert_eq!(call(&guest, "count", unlimited()).await, "1");
}

#[tokio::test]
async fn call_that_has_no_place_waits_for_what_ends_by_itself() {
    let house = House::new(OPEN);
    let limits = Limits { instances: 1, standstill: Duration::from_millis(20), ..Limits::default() };
    let guest = start(&house, limits).await.expect("it starts");
    let vigil = call(&guest, "vigil", unlimited());
    tokio::select! {
        _ = vigil => panic!("it takes half a minute"),
        waited = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            tokio::time::timeout(Duration::from_millis(200), call(&guest, "count", unlimited())).await
        } => assert!(waited.is_err(), "it stands in line"),
    }
}

#[tokio::test]
async fn guest_that_waits_for_its_host_still_answers() {
    let house = House::new(OPEN);
    let guest = start(&house, Limits::default()).await.expect("it starts");
    let vigil = call(&guest, "vigil", unlimited());
    tokio::select! {
        _ = vigil => panic!("it takes half a minute"),
        told = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            call(&guest, "count", unlimited()).await
        } => assert_eq!(told, "1"),
    }
}

#[tokio::test]
async fn guest_that_traps_too_often_stays_away() {
    let house = House::new(OPEN);
    let restarts = Restarts { most: 2, back_off: Duration::ZERO, ..Restarts::default() };
    let limits = Limits { restarts, ..Limits::default() };
    let guest = start(&house, limits).await.expect("it starts");
    for _ in 0..3 {
        call(&guest, "trap", unlimited()).await;
    }
    assert_eq!(call(&guest, "count", unlimited()).await, "the extension does not run any more");
    assert_eq!(guest.health(), Health::Quarantined);
    let told = house.announced().await;
    assert!(told.contains("To start it anew: reload it (/extensions, ctrl+r)"), "{told}");
}

#[tokio::test]
async fn guest_rests_before_it_is_started_a_second_time() {
    let house = House::new(OPEN);
    let restarts = Restarts { back_off: Duration::from_secs(3600), ..Restarts::default() };
    let limits = Limits { restarts, ..Limits::default() };
    let guest = start(&house, limits).await.expect("it starts");
    for _ in 0..2 {
        call(&guest, "trap", unlimited()).await;
    }
    let fault = call(&guest, "count", unlimited()).await;
    assert_eq!(fault, "the extension went over its limit of restarts: it rests for a moment");
}

/// A component that does one thing in `init`.
fn beginner(body: &str) -> Vec<u8> {
    beginner_with("", body, |assembler| assembler)
}

/// The same with further imports.
fn beginner_with(imports: &str, body: &str, beside: impl FnOnce(Assembler) -> Assembler) -> Vec<u8> {
    let assembler = Assembler::new()
        .result("init", "guest", "init", &json!({ "ok": { "name": "b", "version": "1.0.0", "api-version": "1.0" } }))
        .result("old", "guest", "init", &json!({ "ok": { "name": "b", "version": "1.0.0", "api-version": "0.9" } }))
        .result("no", "guest", "init", &json!({ "err": { "code": "", "message": "not here" } }));
    beside(assembler).component(&format!(
        r#"(module
            {imports}
            (import "pi:extension/log@1.0.0" "write" (func $log (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))
            (memory (export "memory") 4)
            {{data}}
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 65536))
            (func (export "pi:extension/guest@1.0.0#init") (result i32) {body})
            (func (export "pi:extension/guest@1.0.0#shutdown"))
            (func (export "pi:extension/guest@1.0.0#run-command") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                (unreachable))
            (func (export "pi:extension/guest@1.0.0#handle-event") (param i32) (result i32) (unreachable))
            (func (export "pi:extension/guest@1.0.0#call-tool") (param i32 i32 i32 i32 i32 i32 i32 i32 i32)
                (result i32) (unreachable)))"#
    ))
}

async fn begin(component: &[u8]) -> Result<(), GuestFault> {
    let house = House::new(OPEN);
    let code = Code::prepare(&MACHINE, Piece::bare("beginner", component), None).expect("code");
    let program = Program { code, ..program(quick()) };
    WasmGuest::start(program, house.desk()).await.map(drop)
}

#[tokio::test]
async fn extension_that_does_not_come_to_be_is_no_guest() {
    begin(&beginner("(i32.const {init})")).await.expect("this one does");
    let faults = [
        ("(loop $l (br $l)) (unreachable)", "the extension went over its limit of 200ms of work without a pause"),
        ("(unreachable)", "the extension trapped: wasm `unreachable` instruction executed"),
        ("(i32.const {no})", "not here"),
        ("(i32.const {old})", "it was written for version 0.9 of the protocol; this host speaks 1.0"),
        (
            "(call $log (i32.const 1) {'a'} {'b'} (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 131072))
             (if (i32.load8_u (i32.const 131072)) (then (return (i32.const {no})))) (i32.const {init})",
            "not here",
        ),
    ];
    for (body, expected) in faults {
        assert_eq!(begin(&beginner(body)).await.expect_err(body).to_string(), expected);
    }
}

/// What of WASI these tests know.
const WASI: [&str; 3] = [
    "package wasi:cli@0.2.0; interface environment { get-environment: func() -> list<tuple<string, string>>; }",
    "package wasi:sockets@0.2.3;
     interface network { resource network; }
     interface instance-network { use network.{network}; instance-network: func() -> network; }",
    "package wasi:filesystem@0.2.6;
     interface types { resource descriptor { sync: func(); } }
     interface preopens { use types.{descriptor}; get-directories: func() -> list<tuple<descriptor, string>>; }",
];
const WORLD: &str = "package test:wasi;
    world all {
        include pi:extension/extension@1.0.0;
        import wasi:cli/environment@0.2.0;
        import wasi:sockets/instance-network@0.2.3;
        import wasi:filesystem/preopens@0.2.6;
    }";

/// What becomes of a component that uses a function of WASI in `init`.
async fn begin_with(import: &str, body: &str) -> Result<(), GuestFault> {
    begin(&beginner_with(import, body, |assembler| assembler.beside(&WASI, WORLD))).await
}

#[tokio::test]
async fn of_the_system_there_is_nothing() {
    // A list is a place and a length, of which the latter must be nothing.
    let lists = [
        r#"(import "wasi:cli/environment@0.2.0" "get-environment" (func $list (param i32)))"#,
        r#"(import "wasi:filesystem/preopens@0.2.6" "get-directories" (func $list (param i32)))"#,
    ];
    for import in lists {
        let body = "(call $list (i32.const 131072))
            (if (i32.load offset=4 (i32.const 131072)) (then (return (i32.const {no})))) (i32.const {init})";
        begin_with(import, body).await.unwrap_or_else(|fault| panic!("{import}: {fault}"));
    }
    let import = r#"(import "wasi:sockets/instance-network@0.2.3" "instance-network" (func $network (result i32)))"#;
    let fault = begin_with(import, "(drop (call $network)) (i32.const {init})").await.expect_err("no network");
    let expected = "wasi:sockets/instance-network#instance-network is not permitted; an extension has connectors";
    assert!(fault.to_string().contains(expected), "{fault}");
}

#[test]
fn what_is_no_component_is_told_apart() {
    let prepare = |bytes: &[u8]| Code::prepare(&MACHINE, Piece::bare("x", bytes), None).map(drop);
    assert_eq!(prepare(b"#!/bin/sh"), Err(CodeFault::Foreign));
    assert_eq!(prepare(b""), Err(CodeFault::Foreign));
    assert_eq!(prepare(&wat::parse_str("(module)").expect("a module")), Err(CodeFault::Module));
    let empty = wat::parse_str("(component)").expect("a component");
    assert_eq!(prepare(&empty), Err(CodeFault::Uncalled));
    let foreign = wat::parse_str(r#"(component (import "acme:door/key@1.0.0" (instance)))"#).expect("a component");
    assert_eq!(prepare(&foreign), Err(CodeFault::UnknownImport { name: "acme:door/key@1.0.0".to_owned() }));
    let newer = wat::parse_str(r#"(component (import "pi:extension/fs@2.0.0" (instance)))"#).expect("a component");
    assert_eq!(prepare(&newer), Err(CodeFault::OtherVersion { interface: "pi:extension/fs@2.0.0".to_owned() }));
    let mut cut = COMPONENT.clone();
    cut.truncate(cut.len() / 2);
    assert!(matches!(prepare(&cut), Err(CodeFault::Invalid { .. })));
}

#[test]
fn wrong_types_are_refused_before_anything_runs() {
    let text = r#"(component
        (core module $m (func (export "init") (result i32) (i32.const 7)))
        (core instance $i (instantiate $m))
        (func $init (result u32) (canon lift (core func $i "init")))
        (instance $guest (export "init" (func $init)))
        (export "pi:extension/guest@1.0.0" (instance $guest)))"#;
    let component = wat::parse_str(text).expect("a component");
    let fault = Code::prepare(&MACHINE, Piece::bare("x", &component), None).map(drop).expect_err("another type");
    assert!(matches!(fault, CodeFault::Misfit { .. }), "{fault}");
}

#[tokio::test]
async fn process_that_is_full_says_so_and_blames_nobody() {
    let house = House::new(OPEN);
    // An engine of its own: the other tests need theirs.
    let machine = Machine::new(1 << 20).expect("an engine");
    let code = Code::prepare(&machine, Piece::bare("beginner", &beginner("(i32.const {init})")), None).expect("code");
    let program = || Program { code: code.clone(), machine: machine.clone(), ..program(Limits::default()) };
    let mut guests = Vec::new();
    let fault = loop {
        match WasmGuest::start(program(), house.desk()).await {
            Ok(guest) => guests.push(guest),
            Err(fault) => break fault,
        }
    };
    assert!(guests.len() >= 200, "{}", guests.len());
    assert_eq!(fault.to_string(), "this process runs as many components as it can");
    assert!(guests.iter().all(|guest| guest.health() == Health::Running));
    guests.pop();
    WasmGuest::start(program(), house.desk()).await.expect("there is room again");
}
