//! Commands to a session: who does each, and how its answer is put into the protocol's words.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{Given, Hall, Outcome, Pass, Undone, done, gone, session_name, steer, told};
use crate::{
    journal::Auto,
    room::{Entry, Room, switch},
};
use pi_engine::Change;
use pi_session::{
    AnswerFault, CommandInfo, CommandSource, CompactError, Cycled, Journey, KeyFault, NavigateError, Press, Session,
    SessionGone, Summarise,
    context::Spoken,
    listing::{Page, ReadingError, Side},
    models::{self, Absence},
    queue::When,
    retry::LeftAlone,
    tree::NoEntry,
};
use pi_transcript::{Message, ModelId, ProviderId, SessionId, ThinkingLevel};
use pi_wire::{
    Data, Error, SessionCommand,
    command::{Compact, CycleModel, Direction, ExtensionUiKey, GetMessages, NavigateOptions, NavigateTree},
    error::Missing,
    response::{
        ActiveTools, ChosenModel, CycledModel, CycledThinkingLevel, ForkMessage, ForkMessageList, LackingModel,
        LastAssistantText, MessageList, ModelList, Navigated, SlashCommand, SlashCommandList, SlashCommandSource,
    },
};
use tokio_util::sync::CancellationToken;

impl Hall {
    pub(super) async fn attend(
        &self,
        id: &SessionId,
        command: SessionCommand,
        given: Given<'_>,
        entry: Option<Entry>,
    ) -> Outcome {
        let Given { ticket, began, header, class, cancel } = given;
        let (room, session) = self.enter(id).await?;
        let pass = Pass { turns: &self.turns, ticket };
        let ended = |gone_session| gone(id)(gone_session);
        if works_in_its_folder(&command) {
            self.workplace(&room)?;
        }
        let is_written_down = is_written_down(&command);
        if (is_written_down || matches!(command, SessionCommand::NavigateTree(_)))
            && let Some(path) = room.lost_file()
        {
            // What is still in memory can be read, and whoever would add to it keeps his words.
            return Err(Error::SessionFileMissing { session_id: id.clone(), path }.into());
        }
        let is_run =
            matches!(command, SessionCommand::Prompt(_) | SessionCommand::Bash(_) | SessionCommand::Compact(_));
        let outcome = match command {
            SessionCommand::Prompt(prompt) => {
                steer::prompt(&room, &session, prompt, steer::Coming { class, entry, cancel, pass }).await
            }
            SessionCommand::Steer(said) => {
                steer::queue(&room, &session, (said.message, said.images), When::Steer, (entry, pass)).await
            }
            SessionCommand::FollowUp(said) => {
                steer::queue(&room, &session, (said.message, said.images), When::FollowUp, (entry, pass)).await
            }
            SessionCommand::Abort(_) => {
                room.entered().await;
                room.stop_joining();
                // An extension that hears of the end of the run may ask a person about it.
                pass.when(steer::is_slow(room.asks_anew()), session.abort()).await.map_err(ended)?;
                done()
            }
            SessionCommand::AbortCompaction(_) => {
                room.entered().await;
                session.abort_compaction().await.map_err(ended)?;
                done()
            }
            SessionCommand::AbortRetry(_) => {
                room.entered().await;
                session.abort_retry().await.map_err(ended)?;
                done()
            }
            SessionCommand::AbortBash(_) => {
                room.entered().await;
                session.abort_bash().await.map_err(ended)?;
                done()
            }
            SessionCommand::Bash(command) => {
                let until = began + Duration::from_millis(self.engine.extended_ms);
                let shell = steer::Shell { circuits: &self.bash, header, cancel, until };
                shell.run(id, &session, command, entry).await
            }
            SessionCommand::Compact(command) => self.compact(id, &session, command, entry, cancel).await,
            SessionCommand::NavigateTree(wanted) => {
                let going = self.navigate(id, &session, wanted, entry, cancel);
                pass.when(room.asks_anew(), going).await
            }
            command @ (SessionCommand::NewSession(_)
            | SessionCommand::SwitchSessionFile(_)
            | SessionCommand::Fork(_)
            | SessionCommand::ExportHtml(_)) => {
                pass.when(room.asks_anew(), self.depart(&room, &session, command, cancel)).await
            }
            command => {
                self.converse(&room, &session, command).await.unwrap_or_else(|gone_session| Err(ended(gone_session)))
            }
        };
        if is_run {
            // What happened in a run is told before its answer.
            room.caught_up().await;
        }
        let outcome = outcome.map_err(|undone| self.with_wait(undone));
        // A command of an extension may have left for another conversation; the one that it left writes everything before it ends.
        let session = room.loaded().unwrap_or(session);
        if is_written_down && outcome.is_ok() {
            session.flush().await.map_err(ended)?;
            if session.state().await.map_err(ended)?.is_failing {
                room.caught_up().await;
                let why = room.trouble().unwrap_or_else(|| "the disk failed".into());
                let reason = format!("{why}; what was said and done holds until the session ends");
                return Err(Undone { error: Error::StorageFailed { reason }, change: Change::Altered });
            }
        }
        outcome
    }

    /// Says of a provider that failed when it may be asked again, if it is left alone by now: what was said stays said, and
    /// whoever goes on before is refused.
    fn with_wait(&self, undone: Undone) -> Undone {
        let Undone { mut error, change } = undone;
        if let Error::ProviderFailed { provider, retry_after_ms, .. } = &mut error {
            *retry_after_ms = self.workshop.left_alone(provider).map(milliseconds);
        }
        Undone { error, change }
    }

    /// What is done by asking the session once or twice.
    async fn converse(
        &self,
        room: &Arc<Room>,
        session: &Session,
        command: SessionCommand,
    ) -> Result<Outcome, SessionGone> {
        Ok(match command {
            SessionCommand::GetState(_) => told(Data::GetState(room.info(session).await?)),
            SessionCommand::GetAvailableModels(_) => {
                let models = session.models().await?;
                let models = models.iter().map(|choice| choice.model().clone()).collect();
                let lacking = session.lacking_models().await?.into_iter();
                let lacking =
                    lacking.map(|models::LackingModel { provider, id, needs }| LackingModel { provider, id, needs });
                told(Data::GetAvailableModels(ModelList { models, lacking: Some(lacking.collect()) }))
            }
            SessionCommand::GetCommands(_) => {
                let commands = session.commands().await?.into_iter().filter_map(slash_command).collect();
                told(Data::GetCommands(SlashCommandList { commands }))
            }
            SessionCommand::GetMessages(wanted) => said(session, &wanted).await?,
            SessionCommand::SetModel(wanted) => set_model(session, &wanted.provider, &wanted.model_id).await?,
            SessionCommand::CycleModel(wanted) => cycle_model(session, &wanted).await?,
            SessionCommand::SetThinkingLevel(wanted) => {
                session.set_thinking_level(wanted.level).await?;
                done()
            }
            SessionCommand::CycleThinkingLevel(_) => cycle_thinking_level(session).await?,
            SessionCommand::SetSessionName(wanted) => {
                session.rename(wanted.name).await?;
                room.forget_info();
                done()
            }
            SessionCommand::SetAutoCompaction(wanted) => {
                session.set_auto_compaction(switch(wanted.enabled)).await?;
                self.keep_auto(room, |auto| auto.compaction = Some(wanted.enabled)).await
            }
            SessionCommand::SetAutoRetry(wanted) => {
                session.set_auto_retry(switch(wanted.enabled)).await?;
                self.keep_auto(room, |auto| auto.retry = Some(wanted.enabled)).await
            }
            SessionCommand::SetActiveTools(wanted) => {
                let known = session.tools().await?;
                let is_known = |name: &&String| known.iter().any(|tool| tool.definition.name == **name);
                if let Some(unknown) = wanted.tools.iter().find(|name| !is_known(name)) {
                    return Ok(Err(Error::NotFound(Missing::Tool(unknown.clone())).into()));
                }
                session.set_active_tools(once_each(wanted.tools)).await?;
                let tools = session.state().await?.active_tools;
                told(Data::SetActiveTools(ActiveTools { tools }))
            }
            SessionCommand::GetForkMessages(_) => match everything(session).await {
                Ok(said) => told(Data::GetForkMessages(ForkMessageList { messages: fork_messages(&said) })),
                Err(ReadingError::Gone(gone)) => return Err(gone),
                Err(fault) => Err(Undone::from(Error::StorageUnreadable { reason: fault.to_string() })),
            },
            SessionCommand::GetLastAssistantText(_) => {
                let text = last_assistant_text(&session.messages().await?);
                told(Data::GetLastAssistantText(LastAssistantText { text }))
            }
            SessionCommand::SetLabel(wanted) => match session.label(wanted.entry_id, wanted.label).await? {
                Ok(()) => done(),
                Err(NoEntry { id }) => Err(Error::NotFound(Missing::Entry { id, member: Some("entryId") }).into()),
            },
            SessionCommand::ExtensionUiResponse(answered) => {
                let (id, answer) = (answered.request_id, answered.response.known);
                match session.answer(id, answer).await? {
                    Ok(()) => done(),
                    Err(fault) => {
                        self.questions.refuse();
                        Err(self.answer_fault(room, fault).into())
                    }
                }
            }
            SessionCommand::ExtensionUiKey(pressed) => press(session, pressed).await?,
            command => return self.survey(room, session, command).await,
        })
    }

    /// Why nobody waits for an answer: it comes too late, to the wrong session, or was never asked for.
    fn answer_fault(&self, room: &Room, fault: AnswerFault) -> Error {
        match fault {
            AnswerFault::Misfit(misfit) => Error::AnswerRefused(misfit),
            AnswerFault::NotOpen { id } if room.feed().has_settled(&id) => Error::RequestSettled(id),
            AnswerFault::NotOpen { id } => match self.rooms.everyone().iter().any(|other| other.feed().asks(&id)) {
                true => Error::RequestMismatch(id),
                false => Error::NoPendingRequest(id),
            },
        }
    }

    /// Compacts. Where the time is up, or somebody stops it, the conversation stays whole.
    async fn compact(
        &self,
        id: &SessionId,
        session: &Session,
        command: Compact,
        entry: Option<Entry>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let compact = || session.compact(command.custom_instructions.clone());
        let compacted = self.alone((id, session), entry, cancel, compact, |error| *error == CompactError::Busy).await?;
        match compacted {
            Ok(result) => told(Data::Compact(result)),
            Err(CompactError::Aborted) => Err(Error::Aborted.into()),
            Err(CompactError::Gone(SessionGone)) => Err(Error::SessionNotFound(id.clone()).into()),
            Err(CompactError::LeftAlone(left)) => Err(circuit_open(left)),
            Err(CompactError::Nothing) => Err(Error::NothingToCompact.into()),
            Err(error @ CompactError::Busy) => Err(Error::Refused { reason: error.to_string() }.into()),
            Err(CompactError::Failed { message }) => Err(steer::provider_failed(session, message).await.into()),
        }
    }

    /// Goes to another place in the tree. Where the time is up, or somebody stops it, the conversation stays where it is.
    async fn navigate(
        &self,
        id: &SessionId,
        session: &Session,
        wanted: NavigateTree,
        entry: Option<Entry>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let journey = journey(wanted);
        let navigate = || session.navigate(journey.clone());
        let is_busy = |error: &NavigateError| matches!(error, NavigateError::Busy);
        let went = self.alone((id, session), entry, cancel, navigate, is_busy).await?;
        match went {
            Ok(went) => told(Data::NavigateTree(Navigated { editor_text: went.text, cancelled: false, aborted: None })),
            Err(NavigateError::Aborted) => {
                told(Data::NavigateTree(Navigated { editor_text: None, cancelled: true, aborted: Some(true) }))
            }
            Err(NavigateError::NoEntry(missing)) => {
                Err(Error::NotFound(Missing::Entry { id: missing.id, member: Some("targetId") }).into())
            }
            Err(NavigateError::LeftAlone(left)) => Err(circuit_open(left)),
            Err(NavigateError::Failed { message }) => Err(steer::provider_failed(session, message).await.into()),
            Err(error @ (NavigateError::Busy | NavigateError::Gone(_))) => {
                Err(Error::Refused { reason: error.to_string() }.into())
            }
        }
    }

    /// Does something in a session that nothing else may go on beside, and stops it when that is asked for.
    async fn alone<T, E, F: Future<Output = Result<T, E>>>(
        &self,
        (id, session): (&SessionId, &Session),
        mut entry: Option<Entry>,
        cancel: &CancellationToken,
        begin: impl Fn() -> F,
        is_busy: impl Fn(&E) -> bool,
    ) -> Result<Result<T, E>, Undone> {
        loop {
            let mut going = std::pin::pin!(steer::hand_in(entry.take(), begin()));
            let ended = tokio::select! {
                // What is stopped has been handed in, or it would go on behind its own end.
                biased;
                ended = &mut going => ended,
                () = cancel.cancelled() => {
                    session.abort().await.map_err(gone(id))?;
                    // It may have been over before it could be stopped.
                    if going.await.is_ok() {
                        self.changed_untold(id).await;
                    }
                    return Err(Error::Aborted.into());
                }
            };
            match &ended {
                // A run that no command began: of its end everybody hears a moment before the session is free.
                Err(error) if is_busy(error) => tokio::select! {
                    idle = session.idle() => idle.map_err(gone(id))?,
                    () = cancel.cancelled() => return Err(Error::Aborted.into()),
                },
                Ok(_) | Err(_) => return Ok(ended),
            }
        }
    }

    /// A conversation changed, and no answer of a command tells of it: nobody commanded it, or it was stopped too late. What
    /// clients know of it is not so any more.
    pub(super) async fn changed_untold(&self, id: &SessionId) {
        if let Some(engine) = self.turns.get() {
            // An engine that has ended needs no versions.
            let _ = engine.changed(session_name(id)).await;
        }
    }

    /// Remembers what is done by itself in a session; it is on the disk before anybody is told.
    async fn keep_auto(&self, room: &Room, change: impl FnOnce(&mut Auto)) -> Outcome {
        let noted = self.journal.note(room.note_auto(change)).await;
        noted.map_err(|error| Error::StorageFailed { reason: error.to_string() })?;
        done()
    }
}

/// A provider is not asked now. Nothing is in the conversation: a client that waits and sends it again has said it once.
pub(super) fn circuit_open(left: LeftAlone) -> Undone {
    Error::CircuitOpen { recovery_ms: milliseconds(left.wait), provider: left.provider }.into()
}

fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

/// Every name where it stands first.
fn once_each(names: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}

/// Whether a command does something that `abort` and its kind stop. What only joins a run waits for that itself, and is not waited for.
pub(crate) fn can_be_stopped(command: &SessionCommand) -> bool {
    matches!(
        command,
        SessionCommand::Prompt(_)
            | SessionCommand::Bash(_)
            | SessionCommand::Compact(_)
            | SessionCommand::NavigateTree(_)
    )
}

/// Whether a command puts a message into a run, which whoever stops the run comes behind.
pub(super) fn joins_a_run(command: &SessionCommand) -> bool {
    matches!(command, SessionCommand::Steer(_) | SessionCommand::FollowUp(_))
}

/// Whether a command lets programs run in the folder of its session.
fn works_in_its_folder(command: &SessionCommand) -> bool {
    matches!(
        command,
        SessionCommand::Prompt(_) | SessionCommand::Steer(_) | SessionCommand::FollowUp(_) | SessionCommand::Bash(_)
    )
}

/// Whether the change that a command makes is an entry of the session file: it is on the disk before it is answered.
fn is_written_down(command: &SessionCommand) -> bool {
    matches!(
        command,
        SessionCommand::Prompt(_)
            | SessionCommand::Steer(_)
            | SessionCommand::FollowUp(_)
            | SessionCommand::Bash(_)
            | SessionCommand::Compact(_)
            | SessionCommand::SetModel(_)
            | SessionCommand::CycleModel(_)
            | SessionCommand::SetThinkingLevel(_)
            | SessionCommand::CycleThinkingLevel(_)
            | SessionCommand::SetSessionName(_)
            | SessionCommand::SetLabel(_)
            | SessionCommand::SetActiveTools(_)
            | SessionCommand::SetContextSource(_)
    )
}

/// Gives a component a key, or tells it how much room a client has.
async fn press(session: &Session, pressed: ExtensionUiKey) -> Result<Outcome, SessionGone> {
    let ExtensionUiKey { request_id, key, width, height } = pressed;
    let cells = |count: Option<u64>| count.map(|count| u16::try_from(count).unwrap_or(u16::MAX));
    let press = Press { key, columns: cells(width), rows: cells(height) };
    Ok(match session.press(request_id, press).await? {
        Ok(()) => done(),
        Err(KeyFault::NotOpen { id }) => Err(Error::NoPendingRequest(id).into()),
        Err(fault @ KeyFault::Keyless { .. }) => Err(Error::Refused { reason: fault.to_string() }.into()),
        Err(KeyFault::Full { .. }) => Err(Error::KeysWaiting { retry_after_ms: 250 }.into()),
    })
}

/// Built-in commands are those of a terminal; a client brings its own.
fn slash_command(command: CommandInfo) -> Option<SlashCommand> {
    let (source, path) = match command.source {
        CommandSource::BuiltIn => return None,
        CommandSource::Extension { path } => (SlashCommandSource::Extension, path),
        CommandSource::Prompt { path } => (SlashCommandSource::Prompt, path),
        CommandSource::Skill { path } => (SlashCommandSource::Skill, path),
    };
    let definition = command.definition;
    Some(SlashCommand {
        name: definition.name,
        description: definition.description,
        source,
        location: None,
        path: Some(path),
    })
}

/// All that the model is shown, or the page that is asked for. Pages go on above the summary of a compaction, to what it stands for.
async fn said(session: &Session, asked: &GetMessages) -> Result<Outcome, SessionGone> {
    let Wanted { side, most, member } = wanted(asked);
    if side == Side::End && asked.limit.is_none() {
        let messages = session.messages().await?.iter().map(|(_, message)| Message::clone(message)).collect();
        return Ok(told(Data::GetMessages(MessageList { messages, entry_ids: None, has_more: None })));
    }
    match session.messages_page(side, most).await {
        Ok(page) => Ok(told(Data::GetMessages(listed(&page)))),
        Err(ReadingError::Gone(gone)) => Err(gone),
        Err(ReadingError::NoEntry(NoEntry { id })) => {
            Ok(Err(Undone::from(Error::NotFound(Missing::Entry { id, member }))))
        }
        Err(fault @ ReadingError::File(_)) => {
            Ok(Err(Undone::from(Error::StorageUnreadable { reason: fault.to_string() })))
        }
    }
}

/// Which messages are asked for.
pub(super) struct Wanted {
    pub(super) side: Side,
    /// So many at most.
    pub(super) most: usize,
    /// The member that names an entry.
    pub(super) member: Option<&'static str>,
}

pub(super) fn wanted(asked: &GetMessages) -> Wanted {
    let (side, member) = match (&asked.before, &asked.after) {
        (_, Some(after)) => (Side::After(after.clone()), Some("after")),
        (Some(before), None) => (Side::Before(before.clone()), Some("before")),
        (None, None) => (Side::End, None),
    };
    let most = asked.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Wanted { side, most, member }
}

/// What was said on the current branch, also what a compaction has put a summary in the place of.
async fn everything(session: &Session) -> Result<Vec<Spoken>, ReadingError> {
    let Page { messages, has_more } = session.messages_page(Side::End, usize::MAX).await?;
    let above = match messages.first() {
        Some((first, _)) if has_more => session.messages_page(Side::Before(first.clone()), usize::MAX).await?.messages,
        Some(_) | None => Vec::new(),
    };
    Ok(above.into_iter().chain(messages).collect())
}

pub(super) fn listed(Page { messages, has_more }: &Page) -> MessageList {
    let (entry_ids, messages) = messages.iter().map(|(id, message)| (id.clone(), Message::clone(message))).unzip();
    MessageList { messages, entry_ids: Some(entry_ids), has_more: Some(*has_more) }
}

async fn set_model(session: &Session, provider: &ProviderId, model: &ModelId) -> Result<Outcome, SessionGone> {
    let models = session.models().await?;
    let found = models.into_iter().find(|choice| choice.provider() == provider && choice.id() == model.as_str());
    let Some(choice) = found else {
        let (provider, model_id) = (provider.clone(), model.clone());
        return Ok(Err(match session.absence(provider.clone(), model_id.clone()).await? {
            Absence::NoCredential { settable } => Error::NoCredential { provider, model_id, settable }.into(),
            Absence::Mute => Error::ModelMute { provider, model_id }.into(),
            Absence::Unlisted => Error::ModelNotListed { provider, model_id }.into(),
            Absence::Unknown => Error::ModelNotFound { provider, model_id }.into(),
        }));
    };
    session.set_model(Arc::clone(&choice)).await?;
    Ok(told(Data::SetModel(ChosenModel { model: choice.model().clone() })))
}

async fn cycle_model(session: &Session, wanted: &CycleModel) -> Result<Outcome, SessionGone> {
    let direction = match wanted.direction {
        Direction::Forward => pi_session::Direction::Forward,
        Direction::Backward => pi_session::Direction::Backward,
    };
    let Some(Cycled { choice, is_scoped }) = session.cycle_model(direction).await? else {
        return Ok(told(Data::CycleModel(None)));
    };
    let thinking_level = session.state().await?.thinking;
    Ok(told(Data::CycleModel(Some(CycledModel { model: choice.model().clone(), thinking_level, is_scoped }))))
}

async fn cycle_thinking_level(session: &Session) -> Result<Outcome, SessionGone> {
    let state = session.state().await?;
    if !state.model.reasoning {
        return Ok(told(Data::CycleThinkingLevel(None)));
    }
    let levels = ThinkingLevel::ALL;
    let current = levels.iter().position(|level| *level == state.thinking).unwrap_or(0);
    for step in 1..levels.len() {
        let wanted = levels[(current + step) % levels.len()];
        // A level that the model does not have becomes one that it has; those are passed over.
        if session.set_thinking_level(wanted).await? == wanted {
            return Ok(told(Data::CycleThinkingLevel(Some(CycledThinkingLevel { level: wanted }))));
        }
    }
    Ok(told(Data::CycleThinkingLevel(None)))
}

fn fork_messages(spoken: &[Spoken]) -> Vec<ForkMessage> {
    let of_user = |(entry_id, message): &Spoken| match &**message {
        Message::User(user) => Some(ForkMessage { entry_id: entry_id.clone(), text: user.content.text() }),
        _ => None,
    };
    spoken.iter().filter_map(of_user).collect()
}

fn last_assistant_text(spoken: &[Spoken]) -> Option<String> {
    let said = |(_, message): &Spoken| match &**message {
        Message::Assistant(said) => {
            Some(said.content.iter().filter_map(pi_transcript::Block::as_text).collect::<String>())
        }
        _ => None,
    };
    spoken.iter().rev().filter_map(said).find(|text| !text.is_empty())
}

fn journey(wanted: NavigateTree) -> Journey {
    let NavigateOptions { summarize, replace_instructions, custom_instructions, label } = wanted.options.known;
    let summarise = match (summarize, custom_instructions, replace_instructions) {
        (false, _, _) => Summarise::No,
        (true, None, _) => Summarise::Yes,
        (true, Some(instructions), false) => Summarise::With(instructions),
        (true, Some(instructions), true) => Summarise::Instead(instructions),
    };
    Journey { target: wanted.target_id, summarise, label }
}
