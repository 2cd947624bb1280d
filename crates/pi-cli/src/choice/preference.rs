//! The model that the user's settings name.

use serde_json::Value;

use crate::{
    console::Console,
    env::Environment,
    failure::{Failure, ModelFailure},
    input,
};

/// What a settings file names.
pub(super) struct Preference {
    pub(super) name: String,
    file: String,
}

impl Preference {
    /// Pi's `defaultProvider` and `defaultModel`. A file that is not JSON names nothing, and that is said.
    pub(super) fn of_settings(environment: &Environment, console: &mut Console) -> Option<Self> {
        let path = environment.agent_directory.as_ref()?.join("settings.json");
        let file = path.display().to_string();
        let document = path.exists().then(|| input::read(&path))?;
        let settings = match document.map(|it| serde_json::from_slice::<Value>(it.bytes())) {
            Ok(Ok(settings)) => settings,
            Ok(Err(error)) => {
                console.note(&format!("{file} is ignored: it is not JSON: {error}"));
                return None;
            }
            Err(failure) => {
                console.note(&format!("{file} is ignored: {}", failure.summary()));
                return None;
            }
        };
        let text = |name: &str| settings.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
        let name = match (text("defaultProvider"), text("defaultModel")) {
            (Some(provider), Some(model)) => format!("{provider}/{model}"),
            (None, Some(name)) | (Some(name), None) => name.to_owned(),
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
