//! A dispatcher with one guest in a folder of its own, driven by lines of text.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures_util::future::BoxFuture;
use pi_exthost::{
    Desk, Dispatcher, Fittings, GrantsFile, GuestId, Identity, Ledger, Limits, ProxyFinder, Resolver, Rulebook, Terms,
    Trace, launcher::Own, ledger, port::Settled,
};
use pi_extproto::{
    capability::{Capability, CapabilityManifest, Declared},
    host::{HostCall, HostResult},
};
use pi_policy::{Evidence, Extent, Mark, Marks, Moment, PathStyle, Provenance, config};
use pi_redact::{Options, Personal, Redactor};
use pi_testkit::SessionDouble;
use pi_tools::{Environment, Images, Registry, Settings, Shell, Withheld, files::FileQueue, files::Folders};
use pi_transcript::question::Answer;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What is different from the usual stage.
pub(crate) struct Plan {
    pub(crate) policy: Value,
    pub(crate) project: Option<Value>,
    pub(crate) answers: Vec<Settled>,
    pub(crate) manifest: Option<Value>,
    pub(crate) provenance: Provenance,
    pub(crate) limits: Limits,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) proxy: Option<ProxyFinder>,
    pub(crate) allowance: ledger::Allowance,
    pub(crate) segment_bytes: u64,
    pub(crate) traced: bool,
    /// Files that others run.
    pub(crate) programs: Vec<&'static str>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            policy: json!({}),
            project: None,
            answers: Vec::new(),
            manifest: None,
            provenance: Provenance::Trusted,
            limits: Limits::default(),
            variables: BTreeMap::new(),
            resolver: Arc::new(Script::default()),
            proxy: None,
            allowance: ledger::Allowance::default(),
            segment_bytes: 8 << 20,
            traced: false,
            programs: Vec::new(),
        }
    }
}

pub(crate) struct Stage {
    pub(crate) root: TempDir,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) desk: Desk,
    pub(crate) session: Arc<SessionDouble>,
}

pub(crate) fn now() -> Moment {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Moment::from_unix_millis(u64::try_from(time.as_millis()).expect("a time"))
}

pub(crate) fn redactor() -> Arc<Redactor> {
    let evidence = pi_redact::Evidence::KeysAndShapes;
    Arc::new(Redactor::new(Options {
        secrets: vec!["hunter2-is-the-secret".to_owned()],
        evidence,
        personal: Personal::Keep,
    }))
}

pub(crate) fn chose(option: &str) -> Settled {
    Settled::Answered(Answer::Select { value: option.to_owned() })
}

impl Stage {
    pub(crate) fn new(plan: Plan) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let real = root.path().canonicalize().expect("a folder");
        let at = |path: &str| real.join(path);
        for folder in ["project/.pi", "home/.ssh", "agent/extensions/g1", "tmp"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        fs::write(at("home/.ssh/id_rsa"), "PRIVATE").expect("a file");
        fs::write(at("agent/auth.json"), "KEYS").expect("a file");
        fs::write(at("agent/extensions/g1/index.js"), "code").expect("a file");
        let marks = Marks::default();
        let program = |path: &&str| Mark::program(PathStyle::HOST, at(path).to_str()?, Extent::File, Some("g2")).ok();
        marks.set(plan.programs.iter().filter_map(program));
        let folders = Folders {
            project: at("project"),
            home: Some(at("home")),
            agent: Some(at("agent")),
            session: Some(at("agent/sessions/own.jsonl")),
            kept: vec![at("project/kept"), at("")],
            marks,
        };
        let session = SessionDouble::new(plan.answers);
        let settings = json!({ "extensions": { "policy": plan.policy } });
        let base = config::load(settings.to_string().as_bytes()).expect("settings").value;
        let project = plan.project.map(|policy| {
            let settings = json!({ "extensions": { "policy": policy } });
            config::parse(settings.to_string().as_bytes()).expect("settings").value
        });
        let rulebook =
            Rulebook::open(base, project.as_ref(), GrantsFile::in_folder(&at("agent"))).expect("no decisions yet");
        let ledger = ledger::Settings {
            allowance: plan.allowance,
            segment_bytes: plan.segment_bytes,
            ..ledger::Settings::new(at("logs"), "s1")
        };
        let inherited = [("PATH", std::env::var("PATH").unwrap_or_default()), ("HOME", "/h".to_owned())];
        let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
        let trace = plan.traced.then(|| Trace::create(&at("trace.jsonl"), redactor()).expect("a file"));
        let dispatcher = Dispatcher::new(Fittings {
            port: Arc::clone(&session) as _,
            rulebook,
            ledger: Ledger::open(ledger, redactor(), now).expect("a ledger"),
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
            variables: plan.variables,
            resolver: plan.resolver,
            proxy: plan.proxy,
            keys: None,
            models: None,
            trace,
            limits: plan.limits,
            now,
        });
        let manifest = plan
            .manifest
            .map(|manifest| serde_json::from_value::<CapabilityManifest>(manifest).expect("a capability manifest"));
        let desk = dispatcher
            .desk(Identity {
                id: GuestId::from("g1"),
                version: "1.2.3".to_owned(),
                artifact: None,
                provenance: plan.provenance,
                origins: vec!["/extensions/g1".to_owned()],
                declared: Declared::new(manifest.as_ref(), None),
                evidence: Evidence::unknown(),
                folder: at("agent/extensions/g1"),
                own: Own::folder(at("agent/extensions/g1")),
                data: at("agent/data/g1"),
                temporary: at("tmp/g1"),
            })
            .expect("a desk");
        Self { root, dispatcher, desk, session }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().expect("a folder").join(path)
    }

    /// Asks in the JSON form, with an honest claim.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> HostResult {
        let params = self.placed(&params).as_object().expect("an object").clone();
        let method = method.into();
        let capability = pi_extproto::capability::derive(&method, &params).expect("a capability");
        self.claim(capability, method.as_str(), Value::Object(params)).await
    }

    pub(crate) async fn claim(&self, capability: Capability, method: &str, params: Value) -> HostResult {
        let call = json!({ "call_id": "c", "capability": capability, "method": method, "params": params });
        let call: HostCall = serde_json::from_value(call).expect("a call");
        self.desk.exchange(call, Terms::background()).await
    }

    /// What came of it, in one line, with the folder of the test as `ROOT`.
    pub(crate) async fn told(&self, method: &str, params: Value) -> String {
        let result = self.ask(method, params).await;
        self.describe(&result)
    }

    pub(crate) fn describe(&self, result: &HostResult) -> String {
        let text = match &result.error {
            None => format!("ok {}", Value::Object(result.output.clone())),
            Some(error) => {
                let code = json!(error.code);
                format!("{} {}", code.as_str().unwrap_or_default(), error.message)
            }
        };
        text.replace(&*self.path("").to_string_lossy().trim_end_matches('/').to_owned(), "ROOT")
    }

    /// `ROOT` stands for the folder of the test.
    fn placed(&self, value: &Value) -> Value {
        let root = self.path("").to_string_lossy().trim_end_matches('/').to_owned();
        serde_json::from_str(&value.to_string().replace("ROOT", &root)).expect("JSON")
    }

    /// What the ledger says about the calls so far, and whether it is whole.
    pub(crate) async fn ledger(&self) -> String {
        self.dispatcher.ledger().flush().await.expect("it is written");
        let folder = self.path("logs");
        let reading = ledger::reading::read(&folder, "s1").expect("a ledger");
        let statistics = ledger::reading::statistics(&reading);
        let own = statistics.extensions.get("g1").cloned().unwrap_or_default();
        let verified = ledger::reading::verify(&folder, "s1").expect("a ledger");
        assert!(verified.is_intact(), "{verified:?}");
        format!("{} calls, {} unfinished, {} denied, {} failed", own.calls, own.unfinished, own.denials, own.errors)
    }

    pub(crate) fn lines(&self) -> String {
        fs::read_to_string(self.path("logs/s1.jsonl")).expect("a ledger")
    }
}

/// Runs calls, one a line (`method {params}`), and compares what came of each. Lines that begin with `file`, `link` or
/// `folder` prepare the stage. The last line is what the ledger says.
#[track_caller]
pub(crate) fn check(plan: Plan, scenario: &str, expected: &str) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let found = runtime.block_on(async {
        let stage = Stage::new(plan);
        let mut found = Vec::new();
        for line in scenario.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').expect("a word and the rest");
            match word {
                "file" => {
                    let (path, content) = rest.split_once(' ').unwrap_or((rest, ""));
                    fs::create_dir_all(stage.path(path).parent().expect("a folder")).expect("a folder");
                    fs::write(stage.path(path), content).expect("a file");
                }
                "folder" => fs::create_dir_all(stage.path(rest)).expect("a folder"),
                #[cfg(unix)]
                "link" => {
                    let (path, target) = rest.split_once(" -> ").expect("a path and a target");
                    let target = target.replace("ROOT", &stage.path("").to_string_lossy());
                    std::os::unix::fs::symlink(target, stage.path(path)).expect("a link");
                }
                "show" => found.push(format!("{rest}: {}", show(&stage.path(rest)))),
                method => {
                    let params = serde_json::from_str(rest).unwrap_or_else(|error| panic!("{rest}: {error}"));
                    found.push(stage.told(method, params).await);
                }
            }
        }
        found.push(stage.ledger().await);
        found
    });
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

fn show(path: &Path) -> String {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => "a folder".to_owned(),
        Ok(metadata) if metadata.is_symlink() => "a link".to_owned(),
        Ok(_) => fs::read_to_string(path).expect("a text"),
        Err(_) => "nothing".to_owned(),
    }
}

/// Names and where they lead; each time a name is asked for it may lead elsewhere.
#[derive(Default)]
pub(crate) struct Script {
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
}

impl Script {
    /// The last answer stays.
    pub(crate) fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let address = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(address).collect()).collect();
        self.names.lock().expect("no panic").insert(name.to_owned(), answers);
        self
    }
}

impl Resolver for Script {
    fn resolve<'a>(&'a self, name: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut names = self.names.lock().expect("no panic");
            let answers = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
            match answers.len() {
                0 => Ok(Vec::new()),
                1 => Ok(answers[0].clone()),
                _ => Ok(answers.pop_front().unwrap_or_default()),
            }
        })
    }
}

/// So long something may take that takes no time.
pub(crate) const AGES: Duration = Duration::from_secs(20);

/// Somebody who helps when the test itself is held up, and then it has failed.
pub(crate) struct Rescue {
    done: mpsc::Sender<()>,
    helper: thread::JoinHandle<bool>,
}

impl Rescue {
    /// Does `work` when the test takes too long.
    pub(crate) fn with(work: impl FnOnce() + Send + 'static) -> Self {
        let (done, waiting) = mpsc::channel();
        let helper = thread::spawn(move || {
            let is_needed = waiting.recv_timeout(AGES) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_needed {
                work();
            }
            is_needed
        });
        Self { done, helper }
    }

    pub(crate) fn was_needed(self) -> bool {
        drop(self.done);
        self.helper.join().expect("it does not panic")
    }
}
