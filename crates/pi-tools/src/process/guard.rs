//! The guard: a process that ends our commands when we cannot do it ourselves.
//!
//! A pi that is killed with a signal which nobody can catch runs no code any more, and its commands would live on. The
//! guard holds the reading end of a pipe whose writing end only we have, so the kernel tells it of our end, whatever that
//! is. It is a small script for `sh`, started with the first command; there is one for the whole process, because the end
//! of the process is one event. `PR_SET_PDEATHSIG` would not do: it fires when the *thread* ends that started the command,
//! it reaches the shell alone, and only Linux has it.
//!
//! What a guard cannot see: a process that left its group *and* hides its environment, and on systems without `/proc`
//! whatever left its group.

use std::{
    collections::BTreeMap,
    io::{self, PipeWriter, Write},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use rustix::process::Pid;

const SCRIPT: &str = include_str!("guard.sh");

/// A lock and not a message, because a command is begun and ended in places that cannot wait.
static GUARD: Mutex<Guard> = Mutex::new(Guard { running: None, watched: BTreeMap::new() });

/// One command that is watched. Dropping it says that the command has ended.
#[derive(Debug)]
pub(super) struct Watched {
    mark: String,
}

struct Guard {
    running: Option<(Child, PipeWriter)>,
    /// By mark; the group once it is known.
    watched: BTreeMap<String, Option<Pid>>,
}

/// Watches a command that is about to start.
pub(super) fn watch(mark: &str) -> Watched {
    with(|guard| {
        guard.watched.insert(mark.to_owned(), None);
        guard.say(&format!("begin {mark}\n"));
    });
    Watched { mark: mark.to_owned() }
}

impl Watched {
    /// The command runs as the first of this group.
    pub(super) fn is_group(&self, group: Pid) {
        with(|guard| {
            guard.watched.insert(self.mark.clone(), Some(group));
            guard.say(&line(&self.mark, group));
        });
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        with(|guard| {
            guard.watched.remove(&self.mark);
            guard.say(&format!("end {}\n", self.mark));
        });
    }
}

fn line(mark: &str, group: Pid) -> String {
    format!("group {mark} {}\n", group.as_raw_nonzero())
}

fn with(act: impl FnOnce(&mut Guard)) {
    // What a panic left behind is a list of marks, and any such list is valid.
    act(&mut GUARD.lock().unwrap_or_else(PoisonError::into_inner));
}

impl Guard {
    /// Tells the guard; one that is gone is replaced by another, which is told everything. Commands run without one if
    /// there is no `sh`: they end with us unless we are killed.
    fn say(&mut self, text: &str) {
        let is_told = self.running.as_mut().is_some_and(|(_, pipe)| pipe.write_all(text.as_bytes()).is_ok());
        if is_told || self.watched.is_empty() {
            return;
        }
        if let Some((mut old, _)) = self.running.take() {
            // It is gone, or does not read: one that lives ends with its pipe.
            if let Err(error) = old.try_wait() {
                tracing::debug!(%error, "the guard of commands was lost");
            }
        }
        match self.start() {
            Ok(running) => self.running = Some(running),
            Err(error) => tracing::warn!(%error, "commands would outlive a pi that is killed"),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the guard belongs to the one seam where processes are started")]
    fn start(&self) -> io::Result<(Child, PipeWriter)> {
        let (reader, mut writer) = io::pipe()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "pi-guard"]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
        // What the terminal or `timeout` sends to our group is not for it.
        let child = command.process_group(0).spawn()?;
        for (mark, group) in &self.watched {
            let known = group.map(|group| line(mark, group)).unwrap_or_default();
            writer.write_all(format!("begin {mark}\n{known}").as_bytes())?;
        }
        Ok((child, writer))
    }
}
