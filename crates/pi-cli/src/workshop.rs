//! Everything that a session needs beside its conversation: settings, models, tools, policy, and what a model is told.
//!
//! [`Workshop::open`] reads it from the arguments, the environment and the files of the person and the project, says what
//! is odd about them, and asks nobody. Which conversation it is for is decided in [`seat`], who answers in [`model`].

pub(crate) mod company;
pub(crate) mod cost;
pub(crate) mod extensions;
pub(crate) mod model;
pub(crate) mod seat;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_envelope::SystemPart;
use pi_exthost::{Guests, guest::ProviderOffer, port::Mode};
use pi_policy::{
    Moment, Policy,
    config::{self, Noted},
};
use pi_provider::{breaker::Breakers, likeness};
use pi_redact::{Evidence, Redactor};
use pi_session::{
    Beginning, Blueprint, Owner, Post, Session, ShellWatch, cut,
    input::{Composer, ImageRule, Mentions, Picture, Pictures},
    models::Models,
    offer::ActiveTools,
    resources::{
        self, Discovery, Places, Resources, Switches, Wanted,
        assembly::{Ingredients, ToolNote, assemble, for_tools},
    },
    settings::{self, Files, Settings, trust::Decisions},
    tree::stamp,
};
use pi_terminal::Theme;
use pi_tools::{
    DEFAULT_ACTIVE, Environment as Variables, Images, Registry, Shell, Withheld, Workspace,
    files::{FileQueue, Folders},
};
use pi_transcript::Block;

use self::{
    company::{Company, Loaded},
    extensions::{Bench, Extensions},
    model::Answering,
    seat::Seat,
};
use crate::{
    arguments::talk::{ExtensionArguments, ToldArguments, ToolArguments},
    asking,
    console::Console,
    env::{self, Environment},
    failure::{Failure, SessionFailure},
    input,
    providers::Providers,
    refusal,
};

/// What every session of this process shares.
pub(crate) struct Workshop {
    pub(crate) settings: Settings,
    pub(crate) composer: Arc<Composer>,
    pub(crate) models: Models,
    policy: Arc<Policy>,
    tools: Registry,
    active_tools: ActiveTools,
    workspace: Arc<Workspace>,
    system: Arc<[SystemPart]>,
    is_project_trusted: bool,
    /// Whether what was found is told otherwise than it stands in the files.
    is_scrubbed: bool,
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
        Ground { directory, settings: resolved.settings, decisions, trust, notices: resolved.notices }
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

    /// Says what is odd about the settings. That those of a project are not used is told with what else is not.
    pub(crate) fn tell(&self, console: &mut Console) {
        let is_odd = |notice: &&settings::Notice| notice.problem != settings::Problem::Untrusted;
        for notice in self.notices.iter().filter(is_odd) {
            console.note(&notice.to_string());
        }
    }

    /// Whether nobody decided about this project, neither for it nor for all of them.
    pub(crate) fn is_undecided(&self) -> bool {
        self.trust == settings::trust::Trust::Untrusted && self.decisions.about(&self.directory).is_none()
    }

    /// Whether somebody who is there is to be asked about it.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.is_undecided() && self.settings.default_project_trust == settings::DefaultTrust::Ask
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.trust == settings::trust::Trust::Trusted
    }

    /// Says that there is no theme of the name that the settings have, if so.
    pub(crate) fn tell_theme(&self, console: &mut Console) {
        let unknown = self.settings.theme.as_deref().filter(|name| Theme::named(name).is_none());
        if let Some(name) = unknown {
            let known = Theme::NAMES.join(", ");
            console.note(&format!("there is no theme {name:?}, so the dark one is used; themes are: {known}"));
        }
    }

    /// The colours that the settings name.
    pub(crate) fn theme(&self) -> Theme {
        self.settings.theme.as_deref().and_then(Theme::named).unwrap_or_else(Theme::dark)
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
        let Rules { policy, mentions } = rules;
        let Ground { directory, settings, decisions, trust, notices: _ } = ground.clone();
        let credentials = providers.credential_names();
        let redactor = Arc::new(providers.redactor(Evidence::Shapes));
        let places = Places {
            decisions,
            default_trust: settings.default_project_trust,
            context_files: discovery(kit.told.no_context_files),
            skills: wanted(kit.told.no_skills, &kit.told.skill, &settings.skills),
            templates: wanted(kit.told.no_prompt_templates, &kit.told.prompt_template, &settings.prompts),
            ..Places::usual(environment.agent_directory.clone(), environment.home.clone(), directory.clone(), trust)
        };
        let mut resources = resources::discover(&places);
        let is_odd = |notice: &&resources::Notice| notice.problem != resources::Problem::Untrusted;
        for notice in resources.notices.iter().filter(is_odd) {
            if let Some(unusable) = unusable(notice, kit.told, &directory) {
                return Err(unusable.into());
            }
            console.note(&notice.to_string());
        }
        let is_scrubbed = resources.scrub(&redactor) > 0;
        if is_scrubbed {
            console.note("context files, skills or templates hold secrets; the model does not see them");
        }
        let tools = Registry::built_in();
        let (extensions, left_out) = Extensions::find(kit.extensions, ground, &policy, environment)?;
        left_out.iter().for_each(|notice| console.note(notice));
        let active_tools = active_tools(kit, &settings, &tools, &extensions, console)?;
        let extensions = match active_tools {
            ActiveTools::Asked(_) => extensions.needing_servers(),
            ActiveTools::Usual(_) => extensions,
        };
        let system = system(kit.told, &resources, &tools, &directory, console)?;
        let system = for_usual_tools(system, &active_tools, &tools);
        let (folders, tooling) = tooling(&directory, &settings, environment, credentials, Arc::clone(&redactor));
        let queue = Arc::new(FileQueue::default());
        let workspace = workspace(&folders, tooling.clone(), Arc::clone(&queue))?;
        let models = providers.into_models(answering.key.clone(), &settings, kit.breakers.clone());
        let bench = Bench {
            tools: tools.clone(),
            tooling,
            queue,
            folders,
            redactor: Arc::clone(&redactor),
            keys: Some(extensions::key_ring(models.clone())),
        };
        let is_project_trusted = trust == settings::trust::Trust::Trusted;
        let composer = Arc::new(Composer {
            places,
            resources,
            redactor,
            pictures: pictures(images(&settings)),
            mentions,
            images: if settings.images.block_images { ImageRule::Block } else { ImageRule::Send },
            skills: if settings.enable_skill_commands { Discovery::On } else { Discovery::Off },
        });
        Ok(Self {
            settings,
            composer,
            models,
            policy: Arc::new(policy),
            tools,
            active_tools,
            workspace,
            system,
            is_project_trusted,
            is_scrubbed,
            extensions: Arc::new(extensions),
            bench: Arc::new(bench),
        })
    }

    /// Whether the context files, skills and templates are still those that were found.
    pub(crate) fn is_current(&self) -> bool {
        !self.is_scrubbed && resources::discover(&self.composer.places) == self.composer.resources
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
        let (company, Loaded { notes, unmet }) =
            Company::begin(extensions, bench, &post, seat.header.id.as_str(), entrance.mode).await;
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
        Blueprint {
            id,
            models: self.models.clone(),
            own_models: answering.own.clone(),
            choice: Arc::clone(&answering.choice),
            thinking: answering.thinking,
            policy: Arc::clone(&self.policy),
            redactor: Arc::clone(&self.composer.redactor),
            tools: self.tools.clone(),
            active_tools,
            workspace: Arc::clone(&self.workspace),
            shell: None,
            system: Arc::clone(&self.system),
            guests: Arc::new(Guests::none()),
            mode,
            is_project_trusted: self.is_project_trusted,
            retry: self.settings.retry,
            compaction: compaction(&self.settings),
            steering: self.settings.steering_mode,
            follow_up: self.settings.follow_up_mode,
            composer: Arc::clone(&self.composer),
            beginning,
            owner,
            storage: seat.storage,
            now,
        }
    }
}

/// That no extension brings the model which somebody named and nobody else has.
fn unbrought(guests: &Guests, answering: &Answering) -> Option<SessionFailure> {
    answering.awaited.as_ref()?;
    let (provider, model) = (answering.choice.provider().as_str(), answering.choice.id());
    let lists =
        |models: &serde_json::Value| models.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == model));
    let brings = |offer: &ProviderOffer| offer.name == provider && offer.config.get("models").is_some_and(lists);
    let is_brought = guests.providers().iter().any(|own| brings(&own.offer));
    (!is_brought).then(|| SessionFailure::NoSuchModel { model: answering.choice.name() })
}

pub(crate) fn now() -> Moment {
    Moment::from_unix_millis(asking::milliseconds())
}

fn compaction(settings: &Settings) -> cut::Settings {
    let settings::Compaction { enabled, reserve_tokens, keep_recent_tokens } = settings.compaction;
    cut::Settings { enabled, reserve_tokens, keep_recent_tokens }
}

fn discovery(is_off: bool) -> Discovery {
    if is_off { Discovery::Off } else { Discovery::On }
}

fn wanted(is_off: bool, named: &[PathBuf], settings: &[settings::Location]) -> Wanted {
    Wanted { discovery: discovery(is_off), named: named.to_vec(), settings: settings.to_vec() }
}

/// That a skill or a template is not used which somebody named as an argument.
fn unusable(notice: &resources::Notice, told: &ToldArguments, directory: &Path) -> Option<SessionFailure> {
    use resources::Problem;
    let is_used = match &notice.problem {
        Problem::TooLarge { .. }
        | Problem::NotAFile
        | Problem::Missing
        | Problem::Unreadable { .. }
        | Problem::Untrusted
        | Problem::LeadsOut { .. }
        | Problem::Head { .. }
        | Problem::NoDescription
        | Problem::BadName { .. } => false,
        Problem::NotUtf8
        | Problem::TooMany { .. }
        | Problem::LongDescription { .. }
        | Problem::OddName { .. }
        | Problem::OtherName { .. }
        | Problem::Collision { .. }
        | Problem::BadPattern { .. } => true,
    };
    let named = [("--skill", &told.skill), ("--prompt-template", &told.prompt_template)];
    let mut named = named.into_iter().flat_map(|(option, paths)| paths.iter().map(move |path| (option, path)));
    let is_it = |path: &PathBuf| {
        let path = directory.join(path);
        // The folder of a skill is named for the file in it.
        path == notice.path || path.join("SKILL.md") == notice.path
    };
    let (option, path) = named.find(|(_, path)| !is_used && is_it(path))?;
    Some(SessionFailure::Unusable { option, value: path.display().to_string(), why: notice.problem.to_string() })
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

fn system(
    told: &ToldArguments,
    resources: &Resources,
    tools: &Registry,
    directory: &Path,
    console: &mut Console,
) -> Result<Vec<SystemPart>, Failure> {
    // Of all of them: the session says what of it goes with the tools that it offers.
    let notes: Vec<ToolNote> =
        tools.names().filter_map(|name| Some(ToolNote::of(tools.get(name)?.definition()))).collect();
    let mut read = |text: &str| text_or_file(text, console);
    let instead = told.system_prompt.as_deref().map(&mut read).transpose()?;
    let appended = told.append_system_prompt.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
    Ok(assemble(&Ingredients {
        resources,
        switches: &Switches::default(),
        tools: &notes,
        instead: instead.as_deref(),
        appended: &appended,
        directory,
        day: &stamp(now())[..10],
    }))
}

/// The same as sessions that offer the usual tools are told it: these share it then, and others make theirs of it.
fn for_usual_tools(parts: Vec<SystemPart>, active: &ActiveTools, tools: &Registry) -> Arc<[SystemPart]> {
    let (ActiveTools::Usual(names) | ActiveTools::Asked(names)) = active;
    let notes = names.iter().filter_map(|name| Some(ToolNote::of(tools.get(name)?.definition())));
    let notes: Vec<ToolNote> = notes.collect();
    parts.into_iter().map(|part| for_tools(&part, &notes).unwrap_or(part)).collect()
}

/// As in Pi: what is the name of a file stands for its text. What only looks like one is said as it is, and that is told.
fn text_or_file(text: &str, console: &mut Console) -> Result<String, Failure> {
    let path = Path::new(text);
    if path.is_file() {
        return input::read_text(path);
    }
    if looks_like_a_file(text) {
        console.note(&format!("there is no file {text}; the model is told these words instead"));
    }
    Ok(text.to_owned())
}

/// One word with an ending, or a path.
fn looks_like_a_file(text: &str) -> bool {
    let has_ending = Path::new(text).extension().is_some_and(|ending| (1..=8).contains(&ending.len()));
    !text.contains(char::is_whitespace) && (has_ending || text.contains('/'))
}

/// Pictures as the tool `read` would show them.
fn pictures(images: Images) -> Box<Pictures<'static>> {
    Box::new(move |bytes: &[u8]| {
        Some(match pi_tools::picture(bytes, images)? {
            pi_tools::Picture::LeftOut { why } => Picture::LeftOut { why },
            pi_tools::Picture::Ready { data, mime_type, note } => {
                let Block::Image(image) = Block::image(data, mime_type) else { return None };
                Picture::Ready { image, note }
            }
        })
    })
}

/// How pictures are sent.
fn images(settings: &Settings) -> Images {
    if settings.images.auto_resize { Images::Scaled } else { Images::AsTheyAre }
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
    let folders = Folders { project: directory.to_owned(), home: environment.home.clone(), agent };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_file_is_told_from_words() {
        for (text, expected) in [
            ("nofile.md", true),
            ("prompts/short", true),
            ("Be brief.", false),
            ("Brief.", false),
            ("You work on a.rs", false),
            ("brief", false),
        ] {
            assert_eq!(looks_like_a_file(text), expected, "{text}");
        }
    }
}
