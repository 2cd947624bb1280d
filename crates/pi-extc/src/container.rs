//! `extension.artifact`: bundle and source map or component, manifest, descriptor and assets in one file.
//!
//! The first line is `pi.ext.container.v1`, the second one lists the parts as JSON (`[{"name", "size", "digest"}, …]`), their
//! bytes follow in that order, and the last 32 bytes are the SHA-256 of everything before them. `docs/extensions-build.md`
//! describes it for others. Nothing in it is compiled for a machine.

use std::sync::Arc;

use pi_extproto::{
    artifact::{self as descriptor, Digest, canonical},
    manifest::{ExtensionManifest, InsidePath, Tier},
};
use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, Asset, Code, declared, hash};

const HEAD: &[u8] = b"pi.ext.container.v1\n";
const DESCRIPTOR: &str = "artifact.json";
const MANIFEST: &str = "extension.json";
const BUNDLE: &str = "bundle.js";
const SOURCE_MAP: &str = "bundle.js.map";
const COMPONENT: &str = "component.wasm";
const ASSETS: &str = "assets/";
const SEAL: usize = 32;

/// Why a file is no artifact that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerFault {
    #[error("it is not an artifact")]
    Foreign,
    #[error("it was cut or changed: its digest does not fit")]
    Damaged,
    #[error("its list of parts cannot be read")]
    BadList,
    #[error("the part {name} is missing")]
    Missing { name: &'static str },
    #[error("the part {name} is not what it should be")]
    BadPart { name: String },
    #[error("its hash is not that of its parts")]
    OtherHash,
    /// Whoever reads it would believe something that nothing else says.
    #[error("its description says another {member} than its parts")]
    OtherDescription { member: &'static str },
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    name: String,
    size: usize,
    digest: Digest,
}

/// The artifact as one file; the same artifact gives the same bytes.
pub fn write(artifact: &Artifact) -> Vec<u8> {
    let json = |value: serde_json::Result<serde_json::Value>| canonical::to_vec(&value.expect("plain JSON"));
    let mut parts: Vec<(String, Vec<u8>)> = vec![
        (DESCRIPTOR.to_owned(), json(serde_json::to_value(&artifact.descriptor))),
        (MANIFEST.to_owned(), json(serde_json::to_value(&artifact.manifest))),
    ];
    match &artifact.code {
        Code::Script { bundle, source_map } => parts.extend([
            (BUNDLE.to_owned(), bundle.as_bytes().to_vec()),
            (SOURCE_MAP.to_owned(), source_map.as_bytes().to_vec()),
        ]),
        Code::Component(bytes) => parts.push((COMPONENT.to_owned(), bytes.to_vec())),
    }
    parts.extend(artifact.assets.iter().map(|it| (format!("{ASSETS}{}", it.path), it.bytes.to_vec())));
    let list: Vec<Part> = parts
        .iter()
        .map(|(name, bytes)| Part { name: name.clone(), size: bytes.len(), digest: Digest::of(bytes) })
        .collect();
    let mut file = HEAD.to_vec();
    file.extend(serde_json::to_vec(&list).expect("names and numbers"));
    file.push(b'\n');
    file.extend(parts.into_iter().flat_map(|(_, bytes)| bytes));
    let seal = Digest::of(&file);
    file.extend(seal.as_bytes());
    file
}

/// Reads an artifact, every digest of it checked. What its description says about its parts is so; what it says about its
/// sources and what was found in them is what somebody wrote, and nobody here has looked.
pub fn read(file: &[u8]) -> Result<Artifact, ContainerFault> {
    if !file.starts_with(HEAD) {
        return Err(ContainerFault::Foreign);
    }
    let (content, seal) = file.split_at_checked(file.len().saturating_sub(SEAL)).ok_or(ContainerFault::Damaged)?;
    if Digest::of(content).as_bytes() != seal {
        return Err(ContainerFault::Damaged);
    }
    let parts = parts(file)?;
    if let Some((part, _)) = parts.iter().find(|(part, bytes)| Digest::of(bytes) != part.digest) {
        return Err(ContainerFault::BadPart { name: part.name.clone() });
    }
    let artifact = assembled(&parts)?;
    if hash(&artifact.manifest, &artifact.code) != artifact.descriptor.hash {
        return Err(ContainerFault::OtherHash);
    }
    describes(&artifact)?;
    Ok(artifact)
}

/// The same for what [`write()`] made on this machine and the cache kept under its seal: whoever checked that knows that the
/// bytes are those that were written, so that none of their digests is made a second time.
pub(crate) fn read_kept(file: &[u8]) -> Result<Artifact, ContainerFault> {
    let artifact = assembled(&parts(file)?)?;
    // An engine of another release is another engine.
    describes(&artifact)?;
    Ok(artifact)
}

/// The parts of a container, as its list says.
fn parts(file: &[u8]) -> Result<Vec<(Part, &[u8])>, ContainerFault> {
    let rest = file.strip_prefix(HEAD).ok_or(ContainerFault::Foreign)?;
    let end = rest.iter().position(|&byte| byte == b'\n').ok_or(ContainerFault::BadList)?;
    let list: Vec<Part> = serde_json::from_slice(&rest[..end]).map_err(|_| ContainerFault::BadList)?;
    let mut bytes = rest.get(end + 1..rest.len().saturating_sub(SEAL)).ok_or(ContainerFault::BadList)?;
    let mut parts: Vec<(Part, &[u8])> = Vec::new();
    for part in list {
        if parts.iter().any(|(known, _)| known.name == part.name) {
            return Err(ContainerFault::BadList);
        }
        let (own, others) =
            bytes.split_at_checked(part.size).ok_or_else(|| ContainerFault::BadPart { name: part.name.clone() })?;
        parts.push((part, own));
        bytes = others;
    }
    if !bytes.is_empty() {
        return Err(ContainerFault::BadList);
    }
    Ok(parts)
}

fn assembled(parts: &[(Part, &[u8])]) -> Result<Artifact, ContainerFault> {
    let part = |name: &'static str| {
        parts.iter().find(|(own, _)| own.name == name).map(|(_, bytes)| *bytes).ok_or(ContainerFault::Missing { name })
    };
    let bad = |name: &str| ContainerFault::BadPart { name: name.to_owned() };
    let text = |name: &'static str| {
        part(name).and_then(|bytes| std::str::from_utf8(bytes).map(Arc::<str>::from).map_err(|_| bad(name)))
    };
    let descriptor: descriptor::Artifact = serde_json::from_slice(part(DESCRIPTOR)?).map_err(|_| bad(DESCRIPTOR))?;
    let manifest: ExtensionManifest = pi_extproto::manifest::parse(part(MANIFEST)?).map_err(|_| bad(MANIFEST))?;
    let code = match descriptor.engine.tier {
        Tier::Js => Code::Script { bundle: text(BUNDLE)?, source_map: text(SOURCE_MAP)? },
        Tier::Wasm => Code::Component(part(COMPONENT)?.into()),
        Tier::Mcp => return Err(bad(DESCRIPTOR)),
    };
    let assets = parts.iter().filter_map(|(part, bytes)| part.name.strip_prefix(ASSETS).map(|path| (path, bytes)));
    let asset = |(path, bytes): (&str, &&[u8])| {
        let inside = InsidePath::try_from(path.to_owned()).map_err(|_| bad(path))?;
        Ok(Asset { path: inside, bytes: Arc::from(*bytes) })
    };
    let assets: Vec<Asset> = assets.map(asset).collect::<Result<_, _>>()?;
    Ok(Artifact { descriptor, manifest, code, assets, sources: Vec::new(), missing: Vec::new() })
}

/// Whether a description says what its parts say. The manifest was checked when it was read; names and versions stand in
/// questions to people, in grants and in the names of folders.
fn describes(artifact: &Artifact) -> Result<(), ContainerFault> {
    let Artifact { descriptor, manifest, code, assets, .. } = artifact;
    let bytes = |assets: &[Asset]| assets.iter().map(|it| it.bytes.len() as u64).sum::<u64>();
    let told = [
        ("name", descriptor.name == manifest.name),
        ("version", descriptor.version == manifest.version),
        ("engine", manifest.tier() == Ok(descriptor.engine.tier) && descriptor.engine.version == code.engine()),
        ("set of capabilities", descriptor.capabilities.declared == declared(manifest)),
        ("size", descriptor.sizes.bundle == code.as_bytes().len() as u64 && descriptor.sizes.assets == bytes(assets)),
    ];
    match told.into_iter().find(|(_, is_so)| !is_so) {
        Some((member, _)) => Err(ContainerFault::OtherDescription { member }),
        None => Ok(()),
    }
}
