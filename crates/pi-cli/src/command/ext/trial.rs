//! An extension that is tried without a session.

use std::{path::Path, sync::Arc, time::Duration};

use pi_exthost::{
    Dispatcher, Guest, GuestFault, GuestId, Guests, Patience,
    launcher::{LaunchFault, Source},
    ledger::reading,
};
use pi_guests::{
    Tiers,
    discovery::{Discovered, Places, Wanted, discover},
    js::{Chance, Steps},
    launcher::{PreparedGuest, Program, Started, tell_outdated},
    mcp,
};
use pi_policy::{Policy, config};
use pi_redact::{Evidence, Options, Personal, Redactor};
use pi_tools::{Registry, files::FileQueue};
use serde_json::Value;

use super::rehearsal::{Rehearsal, Scene};
use crate::{
    arguments::ext::{Profile, TriedArguments},
    command::{
        mcp::{meet, named, servers, withheld},
        talk::stop::unless_stopped,
    },
    compiling::tell_while,
    console::Console,
    env::{self, Environment},
    exit::Exit,
    failure::{self, Failure, SessionFailure},
    providers::credential_names,
    runtime,
    workshop::{
        self, Ground,
        extensions::{Bench, Extensions, record_redactor, server_base, surroundings},
        now,
    },
};

/// What to do where neither ledger nor cache can be kept.
const AGENT: &str = "look at the agent directory and at who may write there";

/// The session of every rehearsal, here and in the harness: extensions show its id.
const REHEARSED: &str = "00000000-0000-7000-8000-000000000000";

/// How long a server may take that is tried: programs that are fetched at their first start take a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ledgers of trials that are kept, beside the one that is written.
const KEPT: usize = 31;

/// Extensions at their desks.
pub(super) struct Trial {
    tiers: Tiers,
    dispatcher: Dispatcher,
    pub(super) session: Arc<Rehearsal>,
    /// How lots fall for those that are started.
    chance: Chance,
}

/// How a rehearsal is set up.
pub(super) struct Staging {
    pub(super) scene: Scene,
    pub(super) scenario: Option<String>,
    pub(super) steps: Steps,
}

/// What is wrong where an extension has nothing of a name: what it has of that kind, if anything.
pub(super) fn not_among(kind: &str, name: &str, known: &[String]) -> String {
    match known {
        [] => format!("it has no {kind} {name}, and no other either"),
        known => format!("it has no {kind} {name}; its {kind}s are: {}", known.join(", ")),
    }
}

/// What the rules of a profile are.
fn rules(profile: Option<Profile>, environment: &Environment) -> Result<Policy, Failure> {
    let settings = match profile {
        None => return workshop::policy(environment),
        Some(Profile::Permissive) => br#"{"extensions":{"policy":{"mode":"permissive","deny_caps":[]}}}"#.as_slice(),
        Some(Profile::Prompt) => br#"{"extensions":{"policy":{"mode":"prompt"}}}"#.as_slice(),
        Some(Profile::Strict) => br#"{"extensions":{"policy":{"mode":"strict"}}}"#.as_slice(),
    };
    Ok(config::load(settings).expect("our own policies are valid").value)
}

impl Trial {
    /// Without a session. Needs a tokio runtime.
    pub(super) async fn open(profile: Option<Profile>, environment: &Environment) -> Result<Self, Failure> {
        Self::set(rules(profile, environment)?, None, None, environment).await
    }

    /// In a session that stands as the scene says, where lots fall as `steps` want it. Needs a tokio runtime.
    pub(super) async fn stage(
        profile: Option<Profile>,
        Staging { scene, scenario, steps }: Staging,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let trial = Self::set(rules(profile, environment)?, Some(scene), scenario, environment).await?;
        Ok(Self { chance: Chance::Rehearsed(steps), ..trial })
    }

    /// In the folder of a session that has not begun, under the rules of the person. Needs a tokio runtime.
    pub(super) async fn before(ground: &Ground, environment: &Environment) -> Result<Self, Failure> {
        Self::set_at(ground, workshop::policy(environment)?, None, None, environment).await
    }

    async fn set(
        policy: Policy,
        scene: Option<Scene>,
        scenario: Option<String>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        Self::set_at(&Ground::survey(environment)?, policy, scene, scenario, environment).await
    }

    async fn set_at(
        ground: &Ground,
        policy: Policy,
        scene: Option<Scene>,
        scenario: Option<String>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let redactor =
            Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep });
        let redactor = Arc::new(redactor);
        let (folders, tooling) = workshop::tooling(
            &ground.directory,
            &ground.settings,
            environment,
            credential_names(environment),
            redactor,
        );
        let bench = Bench {
            tools: Registry::built_in(),
            tooling,
            queue: Arc::new(FileQueue::default()),
            folders,
            record_redactor: record_redactor(env::secrets()),
            keys: None,
            models: None,
        };
        let name = format!("trial-{}-{}", now().unix_millis(), std::process::id());
        let id = if scene.is_some() { REHEARSED } else { &name };
        let session = Rehearsal::new(id, ground.directory.display().to_string(), ground.is_trusted(), scene);
        let around = surroundings(&ground.directory, &policy, Default::default(), environment);
        let unusable = |problem| SessionFailure::NoExtensions { problem, hint: AGENT.to_owned() };
        let extensions = Extensions::trial(&policy, environment).in_scenario(scenario);
        if let Some(logs) = extensions.logs() {
            // Where there are none yet there is nothing to remove, and what cannot be removed does no harm.
            let _ = reading::thin_out(&logs, KEPT);
        }
        let ledger = extensions.ledger(&name, &bench.record_redactor).await.map_err(unusable)?;
        let dispatcher = extensions.dispatcher(session.clone(), ledger, &bench, None).map_err(unusable)?;
        let stock = environment.stock.open(&around.agent).map_err(|fault| SessionFailure::NoExtensions {
            problem: failure::told(&fault),
            hint: fault.hint().to_owned(),
        })?;
        Ok(Self { tiers: Tiers::sharing(stock, around), dispatcher, session, chance: Chance::Real })
    }

    /// Starts what somebody points to, under the rules that they want.
    pub(super) async fn begin(
        tried: &TriedArguments,
        environment: &Environment,
    ) -> Result<(Self, Arc<Guests>), Failure> {
        if let Some(name) = GuestId::from(tried.source.as_str()).server() {
            return Self::begin_server(name, tried.profile, environment).await;
        }
        let sources = Self::sources(tried, environment)?;
        let trial = Self::open(tried.profile, environment).await?;
        let guests = trial.start_all(sources).await?;
        Ok((trial, guests))
    }

    /// Connects to an MCP server, as a session of this folder would.
    async fn begin_server(
        name: &str,
        profile: Option<Profile>,
        environment: &Environment,
    ) -> Result<(Self, Arc<Guests>), Failure> {
        let ground = Ground::survey(environment)?;
        let found = servers(&ground, environment);
        let server = named(name, &found)?;
        meet(&found, &ground, environment)?;
        let failed = |problem: String| SessionFailure::NoExtensions {
            problem: format!("{}: {problem}", GuestId::of_server(name)),
            hint: format!("`pi mcp test {name}` says how it stands"),
        };
        let limits = mcp::Limits { patience: PATIENCE, connecting: PATIENCE, ..mcp::Limits::default() };
        let base = server_base(&ground.directory, environment, limits);
        withheld(server, &base).map_err(|withheld| SessionFailure::NoExtensions {
            problem: format!("{}: {}", GuestId::of_server(name), withheld.why),
            hint: format!("`pi mcp test {name}` shows what changed, and with --accept you agree"),
        })?;
        let policy = rules(profile, environment)?.with_remembered(&mcp::grants([server]));
        let policy = policy.map_err(|invalid| failed(invalid.to_string()))?.value;
        let trial = Self::set(policy, None, None, environment).await?;
        let prepared = mcp::prepare(server, &base);
        let desk = trial.dispatcher.desk(prepared.identity).map_err(|fault| failed(fault.to_string()))?;
        let guest = (prepared.launch)(desk).await.map_err(|fault| failed(fault.to_string()))?;
        let guests = trial.introduce([guest]);
        Ok((trial, guests))
    }

    /// Ends it. What was done to the session that is none is the answer.
    pub(super) async fn end(self, guests: &Guests) -> Vec<Value> {
        guests.shutdown().await;
        let session = Arc::clone(&self.session);
        // What a person is told comes before that.
        self.close().await;
        session.actions()
    }

    /// The extensions that somebody points to.
    pub(super) fn sources(tried: &TriedArguments, environment: &Environment) -> Result<Vec<Source>, Failure> {
        if let Some(name) = GuestId::from(tried.source.as_str()).server() {
            let problem = format!("{} is an MCP server, of which only tools and commands can be tried", tried.source);
            let hint = format!("`pi mcp test {name}` shows what it offers");
            return Err(SessionFailure::NoExtensions { problem, hint }.into());
        }
        let ground = Ground::survey(environment)?;
        let places = Places {
            directory: ground.directory,
            is_trusted: true,
            agent: environment.agent_directory.clone(),
            home: environment.home.clone(),
            npm: environment.npm.clone(),
        };
        let wanted = Wanted { only_named: true, named: vec![tried.source.clone()], listed: Vec::new() };
        let Discovered { sources, notices } = discover(&places, &wanted);
        match notices.first() {
            Some(notice) if sources.is_empty() => {
                let hint = "name a file, a folder with an index or a manifest, or a package".to_owned();
                Err(SessionFailure::NoExtensions { problem: notice.to_string(), hint }.into())
            }
            Some(_) | None => Ok(sources),
        }
    }

    /// Starts one.
    pub(super) async fn start(&self, source: Source) -> Result<Started, LaunchFault> {
        self.launch(self.tiers.prepare_guest(source).await?).await
    }

    /// Looks at one.
    pub(super) async fn prepare(&self, source: Source) -> Result<PreparedGuest, LaunchFault> {
        self.tiers.prepare_guest(source).await
    }

    /// Starts one that was looked at.
    pub(super) async fn launch(&self, prepared: PreparedGuest) -> Result<Started, LaunchFault> {
        let PreparedGuest { identity, mut program, notices: _, outdated, sources: _, missing: _, forbidden: _ } =
            prepared;
        if let Program::Js(script) = &mut program {
            script.chance = self.chance.clone();
        }
        let desk =
            self.dispatcher.desk(identity).map_err(|fault| LaunchFault::Unusable { message: fault.to_string() })?;
        if let Some(outdated) = outdated {
            tell_outdated(&desk, outdated);
        }
        Ok(program.start(desk).await?)
    }

    /// Starts all that somebody points to, as a session would.
    pub(super) async fn start_all(&self, sources: Vec<Source>) -> Result<Arc<Guests>, Failure> {
        let mut started = Vec::new();
        for source in sources {
            let path = source.path.clone();
            started.push(self.start(source).await.map_err(|fault| failed(&path, &fault))?);
        }
        Ok(self.gather(started))
    }

    /// Lets those that were started know of each other.
    pub(super) fn gather(&self, started: impl IntoIterator<Item = Started>) -> Arc<Guests> {
        self.introduce(started.into_iter().map(|started| started.guest()))
    }

    fn introduce(&self, started: impl IntoIterator<Item = Arc<dyn Guest>>) -> Arc<Guests> {
        let guests = Guests::new(Patience::default(), Arc::new(|_| {}));
        let mut guests = guests.recorded(self.dispatcher.ledger().clone(), None);
        for guest in started {
            // Two of the same name: the first one counts, as in a session.
            drop(guests.attach(guest));
        }
        let guests = Arc::new(guests);
        self.dispatcher.introduce(&guests);
        self.session.meet(&guests);
        guests
    }

    /// Whether one of them may run any program without somebody being asked.
    pub(super) fn may_run_anything(&self, guest: &GuestId) -> bool {
        self.dispatcher.may_run_anything(guest)
    }

    pub(super) async fn close(self) {
        self.dispatcher.close().await;
    }
}

/// What came of a trial, as one line.
pub(super) struct Shown {
    pub(super) told: Value,
    pub(super) is_error: bool,
}

/// Tries something out and prints what came of it.
pub(super) fn show(
    trying: impl Future<Output = Result<Shown, Failure>>,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let tried = tell_while(unless_stopped(trying), &environment.stock, console);
    let Shown { told, is_error } = runtime::start_many()?.block_on(tried)?;
    console.line(&told.to_string());
    Ok(if is_error { Exit::No } else { Exit::Success })
}

/// Whether a file is what a compiler made, and no source.
fn is_built(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "wasm" || ending == "artifact")
}

pub(super) fn failed(path: &Path, fault: &LaunchFault) -> Failure {
    let hint = match fault {
        LaunchFault::Missing { .. } => "look at the path".to_owned(),
        LaunchFault::Unusable { message } if message.contains("pi ext build") => {
            format!("`pi ext build {}` builds it", path.display())
        }
        LaunchFault::Failed(GuestFault::Threw { message, .. }) if message.starts_with("the extension trapped") => {
            "it fell in its own `init`; what it wrote to stderr before stands behind the trap".to_owned()
        }
        LaunchFault::Unusable { message } if is_built(path) && !message.contains("may not") => {
            "it was built elsewhere: build it anew, or copy it once more if it is not whole".to_owned()
        }
        LaunchFault::Unusable { .. } | LaunchFault::Failed(_) => {
            format!("`pi ext scan {}` says what it does that it may not", path.display())
        }
    };
    SessionFailure::NoExtensions { problem: format!("{}: {fault}", path.display()), hint }.into()
}

/// Where to look for what an extension has.
pub(super) fn offers(tried: &TriedArguments) -> String {
    match GuestId::from(tried.source.as_str()).server() {
        Some(name) => format!("`pi mcp test {name}` shows what it offers"),
        None => format!("`pi ext inspect {}` shows what it registers", tried.source),
    }
}

/// JSON that somebody typed as an argument.
pub(super) fn object(text: &str) -> Result<pi_extproto::Object, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let problem = format!("the last argument is no JSON object: {error}");
        SessionFailure::NoExtensions { problem, hint: r#"write it in single quotes: '{"name": "Ada"}'"#.to_owned() }
            .into()
    })
}
