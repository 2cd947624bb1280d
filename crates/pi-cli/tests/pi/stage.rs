//! A project, an agent directory and a scripted model, in which either program can be run.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use pi_testkit::server::{Script, Server};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// The version that is compared with.
pub(crate) const VERSION: &str = "0.73.1";

pub(crate) struct Stage {
    pi: PathBuf,
    folder: TempDir,
    server: Server,
    _runtime: Runtime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Theirs,
    Ours,
}

impl Stage {
    /// `None` where Pi is not installed.
    pub(crate) fn new(script: Script) -> Option<Self> {
        let Some(pi) = std::env::var_os("PI_TEST_PI").map(PathBuf::from) else {
            #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
            {
                eprintln!("SKIPPED: PI_TEST_PI names no folder with Pi; `cargo xtask test` installs it");
            }
            return None;
        };
        let pi = pi.join("node_modules/@mariozechner/pi-coding-agent");
        let package: Value = serde_json::from_str(&read(&pi.join("package.json"))).expect("Pi says what it is");
        assert_eq!(package["version"], VERSION, "what is listed was seen with another version");
        let pi = pi.join("dist/cli.js");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let server = runtime.block_on(Server::start(script)).expect("a port on loopback");
        let stage = Stage { pi, folder: tempfile::tempdir().expect("a folder"), server, _runtime: runtime };
        let models = json!({"providers": {"scripted": {"baseUrl": stage.server.url(), "api": "openai-completions",
            "apiKey": "none", "models": [{"id": "model", "input": ["text", "image"]}]}}});
        write(&stage.at("agent/models.json"), models.to_string().as_bytes());
        write(&stage.at("project/a.txt"), b"one\n");
        write(&stage.at("home/.keep"), b"");
        Some(stage)
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "these tests start both programs")]
    pub(crate) fn command(&self, program: Program, arguments: &[&str]) -> Command {
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

    /// What it prints; it must end well.
    pub(crate) fn run(&self, program: Program, arguments: &[&str]) -> String {
        let (stdout, code) = self.run_to_any_end(program, arguments);
        assert_eq!(code, Some(0), "{program:?}\n{stdout}");
        stdout
    }

    /// What it prints, and the code with which it ends.
    pub(crate) fn run_to_any_end(&self, program: Program, arguments: &[&str]) -> (String, Option<i32>) {
        let output = self.command(program, arguments).stdin(Stdio::null()).output().expect("it starts");
        let Output { status, stdout, stderr } = output;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        assert!(!stdout.is_empty(), "{program:?} {status}\n{}", String::from_utf8_lossy(&stderr));
        (stdout, status.code())
    }

    /// The session file; there is one.
    pub(crate) fn session(&self) -> PathBuf {
        let [file] = self.sessions().try_into().expect("one session");
        file
    }

    /// The session file that is not this one.
    pub(crate) fn other_session(&self, known: &Path) -> PathBuf {
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
    pub(crate) fn last_request(&self) -> Vec<(String, String)> {
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
pub(crate) fn write(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
    std::fs::write(path, content).expect("the file can be written");
}

#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("it is there")
}
