//! What the sessions of a folder have from files: settings, what is allowed, skills, templates and instructions.
//!
//! It is read when the workshop is opened, and once more when somebody wants that in a session that runs. Whether the project
//! is trusted stays as it was.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pi_envelope::SystemPart;
use pi_policy::Policy;
use pi_redact::Redactor;
use pi_session::{
    Furnishing, Habits, cut,
    input::{Composer, ImageRule, Mentions, Picture, Pictures},
    models::scope::Scope,
    resources::{
        self, Change, Discovery, Places, Resources, Switches, Wanted,
        assembly::{Ingredients, ToolNote, assemble, for_tools},
    },
    settings::{self, Settings},
    tree::stamp,
};
use pi_tools::{DEFAULT_ACTIVE, Images, Registry};
use pi_transcript::Block;

use super::{Ground, Rules, now, policy};
use crate::{
    arguments::talk::ToldArguments,
    env::Environment,
    failure::{Failure, SessionFailure},
    input,
};

/// Where all of it is, and what it was when it was last read.
pub(crate) struct Furniture {
    told: ToldArguments,
    mentions: Mentions,
    ground: Ground,
    environment: Environment,
    redactor: Arc<Redactor>,
    tools: Registry,
    /// A lock and no task: it is held for a copy of a pointer.
    current: Mutex<Arc<Furnished>>,
}

/// What was read.
pub(crate) struct Furnished {
    pub(crate) settings: Settings,
    pub(crate) composer: Arc<Composer>,
    pub(crate) policy: Arc<Policy>,
    system: Arc<[SystemPart]>,
    /// Whether what was found is told otherwise than it stands in the files.
    is_scrubbed: bool,
}

/// What extensions bring for a session beside what its files say: files and folders that they may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    pub(crate) skills: Vec<PathBuf>,
    pub(crate) prompts: Vec<PathBuf>,
}

/// Something that was read, and what was odd about it.
struct Noted<T> {
    value: T,
    notes: Vec<String>,
}

impl Furniture {
    /// Reads everything but the settings, which are known. Says what was odd about it.
    pub(crate) fn read(
        told: &ToldArguments,
        ground: &Ground,
        rules: Rules,
        redactor: Arc<Redactor>,
        tools: &Registry,
        environment: &Environment,
    ) -> Result<(Self, Vec<String>), Failure> {
        let Rules { policy, mentions } = rules;
        let by = Reader { told, ground, mentions, redactor: &redactor, tools, environment };
        let Noted { value, notes } = by.read(Arc::new(policy), &Brought::default())?;
        let furniture = Self {
            told: told.clone(),
            mentions,
            ground: ground.clone(),
            environment: environment.clone(),
            redactor,
            tools: tools.clone(),
            current: Mutex::new(Arc::new(value)),
        };
        Ok((furniture, notes))
    }

    /// The folder of its sessions.
    pub(crate) fn directory(&self) -> &Path {
        &self.ground.directory
    }

    /// As it was last read.
    pub(crate) fn current(&self) -> Arc<Furnished> {
        Arc::clone(&self.lock())
    }

    /// Reads everything anew, for all sessions that begin from here on and for whoever asks. Where something is so wrong that a
    /// session would not begin, everything stays as it was. Blocks.
    pub(crate) fn renew(&self) -> Result<(Arc<Furnished>, Vec<String>), Failure> {
        let ground = self.ground.again(&self.environment);
        let mut notes = ground.oddities();
        notes.extend(ground.odd_theme());
        let Self { told, mentions, redactor, tools, environment, .. } = self;
        let by = Reader { told, ground: &ground, mentions: *mentions, redactor, tools, environment };
        let Noted { value, notes: more } = by.read(Arc::new(policy(environment)?), &Brought::default())?;
        notes.extend(more);
        let mut current = self.lock();
        *current = Arc::new(value.sharing(&current));
        Ok((Arc::clone(&current), notes))
    }

    /// What was last read, with what the extensions of one session bring, and what is odd about that. Blocks.
    pub(crate) fn with(&self, brought: &Brought) -> Result<(Arc<Furnished>, Vec<String>), Failure> {
        let current = self.current();
        if *brought == Brought::default() {
            return Ok((current, Vec::new()));
        }
        let ground = Ground { settings: current.settings.clone(), ..self.ground.clone() };
        let Self { told, mentions, redactor, tools, environment, .. } = self;
        let by = Reader { told, ground: &ground, mentions: *mentions, redactor, tools, environment };
        let Noted { value, notes: _ } = by.read(Arc::clone(&current.policy), brought)?;
        let is_known = |notice: &&resources::Notice| current.composer.resources.notices.contains(notice);
        let new = value.composer.resources.notices.iter().filter(|notice| !is_known(notice));
        let notes = new.map(ToString::to_string).collect();
        Ok((Arc::new(value), notes))
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Furnished>> {
        // Nothing in here can panic half-way.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Furnished {
    /// What a session takes over of it.
    pub(crate) fn furnishing(&self) -> Furnishing {
        let Settings { retry, steering_mode, follow_up_mode, server_wait, .. } = self.settings;
        let settings::Compaction { enabled, reserve_tokens, keep_recent_tokens } = self.settings.compaction;
        let compaction = cut::Settings { enabled, reserve_tokens, keep_recent_tokens };
        Furnishing {
            composer: Arc::clone(&self.composer),
            system: Arc::clone(&self.system),
            policy: Arc::clone(&self.policy),
            habits: Habits { retry, compaction, steering: steering_mode, follow_up: follow_up_mode, server_wait },
            scope: Scope::new(&self.settings.enabled_models),
        }
    }

    /// Whether the context files, skills and templates are still those that were found.
    pub(crate) fn is_current(&self) -> bool {
        !self.is_scrubbed && resources::discover(&self.composer.places) == self.composer.resources
    }

    /// What is different from what was read before, for people; nothing where nothing is.
    pub(crate) fn difference(&self, before: &Self) -> Option<String> {
        let changes = resources::changes(&before.composer.resources, &self.composer.resources);
        let mut told: Vec<String> = changes.iter().map(of_change).collect();
        if self.settings != before.settings {
            told.push("changed settings".to_owned());
        }
        (!told.is_empty()).then(|| format!("read anew: {}", told.join(", ")))
    }

    /// The same with what is large shared, where it is as it was: sessions of a folder hold it together.
    fn sharing(self, before: &Self) -> Self {
        let is_same = self.settings == before.settings
            && self.composer.resources == before.composer.resources
            && self.system == before.system;
        match is_same {
            true => Self { composer: Arc::clone(&before.composer), system: Arc::clone(&before.system), ..self },
            false => self,
        }
    }
}

fn of_change(change: &Change) -> String {
    match change {
        Change::Added(id) => format!("added {id}"),
        Change::Removed(id) => format!("removed {id}"),
        Change::Changed(id) => format!("changed {id}"),
    }
}

/// Reads it, for these settings.
struct Reader<'a> {
    told: &'a ToldArguments,
    ground: &'a Ground,
    mentions: Mentions,
    redactor: &'a Arc<Redactor>,
    tools: &'a Registry,
    environment: &'a Environment,
}

impl Reader<'_> {
    fn read(&self, policy: Arc<Policy>, brought: &Brought) -> Result<Noted<Furnished>, Failure> {
        let Ground { directory, settings, decisions, trust, is_settled: _, given: _, notices: _ } = self.ground.clone();
        let (told, environment) = (self.told, self.environment);
        let places = Places {
            decisions,
            default_trust: settings.default_project_trust,
            context_files: discovery(told.no_context_files),
            skills: wanted(told.no_skills, &told.skill, &settings.skills, &brought.skills),
            templates: wanted(told.no_prompt_templates, &told.prompt_template, &settings.prompts, &brought.prompts),
            ..Places::usual(environment.agent_directory.clone(), environment.home.clone(), directory.clone(), trust)
        };
        let mut resources = resources::discover(&places);
        let is_odd = |notice: &&resources::Notice| notice.problem != resources::Problem::Untrusted;
        let mut notes = Vec::new();
        for notice in resources.notices.iter().filter(is_odd) {
            if let Some(unusable) = unusable(notice, told, &directory) {
                return Err(unusable.into());
            }
            notes.push(notice.to_string());
        }
        let is_scrubbed = resources.scrub(self.redactor) > 0;
        if is_scrubbed {
            notes.push("context files, skills or templates hold secrets; the model does not see them".to_owned());
        }
        let system = self.for_usual_tools(self.system(&resources, &mut notes)?, &settings);
        let composer = Arc::new(Composer {
            places,
            resources,
            redactor: Arc::clone(self.redactor),
            pictures: pictures(images(&settings)),
            mentions: self.mentions,
            images: if settings.images.block_images { ImageRule::Block } else { ImageRule::Send },
            skills: if settings.enable_skill_commands { Discovery::On } else { Discovery::Off },
        });
        Ok(Noted { value: Furnished { settings, composer, policy, system, is_scrubbed }, notes })
    }

    fn system(&self, resources: &Resources, notes: &mut Vec<String>) -> Result<Vec<SystemPart>, Failure> {
        // Of all of them: the session says what of it goes with the tools that it offers.
        let tools: Vec<ToolNote> =
            self.tools.names().filter_map(|name| Some(ToolNote::of(self.tools.get(name)?.definition()))).collect();
        let mut read = |text: &str| text_or_file(text, notes);
        let instead = self.told.system_prompt.as_deref().map(&mut read).transpose()?;
        let appended = self.told.append_system_prompt.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(assemble(&Ingredients {
            resources,
            switches: &Switches::default(),
            tools: &tools,
            instead: instead.as_deref(),
            appended: &appended,
            directory: &self.ground.directory,
            day: &stamp(now())[..10],
        }))
    }

    /// The same as sessions that offer the usual tools are told it: these share it then, and others make theirs of it.
    fn for_usual_tools(&self, parts: Vec<SystemPart>, settings: &Settings) -> Arc<[SystemPart]> {
        let names = settings.tools(&DEFAULT_ACTIVE);
        let notes = names.iter().filter_map(|name| Some(ToolNote::of(self.tools.get(name)?.definition())));
        let notes: Vec<ToolNote> = notes.collect();
        parts.into_iter().map(|part| for_tools(&part, &notes).unwrap_or(part)).collect()
    }
}

fn discovery(is_off: bool) -> Discovery {
    if is_off { Discovery::Off } else { Discovery::On }
}

fn wanted(is_off: bool, named: &[PathBuf], settings: &[settings::Location], brought: &[PathBuf]) -> Wanted {
    Wanted {
        discovery: discovery(is_off),
        named: named.to_vec(),
        settings: settings.to_vec(),
        brought: brought.to_vec(),
    }
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
        | Problem::Strays { .. }
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

/// As in Pi: what is the name of a file stands for its text. What only looks like one is said as it is, and that is told.
fn text_or_file(text: &str, notes: &mut Vec<String>) -> Result<String, Failure> {
    let path = Path::new(text);
    if path.is_file() {
        return input::read_text(path);
    }
    if looks_like_a_file(text) {
        notes.push(format!("there is no file {text}; the model is told these words instead"));
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
pub(super) fn images(settings: &Settings) -> Images {
    if settings.images.auto_resize { Images::Scaled } else { Images::AsTheyAre }
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
