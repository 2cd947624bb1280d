//! From a source to one module that the engine runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_extc::{Artifact, BuildFault, Cache, SignatureState, Workshop};
use pi_exthost::launcher::{Evidence, Feature, LaunchFault, Source};
use pi_extproto::{artifact::Verdict, capability::Declared};

use super::packed::{Packed, is_packed, signature_of_build};
use crate::js::Code;

/// The size at which an extension is as large as it gets, for whoever weighs it.
const LARGE: u64 = 10 << 20;

/// What a signature leaves open whose key nobody here knows: it says that nothing was changed, and not by whom.
const BARELY_KNOWN: f64 = 0.6;

/// What the pipeline made of a source.
pub(super) struct Built {
    pub(super) name: String,
    pub(super) version: String,
    /// `sha256:…`
    pub(super) hash: String,
    pub(super) declared: Declared,
    pub(super) evidence: Evidence,
    pub(super) folder: PathBuf,
    pub(super) entry: PathBuf,
    pub(super) bundle: Code,
    /// What its author should know.
    pub(super) notices: Vec<String>,
}

impl Built {
    /// Builds it, unless it was built before and has not changed. What comes built is judged by its signature.
    pub(super) async fn make(
        source: &Source,
        workshop: &Workshop,
        cache: &Arc<Cache>,
        trusted: &Path,
    ) -> Result<Self, LaunchFault> {
        let path = &source.path;
        if !path.exists() {
            return Err(LaunchFault::Missing { path: path.display().to_string() });
        }
        if is_packed(path) {
            let packed = Packed::read(path, trusted)?;
            let unusable = |error: std::io::Error| LaunchFault::Unusable { message: error.to_string() };
            let folder = packed.unpack(&workshop.cache).map_err(unusable)?;
            let entry = folder.join("index.js");
            return Self::of(&packed.artifact, &packed.signature, folder, entry, cache).await;
        }
        let loaded = pi_extc::load(path, workshop, cache).await.map_err(|fault| unusable(&fault))?;
        let several = loaded.len();
        let Some(one) = loaded.into_iter().next().filter(|_| several == 1) else {
            let message = format!("{} has {several} entries; name one of them", path.display());
            return Err(LaunchFault::Unusable { message });
        };
        let signature = signature_of_build(one.root(), &one.artifact, trusted);
        Self::of(&one.artifact, &signature, one.root().to_owned(), one.entry().to_owned(), cache).await
    }

    async fn of(
        artifact: &Artifact,
        signature: &SignatureState,
        folder: PathBuf,
        entry: PathBuf,
        cache: &Arc<Cache>,
    ) -> Result<Self, LaunchFault> {
        let (cache, module) = (Arc::clone(cache), artifact.module());
        // Compiling takes as long as the disk and the code do.
        let compiled = tokio::task::spawn_blocking(move || cache.bytecode(&module)).await;
        let bundle = match compiled {
            Ok(Ok(bytecode)) => Code::Compiled(bytecode),
            Ok(Err(fault)) => return Err(LaunchFault::Unusable { message: format!("{fault}; {}", fault.hint()) }),
            Err(broken) => return Err(LaunchFault::Unusable { message: broken.to_string() }),
        };
        let is_noted = |verdict: Verdict| match verdict {
            Verdict::Compatible => false,
            Verdict::Warning | Verdict::Blocked => true,
        };
        let notices = artifact.findings().iter().filter(|finding| is_noted(finding.verdict));
        Ok(Self {
            name: artifact.name().to_owned(),
            version: artifact.descriptor.version.clone(),
            hash: format!("sha256:{}", artifact.hash()),
            declared: artifact.manifest.declared(),
            evidence: evidence(artifact.evidence(), signature),
            folder,
            entry,
            bundle,
            notices: notices.map(|finding| finding.message.clone()).collect(),
        })
    }
}

/// How little is known of who vouches for it.
fn unsigned(signature: &SignatureState) -> f64 {
    match signature {
        SignatureState::Trusted { .. } => 0.0,
        SignatureState::Untrusted { .. } => BARELY_KNOWN,
        SignatureState::Unsigned | SignatureState::Broken => 1.0,
    }
}

fn evidence(found: pi_extc::Evidence, signature: &SignatureState) -> Evidence {
    let level = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    Evidence::CLEAN
        .with(Feature::Unsigned, unsigned(signature))
        .with(Feature::UsesFs, level(found.uses_files))
        .with(Feature::UsesExec, level(found.uses_processes))
        .with(Feature::UsesNetwork, level(found.uses_network))
        .with(Feature::UsesEnv, level(found.uses_environment))
        .with_count(Feature::Findings, found.forbidden, 5)
        .with_count(Feature::Obfuscated, found.obfuscated, 5)
        .with_count(Feature::SizeMb, found.bytes, LARGE)
}

fn unusable(fault: &BuildFault) -> LaunchFault {
    let message = match fault {
        BuildFault::Sources { faults } => faults.iter().map(pi_extc::frame).collect::<Vec<_>>().join("\n"),
        other => format!("{other}; {}", other.hint()),
    };
    LaunchFault::Unusable { message }
}
