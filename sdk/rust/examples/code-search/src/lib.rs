//! An extension with a tool that finds where a name is defined and where it is used.
//!
//! It reads files through the host and looks at lines: no index, no parser, every language that [`lines`] knows. So it says
//! what it saw and what it did not look into, and never that something is not there.

pub mod lines;

use pi_extension::{
    ContentBlock, ErrorReport, Extension, FileKind, Host, Register, ToolCall, ToolOutput, ToolResult, failed, input,
    register, said, tool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::{Found, Kind, Language};

/// Folders that nobody looks for code in.
const SKIPPED: [&str; 7] = [".git", "node_modules", "target", "dist", "build", ".venv", "__pycache__"];
/// Bounds of one search.
const MOST_FILES: usize = 2000;
const MOST_BYTES: usize = 1 << 20;
const DEFAULT_LIMIT: usize = 50;
/// Most files that are named of those that were not looked into.
const MOST_NAMED: usize = 10;
/// After so many files it is told how far the search has come.
const NEWS: usize = 200;

/// The extension. It keeps nothing.
#[derive(Default)]
pub struct CodeSearch;

#[derive(Deserialize)]
struct Query {
    name: String,
    path: Option<String>,
    kind: Option<Wanted>,
    limit: Option<usize>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    Definition,
    Use,
    Any,
}

impl Extension for CodeSearch {
    fn register(&mut self) -> Result<Register, ErrorReport> {
        let parameters = json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "description": "The name of a function, type or variable, as it is written" },
            "path": { "type": "string", "description": "A folder or file; the project if absent" },
            "kind": { "enum": ["definition", "use", "any"], "description": "What to look for; any if absent" },
            "limit": { "type": "integer", "minimum": 1, "description": "Most results; 50 if absent" },
        } });
        let mut search = tool(
            "code_search",
            "Finds where a name is defined and used, with file, line and kind of each place. It looks at single lines of \
             Rust, JavaScript, TypeScript, Python, Go, C, C++, Java and C#, and into no folders of packages and builds.",
            &parameters,
        );
        search.label = Some("Code search".to_owned());
        search.prompt_snippet = Some("code_search: find definitions and uses of a name".to_owned());
        Ok(Register { tools: Some(vec![search]), ..register("code-search", env!("CARGO_PKG_VERSION")) })
    }

    fn call_tool<H: Host>(&mut self, host: &H, call: ToolCall) -> Result<ToolResult, ErrorReport> {
        let query: Query = input(&call)?;
        if query.name.is_empty() || !query.name.chars().all(lines::is_name) {
            return Err(failed("bad_input", "name: expected letters, digits and underscores"));
        }
        let search = Search { host, call_id: &call.call_id, query: &query };
        let seen = search.run(start(query.path.as_deref().unwrap_or(".")))?;
        Ok(answer(&query, seen))
    }
}

struct Search<'a, H> {
    host: &'a H,
    call_id: &'a str,
    query: &'a Query,
}

/// What a search came to.
#[derive(Default)]
struct Seen {
    /// Of the kind that is wanted.
    found: Vec<Found>,
    /// Places of the other kinds.
    others: usize,
    /// Files of code that were looked into.
    files: usize,
    /// What was not looked into, and why.
    left_out: Vec<String>,
}

/// Where to begin, without what means nothing. The root of all files stays what it is.
fn start(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/",
        "" => ".",
        path => path,
    }
}

impl<H: Host> Search<'_, H> {
    fn run(&self, start: &str) -> Result<Seen, ErrorReport> {
        let info = self.host.stat(start).map_err(|error| failed("host", error.message))?;
        let Some(info) = info else { return Err(failed("not_found", format!("there is nothing at {start}"))) };
        let mut seen = Seen::default();
        if info.kind == FileKind::File {
            if Language::of(start).is_none() {
                seen.left_out.push(format!("{start}: in no language that is known here"));
            }
            self.file(start, &mut seen);
            return Ok(seen);
        }
        let (mut waiting, mut beyond) = (vec![start.to_owned()], 0);
        while let Some(folder) = waiting.pop() {
            let entries = match self.host.list(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    seen.left_out.push(format!("{folder}: {}", error.message));
                    continue;
                }
            };
            for entry in entries {
                let path = match folder.as_str() {
                    "." => entry.name.clone(),
                    "/" => format!("/{}", entry.name),
                    folder => format!("{folder}/{}", entry.name),
                };
                match entry.kind {
                    FileKind::Directory if !SKIPPED.contains(&entry.name.as_str()) => waiting.push(path),
                    FileKind::File if seen.files < MOST_FILES => self.file(&path, &mut seen),
                    FileKind::File if Language::of(&path).is_some() => beyond += 1,
                    _ => {}
                }
            }
        }
        if beyond > 0 {
            seen.left_out.push(format!("{beyond} files beyond the first {MOST_FILES}"));
        }
        Ok(seen)
    }

    /// Says how far it has come, now and then. A host that does not want to know is no reason to stop.
    fn tell(&self, seen: &Seen) {
        if seen.files.is_multiple_of(NEWS) {
            let news = format!("{} places in {} files so far", seen.found.len(), seen.files);
            let _ = self.host.tool_update(self.call_id, &[ContentBlock::Text(news)], None);
        }
    }

    /// Looks into a file, if it is one of code.
    fn file(&self, path: &str, seen: &mut Seen) {
        let Some(language) = Language::of(path) else { return };
        let bytes = match self.host.read(path) {
            Ok(bytes) => bytes,
            Err(error) => return seen.left_out.push(format!("{path}: {}", error.message)),
        };
        if bytes.len() > MOST_BYTES {
            return seen.left_out.push(format!("{path}: larger than {} MiB", MOST_BYTES >> 20));
        }
        // Names are found whatever the rest is written in.
        let places = language.find(path, &String::from_utf8_lossy(&bytes), &self.query.name);
        let (found, others): (Vec<Found>, Vec<Found>) = places.into_iter().partition(|it| match self.query.wanted() {
            Wanted::Any => true,
            Wanted::Definition => it.kind != Kind::Use,
            Wanted::Use => it.kind == Kind::Use,
        });
        seen.found.extend(found);
        seen.others += others.len();
        seen.files += 1;
        self.tell(seen);
    }
}

impl Query {
    fn wanted(&self) -> Wanted {
        self.kind.unwrap_or(Wanted::Any)
    }
}

fn answer(query: &Query, seen: Seen) -> ToolResult {
    let Seen { mut found, others, files, left_out } = seen;
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).max(1);
    let has_more = found.len() > limit;
    // Definitions first.
    found.sort_by(|a, b| (a.kind, &a.file, a.line).cmp(&(b.kind, &b.file, b.line)));
    found.truncate(limit);
    let line = |it: &Found| format!("{}:{}: {}: {}", it.file, it.line, it.kind.word(), it.text);
    let mut text: Vec<String> = found.iter().map(line).collect();
    if found.is_empty() {
        text.push(nothing(query, others, files));
    }
    if has_more {
        text.push("… there is more; narrow the path or raise the limit".to_owned());
    }
    if !left_out.is_empty() {
        let named = left_out.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
        let rest = left_out.len().saturating_sub(MOST_NAMED);
        let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        text.push(format!("… not looked into: {named}{rest}"));
    }
    let details: Vec<Value> = found
        .iter()
        .map(|it| json!({ "file": it.file, "line": it.line, "kind": it.kind.word(), "text": it.text }))
        .collect();
    let is_cut = has_more || !left_out.is_empty();
    let details = json!({ "found": details, "cut": is_cut, "left_out": left_out });
    let mut result = said(text.join("\n"));
    result.output = ToolOutput { details: Some(details.to_string()), ..result.output };
    result
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What is said when nothing of what was wanted was seen: no more than that.
fn nothing(query: &Query, others: usize, files: usize) -> String {
    let name = &query.name;
    let hint = "single lines do not show everything; try any kind";
    match query.wanted() {
        Wanted::Definition if others > 0 => {
            format!("{name} is used in {}, and defined in none, as far as is seen: {hint}", counted(others, "place"))
        }
        Wanted::Use if others > 0 => {
            format!("{name} is defined in {}, and used in none, as far as is seen: {hint}", counted(others, "place"))
        }
        Wanted::Any | Wanted::Definition | Wanted::Use => {
            format!("nothing found: no line with {name} in the code that was looked into, {}", counted(files, "file"))
        }
    }
}

#[cfg(target_family = "wasm")]
pi_extension::export!(CodeSearch);
