//! What a chat wants that its session does not do by itself.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use pi_session::{
    Session, directory, export,
    file::{self, Viewed},
    tree::Place,
};
use pi_terminal::{Errand, Point};
use pi_transcript::{Block, Entry, Message};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{failure::told, input};

/// How much of what was said stands in a line of the tree.
const SHOWN: usize = 120;

#[derive(Clone)]
pub(super) struct Desk {
    pub(super) session: Session,
    pub(super) path: Option<PathBuf>,
    pub(super) directory: PathBuf,
}

impl Desk {
    /// Does errands side by side until nobody has any more. Dropping the future ends them.
    pub(super) async fn serve(self, mut errands: mpsc::Receiver<Errand>) {
        let mut work = JoinSet::new();
        loop {
            tokio::select! {
                errand = errands.recv() => match errand {
                    Some(errand) => {
                        work.spawn(self.clone().run(errand));
                    }
                    None => return,
                },
                Some(ended) = work.join_next() => {
                    if let Err(error) = ended {
                        tracing::error!(%error, "an errand of the terminal ended in a panic");
                    }
                }
            }
        }
    }

    /// Whoever waits for a reply may have gone away; then nobody wants to know.
    async fn run(self, errand: Errand) {
        match errand {
            Errand::Answer { request, answer, reply } => {
                let answered = match self.session.answer(request, answer).await {
                    Ok(taken) => taken.map_err(|fault| fault.to_string()),
                    Err(gone) => Err(gone.to_string()),
                };
                drop(reply.send(answered));
            }
            Errand::Tree { reply } => drop(reply.send(self.looking(tree).await)),
            Errand::Export { path, reply } => {
                let target = path.unwrap_or_else(|| PathBuf::from("session.html"));
                let target = self.directory.join(target);
                let written = self.looking(move |session| write(session, &target).map(|()| target)).await;
                drop(reply.send(written));
            }
        }
    }

    /// Looks at the file of the session, once everything is in it, where that may take its time.
    async fn looking<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Path) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let path = self.path.clone().ok_or("this session is kept nowhere")?;
        self.session.flush().await.map_err(|gone| gone.to_string())?;
        let looked = tokio::task::spawn_blocking(move || look(&path)).await;
        looked.map_err(|error| error.to_string())?
    }
}

/// Writes the session to a file in the form that its ending names.
fn write(session: &Path, target: &Path) -> Result<(), String> {
    let ending = target.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ending == "jsonl" {
        return directory::export(session, target).map_err(|error| told(&error));
    }
    let story = export::read(session).map_err(|error| told(&error))?;
    let text = match ending {
        "md" => export::markdown(&story),
        _ => export::html(&story),
    };
    input::write_new(target, &text).map_err(|failure| failure.told())
}

/// Every place at which somebody spoke, forks after one another.
fn tree(session: &Path) -> Result<Vec<Point>, String> {
    let viewed = file::view(session, fastrand::Rng::with_seed(0)).map_err(|error| told(&error))?;
    let current: HashSet<Place> = viewed.tree.path(viewed.tree.leaf()).into_iter().collect();
    let mut points = Vec::new();
    let mut rest: Vec<(Place, usize)> = viewed.tree.children(None).into_iter().rev().map(|root| (root, 0)).collect();
    while let Some((place, depth)) = rest.pop() {
        points.extend(point(&viewed, place, depth, current.contains(&place)));
        let children = viewed.tree.children(Some(place));
        let depth = depth + usize::from(children.len() > 1);
        rest.extend(children.into_iter().rev().map(|child| (child, depth)));
    }
    Ok(points)
}

fn point(viewed: &Viewed, place: Place, depth: usize, is_current: bool) -> Option<Point> {
    let tree = &viewed.tree;
    let entry = tree.id(place);
    let label = tree.label_of(&entry).map(str::to_owned);
    let spoken = match (tree.held(place), tree.span(place)) {
        (Some(kept), _) => kept.to_entry(),
        (None, Some(span)) => viewed.reader.entry(span).ok()?,
        (None, None) => return None,
    };
    let (who, text) = words(&spoken)?;
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN).collect();
    Some(Point { entry, depth, who, text, label, is_current })
}

/// Who spoke in an entry, and what; `None` for what is no place to go to.
fn words(entry: &Entry) -> Option<(String, String)> {
    match entry {
        Entry::Message(entry) => {
            let text = match &entry.message {
                Message::User(user) => user.content.text(),
                Message::Assistant(said) => said.content.iter().filter_map(Block::as_text).collect(),
                Message::BashExecution(run) => run.command.clone(),
                Message::Custom(custom) => custom.content.text(),
                Message::ToolResult(_)
                | Message::BranchSummary(_)
                | Message::CompactionSummary(_)
                | Message::System(_)
                | Message::Other(_) => return None,
            };
            Some((entry.message.role().to_owned(), text))
        }
        Entry::Compaction(it) => Some(("compaction".to_owned(), it.summary.clone())),
        Entry::BranchSummary(it) => Some(("branch_summary".to_owned(), it.summary.clone())),
        Entry::ModelChange(_)
        | Entry::ThinkingLevelChange(_)
        | Entry::Custom(_)
        | Entry::CustomMessage(_)
        | Entry::Label(_)
        | Entry::SessionInfo(_)
        | Entry::Usage(_)
        | Entry::ContextEdit(_)
        | Entry::Other(_) => None,
    }
}
