//! Finds a model by what people type.
//!
//! Behind the name of a provider, a name that is not listed is taken for that of a model which is not listed, and never for
//! another one that begins alike: `gpt-4o` is not `gpt-4o-mini`. Only what can be no id stands for one: whole words from
//! inside of an id (`sonnet`), and patterns. Without a provider any part of a name will do, since there is nobody to ask for
//! it as it is written. Of the models of a provider that fit, those count whose id ends like that, and those that are not
//! called old.

use crate::{builtin::Listed, likeness::nearest, manifest::ModelEntry};

use super::{Catalog, Entry};

/// A model and its provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    pub entry: &'a Entry,
    /// The id, as the manifest lists it or as the user typed it.
    pub id: String,
    /// What is known of it; nothing about a model that the manifest does not list.
    pub model: Option<&'a ModelEntry>,
}

/// Why no model, or no single one, was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("there is no provider {name:?}{}", did_you_mean(nearest))]
    NoProvider { name: String, nearest: Vec<String> },
    #[error("{provider} has no model {model:?}{}", did_you_mean(nearest))]
    NoModel { provider: String, model: String, nearest: Vec<String> },
    #[error("no model matches {pattern:?}{}", did_you_mean(nearest))]
    NoMatch { pattern: String, nearest: Vec<String> },
    #[error("{pattern:?} may be {}", candidates.join(", "))]
    Ambiguous { pattern: String, candidates: Vec<String> },
}

/// How many names an error proposes.
const PROPOSED: usize = 3;
/// How many candidates an error lists.
const LISTED: usize = 10;

impl Found<'_> {
    /// `provider/model`, which finds it again.
    pub fn name(&self) -> String {
        format!("{}/{}", self.entry.manifest.id, self.id)
    }

    /// Whether this is its own name, with the provider in front or not, and not a part of one. Upper and lower case are the
    /// same.
    pub fn is_called(&self, name: &str) -> bool {
        let own = [&self.id, self.wire_id()].map(str::to_lowercase);
        let name = name.to_lowercase();
        let behind_provider = name.split_once('/').map(|(_, model)| model);
        [Some(name.as_str()), behind_provider].into_iter().flatten().any(|name| own.iter().any(|it| it == name))
    }

    /// The name on the wire.
    pub fn wire_id(&self) -> &str {
        self.model.and_then(|model| model.model_id.as_deref()).unwrap_or(&self.id)
    }
}

impl Catalog {
    /// The one model that is meant by `provider/model`, `model`, or a pattern that fits one model only: with `*` and
    /// `?`, or a part of a name. A provider that lists no models has every model.
    pub fn find_model(&self, pattern: &str) -> Result<Found<'_>, FindError> {
        self.single(pattern, self.candidates(pattern))
    }

    /// The model of this name, and no other: for names that nobody types, such as those in settings.
    pub fn find_exactly(&self, name: &str) -> Result<Found<'_>, FindError> {
        let mut candidates = self.candidates(name);
        candidates.retain(|found| found.is_called(name));
        self.single(name, candidates)
    }

    fn single<'a>(&'a self, pattern: &str, mut candidates: Vec<Found<'a>>) -> Result<Found<'a>, FindError> {
        match candidates.len() {
            0 => Err(self.nothing_found(pattern)),
            1 => Ok(candidates.remove(0)),
            _ => {
                let candidates = candidates.iter().take(LISTED).map(Found::name).collect();
                Err(FindError::Ambiguous { pattern: pattern.to_owned(), candidates })
            }
        }
    }

    /// Every model that may be meant by what [`Catalog::find_model`] takes.
    pub fn candidates(&self, pattern: &str) -> Vec<Found<'_>> {
        let exact = || self.named(|_, model| model.id == pattern || model.wire_id == pattern);
        if let Some((name, model)) = pattern.split_once('/')
            && let Some(entry) = self.provider(name)
        {
            let own = of_provider(entry, model);
            // A router's models have the names of other providers in front.
            let routed = || trusted_first(exact());
            if !entry.is_trusted() {
                let routed: Vec<Found<'_>> = routed().into_iter().filter(|found| found.entry.is_trusted()).collect();
                return if routed.is_empty() { own } else { routed };
            }
            if !own.is_empty() {
                return own;
            }
            let routed = routed();
            return if routed.len() == 1 { routed } else { own };
        }
        let exact = exact();
        trusted_first(if exact.is_empty() { likeliest(self.matching(pattern), pattern) } else { exact })
    }

    /// Every model whose names, and the id of whose provider, are wanted. Manifests of others are not read.
    fn named(&self, is_wanted: impl Fn(&str, &Listed<'_>) -> bool) -> Vec<Found<'_>> {
        let mut found = Vec::new();
        for entry in self.providers() {
            let manifest = &entry.manifest;
            let wanted = manifest.listed().filter(|model| is_wanted(manifest.id(), model));
            let ids: Vec<String> = wanted.map(|model| model.id.to_owned()).collect();
            found.extend(ids.into_iter().map(|id| Found { entry, model: manifest.models.get(&id), id }));
        }
        found
    }

    fn nothing_found(&self, pattern: &str) -> FindError {
        match pattern.split_once('/').map(|(name, model)| (name, model, self.provider(name))) {
            Some((_, model, Some(entry))) => {
                let nearest = proposed(model, entry.manifest.models.keys().map(String::as_str));
                FindError::NoModel { provider: entry.manifest.id.to_string(), model: model.to_owned(), nearest }
            }
            Some((name, _, None)) if !is_glob(name) => {
                let names = self.providers().map(|entry| entry.manifest.id());
                FindError::NoProvider { name: name.to_owned(), nearest: proposed(name, names) }
            }
            Some((_, _, None)) | None => {
                let names = self.providers().flat_map(|entry| entry.manifest.listed()).map(|model| model.id);
                let nearest = proposed(pattern, names);
                FindError::NoMatch { pattern: pattern.to_owned(), nearest }
            }
        }
    }

    /// Every model that a pattern fits, for lists: with `*` and `?` over the whole of `provider/model` or `model`, or any
    /// part of them. Upper and lower case are the same.
    pub fn matching(&self, pattern: &str) -> Vec<Found<'_>> {
        let wanted = pattern.to_lowercase();
        let fits = |text: &str| {
            let text = text.to_lowercase();
            if is_glob(&wanted) { glob(&wanted, &text) } else { text.contains(&wanted) }
        };
        self.named(|provider, &Listed { id, wire_id, name }| {
            fits(&format!("{provider}/{id}")) || [id, wire_id].into_iter().chain(name).any(fits)
        })
    }

    /// A model that is not listed, for those who know better than the manifest.
    pub fn unlisted<'a>(&'a self, provider: &str, model: &str) -> Option<Found<'a>> {
        let entry = self.provider(provider)?;
        let known = entry.manifest.models.get(model);
        Some(Found { entry, id: model.to_owned(), model: known })
    }
}

/// Without models of projects that nobody trusts, where there are others: those cannot be asked and make no choice harder.
fn trusted_first(found: Vec<Found<'_>>) -> Vec<Found<'_>> {
    let (own, strange): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.entry.is_trusted());
    if own.is_empty() { strange } else { own }
}

/// The models of one provider that may be meant: that of this name, else that of this name on the wire, else the likeliest
/// of those that a pattern fits, or inside of whose ids these words stand.
fn of_provider<'a>(entry: &'a Entry, wanted: &str) -> Vec<Found<'a>> {
    let models = &entry.manifest.models;
    let found = |(id, model): (&String, &'a ModelEntry)| Found { entry, id: id.clone(), model: Some(model) };
    if models.is_empty() && !wanted.is_empty() && !is_glob(wanted) {
        return vec![Found { entry, id: wanted.to_owned(), model: None }];
    }
    let on_the_wire = || models.iter().find(|(_, model)| model.model_id.as_deref() == Some(wanted));
    if let Some(known) = models.get_key_value(wanted).or_else(on_the_wire) {
        return vec![found(known)];
    }
    let lower = wanted.to_lowercase();
    if let Some(known) = models.iter().find(|(id, _)| id.to_lowercase() == lower) {
        return vec![found(known)];
    }
    let fits = |id: &str| if is_glob(&lower) { glob(&lower, &id.to_lowercase()) } else { stands_inside(&lower, id) };
    likeliest(models.iter().filter(|(id, _)| fits(id)).map(found).collect(), wanted)
}

/// Of the models of each provider those whose ids end with what is wanted, and of them those that are not called old.
fn likeliest<'a>(found: Vec<Found<'a>>, wanted: &str) -> Vec<Found<'a>> {
    let wanted = words(wanted);
    let rank = |found: &Found<'_>| {
        let is_old = |status: &str| matches!(status, "legacy" | "deprecated" | "retired");
        let status = found.model.and_then(|model| model.status.as_deref());
        (!words(&found.id).ends_with(&wanted), status.is_some_and(is_old))
    };
    let ranks: Vec<_> = found.iter().map(|found| (&found.entry.manifest.id, rank(found))).collect();
    let is_best = |at: usize| ranks.iter().all(|(provider, rank)| *provider != ranks[at].0 || ranks[at].1 <= *rank);
    let best: Vec<bool> = (0..ranks.len()).map(is_best).collect();
    found.into_iter().zip(best).filter_map(|(found, is_best)| is_best.then_some(found)).collect()
}

/// Whether these are whole words of an id, and not those with which it begins: those may be an id of their own.
fn stands_inside(wanted: &str, id: &str) -> bool {
    let (wanted, id) = (words(wanted), words(id));
    !wanted.is_empty() && id.windows(wanted.len()).skip(1).any(|part| part == wanted)
}

/// Letters and digits between whatever else there is.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// `*` is any text, `?` any letter. Linear in the text for each star: a star is tried again only from the last one.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&letter) if letter == '?' || letter == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&letter| letter == '*')
}

/// Names that go on where the wanted one ends, then those that are written alike.
fn proposed<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names: Vec<&str> = names.into_iter().collect();
    let longer = names.iter().copied().filter(|name| !wanted.is_empty() && name.starts_with(wanted));
    let mut all: Vec<&str> = Vec::new();
    for name in longer.chain(nearest(wanted, names.iter().copied())) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.into_iter().take(PROPOSED).map(str::to_owned).collect()
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}
