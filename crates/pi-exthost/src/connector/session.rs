//! `session`: what an extension asks of its conversation.

mod branch;

use serde_json::Value;
use tokio::sync::mpsc;

use pi_extproto::{
    connector::{
        data::Data,
        session::{
            Acceptance, AppendedEntry, ChosenLevel, CommandInfo, CommandSource, Commands, Compaction, Completion,
            ContextUsage, Entries, EntryLabel, EntrySelection, ForkPoint, FoundEntry, GitBranch, ModelInfo, ModelName,
            Models, ScopedModel, ScopedModels, SessionCall, SessionHeader, SessionMode, SessionState, SystemPrompt,
            ToolInfo, Tools,
        },
        stream::{Channel, Piece, StreamEnd, StreamItem},
    },
    hook::DraftMessage,
    host::{ErrorCode, HostError},
};
use pi_transcript::{EntryId, Message, message::ToolDefinition};

use super::{invalid, refused};
use crate::{
    desk::{Desk, Dry, Output, Sluice, Terms},
    port::{self, Control, Conversation, Expansion, ForkPosition, Mode, Navigation, Selection},
};

/// Steps of an answer that may wait; the model waits when there are more.
const STEPS: usize = 64;

pub(super) async fn perform(desk: &Desk, call: SessionCall, terms: &Terms) -> Result<Output, HostError> {
    let conversation = &desk.conversation(terms);
    let refuse = |refusal| refused(&refusal);
    Ok(match call {
        SessionCall::GetState => state(conversation.state().await.map_err(refuse)?)?.into(),
        SessionCall::GetSystemPrompt => {
            SystemPrompt { text: conversation.system_prompt().await.map_err(refuse)? }.into()
        }
        SessionCall::GetHeader => {
            SessionHeader { header: to_json(&conversation.header().await.map_err(refuse)?)? }.into()
        }
        SessionCall::GetEntries { selection } => entries(conversation, selection).await?.into(),
        SessionCall::GetEntry { entry_id } => {
            let entry = conversation.entry(entry_id).await.map_err(refuse)?;
            FoundEntry { entry: entry.map(|entry| to_json(&*entry)).transpose()? }.into()
        }
        SessionCall::GetLabel { entry_id } => {
            EntryLabel { label: conversation.label(entry_id).await.map_err(refuse)? }.into()
        }
        SessionCall::AppendEntry { custom_type, data } => {
            AppendedEntry { entry_id: conversation.append_entry(custom_type, data).await.map_err(refuse)? }.into()
        }
        SessionCall::SendMessage { custom_type, content, display, details, delivery, trigger_turn } => {
            let message = DraftMessage { custom_type, content, display, details };
            let sent = match trigger_turn {
                true => conversation.send_message_and_run(message, delivery).await,
                false => conversation.send_message(message, delivery).await,
            };
            sent.map_err(refuse)?.into()
        }
        SessionCall::SendUserMessage { content, delivery, expand } => {
            let expansion = if expand { Expansion::Templates } else { Expansion::Verbatim };
            conversation.send_user_message(content, delivery, expansion).await.map_err(refuse)?.into()
        }
        SessionCall::SetName { name } => conversation.set_name(name).await.map_err(refuse)?.into(),
        SessionCall::SetLabel { entry_id, label: Some(label) } => {
            conversation.set_label(entry_id, label).await.map_err(refuse)?.into()
        }
        SessionCall::SetLabel { entry_id, label: None } => {
            conversation.remove_label(entry_id).await.map_err(refuse)?.into()
        }
        SessionCall::GetTools => tools(conversation.tools().await.map_err(refuse)?).into(),
        SessionCall::SetActiveTools { names } => conversation.set_active_tools(names).await.map_err(refuse)?.into(),
        SessionCall::GetCommands => commands(conversation.commands().await.map_err(refuse)?).into(),
        SessionCall::GetModels => models(conversation.models().await.map_err(refuse)?)?.into(),
        SessionCall::GetScopedModels => scoped(conversation.scoped_models().await.map_err(refuse)?)?.into(),
        SessionCall::GetGitBranch => {
            let folder = desk.inner.house.fittings.folders.project.clone();
            let looked = tokio::task::spawn_blocking(move || branch::of(&folder)).await;
            GitBranch { branch: looked.map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))? }.into()
        }
        SessionCall::SetModel { provider, model } => {
            Acceptance { accepted: conversation.set_model(provider, model).await.map_err(refuse)? }.into()
        }
        SessionCall::SetThinkingLevel { level } => {
            ChosenLevel { level: conversation.set_thinking_level(level).await.map_err(refuse)? }.into()
        }
        call @ SessionCall::Complete { .. } => {
            let answer = conversation.complete(question(call)?).await.map_err(refuse)?;
            Completion { message: to_json(&Message::Assistant(answer))? }.into()
        }
        SessionCall::Compact { instructions } => {
            Compaction { result: to_json(&conversation.compact(instructions).await.map_err(refuse)?)? }.into()
        }
        SessionCall::Abort => conversation.abort().await.map_err(refuse)?.into(),
        SessionCall::WaitForIdle => {
            control(desk, terms, Control::WaitForIdle).await?;
            Output::Empty
        }
        SessionCall::NewSession { parent } => control(desk, terms, Control::NewSession { parent }).await?.into(),
        SessionCall::Fork { entry_id, position } => control(desk, terms, fork(entry_id, position)).await?.into(),
        SessionCall::NavigateTree { entry_id: entry, summarize, instructions, replace_instructions, label } => {
            let replaces_instructions = replace_instructions;
            let navigation = Navigation { entry, summarize, instructions, replaces_instructions, label };
            control(desk, terms, Control::Navigate(navigation)).await?.into()
        }
        SessionCall::SwitchSession { path } => control(desk, terms, Control::SwitchSession { path }).await?.into(),
        SessionCall::Reload => control(desk, terms, Control::Reload).await?.into(),
        SessionCall::RegistrationChanged => conversation.registration_changed().await.map_err(refuse)?.into(),
        SessionCall::Quit => conversation.quit().await.map_err(refuse)?.into(),
    })
}

/// A model call whose answer is wanted while it comes. Each piece is JSON: the steps as they are told, and at last what the
/// call would have answered as a whole.
pub(super) async fn stream(desk: &Desk, call: SessionCall, sluice: &mut Sluice) -> Result<(), HostError> {
    let (steps, mut told) = mpsc::channel(STEPS);
    let question = port::Completion { steps: Some(steps), ..question(call)? };
    let answering = desk.inner.conversation.complete(question);
    tokio::pin!(answering);
    let answer = loop {
        tokio::select! {
            biased;
            Some(step) = told.recv() => {
                if pass(sluice, &step).await?.is_err() {
                    return Ok(());
                }
            }
            answer = &mut answering => break answer.map_err(|refusal| refused(&refusal))?,
        }
    };
    while let Ok(step) = told.try_recv() {
        if pass(sluice, &step).await?.is_err() {
            return Ok(());
        }
    }
    let answer = Completion { message: to_json(&Message::Assistant(answer))? };
    if pass(sluice, &answer).await?.is_ok() {
        // Who does not listen any more has what it wanted.
        let _ = sluice.send(StreamItem::End(StreamEnd { exit: None, truncated: false })).await;
    }
    Ok(())
}

async fn pass(sluice: &mut Sluice, said: &impl serde::Serialize) -> Result<Result<(), Dry>, HostError> {
    let text = serde_json::to_vec(said).map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(sluice.send(StreamItem::Piece(Piece { channel: Channel::Body, data: Data(text) })).await)
}

fn question(call: SessionCall) -> Result<port::Completion, HostError> {
    let SessionCall::Complete { model, system_prompt, messages, tools, max_tokens, thinking_level } = call else {
        return Err(invalid("of a session only the answer of a model comes in pieces"));
    };
    Ok(port::Completion {
        model: model.map(|ModelName { provider, model }| port::ModelName { provider, model }),
        system_prompt,
        messages: read::<Message>("messages", messages)?,
        tools: read::<ToolDefinition>("tools", tools.unwrap_or_default())?,
        max_tokens,
        thinking_level,
        steps: None,
    })
}

async fn entries(conversation: &Conversation, selection: EntrySelection) -> Result<Entries, HostError> {
    let selection = match selection {
        EntrySelection::All => Selection::All,
        EntrySelection::Branch => Selection::Branch,
    };
    let entries = conversation.entries(selection).await.map_err(|refusal| refused(&refusal))?;
    Ok(Entries { entries: entries.iter().map(|entry| to_json(&**entry)).collect::<Result<_, _>>()? })
}

fn fork(entry: EntryId, position: ForkPoint) -> Control {
    let position = match position {
        ForkPoint::Before => ForkPosition::Before,
        ForkPoint::At => ForkPosition::At,
    };
    Control::Fork { entry, position }
}

/// Only a command may do this, and it has a pass that says so.
async fn control(desk: &Desk, terms: &Terms, control: Control) -> Result<Acceptance, HostError> {
    let pass =
        terms.control.as_ref().ok_or_else(|| invalid("only a slash command may leave or replace the session"))?;
    let accepted = desk.conversation(terms).control(pass, control).await.map_err(|refusal| refused(&refusal))?;
    Ok(Acceptance { accepted })
}

fn state(state: port::SessionState) -> Result<SessionState, HostError> {
    let model = state.model.as_ref();
    Ok(SessionState {
        session_id: state.session_id,
        file: state.file,
        folder: state.folder,
        name: state.name,
        leaf_id: state.leaf_id,
        cwd: state.cwd,
        model: model.map(|model| ModelName { provider: model.provider.clone(), model: model.id.clone() }),
        model_info: model.map(to_json).transpose()?,
        thinking_level: state.thinking_level,
        is_idle: state.is_idle,
        has_pending_messages: state.has_pending_messages,
        mode: match state.mode {
            Mode::Terminal => SessionMode::Terminal,
            Mode::Server => SessionMode::Server,
            Mode::Json => SessionMode::Json,
            Mode::Print => SessionMode::Print,
        },
        has_ui: state.mode.has_ui(),
        is_project_trusted: state.is_project_trusted,
        context_usage: state
            .context_usage
            .map(|usage| ContextUsage { tokens: usage.tokens, context_window: usage.context_window }),
    })
}

fn tools(tools: Vec<port::ToolInfo>) -> Tools {
    let tool = |tool: port::ToolInfo| ToolInfo {
        name: tool.definition.name,
        description: tool.definition.description,
        parameters: Value::Object(tool.definition.parameters),
        is_active: tool.is_active,
        source: tool.source,
    };
    Tools { tools: tools.into_iter().map(tool).collect() }
}

fn commands(commands: Vec<port::CommandInfo>) -> Commands {
    let command = |command: port::CommandInfo| {
        let (source, path) = match command.source {
            port::CommandSource::BuiltIn => (CommandSource::BuiltIn, None),
            port::CommandSource::Extension { path } => (CommandSource::Extension, Some(path)),
            port::CommandSource::Prompt { path } => (CommandSource::Prompt, Some(path)),
            port::CommandSource::Skill { path } => (CommandSource::Skill, Some(path)),
        };
        CommandInfo { name: command.definition.name, description: command.definition.description, source, path }
    };
    Commands { commands: commands.into_iter().map(command).collect() }
}

fn models(models: Vec<port::ModelInfo>) -> Result<Models, HostError> {
    let model = |port::ModelInfo { model, is_usable }: port::ModelInfo| {
        let info = to_json(&model)?;
        Ok(ModelInfo { provider: model.provider, model: model.id, is_usable, info })
    };
    Ok(Models { models: models.into_iter().map(model).collect::<Result<_, HostError>>()? })
}

fn scoped(models: Vec<port::ScopedModel>) -> Result<ScopedModels, HostError> {
    let model = |port::ScopedModel { model, thinking_level }: port::ScopedModel| {
        let info = to_json(&model)?;
        Ok(ScopedModel { provider: model.provider, model: model.id, thinking_level, info })
    };
    Ok(ScopedModels { models: models.into_iter().map(model).collect::<Result<_, HostError>>()? })
}

/// The models that are known while there is no session yet.
pub(super) fn known_models(desk: &Desk) -> Result<Output, HostError> {
    let known = desk.inner.house.fittings.models.as_ref().map(|list| list()).unwrap_or_default();
    Ok(models(known)?.into())
}

fn to_json(value: &impl serde::Serialize) -> Result<Value, HostError> {
    serde_json::to_value(value).map_err(|error| HostError::new(ErrorCode::Internal, error.to_string()))
}

fn read<T: serde::de::DeserializeOwned>(name: &str, values: Vec<Value>) -> Result<Vec<T>, HostError> {
    let item = |(index, value)| {
        serde_json::from_value(value).map_err(|error| invalid(format!("params.{name}[{index}]: {error}")))
    };
    values.into_iter().enumerate().map(item).collect()
}
