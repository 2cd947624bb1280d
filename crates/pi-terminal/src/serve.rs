//! Does with a session what a person wants of it.
//!
//! One task that never keeps the screen waiting: what takes long runs beside it, in the order in which it was wanted.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Shared},
    stream::FuturesUnordered,
};
use pi_envelope::Envelope;
use pi_session::{
    Cause, CommandInfo, CommandSource, CompactError, Ending, ExtensionTier, Journey, KeyFault, Moment, PromptError,
    Prompted, Session, SessionGone, Silence, Subscription, Switch, attached,
    context::Spoken,
    directory::{self, Project},
    export::{self, Form},
    extensions::{Extension, Phase},
    input::{
        Utterance,
        complete::{self, Command, CommandKind},
    },
    listing::Whole,
    models::Choice,
    queue::{Saying, When},
};
use pi_transcript::{AgentEvent, Entry, Message, ModelId, ProviderId, ThinkingLevel};
use tokio::sync::mpsc;

use crate::{
    commands,
    draft::{Authors, Draft},
    files, tree,
    wish::{Action, Catalogue, Fetch, Manner, Marked, Point, Report},
};

/// What to do about a call to a model that failed, in words.
pub type Advice = Arc<dyn Fn(&Cause) -> String + Send + Sync>;

/// Writes down for good that an extension was switched; why not, if it cannot.
pub type Remember = Arc<dyn Fn(&str, Switch) -> Result<(), String> + Send + Sync>;

/// What the files of the session say of the screen, as they were last read.
pub type Manners = Arc<dyn Fn() -> Manner + Send + Sync>;

/// How many files are proposed.
const MOST_FILES: usize = 50;

/// What is needed to serve.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) session: Session,
    /// Models that the session does not list: one that was named by its address.
    pub(crate) own: Vec<Arc<Choice>>,
    pub(crate) manners: Manners,
    pub(crate) advice: Advice,
    pub(crate) remember: Remember,
    /// Milliseconds since 1970.
    pub(crate) clock: fn() -> u64,
    pub(crate) project: Option<Project>,
    pub(crate) directory: PathBuf,
    /// Where the session is written; `None` if it is not.
    pub(crate) file: Option<PathBuf>,
    pub(crate) reports: mpsc::Sender<Report>,
}

/// What is being done beside the screen.
#[derive(Default)]
struct Work {
    all: FuturesUnordered<BoxFuture<'static, ()>>,
    /// The last change of who answers. What is said after it is for whoever was chosen, and waits for it.
    choosing: Option<Shared<BoxFuture<'static, ()>>>,
}

impl Work {
    fn add(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.all.push(Box::pin(work));
    }

    fn add_choice(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        let choice = self.after_choices(work).boxed().shared();
        self.choosing = Some(choice.clone());
        self.add(choice);
    }

    /// The same when whoever was chosen before is there.
    fn after_choices(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let before = self.choosing.clone();
        async move {
            if let Some(before) = before {
                before.await;
            }
            work.await;
        }
    }
}

impl Service {
    /// Serves until nobody wants anything any more, or the session ends.
    pub(crate) async fn run(
        self,
        mut events: Subscription,
        mut actions: mpsc::Receiver<Action>,
        opening: Vec<Utterance>,
    ) {
        self.recount().await;
        let mut work = Work::default();
        for saying in opening {
            work.add(self.clone().say(saying, When::FollowUp));
        }
        loop {
            tokio::select! {
                // What happened is told before what came of it.
                biased;
                action = actions.recv() => match action {
                    Some(action) => self.take(action, &mut work),
                    None => return,
                },
                event = events.next() => match event {
                    Ok(event) => {
                        if is_offer(&event) {
                            work.add(self.clone().offer());
                        }
                        if matches!(*event, AgentEvent::AgentSettled { .. } | AgentEvent::AutoCompactionEnd { .. }) {
                            work.add(self.clone().give_back());
                        }
                        self.tell(Report::Event(event)).await;
                    }
                    Err(Silence::Ended) => return self.tell(Report::Failed("the session has ended".to_owned())).await,
                    Err(Silence::Lagged) => match self.session.reload().await {
                        Ok(anew) => {
                            events = anew.events;
                            let messages = anew.messages.into_iter().map(|(_, message)| message).collect();
                            self.tell(Report::Missed(messages)).await;
                            for frame in anew.drawings {
                                self.tell(Report::Event(Arc::new(frame))).await;
                            }
                        }
                        Err(gone) => return self.tell(Report::Failed(gone.to_string())).await,
                    },
                },
                Some(()) = work.all.next(), if !work.all.is_empty() => {}
            }
        }
    }

    /// Tells what was consumed before the session was opened here: by all branches, and by summaries.
    async fn recount(&self) {
        let Ok(state) = self.session.state().await else { return };
        let counted = match self.file.clone().filter(|file| !state.is_failing && file.exists()) {
            Some(file) => tokio::task::spawn_blocking(move || export::calls(&file))
                .await
                .map_err(|error| error.to_string())
                .and_then(|counted| counted.map_err(|error| error.to_string())),
            // The same session may have been shown before.
            None => self.session.whole().await.map(|whole| export::calls_of(&whole)).map_err(|error| error.to_string()),
        };
        match counted {
            Ok((usage, calls)) => self.tell(Report::Spent { usage, calls }).await,
            Err(error) => tracing::warn!(error, "what the session has consumed is not known"),
        }
    }

    fn take(&self, action: Action, work: &mut Work) {
        match action {
            Action::Say { text, when } => {
                let service = self.clone();
                let saying = work.after_choices(async move {
                    service.clone().say(Utterance::new(text.clone()), when).await;
                    service.tell(Report::Answered(text)).await;
                });
                work.add(saying);
            }
            choice @ (Action::SetModel { .. } | Action::CycleModel { .. } | Action::SetThinking(_)) => {
                work.add_choice(self.clone().perform(choice));
            }
            other => work.add(self.clone().perform(other)),
        }
    }

    async fn say(self, said: Utterance, when: When) {
        let text = said.text.clone();
        match self.session.say_during(said, when).await {
            Ok(Prompted::Ran(Ending::Failed { message: _, cause: Some(cause) })) => {
                // The error itself is told by events; they are out when everything is written.
                if self.session.flush().await.is_ok() {
                    self.tell(Report::Advice((self.advice)(&cause))).await;
                }
            }
            // How a run or a command ended was told by its events.
            Ok(Prompted::Ran(_) | Prompted::Queued(_) | Prompted::Handled { .. }) => {}
            // Whoever stopped it gives it back.
            Ok(Prompted::TakenBack) => {}
            Ok(Prompted::Unsaid) => self.tell(Report::TakenBack(vec![Draft::typed(text)])).await,
            Err(error @ PromptError::Input(_)) => {
                self.tell(Report::Failed(error.to_string())).await;
                // Whoever misspelt something corrects it.
                self.tell(Report::TakenBack(vec![Draft::typed(text)])).await;
            }
            Err(
                error @ (PromptError::Busy
                | PromptError::Unwritten { .. }
                | PromptError::LeftAlone(_)
                | PromptError::Gone(_)),
            ) => self.tell(Report::Failed(error.to_string())).await,
        }
    }

    /// Hands back what still waits when nothing runs any more: the run that it waited for failed, or was stopped.
    async fn give_back(self) {
        // Of a session that is gone nothing comes back; whoever closed it was told.
        let Ok(()) = self.session.idle().await else { return };
        let Ok(unsent) = self.session.take_stranded().await else { return };
        if !unsent.is_empty() {
            self.tell(Report::Unsent(unsent.iter().map(draft).collect())).await;
        }
    }

    /// Tells which models, commands and keys there are now, and how things are looked at.
    async fn offer(self) {
        // Of a session that is gone nobody wants anything.
        let (Ok((models, scoped)), Ok(commands)) = (self.models().await, self.session.commands().await) else { return };
        let models = models.iter().map(|choice| choice.model().clone()).collect();
        let Manner { commands: from_files, theme, thoughts } = (self.manners)();
        let commands = commands.into_iter().filter_map(of_extension).chain(from_files).collect();
        let (commands, _) = commands::visible(commands);
        let drawn_tools = self.session.drawn_tools().await.unwrap_or_default();
        let shortcuts = self.session.shortcuts().await.unwrap_or_default();
        self.tell(Report::Offers { models, scoped, commands, drawn_tools, shortcuts }).await;
        self.tell(Report::Manner { theme: Box::new(theme), thoughts }).await;
    }

    /// Every model that can be chosen, and how many of them, the first, are gone through; none for all.
    pub(crate) async fn models(&self) -> Result<(Vec<Arc<Choice>>, usize), SessionGone> {
        let scoped = self.session.scoped_models().await?.into_iter().map(|scoped| scoped.choice);
        let mut models: Vec<Arc<Choice>> = scoped.collect();
        let count = models.len();
        for choice in self.own.iter().cloned().chain(self.session.models().await?) {
            if models.iter().all(|known| known.name() != choice.name()) {
                models.push(choice);
            }
        }
        Ok((models, count))
    }

    /// The one of this name; none if it is not offered any more.
    async fn model(&self, provider: &ProviderId, model: &ModelId) -> Result<Option<Arc<Choice>>, SessionGone> {
        let is_it = |choice: &Arc<Choice>| choice.provider() == provider && choice.id() == model.as_str();
        Ok(self.models().await?.0.into_iter().find(is_it))
    }

    async fn perform(self, action: Action) {
        let done = self.performed(action).await;
        match done {
            Ok(Some(report)) => self.tell(report).await,
            Ok(None) => {}
            Err(message) => self.tell(Report::Failed(message)).await,
        }
    }

    async fn performed(&self, action: Action) -> Result<Option<Report>, String> {
        let session = &self.session;
        let gone = |error: SessionGone| error.to_string();
        match action {
            Action::Abort => {
                // What was said before comes back even if it has not arrived anywhere; the run need not wait for that.
                let (waiting, bash, run) = tokio::join!(session.take_back(), session.abort_bash(), session.abort());
                self.tell(taken_back(&waiting.map_err(gone)?)).await;
                bash.and(run).map(|()| None).map_err(gone)
            }
            Action::AbortRetry => session.abort_retry().await.map(|()| None).map_err(gone),
            Action::TakeBack => Ok(Some(taken_back(&session.take_back().await.map_err(gone)?))),
            Action::SetModel { provider, model } => {
                let Some(choice) = self.model(&provider, &model).await.map_err(gone)? else { return Ok(None) };
                session.set_model(Arc::clone(&choice)).await.map_err(gone)?;
                Ok(Some(Report::Model(Box::new(choice.model().clone()))))
            }
            Action::CycleModel { provider, model } => {
                let Some(choice) = self.model(&provider, &model).await.map_err(gone)? else { return Ok(None) };
                session.cycle_to(Arc::clone(&choice)).await.map_err(gone)?;
                Ok(Some(Report::Model(Box::new(choice.model().clone()))))
            }
            Action::SetThinking(level) => {
                self.let_think(level).await.map_err(gone)?;
                session.set_thinking_level(level).await.map(|level| Some(Report::Thinking(level))).map_err(gone)
            }
            Action::Rename(name) => session.rename(name).await.map(|()| None).map_err(gone),
            // How it ended is told by its events, but for a refusal.
            Action::Compact { instructions } => match session.compact(instructions).await {
                Ok(_) | Err(CompactError::Aborted | CompactError::LeftAlone(_) | CompactError::Failed { .. }) => {
                    Ok(None)
                }
                Err(error @ (CompactError::Busy | CompactError::Nothing | CompactError::Gone(_))) => {
                    Err(error.to_string())
                }
            },
            Action::FindFiles { query } => Ok(Some(self.files(query).await)),
            Action::CompleteArgument { command, prefix } => {
                let suggestions = session.complete_argument(command.clone(), prefix.clone()).await.map_err(gone)?;
                Ok(Some(Report::Arguments { command, prefix, suggestions }))
            }
            Action::Fetch(fetch) => self.fetch(fetch).await.map(Some),
            Action::Run { command, exposure, written_by } => {
                let ran = session.bash_written_by(written_by, command, exposure).await;
                let ran = ran.map_err(|error| error.to_string());
                Ok(Some(Report::Ran(ran)))
            }
            Action::Navigate(journey) => self.go(journey).await.map(Some),
            Action::Label { place, label } => self.label(place, label).await.map(Some),
            Action::Delete(path) => {
                self.delete(path).await?;
                self.fetch(Fetch::Sessions).await.map(Some)
            }
            Action::SwitchExtension { id, switch } => self.switch_extension(&id, switch).await.map(Some),
            Action::ReloadExtension(id) => {
                let reloaded = session.reload_extensions(Some(&id)).await.map_err(|error| error.to_string())?;
                for report in reloaded.iter().map(renewed) {
                    self.tell(report).await;
                }
                self.fetch(Fetch::Extensions).await.map(Some)
            }
            Action::Reload => {
                let reloaded = session.reload_extensions(None).await.map_err(|error| error.to_string())?;
                // What is wrong was told in the name of the session meanwhile.
                let is_odd = |one: &Extension| one.problem.is_some() && one.phase != Phase::Off;
                let found = found(&reloaded);
                Ok(Some(match reloaded.iter().any(is_odd) {
                    false => Report::Told(format!("loaded anew: {found}")),
                    true => {
                        Report::Failed(format!("not all extensions were loaded anew, see above; there are {found}"))
                    }
                }))
            }
            Action::Export { path } => {
                let (path, form) = self.export(path).await?;
                Ok(Some(Report::Exported { path, form }))
            }
            Action::Answer { request, answer } => {
                let taken = session.answer(request, answer).await.map_err(gone)?;
                taken.map(|()| None).map_err(|fault| fault.to_string())
            }
            Action::Press { request, press } => match session.press(request, press).await.map_err(gone)? {
                // It went away while the key was pressed, and that is told.
                Ok(()) | Err(KeyFault::NotOpen { .. }) => Ok(None),
                Err(fault) => Err(fault.to_string()),
            },
            Action::Wrote { text, after } => session.note_editor(text, after).await.map(|()| None).map_err(gone),
            Action::PressShortcut(key) => {
                let pressed = session.press_shortcut(key.clone()).await;
                self.tell(Report::Answered(key.clone())).await;
                match pressed.map_err(gone)? {
                    true => Ok(None),
                    false => Err(format!("no extension has the key {key} any more")),
                }
            }
            Action::Draw { place, rendering } => {
                // Of a session that is gone nobody draws anything.
                let lines = session.draw(*rendering).await.unwrap_or_default();
                Ok(Some(Report::Drawn { place, lines }))
            }
            Action::Say { .. } | Action::Suspend | Action::Leave(_) => Ok(None),
        }
    }

    async fn fetch(&self, fetch: Fetch) -> Result<Report, String> {
        match fetch {
            Fetch::Envelope => {
                self.session.last_envelope().await.map(Report::Envelope).map_err(|gone| gone.to_string())
            }
            Fetch::Sessions => {
                let (current, now) = (self.file.clone(), (self.clock)());
                let stored = match self.project.clone() {
                    None => Vec::new(),
                    Some(project) => {
                        let listed = tokio::task::spawn_blocking(move || directory::list(&project)).await;
                        listed.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?
                    }
                };
                Ok(Report::Sessions(Catalogue { stored, current, now }))
            }
            Fetch::ForkPoints => {
                let spoken = self.session.messages().await.map_err(|gone| gone.to_string())?;
                Ok(Report::ForkPoints(spoken.iter().filter_map(fork_point).collect()))
            }
            Fetch::Tree => self.tree().await.map(Report::Tree),
            Fetch::Extensions => Ok(Report::Extensions(self.session.extensions().await)),
        }
    }

    /// Switches an extension in this session, and for later ones.
    async fn switch_extension(&self, id: &str, switch: Switch) -> Result<Report, String> {
        let switched = self.session.switch_extension(id, switch).await.map_err(|error| error.to_string())?;
        let (remember, name) = (Arc::clone(&self.remember), id.to_owned());
        let remembered = tokio::task::spawn_blocking(move || remember(&name, switch)).await;
        let word = if switch == Switch::On { "on" } else { "off" };
        let told = match (remembered.map_err(|error| error.to_string()).flatten(), switched.problem) {
            (Ok(()), None) => Report::Told(format!("{id} is {word}, here and in sessions to come")),
            (Ok(()), Some(problem)) => Report::Failed(format!("{id} is {word}, but does not run: {problem}")),
            (Err(why), _) => Report::Failed(format!("{id} is {word} until this session ends: {why}")),
        };
        self.tell(told).await;
        self.fetch(Fetch::Extensions).await
    }

    /// Takes a model of which nobody says what it can do for one that thinks, since somebody wants it to.
    async fn let_think(&self, level: ThinkingLevel) -> Result<(), SessionGone> {
        let state = self.session.state().await?;
        if level == ThinkingLevel::Off || state.model.reasoning {
            return Ok(());
        }
        let choice = self.model(&state.model.provider, &state.model.id).await?;
        if let Some(thinker) = choice.and_then(|choice| choice.trusted_to_think()) {
            let model = thinker.model().clone();
            self.session.set_model(thinker).await?;
            self.tell(Report::Model(Box::new(model))).await;
        }
        Ok(())
    }

    async fn label(&self, place: Marked, label: Option<String>) -> Result<Report, String> {
        let gone = |error: SessionGone| error.to_string();
        let (entry, is_listed) = match place {
            Marked::At(entry) => (entry, true),
            Marked::Last => {
                let spoken = self.session.messages().await.map_err(gone)?;
                let last = spoken.last().ok_or("nothing was said yet that could be labelled")?;
                (last.0.clone(), false)
            }
        };
        let told = match &label {
            Some(label) => format!("the last message is labelled {label:?}; /tree shows it"),
            None => "the last message has no label now".to_owned(),
        };
        self.session.label(entry, label).await.map_err(gone)?.map_err(|missing| missing.to_string())?;
        if is_listed { self.fetch(Fetch::Tree).await } else { Ok(Report::Told(told)) }
    }

    async fn delete(&self, path: PathBuf) -> Result<(), String> {
        if self.file.as_ref() == Some(&path) {
            return Err("this session is open here; go to another one first, with /new or /resume".to_owned());
        }
        let now = Moment::from_unix_millis((self.clock)());
        let deleted = tokio::task::spawn_blocking(move || {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            directory::delete(&path, &name, now)
        });
        deleted.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        self.tell(Report::Told("the session is deleted".to_owned())).await;
        Ok(())
    }

    async fn go(&self, journey: Journey) -> Result<Report, String> {
        let went = self.session.navigate(journey).await.map_err(|error| error.to_string())?;
        let spoken = self.session.messages().await.map_err(|gone| gone.to_string())?;
        Ok(Report::Went { went, messages: spoken.into_iter().map(|(_, message)| message).collect() })
    }

    async fn files(&self, query: String) -> Report {
        let (directory, wanted) = (self.directory.clone(), query.clone());
        let listed =
            tokio::task::spawn_blocking(move || complete::files(&directory, &wanted, MOST_FILES, &|| false)).await;
        Report::Files { query, listing: listed.unwrap_or_default() }
    }

    /// Every place of the session; of one that is not written, what was said on the current branch.
    async fn tree(&self) -> Result<Vec<Point>, String> {
        let gone = |error: SessionGone| error.to_string();
        let Some(file) = self.file.clone().filter(|file| file.exists()) else {
            let spoken = self.session.messages().await.map_err(gone)?;
            return Ok(spoken.iter().filter_map(fork_point).collect());
        };
        let leaf = self.session.state().await.map_err(gone)?.leaf;
        self.session.flush().await.map_err(gone)?;
        let read = tokio::task::spawn_blocking(move || tree::points(&file, leaf.as_ref())).await;
        read.map_err(|error| error.to_string())?
    }

    async fn export(&self, path: Option<PathBuf>) -> Result<(PathBuf, Form), String> {
        let gone = |error: SessionGone| error.to_string();
        self.session.flush().await.map_err(gone)?;
        let state = self.session.state().await.map_err(gone)?;
        let usual = || match &self.file {
            Some(file) => PathBuf::from(file.with_extension("html").file_name().unwrap_or_default()),
            None => PathBuf::from(format!("{}.html", state.session)),
        };
        let target = self.directory.join(path.unwrap_or_else(usual));
        let form = Form::of_file(&target).map_err(|unknown| format!("{unknown}; {}", unknown.hint()))?;
        // A file that is behind, or gone, has not everything that was said.
        let origin = match self.file.clone().filter(|file| !state.is_failing && file.exists()) {
            Some(file) => Origin::File(file),
            None => self.in_memory(form).await?,
        };
        let written =
            tokio::task::spawn_blocking(move || write_story(&origin, &target, form).map(|()| (target, form))).await;
        written.map_err(|error| error.to_string())?
    }

    /// What is known of the session without its file.
    async fn in_memory(&self, form: Form) -> Result<Origin, String> {
        if form == Form::Envelope {
            let shown = self.session.last_envelope().await.map_err(|gone| gone.to_string())?;
            return shown.map(Origin::Shown).ok_or_else(|| "the model was shown nothing yet".to_owned());
        }
        let whole = self.session.whole().await.map_err(|error| error.to_string())?;
        if !whole.entries.iter().any(|entry| matches!(entry, Entry::Message(_))) {
            return Err("nothing was said yet, so there is nothing to export".to_owned());
        }
        Ok(Origin::Memory(Box::new(whole)))
    }

    async fn tell(&self, report: Report) {
        // The screen may be closed already.
        let _ = self.reports.send(report).await;
    }
}

/// What an export is made from.
enum Origin {
    File(PathBuf),
    Memory(Box<Whole>),
    Shown(Arc<Envelope>),
}

/// Writes a session down. Blocks.
fn write_story(origin: &Origin, target: &Path, form: Form) -> Result<(), String> {
    let story = || match origin {
        Origin::File(file) => export::read(file).map_err(|error| error.to_string()),
        Origin::Memory(whole) => Ok(export::story(whole)),
        Origin::Shown(_) => unreachable!("an envelope is no story"),
    };
    let text = match (form, origin) {
        (Form::Session, Origin::File(file)) => {
            return directory::export(file, target).map_err(|error| error.to_string());
        }
        (Form::Session, Origin::Memory(whole)) => export::session_file(whole),
        (Form::Envelope, Origin::File(file)) => {
            pretty(&export::envelope(file, None).map_err(|error| error.to_string())?)?
        }
        (_, Origin::Shown(envelope)) => pretty(envelope)?,
        (Form::Markdown, _) => export::markdown(&story()?),
        (Form::Html, _) => export::html(&story()?),
        (Form::Envelope, Origin::Memory(_)) => unreachable!("an envelope is shown"),
    };
    files::write(target, &text).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => format!("{} exists already; choose another name", target.display()),
        _ => format!("{} cannot be written: {error}", target.display()),
    })
}

fn pretty(envelope: &Envelope) -> Result<String, String> {
    Ok(serde_json::to_string_pretty(envelope).map_err(|error| error.to_string())? + "\n")
}

/// Whether extensions offer something else now.
fn is_offer(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::OffersChanged)
}

/// Templates and skills are listed with what is known of them elsewhere.
pub(crate) fn of_extension(info: CommandInfo) -> Option<Command> {
    match info.source {
        CommandSource::Extension { .. } => Some(Command {
            name: info.definition.name,
            description: info.definition.description.unwrap_or_default(),
            hint: None,
            kind: CommandKind::Extension,
        }),
        CommandSource::BuiltIn | CommandSource::Prompt { .. } | CommandSource::Skill { .. } => None,
    }
}

/// What there is after everything was read anew, in words.
fn found(extensions: &[Extension]) -> String {
    let running = |one: &&Extension| matches!(one.phase, Phase::Running | Phase::Resting | Phase::Starting);
    let (servers, others): (Vec<_>, Vec<_>) =
        extensions.iter().filter(running).partition(|one| one.tier == ExtensionTier::Mcp);
    let tools = extensions.iter().filter(running).map(|one| one.tools.len()).sum();
    let commands = extensions.iter().filter(running).map(|one| one.commands.len()).sum();
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    format!(
        "{} and {} with {} and {}; skills, templates, settings and instructions",
        counted(others.len(), "extension"),
        counted(servers.len(), "MCP server"),
        counted(tools, "tool"),
        counted(commands, "command")
    )
}

/// What is told of an extension that somebody wanted to be loaded anew.
fn renewed(extension: &Extension) -> Report {
    let id = &extension.id;
    match (extension.phase, &extension.problem) {
        (Phase::Off, Some(why)) => Report::Failed(format!("{id} is off: {why}")),
        (Phase::Off, None) => Report::Failed(format!("{id} is off and was not loaded; Enter switches it on")),
        (Phase::Starting | Phase::Running | Phase::Resting | Phase::Failed, Some(problem)) => {
            Report::Failed(format!("{id} was not loaded anew: {problem}"))
        }
        (Phase::Starting | Phase::Running | Phase::Resting | Phase::Failed, None) => {
            Report::Told(format!("{id} was loaded anew"))
        }
    }
}

fn taken_back(waiting: &[Saying]) -> Report {
    Report::TakenBack(waiting.iter().map(draft).collect())
}

/// What waited, for the editor.
fn draft(saying: &Saying) -> Draft {
    match saying.typed {
        Some(_) => Draft::typed(saying.written()),
        None => Draft { text: saying.written(), authors: Authors::speaking(saying.written_by()) },
    }
}

fn fork_point(spoken: &Spoken) -> Option<Point> {
    let (entry, message) = spoken;
    let Message::User(user) = &**message else { return None };
    Some(Point {
        entry: entry.clone(),
        depth: 0,
        who: "you".to_owned(),
        text: attached::shown(&user.content.text()),
        label: None,
        is_current: true,
    })
}

/// A folder as people write it.
pub(crate) fn shown_directory(directory: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| directory.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => directory.display().to_string(),
    }
}
