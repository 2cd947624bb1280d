//! A project, an agent directory and a scripted model behind a real socket: where the real binary is run.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use pi_testkit::server::{Script, Server};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const MANIFEST: &str = include_str!("../scenarios/provider.yaml");
/// The same server under another name, which speaks Anthropic's wire.
const OTHER_MANIFEST: &str = include_str!("../scenarios/messages.yaml");

pub(crate) struct Room {
    folder: TempDir,
    pub(crate) server: Server,
    pub(crate) runtime: Runtime,
}

impl Room {
    /// With a provider `scripted` whose model does what the script says.
    pub(crate) fn new(script: Script) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let server = runtime.block_on(Server::start(script)).expect("a port on loopback");
        let room = Room { folder: tempfile::tempdir().expect("a folder"), server, runtime };
        make_folder(&room.project());
        make_folder(&room.at("temporary"));
        room.serve_at("");
        room
    }

    /// Lets the model be found at this path of the server from now on.
    pub(crate) fn serve_at(&self, path: &str) {
        let url = format!("{}{path}", self.server.url());
        for (name, manifest) in [("scripted", MANIFEST), ("messages", OTHER_MANIFEST)] {
            write(&self.at(&format!("providers/{name}.yaml")), manifest.replace("$URL", &url).as_bytes());
        }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.at("project")
    }

    /// The real binary in the project, with the providers of this room.
    pub(crate) fn pi(&self) -> Command {
        self.pi_to(&[])
    }

    /// The same with a command of its own.
    pub(crate) fn pi_to(&self, words: &[&str]) -> Command {
        let mut command = self.bare_pi();
        command.args(words).arg("--provider-dir").arg(self.at("providers"));
        command
    }

    /// The real binary in the project, with an environment of its own.
    #[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
    pub(crate) fn bare_pi(&self) -> Command {
        // Tests that run under `nohup` would hand down that the terminal's end does not matter.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_pi")]);
        command.current_dir(self.project());
        command.env_clear().envs([("HOME", self.at("home")), ("PI_CODING_AGENT_DIR", self.at("agent"))]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", self.at("temporary"));
        command
    }

    /// Session files in their order.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let folders = list(&self.at("agent/sessions")).into_iter().filter(|folder| folder.is_dir());
        let mut files: Vec<PathBuf> = folders.flat_map(|folder| list(&folder)).collect();
        files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
        files.sort_unstable();
        files
    }
}

/// What is in a folder; nothing if it is not there.
#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.expect("listed").path()).collect()
}

#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
pub(crate) fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    make_folder(path.parent().expect("a file has a folder"));
    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    std::fs::write(path, content).expect("the file can be written");
}

#[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
pub(crate) fn make_folder(path: &Path) {
    std::fs::create_dir_all(path).expect("the folder can be made");
}
