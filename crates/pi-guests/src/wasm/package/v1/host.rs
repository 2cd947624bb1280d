//! What a guest asks of its host: every function of the package is one call at the desk.

use pi_exthost::Output;
use pi_extproto::{
    connector::{
        Call,
        data::Data,
        environment::{CredentialsCall, EnvCall},
        events::EventsCall,
        fs::FsCall,
        session::{self as ours, SessionCall},
        tool::ToolUse,
        ui::UiCall,
    },
    host::{ErrorCode, HostError},
    log::{LogEvent, LogNote},
};
use wasmtime::component::Resource;

use super::{
    bindings::pi::extension::{
        credentials, env, events, exec, fs, hooks, http, log, outcomes, session, streams, tool, types,
        types::HostError as Fault, ui,
    },
    carry::{Lift, Lower, NotJson},
    outputs::{command, request},
};
use crate::wasm::room::{OutputStream, Room};

/// Asks, and takes the answer for what it must be.
macro_rules! ask {
    ($room:ident, $call:expr, $answer:pat => $value:expr) => {
        match $room.call($call).await.map_err(Lower::lower)? {
            $answer => Ok($value),
            other => Err(odd(&other)),
        }
    };
}

fn odd(output: &Output) -> Fault {
    HostError::new(ErrorCode::Internal, format!("a connector answered with {output:?}")).lower()
}

fn bad(fault: &NotJson) -> Fault {
    HostError::new(ErrorCode::InvalidRequest, fault.to_string()).lower()
}

/// Whatever is lifted, or an `invalid-request`.
fn lifted<A: Lift<B>, B>(value: A) -> Result<B, Fault> {
    value.lift().map_err(|fault| bad(&fault))
}

impl types::Host for Room {}
impl hooks::Host for Room {}
impl outcomes::Host for Room {}

impl tool::Host for Room {
    async fn use_(&mut self, name: String, input: String) -> Result<tool::HostToolOutput, Fault> {
        let call = Call::Tool(ToolUse { name, input: lifted(input)? });
        ask!(self, call, Output::Tool(output) => output.lower())
    }
}

impl exec::Host for Room {
    async fn run(&mut self, it: exec::Command) -> Result<exec::CommandOutput, Fault> {
        ask!(self, Call::Exec(command(it, false)), Output::Command(output) => output.lower())
    }

    async fn start(&mut self, it: exec::Command) -> Result<Resource<OutputStream>, Fault> {
        self.open(Call::Exec(command(it, true))).map_err(Lower::lower)
    }
}

impl http::Host for Room {
    async fn fetch(&mut self, it: http::Request) -> Result<http::Response, Fault> {
        ask!(self, Call::Http(request(it, false)), Output::Response(response) => response.lower())
    }

    async fn open(&mut self, it: http::Request) -> Result<Resource<OutputStream>, Fault> {
        Room::open(self, Call::Http(request(it, true))).map_err(Lower::lower)
    }
}

impl streams::Host for Room {}

impl streams::HostOutputStream for Room {
    async fn next(
        &mut self,
        stream: Resource<OutputStream>,
    ) -> wasmtime::Result<Result<(streams::Chunk, streams::StreamItem), Fault>> {
        let next = self.next_of(&stream).await?;
        Ok(next.map_err(Lower::lower).map(|(index, item)| {
            let item: streams::StreamItem = item.lower();
            let is_last = matches!(item, streams::StreamItem::End(_));
            (streams::Chunk { index, is_last, backpressure: None }, item)
        }))
    }

    async fn cancel(&mut self, stream: Resource<OutputStream>) -> wasmtime::Result<()> {
        self.cancel_stream(&stream)
    }

    async fn drop(&mut self, stream: Resource<OutputStream>) -> wasmtime::Result<()> {
        self.close_stream(stream)
    }
}

impl fs::Host for Room {
    async fn read(&mut self, path: String, offset: Option<u64>, limit: Option<u64>) -> Result<Vec<u8>, Fault> {
        ask!(self, Call::Fs(FsCall::Read { path, offset, limit }), Output::Content(file) => file.content.0)
    }

    async fn list(&mut self, path: String) -> Result<Vec<fs::DirectoryEntry>, Fault> {
        ask!(self, Call::Fs(FsCall::List { path }), Output::Listing(listing) => listing.entries.lower())
    }

    async fn stat(&mut self, path: String, follow_links: bool) -> Result<Option<fs::FileInfo>, Fault> {
        ask!(self, Call::Fs(FsCall::Stat { path, follow_links }), Output::Presence(it) => it.info.lower())
    }

    async fn resolve(&mut self, path: String) -> Result<String, Fault> {
        ask!(self, Call::Fs(FsCall::Resolve { path }), Output::Place(place) => place.path)
    }

    async fn write(&mut self, path: String, content: Vec<u8>, mode: fs::WriteMode) -> Result<(), Fault> {
        let call = FsCall::Write { path, content: Data(content), mode: lifted(mode)?, permissions: None };
        ask!(self, Call::Fs(call), Output::Empty => ())
    }

    async fn append(&mut self, path: String, content: Vec<u8>) -> Result<(), Fault> {
        ask!(self, Call::Fs(FsCall::Append { path, content: Data(content) }), Output::Empty => ())
    }

    async fn make_directory(&mut self, path: String, parents: bool) -> Result<(), Fault> {
        ask!(self, Call::Fs(FsCall::MakeDirectory { path, parents }), Output::Empty => ())
    }

    async fn make_temporary(&mut self, prefix: String) -> Result<String, Fault> {
        ask!(self, Call::Fs(FsCall::MakeTemporary { prefix }), Output::Place(place) => place.path)
    }

    async fn remove(&mut self, path: String, recursive: bool) -> Result<(), Fault> {
        ask!(self, Call::Fs(FsCall::Remove { path, recursive }), Output::Empty => ())
    }

    async fn rename(&mut self, from: String, to: String) -> Result<(), Fault> {
        ask!(self, Call::Fs(FsCall::Rename { from, to }), Output::Empty => ())
    }

    async fn set_mode(&mut self, path: String, mode: u32) -> Result<(), Fault> {
        ask!(self, Call::Fs(FsCall::SetMode { path, mode }), Output::Empty => ())
    }
}

impl session::Host for Room {
    async fn get_state(&mut self) -> Result<session::SessionState, Fault> {
        ask!(self, Call::Session(SessionCall::GetState), Output::State(state) => state.lower())
    }

    async fn get_system_prompt(&mut self) -> Result<String, Fault> {
        ask!(self, Call::Session(SessionCall::GetSystemPrompt), Output::SystemPrompt(prompt) => prompt.text)
    }

    async fn get_header(&mut self) -> Result<String, Fault> {
        ask!(self, Call::Session(SessionCall::GetHeader), Output::Header(header) => header.header.lower())
    }

    async fn get_entries(&mut self, selection: session::EntrySelection) -> Result<Vec<String>, Fault> {
        let call = SessionCall::GetEntries { selection: lifted(selection)? };
        ask!(self, Call::Session(call), Output::Entries(entries) => entries.entries.lower())
    }

    async fn get_entry(&mut self, entry_id: String) -> Result<Option<String>, Fault> {
        let call = SessionCall::GetEntry { entry_id: entry_id.into() };
        ask!(self, Call::Session(call), Output::Entry(found) => found.entry.lower())
    }

    async fn get_label(&mut self, entry_id: String) -> Result<Option<String>, Fault> {
        let call = SessionCall::GetLabel { entry_id: entry_id.into() };
        ask!(self, Call::Session(call), Output::Label(label) => label.label)
    }

    async fn append_entry(&mut self, custom_type: String, data: Option<String>) -> Result<String, Fault> {
        let call = SessionCall::AppendEntry { custom_type, data: lifted(data)? };
        ask!(self, Call::Session(call), Output::AppendedEntry(entry) => entry.entry_id.lower())
    }

    async fn send_message(
        &mut self,
        custom_type: String,
        content: Vec<types::ContentBlock>,
        display: bool,
        details: Option<String>,
        delivery: session::Delivery,
        trigger_turn: bool,
    ) -> Result<(), Fault> {
        let (content, details, delivery) = (lifted(content)?, lifted(details)?, lifted(delivery)?);
        let call = SessionCall::SendMessage { custom_type, content, display, details, delivery, trigger_turn };
        ask!(self, Call::Session(call), Output::Empty => ())
    }

    async fn send_user_message(
        &mut self,
        content: Vec<types::ContentBlock>,
        delivery: session::Delivery,
        expand: bool,
    ) -> Result<(), Fault> {
        let call = SessionCall::SendUserMessage { content: lifted(content)?, delivery: lifted(delivery)?, expand };
        ask!(self, Call::Session(call), Output::Empty => ())
    }

    async fn set_name(&mut self, name: String) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::SetName { name }), Output::Empty => ())
    }

    async fn set_label(&mut self, entry_id: String, label: Option<String>) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::SetLabel { entry_id: entry_id.into(), label }), Output::Empty => ())
    }

    async fn get_tools(&mut self) -> Result<Vec<session::ToolInfo>, Fault> {
        ask!(self, Call::Session(SessionCall::GetTools), Output::Tools(tools) => tools.tools.lower())
    }

    async fn set_active_tools(&mut self, names: Vec<String>) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::SetActiveTools { names }), Output::Empty => ())
    }

    async fn get_commands(&mut self) -> Result<Vec<session::CommandInfo>, Fault> {
        ask!(self, Call::Session(SessionCall::GetCommands), Output::Commands(it) => it.commands.lower())
    }

    async fn get_models(&mut self) -> Result<Vec<session::ModelInfo>, Fault> {
        ask!(self, Call::Session(SessionCall::GetModels), Output::Models(models) => models.models.lower())
    }

    async fn set_model(&mut self, provider: String, model: String) -> Result<bool, Fault> {
        let call = SessionCall::SetModel { provider: provider.into(), model: model.into() };
        ask!(self, Call::Session(call), Output::Acceptance(it) => it.accepted)
    }

    async fn set_thinking_level(&mut self, level: session::ThinkingLevel) -> Result<session::ThinkingLevel, Fault> {
        let call = SessionCall::SetThinkingLevel { level: lifted(level)? };
        ask!(self, Call::Session(call), Output::Level(chosen) => chosen.level.lower())
    }

    async fn complete(
        &mut self,
        model: Option<session::ModelName>,
        system_prompt: Option<String>,
        messages: Vec<String>,
        tools: Option<Vec<String>>,
        max_tokens: Option<u64>,
        thinking_level: Option<session::ThinkingLevel>,
    ) -> Result<String, Fault> {
        let model: Option<ours::ModelName> = lifted(model)?;
        let (messages, tools, thinking_level) = (lifted(messages)?, lifted(tools)?, lifted(thinking_level)?);
        let call = SessionCall::Complete { model, system_prompt, messages, tools, max_tokens, thinking_level };
        ask!(self, Call::Session(call), Output::Completion(completion) => completion.message.lower())
    }

    async fn compact(&mut self, instructions: Option<String>) -> Result<String, Fault> {
        ask!(self, Call::Session(SessionCall::Compact { instructions }), Output::Compaction(it) => it.result.lower())
    }

    async fn abort(&mut self) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::Abort), Output::Empty => ())
    }

    async fn wait_for_idle(&mut self) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::WaitForIdle), Output::Empty => ())
    }

    async fn new_session(&mut self, parent: Option<String>) -> Result<bool, Fault> {
        ask!(self, Call::Session(SessionCall::NewSession { parent }), Output::Acceptance(it) => it.accepted)
    }

    async fn fork(&mut self, entry_id: String, position: session::ForkPoint) -> Result<bool, Fault> {
        let call = SessionCall::Fork { entry_id: entry_id.into(), position: lifted(position)? };
        ask!(self, Call::Session(call), Output::Acceptance(it) => it.accepted)
    }

    async fn navigate_tree(
        &mut self,
        entry_id: String,
        summarize: bool,
        instructions: Option<String>,
        replace_instructions: bool,
        label: Option<String>,
    ) -> Result<bool, Fault> {
        let entry_id = entry_id.into();
        let call = SessionCall::NavigateTree { entry_id, summarize, instructions, replace_instructions, label };
        ask!(self, Call::Session(call), Output::Acceptance(it) => it.accepted)
    }

    async fn switch_session(&mut self, path: String) -> Result<bool, Fault> {
        ask!(self, Call::Session(SessionCall::SwitchSession { path }), Output::Acceptance(it) => it.accepted)
    }

    async fn reload(&mut self) -> Result<bool, Fault> {
        ask!(self, Call::Session(SessionCall::Reload), Output::Acceptance(it) => it.accepted)
    }

    async fn registration_changed(&mut self) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::RegistrationChanged), Output::Empty => ())
    }

    async fn quit(&mut self) -> Result<(), Fault> {
        ask!(self, Call::Session(SessionCall::Quit), Output::Empty => ())
    }
}

impl ui::Host for Room {
    async fn select(
        &mut self,
        title: String,
        options: Vec<String>,
        timeout_ms: Option<u64>,
    ) -> Result<Option<String>, Fault> {
        ask!(self, Call::Ui(UiCall::Select { title, options, timeout_ms }), Output::Answer(it) => it.text)
    }

    async fn confirm(&mut self, title: String, message: String, timeout_ms: Option<u64>) -> Result<bool, Fault> {
        ask!(self, Call::Ui(UiCall::Confirm { title, message, timeout_ms }), Output::Confirmation(it) => it.confirmed)
    }

    async fn input(
        &mut self,
        title: String,
        placeholder: Option<String>,
        timeout_ms: Option<u64>,
    ) -> Result<Option<String>, Fault> {
        ask!(self, Call::Ui(UiCall::Input { title, placeholder, timeout_ms }), Output::Answer(it) => it.text)
    }

    async fn editor(
        &mut self,
        title: String,
        prefill: Option<String>,
        timeout_ms: Option<u64>,
    ) -> Result<Option<String>, Fault> {
        ask!(self, Call::Ui(UiCall::Editor { title, prefill, timeout_ms }), Output::Answer(it) => it.text)
    }

    async fn interview(
        &mut self,
        title: Option<String>,
        questions: Vec<ui::FormField>,
        timeout_ms: Option<u64>,
    ) -> Result<Option<Vec<(String, ui::FieldAnswer)>>, Fault> {
        let call = UiCall::Interview { title, questions: lifted(questions)?, timeout_ms };
        ask!(self, Call::Ui(call), Output::Form(form) => form.responses.lower())
    }

    async fn notify(&mut self, message: String, level: ui::NoticeLevel) -> Result<(), Fault> {
        ask!(self, Call::Ui(UiCall::Notify { message, level: lifted(level)? }), Output::Empty => ())
    }

    async fn set_status(&mut self, key: String, text: Option<String>) -> Result<(), Fault> {
        ask!(self, Call::Ui(UiCall::SetStatus { key, text }), Output::Empty => ())
    }

    async fn set_widget(
        &mut self,
        key: String,
        lines: Option<Vec<String>>,
        placement: ui::Placement,
    ) -> Result<(), Fault> {
        let call = UiCall::SetWidget { key, lines, placement: lifted(placement)? };
        ask!(self, Call::Ui(call), Output::Empty => ())
    }

    async fn set_title(&mut self, title: String) -> Result<(), Fault> {
        ask!(self, Call::Ui(UiCall::SetTitle { title }), Output::Empty => ())
    }

    async fn set_working_message(&mut self, text: Option<String>) -> Result<(), Fault> {
        ask!(self, Call::Ui(UiCall::SetWorkingMessage { text }), Output::Empty => ())
    }

    async fn set_editor_text(&mut self, text: String) -> Result<(), Fault> {
        ask!(self, Call::Ui(UiCall::SetEditorText { text }), Output::Empty => ())
    }

    async fn get_editor_text(&mut self) -> Result<Option<String>, Fault> {
        ask!(self, Call::Ui(UiCall::GetEditorText), Output::Answer(answer) => answer.text)
    }
}

impl events::Host for Room {
    async fn emit(&mut self, channel: String, data: String) -> Result<(), Fault> {
        ask!(self, Call::Events(EventsCall::Emit { channel, data: lifted(data)? }), Output::Empty => ())
    }

    async fn subscribe(&mut self, channel: String) -> Result<(), Fault> {
        ask!(self, Call::Events(EventsCall::Subscribe { channel }), Output::Empty => ())
    }

    async fn unsubscribe(&mut self, channel: String) -> Result<(), Fault> {
        ask!(self, Call::Events(EventsCall::Unsubscribe { channel }), Output::Empty => ())
    }

    async fn tool_update(
        &mut self,
        call_id: String,
        content: Vec<types::ContentBlock>,
        details: Option<String>,
    ) -> Result<(), Fault> {
        let (content, details) = (lifted(content)?, lifted(details)?);
        let call = EventsCall::ToolUpdate { call_id: call_id.into(), content, details };
        ask!(self, Call::Events(call), Output::Empty => ())
    }
}

impl env::Host for Room {
    async fn get(&mut self, name: String) -> Result<Option<String>, Fault> {
        ask!(self, Call::Env(EnvCall::Get { name }), Output::Variable(variable) => variable.value)
    }

    async fn list(&mut self) -> Result<Vec<String>, Fault> {
        ask!(self, Call::Env(EnvCall::List), Output::Variables(variables) => variables.names)
    }
}

impl credentials::Host for Room {
    async fn get(&mut self, provider: String) -> Result<credentials::Credential, Fault> {
        let call = CredentialsCall::Get { provider: provider.into() };
        ask!(self, Call::Credentials(call), Output::Credential(credential) => credential.lower())
    }
}

impl log::Host for Room {
    async fn write(
        &mut self,
        level: types::Level,
        event: String,
        message: String,
        data: Option<String>,
    ) -> Result<(), Fault> {
        let event = LogEvent::from(event.as_str());
        let note = LogNote { level: lifted(level)?, event, message, data: lifted(data)? };
        ask!(self, Call::Log(note), Output::Empty => ())
    }
}
