//! The task that owns a session.
//!
//! It takes one letter after the other and answers it from what it has in its hands; it never waits for a model, a tool,
//! a guest, a disk or a client. What takes time runs beside it: one job at a time, what is on its way to one, what is done
//! for extensions, and the recorder.

mod change;
mod editor;
mod equipment;
mod guest;
mod hearing;
mod intake;
mod job;
mod lane;
mod leave;
mod letter;
mod model;
mod note;
mod page;
mod prompt;
mod scribe;
mod serve;
mod show;
mod source;
mod traces;
mod tree;
mod weight;

use std::{io, sync::Arc};

use pi_envelope::SystemPart;
use pi_exthost::port::Mode;
use pi_extproto::hook::event::payload::ModelSource;
use pi_policy::Policy;
use pi_transcript::{
    AgentEvent, EntryId, Header, Message, ModelId, ThinkingLevel, json::Open, message::BashExecutionMessage,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    editor::Editor,
    equipment::Equipment,
    hearing::Hearing,
    intake::{Intake, Words},
    job::Running,
    letter::{Letter, Request},
    scribe::{Scribe, Worth},
    source::switched,
    traces::Traces,
};
use crate::{
    chute,
    complaint::Complaint,
    context, cut,
    departure::{Beginning, Departure, Owner},
    draft::Draft,
    extensions::Steward,
    finished::{self, Finished},
    furnishing::Habits,
    herald::Outgoing,
    input::Composer,
    listing::Counted,
    models::{Choice, scope::Scope},
    queue::{Queues, Saying},
    resources::Switches,
    retry::RetrySettings,
    run::{Parts, bash::Errand, desk::Desk, variables},
    session::{BashError, Typed},
    tree::{Kept, Tree},
};

/// Everything that a session is.
pub(crate) struct Mailbox {
    pub(crate) parts: Arc<Parts>,
    pub(crate) tree: Tree,
    pub(crate) scribe: Scribe,
    pub(crate) policy: Arc<Policy>,
    pub(crate) choice: Arc<Choice>,
    /// Models that extensions bring, and what is wrong with others.
    pub(crate) offered: (Vec<Arc<Choice>>, Vec<Complaint>),
    /// Models that stand in no list, or at an address of their own.
    pub(crate) own_models: Vec<Arc<Choice>>,
    /// Which of all models are gone through.
    pub(crate) scope: Scope,
    pub(crate) thinking: ThinkingLevel,
    /// How it goes on by itself, as the files said last.
    pub(crate) habits: Habits,
    pub(crate) retry: RetrySettings,
    pub(crate) compaction: cut::Settings,
    pub(crate) queues: Queues,
    pub(crate) tools: Equipment,
    /// What the model is told of [`whole_system`](Self::whole_system).
    pub(crate) system: Arc<[SystemPart]>,
    pub(crate) whole_system: Arc<[SystemPart]>,
    pub(crate) switches: Switches,
    pub(crate) composer: Arc<Composer>,
    pub(crate) intake: Intake,
    pub(crate) hearing: Hearing,
    pub(crate) traces: Traces,
    pub(crate) editor: Editor,
    pub(crate) running: Option<Running>,
    /// Told when nothing runs and nothing is on its way.
    pub(crate) awaiting_idle: Vec<oneshot::Sender<()>>,
    /// What rides along with the next prompt.
    pub(crate) riding: Vec<Saying>,
    pub(crate) header: Header,
    pub(crate) mode: Mode,
    pub(crate) is_project_trusted: bool,
    pub(crate) owner: Owner,
    /// Looks after its extensions.
    pub(crate) steward: Arc<dyn Steward>,
    /// Nothing is begun any more.
    pub(crate) is_closing: bool,
    /// Why it is closed; dropped by everybody, it is as if somebody had quit.
    pub(crate) departure: Option<Departure>,
    /// Told when the session is closed, and what was not said.
    pub(crate) closed: Vec<oneshot::Sender<Vec<Saying>>>,
    /// What was on its way when the session closed.
    pub(crate) unsaid: Vec<Saying>,
    /// What runs beside the mailbox; it ends with the session.
    pub(crate) asides: JoinSet<()>,
    /// Ends the commands that people run in the shell.
    pub(crate) errands: CancellationToken,
    /// Ends what is done for extensions; given when the session ends.
    pub(crate) life: CancellationToken,
    /// Ends the commands of extensions; a part of their life.
    pub(crate) commands: CancellationToken,
    /// Commands that have ended and are not yet said.
    pub(crate) ran: Vec<Message>,
    /// The conversation went to another place, and nothing was written there so far.
    pub(crate) has_moved: bool,
    /// What the session holds and has cost, as far as anybody asked.
    pub(crate) counted: Counted,
    /// For the desks of runs; weak, so that a session ends when nobody holds it.
    pub(crate) letters: mpsc::WeakSender<Letter>,
}

impl Mailbox {
    /// Puts results in their place that were told of before a crash.
    pub(crate) fn restore(&mut self, finished: &[Finished]) {
        let restored = finished::restorable(&self.tree.entries(), finished);
        if !restored.is_empty() {
            self.append(Vec::new(), restored.into_iter().map(Draft::message).collect(), Vec::new());
        }
    }

    /// Says what the session begins with, where the file does not say the same, and lets extensions hear that it begins.
    pub(crate) fn begin(&mut self, beginning: &Beginning) {
        let drafts = self.unstated();
        let is_restored = !drafts.iter().any(|draft| matches!(draft, Draft::ModelChange { .. }));
        if !drafts.is_empty() {
            self.append(Vec::new(), drafts, Vec::new());
        }
        self.refresh_models();
        self.hearing.begin(beginning, Arc::clone(&self.steward));
        if is_restored && matches!(beginning, Beginning::Resume { .. }) {
            self.hearing.notify(change::selected(&self.choice, None, ModelSource::Restore));
        }
    }

    /// How the session is set, where the path to its leaf does not say the same: whoever reads the file goes on like this.
    fn unstated(&self) -> Vec<Draft> {
        let known = context::build(&self.tree.entries());
        let (provider, model) = (self.choice.provider().clone(), ModelId::from(self.choice.id()));
        let mut drafts = Vec::new();
        if known.model != Some(context::ModelChoice { provider: provider.clone(), model: model.clone() }) {
            let address = self.choice.address().map(str::to_owned);
            drafts.push(Draft::ModelChange { provider, model, address });
        }
        if self.tree.is_empty() || known.thinking_level != Open::Known(self.thinking) {
            drafts.push(Draft::ThinkingLevelChange(self.thinking));
        }
        let offer = self.offer();
        if known.offer != offer {
            drafts.push(Draft::Offer(offer));
        }
        drafts
    }

    /// Takes letters until nobody can write any more, or somebody closes the session.
    pub(crate) async fn work(
        mut self: Box<Self>,
        mut letters: mpsc::Receiver<Letter>,
        mut heard: chute::Receiver<AgentEvent>,
    ) {
        loop {
            let letter = tokio::select! {
                biased;
                Some(event) = heard.recv() => {
                    self.hear(event);
                    continue;
                }
                () = self.scribe.reported(), if self.scribe.is_behind() => {
                    self.scribe.advance();
                    continue;
                }
                // What has ended is let go; how it ended was told by itself.
                Some(_) = self.asides.join_next() => continue,
                letter = letters.recv() => letter,
            };
            match letter {
                None => break,
                Some(letter) => self.take(letter),
            }
            if !self.closed.is_empty() {
                break;
            }
        }
        // Apart, so that a session does not hold the room for its end all its life.
        Box::pin(self.close(letters, heard)).await;
    }

    fn take(&mut self, letter: Letter) {
        match letter {
            Letter::Client(request) => self.serve(*request),
            Letter::Guest(asked) => {
                let (from, request) = *asked;
                self.serve_guest(from, request);
            }
            Letter::Received(received) => self.receive(*received),
            Letter::Run(note) => self.note(*note),
            Letter::Ended(ending) => self.end_run(&ending),
            Letter::Counted(counted) => self.keep_count(*counted),
            Letter::Furnished(furnishing) => self.furnish(*furnishing),
        }
    }

    /// Tells what happened elsewhere: questions to a person, what extensions draw, and how they failed.
    fn hear(&mut self, event: AgentEvent) {
        if let Some(prompt) = self.hearing.prompt(&event) {
            self.hearing.notify(prompt);
        }
        self.tell(vec![event]);
    }

    /// Ends what runs, lets extensions hear that it ends, and lets the recorder write what it has.
    async fn close(mut self: Box<Self>, mut letters: mpsc::Receiver<Letter>, mut heard: chute::Receiver<AgentEvent>) {
        self.is_closing = true;
        if let Some(running) = &self.running {
            running.cancel();
        }
        self.parts.questions.cancel_all();
        self.parts.drawings.cancel_all();
        // The run still has something to tell before it is over, and whoever waits for it is told how it ended.
        while self.running.is_some() {
            match letters.recv().await {
                Some(letter) => self.take(letter),
                None => break,
            }
        }
        self.errands.cancel();
        self.life.cancel();
        self.intake.abort();
        while !self.asides.is_empty() || !self.intake.is_empty() {
            tokio::select! {
                biased;
                Some(letter) = letters.recv() => self.take(letter),
                Some(_) = self.asides.join_next() => {}
                else => break,
            }
        }
        let mut ended = std::pin::pin!(self.hearing.end(self.departure.as_ref().unwrap_or(&Departure::Quit)));
        loop {
            tokio::select! {
                biased;
                Some(letter) = letters.recv() => self.take(letter),
                () = &mut ended => break,
            }
        }
        self.asides.shutdown().await;
        self.parts.guests.shutdown().await;
        while let Some(event) = heard.take() {
            self.tell(vec![event]);
        }
        let unsaid = self.take_unsaid();
        if let Some(kept) = self.keep_queues()
            && let Err(error) = kept.await
        {
            tracing::warn!(%error, "what waits to be said is not on the disk");
        }
        self.scribe.close().await;
        self.parts.archive.sync().await;
        for closed in self.closed {
            answer(closed, unsaid.clone());
        }
    }

    /// What waited to be said and never will be. Everybody is told, so that nothing is lost in silence.
    fn take_unsaid(&mut self) -> Vec<Saying> {
        // What is written down waits on, unless the conversation is left for another.
        let is_kept = self.parts.slate.is_some() && matches!(self.departure, None | Some(Departure::Quit));
        let mut unsaid = if is_kept { Vec::new() } else { self.queues.clear() };
        unsaid.append(&mut self.riding);
        unsaid.append(&mut self.unsaid);
        if !unsaid.is_empty() {
            self.tell(vec![left_unsaid(&unsaid)]);
        }
        unsaid
    }

    /// Writes down what waits, where that is kept and not done. The answer is how it went.
    fn keep_queues(&self) -> Option<impl Future<Output = io::Result<()>> + use<>> {
        let slate = self.parts.slate.as_ref().filter(|slate| !slate.has(self.queues.edition()))?;
        let slate = Arc::clone(slate);
        let (edition, waits) = self.queues.written();
        Some(slate.keep(edition, waits))
    }

    /// The same, and nobody waits for it.
    fn keep_queues_aside(&mut self) {
        if let Some(kept) = self.keep_queues() {
            self.asides.spawn(async move {
                if let Err(error) = kept.await {
                    tracing::warn!(%error, "what waits to be said is not on the disk");
                }
            });
        }
    }

    fn tell_queues(&mut self) {
        let waiting = self.queues.waiting();
        self.tell(vec![AgentEvent::QueueUpdate { steering: waiting.steering, follow_up: waiting.follow_up }]);
    }

    /// Appends entries to the tree and to the file, and tells of it when it is written.
    fn append(&mut self, before: Vec<AgentEvent>, drafts: Vec<Draft>, after: Vec<AgentEvent>) -> Vec<EntryId> {
        let now = (self.parts.now)();
        let (mut lines, mut ids, mut events) = (Vec::new(), Vec::new(), before);
        // What was set elsewhere holds here too, and must be found when the file is read.
        let stated =
            if !drafts.is_empty() && std::mem::take(&mut self.has_moved) { self.unstated() } else { Vec::new() };
        let before = stated.len();
        for draft in stated.into_iter().chain(drafts) {
            let appended = self.tree.append(now, |base| draft.into_entry(base));
            ids.push(appended.entry.id().clone());
            if let Kept::Other(entry) = &*appended.entry {
                events.push(AgentEvent::EntryAppended { entry: entry.clone() });
            }
            lines.push(appended.line);
        }
        events.extend(after);
        self.scribe.record(lines, Outgoing::Events(events));
        // What is let go must be readable even if somebody deletes the file.
        let written = self.scribe.written();
        if written > 0 && self.parts.reader.as_ref().is_some_and(|reader| reader.open().is_ok()) {
            self.tree.settle(written);
        }
        ids.split_off(before)
    }

    fn tell(&mut self, events: Vec<AgentEvent>) {
        if let Some(running) = &mut self.running
            && events.iter().any(|event| matches!(event, AgentEvent::AgentSettled { .. }))
        {
            running.note_told_end();
        }
        if !events.is_empty() {
            self.scribe.record(Vec::new(), Outgoing::Events(events));
        }
    }

    /// Runs a command of a person beside whatever else goes on.
    fn bash(&mut self, typed: Typed, reply: oneshot::Sender<Result<BashExecutionMessage, BashError>>) {
        let Some(letters) = self.letters.upgrade().filter(|_| !self.is_closing) else { return };
        let errand = Errand {
            parts: Arc::clone(&self.parts),
            desk: Desk::new(letters),
            workspace: variables::tell(
                &self.tools.workspace,
                &self.parts,
                &self.choice,
                self.choice.clamp(self.thinking),
            ),
            cancel: self.errands.child_token(),
        };
        self.asides.spawn(async move { answer(reply, errand.run(typed).await) });
    }

    /// Says what was run while the model was at work: between a call and its result nothing else may stand.
    fn say_what_ran(&mut self) {
        for message in std::mem::take(&mut self.ran) {
            let start = vec![AgentEvent::MessageStart { message: message.clone() }];
            let end = vec![AgentEvent::MessageEnd { message: message.clone() }];
            self.append(start, vec![Draft::message(message)], end);
        }
    }
}

/// Answers whoever asked, who may have gone away meanwhile; then nobody wants to know.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

/// What waited to be said, and is not said.
fn left_unsaid(unsaid: &[Saying]) -> AgentEvent {
    AgentEvent::MessagesUnsaid { texts: unsaid.iter().map(Saying::written).collect() }
}
