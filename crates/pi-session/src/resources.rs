//! What the model is told beside the conversation: context files, system texts, skills, and the templates that people use.
//!
//! [`discover`] looks at the [`Places`] once and returns what it found; calling it again and comparing with [`changes`] is
//! a reload. Nothing that is wrong with a file is fatal: it becomes a [`Notice`]. [`assembly`] turns the result into the
//! parts of a system prompt, each with its origin and trust. `docs/context.md` is the page for people.
//!
//! A project that nobody trusts brings context files only, and they are marked; its other files are named in a notice.

pub mod assembly;
mod change;
mod context;
mod disk;
mod frontmatter;
mod gather;
mod notice;
mod selection;
mod skill;
mod source;
mod system;
pub mod template;

use std::path::{Component, Path, PathBuf};

use pi_envelope::{Origin, Provenance, Trust as Belief};
use pi_redact::Redactor;

pub(crate) use self::disk::{Text, read};
pub use self::{
    change::{Change, changes},
    context::ContextFile,
    disk::LARGEST,
    notice::{Notice, Problem},
    skill::Skill,
    source::{Source, SourceId, SourceKind, Switches},
    system::SystemFile,
    template::Template,
};
use crate::{
    scrub,
    settings::{
        DefaultTrust, Location,
        trust::{Decisions, Trust},
    },
};

/// Where to look.
#[derive(Debug, Clone)]
pub struct Places {
    /// Pi's agent directory.
    pub agent: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// The directory of the session: absolute and without links.
    pub directory: PathBuf,
    /// Whether the project in that directory is trusted.
    pub trust: Trust,
    /// For folders above the project.
    pub decisions: Decisions,
    pub default_trust: DefaultTrust,
    pub context_files: Discovery,
    pub skills: Wanted,
    pub templates: Wanted,
}

/// Whether the usual places are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discovery {
    On,
    Off,
}

/// Where skills or templates come from.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Whether those of the usual places and of the settings count. What was named always does.
    pub discovery: Discovery,
    /// Named as arguments: files or folders, relative to the directory of the session.
    pub named: Vec<PathBuf>,
    /// Of the settings.
    pub settings: Vec<Location>,
    /// Named by extensions: files or folders, relative to the directory of the session. They count where the usual places do,
    /// and after those.
    pub brought: Vec<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resources {
    /// In the order in which they are told: the most general first.
    pub context: Vec<ContextFile>,
    /// Replaces our own words.
    pub system: Option<SystemFile>,
    /// Follows them.
    pub append: Option<SystemFile>,
    /// Each name once, in the order of places.
    pub skills: Vec<Skill>,
    pub templates: Vec<Template>,
    pub notices: Vec<Notice>,
}

/// Whose a resource is; of several with one name, that of the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Named as an argument.
    Named,
    Project,
    User,
    /// Brought by an extension.
    Extension,
}

/// Looks at every place.
pub fn discover(places: &Places) -> Resources {
    let mut notices = Vec::new();
    Resources {
        context: context::find(places, &mut notices),
        system: system::find(places, "SYSTEM.md", &mut notices),
        append: system::find(places, "APPEND_SYSTEM.md", &mut notices),
        skills: skill::find(places, &mut notices),
        templates: template::find(places, &mut notices),
        notices,
    }
}

impl Places {
    /// The usual ones for a session in `directory`, with no arguments and no settings.
    pub fn usual(agent: Option<PathBuf>, home: Option<PathBuf>, directory: PathBuf, trust: Trust) -> Self {
        Self {
            agent,
            home,
            directory,
            trust,
            decisions: Decisions::default(),
            default_trust: DefaultTrust::Ask,
            context_files: Discovery::On,
            skills: Wanted::usual(),
            templates: Wanted::usual(),
        }
    }

    /// The top of the project: the nearest folder with a `.git`, or else the directory of the session.
    pub fn root(&self) -> &Path {
        self.directory.ancestors().find(|folder| disk::exists(&folder.join(".git"))).unwrap_or(&self.directory)
    }

    /// Whether what a folder brings is used. It is judged by where it is, however it is named.
    pub fn trust_of(&self, folder: &Path) -> Trust {
        if self.is_agents(folder) { Trust::Trusted } else { self.trust_at(&disk::resolved(folder)) }
    }

    /// Whether what lies in a folder that is named without links is used.
    fn trust_at(&self, folder: &Path) -> Trust {
        if folder.starts_with(disk::resolved(self.root())) {
            self.trust
        } else {
            self.decisions.trust(folder, self.default_trust)
        }
    }

    /// Where a file comes from, and how far its writer is trusted.
    pub fn provenance(&self, path: &Path) -> Provenance {
        let real = disk::resolved(path);
        let trust = if self.is_agents(path) {
            Belief::Trusted
        } else {
            match self.trust_at(real.parent().unwrap_or(&real)) {
                Trust::Trusted => Belief::Project,
                Trust::Untrusted => Belief::Untrusted,
            }
        };
        Provenance { origin: Origin::File { path: path.display().to_string() }, trust }
    }

    /// Whether the person keeps it for all projects. Links that lie there are theirs, wherever they lead.
    fn is_agents(&self, path: &Path) -> bool {
        let folders = [self.agent.clone(), self.home.as_deref().map(|home| home.join(".agents"))];
        let is_plain = path.components().all(|part| part != Component::ParentDir);
        let real = disk::resolved(path);
        folders
            .into_iter()
            .flatten()
            .any(|folder| (is_plain && path.starts_with(&folder)) || real.starts_with(disk::resolved(&folder)))
    }
}

impl Wanted {
    /// The usual places and nothing else.
    pub fn usual() -> Self {
        Self { discovery: Discovery::On, named: Vec::new(), settings: Vec::new(), brought: Vec::new() }
    }
}

impl Resources {
    /// Whether something is not used because nobody has trusted the project: a reason to ask.
    pub fn awaits_trust(&self) -> bool {
        self.notices.iter().any(|notice| matches!(notice.problem, Problem::Untrusted))
    }

    /// Hides secrets in what was found, and says how many. Call it before anything is assembled.
    pub fn scrub(&mut self, redactor: &Redactor) -> usize {
        let context = self.context.iter_mut().map(|file| &mut file.text);
        let system = self.system.iter_mut().chain(&mut self.append).map(|file| &mut file.text);
        let skills = self.skills.iter_mut().map(|skill| &mut skill.description);
        let templates = self.templates.iter_mut().map(|template| &mut template.text);
        let texts = context.chain(system).chain(skills).chain(templates);
        texts.map(|text| scrub::replace(redactor, text)).sum()
    }

    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    pub fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.name == name)
    }
}
