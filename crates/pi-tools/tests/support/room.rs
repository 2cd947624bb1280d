//! A project in a temporary folder, with the tools, the policy and the seams that a session would have.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use pi_policy::{Answer, Decision, Grant, Moment, Policy, Subject, decide};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{
    Call, Environment, Failure, Images, Output, Progress, Registry, Settings, Shell, Workspace,
    files::{FileQueue, Folders},
    request, spell,
};
use pi_transcript::ToolCallId;

/// A secret that no model is shown.
pub(crate) const PLANTED: &str = "sk-planted-0f9e8d7c6b5a";

fn redactor() -> Redactor {
    Redactor::new(Options { secrets: vec![PLANTED.to_owned()], evidence: Evidence::Shapes, personal: Personal::Keep })
}

pub(crate) struct Room {
    folder: TempDir,
    pub(crate) policy: Policy,
    pub(crate) workspace: Arc<Workspace>,
}

impl Room {
    /// An empty project, and an empty folder for long output beside it.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same with other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::below(&std::env::temp_dir(), change)
    }

    /// The same in another place than where temporary folders are made.
    pub(crate) fn below(place: &Path, change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir_in(place).expect("a temporary folder");
        for name in ["project", "temporary", "home"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let at = |name: &str| folder.path().join(name);
        let folders = Folders {
            project: at("project"),
            home: Some(at("home")),
            agent: Some(at("home/.pi/agent")),
            ..Folders::default()
        };
        let path = std::env::var_os("PATH").expect("a search path");
        let mut settings = Settings {
            shell: Shell::default(),
            environment: Environment::default().with("PATH", path).with("HOME", at("home")),
            temporary: at("temporary"),
            images: Images::Scaled,
            redactor: Arc::new(redactor()),
        };
        change(&mut settings);
        let places = folders.places().expect("absolute folders");
        let workspace = Arc::new(Workspace::new(places, settings, Arc::new(FileQueue::default())));
        Self { folder, policy: Policy::default(), workspace }
    }

    /// A path in the project.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    /// A path beside the project.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.at(path)).expect("a file")
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.get(path)).expect("text")
    }

    /// The names in a folder of the project, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.at(path)).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Makes a call ready as a session does; a person says yes to every question.
    pub(crate) async fn grant(&self, tool: &str, arguments: &serde_json::Map<String, Value>) -> Result<Grant, String> {
        let places = self.workspace.places();
        let now = Moment::from_unix_millis(0);
        let asked = request(places, Subject::Agent, tool, arguments, now).await.map_err(|bad| bad.to_string())?;
        match decide(&self.policy, &asked) {
            Decision::Allow(grant) => Ok(grant),
            Decision::Ask(question) => question.answer(Answer::Yes).map_err(|denial| denial.to_string()),
            Decision::Deny(denial) => Err(denial.to_string()),
        }
    }

    /// Calls a tool with what a model wrote, from the first step to the last.
    pub(crate) async fn call(&self, tool: &str, written: Value) -> Result<Output, Failure> {
        self.call_with(tool, written, CancellationToken::new(), Progress::unheard()).await
    }

    pub(crate) async fn call_with(
        &self,
        tool: &str,
        written: Value,
        cancel: CancellationToken,
        progress: Progress,
    ) -> Result<Output, Failure> {
        let tools = Registry::built_in();
        let tool_named = tools.get(tool).expect("a tool of this name");
        let arguments = tool_named.prepare(written).await?;
        let arguments = spell(self.workspace.places(), tool, arguments).await;
        let grant = self.grant(tool, &arguments).await.map_err(Failure::new)?;
        let (id, workspace) = (ToolCallId::from("call".to_owned()), Arc::clone(&self.workspace));
        tool_named.execute(Call { id, arguments, grant, cancel, progress, workspace }).await
    }

    /// The text of an outcome, with `error: ` before that of a failure.
    pub(crate) async fn told(&self, tool: &str, written: Value) -> String {
        match self.call(tool, written).await {
            Ok(output) => output.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n"),
            Err(failure) => format!("error: {}", failure.text),
        }
    }
}
