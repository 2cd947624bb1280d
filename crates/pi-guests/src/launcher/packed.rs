//! An artifact that somebody built: a folder with a container, and what is written about it beside it.
//!
//! It is run as what it says it is, or not at all. Who vouches for it is evidence for policy.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use pi_extc::{Artifact, Asset, SignatureState, TrustedKeys, judge, read_container};
use pi_exthost::launcher::LaunchFault;
use pi_extproto::artifact::Digest;

const CONTAINER: &str = "extension.artifact";
const DESCRIPTOR: &str = "artifact.json";
/// Where `pi ext build` puts what it makes of a folder.
const BUILT: &str = "dist";

/// An artifact from a folder.
pub(super) struct Packed {
    pub(super) artifact: Artifact,
    pub(super) signature: SignatureState,
    /// Of its container: of everything that it is made of.
    pub(super) digest: Digest,
}

/// Whether a folder holds an artifact.
pub(crate) fn is_packed(folder: &Path) -> bool {
    folder.join(CONTAINER).is_file() && folder.join(DESCRIPTOR).is_file()
}

/// The files that an artifact is.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    [CONTAINER, DESCRIPTOR].map(|name| folder.join(name)).into()
}

/// The folder of an artifact that somebody points to, or to whose container.
pub(super) fn folder_of(path: &Path) -> Option<&Path> {
    let is_container = path.file_name().is_some_and(|name| name == CONTAINER);
    let folder = if is_container { path.parent()? } else { path };
    is_packed(folder).then_some(folder)
}

impl Packed {
    /// Reads it. One that is not what is written about it, or that its signature does not fit, is refused.
    pub(super) fn read(folder: &Path, trusted: &Path) -> Result<Self, LaunchFault> {
        let unusable = |message: String| LaunchFault::Unusable { message: format!("{}: {message}", folder.display()) };
        let container = bytes(&folder.join(CONTAINER)).map_err(|error| unusable(error.to_string()))?;
        let artifact = read_container(&container).map_err(|fault| unusable(format!("{fault}; build it again")))?;
        let described = bytes(&folder.join(DESCRIPTOR)).map_err(|error| unusable(error.to_string()))?;
        let described =
            serde_json::from_slice(&described).map_err(|error| unusable(format!("{DESCRIPTOR}: {error}")))?;
        let keys = TrustedKeys::read(trusted).map_err(|fault| unusable(fault.to_string()))?;
        match judge(&container, &described, &keys) {
            SignatureState::Broken => Err(unusable(
                "the artifact is not the one that was described and signed; do not use it, or build it again"
                    .to_owned(),
            )),
            signature => Ok(Self { artifact, signature, digest: Digest::of(&container) }),
        }
    }

    /// Where it comes from, as grants name it. A key that somebody here trusts says more than where it lies: an update may
    /// lie elsewhere.
    pub(super) fn origins(&self, folder: &Path) -> Vec<String> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string();
        let key = match &self.signature {
            SignatureState::Trusted { key, .. } => Some(format!("key:{key}")),
            SignatureState::Untrusted { .. } | SignatureState::Unsigned | SignatureState::Broken => None,
        };
        key.into_iter().chain([folder]).collect()
    }
}

/// What the signature on the build of a source is worth: it counts if the build is what the source gives here, with the files
/// that lie beside it now.
pub(super) fn signature_of_build(source: &Path, artifact: &Artifact, trusted: &Path) -> SignatureState {
    let folder = source.join(BUILT);
    if !is_packed(&folder) {
        return SignatureState::Unsigned;
    }
    // Its hash is that of its manifest and its code, and a signature speaks for its assets as well.
    let is_there = |asset: &Asset| bytes(&source.join(asset.path.as_str())).is_ok_and(|bytes| *bytes == *asset.bytes);
    match Packed::read(&folder, trusted) {
        Ok(packed) if packed.artifact.hash() == artifact.hash() && packed.artifact.assets.iter().all(is_there) => {
            packed.signature
        }
        // Of another state of the source, or damaged: it says nothing about this one.
        Ok(_) | Err(_) => SignatureState::Unsigned,
    }
}

#[expect(clippy::disallowed_methods, reason = "artifacts are files that the person installed")]
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}
