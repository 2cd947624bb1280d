//! Frames that no sane client sends: every one is answered, nobody else notices, and memory stays bounded.
//!
//! `PI_TEST_FRAMES=1000000` sends more than the usual; `cargo xtask test --full` does.

mod mutation;
mod wire;

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    thread,
    time::Duration,
};

use nix::{sys::signal::Signal, unistd::Pid};
use pi_testkit::{Client, Script};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::mutation::mutate;
use crate::{
    room::{self, Room},
    serving::Serving,
    times,
};

/// Long enough for an answer on a busy machine; a server that is stuck takes longer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Frames that are on their way at a time.
const BATCH: usize = 200;
/// What the server may need more than it did after the first frames, whatever it was sent.
const MOST_MORE: u64 = 64 << 10;

/// Resident memory of a process in KiB.
fn resident(process: Pid) -> Option<u64> {
    let statm = room::read(std::path::Path::new(&format!("/proc/{process}/statm")))?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4)
}

/// A server whose complaints are kept.
fn watched() -> (Serving, std::path::PathBuf) {
    let mut serving = Serving::start(Script::new());
    assert_eq!(serving.end(Signal::SIGTERM), Some(0));
    let said = serving.room.at("said");
    // What is still a command reaches those who carry it out, and is not turned away for coming too fast.
    let rates = ["server.commandsPerMinutePerClient=1000000000", "server.commandsPerMinute=1000000000"];
    let mut command = serving.room.pi_to(&["serve", "--set", rates[0], "--set", rates[1]]);
    room::write(&said, b"");
    let file = std::fs::File::options().append(true).open(&said).expect("just made");
    command.stderr(file);
    assert!(serving.start_as(command), "it starts again");
    (serving, said)
}

/// Sends a batch and counts the answers: one for each.
async fn exchange(client: &mut Client, frames: Vec<Vec<u8>>, random: &mut fastrand::Rng) {
    let count = frames.len();
    for frame in frames {
        // What is no text can only be sent as bytes; what is one, as either.
        match String::from_utf8(frame) {
            Ok(text) if random.u8(..4) > 0 => client.send_text(&text).await,
            Ok(text) => client.send_bytes(text.into_bytes()).await,
            Err(error) => client.send_bytes(error.into_bytes()).await,
        }
    }
    let mut answers = 0;
    while answers < count {
        let frame = client.next_within(PATIENCE).await;
        let frame = frame.unwrap_or_else(|| panic!("{answers} answers to {count} frames"));
        if frame["type"] == "response" {
            assert_ne!(frame["code"], "internal", "{frame}");
            answers += 1;
        }
    }
}

/// Somebody else is served as if nothing had happened.
async fn ask_again(good: &mut Client, number: usize) {
    let id = format!("good-{number}");
    let health = timeout(PATIENCE, good.ask(&json!({"type": "health_check", "id": id}))).await.expect("an answer");
    assert_eq!(health["success"], true, "{health}");
    let state = good.ask(&json!({"type": "get_state", "id": format!("{id}-s"), "sessionId": "s"})).await;
    assert_eq!(state["success"], true, "{state}");
}

#[test]
fn hostile_frames_on_sockets_are_answered_and_hurt_nobody() {
    let (mut serving, said) = watched();
    let frames = times("PI_TEST_FRAMES", 20_000);
    let mut random = fastrand::Rng::with_seed(11);
    let process = serving.id();
    serving.block_on(async {
        let mut good = serving.with_session("?clientId=good&lifecycle=none").await;
        let mut client = serving.connect("?clientId=hostile&lifecycle=none").await;
        let mut first = None;
        for number in 0..frames.div_ceil(BATCH) {
            let batch = (0..BATCH).map(|_| mutate(&mut random)).collect();
            exchange(&mut client, batch, &mut random).await;
            wire::break_socket(&serving, &mut random).await;
            wire::break_http(&serving, &mut random).await;
            ask_again(&mut good, number).await;
            let now = resident(process).unwrap_or(0);
            // Tables and buffers have their size after some thousand frames.
            if number >= 10 {
                let first = *first.get_or_insert(now);
                assert!(now < first + MOST_MORE, "{now} KiB after {first} KiB at the {number}th batch");
            }
        }
        too_large(&serving, &mut good).await;
    });
    assert_eq!(serving.end(Signal::SIGTERM), Some(0), "it does not end well");
    let said = room::read(&said).expect("it was made");
    assert!(!said.contains("panicked"), "{said}");
}

/// What is a little too large is answered; on who sends much more, the server hangs up.
async fn too_large(serving: &Serving, good: &mut Client) {
    let limit = pi_wire::Limits::default().bytes;
    let before = resident(serving.id()).unwrap_or(0);
    for size in [limit + 1, 2 * limit - 100, 2 * limit + 1] {
        let mut client = serving.connect("?clientId=large&lifecycle=none").await;
        let frame = format!("{{\"type\":\"health_check\",\"x\":\"{}\"}}", "x".repeat(size - 30));
        // It may be closed before all of it is sent.
        drop(client.try_send_text(&frame).await);
        let answer = client.next_within(PATIENCE).await;
        let is_answered = answer.as_ref().is_some_and(|answer| answer["code"] == "message_too_large");
        assert_eq!(is_answered, size <= 2 * limit, "{size}: {answer:?}");
        ask_again(good, size).await;
    }
    let now = resident(serving.id()).unwrap_or(0);
    assert!(now < before + MOST_MORE, "{now} KiB after {before} KiB");
}

#[test]
fn hostile_lines_on_standard_input_are_answered_each() {
    let room = Room::new(Script::new());
    let mut child = room
        .pi_to(&["serve"])
        .args(["--stdio", "--log", "warn", "--model", "scripted/model", "--lifecycle", "none"])
        // All of them are looked at, however many come in a minute.
        .args(["--set", "commandsPerMinute=1000000000", "--set", "commandsPerMinutePerClient=1000000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    let lines = times("PI_TEST_FRAMES", 20_000).div_ceil(10);
    let mut input = child.stdin.take().expect("a pipe");
    let writer = thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(13);
        writeln!(input, "{}", json!({"type": "create_session", "id": "first", "sessionId": "s"})).expect("it reads");
        for _ in 0..lines {
            let mut line = mutate(&mut random);
            // A line ends where it ends.
            line.retain(|byte| *byte != b'\n');
            line.push(b'\n');
            input.write_all(&line).expect("it reads");
        }
        writeln!(input, "{}", json!({"type": "health_check", "id": "last"})).expect("it reads");
    });
    let (mut answers, mut least, mut most, mut last) = (0, u64::MAX, 0, Value::Null);
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let frame: Value = serde_json::from_str(&line.expect("text")).expect("a frame");
        if frame["type"] != "response" {
            continue;
        }
        assert_ne!(frame["code"], "internal", "{frame}");
        answers += 1;
        if frame["id"] == "last" {
            last = frame;
        }
        if answers > lines / 10 && answers % 100 == 0 {
            // Answers may still be read when whoever wrote them has ended, and holds nothing any more.
            if let Some(now) = resident(process).filter(|pages| *pages > 0) {
                (least, most) = (least.min(now), most.max(now));
            }
        }
    }
    writer.join().expect("everything was written");
    let output = child.wait_with_output().expect("our child");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("panicked"), "{said}");
    assert!(last["success"] == true, "{last}, behind {answers} answers");
    assert_eq!(answers, lines + 2);
    assert!(most < least.saturating_add(MOST_MORE), "{most} KiB after {least} KiB");
}
