//! Where the commands keep things: below the agent directory, and in the folder of an artifact.

use std::path::{Path, PathBuf};

use pi_extproto::artifact::Artifact as Descriptor;

use crate::{
    env::Environment,
    failure::{ExtFailure, Failure},
};

pub(super) const CONTAINER: &str = "extension.artifact";
pub(super) const DESCRIPTOR: &str = "artifact.json";

fn agent(environment: &Environment) -> Result<&Path, ExtFailure> {
    environment.agent_directory.as_deref().ok_or(ExtFailure::Homeless)
}

/// What was built and compiled on this machine.
pub(super) fn cache(environment: &Environment) -> Result<PathBuf, ExtFailure> {
    Ok(agent(environment)?.join("cache").join("extensions"))
}

pub(super) fn signing_key(environment: &Environment) -> Result<PathBuf, ExtFailure> {
    Ok(agent(environment)?.join("keys").join("extensions.pem"))
}

pub(super) fn trusted_keys(environment: &Environment) -> Result<PathBuf, ExtFailure> {
    Ok(agent(environment)?.join("trusted-keys.json"))
}

/// The container in a folder and what is written about it beside it.
pub(super) fn read(folder: &Path) -> Result<(Vec<u8>, Descriptor), Failure> {
    let shown = folder.display();
    let hint = format!("`pi ext build {shown}` puts an artifact into {shown}/dist, which is then to be named");
    let unreadable =
        |path: &Path, source| Failure::NotThere { file: path.display().to_string(), hint: hint.clone(), source };
    let (container, described) = (folder.join(CONTAINER), folder.join(DESCRIPTOR));
    let bytes = bytes(&container).map_err(|error| unreadable(&container, error))?;
    let text = self::bytes(&described).map_err(|error| unreadable(&described, error))?;
    let descriptor = serde_json::from_slice(&text)
        .map_err(|error| ExtFailure::Descriptor { path: described, reason: error.to_string() })?;
    Ok((bytes, descriptor))
}

#[expect(clippy::disallowed_methods, reason = "artifacts are files that the person names")]
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// Writes over what an earlier build left.
#[expect(clippy::disallowed_methods, reason = "artifacts are files that the person names")]
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let unwritable = |source| Failure::UnwritableFile { file: path.display().to_string(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unwritable)?;
    }
    std::fs::write(path, bytes).map_err(unwritable)
}

/// As people and tools like to read it.
pub(super) fn write_descriptor(folder: &Path, descriptor: &Descriptor) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(descriptor).expect("a descriptor is plain JSON");
    write(&folder.join(DESCRIPTOR), format!("{text}\n").as_bytes())
}
