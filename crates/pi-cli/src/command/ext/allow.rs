//! `pi ext allow`: what an extension may do from now on.

use pi_exthost::consent::Change;
use pi_extproto::capability::Capability;
use pi_policy::config::GrantEntry;

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
    let DecisionArguments { name, capability, .. } = arguments;
    if name == "*" {
        return Err(ConsentFailure::AllowEverybody.into());
    }
    let expires = arguments.duration.as_deref().map(grants::end_of).transpose()?;
    let entry = GrantEntry {
        capability: Capability::from(capability.as_str()),
        methods: None,
        scope: grants::scope(arguments),
        versions: arguments.versions.clone(),
        expires: expires.map(|end| end.to_string()),
    };
    let scope = entry.scope.clone();
    let changed = file.change(name, Change::Allow(vec![entry])).map_err(ConsentFailure::Grants)?;
    grants::tell(
        &Decided { name, capability, scope, decision: Decision::Allowed { until: expires }, changed },
        console,
    );
    Ok(Exit::Success)
}
