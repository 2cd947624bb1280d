//! Capabilities and operations: what a manifest declares, and what it therefore allows.

use std::collections::BTreeSet;

use pi_provider::{Manifest, manifest::Capability, request};
use serde_json::{Value, json};

use super::{Answer, Trouble, manifest, member, member_or_default};
use crate::runner::case::{Case, Folder};

pub(super) fn guard(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let method: String = member(case, "method")?;
    let capability =
        request::capability_of(&method).ok_or_else(|| Trouble::Case(format!("there is no method {method}")))?;
    Ok(match request::guard(&manifest, capability) {
        Ok(()) => Answer::valid(json!({"allowed": true})),
        Err(error) => {
            let code = error.code();
            Answer::valid(json!({
                "allowed": false,
                "valid": false,
                "error": error.to_string(),
                "error_code": code.number(),
                "error_name": code.name(),
            }))
        }
    })
}

pub(super) fn check(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let asked: Vec<String> = member_or_default(case, "capabilities")?;
    let one: Option<String> = member_or_default(case, "required_capability")?;
    let has = |name: &String| is_declared(&manifest, name);
    let capabilities = &manifest.capabilities;
    // Refusing what is not declared is right as well: that is what such a case expects.
    let refused = one.as_ref().filter(|name| !has(name));
    let error = match refused {
        Some(name) => match request::capability_of(name).map(|capability| request::guard(&manifest, capability)) {
            Some(Err(error)) => Some(error.code().number()),
            Some(Ok(())) | None => None,
        },
        None => None,
    };
    Ok(Answer::valid(json!({
        "valid": asked.iter().all(has) && refused.is_none(),
        "capabilities_present": {
            "required": present(case, "required", &capabilities.required),
            "optional": present(case, "optional", &capabilities.optional),
        },
        "feature_flags": capabilities.feature_flags,
        "capability_declared": one.as_ref().is_some_and(has),
        "mcp_integration_method": manifest.mcp_integration(),
        "error_code": error,
    })))
}

/// Those that the case asks for, in its order; all, where it asks for none by that name.
fn present(case: &Case, name: &str, declared: &BTreeSet<Capability>) -> Vec<String> {
    let asked = case.expected.pointer(&format!("/capabilities_present/{name}")).and_then(Value::as_array);
    let is_declared = |name: &&str| declared.iter().any(|capability| capability.name() == *name);
    match asked {
        Some(asked) => asked.iter().filter_map(Value::as_str).filter(is_declared).map(str::to_owned).collect(),
        None => declared.iter().map(ToString::to_string).collect(),
    }
}

fn is_declared(manifest: &Manifest, name: &str) -> bool {
    Capability::from_name(name).is_some_and(|capability| manifest.capabilities.has(capability))
}

pub(super) fn endpoint(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let manifest = manifest(folder, case)?;
    let operation: String = member(case, "operation")?;
    let fallback = case.input.get("fallback").and_then(Value::as_str);
    let found = manifest.operation(&operation);
    Ok(Answer::valid(json!({
        "path": found.map(|found| found.path.as_str()).or(fallback),
        "method": found.map_or("POST", |found| found.method.as_str()),
    })))
}
