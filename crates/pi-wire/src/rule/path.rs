//! Paths, as far as their text says: whether one leads anywhere, and may be used, is for the server to see.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::{Refused, Report, Rule, text::is_longer};
use crate::{
    fault::{Fault, PathFault, Wanted},
    limits,
    schema::typescript::Types,
};

/// A rule for the text of a path. All kinds refuse NUL, `..`, a leading `~` and more than [`limits::PATH`] units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// Absolute, the working directory of a session.
    Cwd,
    /// Absolute, a `.jsonl` or `.json` file.
    SessionFile,
    /// Absolute or relative to the session's directory.
    Free,
}

impl Path {
    fn fault_in(self, text: &str) -> Option<PathFault> {
        if text.contains('\0') {
            return Some(PathFault::Nul);
        }
        if is_longer(text, limits::PATH) {
            return Some(PathFault::TooLong);
        }
        if text.starts_with('~') {
            return Some(PathFault::Tilde);
        }
        if text.split(['/', '\\']).any(|part| part == "..") {
            return Some(PathFault::Parent);
        }
        match self {
            Self::Free => None,
            Self::Cwd => (!is_absolute(text)).then_some(PathFault::NotAbsolute),
            Self::SessionFile if !is_absolute(text) => Some(PathFault::NotAbsolute),
            Self::SessionFile => {
                let known = text.ends_with(".jsonl") || text.ends_with(".json");
                (!known).then_some(PathFault::Extension)
            }
        }
    }

    fn fault(self, fault: PathFault) -> Fault {
        match self {
            Self::Cwd => Fault::Cwd(fault),
            Self::SessionFile => Fault::SessionPath(fault),
            Self::Free => Fault::Path(fault),
        }
    }

    fn pattern(self) -> &'static str {
        match self {
            Self::Cwd => r"^(/|[A-Za-z]:[/\\])[^\u0000]*$",
            Self::SessionFile => r"^(/|[A-Za-z]:[/\\])[^\u0000]*\.jsonl?$",
            Self::Free => r"^[^~\u0000][^\u0000]*$",
        }
    }
}

impl Rule for Path {
    type Output = String;

    fn wanted(&self) -> Wanted {
        Wanted::NonEmptyString
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<String, Refused> {
        match value {
            Value::String(text) if !text.is_empty() => match self.fault_in(&text) {
                Some(fault) => Err(report.fault(self.fault(fault))),
                None => Ok(text),
            },
            _ => Err(Refused::Mistyped),
        }
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": limits::PATH,
            "pattern": self.pattern(),
            "not": json!({ "pattern": r"(^|[/\\])\.\.([/\\]|$)" }),
        })
    }

    fn typescript(&self, _: &mut Types) -> String {
        "string".to_owned()
    }
}

/// Absolute for a server on any system: a client need not know on which one it runs.
fn is_absolute(text: &str) -> bool {
    match text.as_bytes() {
        [b'/', ..] => true,
        [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}
