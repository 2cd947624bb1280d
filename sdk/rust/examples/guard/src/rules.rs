//! What is dangerous. Pure: it looks at names and texts only, so it can be wrong in both directions.
//!
//! It is a guard against what models do by mistake, not against somebody who wants to get around it: a shell has more ways to
//! write `sudo` than any list has rows (a variable, a file that is written first and run then, a program in another language).
//! What holds is the policy of pi, which decides about files and processes and not about texts.

mod commands;
mod paths;
mod shell;

use serde_json::Value;

use self::paths::{folder, secret};

/// Lines inside lines, each run by the one around it, that are followed. What is deeper is not let through.
const DEPTH: usize = 4;
/// Arguments by which tools of others name files, whatever their names look like.
const PLACES: [&str; 11] =
    ["path", "paths", "file", "files", "file_path", "filename", "directory", "source", "destination", "uri", "glob"];

/// What is dangerous about a tool call, if something is. `input` is the JSON of its arguments.
pub fn danger(tool: &str, input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match tool {
        "bash" => text("command").and_then(|line| shell::line(line, DEPTH)),
        "read" | "ls" => text("path").and_then(|path| secret(path, "read")),
        "grep" => [text("path"), text("glob")].into_iter().flatten().find_map(|path| secret(path, "read")),
        "find" => [text("path"), text("pattern")].into_iter().flatten().find_map(|path| secret(path, "read")),
        "write" | "edit" => text("path").and_then(|path| secret(path, "change").or_else(|| folder(path, "change"))),
        // A tool of somebody else, of an MCP server for example: what it does with a file nobody can tell.
        _ => touched("", &input),
    }
}

/// What is dangerous about the files that a value names, at whatever depth.
fn touched(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            // A text of several lines is content, and a word without a dot or a slash is seldom a file.
            let is_path = PLACES.contains(&name) || text.contains(['.', '/', '\\']);
            let path = Some(text).filter(|text| is_path && !text.contains('\n'))?;
            secret(path, "touch").or_else(|| folder(path, "touch"))
        }
        Value::Array(several) => several.iter().find_map(|one| touched(name, one)),
        Value::Object(members) => members.iter().find_map(|(name, one)| touched(name, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What a search found, without what it found in files that hold secrets; nothing if there is none of that. A search through
/// a folder does not say beforehand what lies there.
pub fn without_secrets(found: &str) -> Option<String> {
    let is_secret = |line: &&str| {
        // `path:12: text` and `path-12- text` of our own search, `path:text` of others.
        let ends = line.match_indices([':', '-']).map(|(at, _)| &line[..at]);
        ends.take_while(|path| !path.contains(char::is_whitespace)).any(|path| secret(path, "read").is_some())
    };
    let (secret, open): (Vec<&str>, Vec<&str>) = found.lines().partition(is_secret);
    let left_out = format!("[guard: lines of files that may hold secrets are left out: {}]", secret.len());
    (!secret.is_empty()).then(|| open.into_iter().chain([left_out.as_str()]).collect::<Vec<_>>().join("\n"))
}
