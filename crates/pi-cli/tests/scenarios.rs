//! Conversations with the real binary: each file in `scenarios/` says what is typed, what the model answers over a real
//! socket, and what can be seen afterwards.
//!
//! `$PROJECT`, `$AGENT` and `$ID` (of the session) stand for what differs from run to run, in what is typed and in what is
//! expected. Read [`Step`] for the notation.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::{
    model::{self, Answer},
    server::{Reply, Script, Server},
};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const MANIFEST: &str = include_str!("scenarios/provider.yaml");
/// A secret of the environment, which must be seen nowhere.
const PLANTED: &str = "sk-planted-0f9e8d7c6b5a4f3e";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// What is in the project before.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// What is in the agent directory before.
    #[serde(default)]
    agent: BTreeMap<String, String>,
    /// Bytes as base64, in the project.
    #[serde(default)]
    binary: BTreeMap<String, String>,
    steps: Vec<Step>,
    /// What is in the project afterwards; `null` for a file that is not there.
    #[serde(default)]
    after: BTreeMap<String, Option<String>>,
    /// The lines of every session file: of messages their role, otherwise their type.
    session: Option<Vec<Vec<String>>>,
}

/// One start of `pi`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What is done to files before.
    before: Option<Before>,
    arguments: Vec<String>,
    input: Option<String>,
    /// What the model answers, in order.
    #[serde(default)]
    model: Vec<Spoken>,
    /// Sent to the process once the model holds its answer.
    signal: Option<Blow>,
    #[serde(default)]
    exit: Option<i32>,
    /// All of it.
    stdout: Option<String>,
    /// Standard error contains each of these.
    #[serde(default)]
    stderr: Vec<String>,
    /// The last request contains each of these texts.
    #[serde(default)]
    request: Vec<String>,
    /// The last request contains none of these.
    #[serde(default)]
    request_lacks: Vec<String>,
    /// How many requests this step makes, if that matters.
    requests: Option<usize>,
    /// In JSON mode: the events, those of the same type in a row once.
    events: Option<Vec<String>>,
}

/// One answer of the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spoken {
    thinking: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Called>,
    /// Waits before it ends.
    #[serde(default)]
    hold: bool,
    /// An error of the server instead of an answer.
    status: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    tool: String,
    #[serde(default)]
    with: Value,
    /// Arguments that are no JSON.
    words: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Blow {
    Interrupt,
    Kill,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Before {
    /// Cut so many bytes off the end of the session file.
    Tear(u64),
    /// Make the folder of sessions one in which nothing can be written.
    LockSessions,
    /// Hold the session file open as another process of ours would.
    Occupy,
}

struct Stage {
    folder: TempDir,
    server: Server,
    runtime: Runtime,
    seen: usize,
}

macro_rules! scenarios {
    ($($name:ident),+ $(,)?) => {
        const ALL: &[&str] = &[$(stringify!($name)),+];
        $(#[test]
        fn $name() {
            check(include_str!(concat!("scenarios/", stringify!($name), ".yaml")));
        })+
    };
}

scenarios! {
    plain_answer, tools_read_write_edit, tools_bash, tools_search, unknown_tool, bad_arguments, no_tools, retry_helps,
    lasting_error, continue_last, session_by_id, no_session, piped_input, attached_file, attached_image, context_and_skills,
    template, thinking_level, secrets, read_only_sessions, torn_file, second_writer, interrupted, killed_and_continued,
    json_mode, several_messages, system_prompt, nothing_to_say,
}

#[test]
fn every_file_is_a_scenario_that_runs() {
    #[expect(clippy::disallowed_methods, reason = "the folder of scenarios is compared with the list of tests")]
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios")).unwrap();
    let mut files: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|name| name != "provider.yaml");
    files.sort_unstable();
    let mut listed: Vec<String> = ALL.iter().map(|name| format!("{name}.yaml")).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
}

fn check(text: &str) {
    let scenario: Scenario = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    let mut stage = Stage::new(&scenario);
    for (index, step) in scenario.steps.iter().enumerate() {
        stage.play(step, index + 1);
    }
    for (name, expected) in &scenario.after {
        assert_eq!(read(&stage.project().join(name)), *expected, "{name}");
    }
    if let Some(expected) = &scenario.session {
        let found: Vec<Vec<String>> = stage.sessions().iter().map(|path| lines(path)).collect();
        assert_eq!(found, *expected);
    }
    for path in stage.sessions() {
        let kept = read(&path).unwrap_or_default();
        assert!(!kept.contains(PLANTED), "a secret is kept in {}", path.display());
    }
}

impl Stage {
    fn new(scenario: &Scenario) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let answers = scenario.steps.iter().flat_map(|step| &step.model).map(Spoken::reply);
        let script = answers.fold(Script::new(), Script::then);
        let server = runtime.block_on(Server::start(script)).expect("a port on loopback");
        let stage = Stage { folder: tempfile::tempdir().expect("a folder"), server, runtime, seen: 0 };
        make_folder(&stage.project());
        write(&stage.at("providers/scripted.yaml"), MANIFEST.replace("$URL", &stage.server.url()).as_bytes());
        for (name, content) in &scenario.files {
            write(&stage.project().join(name), content.as_bytes());
        }
        for (name, content) in &scenario.binary {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(content.trim()).expect("base64");
            write(&stage.project().join(name), &bytes);
        }
        let project = stage.project().display().to_string();
        for (name, content) in &scenario.agent {
            write(&stage.at("agent").join(name), content.replace("$PROJECT", &project).as_bytes());
        }
        stage
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there").join(name)
    }

    fn project(&self) -> PathBuf {
        self.at("project")
    }

    fn play(&mut self, step: &Step, number: usize) {
        let guard = step.before.as_ref().and_then(|before| self.prepare(before));
        let output = self.run(step);
        drop(guard);
        if matches!(step.before, Some(Before::LockSessions)) {
            permit(&self.at("agent/sessions"), 0o755);
        }
        let shown = |bytes: &[u8]| self.general(&String::from_utf8_lossy(bytes));
        let (stdout, stderr) = (shown(&output.stdout), shown(&output.stderr));
        let all = format!("step {number}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        assert_eq!(output.status.code(), step.exit.or(step.signal.is_none().then_some(0)), "{all}");
        if let Some(expected) = &step.stdout {
            assert_eq!(stdout.trim_end(), expected.trim_end(), "{all}");
        }
        for expected in &step.stderr {
            assert!(stderr.contains(expected), "standard error lacks {expected:?}\n{all}");
        }
        let requests = self.server.requests();
        let new = &requests[self.seen..];
        self.seen = requests.len();
        if let Some(expected) = step.requests {
            assert_eq!(new.len(), expected, "requests\n{all}");
        }
        let last = new.last().map(|request| self.general(&request.json().to_string())).unwrap_or_default();
        for expected in &step.request {
            assert!(last.contains(expected.as_str()), "the request lacks {expected:?}\n{last}\n{all}");
        }
        for unexpected in &step.request_lacks {
            assert!(!last.contains(unexpected.as_str()), "the request has {unexpected:?}\n{last}");
        }
        for (place, text) in [("a request", &last), ("standard output", &stdout), ("standard error", &stderr)] {
            assert!(!text.contains(PLANTED), "a secret is in {place}: {text}");
        }
        if let Some(expected) = &step.events {
            assert_eq!(events(&stdout), *expected, "{all}");
        }
    }

    fn run(&self, step: &Step) -> Output {
        let mut child = self.start(step);
        let input = step.input.as_deref().unwrap_or_default();
        // A process that wants no input may end before it is written.
        drop(child.stdin.take().expect("a pipe").write_all(input.as_bytes()));
        if let Some(blow) = step.signal {
            let wanted = self.seen + step.model.iter().take_while(|spoken| !spoken.hold).count() + 1;
            self.runtime.block_on(self.server.received(wanted));
            let signal = match blow {
                Blow::Interrupt => Signal::SIGINT,
                Blow::Kill => Signal::SIGKILL,
            };
            kill(Pid::from_raw(child.id().try_into().expect("a small number")), signal).expect("it runs");
            let output = child.wait_with_output().expect("pi ends");
            self.server.release(1);
            return output;
        }
        child.wait_with_output().expect("pi ends")
    }

    #[expect(clippy::disallowed_methods, reason = "these tests start the real binary")]
    fn start(&self, step: &Step) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi"));
        command.args(["--provider-dir"]).arg(self.at("providers"));
        let names_model = step.arguments.iter().any(|word| word == "--model" || word == "-c" || word == "--session");
        if !names_model {
            command.args(["--model", "scripted/model"]);
        }
        command.args(step.arguments.iter().map(|word| self.special(word)));
        command.env_clear().envs([("HOME", self.at("home")), ("PI_CODING_AGENT_DIR", self.at("agent"))]);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("DEPLOY_TOKEN", PLANTED);
        command.current_dir(self.project());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("pi starts")
    }

    fn prepare(&self, before: &Before) -> Option<std::fs::File> {
        match before {
            Before::Tear(bytes) => {
                let path = self.sessions().pop().expect("a session");
                let file = std::fs::OpenOptions::new().write(true).open(&path).expect("it is there");
                let length = file.metadata().expect("it is there").len();
                file.set_len(length - bytes).expect("it can be cut");
                None
            }
            Before::LockSessions => {
                let folder = self.at("agent/sessions");
                make_folder(&folder);
                permit(&folder, 0o555);
                // Whoever may do everything is stopped only by what is no folder.
                if std::fs::create_dir(folder.join("probe")).is_ok() {
                    std::fs::remove_dir(folder.join("probe"))
                        .and_then(|()| std::fs::remove_dir(&folder))
                        .expect("ours");
                    write(&folder, b"");
                }
                None
            }
            Before::Occupy => {
                let path = self.sessions().pop().expect("a session");
                let file = std::fs::OpenOptions::new().read(true).append(true).open(&path).expect("it is there");
                file.lock().expect("nobody else holds it");
                Some(file)
            }
        }
    }

    /// What differs from run to run by its name.
    fn general(&self, text: &str) -> String {
        let mut text = text.replace(&*self.project().to_string_lossy(), "$PROJECT");
        text = text.replace(&*self.at("agent").to_string_lossy(), "$AGENT");
        for path in self.sessions() {
            text = text.replace(&id(&path), "$ID");
        }
        text
    }

    fn special(&self, word: &str) -> String {
        let last = self.sessions().pop().map(|path| id(&path)).unwrap_or_default();
        let short: String = last.chars().take(13).collect();
        word.replace("$SHORT_ID", &short).replace("$ID", &last)
    }

    /// Session files in their order.
    #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
    fn sessions(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| std::fs::read_dir(folder).map(|it| it.map(|entry| entry.expect("listed").path()));
        let Ok(folders) = list(&self.at("agent/sessions")) else { return Vec::new() };
        let files = folders.filter(|folder| folder.is_dir()).filter_map(|folder| list(&folder).ok()).flatten();
        let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
        files.sort_unstable();
        files
    }
}

impl Spoken {
    fn reply(&self) -> Reply {
        if let Some(status) = self.status {
            return model::refusal(status, "scripted", "the model says no");
        }
        let mut answer = Answer::new().usage(100, 10);
        if let Some(thinking) = &self.thinking {
            answer = answer.thinking(thinking);
        }
        if let Some(text) = &self.text {
            answer = answer.text(text);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let id = format!("call_{index}");
            answer = match &call.words {
                Some(words) => answer.call_in_words(&id, &call.tool, words),
                None => answer.call(&id, &call.tool, &call.with),
            };
        }
        if self.hold {
            answer = answer.hold();
        }
        answer.reply()
    }
}

fn id(path: &Path) -> String {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    name.split_once("Z_").expect("a time and an id").1.to_owned()
}

/// The types of events, and of those in a row that are the same only the first.
fn events(stdout: &str) -> Vec<String> {
    let mut kinds: Vec<String> = stdout
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let role = event["message"]["role"].as_str().filter(|_| event["type"] != "turn_end");
            let tool = event["toolName"].as_str();
            let more = role.or(tool).map(|more| format!(" {more}")).unwrap_or_default();
            format!("{}{more}", event["type"].as_str().unwrap_or("?"))
        })
        .collect();
    kinds.dedup();
    kinds
}

fn lines(path: &Path) -> Vec<String> {
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        value["message"]["role"].as_str().or(value["type"].as_str()).unwrap_or("?").to_owned()
    };
    read(path).expect("it is there").lines().map(line).collect()
}

#[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn write(path: &Path, content: &[u8]) {
    make_folder(path.parent().expect("a file has a folder"));
    #[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
    std::fs::write(path, content).expect("the file can be written");
}

#[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
fn make_folder(path: &Path) {
    std::fs::create_dir_all(path).expect("the folder can be made");
}

fn permit(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}
