//! `pi ext allow`: what an extension may do from now on.

use std::collections::BTreeMap;

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::{
    GIVEN,
    config::{ExtensionPolicy, GrantEntry},
};

use super::{
    grants::{self, Decided, Decision},
    meant,
};
use crate::{
    arguments::ext::{AllowArguments, DecisionArguments},
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
};

pub(crate) fn run(
    arguments: &AllowArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let file = grants::file(environment)?;
    let AllowArguments { decision: decided, duration, from } = arguments;
    let DecisionArguments { name, capability, .. } = decided;
    if name == "*" {
        return Err(ConsentFailure::AllowEverybody.into());
    }
    if capability == "*" {
        return Err(ConsentFailure::AllowEverything.into());
    }
    let capability = grants::capability(capability)?;
    let expires = duration.as_deref().map(grants::end_of).transpose()?;
    let seen = meant::meant(name, from.as_deref(), environment)?;
    let entry = GrantEntry {
        capability: capability.clone(),
        methods: None,
        scope: grants::scope(decided),
        versions: decided.versions.clone(),
        expires: expires.map(|end| end.to_string()),
        origin: seen.as_ref().and_then(|seen| seen.origin.clone()),
    };
    let alone = BTreeMap::from([(name.clone(), vec![entry.clone()])]);
    grants::check(ExtensionPolicy { grants: alone, ..ExtensionPolicy::default() })?;
    let (scope, origin) = (entry.scope.clone(), entry.origin.clone());
    let changed =
        file.change(name, Change::Allow { grants: vec![entry], now: grants::now() }).map_err(ConsentFailure::Grants)?;
    match &seen {
        None => meant::note_unseen(name, environment, console),
        Some(seen) => {
            let lacks = seen.declared.as_ref().is_some_and(|declared| !declared.contains(&capability));
            if lacks && !GIVEN.contains(&capability) {
                let file = seen.origin.as_deref().unwrap_or("its folder");
                console.note(&format!(
                    "{name} does not declare {capability}, so this has no effect until it does: add {{\"capability\":\"{capability}\"}} to capability_manifest.capabilities in {file}/extension.json"
                ));
            }
        }
    }
    if capability == Capability::Env && decided.env.is_empty() {
        console.note(&format!(
            "variables that hold secrets are handed out only by name: pi ext allow {name} env --env NAME"
        ));
    }
    let decision = Decision::Allowed { until: expires, origin };
    grants::tell(&Decided { name, capability: capability.as_str(), scope, decision, changed }, console);
    Ok(Exit::Success)
}
