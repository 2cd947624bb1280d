//! `pi serve` beside an echo: how many commands, how soon, how many bytes, how much memory.

mod commands;
mod crowd;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    daemon::Ground,
    load::{Socket, Target},
};

/// Pieces of the long answer, and how long each is.
const PIECES: usize = 2000;
const PIECE: usize = 5;
/// Models by what they do; the server of models reads their names.
const QUICK: &str = "whole";
const LONG: &str = "short-events-2000-every-1";
const SLOW: &str = "short-events-100-every-50";
const SILENT: &str = "hang";
/// As long as a name that the server makes.
const LONG_NAME: &str = "session-0123456789abcdef";

/// What is measured, in this order.
const PARTS: [&str; 6] = ["start", "reads", "durable", "bytes", "run", "sessions"];

/// What is to be measured, and how long.
pub(crate) struct Wish<'a> {
    pub(crate) quick: bool,
    /// Parts by their names; none is all.
    pub(crate) parts: &'a [&'a str],
}

/// Measures and prints.
pub(crate) async fn measure(program: &Path, folder: &Path, model: u16, echo: &Target, wish: Wish<'_>) -> Result<()> {
    let Wish { quick, parts } = wish;
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part)) {
        bail!("there is no part {unknown}; there are {}", PARTS.join(", "));
    }
    let ground = Ground::prepare(program, folder, model, &[QUICK, LONG, SLOW, SILENT])?;
    let time = Duration::from_millis(if quick { 500 } else { 4000 });
    let often = |few: usize, many: usize| if quick { few } else { many };
    for part in PARTS.into_iter().filter(|part| parts.is_empty() || parts.contains(part)) {
        match part {
            "start" => start(&ground, often(5, 30)).await?,
            "reads" => commands::reads(&ground, echo, time).await?,
            "durable" => commands::durable(&ground, time, often(50, 500)).await?,
            "bytes" => bytes(&ground).await?,
            "run" => during_a_run(&ground, often(5, 20)).await?,
            "sessions" => crowd::sessions(&ground).await?,
            other => unreachable!("{other} is no part"),
        }
    }
    Ok(())
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

/// What one answer costs on the wire, for a client that listens by deltas.
async fn bytes(ground: &Ground) -> Result<()> {
    // Every event names its session, so that a name which the server makes costs more than one of two letters.
    let rows =
        [("bytes_coalesced", "33", "s0"), ("bytes_uncoalesced", "0", "s0"), ("bytes_of_a_long_name", "0", LONG_NAME)];
    for (name, wait, session) in rows {
        let daemon = ground.serve_anew(LONG, &[("PI_SERVER_COALESCE_MS", wait)])?;
        let mut speaker = daemon.target.connect("?clientId=speaker&lifecycle=none").await?;
        speaker.ask(&json!({"type": "create_session", "id": "make", "sessionId": session})).await?;
        let mut listener = daemon.target.connect("?clientId=listener&lifecycle=none").await?;
        listener.ask(&json!({"type": "subscribe", "id": "u", "sessionId": session})).await?;
        speaker
            .send(json!({"type": "prompt", "id": "p", "sessionId": session, "message": "Hello"}).to_string())
            .await?;
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
