//! Requests to other machines, as far as the scope of an extension and the host's own rules reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

use super::data::Data;

/// Parameters of `http`. Output: [`Response`], or [`StreamItem`](super::stream::StreamItem)s if `stream` is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<Header>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub body: Option<Data>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Each hop is decided anew, so a redirect never leaves the scope.
    pub follow_redirects: bool,
    /// Whether the body is handed out as it arrives.
    pub stream: bool,
}

/// A header; names may repeat and keep their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Header {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Response {
    pub head: ResponseHead,
    pub body: Data,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct ResponseHead {
    pub status: u16,
    /// Where the answer came from, after redirects.
    pub url: String,
    pub headers: Vec<Header>,
}
