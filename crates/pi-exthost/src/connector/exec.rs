//! `exec`: processes, without a shell, with a deadline, and ended together with their children.

use std::{path::PathBuf, process::ExitStatus, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, sleep_until},
};

use pi_extproto::{
    connector::{
        data::Data,
        exec::{Command, CommandOutput, Exit},
        stream::{Channel, Piece, StreamEnd, StreamItem},
    },
    host::{ErrorCode, HostError},
};
use pi_policy::{Action, Target};
use pi_tools::{
    Environment,
    files::real_location,
    process::{self, ApartProcess, Input, Signal, Start, Whom},
};

use super::{cancelled, failed};
use crate::desk::{Desk, Haul, Pieces, Signals, Sluice, Terms};

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// When the process has ended, something in the background may still hold its pipes. After so long a silence we go on.
const SILENCE: Duration = Duration::from_millis(100);
/// However much it still says, after so long we go on without it.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// So long a process that was asked to end may take, as in Pi.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long a call that was cancelled waits for that: less than a guest has to say that it stops.
const FAREWELL: Duration = Duration::from_millis(25);

/// What becomes of a piece of output.
enum Taken {
    Kept,
    /// Nobody wants more, or there was too much: the process is ended.
    Enough,
}

/// Where output goes: into memory, or to a reader. Two implementations.
trait Outlet: Send {
    fn take(&mut self, channel: Channel, bytes: Vec<u8>) -> impl Future<Output = Taken> + Send;

    /// The process runs.
    fn announce(&mut self) -> impl Future<Output = ()> + Send;
}

/// What somebody has to say to a process while it runs.
#[derive(Default)]
struct Lines {
    pieces: Option<Pieces>,
    signals: Option<Signals>,
}

/// Output that is kept until the end.
struct Kept<'a> {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    /// Of each of the two.
    most: usize,
    total: u64,
    /// Of all that is said, kept or not.
    most_total: u64,
    /// What is kept counts among the results of the guest.
    haul: &'a Haul,
}

/// Output that is handed on.
struct Passed<'a> {
    sluice: &'a mut Sluice,
    stdout: u64,
    stderr: u64,
    truncated: bool,
    /// Of each of the two.
    most: u64,
    total: u64,
    /// Of all that is said, handed on or not.
    most_total: u64,
}

pub(super) async fn run(
    desk: &Desk,
    command: Command,
    action: Action,
    haul: &Haul,
    terms: &Terms,
) -> Result<CommandOutput, HostError> {
    let limits = desk.inner.house.fittings.limits;
    let mut kept = Kept {
        stdout: Vec::new(),
        stderr: Vec::new(),
        truncated: false,
        most: bound(&command, limits.process_bytes),
        total: 0,
        most_total: limits.stream_bytes,
        haul,
    };
    let exit = drive(desk, command, action, terms, &mut kept, Lines::default()).await?;
    let Kept { stdout, stderr, truncated, .. } = kept;
    Ok(CommandOutput { stdout: Data(stdout), stderr: Data(stderr), exit, truncated })
}

pub(super) async fn stream(
    desk: &Desk,
    command: Command,
    action: Action,
    terms: &Terms,
    sluice: &mut Sluice,
) -> Result<(), HostError> {
    let limits = desk.inner.house.fittings.limits;
    let most = command.max_output_bytes.unwrap_or(limits.stream_bytes).min(limits.stream_bytes);
    let most_total = limits.stream_bytes;
    let lines = Lines { pieces: sluice.take_pieces(), signals: sluice.take_signals() };
    let mut passed = Passed { sluice, stdout: 0, stderr: 0, truncated: false, most, total: 0, most_total };
    let exit = drive(desk, command, action, terms, &mut passed, lines).await?;
    let Passed { sluice, truncated, .. } = passed;
    // Who does not listen any more has what it wanted.
    let _ = sluice.send(StreamItem::End(StreamEnd { exit: Some(exit), truncated })).await;
    Ok(())
}

impl Outlet for Kept<'_> {
    async fn take(&mut self, channel: Channel, bytes: Vec<u8>) -> Taken {
        let kept = match channel {
            Channel::Stdout | Channel::Body => &mut self.stdout,
            Channel::Stderr => &mut self.stderr,
        };
        let room = self.most - kept.len();
        let wanted = &bytes[..bytes.len().min(room)];
        // What there is no room for among all results is left out like what is too much for one.
        let is_counted = self.haul.grow(wanted.len()).is_ok();
        self.truncated |= bytes.len() > room || !is_counted;
        if is_counted {
            kept.extend_from_slice(wanted);
        }
        self.total += bytes.len() as u64;
        if self.total > self.most_total { Taken::Enough } else { Taken::Kept }
    }

    /// Whoever waits for the end does not want to know.
    async fn announce(&mut self) {}
}

impl Outlet for Passed<'_> {
    async fn take(&mut self, channel: Channel, mut bytes: Vec<u8>) -> Taken {
        self.total += bytes.len() as u64;
        let is_enough = self.total > self.most_total;
        let passed = match channel {
            Channel::Stdout | Channel::Body => &mut self.stdout,
            Channel::Stderr => &mut self.stderr,
        };
        let room = usize::try_from(self.most - *passed).unwrap_or(usize::MAX);
        self.truncated |= bytes.len() > room;
        bytes.truncate(room);
        *passed += bytes.len() as u64;
        let sent = match bytes.is_empty() {
            true => Ok(()),
            false => self.sluice.send(StreamItem::Piece(Piece { channel, data: Data(bytes) })).await,
        };
        if sent.is_err() || is_enough { Taken::Enough } else { Taken::Kept }
    }

    async fn announce(&mut self) {
        let nothing = Piece { channel: Channel::Stdout, data: Data(Vec::new()) };
        // Who does not listen any more is found out with the first output.
        let _ = self.sluice.send(StreamItem::Piece(nothing)).await;
    }
}

fn bound(command: &Command, most: usize) -> usize {
    command.max_output_bytes.map_or(most, |bytes| usize::try_from(bytes).unwrap_or(most).min(most))
}

/// Starts the process, hands out what it says, and waits for its end or ends it.
async fn drive(
    desk: &Desk,
    command: Command,
    action: Action,
    terms: &Terms,
    outlet: &mut impl Outlet,
    lines: Lines,
) -> Result<Exit, HostError> {
    let Lines { pieces, mut signals } = lines;
    let deadline = command.timeout_ms.map(|timeout| Instant::now() + Duration::from_millis(timeout));
    let input = if command.stdin.is_some() || pieces.is_some() { Input::Piped } else { Input::Nothing };
    let begun = terms.cancel.run_until_cancelled(begin(desk, &command, action, terms, input)).await;
    let mut process = begun.ok_or_else(cancelled)??;
    let mut speech = Speech::of(&mut process);
    if command.announce == Some(true) {
        outlet.announce().await;
    }
    let feeding = feed(process.stdin.take(), command.stdin.map(|data| data.0), pieces);
    tokio::pin!(feeding);
    let stop = async {
        tokio::select! {
            () = terms.cancel.cancelled() => Stop::Cancelled,
            () = until(deadline) => Stop::Late,
        }
    };
    tokio::pin!(stop);
    let (mut is_fed, mut ending, mut ended) = (false, Ending::default(), None::<ExitStatus>);
    let (mut silence, mut last) = (None::<Instant>, None::<Instant>);
    while ended.is_none() || !speech.is_over() {
        let said = tokio::select! {
            said = speech.next(), if !speech.is_over() => said,
            status = process.wait(), if ended.is_none() => {
                ended = Some(status.map_err(|error| failed(&command.command, &error))?);
                (silence, last) = (Some(Instant::now() + SILENCE), Some(Instant::now() + LAST_WORDS));
                if ending.is_wanted {
                    // What it started was meant as well.
                    process.kill().await;
                }
                None
            }
            why = &mut stop, if !ending.is_stopped && ended.is_none() => {
                ending.stop(why, &mut process);
                None
            }
            told = hear(&mut signals), if ended.is_none() => {
                ending.pass_on(told, &mut process).await;
                None
            }
            () = until(ending.kill_at), if ended.is_none() => {
                ending.kill(&mut process).await;
                None
            }
            () = until(ending.leave_at), if ended.is_none() => {
                see_off(desk, process, speech, ending.kill_at);
                return Ok(Exit { code: None, signal: None, killed: true });
            }
            () = &mut feeding, if !is_fed => {
                is_fed = true;
                None
            }
            () = until(silence), if silence.is_some() => break,
            () = until(last), if last.is_some() => break,
        };
        let Some((channel, bytes)) = said else { continue };
        if silence.is_some() {
            silence = Some(Instant::now() + SILENCE);
        }
        let taking = outlet.take(channel, bytes);
        tokio::pin!(taking);
        let taken = loop {
            tokio::select! {
                taken = &mut taking => break taken,
                // A reader that does not read does not keep a process alive beyond its time.
                why = &mut stop, if !ending.is_stopped => ending.stop(why, &mut process),
                () = until(ending.kill_at) => break Taken::Enough,
                () = until(ending.leave_at) => break Taken::Enough,
                // Nor from what it is told and written.
                told = hear(&mut signals), if ended.is_none() => ending.pass_on(told, &mut process).await,
                () = &mut feeding, if !is_fed => is_fed = true,
            }
        };
        if matches!(taken, Taken::Enough) && !ending.is_killed {
            ending.is_stopped = true;
            ending.is_ours = true;
            ending.kill(&mut process).await;
        }
    }
    let (code, signal) = (ended.and_then(|status| status.code()), ended.and_then(process::signal_name));
    Ok(Exit { code, signal, killed: ending.is_ours })
}

/// What a process says on its two pipes, until it has closed both.
struct Speech {
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    out_bytes: Vec<u8>,
    err_bytes: Vec<u8>,
}

impl Speech {
    fn of(process: &mut ApartProcess) -> Self {
        let (out, err) = (process.stdout.take(), process.stderr.take());
        Self { out, err, out_bytes: vec![0; PIECE], err_bytes: vec![0; PIECE] }
    }

    fn is_over(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// The next piece; nothing when one of the two ended. What nobody waited for to the end is not lost.
    async fn next(&mut self) -> Option<(Channel, Vec<u8>)> {
        let (channel, read) = tokio::select! {
            read = read(&mut self.out, &mut self.out_bytes), if self.out.is_some() => (Channel::Stdout, read),
            read = read(&mut self.err, &mut self.err_bytes), if self.err.is_some() => (Channel::Stderr, read),
            else => return None,
        };
        // What cannot be read has nothing more to say.
        let count = read.unwrap_or_default();
        let bytes = match channel {
            Channel::Stdout | Channel::Body => &self.out_bytes,
            Channel::Stderr => &self.err_bytes,
        };
        match channel {
            _ if count > 0 => return Some((channel, bytes[..count].to_vec())),
            Channel::Stdout | Channel::Body => self.out = None,
            Channel::Stderr => self.err = None,
        }
        None
    }

    /// Hears it out, and keeps nothing.
    async fn swallow(self) {
        tokio::join!(swallow(self.out), swallow(self.err));
    }
}

/// Why a process is to end.
#[derive(Clone, Copy)]
enum Stop {
    /// Whoever wanted it does not wait for it any more.
    Cancelled,
    Late,
}

/// How far the end of a process has come.
#[derive(Default)]
struct Ending {
    /// It had its time, or nobody wants it any more.
    is_stopped: bool,
    /// Somebody told it to end, we or the guest.
    is_wanted: bool,
    /// We did.
    is_ours: bool,
    is_killed: bool,
    kill_at: Option<Instant>,
    leave_at: Option<Instant>,
}

impl Ending {
    /// Asks the process to end, and sets the time at which it is not asked any more.
    fn stop(&mut self, why: Stop, process: &mut ApartProcess) {
        (self.is_stopped, self.is_wanted, self.is_ours) = (true, true, true);
        tell(process, Signal::Terminate, Whom::Group);
        let now = Instant::now();
        self.kill_at = (!self.is_killed).then(|| now + PATIENCE);
        self.leave_at = match why {
            Stop::Cancelled => Some(now + FAREWELL),
            Stop::Late => None,
        };
    }

    async fn pass_on(&mut self, (signal, whom): (Signal, Whom), process: &mut ApartProcess) {
        self.is_wanted |= signal.asks_to_end();
        // All of it, however it is told: what is left behind would never be found.
        if signal == Signal::Kill {
            self.kill(process).await;
        } else {
            tell(process, signal, whom);
        }
    }

    async fn kill(&mut self, process: &mut ApartProcess) {
        (self.is_wanted, self.is_killed, self.kill_at) = (true, true, None);
        process.kill().await;
    }
}

/// One that has just ended need not hear of it.
fn tell(process: &mut ApartProcess, signal: Signal, whom: Whom) {
    if let Err(error) = process.signal(signal, whom) {
        tracing::debug!(%error, ?signal, "process was not told");
    }
}

/// Lets a process end that nobody waits for: until its time is over, or ours.
fn see_off(desk: &Desk, mut process: ApartProcess, speech: Speech, kill_at: Option<Instant>) {
    let house = &desk.inner.house;
    let last_call = house.last_call.clone();
    let leaving = async move {
        // Who cannot write does not get to its end.
        let swallowing = async {
            speech.swallow().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // An end that cannot be seen is no reason to wait.
            _ = process.wait() => {}
            () = swallowing => {}
            () = until(kill_at) => {}
            () = last_call.cancelled() => {}
        }
        process.kill().await;
    };
    house.departing.spawn_on(leaving, &house.handle);
}

async fn swallow(stream: Option<impl AsyncRead + Unpin>) {
    if let Some(mut stream) = stream
        && let Err(error) = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    {
        tracing::debug!(%error, "last words of a process were lost");
    }
}

/// The next thing that a process is told; never, once nobody can tell it anything.
async fn hear(signals: &mut Option<Signals>) -> (Signal, Whom) {
    if let Some(told) = signals
        && let Some(told) = told.recv().await
    {
        return told;
    }
    *signals = None;
    std::future::pending().await
}

/// Hands a process its input: what was there before it started, then what comes. Ends with the input, or when the process
/// reads no more, which it need not.
async fn feed(pipe: Option<ChildStdin>, early: Option<Vec<u8>>, pieces: Option<Pieces>) {
    let Some(mut pipe) = pipe else { return };
    if let Some(early) = early
        && pipe.write_all(&early).await.is_err()
    {
        return;
    }
    let Some(mut pieces) = pieces else { return };
    while let Some(piece) = pieces.recv().await {
        if pipe.write_all(&piece).await.is_err() || pipe.flush().await.is_err() {
            return;
        }
    }
}

async fn begin(
    desk: &Desk,
    command: &Command,
    action: Action,
    terms: &Terms,
    input: Input,
) -> Result<ApartProcess, HostError> {
    let environment = desk.inner.workspace.settings().environment.clone();
    launch(desk, command, action, terms, environment, input).await
}

/// Starts a process that is spoken with, in an environment of its own.
pub(crate) async fn begin_to_speak(
    desk: &Desk,
    command: &Command,
    action: Action,
    terms: &Terms,
    environment: Environment,
) -> Result<ApartProcess, HostError> {
    launch(desk, command, action, terms, environment, Input::Piped).await
}

async fn launch(
    desk: &Desk,
    command: &Command,
    mut action: Action,
    terms: &Terms,
    environment: Environment,
    input: Input,
) -> Result<ApartProcess, HostError> {
    let here = desk.clone();
    if let Target::Command(aim) = &action.target
        && let Some(folder) = aim.folder().cloned()
    {
        // Links are followed before anybody decides, as everywhere.
        let real = tokio::task::spawn_blocking(move || real_location(&here.inner.places, folder)).await;
        let real = real.map_err(|broken| HostError::new(ErrorCode::Internal, broken.to_string()))?;
        action.target = Target::Command(aim.clone().within(real));
    }
    let folder = match &action.target {
        Target::Command(aim) => aim.folder().map(|folder| folder.absolute().to_owned()),
        _ => None,
    };
    let grant = desk.authorize(action, terms).await?;
    let folder = PathBuf::from(folder.as_deref().unwrap_or(desk.inner.workspace.project()));
    let environment = if command.bare == Some(true) { environment.bare() } else { environment };
    let environment = command.unset.iter().flatten().fold(environment, |rest, name| rest.without(name));
    let environment = command.env.iter().fold(environment, |environment, (name, value)| environment.with(name, value));
    // A path counts from the folder in which the program runs.
    let is_path = command.command.contains('/') || (cfg!(windows) && command.command.contains('\\'));
    let program = if is_path { folder.join(&command.command) } else { PathBuf::from(&command.command) };
    let arguments = command.args.iter().map(Into::into).collect();
    // Starting a process takes long enough to hold up everybody else on this thread, and needs the runtime.
    let started = tokio::task::spawn_blocking(move || {
        process::start_apart(grant, &Start { program, arguments, folder, environment: &environment }, input)
    });
    let started = started.await.map_err(|broken| HostError::new(ErrorCode::Internal, broken.to_string()))?;
    started.map_err(|error| failed(&command.command, &error))
}

async fn read(stream: &mut Option<impl AsyncRead + Unpin>, bytes: &mut [u8]) -> std::io::Result<usize> {
    match stream {
        Some(stream) => stream.read(bytes).await,
        None => Ok(0),
    }
}

async fn until(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => std::future::pending().await,
    }
}
