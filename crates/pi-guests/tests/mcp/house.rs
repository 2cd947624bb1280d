//! A server at a desk with the usual rules, and how tests talk to it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    Dispatcher, Fittings, Guest, GuestFault, GuestId, Guests, Ledger, Output, Patience, Rulebook, SessionPort,
    SystemResolver, Terms, Trace,
    guest::ToolInvocation,
    launcher::Identity,
    ledger,
    port::{Reply, Request, Settled},
};
use pi_extproto::connector::{Call, tool::McpUse};
use pi_guests::mcp::{Base, Limits, McpGuest, Origin, Pins, Server, grants, prepare, program};
use pi_policy::{Moment, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{
    Images, Registry, Shell, Withheld,
    files::{FileQueue, Folders},
};
use pi_transcript::{Block, question::Answer};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What a session was asked and told.
#[derive(Debug, Default)]
pub(crate) struct Diary {
    pub(crate) told: Vec<String>,
    pub(crate) asked: Vec<String>,
    pub(crate) said: Vec<String>,
    pub(crate) registrations: usize,
    /// Questions that nobody answers.
    pub(crate) open: Vec<Reply<Settled>>,
}

/// A session whose person always answers the same.
struct Session {
    diary: Arc<Mutex<Diary>>,
    answer: Option<Answer>,
    is_silent: bool,
}

impl Session {
    fn put(&self, diary: &mut Diary, question: String, reply: Reply<Settled>) {
        diary.asked.push(question);
        if self.is_silent {
            return diary.open.push(reply);
        }
        let settled = self.answer.clone().map_or(Settled::Dismissed, Settled::Answered);
        drop(reply.send(Ok(settled)));
    }
}

impl SessionPort for Session {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        let mut diary = self.diary.lock().expect("no panic");
        match request {
            Request::Ask(asked, reply) => self.put(&mut diary, format!("{asked:?}"), reply),
            Request::AskApproval(approval, asked, reply) => {
                self.put(&mut diary, format!("pi asks for {}: {asked:?}", approval.capability), reply);
            }
            Request::Announce(announcement, reply) => {
                diary.told.push(format!("{announcement:?}"));
                drop(reply.send(Ok(())));
            }
            Request::Tell(notice, reply) => {
                diary.told.push(format!("pi tells: {}", notice.message));
                drop(reply.send(Ok(())));
            }
            Request::RegistrationChanged(reply) => {
                diary.registrations += 1;
                drop(reply.send(Ok(())));
            }
            Request::SendUserMessage { content, reply, .. } => {
                diary.said.push(json!(content).to_string());
                drop(reply.send(Ok(())));
            }
            // Nobody answers, which says that the session is gone.
            other => drop(other),
        }
        async {}.boxed()
    }
}

/// How a test differs from the usual.
pub(crate) struct Plan {
    pub(crate) entry: Value,
    pub(crate) limits: Limits,
    pub(crate) answer: Option<Answer>,
    /// Whether the person neither answers nor dismisses anything.
    pub(crate) is_silent: bool,
    /// `extensions.policy` of the settings.
    pub(crate) policy: Value,
    pub(crate) origin: Origin,
    /// An agent directory that outlives the test's own.
    pub(crate) agent: Option<PathBuf>,
}

impl Plan {
    /// The misbehaving server, over pipes.
    pub(crate) fn pipes(mode: &str) -> Self {
        Self::entry(json!({ "command": "python3", "args": [script(), mode], "env": { "SECRET": "sesame" } }))
    }

    pub(crate) fn entry(entry: Value) -> Self {
        let limits = Limits {
            connecting: Duration::from_secs(20),
            patience: Duration::from_secs(20),
            listing: Duration::from_secs(5),
            message_bytes: 1 << 20,
            pause: Duration::from_millis(50),
            attempts: 2,
            ..Limits::default()
        };
        Self { entry, limits, answer: None, is_silent: false, policy: json!({}), origin: Origin::Person, agent: None }
    }
}

/// A server that was started, or why not, and everything around it.
pub(crate) struct House {
    pub(crate) guest: Arc<McpGuest>,
    pub(crate) guests: Arc<Guests>,
    pub(crate) dispatcher: Dispatcher,
    /// Another extension, which may use tools of servers if the policy of the test says so.
    neighbour: Identity,
    pub(crate) diary: Arc<Mutex<Diary>>,
    pub(crate) folder: PathBuf,
    _kept: Option<tempfile::TempDir>,
}

pub(crate) fn script() -> String {
    format!("{}/tests/mcp/server.py", env!("CARGO_MANIFEST_DIR"))
}

/// Starts a server; the error is what a person would be told.
pub(crate) async fn start(plan: Plan) -> Result<House, String> {
    let kept = tempfile::tempdir().expect("a folder");
    let folder = kept.path().canonicalize().expect("a folder");
    for name in ["project", "tmp", "home", "agent"] {
        fs::create_dir(folder.join(name)).expect("a folder");
    }
    let options = Options { secrets: vec!["sesame".into()], evidence: Evidence::Shapes, personal: Personal::Keep };
    let redactor = Arc::new(Redactor::new(options));
    let agent = plan.agent.unwrap_or_else(|| folder.join("agent"));
    let file = agent.join("mcp.json");
    let read = Server::read("srv", &plan.entry, (plan.origin, file), &|_| None).map_err(|fault| fault.to_string())?;
    let (server, _) = read;
    Pins::in_folder(&agent).meet(&[], std::slice::from_ref(&server)).expect("a record");
    let settings = json!({ "extensions": { "policy": plan.policy } });
    let policy = config::load(settings.to_string().as_bytes()).expect("a policy").value;
    let policy = policy.with_remembered(&grants([&server])).expect("grants").value;
    let now = || Moment::from_unix_millis(1);
    let diary = Arc::new(Mutex::new(Diary::default()));
    let trace = Trace::create(&folder.join("trace.jsonl"), Arc::clone(&redactor)).expect("a trace");
    let ledger =
        Ledger::open(ledger::Settings::new(folder.join("log"), "s1"), Arc::clone(&redactor), now).expect("a ledger");
    let variables = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let unwanted = ("ANTHROPIC_API_KEY".to_owned(), "sk-ant-never".to_owned());
    let fittings = Fittings {
        port: Arc::new(Session { diary: Arc::clone(&diary), answer: plan.answer, is_silent: plan.is_silent }),
        rulebook: Rulebook::new(policy),
        ledger: ledger.clone(),
        tools: Registry::built_in(),
        tooling: pi_tools::Settings {
            shell: Shell::default(),
            environment: pi_tools::Environment::new(std::iter::empty(), &Withheld::default()),
            temporary: folder.join("tmp"),
            images: Images::AsTheyAre,
            redactor,
        },
        queue: Arc::new(FileQueue::default()),
        folders: Folders {
            project: folder.join("project"),
            home: Some(folder.join("home")),
            agent: None,
            ..Folders::default()
        },
        variables: variables.into_iter().chain([unwanted]).collect::<BTreeMap<_, _>>(),
        resolver: Arc::new(SystemResolver),
        proxy: None,
        keys: None,
        models: None,
        trace: Some(trace.clone()),
        limits: pi_exthost::Limits::default(),
        now,
    };
    let base = Base {
        project: folder.join("project"),
        pins: Some(Pins::in_folder(&agent)),
        agent,
        temporary: folder.join("tmp"),
        limits: plan.limits,
        weight: |_| 1,
    };
    let dispatcher = Dispatcher::new(fittings);
    let identity = prepare(&server, &base).identity;
    let neighbour = Identity { id: GuestId::from("neighbour"), ..identity.clone() };
    let desk = dispatcher.desk(identity).expect("a desk");
    let guest = McpGuest::start(program(server, &base), desk).await.map_err(|fault: GuestFault| fault.to_string())?;
    let mut guests = Guests::new(Patience::default(), Arc::new(|_| {})).recorded(ledger, Some(trace));
    guests.attach(guest.clone()).expect("the only one");
    let guests = Arc::new(guests);
    dispatcher.introduce(&guests);
    Ok(House { guest, guests, dispatcher, neighbour, diary, folder, _kept: Some(kept) })
}

impl House {
    /// Calls a tool as a model does; the text of its answer, with `!` before one that failed.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> String {
        self.call_with(tool, input, &CancellationToken::new()).await.0
    }

    /// The same, with the news that came meanwhile.
    pub(crate) async fn call_with(
        &self,
        tool: &str,
        input: Value,
        cancel: &CancellationToken,
    ) -> (String, Vec<String>) {
        let Value::Object(input) = input else { panic!("arguments are an object") };
        let name = format!("mcp__srv__{tool}");
        let found = self.guests.tools().into_iter().find(|found| found.offer.definition.name == name);
        let Some(found) = found else { return (format!("! there is no tool {name}"), Vec::new()) };
        let (updates, mut news) = mpsc::channel(8);
        let call = ToolInvocation { call_id: "c1".into(), name, input, updates };
        let answered = found.call(call, cancel).await;
        let text = |blocks: &[Block]| {
            let text = |block: &Block| match block {
                Block::Text(text) => text.text.clone(),
                other => json!(other).to_string().chars().take(60).collect(),
            };
            blocks.iter().map(text).collect::<Vec<_>>().join("|")
        };
        let shown = match answered {
            Ok(answer) if answer.is_error => format!("! {}", text(&answer.output.content)),
            Ok(answer) => text(&answer.output.content),
            Err(trouble) => format!("! {trouble}"),
        };
        let mut heard = Vec::new();
        while let Ok(update) = news.try_recv() {
            heard.push(text(&update.content));
        }
        (shown, heard)
    }

    /// Another extension asks the server for something; a refusal has `!` before it.
    pub(crate) async fn ask_as_neighbour(&self, tool: &str, input: Value) -> String {
        let Value::Object(input) = input else { panic!("arguments are an object") };
        let desk = self.dispatcher.desk(self.neighbour.clone()).expect("a desk");
        let used = McpUse { server: "srv".to_owned(), name: tool.to_owned(), input };
        match desk.call(Call::Mcp(used), Terms::background()).await {
            Ok(Output::Tool(answer)) => json!(answer.output.content).to_string(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => format!("! {}", error.message),
        }
    }

    /// What is in the ledger by now.
    pub(crate) fn ledger(&self) -> String {
        fs::read_to_string(self.folder.join("log/s1.jsonl")).unwrap_or_default()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        let registration = self.guest.registration();
        registration.tools.iter().map(|tool| tool.definition.name.replace("mcp__srv__", "")).collect()
    }

    /// Waits until something is so; tests that wait in vain fail with what there is.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..600 {
            if is_so(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what}: {:?} {:?}", self.guest, self.diary.lock().expect("no panic"));
    }

    /// Ends everything; the lines of the ledger and of the trace.
    pub(crate) async fn close(self) -> (Vec<Value>, Vec<Value>) {
        self.guests.shutdown().await;
        drop(self.guests);
        drop(self.guest);
        self.dispatcher.close().await;
        let lines = |name: &str| -> Vec<Value> {
            let text = fs::read_to_string(self.folder.join(name)).expect("a file");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        (lines("log/s1.jsonl"), lines("trace.jsonl"))
    }
}
