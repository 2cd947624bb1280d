//! What was thrown, in the words of the sources: bundles are one line that nobody wrote.

use std::path::{Component, Path, PathBuf};

use pi_extc::SourceMap;
use pi_exthost::{GuestFault, guest::CodePlace};

use super::modules::BUNDLE;

/// Where the bundler would put what it makes, from the folder of an extension: maps begin there.
const BUILT: &str = "dist";

/// Lines of a stack that are translated. Extensions write stacks of their own, as long as they like.
const MOST_LINES: usize = 64;

/// How the engine begins a frame.
const FRAME: &str = "    at ";

/// The frames of a stack, without the words before them, which say what was thrown.
pub(super) fn frames(stack: &str) -> &str {
    match stack.find(FRAME) {
        Some(start) if start == 0 || stack[..start].ends_with('\n') => &stack[start..],
        Some(_) | None => stack,
    }
}

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
        let (stack, at) = self.translate(frames(&stack));
        GuestFault::Threw { message, stack: Some(stack), at }
    }

    /// The frames of the engine as Node would write them; nothing if they are none of the engine.
    pub(super) fn placed(&self, frames: &str) -> Option<String> {
        if !frames.is_empty() && !frames.starts_with(FRAME) {
            return None;
        }
        let (translated, _) = self.translate(frames.trim_end());
        let line = |line: &str| match line.strip_prefix("    at <anonymous> (").and_then(|rest| rest.strip_suffix(')'))
        {
            Some("native" | "missing") => "    at <anonymous>".to_owned(),
            Some(place) => format!("{FRAME}{place}"),
            None => line.replace(" (native)", " (<anonymous>)").replace(" (missing)", " (<anonymous>)"),
        };
        Some(translated.lines().map(line).collect::<Vec<_>>().join("\n"))
    }

    /// The lines of a stack, and the innermost place that is one of the sources. What was translated already stays as it is.
    pub(super) fn translate(&self, stack: &str) -> (String, Option<CodePlace>) {
        let mut first = None;
        let lines = stack.split('\n').enumerate().map(|(number, line)| match self.of_line(number, line) {
            Some((before, place, after)) => {
                let told = format!("{before}{place}{after}");
                first.get_or_insert(place);
                told
            }
            None => {
                if let Some(place) = placed_in(line).filter(|_| first.is_none() && number < MOST_LINES) {
                    first = Some(place);
                }
                line.to_owned()
            }
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

/// The place of a frame that is one of a file already.
fn placed_in(line: &str) -> Option<CodePlace> {
    let frame = line.strip_prefix(FRAME)?;
    let place = frame.split_once(" (").map_or(frame, |(_, place)| place.trim_end_matches(')'));
    let mut parts = place.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let file = parts.next().filter(|file| !file.is_empty() && !file.starts_with("pi:"))?;
    Some(CodePlace { file: file.to_owned(), line, column })
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
