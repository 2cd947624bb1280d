//! Which model is asked, and how hard it thinks.

use pi_transcript::{Model, ThinkingLevel};

use super::{App, Pick};
use crate::{
    chat::Tone,
    footer::window_of,
    picker::{Choice, Picker},
    wish::{Action, Missing},
};

/// What is known about models beside what they are.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// Those that lack something.
    pub(super) missing: Vec<Missing>,
    /// Those of which nobody says what they can do, as `provider/model`.
    pub(super) undescribed: Vec<String>,
    /// Why the current one is asked.
    pub(super) why: String,
    /// Why the current one cannot be asked; nothing is said to it then.
    pub(super) silence: Option<String>,
}

impl App {
    /// Somebody else is asked from now on.
    pub(super) fn take_model(&mut self, model: Model) {
        "chosen here".clone_into(&mut self.knowledge.why);
        self.knowledge.silence = None;
        self.footer.is_described = !self.knowledge.undescribed.contains(&name(&model));
        self.footer.model = model;
    }

    /// Says that nobody would hear it, where that is so.
    pub(super) fn is_unheard(&mut self) -> bool {
        let Some(why) = &self.knowledge.silence else { return false };
        let text = format!("{} cannot be asked: {why}; /model chooses who goes on", name(&self.footer.model));
        self.note(Tone::Warning, text);
        true
    }

    pub(super) fn choose_model(&mut self, rest: &str) -> Vec<Action> {
        let is_meant = |id: &str, full: &str| id == rest || full == rest;
        let exact = self.models.iter().position(|model| is_meant(model.id.as_str(), &name(model)));
        let missing = self.knowledge.missing.iter().position(|missing| missing.name == rest);
        match (exact, missing) {
            (Some(place), _) => self.set_model(place).into_iter().collect(),
            (None, Some(place)) => {
                self.tell_missing(place);
                Vec::new()
            }
            (None, None) => {
                self.pick_model(rest);
                Vec::new()
            }
        }
    }

    /// Asks for the model at a place of the list.
    pub(super) fn set_model(&self, place: usize) -> Option<Action> {
        let model = self.models.get(place)?;
        Some(Action::SetModel { provider: model.provider.clone(), model: model.id.clone() })
    }

    /// Says what somebody has to do who wants to ask this one.
    pub(super) fn tell_missing(&mut self, place: usize) {
        let Some(Missing { name, needs }) = self.knowledge.missing.get(place) else { return };
        let text =
            format!("{name} cannot be asked yet: it needs {needs}. Set that and start again: `pi -c` comes back here");
        self.note(Tone::Warning, text);
    }

    /// Opens the list of models: first those that are gone through, then others that can be asked, then those that lack
    /// something, with what it is.
    pub(super) fn pick_model(&mut self, filter: &str) {
        let usable = self.models.iter().enumerate().map(|(place, model)| Choice {
            label: name(model),
            detail: format!("{} · {}", model.name, window_of(model)),
            preview: String::new(),
            value: Pick::Model(place),
        });
        let missing = self.knowledge.missing.iter().enumerate().map(|(place, missing)| Choice {
            label: missing.name.clone(),
            detail: format!("needs {}", missing.needs),
            preview: String::new(),
            value: Pick::Missing(place),
        });
        let gone_through = match self.scoped {
            0 => String::new(),
            1 => "; ctrl+p stays with the first".to_owned(),
            scoped => format!("; ctrl+p goes through the first {scoped}"),
        };
        let title = format!("model, now {}{gone_through} ({})", name(&self.footer.model), self.knowledge.why);
        let mut picker = Picker::new(title, usable.chain(missing).collect(), self.model_place().unwrap_or(0));
        if !filter.is_empty() {
            picker.set_filter(filter);
        }
        self.picker = Some(picker);
    }

    pub(super) fn choose_level(&mut self, rest: &str) -> Vec<Action> {
        if self.footer.is_thoughtless() {
            let text = self.thoughtless();
            self.note(Tone::Quiet, text);
            return Vec::new();
        }
        if let Ok(level) = rest.parse::<ThinkingLevel>() {
            return vec![Action::SetThinking(level)];
        }
        let choices = ThinkingLevel::ALL.into_iter().map(|level| Choice {
            label: level.to_string(),
            detail: String::new(),
            preview: String::new(),
            value: Pick::Level(level),
        });
        let current = ThinkingLevel::ALL.iter().position(|level| *level == self.footer.thinking);
        self.picker = Some(Picker::new("thinking", choices.collect(), current.unwrap_or(0)));
        Vec::new()
    }

    /// That the model cannot do what is wanted of it.
    fn thoughtless(&self) -> String {
        format!("{} does not think; /model chooses one that does", name(&self.footer.model))
    }

    pub(super) fn cycle_thinking(&mut self) -> Vec<Action> {
        if !self.footer.model.reasoning {
            let hint = if self.footer.is_thoughtless() {
                self.thoughtless()
            } else {
                format!("nobody says whether {} thinks; /thinking asks it to", name(&self.footer.model))
            };
            self.hint = Some((hint, None));
            return Vec::new();
        }
        let levels = ThinkingLevel::ALL;
        let place = levels.iter().position(|level| *level == self.footer.thinking).unwrap_or(0);
        vec![Action::SetThinking(levels[(place + 1) % levels.len()])]
    }

    pub(super) fn cycle_model(&mut self, by: isize) -> Vec<Action> {
        let (count, lack) = match self.scoped {
            0 => (self.models.len(), "there is no other model; /model says what others need"),
            scoped => (scoped, "enabledModels and --models name no other model; /model chooses from all"),
        };
        let place = self.model_place().filter(|place| *place < count);
        if count == usize::from(place.is_some()) {
            self.hint = Some((lack.to_owned(), None));
            return Vec::new();
        }
        let next = match place {
            Some(place) => place.wrapping_add_signed(by).wrapping_add(count) % count,
            None if by < 0 => count - 1,
            None => 0,
        };
        let Some(model) = self.models.get(next) else { return Vec::new() };
        vec![Action::CycleModel { provider: model.provider.clone(), model: model.id.clone() }]
    }

    pub(super) fn model_place(&self) -> Option<usize> {
        let current = &self.footer.model;
        self.models.iter().position(|model| model.id == current.id && model.provider == current.provider)
    }
}

/// `provider/model`.
pub(super) fn name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}
