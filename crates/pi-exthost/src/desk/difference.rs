//! How what a guest says of itself differs from what its manifest says of it.
//!
//! What a guest says can narrow what its manifest declares, and never widen it: the manifest was there before any code ran. A
//! guest that says more was changed after it was described, or hopes that nobody compares: either is worth a line in its log.

use pi_extproto::capability::{Declared, DeclaredBy, Requirement, Scope};

use crate::{guest::Introduction, launcher::Identity};

/// Everything that differs, in sentences. A guest whose manifest declares nothing can say what it wants.
pub(super) fn differences(identity: &Identity, said: &Introduction) -> Vec<String> {
    let mut told = Vec::new();
    let id = identity.id.as_str();
    if said.name != id {
        told.push(format!("it calls itself {:?}, and is known here as {id:?}", said.name));
    }
    if said.version != identity.version {
        let known = &identity.version;
        told.push(format!("it says that it is version {:?}, and is known here as {known:?}", said.version));
    }
    if identity.declared.by() != DeclaredBy::Nothing {
        told.extend(said.declared().requirements().iter().filter_map(|need| wider(need, &identity.declared)));
    }
    told
}

/// Whether a need is not within what was declared.
fn wider(need: &Requirement, declared: &Declared) -> Option<String> {
    let capability = need.capability.as_str();
    let mut known = declared.requirements().iter().filter(|known| known.capability == need.capability).peekable();
    if known.peek().is_none() {
        return Some(format!("it says that it needs {capability}, which its manifest does not declare"));
    }
    let is_within = known.any(|known| {
        within(need.methods.as_deref(), known.methods.as_deref())
            && is_narrower(need.scope.as_ref(), known.scope.as_ref())
    });
    (!is_within).then(|| format!("it says that it needs {capability} more widely than its manifest declares"))
}

fn is_narrower(need: Option<&Scope>, known: Option<&Scope>) -> bool {
    let Some(known) = known else { return true };
    let empty = Scope::default();
    let need = need.unwrap_or(&empty);
    within(need.paths.as_deref(), known.paths.as_deref())
        && within(need.hosts.as_deref(), known.hosts.as_deref())
        && within(need.env.as_deref(), known.env.as_deref())
}

/// Whether a list is part of another. An absent one is everything. Patterns are compared as they are written.
fn within<T: PartialEq>(need: Option<&[T]>, known: Option<&[T]>) -> bool {
    match (need, known) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(need), Some(known)) => need.iter().all(|item| known.contains(item)),
    }
}

#[cfg(test)]
mod tests {
    use pi_extproto::capability::CapabilityManifest;
    use serde_json::{Value, json};

    use super::*;
    use crate::launcher::{Evidence, Provenance};

    fn manifest(needs: &Value) -> CapabilityManifest {
        serde_json::from_value(json!({ "schema": "pi.ext.cap.v1", "capabilities": needs })).expect("a manifest")
    }

    fn check(declared: Option<Value>, said: &Value, expected: &[&str]) {
        let declared = declared.map(|needs| manifest(&needs));
        let identity = Identity {
            id: "known".into(),
            version: "1.0.0".to_owned(),
            artifact: None,
            provenance: Provenance::Trusted,
            origins: Vec::new(),
            declared: Declared::new(declared.as_ref(), None),
            evidence: Evidence::CLEAN,
            folder: "/own".into(),
            own: crate::launcher::Own::folder("/own".into()),
            data: "/data".into(),
            temporary: "/tmp".into(),
        };
        let said = Introduction {
            name: "known".to_owned(),
            version: "1.0.0".to_owned(),
            api_version: "1.0".to_owned(),
            capabilities: None,
            capability_manifest: Some(manifest(said)),
        };
        assert_eq!(differences(&identity, &said), expected);
    }

    #[test]
    fn needs_beyond_the_manifest_are_told() {
        let read = |paths: &[&str]| json!({ "capability": "read", "scope": { "paths": paths } });
        let narrow = || Some(json!([read(&["src/**", "docs/**"])]));
        check(narrow(), &json!([read(&["src/**"])]), &[]);
        check(
            narrow(),
            &json!([read(&["**"])]),
            &["it says that it needs read more widely than its manifest declares"],
        );
        check(
            narrow(),
            &json!([{ "capability": "read" }, { "capability": "exec" }]),
            &[
                "it says that it needs read more widely than its manifest declares",
                "it says that it needs exec, which its manifest does not declare",
            ],
        );
        let by_tool = Some(json!([{ "capability": "read", "methods": ["tool"] }]));
        let by_file = json!([{ "capability": "read", "methods": ["fs"] }]);
        check(by_tool, &by_file, &["it says that it needs read more widely than its manifest declares"]);
        check(None, &json!([{ "capability": "exec" }]), &[]);
    }
}
