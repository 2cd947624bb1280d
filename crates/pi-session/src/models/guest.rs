//! Models that extensions bring.
//!
//! An extension registers a provider in the form of Pi's `models.json`, so that is how it is read. Whether it streams by a
//! function of its own or only says where and how its models are reached: the extension asks them, with its own requests and
//! keys, and nothing of ours goes there.

use std::sync::Arc;

use pi_exthost::guests::GuestProvider;
use pi_provider::{
    Catalog,
    catalog::{Finding, Found, Origin, Source, SourceFile},
    credential::Trust,
    manifest::diagnostic::Rule,
};
use serde_json::{Value, json};

use super::{Choice, Environment};
use crate::complaint::Complaint;

/// A dialect that every manifest may name; nothing is ever sent in it.
const DIALECT: &str = "openai-completions";
/// An address that nobody asks.
const NOWHERE: &str = "https://extension.invalid";
/// What is not for the catalogue: functions and credentials are left out already, these are what may be left of them.
const WITHHELD: [&str; 4] = ["apiKey", "headers", "authHeader", "oauth"];

/// The models of these providers that can be asked, and why others cannot.
pub fn offered(providers: &[GuestProvider]) -> (Vec<Arc<Choice>>, Vec<Complaint>) {
    let (mut choices, mut complaints) = (Vec::new(), Vec::new());
    for provider in providers {
        match models_of(provider) {
            Ok(found) => choices.extend(found),
            Err(problem) => complaints.push(Complaint::Provider {
                guest: provider.guest.clone(),
                name: provider.offer.name.clone(),
                problem,
            }),
        }
    }
    (choices, complaints)
}

fn models_of(provider: &GuestProvider) -> Result<Vec<Arc<Choice>>, String> {
    let GuestProvider { guest, offer } = provider;
    if !offer.streams && offer.config.contains_key("oauth") {
        return Err(
            "its models are for those who sign in (oauth), which nobody can do here: give registerProvider an \
                    apiKey, or a streamSimple that finds its own"
                .to_owned(),
        );
    }
    if !offer.streams {
        return Err("it neither streams itself nor names a baseUrl, models and an api that extensions speak \
                    (openai-completions, anthropic-messages); describe it in models.json"
            .to_owned());
    }
    let text = |name: &str| offer.config.get(name).and_then(Value::as_str).map(str::to_owned);
    let (api, base_url) = (text("api").unwrap_or_else(|| offer.name.clone()), text("baseUrl").unwrap_or_default());
    let catalog = read(provider);
    // What is said of other servers than its own harms nobody.
    let is_grave = |finding: &&Finding| finding.diagnostic.rule != Rule::PiCompat;
    if let Some(finding) = catalog.findings().iter().find(is_grave) {
        return Err(finding.diagnostic.message.clone());
    }
    let environment: Environment = Arc::new(|_| None);
    let found: Vec<Found<'_>> = catalog.models().collect();
    if found.is_empty() {
        return Err("it names no model".to_owned());
    }
    let choice = |found: &Found<'_>| {
        let choice = Choice::new(found, None, &environment).map_err(|error| error.to_string())?;
        let mut choice = Arc::into_inner(choice).expect("nobody else has it yet");
        choice.extension = Some(guest.clone());
        let model = Arc::make_mut(&mut choice.model);
        model.api.clone_from(&api);
        model.base_url.clone_from(&base_url);
        Ok(Arc::new(choice))
    };
    found.iter().map(choice).collect()
}

/// The provider as `models.json` would have it.
fn read(provider: &GuestProvider) -> Catalog {
    let mut config = provider.offer.config.clone();
    config.retain(|name, _| !WITHHELD.contains(&name.as_str()));
    config.insert("baseUrl".to_owned(), NOWHERE.into());
    config.insert("api".to_owned(), DIALECT.into());
    for model in config.get_mut("models").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(members) = model.as_object_mut() {
            members.remove("api");
            members.remove("headers");
            members.remove("baseUrl");
        }
    }
    let text = json!({ "providers": { provider.offer.name.clone(): config } }).to_string();
    let file = SourceFile { path: "models.json".to_owned(), text: Ok(text) };
    Catalog::load(&[Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] }])
}
