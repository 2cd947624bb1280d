//! A program in a terminal of tmux: keys are typed, the screen is read.
#![expect(
    clippy::disallowed_methods,
    reason = "a terminal is a process, and a screen that never comes must end the test"
)]

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// Long enough for a busy machine; nothing waits that long when things go well.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);

/// One terminal of a tmux of its own, which ends with this.
#[derive(Debug)]
pub struct Tmux {
    socket: PathBuf,
    /// Gets the code with which the program ended: tmux itself sometimes misses it.
    code: PathBuf,
    /// Gets the number of the process of the program.
    process: PathBuf,
}

/// Runs the rest of its arguments, and writes down as which process and how that ended.
const KEEP_CODE: &str =
    r#"code=$1; process=$2; shift 2; sh -c 'echo $$ > "$0"; exec "$@"' "$process" "$@"; echo $? > "$code""#;

impl Tmux {
    /// Whether tmux is installed.
    pub fn is_there() -> bool {
        Command::new("tmux").arg("-V").output().is_ok()
    }

    /// Runs a command in a terminal of that size. The socket of tmux is made in `folder`. Of the environment the program
    /// gets only what the command says, and a `TERM`.
    pub fn start(folder: &Path, (columns, rows): (u16, u16), command: &Command) -> io::Result<Self> {
        let at = |name: &str| folder.join(name);
        let tmux = Self { socket: at("tmux"), code: at("tmux.code"), process: at("tmux.process") };
        // Of a program that ran here before.
        let _ = fs::remove_file(&tmux.code);
        let _ = fs::remove_file(&tmux.process);
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut new = tmux.command();
        new.args(["set-option", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-x", &columns, "-y", &rows]);
        if let Some(folder) = command.get_current_dir() {
            new.arg("-c").arg(folder);
        }
        new.args(["sh", "-c", KEEP_CODE, "sh"]).arg(&tmux.code).arg(&tmux.process).args([
            "env",
            "-i",
            "TERM=screen-256color",
            "LANG=C.UTF-8",
        ]);
        for (name, value) in command.get_envs() {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value.unwrap_or_default());
            new.arg(pair);
        }
        new.arg(command.get_program()).args(command.get_args());
        // The server of a terminal before this one may still be ending, and takes whoever connects to it along.
        let began = Instant::now();
        loop {
            let started = new.output()?;
            let told = String::from_utf8_lossy(&started.stderr);
            if started.status.success() {
                return Ok(tmux);
            } else if !told.contains("server exited") || began.elapsed() > PATIENCE {
                return Err(io::Error::other(told));
            }
            thread::sleep(LOOK);
        }
    }

    /// Types a text as it stands.
    pub fn type_text(&self, text: &str) {
        self.ask(["send-keys", "-l", text]);
    }

    /// Presses a key by the name that tmux has for it: `Enter`, `Escape`, `C-c`, `M-Enter`.
    pub fn press(&self, key: &str) {
        self.ask(["send-keys", key]);
    }

    /// Makes the window narrower, wider, lower or higher.
    pub fn resize(&self, (columns, rows): (u16, u16)) {
        self.ask(["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// The number of the process of the program, once it runs.
    pub fn process(&self) -> Option<i32> {
        fs::read_to_string(&self.process).ok()?.trim().parse().ok()
    }

    /// Everything that was printed and is not drawn over, also what has scrolled away.
    pub fn all(&self) -> String {
        self.ask(["capture-pane", "-p", "-S", "-1000"])
    }

    /// What can be seen now.
    pub fn screen(&self) -> String {
        self.ask(["capture-pane", "-p"])
    }

    /// Waits until the screen is as wanted.
    ///
    /// # Panics
    ///
    /// If it does not come.
    #[track_caller]
    pub fn wait(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{what} did not come:\n{screen}");
            thread::sleep(LOOK);
        }
    }

    /// Waits until the program has ended, and says with which code.
    ///
    /// # Panics
    ///
    /// If it does not end.
    #[track_caller]
    pub fn ended(&self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let told = fs::read_to_string(&self.code).unwrap_or_default();
            if let Ok(code) = told.trim().parse() {
                return code;
            }
            assert!(Instant::now() < deadline, "the program does not end:\n{}", self.screen());
            thread::sleep(LOOK);
        }
    }

    fn ask<const N: usize>(&self, arguments: [&str; N]) -> String {
        let output = self.command().args(arguments.map(OsStr::new)).output().expect("tmux was there before");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.ask(["kill-server"]);
    }
}
