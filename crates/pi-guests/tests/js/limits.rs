//! What becomes of a guest that uses up too much, or is told to stop. What there is to use up is in `hostile.yaml`.

use std::{fs, path::Path, sync::Arc, time::Duration};

use pi_exthost::{Ask, Guest, GuestFault, Stopwatch, Terms, guest::ToolInvocation};
use pi_extproto::{
    connector::{Call, tool::ToolUse},
    host::ErrorCode,
};
use pi_guests::{
    Health, Restarts,
    js::{JsGuest, Limits, Program, Time},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::house::{Heard, Seat, call, call_with, program, seat, start, text, tool};

fn limited(body: &str, limits: Limits) -> Program {
    let mut program = program(&tool(body));
    program.limits = limits;
    program.time = Time::Real;
    program
}

fn quick() -> Limits {
    Limits {
        stretch: Duration::from_millis(200),
        memory: 16 << 20,
        restarts: Restarts { back_off: Duration::from_millis(20), ..Restarts::default() },
        ..Limits::default()
    }
}

fn over(fault: &GuestFault) -> String {
    if let GuestFault::OverLimit { limit } = fault { limit.clone() } else { panic!("another fault: {fault:?}") }
}

/// A body that misbehaves when it is told to, and is fine otherwise.
fn moody(bad: &str) -> String {
    format!("if (params.bad) {{ {bad} }} return 'fine ' + (globalThis.count = (globalThis.count ?? 0) + 1);")
}

#[tokio::test]
async fn guest_that_went_over_a_limit_starts_anew() {
    for (bad, expected) in [
        ("for (;;) {}", "200ms of work without a pause"),
        ("const all = []; for (;;) all.push(new Array(100000).fill(7));", "memory"),
    ] {
        let guest = start(limited(&moody(bad), quick())).await.expect("it loads");
        assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine 1");
        let fault = call(&guest, "t", json!({ "bad": true })).await.expect_err("too much");
        assert_eq!(over(&fault), expected, "{bad}");
        let answer = call(&guest, "t", json!({})).await.expect("it was started anew");
        assert_eq!(text(&answer), "fine 1", "a new runtime knows nothing of the old one");
    }
}

#[tokio::test]
async fn guest_that_starts_anew_has_loaded_like_the_first_time() {
    let (heard, limits) = (Heard::default(), quick());
    let seat = seat(&heard);
    let body = moody("for (;;) {}").replace("return", "pi.registerCommand('late', { handler() {} }); return");
    let guest = JsGuest::start(limited(&body, limits), seat.desk.clone()).await.expect("it loads");
    call(&guest, "t", json!({ "bad": true })).await.expect_err("too much");
    heard.lock().expect("no panic").clear();
    call(&guest, "t", json!({})).await.expect("it was started anew");
    let lines = seat.lines().await;
    assert!(!lines.iter().any(|line| line.starts_with("extension.uncaught")), "{lines:?}");
    // A registration after loading is told to the session, so the second load has ended too.
    let told = async {
        while !heard.lock().expect("no panic").iter().any(|told| told.starts_with("RegistrationChanged")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("the session hears of it");
}

#[tokio::test]
async fn deadline_of_a_call_stops_it() {
    let guest = start(limited(&moody("for (;;) {}"), Limits::default())).await.expect("it loads");
    let ask = Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::new(Duration::from_millis(100)) };
    let fault = call_with(&guest, "t", json!({ "bad": true }), ask).await.expect_err("too long");
    assert_eq!(over(&fault), "100ms for its work");
}

#[tokio::test]
async fn call_that_nobody_waits_for_is_interrupted() {
    let guest = start(limited(&moody("for (;;) {}"), Limits::default())).await.expect("it loads");
    let waiting = tokio::time::timeout(Duration::from_millis(100), call(&guest, "t", json!({ "bad": true })));
    assert!(waiting.await.is_err(), "it runs");
    let answer =
        tokio::time::timeout(Duration::from_secs(20), call(&guest, "t", json!({}))).await.expect("it was interrupted");
    assert_eq!(text(&answer.expect("fine")), "fine 1");
}

#[tokio::test]
async fn cancelled_call_hears_its_signal() {
    let body = "return new Promise((done) => signal.addEventListener('abort', () => done('stopped'), { once: true }));";
    let guest = start(limited(body, Limits::default())).await.expect("it loads");
    let cancel = CancellationToken::new();
    let ask = Ask { cancel: cancel.clone(), stopwatch: Stopwatch::unlimited() };
    let (answer, ()) = tokio::join!(call_with(&guest, "t", json!({}), ask), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert_eq!(text(&answer.expect("an answer")), "stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_call_clears_away_what_it_made_and_then_asks_in_vain() {
    let body = "await pi.fs.write('made', 'x');
        onUpdate({ content: [] });
        try { await new Promise((done, failed) => signal.addEventListener('abort', () => failed(new Error('stopped')))); } catch {}
        await pi.fs.remove('made');
        const is_there = await pi.fs.exists('made');
        for (;;) try { await pi.fs.exists('made'); } catch ({ message }) { return `${is_there} ${message}`; }";
    let guest = start(limited(body, Limits::default())).await.expect("it loads");
    let cancel = CancellationToken::new();
    let ask = Ask { cancel: cancel.clone(), stopwatch: Stopwatch::unlimited() };
    let (updates, mut begun) = tokio::sync::mpsc::channel(8);
    let call =
        ToolInvocation { call_id: "c1".into(), name: "t".to_owned(), input: serde_json::Map::default(), updates };
    let (answer, ()) = tokio::join!(guest.call_tool(call, ask), async {
        begun.recv().await.expect("it made a file");
        cancel.cancel();
    });
    let told = text(&answer.expect("an answer"));
    assert!(told == "false the call was cancelled" || told == "false the deadline passed", "{told}");
}

#[tokio::test]
async fn guest_that_trips_too_often_stays_away() {
    let restarts = Restarts { most: 2, back_off: Duration::ZERO, ..Restarts::default() };
    let limits = Limits { restarts, stretch: Duration::from_millis(50), ..Limits::default() };
    let guest = start(limited(&moody("for (;;) {}"), limits)).await.expect("it loads");
    for _ in 0..3 {
        call(&guest, "t", json!({ "bad": true })).await.expect_err("too long");
    }
    assert_eq!(call(&guest, "t", json!({})).await, Err(GuestFault::Gone));
    assert_eq!(guest.health(), Health::Quarantined);
}

#[tokio::test]
async fn guest_rests_before_it_is_started_a_second_time() {
    let restarts = Restarts { back_off: Duration::from_secs(3600), ..Restarts::default() };
    let limits = Limits { restarts, stretch: Duration::from_millis(50), ..Limits::default() };
    let guest = start(limited(&moody("for (;;) {}"), limits)).await.expect("it loads");
    for _ in 0..2 {
        call(&guest, "t", json!({ "bad": true })).await.expect_err("too long");
    }
    let fault = call(&guest, "t", json!({})).await.expect_err("it rests");
    assert_eq!(over(&fault), "restarts: it rests for a moment");
}

#[tokio::test]
async fn memory_is_told_while_the_guest_goes_on() {
    let guest = start(limited("return 'fine';", Limits::default())).await.expect("it loads");
    let before = guest.memory().await.expect("a number");
    assert!((10_000..20 << 20).contains(&before), "{before}");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("fine")), "fine");
}

/// So long anything may take.
const AGES: Duration = Duration::from_secs(60);

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(AGES, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Whether every call at the desk is over, and there was one.
async fn is_quiet(seat: &Seat) -> bool {
    let lines = seat.lines().await;
    let count = |event: &str| lines.iter().filter(|line| line.starts_with(event)).count();
    count("host_call.start") > 0 && count("host_call.start") == count("host_call.end")
}

/// An extension with `nap`, which says that it has begun and then waits for a process for ages.
fn sleeper(sign: &Path, source: &str) -> Program {
    let nap = format!("touch {}; exec sleep 1000", sign.display());
    let mut program = program(&format!(
        "import {{ shim }} from 'pi:shims';
        const {{ execSync, exec }} = shim('pi:shim/node/child_process');
        const [nap, doze] = [() => execSync('{nap}'), () => exec('{nap}')];
        export default (pi) => {{ {source} }}"
    ));
    program.time = Time::Real;
    program
}

#[tokio::test(flavor = "multi_thread")]
async fn factory_that_waits_for_its_host_ends_with_whoever_waited_for_it() {
    let (seat, folder) = (seat(&Heard::default()), tempfile::tempdir().expect("a folder"));
    let sign = folder.path().join("begun");
    let starting = tokio::spawn(JsGuest::start(sleeper(&sign, "nap();"), seat.desk.clone()));
    until("the process begins", async || sign.exists()).await;
    starting.abort();
    until("its call ends", async || is_quiet(&seat).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_waits_for_its_host_ends_with_the_guest() {
    const TOOL: &str = "pi.registerTool({ name: 't', description: '', parameters: {}, execute:";
    for source in [
        // On its thread, for somebody; for nobody; and beside its thread, for somebody who has their answer.
        format!("{TOOL} async () => nap() }});"),
        "setTimeout(nap, 1);".to_owned(),
        format!("{TOOL} async () => {{ doze(); return 'done'; }} }});"),
    ] {
        for is_asked_to_end in [true, false] {
            let (seat, folder) = (seat(&Heard::default()), tempfile::tempdir().expect("a folder"));
            let sign = folder.path().join("begun");
            let guest = JsGuest::start(sleeper(&sign, &source), seat.desk.clone()).await.expect("it loads");
            let asked = Arc::clone(&guest);
            let asking =
                source.starts_with(TOOL).then(|| tokio::spawn(async move { call(&asked, "t", json!({})).await }));
            until("the process begins", async || sign.exists()).await;
            if is_asked_to_end {
                guest.shutdown().await;
                until("the thread ends", async || guest.health() == Health::Ended).await;
            }
            if let Some(asking) = asking {
                asking.abort();
                // It holds the guest.
                drop(asking.await);
            }
            drop(guest);
            until("its call ends", async || is_quiet(&seat).await).await;
            fs::remove_file(&sign).expect("it began");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_extension_says_is_bounded_where_it_says_it() {
    let seat = seat(&Heard::default());
    let body = "for (let n = 0; n < 700; n++) console.log(n + ' ' + 'x'.repeat(20000)); return 'said';";
    let guest = JsGuest::start(limited(body, Limits::default()), seat.desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "said");
    seat.desk.events().settle();
    // No task is under way that would have more to say.
    let lines = seat.lines().await;
    assert!(lines.iter().all(|line| !line.starts_with("host_call")), "words are no calls");
    let said: Vec<&String> = lines.iter().filter(|line| line.starts_with("extension.stdout")).collect();
    assert_eq!(said.len(), 500);
    for (number, line) in said.iter().enumerate() {
        let begin = format!("extension.stdout test: {number} xxx");
        assert!(line.starts_with(&begin) && line.len() < 9000, "line {number} has {} bytes", line.len());
    }
    assert!(lines.iter().any(|line| line.contains("200 lines were left out")), "{:?}", lines.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn rejections_that_nobody_hears_are_counted_beyond_a_few() {
    let seat = seat(&Heard::default());
    let body = "const all = [], text = 'x'.repeat(100000);
        for (let n = 0; n < 1000; n++) all.push(Promise.reject(text));
        all[0].catch(() => {}); all[999].catch(() => {}); globalThis.kept = all; return 'thrown';";
    let guest = JsGuest::start(limited(body, Limits::default()), seat.desk.clone()).await.expect("it loads");
    assert_eq!(text(&call(&guest, "t", json!({})).await.expect("an answer")), "thrown");
    guest.shutdown().await;
    let lines = seat.lines().await;
    let told: Vec<&String> = lines.iter().filter(|line| line.starts_with("extension.uncaught")).collect();
    assert!(told.iter().all(|line| line.len() < 5000));
    assert_eq!(told.len(), 64, "63 that were kept, and how many more there were");
    assert!(told.iter().any(|line| line.contains("935 further promises were rejected")), "{:?}", told.last());
}

/// An extension with a tool of this body that speaks to its host as shims do, three calls at a time.
async fn narrow(body: &str) -> String {
    let mut program = program(&format!(
        "import {{ shim }} from 'pi:shims';
        const host = shim('pi:host').default;
        const run = (command, ...args) => ({{ command, args, env: {{}}, stream: true }});
        {}",
        tool(body)
    ));
    program.limits = Limits { calls: 3, ..Limits::default() };
    program.time = Time::Real;
    let guest = start(program).await.expect("it loads");
    let answer = tokio::time::timeout(AGES, call(&guest, "t", json!({}))).await.expect("it answers");
    text(&answer.expect("an answer"))
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_whose_reader_is_refused_is_read_on_later() {
    let told = narrow(
        "const feed = host.open('exec', run('printf', 'abc')), cancel = host.cancelToken();
        const naps = [1, 2, 3].map(() => host.call('exec', { ...run('sleep', '1000'), stream: false }, { cancel }));
        const first = await feed.next().then((it) => JSON.stringify(it), (fault) => fault.message);
        cancel.cancel();
        await Promise.allSettled(naps);
        const items = [];
        for (let it = await feed.next(); !it.done; it = await feed.next()) items.push(it.value.item);
        return [first, ...items].join('|');",
    );
    assert_eq!(told.await, "more than 3 host calls at the same time; wait for some|piece|end");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_bounded_and_those_that_are_over_do_not_count() {
    let told = narrow(
        "const read = async (feed) => { while (!(await feed.next()).done); };
        for (let n = 0; n < 10; n++) await read(host.open('exec', run('true')));
        const open = [1, 2, 3].map(() => host.open('exec', run('sleep', '1000')));
        let told = 'opened';
        try { host.open('exec', run('true')); } catch (fault) { told = fault.message; }
        open.pop().cancel();
        await read(host.open('exec', run('true')));
        open.forEach((feed) => feed.cancel());
        return told;",
    );
    assert_eq!(told.await, "more than 3 streams at the same time; read some to their end");
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_that_had_to_be_stopped_is_asked_about_what_nobody_decided() {
    let heard = Heard::default();
    let seat = seat(&heard);
    seat.amend(r#"{"mode":"prompt"}"#);
    let guest = JsGuest::start(limited(&moody("for (;;) {}"), quick()), seat.desk.clone()).await.expect("it loads");
    let asked = || async {
        let deploy = ToolUse { name: "deploy".to_owned(), input: serde_json::Map::default() };
        seat.desk.call(Call::Tool(deploy), Terms::background()).await.expect_err("there is no such tool").code
    };
    assert_ne!(asked().await, ErrorCode::Denied);
    call(&guest, "t", json!({ "bad": true })).await.expect_err("too long");
    assert_ne!(asked().await, ErrorCode::Denied, "once is nobody's habit");
    for _ in 0..4 {
        seat.desk.note_stop("it went over its limit");
    }
    assert_eq!(asked().await, ErrorCode::Denied, "nobody is there who could be asked");
    // That of the call may be written down after its caller was answered.
    let stops = async || seat.lines().await.iter().filter(|line| line.starts_with("extension.stopped test: ")).count();
    for _ in 0..200 {
        if stops().await == 5 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", seat.lines().await);
}
