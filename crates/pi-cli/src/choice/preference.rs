//! The model that the user's settings name.

use pi_session::settings::{self, Layer, Settings};

use crate::{
    console::Console,
    env::Environment,
    failure::{Failure, ModelFailure},
};

/// What a settings file names.
pub(crate) struct Preference {
    pub(super) name: String,
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
        Some(Preference { name: name(&self.settings)?, file: self.file.clone() })
    }
}

impl Preference {
    /// What settings name that were resolved.
    pub(crate) fn of_resolved(settings: &Settings) -> Option<Self> {
        Some(Preference { name: name(settings)?, file: "settings.json".to_owned() })
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

fn name(settings: &Settings) -> Option<String> {
    match (&settings.default_provider, &settings.default_model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.to_string()),
        (Some(provider), None) => Some(provider.to_string()),
        (None, None) => None,
    }
}
