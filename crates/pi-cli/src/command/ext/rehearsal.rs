//! A conversation for extensions that are tried without one: it has nobody in it, and remembers what was asked of it.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::{
    GuestId, SessionPort,
    port::{Mode, Refusal, Request, SessionState, Settled},
};
use pi_transcript::{EntryId, Header, SessionId, ThinkingLevel};
use serde_json::{Value, json};

/// Answers as a new session would in which nothing was said and nobody can be asked.
pub(super) struct Rehearsal {
    id: SessionId,
    directory: String,
    is_trusted: bool,
    /// Read when it is over; held for a push.
    actions: Mutex<Vec<Value>>,
}

impl Rehearsal {
    pub(super) fn new(id: &str, directory: String, is_trusted: bool) -> Arc<Self> {
        Arc::new(Self { id: SessionId::from(id), directory, is_trusted, actions: Mutex::default() })
    }

    /// What extensions did to the session, in order.
    pub(super) fn actions(&self) -> Vec<Value> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, action: Value) {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).push(action);
    }

    fn state(&self) -> SessionState {
        SessionState {
            session_id: self.id.clone(),
            file: None,
            folder: None,
            name: None,
            leaf_id: None,
            cwd: self.directory.clone(),
            model: None,
            thinking_level: ThinkingLevel::Off,
            is_idle: true,
            has_pending_messages: false,
            mode: Mode::Print,
            is_project_trusted: self.is_trusted,
            context_usage: None,
        }
    }

    fn answer(&self, request: Request) {
        macro_rules! say {
            ($reply:expr, $answer:expr) => {
                // Whoever asked may have gone away.
                drop($reply.send($answer))
            };
        }
        let alone = || Refusal::NotNow { reason: "this is a trial without a session".to_owned() };
        match request {
            Request::State(reply) => say!(reply, Ok(self.state())),
            Request::SystemPrompt(reply) => say!(reply, Ok(String::new())),
            Request::Header(reply) => {
                say!(reply, Ok(Header::new(self.id.clone(), "1970-01-01T00:00:00.000Z".to_owned(), &self.directory)));
            }
            Request::Entries(_, reply) => say!(reply, Ok(Vec::new())),
            Request::Entry(_, reply) => say!(reply, Ok(None)),
            Request::Label(_, reply) => say!(reply, Ok(None)),
            Request::Tools(reply) => say!(reply, Ok(Vec::new())),
            Request::Commands(reply) => say!(reply, Ok(Vec::new())),
            Request::Models(reply) => say!(reply, Ok(Vec::new())),
            Request::EditorText(reply) => say!(reply, Ok(None)),
            Request::AppendEntry { custom_type, data, reply } => {
                self.note(json!({ "action": "append_entry", "customType": custom_type, "data": data }));
                say!(reply, Ok(EntryId::from("00000000")));
            }
            Request::SendMessage { message, trigger_turn, reply, .. } => {
                self.note(json!({ "action": "send_message", "message": message, "triggerTurn": trigger_turn }));
                say!(reply, Ok(()));
            }
            Request::SendUserMessage { content, reply, .. } => {
                self.note(json!({ "action": "send_user_message", "content": content }));
                say!(reply, Ok(()));
            }
            Request::SetName(name, reply) => {
                self.note(json!({ "action": "set_session_name", "name": name }));
                say!(reply, Ok(()));
            }
            Request::SetLabel(entry, label, reply) => {
                self.note(json!({ "action": "set_label", "entryId": entry, "label": label }));
                say!(reply, Ok(()));
            }
            Request::SetActiveTools(names, reply) => {
                self.note(json!({ "action": "set_active_tools", "names": names }));
                say!(reply, Ok(()));
            }
            Request::SetModel(provider, model, reply) => {
                self.note(json!({ "action": "set_model", "provider": provider, "model": model }));
                say!(reply, Ok(false));
            }
            Request::SetThinkingLevel(level, reply) => {
                self.note(json!({ "action": "set_thinking_level", "level": level }));
                say!(reply, Ok(level));
            }
            Request::Abort(reply) => {
                self.note(json!({ "action": "abort" }));
                say!(reply, Ok(()));
            }
            Request::Compact { reply, .. } => say!(reply, Err(alone())),
            Request::Complete(_, reply) => say!(reply, Err(alone())),
            Request::Ask(asked, reply) => {
                self.note(json!({ "action": "ask", "question": asked }));
                say!(reply, Ok(Settled::Cancelled));
            }
            Request::Announce(announcement, reply) => {
                self.note(json!({ "action": "announce", "announcement": announcement }));
                say!(reply, Ok(()));
            }
            Request::Draw(_, reply) => say!(reply, Ok(None)),
            Request::Emit { channel, data, reply } => {
                self.note(json!({ "action": "emit", "channel": channel, "data": data }));
                say!(reply, Ok(()));
            }
            Request::RegistrationChanged(reply) => say!(reply, Ok(())),
            Request::Quit(reply) => {
                self.note(json!({ "action": "shutdown" }));
                say!(reply, Ok(()));
            }
            Request::Control(_, _, reply) => say!(reply, Err(alone())),
        }
    }
}

impl SessionPort for Rehearsal {
    fn submit(&self, _: GuestId, request: Request) -> BoxFuture<'_, ()> {
        self.answer(request);
        async {}.boxed()
    }
}
