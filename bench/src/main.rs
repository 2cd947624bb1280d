//! Our provider client beside its peers against one server on loopback, and our server beside a bare one.
//!
//! Every client is a process of its own that says how much CPU it used; the server is another. Lines `metric <name>
//! <number> <unit>` on standard output are for `cargo xtask bench`.

mod bare;
mod daemon;
mod echo;
mod genai_client;
mod load;
mod ours;
mod raw;
mod server;
mod serving;
mod style;

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

use crate::{bare::Bare, genai_client::Peer, load::Target, ours::Ours, raw::Raw, serving::Wish, style::Style};

/// Pieces of one streamed answer.
const PIECES: usize = 2000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve"] => runtime()?.block_on(server::run(say_port)),
        ["client", mode, port, rounds] => {
            let (mode, port, rounds) = ((*mode).to_owned(), port.parse()?, rounds.parse()?);
            // In a task, as in a server: what the runtime is asked to run itself is woken through the kernel.
            let figure = runtime()?.block_on(async move { tokio::spawn(client(mode, port, rounds)).await })??;
            println!("{figure}");
            Ok(())
        }
        ["echo"] => runtime_of_many()?.block_on(echo::run(say_port)),
        ["server", pi, folder, rest @ ..] => {
            let (options, parts): (Vec<&str>, Vec<&str>) = rest.iter().copied().partition(|word| word.starts_with('-'));
            let wish = Wish { quick: options.contains(&"--quick"), parts: &parts };
            measure_server(Path::new(pi), Path::new(folder), wish)
        }
        rest => compare(rest.contains(&"--quick")),
    }
}

/// `pi serve` beside an echo, both with a thread for each core, as the clients have.
fn measure_server(pi: &Path, folder: &Path, wish: Wish<'_>) -> Result<()> {
    let (_model, model) = Server::start("serve")?;
    let (server, port) = Server::start("echo")?;
    let echo = Target { port: port.parse()?, token: None, process: server.0.id() };
    runtime_of_many()?.block_on(async move { serving::measure(pi, folder, model.parse()?, &echo, wish).await })
}

/// One thread each: what is compared is work, not how it is spread.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn runtime_of_many() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

fn say_port(port: u16) {
    println!("{port}");
    // Nobody can connect before this is read.
    let _ = std::io::stdout().flush();
}

fn compare(quick: bool) -> Result<()> {
    let program = std::env::current_exe()?;
    let (_server, port) = Server::start("serve")?;
    let measure = |mode: &str, rounds: u32| -> Result<f64> {
        let rounds = if quick { rounds.div_ceil(10) } else { rounds }.to_string();
        let run = Command::new(&program).args(["client", mode, &port, &rounds]).stderr(Stdio::inherit()).output()?;
        if !run.status.success() {
            bail!("client {mode}: {}", run.status);
        }
        Ok(String::from_utf8(run.stdout)?.trim().parse()?)
    };
    for style in Style::ALL {
        for client in ["pi", "genai", "raw"] {
            let cpu = measure(&format!("stream-{client}-{}", style.name()), 100)?;
            println!("metric loopback/stream_{}_{client} {cpu} ns", style.name());
        }
    }
    let bare = measure("call-bare", 5000)?;
    println!("metric loopback/call_bare {bare} ns");
    for client in ["pi", "genai", "raw"] {
        let cpu = measure(&format!("call-{client}"), 5000)?;
        println!("metric loopback/call_{client} {cpu} ns");
        println!("metric loopback/call_added_{client} {} ns", (cpu - bare).max(0.0));
    }
    println!("metric loopback/open_stream {} KiB", measure("open-pi", 500)?);
    Ok(())
}

/// Ends with whoever started it.
struct Server(Child);

impl Server {
    /// This program as a server of this kind, and its port.
    fn start(kind: &str) -> Result<(Self, String)> {
        let program = std::env::current_exe()?;
        let mut server = Self(Command::new(program).arg(kind).stdout(Stdio::piped()).spawn()?);
        let output = server.0.stdout.take().context("the server has an output")?;
        let mut port = String::new();
        BufReader::new(output).read_line(&mut port)?;
        Ok((server, port.trim().to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What one unit of work costs: nanoseconds of CPU for an event or a call, KiB for an open stream.
async fn client(mode: String, port: u16, rounds: usize) -> Result<f64> {
    let (kind, rest) = mode.split_once('-').context("a mode has two words")?;
    let (who, style) = rest.split_once('-').unwrap_or((rest, "openai"));
    let style = Style::of_path(&format!("/{style}/"));
    let work = match (kind, who) {
        ("open", "pi") => return ours::memory_per_stream(port, rounds).await,
        ("stream", "pi") => Work::Stream(Ours::new(style, port)?),
        ("stream", "genai") => Work::PeerStream(Peer::new(style, port)?),
        ("stream", "raw") => Work::RawStream(Raw::new(style, port)?),
        ("call", "pi") => Work::Call(Ours::new(style, port)?),
        ("call", "genai") => Work::PeerCall(Peer::new(style, port)?),
        ("call", "raw") => Work::RawCall(Raw::new(style, port)?),
        ("call", "bare") => Work::BareCall(Bare::new(port).await?),
        (kind, who) => bail!("there is no {kind} of {who}"),
    };
    work.cost(rounds).await
}

/// What is done again and again.
enum Work {
    Stream(Ours),
    PeerStream(Peer),
    RawStream(Raw),
    Call(Ours),
    PeerCall(Peer),
    RawCall(Raw),
    BareCall(Bare),
}

impl Work {
    /// Nanoseconds of CPU for an event or a call; the first round warms up and counts for nothing.
    async fn cost(mut self, rounds: usize) -> Result<f64> {
        let mut before = 0.0;
        let mut units = 0;
        for round in 0..=rounds {
            let done = self.once().await?;
            if round == 0 {
                before = cpu()?;
            } else {
                units += done;
            }
        }
        Ok((cpu()? - before) / units as f64)
    }

    /// How many events or calls it was.
    async fn once(&mut self) -> Result<usize> {
        let model = format!("events-{PIECES}");
        let pieces = match self {
            Self::Stream(ours) => ours.stream(&model).await?,
            Self::PeerStream(peer) => peer.stream(&model).await?,
            Self::RawStream(raw) => raw.stream(&model, PIECES).await?,
            Self::Call(ours) => return ours.complete("whole").await.map(|_| 1),
            Self::PeerCall(peer) => return peer.call("whole").await.map(|_| 1),
            Self::RawCall(raw) => return raw.call("whole").await.map(|_| 1),
            Self::BareCall(bare) => return bare.call("whole").await.map(|_| 1),
        };
        if pieces != PIECES {
            bail!("{pieces} of {PIECES} pieces arrived");
        }
        Ok(pieces)
    }
}

/// CPU time of this process, in nanoseconds.
fn cpu() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| time.tv_sec() * 1_000_000 + time.tv_usec())
        .sum::<i64>();
    Ok(micros as f64 * 1e3)
}
