//! The extensions of a folder: which there are, under which rules, which are switched off, and what they are started with.
//!
//! Those of one session, which run, are its [company](super::company).

use std::{
    collections::{BTreeMap, BTreeSet},
    future::ready,
    io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use pi_extc::CacheFault;
use pi_exthost::{
    Dispatcher, Fittings, GrantsFile, GuestId, Guests, KeyRing, Ledger, ModelList, ProxyFinder, Resolver, Rulebook,
    SystemResolver, Trace,
    guest::{Flag, FlagDefault},
    launcher::{LaunchFault, Launcher, Prepared, Source},
    ledger::{self, LedgerFault},
    port::{Mode, ModelInfo, SessionPort},
};
use pi_extproto::connector::environment::Credential;
use pi_guests::{
    Screening, Surroundings, Tiers,
    discovery::{self, Discovered, Listed, Npm, Places, Wanted},
    js::Limits,
    mcp::{self, Base, Pins, Server},
};
use pi_policy::{Mark, Policy, config};
use pi_provider::transport::Proxies;
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_session::{
    Switch,
    models::Models,
    settings::{self, Files, Origin, Settings, change, trust::Trust},
};
use pi_tools::{
    Registry,
    files::{FileQueue, Folders},
};
use pi_transcript::ProviderId;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use url::Url;

use super::{Ground, cost::cost, marks, now};
use crate::{
    arguments::talk::ExtensionArguments,
    env::{self, Environment},
    failure::{self, Failure, SessionFailure},
    servers,
    stock::StockRoom,
};

/// How long the ledger of a session that has ended may take to be closed, and how often we look.
const CLOSING: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(5);

/// The folder of the ledgers of trials, beside those of sessions.
pub(crate) const TRIALS: &str = "trials";

/// How long a session that somebody looks at waits for its servers: those that are quick are there from its first request on.
const AT_FIRST: Duration = Duration::from_millis(250);

/// What every session of a folder needs to start its extensions.
pub(crate) struct Extensions {
    /// Where they are looked for, each time that they are started.
    places: Places,
    /// Nothing but what is named on the command line.
    only_named: bool,
    named: Vec<String>,
    /// Nothing if extensions cannot be built here.
    launchers: Option<Launchers>,
    /// What the person's settings say at the beginning.
    policy: Policy,
    /// What the project takes away then.
    project: Option<config::Settings>,
    base: Base,
    /// Whether a session begins only when its servers are there: somebody named the tools that it is to have.
    needs_servers: bool,
    environment: Environment,
    /// Where ledgers are kept; nothing where there is no place for them.
    logs: Option<PathBuf>,
    /// Where sessions are kept, if the settings name a place.
    sessions: Option<PathBuf>,
    /// Where the protocol is written.
    traced: Option<PathBuf>,
    /// Flags of extensions that somebody gave a value.
    flags: BTreeMap<String, Value>,
    is_watching: bool,
    /// What ledgers call what is going on, where a harness gave it a name.
    scenario: Option<String>,
}

/// Makes guests of sources. How much memory they get and whether they are refused for what the scanner found is for the person
/// to say: a project says so of what it brings itself, and takes nobody's guard away.
struct Launchers {
    person: Arc<dyn Launcher>,
    project: Arc<dyn Launcher>,
}

/// What there is at a moment.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) sources: Vec<Source>,
    /// Servers of the Model Context Protocol, also those that are off.
    pub(crate) servers: Vec<Server>,
    pub(crate) off: Off,
    /// What is left out.
    pub(crate) notices: Vec<String>,
}

/// The code of an extension.
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) files: Vec<PathBuf>,
}

/// Which extensions are switched off, by their ids, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Off {
    by_person: BTreeSet<String>,
    by_project: BTreeSet<String>,
}

/// What guests share with the session's own tools.
pub(crate) struct Bench {
    pub(crate) tools: Registry,
    pub(crate) tooling: pi_tools::Settings,
    pub(crate) queue: Arc<FileQueue>,
    pub(crate) folders: Folders,
    /// Of the ledger and the trace, which nobody runs: see [`record_redactor`].
    pub(crate) record_redactor: Arc<Redactor>,
    /// Raw keys, for extensions that were granted to have them.
    pub(crate) keys: Option<KeyRing>,
    /// What extensions are told of models while they load.
    pub(crate) models: Option<ModelList>,
}

impl Off {
    pub(crate) fn of(settings: &Settings) -> Self {
        let mut off = Self::default();
        for name in &settings.disabled_extensions {
            let by = if name.origin == Origin::Project { &mut off.by_project } else { &mut off.by_person };
            by.insert(name.text.clone());
        }
        off
    }

    /// Why nobody but the project can switch it on.
    pub(crate) fn by_project(&self, id: &str) -> Option<String> {
        let why = "the project's settings switch it off: disabledExtensions in .pi/settings.json";
        self.by_project.contains(id).then(|| why.to_owned())
    }

    /// Whether anybody switched it off.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.by_person.contains(id) || self.by_project.contains(id)
    }
}

/// Writes down for good that a person switched an extension. Without an agent directory nothing is remembered.
pub(crate) fn remember(agent: Option<&Path>, id: &str, switch: Switch) -> Result<(), String> {
    let agent = agent.ok_or("there is no agent directory to remember it in; set PI_CODING_AGENT_DIR")?;
    let told = |error: change::ChangeError| failure::told(&error);
    change::switch_extension(&agent.join("settings.json"), id, switch).map_err(told)
}

impl Extensions {
    /// Finds them. What is left out is told; what somebody named must be there.
    pub(crate) fn find(
        arguments: &ExtensionArguments,
        ground: &Ground,
        policy: &Policy,
        environment: &Environment,
    ) -> Result<(Self, Vec<String>), Failure> {
        let places = Places {
            directory: ground.directory.clone(),
            is_trusted: ground.is_trusted(),
            agent: environment.agent_directory.clone(),
            home: environment.home.clone(),
            npm: environment.npm.clone(),
        };
        let missing = named(&places, &arguments.extension).notices;
        if !missing.is_empty() {
            let problems = missing.iter().map(ToString::to_string).collect();
            return Err(SessionFailure::Unloaded { problems }.into());
        }
        if let Some(path) = &arguments.trace_protocol {
            let unusable = |error: io::Error| SessionFailure::Unusable {
                option: "--trace-protocol",
                value: path.display().to_string(),
                why: error.to_string(),
            };
            Trace::try_out(path).map_err(unusable)?;
        }
        let project = project_policy(&ground.directory);
        let restricted = project.as_ref().and_then(|project| policy.restrict_by(project).ok());
        let in_force = restricted.as_ref().map_or(policy, |restricted| &restricted.value);
        let around = |policy: &Policy| surroundings(&ground.directory, policy, flags(arguments), environment);
        let mut notices = Vec::new();
        let launchers = match Launchers::new(around(policy), around(in_force), environment) {
            Ok(launchers) => Some(launchers),
            // What was named may be a guard: nothing begins without it.
            Err(problem) if !arguments.extension.is_empty() => {
                return Err(SessionFailure::Unloaded { problems: vec![problem] }.into());
            }
            Err(problem) => {
                notices.push(problem);
                None
            }
        };
        let extensions = Self {
            places,
            only_named: arguments.no_extensions,
            named: arguments.extension.clone(),
            launchers,
            policy: policy.clone(),
            project,
            base: server_base(
                &ground.directory,
                environment,
                mcp::Limits { retries_first: true, ..mcp::Limits::default() },
            ),
            needs_servers: false,
            environment: environment.clone(),
            logs: logs(environment),
            sessions: ground.settings.session_directory(environment.home.as_deref()),
            traced: arguments.trace_protocol.clone(),
            flags: flags(arguments),
            is_watching: ground.settings.watch_extensions,
            scenario: None,
        };
        let found = extensions.look_at(&ground.settings);
        notices.extend(found.notices.iter().cloned());
        if let Err(problem) = rules(policy, &found.servers) {
            notices.push(problem);
        }
        Ok((extensions, notices))
    }

    /// None, under these rules: for extensions that are tried one by one, whose ledgers do not stand among those of sessions.
    pub(crate) fn trial(policy: &Policy, environment: &Environment) -> Self {
        let nowhere =
            Places { directory: PathBuf::new(), is_trusted: false, agent: None, home: None, npm: Npm::default() };
        Self {
            places: nowhere,
            only_named: true,
            named: Vec::new(),
            launchers: None,
            policy: policy.clone(),
            project: None,
            base: server_base(Path::new("."), environment, mcp::Limits::default()),
            needs_servers: false,
            environment: environment.clone(),
            logs: logs(environment).map(|logs| logs.join(TRIALS)),
            sessions: None,
            traced: None,
            flags: BTreeMap::new(),
            is_watching: false,
            scenario: None,
        }
    }

    /// The same for a scenario that a test harness plays, by its name: there is no network in it. Without one nothing changes.
    #[must_use]
    pub(crate) fn in_scenario(self, scenario: Option<String>) -> Self {
        Self { scenario, ..self }
    }

    /// Whether what changes on the disk is loaded anew by itself.
    pub(super) fn is_watching(&self) -> bool {
        self.is_watching
    }

    /// Those that there are now: folders, settings and files of servers are read anew. Whether the project is trusted stays
    /// as it was.
    pub(crate) fn look(&self) -> Found {
        let trust = if self.places.is_trusted { Trust::Trusted } else { Trust::Untrusted };
        let (agent, project) = (self.environment.agent_directory.as_deref(), Some(self.places.directory.as_path()));
        let resolved = settings::load(&Files { agent, project, trust }, Vec::new());
        self.look_at(&resolved.settings)
    }

    fn look_at(&self, settings: &Settings) -> Found {
        let wanted = Wanted { only_named: self.only_named, named: self.named.clone(), listed: listed(settings) };
        let Discovered { sources, notices } = discovery::discover(&self.places, &wanted);
        let mut found = Found {
            sources: if self.launchers.is_some() { sources } else { Vec::new() },
            servers: Vec::new(),
            off: Off::of(settings),
            notices: notices.iter().map(ToString::to_string).collect(),
        };
        if !self.only_named {
            let places = mcp::places::Where {
                project: self.places.directory.clone(),
                is_trusted: self.places.is_trusted,
                agent: self.places.agent.clone(),
            };
            let servers = servers::find(&places, settings, &self.environment);
            found.notices.extend(servers.notices.iter().map(ToString::to_string));
            if let Err(fault) = servers::meet(&servers, &places) {
                found.notices.push(format!("{fault}; {}", fault.hint()));
            }
            found.servers = servers.servers;
        }
        found
    }

    /// Whether there are none now.
    pub(crate) fn is_empty(&self) -> bool {
        let found = self.look();
        found.sources.is_empty() && found.servers.is_empty()
    }

    /// Those of them that somebody named on the command line.
    pub(super) fn named(&self) -> Vec<Source> {
        named(&self.places, &self.named).sources
    }

    /// That none of those is loaded which somebody named, if they named any that are among `sources`.
    pub(super) fn unloaded(&self, problem: &str, sources: &[Source]) -> Option<SessionFailure> {
        let named = self.named();
        let is_lost = sources.iter().any(|source| named.contains(source));
        is_lost.then(|| SessionFailure::Unloaded { problems: vec![problem.to_owned()] })
    }

    /// That somebody gave a value to a flag that no extension has, or one that it does not take.
    pub(super) fn unknown_flag(&self, guests: &Guests) -> Option<SessionFailure> {
        let registrations = guests.registrations();
        let known: Vec<&Flag> = registrations.iter().flat_map(|registration| &registration.flags).collect();
        self.flags.iter().find_map(|(name, value)| {
            let Some(flag) = known.iter().find(|flag| flag.name == *name) else {
                let names = known.iter().map(|flag| flag.name.clone()).collect();
                return Some(SessionFailure::NoSuchFlag { name: name.clone(), names });
            };
            let wanted = match (&flag.default, value) {
                (FlagDefault::Boolean(_), Value::Bool(_)) | (FlagDefault::Text(_), Value::String(_)) => return None,
                (FlagDefault::Boolean(_), value) if value == "true" || value == "false" => return None,
                (FlagDefault::Boolean(_), _) => "true or false",
                (FlagDefault::Text(_), _) => "a value",
            };
            Some(SessionFailure::FlagValue { name: name.clone(), wanted })
        })
    }

    /// What the project takes away, as it is written now. Where that cannot be understood it is what it was at the beginning: it
    /// may have been meant to forbid something. Looks at the disk.
    pub(super) fn project_policy(&self) -> Option<config::Settings> {
        let is_there = || project_settings(&self.places.directory).exists();
        project_policy(&self.places.directory).or_else(|| self.project.clone().filter(|_| is_there()))
    }

    /// The home folder of the person, if there is one.
    pub(super) fn home(&self) -> Option<&Path> {
        self.environment.home.as_deref()
    }

    /// Where servers run.
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// The same for sessions that are to have certain tools and no others.
    pub(super) fn needing_servers(self) -> Self {
        Self { needs_servers: true, ..self }
    }

    /// Where servers run that are started with a session. Where somebody is there, they are started beside it; whoever
    /// gives one answer and goes needs their tools for it.
    pub(super) fn first_base(&self, mode: Mode) -> Base {
        let patience = match mode {
            Mode::Terminal | Mode::Server if !self.needs_servers => AT_FIRST,
            Mode::Terminal | Mode::Server | Mode::Json | Mode::Print => self.base.limits.patience,
        };
        Base { limits: mcp::Limits { patience, ..self.base.limits.clone() }, ..self.base.clone() }
    }

    /// What those of all sessions share.
    pub(super) fn stock(&self) -> &StockRoom {
        &self.environment.stock
    }

    /// The servers that are started with a session, by name.
    pub(super) fn servers(&self) -> Vec<String> {
        let Found { servers, off, .. } = self.look();
        let is_on = |server: &Server| !server.is_disabled && !off.holds(GuestId::of_server(&server.name).as_str());
        servers.into_iter().filter(is_on).map(|server| server.name).collect()
    }

    /// What is guarded of the project as it is written now, where these are its extensions and servers. Looks at the disk.
    pub(super) fn marks(&self, named: &[Named], servers: &[Server]) -> Vec<Mark> {
        let directory = &self.places.directory;
        let mut all = marks::of_settings(directory, &self.environment);
        all.extend(marks::of_extensions(directory, named));
        all.extend(marks::of_servers(directory, servers));
        all
    }

    /// Looks at sources, side by side.
    pub(crate) async fn prepare(&self, sources: Vec<Source>) -> Vec<(Source, Result<Prepared, LaunchFault>)> {
        let Some(launchers) = &self.launchers else { return Vec::new() };
        let looked_at = sources.into_iter().map(|source| async move {
            let launcher = if self.places.is_of_project(&source.path) { &launchers.project } else { &launchers.person };
            let prepared = launcher.prepare(source.clone()).await;
            (source, prepared)
        });
        join_all(looked_at).await
    }

    /// The file into which exchanges are written, if somebody wants one.
    pub(super) fn trace(&self, redactor: &Arc<Redactor>) -> Result<Option<Trace>, String> {
        let Some(path) = &self.traced else { return Ok(None) };
        let told = |error| format!("{} is not written: {error}; name a file that can be", path.display());
        Trace::create(path, redactor.clone()).map(Some).map_err(told)
    }

    /// The folder of the ledgers; nothing where there is no place for them.
    pub(crate) fn logs(&self) -> Option<PathBuf> {
        self.logs.clone()
    }

    /// Opens the ledger of a session. One that has just ended in this process, as before a reload, may still be about to be
    /// closed.
    pub(crate) async fn ledger(&self, session: &str, redactor: &Arc<Redactor>) -> Result<Ledger, String> {
        let missing = || "there is no agent directory for their log; set PI_CODING_AGENT_DIR".to_owned();
        let logs = self.logs().ok_or_else(missing)?;
        let mut settings = ledger::Settings::new(logs, session);
        if let Some(scenario) = &self.scenario {
            settings.scenario.clone_from(scenario);
        }
        let until = Instant::now() + CLOSING;
        loop {
            match Ledger::open(settings.clone(), Arc::clone(redactor), now) {
                Err(LedgerFault::InUse { .. }) if Instant::now() < until => sleep(MOMENT).await,
                opened => return opened.map_err(|fault| fault.to_string()),
            }
        }
    }

    /// The one place where what they ask is decided, done and recorded.
    pub(crate) fn dispatcher(
        &self,
        port: Arc<dyn SessionPort>,
        ledger: Ledger,
        bench: &Bench,
        trace: Option<Trace>,
    ) -> Result<Dispatcher, String> {
        self.dispatcher_of(None, port, ledger, bench, trace)
    }

    /// The same for a session that is kept in a file.
    pub(super) fn dispatcher_of(
        &self,
        session: Option<PathBuf>,
        port: Arc<dyn SessionPort>,
        ledger: Ledger,
        bench: &Bench,
        trace: Option<Trace>,
    ) -> Result<Dispatcher, String> {
        let Bench { tools, tooling, queue, folders, record_redactor: _, keys, models } = bench;
        let kept = self.logs.iter().chain(&self.sessions).cloned().collect();
        let folders = Folders { session, kept, ..folders.clone() };
        let scratch = &self.environment.scratch;
        scratch.make().map_err(|error| format!("{} cannot be made: {error}", scratch.path().display()))?;
        let rulebook = match &self.environment.agent_directory {
            Some(agent) => Rulebook::open(self.policy.clone(), self.project.as_ref(), GrantsFile::in_folder(agent))
                .map_err(|fault| fault.to_string())?,
            None => Rulebook::new(self.policy.clone()),
        };
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Ok(Dispatcher::new(Fittings {
            port,
            rulebook,
            ledger,
            tools: tools.clone(),
            tooling: tooling.clone(),
            queue: Arc::clone(queue),
            folders,
            variables: env::all().map(|(name, value)| (text(name), text(value))).collect(),
            resolver: if self.scenario.is_some() { Arc::new(Nowhere) } else { Arc::new(SystemResolver) },
            proxy: if self.scenario.is_some() { None } else { proxy() },
            keys: keys.clone(),
            models: models.clone(),
            trace,
            limits: pi_exthost::Limits::default(),
            now,
        }))
    }
}

/// No other machine takes part in what a harness plays: names lead nowhere, but for the one of this machine.
struct Nowhere;

impl Resolver for Nowhere {
    fn resolve<'a>(&'a self, name: &'a str, _: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = match name {
            "localhost" => Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "names lead nowhere in a rehearsal")),
        };
        ready(found).boxed()
    }
}

/// Hides what must not stand in ledgers and traces. Nobody uses what stands there, so names of keys count as well, and personal
/// data is made unrecognisable; what tools give to a model is treated more gently.
pub(crate) fn record_redactor(secrets: Vec<String>) -> Arc<Redactor> {
    let (evidence, personal) = (Evidence::KeysAndShapes, Personal::Mask);
    Arc::new(Redactor::new(Options { secrets, evidence, personal }))
}

/// Where ledgers are kept; nothing where there is no place for them.
pub(crate) fn logs(environment: &Environment) -> Option<PathBuf> {
    let usual = || environment.agent_directory.as_ref().map(|agent| agent.join("logs").join("extensions"));
    environment.extension_logs.clone().or_else(usual)
}

/// The keys of the providers that a session may ask, as their manifests find them.
pub(crate) fn key_ring(models: Models) -> KeyRing {
    Arc::new(move |provider: ProviderId| {
        let found = models.credential(&provider);
        let credential =
            found.map(|found| Credential { api_key: Some(found.secret.expose().to_owned()), headers: Vec::new() });
        Box::pin(async move { credential })
    })
}

/// The models that one can talk to of all providers that somebody trusts, with or without a credential.
pub(crate) fn model_list(models: Models) -> ModelList {
    Arc::new(move || {
        let listed = models.listed().into_iter();
        listed.map(|it| ModelInfo { model: it.choice.model().clone(), is_usable: it.is_usable }).collect()
    })
}

/// The way that providers are reached by, where the environment names one.
fn proxy() -> Option<ProxyFinder> {
    let proxies = Proxies::from_environment(&env::lookup);
    let names_one = proxies.http.is_some() || proxies.https.is_some() || proxies.all.is_some();
    let find = move |url: &str| Url::parse(url).ok().and_then(|url| proxies.leading_to(&url).map(str::to_owned));
    names_one.then(|| Arc::new(find) as ProxyFinder)
}

/// Where servers run.
pub(crate) fn server_base(directory: &Path, environment: &Environment, limits: mcp::Limits) -> Base {
    let temporary = environment.scratch.path().to_owned();
    let agent = environment.agent_directory.clone();
    Base {
        project: directory.to_owned(),
        pins: agent.as_deref().map(Pins::in_folder),
        agent: agent.unwrap_or_else(|| temporary.clone()),
        temporary,
        limits,
        weight: cost,
    }
}

impl Launchers {
    /// Those for what the person has and for what the project brings, or what is wrong with their cache.
    fn new(person: Surroundings, project: Surroundings, environment: &Environment) -> Result<Self, String> {
        let told = |fault: CacheFault| format!("no extension is loaded: {}; {}", failure::told(&fault), fault.hint());
        let stock = environment.stock.open(&person.agent).map_err(told)?;
        let person = Arc::new(Tiers::sharing(stock.clone(), person));
        Ok(Self { person, project: Arc::new(Tiers::sharing(stock, project)) })
    }
}

/// What guests are told of where they are.
pub(crate) fn surroundings(
    directory: &Path,
    policy: &Policy,
    flags: BTreeMap<String, Value>,
    environment: &Environment,
) -> Surroundings {
    let temporary = environment.scratch.path().to_owned();
    let home = environment.home.clone().unwrap_or_else(|| temporary.clone());
    let memory = usize::try_from(policy.max_memory_mb().saturating_mul(1 << 20)).unwrap_or(usize::MAX);
    Surroundings {
        cwd: directory.to_owned(),
        agent: environment.agent_directory.clone().unwrap_or_else(|| home.join(".pi").join("agent")),
        home,
        temporary,
        program: std::env::current_exe().unwrap_or_else(|_| "pi".into()),
        hostname: env::lookup("HOSTNAME").unwrap_or_else(|| "localhost".to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        flags,
        limits: Limits { memory, ..Limits::default() },
        screening: match policy.mode() {
            pi_policy::Mode::Strict => Screening::Refuse,
            pi_policy::Mode::Prompt | pi_policy::Mode::Permissive => Screening::Tell,
        },
    }
}

/// `--ext-flag name` and `--ext-flag name=value`.
fn flags(arguments: &ExtensionArguments) -> BTreeMap<String, Value> {
    let flag = |text: &String| match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Value::from(value)),
        None => (text.clone(), Value::Bool(true)),
    };
    arguments.extension_flag.iter().map(flag).collect()
}

pub(crate) fn listed(settings: &Settings) -> Vec<Listed> {
    let listed = |kind: discovery::Kind| {
        move |entry: &settings::Listed| Listed {
            entry: entry.value.clone(),
            folder: entry.folder.clone(),
            kind,
            origin: if entry.origin == Origin::Project { mcp::Origin::Project } else { mcp::Origin::Person },
        }
    };
    let extensions = settings.extensions.iter().map(listed(discovery::Kind::Extension));
    extensions.chain(settings.packages.iter().map(listed(discovery::Kind::Package))).collect()
}

/// The person's rules, with what the entries of servers allow.
pub(super) fn rules(policy: &Policy, servers: &[Server]) -> Result<Policy, String> {
    // One that is switched off may lack whatever it needs, and needs nothing.
    let noted = policy.with_remembered(&mcp::grants(servers.iter().filter(|server| !server.is_disabled)));
    let told = |invalid| format!("no MCP server is started: {invalid}; look at their entries");
    noted.map(|noted| noted.value).map_err(told)
}

/// What the project's settings say about extensions. They only take away, so that it does not matter who wrote them; what
/// cannot be read is told where settings are.
pub(crate) fn project_policy(directory: &Path) -> Option<config::Settings> {
    let document = crate::input::read(&project_settings(directory)).ok()?;
    config::parse(document.bytes()).ok().map(|noted| noted.value)
}

fn project_settings(directory: &Path) -> PathBuf {
    directory.join(".pi").join("settings.json")
}

/// What somebody named on the command line, and nothing else.
fn named(places: &Places, named: &[String]) -> Discovered {
    discovery::discover(places, &Wanted { only_named: true, named: named.to_vec(), listed: Vec::new() })
}
