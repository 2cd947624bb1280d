//! What was thrown, in the words of the sources: bundles are one line that nobody wrote.

use std::path::{Component, Path, PathBuf};

use pi_extc::{Position, SourceMap};
use pi_exthost::{
    GuestFault,
    guest::{Certainty, CodePlace},
};

use super::{
    modules::BUNDLE,
    sighting::{Sight, Sighting, Subject},
};

/// Where the bundler would put what it makes, from the folder of an extension: maps begin there.
const BUILT: &str = "dist";

/// Lines of a stack that are translated. Extensions write stacks of their own, as long as they like.
const MOST_LINES: usize = 64;

/// The line of a bundle in which everything stands; before it is what we put there.
const BUNDLED: u32 = 2;

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
        let frames = frames(&stack);
        let sighting = self.said(&message, frames);
        let (stack, at) = self.translate(frames);
        let Sighting { message: told, position, certainty } = match sighting {
            Sight::Found(sighting) => sighting,
            // What the stack begins with is the beginning of everything.
            Sight::Nowhere => return GuestFault::Threw { message, stack: Some(stack), at: None },
            Sight::Nothing => return GuestFault::Threw { message, stack: Some(stack), at },
        };
        let Position { source, line, column } = position;
        let place = CodePlace { file: self.file(&source), line, column, certainty };
        let stack = match at.filter(|at| *at != place) {
            Some(at) => stack.replacen(&at.to_string(), &place.to_string(), 1),
            None => stack,
        };
        GuestFault::Threw { message: told.unwrap_or(message), stack: Some(stack), at: Some(place) }
    }

    /// What the engine says, and where that is, as far as its words and its place lead to the source.
    fn said(&self, message: &str, frames: &str) -> Sight {
        let (Some(frame), Some(subject)) = (frames.lines().next(), Subject::of(message)) else { return Sight::Nothing };
        let texts = self.map.texts();
        let found = match placed_at(frame) {
            Some((row, column)) => self.map.find(row, column),
            // It was translated when somebody read it.
            None => placed_in(frame).and_then(|place| self.position(place, &texts)),
        };
        let Some(found) = found else { return Sight::Nothing };
        // A function without variables and calls has no places: then the engine names the first column of its line.
        let found = Some(found).filter(|found| Some(found) != self.map.find(BUNDLED, 1).as_ref());
        subject.sight(&texts, found.as_ref())
    }

    fn position(&self, place: CodePlace, texts: &[(String, String)]) -> Option<Position> {
        let CodePlace { file, line, column, certainty: _ } = place;
        let is_it = |source: &str| file.ends_with(source.trim_start_matches("../")) && self.file(source) == file;
        let (source, _) = texts.iter().find(|(source, _)| is_it(source))?;
        Some(Position { source: source.clone(), line, column })
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
        let after = &rest[end..];
        let (row, column) = placed_at(line)?;
        let found = self.map.find(row, column)?;
        let (line, column, certainty) = (found.line, found.column, Certainty::Named);
        let place = CodePlace { file: self.file(&found.source), line, column, certainty };
        Some((before, place, after))
    }

    /// The file as it lies here; as the map names it if it lies elsewhere, as that of an extension that somebody else built.
    fn file(&self, source: &str) -> String {
        let path = tidied(&self.folder.join(BUILT).join(source));
        let inside = source.trim_start_matches("../");
        if path.is_file() { path.display().to_string() } else { inside.to_owned() }
    }
}

/// Line and column in the bundle of a line like `    at name (pi:bundle/name:2:204)`.
fn placed_at(line: &str) -> Option<(u32, u32)> {
    let rest = &line[line.find(BUNDLE)?..];
    let inside = &rest[..rest.find([')', ' ']).unwrap_or(rest.len())];
    let mut parts = inside.rsplitn(3, ':');
    let (column, row) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((row, column))
}

/// The place of a frame that is one of a file already.
fn placed_in(line: &str) -> Option<CodePlace> {
    let frame = line.strip_prefix(FRAME)?;
    let place = frame.split_once(" (").map_or(frame, |(_, place)| place.trim_end_matches(')'));
    let mut parts = place.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    // `<input>` is a text that was parsed.
    let file = parts.next().filter(|file| !file.is_empty() && !file.starts_with("pi:") && !file.starts_with('<'))?;
    Some(CodePlace { file: file.to_owned(), line, column, certainty: Certainty::Named })
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
