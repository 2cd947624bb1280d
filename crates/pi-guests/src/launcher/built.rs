//! From a source to the code that an engine runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pi_extc::{Artifact, BuildFault, Cache, Code, SignatureState, Workshop};
use pi_exthost::launcher::{Evidence, Feature, LaunchFault, Source};
use pi_extproto::{artifact::Verdict, capability::Declared};

use super::{
    machinery::Machinery,
    packed::{self, Packed, signature_of_build},
};
use crate::{js, wasm};

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
    pub(super) code: Compiled,
    /// What its author should know.
    pub(super) notices: Vec<String>,
}

/// Code that an engine runs.
pub(super) enum Compiled {
    Script(js::Code),
    Component { code: wasm::Code, machine: wasm::Machine },
}

impl Built {
    /// Builds it, unless it was built before and has not changed. What comes built is judged by its signature.
    pub(super) async fn make(
        source: &Source,
        workshop: &Workshop,
        cache: &Arc<Cache>,
        machinery: &Machinery,
        trusted: &Path,
    ) -> Result<Self, LaunchFault> {
        let path = &source.path;
        if !path.exists() {
            return Err(LaunchFault::Missing { path: path.display().to_string() });
        }
        if let Some(folder) = packed::folder_of(path) {
            let packed = Packed::read(folder, trusted)?;
            let unusable = |error: std::io::Error| LaunchFault::Unusable { message: error.to_string() };
            let folder = packed.unpack(&workshop.cache).map_err(unusable)?;
            let entry = folder.join("index.js");
            return Self::of(&packed.artifact, &packed.signature, (folder, entry), cache, machinery).await;
        }
        let loaded = pi_extc::load(path, workshop, cache).await.map_err(|fault| unusable(&fault))?;
        let several = loaded.len();
        let Some(one) = loaded.into_iter().next().filter(|_| several == 1) else {
            let message = format!("{} has {several} entries; name one of them", path.display());
            return Err(LaunchFault::Unusable { message });
        };
        let signature = signature_of_build(one.root(), &one.artifact, trusted);
        let (folder, entry) = (one.root().to_owned(), one.entry().to_owned());
        Self::of(&one.artifact, &signature, (folder, entry), cache, machinery).await
    }

    /// It lies in a folder, and begins with a file in it.
    async fn of(
        artifact: &Artifact,
        signature: &SignatureState,
        (folder, entry): (PathBuf, PathBuf),
        cache: &Arc<Cache>,
        machinery: &Machinery,
    ) -> Result<Self, LaunchFault> {
        let code = match (&artifact.code, artifact.module()) {
            (Code::Script { .. }, Some(module)) => {
                let cache = Arc::clone(cache);
                blocking(move || {
                    let bytecode = cache.bytecode(&module);
                    bytecode.map_err(|fault| format!("{fault}; {}", fault.hint()))
                })
                .await
                .map(|bytecode| Compiled::Script(js::Code::Compiled(bytecode)))?
            }
            (Code::Component(bytes), _) => {
                let (bytes, cache, name) = (Arc::clone(bytes), Arc::clone(cache), artifact.name().to_owned());
                let machine = machinery.machine().map_err(|fault| unusable_code(&fault))?;
                blocking(move || {
                    let code = wasm::Code::prepare(&machine, &bytes, &name, Some(&cache));
                    let code = code.map_err(|fault| format!("{name}: {fault}; {}", fault.hint()))?;
                    Ok(Compiled::Component { code, machine })
                })
                .await?
            }
            (Code::Script { .. }, None) => {
                return Err(LaunchFault::Unusable { message: "it has no code".to_owned() });
            }
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
            code,
            notices: notices.map(|finding| finding.message.clone()).collect(),
        })
    }
}

/// Compiling takes as long as the disk and the code do.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, LaunchFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|message| LaunchFault::Unusable { message }),
        Err(broken) => Err(LaunchFault::Unusable { message: broken.to_string() }),
    }
}

fn unusable_code(fault: &impl std::fmt::Display) -> LaunchFault {
    LaunchFault::Unusable { message: fault.to_string() }
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
