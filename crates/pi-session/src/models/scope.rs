//! Which models are gone through when somebody goes on to the next one: Pi's `enabledModels`, and `--models`.
//!
//! What patterns mean is found out among the models that can be asked at the moment, for these come and go with credentials
//! and extensions. It is what they mean to Pi: a pattern with `*`, `?` or `[` fits `provider/model` or `model`, any other is
//! a name or a part of one, and `:level` behind either says how hard to think.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use pi_transcript::ThinkingLevel;

use super::Choice;

/// Patterns of models, in the order in which their models are gone through; none where that is all models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope(Arc<[String]>);

/// A model that is gone through.
#[derive(Debug, Clone)]
pub struct ScopedModel {
    pub choice: Arc<Choice>,
    /// How hard it thinks when somebody comes to it; as hard as the one before if nobody says.
    pub thinking: Option<ThinkingLevel>,
}

/// A model, as patterns name it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    pub provider: &'a str,
    pub id: &'a str,
    /// As people call it.
    pub title: &'a str,
}

/// A model that a pattern means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Its place among the models.
    pub place: usize,
    pub thinking: Option<ThinkingLevel>,
}

/// What is odd about a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Oddity {
    #[error("no model that can be asked fits {pattern:?} (enabledModels or --models)")]
    NoMatch { pattern: String },
    #[error("{word:?} behind the colon of {pattern:?} is no level of thinking (enabledModels or --models)")]
    NoLevel { pattern: String, word: String },
}

/// What a pattern means.
#[derive(Default)]
struct Meaning {
    places: Vec<usize>,
    thinking: Option<ThinkingLevel>,
    /// What stands behind a colon and is no level.
    strange: Option<String>,
}

impl Scope {
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.into())
    }

    /// Whether all models are gone through.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of the models that are meant, each once, and what is odd about the patterns.
    pub fn pick(&self, models: &[Named<'_>]) -> (Vec<Pick>, Vec<Oddity>) {
        let (mut picks, mut oddities) = (Vec::<Pick>::new(), Vec::new());
        for pattern in self.0.iter() {
            let Meaning { places, thinking, strange } = match pattern.contains(['*', '?', '[']) {
                true => of_glob(pattern, models),
                false => of_name(pattern, models),
            };
            if places.is_empty() {
                oddities.push(Oddity::NoMatch { pattern: pattern.clone() });
            } else if let Some(word) = strange {
                oddities.push(Oddity::NoLevel { pattern: pattern.clone(), word });
            }
            for place in places {
                if picks.iter().all(|pick| pick.place != place) {
                    picks.push(Pick { place, thinking });
                }
            }
        }
        (picks, oddities)
    }
}

fn of_glob(pattern: &str, models: &[Named<'_>]) -> Meaning {
    let (base, thinking) = match level_behind(pattern) {
        Some((base, level)) => (base, Some(level)),
        None => (pattern, None),
    };
    // Ids may have brackets.
    let exact = exactly(base, models);
    let places = match (exact.is_empty(), matcher(base)) {
        (false, _) => exact,
        (true, Some(glob)) => {
            found(models, |model| glob.is_match(format!("{}/{}", model.provider, model.id)) || glob.is_match(model.id))
        }
        (true, None) => Vec::new(),
    };
    Meaning { places, thinking, strange: None }
}

/// `*` and `?` stay inside of what stands between slashes.
fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

/// Names have colons too, so what stands behind the last one is a level only where the whole names nobody.
fn of_name(text: &str, models: &[Named<'_>]) -> Meaning {
    let exact = exactly(text, models);
    let places = if exact.is_empty() { nearly(text, models) } else { exact };
    if !places.is_empty() {
        return Meaning { places, ..Meaning::default() };
    }
    let Some((base, word)) = text.rsplit_once(':') else { return Meaning::default() };
    let inner = of_name(base, models);
    match level_behind(text) {
        Some((_, level)) => Meaning { thinking: inner.strange.is_none().then_some(level), ..inner },
        None => Meaning { thinking: None, strange: Some(word.to_owned()), ..inner },
    }
}

/// The model of this name; where no provider is named, of every provider that has one of this id.
fn exactly(text: &str, models: &[Named<'_>]) -> Vec<usize> {
    let is_it = |id: &str| id.eq_ignore_ascii_case(text);
    if let Some((provider, rest)) = text.split_once('/') {
        let is_of_provider = |model: &Named<'_>| model.provider.eq_ignore_ascii_case(provider);
        let is_named = |model: &Named<'_>| is_of_provider(model) && model.id.eq_ignore_ascii_case(rest);
        let own = models.iter().position(is_named);
        let own = own.or_else(|| models.iter().position(|model| is_of_provider(model) && is_it(model.id)));
        if let Some(own) = own {
            return vec![own];
        }
    }
    found(models, |model| is_it(model.id))
}

/// The likeliest model with a part of this name: an alias before one that has a day in its id, and the last of them.
fn nearly(text: &str, models: &[Named<'_>]) -> Vec<usize> {
    let lower = text.to_lowercase();
    let has = |text: &str, part: &str| text.to_lowercase().contains(part);
    let fits = |model: &Named<'_>, part: &str| has(model.id, part) || has(model.title, part);
    let of_provider = text.split_once('/').and_then(|(provider, rest)| {
        let rest = rest.to_lowercase();
        let is_its = |model: &Named<'_>| model.provider.eq_ignore_ascii_case(provider) && fits(model, &rest);
        let best = best(models, found(models, is_its))?;
        Some(vec![best])
    });
    if let Some(place) = of_provider {
        return place;
    }
    let fitting = found(models, |model| fits(model, &lower));
    let Some(best) = best(models, fitting.clone()) else { return Vec::new() };
    fitting.into_iter().filter(|place| models[*place].id == models[best].id).collect()
}

fn best(models: &[Named<'_>], places: Vec<usize>) -> Option<usize> {
    let rank = |place: &usize| (!is_dated(models[*place].id), models[*place].id.to_lowercase());
    // Of several that are the same the first.
    places.into_iter().rev().max_by_key(rank)
}

/// Whether an id ends with a day, as `-20250929`.
fn is_dated(id: &str) -> bool {
    let day = id.rsplit_once('-').map(|(_, day)| day);
    day.is_some_and(|day| day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit()))
}

fn found(models: &[Named<'_>], is_meant: impl Fn(&Named<'_>) -> bool) -> Vec<usize> {
    models.iter().enumerate().filter(|(_, model)| is_meant(model)).map(|(place, _)| place).collect()
}

fn level_behind(text: &str) -> Option<(&str, ThinkingLevel)> {
    let (base, word) = text.rsplit_once(':')?;
    Some((base, word.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: [Named<'static>; 9] = [
        Named { provider: "anthropic", id: "claude-sonnet-4-5", title: "Claude Sonnet 4.5" },
        Named { provider: "anthropic", id: "claude-sonnet-4-5-20250929", title: "Claude Sonnet 4.5" },
        Named { provider: "anthropic", id: "claude-opus-4-1-20250805", title: "Claude Opus 4.1" },
        Named { provider: "openai", id: "gpt-5", title: "GPT-5" },
        Named { provider: "openai", id: "gpt-5-mini", title: "GPT-5 mini" },
        Named { provider: "router", id: "openai/gpt-5", title: "GPT-5" },
        Named { provider: "router", id: "qwen/qwen3:free", title: "Qwen3" },
        Named { provider: "router", id: "long[1m]", title: "Long" },
        Named { provider: "azure", id: "gpt-5", title: "GPT-5" },
    ];

    /// The models that patterns mean, with the level behind those that have one, and what is odd.
    fn check(patterns: &[&str], expected: &str) {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let (picks, oddities) = Scope::new(&patterns).pick(&MODELS);
        let pick = |Pick { place, thinking }: &Pick| {
            let level = thinking.map(|level| format!(":{level}")).unwrap_or_default();
            format!("{place}{level}")
        };
        let told = picks.iter().map(pick).chain(oddities.iter().map(ToString::to_string)).collect::<Vec<_>>();
        assert_eq!(told.join(" "), expected, "{patterns:?}");
    }

    #[test]
    fn patterns_mean_what_they_mean_to_pi() {
        let nobody = |pattern: &str| format!("no model that can be asked fits {pattern:?} (enabledModels or --models)");
        for (patterns, expected) in [
            (&["anthropic/claude-sonnet-4-5"] as &[&str], "0"),
            (&["OpenAI/GPT-5"], "3"),
            (&["gpt-5"], "3 8"),
            (&["openai/gpt-5-mini", "gpt-5"], "4 3 8"),
            (&["sonnet"], "0"),
            (&["opus"], "2"),
            (&["openai/mini:high"], "4:high"),
            (&["Claude Opus"], "2"),
            (&["qwen/qwen3:free"], "6"),
            (&["qwen/qwen3:free:low"], "6:low"),
            (&["anthropic/*"], "0 1 2"),
            (&["*sonnet*:max", "gpt-5-mini:off"], "0:max 1:max 4:off"),
            (&["gpt-*"], "3 4 8"),
            (&["*"], "0 1 2 3 4 7 8"),
            (&["**/gpt-5"], "3 5 8"),
            (&["gpt-?"], "3 8"),
            (&["GPT-[5]"], "3 8"),
            (&["{gpt-5,claude}-*"], "0 1 2 4"),
            (&["long[1m]"], "7"),
            (&["router/long[1m]:high"], "7:high"),
            (&["openai/*:low", "gpt-5:high"], "3:low 4:low 5:low 8:high"),
            (&[], ""),
        ] {
            check(patterns, expected);
        }
        check(&["nobody", "gpt-5-mini"], &format!("4 {}", nobody("nobody")));
        check(&["nobody/*"], &nobody("nobody/*"));
        check(&["nobody:high"], &nobody("nobody:high"));
        check(&["broken["], &nobody("broken["));
    }

    #[test]
    fn word_that_is_no_level_is_told_and_left_out() {
        let told =
            r#"4 "hard" behind the colon of "gpt-5-mini:hard" is no level of thinking (enabledModels or --models)"#;
        check(&["gpt-5-mini:hard"], told);
    }
}
