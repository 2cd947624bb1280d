//! Processes: started without a shell, with a deadline, and ended together with their children.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

use super::data::Data;

/// Parameters of `exec`. Output: [`CommandOutput`], or [`StreamItem`](super::stream::StreamItem)s if `stream` is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Command {
    /// A program, by name or path.
    pub command: String,
    pub args: Vec<String>,
    /// The project, unless given.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables added to the environment that the host gives to processes.
    pub env: BTreeMap<String, String>,
    /// Variables that the host gives to processes, and that this one does not get. Of scripts alone, as the next one: the record
    /// of components is as it was published.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    #[ts(skip)]
    pub unset: Option<Vec<String>>,
    /// Whether this one gets none of them: `env` is all that it has, beside the folders of programs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    #[ts(skip)]
    pub bare: Option<bool>,
    /// Whether a first piece without bytes says that the process runs. Of scripts alone, and of streams. Nothing else is done
    /// because of it, so it is no part of what is recorded and hashed: the same command is the same on all tiers.
    #[serde(default, deserialize_with = "present", skip_serializing)]
    #[schemars(skip)]
    #[ts(skip)]
    pub announce: Option<bool>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Data>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How much of each of the two outputs is kept; the host has a limit of its own.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// Whether output is handed out while the process runs.
    pub stream: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct CommandOutput {
    pub stdout: Data,
    pub stderr: Data,
    pub exit: Exit,
    /// Whether a part of the output was dropped.
    pub truncated: bool,
}

/// How a process ended. A process that ends badly is a result, not an error of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Exit {
    /// Absent if a signal ended it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The name of that signal, where the system has them. For scripts alone: the record of components is as it was published.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    #[ts(skip)]
    pub signal: Option<String>,
    /// Whether the host ended it: deadline, cancellation, or too much output.
    pub killed: bool,
}
