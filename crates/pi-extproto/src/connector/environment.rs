//! Environment variables and provider keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

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
    Get { provider: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Credential {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    pub headers: Vec<Header>,
}
