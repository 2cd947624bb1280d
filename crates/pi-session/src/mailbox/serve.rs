//! What whoever holds the session asks of it.

use std::{sync::Arc, time::Duration};

use pi_exthost::guest::Suggestion;
use pi_extproto::hook::event::payload::ModelSource;

use super::{Mailbox, Request, answer, intake::Arrival, job::Running};
use crate::{
    context,
    herald::{self, Outgoing, Reading, Subscription},
    queue::{Edit, EditError, Line, Saying},
    session::{Reloaded, State, Switch},
};

/// So long somebody who types an argument may wait for what an extension proposes.
const PROPOSED_WITHIN: Duration = Duration::from_secs(3);

impl Mailbox {
    pub(super) fn serve(&mut self, request: Request) {
        match request {
            Request::Prompt { words, during, reply } => self.take_in(*words, Arrival::Client { during, reply }),
            Request::Abort(reply) => self.abort(reply),
            Request::AbortRetry(reply) => self.tell_run(Running::give_up, reply),
            Request::AbortCompaction(reply) => self.tell_run(Running::leave_whole, reply),
            Request::Idle(reply) => self.wait_until_idle(reply),
            Request::State(reply) => answer(reply, self.state()),
            Request::Messages(reply) => answer(reply, context::build(&self.tree.entries()).messages),
            Request::Page(side, most, reply) => self.page(&side, most, reply),
            Request::ContextUsage(reply) => answer(reply, self.context_usage()),
            Request::Overview(reply) => self.overview(reply),
            Request::Outline(most, reply) => self.outline(most, reply),
            Request::Whole(reply) => self.whole(reply),
            Request::WholeOutput(name, most, reply) => self.whole_output(name, most, reply),
            Request::Tools(reply) => answer(reply, self.tool_infos()),
            Request::ListedTools(reply) => self.list_tools(reply),
            Request::Skills(reply) => answer(reply, self.composer.resources.skills.clone()),
            Request::Composer(reply) => answer(reply, Arc::clone(&self.composer)),
            Request::Begun(reply) => self.wait_until_begun(reply),
            Request::ContextSources(reply) => self.list_sources(reply),
            Request::SetContextSource(id, switch, reply) => self.set_source(id, switch, reply),
            Request::Queue(reply) => answer(reply, self.queues.line()),
            Request::EditQueue(revision, edits, reply) => self.edit_queue(revision, &edits, reply),
            Request::Commands(reply) => answer(reply, self.command_infos()),
            Request::Models(reply) => answer(reply, self.usable_models()),
            Request::ScopedModels(reply) => answer(reply, self.scoped_models()),
            Request::NoteEditor(text, after, reply) => {
                self.editor.note(text, after.as_ref());
                answer(reply, ());
            }
            Request::Shortcuts(reply) => answer(reply, self.parts.guests.shortcuts()),
            Request::PressShortcut(key, reply) => self.press_shortcut(key, reply),
            Request::CompleteArgument { command, prefix, reply } => self.complete_argument(&command, prefix, reply),
            Request::LackingModels(reply) => answer(reply, self.lacking_models()),
            Request::Absence(provider, model, reply) => answer(reply, self.absence(&provider, &model)),
            Request::Complaints(reply) => answer(reply, self.complaints()),
            Request::SetModel(choice, source, reply) => {
                match source {
                    ModelSource::Cycle => self.cycle_to(choice),
                    ModelSource::Set | ModelSource::Restore => self.set_model(choice, source),
                }
                answer(reply, ());
            }
            Request::CycleModel(direction, reply) => answer(reply, self.cycle_model(direction)),
            Request::CycleThinkingLevel(reply) => answer(reply, self.cycle_thinking_level()),
            Request::SetThinkingLevel(level, reply) => answer(reply, self.set_thinking_level(level)),
            Request::SetActiveTools(names, reply) => {
                self.choose_tools(&names);
                answer(reply, ());
            }
            Request::SetDelivery(when, delivery, reply) => {
                self.queues.set_delivery(when, delivery);
                answer(reply, ());
            }
            Request::ClearQueue(reply) => answer(reply, self.clear_queue()),
            Request::TakeBack(reply) => self.take_back(reply),
            Request::TakeStranded(reply) => answer(reply, self.take_stranded()),
            Request::Rename(name, reply) => {
                self.rename(name);
                answer(reply, ());
            }
            Request::Envelope(id, reply) => self.parts.archive.get(id.map(|id| id.0), reply),
            Request::Requests(reply) => self.parts.archive.list(reply),
            Request::Bash(typed, reply) => self.bash(typed, reply),
            Request::AbortBash(reply) => {
                std::mem::take(&mut self.errands).cancel();
                answer(reply, ());
            }
            Request::Navigate(journey, reply) => self.navigate(*journey, reply),
            Request::Answer(id, said, reply) => answer(reply, self.parts.questions.answer(&id, *said)),
            Request::OpenQuestions(reply) => answer(reply, self.parts.questions.list_open()),
            Request::Press(id, press, reply) => answer(reply, self.parts.drawings.press(&id, &press)),
            Request::OpenDrawings(reply) => answer(reply, self.parts.drawings.list_open()),
            Request::Draw(rendering, reply) => self.draw_for_people(*rendering, reply),
            Request::DrawnTools(reply) => answer(reply, self.drawn_tools()),
            Request::Compact(instructions, reply) => self.compact(instructions, reply),
            Request::SetAutoCompaction(switch, reply) => {
                self.compaction.enabled = switch == Switch::On;
                answer(reply, ());
            }
            Request::SetAutoRetry(switch, reply) => {
                self.retry.enabled = switch == Switch::On;
                answer(reply, ());
            }
            Request::Label(target, label, reply) => answer(reply, self.label(target, label)),
            Request::FileLength(reply) => answer(reply, self.tree.destination().end()),
            Request::Flush(reply) => self.scribe.sync(Outgoing::Written(reply)),
            Request::Written(reply) => self.scribe.record(Vec::new(), Outgoing::Written(reply)),
            Request::Subscribe(reading, reply) => {
                let subscription = self.subscribe(reading);
                answer(reply, (self.state(), subscription));
            }
            Request::Reload(reply) => answer(reply, self.told_anew()),
            Request::MayLeave(departure, mut reply) => {
                let permission = self.permission(&departure);
                self.asides.spawn(async move {
                    tokio::select! {
                        may = permission => answer(reply, may),
                        // Whoever asked stays where he is, and nobody needs to say whether he may go.
                        () = reply.closed() => {}
                    }
                });
            }
            Request::Close(departure, reply) => {
                // The first who closes it says why.
                self.departure.get_or_insert(departure);
                self.closed.push(reply);
            }
        }
    }

    /// Tells something to the run in flight, if there is one.
    fn tell_run(&self, tell: impl FnOnce(&Running), reply: tokio::sync::oneshot::Sender<()>) {
        if let Some(running) = &self.running {
            tell(running);
        }
        answer(reply, ());
    }

    /// Events from here on.
    fn subscribe(&mut self, reading: Reading) -> Subscription {
        self.editor.begin_anew();
        let (subscriber, subscription) = herald::subscription(reading, &self.parts.brake);
        self.scribe.record(Vec::new(), Outgoing::Subscribe(subscriber));
        subscription
    }

    /// Everything for somebody who has missed something, and events from here on.
    fn told_anew(&mut self) -> Reloaded {
        let events = self.subscribe(Reading::Joined);
        let messages = context::build(&self.tree.entries()).messages;
        let questions = self.parts.questions.list_open();
        let drawings = self.parts.drawings.list_open();
        Reloaded { state: self.state(), messages, questions, drawings, events }
    }

    /// Does what an extension wants done at a key, beside whatever else goes on; it is stopped as commands are.
    fn press_shortcut(&mut self, key: String, reply: tokio::sync::oneshot::Sender<bool>) {
        let (begun, cancel) = (self.hearing.begun(), self.commands.child_token());
        let guests = Arc::clone(&self.parts.guests);
        self.asides.spawn(async move {
            begun.await;
            answer(reply, guests.press_shortcut(&key, &cancel).await);
        });
    }

    /// Asks the extension whose command it is, beside whatever else goes on; somebody is typing, so not for long.
    fn complete_argument(
        &mut self,
        command: &str,
        prefix: String,
        reply: tokio::sync::oneshot::Sender<Vec<Suggestion>>,
    ) {
        let Some(command) = self.parts.guests.command(command) else { return answer(reply, Vec::new()) };
        let (begun, cancel) = (self.hearing.begun(), self.life.child_token());
        self.asides.spawn(async move {
            // An extension that is not waited for any more is to stop as well.
            let _late = cancel.clone().drop_guard();
            let completed = async {
                begun.await;
                command.complete(prefix, &cancel).await
            };
            answer(reply, tokio::time::timeout(PROPOSED_WITHIN, completed).await.unwrap_or_default());
        });
    }

    /// Answers when all extensions have heard that the session has begun, and it has what they bring.
    fn wait_until_begun(&mut self, reply: tokio::sync::oneshot::Sender<()>) {
        let begun = self.hearing.begun();
        self.asides.spawn(async move {
            begun.await;
            answer(reply, ());
        });
    }

    /// Nothing waits any more; what did is the answer.
    fn clear_queue(&mut self) -> Vec<Saying> {
        let cleared = self.queues.clear();
        self.tell_queues();
        self.keep_queues_aside();
        cleared
    }

    /// Changes what waits; whoever listens is told what waits now.
    fn edit_queue(
        &mut self,
        revision: u64,
        edits: &[Edit],
        reply: tokio::sync::oneshot::Sender<Result<Line, EditError>>,
    ) {
        if let Err(error) = self.queues.edit(revision, edits) {
            return answer(reply, Err(error));
        }
        self.tell_queues();
        let line = self.queues.line();
        let Some(kept) = self.keep_queues() else { return answer(reply, Ok(line)) };
        self.asides.spawn(async move {
            let kept = kept.await.map_err(|error| EditError::Unwritten { reason: error.to_string() });
            answer(reply, kept.map(|_| line));
        });
    }

    fn take_stranded(&mut self) -> Vec<Saying> {
        if self.running.is_some() || !self.intake.is_empty() || self.queues.is_empty() {
            return Vec::new();
        }
        let stranded = self.queues.clear();
        self.tell_queues();
        self.keep_queues_aside();
        stranded
    }

    /// Stops the run, what is on its way to one, and the commands of extensions; what they drew and had the keys is gone.
    fn abort(&mut self, reply: tokio::sync::oneshot::Sender<()>) {
        self.intake.abort();
        self.parts.drawings.cancel_keyed();
        let next = self.life.child_token();
        std::mem::replace(&mut self.commands, next).cancel();
        let Some(running) = &mut self.running else { return answer(reply, ()) };
        running.cancel();
        let ended = running.ended();
        self.asides.spawn(async move {
            // However it ended, nothing runs now.
            let _ = ended.await;
            answer(reply, ());
        });
    }

    pub(super) fn state(&self) -> State {
        State {
            session: self.parts.session.clone(),
            name: self.tree.name().map(str::to_owned),
            leaf: self.tree.leaf().map(|leaf| self.tree.id(leaf)),
            model: self.choice.shared_model(),
            thinking: self.choice.clamp(self.thinking),
            // Whoever heard of the end and looks must not find a run.
            is_running: self.running.as_ref().is_some_and(|running| !running.has_told_end()),
            waiting: self.queues.waiting(),
            active_tools: self.tools.set.names(),
            entries: self.tree.len(),
            is_failing: self.scribe.is_failing(),
        }
    }
}
