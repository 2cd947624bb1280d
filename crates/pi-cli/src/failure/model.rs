//! Why a manifest was not used, and what to do about it.

use crate::exit::Exit;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFailure {
    #[error("{file} is not text")]
    NotText { file: String },
    #[error("{file} is not a manifest that can be used")]
    NotAManifest { file: String, findings: Vec<String> },
}

impl ModelFailure {
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::NotText { file } | Self::NotAManifest { file, .. } => Some(file),
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NotText { .. } | Self::NotAManifest { .. } => Exit::Trouble,
        }
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NotText { .. } => "save it as UTF-8".to_owned(),
            Self::NotAManifest { file, .. } => format!("`pi provider validate {file}` shows what is wrong"),
        }
    }
}
