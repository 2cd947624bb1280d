//! A conversation for extensions that are tried without one: it remembers what was asked of it.
//!
//! Without a [`Scene`] it is a new session in which nothing was said and nobody can be asked. With one it has a past, a
//! model that gives one answer to everything, and a [`Person`] who is as agreeable as the script wants.

mod memory;
mod person;
mod scene;

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    GuestId, Guests, SessionPort,
    port::{
        Canvas, CommandInfo, CommandSource, Control, Drawing, Refusal, Reply, Request, Selection, Settled, ToolInfo,
    },
};
use pi_extproto::hook::event::{Event, payload::BusEvent};
use pi_transcript::{
    EntryId, Header,
    question::{Announcement, Asked},
};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use self::memory::Memory;
pub(super) use self::{
    person::Person,
    scene::{Scene, Script, Step},
};

/// When the session began.
const BEGAN: &str = "2025-01-01T00:00:00.000Z";
/// How long it is quiet before a step counts as over, and how many such pauses it gets at most.
const PAUSE: Duration = Duration::from_millis(40);
const PAUSES: usize = 25;

/// Answers as a session would.
pub(super) struct Rehearsal {
    directory: String,
    /// One owner could not answer at once, as extensions want it; held for a change.
    memory: Mutex<Memory>,
    /// Read when it is over; held for a push.
    actions: Mutex<Vec<Value>>,
    guests: OnceLock<Weak<Guests>>,
    /// What goes on beside an answer: keys that are pressed, and what is told on the bus. Ends with the rehearsal.
    asides: Mutex<JoinSet<()>>,
}

impl Rehearsal {
    pub(super) fn new(id: &str, directory: String, is_trusted: bool, scene: Option<Scene>) -> Arc<Self> {
        let memory = Memory::new(id, directory.clone(), is_trusted, scene);
        Arc::new(Self {
            directory,
            memory: Mutex::new(memory),
            actions: Mutex::default(),
            guests: OnceLock::new(),
            asides: Mutex::default(),
        })
    }

    /// Lets it know who is there, so that tools, commands and the bus are those of a session.
    pub(super) fn meet(&self, guests: &Arc<Guests>) {
        // Those who came first stay.
        drop(self.guests.set(Arc::downgrade(guests)));
    }

    /// Who answers from here on.
    pub(super) fn invite(&self, person: Person) {
        self.remember(|memory| memory.person = person);
    }

    /// What extensions did to the session, in order.
    pub(super) fn actions(&self) -> Vec<Value> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same, and forgets it.
    pub(super) fn take_actions(&self) -> Vec<Value> {
        std::mem::take(&mut *self.actions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until nothing is asked any more, or not much longer: what extensions do without being waited for is theirs too.
    pub(super) async fn settle(&self) {
        let mut before = None;
        for _ in 0..PAUSES {
            sleep(PAUSE).await;
            let now = self.actions.lock().unwrap_or_else(PoisonError::into_inner).len();
            if before == Some(now) {
                return;
            }
            before = Some(now);
        }
    }

    fn note(&self, action: Value) {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).push(action);
    }

    fn remember<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn aside(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.asides.lock().unwrap_or_else(PoisonError::into_inner).spawn(work);
    }

    fn known_guests(&self) -> Option<Arc<Guests>> {
        self.guests.get().and_then(Weak::upgrade)
    }

    /// Tools of the scene and of the extensions; one of an extension takes the place of one with its name.
    fn tools(&self) -> Vec<ToolInfo> {
        let offered: Vec<ToolInfo> = self.known_guests().map_or_else(Vec::new, |guests| {
            let path = guests.registrations().first().map(|registration| registration.path.clone());
            let tools = guests.tools().into_iter();
            tools
                .map(|tool| ToolInfo {
                    definition: tool.offer.definition.clone(),
                    is_active: true,
                    source: path.clone(),
                })
                .collect()
        });
        self.remember(|memory| memory.tools(offered))
    }

    fn commands(&self) -> Vec<CommandInfo> {
        let Some(guests) = self.known_guests() else { return Vec::new() };
        let path = guests.registrations().first().map_or_else(String::new, |registration| registration.path.clone());
        let commands = guests.commands().into_iter();
        commands
            .map(|command| CommandInfo {
                definition: command.offer.definition,
                source: CommandSource::Extension { path: path.clone() },
            })
            .collect()
    }

    fn answer(&self, request: Request) {
        match request {
            Request::State(reply) => say(reply, self.remember(|memory| memory.state())),
            Request::SystemPrompt(reply) => say(reply, self.remember(|memory| memory.system_prompt())),
            Request::Header(reply) => {
                let id = self.remember(|memory| memory.id.clone());
                say(reply, Header::new(id, BEGAN.to_owned(), &self.directory));
            }
            Request::Entries(Selection::All, reply) => say(reply, self.remember(|memory| memory.entries.clone())),
            Request::Entries(Selection::Branch, reply) => say(reply, self.remember(|memory| memory.branch())),
            Request::Entry(id, reply) => say(reply, self.remember(|memory| memory.entry(&id))),
            Request::Label(id, reply) => say(reply, self.remember(|memory| memory.label(&id))),
            Request::Tools(reply) => say(reply, self.tools()),
            Request::Commands(reply) => say(reply, self.commands()),
            Request::Models(reply) => say(reply, self.remember(|memory| memory.models())),
            Request::ScopedModels(reply) => say(reply, Vec::new()),
            Request::EditorText(reply) => say(reply, self.remember(|memory| memory.editor.clone())),
            Request::AppendEntry { custom_type, data, reply } => {
                say(reply, self.append_entry(&custom_type, data.as_ref()));
            }
            Request::SendMessage { message, delivery, trigger_turn, reply } => {
                self.note(json!({ "action": "send_message", "message": message, "delivery": delivery,
                    "triggerTurn": trigger_turn }));
                say(reply, ());
            }
            Request::SendUserMessage { content, delivery, reply, .. } => {
                self.note(json!({ "action": "send_user_message", "content": content, "delivery": delivery }));
                say(reply, ());
            }
            Request::SetName(name, reply) => {
                self.set_name(name);
                say(reply, ());
            }
            Request::SetLabel(entry, label, reply) => {
                self.set_label(&entry, label.as_deref());
                say(reply, ());
            }
            Request::SetActiveTools(names, reply) => {
                self.set_active_tools(names);
                say(reply, ());
            }
            Request::SetModel(provider, model, reply) => {
                self.note(json!({ "action": "set_model", "provider": provider, "model": model }));
                say(reply, self.remember(|memory| memory.has_model(&provider, &model)));
            }
            Request::SetThinkingLevel(level, reply) => {
                self.note(json!({ "action": "set_thinking_level", "level": level }));
                self.remember(|memory| memory.thinking_level = level);
                say(reply, level);
            }
            Request::Abort(reply) => {
                self.note(json!({ "action": "abort" }));
                say(reply, ());
            }
            Request::Compact { instructions, reply } => {
                self.note(json!({ "action": "compact", "instructions": instructions }));
                reveal(reply, self.remember(|memory| memory.compacted()).ok_or_else(alone));
            }
            Request::Complete(asked, reply) => {
                self.note(json!({ "action": "complete", "systemPrompt": asked.system_prompt,
                    "messages": asked.messages }));
                reveal(reply, self.remember(|memory| memory.completed()).ok_or_else(alone));
            }
            Request::Ask(asked, reply) | Request::AskApproval(_, asked, reply) => say(reply, self.ask(&asked)),
            Request::Announce(announcement, reply) => {
                self.note(json!({ "action": "announce", "announcement": announcement }));
                self.remember(|memory| memory.hear(announcement));
                say(reply, ());
            }
            Request::Tell(notice, reply) => {
                let notify_type = Some(notice.notify_type);
                let announcement = Announcement::Notify { message: notice.message, notify_type };
                self.note(json!({ "action": "announce", "announcement": announcement }));
                say(reply, ());
            }
            Request::Draw(drawing, reply) => say(reply, self.draw(&drawing)),
            Request::Emit { channel, data, reply } => self.emit(channel, data, reply),
            Request::RegistrationChanged(reply) | Request::Left(reply) => say(reply, ()),
            Request::Quit(reply) => {
                self.note(json!({ "action": "shutdown" }));
                say(reply, ());
            }
            Request::Control(control, _, reply) => reveal(reply, self.control(&control)),
        }
    }

    fn append_entry(&self, custom_type: &str, data: Option<&Value>) -> EntryId {
        self.note(json!({ "action": "append_entry", "customType": custom_type, "data": data }));
        let members = json!({ "type": "custom", "customType": custom_type, "data": data });
        self.remember(|memory| memory.append(members))
    }

    fn set_name(&self, name: String) {
        self.note(json!({ "action": "set_session_name", "name": name }));
        self.remember(|memory| {
            memory.append(json!({ "type": "session_info", "name": name }));
            memory.name = Some(name);
        });
    }

    fn set_label(&self, entry: &EntryId, label: Option<&str>) {
        self.note(json!({ "action": "set_label", "entryId": entry, "label": label }));
        self.remember(|memory| memory.append(json!({ "type": "label", "targetId": entry, "label": label })));
    }

    fn set_active_tools(&self, names: Vec<String>) {
        self.note(json!({ "action": "set_active_tools", "names": names }));
        let known = self.tools().into_iter().map(|tool| tool.definition.name).collect();
        self.remember(|memory| memory.choose_tools(names, known));
    }

    fn ask(&self, asked: &Asked) -> Settled {
        self.note(json!({ "action": "ask", "question": asked }));
        let answer = self.remember(|memory| memory.person.answer(asked.question()));
        answer.map_or(Settled::Cancelled, Settled::Answered)
    }

    fn draw(&self, drawing: &Drawing) -> Option<Canvas> {
        self.note(json!({ "action": "draw", "drawing": scene::drawn(drawing) }));
        self.remember(|memory| memory.person.look(drawing)).map(|(canvas, hands)| {
            self.aside(hands);
            canvas
        })
    }

    /// Answered when everybody has heard it.
    fn emit(&self, channel: String, data: Value, reply: Reply<()>) {
        self.note(json!({ "action": "emit", "channel": channel, "data": data }));
        let guests = self.known_guests();
        self.aside(async move {
            if let Some(guests) = guests {
                guests.dispatch(Event::Bus(BusEvent { channel, data }), &CancellationToken::new()).await;
            }
            say(reply, ());
        });
    }

    fn control(&self, control: &Control) -> Result<bool, Refusal> {
        let is_alone = self.remember(|memory| memory.is_alone());
        if *control != Control::WaitForIdle {
            self.note(json!({ "action": "control", "control": scene::controlled(control) }));
        }
        if is_alone { Err(alone()) } else { Ok(true) }
    }
}

fn say<T>(reply: Reply<T>, answer: T) {
    reveal(reply, Ok(answer));
}

/// Whoever asked may have gone away.
fn reveal<T>(reply: Reply<T>, answer: Result<T, Refusal>) {
    drop(reply.send(answer));
}

fn alone() -> Refusal {
    Refusal::NotNow { reason: "this is a trial without a session".to_owned() }
}

impl SessionPort for Rehearsal {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        self.answer(request);
        async {}.boxed()
    }
}
