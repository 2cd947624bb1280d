//! A folder of its own with some files, in which `pi` runs without anything of the machine's environment.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// A valid envelope.
pub(crate) const GOOD: &str = r#"{"version":"1.0","model":"demo","messages":[
    {"id":"m1","role":"system","timestamp":1,"segments":[
        {"kind":"system_prompt","content":"You help with a small project.","collapsed":false},
        {"kind":"memory","items":[{"title":"AGENTS.md","content":"Use tabs."}],"collapsed":true}]},
    {"id":"m2","role":"user","timestamp":2,"segments":[{"kind":"text","content":"Hello there"}]}]}"#;

/// The same conversation, one turn later and with another memory.
pub(crate) const LATER: &str = r#"{"version":"1.0","model":"demo","messages":[
    {"id":"m1","role":"system","timestamp":1,"segments":[
        {"kind":"system_prompt","content":"You help with a small project.","collapsed":false},
        {"kind":"memory","items":[{"title":"AGENTS.md","content":"Use blanks."}],"collapsed":true}]},
    {"id":"m2","role":"user","timestamp":2,"segments":[{"kind":"text","content":"Hello there"}]},
    {"id":"m3","role":"assistant","timestamp":3,"segments":[{"kind":"text","content":"Good day"}]}]}"#;

/// Not an envelope, for two reasons.
pub(crate) const BAD: &str = r#"{"version":"1.0","messages":[{"id":"m1","role":"robot","timestamp":1,"segments":[]}]}"#;

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        World { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        std::fs::write(path, content).expect("the file can be written");
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a file holds.
    #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).expect("the file can be read")
    }

    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.folder.path().join(name)).expect("the file can be removed");
    }

    /// The files of all sessions below `agent`.
    #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| std::fs::read_dir(folder).map(|it| it.map(|entry| entry.expect("listed").path()));
        let Ok(folders) = list(&self.folder.path().join("agent/sessions")) else { return Vec::new() };
        let files = folders.flat_map(|folder| list(&folder).expect("a folder"));
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
        files.sort_unstable();
        files
    }

    /// A file of this size that takes no room on the disk.
    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    pub(crate) fn with_hole(self, name: &str, size: u64) -> Self {
        let file = std::fs::File::create(self.folder.path().join(name)).expect("the file can be made");
        file.set_len(size).expect("the file can have a hole");
        self
    }

    /// Runs `pi` with these arguments, separated by blanks, and returns everything that can be seen of it.
    pub(crate) fn run(&self, arguments: &str) -> String {
        shown(&self.command(arguments).output().expect("pi runs"))
    }

    /// The same with something on standard input.
    pub(crate) fn run_with_input(&self, arguments: &str, input: impl AsRef<[u8]>) -> String {
        let mut command = self.command(arguments);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("pi starts");
        child.stdin.take().expect("a pipe").write_all(input.as_ref()).expect("pi reads its input");
        shown(&child.wait_with_output().expect("pi ends"))
    }

    #[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command.env_clear().env("HOME", "/home/me").stdin(Stdio::null());
        command
    }
}

pub(crate) fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\u{1b}', "␛");
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let rule = if error.is_empty() { "" } else { "--- on standard error\n" };
    format!("{out}{rule}{error}--- exit {code}")
}
