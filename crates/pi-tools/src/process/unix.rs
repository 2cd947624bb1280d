//! Processes in groups of their own, with one pipe for both streams so that lines stay in the order in which they came.

use std::{
    io,
    os::fd::OwnedFd,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    Signal as Told, Streams, Whom,
    guard::{self, Watched},
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::{io::AsyncReadExt, net::unix::pipe, process::Command};

/// The first process of a tree.
#[derive(Debug)]
pub(super) struct Child {
    child: tokio::process::Child,
    group: Option<Pid>,
    mark: String,
    /// When it was started; nothing where nobody can tell.
    began: Option<u64>,
    has_ended: Arc<AtomicBool>,
    /// Dropped after everything is killed or has ended.
    watched: Option<Watched>,
}

/// How the processes of a tree are found.
#[derive(Debug, Clone)]
pub(super) struct Members {
    group: Option<Pid>,
    mark: String,
    has_ended: Arc<AtomicBool>,
}

/// The end of the pipe that we read.
#[derive(Debug)]
pub(super) struct Output(pipe::Receiver);

impl Child {
    pub(super) fn spawn(mut command: Command, mark: String) -> io::Result<(Self, Output)> {
        let (reader, writer) = io::pipe()?;
        let output = Output(pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?);
        command.stdout(writer.try_clone()?).stderr(writer);
        let child = Self::begin(&mut command, mark)?;
        // The command holds the writing ends: the pipe would never end while we had them.
        drop(command);
        Ok((child, output))
    }

    pub(super) fn spawn_apart(mut command: Command, mark: String) -> io::Result<(Self, Streams)> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Self::begin(&mut command, mark)?;
        let streams = (child.child.stdin.take(), child.child.stdout.take(), child.child.stderr.take());
        Ok((child, streams))
    }

    fn begin(command: &mut Command, mark: String) -> io::Result<Self> {
        command.process_group(0);
        let watched = guard::watch(&mark);
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                // The system may have started it, and the runtime that would watch over it be gone already.
                #[cfg(target_os = "linux")]
                super::tree::kill_marked(&mark, 0);
                return Err(error);
            }
        };
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(group) = group {
            watched.is_group(group);
        }
        #[cfg(target_os = "linux")]
        let began = group.and_then(super::tree::began);
        #[cfg(not(target_os = "linux"))]
        let began = None;
        Ok(Self { child, group, mark, began, has_ended: Arc::default(), watched: Some(watched) })
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.has_ended.store(true, Ordering::Relaxed);
        // From here on the number of the group may be somebody else's.
        self.watched = None;
        Ok(status)
    }

    /// Kills what a process that has ended left behind, wherever it went: all that bear its mark. Its group is not touched,
    /// whose number may be somebody else's.
    pub(super) async fn sweep(&mut self) {
        let (Some(began), mark) = (self.began, self.mark.clone()) else { return };
        #[cfg(target_os = "linux")]
        if let Err(broken) = tokio::task::spawn_blocking(move || super::tree::kill_marked(&mark, began)).await {
            tracing::warn!(%broken, "what a process left behind was not killed");
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (began, mark);
    }

    pub(super) fn members(&self) -> Members {
        let Self { group, mark, has_ended, .. } = self;
        Members { group: *group, mark: mark.clone(), has_ended: Arc::clone(has_ended) }
    }

    /// Only while it was not waited for: until then nobody else has its number.
    pub(super) fn signal(&mut self, signal: Told, whom: Whom) -> io::Result<()> {
        let group = self.group.filter(|_| !self.has_ended.load(Ordering::Relaxed));
        let group = group.ok_or(io::Error::from(rustix::io::Errno::SRCH))?;
        let sent = match whom {
            Whom::Process => kill_process(group, number(signal)),
            Whom::Group => kill_process_group(group, number(signal)),
        };
        sent.map_err(io::Error::from)
    }

    /// Kills the tree, off the threads that wait: it takes a look at every process of the machine.
    pub(super) async fn kill(&mut self) {
        if self.has_ended.load(Ordering::Relaxed) {
            return self.sweep().await;
        }
        let (group, mark) = (self.group, self.mark.clone());
        if let Err(broken) = tokio::task::spawn_blocking(move || kill_tree(group, &mark)).await {
            tracing::warn!(%broken, "process group was not killed");
        }
    }
}

impl Members {
    #[cfg(target_os = "linux")]
    pub(super) fn memory(&self) -> Option<u64> {
        // Once it has ended the number of the group may be somebody else's.
        let group = self.group.filter(|_| !self.has_ended.load(Ordering::Relaxed));
        super::tree::memory(group, &self.mark)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn memory(&self) -> Option<u64> {
        let Self { group: _, mark: _, has_ended: _ } = self;
        None
    }
}

pub(super) fn number(signal: Told) -> Signal {
    match signal {
        Told::Abort => Signal::ABORT,
        Told::Alarm => Signal::ALARM,
        Told::Continue => Signal::CONT,
        Told::Hangup => Signal::HUP,
        Told::Interrupt => Signal::INT,
        Told::Kill => Signal::KILL,
        Told::Pipe => Signal::PIPE,
        Told::Quit => Signal::QUIT,
        Told::Stop => Signal::STOP,
        Told::Terminate => Signal::TERM,
        Told::User1 => Signal::USR1,
        Told::User2 => Signal::USR2,
        Told::Window => Signal::WINCH,
    }
}

/// Signals that a process gets for what it did.
pub(super) fn fault_name(number: i32) -> Option<&'static str> {
    let faults = [
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::ILL, "SIGILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::SYS, "SIGSYS"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    faults.iter().find(|(fault, _)| fault.as_raw() == number).map(|(_, name)| *name)
}

/// Only while the first process was not waited for: until then nobody else gets its number.
fn kill_tree(group: Option<Pid>, mark: &str) {
    let Some(group) = group else { return };
    #[cfg(target_os = "linux")]
    super::tree::kill(group, mark);
    #[cfg(not(target_os = "linux"))]
    let _ = mark;
    if let Err(error) = kill_process_group(group, Signal::KILL)
        && error != rustix::io::Errno::SRCH
    {
        tracing::warn!(%error, "process group was not killed");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended.load(Ordering::Relaxed) {
            kill_tree(self.group, &self.mark);
        }
    }
}

impl Output {
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}
