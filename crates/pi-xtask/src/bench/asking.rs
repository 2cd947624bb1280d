//! From the start of `pi -p` to its first request on the wire, in a new session and in one of a hundred megabytes, with the
//! memory that it has needed by then. Pi from npm stands beside it where it can be had.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Figure, Figures, Unit, memory, startup};
use crate::console::{self, Tone, paint};
use crate::install::Missing;
use crate::process::{self, Program};
use crate::{cargo, files, peers};

const SIZE: usize = 100 << 20;
/// Bytes between two compactions of the long session.
const STRETCH: usize = 400 << 10;
/// Nobody starts that slowly.
const PATIENCE: Duration = Duration::from_secs(60);
const ANSWER: &str = "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\
    \"delta\":{\"role\":\"assistant\",\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A program that is asked to say something to a model.
struct Candidate {
    name: &'static str,
    program: PathBuf,
    /// What comes before the arguments that all have.
    script: Option<PathBuf>,
    runs: usize,
}

/// One start, up to the request.
struct Start {
    wall: Duration,
    peak: Option<u64>,
}

pub(super) fn measure(quick: bool) -> Result<Figures> {
    let stage = Stage::new()?;
    let (runs, others) = if quick { (10, 2) } else { (50, 5) };
    let mut candidates = vec![Candidate { name: "pi", program: cargo::build_released_pi()?, script: None, runs }];
    match peers::ensure_pi() {
        Ok(folder) => {
            let script = folder.join("node_modules/@mariozechner/pi-coding-agent/dist/cli.js");
            candidates.push(Candidate { name: "npm", program: "node".into(), script: Some(script), runs: others });
        }
        Err(Missing(why)) => console::say(&paint(Tone::Warning, &format!("not measured beside Pi: {why}"))),
    }
    let mut figures = Figures::new();
    for candidate in &candidates {
        let name = format!("asking/{}", candidate.name);
        figures.extend(stage.figures(&name, candidate, candidate.runs, &["--no-session"])?);
        // Each program writes to its session, so each gets one of its own.
        let long = stage.folder.join(format!("{}.jsonl", candidate.name));
        files::write(&long, long_session(&stage.folder.join("project")).as_bytes())?;
        let session = ["--session", long.to_str().context("the target folder has a readable name")?];
        figures.extend(stage.figures(&format!("{name}_100mb"), candidate, candidate.runs.div_ceil(5), &session)?);
    }
    Ok(figures)
}

/// A model on loopback, and folders for those who ask it.
struct Stage {
    folder: PathBuf,
    /// Tells that a request is there; it is answered when the other end is told so.
    requests: Receiver<SyncSender<()>>,
}

impl Stage {
    fn new() -> Result<Self> {
        let folder = cargo::target_folder()?.join("xtask-bench").join("asking");
        files::remove_folder(&folder)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port on loopback")?;
        let url = format!("http://{}", listener.local_addr()?);
        let models = json!({"providers": {"scripted": {"baseUrl": url, "api": "openai-completions", "apiKey": "none",
            "models": [{"id": "model"}]}}});
        files::write(&folder.join("agent/models.json"), models.to_string().as_bytes())?;
        files::make_folder(&folder.join("project"))?;
        files::make_folder(&folder.join("home"))?;
        let (told, requests) = sync_channel(0);
        // It ends with this program.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serve(stream, &told).is_none() {
                    return;
                }
            }
        });
        Ok(Self { folder, requests })
    }

    fn figures(&self, name: &str, candidate: &Candidate, runs: usize, arguments: &[&str]) -> Result<Figures> {
        // The first one warms up what the operating system keeps.
        self.start(candidate, arguments)?;
        let starts = (0..runs).map(|_| self.start(candidate, arguments)).collect::<Result<Vec<Start>>>()?;
        let mut walls: Vec<Duration> = starts.iter().map(|start| start.wall).collect();
        let median = startup::nanoseconds(startup::median(&mut walls));
        let time = Figure { median, cpu: None, rate: None, unit: Unit::Nanoseconds };
        let mut figures = Figures::from([(name.to_owned(), time)]);
        if let Some(peak) = starts.iter().filter_map(|start| start.peak).max() {
            let peak = Figure { median: peak as f64, cpu: None, rate: None, unit: Unit::Kibibytes };
            figures.insert(format!("{name}, peak memory"), peak);
        }
        Ok(figures)
    }

    fn start(&self, candidate: &Candidate, arguments: &[&str]) -> Result<Start> {
        let at = |name: &str| self.folder.join(name);
        let program = Program::new(&candidate.program)
            .args(&candidate.script)
            .args(["--provider", "scripted", "--model", "model", "-p"])
            .args(arguments)
            .arg("Hello")
            .env("HOME", at("home"))
            .env("PI_CODING_AGENT_DIR", at("agent"))
            .env("PI_OFFLINE", "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .folder(&at("project"));
        let line = program.to_string();
        let (asked, usage) = process::measure(|| {
            let child = program.start(Stdio::null())?;
            Ok::<_, anyhow::Error>((child, self.requests.recv_timeout(PATIENCE)))
        });
        let (mut child, request) = asked?;
        let peak = memory::peak_so_far(child.id());
        if let Ok(request) = request {
            // Whoever asked waits for it.
            let _ = request.send(());
        } else {
            child.kill().with_context(|| format!("{line} cannot be ended"))?;
        }
        let status = child.wait().with_context(|| format!("{line} is lost"))?;
        if !status.success() {
            bail!("{line}: {status}");
        }
        Ok(Start { wall: usage.wall, peak })
    }
}

/// Tells of a request when it has arrived, and answers it when that is wanted. `None` when nobody measures any more.
fn serve(mut stream: TcpStream, told: &SyncSender<SyncSender<()>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        // A connection that is closed without a word asks for nothing.
        if reader.read_line(&mut line).ok().is_none_or(|count| count == 0) {
            return Some(());
        }
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let (answer, wanted) = sync_channel(1);
    told.send(answer).ok()?;
    let mut body = vec![0; length];
    // Whoever measures notices a client that fails.
    let _ = reader.read_exact(&mut body);
    wanted.recv().ok()?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
    Some(())
}

/// A session as it looks in practice: questions, calls, results with code, and a compaction now and then.
fn long_session(project: &Path) -> String {
    let mut text = json!({"type": "session", "version": 3, "id": "0190a000-0000-7000-8000-000000000000",
        "timestamp": "2026-11-16T00:00:00.000Z", "cwd": project})
    .to_string();
    text.push('\n');
    let code = "fn main() { let value = compute(\"a line of code\"); assert_eq!(value, 42); }\n".repeat(40);
    let usage = json!({"input": 900, "output": 90, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 990,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let (mut count, mut next) = (0_usize, STRETCH);
    let mut line = |text: &mut String, mut entry: serde_json::Value| {
        count += 1;
        entry["id"] = format!("{count:08x}").into();
        entry["parentId"] = if count > 1 { format!("{:08x}", count - 1).into() } else { json!(null) };
        entry["timestamp"] = "2026-11-16T00:00:00.000Z".into();
        text.push_str(&entry.to_string());
        text.push('\n');
        count
    };
    while text.len() < SIZE {
        let said =
            json!({"role": "user", "content": [{"type": "text", "text": "Please do the next thing."}], "timestamp": 1});
        let number = line(&mut text, json!({"type": "message", "message": said}));
        let call = format!("call_{number}");
        let content = json!([{"type": "text", "text": "I look."},
            {"type": "toolCall", "id": call, "name": "read", "arguments": {"path": "src/main.rs"}}]);
        let answer = json!({"role": "assistant", "content": content, "api": "openai-completions", "provider": "scripted",
            "model": "model", "usage": usage, "stopReason": "toolUse", "timestamp": 1});
        line(&mut text, json!({"type": "message", "message": answer}));
        let result = json!({"role": "toolResult", "toolCallId": call, "toolName": "read", "isError": false, "timestamp": 1,
            "content": [{"type": "text", "text": code}]});
        let number = line(&mut text, json!({"type": "message", "message": result}));
        if text.len() > next {
            next = text.len() + STRETCH;
            line(
                &mut text,
                json!({"type": "compaction", "summary": code, "firstKeptEntryId": format!("{:08x}", number - 2),
                "tokensBefore": 100_000}),
            );
        }
    }
    text
}
