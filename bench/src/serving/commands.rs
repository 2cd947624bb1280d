//! How many commands, and how soon: reads beside the echo, and commands that wait for the disk.

use std::{
    fs::File,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use serde_json::json;

use super::{QUICK, make_sessions, median, report, report_rate};
use crate::{
    daemon::{Daemon, Ground},
    load::{Load, Plan, Target},
};

/// Connections where there are many.
const MANY: usize = 50;
/// Commands that a connection has under way where it does not wait for each answer.
const DEEP: usize = 8;

fn report_load(name: &str, load: &mut Load) {
    report_rate(name, load.per_command());
    report(&format!("{name}_p50"), load.percentile(50), "ns");
    report(&format!("{name}_p99"), load.percentile(99), "ns");
    report(&format!("{name}_cpu"), load.cpu_per_command(), "ns");
}

fn plan(name: impl Into<String>, connections: usize, time: Duration) -> Plan {
    Plan { name: name.into(), connections, lifecycle: "own", depth: 1, time }
}

/// Reads, beside the echo in turns, so that a busy moment of the machine hits both.
pub(super) async fn reads(ground: &Ground, echo: &Target, time: Duration) -> Result<()> {
    let daemon = ground.serve_anew(QUICK, &[])?;
    let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
    make_sessions(&mut socket, 0, 10).await?;
    for connections in [1, MANY] {
        // The same bytes as a command.
        let hello = |number: usize, count: u64| format!(r#"{{"type":"health_check","id":"{number}-{count}"}}"#);
        echo.load(plan("warm", connections, time / 8), hello).await?;
        report_load(&format!("echo_{connections}"), &mut echo.load(plan("echo", connections, time), hello).await?);
        daemon.target.load(plan(format!("warm-{connections}"), connections, time / 8), hello).await?;
        for (round, kind) in ["health_check", "get_state", "list_sessions"].into_iter().enumerate() {
            let command = move |number: usize, count: u64| {
                let session = if kind == "get_state" { r#","sessionId":"s1""# } else { "" };
                format!(r#"{{"type":"{kind}","id":"r{round}-{connections}-{number}-{count}"{session}}}"#)
            };
            let asking = plan(format!("{kind}-{connections}"), connections, time);
            report_load(&format!("{kind}_{connections}"), &mut daemon.target.load(asking, command).await?);
        }
    }
    large_echo(&daemon, echo, time).await?;
    let command = |number: usize, count: u64| format!(r#"{{"type":"health_check","id":"b-{number}-{count}"}}"#);
    let everybody = Plan { lifecycle: "all", ..plan("broadcast", MANY, time) };
    let mut told = daemon.target.load(everybody, command).await?;
    report_rate("broadcast_frame", told.per_frame());
    report_load("broadcast_command", &mut told);
    Ok(())
}

/// What the echo makes of frames as long as a list of sessions, in both directions.
async fn large_echo(daemon: &Daemon, echo: &Target, time: Duration) -> Result<()> {
    let mut socket = daemon.target.connect("?clientId=reader&lifecycle=none").await?;
    let length = socket.ask(&json!({"type": "list_sessions", "id": "l"})).await?.to_string().len();
    report("list_bytes", length as f64, "bytes");
    let frame = "x".repeat(length);
    let mut said = echo.load(plan("large", MANY, time), move |_, _| frame.clone()).await?;
    report_load(&format!("echo_of_a_list_{MANY}"), &mut said);
    Ok(())
}

/// What the disk takes to keep a page.
fn fsync(name: &str, folder: &Path, rounds: usize) -> Result<()> {
    let mut file = File::create(folder.join("fsync"))?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        file.write_all(&[1; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_secs_f64() * 1e9);
    }
    report(name, median(times), "ns");
    Ok(())
}

/// Commands that are answered when they are on the disk, each connection in a session of its own: one at a time, and then
/// several under way. What the disk takes is measured before and behind it: it may change under us. A server keeps 100 000
/// outcomes for ten minutes and takes no more, so each has one of its own, for half of the time.
pub(super) async fn durable(ground: &Ground, time: Duration, rounds: usize) -> Result<()> {
    fsync("fsync", ground.folder(), rounds)?;
    for (name, depth) in [("durable_command", 1), ("durable_command_8_deep", DEEP)] {
        let daemon = ground.serve_anew(QUICK, &[])?;
        let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
        make_sessions(&mut socket, 0, MANY).await?;
        let command = move |number: usize, count: u64| {
            let enabled = count % 2 == 0;
            format!(
                r#"{{"type":"set_auto_retry","id":"d-{depth}-{number}-{count}","sessionId":"s{number}","enabled":{enabled}}}"#
            )
        };
        let asking = Plan { lifecycle: "none", depth, ..plan(name, MANY, time / 2) };
        report_load(name, &mut daemon.target.load(asking, command).await?);
    }
    fsync("fsync_behind", ground.folder(), rounds)
}
