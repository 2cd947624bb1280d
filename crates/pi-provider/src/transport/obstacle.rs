//! What stood between us and a server, in words that a person can act on.
//!
//! Libraries tell a chain of causes in their own terms, outermost first. What is told here is the one cause that matters,
//! as a kind. Nothing of an address but scheme, host and port is in it.

use std::{error::Error, io};

use rustls::{CertificateError, OtherError};
use url::Url;

use crate::secret::{Secret, hide_in_address};

/// Why a server was not reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    #[error("no server of the name {host} is known")]
    UnknownHost { host: String },
    #[error("nothing listens at {address}")]
    Refused { address: String },
    #[error("no network leads to {address}")]
    NoRoute { address: String },
    #[error("the connection was closed before an answer came")]
    HungUp,
    #[error("the certificate of {host} is not believed: {reason}")]
    Certificate { host: String, reason: String },
    #[error("{address} does not speak TLS")]
    NotTls { address: String },
    #[error("the proxy does not lead there: {reason}")]
    Proxy { reason: String },
    #[error("the proxy wants to know who asks")]
    ProxyCredential,
    #[error("{reason}")]
    Other { reason: String },
}

/// Whether a request goes straight to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    /// Through a proxy.
    Proxied,
}

impl Obstacle {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownHost { .. } => "check the name in the address, and whether there is a network",
            Self::Refused { .. } => "check the port in the address, and whether the server runs",
            Self::NoRoute { .. } => "check the network, and whether a VPN or a proxy is needed",
            Self::HungUp => "ask again; if it stays so, look into the log of the server",
            Self::Certificate { reason, .. } if reason == OF_AN_AUTHORITY => {
                "if it is your own, as `openssl req -x509` writes it, name that certificate in \
                 NODE_EXTRA_CA_CERTS=FILE; else do not go on"
            }
            Self::Certificate { .. } => {
                "if it is your own or your company's, name its authority in NODE_EXTRA_CA_CERTS=FILE; else do not go on"
            }
            Self::NotTls { .. } => "write the address with http:// instead of https://",
            Self::Proxy { .. } => {
                "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY; NO_PROXY names hosts that are reached directly"
            }
            Self::ProxyCredential => {
                "write name and password before its host, as in HTTPS_PROXY=http://user:password@proxy:3128"
            }
            Self::Other { .. } => "check the address, and whether the server runs",
        }
    }

    /// Whether nobody listens at the port.
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// Whether there is no server at the address, as far as can be seen from here.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::UnknownHost { .. } | Self::NoRoute { .. })
    }

    /// Whether nobody knows the name of the server.
    pub const fn is_unknown_host(&self) -> bool {
        matches!(self, Self::UnknownHost { .. })
    }

    /// The same without what is shown to nobody, such as a key that is part of the host's name.
    #[must_use]
    pub(crate) fn hiding(mut self, secrets: &[Secret]) -> Self {
        let hide = |text: &mut String| *text = hide_in_address(text, secrets);
        match &mut self {
            Self::UnknownHost { host } => hide(host),
            Self::Refused { address } | Self::NoRoute { address } | Self::NotTls { address } => hide(address),
            Self::Certificate { host, reason } => {
                hide(host);
                hide(reason);
            }
            Self::Proxy { reason } | Self::Other { reason } => hide(reason),
            Self::HungUp | Self::ProxyCredential => {}
        }
        self
    }

    /// Whether it stays as long as nobody changes the address, the machine or the server's certificate.
    pub const fn is_lasting(&self) -> bool {
        match self {
            Self::Certificate { .. } | Self::NotTls { .. } | Self::ProxyCredential => true,
            Self::UnknownHost { .. }
            | Self::Refused { .. }
            | Self::NoRoute { .. }
            | Self::HungUp
            | Self::Proxy { .. }
            | Self::Other { .. } => false,
        }
    }

    /// The cause that matters in a chain.
    pub(super) fn of(error: &(dyn Error + 'static), url: &Url, way: Way) -> Self {
        let address = url.origin().ascii_serialization();
        let host = url.host_str().unwrap_or_default().to_owned();
        let causes: Vec<&(dyn Error + 'static)> = std::iter::successors(Some(error), |&cause| beneath(cause)).collect();
        let says = |words: &str| causes.iter().any(|cause| cause.to_string().contains(words));
        let reason = causes.last().map(ToString::to_string).unwrap_or_default();
        if says("proxy authorization required") {
            return Self::ProxyCredential;
        }
        if says("tunnel error") || says("socks") {
            return Self::Proxy { reason };
        }
        if let Some(fault) = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
            return match fault {
                rustls::Error::InvalidCertificate(fault) => {
                    Self::Certificate { host, reason: certificate(fault).to_owned() }
                }
                rustls::Error::InvalidMessage(_) => Self::NotTls { address },
                other => Self::Other { reason: other.to_string() },
            };
        }
        if says("dns error") {
            return match way {
                Way::Direct => Self::UnknownHost { host },
                Way::Proxied => Self::Proxy { reason: format!("its name or {host} is not known here") },
            };
        }
        let mut kinds = causes.iter().rev().filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
        match (kinds.next(), way) {
            (Some(io::ErrorKind::ConnectionRefused), Way::Direct) => Self::Refused { address },
            (Some(io::ErrorKind::ConnectionRefused), Way::Proxied) => Self::Proxy { reason },
            (Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable), _) => Self::NoRoute { address },
            (Some(kind), _) if hangs_up(kind) => Self::HungUp,
            _ if says("connection closed before message completed") => Self::HungUp,
            _ => Self::Other { reason },
        }
    }
}

fn hangs_up(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// The next cause. What an error of IO wraps is not among its causes, so that whoever asks only for these passes it over;
/// a handshake that fails tells of it inside two of them.
fn beneath<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

/// Why a certificate that signs others is refused where nobody has named it.
const OF_AN_AUTHORITY: &str = "it is an authority's own, where a server needs one that an authority has signed";

/// Whether the certificate of an authority was shown as that of a server. The library has a name for it, but keeps the type
/// to itself.
pub(super) fn is_of_an_authority(fault: &OtherError) -> bool {
    fault.to_string().contains("CaUsedAsEndEntity")
}

fn certificate(fault: &CertificateError) -> &'static str {
    match fault {
        CertificateError::UnknownIssuer => "nobody here knows who vouches for it",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; is the clock right?"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => "it is for another name",
        CertificateError::Revoked => "it was revoked",
        CertificateError::BadEncoding => "it cannot be read",
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => "it is not for servers",
        CertificateError::Other(fault) if is_of_an_authority(fault) => OF_AN_AUTHORITY,
        _ => "it is not made as the certificate of a server must be",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// A chain as libraries tell it.
    #[derive(Debug)]
    struct Told(&'static str, Option<Box<dyn Error>>);

    impl fmt::Display for Told {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Told {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref()
        }
    }

    fn check(cause: impl Error + 'static, way: Way, expected: &str) {
        let chain =
            Told("error sending request", Some(Box::new(Told("client error (Connect)", Some(Box::new(cause))))));
        let url = Url::parse("https://models.example:8443/v1/chat?key=planted").unwrap();
        let obstacle = Obstacle::of(&chain, &url, way);
        assert_eq!(obstacle.to_string(), expected);
        assert!(!format!("{obstacle:?}").contains("planted"));
    }

    #[test]
    fn the_cause_that_matters_is_told() {
        let io = |kind: io::ErrorKind| io::Error::from(kind);
        let wrapped = |fault: rustls::Error| io::Error::other(io::Error::new(io::ErrorKind::InvalidData, fault));
        let dns = || Told("dns error", Some(Box::new(io::Error::other("failed to lookup address information"))));
        check(dns(), Way::Direct, "no server of the name models.example is known");
        let refused = "nothing listens at https://models.example:8443";
        check(io(io::ErrorKind::ConnectionRefused), Way::Direct, refused);
        let proxied = "the proxy does not lead there: connection refused";
        check(io(io::ErrorKind::ConnectionRefused), Way::Proxied, proxied);
        let closed = "the connection was closed before an answer came";
        check(io(io::ErrorKind::ConnectionReset), Way::Direct, closed);
        check(Told("connection closed before message completed", None), Way::Direct, closed);
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let believed = "the certificate of models.example is not believed: nobody here knows who vouches for it";
        check(wrapped(unknown), Way::Direct, believed);
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        check(wrapped(plain), Way::Direct, "https://models.example:8443 does not speak TLS");
        let tunnel = Told("tunnel error", Some(Box::new(Told("proxy authorization required", None))));
        check(tunnel, Way::Proxied, "the proxy wants to know who asks");
        let closed = Told("tunnel error", Some(Box::new(Told("unsuccessful", None))));
        check(closed, Way::Proxied, "the proxy does not lead there: unsuccessful");
        check(Told("something new", None), Way::Direct, "something new");
    }

    /// Asking again with the same name, or none, would end the same.
    #[test]
    fn proxy_that_asks_who_one_is_is_not_asked_again() {
        assert!(Obstacle::ProxyCredential.is_lasting());
        assert!(Obstacle::ProxyCredential.hint().contains("HTTPS_PROXY=http://user:password@"));
    }

    #[test]
    fn secret_part_of_a_host_is_in_no_obstacle() {
        let text = || "https://walnut7.example:8443".to_owned();
        let secrets = [Secret::new("WalNut7")];
        for obstacle in [
            Obstacle::UnknownHost { host: text() },
            Obstacle::Refused { address: text() },
            Obstacle::NoRoute { address: text() },
            Obstacle::HungUp,
            Obstacle::Certificate { host: text(), reason: text() },
            Obstacle::NotTls { address: text() },
            Obstacle::Proxy { reason: text() },
            Obstacle::ProxyCredential,
            Obstacle::Other { reason: text() },
        ] {
            let told = obstacle.hiding(&secrets);
            assert!(!format!("{told:?}").to_lowercase().contains("walnut"), "{told:?}");
        }
        let hidden = Obstacle::UnknownHost { host: "walnut7.example".to_owned() }.hiding(&secrets);
        assert_eq!(hidden, Obstacle::UnknownHost { host: "***.example".to_owned() });
        let foreign = Obstacle::UnknownHost { host: "xn--walnu-6qa.example".to_owned() };
        assert_eq!(foreign.hiding(&[Secret::new("walnuß")]), Obstacle::UnknownHost { host: "***".to_owned() });
    }
}
