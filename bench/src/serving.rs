//! `pi serve` beside an echo: how many commands, how soon, how many bytes, how much memory.

use std::{
    fs::File,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    daemon::{Daemon, Ground},
    load::{Load, Socket, Target},
};

/// Connections where there are many.
const MANY: usize = 50;
/// Sessions where there are many.
const SESSIONS: usize = 1000;
/// Pieces of the long answer, and how long each is.
const PIECES: usize = 2000;
const PIECE: usize = 5;
/// Models by what they do; the server of models reads their names.
const QUICK: &str = "whole";
const LONG: &str = "short-events-2000-every-1";
const SLOW: &str = "short-events-100-every-50";
const SILENT: &str = "hang";

/// Measures everything and prints it.
pub(crate) async fn measure(program: &Path, folder: &Path, model: u16, echo: u16, quick: bool) -> Result<()> {
    let ground = Ground::prepare(program, folder, model, &[QUICK, LONG, SLOW, SILENT])?;
    let time = Duration::from_millis(if quick { 500 } else { 4000 });
    start(&ground, if quick { 5 } else { 30 }).await?;
    commands(&ground, &Target { port: echo, token: None }, time).await?;
    fsync(ground.folder(), if quick { 50 } else { 500 })?;
    durable(&ground, time).await?;
    bytes(&ground).await?;
    during_a_run(&ground, if quick { 5 } else { 20 }).await?;
    sessions(&ground).await
}

fn report(name: &str, number: f64, unit: &str) {
    println!("metric server/{name} {number} {unit}");
}

/// With how many there are in a second.
fn report_rate(name: &str, nanoseconds: f64) {
    println!("metric server/{name} {nanoseconds} ns 1");
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

/// From the start of the process to the first frame on a connection.
async fn start(ground: &Ground, rounds: usize) -> Result<()> {
    let mut times = Vec::new();
    let mut memory = 0.0;
    for round in 0..=rounds {
        let began = Instant::now();
        let daemon = ground.serve(QUICK, &[])?;
        let mut socket = daemon.target.connect("").await?;
        let first = socket.next().await?;
        let took = began.elapsed().as_secs_f64() * 1e9;
        if !first.starts_with(r#"{"type":"server_ready""#) {
            bail!("the first frame is {first}");
        }
        // The first one makes the token and the journal.
        if round > 0 {
            times.push(took);
        }
        if round == rounds {
            sleep(Duration::from_millis(500)).await;
            memory = daemon.memory()?;
        }
    }
    report("ready", median(times), "ns");
    report("idle_memory", memory, "KiB");
    Ok(())
}

async fn make_sessions(socket: &mut Socket, from: usize, count: usize) -> Result<()> {
    for number in from..from + count {
        let frame =
            json!({"type": "create_session", "id": format!("make-{number}"), "sessionId": format!("s{number}")});
        socket.send(frame.to_string()).await?;
    }
    for number in from..from + count {
        let made = socket.response(&format!("make-{number}")).await?;
        if made["success"] != true {
            bail!("{made}");
        }
    }
    Ok(())
}

fn report_load(name: &str, load: &mut Load) {
    report_rate(name, load.per_command());
    report(&format!("{name}_p50"), load.percentile(50), "ns");
    report(&format!("{name}_p99"), load.percentile(99), "ns");
}

/// Reads, beside the echo in turns, so that a busy moment of the machine hits both.
async fn commands(ground: &Ground, echo: &Target, time: Duration) -> Result<()> {
    let daemon = ground.serve_anew(QUICK, &[])?;
    let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
    make_sessions(&mut socket, 0, 10).await?;
    for connections in [1, MANY] {
        // The same bytes as a command.
        let hello = |number: usize, count: u64| format!(r#"{{"type":"health_check","id":"{number}-{count}"}}"#);
        echo.load("warm", connections, "own", time / 8, hello).await?;
        let mut said = echo.load("echo", connections, "own", time, hello).await?;
        report_load(&format!("echo_{connections}"), &mut said);
        daemon.target.load(&format!("warm-{connections}"), connections, "own", time / 8, hello).await?;
        for (round, kind) in ["health_check", "get_state", "list_sessions"].into_iter().enumerate() {
            let command = move |number: usize, count: u64| {
                let session = if kind == "get_state" { r#","sessionId":"s1""# } else { "" };
                format!(r#"{{"type":"{kind}","id":"r{round}-{connections}-{number}-{count}"{session}}}"#)
            };
            let name = format!("{kind}-{connections}");
            let mut asked = daemon.target.load(&name, connections, "own", time, command).await?;
            report_load(&format!("{kind}_{connections}"), &mut asked);
        }
    }
    let command = |number: usize, count: u64| format!(r#"{{"type":"health_check","id":"b-{number}-{count}"}}"#);
    let told = daemon.target.load("broadcast", MANY, "all", time, command).await?;
    report_rate("broadcast_frame", told.per_frame());
    report_rate("broadcast_command", told.per_command());
    Ok(())
}

/// What the disk takes to keep a page.
fn fsync(folder: &Path, rounds: usize) -> Result<()> {
    let mut file = File::create(folder.join("fsync"))?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        file.write_all(&[1; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_secs_f64() * 1e9);
    }
    report("fsync", median(times), "ns");
    Ok(())
}

/// Commands that are answered when they are on the disk, each connection in a session of its own.
async fn durable(ground: &Ground, time: Duration) -> Result<()> {
    let daemon = ground.serve_anew(QUICK, &[])?;
    let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
    make_sessions(&mut socket, 0, MANY).await?;
    let command = |number: usize, count: u64| {
        let enabled = count % 2 == 0;
        format!(r#"{{"type":"set_auto_retry","id":"d-{number}-{count}","sessionId":"s{number}","enabled":{enabled}}}"#)
    };
    let mut kept = daemon.target.load("durable", MANY, "none", time, command).await?;
    report_load("durable_command", &mut kept);
    Ok(())
}

/// What one answer costs on the wire, for a client that listens by deltas.
async fn bytes(ground: &Ground) -> Result<()> {
    for (name, wait) in [("bytes_coalesced", "33"), ("bytes_uncoalesced", "0")] {
        let daemon = ground.serve_anew(LONG, &[("PI_SERVER_COALESCE_MS", wait)])?;
        let mut speaker = daemon.target.connect("?clientId=speaker&lifecycle=none").await?;
        make_sessions(&mut speaker, 0, 1).await?;
        let mut listener = daemon.target.connect("?clientId=listener&lifecycle=none").await?;
        listener.ask(&json!({"type": "subscribe", "id": "u", "sessionId": "s0"})).await?;
        speaker.send(json!({"type": "prompt", "id": "p", "sessionId": "s0", "message": "Hello"}).to_string()).await?;
        let mut total = 0;
        loop {
            let text = listener.next().await?;
            total += text.len();
            if text.contains(r#""type":"agent_settled""#) {
                break;
            }
        }
        report(name, total as f64 / (PIECES * PIECE) as f64, "times");
    }
    Ok(())
}

/// A run that says nothing for ever: it can be looked at and ended.
async fn during_a_run(ground: &Ground, rounds: usize) -> Result<()> {
    let daemon = ground.serve_anew(SILENT, &[])?;
    let mut socket = daemon.target.connect("?clientId=c&lifecycle=none").await?;
    make_sessions(&mut socket, 0, 1).await?;
    let (mut looks, mut aborts) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let prompt = format!("p{round}");
        socket.send(json!({"type": "prompt", "id": prompt, "sessionId": "s0", "message": "Hello"}).to_string()).await?;
        wait_until_streaming(&mut socket, round).await?;
        for look in 0..20 {
            let began = Instant::now();
            socket.ask(&json!({"type": "get_state", "id": format!("g{round}-{look}"), "sessionId": "s0"})).await?;
            looks.push(began.elapsed().as_secs_f64() * 1e9);
        }
        let began = Instant::now();
        socket.send(json!({"type": "abort", "id": format!("a{round}"), "sessionId": "s0"}).to_string()).await?;
        let ended = socket.response(&prompt).await?;
        if ended["code"] != "aborted" {
            bail!("{ended}");
        }
        aborts.push(began.elapsed().as_secs_f64() * 1e9);
    }
    looks.sort_unstable_by(f64::total_cmp);
    report("get_state_in_a_run_p99", looks[looks.len() * 99 / 100], "ns");
    report("abort", median(aborts), "ns");
    Ok(())
}

async fn wait_until_streaming(socket: &mut Socket, round: usize) -> Result<()> {
    for look in 0..1000 {
        let frame = json!({"type": "get_state", "id": format!("w{round}-{look}"), "sessionId": "s0"});
        if socket.ask(&frame).await?["data"]["isStreaming"] == true {
            return Ok(());
        }
        sleep(Duration::from_millis(1)).await;
    }
    bail!("the run does not begin")
}

/// A thousand sessions that do nothing, and then all of them at once.
async fn sessions(ground: &Ground) -> Result<()> {
    let daemon = ground.serve_anew(SLOW, &[])?;
    let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
    // What the first one needs is needed once.
    make_sessions(&mut socket, SESSIONS, 1).await?;
    sleep(Duration::from_millis(500)).await;
    let before = daemon.memory()?;
    let began = Instant::now();
    make_sessions(&mut socket, 0, SESSIONS).await?;
    report("create_session", began.elapsed().as_secs_f64() * 1e9 / SESSIONS as f64, "ns");
    sleep(Duration::from_secs(1)).await;
    report("idle_session_memory", (daemon.memory()? - before) / SESSIONS as f64, "KiB");
    stream(&daemon, &mut socket).await
}

/// All sessions stream at once; one connection speaks and hears what all of them say.
async fn stream(daemon: &Daemon, speaker: &mut Socket) -> Result<()> {
    let mut listener = daemon.target.connect("?clientId=listener&lifecycle=none").await?;
    for number in 0..SESSIONS {
        listener
            .ask(&json!({"type": "subscribe", "id": format!("u{number}"), "sessionId": format!("s{number}")}))
            .await?;
    }
    let heard = tokio::spawn(async move {
        let (mut text, mut ended) = (0, 0);
        while ended < SESSIONS {
            let frame = listener.next().await?;
            if frame.contains(r#""type":"agent_settled""#) {
                ended += 1;
            } else if frame.contains(r#""type":"message_update""#) {
                let event: Value = serde_json::from_str(&frame)?;
                text += event["event"]["assistantMessageEvent"]["delta"].as_str().map_or(0, str::len);
            }
        }
        Ok::<usize, anyhow::Error>(text)
    });
    let began = Instant::now();
    for number in 0..SESSIONS {
        let frame = json!({"type": "prompt", "id": format!("p{number}"), "sessionId": format!("s{number}"), "message": "Hello"});
        speaker.send(frame.to_string()).await?;
    }
    sleep(Duration::from_secs(3)).await;
    report("streaming_memory", daemon.memory()?, "KiB");
    for _ in 0..SESSIONS {
        let ended = speaker.next_response().await?;
        if ended["success"] != true {
            bail!("{ended}");
        }
    }
    report("streaming_sessions", began.elapsed().as_secs_f64() * 1e9, "ns");
    let text = heard.await.context("the listener ended")??;
    if text != SESSIONS * 100 * PIECE {
        bail!("{text} of {} bytes were heard", SESSIONS * 100 * PIECE);
    }
    Ok(())
}
