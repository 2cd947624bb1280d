//! Who answers, and how hard they think about it.

use std::sync::Arc;

use pi_provider::{Secret, catalog::Found};
use pi_session::{
    Session,
    context::ModelChoice,
    models::{Choice, ModelError, Models},
    settings::Settings,
};
use pi_transcript::{ModelId, ProviderId, ThinkingLevel};

use super::{Workshop, seat::Past};
use crate::{
    arguments::{
        model::{ReachArguments, SourceArguments},
        talk::ModelArguments,
    },
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
    pub(crate) own: Vec<Arc<Choice>>,
    /// A credential that was spelled out.
    pub(crate) key: Option<(ProviderId, Secret)>,
    pub(crate) is_demo: bool,
    pub(crate) why: Why,
    /// What to say of its credential, where that travels in the clear.
    clear: Option<String>,
    /// Why the model of the session cannot be asked, where it is only read.
    pub(crate) silence: Option<Silence>,
    /// Why nobody of this name can be asked, unless an extension brings the model; the choice stands in for it until then.
    pub(crate) awaited: Option<Failure>,
}

/// Nobody goes on with a conversation by accident, neither the demo nor a stranger: it is open to be read, and whoever reads it
/// chooses.
pub(crate) struct Silence {
    pub(crate) why: String,
    /// Who is asked in other conversations.
    instead: Arc<Choice>,
}

/// What happens where the model of a session cannot be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// Another one goes on, who is named; never the demo.
    Another,
    /// The conversation is open to be read.
    Nobody,
}

impl Answering {
    /// What was named, else the model of the session, else the usual one. If nobody was named and the model of the session
    /// cannot be asked, the conversation is open to be read.
    pub(crate) async fn decide_or_read(
        arguments: &ModelArguments,
        past: &Past,
        settings: &Settings,
        providers: &mut Providers,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let decided = Self::decide(arguments, past, settings, Otherwise::Nobody, providers, console).await;
        let names_somebody =
            arguments.model.is_some() || arguments.provider.is_some() || arguments.reach.base_url.is_some();
        let (failure, before) = match (decided, &past.model) {
            (Err(failure @ (Failure::Model(_) | Failure::Session(_))), Some(before)) if !names_somebody => {
                (failure, before)
            }
            (decided, _) => return decided,
        };
        let nobody = Past { model: None, thinking: past.thinking, address: None };
        let mut usual = Self::decide(arguments, &nobody, settings, Otherwise::Nobody, providers, console).await?;
        let why = match &failure {
            Failure::Session(SessionFailure::ModelGone { why, .. }) => why.clone(),
            other => other.told(),
        };
        usual.fall_silent(before, format!("{why}; {}", failure.hint()));
        usual.tell_silence(console);
        Ok(usual)
    }

    /// For a session of a server: whoever it was started with answers in sessions in which nobody chose. One that has a model
    /// and a level keeps them, if that model can still be asked.
    pub(crate) async fn decide_served(
        arguments: &ModelArguments,
        past: &Past,
        settings: &Settings,
        providers: &mut Providers,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let usual = Self::decide(arguments, past, settings, Otherwise::Another, providers, console).await?;
        let Some(before) = &past.model else { return Ok(usual) };
        if *usual.choice.provider() == before.provider && usual.choice.id() == before.model.as_str() {
            return Ok(Self { thinking: past.thinking.unwrap_or(usual.thinking), ..usual });
        }
        let nobody = ModelArguments {
            model: None,
            provider: None,
            thinking: None,
            models: Vec::new(),
            reach: ReachArguments { base_url: None, api_key_env: None },
            sources: SourceArguments { provider_dir: Vec::new() },
        };
        match Self::decide(&nobody, past, settings, Otherwise::Nobody, providers, console).await {
            Ok(chosen) => Ok(Self { own: [usual.own, chosen.own].concat(), key: chosen.key.or(usual.key), ..chosen }),
            Err(_) => Ok(usual),
        }
    }

    /// What was named, else the model of the session, else the usual one.
    pub(crate) async fn decide(
        arguments: &ModelArguments,
        past: &Past,
        settings: &Settings,
        otherwise: Otherwise,
        providers: &mut Providers,
        console: &mut Console,
    ) -> Result<Self, Failure> {
        let spoken = Spoken::of(arguments.model.as_deref(), arguments.provider.as_deref(), providers);
        let mut chosen = match chosen(&spoken, arguments, past, settings, otherwise, providers, console).await {
            Ok(chosen) => chosen,
            Err(failure) => {
                let name = choice::strangers_name(&spoken, &arguments.reach, past.model.is_some(), settings, providers);
                let Some((provider, model)) = name else { return Err(failure) };
                let thinking =
                    arguments.thinking.or(spoken.level).or(past.thinking).or(settings.default_thinking_level);
                return Self::awaiting(&provider, &model, thinking.unwrap_or(USUAL), failure);
            }
        };
        if !choice::answers(chosen.known.as_ref()) {
            return Err(ModelFailure::NotForQuestions { model: chosen.name() }.into());
        }
        let key = asking::explicit(&arguments.reach)?;
        let resolved = providers.credential(&chosen.entry, key.as_ref());
        let credential = resolved.into_credential(&chosen.entry.manifest.id).map_err(ModelFailure::Call)?;
        let wanted = arguments.thinking.or(spoken.level);
        // Of a model that thought before, that is known.
        let is_same = past
            .model
            .as_ref()
            .is_some_and(|before| before.provider == chosen.entry.manifest.id && before.model.as_str() == chosen.model);
        let thought = wanted.or(past.thinking.filter(|_| is_same));
        if thought.is_some_and(|level| level != ThinkingLevel::Off) {
            chosen.may_think();
        }
        let of_scope = || choice::scoped_level(settings, &chosen, providers);
        let thinking = wanted.or(past.thinking).or_else(of_scope).or_else(|| of_settings(settings, &chosen));
        let is_demo = chosen.is_demo();
        let is_own = chosen.base_url.is_some() || chosen.known.is_none();
        let Chosen { entry, model, known, base_url, why } = chosen;
        let found = Found { entry: &entry, id: model, model: known.as_ref() };
        let environment: pi_session::models::Environment = Arc::new(env::lookup);
        let choice = Choice::new(&found, base_url, &environment).map_err(ModelFailure::CannotAsk)?;
        if let Some(level) = wanted.filter(|level| choice.clamp(*level) != *level) {
            console.note(&format!("{} does not think, so the level {level} is left out", choice.name()));
        }
        let clear = choice.in_the_clear(credential.as_ref());
        let key = key.map(|secret| (entry.manifest.id.clone(), secret));
        let own = is_own.then(|| Arc::clone(&choice)).into_iter().collect();
        let thinking = thinking.unwrap_or(USUAL);
        Ok(Answering { choice, own, thinking, key, is_demo, why, clear, silence: None, awaited: None })
    }

    /// A model that only an extension can bring.
    fn awaiting(provider: &str, model: &str, thinking: ThinkingLevel, failure: Failure) -> Result<Self, Failure> {
        Ok(Answering {
            choice: nowhere(provider, model).map_err(ModelFailure::CannotAsk)?,
            own: Vec::new(),
            thinking,
            key: None,
            is_demo: false,
            why: Why::Named,
            clear: None,
            silence: None,
            awaited: Some(failure),
        })
    }

    /// The same, unless it waits for an extension and there is none.
    pub(crate) fn unless_alone(mut self, workshop: &Workshop) -> Result<Self, Failure> {
        match self.awaited.take_if(|_| !workshop.has_extensions()) {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    /// Whether this is the same model, of the same manifests: one of a list, and not at an address of its own.
    pub(crate) fn is_same(&self, choice: &Choice) -> bool {
        let (own, other) = (&self.choice, choice);
        self.own.is_empty()
            && own.provider() == other.provider()
            && own.id() == other.id()
            && own.model() == other.model()
    }

    /// Lets the model of a session stand for itself, although it cannot be asked.
    fn fall_silent(&mut self, before: &ModelChoice, why: String) {
        // A stand-in is our own, so it is trusted.
        let Ok(choice) = nowhere(before.provider.as_str(), before.model.as_str()) else { return };
        let instead = std::mem::replace(&mut self.choice, choice);
        self.clear = None;
        self.silence = Some(Silence { why, instead });
    }

    /// Says that the conversation is only read.
    fn tell_silence(&self, console: &mut Console) {
        if let Some(silence) = &self.silence {
            let name = self.choice.name();
            console.note(&format!(
                "{name}, the model of this session, cannot be asked: {}. It is open to be read; /model chooses who goes on",
                silence.why
            ));
        }
    }

    /// Takes over whom the person chose meanwhile.
    pub(crate) async fn follow(&mut self, session: &Session, models: &Models) {
        // One that is gone says nothing, and the choice stays.
        let Ok(state) = session.state().await else { return };
        self.thinking = state.thinking;
        let is_same = self.choice.provider() == &state.model.provider && self.choice.id() == state.model.id.as_str();
        if is_same {
            return;
        }
        if let Some(choice) = self.named(&state.model.provider, &state.model.id, models) {
            self.clear = models.in_the_clear(&choice);
            (self.choice, self.why, self.silence) = (choice, Why::Chosen, None);
        }
    }

    /// A model by its name, wherever it is.
    fn named(&self, provider: &ProviderId, model: &ModelId, models: &Models) -> Option<Arc<Choice>> {
        let own = self.own.iter().find(|own| own.provider() == provider && own.id() == model.as_str());
        own.cloned().or_else(|| models.named(provider, model).ok())
    }

    /// Takes over who answered in another session. If they cannot be asked, it is open to be read, and that is told.
    pub(crate) fn take_over(&mut self, past: &Past, models: &Models, console: &mut Console) {
        if let Some(silence) = self.silence.take() {
            self.choice = silence.instead;
        }
        self.thinking = past.thinking.unwrap_or(self.thinking);
        let Some(before) = &past.model else { return };
        match self.reach(before, past, models) {
            Ok(choice) => {
                if choice.name() != self.choice.name() {
                    self.why = Why::Session;
                }
                self.clear = models.in_the_clear(&choice);
                self.choice = choice;
            }
            Err(failure) => {
                self.fall_silent(before, format!("{}; {}", failure.told(), failure.hint()));
                self.tell_silence(console);
            }
        }
    }

    /// The model of a session, where it was asked before.
    fn reach(&mut self, before: &ModelChoice, past: &Past, models: &Models) -> Result<Arc<Choice>, Failure> {
        let address = past.address.as_deref();
        let is_it = |choice: &Arc<Choice>| {
            choice.provider() == &before.provider
                && choice.id() == before.model.as_str()
                && (address.is_none() || choice.address() == address)
        };
        if let Some(known) = self.own.iter().chain([&self.choice]).find(|choice| is_it(choice)) {
            return Ok(Arc::clone(known));
        }
        let name = format!("{}/{}", before.provider, before.model);
        let is_listed = models.catalog().provider(before.provider.as_str()).is_some();
        match address {
            Some(address) if is_listed => {
                Err(SessionFailure::Elsewhere { model: name, address: address.into() }.into())
            }
            Some(address) if before.provider.as_str() == choice::SERVER_ID => {
                let server = choice::server(before.model.as_str());
                let found = Found { entry: &server.entry, id: server.model, model: None };
                let environment: pi_session::models::Environment = Arc::new(env::lookup);
                let choice = Choice::new(&found, Some(choice::checked(address)?), &environment);
                let choice = choice.map_err(ModelFailure::CannotAsk)?;
                // Of a model that thought before, that is known.
                let thought = past.thinking.is_some_and(|level| level != ThinkingLevel::Off);
                let choice = choice.trusted_to_think().filter(|_| thought).unwrap_or(choice);
                self.own.push(Arc::clone(&choice));
                Ok(choice)
            }
            Some(_) | None if before.provider.as_str() == choice::SERVER_ID && !is_listed => {
                Err(SessionFailure::ServerGone { model: before.model.to_string() }.into())
            }
            Some(_) | None => {
                let choice = models.named(&before.provider, &before.model).map_err(ModelFailure::CannotAsk)?;
                match models.lack(&choice) {
                    Some(lack) => Err(ModelFailure::Call(lack).into()),
                    None => Ok(choice),
                }
            }
        }
    }

    /// Says who is asked and why, unless nobody could be surprised.
    pub(crate) fn introduce(&self, console: &mut Console) {
        if self.silence.is_some() {
            return;
        }
        match self.why {
            Why::Named | Why::Session | Why::Chosen => {}
            Why::SessionAt { .. }
            | Why::ProviderAt
            | Why::ServerAt
            | Why::Settings
            | Why::Scope
            | Why::Credential { .. }
            | Why::OwnWithout
            | Why::Local
            | Why::Demo { .. } => {
                console.remark(&format!("asking {}: {}", self.choice.name(), self.why));
            }
        }
        if let Some(note) = &self.clear {
            console.note(note);
        }
        if self.is_demo {
            console.remark("this is the demo: it knows pi and little else, and no real model is behind it");
        }
    }
}

/// Stands for a model of which nothing but the name is known.
fn nowhere(provider: &str, model: &str) -> Result<Arc<Choice>, ModelError> {
    let stand_in = choice::stand_in(provider, model);
    let found = Found { entry: &stand_in.entry, id: stand_in.model, model: stand_in.known.as_ref() };
    let environment: pi_session::models::Environment = Arc::new(env::lookup);
    Choice::new(&found, stand_in.base_url, &environment)
}

async fn chosen(
    spoken: &Spoken,
    arguments: &ModelArguments,
    past: &Past,
    settings: &Settings,
    otherwise: Otherwise,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let mut wanted = Wanted {
        model: spoken.model.as_deref(),
        provider: spoken.provider.as_deref(),
        base_url: arguments.reach.base_url.as_deref(),
        api_key_env: arguments.reach.api_key_env.as_deref(),
    };
    match &past.model {
        Some(before) if !wanted.is_anybody() => {
            let before = Before { model: before, address: past.address.as_deref(), otherwise };
            return again(before, settings, providers, console).await;
        }
        // Only the address was said: who is asked there is what the session knows.
        Some(before) if wanted.model.is_none() && wanted.provider.is_none() => {
            let is_known = providers.catalog.provider(before.provider.as_str()).is_some();
            wanted.provider = Some(if is_known { before.provider.as_str() } else { choice::SERVER_ID });
            wanted.model = Some(before.model.as_str());
        }
        Some(_) | None => {}
    }
    let preference = Preference::of_resolved(settings, providers);
    choice::choose(wanted, preference, providers, console).await
}

/// Who answered in the session before, and where.
struct Before<'a> {
    model: &'a ModelChoice,
    address: Option<&'a str>,
    otherwise: Otherwise,
}

/// Who answered in the session before, or if they cannot be asked somebody else, who is named. Neither the demo nor a stranger
/// goes on with what was said to somebody's own server.
async fn again(
    before: Before<'_>,
    settings: &Settings,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let Before { model: before, address, otherwise } = before;
    let name = format!("{}/{}", before.provider, before.model);
    let is_listed = providers.catalog.provider(before.provider.as_str()).is_some();
    match address {
        // Its credential goes only where somebody says so.
        Some(address) if is_listed => {
            return Err(SessionFailure::Elsewhere { model: name, address: address.to_owned() }.into());
        }
        Some(address) if before.provider.as_str() == choice::SERVER_ID => {
            let (model, provider) = (Some(before.model.as_str()), Some(choice::SERVER_ID));
            let wanted = Wanted { model, provider, base_url: Some(address), api_key_env: None };
            let chosen = choice::choose(wanted, None, providers, console).await?;
            return Ok(Chosen { why: Why::SessionAt { address: address.to_owned() }, ..chosen });
        }
        Some(_) | None if before.provider.as_str() == choice::SERVER_ID && !is_listed => {
            return Err(SessionFailure::ServerGone { model: before.model.to_string() }.into());
        }
        Some(_) | None => {}
    }
    let failure = match choice::of_session(&name, providers, console).await {
        Ok(chosen) => return Ok(chosen),
        Err(failure) => failure,
    };
    let why = failure.told();
    if otherwise == Otherwise::Nobody {
        return Err(SessionFailure::ModelGone { model: name, why }.into());
    }
    let preference = Preference::of_resolved(settings, providers);
    let anybody = Wanted { model: None, provider: None, base_url: None, api_key_env: None };
    let instead = choice::choose(anybody, preference, providers, console).await?;
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
