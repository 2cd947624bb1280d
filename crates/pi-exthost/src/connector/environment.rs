//! `env` and `credentials`: variables of the program, and raw keys.

use pi_extproto::{
    capability::{Capability, Method},
    connector::environment::{CredentialsCall, EnvCall, Variable, Variables},
    host::HostError,
};
use pi_policy::{Grant, Rule, Target};

use super::invalid;
use crate::desk::{Desk, Output, Terms};

pub(super) async fn look(desk: &Desk, call: EnvCall, terms: &Terms) -> Result<Output, HostError> {
    let variables = &desk.inner.house.fittings.variables;
    let action = |target| desk.action(Capability::Env, Method::Env, target);
    match call {
        EnvCall::Get { name } => {
            let (value, wanted) = (variables.get(&name), action(Target::Variable(name.clone())));
            let is_withheld = |grant: &Grant| value.is_some_and(|value| !is_open(grant, &name, value));
            // Before it is said to be allowed: what is not named is not handed out, whatever allows variables as such.
            if value.is_some_and(|value| pi_redact::is_withheld_variable(&name, value)) {
                desk.inner.house.fittings.rulebook.refresh().await;
                if desk.would_allow(wanted.clone()).as_ref().is_some_and(is_withheld) {
                    return Err(desk.denied_secret(&wanted, &name, terms));
                }
            }
            match desk.authorize(wanted.clone(), terms).await? {
                grant if is_withheld(&grant) => Err(desk.denied_secret(&wanted, &name, terms)),
                _ => {
                    let is_passed = desk.inner.workspace.settings().environment.passes(&name);
                    let is_withheld = (value.is_some() && !is_passed).then_some(true);
                    Ok(Variable { value: value.cloned(), is_withheld }.into())
                }
            }
        }
        EnvCall::List => {
            // Once for all of them: what somebody has just changed counts.
            desk.inner.house.fittings.rulebook.refresh().await;
            // Who may not see the whole sees what it may; only a deny that somebody wrote is an answer for all of it.
            if desk.would_allow(action(Target::Environment)).is_none() && is_denied(desk) {
                desk.authorize(action(Target::Environment), terms).await?;
            }
            let may_see = |(name, value): &(&String, &String)| {
                let grant = desk.would_allow(action(Target::Variable((*name).clone())));
                grant.is_some_and(|grant| is_open(&grant, name, value))
            };
            Ok(Variables { names: variables.iter().filter(may_see).map(|(name, _)| name.clone()).collect() }.into())
        }
    }
}

pub(super) async fn unlock(desk: &Desk, call: CredentialsCall) -> Result<Output, HostError> {
    let CredentialsCall::Get { provider } = call;
    let keys = desk.inner.house.fittings.keys.as_ref().ok_or_else(|| invalid("there are no keys here"))?;
    let found = keys(provider.clone()).await;
    found.map(Output::from).ok_or_else(|| invalid(format!("there is no key for {provider}")))
}

/// A secret is handed out only if somebody named it.
fn is_open(grant: &Grant, name: &str, value: &str) -> bool {
    grant.is_named() || grant.rule() == Rule::Given || !pi_redact::is_withheld_variable(name, value)
}

/// Whether even what everybody is given is denied.
fn is_denied(desk: &Desk) -> bool {
    let home = desk.action(Capability::Env, Method::Env, Target::Variable("HOME".to_owned()));
    desk.would_allow(home).is_none()
}
