//! Clients that ask as fast as they are answered.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpStream, sync::Barrier};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

/// Where to connect.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) token: Option<String>,
    /// The process that serves.
    pub(crate) process: u32,
}

/// Who asks, and for how long.
#[derive(Clone)]
pub(crate) struct Plan {
    /// Tells these clients from others.
    pub(crate) name: String,
    pub(crate) connections: usize,
    pub(crate) lifecycle: &'static str,
    /// Commands that each connection has under way.
    pub(crate) depth: usize,
    pub(crate) time: Duration,
}

/// A connection.
pub(crate) struct Socket {
    stream: WebSocketStream<TcpStream>,
    /// Answers of pi say that they are some; an echo is one.
    is_echo: bool,
}

/// What was done in a while.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) commands: u64,
    pub(crate) frames: u64,
    pub(crate) elapsed: Duration,
    /// CPU time of the server.
    cpu: Duration,
    /// How long each answer took.
    latencies: Vec<Duration>,
}

impl Load {
    /// Nanoseconds between two commands.
    pub(crate) fn per_command(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.commands as f64
    }

    /// Nanoseconds of the server's CPU for each command.
    pub(crate) fn cpu_per_command(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e9 / self.commands as f64
    }

    /// Nanoseconds between two frames that arrive.
    pub(crate) fn per_frame(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.frames as f64
    }

    /// In nanoseconds: so many of a hundred answers took no longer.
    pub(crate) fn percentile(&mut self, percent: usize) -> f64 {
        self.latencies.sort_unstable();
        let at = (self.latencies.len() * percent / 100).min(self.latencies.len().saturating_sub(1));
        self.latencies.get(at).copied().unwrap_or_default().as_secs_f64() * 1e9
    }
}

impl Target {
    pub(crate) async fn connect(&self, query: &str) -> Result<Socket> {
        let mut request = format!("ws://127.0.0.1:{}/ws{query}", self.port).into_client_request()?;
        if let Some(token) = &self.token {
            request.headers_mut().insert("authorization", HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await?;
        tcp.set_nodelay(true)?;
        let (stream, _) = client_async(request, tcp).await?;
        Ok(Socket { stream, is_echo: self.token.is_none() })
    }

    /// CPU time of the server so far, its own and the kernel's for it.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process))?;
        // The name of the program is in parentheses and may hold anything.
        let (_, fields) = stat.rsplit_once(')').context("the kernel says how much")?;
        let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|field| field.parse::<u64>().ok());
        let ticks = ticks(11).zip(ticks(12)).context("the kernel says how much")?;
        // A tick is a hundredth of a second on every Linux.
        Ok(Duration::from_millis((ticks.0 + ticks.1) * 10))
    }

    /// So many connections, each of a client of its own, ask for a while.
    pub(crate) async fn load(
        &self,
        plan: Plan,
        command: impl Fn(usize, u64) -> String + Send + Sync + 'static,
    ) -> Result<Load> {
        let Plan { name, connections, lifecycle, depth, time } = plan;
        let (start, command) = (Arc::new(Barrier::new(connections)), Arc::new(command));
        let mut tasks = Vec::new();
        for number in 0..connections {
            let query = format!("?clientId={name}-{number}&lifecycle={lifecycle}");
            let mut socket = self.connect(&query).await?;
            let (start, command) = (Arc::clone(&start), Arc::clone(&command));
            tasks.push(tokio::spawn(async move {
                start.wait().await;
                let mut load = Load::default();
                let (began, mut asked) = (Instant::now(), VecDeque::new());
                let mut sent = 0;
                // Answers to one connection come in the order of its questions: they are of one lane.
                while began.elapsed() < time || !asked.is_empty() {
                    while asked.len() < depth && began.elapsed() < time {
                        asked.push_back(Instant::now());
                        socket.send(command(number, sent)).await?;
                        sent += 1;
                    }
                    let Some(first) = asked.pop_front() else { break };
                    load.frames += socket.answer().await?;
                    load.commands += 1;
                    load.latencies.push(first.elapsed());
                }
                load.elapsed = began.elapsed();
                Ok::<Load, anyhow::Error>(load)
            }));
        }
        let cpu = self.cpu()?;
        let mut all = Load::default();
        for task in tasks {
            let load = task.await??;
            all.commands += load.commands;
            all.frames += load.frames;
            all.elapsed = all.elapsed.max(load.elapsed);
            all.latencies.extend(load.latencies);
        }
        all.cpu = self.cpu()?.saturating_sub(cpu);
        Ok(all)
    }
}

impl Socket {
    pub(crate) async fn send(&mut self, frame: String) -> Result<()> {
        Ok(self.stream.send(Message::text(frame)).await?)
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Result<String> {
        loop {
            match self.stream.next().await.context("the server hung up")?? {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Close(frame) => bail!("the server closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// Reads until there is an answer that is a success; how many frames it was.
    async fn answer(&mut self) -> Result<u64> {
        let mut frames = 0;
        loop {
            let message = self.stream.next().await.context("the server hung up")??;
            let Message::Text(text) = message else { continue };
            frames += 1;
            if self.is_echo {
                return Ok(frames);
            }
            if is_response(&text) {
                if !text.contains(r#""success":true"#) {
                    bail!("{text}");
                }
                return Ok(frames);
            }
        }
    }

    /// Asks, and reads the answer.
    pub(crate) async fn ask(&mut self, frame: &Value) -> Result<Value> {
        self.send(frame.to_string()).await?;
        self.response(frame["id"].as_str().context("what is waited for has an id")?).await
    }

    /// The answer to the command with this id.
    pub(crate) async fn response(&mut self, id: &str) -> Result<Value> {
        loop {
            let answer = self.next_response().await?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }

    /// The next answer, to whichever command.
    pub(crate) async fn next_response(&mut self) -> Result<Value> {
        loop {
            let text = self.next().await?;
            if is_response(&text) {
                return Ok(serde_json::from_str(&text)?);
            }
        }
    }
}

/// Told by its first bytes: an answer begins with the id of its command, an event with its type.
fn is_response(text: &str) -> bool {
    text.starts_with(r#"{"id":"#) || text.starts_with(r#"{"type":"response""#)
}
