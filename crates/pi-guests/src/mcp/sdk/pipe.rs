//! A server that is a process: messages are lines on its standard streams.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use pi_exthost::{Desk, Held, Occasion, Terms, ledger::Pen};
use pi_extproto::{
    connector::exec::Command,
    host::{ErrorCode, HostError},
};
use pi_tools::process::Tree;

use super::{
    message, salvage,
    throttle::{Pace, Throttle},
};
use crate::mcp::{entry::ProcessRoute, limits::Limits, link::LinkFault};

/// Lines of its error stream that are remembered for whoever asks why it failed.
const LAST_WORDS: usize = 8;
/// Of one line of its error stream.
const LINE: u64 = 4 << 10;
/// Between closing its input and killing it.
const GRACE: Duration = Duration::from_millis(500);
/// What the end of a process may take to be known after its output has ended, and so may its last words.
const SETTLING: Duration = Duration::from_secs(2);

/// The process of a server. Dropping it ends it with everything that it started.
pub(super) struct Program {
    tree: Tree,
    stop: CancellationToken,
    status: watch::Receiver<Option<String>>,
    words: Arc<Mutex<VecDeque<String>>>,
    /// Its error stream has ended.
    heard: CancellationToken,
    /// Why we ended the conversation ourselves.
    verdict: Arc<Mutex<Option<String>>>,
}

/// The two streams on which a server speaks.
pub(super) struct Pipe {
    lines: mpsc::Sender<(Vec<u8>, oneshot::Sender<std::io::Result<()>>)>,
    /// Until it is closed.
    reader: Option<BufReader<ChildStdout>>,
    buffer: Vec<u8>,
    throttle: Throttle,
    junk: usize,
    limits: Limits,
    pen: Pen,
    verdict: Arc<Mutex<Option<String>>>,
}

impl Program {
    /// Starts the process under the rules of its desk.
    pub(super) async fn start(route: &ProcessRoute, desk: &Desk, limits: &Limits) -> Result<(Self, Pipe), LinkFault> {
        let command = Command {
            command: route.command.clone(),
            args: route.arguments.clone(),
            cwd: route.folder.clone(),
            env: Default::default(),
            unset: None,
            bare: None,
            announce: None,
            stdin: None,
            timeout_ms: None,
            max_output_bytes: None,
            stream: true,
        };
        let terms = Terms { occasion: Occasion::Loading, ..Terms::background() };
        let started = desk.hold(command, &route.variables, &terms).await;
        let (held, pipes) = started.map_err(|error| not_started(route, &error))?;
        let (tree, stop, words) = (held.tree(), CancellationToken::new(), Arc::default());
        let (ended, status) = watch::channel(None);
        let verdict = Arc::default();
        // Each ends with the process, which ends with us.
        tokio::spawn(mind(held, stop.clone(), ended));
        let heard = CancellationToken::new();
        tokio::spawn(overhear(pipes.stderr, desk.events().clone(), Arc::clone(&words), heard.clone().drop_guard()));
        let (lines, written) = mpsc::channel(64);
        tokio::spawn(write(pipes.stdin, written));
        let pipe = Pipe {
            lines,
            reader: Some(BufReader::with_capacity(64 << 10, pipes.stdout)),
            buffer: Vec::new(),
            throttle: Throttle::new(Pace::new(limits.messages_a_second, desk.clone())),
            junk: 0,
            limits: limits.clone(),
            pen: desk.events().clone(),
            verdict: Arc::clone(&verdict),
        };
        Ok((Self { tree, stop, status, words, heard, verdict }, pipe))
    }

    /// The same fault with what is known of the process. One that died before it read what we wrote is lost like one that
    /// died before it answered.
    pub(super) async fn explain(&self, fault: LinkFault) -> LinkFault {
        match fault {
            LinkFault::Lost { .. } | LinkFault::Unreachable { is_permanent: false, .. } => {}
            LinkFault::Unreachable { is_permanent: true, .. }
            | LinkFault::Unauthorized { .. }
            | LinkFault::Refused { .. }
            | LinkFault::Nonsense { .. } => return fault,
        }
        let verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(verdict) = verdict {
            return LinkFault::Lost { message: verdict };
        }
        let mut status = self.status.clone();
        let ended = timeout(SETTLING, status.wait_for(Option::is_some)).await;
        let Some(status) = ended.ok().and_then(Result::ok).and_then(|status| status.clone()) else {
            return fault;
        };
        // Its last words may be on their way. Who holds its error stream after it may hold it for long.
        let _ = timeout(SETTLING, self.heard.cancelled()).await;
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let said = match words.is_empty() {
            true => "it said nothing on its error stream".to_owned(),
            false => format!("it said: {}", words.iter().cloned().collect::<Vec<_>>().join(" | ")),
        };
        LinkFault::Lost { message: format!("the process {status}; {said}") }
    }

    /// Bytes of memory that the process has, with what it started.
    pub(super) async fn memory(&self) -> Option<u64> {
        let tree = self.tree.clone();
        // It looks at every process of the machine.
        tokio::task::spawn_blocking(move || tree.memory()).await.ok().flatten()
    }

    /// Ends the process and waits for it, a bounded time.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        let mut status = self.status.clone();
        // A process that does not die is the system's concern.
        let _ = timeout(GRACE * 4, status.wait_for(Option::is_some)).await;
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Owns the process until it has ended.
async fn mind(mut held: Held, stop: CancellationToken, ended: watch::Sender<Option<String>>) {
    let told = |status: std::io::Result<std::process::ExitStatus>| match status {
        Ok(status) => match status.code() {
            Some(code) => format!("ended with code {code}"),
            None => "was ended by a signal".to_owned(),
        },
        Err(error) => format!("is lost: {error}"),
    };
    let status = tokio::select! {
        status = held.ended() => told(status),
        () = stop.cancelled() => {
            // Its input is closed by now, which is how a server is told to go.
            match timeout(GRACE, held.ended()).await {
                Ok(status) => told(status),
                Err(_) => {
                    held.kill().await;
                    "was ended".to_owned()
                }
            }
        }
    };
    ended.send_replace(Some(status));
}

/// Writes what it says on its error stream into the log.
async fn overhear(stderr: ChildStderr, pen: Pen, words: Arc<Mutex<VecDeque<String>>>, _heard: DropGuard) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(LINE).read_until(b'\n', &mut line).await;
        if read.unwrap_or_default() == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if text.is_empty() {
            continue;
        }
        pen.output("stderr", &text, &Occasion::Background);
        if is_frame(&text) {
            continue;
        }
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() == LAST_WORDS {
            words.pop_front();
        }
        words.push_back(text);
    }
}

/// Whether a line is one of many that say where something went wrong, and not what.
fn is_frame(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && line.trim_start().starts_with("at ")
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<(Vec<u8>, oneshot::Sender<std::io::Result<()>>)>) {
    while let Some((line, done)) = lines.recv().await {
        let written = async {
            stdin.write_all(&line).await?;
            stdin.flush().await
        };
        let written = written.await;
        let is_broken = written.is_err();
        // Whoever does not wait any more does not need to know.
        let _ = done.send(written);
        if is_broken {
            return;
        }
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let lines = self.lines.clone();
        let line = serde_json::to_vec(&item);
        async move {
            let mut line = line?;
            line.push(b'\n');
            let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
            let (done, written) = oneshot::channel();
            lines.send((line, done)).await.map_err(|_| gone())?;
            written.await.map_err(|_| gone())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // Before the line, which is complete as soon as it was read: nothing is lost if this is dropped.
            self.throttle.wait().await;
            let reader = self.reader.as_mut()?;
            match next_line(reader, &mut self.buffer, self.limits.message_bytes).await {
                Line::Whole => {}
                Line::Ended => return None,
                Line::TooLong => {
                    let limit = self.limits.message_bytes;
                    return self.give_up(format!("it sent a message of more than {limit} bytes"));
                }
            }
            self.throttle.count();
            let line = std::mem::take(&mut self.buffer);
            let fault = match message::read(&line) {
                Ok(message) => return Some(message),
                Err(_) if line.trim_ascii().is_empty() => continue,
                Err(fault) => fault,
            };
            self.junk += 1;
            let shown: String = String::from_utf8_lossy(&line).trim().chars().take(200).collect();
            self.pen.output("stdout", &format!("no message: {shown}"), &Occasion::Background);
            if self.junk > self.limits.junk_lines {
                let lines = self.limits.junk_lines;
                return self.give_up(format!("it wrote more than {lines} lines that are no messages"));
            }
            // Whoever waits for it is told at once.
            if let Some(answer) = salvage::answer(&line, &fault) {
                return Some(answer);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The writer ends, and with it the input of the process.
        self.lines = mpsc::channel(1).0;
        if let Some(mut rest) = self.reader.take() {
            // A server that is told to go may still be speaking, and is not to fail because nobody reads. Ends with the process.
            tokio::spawn(async move { tokio::io::copy_buf(&mut rest, &mut tokio::io::sink()).await });
        }
        Ok(())
    }
}

impl Pipe {
    fn give_up<T>(&mut self, verdict: String) -> Option<T> {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
        None
    }
}

enum Line {
    /// The buffer holds it.
    Whole,
    Ended,
    TooLong,
}

/// Adds to the buffer until it holds a line. Nothing is lost if it is dropped.
async fn next_line(reader: &mut BufReader<impl AsyncRead + Unpin>, buffer: &mut Vec<u8>, most: usize) -> Line {
    loop {
        let Ok(bytes) = reader.fill_buf().await else { return Line::Ended };
        if bytes.is_empty() {
            return Line::Ended;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |at| at + 1);
        if buffer.len() + taken > most {
            return Line::TooLong;
        }
        buffer.extend_from_slice(&bytes[..taken]);
        reader.consume(taken);
        if end.is_some() {
            return Line::Whole;
        }
    }
}

fn not_started(route: &ProcessRoute, error: &HostError) -> LinkFault {
    let ProcessRoute { command, folder, .. } = route;
    let is_missing =
        error.details.as_ref().and_then(|details| details.get("errno")).is_some_and(|errno| errno == "ENOENT");
    // The system does not say which of the two it did not find.
    let message = match (is_missing, folder) {
        (true, Some(folder)) if Path::new(folder).is_absolute() && !Path::new(folder).is_dir() => {
            format!("there is no folder {folder} to run it in; its entry names it (\"cwd\")")
        }
        (true, Some(folder)) => {
            format!("there is no program {command}, or no folder {folder} to run it in; look at its entry")
        }
        (true, None) => format!("there is no program {command}; install it, or write its full path"),
        (false, _) => error.message.clone(),
    };
    let is_permanent = is_missing || error.code == ErrorCode::Denied;
    LinkFault::Unreachable { message, is_permanent }
}
