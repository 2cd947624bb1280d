//! Where the extensions of a session ask their host: a dispatcher with a desk for each of them, and its ledger.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_exthost::{
    Desk, Dispatcher, Fittings, GrantsFile, GuestId, Guests, Identity, Ledger, Limits, Rulebook, SessionPort,
    SystemResolver, launcher::Own, ledger,
};
use pi_extproto::capability::Declared;
use pi_policy::{Evidence, Moment, Provenance, config};
use pi_redact::Redactor;
use pi_tools::{
    Environment, Images, Registry, Settings, Shell,
    files::{FileQueue, Folders},
};
use serde_json::{Value, json};

pub(crate) struct Desks {
    dispatcher: Dispatcher,
    logs: PathBuf,
    _desks: Vec<Desk>,
}

impl Desks {
    /// For all who are there, under these rules.
    pub(crate) fn new(
        folder: &Path,
        port: Arc<dyn SessionPort>,
        guests: &Arc<Guests>,
        policy: &Value,
        redactor: Redactor,
    ) -> Self {
        let at = |name: &str| folder.join(name);
        let (redactor, logs) = (Arc::new(redactor), at("logs"));
        let settings = json!({ "extensions": { "policy": policy } });
        let rules = config::load(settings.to_string().as_bytes()).unwrap().value;
        let now = || Moment::from_unix_millis(1_767_225_600_000);
        let dispatcher = Dispatcher::new(Fittings {
            port,
            rulebook: Rulebook::open(rules, None, GrantsFile::in_folder(&at("home/.pi/agent"))).unwrap(),
            ledger: Ledger::open(ledger::Settings::new(&logs, "s1"), Arc::clone(&redactor), now).unwrap(),
            tools: Registry::built_in(),
            tooling: Settings {
                shell: Shell::default(),
                environment: Environment::default(),
                temporary: at("temporary"),
                images: Images::AsTheyAre,
                redactor,
            },
            queue: Arc::new(FileQueue::default()),
            folders: Folders {
                project: at("project"),
                home: Some(at("home")),
                agent: Some(at("home/.pi/agent")),
                ..Folders::default()
            },
            variables: BTreeMap::new(),
            resolver: Arc::new(SystemResolver),
            proxy: None,
            keys: None,
            models: None,
            trace: None,
            limits: Limits::default(),
            now,
        });
        let identity = |id: GuestId| Identity {
            version: "1.0.0".to_owned(),
            artifact: None,
            provenance: Provenance::Trusted,
            origins: vec![format!("/extensions/{id}")],
            declared: Declared::new(None, None),
            evidence: Evidence::unknown(),
            folder: at("project"),
            own: Own::folder(at("project")),
            data: at("data").join(id.as_str()),
            temporary: at("temporary").join(id.as_str()),
            id,
        };
        let ids = guests.registrations().into_iter().map(|registration| registration.id.clone());
        let desks = ids.map(|id| dispatcher.desk(identity(id)).unwrap()).collect();
        dispatcher.introduce(guests);
        Self { dispatcher, logs, _desks: desks }
    }

    /// What the ledger holds of calls and decisions: whose, which, and what came of it.
    pub(crate) async fn ledger(&self) -> Vec<String> {
        self.dispatcher.ledger().flush().await.unwrap();
        let text = std::fs::read_to_string(self.logs.join("s1.jsonl")).unwrap_or_default();
        let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let told = entries.filter_map(|entry| {
            let (data, event) = (&entry["data"], entry["event"].as_str()?);
            let is_meant = event.starts_with("host_call.") || event.starts_with("policy.");
            let parts = [
                &entry["correlation"]["extension_id"],
                &entry["event"],
                &data["capability"],
                &data["verdict"],
                &data["error"]["code"],
            ];
            let words: Vec<&str> = parts.iter().filter_map(|part| part.as_str()).collect();
            is_meant.then(|| words.join(" "))
        });
        told.collect()
    }
}
