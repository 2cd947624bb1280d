//! Which conversation is gone on with: a new one, one of the files, or one that is kept nowhere.

use std::path::{Path, PathBuf};

use pi_session::{
    Storage,
    context::{self, ModelChoice},
    directory::{self, FindError, Project},
    file::{self, Notice, Opened},
};
use pi_transcript::{
    Entry, Header, ThinkingLevel,
    entry::{ModelChange, ThinkingLevelChange},
    json::{Extra, Open},
};

use super::{Ground, model::Answering, now};
use crate::{
    arguments::talk::SessionArguments,
    console::Console,
    env::Environment,
    failure::{Failure, SessionFailure},
    input,
};

/// A conversation that nobody else writes to.
pub(crate) struct Seat {
    pub(crate) header: Header,
    pub(crate) storage: Storage,
    /// What it says about itself so far.
    pub(crate) past: Past,
}

/// What a conversation was led with.
pub(crate) struct Past {
    pub(crate) model: Option<ModelChoice>,
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Where the model was reached, if not where its manifest says, and if the file is one of ours.
    pub(crate) address: Option<String>,
}

/// The sessions of this folder. `None` if there is no place for any: no home folder, and none was named.
pub(crate) fn project(arguments: Option<&Path>, ground: &Ground, environment: &Environment) -> Option<Project> {
    let chosen = arguments.map(|folder| ground.directory.join(folder));
    let chosen = chosen.or_else(|| ground.settings.session_directory(environment.home.as_deref()));
    let usual = || environment.agent_directory.as_ref().map(|agent| agent.join("sessions"));
    let sessions = chosen.or_else(usual)?;
    Some(Project { sessions, cwd: ground.directory.display().to_string() })
}

/// Makes the folder that somebody named for sessions, unless it is there. Where it cannot be one, nothing begins: what is
/// said would be kept nowhere.
pub(crate) fn make_folder(arguments: Option<&Path>, ground: &Ground) -> Result<(), Failure> {
    let Some(folder) = arguments else { return Ok(()) };
    let unusable =
        |why: String| SessionFailure::Unusable { option: "--session-dir", value: folder.display().to_string(), why };
    Ok(input::make_folder(&ground.directory.join(folder)).map_err(|error| unusable(error.to_string()))?)
}

/// The file of a session that somebody named: `last`, its path, or the beginning of its id.
pub(crate) fn find(word: &str, project: &Project) -> Result<PathBuf, Failure> {
    if word == "last" {
        return Ok(most_recent(project)?.ok_or(SessionFailure::NoneYet)?);
    }
    Ok(project.find(word).map_err(|error| missed(error, project))?)
}

/// The file that a session shall be kept in, where somebody names one in which nothing is yet.
fn unwritten(word: &str, project: &Project) -> Option<PathBuf> {
    let path = Path::new(&project.cwd).join(word);
    let is_unwritten = path
        .metadata()
        .map_or_else(|error| error.kind() == std::io::ErrorKind::NotFound, |found| found.is_file() && found.len() == 0);
    (word.ends_with(".jsonl") && is_unwritten).then_some(path)
}

/// The session of this folder that was used last, if there is one.
fn most_recent(project: &Project) -> Result<Option<PathBuf>, SessionFailure> {
    project.most_recent().map_err(|error| missed(error.into(), project))
}

/// Why a session was not found, with what there is to choose from.
pub(crate) fn missed(error: FindError, project: &Project) -> SessionFailure {
    match error {
        FindError::Io(source) => {
            SessionFailure::FolderOfSessions { folder: project.sessions.display().to_string(), source }
        }
        FindError::Ambiguous { word, paths } => match directory::list_all(project) {
            Ok(mut sessions) => {
                sessions.retain(|stored| paths.contains(&stored.path));
                SessionFailure::Several { word, sessions }
            }
            Err(_) => SessionFailure::Find(FindError::Ambiguous { word, paths }),
        },
        FindError::NotFound { .. } => SessionFailure::Find(error),
    }
}

impl Seat {
    /// Finds or begins it, as the arguments say.
    pub(crate) fn take(
        arguments: &SessionArguments,
        ground: &Ground,
        environment: &Environment,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let project = project(arguments.kept.session_dir.as_deref(), ground, environment);
        if arguments.no_session {
            return Ok(Self::nowhere(ground));
        }
        make_folder(arguments.kept.session_dir.as_deref(), ground)?;
        let project = project.ok_or(SessionFailure::Homeless)?;
        if let Some(path) = arguments.session.as_deref().and_then(|word| unwritten(word, &project)) {
            console.remark(&format!("there is no session in {} yet; a new one begins there", path.display()));
            return Ok(Self::of(project.create_at(&path, now(), fastrand::Rng::new())));
        }
        let found = match (&arguments.session, arguments.last) {
            (Some(word), _) => Some(find(word, &project)?),
            (None, true) => most_recent(&project)?,
            (None, false) => None,
        };
        match found {
            Some(path) => {
                let mut seat = Self::at(&path, ground, console)?;
                // What a file of somebody else says is no reason to send anything there.
                if !path.starts_with(&project.sessions) {
                    seat.past.address = None;
                }
                Ok(seat)
            }
            None => {
                if arguments.last {
                    console.remark("there is no session in this folder yet; a new one begins");
                }
                Ok(Self::begin(&project))
            }
        }
    }

    /// A new session of which nothing is kept.
    pub(crate) fn nowhere(ground: &Ground) -> Self {
        let cwd = ground.directory.display().to_string();
        let header = Project { sessions: PathBuf::new(), cwd }.create(now(), fastrand::Rng::new()).header;
        Seat { header, storage: Storage::Memory, past: Past { model: None, thinking: None, address: None } }
    }

    /// Whether its file cannot be written, which was told when it was opened.
    pub(crate) fn is_unwritable(&self) -> bool {
        match &self.storage {
            Storage::File(opened) => opened.notices.iter().any(|notice| matches!(notice, Notice::Unwritable { .. })),
            Storage::Memory => false,
        }
    }

    /// Where its file is, or will be.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match &self.storage {
            Storage::File(opened) => Some(opened.reader.path().to_owned()),
            Storage::Memory => None,
        }
    }

    /// A new session; its file is made when something is said.
    pub(crate) fn begin(project: &Project) -> Self {
        let opened = project.create(now(), fastrand::Rng::new());
        Self {
            header: opened.header.clone(),
            past: Past { model: None, thinking: None, address: None },
            storage: Storage::File(Box::new(opened)),
        }
    }

    /// The same, saying from which file it came.
    pub(crate) fn begin_from(parent: &Path, project: &Project) -> Self {
        Self::of(project.create_from(parent, now(), fastrand::Rng::new()))
    }

    /// The session of a file, which nobody else can write to from here on.
    pub(crate) fn at(path: &Path, ground: &Ground, console: &mut Console) -> Result<Self, Failure> {
        Self::opened(file::go_on(path, now(), fastrand::Rng::new()), ground, console)
    }

    /// The same for a path that was checked, absolute and without links; it must still lead there.
    pub(crate) fn at_exactly(path: &Path, ground: &Ground, console: &mut Console) -> Result<Self, Failure> {
        Self::opened(file::go_on_exactly(path, now(), fastrand::Rng::new()), ground, console)
    }

    fn opened(
        opened: Result<Opened, file::OpenError>,
        ground: &Ground,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let opened = opened.map_err(SessionFailure::Open)?;
        for notice in &opened.notices {
            console.note(&told(notice));
        }
        let begun = opened.header.cwd.as_deref().filter(|cwd| Path::new(cwd) != ground.directory);
        if let Some(begun) = begun.filter(|cwd| !cwd.is_empty()) {
            let here = ground.directory.display();
            let gone = if Path::new(begun).is_dir() { "" } else { ", which is there no more" };
            console.note(&format!("this session was begun in {begun}{gone}; tools work in {here}"));
        }
        Ok(Self::of(opened))
    }

    /// A session that was opened already.
    pub(crate) fn of(opened: Opened) -> Self {
        let entries = opened.tree.entries();
        let context = context::build(&entries);
        let thinking = match context.thinking_level {
            Open::Known(level) => Some(level),
            Open::Other(_) => None,
        };
        let address = context.model.as_ref().and_then(|model| context::address(&entries, model));
        let past = Past { model: context.model, thinking, address };
        Self { header: opened.header.clone(), past, storage: Storage::File(Box::new(opened)) }
    }

    /// Writes down who answers from here on, where that is not what the file says already.
    pub(crate) fn note(&mut self, answering: &Answering) {
        let Storage::File(opened) = &mut self.storage else { return };
        if answering.silence.is_some() {
            return;
        }
        let (choice, level) = (&answering.choice, answering.choice.clamp(answering.thinking));
        let provider = choice.provider().clone();
        let chosen = ModelChoice { provider, model: choice.id().into() };
        // What stands in for a model of an extension is nowhere.
        let address = choice.address().filter(|_| answering.awaited.is_none());
        if self.past.model.as_ref() != Some(&chosen) || self.past.address.as_deref() != address {
            let ModelChoice { provider, model: model_id } = chosen;
            let address = address.map(|address| (context::ADDRESS.to_owned(), address.into()));
            let extra: Extra = address.into_iter().collect();
            append(opened, |base| Entry::ModelChange(ModelChange { base, provider, model_id, extra }));
        }
        if self.past.thinking != Some(level) {
            let thinking_level = Open::Known(level);
            let change = |base| ThinkingLevelChange { base, thinking_level, extra: Extra::new() };
            append(opened, |base| Entry::ThinkingLevelChange(change(base)));
        }
    }
}

fn append(opened: &mut Opened, make: impl FnOnce(pi_transcript::entry::Base) -> Entry) {
    let line = opened.tree.append(now(), make).line;
    opened.log.push(format!("{}\n", line.text).as_bytes());
}

/// Where nobody can choose, what there is to choose from.
pub(crate) fn nobody_chooses(
    arguments: &SessionArguments,
    ground: &Ground,
    environment: &Environment,
) -> Result<Failure, Failure> {
    let project =
        project(arguments.kept.session_dir.as_deref(), ground, environment).ok_or(SessionFailure::Homeless)?;
    let sessions = directory::list(&project).map_err(|error| missed(error.into(), &project))?;
    Ok(SessionFailure::NobodyChooses { sessions }.into())
}

/// What a person should know about a file that was opened.
pub(crate) fn told(notice: &Notice) -> String {
    match notice {
        Notice::Trimmed { bytes, kept } => {
            format!("the end of the session file was torn: {bytes} bytes are now in {}", kept.display())
        }
        Notice::Torn { bytes } => format!("the end of the session file is torn: {bytes} bytes are passed over"),
        Notice::Unreadable { lines } => format!("{lines} lines of the session file cannot be read and are passed over"),
        Notice::Migrated { version, kept } => {
            format!("the session file had version {version} and is rewritten; as it was it is in {}", kept.display())
        }
        Notice::Newer { version } => {
            format!("the session file has version {version}, which is newer than this program")
        }
        Notice::Unwritable { why } => {
            format!("the session is kept in memory only: {why}; what is said now is not in its file")
        }
        Notice::NotLocked => "the file system knows no locks: do not open this session twice".to_owned(),
    }
}
