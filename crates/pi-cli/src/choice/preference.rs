//! The model that the user's settings name, or the first of those that are gone through.

use pi_provider::catalog::Found;
use pi_session::{
    models::scope::{Named, Pick, Scope},
    settings::{self, Layer, Settings},
};
use pi_transcript::ThinkingLevel;

use crate::{
    console::Console,
    env::Environment,
    failure::{Failure, ModelFailure},
    providers::{Providers, Shown},
};

use super::{Chosen, Why, answers};

/// What a settings file names.
pub(crate) struct Preference {
    pub(super) name: String,
    pub(super) why: Why,
    file: String,
}

/// The person's own settings, for commands that belong to no project.
pub(crate) struct OwnSettings {
    pub(crate) settings: Settings,
    file: String,
}

impl OwnSettings {
    /// A file that cannot be read says nothing, and that is told.
    pub(crate) fn read(environment: &Environment, console: &mut Console) -> Self {
        let path = environment.agent_directory.as_ref().map(|agent| agent.join("settings.json"));
        let file = path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let layer = match path.map(|path| Layer::read(settings::Origin::User, &path)) {
            Some(Ok(layer)) => layer,
            Some(Err(notice)) => {
                console.note(&format!("{file} is ignored: {}", notice.problem));
                None
            }
            None => None,
        };
        OwnSettings { settings: settings::resolve(layer.into_iter().collect()).settings, file }
    }

    /// Pi's `defaultProvider` and `defaultModel`.
    pub(crate) fn preference(&self) -> Option<Preference> {
        Some(Preference { name: name(&self.settings)?, why: Why::Settings, file: self.file.clone() })
    }
}

impl Preference {
    /// What settings name that were resolved. If only some models are gone through, it is one of them, as in Pi: the first
    /// unless the settings name another one of them.
    pub(crate) fn of_resolved(settings: &Settings, providers: &Providers) -> Option<Self> {
        let (file, named) = ("settings.json".to_owned(), name(settings));
        let scoped = scoped(settings, providers);
        // What an extension may bring is not known yet.
        let may_come = |name: &str| {
            let (provider, id) = name.split_once('/').unwrap_or((name, ""));
            let named = [Named { provider, id, title: id }];
            let is_stranger = providers.catalog.provider(provider).is_none();
            is_stranger && !Scope::new(&settings.enabled_models).pick(&named).0.is_empty()
        };
        let is_known = |name: &String| scoped.iter().any(|(found, _)| found.is_called(name) || found.name() == *name);
        let is_among = |name: &String| is_known(name) || may_come(name);
        match (named, scoped.first()) {
            (Some(name), None) => Some(Preference { name, why: Why::Settings, file }),
            (Some(name), Some(_)) if is_among(&name) => Some(Preference { name, why: Why::Settings, file }),
            (_, Some((first, _))) => Some(Preference { name: first.name(), why: Why::Scope, file }),
            (None, None) => None,
        }
    }

    /// Says where a name comes from that cannot be used.
    pub(super) fn blame(self, failure: Failure) -> Failure {
        match failure {
            Failure::Model(source) => {
                ModelFailure::BadDefault { name: self.name, file: self.file, source: Box::new(source) }.into()
            }
            other => other,
        }
    }
}

/// How hard a model is to think as the patterns say by which models are gone through.
pub(crate) fn scoped_level(settings: &Settings, chosen: &Chosen, providers: &Providers) -> Option<ThinkingLevel> {
    let name = chosen.name();
    let found = scoped(settings, providers).into_iter().find(|(found, _)| found.name() == name);
    found.and_then(|(_, level)| level)
}

/// The models that are gone through, of those that can be asked and are known before there are extensions.
fn scoped<'a>(settings: &Settings, providers: &'a Providers) -> Vec<(Found<'a>, Option<ThinkingLevel>)> {
    let scope = Scope::new(&settings.enabled_models);
    if scope.is_everything() {
        return Vec::new();
    }
    let can_be_asked = |found: &Found<'_>| {
        let is_available = || providers.is_available(found.entry, &Shown::of(&providers.credential(found.entry, None)));
        answers(found.model) && found.entry.is_trusted() && is_available()
    };
    let models: Vec<Found<'a>> = providers.catalog.models().filter(can_be_asked).collect();
    let titles: Vec<String> = models.iter().map(|found| found.to_model().name).collect();
    let named = |(found, title)| {
        let (found, title): (&Found<'a>, &String) = (found, title);
        Named { provider: found.entry.manifest.id.as_str(), id: &found.id, title }
    };
    let (picks, _) = scope.pick(&models.iter().zip(&titles).map(named).collect::<Vec<_>>());
    picks.into_iter().map(|Pick { place, thinking }| (models[place].clone(), thinking)).collect()
}

fn name(settings: &Settings) -> Option<String> {
    match (&settings.default_provider, &settings.default_model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.to_string()),
        (Some(provider), None) => Some(provider.to_string()),
        (None, None) => None,
    }
}
