//! The task that owns a session.
//!
//! It takes one letter after the other and answers it from what it has in its hands; it never waits for a model, a tool,
//! a guest, a disk or a client. What takes time runs beside it: one run at a time, and the recorder.

mod guest;
mod letter;
mod prompt;
mod scribe;
mod tree;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use pi_envelope::SystemPart;
use pi_exthost::{guests::GuestTool, port::Mode};
use pi_policy::{Policy, decide};
use pi_tools::{Registry, Workspace};
use pi_transcript::{
    AgentEvent, EntryId, Header, Message, ModelId, ThinkingLevel, event::CompactionResult, json::Open,
    message::BashExecutionMessage,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::{
    letter::{Letter, Request},
    scribe::Scribe,
};
use crate::{
    context, cut,
    draft::Draft,
    herald::{self, Outgoing},
    models::Choice,
    queue::{Queues, Saying, When},
    retry::RetrySettings,
    run::{
        Ending, Parts, Run, Signals,
        bash::Errand,
        compact::Compacted,
        desk::{Desk, Note, Plan},
        tools::ToolSet,
    },
    session::{BashError, CompactError, Exposure, Journey, NavigateError, PromptError, Prompted, State, Went},
    tree::{Kept, NoEntry, Tree},
};

/// Everything that a session is.
pub(crate) struct Mailbox {
    pub(crate) parts: Arc<Parts>,
    pub(crate) tree: Tree,
    pub(crate) scribe: Scribe,
    pub(crate) policy: Policy,
    pub(crate) choice: Arc<Choice>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) retry: RetrySettings,
    pub(crate) compaction: cut::Settings,
    pub(crate) queues: Queues,
    pub(crate) tools: Equipment,
    pub(crate) system: Arc<[SystemPart]>,
    pub(crate) running: Option<Running>,
    /// What rides along with the next prompt.
    pub(crate) riding: Vec<Saying>,
    pub(crate) header: Header,
    pub(crate) mode: Mode,
    pub(crate) is_project_trusted: bool,
    /// Nothing is begun any more.
    pub(crate) is_closing: bool,
    /// Told when the session is closed.
    pub(crate) closed: Vec<oneshot::Sender<()>>,
    /// Commands that people run; they end with the session.
    pub(crate) asides: JoinSet<()>,
    /// Ends those commands.
    pub(crate) errands: CancellationToken,
    /// Commands that have ended and are not yet said.
    pub(crate) ran: Vec<Message>,
    /// For the desks of runs; weak, so that a session ends when nobody holds it.
    pub(crate) letters: mpsc::WeakSender<Letter>,
}

/// The tools of a session: those that there are, and those that the model may call.
pub(crate) struct Equipment {
    pub(crate) built_in: Registry,
    pub(crate) guests: Vec<GuestTool>,
    pub(crate) active: Vec<String>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) set: Arc<ToolSet>,
}

/// The run that is in flight.
pub(crate) struct Running {
    signals: Signals,
    /// Told how it ends.
    waiting: Vec<oneshot::Sender<Result<Prompted, PromptError>>>,
}

impl Mailbox {
    /// Says what the session begins with, where the file does not say the same.
    pub(crate) fn begin(&mut self) {
        let known = context::build(&self.tree.entries());
        let (provider, model) = (self.choice.provider().clone(), self.choice.id().into());
        let mut drafts = Vec::new();
        if known.model
            != Some(context::ModelChoice { provider: provider.clone(), model: ModelId::from(self.choice.id()) })
        {
            drafts.push(Draft::ModelChange { provider, model });
        }
        if self.tree.is_empty() || known.thinking_level != Open::Known(self.thinking) {
            drafts.push(Draft::ThinkingLevelChange(self.thinking));
        }
        if !drafts.is_empty() {
            self.append(Vec::new(), drafts, Vec::new());
        }
    }

    /// Takes letters until nobody can write any more, or somebody closes the session.
    pub(crate) async fn work(
        mut self,
        mut letters: mpsc::Receiver<Letter>,
        mut heard: mpsc::UnboundedReceiver<AgentEvent>,
    ) {
        loop {
            let letter = tokio::select! {
                biased;
                Some(event) = heard.recv() => {
                    self.tell(vec![event]);
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
        self.close(letters).await;
    }

    fn take(&mut self, letter: Letter) {
        match letter {
            Letter::Client(request) => self.serve(request),
            Letter::Guest(from, request) => self.serve_guest(from, request),
            Letter::Run(note) => self.note(note),
            Letter::Ended(ending) => self.end_run(&ending),
        }
    }

    /// Ends what runs and lets the recorder write what it has.
    async fn close(mut self, mut letters: mpsc::Receiver<Letter>) {
        self.is_closing = true;
        if let Some(running) = &self.running {
            running.signals.cancel.cancel();
            self.parts.questions.cancel_all();
        }
        // The run still has something to tell before it is over, and whoever waits for it is told how it ended.
        while self.running.is_some() {
            match letters.recv().await {
                Some(letter) => self.take(letter),
                None => break,
            }
        }
        self.errands.cancel();
        while !self.asides.is_empty() {
            tokio::select! {
                biased;
                Some(letter) = letters.recv() => self.take(letter),
                _ = self.asides.join_next() => {}
            }
        }
        self.parts.guests.shutdown().await;
        self.scribe.close().await;
        self.parts.archive.sync().await;
        for closed in self.closed {
            answer(closed, ());
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Plan(reply) => answer(reply, self.plan()),
            Note::Events(events) => self.tell(events),
            Note::Append { before, drafts, after, ids } => answer(ids, self.append(before, drafts, after)),
            Note::Written(reply) => self.scribe.record(Vec::new(), Outgoing::Written(reply)),
            Note::Durable(reply) => self.scribe.sync(Outgoing::Written(reply)),
            Note::Due(when, reply) => answer(reply, self.due(when)),
            Note::Since(first, reply) => answer(reply, self.since(&first)),
            Note::Judge(request, reply) => answer(reply, decide(&self.policy, &request)),
            Note::Remember(answer) => {
                let policy = std::mem::take(&mut self.policy);
                self.policy = policy.with_answer(*answer);
            }
            Note::Survey(target, reply) => answer(reply, tree::survey(&self.tree, &target)),
            Note::GoTo(leaf, reply) => {
                let place = leaf.and_then(|leaf| self.tree.find(&leaf).ok());
                self.tree.move_leaf(place);
                answer(reply, self.tree.missing());
            }
            Note::Hold(entries, reply) => {
                for (place, kept) in entries {
                    self.tree.hold(place, kept.to_entry());
                }
                answer(reply, self.tree.missing());
            }
            Note::Ran(message, reply) => {
                self.ran.push(Message::BashExecution(*message));
                if self.running.is_none() {
                    self.say_what_ran();
                }
                answer(reply, ());
            }
            Note::Path(reply) => answer(reply, self.tree.entries()),
        }
    }

    fn plan(&self) -> Plan {
        Plan {
            choice: Arc::clone(&self.choice),
            thinking: self.choice.clamp(self.thinking),
            tools: Arc::clone(&self.tools.set),
            system: Arc::clone(&self.system),
            messages: prompt::messages(&self.tree),
            retry: self.retry,
            compaction: self.compaction,
            leaf: self.tree.leaf().map(|leaf| self.tree.id(leaf)),
        }
    }

    fn due(&mut self, when: When) -> Vec<Saying> {
        let due = self.queues.take(when);
        if !due.is_empty() {
            self.tell_queues();
        }
        due
    }

    fn tell_queues(&mut self) {
        let waiting = self.queues.waiting();
        self.tell(vec![AgentEvent::QueueUpdate { steering: waiting.steering, follow_up: waiting.follow_up }]);
    }

    /// The messages of the current path from an entry on.
    fn since(&self, first: &EntryId) -> Vec<Message> {
        let entries = self.tree.entries();
        let from = entries.iter().position(|kept| kept.id() == first).unwrap_or(entries.len());
        context::build(&entries[from..]).messages.into_iter().map(|(_, message)| Message::clone(&message)).collect()
    }

    /// Appends entries to the tree and to the file, and tells of it when it is written.
    fn append(&mut self, before: Vec<AgentEvent>, drafts: Vec<Draft>, after: Vec<AgentEvent>) -> Vec<EntryId> {
        let now = (self.parts.now)();
        let (mut lines, mut ids, mut events) = (Vec::new(), Vec::new(), before);
        for draft in drafts {
            let appended = self.tree.append(now, |base| draft.into_entry(base));
            ids.push(appended.entry.id().clone());
            if let Kept::Other(entry) = &*appended.entry {
                events.push(AgentEvent::EntryAppended { entry: entry.clone() });
            }
            lines.push(appended.line);
        }
        events.extend(after);
        self.scribe.record(lines, Outgoing::Events(events));
        self.tree.settle(self.scribe.written());
        ids
    }

    fn tell(&mut self, events: Vec<AgentEvent>) {
        self.scribe.record(Vec::new(), Outgoing::Events(events));
    }

    /// Begins a run with what somebody said.
    fn start_run(&mut self, opening: Vec<Saying>, reply: Option<oneshot::Sender<Result<Prompted, PromptError>>>) {
        self.start_job(reply, |run| async move { run.go(opening).await });
    }

    /// Compacts, unless a run is in flight.
    fn compact(
        &mut self,
        instructions: Option<String>,
        reply: oneshot::Sender<Result<CompactionResult, CompactError>>,
    ) {
        if self.running.is_some() {
            return answer(reply, Err(CompactError::Busy));
        }
        self.start_job(None, |run| async move {
            let compacted = run.compact_by_hand(instructions).await;
            let is_aborted = compacted == Compacted::Aborted;
            answer(reply, compacted.into());
            if is_aborted { Ending::Aborted } else { Ending::Done }
        });
    }

    fn navigate(&mut self, journey: Journey, reply: oneshot::Sender<Result<Went, NavigateError>>) {
        if self.running.is_some() {
            return answer(reply, Err(NavigateError::Busy));
        }
        self.start_job(None, |run| async move {
            answer(reply, run.navigate(journey).await);
            Ending::Done
        });
    }

    fn set_model(&mut self, choice: Arc<Choice>) {
        let (provider, model) = (choice.provider().clone(), choice.id().into());
        self.choice = choice;
        self.append(Vec::new(), vec![Draft::ModelChange { provider, model }], Vec::new());
    }

    /// The level that it became.
    fn set_thinking_level(&mut self, level: ThinkingLevel) -> ThinkingLevel {
        let level = self.choice.clamp(level);
        if level != self.thinking {
            self.thinking = level;
            let told = vec![AgentEvent::ThinkingLevelChanged { level }];
            self.append(Vec::new(), vec![Draft::ThinkingLevelChange(level)], told);
        }
        level
    }

    fn rename(&mut self, name: String) {
        let told = vec![AgentEvent::SessionInfoChanged { name: Some(name.clone()) }];
        self.append(Vec::new(), vec![Draft::Name(Some(name))], told);
    }

    fn label(&mut self, target: EntryId, label: Option<String>) -> Result<(), NoEntry> {
        self.tree.find(&target)?;
        self.append(Vec::new(), vec![Draft::Label { target, label }], Vec::new());
        Ok(())
    }

    /// Runs a command of a person beside whatever else goes on.
    fn bash(
        &mut self,
        command: String,
        exposure: Exposure,
        reply: oneshot::Sender<Result<BashExecutionMessage, BashError>>,
    ) {
        let Some(letters) = self.letters.upgrade().filter(|_| !self.is_closing) else { return };
        let errand = Errand {
            parts: Arc::clone(&self.parts),
            desk: Desk::new(letters),
            workspace: Arc::clone(&self.tools.workspace),
            cancel: self.errands.child_token(),
        };
        self.asides.spawn(async move { answer(reply, errand.run(command, exposure).await) });
    }

    /// Says what was run while the model was at work: between a call and its result nothing else may stand.
    fn say_what_ran(&mut self) {
        for message in std::mem::take(&mut self.ran) {
            let start = vec![AgentEvent::MessageStart { message: message.clone() }];
            let end = vec![AgentEvent::MessageEnd { message: message.clone() }];
            self.append(start, vec![Draft::message(message)], end);
        }
    }

    /// Begins something that nothing else may go on beside. Its task belongs to the session, which waits for its last
    /// letter before it ends.
    fn start_job<F: Future<Output = Ending> + Send + 'static>(
        &mut self,
        reply: Option<oneshot::Sender<Result<Prompted, PromptError>>>,
        job: impl FnOnce(Run) -> F,
    ) {
        // Whoever waits is told by the reply that is dropped.
        let Some(letters) = self.letters.upgrade().filter(|_| !self.is_closing) else { return };
        let cancel = CancellationToken::new();
        let signals = Signals { give_up: cancel.child_token(), cancel };
        let job = job(Run::new(Arc::clone(&self.parts), Desk::new(letters.clone()), signals.clone()));
        tokio::spawn(async move {
            // Whoever waits must hear of the end, whatever happens to the run.
            let ending = AssertUnwindSafe(job).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!("a run ended in a panic");
                let message = "something in pi itself broke; the conversation is kept".to_owned();
                Ending::Failed { message, cause: None }
            });
            // A session that is gone has nobody left to be told.
            drop(letters.send(Letter::Ended(ending)).await);
        });
        self.running = Some(Running { signals, waiting: reply.into_iter().collect() });
    }

    fn end_run(&mut self, ending: &Ending) {
        let Some(running) = self.running.take() else { return };
        self.say_what_ran();
        for waiting in running.waiting {
            answer(waiting, Ok(Prompted::Ran(ending.clone())));
        }
        if !self.queues.is_empty() && *ending == Ending::Done && !self.is_closing {
            // It came after the run had looked for the last time.
            let when = if self.queues.waiting().steering.is_empty() { When::FollowUp } else { When::Steer };
            let due = self.due(when);
            self.start_run(due, None);
        }
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Prompt { saying, during, reply } => self.prompt(*saying, during, reply),
            Request::Abort(reply) => match &mut self.running {
                Some(running) => {
                    running.cancel();
                    let ended = running.ended();
                    self.asides.spawn(async move {
                        // However it ended, nothing runs now.
                        let _ = ended.await;
                        answer(reply, ());
                    });
                }
                None => answer(reply, ()),
            },
            Request::AbortRetry(reply) => {
                if let Some(running) = &self.running {
                    running.signals.give_up.cancel();
                }
                answer(reply, ());
            }
            Request::State(reply) => answer(reply, self.state()),
            Request::Messages(reply) => {
                answer(reply, context::build(&self.tree.entries()).messages);
            }
            Request::SetModel(choice, reply) => {
                self.set_model(choice);
                answer(reply, ());
            }
            Request::SetThinkingLevel(level, reply) => {
                answer(reply, self.set_thinking_level(level));
            }
            Request::SetActiveTools(names, reply) => {
                self.tools.activate(&names);
                answer(reply, ());
            }
            Request::SetDelivery(when, delivery, reply) => {
                self.queues.set_delivery(when, delivery);
                answer(reply, ());
            }
            Request::ClearQueue(reply) => {
                let cleared = self.queues.clear();
                self.tell_queues();
                answer(reply, cleared);
            }
            Request::Rename(name, reply) => {
                self.rename(name);
                answer(reply, ());
            }
            Request::Envelope(id, reply) => self.parts.archive.get(id.map(|id| id.0), reply),
            Request::Requests(reply) => self.parts.archive.list(reply),
            Request::Bash(command, exposure, reply) => self.bash(command, exposure, reply),
            Request::AbortBash(reply) => {
                std::mem::take(&mut self.errands).cancel();
                answer(reply, ());
            }
            Request::Navigate(journey, reply) => {
                self.navigate(*journey, reply);
            }
            Request::Answer(id, said, reply) => answer(reply, self.parts.questions.answer(&id, *said)),
            Request::OpenQuestions(reply) => answer(reply, self.parts.questions.list_open()),
            Request::Compact(instructions, reply) => self.compact(instructions, reply),
            Request::SetAutoCompaction(enabled, reply) => {
                self.compaction.enabled = enabled;
                answer(reply, ());
            }
            Request::SetAutoRetry(enabled, reply) => {
                self.retry.enabled = enabled;
                answer(reply, ());
            }
            Request::Label(target, label, reply) => {
                answer(reply, self.label(target, label));
            }
            Request::Flush(reply) => self.scribe.sync(Outgoing::Written(reply)),
            Request::Subscribe(reply) => {
                let (subscriber, subscription) = herald::subscription();
                self.scribe.record(Vec::new(), Outgoing::Subscribe(subscriber));
                answer(reply, (self.state(), subscription));
            }
            Request::Close(reply) => self.closed.push(reply),
        }
    }

    fn prompt(&mut self, saying: Saying, during: Option<When>, reply: oneshot::Sender<Result<Prompted, PromptError>>) {
        match (&self.running, during) {
            (None, _) => {
                let opening = std::iter::once(saying).chain(std::mem::take(&mut self.riding)).collect();
                self.start_run(opening, Some(reply));
            }
            (Some(_), Some(when)) => {
                self.queues.push(when, saying);
                self.tell_queues();
                answer(reply, Ok(Prompted::Queued(when)));
            }
            (Some(_), None) => answer(reply, Err(PromptError::Busy)),
        }
    }

    fn state(&self) -> State {
        State {
            session: self.parts.session.clone(),
            name: self.tree.name().map(str::to_owned),
            leaf: self.tree.leaf().map(|leaf| self.tree.id(leaf)),
            model: self.choice.model().clone(),
            thinking: self.thinking,
            is_running: self.running.is_some(),
            waiting: self.queues.waiting(),
            active_tools: self.tools.active.clone(),
            entries: self.tree.len(),
        }
    }
}

/// Answers whoever asked, who may have gone away meanwhile; then nobody wants to know.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    let _ = reply.send(value);
}

impl Running {
    fn cancel(&self) {
        self.signals.cancel.cancel();
    }

    /// Told when it is over.
    fn ended(&mut self) -> oneshot::Receiver<Result<Prompted, PromptError>> {
        let (ended, end) = oneshot::channel();
        self.waiting.push(ended);
        end
    }
}

impl Equipment {
    /// Takes over what guests offer now; new tools that want to be are active at once.
    fn refresh(&mut self, guests: Vec<GuestTool>) {
        let is_new = |tool: &&GuestTool| {
            let name = &tool.offer.definition.name;
            tool.offer.default_active && !self.guests.iter().any(|known| known.offer.definition.name == *name)
        };
        let new: Vec<String> = guests.iter().filter(is_new).map(|tool| tool.offer.definition.name.clone()).collect();
        let names = [std::mem::take(&mut self.active), new].concat();
        self.guests = guests;
        self.activate(&names);
    }

    pub(crate) fn new(
        built_in: Registry,
        guests: Vec<GuestTool>,
        active: Vec<String>,
        workspace: Arc<Workspace>,
    ) -> Self {
        let set = Arc::new(ToolSet::select(&active, &built_in, &guests, Arc::clone(&workspace)));
        Self { built_in, guests, active, workspace, set }
    }

    /// Takes effect at the next turn. Names that nobody offers are left out.
    fn activate(&mut self, names: &[String]) {
        let set = ToolSet::select(names, &self.built_in, &self.guests, Arc::clone(&self.workspace));
        self.active = set.tools.iter().map(|tool| tool.offered.definition.name.clone()).collect();
        self.set = Arc::new(set);
    }
}
