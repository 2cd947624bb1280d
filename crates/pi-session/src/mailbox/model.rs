//! The models that a session can ask: those that everybody can, and those that its extensions bring.

use std::sync::Arc;

use pi_transcript::{ModelId, ProviderId};

use super::Mailbox;
use crate::{
    complaint::Complaint,
    models::{
        Absence, Choice, Lacking, LackingModel, ModelError, guest,
        scope::{Named, Oddity, Pick, ScopedModel},
    },
};

impl Mailbox {
    /// Takes over what extensions offer now. Who answers is named before there are extensions, so it may be one of theirs.
    pub(super) fn refresh_models(&mut self) {
        self.offered = guest::offered(&self.parts.guests.providers());
        if let Some(brought) = self.offered.0.iter().find(|brought| brought.name() == self.choice.name()) {
            self.choice = Arc::clone(brought);
            self.thinking = self.choice.clamp(self.thinking);
        }
    }

    /// Those that can be asked as far as credentials are concerned. One that an extension brings comes before one of the
    /// same name, and so does one that somebody named at the start.
    pub(super) fn usable_models(&self) -> Vec<Arc<Choice>> {
        let mut usable = self.offered.0.clone();
        let own = self.own_models.iter().filter(|choice| self.is_usable(choice)).cloned();
        for choice in own.chain(self.parts.models.available()) {
            if usable.iter().all(|known| known.name() != choice.name()) {
                usable.push(choice);
            }
        }
        usable
    }

    /// The models that are gone through, in their order; none where that is all of them.
    pub(super) fn scoped_models(&self) -> Vec<ScopedModel> {
        self.scoped().0
    }

    fn scoped(&self) -> (Vec<ScopedModel>, Vec<Oddity>) {
        // Who can be asked is not found out for nothing.
        if self.scope.is_everything() {
            return (Vec::new(), Vec::new());
        }
        let usable = self.usable_models();
        let named = |choice| {
            let choice: &Arc<Choice> = choice;
            Named { provider: choice.provider().as_str(), id: choice.id(), title: &choice.model().name }
        };
        let (picks, oddities) = self.scope.pick(&usable.iter().map(named).collect::<Vec<_>>());
        let model = |Pick { place, thinking }| ScopedModel { choice: Arc::clone(&usable[place]), thinking };
        (picks.into_iter().map(model).collect(), oddities)
    }

    pub(super) fn model_named(&self, provider: &ProviderId, model: &ModelId) -> Result<Arc<Choice>, ModelError> {
        let is_meant = |choice: &&Arc<Choice>| choice.provider() == provider && choice.id() == model.as_str();
        match self.offered.0.iter().chain(&self.own_models).find(is_meant) {
            Some(choice) => Ok(Arc::clone(choice)),
            None => self.parts.models.named(provider, model),
        }
    }

    pub(super) fn is_usable(&self, choice: &Choice) -> bool {
        self.parts.models.has_credential(choice)
    }

    /// Why a model is none of those that can be asked.
    pub(super) fn absence(&self, provider: &ProviderId, model: &ModelId) -> Absence {
        let Ok(choice) = self.model_named(provider, model) else { return Absence::Unknown };
        if !choice.answers() {
            return Absence::Mute;
        }
        match self.parts.models.lack(&choice) {
            Some(lack) => Absence::NoCredential { settable: lack.settable() },
            None => Absence::Unlisted,
        }
    }

    /// Every model that one could talk to if it had a credential, with the variables in which one is looked for.
    pub(super) fn lacking_models(&self) -> Vec<LackingModel> {
        let of_provider = |lacking: Lacking| {
            let needs = lacking.lack.settable();
            let provider = lacking.provider;
            let model =
                move |id: String| LackingModel { provider: provider.clone(), id: id.into(), needs: needs.clone() };
            lacking.models.into_iter().map(model)
        };
        self.parts.models.lacking().into_iter().flat_map(of_provider).collect()
    }

    /// What is wrong with what extensions offer, and with the models that are to be gone through.
    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let collisions = self.parts.guests.collisions().into_iter().map(Complaint::Collision);
        let odd = self.scoped().1.into_iter().map(Complaint::Scope);
        collisions.chain(self.offered.1.iter().cloned()).chain(odd).collect()
    }
}
