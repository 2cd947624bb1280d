//! A machine with something to steal on it, a villain and a bystander.

use std::{
    collections::BTreeMap,
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use pi_extc::{SecretKey, Workshop};
use pi_exthost::{
    Dispatcher, Fittings, GrantsFile, Guest, GuestId, Guests, Incident, Ledger, Patience, Resolver, Rulebook,
    guest::{StreamCall, ToolInvocation},
    guests::Influenced,
    launcher::{LaunchFault, Launcher, Provenance, Source},
    ledger,
    verdict::{MessageVerdict, ToolCallVerdict, Verdict},
};
use pi_extproto::{
    Object,
    connector::tool::ToolUse,
    hook::event::{
        Event,
        payload::{MessageEvent, ToolCallEvent},
    },
};
use pi_guests::{Screening, Surroundings, Tiers, js::Limits};
use pi_policy::{Extent, Mark, Marks, Moment, PathStyle, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_testkit::SessionDouble;
use pi_tools::{
    Environment, Images, Registry, Settings, Shell, Withheld,
    files::{FileQueue, Folders},
};
use pi_transcript::Block;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{Asked, Row, Tampering};

/// What is on the machine and must be nowhere else.
const SECRETS: [&str; 3] =
    ["PRIVATE-KEY-MATERIAL", "sk-ant-api03-00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd", "plain-but-private"];
/// So long anything may take; a villain that holds its host up is one that was not contained.
const AGES: Duration = Duration::from_secs(20);

const BYSTANDER: &str = "import { readFileSync, writeFileSync } from 'node:fs';
    export default (pi) => {
        pi.registerTool({ name: 'look', description: 'd', parameters: {}, execute: async () => {
            writeFileSync('seen.txt', readFileSync('notes.txt', 'utf8'));
            const own = [({}).polluted, [1, 2].map((x) => x).length, typeof globalThis.stolen].join();
            return `${readFileSync('seen.txt', 'utf8')} ${own} ${typeof (await pi.fs.stat('notes.txt'))}`;
        } });
    };";

pub(super) struct Stage {
    root: TempDir,
    dispatcher: Dispatcher,
    guests: Arc<Guests>,
    incidents: Arc<Mutex<Vec<Incident>>>,
    /// Why there is no villain.
    refused: Option<LaunchFault>,
    /// Requests that reached the server that only this machine may reach.
    inside: Arc<AtomicUsize>,
}

fn now() -> Moment {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Moment::from_unix_millis(u64::try_from(time.as_millis()).expect("a time"))
}

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(Options {
        secrets: Vec::new(),
        evidence: Evidence::KeysAndShapes,
        personal: Personal::Keep,
    }))
}

impl Stage {
    pub(super) async fn set(row: &Row) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let real = root.path().canonicalize().expect("a folder");
        let at = |path: &str| real.join(path);
        furnish(&real);
        let inside = Arc::new(AtomicUsize::new(0));
        let port = serve(Arc::clone(&inside)).await;
        let placed = |text: &str| text.replace("$ROOT", &real.to_string_lossy()).replace("$PORT", &port.to_string());
        for (path, content) in &row.files {
            write(&at(path), &placed(content));
        }
        for (path, target) in &row.links {
            link(&at(target), &at(path));
        }
        let module = row.at.as_deref().unwrap_or("agent/extensions/villain/index.js");
        write(&at(module), &placed(&row.module()));
        write(&at("agent/extensions/bystander/index.js"), BYSTANDER);
        let project = at(row.project.as_deref().unwrap_or("project"));
        let dispatcher = dispatcher(&real, folders(&real, &project, row), &placed(&row.policy.to_string()), row.calls);
        let tiers = Tiers::new(surroundings(&real, &project)).expect("a cache");
        let incidents: Arc<Mutex<Vec<Incident>>> = Arc::default();
        let heard = Arc::clone(&incidents);
        let patience = Patience { handler: Duration::from_millis(300), grace: Duration::from_millis(50) };
        let report = Arc::new(move |incident| heard.lock().expect("no panic").push(incident));
        let mut guests = Guests::new(patience, report).recorded(dispatcher.ledger().clone(), None);
        let bystander = start(&tiers, &dispatcher, &at("agent/extensions/bystander")).await.expect("it is harmless");
        guests.attach(bystander).expect("it is the first");
        let mut villain = at(row.at.as_deref().unwrap_or("agent/extensions/villain"));
        if let Some(tampering) = row.tampered {
            villain = tamper(tampering, &tiers, &real, villain).await;
        }
        let refused = match timeout(AGES, start(&tiers, &dispatcher, &villain)).await.expect("loading ends") {
            Ok(guest) => {
                guests.attach(guest).expect("it has a name of its own");
                None
            }
            Err(fault) => Some(fault),
        };
        let guests = Arc::new(guests);
        dispatcher.introduce(&guests);
        Self { root, dispatcher, guests, incidents, refused, inside }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().expect("a folder").join(path)
    }

    /// The text of its answer, or how it failed, with the folder of the test as `ROOT`.
    pub(super) async fn ask_villain(&mut self, row: &Row) -> String {
        let got = match (&self.refused, row.ask) {
            (Some(fault), _) => format!("not loaded: {fault}"),
            (None, Asked::Nothing) => "loaded".to_owned(),
            (None, Asked::Tool) => self.call("t", &CancellationToken::new()).await,
            (None, Asked::ToolAndCancel) => {
                let cancel = CancellationToken::new();
                let cancelled = async {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    cancel.cancel();
                };
                tokio::join!(self.call("t", &cancel), cancelled).0
            }
            (None, Asked::Command) => {
                let event = || ToolCallEvent {
                    tool_name: "bash".to_owned(),
                    tool_call_id: "c1".to_owned(),
                    input: json!({ "command": "true" }).as_object().cloned().expect("an object"),
                };
                match self.guests.tool_call(event, std::future::ready, &CancellationToken::new()).await {
                    ToolCallVerdict::Transformed { by, input } => self.agent_asks(by, "bash", input).await,
                    other => format!("{other:?}"),
                }
            }
            (None, Asked::Answer) => {
                let event = || MessageEvent { message: answer() };
                match self.guests.message_end(event, &CancellationToken::new()).await {
                    MessageVerdict::Replaced { calls, .. } => {
                        let (by, call) = calls.into_iter().next().expect("it put one in");
                        self.agent_asks(vec![by], &call.name, call.arguments).await
                    }
                    other => format!("{other:?}"),
                }
            }
            (None, Asked::Model) => {
                let (steps, _unheard) = mpsc::channel(64);
                let (model, context, options) =
                    (json!({ "provider": "bot", "id": "b" }), json!({ "messages": [] }), json!({}));
                let call = StreamCall { provider: "bot".to_owned(), model, context, options, steps };
                let villain = GuestId::from("villain");
                let message = self.guests.stream(&villain, call, &CancellationToken::new()).await.expect("it answers");
                match message.content.as_slice() {
                    [Block::ToolCall(call)] => self.agent_asks(vec![villain], &call.name, call.arguments.clone()).await,
                    other => format!("{other:?}"),
                }
            }
            (None, Asked::Guard) => {
                let data = json!({ "toolName": "read", "toolCallId": "c", "input": { "path": "notes.txt" } });
                let event = Event::read("tool_call", data.as_object().cloned()).expect("an event");
                let cancel = CancellationToken::new();
                match timeout(AGES, self.guests.dispatch(event, &cancel)).await.expect("it ends") {
                    Verdict::ToolCall(verdict) => format!("{verdict:?}"),
                    other => format!("{other:?}"),
                }
            }
        };
        got.replace(&*self.path("").to_string_lossy().trim_end_matches('/').to_owned(), "ROOT")
    }

    /// What the agent is told that wants to do what these had a hand in.
    async fn agent_asks(&self, guests: Vec<GuestId>, name: &str, input: Object) -> String {
        for guest in guests {
            let influenced =
                Influenced { id: Some("c1".into()), call: ToolUse { name: name.to_owned(), input: input.clone() } };
            let cancel = CancellationToken::new();
            let answered = self.guests.answer_for(&guest, influenced, &cancel);
            if let Err(refused) = timeout(AGES, answered).await.expect("it ends") {
                return refused.message;
            }
        }
        "allowed".to_owned()
    }

    async fn call(&self, name: &str, cancel: &CancellationToken) -> String {
        let tool = self.guests.tool(name).expect("it is offered");
        let (updates, _) = mpsc::channel(8);
        let input = json!({}).as_object().expect("an object").clone();
        let call = ToolInvocation { call_id: "c1".into(), name: name.to_owned(), input, updates };
        match timeout(AGES, tool.call(call, cancel)).await.expect("the host is not held up") {
            Ok(answer) => {
                let text =
                    |block: &Block| if let Block::Text(text) = block { text.text.clone() } else { "?".to_owned() };
                let text = answer.output.content.iter().map(text).collect::<Vec<_>>().join("|");
                if answer.is_error { format!("error: {text}") } else { text }
            }
            Err(trouble) => format!("trouble: {trouble}"),
        }
    }

    /// It reads, writes and asks its host as if nothing had happened.
    pub(super) async fn ask_bystander(&self) {
        let told = self.call("look", &CancellationToken::new()).await;
        assert_eq!(told, "some notes ,2,undefined object", "the bystander was harmed");
        let incidents = self.incidents.lock().expect("no panic");
        assert!(incidents.iter().all(|incident| incident.guest.as_str() == "villain"), "{incidents:?}");
    }

    /// Every line about the villain: its event, what was wanted, what came of it, and what it says. The ledger is closed.
    pub(super) async fn ledger(&self) -> Vec<String> {
        let ended = timeout(AGES, async {
            self.guests.shutdown().await;
            self.dispatcher.close().await;
        });
        ended.await.expect("the session ends");
        let folder = self.path("logs");
        let verified = ledger::reading::verify(&folder, "s1").expect("a ledger");
        assert!(verified.is_intact(), "{verified:?}");
        let reading = ledger::reading::read(&folder, "s1").expect("a ledger");
        for (name, own) in ledger::reading::statistics(&reading).extensions {
            assert_eq!(own.unfinished, 0, "a call of {name} has no end");
        }
        let lines = ledger::reading::files(&folder, "s1").expect("files").into_iter();
        let text: String = lines.map(|path| fs::read_to_string(path).expect("a text")).collect();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let own = entries.filter(|entry| entry["correlation"]["extension_id"] == "villain");
        own.map(|entry| short(&entry)).collect()
    }

    /// What must not have happened, whatever was tried.
    pub(super) fn look_for_damage(&self) {
        assert_eq!(self.inside.load(Ordering::SeqCst), 0, "a server that nobody granted was reached");
        let logs = fs::read_dir(self.path("logs")).expect("logs").map(|entry| entry.expect("a file").path());
        for log in logs.filter(|path| path.is_file()) {
            let text = fs::read_to_string(log).expect("a text");
            let shown = text.lines().find(|line| SECRETS.iter().any(|secret| line.contains(secret)));
            assert_eq!(shown, None, "a secret is in the log");
        }
        for (path, content) in PRECIOUS {
            assert_eq!(fs::read_to_string(self.path(path)).expect("it is there"), *content, "{path}");
        }
        for made in ["project/made", "home/made", "agent/made"] {
            assert!(!self.path(made).exists(), "{made}");
        }
    }
}

impl Row {
    fn module(&self) -> String {
        let body = match (&self.source, &self.tool) {
            (Some(source), None) => return source.clone(),
            (None, Some(body)) => body,
            _ => panic!("{}: a source, or a tool", self.name),
        };
        format!(
            "{}\nexport default (pi) => {{ pi.registerTool({{ name: 't', description: 'd', parameters: {{}},
                async execute(id, params, signal, onUpdate, ctx) {{
                    const tried = async () => {{ {body} }};
                    return String(await tried());
                }} }}); }};",
            self.head
        )
    }
}

/// What a model said that wants nothing done.
fn answer() -> Value {
    json!({ "role": "assistant", "content": [{ "type": "text", "text": "Hello." }], "api": "x", "provider": "x", "model": "x",
        "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
        "stopReason": "stop", "timestamp": 1 })
}

/// Files that must be afterwards what they were before.
const PRECIOUS: &[(&str, &str)] = &[
    ("home/.ssh/id_rsa", "PRIVATE-KEY-MATERIAL"),
    ("agent/auth.json", "{\"anthropic\":\"sk-ant-api03-00aa11bb22cc33dd44ee55ff66aa77bb88cc99dd\"}"),
    ("agent/keys/extensions.pem", "PRIVATE-KEY-MATERIAL"),
    ("agent/settings.json", "{}"),
    ("project/.pi/settings.json", "{}"),
    ("project/notes.txt", "some notes"),
    ("agent/extension-data/neighbour/kept.txt", "plain-but-private"),
];

fn furnish(real: &Path) {
    for folder in ["tmp", "logs", "project/src"] {
        fs::create_dir_all(real.join(folder)).expect("a folder");
    }
    for (path, content) in PRECIOUS {
        write(&real.join(path), content);
    }
    link(&real.join("home/.ssh"), &real.join("project/out"));
    link(&real.join("home/.ssh/id_rsa"), &real.join("project/key"));
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::os::unix::fs::symlink(target, path).expect("a link");
}

/// Elsewhere not everybody may make them.
#[cfg(not(unix))]
fn link(_target: &Path, _path: &Path) {}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

/// With what the program finds when it looks for extensions and servers.
fn folders(real: &Path, project: &Path, row: &Row) -> Folders {
    let at = |path: &str| real.join(path);
    let text = |path: &str| at(path).to_string_lossy().into_owned();
    let programs = row.programs.iter().map(|path| Mark::program(PathStyle::HOST, &text(path), Extent::File, None));
    let credentials = row.credentials.iter().map(|path| Mark::credentials(PathStyle::HOST, &text(path)));
    let marks = Marks::default();
    marks.set(programs.chain(credentials).map(|mark| mark.expect("a path")));
    Folders {
        project: project.to_owned(),
        home: Some(at("home")),
        agent: Some(at("agent")),
        session: Some(at("agent/sessions/own.jsonl")),
        kept: Vec::new(),
        marks,
    }
}

fn dispatcher(real: &Path, folders: Folders, policy: &str, calls: Option<u32>) -> Dispatcher {
    let usual = pi_exthost::Limits::default();
    let at = |path: &str| real.join(path);
    let policy: Value = serde_json::from_str(policy).expect("a policy");
    let policy = if policy.is_null() { json!({}) } else { policy };
    let settings = json!({ "extensions": { "policy": policy } });
    let base = config::load(settings.to_string().as_bytes()).expect("settings").value;
    let rulebook = Rulebook::open(base, None, GrantsFile::in_folder(&at("agent"))).expect("no decisions yet");
    let variables = [
        ("HOME", real.join("home").display().to_string()),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
        ("ANTHROPIC_API_KEY", SECRETS[1].to_owned()),
        ("OWN_NOTES", SECRETS[2].to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let inherited = variables.clone().map(|(name, value)| (name.into(), value.into()));
    Dispatcher::new(Fittings {
        port: SessionDouble::new([]) as _,
        rulebook,
        ledger: Ledger::open(ledger::Settings::new(at("logs"), "s1"), redactor(), now).expect("a ledger"),
        tools: Registry::built_in(),
        tooling: Settings {
            shell: Shell::default(),
            environment: Environment::new(inherited, &Withheld::default()),
            temporary: at("tmp"),
            images: Images::AsTheyAre,
            redactor: redactor(),
        },
        queue: Arc::new(FileQueue::default()),
        folders,
        variables: BTreeMap::from(variables),
        resolver: Arc::new(Names::default()),
        proxy: None,
        keys: None,
        models: None,
        trace: None,
        limits: pi_exthost::Limits {
            calls: ledger::Pace { most: calls.unwrap_or(usual.calls.most), ..usual.calls },
            params_bytes: 1 << 20,
            pending_bytes: 4 << 20,
            request_time: Duration::from_secs(3),
            ..usual
        },
        now,
    })
}

fn surroundings(real: &Path, project: &Path) -> Surroundings {
    Surroundings {
        cwd: project.to_owned(),
        agent: real.join("agent"),
        home: real.join("home"),
        temporary: real.join("tmp"),
        program: "/bin/pi".into(),
        hostname: "here".to_owned(),
        version: "0".to_owned(),
        flags: BTreeMap::new(),
        screening: Screening::Tell,
        limits: Limits {
            memory: 16 << 20,
            stretch: Duration::from_secs(1),
            loading: Duration::from_secs(10),
            timers: 1000,
            calls: 256,
            ..Limits::default()
        },
    }
}

async fn start(tiers: &Tiers, dispatcher: &Dispatcher, path: &Path) -> Result<Arc<dyn Guest>, LaunchFault> {
    let source = Source { path: path.to_owned(), provenance: Provenance::Trusted };
    let prepared = tiers.prepare(source).await?;
    let desk = dispatcher.desk(prepared.identity).expect("a desk");
    (prepared.launch)(desk).await
}

/// Does it, and answers what is to be loaded.
async fn tamper(tampering: Tampering, tiers: &Tiers, real: &Path, villain: PathBuf) -> PathBuf {
    // What lies in the cache then is what somebody wants to replace.
    let source = |path: &Path| Source { path: path.to_owned(), provenance: Provenance::Trusted };
    drop(tiers.prepare(source(&villain)).await.expect("it is sound"));
    let workshop = Workshop::new(real.join("agent/cache/extensions"));
    let artifact = real.join("agent/extensions/artifact");
    let put = |container: &[u8], descriptor: Value| {
        write(&artifact.join("artifact.json"), &descriptor.to_string());
        fs::write(artifact.join("extension.artifact"), container).expect("a file");
    };
    match tampering {
        Tampering::ForeignCache | Tampering::ChangedCache => {
            let entries = entries(real);
            let contents: Vec<Vec<u8>> = entries.iter().map(|path| fs::read(path).expect("an entry")).collect();
            for (index, path) in entries.iter().enumerate() {
                let mut bytes = contents[index].clone();
                match tampering {
                    Tampering::ForeignCache => bytes.clone_from(&contents[(index + 1) % contents.len()]),
                    _ => *bytes.last_mut().expect("it is not empty") ^= 1,
                }
                fs::write(path, bytes).expect("an attack");
            }
            villain
        }
        Tampering::ChangedArtifact => {
            let built = pi_extc::build(&villain, &workshop).await.expect("it is sound");
            let mut container = pi_extc::write_container(&built);
            let place = find(&container, b"harmless").expect("the bundle says so");
            container[place..place + 8].copy_from_slice(b"harmful!");
            put(&container, serde_json::to_value(&built.descriptor).expect("JSON"));
            artifact
        }
        Tampering::SwappedArtifact => {
            let built = pi_extc::build(&villain, &workshop).await.expect("it is sound");
            let signature = pi_extc::sign(&pi_extc::write_container(&built), &SecretKey::generate().expect("a key"));
            let mut descriptor = serde_json::to_value(&built.descriptor).expect("JSON");
            descriptor["signature"] = serde_json::to_value(signature).expect("JSON");
            let other = real.join("agent/extensions/bystander");
            let other = pi_extc::build(&other, &workshop).await.expect("it is sound");
            put(&pi_extc::write_container(&other), descriptor);
            artifact
        }
    }
}

fn entries(real: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("listed").path()).collect()
    };
    let shelves = list(&real.join("agent/cache/extensions/entries"));
    let mut entries: Vec<PathBuf> = shelves.iter().flat_map(|shelf| list(shelf)).collect();
    entries.sort();
    entries
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

/// A line of the ledger, with what matters here.
fn short(entry: &Value) -> String {
    let data = &entry["data"];
    let parts = [&entry["event"], &data["capability"], &data["verdict"], &data["error"]["code"], &data["reason"]];
    let words: Vec<&str> = parts.iter().filter_map(|part| part.as_str()).collect();
    format!("{}: {}", words.join(" "), entry["message"].as_str().unwrap_or_default())
}

/// A server that only this machine may reach; `/away` sends on to itself by its address. Whoever comes by the granted name
/// of the server and asks for `/away` does not count.
async fn serve(inside: Arc<AtomicUsize>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let inside = Arc::clone(&inside);
            tokio::spawn(async move {
                let mut bytes = vec![0; 16 << 10];
                let length = stream.read(&mut bytes).await.unwrap_or(0);
                let is_away = bytes[..length].starts_with(b"GET /away ");
                if !is_away {
                    inside.fetch_add(1, Ordering::SeqCst);
                }
                let away = format!("302 Found\r\nlocation: http://127.0.0.1:{port}/secret");
                let status = if is_away { away.as_str() } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 6\r\nconnection: close\r\n\r\ninside");
                // A client that went away has what it wanted.
                drop(stream.write_all(answer.as_bytes()).await);
            });
        }
    });
    port
}

/// Names that lead where they should not.
#[derive(Default)]
struct Names {
    asked: AtomicUsize,
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        let address = match name {
            "inside.example.org" | "granted.example.org" => "127.0.0.1",
            "rebind.example.org" if before > 0 => "127.0.0.1",
            "rebind.example.org" => "203.0.114.1",
            _ => "169.254.169.254",
        };
        let found = Ok(vec![address.parse().expect("an address")]);
        Box::pin(async move { found })
    }
}
