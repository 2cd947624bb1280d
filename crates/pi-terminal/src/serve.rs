//! Does with a session what a person wants of it.
//!
//! One task that never keeps the screen waiting: what takes long runs beside it, in the order in which it was wanted.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use pi_session::{
    Journey, PromptError, Session, SessionGone, Silence, Subscription,
    context::Spoken,
    directory::{self, Project},
    export,
    input::{Utterance, complete},
    models::Choice,
    queue::{Saying, When},
};
use pi_transcript::Message;
use tokio::sync::mpsc;

use crate::{
    files, tree,
    wish::{Action, Fetch, Point, Report},
};

/// How many files are proposed.
const MOST_FILES: usize = 50;

/// What is needed to serve.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) session: Session,
    pub(crate) models: Vec<Arc<Choice>>,
    pub(crate) project: Option<Project>,
    pub(crate) directory: PathBuf,
    /// Where the session is written; `None` if it is not.
    pub(crate) file: Option<PathBuf>,
    pub(crate) reports: mpsc::Sender<Report>,
}

type Work = FuturesUnordered<BoxFuture<'static, ()>>;

impl Service {
    /// Serves until nobody wants anything any more, or the session ends.
    pub(crate) async fn run(
        self,
        mut events: Subscription,
        mut actions: mpsc::Receiver<Action>,
        opening: Vec<Utterance>,
    ) {
        let mut work = Work::new();
        for saying in opening {
            work.push(Box::pin(self.clone().say(saying, When::FollowUp)));
        }
        loop {
            tokio::select! {
                action = actions.recv() => match action {
                    Some(action) => self.take(action, &mut work),
                    None => return,
                },
                event = events.next() => match event {
                    Ok(event) => self.tell(Report::Event(event)).await,
                    Err(Silence::Ended) => return self.tell(Report::Failed("the session has ended".to_owned())).await,
                    Err(Silence::Lagged) => match self.session.subscribe().await {
                        Ok((_, anew)) => {
                            events = anew;
                            self.tell(Report::Failed("some of what happened was missed here".to_owned())).await;
                        }
                        Err(gone) => return self.tell(Report::Failed(gone.to_string())).await,
                    },
                },
                Some(()) = work.next(), if !work.is_empty() => {}
            }
        }
    }

    fn take(&self, action: Action, work: &mut Work) {
        match action {
            Action::Say { text, when } => work.push(Box::pin(self.clone().say(Utterance::new(text), when))),
            other => work.push(Box::pin(self.clone().perform(other))),
        }
    }

    async fn say(self, said: Utterance, when: When) {
        match self.session.say_during(said, when).await {
            // How a run or a command ended was told by its events.
            Ok(_) => {}
            Err(error @ (PromptError::Busy | PromptError::Input(_) | PromptError::Gone(_))) => {
                self.tell(Report::Failed(error.to_string())).await
            }
        }
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
                let waiting = session.clear_queue().await.map_err(gone)?;
                self.tell(taken_back(&waiting)).await;
                session.abort_bash().await.map_err(gone)?;
                session.abort().await.map_err(gone)?;
                Ok(None)
            }
            Action::AbortRetry => session.abort_retry().await.map(|()| None).map_err(gone),
            Action::TakeBack => Ok(Some(taken_back(&session.clear_queue().await.map_err(gone)?))),
            Action::SetModel(place) => {
                let Some(choice) = self.models.get(place) else { return Ok(None) };
                session.set_model(Arc::clone(choice)).await.map_err(gone)?;
                Ok(Some(Report::Model(place)))
            }
            Action::CycleModel(place) => {
                let Some(choice) = self.models.get(place) else { return Ok(None) };
                session.cycle_to(Arc::clone(choice)).await.map_err(gone)?;
                Ok(Some(Report::Model(place)))
            }
            Action::SetThinking(level) => {
                session.set_thinking_level(level).await.map(|level| Some(Report::Thinking(level))).map_err(gone)
            }
            Action::Rename(name) => session.rename(name).await.map(|()| None).map_err(gone),
            // How it ended is told by its events, but for a refusal.
            Action::Compact { instructions } => {
                session.compact(instructions).await.map(|_| None).map_err(|error| error.to_string())
            }
            Action::FindFiles { query } => Ok(Some(self.files(query).await)),
            Action::Fetch(fetch) => self.fetch(fetch).await.map(Some),
            Action::Run { command, exposure } => {
                let ran = session.bash(command, exposure).await.map_err(|error| error.to_string());
                Ok(Some(Report::Ran(ran)))
            }
            Action::Navigate(journey) => self.go(journey).await.map(Some),
            Action::Export { path } => {
                let path = self.export(path).await?;
                Ok(Some(Report::Told(format!("written to {}", path.display()))))
            }
            Action::Answer { request, answer } => {
                let taken = session.answer(request, answer).await.map_err(gone)?;
                taken.map(|()| None).map_err(|fault| fault.to_string())
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
                let Some(project) = self.project.clone() else { return Ok(Report::Sessions(Vec::new())) };
                let listed = tokio::task::spawn_blocking(move || directory::list(&project)).await;
                let listed = listed.map_err(|error| error.to_string())?;
                listed.map(Report::Sessions).map_err(|error| error.to_string())
            }
            Fetch::ForkPoints => {
                let spoken = self.session.messages().await.map_err(|gone| gone.to_string())?;
                Ok(Report::ForkPoints(spoken.iter().filter_map(fork_point).collect()))
            }
            Fetch::Tree => self.tree().await.map(Report::Tree),
        }
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

    async fn export(&self, path: Option<PathBuf>) -> Result<PathBuf, String> {
        let Some(file) = self.file.clone() else { return Err("the session is not written to a file".to_owned()) };
        self.session.flush().await.map_err(|gone| gone.to_string())?;
        let target = match path {
            Some(path) => self.directory.join(path),
            None => self.directory.join(file.with_extension("html").file_name().unwrap_or_default()),
        };
        let written = tokio::task::spawn_blocking(move || write_story(&file, &target).map(|()| target)).await;
        written.map_err(|error| error.to_string())?
    }

    async fn tell(&self, report: Report) {
        // The screen may be closed already.
        let _ = self.reports.send(report).await;
    }
}

/// Writes a session in the form that the ending of the target asks for. Blocks.
fn write_story(file: &Path, target: &Path) -> Result<(), String> {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or("html");
    if ending == "jsonl" {
        return directory::export(file, target).map_err(|error| error.to_string());
    }
    let story = export::read(file).map_err(|error| error.to_string())?;
    let text = if ending == "md" { export::markdown(&story) } else { export::html(&story) };
    files::write(target, &text).map_err(|error| error.to_string())
}

fn taken_back(waiting: &[Saying]) -> Report {
    Report::TakenBack(waiting.iter().map(Saying::text).collect())
}

fn fork_point(spoken: &Spoken) -> Option<Point> {
    let (entry, message) = spoken;
    let Message::User(user) = &**message else { return None };
    Some(Point {
        entry: entry.clone(),
        depth: 0,
        who: "you".to_owned(),
        text: user.content.text(),
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
