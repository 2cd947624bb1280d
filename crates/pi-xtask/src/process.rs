//! Starting programs: the one place that does it, with the time they took.
//!
//! CPU time comes from `getrusage(RUSAGE_CHILDREN)` before and after: no unsafe code of ours, exact as long as programs
//! run one after the other, which they do here. Peak memory does not: the kernel lets a child inherit the peak of the
//! program that started it, so a small program would be charged for this one. [`crate::bench`] reads it in another way.

use std::ffi::OsStr;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

/// A program to start, and its arguments.
pub(crate) struct Program {
    command: Command,
}

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub wall: Duration,
    pub cpu: Duration,
}

/// Where a program printed a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A program that ended.
pub(crate) struct Finished {
    pub status: ExitStatus,
    pub usage: Usage,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Program {
    #[expect(clippy::disallowed_methods, reason = "the one place of this program where others start")]
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self { command: Command::new(program) }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs it to its end; what it prints goes where ours goes.
    pub(crate) fn show(mut self) -> Result<Finished> {
        let line = self.to_string();
        let (status, usage) = measure(|| self.command.status());
        Ok(Finished {
            status: status.with_context(|| format!("cannot start {line}"))?,
            usage,
            stdout: Vec::new(),
            stderr: Vec::new(),
        })
    }

    /// Runs it to its end and keeps what it prints on stdout; stderr goes where ours goes.
    pub(crate) fn capture(mut self) -> Result<Finished> {
        self.command.stderr(Stdio::inherit());
        self.capture_all()
    }

    /// Runs it to its end and keeps all that it prints.
    pub(crate) fn capture_all(mut self) -> Result<Finished> {
        let line = self.to_string();
        let (output, usage) = measure(|| self.command.output());
        let output = output.with_context(|| format!("cannot start {line}"))?;
        Ok(Finished { status: output.status, usage, stdout: output.stdout, stderr: output.stderr })
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn succeed(self) -> Result<()> {
        let line = self.to_string();
        self.capture_all()?.text(&line).map(|_| ())
    }

    /// Runs it to its end and hands over each line that it prints, as it comes.
    pub(crate) fn watch(mut self, mut each: impl FnMut(Stream, &str)) -> Result<Finished> {
        let line = self.to_string();
        let (status, usage) = measure(|| -> std::io::Result<ExitStatus> {
            let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            thread::scope(|scope| {
                let (sender, lines) = mpsc::channel();
                let other = sender.clone();
                scope.spawn(move || stdout.into_iter().for_each(|pipe| send_lines(Stream::Stdout, pipe, &sender)));
                scope.spawn(move || stderr.into_iter().for_each(|pipe| send_lines(Stream::Stderr, pipe, &other)));
                lines.iter().for_each(|(stream, line)| each(stream, &line));
            });
            child.wait()
        });
        let status = status.with_context(|| format!("cannot run {line}"))?;
        Ok(Finished { status, usage, stdout: Vec::new(), stderr: Vec::new() })
    }

    /// Starts it with its output going to `stdout`, and does not wait.
    pub(crate) fn start(mut self, stdout: impl Into<Stdio>) -> Result<Child> {
        let line = self.to_string();
        self.command.stdin(Stdio::null()).stdout(stdout).spawn().with_context(|| format!("cannot start {line}"))
    }

    /// Runs it, shows nothing, and tells whether it could be started and succeeded.
    pub(crate) fn works(mut self) -> bool {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.command.status().is_ok_and(|status| status.success())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name says enough; where a toolchain lies is nobody's concern.
        let program = Path::new(self.command.get_program());
        write!(out, "{}", program.file_name().unwrap_or(program.as_os_str()).to_string_lossy())?;
        self.command.get_args().try_for_each(|argument| write!(out, " {}", argument.to_string_lossy()))
    }
}

impl Finished {
    /// What it printed, if it succeeded.
    pub(crate) fn text(self, what: &str) -> Result<String> {
        if !self.status.success() {
            bail!("{what}: {}\n{}", self.status, String::from_utf8_lossy(&self.stderr).trim_end());
        }
        String::from_utf8(self.stdout).with_context(|| format!("{what} printed something that is not text"))
    }
}

/// Reads until the program closes the pipe, or nobody listens any more.
fn send_lines(stream: Stream, pipe: impl Read, sender: &mpsc::Sender<(Stream, String)>) {
    for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        if sender.send((stream, String::from_utf8_lossy(&line).into_owned())).is_err() {
            return;
        }
    }
}

/// Does the work and says how long it took, children included.
#[expect(clippy::disallowed_methods, reason = "measuring is reading the clock")]
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Usage) {
    let (cpu, start) = (cpu_of_children(), Instant::now());
    let value = work();
    let wall = start.elapsed();
    (value, Usage { wall, cpu: cpu_of_children().saturating_sub(cpu) })
}

fn cpu_of_children() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| Duration::from_micros(u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap_or(0)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_child_shows_its_cpu_time() {
        let busy = Program::new("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]);
        let finished = busy.capture_all().expect("sh starts");
        assert!(finished.status.success());
        assert!(finished.usage.cpu > Duration::from_millis(5), "{:?}", finished.usage);
    }

    #[test]
    fn both_streams_are_watched_and_the_end_is_known() {
        let mut seen = Vec::new();
        let program = Program::new("sh").args(["-c", "echo out; echo err >&2; printf last; exit 4"]);
        let finished = program.watch(|stream, line| seen.push((stream, line.to_owned()))).expect("sh starts");
        assert_eq!(finished.status.code(), Some(4));
        let of = |wanted| {
            seen.iter().filter(|(stream, _)| *stream == wanted).map(|(_, line)| line.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((of(Stream::Stdout), of(Stream::Stderr)), (vec!["out", "last"], vec!["err"]));
    }

    #[test]
    fn a_failing_program_is_reported_with_what_it_said() {
        let finished =
            Program::new("sh").args(["-c", "echo half; echo why >&2; exit 3"]).capture_all().expect("sh starts");
        let error = finished.text("the program").expect_err("it exits with 3");
        assert_eq!(error.to_string(), "the program: exit status: 3\nwhy");
    }
}
