//! The handle of a session: everything that can be asked of it.
//!
//! Cheap to clone. The session ends when the last handle is dropped and nothing runs any more, or when somebody closes
//! it. Every function waits only for the mailbox, but for those that say otherwise. What is answered is in [`answer`].

mod answer;

use std::sync::Arc;

use pi_envelope::{Envelope, Strip};
use pi_exthost::{
    GuestId, SessionPort,
    drawings::{KeyFault, Press},
    guest::{Rendering, Suggestion},
    guests::GuestShortcut,
    port::{CommandInfo, ToolInfo},
    questions::{AnswerFault, Attendance, OpenQuestion},
};
use pi_extproto::hook::event::payload::ModelSource;
use pi_transcript::{
    AgentEvent, ContextUsage, EntryId, ModelId, ProviderId, RequestId, SessionStats, ThinkingLevel, drawn::Span,
    event::CompactionResult, message::BashExecutionMessage, question::Answer,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

pub(crate) use self::answer::Typed;
pub use self::answer::{
    BashError, CompactError, Cycled, Direction, Exposure, Journey, NavigateError, PromptError, Prompted, Reloaded,
    SessionGone, State, Summarise, Switch, Went,
};
use crate::{
    complaint::Complaint,
    context::Spoken,
    departure::Departure,
    extensions::{Extension, Steward, SwitchError},
    factory::Port,
    herald::{Reading, Subscription},
    input::{Utterance, Voice},
    listing::{
        ContextSource, ListedTool, Outline, OutputError, Overview, Page, ReadingError, Side, SourceError, Whole,
    },
    mailbox::{Letter, Request, Words},
    models::{Absence, Choice, LackingModel, scope::ScopedModel},
    queue::{Delivery, Edit, EditError, Line, Saying, When},
    resources::{Skill, SourceId},
    sidecar::Listed,
    tree::NoEntry,
};

/// A session.
#[derive(Debug, Clone)]
pub struct Session {
    mailbox: mpsc::Sender<Letter>,
    steward: Arc<dyn Steward>,
    attendance: Attendance,
}

impl Session {
    pub(crate) fn new(mailbox: mpsc::Sender<Letter>, steward: Arc<dyn Steward>, attendance: Attendance) -> Self {
        Self { mailbox, steward, attendance }
    }

    /// For a server, which knows how many clients see the questions of the session: while one does, they do not lapse.
    pub fn attendance(&self) -> Attendance {
        self.attendance.clone()
    }

    /// The same for extensions. It does not keep the session alive.
    pub(crate) fn port(&self) -> Arc<dyn SessionPort> {
        Arc::new(Port(self.mailbox.downgrade()))
    }

    /// Says what somebody typed, and waits until the run that it began, or the command that it called, has ended. The
    /// command of an extension runs at once, whatever else goes on; anything else is refused while a run is in flight.
    /// Extensions hear it first; then templates and skills that it calls are put in. Dropping the future does not end the
    /// run; [`Session::abort`] does.
    pub async fn say(&self, utterance: Utterance) -> Result<Prompted, PromptError> {
        self.speak(typed(utterance), None).await
    }

    /// The same, but it waits for its turn while a run is in flight.
    pub async fn say_during(&self, utterance: Utterance, when: When) -> Result<Prompted, PromptError> {
        self.speak(typed(utterance), Some(when)).await
    }

    /// Says a message as it is: nothing in it is called, but extensions hear it first. Otherwise like [`Session::say`].
    pub async fn prompt(&self, saying: Saying) -> Result<Prompted, PromptError> {
        self.speak(Words::Composed(Box::new(saying)), None).await
    }

    /// The same, but it waits for its turn while a run is in flight.
    pub async fn prompt_during(&self, saying: Saying, when: When) -> Result<Prompted, PromptError> {
        self.speak(Words::Composed(Box::new(saying)), Some(when)).await
    }

    /// Ends the run that is in flight, what is on its way to one, and commands of extensions; returns when the run has
    /// ended.
    pub async fn abort(&self) -> Result<(), SessionGone> {
        self.ask(Request::Abort).await
    }

    /// Ends the waiting for another try; the run then ends with the error.
    pub async fn abort_retry(&self) -> Result<(), SessionGone> {
        self.ask(Request::AbortRetry).await
    }

    /// Ends a compaction that is being made, and nothing else; the run around it goes on.
    pub async fn abort_compaction(&self) -> Result<(), SessionGone> {
        self.ask(Request::AbortCompaction).await
    }

    /// Returns when nothing runs and nothing is on its way to a run.
    pub async fn idle(&self) -> Result<(), SessionGone> {
        self.ask(Request::Idle).await
    }

    /// Returns when all extensions have heard that the session has begun, and it has the skills and templates that they bring.
    /// They may ask a person meanwhile.
    pub async fn begun(&self) -> Result<(), SessionGone> {
        self.ask(Request::Begun).await
    }

    pub async fn state(&self) -> Result<State, SessionGone> {
        self.ask(Request::State).await
    }

    /// What was said on the current branch, as the model is shown it.
    pub async fn messages(&self) -> Result<Vec<Spoken>, SessionGone> {
        self.ask(Request::Messages).await
    }

    /// Some of what was said: at most `most` messages, nearest to that side. Goes on above the summary of a compaction, to what it
    /// stands for, which is read from the file.
    pub async fn messages_page(&self, side: Side, most: usize) -> Result<Page, ReadingError> {
        self.ask(|reply| Request::Page(side, most, reply)).await?
    }

    /// How full the window of the model is.
    pub async fn context_usage(&self) -> Result<ContextUsage, SessionGone> {
        self.ask(Request::ContextUsage).await
    }

    /// What the session holds and has cost, on every branch. Waits until the file is read.
    pub async fn stats(&self) -> Result<SessionStats, ReadingError> {
        self.overview().await.map(|overview| overview.stats)
    }

    /// The same with what the session began with, also where the model is shown a summary of that.
    pub async fn overview(&self) -> Result<Overview, ReadingError> {
        self.ask(Request::Overview).await?
    }

    /// The tree of entries: the newest, `most` of them. Waits until they are read from the file.
    pub async fn outline(&self, most: usize) -> Result<Outline, ReadingError> {
        self.ask(|reply| Request::Outline(most, reply)).await?
    }

    /// Every entry, as it is in memory or in the file: for a session that is written nowhere, or not any more. Waits until
    /// they are read from the file.
    pub async fn whole(&self) -> Result<Whole, ReadingError> {
        self.ask(Request::Whole).await?
    }

    /// All that a command of this session said whose output was too long to be shown, by the name of the file that its message names,
    /// unless it has more bytes than `most`.
    pub async fn whole_output(&self, name: String, most: u64) -> Result<String, OutputError> {
        self.ask(|reply| Request::WholeOutput(name, most, reply)).await.map_err(ReadingError::from)?
    }

    /// Every tool, and whether the model is offered it.
    pub async fn tools(&self) -> Result<Vec<ToolInfo>, SessionGone> {
        self.ask(Request::Tools).await
    }

    /// The same with what each of them takes, which is counted beside the session.
    pub async fn listed_tools(&self) -> Result<Vec<ListedTool>, SessionGone> {
        self.ask(Request::ListedTools).await
    }

    /// Every skill that was found.
    pub async fn skills(&self) -> Result<Vec<Skill>, SessionGone> {
        self.ask(Request::Skills).await
    }

    /// What fills the context beside the conversation. Waits until its tokens are counted.
    pub async fn context_sources(&self) -> Result<Vec<ContextSource>, SessionGone> {
        self.ask(Request::ContextSources).await
    }

    /// Takes effect at the next turn; answers the source as it is then.
    pub async fn set_context_source(&self, id: SourceId, switch: Switch) -> Result<ContextSource, SourceError> {
        self.ask(|reply| Request::SetContextSource(id, switch, reply)).await?
    }

    /// Everything that waits to be said.
    pub async fn queue(&self) -> Result<Line, SessionGone> {
        self.ask(Request::Queue).await
    }

    /// Keeps what `edits` name, in their order, and drops everything else that waits. Refused if what waits is not at this
    /// revision any more.
    pub async fn edit_queue(&self, revision: u64, edits: Vec<Edit>) -> Result<Result<Line, EditError>, SessionGone> {
        self.ask(|reply| Request::EditQueue(revision, edits, reply)).await
    }

    /// Everything that can be called with a `/` in this session: commands of extensions, templates, skills.
    pub async fn commands(&self) -> Result<Vec<CommandInfo>, SessionGone> {
        self.ask(Request::Commands).await
    }

    /// Says what stands in the editor of whoever is here, after they have heard of the last [`SetEditorText`] of that id: extensions
    /// ask for it. Without it they are told that nothing is written.
    ///
    /// [`SetEditorText`]: pi_transcript::question::Announcement::SetEditorText
    pub async fn note_editor(&self, text: String, after: Option<RequestId>) -> Result<(), SessionGone> {
        self.ask(|reply| Request::NoteEditor(text, after, reply)).await
    }

    /// Every key that extensions registered; whoever reads keys says which of them it gives away.
    pub async fn shortcuts(&self) -> Result<Vec<GuestShortcut>, SessionGone> {
        self.ask(Request::Shortcuts).await
    }

    /// What could stand in the place of what is typed behind a command of an extension, as it proposes; nothing where nobody
    /// proposes anything, or not soon. Dropping the future leaves the extension to itself.
    pub async fn complete_argument(&self, command: String, prefix: String) -> Result<Vec<Suggestion>, SessionGone> {
        self.ask(|reply| Request::CompleteArgument { command, prefix, reply }).await
    }

    /// Does what an extension wants done at a key, and waits for its end; answers whether the key is anybody's. What goes wrong
    /// is told by events, and [`Session::abort`] ends it. Dropping the future only ends the waiting.
    pub async fn press_shortcut(&self, key: String) -> Result<bool, SessionGone> {
        self.ask(|reply| Request::PressShortcut(key, reply)).await
    }

    /// The extensions of the session, those that do not run as well, and what they have done. Waits for them, a bounded time.
    pub async fn extensions(&self) -> Vec<Extension> {
        self.steward.list().await
    }

    /// Switches an extension on or off, until the session ends. Waits until it has started or ended; see [`Steward::switch`].
    pub async fn switch_extension(&self, id: &str, switch: Switch) -> Result<Extension, SwitchError> {
        self.steward.switch(id, switch).await
    }

    /// Starts an extension anew, or all of them, from what is on the disk; see [`Steward::reload`].
    pub async fn reload_extensions(&self, id: Option<&str>) -> Result<Vec<Extension>, SwitchError> {
        self.steward.reload(id).await
    }

    /// Every model that one can talk to and that can be asked, those of extensions first.
    pub async fn models(&self) -> Result<Vec<Arc<Choice>>, SessionGone> {
        self.ask(Request::Models).await
    }

    /// The models that are gone through by whoever goes from one to the next, in their order; none where that is all of them.
    pub async fn scoped_models(&self) -> Result<Vec<ScopedModel>, SessionGone> {
        self.ask(Request::ScopedModels).await
    }

    /// Every model that one could talk to if its provider had a credential.
    pub async fn lacking_models(&self) -> Result<Vec<LackingModel>, SessionGone> {
        self.ask(Request::LackingModels).await
    }

    /// Why a model is none of those that can be asked.
    pub async fn absence(&self, provider: ProviderId, model: ModelId) -> Result<Absence, SessionGone> {
        self.ask(|reply| Request::Absence(provider, model, reply)).await
    }

    /// What is wrong with what extensions offer.
    pub async fn complaints(&self) -> Result<Vec<Complaint>, SessionGone> {
        self.ask(Request::Complaints).await
    }

    /// Takes effect at the next turn.
    pub async fn set_model(&self, choice: Arc<Choice>) -> Result<(), SessionGone> {
        let answered = self.ask(|reply| Request::SetModel(choice, ModelSource::Set, reply)).await;
        self.written(answered).await
    }

    /// The same for somebody who goes through a list of models: extensions hear the difference.
    pub async fn cycle_to(&self, choice: Arc<Choice>) -> Result<(), SessionGone> {
        let answered = self.ask(|reply| Request::SetModel(choice, ModelSource::Cycle, reply)).await;
        self.written(answered).await
    }

    /// Goes on to the next one of [`Session::scoped_models`], or of [`Session::models`] where that is all of them; answers
    /// which, or `None` if there is no other.
    pub async fn cycle_model(&self, direction: Direction) -> Result<Option<Cycled>, SessionGone> {
        let answered = self.ask(|reply| Request::CycleModel(direction, reply)).await;
        self.written(answered).await
    }

    /// Goes on to the next level; answers which, or `None` if the model cannot think.
    pub async fn cycle_thinking_level(&self) -> Result<Option<ThinkingLevel>, SessionGone> {
        let answered = self.ask(Request::CycleThinkingLevel).await;
        self.written(answered).await
    }

    /// Takes effect at the next turn; answers the level that it became.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<ThinkingLevel, SessionGone> {
        let answered = self.ask(|reply| Request::SetThinkingLevel(level, reply)).await;
        self.written(answered).await
    }

    /// Takes effect at the next turn. Names that nobody offers are left out.
    pub async fn set_active_tools(&self, names: Vec<String>) -> Result<(), SessionGone> {
        self.ask(|reply| Request::SetActiveTools(names, reply)).await
    }

    pub async fn set_delivery(&self, when: When, delivery: Delivery) -> Result<(), SessionGone> {
        self.ask(|reply| Request::SetDelivery(when, delivery, reply)).await
    }

    /// Empties both queues and hands back what was in them.
    pub async fn clear_queue(&self) -> Result<Vec<Saying>, SessionGone> {
        self.ask(Request::ClearQueue).await
    }

    /// The same, and stops what was said before and is still on its way to a queue or a run: it is handed back as well,
    /// behind the others. Waits until all of that has arrived, so that what was said first is never what comes later.
    pub async fn take_back(&self) -> Result<Vec<Saying>, SessionGone> {
        self.ask(Request::TakeBack).await
    }

    /// Hands back what waits though nothing runs: it was queued for a run that failed or was stopped. While something runs,
    /// or is on its way to a run, nothing is stranded.
    pub async fn take_stranded(&self) -> Result<Vec<Saying>, SessionGone> {
        self.ask(Request::TakeStranded).await
    }

    pub async fn rename(&self, name: String) -> Result<(), SessionGone> {
        let answered = self.ask(|reply| Request::Rename(name, reply)).await;
        self.written(answered).await
    }

    /// What the model was shown in the last turn of the conversation.
    pub async fn last_envelope(&self) -> Result<Option<Arc<Envelope>>, SessionGone> {
        self.ask(|reply| Request::Envelope(None, reply)).await
    }

    pub async fn envelope(&self, request: RequestId) -> Result<Option<Arc<Envelope>>, SessionGone> {
        self.ask(|reply| Request::Envelope(Some(request), reply)).await
    }

    /// What a bar of a request needs; `before` is the request whose prompt the cache may hold. One that is not kept any more
    /// tells nothing about the cache.
    pub async fn strip(&self, request: RequestId, before: Option<RequestId>) -> Result<Option<Strip>, SessionGone> {
        let Some(envelope) = self.envelope(request).await? else { return Ok(None) };
        let before = match before {
            Some(before) => self.envelope(before).await?,
            None => None,
        };
        let reckoned = tokio::task::spawn_blocking(move || match before {
            Some(before) => pi_envelope::strip_after(&before, &envelope),
            None => pi_envelope::strip(&envelope),
        });
        // It is pure and does not panic; a runtime that ends takes the session with it.
        reckoned.await.map(Some).map_err(|_| SessionGone)
    }

    /// Every request to a model of which the envelope is kept, the oldest first.
    pub async fn requests(&self) -> Result<Vec<Listed>, SessionGone> {
        self.ask(Request::Requests).await
    }

    /// Puts a summary in the place of the older part of the conversation, and waits for it. Refused while a run is in
    /// flight; [`Session::abort`] ends it.
    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, CompactError> {
        self.ask(|reply| Request::Compact(instructions, reply)).await?
    }

    pub async fn set_auto_compaction(&self, switch: Switch) -> Result<(), SessionGone> {
        self.ask(|reply| Request::SetAutoCompaction(switch, reply)).await
    }

    pub async fn set_auto_retry(&self, switch: Switch) -> Result<(), SessionGone> {
        self.ask(|reply| Request::SetAutoRetry(switch, reply)).await
    }

    /// Runs a shell command for a person and waits for its end; the conversation remembers it. It may run beside a run.
    pub async fn bash(&self, command: String, exposure: Exposure) -> Result<BashExecutionMessage, BashError> {
        self.bash_written_by(Vec::new(), command, exposure).await
    }

    /// The same of a command in which these extensions wrote before the person sent it: it is refused unless each of them may
    /// run it by itself.
    pub async fn bash_written_by(
        &self,
        written_by: Vec<GuestId>,
        command: String,
        exposure: Exposure,
    ) -> Result<BashExecutionMessage, BashError> {
        let typed = Typed { command, exposure, written_by, name: None, late: CancellationToken::new() };
        self.ask(|reply| Request::Bash(typed, reply)).await?
    }

    /// The same under a name, by which events of its output say to what they belong, and until `late` is cancelled: then it is
    /// ended, and the conversation does not remember it.
    pub async fn bash_until(
        &self,
        late: CancellationToken,
        name: Option<String>,
        written_by: Vec<GuestId>,
        command: String,
        exposure: Exposure,
    ) -> Result<BashExecutionMessage, BashError> {
        let typed = Typed { command, exposure, written_by, name, late };
        self.ask(|reply| Request::Bash(typed, reply)).await?
    }

    /// Ends the commands that people run; those of the model end with [`Session::abort`].
    pub async fn abort_bash(&self) -> Result<(), SessionGone> {
        self.ask(Request::AbortBash).await
    }

    /// Goes to another entry: what is said next is its child. Waits for the summary, if there is to be one.
    pub async fn navigate(&self, journey: Journey) -> Result<Went, NavigateError> {
        self.ask(|reply| Request::Navigate(Box::new(journey), reply)).await?
    }

    /// Answers a question that is open.
    pub async fn answer(&self, question: RequestId, answer: Answer) -> Result<Result<(), AnswerFault>, SessionGone> {
        self.ask(|reply| Request::Answer(question, Box::new(answer), reply)).await
    }

    /// The questions that wait for a person, the oldest first: for a client that comes back.
    pub async fn open_questions(&self) -> Result<Vec<OpenQuestion>, SessionGone> {
        self.ask(Request::OpenQuestions).await
    }

    /// Gives a component of an extension a key, or tells it how much room there is.
    pub async fn press(&self, component: RequestId, press: Press) -> Result<Result<(), KeyFault>, SessionGone> {
        self.ask(|reply| Request::Press(component, press, reply)).await
    }

    /// The newest frame of every component that an extension draws, as events: for a client that comes back.
    pub async fn open_drawings(&self) -> Result<Vec<AgentEvent>, SessionGone> {
        self.ask(Request::OpenDrawings).await
    }

    /// What a message of an extension looks like, or a call or result of its tool; nothing if no extension draws it, or if it
    /// fails at it. Dropping the future leaves the extension to itself.
    pub async fn draw(&self, rendering: Rendering) -> Result<Option<Vec<Vec<Span>>>, SessionGone> {
        self.ask(|reply| Request::Draw(Box::new(rendering), reply)).await
    }

    /// The tools whose calls and results extensions draw, by name.
    pub async fn drawn_tools(&self) -> Result<Vec<String>, SessionGone> {
        self.ask(Request::DrawnTools).await
    }

    /// Bookmarks an entry; nothing removes the bookmark.
    pub async fn label(&self, entry: EntryId, label: Option<String>) -> Result<Result<(), NoEntry>, SessionGone> {
        let answered = self.ask(|reply| Request::Label(entry, label, reply)).await;
        self.written(answered).await
    }

    /// How long the file is when everything so far is written; `None` if the conversation is kept nowhere.
    pub async fn file_length(&self) -> Result<Option<u64>, SessionGone> {
        self.ask(Request::FileLength).await
    }

    /// Returns when everything that was said is on the disk, or cannot get there.
    pub async fn flush(&self) -> Result<(), SessionGone> {
        self.ask(Request::Flush).await
    }

    /// How the session stands, and everything that happens from then on. Whoever reads slowly gets the pieces of a text in
    /// fewer, longer ones; whoever hardly reads at all is told so, and the run goes on.
    pub async fn subscribe(&self) -> Result<(State, Subscription), SessionGone> {
        self.ask(|reply| Request::Subscribe(Reading::Joined, reply)).await
    }

    /// For a reader that has missed events ([`Silence::Lagged`](crate::Silence::Lagged)): how the session stands with everything
    /// that was said, and what happens from exactly then on. A message that is just being written is not among them; its
    /// next event may be a piece from its middle, and its end has all of it.
    pub async fn reload(&self) -> Result<Reloaded, SessionGone> {
        self.ask(Request::Reload).await
    }

    /// As [`Session::subscribe`] with every event as it happened: a run waits for whoever does not read. For a record that somebody wants
    /// complete and reads to its end.
    pub async fn subscribe_in_full(&self) -> Result<(State, Subscription), SessionGone> {
        self.ask(|reply| Request::Subscribe(Reading::InFull, reply)).await
    }

    /// Asks extensions whether they object to this. Whoever leaves a session for another asks before it does.
    pub async fn may_leave(&self, departure: Departure) -> Result<bool, SessionGone> {
        self.ask(|reply| Request::MayLeave(departure, reply)).await
    }

    /// Ends what runs, writes what is to be written, and ends the session, because the program ends. Answers what was
    /// waiting to be said and is not: the model will never hear it.
    pub async fn close(&self) -> Result<Vec<Saying>, SessionGone> {
        self.close_for(Departure::Quit).await
    }

    /// The same, because it is left for something else.
    pub async fn close_for(&self, departure: Departure) -> Result<Vec<Saying>, SessionGone> {
        self.ask(|reply| Request::Close(departure, reply)).await
    }

    /// What was changed is in the file when it is answered: whoever commanded it finds it there after a crash.
    async fn written<T>(&self, answered: Result<T, SessionGone>) -> Result<T, SessionGone> {
        if answered.is_ok() {
            // A session that ends meanwhile writes everything before it is gone.
            let _ = self.ask(Request::Written).await;
        }
        answered
    }

    async fn speak(&self, words: Words, during: Option<When>) -> Result<Prompted, PromptError> {
        let answer = self.ask(|reply| Request::Prompt { words: Box::new(words), during, reply }).await;
        answer.map_err(PromptError::Gone).flatten()
    }

    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, SessionGone> {
        let (reply, answer) = oneshot::channel();
        self.mailbox.send(Letter::Client(Box::new(make(reply)))).await.map_err(|_| SessionGone)?;
        answer.await.map_err(|_| SessionGone)
    }
}

fn typed(utterance: Utterance) -> Words {
    Words::Typed { utterance: Box::new(utterance), voice: Voice::Person }
}
