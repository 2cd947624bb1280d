//! The model that the user's settings name.

use pi_session::settings::{self, Layer};

use crate::{
    console::Console,
    env::Environment,
    failure::{Failure, ModelFailure},
};

/// What a settings file names.
pub(super) struct Preference {
    pub(super) name: String,
    file: String,
}

impl Preference {
    /// Pi's `defaultProvider` and `defaultModel`. A file that cannot be read names nothing, and that is said.
    pub(super) fn of_settings(environment: &Environment, console: &mut Console) -> Option<Self> {
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
        let name = match (settings.default_provider, settings.default_model) {
            (Some(provider), Some(model)) => format!("{provider}/{model}"),
            (None, Some(model)) => model.0,
            (Some(provider), None) => provider.0,
            (None, None) => return None,
        };
        Some(Preference { name, file })
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
