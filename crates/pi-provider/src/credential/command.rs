//! A key that a command prints, as Pi has it: `"apiKey": "!pass show openai"`.
//!
//! The shell runs it once for as long as the file is held, with our environment and nothing to read. Only files of the user's
//! own, and of a project that is trusted, come this far: the catalogue forgets the keys of others.

use std::{
    fmt,
    io::Read as _,
    process::{Child, Command, Stdio},
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::Duration,
};

use crate::secret::Secret;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often somebody looks whether a command that has printed all it prints is at its end.
const PAUSE: Duration = Duration::from_millis(10);
/// More than any key has, in bytes.
const LONGEST: u64 = 64 * 1024;

/// A command whose output is a key. Prints neither.
#[derive(Clone)]
pub struct KeyCommand {
    text: Secret,
    output: Arc<OnceLock<Result<Secret, CommandFault>>>,
}

/// Why a command brings no key. Nothing of the command or of its output is in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandFault {
    #[error("it cannot be started ({reason})")]
    NotStarted { reason: String },
    #[error("it took more than {} s", LIMIT.as_secs())]
    Late,
    #[error("it ended with {status}")]
    Failed { status: String },
    #[error("it printed nothing")]
    Silent,
    #[error("what it printed is no text")]
    NoText,
}

impl KeyCommand {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: Secret::new(text), output: Arc::default() }
    }

    /// What it prints, without the blanks around. Runs it the first time, and waits for it.
    pub fn output(&self) -> Result<Secret, CommandFault> {
        self.output.get_or_init(|| run(self.text.expose(), LIMIT)).clone()
    }
}

impl PartialEq for KeyCommand {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for KeyCommand {}

impl fmt::Debug for KeyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyCommand(…)")
    }
}

fn run(text: &str, limit: Duration) -> Result<Secret, CommandFault> {
    let not_started = |error: std::io::Error| CommandFault::NotStarted { reason: error.kind().to_string() };
    let mut child = shell(text).spawn().map_err(not_started)?;
    let output = child.stdout.take().expect("its output was asked for");
    let (sender, receiver) = mpsc::channel();
    // It ends with the last process that holds the output; nobody waits for one that the command left behind.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(LONGEST).read_to_end(&mut bytes).map(|_| bytes);
        // Whoever gave up does not listen any more.
        let _ = sender.send(read);
    });
    let Ok(read) = receiver.recv_timeout(limit) else { return Err(stopped(&mut child)) };
    wait(&mut child, limit)?;
    let text = read.ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(CommandFault::NoText)?;
    match text.trim() {
        "" => Err(CommandFault::Silent),
        key => Ok(Secret::new(key)),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the only process that this crate starts")]
fn shell(text: &str) -> Command {
    let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(program);
    command.args([flag, text]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Waits for the end of a command that has closed its output.
fn wait(child: &mut Child, limit: Duration) -> Result<(), CommandFault> {
    for _ in 0..=limit.as_millis() / PAUSE.as_millis() {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(CommandFault::Failed { status: status.to_string() }),
            Ok(None) => thread::sleep(PAUSE),
            Err(error) => return Err(CommandFault::Failed { status: error.kind().to_string() }),
        }
    }
    Err(stopped(child))
}

fn stopped(child: &mut Child) -> CommandFault {
    // One that has ended meanwhile cannot be killed, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
    CommandFault::Late
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_prints_is_the_key() {
        let key = |text: &str| run(text, Duration::from_secs(60)).map(|key| key.expose().to_owned());
        assert_eq!(key("printf ' planted-%s \\n\\n' 1"), Ok("planted-1".to_owned()));
        assert_eq!(key("echo no; exit 3"), Err(CommandFault::Failed { status: "exit status: 3".to_owned() }));
        assert_eq!(key("true"), Err(CommandFault::Silent));
        assert_eq!(key("cat"), Err(CommandFault::Silent), "there is nothing to read");
        assert_eq!(key("printf '\\377'"), Err(CommandFault::NoText));
    }

    #[test]
    fn a_command_that_takes_too_long_is_stopped() {
        for text in ["exec sleep 600", "exec >&-; exec sleep 600"] {
            assert_eq!(run(text, Duration::from_millis(50)), Err(CommandFault::Late), "{text}");
        }
    }

    #[test]
    fn a_command_runs_once() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let file = folder.path().join("runs");
        let command = KeyCommand::new(format!("echo x >> '{0}'; wc -l < '{0}'", file.display()));
        let again = command.clone();
        for command in [&command, &again, &command] {
            assert_eq!(command.output().map(|key| key.expose().to_owned()), Ok("1".to_owned()));
        }
    }
}
