//! Conversations with the real binary: each file in `scenarios/` says what is typed, what the model answers over a real
//! socket, and what can be seen afterwards.
//!
//! `$PROJECT`, `$AGENT`, `$ID` (of the session) and `$VERSION` (behind `pi`) stand for what differs from run to run, in what is typed and in what is
//! expected. Read [`Step`] for the notation; `scenarios/README.md` says which file shows what.

#[path = "support/room.rs"]
mod room;
#[path = "support/spoken.rs"]
mod spoken;

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::{Tmux, server::Script};
use serde::Deserialize;
use serde_json::Value;

use room::{Room, list, make_folder, read, write};
use spoken::{Content, Spoken};

/// A secret of the environment, which must be seen nowhere.
const PLANTED: &str = "sk-planted-0f9e8d7c6b5a4f3e";
/// Columns and rows of a terminal.
const SIZE: (u16, u16) = (100, 40);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// What is in the project before.
    #[serde(default)]
    files: BTreeMap<String, Content>,
    /// Whether the project has `server.py`, which speaks the Model Context Protocol.
    #[serde(default)]
    greeter: bool,
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
    /// Lines of the last session file that are there in this order; what is not written here may be anything.
    #[serde(default)]
    kept: Vec<Value>,
    /// What long output of a command was kept in, in a file of its own.
    spilled: Option<Text>,
}

/// A text, or several one after the other.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Parts(Vec<Content>),
    Whole(Content),
}

impl Text {
    fn text(&self) -> String {
        match self {
            Text::Parts(parts) => parts.iter().map(Content::text).collect(),
            Text::Whole(content) => content.text(),
        }
    }
}

/// One start of `pi`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What is done to files before.
    before: Option<Before>,
    arguments: Vec<String>,
    /// The folder in the project in which it is started.
    folder: Option<String>,
    input: Option<String>,
    /// What the model answers, in order.
    #[serde(default)]
    model: Vec<Spoken>,
    /// Sent to the process once the model holds its answer, or was asked for the last one.
    signal: Option<Blow>,
    /// What is typed and seen, in a terminal of tmux instead of pipes.
    screen: Option<Vec<Act>>,
    #[serde(default)]
    exit: Option<i32>,
    /// All of it.
    stdout: Option<String>,
    /// Standard output contains each of these.
    #[serde(default)]
    stdout_has: Vec<String>,
    /// Standard error contains each of these.
    #[serde(default)]
    stderr: Vec<String>,
    /// Standard error contains each of these once.
    #[serde(default)]
    stderr_once: Vec<String>,
    /// The last request contains each of these texts.
    #[serde(default)]
    request: Vec<String>,
    /// The last request contains none of these.
    #[serde(default)]
    request_lacks: Vec<String>,
    /// How many requests this step makes, if that matters.
    requests: Option<usize>,
    /// What was said in the last request: of every message but the system's its role and its text.
    said: Option<Vec<String>>,
    /// What tools answered, in the last request: of every result its text.
    results: Option<Vec<Text>>,
    /// The last request contains these texts in this order.
    #[serde(default)]
    request_in_order: Vec<String>,
    /// Members of the last request; `null` for one that is not there.
    #[serde(default)]
    body: BTreeMap<String, Value>,
    /// Width and height of every picture in the last request.
    pictures: Option<Vec<(u32, u32)>>,
    /// In JSON mode: the events, those of the same type in a row once.
    events: Option<Vec<String>>,
    /// In JSON mode: every update of a message: its type, its block, and what it brings.
    updates: Option<Vec<String>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Blow {
    Interrupt,
    Terminate,
    Hangup,
    Kill,
}

impl Blow {
    fn strike(self, process: i32) {
        let signal = match self {
            Blow::Interrupt => Signal::SIGINT,
            Blow::Terminate => Signal::SIGTERM,
            Blow::Hangup => Signal::SIGHUP,
            Blow::Kill => Signal::SIGKILL,
        };
        kill(Pid::from_raw(process), signal).expect("it runs");
    }
}

/// What somebody does who sits at a terminal, and what is waited for.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Act {
    /// This appears somewhere.
    See(String),
    /// This appears a second time: what is shown anew stands below what was shown before.
    Twice(String),
    /// This is nowhere any more.
    Gone(String),
    Type(String),
    /// A key by the name that tmux has for it.
    Press(String),
    /// Enter is pressed until this appears: what an extension wrote is not sent at once.
    Insist(String),
    /// The model was asked so often in this step.
    Asked(usize),
    /// The model goes on.
    Release,
    /// The process gets a signal.
    Strike(Blow),
    /// The window has so many columns and rows from now on.
    Resize(u16, u16),
    /// This is printed so often, also where it has scrolled away.
    Count(String, usize),
}

/// What is left of a start of `pi`.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Before {
    /// Cut so many bytes off the end of the session file.
    Tear(u64),
    /// Make the folder of sessions one in which nothing can be written.
    LockSessions,
    /// Make the disk of sessions read-only, with everything that is on it, for this step.
    FreezeSessions,
    /// Hold the session file open as another process of ours would.
    Occupy,
    /// Keep sessions on a disk of so many bytes.
    SmallDisk(u32),
}

struct Stage {
    /// It must be gone before its folder is.
    disk: Option<SmallDisk>,
    room: Room,
    seen: usize,
}

/// A file system in memory at a folder, as long as this lives.
struct SmallDisk(PathBuf);

/// What is undone when a step is over.
enum Guard {
    Occupied { _file: std::fs::File },
    Frozen { _disk: SmallDisk },
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
    plain_answer, chat_reload, extension, extension_brings, extension_chat, extension_trusts, extension_watched, extension_draws, extension_draws_tools, extension_shortcuts, extension_editor, extension_types, extension_footer, extension_hands_over, extensions_chat, chat_extension_stopped, extension_print, extension_last_words, extension_models, extension_keys, mcp, mcp_first, mcp_slow, tools_read_write_edit, tools_bash, tools_search, unknown_tool, bad_arguments, no_tools, retry_helps,
    lasting_error, continue_last, session_by_id, session_in_a_new_file, no_session, piped_input, attached_file, attached_image, context_and_skills,
    template, thinking_level, secrets, read_only_sessions, read_only_session, chat_unkept, chat_read_only, chat_fork_refused, torn_file, second_writer, interrupted, killed_and_continued,
    tools_spill_read, tools_bash_variables, attached_image_unseen,
    json_mode, several_messages, system_prompt, nothing_to_say, parallel_calls, model_switched, answer_cut, retry_in_vain,
    full_disk, compaction_automatic, compaction_after_overflow, chat_streams, chat_aborted, chat_steered,
    chat_queue_comes_back, chat_model, chat_scope, chat_tree, chat_tree_with_summary, chat_fork, chat_compact, chat_resume,
    chat_resume_first, chat_completion, chat_retry_given_up, chat_errands, chat_begins, chat_trust, chat_trust_later, chat_interrupted,
    chat_terminated, chat_hung_up, chat_fails, chat_tries_again, chat_attached, chat_own_server, chat_narrow, chat_resized,
    refused_by_policy, hung_up, tools_bash_timeout, tools_bash_spilled, tools_bash_long_line, tools_read_limits,
    tools_grep_limits, tools_find_ls_limits, tools_edit_keeps, tools_edit_forms, context_walk, system_files,
    skills_collide, chat_compact_aborted, image_scaled, model_switched_wire, thinking_wire, deltas,
    context_and_export, chat_named, chat_labels,
    refused_ends_first, secrets_spilled,
    chat_unasked, chat_address, chat_address_lost, chat_left_at_work, chat_labelled, chat_delete, chat_misspelt,
    chat_queue_unsent, messages_unsent, chat_theme_unknown, chat_resized_at_work, blocked_left_out,
}

#[test]
fn every_file_is_a_scenario_that_runs() {
    #[expect(clippy::disallowed_methods, reason = "the folder of scenarios is compared with the list of tests")]
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios")).unwrap();
    let mut files: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|name| !["provider.yaml", "messages.yaml", "README.md"].contains(&name.as_str()));
    files.sort_unstable();
    let mut listed: Vec<String> = ALL.iter().map(|name| format!("{name}.yaml")).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
}

/// The last column of every row: names of scenarios, and links to tests elsewhere.
#[test]
fn index_names_every_scenario_and_nothing_else() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios"));
    let rows =
        include_str!("scenarios/README.md").lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let places = rows.skip(1).filter_map(|row| row.rsplit_once(" | ")).flat_map(|(_, places)| places.split(", "));
    let (links, mut named): (Vec<&str>, Vec<&str>) = places.partition(|place| place.starts_with('['));
    for link in links {
        let (_, path) = link.trim_end_matches(')').split_once("](").expect("a link");
        assert!(folder.join(path).exists(), "{link}");
    }
    named.sort_unstable();
    named.dedup();
    let mut all = ALL.to_vec();
    all.sort_unstable();
    assert_eq!(named, all);
}

fn check(text: &str) {
    let scenario: Scenario = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    if let Some(missing) = scenario.missing() {
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        {
            eprintln!("SKIPPED: {missing}");
        }
        return;
    }
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
    stage.check_kept(&scenario.kept);
    if let Some(expected) = &scenario.spilled {
        let [log] = stage.logs().try_into().expect("one file of output");
        assert_eq!(read(&log), Some(expected.text()), "{}", log.display());
    }
    // The session, what the model was shown, and the output of commands.
    for path in stage.left_behind() {
        #[expect(clippy::disallowed_methods, reason = "these tests look at what is left behind")]
        let kept = std::fs::read(&path).unwrap_or_default();
        let is_there = kept.windows(PLANTED.len()).any(|piece| piece == PLANTED.as_bytes());
        assert!(!is_there, "a secret is kept in {}", path.display());
    }
}

impl Scenario {
    /// What it needs and this machine lacks.
    fn missing(&self) -> Option<&'static str> {
        if self.steps.iter().any(|step| step.screen.is_some()) && !Tmux::is_there() {
            return Some("tmux is not installed, and nobody types into the terminal");
        }
        let is_disk = |before: &Before| matches!(before, Before::SmallDisk(_) | Before::FreezeSessions);
        let needs_disk = self.steps.iter().any(|step| step.before.as_ref().is_some_and(is_disk));
        let folder = tempfile::tempdir().expect("a folder");
        let probe = || SmallDisk::mount(folder.path().to_owned(), 4096);
        (needs_disk && probe().is_none()).then_some("a disk that is really full needs the right to mount one")
    }
}

impl Stage {
    fn new(scenario: &Scenario) -> Self {
        let answers = scenario.steps.iter().flat_map(|step| &step.model).map(Spoken::reply);
        let room = Room::new(answers.fold(Script::new(), Script::then));
        let stage = Stage { disk: None, room, seen: 0 };
        for (name, content) in &scenario.files {
            write(&stage.project().join(name), content.text().as_bytes());
        }
        if scenario.greeter {
            write(&stage.project().join("server.py"), pi_testkit::GREETER.as_bytes());
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
        self.room.at(name)
    }

    fn project(&self) -> PathBuf {
        self.room.project()
    }

    fn play(&mut self, step: &Step, number: usize) {
        let guard = step.before.as_ref().and_then(|before| self.prepare(before));
        let Ended { code, stdout, stderr } = match &step.screen {
            Some(acts) => self.type_and_see(step, acts),
            None => self.run(step),
        };
        drop(guard);
        if matches!(step.before, Some(Before::LockSessions)) {
            permit(&self.at("agent/sessions"), 0o755);
        }
        let all = format!("step {number}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
        assert_eq!(code, step.exit.or(step.signal.is_none().then_some(0)), "{all}");
        if let Some(expected) = &step.stdout {
            assert_eq!(stdout.trim_end(), expected.trim_end(), "{all}");
        }
        for expected in &step.stdout_has {
            assert!(stdout.contains(expected), "standard output lacks {expected:?}\n{all}");
        }
        for expected in &step.stderr {
            assert!(stderr.contains(expected), "standard error lacks {expected:?}\n{all}");
        }
        for expected in &step.stderr_once {
            assert_eq!(stderr.matches(expected).count(), 1, "{expected:?}\n{all}");
        }
        self.check_requests(step, &all);
        for (place, text) in [("standard output", &stdout), ("standard error", &stderr)] {
            assert!(!text.contains(PLANTED), "a secret is in {place}: {text}");
        }
        if let Some(expected) = &step.events {
            assert_eq!(events(&stdout), *expected, "{all}");
        }
        if let Some(expected) = &step.updates {
            assert_eq!(updates(&stdout), *expected, "{all}");
        }
    }

    fn check_kept(&self, expected: &[Value]) {
        if expected.is_empty() {
            return;
        }
        let text = self.general(&read(self.sessions().last().expect("a session")).expect("it is there"));
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        for expected in expected {
            assert!(lines.any(|line| holds(&line, expected)), "no line, or not in this order: {expected}\n{text}");
        }
    }

    fn check_requests(&mut self, step: &Step, all: &str) {
        let requests = self.room.server.requests();
        let new = &requests[self.seen..];
        self.seen = requests.len();
        if let Some(expected) = step.requests {
            assert_eq!(new.len(), expected, "requests\n{all}");
        }
        let last = new.last().map(|request| request.json()).unwrap_or_default();
        if let Some(expected) = &step.said {
            assert_eq!(said(&last), *expected, "{all}");
        }
        if let Some(expected) = &step.results {
            let found: Vec<String> = results(&last).iter().map(|text| self.general(text)).collect();
            let expected: Vec<String> = expected.iter().map(Text::text).collect();
            assert_eq!(found, expected, "{all}");
        }
        for (name, expected) in &step.body {
            assert_eq!(last.get(name).unwrap_or(&Value::Null), expected, "{name} of the request");
        }
        if let Some(expected) = &step.pictures {
            assert_eq!(pictures(&last), *expected, "pictures in the request");
        }
        let last = self.general(&last.to_string());
        let mut rest = last.as_str();
        for expected in &step.request_in_order {
            let Some((_, after)) = rest.split_once(expected.as_str()) else {
                panic!("the request lacks {expected:?}, or has it earlier\n{last}")
            };
            rest = after;
        }
        for expected in &step.request {
            assert!(last.contains(expected.as_str()), "the request lacks {expected:?}\n{last}\n{all}");
        }
        for unexpected in &step.request_lacks {
            assert!(!last.contains(unexpected.as_str()), "the request has {unexpected:?}\n{last}");
        }
        for request in new {
            assert!(!request.json().to_string().contains(PLANTED), "a secret is in a request");
        }
    }

    fn run(&self, step: &Step) -> Ended {
        let mut command = self.command(step);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("pi starts");
        let input = step.input.as_deref().unwrap_or_default();
        // A process that wants no input may end before it is written.
        drop(child.stdin.take().expect("a pipe").write_all(input.as_bytes()));
        if let Some(blow) = step.signal {
            let wanted = self.seen + step.model.iter().take_while(|spoken| !spoken.hold).count() + 1;
            self.room.runtime.block_on(self.room.server.received(wanted));
            blow.strike(child.id().try_into().expect("a small number"));
        }
        let Output { status, stdout, stderr } = child.wait_with_output().expect("pi ends");
        if step.signal.is_some() {
            self.room.server.release(1);
        }
        let shown = |bytes: &[u8]| self.general(&String::from_utf8_lossy(bytes));
        Ended { code: status.code(), stdout: shown(&stdout), stderr: shown(&stderr) }
    }

    /// Types and looks, and waits for the end. What is seen last stands for standard output.
    fn type_and_see(&self, step: &Step, acts: &[Act]) -> Ended {
        let tmux = Tmux::start(&self.at(""), SIZE, &self.command(step)).expect("tmux starts");
        for act in acts {
            match act {
                Act::See(text) => drop(tmux.wait(text, |screen| self.general(screen).contains(text.as_str()))),
                Act::Twice(text) => drop(tmux.wait(text, |screen| screen.matches(text.as_str()).count() == 2)),
                Act::Gone(text) => drop(tmux.wait(&format!("the end of {text}"), |screen| !screen.contains(text))),
                Act::Type(text) => tmux.type_text(&self.special(text)),
                Act::Press(key) => tmux.press(key),
                Act::Insist(text) => drop(tmux.wait(text, |screen| {
                    let is_there = screen.contains(text.as_str());
                    if !is_there {
                        tmux.press("Enter");
                    }
                    is_there
                })),
                Act::Asked(count) => {
                    self.room.runtime.block_on(self.room.server.received(self.seen + count));
                }
                Act::Release => self.room.server.release(1),
                Act::Strike(blow) => blow.strike(tmux.process().expect("it has begun")),
                Act::Resize(columns, rows) => tmux.resize((*columns, *rows)),
                Act::Count(text, count) => {
                    let is_there = |_: &str| tmux.all().matches(text.as_str()).count() == *count;
                    tmux.wait(&format!("{text}, {count} times"), is_there);
                }
            }
        }
        let code = tmux.ended();
        Ended { code: Some(code), stdout: self.general(&tmux.screen()), stderr: String::new() }
    }

    fn command(&self, step: &Step) -> Command {
        const ERRANDS: [&str; 4] = ["context", "export", "ext", "sessions"];
        let is_errand = step.arguments.first().is_some_and(|word| ERRANDS.contains(&word.as_str()));
        let mut command = if is_errand { self.room.bare_pi() } else { self.room.pi() };
        let names_model =
            ["--model", "--models", "-c", "--session"].iter().any(|word| step.arguments.iter().any(|it| it == word));
        // Settings may name them too.
        let settings = read(&self.at("agent/settings.json")).unwrap_or_default();
        if !names_model && !is_errand && !settings.contains("enabledModels") {
            command.args(["--model", "scripted/model"]);
        }
        if let Some(folder) = &step.folder {
            command.current_dir(self.project().join(folder));
        }
        command.args(step.arguments.iter().map(|word| self.special(word))).env("DEPLOY_TOKEN", PLANTED);
        command
    }

    fn prepare(&mut self, before: &Before) -> Option<Guard> {
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
                Some(Guard::Occupied { _file: file })
            }
            Before::FreezeSessions => {
                let disk = SmallDisk::freeze(self.at("agent/sessions")).expect("it was possible before");
                Some(Guard::Frozen { _disk: disk })
            }
            Before::SmallDisk(bytes) => {
                self.disk = SmallDisk::mount(self.at("agent/sessions"), *bytes);
                None
            }
        }
    }

    /// What differs from run to run by its name.
    fn general(&self, text: &str) -> String {
        let mut text = text.replace(&*self.project().to_string_lossy(), "$PROJECT");
        text = text.replace(&*self.at("agent").to_string_lossy(), "$AGENT");
        text = text.replace(concat!("pi ", env!("CARGO_PKG_VERSION")), "pi $VERSION");
        for path in self.sessions() {
            text = text.replace(&id(&path), "$ID");
        }
        for path in self.logs() {
            text = text.replace(&*path.to_string_lossy(), "$LOG");
        }
        text
    }

    fn special(&self, word: &str) -> String {
        let last = self.sessions().pop().map(|path| id(&path)).unwrap_or_default();
        let short: String = last.chars().take(13).collect();
        let url = format!("{}/v1", self.room.server.url());
        let word = word.replace("$AGENT", &self.at("agent").to_string_lossy());
        word.replace("$SHORT_ID", &short).replace("$ID", &last).replace("$URL", &url)
    }

    fn sessions(&self) -> Vec<PathBuf> {
        self.room.sessions()
    }

    /// Files with long output of commands.
    fn logs(&self) -> Vec<PathBuf> {
        list(&self.at("temporary")).into_iter().filter(|path| path.extension().is_some_and(|it| it == "log")).collect()
    }

    /// Everything that is kept outside the project.
    fn left_behind(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.at("agent"), self.at("home"), self.at("temporary")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            let (inner, found): (Vec<PathBuf>, Vec<PathBuf>) =
                list(&folder).into_iter().partition(|path| path.is_dir());
            folders.extend(inner);
            files.extend(found);
        }
        files
    }
}

impl SmallDisk {
    /// `None` where nobody may mount one.
    #[expect(clippy::disallowed_methods, reason = "a disk that is full must be made")]
    fn mount(folder: PathBuf, bytes: u32) -> Option<Self> {
        make_folder(&folder);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(&folder).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Self(folder))
    }

    /// Puts the folder over itself, so that nobody can write to it, not even who may do everything.
    #[expect(clippy::disallowed_methods, reason = "a disk that cannot be written is mounted")]
    fn freeze(folder: PathBuf) -> Option<Self> {
        let mount = |options: &[&str]| {
            let mut mount = Command::new("mount");
            mount.args(options).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let place = folder.to_string_lossy().into_owned();
        let frozen = mount(&["--bind", &place, &place]).then_some(Self(folder))?;
        mount(&["-o", "remount,bind,ro", &place]).then_some(frozen)
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "what was mounted is unmounted")]
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking(), "the disk stays");
    }
}

/// Of every message but the system's its role and its text.
fn said(request: &Value) -> Vec<String> {
    let line = |message: &Value| {
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            _ => String::new(),
        };
        format!("{}: {}", message["role"].as_str().unwrap_or("?"), text.trim_end())
    };
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.map(line).filter(|line| !line.starts_with("system") && !line.starts_with("developer")).collect()
}

/// The texts of tools' results.
fn results(request: &Value) -> Vec<String> {
    let text = |content: &Value| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let messages = request["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "tool").map(|message| text(&message["content"])).collect()
}

/// Width and height of the pictures, which are PNG: they stand behind 16 bytes that are always the same.
fn pictures(request: &Value) -> Vec<(u32, u32)> {
    use base64::Engine as _;
    let messages = request["messages"].as_array().into_iter().flatten();
    let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let urls = parts.filter_map(|part| part["image_url"]["url"].as_str());
    let size = |url: &str| {
        let data = url.strip_prefix("data:image/png;base64,").expect("a PNG");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        (number(16), number(20))
    };
    urls.map(size).collect()
}

/// Whether a value is the expected one, where objects may have more members than expected.
fn holds(value: &Value, expected: &Value) -> bool {
    match expected {
        Value::Object(members) => members.iter().all(|(name, expected)| holds(&value[name], expected)),
        expected => value == expected,
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

/// Every update of a message. One has what was added and what was consumed, and nothing of what was there before.
fn updates(stdout: &str) -> Vec<String> {
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let update = |event: Value| {
        let names: Vec<&String> = event.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["type", "assistantMessageEvent", "usage"], "{event}");
        let update = &event["assistantMessageEvent"];
        let (kind, index) = (update["type"].as_str().expect("a type"), &update["contentIndex"]);
        let (brings, expected): (&Value, &[&str]) = match kind {
            "text_start" | "thinking_start" => (&Value::Null, &["type", "contentIndex"]),
            "toolcall_start" => (&update["toolName"], &["type", "contentIndex", "id", "toolName"]),
            "text_end" | "thinking_end" => (&update["content"], &["type", "contentIndex", "content"]),
            "toolcall_end" => (&update["toolCall"], &["type", "contentIndex", "toolCall"]),
            _ => (&update["delta"], &["type", "contentIndex", "delta"]),
        };
        let names: Vec<&String> = update.as_object().expect("an object").keys().collect();
        assert_eq!(names, expected, "{event}");
        match brings {
            Value::Null => format!("{kind} {index}"),
            Value::String(text) => format!("{kind} {index} {text}"),
            value => format!("{kind} {index} {value}"),
        }
    };
    events.filter(|event| event["type"] == "message_update").map(update).collect()
}

fn lines(path: &Path) -> Vec<String> {
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        value["message"]["role"].as_str().or(value["type"].as_str()).unwrap_or("?").to_owned()
    };
    read(path).expect("it is there").lines().map(line).collect()
}

fn permit(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}
