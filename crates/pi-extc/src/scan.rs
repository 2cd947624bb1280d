//! What the scanner of this program finds in an artifact, whoever built it.

use std::{collections::BTreeSet, path::Path};

use pi_extproto::{
    artifact::{Digest, Finding},
    capability::{Capability, HOOKS},
};
use serde::{Deserialize, Serialize};

use crate::{
    artifact::{Artifact, Code, Workshop, finding},
    bundler::{
        self,
        protocol::{Answer, Question, ScanRequest},
    },
    cache::{Cache, Kind, key},
    component,
    fault::{BuildFault, Fault},
    load::RECIPE,
    shims::HOST_MODULES,
};

/// What was found here. What a description says was found elsewhere is another matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    findings: Vec<Finding>,
    inferred: BTreeSet<Capability>,
    /// Whether nobody could look at the code. Never kept: a scanner may come.
    #[serde(skip)]
    is_unseen: bool,
}

impl Scan {
    /// What the scanner found while it built the artifact, here.
    pub(crate) fn of_built(artifact: &Artifact) -> Self {
        let inferred = artifact.descriptor.capabilities.inferred.clone();
        Self { findings: artifact.findings().to_vec(), inferred, is_unseen: false }
    }

    /// Of code that nobody could look at.
    fn unseen() -> Self {
        let any = [Capability::Read, Capability::Write, Capability::Exec, Capability::Http, Capability::Env];
        Self { findings: Vec::new(), inferred: BTreeSet::from(any), is_unseen: true }
    }

    /// Whether nobody could look at the code.
    pub fn is_unseen(&self) -> bool {
        self.is_unseen
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What the code looks like it needs.
    pub fn inferred(&self) -> &BTreeSet<Capability> {
        &self.inferred
    }
}

/// Looks at the code of an artifact that somebody else built, once for each. Where there is no scanner it may need anything.
/// Dropping the future ends the scanner.
pub async fn scan(artifact: &Artifact, workshop: &Workshop, cache: &Cache) -> Result<Scan, BuildFault> {
    let bundle = match &artifact.code {
        Code::Script { bundle, .. } => bundle,
        Code::Component(bytes) => {
            let bad = |fault| BuildFault::BadComponent { path: artifact.name().into(), fault };
            let imports = component::imports(bytes).map_err(bad)?;
            return Ok(Scan { findings: imports.findings(), inferred: imports.capabilities(), is_unseen: false });
        }
    };
    let key = key(Kind::Scanned, &[RECIPE, &Digest::of(bundle.as_bytes()).to_string()]);
    if let Some(known) = cache.get(Kind::Scanned, &key).and_then(|bytes| serde_json::from_slice(bytes.as_bytes()).ok())
    {
        return Ok(known);
    }
    let request = ScanRequest {
        bundle: bundle.to_string(),
        hosts: HOST_MODULES.clone(),
        hooks: HOOKS.map(str::to_owned).to_vec(),
    };
    let answer = match bundler::ask(&Question::Scan(request), &workshop.cache, workshop.limit).await {
        Err(BuildFault::NoBundler) => return Ok(Scan::unseen()),
        other => other?,
    };
    let scan = match answer {
        Answer::Scanned(found) => Scan {
            findings: found.findings.iter().map(|it| finding(it, Path::new("/"))).collect(),
            inferred: found.capabilities.iter().map(|it| Capability::from(it.as_str())).collect(),
            is_unseen: false,
        },
        Answer::Refused(faults) => {
            let fault = |message| Fault { message, hint: None, place: None, line: String::new(), length: 1 };
            return Err(BuildFault::Sources { faults: faults.into_iter().map(|it| fault(it.message)).collect() });
        }
        Answer::Built(_) => return Err(BuildFault::off_topic()),
    };
    let bytes = serde_json::to_vec(&scan).expect("findings are plain JSON");
    // What cannot be kept is looked for again next time.
    if let Err(error) = cache.put(Kind::Scanned, &key, artifact.name(), &bytes) {
        tracing::warn!(artifact = artifact.name(), %error, "what was found in an extension is not kept");
    }
    Ok(scan)
}
