//! The extensions of a session: which there are, under which rules, and how they are started.
//!
//! Each session has guests and a dispatcher of its own. An extension that cannot be started costs itself: the session
//! begins without it, and whoever is there is told what to do about it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use pi_exthost::{
    Dispatcher, Fittings, GrantsFile, Guest, Guests, KeyRing, Ledger, Patience, ProxyFinder, Rulebook, SystemResolver,
    Trace,
    guest::{Flag, FlagDefault},
    launcher::{Identity, LaunchFault, Launcher, Prepared, Source},
    ledger::{self, LedgerFault},
    port::SessionPort,
};
use pi_extproto::connector::environment::Credential;
use pi_guests::{
    Surroundings, Tiers,
    discovery::{self, Discovered, Listed, Places, Wanted},
    js::Limits,
    mcp::{self, Base, Pins, Server},
};
use pi_policy::{Policy, config};
use pi_provider::transport::Proxies;
use pi_redact::Redactor;
use pi_session::{Post, models::Models, settings::Origin};
use pi_tools::{
    Registry,
    files::{FileQueue, Folders},
};
use pi_transcript::ProviderId;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::{Ground, now};
use crate::{
    arguments::talk::ExtensionArguments,
    command,
    env::{self, Environment},
    failure::{Failure, SessionFailure},
    scratch::Scratch,
};

/// How long an extension may take to load, waiting included.
const LOADING: Duration = Duration::from_secs(30);

/// How long the ledger of a session that has ended may take to be closed, and how often we look.
const CLOSING: Duration = Duration::from_secs(5);
const MOMENT: Duration = Duration::from_millis(5);

/// The folder of the ledgers of trials, beside those of sessions.
pub(crate) const TRIALS: &str = "trials";

/// What every session of a process needs to start its extensions.
pub(crate) struct Extensions {
    /// Where they are looked for, each time that a session is started.
    places: Places,
    wanted: Wanted,
    /// Servers of the Model Context Protocol.
    servers: Vec<Server>,
    base: Base,
    /// Nothing if extensions cannot be built here.
    launcher: Option<Arc<dyn Launcher>>,
    policy: Policy,
    /// What the project takes away.
    project: Option<config::Settings>,
    agent: Option<PathBuf>,
    logs: Option<PathBuf>,
    scratch: Scratch,
    /// Where the protocol is written.
    traced: Option<PathBuf>,
    /// Flags of extensions that somebody gave a value.
    flags: BTreeMap<String, Value>,
}

/// One that was started, or why it was not.
struct Started<'a> {
    from: From<'a>,
    launched: Result<Arc<dyn Guest>, LaunchFault>,
    took: Duration,
}

/// Where a guest comes from.
#[derive(Clone, Copy)]
enum From<'a> {
    Source(&'a Source),
    Server(&'a Server),
}

/// What guests share with the session's own tools.
pub(crate) struct Bench {
    pub(crate) tools: Registry,
    pub(crate) tooling: pi_tools::Settings,
    pub(crate) queue: Arc<FileQueue>,
    pub(crate) folders: Folders,
    pub(crate) redactor: Arc<Redactor>,
    /// Raw keys, for extensions that were granted to have them.
    pub(crate) keys: Option<KeyRing>,
}

/// Guests that were started for a session.
pub(crate) struct Hosted {
    pub(crate) guests: Arc<Guests>,
    pub(crate) dispatcher: Option<Dispatcher>,
    /// What was odd about starting them.
    pub(crate) notes: Vec<String>,
    /// That something is not as somebody asked for it.
    pub(crate) unmet: Option<SessionFailure>,
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
        };
        let wanted =
            Wanted { only_named: arguments.no_extensions, named: arguments.extension.clone(), listed: listed(ground) };
        let missing = named(&places, &wanted).notices;
        if !missing.is_empty() {
            let problems = missing.iter().map(ToString::to_string).collect();
            return Err(SessionFailure::Unloaded { problems }.into());
        }
        let Discovered { notices, .. } = discovery::discover(&places, &wanted);
        let around = surroundings(&ground.directory, policy, flags(arguments), environment);
        let mut notices: Vec<String> = notices.iter().map(ToString::to_string).collect();
        let launcher = launcher(around, &mut notices);
        let (servers, policy) = servers(arguments, ground, policy, environment, &mut notices);
        let extensions = Self {
            places,
            wanted,
            servers,
            base: server_base(&ground.directory, environment, mcp::Limits::default()),
            launcher,
            policy,
            project: project_policy(&ground.directory),
            agent: environment.agent_directory.clone(),
            logs: logs(environment),
            scratch: environment.scratch.clone(),
            traced: arguments.trace_protocol.clone(),
            flags: flags(arguments),
        };
        Ok((extensions, notices))
    }

    /// None, under these rules: for extensions that are tried one by one, whose ledgers do not stand among those of sessions.
    pub(crate) fn trial(policy: &Policy, environment: &Environment) -> Self {
        let nowhere = Places { directory: PathBuf::new(), is_trusted: false, agent: None, home: None };
        Self {
            places: nowhere,
            wanted: Wanted { only_named: true, ..Wanted::default() },
            servers: Vec::new(),
            base: server_base(Path::new("."), environment, mcp::Limits::default()),
            launcher: None,
            policy: policy.clone(),
            project: None,
            agent: environment.agent_directory.clone(),
            logs: logs(environment).map(|logs| logs.join(TRIALS)),
            scratch: environment.scratch.clone(),
            traced: None,
            flags: BTreeMap::new(),
        }
    }

    /// Those that there are now.
    pub(crate) fn sources(&self) -> Vec<Source> {
        if self.launcher.is_some() { discovery::discover(&self.places, &self.wanted).sources } else { Vec::new() }
    }

    pub(crate) fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Whether there are none now.
    pub(crate) fn is_empty(&self) -> bool {
        self.sources().is_empty() && self.servers.is_empty()
    }

    /// Starts them all, side by side, for the session behind `post`.
    pub(crate) async fn start(&self, post: &Post, session: &str, bench: Bench) -> Hosted {
        let sources = self.sources();
        if sources.is_empty() && self.servers.is_empty() {
            let unmet = self.unknown_flag(&Guests::none());
            return Hosted { guests: Arc::new(Guests::none()), dispatcher: None, notes: Vec::new(), unmet };
        }
        let own: BTreeSet<String> = bench.tools.names().map(str::to_owned).collect();
        let mut notes = Vec::new();
        let trace = match self.trace(&bench.redactor) {
            Ok(trace) => trace,
            Err(problem) => {
                notes.push(problem);
                None
            }
        };
        let ledger = self.ledger(session, &bench.redactor).await;
        let dispatcher = ledger.and_then(|ledger| self.dispatcher(post.port(), ledger, bench, trace.clone()));
        let dispatcher = match dispatcher {
            Ok(dispatcher) => dispatcher,
            Err(problem) => {
                let problem = format!("no extension is loaded: {problem}");
                let unmet = self.unloaded(std::slice::from_ref(&problem), &sources);
                notes.push(problem);
                return Hosted { guests: Arc::new(Guests::none()), dispatcher: None, notes, unmet };
            }
        };
        let mut prepared = Vec::new();
        let mut lost = Lost::of(named(&self.places, &self.wanted).sources);
        let mut names = BTreeMap::new();
        let looked_at = self.launcher.iter().flat_map(|launcher| {
            sources.iter().map(move |source| async move { (source, launcher.prepare(source.clone()).await) })
        });
        for (source, looked_at) in join_all(looked_at).await {
            match looked_at {
                Ok(looked_at) => match namesake(&looked_at.identity, source, &mut names) {
                    None => prepared.push((From::Source(source), looked_at)),
                    Some(clash) => lost.add(From::Source(source), clash),
                },
                Err(fault) => lost.add(From::Source(source), not_loaded(From::Source(source), &fault)),
            }
        }
        let servers = self.servers.iter().map(|server| (From::Server(server), mcp::prepare(server, &self.base)));
        let started = join_all(prepared.into_iter().chain(servers).map(|(from, prepared)| {
            let dispatcher = &dispatcher;
            async move {
                let began = Instant::now();
                let launched = launch(prepared, dispatcher).await;
                Started { from, launched, took: began.elapsed() }
            }
        }));
        let guests = Guests::new(Patience::default(), post.reporter());
        let guests = guests.recorded(dispatcher.ledger().clone(), trace);
        let started = started.await;
        notes.extend(started.iter().filter_map(|started| late(started, self.base.limits.patience)));
        let guests = gather(started, guests, &mut lost);
        notes.extend(lost.notes);
        notes.extend(odd_tools(&guests, &own));
        notes.extend(self.servers.iter().filter_map(|server| held_back(server, self.base.pins.as_ref()?)));
        dispatcher.introduce(&guests);
        let unloaded = (!lost.named.is_empty()).then_some(SessionFailure::Unloaded { problems: lost.named });
        let unmet = unloaded.or_else(|| self.unknown_flag(&guests));
        Hosted { guests, dispatcher: Some(dispatcher), notes, unmet }
    }

    /// That none of those is loaded which somebody named, if they named any that are among `sources`.
    fn unloaded(&self, problems: &[String], sources: &[Source]) -> Option<SessionFailure> {
        let named = named(&self.places, &self.wanted).sources;
        let is_lost = sources.iter().any(|source| named.contains(source));
        is_lost.then(|| SessionFailure::Unloaded { problems: problems.to_vec() })
    }

    /// That somebody gave a value to a flag that no extension has, or one that it does not take.
    fn unknown_flag(&self, guests: &Guests) -> Option<SessionFailure> {
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

    /// The file into which exchanges are written, if somebody wants one.
    fn trace(&self, redactor: &Arc<Redactor>) -> Result<Option<Trace>, String> {
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
        let settings = ledger::Settings::new(logs, session);
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
        bench: Bench,
        trace: Option<Trace>,
    ) -> Result<Dispatcher, String> {
        let Bench { tools, tooling, queue, folders, redactor: _, keys } = bench;
        let unmade = |error| format!("{} cannot be made: {error}", self.scratch.path().display());
        self.scratch.make().map_err(unmade)?;
        let rulebook = match &self.agent {
            Some(agent) => Rulebook::open(self.policy.clone(), self.project.clone(), GrantsFile::in_folder(agent))
                .map_err(|fault| fault.to_string())?,
            None => Rulebook::new(self.policy.clone()),
        };
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Ok(Dispatcher::new(Fittings {
            port,
            rulebook,
            ledger,
            tools,
            tooling,
            queue,
            folders,
            variables: env::all().map(|(name, value)| (text(name), text(value))).collect(),
            resolver: Arc::new(SystemResolver),
            proxy: proxy(),
            keys,
            trace,
            limits: pi_exthost::Limits::default(),
            now,
        }))
    }
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

/// The way that providers are reached by, where the environment names one.
fn proxy() -> Option<ProxyFinder> {
    let proxies = Proxies::from_environment(&env::lookup);
    let names_one = proxies.http.is_some() || proxies.https.is_some() || proxies.all.is_some();
    let find = move |url: &str| Url::parse(url).ok().and_then(|url| proxies.leading_to(&url).map(str::to_owned));
    names_one.then(|| Arc::new(find) as ProxyFinder)
}

/// The servers that are started, and the rules with what their entries allow.
fn servers(
    arguments: &ExtensionArguments,
    ground: &Ground,
    policy: &Policy,
    environment: &Environment,
    notices: &mut Vec<String>,
) -> (Vec<Server>, Policy) {
    if arguments.no_extensions {
        return (Vec::new(), policy.clone());
    }
    let found = command::mcp::servers(ground, environment);
    notices.extend(found.notices.iter().map(ToString::to_string));
    let servers: Vec<Server> = found.servers.into_iter().filter(|server| !server.is_disabled).collect();
    match policy.with_remembered(&mcp::grants(&servers)) {
        Ok(noted) => (servers, noted.value),
        Err(invalid) => {
            notices.push(format!("no MCP server is started: {invalid}; look at their entries"));
            (Vec::new(), policy.clone())
        }
    }
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
    }
}

/// Makes guests of sources; what is wrong with its cache is told.
fn launcher(around: Surroundings, notices: &mut Vec<String>) -> Option<Arc<dyn Launcher>> {
    match Tiers::new(around) {
        Ok(tiers) => Some(Arc::new(tiers)),
        Err(fault) => {
            notices.push(format!("no extension is loaded: {fault}; {}", fault.hint()));
            None
        }
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

pub(crate) fn listed(ground: &Ground) -> Vec<Listed> {
    let listed = |is_package: bool| {
        move |entry: &pi_session::settings::Listed| Listed {
            entry: entry.value.clone(),
            folder: entry.folder.clone(),
            is_package,
            is_projects: entry.origin == Origin::Project,
        }
    };
    let (extensions, packages) = (&ground.settings.extensions, &ground.settings.packages);
    extensions.iter().map(listed(false)).chain(packages.iter().map(listed(true))).collect()
}

/// What the project's settings say about extensions. They only take away, so that it does not matter who wrote them; what
/// cannot be read is told where settings are.
pub(crate) fn project_policy(directory: &Path) -> Option<config::Settings> {
    let document = crate::input::read(&directory.join(".pi").join("settings.json")).ok()?;
    config::parse(document.bytes()).ok().map(|noted| noted.value)
}

/// What somebody named on the command line, and nothing else.
fn named(places: &Places, wanted: &Wanted) -> Discovered {
    discovery::discover(places, &Wanted { only_named: true, named: wanted.named.clone(), listed: Vec::new() })
}

/// Why an extension is not loaded: another has its name, which decisions, ledger and data know it by.
fn namesake<'s>(identity: &Identity, source: &'s Source, names: &mut BTreeMap<String, &'s Source>) -> Option<String> {
    let first = *names.entry(identity.id.as_str().to_owned()).or_insert(source);
    (first != source).then(|| {
        let (id, path, first) = (&identity.id, source.path.display(), first.path.display());
        format!("the extension {path} is not loaded: {first} is called {id} too, and comes first; rename one of them")
    })
}

/// Tools that are not offered because of their name, and tools of ours that others take the place of.
fn odd_tools(guests: &Guests, own: &BTreeSet<String>) -> Vec<String> {
    let refused = guests.misnamed_tools().into_iter().map(|(guest, name)| {
        format!(
            "the tool {name:?} of extension {guest} is not offered: providers take letters, digits, _ and -, at most {} of them",
            pi_exthost::guest::LONGEST_TOOL_NAME
        )
    });
    let replaced = guests.tools().into_iter().filter(|tool| own.contains(&tool.offer.definition.name));
    let replaced = replaced.map(|tool| {
        format!("the tool {} is that of extension {}, in the place of ours", tool.offer.definition.name, tool.guest)
    });
    refused.chain(replaced).collect()
}

/// Extensions that are not there, and why.
struct Lost {
    /// Those that somebody wants above all.
    wanted: Vec<Source>,
    named: Vec<String>,
    notes: Vec<String>,
}

impl Lost {
    fn of(wanted: Vec<Source>) -> Self {
        Self { wanted, named: Vec::new(), notes: Vec::new() }
    }

    fn add(&mut self, from: From<'_>, why: String) {
        let is_named = match from {
            From::Source(source) => self.wanted.contains(source),
            From::Server(_) => false,
        };
        // Whoever is told with a failure need not be told twice.
        if is_named { self.named.push(why) } else { self.notes.push(why) }
    }
}

async fn launch(prepared: Prepared, dispatcher: &Dispatcher) -> Result<Arc<dyn Guest>, LaunchFault> {
    let Prepared { identity, launch } = prepared;
    let desk = dispatcher.desk(identity).map_err(|fault| LaunchFault::Unusable { message: fault.to_string() })?;
    let began = Instant::now();
    let guest = match timeout(LOADING, launch(desk.clone())).await {
        Ok(launched) => launched?,
        Err(_) => return Err(LaunchFault::Unusable { message: format!("it did not load within {LOADING:?}") }),
    };
    desk.registered(&guest.registration(), began.elapsed());
    Ok(guest)
}

/// Attaches those that run; what is asked of them is recorded.
fn gather(started: Vec<Started<'_>>, mut guests: Guests, lost: &mut Lost) -> Arc<Guests> {
    for Started { from, launched, took: _ } in started {
        match launched {
            Ok(guest) => {
                if let Err(duplicate) = guests.attach(guest) {
                    lost.add(from, duplicate.to_string());
                }
            }
            Err(fault) => lost.add(from, not_loaded(from, &fault)),
        }
    }
    Arc::new(guests)
}

/// That a server is not there yet: the session goes on without it.
fn late(started: &Started<'_>, patience: Duration) -> Option<String> {
    let From::Server(Server { name, .. }) = started.from else { return None };
    let is_late = started.launched.is_ok() && started.took >= patience;
    is_late.then(|| {
        format!(
            "the MCP server {name} is not connected yet after {patience:?}; its tools come when it is ready, and `pi mcp test {name}` shows what it does"
        )
    })
}

/// Which tools of a server are held back because they are not described as they were.
fn held_back(server: &Server, pins: &Pins) -> Option<String> {
    // A record that cannot be read is told by the server itself, whose tools it costs.
    let (_, changed) = pins.recorded(server).ok()?;
    let (name, tools) = (&server.name, changed.join(", "));
    (!changed.is_empty()).then(|| {
        format!(
            "MCP server {name} changed the description of {tools}; not offered until you agree: `pi mcp test {name} --accept`"
        )
    })
}

fn not_loaded(from: From<'_>, fault: &LaunchFault) -> String {
    let path = match from {
        From::Source(source) => source.path.display(),
        From::Server(Server { name, .. }) => {
            return format!("the MCP server {name} is not connected: {fault}; `pi mcp test {name}` tries it again");
        }
    };
    let what_to_do = match fault {
        LaunchFault::Missing { .. } => "look at the path",
        LaunchFault::Unusable { message } if message.contains("pi ext build") => {
            return format!("the extension {path} is not loaded: {fault}");
        }
        LaunchFault::Unusable { .. } => "`pi ext scan` says more",
        LaunchFault::Failed(_) => "`pi ext inspect` shows it again; --no-extensions begins without",
    };
    format!("the extension {path} is not loaded: {fault}; {what_to_do}")
}

#[cfg(test)]
mod tests {
    use pi_exthost::{
        GuestId,
        launcher::{Evidence, Provenance},
    };
    use pi_extproto::capability::Declared;

    use super::*;

    #[test]
    fn second_of_a_name_is_told_with_both_places() {
        let sources = ["/a/twin.ts", "/b/twin.ts"]
            .map(|path| Source { path: PathBuf::from(path), provenance: Provenance::Trusted });
        let identity = Identity {
            id: GuestId::from("twin"),
            version: "1.0.0".to_owned(),
            artifact: None,
            provenance: Provenance::Trusted,
            origins: Vec::new(),
            declared: Declared::new(None, None),
            evidence: Evidence::CLEAN,
            folder: PathBuf::from("/a"),
            data: PathBuf::from("/agent/extension-data/twin"),
            temporary: PathBuf::from("/tmp/twin"),
        };
        let mut names = BTreeMap::new();
        let told = sources.each_ref().map(|source| namesake(&identity, source, &mut names));
        let clash = "the extension /b/twin.ts is not loaded: /a/twin.ts is called twin too, and comes first; rename one of them";
        assert_eq!(told, [None, Some(clash.to_owned())]);
    }
}
