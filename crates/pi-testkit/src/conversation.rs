//! A session as far as a guest can tell: it keeps entries and settings in memory and writes down what it was asked.
//!
//! It runs no model. Questions are answered from a list, model calls with their own last word.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};

use pi_exthost::{
    GuestId, SessionPort,
    port::{Control, Mode, Notice, Refusal, Reply, Request, Selection, SessionState, Settled},
};
use pi_transcript::{
    AssistantMessageEvent, Block, Entry, EntryId, Header, Message, SessionId, ThinkingLevel,
    entry::{Base, CustomEntry},
    event::CompactionResult,
    message::AssistantMessage,
    question::Asked,
};

/// A session that remembers.
#[derive(Debug, Default)]
pub struct SessionDouble {
    /// Tests look at it between the requests; it is held for a moment, never across an await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: Vec<String>,
    questions: Vec<Asked>,
    answers: VecDeque<Settled>,
    entries: Vec<Arc<Entry>>,
    name: Option<String>,
    thinking_level: ThinkingLevel,
}

impl SessionDouble {
    /// A session whose person gives these answers, one after the other, and dismisses every question after them.
    pub fn new(answers: impl IntoIterator<Item = Settled>) -> Arc<Self> {
        let state = State { answers: answers.into_iter().collect(), ..State::default() };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// What was asked of it and by whom, line by line.
    pub fn asked(&self) -> Vec<String> {
        self.with(|state| state.asked.clone())
    }

    /// The questions that were put before its person.
    pub fn questions(&self) -> Vec<Asked> {
        self.with(|state| state.questions.clone())
    }

    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionPort for SessionDouble {
    fn submit(&self, from: GuestId, request: Request) -> BoxFuture<'_, ()> {
        self.with(|state| {
            state.asked.push(format!("{from} {}", describe(&request)));
            state.answer(request);
        });
        async {}.boxed()
    }
}

impl State {
    fn answer(&mut self, request: Request) {
        match request {
            Request::State(reply) => give(reply, self.state()),
            Request::SystemPrompt(reply) => give(reply, "You are a double.".to_owned()),
            Request::Header(reply) => give(reply, Header::new(SessionId::from("double"), "t", "/project")),
            Request::Entries(Selection::All | Selection::Branch, reply) => give(reply, self.entries.clone()),
            Request::Entry(id, reply) => give(reply, self.entries.iter().find(|entry| *entry.id() == id).cloned()),
            Request::Label(_, reply) => give(reply, None),
            Request::Tools(reply) => give(reply, Vec::new()),
            Request::Commands(reply) => give(reply, Vec::new()),
            Request::Models(reply) => give(reply, Vec::new()),
            Request::ScopedModels(reply) => give(reply, Vec::new()),
            Request::EditorText(reply) => give(reply, None),
            Request::AppendEntry { custom_type, data, reply } => give(reply, self.append(custom_type, data)),
            Request::SetName(name, reply) => {
                self.name = Some(name);
                give(reply, ());
            }
            Request::SetModel(_, _, reply) => give(reply, true),
            Request::SetThinkingLevel(level, reply) => {
                self.thinking_level = level;
                give(reply, level);
            }
            Request::Compact { reply, .. } => give(reply, compacted()),
            Request::Complete(completion, reply) => {
                let refusal = Refusal::Failed { message: "nothing was said".to_owned() };
                let echo = completion.messages.last().cloned().ok_or(refusal).and_then(echo);
                if let (Some(steps), Ok(echo)) = (&completion.steps, &echo) {
                    // There is room for one, or nobody listens.
                    drop(steps.try_send(step(echo)));
                }
                drop(reply.send(echo));
            }
            Request::Ask(asked, reply) | Request::AskApproval(_, asked, reply) => {
                self.questions.push(asked);
                give(reply, self.answers.pop_front().unwrap_or(Settled::Cancelled));
            }
            Request::Draw(_, reply) => give(reply, None),
            Request::Control(_, pass, reply) => give(reply, pass.is_valid()),
            Request::SendMessage { reply, .. }
            | Request::SendUserMessage { reply, .. }
            | Request::SetLabel(_, _, reply)
            | Request::SetActiveTools(_, reply)
            | Request::Abort(reply)
            | Request::Announce(_, reply)
            | Request::Tell(_, reply)
            | Request::Emit { reply, .. }
            | Request::RegistrationChanged(reply)
            | Request::Left(reply)
            | Request::Quit(reply) => give(reply, ()),
        }
    }

    fn state(&self) -> SessionState {
        SessionState {
            session_id: SessionId::from("double"),
            file: None,
            folder: None,
            name: self.name.clone(),
            leaf_id: self.entries.last().map(|entry| entry.id().clone()),
            cwd: "/project".to_owned(),
            model: None,
            thinking_level: self.thinking_level,
            is_idle: true,
            has_pending_messages: false,
            mode: Mode::Server,
            is_project_trusted: true,
            context_usage: None,
        }
    }

    fn append(&mut self, custom_type: String, data: Option<Value>) -> EntryId {
        let id = EntryId(format!("{:08x}", self.entries.len() + 1));
        let parent_id = self.entries.last().map(|entry| entry.id().clone());
        let base = Base { id: id.clone(), parent_id, timestamp: "t".to_owned() };
        let entry = CustomEntry { base, custom_type, data, extra: Default::default() };
        self.entries.push(Arc::new(Entry::Custom(entry)));
        id
    }
}

/// Nobody minds if whoever asked is gone.
fn give<T>(reply: Reply<T>, answer: T) {
    drop(reply.send(Ok(answer)));
}

/// A model that repeats what it was told.
fn echo(message: Message) -> Result<Box<AssistantMessage>, Refusal> {
    let text = match message {
        Message::User(user) => user.content.text(),
        other => format!("a message of role {}", other.role()),
    };
    let message = json!({ "content": [{ "type": "text", "text": text }], "api": "double", "provider": "double",
        "model": "echo", "stopReason": "stop", "timestamp": 0,
        "usage": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } } });
    serde_json::from_value(message).map_err(|error| Refusal::Failed { message: error.to_string() })
}

/// How it says so.
fn step(answer: &AssistantMessage) -> AssistantMessageEvent {
    let words =
        answer.content.first().and_then(|block| if let Block::Text(text) = block { Some(&text.text) } else { None });
    AssistantMessageEvent::TextDelta { content_index: 0, delta: words.cloned().unwrap_or_default(), partial: None }
}

fn compacted() -> CompactionResult {
    CompactionResult {
        summary: "nothing happened".to_owned(),
        first_kept_entry_id: EntryId::from("00000001"),
        tokens_before: 0,
        details: None,
        estimated_tokens_after: None,
        usage: None,
    }
}

fn describe(request: &Request) -> String {
    match request {
        Request::State(_) => "state".to_owned(),
        Request::SystemPrompt(_) => "system_prompt".to_owned(),
        Request::Header(_) => "header".to_owned(),
        Request::Entries(selection, _) => format!("entries {selection:?}"),
        Request::Entry(id, _) => format!("entry {id}"),
        Request::Label(id, _) => format!("label {id}"),
        Request::Tools(_) => "tools".to_owned(),
        Request::Commands(_) => "commands".to_owned(),
        Request::Models(_) => "models".to_owned(),
        Request::ScopedModels(_) => "scoped_models".to_owned(),
        Request::EditorText(_) => "editor_text".to_owned(),
        Request::AppendEntry { custom_type, data, .. } => format!("append {custom_type} {}", json!(data)),
        Request::SendMessage { message, delivery, trigger_turn, .. } => {
            let start = if *trigger_turn { "start" } else { "send" };
            format!("{start} {} {delivery:?} {}", message.custom_type, json!(message.content))
        }
        Request::SendUserMessage { content, delivery, expansion, .. } => {
            format!("say {delivery:?} {expansion:?} {}", json!(content))
        }
        Request::SetName(name, _) => format!("name {name}"),
        Request::SetLabel(entry, label, _) => format!("label {entry} {}", json!(label)),
        Request::SetActiveTools(names, _) => format!("activate {}", names.join(" ")),
        Request::SetModel(provider, model, _) => format!("model {provider} {model}"),
        Request::SetThinkingLevel(level, _) => format!("think {level}"),
        Request::Abort(_) => "abort".to_owned(),
        Request::Compact { instructions, .. } => format!("compact {}", json!(instructions)),
        Request::Complete(completion, _) => format!("complete {}", json!(completion.messages)),
        Request::Ask(asked, _) => format!("ask {}", asked.question().method()),
        Request::AskApproval(approval, ..) => {
            let call = approval.tool_call_id.as_ref().map(|id| format!(" for {id}"));
            format!("ask approval of {}{}", approval.capability, call.unwrap_or_default())
        }
        Request::Announce(announcement, _) => format!("announce {}", json!(announcement)),
        Request::Tell(Notice { message, about, .. }, _) => {
            let about = about.as_ref().map(|guest| format!(" of {guest}")).unwrap_or_default();
            format!("tell{about} {message}")
        }
        Request::Draw(drawing, _) => format!("draw {drawing:?}"),
        Request::Emit { channel, data, .. } => format!("emit {channel} {data}"),
        Request::RegistrationChanged(_) => "registration_changed".to_owned(),
        Request::Left(_) => "left".to_owned(),
        Request::Quit(_) => "quit".to_owned(),
        Request::Control(control, _, _) => format!("control {}", word(control)),
    }
}

fn word(control: &Control) -> String {
    match control {
        Control::WaitForIdle => "wait".to_owned(),
        Control::NewSession { .. } => "new".to_owned(),
        Control::Fork { entry, .. } => format!("fork {entry}"),
        Control::Navigate(navigation) => format!("navigate {}", navigation.entry),
        Control::SwitchSession { path } => format!("switch {path}"),
        Control::Reload => "reload".to_owned(),
    }
}
