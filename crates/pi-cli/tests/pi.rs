//! Together with the real Pi: both talk to the same scripted model, and each goes on with what the other wrote.
//!
//! `cargo xtask test` installs Pi from npm and names its folder in `PI_TEST_PI`; where it is not set, the tests say so
//! and are skipped.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use pi_testkit::{
    Tmux,
    model::Answer,
    server::{Script, Server},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

struct Stage {
    pi: PathBuf,
    folder: TempDir,
    server: Server,
    _runtime: Runtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Theirs,
    Ours,
}

impl Stage {
    /// `None` where Pi is not installed.
    fn new(script: Script) -> Option<Self> {
        let Some(pi) = std::env::var_os("PI_TEST_PI").map(PathBuf::from) else {
            #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
            {
                eprintln!("SKIPPED: PI_TEST_PI names no folder with Pi; `cargo xtask test` installs it");
            }
            return None;
        };
        let pi = pi.join("node_modules/@mariozechner/pi-coding-agent/dist/cli.js");
        assert!(pi.is_file(), "PI_TEST_PI holds no Pi: {}", pi.display());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let server = runtime.block_on(Server::start(script)).expect("a port on loopback");
        let stage = Stage { pi, folder: tempfile::tempdir().expect("a folder"), server, _runtime: runtime };
        let models = json!({"providers": {"scripted": {"baseUrl": stage.server.url(), "api": "openai-completions",
            "apiKey": "none", "models": [{"id": "model"}]}}});
        write(&stage.at("agent/models.json"), &models.to_string());
        write(&stage.at("project/a.txt"), "one\n");
        write(&stage.at("home/.keep"), "");
        Some(stage)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "these tests start both programs")]
    fn command(&self, program: Program, arguments: &[&str]) -> Command {
        let mut command = match program {
            Program::Theirs => {
                let mut command = Command::new("node");
                command.arg(&self.pi);
                command
            }
            Program::Ours => Command::new(env!("CARGO_BIN_EXE_pi")),
        };
        command.args(["--provider", "scripted", "--model", "model"]).args(arguments).current_dir(self.at("project"));
        command.env_clear().envs([("HOME", self.at("home")), ("PI_CODING_AGENT_DIR", self.at("agent"))]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs([("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")]);
        command
    }

    fn run(&self, program: Program, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).stdin(Stdio::null()).output().expect("it starts");
        let Output { status, stdout, stderr } = output;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{program:?} {status}\n{stdout}\n{}", String::from_utf8_lossy(&stderr));
        stdout
    }

    /// The session file; there is one.
    fn session(&self) -> PathBuf {
        let [file] = self.sessions().try_into().expect("one session");
        file
    }

    /// The session file that is not this one.
    fn other_session(&self, known: &Path) -> PathBuf {
        let mut files = self.sessions();
        files.retain(|file| file != known);
        let [file] = files.try_into().expect("one more session");
        file
    }

    #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
    fn sessions(&self) -> Vec<PathBuf> {
        let list =
            |folder: &Path| std::fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("listed").path());
        list(&self.at("agent/sessions"))
            .flat_map(|folder| list(&folder).collect::<Vec<_>>())
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
            .collect()
    }

    /// What the model was told last: of every message its role and its text.
    fn last_request(&self) -> Vec<(String, String)> {
        let requests = self.server.requests();
        let body = requests.last().expect("somebody asked").json();
        let said = |message: &Value| {
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
                _ => String::new(),
            };
            (message["role"].as_str().unwrap_or_default().to_owned(), text)
        };
        let all = body["messages"].as_array().expect("a list").iter().map(said);
        all.filter(|(role, _)| role != "system" && role != "developer").collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
    std::fs::write(path, content).expect("the file can be written");
}

/// The types of events with what they are about; updates by what is updated.
fn events(stdout: &str) -> Vec<String> {
    let kind = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let update = event["assistantMessageEvent"]["type"].as_str();
        let role = event["message"]["role"].as_str().filter(|_| event["type"] != "turn_end");
        let more = update.or(role).or(event["toolName"].as_str()).map(|more| format!(" {more}")).unwrap_or_default();
        format!("{}{more}", event["type"].as_str().unwrap_or("?"))
    };
    stdout.lines().map(kind).collect()
}

fn script() -> Script {
    let look = Answer::new().text("I look.").call("call_0", "read", &json!({"path": "a.txt"})).usage(100, 10);
    let tell = Answer::new().text("It is one.").usage(120, 5);
    Script::new().then(look.reply()).then(tell.reply()).then(look.reply()).then(tell.reply())
}

/// What Pi 0.73.1 does otherwise: an empty delta at the start of a call, blocks that are closed at the end of the message,
/// and no event for the true end of a run. Each is explained in docs/session-cli.md.
fn comparable(events: Vec<String>) -> Vec<String> {
    let closes = |event: &&String| event.ends_with("text_end") || event.ends_with("toolcall_end");
    let mut kept: Vec<String> =
        events.into_iter().filter(|event| !closes(&event) && event != "agent_settled").collect();
    kept.dedup();
    kept
}

#[test]
fn same_model_gives_the_same_events() {
    let Some(stage) = Stage::new(script()) else { return };
    let theirs = events(&stage.run(Program::Theirs, &["--mode", "json", "--no-session", "Read a.txt"]));
    let ours = events(&stage.run(Program::Ours, &["--mode", "json", "--no-session", "Read a.txt"]));
    assert_eq!(comparable(ours), comparable(theirs));
}

#[test]
fn each_goes_on_with_what_the_other_wrote() {
    for (first, second) in [(Program::Ours, Program::Theirs), (Program::Theirs, Program::Ours)] {
        let again = Answer::new().text("As I said: one.").usage(150, 6).reply();
        let more = Answer::new().text("Still one.").usage(170, 4).reply();
        let look = Answer::new().text("I look.").call("call_0", "read", &json!({"path": "a.txt"})).usage(100, 10);
        let tell = Answer::new().text("It is one.").usage(120, 5);
        let script = Script::new().then(look.reply()).then(tell.reply()).then(again).then(more);
        let Some(stage) = Stage::new(script) else { return };
        assert_eq!(stage.run(first, &["-p", "Read a.txt"]).trim_end(), "It is one.");
        let file = stage.session().display().to_string();
        assert_eq!(stage.run(second, &["-p", "--session", &file, "Again?"]).trim_end(), "As I said: one.");
        assert_eq!(stage.run(first, &["-p", "--session", &file, "And now?"]).trim_end(), "Still one.", "{first:?}");
        let said = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        let expected = [
            said("user", "Read a.txt"),
            said("assistant", "I look."),
            said("tool", "one\n"),
            said("assistant", "It is one."),
            said("user", "Again?"),
            said("assistant", "As I said: one."),
            said("user", "And now?"),
        ];
        assert_eq!(stage.last_request(), expected, "{first:?} began");
    }
}

/// A conversation of two questions, and what is said in a fork of it.
fn script_with_fork() -> Script {
    let look = Answer::new().text("I look.").call("call_0", "read", &json!({"path": "a.txt"})).usage(100, 10);
    let rest = ["It is one.", "As I said: one.", "In a fork: one.", "Still one."];
    let rest = rest.map(|text| Answer::new().text(text).usage(120, 5).reply());
    rest.into_iter().fold(Script::new().then(look.reply()), Script::then)
}

fn said(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

const BEGINNING: [(&str, &str); 4] =
    [("user", "Read a.txt"), ("assistant", "I look."), ("tool", "one\n"), ("assistant", "It is one.")];

#[test]
fn session_of_pi_is_forked_here_and_the_fork_opens_in_pi() {
    let Some(stage) = Stage::new(script_with_fork()) else { return };
    if !Tmux::is_there() {
        eprintln!("SKIPPED: tmux is not installed, and nobody types into the terminal");
        return;
    }
    stage.run(Program::Theirs, &["-p", "Read a.txt"]);
    let file = stage.session();
    let name = file.display().to_string();
    stage.run(Program::Theirs, &["-p", "--session", &name, "Again?"]);
    let before = read(&file);
    let command = stage.command(Program::Ours, &["--session", &name]);
    let tmux = Tmux::start(&stage.at(""), (100, 40), &command).expect("tmux starts");
    let see = |text: &str| drop(tmux.wait(text, |screen| screen.contains(text)));
    see("As I said: one.");
    tmux.type_text("/fork");
    tmux.press("Enter");
    see("type to filter");
    tmux.type_text("Again");
    tmux.press("Enter");
    // The new session is shown below the old one. It ends before the question, which is in its editor.
    tmux.wait("the fork", |screen| screen.matches("It is one.").count() == 2);
    tmux.press("Enter");
    see("In a fork: one.");
    tmux.wait("the end", |screen| !screen.contains("esc to stop"));
    tmux.type_text("/quit");
    tmux.press("Enter");
    assert_eq!(tmux.ended(), 0);
    let fork = stage.other_session(&file);
    assert_eq!(read(&file), before, "a fork leaves its origin alone");
    let answer = stage.run(Program::Theirs, &["-p", "--session", &fork.display().to_string(), "And now?"]);
    assert_eq!(answer.trim_end(), "Still one.");
    let mut expected = said(&BEGINNING);
    expected.extend(said(&[("user", "Again?"), ("assistant", "In a fork: one."), ("user", "And now?")]));
    assert_eq!(stage.last_request(), expected);
}

#[test]
fn session_of_ours_is_forked_by_pi_and_the_fork_opens_here() {
    let Some(stage) = Stage::new(script_with_fork()) else { return };
    stage.run(Program::Ours, &["-p", "Read a.txt"]);
    let file = stage.session();
    let before = read(&file);
    stage.run(Program::Theirs, &["-p", "--fork", &file.display().to_string(), "Again?"]);
    assert_eq!(read(&file), before, "a fork leaves its origin alone");
    let fork = stage.other_session(&file);
    let answer = stage.run(Program::Ours, &["-p", "--session", &fork.display().to_string(), "And now?"]);
    assert_eq!(answer.trim_end(), "In a fork: one.");
    let mut expected = said(&BEGINNING);
    expected.extend(said(&[("user", "Again?"), ("assistant", "As I said: one."), ("user", "And now?")]));
    assert_eq!(stage.last_request(), expected);
}

#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("it is there")
}
