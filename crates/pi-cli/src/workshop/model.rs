//! Who answers, and how hard they think about it.

use std::sync::Arc;

use pi_provider::{Secret, catalog::Found};
use pi_session::{
    Session,
    context::ModelChoice,
    models::{Choice, Models},
    settings::Settings,
};
use pi_transcript::{ModelId, ProviderId, ThinkingLevel};

use super::seat::Past;
use crate::{
    arguments::talk::ModelArguments,
    asking,
    choice::{self, Chosen, Preference, Spoken, Wanted, Why},
    console::Console,
    env,
    failure::{Failure, ModelFailure, SessionFailure},
    providers::Providers,
};

/// How hard a model thinks about which nobody said anything, as in Pi; one that does not think at all stays so.
const USUAL: ThinkingLevel = ThinkingLevel::Medium;

/// A model that can be asked now.
pub(crate) struct Answering {
    pub(crate) choice: Arc<Choice>,
    pub(crate) thinking: ThinkingLevel,
    /// The same, where no list has it: at an address that was given, or of a name that its provider does not list.
    pub(crate) own: Option<Arc<Choice>>,
    /// A credential that was spelled out.
    pub(crate) key: Option<(ProviderId, Secret)>,
    pub(crate) is_demo: bool,
    pub(crate) why: Why,
}

impl Answering {
    /// What was named, else the model of the session, else the usual one.
    pub(crate) async fn decide(
        arguments: &ModelArguments,
        past: &Past,
        settings: &Settings,
        providers: &mut Providers,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let spoken = Spoken::of(arguments.model.as_deref(), arguments.provider.as_deref(), providers);
        let mut chosen = chosen(&spoken, arguments, past, settings, providers, console).await?;
        if !choice::answers(chosen.known.as_ref()) {
            return Err(ModelFailure::NotForQuestions { model: chosen.name() }.into());
        }
        let key = asking::explicit(&arguments.reach)?;
        let resolved = providers.credential(&chosen.entry, key.as_ref());
        resolved.into_credential(&chosen.entry.manifest.id).map_err(ModelFailure::Call)?;
        let wanted = arguments.thinking.or(spoken.level);
        if wanted.is_some_and(|level| level != ThinkingLevel::Off) {
            chosen.may_think();
        }
        let thinking = wanted.or(past.thinking).or_else(|| of_settings(settings, &chosen));
        let is_demo = chosen.is_demo();
        let is_own = chosen.base_url.is_some() || chosen.known.is_none();
        let Chosen { entry, model, known, base_url, why } = chosen;
        let found = Found { entry: &entry, id: model, model: known.as_ref() };
        let environment: pi_session::models::Environment = Arc::new(env::lookup);
        let choice = Choice::new(&found, base_url, &environment).map_err(ModelFailure::CannotAsk)?;
        if let Some(level) = wanted.filter(|level| choice.clamp(*level) != *level) {
            console.note(&format!("{} does not think, so the level {level} is left out", choice.name()));
        }
        let key = key.map(|secret| (entry.manifest.id.clone(), secret));
        let own = is_own.then(|| Arc::clone(&choice));
        Ok(Answering { choice, own, thinking: thinking.unwrap_or(USUAL), key, is_demo, why })
    }

    /// Takes over whom the person chose meanwhile.
    pub(crate) async fn follow(&mut self, session: &Session, models: &Models) {
        // One that is gone says nothing, and the choice stays.
        let Ok(state) = session.state().await else { return };
        self.thinking = state.thinking;
        if let Some(choice) = self.named(&state.model.provider, &state.model.id, models)
            && choice.name() != self.choice.name()
        {
            self.choice = choice;
        }
    }

    /// A model by its name, wherever it is.
    fn named(&self, provider: &ProviderId, model: &ModelId, models: &Models) -> Option<Arc<Choice>> {
        let own = self.own.iter().find(|own| own.provider() == provider && own.id() == model.as_str());
        own.cloned().or_else(|| models.named(provider, model).ok())
    }

    /// Takes over who answered in another session. Returns their name if they cannot be asked, and changes nobody then.
    pub(crate) fn take_over(&mut self, past: &Past, models: &Models) -> Option<String> {
        self.thinking = past.thinking.unwrap_or(self.thinking);
        let before = past.model.as_ref()?;
        let is_same = before.provider == *self.choice.provider() && before.model.as_str() == self.choice.id();
        let choice = self.named(&before.provider, &before.model, models);
        match choice.filter(|choice| models.has_credential(choice)) {
            _ if is_same => None,
            Some(choice) => {
                self.choice = choice;
                None
            }
            None => Some(format!("{}/{}", before.provider, before.model)),
        }
    }

    /// Says who is asked and why, unless nobody could be surprised.
    pub(crate) fn introduce(&self, console: &mut Console) {
        match self.why {
            Why::Named | Why::Session => {}
            Why::ProviderAt
            | Why::ServerAt
            | Why::Settings
            | Why::Credential { .. }
            | Why::OwnWithout
            | Why::Local
            | Why::Demo => {
                console.remark(&format!("asking {}: {}", self.choice.name(), self.why));
            }
        }
        if self.is_demo {
            console.remark("this is the demo: it knows pi and little else, and no real model is behind it");
        }
    }
}

async fn chosen(
    spoken: &Spoken,
    arguments: &ModelArguments,
    past: &Past,
    settings: &Settings,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let mut wanted = Wanted {
        model: spoken.model.as_deref(),
        provider: spoken.provider.as_deref(),
        base_url: arguments.reach.base_url.as_deref(),
    };
    match &past.model {
        Some(before) if !wanted.is_anybody() => return again(before, settings, providers, console).await,
        // Only the address was said: who is asked there is what the session knows.
        Some(before) if wanted.model.is_none() && wanted.provider.is_none() => {
            let is_known = providers.catalog.provider(before.provider.as_str()).is_some();
            wanted.provider = Some(if is_known { before.provider.as_str() } else { choice::SERVER_ID });
            wanted.model = Some(before.model.as_str());
        }
        Some(_) | None => {}
    }
    let preference = Preference::of_resolved(settings);
    choice::choose(wanted, preference, providers, console).await
}

/// Who answered in the session before, or if they cannot be asked somebody else, who is named. Neither the demo nor a stranger
/// goes on with what was said to somebody's own server.
async fn again(
    before: &ModelChoice,
    settings: &Settings,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let name = format!("{}/{}", before.provider, before.model);
    if before.provider.as_str() == choice::SERVER_ID && providers.catalog.provider(choice::SERVER_ID).is_none() {
        return Err(SessionFailure::ServerGone { model: before.model.to_string() }.into());
    }
    let failure = match choice::of_session(&name, providers, console).await {
        Ok(chosen) => return Ok(chosen),
        Err(failure) => failure,
    };
    let why = failure.told();
    let preference = Preference::of_resolved(settings);
    let instead =
        choice::choose(Wanted { model: None, provider: None, base_url: None }, preference, providers, console).await?;
    if instead.is_demo() {
        return Err(SessionFailure::ModelGone { model: name, why }.into());
    }
    console.note(&format!("the model of this session, {name}, cannot be asked: {why}"));
    Ok(instead)
}

fn of_settings(settings: &Settings, chosen: &Chosen) -> Option<ThinkingLevel> {
    let levels = &settings.model_thinking_levels;
    let own = levels.get(&chosen.name()).or_else(|| levels.get(&chosen.model));
    own.copied().or(settings.default_thinking_level)
}
