//! A model as people name it: its provider may stand apart, and how hard it is to think behind it.

use pi_transcript::ThinkingLevel;

use crate::providers::Providers;

/// What was written about the model.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Spoken {
    /// Without the level.
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    /// The level that stands behind the name.
    pub(crate) level: Option<ThinkingLevel>,
}

impl Spoken {
    /// A name that a provider lists with a level in it is only a name.
    pub(crate) fn of(model: Option<&str>, provider: Option<&str>, providers: &Providers) -> Self {
        let is_listed = |name: &str| providers.catalog.find_model(name).is_ok();
        let (model, level) = match model.map(|name| (name, level_behind(name).filter(|_| !is_listed(name)))) {
            None => (None, None),
            Some((_, Some((name, level)))) => (Some(name.to_owned()), Some(level)),
            Some((name, None)) => (Some(name.to_owned()), None),
        };
        Spoken { model, provider: provider.map(str::to_owned), level }
    }
}

/// `PROVIDER/MODEL`, `PROVIDER` or `MODEL`, whichever was said.
pub(super) fn full_name(provider: Option<&str>, model: Option<&str>) -> Option<String> {
    match (provider, model) {
        (None, model) => model.map(str::to_owned),
        (Some(provider), None) => Some(provider.to_owned()),
        (Some(provider), Some(model)) if model.starts_with(&format!("{provider}/")) => Some(model.to_owned()),
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
    }
}

/// `sonnet:high` is a name and a level; `llama3:8b` is only a name.
fn level_behind(name: &str) -> Option<(&str, ThinkingLevel)> {
    let (name, word) = name.rsplit_once(':')?;
    let level = ThinkingLevel::ALL.into_iter().find(|level| level.as_str() == word)?;
    Some((name, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_stands_behind_a_colon() {
        for (text, expected) in [
            ("sonnet:high", Some(("sonnet", ThinkingLevel::High))),
            ("ollama/qwen3:8b:off", Some(("ollama/qwen3:8b", ThinkingLevel::Off))),
            ("ollama/qwen3:8b", None),
            ("sonnet", None),
        ] {
            assert_eq!(level_behind(text), expected, "{text}");
        }
    }

    #[test]
    fn provider_may_stand_apart() {
        for (provider, model, expected) in [
            (None, Some("m"), Some("m")),
            (Some("p"), None, Some("p")),
            (Some("p"), Some("m"), Some("p/m")),
            (Some("p"), Some("p/m"), Some("p/m")),
            (Some("p"), Some("other/m"), Some("p/other/m")),
            (None, None, None),
        ] {
            assert_eq!(full_name(provider, model).as_deref(), expected, "{provider:?} {model:?}");
        }
    }
}
