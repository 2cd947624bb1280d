//! Who an extension is, as far as that can be said without building it.

use std::path::Path;

use pi_exthost::{
    Seen,
    launcher::{LaunchFault, Source},
};
use pi_extproto::{capability::DeclaredBy, manifest::ExtensionManifest};

use super::packed::{self, Packed};

/// An extension that nobody started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub name: String,
    /// As it would be seen if it were.
    pub seen: Seen,
}

/// Looks at a source; one that is a package may be several extensions. `trusted` is the file of trusted keys.
pub fn known(source: &Source, trusted: &Path) -> Result<Vec<Known>, LaunchFault> {
    if let Some(folder) = packed::folder_of(&source.path) {
        let packed = Packed::read(folder, trusted)?;
        let origins = packed.origins(folder);
        return Ok(vec![of(&packed.artifact.manifest, origins.into_iter().next())]);
    }
    let unusable = |fault: pi_extc::BuildFault| LaunchFault::Unusable { message: fault.to_string() };
    let sources = pi_extc::sources(&source.path).map_err(unusable)?;
    Ok(sources.iter().map(|it| of(&it.manifest, Some(it.origin().display().to_string()))).collect())
}

fn of(manifest: &ExtensionManifest, origin: Option<String>) -> Known {
    let declared = manifest.declared();
    let needs = || declared.requirements().iter().map(|need| need.capability.clone()).collect();
    let seen = Seen {
        origin,
        version: manifest.version.clone(),
        declared: (declared.by() != DeclaredBy::Nothing).then(needs),
    };
    Known { name: manifest.name.clone(), seen }
}
