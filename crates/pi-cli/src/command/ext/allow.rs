//! `pi ext allow`: what an extension may do from now on.

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::config::{GrantEntry, ScopeEntry};
use serde_json::json;

use super::grants;
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
    let DecisionArguments { name, capability, .. } = arguments;
    if name == "*" {
        return Err(ConsentFailure::AllowEverybody.into());
    }
    let expires = arguments.duration.as_deref().map(grants::end_of).transpose()?;
    let entry = GrantEntry {
        capability: Capability::from(capability.as_str()),
        methods: None,
        scope: scope(arguments),
        versions: arguments.versions.clone(),
        expires: expires.map(|end| end.to_string()),
    };
    let shown = grants::scope_in_words(entry.scope.as_ref());
    let changed = file.change(name, Change::Allow(vec![entry])).map_err(ConsentFailure::Grants)?;
    match console.reader() {
        Reader::Machine => {
            let told = json!({ "extension": name, "capability": capability, "added": changed.added,
                "removedDenies": changed.removed, "expires": expires.map(|end| end.to_string()) });
            console.line(&told.to_string());
        }
        Reader::Person => {
            let until = expires.map(|end| format!(", until {end}")).unwrap_or_default();
            console.line(&format!("allowed: {name} {capability}{shown}{until}"));
            if changed.removed > 0 {
                console.remark(&format!("{} decisions that said the opposite are taken back", changed.removed));
            }
        }
    }
    Ok(Exit::Success)
}

/// Only what was named narrows.
pub(super) fn scope(arguments: &DecisionArguments) -> Option<ScopeEntry> {
    let given = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    let scope = ScopeEntry {
        paths: given(&arguments.path),
        hosts: given(&arguments.host),
        env: given(&arguments.env),
        commands: given(&arguments.command),
    };
    (scope != ScopeEntry::default()).then_some(scope)
}
