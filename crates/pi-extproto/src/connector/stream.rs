//! What the chunks of a streamed result contain.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

use super::{data::Data, exec::Exit, http::ResponseHead};

/// The output of one chunk: at most one head, any number of pieces, and an end in the last chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum StreamItem {
    /// Status and headers of a response; first of all, and only for `http`.
    Head(ResponseHead),
    Piece(Piece),
    End(StreamEnd),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Piece {
    pub channel: Channel,
    pub data: Data,
}

/// Where a piece came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Stdout,
    Stderr,
    Body,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct StreamEnd {
    /// How the process ended; only for `exec`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    pub truncated: bool,
}
