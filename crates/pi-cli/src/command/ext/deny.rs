//! `pi ext deny`: what an extension may not do from now on, whatever settings grant.

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::config::DenyEntry;

use super::grants::{self, Decided, Decision};
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
    if arguments.duration.is_some() {
        // Time alone never allows more.
        return Err(ConsentFailure::DenyForAWhile.into());
    }
    let DecisionArguments { name, capability, .. } = arguments;
    let entry = DenyEntry {
        capability: Capability::from(capability.as_str()),
        methods: None,
        scope: grants::scope(arguments),
        versions: arguments.versions.clone(),
    };
    let scope = entry.scope.clone();
    let changed = file.change(name, Change::Deny(entry)).map_err(ConsentFailure::Grants)?;
    grants::tell(&Decided { name, capability, scope, decision: Decision::Denied, changed }, console);
    Ok(Exit::Success)
}
