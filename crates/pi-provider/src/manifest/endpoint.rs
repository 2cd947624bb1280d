//! Where a provider is reached and how a caller shows who they are.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Ring 1: the address and the credential. Paths of operations are in [`Manifest::endpoints`](super::Manifest), also those
/// that the file wrote here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// May hold `${NAME}` for values of the environment.
    pub base_url: String,
    /// How long a whole call that does not stream may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    pub auth: Auth,
}

/// Where the credential comes from and where it is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Auth {
    #[serde(flatten)]
    pub placement: Placement,
    /// The variable that holds it.
    #[serde(default)]
    pub token_env: Option<String>,
    /// Headers that every request carries.
    #[serde(default)]
    pub extra_headers: Vec<Header>,
}

/// Where the credential is put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Placement {
    /// `Authorization: Bearer …`, or another header and prefix.
    Bearer {
        header: String,
        prefix: String,
    },
    CustomHeader {
        header: String,
    },
    QueryParam {
        param_name: String,
    },
    /// A server on this machine that asks for nothing. Ours: the standard has no word for it.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub name: String,
    pub value: String,
}

/// One thing that can be asked of the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Joined to the base address unless it is a whole address; may hold `{model}` and a query.
    pub path: String,
    #[serde(default = "post")]
    pub method: String,
    /// The dialect, where this operation speaks another one than the rest: `openai`, `anthropic`, `gemini`, `cohere_v2`.
    #[serde(default)]
    pub adapter: Option<String>,
    #[serde(default)]
    pub request_encoding: Option<String>,
    #[serde(default)]
    pub response_encoding: Option<String>,
}

/// A question about the provider itself, such as the list of its models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    pub path: String,
    #[serde(default = "get")]
    pub method: String,
    #[serde(default)]
    pub headers: IndexMap<String, String>,
    #[serde(default)]
    pub query_params: IndexMap<String, String>,
    /// The member of the answer that holds the list.
    #[serde(default)]
    pub response_binding: Option<String>,
}

fn post() -> String {
    "POST".to_owned()
}

fn get() -> String {
    "GET".to_owned()
}
