//! An extension with a tool that finds where a name is defined and where it is used.
//!
//! It reads files through the host and looks at lines: no index, no parser, every language that [`lines`] knows.

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
            "Finds where a name is defined and used, with file, line and kind of each place.",
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
        let search =
            Search { host, call_id: &call.call_id, query: &query, limit: query.limit.unwrap_or(DEFAULT_LIMIT).max(1) };
        let (found, is_cut) = search.run(query.path.as_deref().unwrap_or("."))?;
        Ok(answer(&query.name, &found, is_cut))
    }
}

struct Search<'a, H> {
    host: &'a H,
    call_id: &'a str,
    query: &'a Query,
    limit: usize,
}

impl<H: Host> Search<'_, H> {
    /// What was found, definitions first, and whether there may be more.
    fn run(&self, start: &str) -> Result<(Vec<Found>, bool), ErrorReport> {
        let start = start.trim_start_matches("./").trim_end_matches('/');
        let start = if start == "." { "" } else { start };
        let info = self
            .host
            .stat(if start.is_empty() { "." } else { start })
            .map_err(|error| failed("host", error.message))?;
        let Some(info) = info else { return Err(failed("not_found", format!("there is nothing at {start}"))) };
        let (mut waiting, mut found, mut files) = (vec![start.to_owned()], Vec::new(), 0);
        let mut is_cut = false;
        if info.kind == FileKind::File {
            self.file(start, &mut found);
            waiting.clear();
        }
        while let Some(folder) = waiting.pop() {
            let shown = if folder.is_empty() { "." } else { &folder };
            // A folder that may not be read holds nothing for us.
            let Ok(entries) = self.host.list(shown) else { continue };
            for entry in entries {
                let path = if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
                match entry.kind {
                    FileKind::Directory if !SKIPPED.contains(&entry.name.as_str()) => waiting.push(path),
                    FileKind::File if files < MOST_FILES && self.file(&path, &mut found) => {
                        files += 1;
                        self.tell(files, found.len());
                    }
                    FileKind::File if files < MOST_FILES => {}
                    FileKind::File => is_cut = true,
                    _ => {}
                }
            }
        }
        found.sort_by(|a, b| (a.kind, &a.file, a.line).cmp(&(b.kind, &b.file, b.line)));
        is_cut |= found.len() > self.limit;
        found.truncate(self.limit);
        Ok((found, is_cut))
    }

    /// Says how far it has come, now and then. A host that does not want to know is no reason to stop.
    fn tell(&self, files: usize, places: usize) {
        if files.is_multiple_of(NEWS) {
            let news = format!("{places} places in {files} files so far");
            let _ = self.host.tool_update(self.call_id, &[ContentBlock::Text(news)], None);
        }
    }

    /// Looks into a file; whether it is one of code.
    fn file(&self, path: &str, found: &mut Vec<Found>) -> bool {
        let Some(language) = Language::of(path) else { return false };
        // One that may not be read, or is no text, is passed over.
        let Ok(bytes) = self.host.read(path) else { return true };
        let Ok(text) = String::from_utf8(bytes) else { return true };
        if text.len() <= MOST_BYTES {
            let wanted = self.query.kind.unwrap_or(Wanted::Any);
            found.extend(language.find(path, &text, &self.query.name).into_iter().filter(|it| match wanted {
                Wanted::Any => true,
                Wanted::Definition => it.kind != Kind::Use,
                Wanted::Use => it.kind == Kind::Use,
            }));
        }
        true
    }
}

fn answer(name: &str, found: &[Found], is_cut: bool) -> ToolResult {
    if found.is_empty() {
        return said(format!("{name} is neither defined nor used here"));
    }
    let line = |it: &Found| format!("{}:{}: {}: {}", it.file, it.line, it.kind.word(), it.text);
    let mut text: Vec<String> = found.iter().map(line).collect();
    if is_cut {
        text.push("… there is more; narrow the path or raise the limit".to_owned());
    }
    let details: Vec<Value> = found
        .iter()
        .map(|it| json!({ "file": it.file, "line": it.line, "kind": it.kind.word(), "text": it.text }))
        .collect();
    let mut result = said(text.join("\n"));
    result.output =
        ToolOutput { details: Some(json!({ "found": details, "cut": is_cut }).to_string()), ..result.output };
    result
}

#[cfg(target_family = "wasm")]
pi_extension::export!(CodeSearch);
