//! Where a credential goes in a request.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::{Credential, CredentialKind};
use crate::{
    manifest::{
        Auth,
        endpoint::{Placement, SecretHeader},
    },
    secret::Secret,
};

/// What is added to a request. Does not print what it carries.
#[derive(Clone, PartialEq, Eq)]
pub enum Attachment {
    Header {
        name: HeaderName,
        /// Marked as sensitive.
        value: HeaderValue,
    },
    Query {
        name: String,
        value: Secret,
    },
}

/// Why a credential cannot be sent. Nothing of it is in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    #[error("{0} is not the name of a header")]
    HeaderName(String),
    #[error("the credential holds characters that no header can carry, such as a line break")]
    Characters,
}

/// Everything secret that a request carries: the user's own headers, then the credential, which wins where both want the
/// same header.
pub fn attachments(auth: &Auth, credential: Option<&Credential>) -> Result<Vec<Attachment>, AttachError> {
    let headers = auth.secret_headers.iter().map(|SecretHeader { name, value }| header(name, "", value));
    headers.chain(credential.map(|credential| attach(auth, credential))).collect()
}

/// Puts the credential where the manifest says. A server that asks for nothing is sent a bearer token if somebody has
/// given one all the same.
pub fn attach(auth: &Auth, credential: &Credential) -> Result<Attachment, AttachError> {
    let secret = &credential.secret;
    match (credential.kind, &auth.placement) {
        (CredentialKind::AccessToken, _) | (CredentialKind::Key, Placement::None) => {
            header(AUTHORIZATION.as_str(), "Bearer", secret)
        }
        (CredentialKind::Key, Placement::Bearer { header: name, prefix }) => header(name, prefix, secret),
        (CredentialKind::Key, Placement::CustomHeader { header: name }) => header(name, "", secret),
        (CredentialKind::Key, Placement::QueryParam { param_name }) => {
            Ok(Attachment::Query { name: param_name.clone(), value: secret.clone() })
        }
    }
}

fn header(name: &str, prefix: &str, secret: &Secret) -> Result<Attachment, AttachError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| AttachError::HeaderName(name.to_owned()))?;
    let prefix = prefix.trim();
    let value = if prefix.is_empty() { secret.expose().to_owned() } else { format!("{prefix} {}", secret.expose()) };
    let mut value = HeaderValue::from_str(&value).map_err(|_| AttachError::Characters)?;
    value.set_sensitive(true);
    Ok(Attachment::Header { name, value })
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { name, .. } => write!(f, "Header({name}: …)"),
            Self::Query { name, .. } => write!(f, "Query({name}=…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-planted-7Qd4";

    fn check(placement: Placement, kind: CredentialKind, expected: &str) {
        let auth = Auth::by(placement);
        let attachment = attach(&auth, &Credential { secret: Secret::new(KEY), kind }).unwrap();
        assert!(!format!("{attachment:?}").contains(KEY));
        let shown = match attachment {
            Attachment::Header { name, value } => {
                assert!(value.is_sensitive());
                format!("{name}: {}", value.to_str().unwrap())
            }
            Attachment::Query { name, value } => format!("?{name}={}", value.expose()),
        };
        assert_eq!(shown, expected.replace("KEY", KEY));
    }

    #[test]
    fn every_place_is_filled() {
        let bearer = |prefix: &str| Placement::Bearer { header: "Authorization".to_owned(), prefix: prefix.to_owned() };
        let custom = || Placement::CustomHeader { header: "x-api-key".to_owned() };
        let query = || Placement::QueryParam { param_name: "key".to_owned() };
        check(bearer("Bearer"), CredentialKind::Key, "authorization: Bearer KEY");
        check(bearer("Bearer "), CredentialKind::Key, "authorization: Bearer KEY");
        check(bearer(""), CredentialKind::Key, "authorization: KEY");
        check(custom(), CredentialKind::Key, "x-api-key: KEY");
        check(query(), CredentialKind::Key, "?key=KEY");
        check(Placement::None, CredentialKind::Key, "authorization: Bearer KEY");
        check(custom(), CredentialKind::AccessToken, "authorization: Bearer KEY");
        check(query(), CredentialKind::AccessToken, "authorization: Bearer KEY");
    }

    #[test]
    fn refusals_do_not_quote_the_credential() {
        let custom = |header: &str| Auth::by(Placement::CustomHeader { header: header.to_owned() });
        let broken = Credential::key(Secret::new("sk-planted\nX-Evil: 1"));
        assert_eq!(attach(&custom("x-api-key"), &broken), Err(AttachError::Characters));
        let named = attach(&custom("not a header"), &broken);
        assert_eq!(named, Err(AttachError::HeaderName("not a header".to_owned())));
    }
}
