//! Files, as far as the scope of an extension reaches. Paths are relative to the project unless they are absolute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use pi_transcript::json::present;

use super::data::Data;

/// Parameters of `fs`. Operations that only look need `read`, the others need `write`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(tag = "op", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum FsCall {
    /// The bytes of a file, or `limit` of them from `offset` on. Output: [`FileContent`].
    Read {
        path: String,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// What stands in a folder. Output: [`Listing`].
    List { path: String },
    /// What stands at a path. Output: [`Presence`].
    Stat { path: String, follow_links: bool },
    /// The path without links, `.` and `..`. Output: [`Place`].
    Resolve { path: String },
    /// Makes or replaces a file. Output: empty.
    Write {
        path: String,
        content: Data,
        mode: WriteMode,
        /// Permission bits of a file that is made; one that is there keeps its own. Of scripts alone: the record of components
        /// is as it was published.
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        #[schemars(skip)]
        #[ts(skip)]
        permissions: Option<u32>,
    },
    /// Adds to the end of a file, making it if there is none. Output: empty.
    Append { path: String, content: Data },
    /// Makes a folder. Output: empty.
    MakeDirectory { path: String, parents: bool },
    /// Makes an empty folder with a new name in the extension's temporary folder. Output: [`Place`].
    MakeTemporary { prefix: String },
    /// Removes a file, or a folder with everything in it if `recursive`. Output: empty.
    Remove { path: String, recursive: bool },
    /// Moves a file or folder, replacing a file at `to`. Output: empty.
    Rename { from: String, to: String },
    /// Sets permission bits; a host without them ignores all but the owner's write bit. Output: empty.
    SetMode { path: String, mode: u32 },
    /// Sets when it was read and changed last, in milliseconds since 1970. Output: empty.
    SetTimes { path: String, accessed_ms: i64, modified_ms: i64, follow_links: bool },
}

/// What writing does to a file that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    Replace,
    /// An error of code `io` if the file exists.
    CreateNew,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct FileContent {
    pub content: Data,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Listing {
    pub entries: Vec<DirectoryEntry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct DirectoryEntry {
    pub name: String,
    pub kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    File,
    Directory,
    Link,
    Other,
}

/// Absent `info` means that nothing is there: asking is not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct Presence {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub info: Option<FileInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
#[ts(optional_fields)]
pub struct FileInfo {
    pub kind: FileKind,
    pub size: u64,
    /// Milliseconds since 1970.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub modified_ms: Option<u64>,
    /// Permission bits, where the system has them.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, TS)]
pub struct Place {
    pub path: String,
}
