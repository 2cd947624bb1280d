//! What extensions read of their conversation.

use std::{collections::HashSet, sync::Arc};

use pi_exthost::{
    GuestId,
    guests::GuestCommand,
    port::{CommandInfo, CommandSource, ModelInfo, Refusal, Reply, ScopedModel, Selection, SessionState, ToolInfo},
};
use pi_extproto::connector::tool;
use pi_transcript::{Entry, EntryId};

use super::super::{Mailbox, answer};
use crate::{
    models::{Choice, scope},
    run::{
        aside::{self, piece},
        desk::Piece,
    },
};

impl Mailbox {
    pub(super) fn read_entry(&mut self, id: &EntryId, reply: Reply<Option<Arc<Entry>>>) {
        let Ok(place) = self.tree.find(id) else { return answer(reply, Ok(None)) };
        let pieces = piece(&self.tree, place).into_iter().collect();
        self.read_aside(pieces, reply, |mut entries| entries.pop());
    }

    pub(super) fn read_entries(&mut self, selection: Selection, reply: Reply<Vec<Arc<Entry>>>) {
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

    pub(super) fn session_state(&self) -> SessionState {
        let file = self.parts.reader.as_ref().map(|reader| reader.path());
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
            context_usage: Some(self.context_usage()),
        }
    }

    pub(in super::super) fn tool_infos(&self) -> Vec<ToolInfo> {
        let is_active = |name: &str| self.tools.set.get(name).is_some();
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
        let guests = self.tools.guests.iter().map(|tool| ToolInfo {
            is_active: is_active(&tool.offer.definition.name),
            definition: tool.offer.definition.clone(),
            source: self.path_of(&tool.guest),
        });
        let is_replaced =
            |info: &ToolInfo| self.tools.guests.iter().any(|tool| tool.offer.definition.name == info.definition.name);
        built_in.filter(|info| !is_replaced(info)).chain(guests).collect()
    }

    /// Every known model that one can talk to, first those that can be asked.
    pub(super) fn model_infos(&self) -> Vec<ModelInfo> {
        let usable = self.usable_models();
        let info = |choice: &Choice, is_usable| ModelInfo { model: choice.model().clone(), is_usable };
        let mut infos: Vec<ModelInfo> = usable.iter().map(|choice| info(choice, true)).collect();
        // What can be asked is told already, perhaps as an extension or somebody at the start describes it.
        let known: HashSet<String> = usable.iter().map(|choice| choice.name()).collect();
        let listed = self.parts.models.listed();
        let unusable = listed.iter().filter(|listed| !listed.is_usable && !known.contains(&listed.choice.name()));
        infos.extend(unusable.map(|listed| info(&listed.choice, false)));
        infos
    }

    /// The models that are gone through; none where that is all of them.
    pub(super) fn scoped_infos(&self) -> Vec<ScopedModel> {
        let info = |scoped: scope::ScopedModel| ScopedModel {
            model: scoped.choice.model().clone(),
            thinking_level: scoped.thinking,
        };
        self.scoped_models().into_iter().map(info).collect()
    }

    /// Everything that can be called with a `/`: commands of extensions, then templates and skills, as Pi lists them. Of
    /// several with one name only the first is called, so only that is listed.
    pub(in super::super) fn command_infos(&self) -> Vec<CommandInfo> {
        let of_guest = |command: &GuestCommand| CommandInfo {
            definition: tool::CommandDefinition { name: command.typed.clone(), ..command.offer.definition.clone() },
            source: CommandSource::Extension { path: self.path_of(&command.guest).unwrap_or_default() },
        };
        let mut infos: Vec<CommandInfo> = self.parts.guests.commands().iter().map(of_guest).collect();
        for info in self.composer.commands() {
            if infos.iter().all(|known| known.definition.name != info.definition.name) {
                infos.push(info);
            }
        }
        infos
    }

    /// Where an extension was loaded from.
    pub(in super::super) fn path_of(&self, guest: &GuestId) -> Option<String> {
        let registrations = self.parts.guests.registrations();
        registrations.iter().find(|known| known.id == *guest).map(|known| known.path.clone())
    }
}
