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

impl Preference {
    /// Pi's `defaultProvider` and `defaultModel`. A file that cannot be read names nothing, and that is said.
    pub(crate) fn of_settings(environment: &Environment, console: &mut Console) -> Option<Self> {
        let path = environment.agent_directory.as_ref()?.join("settings.json");
        let file = path.display().to_string();
        let layer = match Layer::read(settings::Origin::User, &path) {
            Ok(layer) => layer?,
            Err(notice) => {
                console.note(&format!("{file} is ignored: {}", notice.problem));
                return None;
            }
        };
        let settings = settings::resolve(vec![layer]).settings;
        Some(Preference { name: name(&settings)?, file })
    }

    /// The same of settings that were resolved.
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
