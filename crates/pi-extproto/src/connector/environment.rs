//! Environment variables and provider keys.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_redact::MARK;
use pi_transcript::{ProviderId, json::present};

use super::http::Header;

/// Parameters of `env`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum EnvCall {
    /// Output: [`Variable`].
    Get { name: String },
    /// The names that the extension may read and that are set. Output: [`Variables`].
    List,
}

/// Absent `value` means that the variable is not set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Variable {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether processes that the extension starts do not get it, unless they are given it. Of scripts alone: the record of
    /// components is as it was published.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    #[ts(skip)]
    pub is_withheld: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Variables {
    pub names: Vec<String>,
}

/// Parameters of `credentials`: raw keys, which a model call through `session` does not need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum CredentialsCall {
    /// Output: [`Credential`].
    Get { provider: ProviderId },
}

/// What a provider wants to see. Printing it for debugging shows which parts there are and none of what they hold.
///
/// A trace of the protocol gets [`redacted`](Credential::redacted) in its place.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Credential {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    pub headers: Vec<Header>,
}

impl Credential {
    /// The same parts with a mark in place of the key and of the value of every header, whatever the header is called.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let hidden = |header: &Header| Header { name: header.name.clone(), value: MARK.to_owned() };
        Self {
            api_key: self.api_key.as_ref().map(|_| MARK.to_owned()),
            headers: self.headers.iter().map(hidden).collect(),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api_key, headers } = self.redacted();
        f.debug_struct("Credential").field("api_key", &api_key).field("headers", &headers).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::connector::to_object;

    #[test]
    fn credential_shows_its_parts_and_not_what_they_hold() {
        let header = Header { name: "x-team".to_owned(), value: "hush".to_owned() };
        let credential = Credential { api_key: Some("hush".to_owned()), headers: vec![header] };
        let printed = format!("{credential:?} {credential:#?}");
        assert!(printed.contains("x-team") && !printed.contains("hush"), "{printed}");

        let traced = Value::Object(to_object(&credential.redacted()));
        assert_eq!(traced, json!({ "api_key": MARK, "headers": [{ "name": "x-team", "value": MARK }] }));
        let written = json!({ "api_key": "hush", "headers": [{ "name": "x-team", "value": "hush" }] });
        assert_eq!(Value::Object(to_object(&credential)), written, "the extension gets the real one");

        let bare = Credential { api_key: None, headers: Vec::new() };
        assert_eq!(bare.redacted(), bare);
    }
}
