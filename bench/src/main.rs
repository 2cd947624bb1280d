//! Our provider client beside its peers against one server on loopback.
//!
//! Every client is a process of its own that says how much CPU it used; the server is another. Lines `metric <name>
//! <number> <unit>` on standard output are for `cargo xtask bench`.

mod bare;
mod genai_client;
mod ours;
mod server;
mod style;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

use crate::{bare::Bare, genai_client::Peer, ours::Ours, style::Style};

/// Pieces of one streamed answer.
const PIECES: usize = 2000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve"] => runtime()?.block_on(server::run(say_port)),
        ["client", mode, port, rounds] => {
            let figure = runtime()?.block_on(client(mode, port.parse()?, rounds.parse()?))?;
            println!("{figure}");
            Ok(())
        }
        rest => compare(rest.contains(&"--quick")),
    }
}

/// One thread each: what is compared is work, not how it is spread.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn say_port(port: u16) {
    println!("{port}");
    // Nobody can connect before this is read.
    let _ = std::io::stdout().flush();
}

fn compare(quick: bool) -> Result<()> {
    let program = std::env::current_exe()?;
    let mut server = Server(Command::new(&program).arg("serve").stdout(Stdio::piped()).spawn()?);
    let output = server.0.stdout.take().context("the server has an output")?;
    let mut port = String::new();
    BufReader::new(output).read_line(&mut port)?;
    let port = port.trim();
    let measure = |mode: &str, rounds: u32| -> Result<f64> {
        let rounds = if quick { rounds.div_ceil(10) } else { rounds }.to_string();
        let run = Command::new(&program).args(["client", mode, port, &rounds]).stderr(Stdio::inherit()).output()?;
        if !run.status.success() {
            bail!("client {mode}: {}", run.status);
        }
        Ok(String::from_utf8(run.stdout)?.trim().parse()?)
    };
    for style in Style::ALL {
        for client in ["pi", "genai"] {
            let cpu = measure(&format!("stream-{client}-{}", style.name()), 100)?;
            println!("metric loopback/stream_{}_{client} {cpu} ns", style.name());
        }
    }
    let bare = measure("call-bare", 5000)?;
    println!("metric loopback/call_bare {bare} ns");
    for client in ["pi", "genai"] {
        let cpu = measure(&format!("call-{client}"), 5000)?;
        println!("metric loopback/call_{client} {cpu} ns");
        println!("metric loopback/call_added_{client} {} ns", (cpu - bare).max(0.0));
    }
    println!("metric loopback/open_stream {} KiB", measure("open-pi", 500)?);
    Ok(())
}

/// Ends with whoever started it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What one unit of work costs: nanoseconds of CPU for an event or a call, KiB for an open stream.
async fn client(mode: &str, port: u16, rounds: usize) -> Result<f64> {
    let (kind, rest) = mode.split_once('-').context("a mode has two words")?;
    let (who, style) = rest.split_once('-').unwrap_or((rest, "openai"));
    let style = Style::of_path(&format!("/{style}/"));
    let model = format!("events-{PIECES}");
    match (kind, who) {
        ("stream", "pi") => {
            let ours = Ours::new(style, port)?;
            per_unit(rounds, PIECES, async || ours.stream(&model).await).await
        }
        ("stream", "genai") => {
            let peer = Peer::new(style, port)?;
            per_unit(rounds, PIECES, async || peer.stream(&model).await).await
        }
        ("call", "pi") => {
            let ours = Ours::new(style, port)?;
            per_unit(rounds, 1, async || ours.complete("whole").await.map(|_| 1)).await
        }
        ("call", "genai") => {
            let peer = Peer::new(style, port)?;
            per_unit(rounds, 1, async || peer.call("whole").await.map(|_| 1)).await
        }
        ("call", "bare") => {
            let bare = tokio::sync::Mutex::new(Bare::new(port).await?);
            per_unit(rounds, 1, async || bare.lock().await.call("whole").await.map(|_| 1)).await
        }
        ("open", "pi") => ours::memory_per_stream(port, rounds).await,
        (kind, who) => bail!("there is no {kind} of {who}"),
    }
}

/// Does the work again and again; the first round warms up and counts for nothing.
async fn per_unit(rounds: usize, units: usize, mut work: impl AsyncFnMut() -> Result<usize>) -> Result<f64> {
    let mut before = 0.0;
    for round in 0..=rounds {
        let done = work().await?;
        if done != units {
            bail!("{done} of {units} pieces arrived");
        }
        if round == 0 {
            before = cpu()?;
        }
    }
    Ok((cpu()? - before) / (rounds * units) as f64)
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
