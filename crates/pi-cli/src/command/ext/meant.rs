//! Which extension a name stands for: the one that a session of this folder would load, or the one that was last seen.
//!
//! Nothing is built and nothing runs: manifests and names are looked at.

use std::{collections::BTreeSet, path::Path};

use pi_exthost::{GuestId, Seen, SeenFile};
use pi_guests::{
    discovery::{Places, Wanted, discover},
    launcher::{Known, known},
};
use pi_provider::likeness::nearest;

use crate::{
    command,
    console::Console,
    env::Environment,
    failure::{ConsentFailure, Failure},
    workshop::{Ground, extensions},
};

/// The extension that somebody means; nothing if nobody has seen one of that name.
pub(crate) fn meant(name: &str, from: Option<&str>, environment: &Environment) -> Result<Option<Seen>, Failure> {
    if let Some(place) = from {
        return at(name, place, environment).map(Some);
    }
    let mut found = here(environment)?;
    found.retain(|known| known.name == name);
    let last = last_seen(environment).into_iter().find(|known| known.name == name);
    let mut origins = BTreeSet::new();
    let different: Vec<Seen> = found
        .into_iter()
        .chain(last)
        .map(|known| known.seen)
        .filter(|seen| origins.insert(seen.origin.clone()))
        .collect();
    match <[Seen; 1]>::try_from(different) {
        Ok([one]) => Ok(Some(one)),
        Err(none) if none.is_empty() => Ok(None),
        Err(several) => {
            let origins = several.into_iter().filter_map(|seen| seen.origin).collect();
            Err(ConsentFailure::SeveralMeant { name: name.to_owned(), origins }.into())
        }
    }
}

/// Whether anybody has seen an extension of that name.
pub(super) fn is_known(name: &str, environment: &Environment) -> bool {
    names(environment).contains(name)
}

/// Says that a decision may have a slip in it.
pub(super) fn note_unseen(name: &str, environment: &Environment, console: &mut Console) {
    let known = names(environment);
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    console.note(&format!(
        "nobody here has seen an extension {name}: this holds for whatever comes under that name{near}"
    ));
}

fn names(environment: &Environment) -> BTreeSet<String> {
    let here = here(environment).unwrap_or_default();
    let seen = environment.agent_directory.iter().flat_map(|agent| SeenFile::in_folder(agent).read().into_keys());
    here.into_iter().map(|known| known.name).chain(seen).collect()
}

/// What lies at a place that somebody points to.
fn at(name: &str, place: &str, environment: &Environment) -> Result<Seen, Failure> {
    let last = || last_seen(environment).into_iter().find(|known| known.name == name).map(|known| known.seen);
    if let Some(seen) = last().filter(|seen| seen.origin.as_deref() == Some(place)) {
        return Ok(seen);
    }
    let named = Wanted { only_named: true, named: vec![place.to_owned()], listed: Vec::new() };
    let found = looked_at(&Ground::survey(environment)?, &named, environment);
    let names = found.iter().map(|known| known.name.clone()).collect();
    let one = found.into_iter().find(|known| known.name == name);
    let missing = || ConsentFailure::NotFrom { name: name.to_owned(), place: place.to_owned(), found: names };
    Ok(one.ok_or_else(missing)?.seen)
}

/// What sessions of this folder load, and the servers that they connect to.
fn here(environment: &Environment) -> Result<Vec<Known>, Failure> {
    let ground = Ground::survey(environment)?;
    let wanted = Wanted { only_named: false, named: Vec::new(), listed: extensions::listed(&ground.settings) };
    let mut found = looked_at(&ground, &wanted, environment);
    found.extend(command::mcp::servers(&ground, environment).servers.iter().map(|server| {
        let origin = Some(server.file.display().to_string());
        let seen = Seen { origin, version: "0.0.0".to_owned(), declared: None };
        Known { name: GuestId::of_server(&server.name).to_string(), seen }
    }));
    Ok(found)
}

fn looked_at(ground: &Ground, wanted: &Wanted, environment: &Environment) -> Vec<Known> {
    let places = Places {
        directory: ground.directory.clone(),
        // What an untrusted project brings can be decided about before it is trusted.
        is_trusted: true,
        agent: environment.agent_directory.clone(),
        home: environment.home.clone(),
        npm: environment.npm.clone(),
    };
    let trusted = environment.agent_directory.as_deref().unwrap_or(Path::new(".")).join("trusted-keys.json");
    let sources = discover(&places, wanted).sources;
    // What cannot be read is told where it is loaded.
    sources.iter().flat_map(|source| known(source, &trusted).unwrap_or_default()).collect()
}

/// Those that were seen and are still there.
fn last_seen(environment: &Environment) -> Vec<Known> {
    let Some(agent) = &environment.agent_directory else { return Vec::new() };
    let is_there = |seen: &Seen| {
        seen.origin.as_deref().is_none_or(|origin| origin.starts_with("key:") || Path::new(origin).exists())
    };
    let seen = SeenFile::in_folder(agent).read().into_iter();
    seen.filter(|(_, seen)| is_there(seen)).map(|(name, seen)| Known { name, seen }).collect()
}
