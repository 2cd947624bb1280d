//! `extension.json`: what an extension is made of, before anything of it runs.
//!
//! [`parse`] reads the file and knows every fault; [`ExtensionManifest::tier`] says which engine will run it.

mod path;
mod rules;

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use pi_transcript::json::{Extra, Problem, present};

pub use self::{
    path::{InsidePath, OutsidePath},
    rules::is_name,
};
use crate::{
    capability::{Capability, CapabilityManifest, Declared},
    message::not_json,
};

/// The manifest of an extension. Its paths are safe however it was read; only [`parse`] promises the other rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[schemars(extend("allOf" = rules::conditions()))]
#[ts(optional_fields)]
pub struct ExtensionManifest {
    /// Lower-case letters, digits, `.`, `_` and `-`, beginning with a letter or digit; `@scope/name` is allowed.
    #[schemars(regex(pattern = rules::NAME))]
    pub name: String,
    /// By semantic versioning.
    #[schemars(regex(pattern = rules::VERSION))]
    pub version: String,
    /// The protocol version that the extension was written for.
    #[schemars(extend("enum" = [crate::message::VERSION]))]
    pub api_version: String,
    pub entry: Entry,
    /// Which engine runs the entry; told from the entry when absent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub engine: Option<Tier>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The older, coarse form of a capability manifest; ignored when there is one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub capability_manifest: Option<CapabilityManifest>,
    /// Files and folders that belong to the extension besides its code, relative to the manifest.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub assets: Option<Vec<InsidePath>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// Where an extension begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(untagged)]
#[schemars(extend("not" = { "type": "object", "required": ["command", "url"] }))]
pub enum Entry {
    /// A file, relative to the manifest.
    File(InsidePath),
    /// An MCP server that is started as a process and spoken to over its standard streams.
    Process(ProcessEntry),
    /// An MCP server that is spoken to over HTTP.
    Remote(RemoteEntry),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct ProcessEntry {
    #[schemars(length(min = 1))]
    pub command: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct RemoteEntry {
    #[schemars(regex(pattern = rules::URL))]
    pub url: String,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    #[ts(skip)]
    pub extra: Extra,
}

/// The three ways to run an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// A WASM component.
    Wasm,
    /// TypeScript or JavaScript, bundled.
    Js,
    /// An MCP server.
    Mcp,
}

/// The manifest does not say how to run the extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTier {
    #[error("nothing is known about files like {file:?}")]
    UnknownFile { file: String },
    #[error("the engine {engine} does not run {entry}")]
    Contradiction { engine: Tier, entry: &'static str },
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wasm => "wasm",
            Self::Js => "js",
            Self::Mcp => "mcp",
        })
    }
}

impl NoTier {
    /// What its author can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownFile { .. } => {
                "name a .wasm, .js, .mjs, .cjs, .jsx, .ts, .mts, .cts or .tsx file, or add \"engine\""
            }
            Self::Contradiction { .. } => {
                "wasm and js run a file, mcp runs {\"command\": …} or {\"url\": …}; leave \"engine\" out to let the entry decide"
            }
        }
    }
}

/// Reads `extension.json`, or says everything that is wrong with it and where.
pub fn parse(bytes: &[u8]) -> Result<ExtensionManifest, Vec<Problem>> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| vec![not_json(&error)])?;
    let problems = rules::problems(&value);
    if !problems.is_empty() {
        return Err(problems);
    }
    // The rules and the types are tested to agree; should they ever not, a fault without a path is still a fault.
    ExtensionManifest::deserialize(value)
        .map_err(|error| vec![Problem { path: String::new(), message: error.to_string() }])
}

impl ExtensionManifest {
    /// Which engine runs the extension: the one that it names, else the one that its entry needs.
    pub fn tier(&self) -> Result<Tier, NoTier> {
        tier(&self.entry, self.engine)
    }

    pub fn declared(&self) -> Declared {
        Declared::new(self.capability_manifest.as_ref(), self.capabilities.as_deref())
    }
}

/// The engine for an entry. A name is not a promise: whether a `.wasm` file is a component is found out by the pipeline.
pub fn tier(entry: &Entry, engine: Option<Tier>) -> Result<Tier, NoTier> {
    match (entry, engine) {
        (Entry::File(_), Some(engine @ (Tier::Wasm | Tier::Js))) => Ok(engine),
        (Entry::File(_), Some(engine @ Tier::Mcp)) => Err(NoTier::Contradiction { engine, entry: "a file" }),
        (Entry::File(file), None) => {
            rules::tier_of_file(file.as_str()).ok_or_else(|| NoTier::UnknownFile { file: file.to_string() })
        }
        (Entry::Process(_) | Entry::Remote(_), None | Some(Tier::Mcp)) => Ok(Tier::Mcp),
        (Entry::Process(_) | Entry::Remote(_), Some(engine)) => {
            Err(NoTier::Contradiction { engine, entry: "an MCP server" })
        }
    }
}
