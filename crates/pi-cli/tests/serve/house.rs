//! A server in the process of the test whose sessions have extensions, which do what their scripts say. Clients reach it
//! over a real socket.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pi_exthost::{Guest, Guests, Patience, port::Mode};
use pi_policy::{Moment, Policy};
use pi_provider::{
    Catalog,
    catalog::{Origin, Source, SourceFile},
    client::{Client as Caller, Settings as CallSettings},
    credential::{self, AuthFile},
    transport::Network,
};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_server::{
    door::{Door, Rule},
    hall::now,
    server::Server,
    settings::Settings,
    transport::http,
    workshop::{Made, MakeError, Order, Workshop},
};
use pi_session::{
    Blueprint, Lapse, Post, Storage, Switch,
    directory::{Catalogue, Stored},
    input::{self, Composer, ImageRule, Mentions},
    models::{Keys, Models},
    offer::ActiveTools,
    queue::Delivery,
    resources::{self, Discovery, Places},
    retry::RetrySettings,
    settings::trust::Trust,
    start_at,
};
use pi_testkit::{Client, Script, ScriptedGuest, server::Server as ModelServer};
use pi_tools::{
    Environment, Images, Registry, Settings as ToolSettings, Shell, Workspace,
    files::{FileQueue, Folders},
};
use pi_transcript::{ProviderId, SessionId, ThinkingLevel};
use pi_wire::response::CircuitBreakerMetrics;
use serde_json::json;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::room::{make_folder, read};

const MANIFEST: &str = include_str!("../scenarios/provider.yaml");

/// The server with everything that it needs. It ends with the value.
pub(crate) struct House {
    folder: TempDir,
    _model: ModelServer,
    makers: Arc<Makers>,
    door: Arc<Door>,
    pub(crate) address: String,
    _stop: DropGuard,
}

/// Makes sessions with extensions.
struct Makers {
    folder: PathBuf,
    url: String,
    scripts: Vec<String>,
    /// Those of all sessions; tests look at what they heard.
    guests: Mutex<Vec<Arc<ScriptedGuest>>>,
    /// Every session that is made takes one.
    places: Semaphore,
}

impl House {
    /// A server whose model does what `script` says, and whose sessions have an extension for each of `scripts`.
    pub(crate) async fn open(script: Script, scripts: &[&str]) -> Self {
        Self::open_as(script, scripts, |_| {}).await
    }

    /// With other settings.
    pub(crate) async fn open_as(script: Script, scripts: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        let model = ModelServer::start(script).await.expect("a port on loopback");
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["project", "temporary", "home"] {
            make_folder(&folder.path().join(name));
        }
        let makers = Arc::new(Makers {
            folder: folder.path().canonicalize().expect("it is there"),
            url: model.url(),
            scripts: scripts.iter().map(|script| (*script).to_owned()).collect(),
            guests: Mutex::default(),
            places: Semaphore::new(Semaphore::MAX_PERMITS),
        });
        let mut settings = Settings::usual(folder.path().join("server"));
        change(&mut settings);
        let server = Server::start(settings, Arc::clone(&makers) as _, Arc::new(redactor())).expect("it starts");
        let server = Arc::new(server);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port on loopback");
        let at = listener.local_addr().expect("it is bound");
        let door = Arc::new(server.door(Rule::Token, at).expect("a token"));
        let stop = CancellationToken::new();
        tokio::spawn(http::serve(server, Arc::clone(&door), listener, stop.clone()));
        Self { folder, _model: model, makers, door, address: at.to_string(), _stop: stop.drop_guard() }
    }

    /// A client that was let in, and is told of the session `s`, which it makes if it is not there.
    pub(crate) async fn client(&self, name: &str) -> Client {
        let url = format!("ws://{}/ws?clientId={name}", self.address);
        let mut client = Client::connect(&url, Some(&self.token())).await.expect("the token is good");
        // That it is there already is as good.
        client.ask(&json!({"type": "create_session", "id": "make", "sessionId": "s"})).await;
        let heard = client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
        assert_eq!(heard["success"], true, "{heard}");
        client
    }

    pub(crate) fn token(&self) -> String {
        read(&self.folder.path().join("server/token")).expect("the server made one").trim().to_owned()
    }

    /// What a person at a terminal is shown for a browser.
    pub(crate) fn ticket(&self) -> String {
        self.door.ticket(now().0).reveal().to_owned()
    }

    /// Makes no session any more, until [`Self::go_on`].
    pub(crate) fn pause(&self) {
        self.makers.places.forget_permits(Semaphore::MAX_PERMITS);
    }

    /// Makes so many more.
    pub(crate) fn go_on(&self, sessions: usize) {
        self.makers.places.add_permits(sessions);
    }

    /// What the extensions heard, line by line.
    pub(crate) fn heard(&self) -> Vec<String> {
        let guests = self.makers.guests.lock().unwrap_or_else(PoisonError::into_inner);
        guests.iter().flat_map(|guest| guest.heard()).collect()
    }
}

impl Makers {
    fn start(&self, order: Order) -> Made {
        let post = Post::new();
        let mut guests = Guests::new(Patience::default(), post.reporter());
        for script in &self.scripts {
            let guest = ScriptedGuest::new(script, post.port()).expect("the script of a test is good");
            guests.attach(Arc::clone(&guest) as Arc<dyn Guest>).expect("each has its own id");
            self.guests.lock().unwrap_or_else(PoisonError::into_inner).push(guest);
        }
        let models = models(&self.url);
        let choice = models.find("scripted/model").expect("it is in the manifest");
        let blueprint = Blueprint {
            id: SessionId::from("01900000-0000-7000-8000-000000000000"),
            models,
            own_models: Vec::new(),
            scope: pi_session::models::scope::Scope::default(),
            choice,
            thinking: ThinkingLevel::Off,
            policy: Arc::new(Policy::default()),
            redactor: Arc::new(redactor()),
            tools: Registry::built_in(),
            active_tools: ActiveTools::Usual(["read", "bash", "look"].map(str::to_owned).to_vec()),
            workspace: workspace(&self.folder),
            shell: Some(order.shell),
            system: Arc::default(),
            guests: Arc::new(guests),
            mode: Mode::Server,
            // So short that it is seen what keeps a question open.
            lapse: Lapse::After(Duration::from_millis(1)),
            is_project_trusted: true,
            retry: RetrySettings::default(),
            compaction: pi_session::cut::Settings::default(),
            steering: Delivery::OneAtATime,
            follow_up: Delivery::OneAtATime,
            server_wait: Duration::from_secs(10),
            composer: Arc::new(composer(&self.folder)),
            beginning: order.beginning,
            owner: order.owner,
            storage: Storage::Memory,
            now: || Moment::from_unix_millis(1_767_225_600_000),
        };
        let session = start_at(post, blueprint);
        Made { session, file: None, text: None }
    }
}

impl Workshop for Makers {
    fn make(&self, order: Order) -> BoxFuture<'_, Result<Made, MakeError>> {
        Box::pin(async {
            self.places.acquire().await.expect("nobody closes it").forget();
            Ok(self.start(order))
        })
    }

    fn stored(&self, _: Arc<Catalogue>) -> BoxFuture<'_, Result<Vec<Stored>, MakeError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn delete(&self, _: PathBuf, _: String) -> BoxFuture<'_, Result<(), MakeError>> {
        Box::pin(async { Err(MakeError::Missing) })
    }

    fn remember_extension(&self, _: &str, _: Switch) -> BoxFuture<'_, Result<(), MakeError>> {
        Box::pin(async { Err(MakeError::Missing) })
    }

    fn extensions(&self) -> Switch {
        Switch::On
    }

    fn circuits(&self) -> Vec<CircuitBreakerMetrics> {
        Vec::new()
    }

    fn left_alone(&self, _: &ProviderId) -> Option<Duration> {
        None
    }

    fn usual_folder(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn usual_model(&self) -> Option<String> {
        None
    }

    fn sessions_folder(&self) -> Option<PathBuf> {
        None
    }
}

fn models(url: &str) -> Models {
    let file = SourceFile { path: "scripted.yaml".to_owned(), text: Ok(MANIFEST.replace("$URL", url)) };
    let source = Source { origin: Origin::CommandLine, trust: credential::Trust::Trusted, files: vec![file] };
    let keys = Keys {
        environment: Arc::new(|_| None),
        auth_file: AuthFile::none(),
        explicit: None,
        now: || std::time::SystemTime::UNIX_EPOCH,
    };
    Models::new(Catalog::load(&[source]), Caller::new(CallSettings::new(Network::default())), keys)
}

fn composer(folder: &Path) -> Composer {
    let (home, project) = (folder.join("home"), folder.join("project"));
    let places = Places::usual(Some(home.join(".pi/agent")), Some(home), project, Trust::Trusted);
    Composer {
        resources: resources::discover(&places),
        places,
        redactor: Arc::new(redactor()),
        pictures: Box::new(input::as_it_is),
        mentions: Mentions::AttachBelow,
        images: ImageRule::Send,
        skills: Discovery::On,
    }
}

fn redactor() -> Redactor {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep })
}

fn workspace(folder: &Path) -> Arc<Workspace> {
    let home = folder.join("home");
    let folders = Folders {
        project: folder.join("project"),
        home: Some(home.clone()),
        agent: Some(home.join(".pi/agent")),
        ..Folders::default()
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let settings = ToolSettings {
        shell: Shell::default(),
        environment: Environment::default().with("PATH", path).with("HOME", home),
        temporary: folder.join("temporary"),
        images: Images::Scaled,
        redactor: Arc::new(redactor()),
    };
    Arc::new(Workspace::new(folders.places().expect("they are there"), settings, Arc::new(FileQueue::default())))
}
