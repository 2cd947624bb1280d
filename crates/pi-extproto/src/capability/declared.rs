//! What an extension said in advance that it needs: the manifest `pi.ext.cap.v1`, or the older flat list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::{Extra, present};

use super::{Capability, Method};

/// The capability manifest `pi.ext.cap.v1`: which capabilities an extension needs, and how narrow each of them is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CapabilityManifest {
    pub schema: CapabilitySchema,
    pub capabilities: Vec<Requirement>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The one version of the capability manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, TS)]
pub enum CapabilitySchema {
    #[default]
    #[serde(rename = "pi.ext.cap.v1")]
    V1,
}

/// One capability that an extension needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Requirement {
    pub capability: Capability,
    /// The only methods through which the capability will be used. Absent means any; empty means none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<Method>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// How far a capability reaches. An absent list does not narrow it; an empty list leaves nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Scope {
    /// Patterns of paths, relative to the project.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Names of hosts; `*.example.org` stands for every host below `example.org`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Names of environment variables.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Where a declaration came from. A flat list is coarse: it names capabilities and narrows none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredBy {
    /// The extension declared nothing at all, which is not the same as declaring that it needs nothing.
    Nothing,
    FlatList,
    Manifest,
}

/// The one view of both forms of declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    by: DeclaredBy,
    requirements: Vec<Requirement>,
}

impl CapabilityManifest {
    pub fn new(capabilities: Vec<Requirement>) -> Self {
        Self { schema: CapabilitySchema::V1, capabilities, extra: Extra::new() }
    }
}

impl Requirement {
    /// The capability through any method and without bounds: what an entry of the flat list means.
    pub fn coarse(capability: Capability) -> Self {
        Self { capability, methods: None, scope: None, extra: Extra::new() }
    }

    /// Whether this requirement speaks about a call of `method` that needs `capability`. Scopes are policy's matter.
    pub fn covers(&self, capability: &Capability, method: &Method) -> bool {
        self.capability == *capability && self.methods.as_ref().is_none_or(|methods| methods.contains(method))
    }
}

impl Declared {
    /// Reads both members of a registration; a manifest, once given, replaces the flat list.
    pub fn new(manifest: Option<&CapabilityManifest>, flat: Option<&[Capability]>) -> Self {
        match (manifest, flat) {
            (Some(manifest), _) => Self { by: DeclaredBy::Manifest, requirements: manifest.capabilities.clone() },
            (None, Some(flat)) => {
                Self { by: DeclaredBy::FlatList, requirements: flat.iter().cloned().map(Requirement::coarse).collect() }
            }
            (None, None) => Self { by: DeclaredBy::Nothing, requirements: Vec::new() },
        }
    }

    pub fn by(&self) -> DeclaredBy {
        self.by
    }

    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The requirements that cover a call; none if the extension did not announce it.
    pub fn covering<'a>(
        &'a self,
        capability: &'a Capability,
        method: &'a Method,
    ) -> impl Iterator<Item = &'a Requirement> {
        self.requirements.iter().filter(move |requirement| requirement.covers(capability, method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(json: &str) -> Requirement {
        serde_json::from_str(json).expect("a requirement")
    }

    #[test]
    fn manifest_replaces_the_flat_list() {
        let manifest = CapabilityManifest::new(vec![requirement(r#"{"capability":"read","methods":["tool"]}"#)]);
        let declared = Declared::new(Some(&manifest), Some(&[Capability::Exec]));
        assert_eq!(declared.by(), DeclaredBy::Manifest);
        assert_eq!(declared.requirements(), manifest.capabilities);
        assert_eq!(declared.covering(&Capability::Exec, &Method::Exec).count(), 0);
        assert_eq!(declared.covering(&Capability::Read, &Method::Tool).count(), 1);
        assert_eq!(declared.covering(&Capability::Read, &Method::Fs).count(), 0);
    }

    #[test]
    fn flat_list_is_coarse() {
        let declared = Declared::new(None, Some(&[Capability::Read, Capability::from("teleport")]));
        assert_eq!(declared.by(), DeclaredBy::FlatList);
        for method in Method::KNOWN {
            assert_eq!(declared.covering(&Capability::Read, method).count(), 1, "{method}");
            assert_eq!(declared.covering(&Capability::Write, method).count(), 0, "{method}");
        }
    }

    #[test]
    fn nothing_declared_is_not_an_empty_declaration() {
        assert_eq!(Declared::new(None, None).by(), DeclaredBy::Nothing);
        assert_eq!(Declared::new(None, Some(&[])).by(), DeclaredBy::FlatList);
    }

    #[test]
    fn absent_list_stays_absent_and_empty_list_stays_empty() {
        for json in [r#"{"paths":[]}"#, r"{}", r#"{"hosts":["*.a"],"ports":[1]}"#] {
            let scope: Scope = serde_json::from_str(json).expect("a scope");
            assert_eq!(serde_json::to_string(&scope).expect("JSON"), json);
        }
        assert!(serde_json::from_str::<Scope>(r#"{"paths":null}"#).is_err());
    }
}
