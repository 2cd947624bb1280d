//! From what a model wrote to arguments that fit a schema.
//!
//! Models write numbers as text, one value where a list is asked for, `null` for what they leave out, and JSON inside a
//! string; and they call things as other tools do (`file_path`). What is meant is clear in all these cases, so it is taken. What is not clear is said in lines that name the
//! argument, so that the next attempt can be better. Keywords of JSON Schema that are not read here do not restrict.

mod coerce;
pub mod pattern;
pub(crate) mod synonym;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::Arguments;

/// Arguments that do not fit. The caller's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct BadArguments {
    pub problems: Vec<Problem>,
}

/// What is wrong with one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `edits.0.oldText`; empty for the arguments as a whole.
    pub path: String,
    pub message: String,
}

impl fmt::Display for BadArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The arguments do not fit:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// Makes arguments fit the schema of an object, or says everything that does not.
pub fn fit(schema: &Map<String, Value>, written: Value) -> Result<Arguments, BadArguments> {
    fit_and(schema, written, |_| None)
}

/// As [`fit`], for a tool that is about one file: an empty path names none.
pub(crate) fn fit_file(schema: &Map<String, Value>, written: Value) -> Result<Arguments, BadArguments> {
    fit_and(schema, written, |fitted| {
        let is_empty = fitted.get("path").and_then(Value::as_str).is_some_and(|path| path.trim().is_empty());
        is_empty.then(|| Problem { path: "path".to_owned(), message: "empty".to_owned() })
    })
}

/// Says what does not fit together with what is `wrong` beside that, so that one more attempt is enough.
fn fit_and(
    schema: &Map<String, Value>,
    written: Value,
    wrong: impl FnOnce(&Value) -> Option<Problem>,
) -> Result<Arguments, BadArguments> {
    let mut problems = Vec::new();
    let written = if written.is_null() { Value::Object(Map::new()) } else { written };
    let fitted = coerce::object(schema, written, "", &mut problems);
    problems.extend(wrong(&fitted));
    match fitted {
        Value::Object(arguments) if problems.is_empty() => Ok(arguments),
        _ => Err(BadArguments { problems }),
    }
}

/// Reads arguments that fit their schema. A hook may have changed them since they did.
pub(crate) fn read<T: DeserializeOwned>(arguments: Arguments) -> Result<T, BadArguments> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let problem = Problem { path: String::new(), message: error.to_string() };
        BadArguments { problems: vec![problem] }
    })
}
