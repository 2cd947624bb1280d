//! `pi ext deny`: what an extension may not do from now on, whatever settings grant.

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::config::DenyEntry;
use serde_json::json;

use super::{allow::scope, grants};
use crate::{
    arguments::ext::DecisionArguments,
    console::{Console, Reader},
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
        scope: scope(arguments),
        versions: arguments.versions.clone(),
    };
    let shown = grants::scope_in_words(entry.scope.as_ref());
    let changed = file.change(name, Change::Deny(entry)).map_err(ConsentFailure::Grants)?;
    match console.reader() {
        Reader::Machine => {
            let told = json!({ "extension": name, "capability": capability, "added": changed.added,
                "removedGrants": changed.removed });
            console.line(&told.to_string());
        }
        Reader::Person => {
            console.line(&format!("denied: {name} {capability}{shown}"));
            if changed.removed > 0 {
                console.remark(&format!("{} decisions that said the opposite are taken back", changed.removed));
            }
        }
    }
    Ok(Exit::Success)
}
