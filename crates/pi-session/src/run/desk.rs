//! The line from a run to the mailbox of its session.
//!
//! The run waits here; the mailbox never does. If the session has gone away, whoever waits is told so and ends.

use std::{sync::Arc, time::Duration};

use pi_envelope::{Said, SystemPart};
use pi_policy::{Decision, Remembered, Request};
use pi_transcript::{AgentEvent, EntryId, Message, ThinkingLevel, message::BashExecutionMessage};
use tokio::sync::{mpsc, oneshot};

use super::tools::ToolSet;
use crate::{
    cut,
    draft::Draft,
    mailbox::Letter,
    models::Choice,
    queue::{Saying, When},
    resources::assembly::ToolNote,
    retry::RetrySettings,
    tree::{Kept, NoEntry, Place, Span},
};

/// What a run tells or asks its session.
#[derive(Debug)]
pub(crate) enum Note {
    /// What the next turn is made of.
    Plan(oneshot::Sender<Plan>),
    /// What extensions offer now is to be offered to the model.
    Offers(oneshot::Sender<()>),
    /// The part of it that costs nothing to find.
    Terms(oneshot::Sender<Terms>),
    Events(Vec<AgentEvent>),
    Append {
        before: Vec<AgentEvent>,
        drafts: Vec<Draft>,
        after: Vec<AgentEvent>,
        ids: oneshot::Sender<Vec<EntryId>>,
    },
    /// Answered when everything so far is in the file.
    Written(oneshot::Sender<()>),
    /// Answered when everything so far is on the disk.
    Durable(oneshot::Sender<()>),
    /// Queued messages that are due.
    Due(When, oneshot::Sender<Vec<Saying>>),
    /// The messages that were appended since, that entry included.
    Since(EntryId, oneshot::Sender<Vec<Message>>),
    /// The entries that the next prompt is made of.
    Path(oneshot::Sender<Vec<Arc<Kept>>>),
    /// What lies between the leaf and an entry.
    Survey(EntryId, oneshot::Sender<Result<Survey, NoEntry>>),
    /// Moves the leaf; answers what must be read from the file.
    GoTo(Option<EntryId>, oneshot::Sender<Vec<(Place, Span)>>),
    /// What was read; answers what must be read beyond it.
    Hold(Vec<(Place, Arc<Kept>)>, oneshot::Sender<Vec<(Place, Span)>>),
    /// A command of a person has ended.
    Ran(Box<BashExecutionMessage>, oneshot::Sender<()>),
    Judge(Box<Request>, oneshot::Sender<Decision>),
    Remember(Box<Remembered>),
}

/// What a turn is made of, as it stands when the turn begins: changes of model, level and tools take effect here.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) terms: Terms,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) messages: Vec<Said>,
    /// The message that was said last. The leaf may be something that nobody sees among messages: a label, a compaction, what
    /// an extension keeps.
    pub(crate) after: Option<EntryId>,
}

/// Who is asked, and under which settings.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) choice: Arc<Choice>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) system: Arc<[SystemPart]>,
    /// What its tools wanted said in it.
    pub(crate) tools: Vec<ToolNote>,
    pub(crate) retry: RetrySettings,
    pub(crate) compaction: cut::Settings,
    /// How long servers that are still starting are waited for.
    pub(crate) server_wait: Duration,
}

/// An entry, or where it is in the file.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Held(Arc<Kept>),
    At(Span),
}

/// What a way through the tree leaves and where it leads.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Where the conversation stands.
    pub(crate) from: Option<EntryId>,
    /// Where it will stand: at the entry, or before it if a person said it, who may want to say it anew.
    pub(crate) leaf: Option<EntryId>,
    /// The last entry that both ways share.
    pub(crate) shared: Option<EntryId>,
    /// From there to where it stands, the oldest first.
    pub(crate) left: Vec<Piece>,
    /// What a person may want to say anew.
    pub(crate) editor: Option<Piece>,
}

/// The session that the run belongs to has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// The run's end of the line. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    mailbox: mpsc::Sender<Letter>,
}

impl Desk {
    pub(crate) fn new(mailbox: mpsc::Sender<Letter>) -> Self {
        Self { mailbox }
    }

    pub(crate) async fn tell(&self, event: AgentEvent) -> Result<(), Gone> {
        self.tell_all(vec![event]).await
    }

    pub(crate) async fn tell_all(&self, events: Vec<AgentEvent>) -> Result<(), Gone> {
        if events.is_empty() {
            return Ok(());
        }
        self.send(Note::Events(events)).await
    }

    pub(crate) async fn plan(&self) -> Result<Plan, Gone> {
        self.ask(Note::Plan).await
    }

    /// Has what extensions offer now taken over.
    pub(crate) async fn take_offers(&self) -> Result<(), Gone> {
        self.ask(Note::Offers).await
    }

    pub(crate) async fn terms(&self) -> Result<Terms, Gone> {
        self.ask(Note::Terms).await
    }

    /// Appends entries; `before` and `after` are told around them, once they are written.
    pub(crate) async fn append(
        &self,
        before: Vec<AgentEvent>,
        drafts: Vec<Draft>,
        after: Vec<AgentEvent>,
    ) -> Result<Vec<EntryId>, Gone> {
        self.ask(|ids| Note::Append { before, drafts, after, ids }).await
    }

    pub(crate) async fn written(&self) -> Result<(), Gone> {
        self.ask(Note::Written).await
    }

    pub(crate) async fn durable(&self) -> Result<(), Gone> {
        self.ask(Note::Durable).await
    }

    pub(crate) async fn due(&self, when: When) -> Result<Vec<Saying>, Gone> {
        self.ask(|reply| Note::Due(when, reply)).await
    }

    pub(crate) async fn since(&self, entry: EntryId) -> Result<Vec<Message>, Gone> {
        self.ask(|reply| Note::Since(entry, reply)).await
    }

    pub(crate) async fn judge(&self, request: Request) -> Result<Decision, Gone> {
        self.ask(|reply| Note::Judge(Box::new(request), reply)).await
    }

    pub(crate) async fn remember(&self, answer: Remembered) -> Result<(), Gone> {
        self.send(Note::Remember(Box::new(answer))).await
    }

    pub(crate) async fn path(&self) -> Result<Vec<Arc<Kept>>, Gone> {
        self.ask(Note::Path).await
    }

    pub(crate) async fn survey(&self, target: EntryId) -> Result<Result<Survey, NoEntry>, Gone> {
        self.ask(|reply| Note::Survey(target, reply)).await
    }

    pub(crate) async fn go_to(&self, leaf: Option<EntryId>) -> Result<Vec<(Place, Span)>, Gone> {
        self.ask(|reply| Note::GoTo(leaf, reply)).await
    }

    pub(crate) async fn hold(&self, entries: Vec<(Place, Arc<Kept>)>) -> Result<Vec<(Place, Span)>, Gone> {
        self.ask(|reply| Note::Hold(entries, reply)).await
    }

    pub(crate) async fn ran(&self, message: BashExecutionMessage) -> Result<(), Gone> {
        self.ask(|reply| Note::Ran(Box::new(message), reply)).await
    }

    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Note) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.send(make(reply)).await?;
        answer.await.map_err(|_| Gone)
    }

    async fn send(&self, note: Note) -> Result<(), Gone> {
        self.mailbox.send(Letter::Run(Box::new(note))).await.map_err(|_| Gone)
    }
}
