//! A guest of any tier at a desk, and how tests talk to it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    Desk, Dispatcher, Fittings, Guest, GuestFault, GuestId, Guests, Ledger, Patience, Rulebook, SessionPort,
    SystemResolver, Trace,
    guest::{ToolAnswer, ToolInvocation},
    launcher::{Identity, Own, Provenance},
    ledger,
    port::Request,
};
use pi_extproto::{capability::Declared, hook::event::Event};
use pi_guests::{
    js::{self, JsGuest},
    mcp::{self, Base, McpGuest, Origin, Server, prepare},
    wasm::{Code, Limits, Machine, Piece, Program, WasmGuest},
};
use pi_policy::{Moment, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{
    Images, Registry, Shell, Withheld,
    files::{FileQueue, Folders},
};
use pi_transcript::Block;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::component::Assembler;

/// The same extension as a server.
pub(crate) const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wasm/reference.py");
pub(crate) const OPEN: &str = r#"{"extensions":{"policy":{"mode":"permissive","deny_caps":[]}}}"#;

/// One engine for all tests of this process.
pub(crate) static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine::new(64 << 20).expect("an engine"));
/// The extension that does a little of everything.
pub(crate) static COMPONENT: LazyLock<Vec<u8>> = LazyLock::new(|| reference(&Value::Null));
static CODE: LazyLock<Code> = LazyLock::new(|| code(&COMPONENT));

/// A session that answers little and remembers what it was asked.
struct Session(mpsc::UnboundedSender<String>);

impl SessionPort for Session {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        match request {
            Request::Announce(announcement, reply) => {
                self.0.send(json!(announcement).to_string()).expect("somebody listens");
                drop(reply.send(Ok(())));
            }
            Request::SendUserMessage { content, reply, .. } => {
                self.0.send(json!(content).to_string()).expect("somebody listens");
                drop(reply.send(Ok(())));
            }
            // Of what pi itself tells, refusals are in the ledger too, where tests look for them.
            Request::Tell(notice, reply) => {
                if ["stopped too often", "older sources"].iter().any(|words| notice.message.contains(words)) {
                    self.0.send(notice.message).expect("somebody listens");
                }
                drop(reply.send(Ok(())));
            }
            Request::RegistrationChanged(reply) => drop(reply.send(Ok(()))),
            // Nobody answers, which says that the session is gone.
            other => drop(other),
        }
        async {}.boxed()
    }
}

/// Folders, a ledger, a trace and a desk.
pub(crate) struct House {
    pub(crate) folder: PathBuf,
    pub(crate) dispatcher: Dispatcher,
    announced: Mutex<mpsc::UnboundedReceiver<String>>,
    trace: Trace,
}

impl House {
    pub(crate) fn new(policy: &str) -> Self {
        Self::furnished(policy, |_| {})
    }

    /// The same, with something changed before anybody moves in.
    pub(crate) fn furnished(policy: &str, change: impl FnOnce(&mut Fittings)) -> Self {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let sub = |name: &str| {
            let path = folder.join(name);
            fs::create_dir(&path).expect("a folder");
            path
        };
        let options = Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep };
        let redactor = Arc::new(Redactor::new(options));
        let now = || Moment::from_unix_millis(1);
        let (announces, announced) = mpsc::unbounded_channel();
        let trace = Trace::create(&folder.join("trace.jsonl"), Arc::clone(&redactor)).expect("a trace");
        // What programs need to be found.
        let variables = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
        let variables = BTreeMap::from(variables);
        let project = sub("project");
        fs::write(project.join("note.txt"), "remember\n").expect("a file");
        let mut fittings = Fittings {
            port: Arc::new(Session(announces)),
            rulebook: Rulebook::new(config::load(policy.as_bytes()).expect("a policy").value),
            ledger: Ledger::open(ledger::Settings::new(sub("log"), "test"), Arc::clone(&redactor), now)
                .expect("a ledger"),
            tools: Registry::built_in(),
            tooling: pi_tools::Settings {
                shell: Shell::default(),
                environment: pi_tools::Environment::new(
                    variables.iter().map(|(name, value)| (name.into(), value.into())),
                    &Withheld::default(),
                ),
                temporary: sub("tmp"),
                images: Images::AsTheyAre,
                redactor,
            },
            queue: Arc::new(FileQueue::default()),
            folders: Folders { project, home: None, agent: None, ..Folders::default() },
            variables,
            resolver: Arc::new(SystemResolver),
            proxy: None,
            keys: None,
            models: None,
            trace: Some(trace.clone()),
            limits: pi_exthost::Limits::default(),
            now,
        };
        change(&mut fittings);
        sub("own");
        Self { dispatcher: Dispatcher::new(fittings), folder, announced: Mutex::new(announced), trace }
    }

    pub(crate) fn desk(&self) -> Desk {
        self.desk_of(Declared::new(None, None))
    }

    /// The same for a guest whose manifest declares something.
    pub(crate) fn desk_of(&self, declared: Declared) -> Desk {
        let identity = Identity {
            id: "test".into(),
            version: "1.0.0".into(),
            artifact: None,
            provenance: Provenance::Trusted,
            origins: Vec::new(),
            declared,
            evidence: pi_exthost::launcher::Evidence::CLEAN,
            folder: self.folder.join("own"),
            own: Own::folder(self.folder.join("own")),
            data: self.folder.join("data"),
            temporary: self.folder.join("temporary"),
        };
        self.dispatcher.desk(identity).expect("a desk")
    }

    /// The guest among the guests of a session, recorded and traced.
    pub(crate) fn attend(&self, guest: Arc<dyn Guest>) -> Arc<Guests> {
        self.attend_all(vec![guest])
    }

    pub(crate) fn attend_all(&self, all: Vec<Arc<dyn Guest>>) -> Arc<Guests> {
        // A busy machine is no reason to abandon a guest.
        let patience = Patience { grace: Duration::from_secs(20), ..Patience::default() };
        let guests = Guests::new(patience, Arc::new(|_| {}));
        let mut guests = guests.recorded(self.dispatcher.ledger().clone(), Some(self.trace.clone()));
        all.into_iter().for_each(|guest| guests.attach(guest).expect("no other has its name"));
        let guests = Arc::new(guests);
        self.dispatcher.introduce(&guests);
        guests
    }

    /// Every line of the ledger, when all is over.
    pub(crate) async fn ledger(&self) -> Vec<Value> {
        self.dispatcher.close().await;
        lines(&self.folder.join("log").join("test.jsonl"))
    }

    /// The next thing that somebody is told.
    pub(crate) async fn announced(&self) -> String {
        self.announced.lock().await.recv().await.expect("the session is there")
    }

    pub(crate) fn traced(&self) -> Vec<Value> {
        lines(&self.folder.join("trace.jsonl"))
    }
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file of lines");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn code(component: &[u8]) -> Code {
    Code::prepare(&MACHINE, Piece::bare("reference", component), None).expect("code")
}

/// The extension; `needs` is what it says that it needs, if anything.
fn reference(needs: &Value) -> Vec<u8> {
    let tool = |name: &str| json!({ "name": name, "description": "d", "parameters": r#"{"type":"object"}"# });
    let names = [
        "answer", "bomb", "count", "deep", "execute", "fail", "giant", "hail", "inquire", "jumble", "kill", "loop",
        "meet", "note", "own", "paint", "quarrel", "read", "stream", "trap", "use", "vigil", "write", "xray", "yell",
        "zillion",
    ];
    let hidden = r#"{"properties":{"a":{"description":"a\u202e\u200bb","type":"string"}},"type":"object"}"#;
    let odd = [
        json!({ "name": "lie", "description": "d", "parameters": r#"{"properties":[],"type":"object"}"# }),
        json!({ "name": "mask", "description": "d\u{e0041}", "parameters": hidden }),
    ];
    let tools: Vec<Value> = names.map(tool).into_iter().chain(odd).collect();
    let needs = needs.as_array();
    let flat = needs.map(|needs| needs.iter().map(|need| &need["capability"]).collect::<Vec<_>>());
    let register = json!({ "name": "reference", "version": "1.0.0", "api-version": "1.0",
        "capabilities": flat, "capability-manifest": needs.map(|needs| json!({ "capabilities": needs })),
        "tools": tools, "slash-commands": [{ "name": "greet", "description": "Says hello" }, { "name": "subscribe" },
            { "name": "echo" }, { "name": "report" }, { "name": "worry" }],
        "event-hooks": ["tool-call", "agent-start"] });
    let answer = |content: Value, details: Value| json!({ "ok": { "output": { "content": content, "details": details }, "is-error": false } });
    let said = json!({ "ok": { "output": { "content": [{ "text": { "$slot": "text" } }] }, "is-error": { "$slot": "failed" } } });
    let block = json!({ "ok": { "tool-call": { "block": { "reason": "no tools with d", "terminate": false } } } });
    let assembler = Assembler::new()
        .result("init", "guest", "init", &json!({ "ok": register }))
        .result("answer", "guest", "call-tool", &said)
        .result("many", "guest", "call-tool", &answer(json!({ "$slot": "blocks" }), Value::Null))
        .result("nonsense", "guest", "call-tool", &answer(json!([]), json!("{not json")))
        .result("refusal", "guest", "call-tool", &json!({ "err": { "code": "sad", "message": "not today" } }))
        .result("done", "guest", "run-command", &json!({ "ok": { "output": "{}", "is-error": false } }))
        .result(
            "report",
            "guest",
            "run-command",
            &json!({ "ok": { "output": r#""all \"well\"""#, "is-error": false } }),
        )
        .result(
            "worry",
            "guest",
            "run-command",
            &json!({ "ok": { "output": r#""it went \"wrong\"""#, "is-error": true } }),
        )
        .result("go-on", "guest", "handle-event", &json!({ "ok": "notice" }))
        .result("block", "guest", "handle-event", &block)
        .texts("script", &["-c", "echo hi"])
        .texts("long", &["30"])
        .texts("vigil", &["-c", "touch begun; exec sleep 30"])
        .texts("server", &[SERVER])
        .event("tool-call", "tool-call")
        .stream_offsets();
    let content = assembler.slot("text") - 4;
    let assembler = assembler.word("content", content);
    assembler.component(include_str!("reference.wat"))
}

pub(crate) fn program(limits: Limits) -> Program {
    Program {
        name: "test".to_owned(),
        path: "/extension/reference.wasm".to_owned(),
        machine: MACHINE.clone(),
        code: CODE.clone(),
        limits,
    }
}

/// One that says what it needs.
pub(crate) fn program_saying(needs: &Value, limits: Limits) -> Program {
    Program { code: code(&reference(needs)), ..program(limits) }
}

pub(crate) async fn start(house: &House, limits: Limits) -> Result<Arc<WasmGuest>, GuestFault> {
    WasmGuest::start(program(limits), house.desk()).await
}

pub(crate) async fn start_js(desk: Desk, limits: js::Limits) -> Arc<JsGuest> {
    let place = js::Place {
        cwd: "/project".into(),
        agent_dir: "/agent".into(),
        extension_dir: "/extension".into(),
        entry: "/extension/index.js".into(),
        data_dir: "/data".into(),
        temp_dir: "/tmp".into(),
        home_dir: "/home".into(),
        platform: js::platform().into(),
        arch: js::architecture().into(),
        pid: 1,
        user: None,
        exec_path: "/bin/pi".into(),
        argv: vec!["pi".into()],
        hostname: "here".into(),
        versions: BTreeMap::new(),
    };
    let program = js::Program {
        name: "test".into(),
        path: "/extension/index.js".into(),
        library: js::Library::new(None),
        bundle: js::Code::Source(include_str!("reference.js").replace("SERVER", SERVER).into()),
        sources: js::Sources::none(),
        place,
        flags: BTreeMap::new(),
        limits,
        time: js::Time::Real,
        chance: js::Chance::Real,
    };
    JsGuest::start(program, desk).await.expect("it loads")
}

/// A server with limits that a test can wait for; `call_time` is how long a call of it may take, in milliseconds.
pub(crate) async fn start_server(house: &House, call_time: u32) -> Arc<McpGuest> {
    let entry = json!({ "command": "python3", "args": [SERVER], "timeout": call_time });
    let read = Server::read("srv", &entry, (Origin::Person, house.folder.join("mcp.json")), &|_| None);
    let (server, _) = read.expect("an entry");
    let limits = mcp::Limits {
        connecting: Duration::from_secs(60),
        patience: Duration::from_secs(60),
        message_bytes: 1 << 20,
        pause: Duration::from_millis(50),
        ..mcp::Limits::default()
    };
    let base = Base {
        project: house.folder.join("project"),
        agent: house.folder.clone(),
        temporary: house.folder.join("tmp"),
        limits,
        pins: None,
        weight: |_| 0,
    };
    let desk = house.dispatcher.desk(prepare(&server, &base).identity).expect("a desk");
    McpGuest::start(mcp::program(server, &base), desk).await.expect("it starts")
}

/// What a tool answered with, or why it did not.
pub(crate) fn told(answer: &Result<ToolAnswer, GuestFault>) -> String {
    let text = |block: &Block| if let Block::Text(text) = block { text.text.clone() } else { "?".to_owned() };
    match answer {
        Ok(answer) => answer.output.content.iter().map(text).collect::<Vec<_>>().join("|"),
        Err(fault) => fault.to_string(),
    }
}

pub(crate) fn invocation(name: &str, input: Value) -> ToolInvocation {
    let Value::Object(input) = input else { panic!("arguments are an object") };
    let (updates, _) = mpsc::channel(8);
    ToolInvocation { call_id: "c1".into(), name: name.to_owned(), input, updates }
}

pub(crate) fn event(name: &str, data: &Value) -> Event {
    Event::read(name, data.as_object().cloned()).expect("an event")
}

pub(crate) fn never() -> CancellationToken {
    CancellationToken::new()
}
