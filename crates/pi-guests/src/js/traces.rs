//! What was thrown, in the words of the sources: bundles are one line that nobody wrote.

use std::path::{Component, Path, PathBuf};

use pi_extc::SourceMap;
use pi_exthost::{GuestFault, guest::CodePlace};

use super::modules::BUNDLE;

/// Where the bundler would put what it makes, from the folder of an extension: maps begin there.
const BUILT: &str = "dist";

/// Lines of a stack that are translated. Extensions write stacks of their own, as long as they like.
const MOST_LINES: usize = 64;

/// From places in a bundle to places in sources.
#[derive(Debug, Clone)]
pub struct Sources {
    pub map: SourceMap,
    /// The folder of the extension.
    pub folder: PathBuf,
}

impl Sources {
    /// Of code that is run as it was written.
    pub fn none() -> Self {
        Self { map: SourceMap::new("".into()), folder: PathBuf::new() }
    }

    /// What the code of an extension threw.
    pub(super) fn fault(&self, message: String, stack: Option<String>) -> GuestFault {
        let Some(stack) = stack.filter(|stack| !stack.is_empty()) else { return GuestFault::threw(message) };
        let (stack, at) = self.translate(&stack);
        GuestFault::Threw { message, stack: Some(stack), at }
    }

    /// The lines of a stack, and the innermost place that is one of the sources.
    pub(super) fn translate(&self, stack: &str) -> (String, Option<CodePlace>) {
        let mut first = None;
        let lines = stack.split('\n').enumerate().map(|(number, line)| match self.of_line(number, line) {
            Some((before, place, after)) => {
                let told = format!("{before}{place}{after}");
                first.get_or_insert(place);
                told
            }
            None => line.to_owned(),
        });
        let translated = lines.collect::<Vec<_>>().join("\n");
        (translated, first)
    }

    /// A line like `    at name (pi:bundle/name:2:204)`: what is before the place, the place, and what is behind it.
    fn of_line<'a>(&self, number: usize, line: &'a str) -> Option<(&'a str, CodePlace, &'a str)> {
        if number >= MOST_LINES {
            return None;
        }
        let start = line.find(BUNDLE)?;
        let (before, rest) = line.split_at(start);
        let end = rest.find([')', ' ']).unwrap_or(rest.len());
        let (inside, after) = rest.split_at(end);
        let mut parts = inside.rsplitn(3, ':');
        let (column, row) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let found = self.map.find(row, column)?;
        let place = CodePlace { file: self.file(&found.source), line: found.line, column: found.column };
        Some((before, place, after))
    }

    /// The file as it lies here; as the map names it if it lies elsewhere, as that of an extension that somebody else built.
    fn file(&self, source: &str) -> String {
        let path = tidied(&self.folder.join(BUILT).join(source));
        let inside = source.trim_start_matches("../");
        if path.is_file() { path.display().to_string() } else { inside.to_owned() }
    }
}

fn tidied(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidied.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => tidied.push(part),
        }
    }
    tidied
}
