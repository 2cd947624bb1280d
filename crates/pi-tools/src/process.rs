//! The seam to processes: every process that a tool or an extension wants is started in [`start`], with a grant.
//!
//! A process of a tool has no input and writes both streams into one pipe; one that [`start_apart`] starts may be given
//! input and keeps its streams apart. Either is the first of its own tree. The tree is killed when
//! [`Process::kill`] is called or when the process is dropped while it runs; what it started and left behind on purpose
//! lives on when it ends by itself. On Unix a guard does the same when we are killed ourselves; on Windows the job object
//! ends with us. An OS sandbox would be put around the command in this file and nowhere else.

mod folder;
#[cfg(unix)]
mod guard;
mod signal;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{ffi::OsString, io, path::PathBuf, process::ExitStatus};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use pi_policy::{Grant, Target};

use crate::environment::Environment;

use self::folder::Folder;
#[cfg(unix)]
use self::unix::{Child, Members, Output};
#[cfg(windows)]
use self::windows::{Child, Members, Output};

pub use self::signal::{Signal, signal_name};

/// The three streams of a process, where they are ours.
type Streams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// The variable by which a tree recognises its members, whatever they do about their parents. Its value is the mark of the
/// command, behind those of the commands that it is part of, with dots between them.
const MARK: &str = "PI_CALL";

/// What to run, once it is granted.
#[derive(Debug)]
pub struct Start<'a> {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Where it starts, by its real path: one to which a link leads by now is refused where the system can tell.
    pub folder: PathBuf,
    pub environment: &'a Environment,
}

/// A process that runs, or has run.
#[derive(Debug)]
pub struct Process {
    child: Child,
    output: Output,
    /// Kept until the process is gone: it is what allows it.
    _grant: Grant,
}

/// A process whose streams are apart.
#[derive(Debug)]
pub struct ApartProcess {
    child: Child,
    /// Both until somebody takes them.
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
    /// Only if there is input; dropping it ends the input.
    pub stdin: Option<ChildStdin>,
    _grant: Grant,
}

/// A process and everything that it started, for whoever wants to know something of them. Clones are the same.
#[derive(Debug, Clone)]
pub struct Tree(Members);

/// Who is told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    Process,
    /// With what it started and did not leave the group.
    Group,
}

/// Whether a process is given something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Nothing,
    Piped,
}

/// Starts a process. The grant must be one for a command; what exactly is run is for the caller to take from it.
pub fn start(grant: Grant, start: &Start<'_>) -> io::Result<Process> {
    let folder = Folder::hold(&start.folder)?;
    let (command, mark) = prepare(&grant, start, &folder)?;
    let (child, output) = Child::spawn(command, mark)?;
    Ok(Process { child, output, _grant: grant })
}

/// The same with streams that are kept apart.
pub fn start_apart(grant: Grant, start: &Start<'_>, input: Input) -> io::Result<ApartProcess> {
    let folder = Folder::hold(&start.folder)?;
    let (mut command, mark) = prepare(&grant, start, &folder)?;
    if input == Input::Piped {
        command.stdin(std::process::Stdio::piped());
    }
    let (child, (stdin, stdout, stderr)) = Child::spawn_apart(command, mark)?;
    Ok(ApartProcess { child, stdout, stderr, stdin, _grant: grant })
}

fn prepare(grant: &Grant, start: &Start<'_>, folder: &Folder) -> io::Result<(tokio::process::Command, String)> {
    let is_command = match grant.action().target {
        Target::Command(_) => true,
        Target::Nothing
        | Target::Path(_)
        | Target::Move { .. }
        | Target::Host(_)
        | Target::Variable(_)
        | Target::Environment
        | Target::Tool(_) => false,
    };
    if !is_command {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the grant is not for a command"));
    }
    let mark = format!("{:016x}", fastrand::u64(..));
    // We may be a command ourselves: whatever we start belongs to that one too.
    let ours = start.environment.variables().find(|(name, _)| *name == MARK).map(|(_, mark)| mark.to_string_lossy());
    let marks = ours.iter().map(|ours| &**ours).chain([&*mark]).collect::<Vec<_>>().join(".");
    let mut command = tokio::process::Command::new(&start.program);
    command
        .args(&start.arguments)
        .current_dir(folder.place())
        .env_clear()
        .envs(start.environment.variables())
        .env(MARK, &marks)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    Ok((command, mark))
}

impl ApartProcess {
    /// Waits for the end. Nothing is lost if it is dropped.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// The same for one that is to leave nothing behind: whatever it started is killed when it has ended by itself. Elsewhere
    /// than on Linux and Windows nobody can tell what that is.
    pub async fn wait_for_all(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.child.sweep().await;
        Ok(status)
    }

    /// Kills the process with everything that it started.
    pub async fn kill(&mut self) {
        self.child.kill().await;
    }

    /// Tells the process itself, or its group as well. Where there are no signals, one that asks to end ends all of it.
    pub fn signal(&mut self, signal: Signal, whom: Whom) -> io::Result<()> {
        self.child.signal(signal, whom)
    }

    pub fn tree(&self) -> Tree {
        Tree(self.child.members())
    }
}

impl Tree {
    /// Bytes of memory of all its processes; what they share with others counts by their shares. Nothing where the system does
    /// not tell (all but Linux), or when none is left. Looks at every process of the machine: not for threads that others wait
    /// for.
    pub fn memory(&self) -> Option<u64> {
        self.0.memory()
    }
}

/// What [`Process::next`] saw.
#[derive(Debug)]
pub enum Event {
    /// So many bytes were read; none if nobody can write any more.
    Read(usize),
    Ended(ExitStatus),
}

impl Process {
    /// Waits for output, or for the end of the process. Nothing is lost if it is dropped.
    pub async fn next(&mut self, buffer: &mut [u8]) -> io::Result<Event> {
        tokio::select! {
            read = self.output.read(buffer) => read.map(Event::Read),
            ended = self.child.wait() => ended.map(Event::Ended),
        }
    }

    /// Waits for output, also when the process has ended: others may have the pipe. Nothing is lost if it is dropped.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer).await
    }

    /// Waits for the end without reading.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Kills the process with everything that it started.
    pub async fn kill(&mut self) {
        self.child.kill().await;
    }
}
