//! Processes in job objects: whatever they start belongs to the job and ends with it.

use std::{io, process::ExitStatus};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::{
    io::AsyncReadExt,
    process::{ChildStderr, ChildStdout, Command},
};

use super::{Signal, Streams, Whom};

/// The first process of a job.
#[derive(Debug)]
pub(super) struct Child {
    child: Box<dyn ChildWrapper>,
    has_ended: bool,
}

/// Nothing is asked of a job but that it ends.
#[derive(Debug, Clone)]
pub(super) struct Members;

/// Both streams; a stream that has ended is nothing.
#[derive(Debug)]
pub(super) struct Output {
    out: Option<ChildStdout>,
    error: Option<ChildStderr>,
}

impl Child {
    pub(super) fn spawn(command: Command, mark: String) -> io::Result<(Self, Output)> {
        let (child, (_, out, error)) = Self::spawn_apart(command, mark)?;
        Ok((child, Output { out, error }))
    }

    pub(super) fn spawn_apart(mut command: Command, _mark: String) -> io::Result<(Self, Streams)> {
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut command = CommandWrap::from(command);
        let mut child = command.wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let streams = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        Ok((Self { child, has_ended: false }, streams))
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        // The first process only: the job would wait for what was left running on purpose.
        let status = self.child.inner_mut().wait().await?;
        self.has_ended = true;
        Ok(status)
    }

    pub(super) fn members(&self) -> Members {
        Members
    }

    pub(super) fn signal(&mut self, signal: Signal, _: Whom) -> io::Result<()> {
        if !signal.asks_to_end() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.kill_job();
        Ok(())
    }

    pub(super) async fn sweep(&mut self) {
        self.kill_job();
    }

    pub(super) async fn kill(&mut self) {
        self.kill_job();
    }

    fn kill_job(&mut self) {
        if let Err(error) = self.child.start_kill() {
            tracing::warn!(%error, "job was not killed");
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended {
            self.kill_job();
        }
    }
}

impl Members {
    pub(super) fn memory(&self) -> Option<u64> {
        None
    }
}

impl Output {
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let half = buffer.len() / 2;
            let (first, second) = buffer.split_at_mut(half);
            let read = match (&mut self.out, &mut self.error) {
                (None, None) => return Ok(0),
                (Some(out), None) => (out.read(first).await, true),
                (None, Some(error)) => (error.read(first).await, false),
                (Some(out), Some(error)) => {
                    let (read, is_out) = tokio::select! {
                        read = out.read(first) => (read, true),
                        read = error.read(second) => (read, false),
                    };
                    if let (Ok(count), false) = (&read, is_out) {
                        buffer.copy_within(half..half + count, 0);
                    }
                    (read, is_out)
                }
            };
            match read {
                (Ok(0), true) => self.out = None,
                (Ok(0), false) => self.error = None,
                (read, _) => return read,
            }
        }
    }
}
