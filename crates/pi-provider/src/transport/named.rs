//! Servers whose own certificate somebody has named as believed.
//!
//! `openssl req -x509` writes a certificate that signs itself and says that it is an authority's. Whoever runs a server with
//! it names that same file as believed, which other programs take. The library refuses an authority's certificate as that of
//! a server whatever is believed; here the very certificate that was named is let through, if it is for that name. All else
//! is as the library decides, the time for which it is valid included: that is looked at before this.

use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use rustls_platform_verifier::Verifier;

use super::obstacle::is_of_an_authority;

/// What else is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    System,
    Nothing,
}

/// Believes what the library does, and the certificates that were named.
#[derive(Debug)]
struct NamedOrKnown {
    known: Arc<dyn ServerCertVerifier>,
    named: Vec<CertificateDer<'static>>,
}

/// TLS for somebody who has named certificates.
pub(super) fn config(
    named: Vec<CertificateDer<'static>>,
    beside: Beside,
    provider: Arc<CryptoProvider>,
) -> Result<ClientConfig, Error> {
    let known: Arc<dyn ServerCertVerifier> = match beside {
        Beside::System => Arc::new(Verifier::new_with_extra_roots(named.iter().cloned(), Arc::clone(&provider))?),
        Beside::Nothing => {
            let mut roots = RootCertStore::empty();
            for certificate in &named {
                roots.add(certificate.clone())?;
            }
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
            verifier.map_err(|error| Error::General(error.to_string()))?
        }
    };
    let verifier = Arc::new(NamedOrKnown { known, named });
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

impl ServerCertVerifier for NamedOrKnown {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.known.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match &verdict {
            Err(Error::InvalidCertificate(CertificateError::Other(fault)))
                if is_of_an_authority(fault) && self.named.iter().any(|named| named == certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            Ok(_) | Err(_) => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.known.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.known.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.known.supported_verify_schemes()
    }
}
