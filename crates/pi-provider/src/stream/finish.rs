//! The standard's reasons for the end of an answer, from every vocabulary that is in use.

use indexmap::IndexMap;
use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};

use crate::{
    event::{Finish, Termination},
    manifest::{Manifest, names},
};

/// The words of one provider.
#[derive(Debug, Clone)]
pub(super) struct FinishWords {
    words: IndexMap<String, Termination>,
}

impl FinishWords {
    /// The manifest's `termination` comes first, then its contract, which uses OpenAI's words, then those of the dialect.
    pub(super) fn new(manifest: &Manifest, dialect: &IndexMap<String, Termination>) -> Self {
        let mut words = dialect.clone();
        for (word, meaning) in &manifest.contract.response_mapping.finish_reason_mapping {
            words.insert(word.clone(), standard(meaning).unwrap_or(Termination::Other));
        }
        words.extend(manifest.termination.mapping.iter().map(|(word, meaning)| (word.clone(), *meaning)));
        Self { words }
    }

    /// What a word means by itself, whatever else the answer holds.
    pub(super) fn read(&self, word: &str) -> Finish {
        let reason = self.words.get(word).copied().or_else(|| standard(word)).unwrap_or(Termination::Other);
        Finish { reason, raw: word.to_owned() }
    }
}

/// The words of the standard, and those of OpenAI that contracts use.
fn standard(word: &str) -> Option<Termination> {
    let exact = Termination::deserialize(word.into_deserializer()).map_err(|_: value::Error| ()).ok();
    exact.or_else(|| names::termination_alias(word))
}
