//! `pi ext deny`: what an extension may not do from now on, whatever settings grant.
//!
//! It holds for every extension of that name, wherever it comes from: whoever forbids something loses nothing by that.

use std::collections::BTreeMap;

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::config::{DenyEntry, ExtensionPolicy};

use super::{
    grants::{self, Decided, Decision},
    meant,
};
use crate::{
    arguments::ext::DecisionArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
};

pub(crate) fn run(
    arguments: &DecisionArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let file = grants::file(environment)?;
    let DecisionArguments { name, capability, .. } = arguments;
    let capability = match capability.as_str() {
        "*" => Capability::from("*"),
        word => grants::capability(word)?,
    };
    let entry = DenyEntry {
        capability: capability.clone(),
        methods: None,
        scope: grants::scope(arguments),
        versions: arguments.versions.clone(),
    };
    let alone = BTreeMap::from([(name.clone(), vec![entry.clone()])]);
    grants::check(ExtensionPolicy { denies: alone, ..ExtensionPolicy::default() })?;
    let scope = entry.scope.clone();
    let changed = file.change(name, Change::Deny(entry)).map_err(ConsentFailure::Grants)?;
    if name != "*" && !meant::is_known(name, environment) {
        meant::note_unseen(name, environment, console);
    }
    let capability = capability.as_str();
    grants::tell(&Decided { name, capability, scope, decision: Decision::Denied, changed }, console);
    Ok(Exit::Success)
}
