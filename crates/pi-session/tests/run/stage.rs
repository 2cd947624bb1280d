//! A session in a temporary project, with a scripted model behind a real socket.

use std::{path::PathBuf, sync::Arc, time::Duration};

use pi_exthost::{Guest, Guests, Patience, port::Mode};
use pi_policy::{Moment, Policy};
use pi_provider::{
    Catalog,
    catalog::{Origin, Source, SourceFile},
    client::{Client, Settings as ClientSettings},
    credential::{self, AuthFile},
    transport::Network,
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_session::{
    Beginning, Blueprint, Ending, Lapse, Owner, Post, Prompted, Session, Silence, Storage, Subscription, file,
    input::{self, Composer, ImageRule, Mentions},
    models::{Keys, Models, scope::Scope},
    offer::ActiveTools,
    queue::{Delivery, Saying},
    resources::{self, Discovery, Places},
    retry::RetrySettings,
    settings::trust::Trust,
    start_at,
};
use pi_testkit::{Reply, Script, ScriptedGuest, Server};
use pi_tools::{
    Environment, Images, Registry, Settings, Shell, Workspace,
    files::{FileQueue, Folders},
};
use pi_transcript::{AgentEvent, Header, Message, SessionId, ThinkingLevel};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{desks::Desks, tell::tell};

/// A secret of the environment, which must not be seen by anybody.
pub(crate) const PLANTED: &str = "sk-planted-0f9e8d7c6b5a";

pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) server: Server,
    pub(crate) session: Session,
    pub(crate) events: Subscription,
    /// Nothing where there are no extensions.
    desks: Option<Desks>,
}

impl Stage {
    /// A session whose model gives these answers, one after the other.
    pub(crate) async fn new(answers: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(answers, |_| {}).await
    }

    /// The same with changes to what the session is made of.
    pub(crate) async fn with(answers: impl IntoIterator<Item = Reply>, change: impl FnOnce(&mut Blueprint)) -> Self {
        Self::scripted(answers.into_iter().fold(Script::new(), Script::then), change).await
    }

    /// The same with a model that does what the script says.
    pub(crate) async fn scripted(script: Script, change: impl FnOnce(&mut Blueprint)) -> Self {
        Self::at(Post::new(), script, Guests::none(), &json!({}), change).await
    }

    /// The same with extensions, which do what their scripts say.
    pub(crate) async fn with_guests(
        answers: impl IntoIterator<Item = Reply>,
        scripts: &[&str],
    ) -> (Self, Vec<Arc<ScriptedGuest>>) {
        Self::with_guests_and(answers, scripts, |_| {}).await
    }

    /// The same with changes to what the session is made of.
    pub(crate) async fn with_guests_and(
        answers: impl IntoIterator<Item = Reply>,
        scripts: &[&str],
        change: impl FnOnce(&mut Blueprint),
    ) -> (Self, Vec<Arc<ScriptedGuest>>) {
        Self::company(answers, scripts, &json!({}), change).await
    }

    /// The same with rules of the person for extensions.
    pub(crate) async fn under(
        policy: Value,
        answers: impl IntoIterator<Item = Reply>,
        scripts: &[&str],
    ) -> (Self, Vec<Arc<ScriptedGuest>>) {
        Self::company(answers, scripts, &policy, |_| {}).await
    }

    async fn company(
        answers: impl IntoIterator<Item = Reply>,
        scripts: &[&str],
        policy: &Value,
        change: impl FnOnce(&mut Blueprint),
    ) -> (Self, Vec<Arc<ScriptedGuest>>) {
        let post = Post::new();
        let guests: Vec<_> = scripts.iter().map(|script| ScriptedGuest::new(script, post.port()).unwrap()).collect();
        let mut attached =
            Guests::new(Patience { handler: Duration::from_secs(2), ..Patience::default() }, post.reporter());
        for guest in &guests {
            attached.attach(Arc::clone(guest) as Arc<dyn Guest>).unwrap();
        }
        let script = answers.into_iter().fold(Script::new(), Script::then);
        (Self::at(post, script, attached, policy, change).await, guests)
    }

    async fn at(
        post: Post,
        script: Script,
        guests: Guests,
        policy: &Value,
        change: impl FnOnce(&mut Blueprint),
    ) -> Self {
        let server = Server::start(script).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "temporary", "home"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        let models = models(&server.url());
        let choice = models.find("scripted/model").unwrap();
        let id = SessionId::from("01900000-0000-7000-8000-000000000000");
        let header = Header::new(id.clone(), "2026-01-01T00:00:00.000Z", at("project").to_string_lossy());
        let opened = file::create(&at("session.jsonl"), header, fastrand::Rng::with_seed(7));
        let mut blueprint = Blueprint {
            id,
            models,
            own_models: Vec::new(),
            scope: Scope::default(),
            choice,
            thinking: ThinkingLevel::Off,
            policy: Arc::new(Policy::default()),
            redactor: Arc::new(redactor()),
            tools: Registry::built_in(),
            active_tools: ActiveTools::Usual(["read", "bash", "edit", "write", "look"].map(str::to_owned).to_vec()),
            workspace: workspace(&folder),
            shell: None,
            system: Arc::default(),
            guests: Arc::new(guests),
            mode: Mode::Terminal,
            lapse: Lapse::Never,
            is_project_trusted: true,
            retry: RetrySettings { base: Duration::from_millis(1), ..RetrySettings::default() },
            compaction: pi_session::cut::Settings::default(),
            steering: Delivery::OneAtATime,
            follow_up: Delivery::OneAtATime,
            server_wait: Duration::from_secs(10),
            composer: Arc::new(composer(&folder)),
            beginning: Beginning::Startup,
            owner: Owner::Nobody,
            storage: Storage::File(Box::new(opened)),
            now: || Moment::from_unix_millis(1_767_225_600_000),
        };
        change(&mut blueprint);
        let guests = &blueprint.guests;
        let desks = || Desks::new(folder.path(), post.port(), guests, policy, redactor());
        let desks = (!guests.is_empty()).then(desks);
        let session = start_at(post, blueprint);
        let (_, events) = session.subscribe().await.unwrap();
        Self { folder, server, session, events, desks }
    }

    /// What the ledger holds of what extensions asked for.
    pub(crate) async fn ledger(&self) -> Vec<String> {
        self.desks.as_ref().expect("there are extensions").ledger().await
    }

    /// A path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    /// The file of the session.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("session.jsonl")
    }

    pub(crate) async fn say(&self, text: &str) -> Prompted {
        self.session.prompt(saying(text)).await.unwrap()
    }

    /// Says something, and tells everything that happened until the run had ended.
    pub(crate) async fn play(&mut self, text: &str) -> String {
        let prompted = self.say(text).await;
        let told = self.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
        match prompted {
            Prompted::Ran(Ending::Done) => told,
            Prompted::Ran(Ending::Failed { message, cause }) => {
                let code = cause.map_or("no call", |cause| cause.error().code().name());
                format!("{told}\n=> failed ({code}): {message}")
            }
            other => format!("{told}\n=> {other:?}"),
        }
    }

    /// Tells what happens up to the first event that `is_last`.
    pub(crate) async fn until(&mut self, is_last: impl Fn(&AgentEvent) -> bool) -> String {
        let mut told = Vec::new();
        loop {
            let event = self.events.next().await.unwrap();
            told.extend(tell(&event));
            if is_last(&event) {
                return told.join("\n");
            }
        }
    }

    /// Closes the session and reads its file: of every line its type, and of messages their role.
    pub(crate) async fn lines(&mut self) -> Vec<String> {
        self.session.close().await.unwrap();
        while self.events.next().await != Err(Silence::Ended) {}
        let text = std::fs::read_to_string(self.file()).unwrap_or_default();
        let line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            let role = value["message"]["role"].as_str();
            role.or(value["type"].as_str()).unwrap_or_default().to_owned()
        };
        text.lines().map(line).collect()
    }
}

pub(crate) fn saying(text: &str) -> Saying {
    Saying::new(Message::user(text, 0))
}

fn models(url: &str) -> Models {
    described(include_str!("scripted.yaml").replace("$URL", url))
}

/// A model that cannot think, behind no server.
pub(crate) fn thoughtless_models() -> Models {
    let manifest = include_str!("scripted.yaml").replace("$URL", "http://127.0.0.1:9");
    described(manifest.replace("reasoning: true", "reasoning: false"))
}

/// Several models that cannot be reached.
pub(crate) fn several_models() -> Models {
    let mut manifest = include_str!("scripted.yaml").replace("$URL", "http://127.0.0.1:9");
    for id in ["small", "large", "odd"] {
        let model =
            format!("    {id}: {{ name: {id}, context_window: 20000, model_capabilities: {{ reasoning: true }} }}\n");
        manifest.push_str(&model);
    }
    described(manifest)
}

fn described(manifest: String) -> Models {
    let file = SourceFile { path: "scripted.yaml".to_owned(), text: Ok(manifest) };
    let source = Source { origin: Origin::CommandLine, trust: credential::Trust::Trusted, files: vec![file] };
    let catalog = Catalog::load(&[source]);
    assert_eq!(catalog.findings(), []);
    let keys = Keys {
        environment: Arc::new(|_| None),
        auth_file: AuthFile::none(),
        explicit: None,
        now: || std::time::SystemTime::UNIX_EPOCH,
    };
    Models::new(catalog, Client::new(ClientSettings::new(Network::default())), keys)
}

/// Knows the template `greet` and nothing else.
fn composer(folder: &TempDir) -> Composer {
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("home/.pi/agent/prompts")).unwrap();
    std::fs::write(at("home/.pi/agent/prompts/greet.md"), "Greet $1 warmly.").unwrap();
    let places = Places::usual(Some(at("home/.pi/agent")), Some(at("home")), at("project"), Trust::Trusted);
    Composer {
        resources: resources::discover(&places),
        places,
        redactor: Arc::new(redactor()),
        pictures: Box::new(input::as_it_is),
        mentions: Mentions::Attach,
        images: ImageRule::Send,
        skills: Discovery::On,
    }
}

fn redactor() -> Redactor {
    Redactor::new(Options { secrets: vec![PLANTED.to_owned()], evidence: Evidence::Shapes, personal: Personal::Keep })
}

fn workspace(folder: &TempDir) -> Arc<Workspace> {
    let at = |name: &str| folder.path().join(name);
    let folders = Folders {
        project: at("project"),
        home: Some(at("home")),
        agent: Some(at("home/.pi/agent")),
        ..Folders::default()
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let settings = Settings {
        shell: Shell::default(),
        environment: Environment::default().with("PATH", path).with("HOME", at("home")),
        temporary: at("temporary"),
        images: Images::Scaled,
        redactor: Arc::new(redactor()),
    };
    Arc::new(Workspace::new(folders.places().unwrap(), settings, Arc::new(FileQueue::default())))
}
