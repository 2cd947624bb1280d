//! The terminal in a pseudo-terminal: keys are typed, the screen is read.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    path::PathBuf,
    process::Child,
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use pty_process::blocking::{Command, Pty, open};

/// Long enough for a busy machine; nothing waits that long when things go well.
const PATIENCE: Duration = Duration::from_secs(30);

struct Stage {
    pty: Pty,
    child: Child,
    bytes: mpsc::Receiver<Vec<u8>>,
    terminal: vt100::Parser,
    /// Everything that was written.
    log: Vec<u8>,
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Stage {
    fn new(variables: &[(&str, &str)]) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(pty_process::Size::new(24, 80)).unwrap();
        let mut command =
            Command::new(example()).env_remove("NO_COLOR").env_remove("COLORTERM").env("TERM", "xterm-256color");
        for (name, value) in variables {
            command = command.env(name, value);
        }
        let child = command.spawn(pts).unwrap();
        let mut reader = std::fs::File::from(std::os::fd::AsFd::as_fd(&pty).try_clone_to_owned().unwrap());
        let (sender, bytes) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // On Linux the end of the other side is an error.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { pty, child, bytes, terminal: vt100::Parser::new(size(24), size(80), 1000), log: Vec::new() }
    }

    /// With the editor open: what is typed before reaches a terminal that is not ours yet.
    fn ready(variables: &[(&str, &str)]) -> Self {
        let mut stage = Self::new(variables);
        stage.wait_for("demo/one · low");
        stage
    }

    fn type_keys(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until the screen is as wanted.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a screen that never comes must end the test")]
    fn wait(&mut self, what: &str, is_there: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let contents = self.terminal.screen().contents();
            if self.is_between_frames() && is_there(&contents) {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok(bytes) => {
                    self.terminal.process(&bytes);
                    self.log.extend(bytes);
                }
                Err(RecvTimeoutError::Timeout) => panic!("{what} did not come:\n{contents}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the program ended before {what}:\n{contents}"),
            }
        }
    }

    /// Whether no update is open: a terminal that synchronizes would show nothing of it yet.
    fn is_between_frames(&self) -> bool {
        let log = String::from_utf8_lossy(&self.log);
        log.rfind("\u{1b}[?2026l") >= log.rfind("\u{1b}[?2026h")
    }

    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        self.wait(text, |contents| contents.contains(text));
    }

    /// Reads to the end; says how the program ended.
    fn finish(&mut self) -> (i32, String) {
        while let Ok(bytes) = self.bytes.recv_timeout(PATIENCE) {
            self.terminal.process(&bytes);
            self.log.extend(bytes);
        }
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), String::from_utf8_lossy(&self.log).into_owned())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It has usually ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `cargo test` builds examples beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/scripted");
    assert!(path.exists(), "the example is not built: run `cargo test -p pi-terminal` without `--test`");
    path
}

#[track_caller]
fn assert_restored(log: &str) {
    let end = log.rfind("\u{1b}[?2004l").expect("bracketed paste is switched off");
    assert!(log.rfind("\u{1b}[?2004h").is_some_and(|begin| begin < end));
    assert!(log.rfind("\u{1b}[?25h") > log.rfind("\u{1b}[?25l"), "the cursor is hidden");
    assert!(log.rfind("\u{1b}[?2026l") > log.rfind("\u{1b}[?2026h"), "an update is open");
}

#[test]
fn conversation_is_typed_streamed_and_left() {
    let mut stage = Stage::ready(&[]);
    stage.type_keys("hello");
    stage.wait_for("❯ hello");
    stage.type_keys("\r");
    stage.wait_for("fn main() {}");
    stage.wait("the end of the answer", |screen| screen.contains("1.5%/100k") && !screen.contains("esc to stop"));
    let screen = stage.terminal.screen().contents();
    for text in ["You said hello.", "• one", "• 日本語", "~/project (main)", "$0.500"] {
        assert!(screen.contains(text), "{text:?} is missing:\n{screen}");
    }
    assert!(!stage.terminal.screen().alternate_screen(), "the screen was taken over");
    stage.type_keys("/quit\r");
    let (code, log) = stage.finish();
    assert_eq!(code, 0);
    assert_restored(&log);
    let screen = stage.terminal.screen().contents();
    assert!(screen.contains("left: Quit") && screen.contains("You said hello."), "{screen}");
    assert!(!screen.contains("demo/one"), "the footer stays behind:\n{screen}");
}

#[test]
fn long_conversation_is_in_the_scrollback_once() {
    let mut stage = Stage::ready(&[]);
    for number in 0..6 {
        stage.type_keys(&format!("say{number}\r"));
        stage.wait("the answer", |screen| {
            screen.contains(&format!("You said say{number}"))
                && screen.contains("fn main() {}")
                && !screen.contains("esc to stop")
        });
    }
    stage.terminal.screen_mut().set_scrollback(usize::MAX);
    let hidden = stage.terminal.screen().scrollback();
    assert!(hidden > 20, "only {hidden} lines were scrolled away");
    let mut lines: Vec<String> = Vec::new();
    for offset in (1..=hidden).rev() {
        stage.terminal.screen_mut().set_scrollback(offset);
        lines.extend(stage.terminal.screen().rows(0, 80).next());
    }
    stage.terminal.screen_mut().set_scrollback(0);
    lines.extend(stage.terminal.screen().rows(0, 80));
    for number in 0..6 {
        let text = format!("You said say{number}.");
        assert_eq!(lines.iter().filter(|line| line.contains(&text)).count(), 1, "{text}: {lines:#?}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains("demo/one")).count(), 1, "one footer: {lines:#?}");
}

#[test]
fn escape_stops_the_model_and_brings_the_queue_back() {
    let mut stage = Stage::ready(&[]);
    stage.type_keys("wait\r");
    stage.wait_for("esc to stop");
    stage.type_keys("\u{1b}");
    stage.wait("the queued message", |screen| screen.contains("❯ queued before") && !screen.contains("esc to stop"));
    stage.type_keys("\u{3}\u{3}");
    let (code, log) = stage.finish();
    assert_eq!(code, 0);
    assert_restored(&log);
}

#[test]
fn tools_questions_models_and_completion_work() {
    let mut stage = Stage::ready(&[]);
    stage.type_keys("tool\r");
    stage.wait("the change", |screen| screen.contains("✔ edit src/main.rs") && screen.contains("+1 new"));
    stage.type_keys("ask\r");
    stage.wait("the question, which listens", |screen| screen.contains("Which one?") && screen.contains("↑↓ choose"));
    stage.type_keys("\u{1b}[B\r");
    stage.wait_for("answered Select { value: \"blue\" }");
    stage.type_keys("\u{10}");
    stage.wait_for("demo/two · low");
    stage.type_keys("\u{1b}[Z");
    stage.wait_for("demo/two · medium");
    stage.type_keys("/mod");
    stage.wait_for("→ /model [name]");
    stage.type_keys("\r");
    stage.wait_for("type to filter");
    stage.type_keys("one\r");
    stage.wait_for("demo/one · medium");
    stage.type_keys("\u{1b}[200~a\nb\u{1b}[201~");
    stage.wait("the paste", |screen| screen.contains("❯ a\n  b"));
}

#[test]
fn sequence_that_is_read_in_two_pieces_is_one_key() {
    let mut stage = Stage::ready(&[]);
    stage.type_keys("hello\r");
    stage.wait("the answer", |screen| screen.contains("fn main() {}") && !screen.contains("esc to stop"));
    // Two writes, which are read together or apart: both times it is `up`.
    stage.type_keys("\u{1b}");
    stage.type_keys("[A");
    stage.wait("what was said before", |screen| screen.lines().filter(|row| row.trim_end() == "❯ hello").count() == 2);
}

#[test]
fn colours_are_left_out_where_nobody_wants_them() {
    let mut stage = Stage::ready(&[("NO_COLOR", "1")]);
    stage.type_keys("hello\r");
    stage.wait_for("fn main() {}");
    stage.wait("the end of the answer", |screen| !screen.contains("esc to stop"));
    stage.type_keys("\u{4}");
    let (_, log) = stage.finish();
    assert!(!log.contains("\u{1b}[38;") && !log.contains(";38;"), "{log:?}");
}

#[test]
fn window_of_another_size_is_drawn_anew() {
    let mut stage = Stage::ready(&[]);
    stage.pty.resize(pty_process::Size::new(30, 60)).unwrap();
    stage.terminal.set_size(size(30), size(60));
    // The old footer was wider than the window is now, so this one is new.
    let is_new = |row: &str| row.ends_with("demo/one · low") && row.chars().count() == 60;
    stage.wait("the narrow footer", |screen| screen.lines().any(is_new));
    stage.type_keys("x");
    stage.wait_for("❯ x");
    let screen = stage.terminal.screen().contents();
    assert_eq!(screen.matches("demo/one").count(), 1, "{screen}");
}

#[test]
fn terminal_is_restored_after_a_signal_and_a_panic() {
    let mut stage = Stage::ready(&[]);
    let pid = rustix::process::Pid::from_child(&stage.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (code, log) = stage.finish();
    assert!(log.contains("left: Terminated"), "{log:?}");
    assert_eq!(code, 0);
    assert_restored(&log);

    let mut stage = Stage::ready(&[]);
    stage.type_keys("panic\r");
    stage.wait_for("as was asked for");
    assert_restored(&String::from_utf8_lossy(&stage.log));
}

#[test]
fn terminal_that_cannot_move_its_cursor_is_refused() {
    let mut stage = Stage::new(&[("TERM", "dumb")]);
    let (code, log) = stage.finish();
    assert_eq!(code, 1);
    assert!(log.contains("Dumb"), "{log:?}");
}

/// A tmux of our own, which breaks lines anew when its window changes.
struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    #[expect(clippy::disallowed_methods, reason = "this test talks to tmux")]
    fn ask(&self, arguments: &[&str]) -> std::io::Result<String> {
        let mut command = std::process::Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket")).args(["-f", "/dev/null"]).args(arguments);
        Ok(String::from_utf8_lossy(&command.output()?.stdout).into_owned())
    }

    /// Everything that was printed, once it is as wanted.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "a screen that never comes must end the test")]
    fn wait(&self, is_there: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.ask(&["capture-pane", "-p", "-S", "-100"]).unwrap();
            if is_there(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "it did not come:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It ends with its last window anyway.
        let _ = self.ask(&["kill-server"]);
    }
}

#[test]
fn window_of_another_size_leaves_nothing_behind_in_tmux() {
    let tmux = Tmux { folder: tempfile::tempdir().unwrap() };
    if tmux.ask(&["-V"]).is_err() {
        eprintln!("SKIPPED: tmux is not installed, and nothing else here breaks lines anew");
        return;
    }
    let program = example().display().to_string();
    tmux.ask(&["new-session", "-d", "-x", "80", "-y", "24", &program]).unwrap();
    tmux.wait(|screen| screen.contains("demo/one · low"));
    tmux.ask(&["send-keys", "hello", "Enter"]).unwrap();
    let is_answered = |screen: &str| screen.contains("fn main() {}") && !screen.contains("esc to stop");
    tmux.wait(is_answered);
    // Left out: from 120 columns to 50 at once, rows of the old size stay above the new ones (README).
    for (width, height) in [(50, 24), (34, 24), (100, 40), (80, 24)] {
        tmux.ask(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]).unwrap();
        let line = "─".repeat(width);
        // Until it is drawn anew, the old lines stand there in two rows each.
        let is_drawn = |screen: &str| {
            let borders: Vec<&str> = screen.lines().filter(|row| row.starts_with('─')).collect();
            borders == [&line, &line]
        };
        let screen = tmux.wait(is_drawn);
        let rows: Vec<&str> = screen.trim_end().lines().map(str::trim_end).collect();
        let expected = [
            "",
            "❯ hello",
            "",
            "You said hello.",
            "",
            "• one",
            "• 日本語",
            "",
            "  fn main() {}",
            "",
            &line,
            "❯",
            &line,
        ];
        assert_eq!(rows[..13], expected, "{width} columns");
        assert_eq!(rows.len(), 15, "{screen}");
    }
}
