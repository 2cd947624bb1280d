//! Finds a model by what people type.

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

    /// The name on the wire.
    pub fn wire_id(&self) -> &str {
        self.model.and_then(|model| model.model_id.as_deref()).unwrap_or(&self.id)
    }
}

impl Catalog {
    /// The one model that is meant by `provider/model`, `model`, or a pattern that fits one model only: with `*` and
    /// `?`, or a part of a name. A provider that lists no models has every model.
    pub fn find_model(&self, pattern: &str) -> Result<Found<'_>, FindError> {
        let mut candidates = self.candidates(pattern);
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
        trusted_first(if exact.is_empty() { self.matching(pattern) } else { exact })
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

/// The models of one provider that may be meant: that of this name, else that of this name on the wire, else all that
/// fit.
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
    let fits = |id: &str| {
        let id = id.to_lowercase();
        if is_glob(&lower) { glob(&lower, &id) } else { id.contains(&lower) }
    };
    models.iter().filter(|(id, _)| fits(id)).map(found).collect()
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

fn proposed<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    nearest(wanted, names).into_iter().take(PROPOSED).map(str::to_owned).collect()
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}
