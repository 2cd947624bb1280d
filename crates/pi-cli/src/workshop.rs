//! Everything that a session needs beside its conversation: settings, models, tools, policy, and what a model is told.
//!
//! [`Workshop::open`] reads it from the arguments, the environment and the files of the person and the project, says what
//! is odd about them, and asks nobody. Which conversation it is for is decided in [`seat`], who answers in [`model`].

pub(crate) mod company;
pub(crate) mod cost;
pub(crate) mod extensions;
mod furniture;
pub(crate) mod marks;
pub(crate) mod model;
pub(crate) mod seat;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pi_exthost::{Guests, port::Mode};
use pi_policy::{
    Moment, Policy,
    config::{self, Noted},
};
use pi_provider::{breaker::Breakers, likeness};
use pi_redact::{Evidence, Redactor};
use pi_session::{
    Beginning, Blueprint, Complaint, Furnishing, Habits, Lapse, Owner, Post, Session, ShellWatch, Storage,
    input::Mentions,
    models::{Models, guest},
    offer::ActiveTools,
    settings::{self, Files, Layer, Limit, Settings, trust::Decisions},
};
use pi_terminal::Theme;
use pi_tools::{
    DEFAULT_ACTIVE, Environment as Variables, Registry, Shell, Withheld, Workspace,
    files::{FileQueue, Folders},
};

pub(crate) use self::furniture::Furnished;
use self::{
    company::{Company, Loaded},
    extensions::{Bench, Extensions},
    furniture::{Furniture, images},
    model::Answering,
    seat::Seat,
};
use crate::{
    arguments::talk::{ExtensionArguments, ToldArguments, ToolArguments},
    asking,
    console::Console,
    env::{self, Environment},
    failure::{Failure, ModelFailure, SessionFailure},
    input,
    providers::Providers,
    refusal,
    stock::StockRoom,
};

/// What every session of this process shares.
pub(crate) struct Workshop {
    furniture: Arc<Furniture>,
    pub(crate) models: Models,
    tools: Registry,
    active_tools: ActiveTools,
    workspace: Arc<Workspace>,
    is_project_trusted: bool,
    extensions: Arc<Extensions>,
    /// What extensions share with the session's own tools.
    bench: Arc<Bench>,
}

/// A session that was started.
pub(crate) struct Started {
    pub(crate) session: Session,
    /// What was odd about its extensions.
    pub(crate) notes: Vec<String>,
    /// That an extension, a flag, a tool or a model is missing which somebody asked for.
    pub(crate) unmet: Option<SessionFailure>,
}

/// What is allowed, and what an `@name` in a text means.
pub(crate) struct Rules {
    pub(crate) policy: Policy,
    pub(crate) mentions: Mentions,
}

/// What somebody chose for all sessions of a process.
pub(crate) struct Kit<'a> {
    pub(crate) told: &'a ToldArguments,
    pub(crate) offered: &'a ToolArguments,
    pub(crate) extensions: &'a ExtensionArguments,
    /// Of all providers that sessions of this process ask.
    pub(crate) breakers: Breakers,
}

/// How a session is entered: who talks to it, what it follows, and who decides what comes after it.
pub(crate) struct Entrance {
    pub(crate) mode: Mode,
    pub(crate) beginning: Beginning,
    pub(crate) owner: Owner,
}

/// What is known before any model is chosen.
#[derive(Clone)]
pub(crate) struct Ground {
    /// The folder in which tools work: absolute, without links.
    pub(crate) directory: PathBuf,
    pub(crate) settings: Settings,
    decisions: Decisions,
    trust: settings::trust::Trust,
    /// Whether somebody decided for this run, which stands nowhere.
    is_settled: bool,
    /// What was said for this run, over what the files say.
    given: Vec<Layer>,
    /// What could not be used of the settings.
    notices: Vec<settings::Notice>,
}

impl Ground {
    /// Finds the project, whether it is trusted, and the settings.
    pub(crate) fn survey(environment: &Environment) -> Result<Self, Failure> {
        let here = std::env::current_dir().map_err(SessionFailure::NoFolder)?;
        Ok(Self::at(here.canonicalize().unwrap_or(here), environment))
    }

    /// The same of another folder, which is absolute and without links.
    pub(crate) fn at(directory: PathBuf, environment: &Environment) -> Self {
        let (decisions, trust, resolved) = Self::resolve(&directory, environment);
        Ground {
            directory,
            settings: resolved.settings,
            decisions,
            trust,
            is_settled: false,
            given: Vec::new(),
            notices: resolved.notices,
        }
    }

    /// The same where somebody decided for this run.
    #[must_use]
    pub(crate) fn settled(self, trust: settings::trust::Trust, environment: &Environment) -> Self {
        Self { trust, is_settled: true, ..self }.again(environment)
    }

    /// The same where somebody said which models are gone through.
    #[must_use]
    pub(crate) fn scoped(self, patterns: &[String], environment: &Environment) -> Self {
        if patterns.is_empty() {
            return self;
        }
        let given = vec![Layer::given(settings::Origin::Flag, [("enabledModels", patterns.into())])];
        Self { given, ..self }.again(environment)
    }

    /// What was decided about the project, and the settings with who said what.
    pub(crate) fn resolve(
        directory: &Path,
        environment: &Environment,
    ) -> (Decisions, settings::trust::Trust, settings::Resolved) {
        let agent = environment.agent_directory.as_deref();
        let decisions = agent.map(Decisions::read).unwrap_or_default();
        // What holds where nobody decided is the person's to say, so their own file is read first.
        let untrusted = settings::trust::Trust::Untrusted;
        let own = settings::load(&Files { agent, project: None, trust: untrusted }, Vec::new());
        let trust = decisions.trust(directory, own.settings.default_project_trust);
        let resolved = settings::load(&Files { agent, project: Some(directory), trust }, Vec::new());
        (decisions, trust, resolved)
    }

    /// The same with settings that are read anew; whether the project is trusted stays as it was.
    fn again(&self, environment: &Environment) -> Self {
        let agent = environment.agent_directory.as_deref();
        let files = Files { agent, project: Some(&self.directory), trust: self.trust };
        let settings::Resolved { settings, notices, .. } = settings::load(&files, self.given.clone());
        Self { settings, notices, ..self.clone() }
    }

    /// Says what is odd about the settings. That those of a project are not used is told with what else is not.
    pub(crate) fn tell(&self, console: &mut Console) {
        self.oddities().iter().for_each(|note| console.note(note));
    }

    fn oddities(&self) -> Vec<String> {
        let is_odd = |notice: &&settings::Notice| notice.problem != settings::Problem::Untrusted;
        self.notices.iter().filter(is_odd).map(ToString::to_string).collect()
    }

    /// Whether nobody decided about this project, neither for it nor for all of them.
    pub(crate) fn is_undecided(&self) -> bool {
        let is_decided = self.is_settled || self.decisions.about(&self.directory).is_some();
        self.trust == settings::trust::Trust::Untrusted && !is_decided
    }

    /// Whether somebody who is there is to be asked about it.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.is_undecided() && self.settings.default_project_trust == settings::DefaultTrust::Ask
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.trust == settings::trust::Trust::Trusted
    }

    /// The colours that the settings name.
    pub(crate) fn theme(&self) -> Theme {
        theme(&self.settings)
    }

    /// Says that there is no theme of the name that the settings have, if so.
    pub(crate) fn tell_theme(&self, console: &mut Console) {
        self.odd_theme().iter().for_each(|note| console.note(note));
    }

    fn odd_theme(&self) -> Option<String> {
        let name = self.settings.theme.as_deref().filter(|name| Theme::named(name).is_none())?;
        let known = Theme::NAMES.join(", ");
        Some(format!("there is no theme {name:?}, so the dark one is used; themes are: {known}"))
    }
}

impl Workshop {
    pub(crate) fn open(
        kit: &Kit<'_>,
        ground: &Ground,
        rules: Rules,
        providers: Providers,
        answering: &Answering,
        environment: &Environment,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let Ground { directory, settings, .. } = ground;
        let credentials = providers.credential_names();
        let redactor = Arc::new(providers.redactor(Evidence::Shapes));
        let record_redactor = extensions::record_redactor(providers.secrets());
        let tools = Registry::built_in();
        let policy = rules.policy.clone();
        let (furniture, notes) = Furniture::read(kit.told, ground, rules, Arc::clone(&redactor), &tools, environment)?;
        notes.iter().for_each(|note| console.note(note));
        let (extensions, left_out) = Extensions::find(kit.extensions, ground, &policy, environment)?;
        left_out.iter().for_each(|notice| console.note(notice));
        let active_tools = active_tools(kit, settings, &tools, &extensions, console)?;
        let extensions = match active_tools {
            ActiveTools::Asked(_) => extensions.needing_servers(),
            ActiveTools::Usual(_) => extensions,
        };
        let (folders, tooling) = tooling(directory, settings, environment, credentials, Arc::clone(&redactor));
        let queue = Arc::new(FileQueue::default());
        let workspace = workspace(&folders, tooling.clone(), Arc::clone(&queue))?;
        let models = providers.into_models(answering.key.clone(), settings, kit.breakers.clone());
        let bench = Bench {
            tools: tools.clone(),
            tooling,
            queue,
            folders,
            record_redactor,
            keys: Some(extensions::key_ring(models.clone())),
            models: Some(extensions::model_list(models.clone())),
        };
        Ok(Self {
            furniture: Arc::new(furniture),
            models,
            tools,
            active_tools,
            workspace,
            is_project_trusted: ground.is_trusted(),
            extensions: Arc::new(extensions),
            bench: Arc::new(bench),
        })
    }

    /// Whether the context files, skills and templates are still those that were found.
    pub(crate) fn is_current(&self) -> bool {
        self.furnished().is_current()
    }

    /// What its sessions have from files, as it was last read.
    pub(crate) fn furnished(&self) -> Arc<Furnished> {
        self.furniture.current()
    }

    /// Whether sessions may have commands and tools of extensions, which are known when they run.
    pub(crate) fn has_extensions(&self) -> bool {
        !self.extensions.is_empty()
    }

    /// Starts a session that goes on at `seat`, with its extensions, and says what was odd about those.
    pub(crate) async fn start(
        &self,
        seat: Seat,
        answering: &Answering,
        entrance: Entrance,
        shell: Option<Arc<dyn ShellWatch>>,
    ) -> Started {
        let post = Post::new();
        let (extensions, bench) = (Arc::clone(&self.extensions), Arc::clone(&self.bench));
        let furniture = Arc::clone(&self.furniture);
        let kept_in = match &seat.storage {
            Storage::File(opened) => Some(opened.reader.path().to_owned()),
            Storage::Memory => None,
        };
        let place = (seat.header.id.as_str(), kept_in);
        let (company, Loaded { notes, unmet }) =
            Company::begin(extensions, bench, furniture, &post, place, entrance.mode).await;
        let guests = Arc::clone(company.guests());
        let mut blueprint = Blueprint { shell, ..self.blueprint(seat, answering, entrance) };
        if let ActiveTools::Usual(names) = &mut blueprint.active_tools {
            // A tool of an extension is active unless its author or the person says otherwise.
            for tool in guests.tools().into_iter().filter(|tool| tool.offer.default_active) {
                if !names.contains(&tool.offer.definition.name) {
                    names.push(tool.offer.definition.name.clone());
                }
            }
        }
        let unmet = unmet.or_else(|| self.unoffered(&guests)).or_else(|| unbrought(&guests, answering));
        blueprint.guests = guests;
        let session = pi_session::start_at(post.attended(company), blueprint);
        Started { session, notes, unmet }
    }

    /// What the extensions of all sessions share.
    pub(crate) fn stock(&self) -> &StockRoom {
        self.extensions.stock()
    }

    /// The servers that a session starts, by name.
    pub(crate) fn servers(&self) -> Vec<String> {
        self.extensions.servers()
    }

    /// That somebody asked for a tool which neither we nor an extension has.
    fn unoffered(&self, guests: &Guests) -> Option<SessionFailure> {
        let offered = guests.tools().into_iter().map(|tool| tool.offer.definition.name.clone());
        let names: Vec<String> = self.tools.names().map(str::to_owned).chain(offered).collect();
        let name = match &self.active_tools {
            ActiveTools::Asked(asked) => asked.iter().find(|name| !names.contains(name))?.clone(),
            ActiveTools::Usual(_) => return None,
        };
        Some(SessionFailure::NoSuchTool { name, names })
    }

    /// Everything for a session that goes on at `seat`.
    fn blueprint(&self, seat: Seat, answering: &Answering, entrance: Entrance) -> Blueprint {
        let Entrance { mode, beginning, owner } = entrance;
        let id = seat.header.id.clone();
        let active_tools = match (&self.active_tools, mode) {
            // What a server is started with is the usual of its sessions; each has a client who chooses.
            (ActiveTools::Asked(names), Mode::Server) => ActiveTools::Usual(names.clone()),
            (active_tools, _) => active_tools.clone(),
        };
        let furnished = self.furnished();
        let lapse = match furnished.settings.question_timeout {
            Limit::Never => Lapse::Never,
            Limit::After(time) => Lapse::After(time),
        };
        let Furnishing { composer, system, policy, habits, scope } = furnished.furnishing();
        let Habits { retry, compaction, steering, follow_up, server_wait } = habits;
        let server_wait = match mode {
            Mode::Terminal | Mode::Server => server_wait,
            // They are waited for when the session begins.
            Mode::Json | Mode::Print => Duration::ZERO,
        };
        Blueprint {
            id,
            models: self.models.clone(),
            own_models: answering.own.clone(),
            scope,
            choice: Arc::clone(&answering.choice),
            thinking: answering.thinking,
            policy,
            redactor: Arc::clone(&composer.redactor),
            tools: self.tools.clone(),
            active_tools,
            workspace: Arc::clone(&self.workspace),
            shell: None,
            system,
            guests: Arc::new(Guests::none()),
            mode,
            lapse,
            is_project_trusted: self.is_project_trusted,
            retry,
            compaction,
            steering,
            follow_up,
            server_wait,
            composer,
            beginning,
            owner,
            storage: seat.storage,
            now,
        }
    }
}

/// That no extension brings the model which somebody named and nobody else has.
fn unbrought(guests: &Guests, answering: &Answering) -> Option<SessionFailure> {
    let awaited = answering.awaited.as_ref()?;
    let model = answering.choice.name();
    let (choices, complaints) = guest::offered(&guests.providers());
    if choices.iter().any(|choice| choice.name() == model) {
        return None;
    }
    let is_refused = |complaint: &&Complaint| match complaint {
        Complaint::Provider { name, .. } => name == answering.choice.provider().as_str(),
        Complaint::Collision(_) | Complaint::Scope(_) => false,
    };
    if let Some(refused) = complaints.iter().find(is_refused) {
        return Some(SessionFailure::ProviderNotUsed { model, why: refused.to_string() });
    }
    let default_in =
        if let Failure::Model(ModelFailure::BadDefault { file, .. }) = awaited { Some(file.clone()) } else { None };
    Some(SessionFailure::NoSuchModel { model, default_in })
}

/// The colours that settings name.
pub(crate) fn theme(settings: &Settings) -> Theme {
    settings.theme.as_deref().and_then(Theme::named).unwrap_or_else(Theme::dark)
}

pub(crate) fn now() -> Moment {
    Moment::from_unix_millis(asking::milliseconds())
}

/// The policy of the person's settings. One that cannot be read allows nothing: it may have been meant to forbid.
pub(crate) fn policy(environment: &Environment) -> Result<Policy, Failure> {
    let agent = environment.agent_directory.as_deref();
    let Some(path) = agent.map(|agent| agent.join("settings.json")).filter(|path| path.exists()) else {
        return Ok(Policy::default());
    };
    let file = path.display().to_string();
    let unusable = |why: Failure| Failure::UnusableSettings { file: file.clone(), why: Box::new(why) };
    let document = input::read(&path).map_err(unusable)?;
    // The rest of the settings is read with a byte order mark too.
    let bytes = document.bytes().strip_prefix(b"\xef\xbb\xbf").unwrap_or(document.bytes());
    if bytes.trim_ascii().is_empty() {
        return Ok(Policy::default());
    }
    // What is no JSON is told with its place, and not as a fault of the policy in it.
    let document =
        refusal::parse_any(bytes).map_err(|refusal| unusable(Failure::NotSettings { file: file.clone(), refusal }))?;
    let Noted { value, notices } = config::load(bytes)
        .map_err(|invalid| Failure::NotAPolicy { file: file.clone(), problems: invalid.problems })?;
    // A word that nobody knows may have been meant to forbid something: nothing begins without it.
    let problems: Vec<config::Problem> = notices.into_iter().chain(slips(&document)).collect();
    if problems.is_empty() { Ok(value) } else { Err(Failure::NotAPolicy { file, problems }) }
}

/// Members that look like a policy and are none.
fn slips(document: &serde_json::Value) -> Vec<config::Problem> {
    const SECTIONS: [&str; 2] = ["extensions", "agent"];
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().map(|members| members.keys().cloned().collect()).unwrap_or_default()
    };
    let is_near = |word: &str, meant: &str| matches!(likeness::distance(word, meant), 1 | 2);
    let unknown = |path: String| config::Problem { path, fault: config::Fault::UnknownKey };
    let mut problems = Vec::new();
    for key in keys(document) {
        let holds_policy = document[&key].get("policy").is_some();
        if holds_policy && SECTIONS.iter().any(|section| is_near(&key, section)) {
            problems.push(unknown(key));
        } else if SECTIONS.contains(&key.as_str()) {
            let near = keys(&document[&key]).into_iter().filter(|inner| is_near(inner, "policy"));
            problems.extend(near.map(|inner| unknown(format!("{key}.{inner}"))));
        }
    }
    problems
}

fn active_tools(
    kit: &Kit<'_>,
    settings: &Settings,
    tools: &Registry,
    extensions: &Extensions,
    console: &mut Console,
) -> Result<ActiveTools, Failure> {
    let ToolArguments { tools: wanted, no_tools } = kit.offered;
    if *no_tools {
        return Ok(ActiveTools::Asked(Vec::new()));
    }
    let known = |name: &String| tools.get(name).is_some();
    let names = || tools.names().map(str::to_owned).collect();
    // What extensions offer is known when they run.
    if let Some(name) = wanted.iter().find(|name| !known(name)).filter(|_| extensions.is_empty()) {
        return Err(SessionFailure::NoSuchTool { name: name.clone(), names: names() }.into());
    }
    if !wanted.is_empty() {
        return Ok(ActiveTools::Asked(wanted.clone()));
    }
    let mut active = settings.tools(&DEFAULT_ACTIVE);
    for name in active.extract_if(.., |name| !known(name)) {
        console.note(&format!("defaultTools names {name}, and there is no such tool"));
    }
    Ok(ActiveTools::Usual(active))
}

/// How tools work, and where.
pub(crate) fn tooling(
    directory: &Path,
    settings: &Settings,
    environment: &Environment,
    credentials: Vec<String>,
    redactor: Arc<Redactor>,
) -> (Folders, pi_tools::Settings) {
    let agent = environment.agent_directory.clone();
    let withheld = Withheld { credentials, passed: settings.pass_environment.clone() };
    let mut variables = Variables::new(env::all(), &withheld);
    if let Some(agent) = &agent {
        variables = variables.with_programs_of(&agent.join("bin"));
    }
    let project = directory.to_owned();
    let folders = Folders { project, home: environment.home.clone(), agent, ..Folders::default() };
    folders.marks.set(marks::of_settings(directory, environment));
    let settings = pi_tools::Settings {
        shell: Shell { path: settings.shell_path.clone(), prefix: settings.shell_command_prefix.clone() },
        environment: variables,
        temporary: std::env::temp_dir(),
        images: images(settings),
        redactor,
    };
    (folders, settings)
}

fn workspace(folders: &Folders, tooling: pi_tools::Settings, queue: Arc<FileQueue>) -> Result<Arc<Workspace>, Failure> {
    let places = folders.places().map_err(|source| Failure::BadPath {
        what: "the project",
        path: folders.project.display().to_string(),
        source,
    })?;
    Ok(Arc::new(Workspace::new(places, tooling, queue)))
}
