//! A guest at a desk, and how tests talk to it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    Ask, Desk, Dispatcher, Fittings, Guest, GuestFault, GuestId, Ledger, Rulebook, SessionPort, Stopwatch,
    SystemResolver,
    guest::{ToolAnswer, ToolInvocation},
    launcher::{Identity, Own, Provenance},
    ledger,
    port::Request,
};
use pi_extproto::capability::Declared;
use pi_guests::js::{
    Chance, Code, JsGuest, Library, Limits, Place, Program, Sources, Time, User, architecture, platform,
};
use pi_policy::{Moment, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{
    Images, Registry, Shell, Withheld,
    files::{FileQueue, Folders},
};
use pi_transcript::Block;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What was asked of the session: its name, and what it said with it.
pub(crate) type Heard = Arc<Mutex<Vec<String>>>;

pub(crate) fn program(source: &str) -> Program {
    let place = Place {
        cwd: "/project".into(),
        agent_dir: "/agent".into(),
        extension_dir: "/extension".into(),
        entry: "/extension/index.js".into(),
        data_dir: "/data".into(),
        temp_dir: "/tmp".into(),
        home_dir: "/home".into(),
        platform: platform().into(),
        arch: architecture().into(),
        pid: 1,
        user: Some(User { uid: 7, gid: 8 }),
        exec_path: "/bin/pi".into(),
        argv: vec!["pi".into()],
        hostname: "here".into(),
        versions: BTreeMap::from([("node".into(), "20.20.2".into()), ("pi".into(), "0".into())]),
    };
    Program {
        name: "test".into(),
        path: "/extension/index.js".into(),
        library: Library::new(None),
        bundle: Code::Source(source.into()),
        sources: Sources::none(),
        place,
        flags: BTreeMap::new(),
        limits: Limits::default(),
        time: Time::Virtual,
        chance: Chance::Real,
    }
}

/// A session that answers little and remembers what it was asked.
struct Session(Heard);

impl SessionPort for Session {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        self.0.lock().expect("no panic").push(format!("{request:?}"));
        // Nobody answers, which says that the session is gone.
        drop(request);
        async {}.boxed()
    }
}

/// The names alone.
pub(crate) fn words(heard: &Heard) -> Vec<String> {
    let word = |told: &String| told.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
    heard.lock().expect("no panic").iter().map(word).collect()
}

/// A desk in folders of its own, and the ledger of what happens at it.
pub(crate) struct Seat {
    pub(crate) desk: Desk,
    dispatcher: Dispatcher,
    log: PathBuf,
}

impl Seat {
    /// The ledger as it is written.
    pub(crate) async fn text(&self) -> String {
        self.dispatcher.ledger().flush().await.expect("it is written");
        std::fs::read_to_string(self.log.join("test.jsonl")).expect("a ledger")
    }

    /// Lets other rules count from here on.
    pub(crate) fn amend(&self, policy: &str) {
        let settings = format!(r#"{{"extensions":{{"policy":{policy}}}}}"#);
        let policy = config::load(settings.as_bytes()).expect("a policy").value;
        self.dispatcher.amend(&policy, None).expect("nothing else was decided");
    }

    /// What the ledger says: event, whose it is, and the message, line by line.
    pub(crate) async fn lines(&self) -> Vec<String> {
        let text = self.text().await;
        let line = |line: &str| {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!(
                "{} {}: {}",
                part(&entry["event"]),
                part(&entry["correlation"]["extension_id"]),
                part(&entry["message"])
            )
        };
        text.lines().map(line).collect()
    }
}

/// A desk in folders of its own; what is asked of the session is remembered.
pub(crate) fn desk(heard: &Heard) -> Desk {
    seat(heard).desk
}

/// The same with its ledger.
pub(crate) fn seat(heard: &Heard) -> Seat {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let sub = |name: &str| {
        let path = folder.join(name);
        std::fs::create_dir(&path).expect("a folder");
        path
    };
    let redactor =
        Arc::new(Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep }));
    let now = || Moment::from_unix_millis(1);
    let log = sub("log");
    let settings = ledger::Settings::new(log.clone(), "test");
    let policy =
        config::load(br#"{"extensions":{"policy":{"mode":"permissive","deny_caps":[]}}}"#).expect("a policy").value;
    let fittings = Fittings {
        port: Arc::new(Session(Arc::clone(heard))),
        rulebook: Rulebook::new(policy),
        ledger: Ledger::open(settings, Arc::clone(&redactor), now).expect("a ledger"),
        tools: Registry::built_in(),
        tooling: pi_tools::Settings {
            shell: Shell::default(),
            environment: pi_tools::Environment::new(std::iter::empty(), &Withheld::default()),
            temporary: sub("tmp"),
            images: Images::AsTheyAre,
            redactor,
        },
        queue: Arc::new(FileQueue::default()),
        folders: Folders { project: sub("project"), home: None, agent: None, ..Folders::default() },
        variables: BTreeMap::from([("PLAIN".to_owned(), "plain".to_owned())]),
        resolver: Arc::new(SystemResolver),
        proxy: None,
        keys: None,
        models: None,
        trace: None,
        limits: pi_exthost::Limits::default(),
        now,
    };
    let own = sub("own");
    let identity = Identity {
        id: "test".into(),
        version: "1.0.0".into(),
        artifact: None,
        provenance: Provenance::Trusted,
        origins: Vec::new(),
        declared: Declared::new(None, None),
        evidence: pi_exthost::launcher::Evidence::CLEAN,
        folder: own.clone(),
        own: Own::folder(own),
        data: sub("data"),
        temporary: sub("temporary"),
    };
    let dispatcher = Dispatcher::new(fittings);
    Seat { desk: dispatcher.desk(identity).expect("a desk"), dispatcher, log }
}

pub(crate) async fn start(program: Program) -> Result<Arc<JsGuest>, GuestFault> {
    JsGuest::start(program, desk(&Heard::default())).await
}

pub(crate) fn ask() -> Ask {
    Ask { cancel: CancellationToken::new(), stopwatch: Stopwatch::unlimited() }
}

pub(crate) async fn call(guest: &JsGuest, name: &str, input: Value) -> Result<ToolAnswer, GuestFault> {
    call_with(guest, name, input, ask()).await
}

pub(crate) async fn call_with(guest: &JsGuest, name: &str, input: Value, ask: Ask) -> Result<ToolAnswer, GuestFault> {
    let Value::Object(input) = input else { panic!("arguments are an object") };
    let (updates, _) = mpsc::channel(8);
    let call = ToolInvocation { call_id: "c1".into(), name: name.to_owned(), input, updates };
    guest.call_tool(call, ask).await
}

/// The text that a tool answered with.
pub(crate) fn text(answer: &ToolAnswer) -> String {
    let text = |block: &Block| if let Block::Text(text) = block { text.text.clone() } else { "?".to_owned() };
    answer.output.content.iter().map(text).collect::<Vec<_>>().join("|")
}

/// Runs the body of a tool `t` and gives the text that it returns.
pub(crate) async fn run(body: &str) -> String {
    let guest = start(program(&tool(body))).await.expect("it loads");
    match call(&guest, "t", json!({})).await {
        Ok(answer) => text(&answer),
        Err(fault) => format!("{fault:?}"),
    }
}

/// An extension with one tool of this body; what it returns is the text of its answer.
pub(crate) fn tool(body: &str) -> String {
    format!(
        "export default function (pi) {{
            pi.registerTool({{ name: 't', label: 'T', description: 'd', parameters: {{ type: 'object' }},
                async execute(id, params, signal, onUpdate, ctx) {{
                    const value = await (async () => {{ {body} }})();
                    return {{ content: [{{ type: 'text', text: String(value) }}], details: {{}} }};
                }} }});
        }}"
    )
}
