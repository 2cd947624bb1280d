//! A conversation in the hands of one guest.

use std::{fmt, sync::Arc};

use serde_json::Value;
use tokio::sync::oneshot;

use pi_extproto::{
    connector::{session::Delivery, tool::ContentBlock},
    hook::DraftMessage,
};
use pi_transcript::{
    Entry, EntryId, Header, ModelId, ProviderId, ThinkingLevel,
    event::CompactionResult,
    message::AssistantMessage,
    question::{Announcement, Approval, Asked, NotifyType},
};

use super::{
    Canvas, CommandInfo, Completion, Control, ControlPass, Drawing, Expansion, ModelInfo, Notice, Refusal, Reply,
    Request, ScopedModel, Selection, SessionPort, SessionState, Settled, ToolInfo,
};
use crate::guest::GuestId;

/// What a guest holds of its session. Dropping the future of any function withdraws the request: a question is
/// cancelled, a model call stopped; what was only to be queued may already be.
#[derive(Clone)]
pub struct Conversation {
    port: Arc<dyn SessionPort>,
    guest: GuestId,
}

impl Conversation {
    pub fn new(port: Arc<dyn SessionPort>, guest: GuestId) -> Self {
        Self { port, guest }
    }

    pub async fn state(&self) -> Result<SessionState, Refusal> {
        self.request(Request::State).await
    }

    pub async fn system_prompt(&self) -> Result<String, Refusal> {
        self.request(Request::SystemPrompt).await
    }

    pub async fn header(&self) -> Result<Header, Refusal> {
        self.request(Request::Header).await
    }

    pub async fn entries(&self, selection: Selection) -> Result<Vec<Arc<Entry>>, Refusal> {
        self.request(|reply| Request::Entries(selection, reply)).await
    }

    pub async fn entry(&self, id: EntryId) -> Result<Option<Arc<Entry>>, Refusal> {
        self.request(|reply| Request::Entry(id, reply)).await
    }

    pub async fn label(&self, id: EntryId) -> Result<Option<String>, Refusal> {
        self.request(|reply| Request::Label(id, reply)).await
    }

    pub async fn tools(&self) -> Result<Vec<ToolInfo>, Refusal> {
        self.request(Request::Tools).await
    }

    pub async fn commands(&self) -> Result<Vec<CommandInfo>, Refusal> {
        self.request(Request::Commands).await
    }

    pub async fn models(&self) -> Result<Vec<ModelInfo>, Refusal> {
        self.request(Request::Models).await
    }

    pub async fn scoped_models(&self) -> Result<Vec<ScopedModel>, Refusal> {
        self.request(Request::ScopedModels).await
    }

    pub async fn editor_text(&self) -> Result<Option<String>, Refusal> {
        self.request(Request::EditorText).await
    }

    pub async fn append_entry(&self, custom_type: String, data: Option<Value>) -> Result<EntryId, Refusal> {
        self.request(|reply| Request::AppendEntry { custom_type, data, reply }).await
    }

    /// Adds a message that is there when a model is asked the next time, and starts nothing by itself.
    pub async fn send_message(&self, message: DraftMessage, delivery: Delivery) -> Result<(), Refusal> {
        self.request(|reply| Request::SendMessage { message, delivery, trigger_turn: false, reply }).await
    }

    /// Adds a message, and starts a run if there is none.
    pub async fn send_message_and_run(&self, message: DraftMessage, delivery: Delivery) -> Result<(), Refusal> {
        self.request(|reply| Request::SendMessage { message, delivery, trigger_turn: true, reply }).await
    }

    pub async fn send_user_message(
        &self,
        content: Vec<ContentBlock>,
        delivery: Delivery,
        expansion: Expansion,
    ) -> Result<(), Refusal> {
        self.request(|reply| Request::SendUserMessage { content, delivery, expansion, reply }).await
    }

    pub async fn set_name(&self, name: String) -> Result<(), Refusal> {
        self.request(|reply| Request::SetName(name, reply)).await
    }

    pub async fn set_label(&self, entry: EntryId, label: String) -> Result<(), Refusal> {
        self.request(|reply| Request::SetLabel(entry, Some(label), reply)).await
    }

    pub async fn remove_label(&self, entry: EntryId) -> Result<(), Refusal> {
        self.request(|reply| Request::SetLabel(entry, None, reply)).await
    }

    pub async fn set_active_tools(&self, names: Vec<String>) -> Result<(), Refusal> {
        self.request(|reply| Request::SetActiveTools(names, reply)).await
    }

    pub async fn set_model(&self, provider: ProviderId, model: ModelId) -> Result<bool, Refusal> {
        self.request(|reply| Request::SetModel(provider, model, reply)).await
    }

    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Result<ThinkingLevel, Refusal> {
        self.request(|reply| Request::SetThinkingLevel(level, reply)).await
    }

    pub async fn abort(&self) -> Result<(), Refusal> {
        self.request(Request::Abort).await
    }

    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, Refusal> {
        self.request(|reply| Request::Compact { instructions, reply }).await
    }

    pub async fn complete(&self, completion: Completion) -> Result<Box<AssistantMessage>, Refusal> {
        self.request(|reply| Request::Complete(Box::new(completion), reply)).await
    }

    pub async fn ask(&self, question: Asked) -> Result<Settled, Refusal> {
        self.request(|reply| Request::Ask(question, reply)).await
    }

    /// Asks in the name of the host whether the guest may do something.
    pub(crate) async fn ask_approval(&self, approval: Approval, question: Asked) -> Result<Settled, Refusal> {
        self.request(|reply| Request::AskApproval(approval, question, reply)).await
    }

    pub async fn announce(&self, announcement: Announcement) -> Result<(), Refusal> {
        self.request(|reply| Request::Announce(announcement, reply)).await
    }

    /// Tells something about the guest in the name of the program.
    pub(crate) async fn tell(&self, message: String, notify_type: NotifyType) -> Result<(), Refusal> {
        let notice = Notice { message, notify_type, about: Some(self.guest.clone()) };
        self.request(|reply| Request::Tell(notice, reply)).await
    }

    pub async fn draw(&self, drawing: Drawing) -> Result<Option<Canvas>, Refusal> {
        self.request(|reply| Request::Draw(drawing, reply)).await
    }

    pub async fn emit(&self, channel: String, data: Value) -> Result<(), Refusal> {
        self.request(|reply| Request::Emit { channel, data, reply }).await
    }

    pub async fn registration_changed(&self) -> Result<(), Refusal> {
        self.request(Request::RegistrationChanged).await
    }

    pub async fn quit(&self) -> Result<(), Refusal> {
        self.request(Request::Quit).await
    }

    /// Answers whether it was done. Refused once the command that got the pass has ended.
    pub async fn control(&self, pass: &ControlPass, control: Control) -> Result<bool, Refusal> {
        if !pass.is_valid() {
            return Err(Refusal::NotNow { reason: "the command that could do this has ended".to_owned() });
        }
        self.request(|reply| Request::Control(control, pass.clone(), reply)).await
    }

    async fn request<T>(&self, make: impl FnOnce(Reply<T>) -> Request) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.port.submit(self.guest.clone(), make(reply)).await;
        answer.await.unwrap_or(Err(Refusal::Gone))
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("guest", &self.guest).finish_non_exhaustive()
    }
}
