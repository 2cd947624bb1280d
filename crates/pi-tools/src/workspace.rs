//! Where the tools of a session work, and what a call asks policy for.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use pi_policy::{Action, BadCall, Extent, Location, Moment, Places, Request, Subject, Target};
use pi_redact::Redactor;

use crate::{
    environment::Environment,
    files::{self, FileQueue, exists},
    path,
    shell_watch::ShellWatch,
    spill::{self, OutputFault},
    tool::Arguments,
};

/// Everything that tools need to know about the place where they work. One per session and project.
#[derive(Debug, Clone)]
pub struct Workspace {
    places: Places,
    project: String,
    /// Where output goes that is too long to be shown, links followed.
    temporary: PathBuf,
    settings: Settings,
    queue: Arc<FileQueue>,
    watch: Option<Arc<dyn ShellWatch>>,
}

/// What the settings say about tools, resolved.
#[derive(Debug, Clone)]
pub struct Settings {
    pub shell: Shell,
    /// What a process of ours is given.
    pub environment: Environment,
    /// Where output goes that is too long to be shown.
    pub temporary: PathBuf,
    pub images: Images,
    /// Hides secrets in what tools find before the model sees it. Tools do not use it for that, whoever calls them does;
    /// they know by it what a model that writes a file was not shown.
    pub redactor: Arc<Redactor>,
}

/// The shell that runs commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    /// Without it: `/bin/bash`, or `bash` on the path, or `sh`.
    pub path: Option<PathBuf>,
    /// Lines that go before every command, for example `shopt -s expand_aliases`.
    pub prefix: Option<String>,
}

/// What happens to images that are larger than models like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    Scaled,
    AsTheyAre,
}

impl Workspace {
    /// `places` come from [`files::Folders::places`]; the queue is shared by all sessions of a process.
    pub fn new(places: Places, settings: Settings, queue: Arc<FileQueue>) -> Self {
        let project = places.locate(".", Extent::Tree).map(|project| project.absolute().to_owned());
        let project = project.expect("a dot is a path");
        let temporary = files::real_path(&settings.temporary);
        Self { places, project, temporary, settings, queue, watch: None }
    }

    /// The same, with another environment for the processes that are started in it.
    #[must_use]
    pub fn with_environment(&self, change: impl FnOnce(Environment) -> Environment) -> Self {
        let mut other = self.clone();
        other.settings.environment = change(other.settings.environment);
        other
    }

    /// The same, with somebody who watches over the shell commands of models.
    #[must_use]
    pub fn watched(self, watch: Arc<dyn ShellWatch>) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// The name of a file in which output was kept that was too long to be shown; nothing if the location, in which links
    /// were followed, is another.
    pub fn spilled<'a>(&self, location: &'a Location) -> Option<&'a str> {
        let path = Path::new(location.absolute());
        let name = path.file_name()?.to_str()?;
        (path.parent()? == self.temporary && spill::is_name(name)).then_some(name)
    }

    /// All that a command said whose output was too long to be shown, from the file that its message names. Blocks.
    pub fn whole_output(&self, path: &Path, most: u64) -> Result<String, OutputFault> {
        let real = files::real_path(path);
        let is_ours = real.parent() == Some(self.temporary.as_path())
            && real.file_name().and_then(|name| name.to_str()).is_some_and(spill::is_name);
        if is_ours { spill::read(&real, most) } else { Err(OutputFault::NotOutput) }
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The folder that relative paths count from and commands run in.
    pub fn project(&self) -> &str {
        &self.project
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn watch(&self) -> Option<&Arc<dyn ShellWatch>> {
        self.watch.as_ref()
    }

    pub(crate) fn queue(&self) -> &FileQueue {
        &self.queue
    }
}

/// The arguments of a call with the path that was meant in the place of the one that was written: without an `@` in front, and
/// without odd spaces, unless a file has such a name. Whoever judges a call before it is carried out must see this path, so it
/// comes before everything else. Looks at names on the disk, off the threads that wait; opens nothing.
pub async fn spell(places: &Places, tool: &str, mut arguments: Arguments) -> Arguments {
    let Some(Value::String(written)) = arguments.get("path") else { return arguments };
    let mut spellings = path::readings(written);
    if ["read", "edit"].contains(&tool) {
        let lookalikes = path::lookalikes(&spellings[0]);
        spellings.extend(lookalikes);
    }
    let is_file = located(places, tool, &spellings[0]).is_some();
    if !is_file || spellings == [written.as_str()] {
        return arguments;
    }
    let (places, tool) = (places.clone(), tool.to_owned());
    let looking = tokio::task::spawn_blocking(move || meant(&places, &tool, spellings));
    let meant = match looking.await {
        Ok(meant) => meant,
        Err(broken) => std::panic::resume_unwind(broken.into_panic()),
    };
    arguments.insert("path".to_owned(), Value::from(meant));
    arguments
}

/// The first of the spellings, unless nothing is there and something is at another one.
fn meant(places: &Places, tool: &str, mut spellings: Vec<String>) -> String {
    let is_there = |path: &str| located(places, tool, path).is_some_and(|location| exists(location.absolute()));
    let holds = |path: &String| {
        // A new file of a package is written as `@scope/name`.
        let folder = path.strip_prefix('@').and_then(|_| path.split_once('/')).map(|(folder, _)| folder);
        [Some(path.as_str()), folder].into_iter().flatten().any(is_there)
    };
    let other = (!is_there(&spellings[0])).then(|| spellings.iter().skip(1).position(holds)).flatten();
    spellings.swap_remove(other.map_or(0, |other| other + 1))
}

/// Where a path leads that a tool is given; nothing if the tool is not about files.
fn located(places: &Places, tool: &str, path: &str) -> Option<Location> {
    let input = Arguments::from_iter([("path".to_owned(), Value::from(path))]);
    match Action::from_tool_use(Subject::Agent, places, tool, &input).ok()?.target {
        Target::Path(location) => Some(location),
        Target::Nothing
        | Target::Move { .. }
        | Target::Command(_)
        | Target::Host(_)
        | Target::Variable(_)
        | Target::Environment
        | Target::Tool(_) => None,
    }
}

/// What a call of a tool asks for, to be decided by `pi_policy::decide`. The path is taken as it is written: [`spell`] comes
/// before. The one in the answer is real: links are followed here, and never again. Looks at names on the disk, off the threads
/// that wait; opens nothing.
pub async fn request(
    places: &Places,
    subject: Subject,
    tool: &str,
    arguments: &Arguments,
    now: Moment,
) -> Result<Request, BadCall> {
    // Only these say what a call touches; the content of a file need not be copied. An empty path names none.
    let is_aim = |value: &Value| value.as_str() != Some("");
    let aims = ["path", "command"].into_iter().filter_map(|name| Some((name, arguments.get(name)?)));
    let input = aims.filter(|(name, value)| *name != "path" || is_aim(value));
    let input: Arguments = input.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let action = Action::from_tool_use(subject, places, tool, &input)?;
    let Target::Path(location) = action.target else { return Ok(Request::new(action, now)) };
    let places = places.clone();
    let looking = tokio::task::spawn_blocking(move || files::real_location(&places, location));
    let target = match looking.await {
        Ok(location) => Target::Path(location),
        Err(broken) => std::panic::resume_unwind(broken.into_panic()),
    };
    Ok(Request::new(Action { target, ..action }, now))
}
