//! From a source to one module that the engine runs.

use std::{path::PathBuf, sync::Arc};

use pi_extc::{BuildFault, Cache, Loaded, Workshop};
use pi_exthost::launcher::{Evidence, Feature, LaunchFault, Source};
use pi_extproto::{artifact::Verdict, capability::Declared};

use crate::js::Code;

/// The size at which an extension is as large as it gets, for whoever weighs it.
const LARGE: u64 = 10 << 20;

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
    /// Builds it, unless it was built before and has not changed.
    pub(super) async fn make(source: &Source, workshop: &Workshop, cache: &Arc<Cache>) -> Result<Self, LaunchFault> {
        let path = &source.path;
        if !path.exists() {
            return Err(LaunchFault::Missing { path: path.display().to_string() });
        }
        let loaded = pi_extc::load(path, workshop, cache).await.map_err(|fault| unusable(&fault))?;
        let several = loaded.len();
        let Some(one) = loaded.into_iter().next().filter(|_| several == 1) else {
            let message = format!("{} has {several} entries; name one of them", path.display());
            return Err(LaunchFault::Unusable { message });
        };
        Self::of(&one, cache).await
    }

    async fn of(loaded: &Loaded, cache: &Arc<Cache>) -> Result<Self, LaunchFault> {
        let artifact = &loaded.artifact;
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
            evidence: evidence(artifact.evidence()),
            folder: loaded.root().to_owned(),
            entry: loaded.entry().to_owned(),
            bundle,
            notices: notices.map(|finding| finding.message.clone()).collect(),
        })
    }
}

fn evidence(found: pi_extc::Evidence) -> Evidence {
    let level = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    Evidence::CLEAN
        .with(Feature::Unsigned, 1.0)
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
