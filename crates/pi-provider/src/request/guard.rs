//! Refuses what a manifest does not declare.

use std::sync::LazyLock;

use indexmap::IndexMap;

use crate::{
    error::CallError,
    manifest::{Capability, Manifest},
};

static METHODS: LazyLock<IndexMap<String, Capability>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("methods.yaml")).expect("methods.yaml is checked by a test"));

/// Fails with E1005 if the provider does not declare the capability.
pub fn guard(manifest: &Manifest, capability: Capability) -> Result<(), CallError> {
    if manifest.capabilities.has(capability) {
        Ok(())
    } else {
        Err(CallError::Undeclared { provider: manifest.id.clone(), capability })
    }
}

/// The capability that a method of the standard's runtimes needs: `MCPListTools`, `mcp_list_tools`, `Reason`.
pub fn capability_of(method: &str) -> Option<Capability> {
    let plain = |word: &str| -> String {
        word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let method = plain(method);
    METHODS.iter().find(|(name, _)| plain(name) == method).map(|(_, capability)| *capability)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_in_any_spelling() {
        for (method, capability) in [
            ("MCPListTools", Some(Capability::McpClient)),
            ("mcp_call_tool", Some(Capability::McpClient)),
            ("ComputerUse", Some(Capability::ComputerUse)),
            ("Reason", Some(Capability::Reasoning)),
            ("VideoGenerate", Some(Capability::Video)),
            ("embeddings", Some(Capability::Embeddings)),
            ("Dance", None),
        ] {
            assert_eq!(capability_of(method), capability, "{method}");
        }
    }

    #[test]
    fn every_capability_can_be_asked_for_by_its_own_name() {
        for capability in Capability::ALL {
            assert_eq!(capability_of(capability.name()), Some(capability));
        }
    }
}
