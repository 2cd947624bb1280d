//! What can be changed about a session: its model, how hard that thinks, its name, its bookmarks, what it has from files.
//!
//! Extensions hear of a change when it is made. Nobody waits for them: it has happened.

use std::sync::Arc;

use pi_extproto::hook::event::{
    Event,
    payload::{ModelSelectEvent, ModelSource, SelectedModel, SessionInfoChangedEvent, ThinkingLevelSelectEvent},
};
use pi_transcript::{AgentEvent, EntryId, Model, ThinkingLevel};

use super::Mailbox;
use crate::{
    draft::Draft,
    furnishing::Furnishing,
    models::{Choice, scope::ScopedModel},
    queue::When,
    session::{Cycled, Direction},
    tree::NoEntry,
};

impl Mailbox {
    pub(super) fn set_model(&mut self, choice: Arc<Choice>, source: ModelSource) {
        let (provider, model) = (choice.provider().clone(), choice.id().into());
        let address = choice.address().map(str::to_owned);
        let clear = self.parts.models.in_the_clear(&choice);
        let told =
            clear.map(|note| AgentEvent::InputNotice { message: format!("{provider}: {note}") }).into_iter().collect();
        let before = std::mem::replace(&mut self.choice, choice);
        self.append(Vec::new(), vec![Draft::ModelChange { provider, model, address }], told);
        self.hearing.notify(selected(&self.choice, Some(&before), source));
    }

    /// Goes on to the model before or behind the current one, of those that are gone through; `None` if there is no other.
    pub(super) fn cycle_model(&mut self, direction: Direction) -> Option<Cycled> {
        let scoped = self.scoped_models();
        let is_scoped = !scoped.is_empty();
        let usable = match is_scoped {
            true => scoped.into_iter().map(|scoped| scoped.choice).collect(),
            false => self.usable_models(),
        };
        let is_current = |choice: &Arc<Choice>| choice.name() == self.choice.name();
        let next = match (usable.iter().position(is_current), direction) {
            (Some(_), _) if usable.len() < 2 => return None,
            (Some(place), Direction::Forward) => (place + 1) % usable.len(),
            (Some(place), Direction::Backward) => (place + usable.len() - 1) % usable.len(),
            // The current one cannot be used any more, or never could.
            (None, Direction::Forward) => 0,
            (None, Direction::Backward) => usable.len().checked_sub(1)?,
        };
        let choice = Arc::clone(usable.get(next)?);
        self.cycle_to(Arc::clone(&choice));
        Some(Cycled { choice, is_scoped })
    }

    /// Goes on to this model, which thinks as hard as is said of it among those that are gone through.
    pub(super) fn cycle_to(&mut self, choice: Arc<Choice>) {
        let is_it = |scoped: &ScopedModel| scoped.choice.name() == choice.name();
        let level = self.scoped_models().into_iter().find(is_it).and_then(|scoped| scoped.thinking);
        self.set_model(choice, ModelSource::Cycle);
        if let Some(level) = level {
            self.set_thinking_level(level);
        }
    }

    /// Goes on to the next level; `None` if the model cannot think.
    pub(super) fn cycle_thinking_level(&mut self) -> Option<ThinkingLevel> {
        if !self.choice.model().reasoning {
            return None;
        }
        let levels = ThinkingLevel::ALL;
        let place = levels.iter().position(|level| *level == self.thinking).unwrap_or(0);
        Some(self.set_thinking_level(levels[(place + 1) % levels.len()]))
    }

    /// The level that it became.
    pub(super) fn set_thinking_level(&mut self, level: ThinkingLevel) -> ThinkingLevel {
        let level = self.choice.clamp(level);
        if level != self.thinking {
            let previous_level = std::mem::replace(&mut self.thinking, level);
            let told = vec![AgentEvent::ThinkingLevelChanged { level }];
            self.append(Vec::new(), vec![Draft::ThinkingLevelChange(level)], told);
            self.hearing.notify(Event::ThinkingLevelSelect(ThinkingLevelSelectEvent { level, previous_level }));
        }
        level
    }

    pub(super) fn rename(&mut self, name: String) {
        let told = vec![AgentEvent::SessionInfoChanged { name: Some(name.clone()) }];
        self.append(Vec::new(), vec![Draft::Name(Some(name.clone()))], told);
        self.hearing.notify(Event::SessionInfoChanged(SessionInfoChangedEvent { name: Some(name) }));
    }

    /// Takes over what was read anew. What somebody chose in this session stays, unless the files say something new about it.
    pub(super) fn furnish(&mut self, furnishing: Furnishing) {
        let Furnishing { composer, system, policy, habits, scope } = furnishing;
        let before = std::mem::replace(&mut self.habits, habits);
        if habits.retry != before.retry {
            self.retry = habits.retry;
        }
        if habits.compaction != before.compaction {
            self.compaction = habits.compaction;
        }
        if habits.steering != before.steering {
            self.queues.set_delivery(When::Steer, habits.steering);
        }
        if habits.follow_up != before.follow_up {
            self.queues.set_delivery(When::FollowUp, habits.follow_up);
        }
        (self.composer, self.whole_system, self.policy, self.scope) = (composer, system, policy, scope);
        self.renew_system();
        self.tell_offers();
    }

    pub(super) fn label(&mut self, target: EntryId, label: Option<String>) -> Result<(), NoEntry> {
        self.tree.find(&target)?;
        self.append(Vec::new(), vec![Draft::Label { target, label }], Vec::new());
        Ok(())
    }
}

/// What extensions hear of a choice.
pub(super) fn selected(choice: &Choice, before: Option<&Arc<Choice>>, source: ModelSource) -> Event {
    let previous_model = before.map(|before| of_model(before.model()));
    Event::ModelSelect(ModelSelectEvent { model: of_model(choice.model()), previous_model, source })
}

fn of_model(model: &Model) -> SelectedModel {
    SelectedModel {
        id: model.id.to_string(),
        provider: model.provider.to_string(),
        name: Some(model.name.clone()),
        api: Some(model.api.clone()),
        reasoning: Some(model.reasoning),
        context_window: Some(model.context_window),
        max_tokens: Some(model.max_tokens),
    }
}
