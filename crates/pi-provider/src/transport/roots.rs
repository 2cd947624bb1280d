//! Whose certificates are believed.

use std::{
    io,
    path::{Path, PathBuf},
};

use reqwest::ClientBuilder;
use rustls::{
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject as _},
};

use super::{
    TransportError,
    named::{self, Beside},
};
use crate::credential::Lookup;

/// The system's certificates, unless somebody says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// `SSL_CERT_FILE`: these instead of the system's.
    pub file: Option<PathBuf>,
    /// `SSL_CERT_DIR`: these instead of the system's.
    pub folders: Vec<PathBuf>,
    /// `NODE_EXTRA_CA_CERTS`: these as well.
    pub extra: Option<PathBuf>,
}

/// What was found in the files.
pub(super) enum Certificates {
    SystemAnd(Vec<CertificateDer<'static>>),
    Only(Vec<CertificateDer<'static>>),
}

impl Roots {
    pub fn from_environment(environment: Lookup<'_>) -> Self {
        let read = |name: &str| environment(name).filter(|value| !value.is_empty());
        Self {
            file: read("SSL_CERT_FILE").map(PathBuf::from),
            folders: read("SSL_CERT_DIR").map(|list| std::env::split_paths(&list).collect()).unwrap_or_default(),
            extra: read("NODE_EXTRA_CA_CERTS").map(PathBuf::from),
        }
    }

    pub(super) fn load(&self) -> Result<Certificates, TransportError> {
        let mut found = Vec::new();
        if let Some(path) = &self.extra {
            found.extend(bundle("NODE_EXTRA_CA_CERTS", path)?);
        }
        if self.file.is_none() && self.folders.is_empty() {
            return Ok(Certificates::SystemAnd(found));
        }
        if let Some(path) = &self.file {
            found.extend(bundle("SSL_CERT_FILE", path)?);
        }
        for folder in &self.folders {
            found.extend(contents(folder)?);
        }
        Ok(Certificates::Only(found))
    }
}

impl Certificates {
    pub(super) fn apply(self, builder: ClientBuilder) -> Result<ClientBuilder, TransportError> {
        let (certificates, beside) = match self {
            Self::SystemAnd(extra) if extra.is_empty() => return Ok(builder),
            Self::Only(none) if none.is_empty() => return Ok(builder.tls_certs_only([])),
            Self::SystemAnd(extra) => (extra, Beside::System),
            Self::Only(certificates) => (certificates, Beside::Nothing),
        };
        let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| ring::default_provider().into());
        let config = named::config(certificates, beside, provider);
        Ok(builder.tls_backend_preconfigured(config.map_err(|source| TransportError::Named { source })?))
    }
}

/// The certificates of a file that must have some.
fn bundle(variable: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let bytes = read(path).map_err(|source| TransportError::Roots { variable, path: path.to_owned(), source })?;
    match certificates(&bytes) {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(TransportError::NoCertificate { variable, path: path.to_owned() }),
    }
}

/// The certificates of a folder; what is none is passed over, as OpenSSL does.
fn contents(folder: &Path) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let failed = |source| TransportError::Roots { variable: "SSL_CERT_DIR", path: folder.to_owned(), source };
    #[expect(clippy::disallowed_methods, reason = "certificates are read here")]
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let Ok(bytes) = read(&path) else { continue };
        found.extend(certificates(&bytes).unwrap_or_default());
    }
    Ok(found)
}

fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls::pki_types::pem::Error> {
    CertificateDer::pem_slice_iter(bytes).collect()
}

#[expect(clippy::disallowed_methods, reason = "certificates are read here")]
fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}
