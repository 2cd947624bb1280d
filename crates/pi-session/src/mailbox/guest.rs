//! What extensions ask of their conversation.
//!
//! What can be answered from what is in the mailbox's hands is answered at once; what takes time goes on beside it and
//! stops when nobody waits for the answer any more.

mod read;

use std::{collections::BTreeMap, sync::Arc};

use pi_exthost::{
    GuestId,
    content::from_protocol,
    drawings::styled::styled,
    guest::{Rendering, Subject},
    port::{Canvas, Completion, Drawing, Expansion, Frame, Notice, Refusal, Reply, Request, Settled},
};
use pi_extproto::{
    connector::{session::Delivery, tool::ContentBlock},
    hook::event::{
        Event,
        payload::{BusEvent, ModelSource},
    },
};
use pi_transcript::{
    AgentEvent, Block, EntryId, Message, ModelId, ProviderId,
    drawn::Span,
    event::CompactionResult,
    message::AssistantMessage,
    question::{Announcement, Approval, Asked, NotifyType},
};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    Mailbox, answer,
    intake::{Arrival, Words},
};
use crate::{
    draft::{self, Draft},
    input::{Utterance, Voice},
    offer,
    queue::{Saying, When},
    run::aside,
    session::CompactError,
};

/// Odd tools of one extension that are told one by one.
const TOLD: usize = 5;

/// Whether a message of an extension begins a run where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    Run,
    Nothing,
}

/// At which queue a message waits; at none if it rides along with the next prompt.
pub(super) fn when(delivery: Delivery) -> Option<When> {
    match delivery {
        Delivery::Steer => Some(When::Steer),
        Delivery::FollowUp => Some(When::FollowUp),
        Delivery::NextTurn => None,
    }
}

impl Mailbox {
    pub(super) fn serve_guest(&mut self, from: GuestId, request: Request) {
        match request {
            Request::State(reply) => answer(reply, Ok(self.session_state())),
            Request::SystemPrompt(reply) => {
                answer(reply, Ok(self.system.iter().map(pi_envelope::SystemPart::sent).collect()));
            }
            Request::Header(reply) => answer(reply, Ok(self.header.clone())),
            Request::Entries(selection, reply) => self.read_entries(selection, reply),
            Request::Entry(id, reply) => self.read_entry(&id, reply),
            Request::Label(id, reply) => answer(reply, Ok(self.tree.label_of(&id).map(str::to_owned))),
            Request::Tools(reply) => answer(reply, Ok(self.tool_infos())),
            Request::Commands(reply) => answer(reply, Ok(self.command_infos())),
            Request::Models(reply) => answer(reply, Ok(self.model_infos())),
            Request::ScopedModels(reply) => answer(reply, Ok(self.scoped_infos())),
            Request::EditorText(reply) => answer(reply, Ok(self.editor.text())),
            Request::AppendEntry { custom_type, data, reply } => answer(reply, self.append_custom(custom_type, data)),
            Request::SendMessage { message, delivery, trigger_turn, reply } => {
                let message = draft::custom(&from, message, (self.parts.now)().unix_millis());
                let trigger = if trigger_turn { Trigger::Run } else { Trigger::Nothing };
                self.deliver(Saying::new(message), delivery, trigger);
                answer(reply, Ok(()));
            }
            Request::SendUserMessage { content, delivery, expansion, reply } => {
                answer(reply, self.say_for(from, content, delivery, expansion));
            }
            Request::SetName(name, reply) => {
                self.rename(name);
                answer(reply, Ok(()));
            }
            Request::SetLabel(id, label, reply) => answer(reply, self.label_for(&id, label)),
            Request::SetActiveTools(names, reply) => {
                self.tools.activate(&names);
                self.renew_system();
                answer(reply, Ok(()));
            }
            Request::SetModel(provider, model, reply) => answer(reply, Ok(self.set_model_by_name(&provider, &model))),
            Request::SetThinkingLevel(level, reply) => answer(reply, Ok(self.set_thinking_level(level))),
            Request::Abort(reply) => {
                if let Some(running) = &self.running {
                    running.cancel();
                }
                answer(reply, Ok(()));
            }
            Request::Compact { instructions, reply } => self.compact_for(instructions, reply),
            Request::Complete(completion, reply) => self.complete(from, *completion, reply),
            Request::Ask(asked, reply) => self.ask(from, asked, reply),
            Request::AskApproval(approval, asked, reply) => self.ask_approval(approval, asked, reply),
            Request::Announce(announcement, reply) => {
                self.announce(&from, announcement);
                answer(reply, Ok(()));
            }
            Request::Tell(notice, reply) => {
                self.parts.questions.tell(notice);
                answer(reply, Ok(()));
            }
            Request::Draw(drawing, reply) => self.draw(&from, &drawing, reply),
            Request::Emit { channel, data, reply } => self.emit(channel, data, reply),
            Request::RegistrationChanged(reply) => {
                self.take_offers();
                answer(reply, Ok(()));
            }
            Request::Left(reply) => {
                for removal in self.traces.of(&from) {
                    self.parts.questions.announce(&from, removal);
                }
                answer(reply, Ok(()));
            }
            Request::Quit(reply) => self.quit(from, reply),
            Request::Control(control, pass, reply) => self.control(from, control, pass, reply),
        }
    }

    /// Shows what an extension tells, and keeps what others may ask for.
    fn announce(&mut self, from: &GuestId, mut announcement: Announcement) {
        self.traces.note(from, &announcement);
        if let Announcement::SetEditorText { text, inserted: Some(inserted) } = &mut announcement {
            // For whoever does not know where its cursor is: behind what is written.
            *text = self.editor.text().unwrap_or_default() + inserted;
        }
        let written = match &announcement {
            Announcement::SetEditorText { text, inserted: _ } => Some(text.clone()),
            Announcement::Notify { .. }
            | Announcement::SetStatus { .. }
            | Announcement::SetWidget { .. }
            | Announcement::SetTitle { .. }
            | Announcement::SetWorkingMessage { .. } => None,
        };
        let told = self.parts.questions.announce(from, announcement);
        if let (Some(text), Some(id)) = (written, told) {
            self.editor.change(text, id);
        }
    }

    /// Does something for an extension beside the mailbox, until it is done, nobody waits for it, or the session ends.
    pub(super) fn spawn_for<T: Send + 'static>(
        &mut self,
        mut reply: Reply<T>,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) {
        let life = self.life.clone();
        self.asides.spawn(async move {
            tokio::select! {
                biased;
                done = work => answer(reply, done),
                // Dropping the work withdraws what it asked for.
                () = reply.closed() => {}
                () = life.cancelled() => answer(reply, Err(Refusal::Gone)),
            }
        });
    }

    /// Has the extension draw a message or an entry whose type it registered for, or a call or result of its tool.
    pub(super) fn draw_for_people(&mut self, rendering: Rendering, reply: oneshot::Sender<Option<Vec<Vec<Span>>>>) {
        let (guests, life) = (Arc::clone(&self.parts.guests), self.life.clone());
        let tool = match &rendering.subject {
            Subject::Message(_) | Subject::Entry(_) => None,
            Subject::ToolCall(call) | Subject::ToolResult { call, .. } => {
                self.tools.guests.iter().find(|tool| tool.offer.definition.name == call.name).cloned()
            }
        };
        self.asides.spawn(async move {
            let lines = match &rendering.subject {
                Subject::Message(message) => match &**message {
                    Message::Custom(custom) => {
                        let kind = custom.custom_type.clone();
                        guests.render_message(&kind, rendering, &life).await
                    }
                    _ => None,
                },
                Subject::Entry(entry) => {
                    let kind = entry.custom_type.clone();
                    guests.render_entry(&kind, rendering, &life).await
                }
                Subject::ToolCall(_) | Subject::ToolResult { .. } => match tool {
                    Some(tool) => tool.render(rendering, &life).await,
                    None => None,
                },
            };
            answer(reply, lines.map(|lines| styled(&Frame { lines })));
        });
    }

    /// The tools whose calls and results are drawn by their extensions.
    pub(super) fn drawn_tools(&self) -> Vec<String> {
        let drawn = self.tools.guests.iter().filter(|tool| tool.offer.renders);
        drawn.map(|tool| tool.offer.definition.name.clone()).collect()
    }

    /// Takes over what extensions offer now.
    pub(super) fn take_offers(&mut self) {
        self.tools.refresh(self.parts.guests.tools());
        self.hearing.compare_servers();
        self.tell_oddities();
        self.renew_system();
        self.refresh_models();
        for (from, removal) in self.traces.of_those_gone(&self.parts.guests.registrations()) {
            self.parts.questions.announce(&from, removal);
        }
        self.tell_offers();
    }

    /// Clients read the lists of commands and models anew.
    pub(super) fn tell_offers(&mut self) {
        self.tell(vec![AgentEvent::OffersChanged]);
    }

    /// Says what is odd about what came while the session runs, in one notice for each extension.
    fn tell_oddities(&self) {
        let mut odd = BTreeMap::<GuestId, Vec<String>>::new();
        for one in self.parts.guests.new_oddities(|name| self.tools.built_in.get(name).is_some()) {
            odd.entry(one.guest().clone()).or_default().push(one.to_string());
        }
        for (guest, told) in odd {
            let more = told.len().saturating_sub(TOLD);
            let mut lines: Vec<String> = told.into_iter().take(TOLD).collect();
            if more > 0 {
                lines.push(format!("and {more} more"));
            }
            let (message, about) = (lines.join("\n"), Some(guest));
            self.parts.questions.tell(Notice { message, notify_type: NotifyType::Warning, about });
        }
    }

    fn append_custom(&mut self, custom_type: String, data: Option<Value>) -> Result<EntryId, Refusal> {
        if custom_type == offer::TYPE {
            return Err(Refusal::Invalid { message: draft::reserved(&custom_type) });
        }
        let ids = self.append(Vec::new(), vec![Draft::Custom { custom_type, data }], Vec::new());
        ids.into_iter().next().ok_or(Refusal::Gone)
    }

    fn label_for(&mut self, id: &EntryId, label: Option<String>) -> Result<(), Refusal> {
        self.label(id.clone(), label).map_err(|_| Refusal::NotFound { what: format!("entry {id}") })
    }

    fn set_model_by_name(&mut self, provider: &ProviderId, model: &ModelId) -> bool {
        let choice = self.model_named(provider, model).ok().filter(|choice| self.is_usable(choice));
        choice.map(|choice| self.set_model(choice, ModelSource::Set)).is_some()
    }

    /// Speaks in the user's place, like the user: input hooks hear it, and it may call commands and templates if it is to.
    fn say_for(
        &mut self,
        from: GuestId,
        content: Vec<ContentBlock>,
        delivery: Delivery,
        expansion: Expansion,
    ) -> Result<(), Refusal> {
        if self.is_closing {
            return Err(Refusal::Gone);
        }
        let blocks = from_protocol(content);
        let words = match expansion {
            Expansion::Verbatim => {
                Words::Composed(Box::new(Saying::quoted(&from, blocks, (self.parts.now)().unix_millis())))
            }
            Expansion::Templates => {
                Words::Typed { utterance: Box::new(utterance(blocks)), voice: Voice::Extension(from.clone()) }
            }
        };
        self.take_in(words, Arrival::Guest { from, delivery });
        Ok(())
    }

    /// Says something of an extension when it is due.
    pub(super) fn deliver(&mut self, saying: Saying, delivery: Delivery, trigger: Trigger) {
        match (&self.running, when(delivery), trigger) {
            (Some(_), Some(when), _) => {
                self.queues.push(when, saying);
                self.tell_queues();
                self.keep_queues_aside();
            }
            (_, None, _) => self.riding.push(saying),
            (None, Some(_), Trigger::Run) => self.start_run(vec![saying], None),
            (None, Some(_), Trigger::Nothing) => {
                let Saying { message, spans: _, typed: _ } = saying;
                let start = vec![AgentEvent::MessageStart { message: message.clone() }];
                let end = vec![AgentEvent::MessageEnd { message: message.clone() }];
                self.append(start, vec![Draft::of_message(message, Vec::new())], end);
            }
        }
    }

    fn compact_for(&mut self, instructions: Option<String>, reply: Reply<CompactionResult>) {
        let (compacted, result) = oneshot::channel();
        self.compact(instructions, compacted);
        self.spawn_for(reply, async move {
            let result = result.await.unwrap_or(Err(CompactError::Aborted));
            result.map_err(Refusal::from)
        });
    }

    /// A model call of an extension's own.
    fn complete(&mut self, from: GuestId, completion: Completion, reply: Reply<Box<AssistantMessage>>) {
        let choice = match &completion.model {
            None => Ok(Arc::clone(&self.choice)),
            Some(name) => self.model_named(&name.provider, &name.model),
        };
        let choice = match choice {
            Ok(choice) => choice,
            Err(error) => return answer(reply, Err(Refusal::Invalid { message: error.to_string() })),
        };
        let (parts, cancel) = (Arc::clone(&self.parts), self.life.child_token());
        self.spawn_for(reply, async move { aside::complete(&parts, &from, &choice, completion, &cancel).await });
    }

    /// A question to a person.
    fn ask(&mut self, from: GuestId, asked: Asked, reply: Reply<Settled>) {
        let (questions, cancel) = (self.parts.questions.clone(), self.life.child_token());
        self.spawn_for(reply, async move { Ok(questions.ask(&from, asked, &cancel).await) });
    }

    /// Whether an extension may do something.
    fn ask_approval(&mut self, approval: Approval, asked: Asked, reply: Reply<Settled>) {
        let (questions, cancel) = (self.parts.questions.clone(), self.life.child_token());
        self.spawn_for(reply, async move { Ok(questions.ask_approval(approval, asked, &cancel).await) });
    }

    /// Room to draw in. It is taken away with the session, or when somebody aborts.
    fn draw(&mut self, from: &GuestId, drawing: &Drawing, reply: Reply<Option<Canvas>>) {
        match self.parts.drawings.open(from, drawing, self.life.child_token()) {
            Ok(Some((canvas, carried))) => {
                self.asides.spawn(carried);
                answer(reply, Ok(Some(canvas)));
            }
            Ok(None) => answer(reply, Ok(None)),
            Err(too_many) => answer(reply, Err(Refusal::NotNow { reason: too_many.to_string() })),
        }
    }

    fn emit(&mut self, channel: String, data: Value, reply: Reply<()>) {
        let guests = Arc::clone(&self.parts.guests);
        self.asides.spawn(async move {
            let event = Event::Bus(BusEvent { channel, data });
            guests.dispatch(event, &CancellationToken::new()).await;
            answer(reply, Ok(()));
        });
    }
}

/// Text and images, as if a person had typed them.
fn utterance(blocks: Vec<Block>) -> Utterance {
    let text: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
    let mut utterance = Utterance::new(text.join("\n"));
    utterance.images.extend(blocks.into_iter().filter_map(|block| match block {
        Block::Image(image) => Some(image),
        Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => None,
    }));
    utterance
}
