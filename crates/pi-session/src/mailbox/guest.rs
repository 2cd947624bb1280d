//! What extensions ask of their conversation.
//!
//! What can be answered from what is in the mailbox's hands is answered at once; what takes time goes on beside it and
//! stops when nobody waits for the answer any more.

use std::sync::Arc;

use pi_exthost::{
    GuestId, Guests,
    content::from_protocol,
    port::{
        CommandInfo, CommandSource, Completion, Control, Expansion, ModelInfo, Navigation, Refusal, Reply, Request,
        Selection, SessionState, ToolInfo,
    },
};
use pi_extproto::{
    connector::{session::Delivery, tool},
    hook::event::{Event, payload::BusEvent},
};
use pi_transcript::{AgentEvent, ContextUsage, Entry, Message, json::Amount};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Mailbox, answer, tree::piece};
use crate::{
    cut,
    draft::{self, Draft},
    queue::{Saying, When},
    run::{aside, desk::Piece},
    session::{CompactError, Journey, NavigateError, Summarise},
};

impl Mailbox {
    pub(super) fn serve_guest(&mut self, from: GuestId, request: Request) {
        match request {
            Request::State(reply) => answer(reply, Ok(self.session_state())),
            Request::SystemPrompt(reply) => {
                answer(reply, Ok(self.system.iter().map(pi_envelope::SystemPart::sent).collect()));
            }
            Request::Header(reply) => answer(reply, Ok(self.header.clone())),
            Request::Entries(selection, reply) => self.read_entries(selection, reply),
            Request::Entry(id, reply) => match self.tree.find(&id) {
                Ok(place) => {
                    let pieces = piece(&self.tree, place).into_iter().collect();
                    let last = |mut entries: Vec<Arc<Entry>>| entries.pop();
                    self.read_aside(pieces, reply, last);
                }
                Err(_) => answer(reply, Ok(None)),
            },
            Request::Label(id, reply) => answer(reply, Ok(self.tree.label_of(&id).map(str::to_owned))),
            Request::Tools(reply) => answer(reply, Ok(self.tool_infos())),
            Request::Commands(reply) => answer(reply, Ok(command_infos(&self.parts.guests))),
            Request::Models(reply) => answer(reply, Ok(self.model_infos())),
            // Who draws the editor is asked by whoever draws it; nobody does here.
            Request::EditorText(reply) => answer(reply, Ok(None)),
            Request::AppendEntry { custom_type, data, reply } => {
                let ids = self.append(Vec::new(), vec![Draft::Custom { custom_type, data }], Vec::new());
                answer(reply, ids.into_iter().next().ok_or(Refusal::Gone));
            }
            Request::SendMessage { message, delivery, trigger_turn, reply } => {
                let message = draft::custom(&from, message, (self.parts.now)().unix_millis());
                self.deliver(Saying::new(message), delivery, trigger_turn);
                answer(reply, Ok(()));
            }
            // What a person types is composed before it gets here, so nobody here knows templates.
            Request::SendUserMessage { expansion: Expansion::Templates, reply, .. } => {
                answer(reply, Err(not_here("expanding templates and skills")));
            }
            Request::SendUserMessage { content, delivery, expansion: Expansion::Verbatim, reply } => {
                let message = Message::user(from_protocol(content), (self.parts.now)().unix_millis());
                self.deliver(Saying::new(message), delivery, true);
                answer(reply, Ok(()));
            }
            Request::SetName(name, reply) => {
                self.rename(name);
                answer(reply, Ok(()));
            }
            Request::SetLabel(id, label, reply) => {
                let known = self.label(id.clone(), label);
                answer(reply, known.map_err(|_| Refusal::NotFound { what: format!("entry {id}") }));
            }
            Request::SetActiveTools(names, reply) => {
                self.tools.activate(&names);
                answer(reply, Ok(()));
            }
            Request::SetModel(provider, model, reply) => {
                let choice = self.parts.models.named(&provider, &model);
                let usable = choice.ok().filter(|choice| self.parts.models.has_credential(choice));
                let is_done = usable.map(|choice| self.set_model(choice)).is_some();
                answer(reply, Ok(is_done));
            }
            Request::SetThinkingLevel(level, reply) => answer(reply, Ok(self.set_thinking_level(level))),
            Request::Abort(reply) => {
                if let Some(running) = &self.running {
                    running.cancel();
                }
                answer(reply, Ok(()));
            }
            Request::Compact { instructions, reply } => {
                let (compacted, result) = oneshot::channel();
                self.compact(instructions, compacted);
                self.asides.spawn(async move {
                    let result = result.await.unwrap_or(Err(CompactError::Aborted));
                    answer(reply, result.map_err(|error| refusal(&error, error == CompactError::Busy)));
                });
            }
            Request::Complete(completion, reply) => self.complete(from, *completion, reply),
            Request::Ask(asked, mut reply) => {
                let questions = self.parts.questions.clone();
                let cancel = self.errands.child_token();
                self.asides.spawn(async move {
                    tokio::select! {
                        // Nobody waits any more; dropping the question withdraws it.
                        () = reply.closed() => {}
                        settled = questions.ask(from, asked, &cancel) => answer(reply, Ok(settled)),
                    }
                });
            }
            Request::Announce(announcement, reply) => {
                self.parts.questions.announce(announcement);
                answer(reply, Ok(()));
            }
            // Nobody here has a screen; a client that has one will be asked when there is a channel to it.
            Request::Draw(_, reply) => answer(reply, Ok(None)),
            Request::Emit { channel, data, reply } => {
                let guests = Arc::clone(&self.parts.guests);
                self.asides.spawn(async move {
                    let event = Event::Bus(BusEvent { channel, data });
                    guests.dispatch(event, &CancellationToken::new()).await;
                    answer(reply, Ok(()));
                });
            }
            Request::RegistrationChanged(reply) => {
                self.tools.refresh(self.parts.guests.tools());
                answer(reply, Ok(()));
            }
            Request::Quit(reply) => answer(reply, Err(not_here("ending the program"))),
            Request::Control(control, _, reply) => self.control(control, reply),
        }
    }

    /// Says something of an extension when it is due.
    fn deliver(&mut self, saying: Saying, delivery: Delivery, triggers: bool) {
        let when = match delivery {
            Delivery::Steer => Some(When::Steer),
            Delivery::FollowUp => Some(When::FollowUp),
            Delivery::NextTurn => None,
        };
        match (&self.running, when) {
            (Some(_), Some(when)) => {
                self.queues.push(when, saying);
                self.tell_queues();
            }
            (_, None) => self.riding.push(saying),
            (None, Some(_)) if triggers => self.start_run(vec![saying], None),
            (None, Some(_)) => {
                let Saying { message, spans: _ } = saying;
                let start = vec![AgentEvent::MessageStart { message: message.clone() }];
                let end = vec![AgentEvent::MessageEnd { message: message.clone() }];
                self.append(start, vec![Draft::of_message(message, Vec::new())], end);
            }
        }
    }

    /// A model call of an extension's own.
    fn complete(
        &mut self,
        from: GuestId,
        completion: Completion,
        mut reply: Reply<Box<pi_transcript::message::AssistantMessage>>,
    ) {
        let choice = match &completion.model {
            None => Ok(Arc::clone(&self.choice)),
            Some(name) => self.parts.models.named(&name.provider, &name.model),
        };
        let choice = match choice {
            Ok(choice) => choice,
            Err(error) => return answer(reply, Err(Refusal::NotFound { what: error.to_string() })),
        };
        let parts = Arc::clone(&self.parts);
        let cancel = self.errands.child_token();
        self.asides.spawn(async move {
            tokio::select! {
                () = reply.closed() => {}
                done = aside::complete(&parts, &from, &choice, completion, &cancel) => answer(reply, done),
            }
        });
    }

    fn control(&mut self, control: Control, mut reply: Reply<bool>) {
        match control {
            Control::WaitForIdle => match &mut self.running {
                None => answer(reply, Ok(true)),
                Some(running) => {
                    let ended = running.ended();
                    self.asides.spawn(async move {
                        tokio::select! {
                            () = reply.closed() => {}
                            // However it ended, nothing runs now.
                            _ = ended => answer(reply, Ok(true)),
                        }
                    });
                }
            },
            Control::Navigate(navigation) => {
                let (went, way) = oneshot::channel();
                self.navigate(journey(navigation), went);
                self.asides.spawn(async move {
                    let result = way.await.unwrap_or(Err(NavigateError::Aborted));
                    let result = match result {
                        Ok(_) => Ok(true),
                        Err(NavigateError::Aborted) => Ok(false),
                        Err(error) => Err(refusal(&error, error == NavigateError::Busy)),
                    };
                    answer(reply, result);
                });
            }
            Control::NewSession { .. } | Control::Fork { .. } | Control::SwitchSession { .. } | Control::Reload => {
                answer(reply, Err(not_here("leaving this session for another")));
            }
        }
    }

    fn read_entries(&mut self, selection: Selection, reply: Reply<Vec<Arc<Entry>>>) {
        let places = match selection {
            Selection::All => self.tree.places().collect(),
            Selection::Branch => self.tree.path(self.tree.leaf()),
        };
        let pieces = places.into_iter().filter_map(|place| piece(&self.tree, place)).collect();
        self.read_aside(pieces, reply, |entries| entries);
    }

    /// Reads what is not held, beside the mailbox.
    fn read_aside<T: Send + 'static>(
        &mut self,
        pieces: Vec<Piece>,
        reply: Reply<T>,
        make: impl FnOnce(Vec<Arc<Entry>>) -> T + Send + 'static,
    ) {
        let reader = self.parts.reader.clone();
        self.asides.spawn_blocking(move || {
            let entries = aside::read(reader.as_deref(), pieces);
            let entries = entries.map(|kept| kept.iter().map(|kept| Arc::new(kept.to_entry())).collect());
            answer(reply, entries.map(make).map_err(|error| Refusal::Failed { message: error.to_string() }));
        });
    }

    fn session_state(&self) -> SessionState {
        let file = self.parts.reader.as_ref().map(|reader| reader.path());
        let tokens = cut::context_tokens(&self.tree.entries());
        let window = self.choice.model().context_window;
        let percent = (window > 0).then(|| tokens as f64 * 100.0 / window as f64);
        SessionState {
            session_id: self.parts.session.clone(),
            file: file.map(|path| path.to_string_lossy().into_owned()),
            folder: file.and_then(|path| path.parent()).map(|folder| folder.to_string_lossy().into_owned()),
            name: self.tree.name().map(str::to_owned),
            leaf_id: self.tree.leaf().map(|leaf| self.tree.id(leaf)),
            cwd: self.tools.workspace.project().to_owned(),
            model: Some(self.choice.model().clone()),
            thinking_level: self.thinking,
            is_idle: self.running.is_none(),
            has_pending_messages: !self.queues.is_empty(),
            mode: self.mode,
            is_project_trusted: self.is_project_trusted,
            context_usage: Some(ContextUsage {
                tokens: Some(tokens),
                context_window: window,
                percent: percent.and_then(|percent| Amount::try_from(percent).ok()),
            }),
        }
    }

    fn tool_infos(&self) -> Vec<ToolInfo> {
        let is_active = |name: &str| self.tools.active.iter().any(|active| active == name);
        let built_in = self.tools.built_in.iter().map(|tool| {
            let known = tool.definition();
            let definition = tool::ToolDefinition {
                name: known.name.clone(),
                label: Some(known.label.clone()),
                description: known.description.clone(),
                parameters: known.parameters.clone(),
                prompt_snippet: known.prompt_snippet.clone(),
                execution_mode: None,
            };
            ToolInfo { is_active: is_active(&definition.name), definition, source: None }
        });
        let paths = self.parts.guests.registrations();
        let path = |guest: &GuestId| paths.iter().find(|known| known.id == *guest).map(|known| known.path.clone());
        let guests = self.tools.guests.iter().map(|tool| ToolInfo {
            is_active: is_active(&tool.offer.definition.name),
            definition: tool.offer.definition.clone(),
            source: path(&tool.guest),
        });
        let is_replaced =
            |info: &ToolInfo| self.tools.guests.iter().any(|tool| tool.offer.definition.name == info.definition.name);
        built_in.filter(|info| !is_replaced(info)).chain(guests).collect()
    }

    fn model_infos(&self) -> Vec<ModelInfo> {
        let available = self.parts.models.available();
        available.iter().map(|choice| ModelInfo { model: choice.model().clone(), is_usable: true }).collect()
    }
}

fn command_infos(guests: &Guests) -> Vec<CommandInfo> {
    let paths = guests.registrations();
    let info = |command: &pi_exthost::guests::GuestCommand| {
        let path = paths.iter().find(|known| known.id == command.guest).map(|known| known.path.clone());
        let definition = tool::CommandDefinition { name: command.typed.clone(), ..command.offer.definition.clone() };
        CommandInfo { definition, source: CommandSource::Extension { path: path.unwrap_or_default() } }
    };
    guests.commands().iter().map(info).collect()
}

fn journey(navigation: Navigation) -> Journey {
    let summarise = match (navigation.summarize, navigation.instructions, navigation.replaces_instructions) {
        (false, _, _) => Summarise::No,
        (true, None, _) => Summarise::Yes,
        (true, Some(instructions), false) => Summarise::With(instructions),
        (true, Some(instructions), true) => Summarise::Instead(instructions),
    };
    Journey { target: navigation.entry, summarise, label: navigation.label }
}

fn refusal(error: &dyn std::error::Error, is_busy: bool) -> Refusal {
    let message = error.to_string();
    if is_busy { Refusal::NotNow { reason: message } } else { Refusal::Failed { message } }
}

fn not_here(what: &str) -> Refusal {
    Refusal::NotNow { reason: format!("{what} is not possible here") }
}
