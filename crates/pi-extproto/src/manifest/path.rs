//! Paths that a manifest names.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The same rule as [`is_inside`], for the schema.
const PATTERN: &str = r"^(?!/)(?!.*(^|/)\.\.(/|$))[^\\:\u0000-\u001f]+$";

/// A path that stays inside the folder of the manifest: relative, with `/`, without `..`, `:` and control characters.
/// Every value keeps to that, whichever way it was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(try_from = "String")]
#[ts(as = "String")]
pub struct InsidePath(String);

/// The path could lead out of the extension's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a path inside the extension's folder: relative, with '/', without '..'")]
pub struct OutsidePath;

impl InsidePath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for InsidePath {
    type Error = OutsidePath;

    fn try_from(path: String) -> Result<Self, OutsidePath> {
        if is_inside(&path) { Ok(Self(path)) } else { Err(OutsidePath) }
    }
}

impl fmt::Display for InsidePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for InsidePath {
    fn schema_name() -> Cow<'static, str> {
        "InsidePath".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": PATTERN })
    }
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(|c: char| c == '\\' || c == ':' || c < ' ')
        && path.split('/').all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{artifact::SourceFile, manifest::Entry};

    #[test]
    fn no_way_of_reading_lets_a_path_out() {
        for path in ["", "/a", "..", "a/../b", "../a", "a\\..\\b", "c:/a", "a\0b", "a\n"] {
            let json = serde_json::Value::from(path);
            assert!(serde_json::from_value::<InsidePath>(json.clone()).is_err(), "{path:?}");
            assert!(serde_json::from_value::<Entry>(json.clone()).is_err(), "{path:?}");
            let source = serde_json::json!({ "path": json, "digest": "0".repeat(64), "size": 0 });
            assert!(serde_json::from_value::<SourceFile>(source).is_err(), "{path:?}");
        }
        for path in ["a", "./a", "a/.b/..c", "a b/é"] {
            let read: InsidePath = serde_json::from_value(path.into()).expect(path);
            assert_eq!((read.as_str(), serde_json::to_value(&read).expect("JSON")), (path, path.into()));
        }
    }
}
