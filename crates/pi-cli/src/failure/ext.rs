//! Why nothing could be done with an extension.

use std::path::PathBuf;

use pi_extc::{BuildFault, CacheFault, ContainerFault, KeyFault};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ExtFailure {
    #[error("there is no place for what is built: no home folder")]
    Homeless,
    #[error(transparent)]
    Build(#[from] BuildFault),
    #[error(transparent)]
    Cache(#[from] CacheFault),
    #[error("{} cannot be used as a key", path.display())]
    Key { path: PathBuf, source: KeyFault },
    #[error("{} cannot be used", path.display())]
    Container { path: PathBuf, source: ContainerFault },
    #[error("{} does not describe an artifact: {reason}", path.display())]
    Descriptor { path: PathBuf, reason: String },
    #[error("{} does not belong to the artifact beside it", path.display())]
    OtherDescriptor { path: PathBuf },
    #[error("nobody signed it: there is no key to trust")]
    NobodyToTrust,
    #[error("{} is no crate in Rust: it has no Cargo.toml", path.display())]
    NoCrate { path: PathBuf },
    #[error("{name:?} is not a name for an extension")]
    NotAName { name: String, expected: String },
}

impl ExtFailure {
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Homeless => "set HOME, or PI_CODING_AGENT_DIR to the agent directory".to_owned(),
            Self::Build(fault) => fault.hint().to_owned(),
            Self::Cache(fault) => fault.hint().to_owned(),
            Self::Key { .. } => {
                "name a file with an ed25519 key in PEM, or leave --key out to have one made".to_owned()
            }
            Self::Container { .. } | Self::Descriptor { .. } | Self::OtherDescriptor { .. } => {
                "build the extension again with `pi ext build`".to_owned()
            }
            Self::NobodyToTrust => "ask its author to sign it with `pi ext sign`".to_owned(),
            Self::NotAName { expected, .. } => expected.clone(),
            Self::NoCrate { .. } => "name the folder of an extension in Rust; `pi ext new NAME` writes one".to_owned(),
        }
    }
}
