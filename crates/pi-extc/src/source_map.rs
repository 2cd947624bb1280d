//! From a place in a bundle back to the source that it was made of.

use std::{
    cmp::Ordering,
    sync::{Arc, OnceLock},
};

use serde::Deserialize;

/// The letters of a digit, in the order of their values.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The source map of a bundle. It is read when somebody asks for the first time, which most never do. Clones are the same.
#[derive(Debug, Clone)]
pub struct SourceMap {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    text: Arc<str>,
    read: OnceLock<Table>,
}

/// A place in a source; lines and columns begin with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// As the map names it: from the folder that the bundle would lie in.
    pub source: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Default)]
struct Table {
    sources: Vec<String>,
    /// Of each line of the bundle, in the order of their columns.
    lines: Vec<Vec<Segment>>,
}

/// What begins at a column of the bundle; all numbers begin with zero.
#[derive(Debug, Clone, Copy)]
struct Segment {
    column: u32,
    source: usize,
    line: u32,
    source_column: u32,
}

#[derive(Deserialize)]
struct Written {
    sources: Vec<String>,
    mappings: String,
}

/// What the sources say, which is much more than where they are.
#[derive(Deserialize)]
struct Contents {
    sources: Vec<String>,
    #[serde(default, rename = "sourcesContent")]
    contents: Vec<Option<String>>,
}

impl SourceMap {
    pub fn new(text: Arc<str>) -> Self {
        Self { inner: Arc::new(Inner { text, read: OnceLock::new() }) }
    }

    /// Where what stands at a place of the bundle comes from; nothing if the map does not say it. Lines and columns begin
    /// with one.
    pub fn find(&self, line: u32, column: u32) -> Option<Position> {
        let table = self.inner.read.get_or_init(|| Table::read(&self.inner.text).unwrap_or_default());
        let segments = table.lines.get(usize::try_from(line.checked_sub(1)?).ok()?)?;
        let column = column.checked_sub(1)?;
        let after = segments.partition_point(|segment| segment.column.cmp(&column) != Ordering::Greater);
        let segment = segments.get(after.checked_sub(1)?)?;
        let source = table.sources.get(segment.source)?.clone();
        Some(Position { source, line: segment.line + 1, column: segment.source_column + 1 })
    }

    /// What the sources say, each with its name, as far as the map has it.
    pub fn texts(&self) -> Vec<(String, String)> {
        let contents = serde_json::from_str(&self.inner.text).ok();
        let Some(Contents { sources, contents }) = contents else { return Vec::new() };
        sources.into_iter().zip(contents).filter_map(|(source, text)| Some((source, text?))).collect()
    }

    /// The line that something was found in, as it was written; nothing if the map does not have it.
    pub(crate) fn line(&self, position: &Position) -> Option<String> {
        let Contents { sources, contents } = serde_json::from_str(&self.inner.text).ok()?;
        let source = sources.iter().position(|it| *it == position.source)?;
        let text = contents.into_iter().nth(source)??;
        text.lines().nth(usize::try_from(position.line.checked_sub(1)?).ok()?).map(str::to_owned)
    }
}

impl Table {
    /// A map comes with an artifact that somebody else may have built: whatever stands in it, nothing but wrong places comes
    /// of it.
    fn read(text: &str) -> Option<Self> {
        let Written { sources, mappings } = serde_json::from_str(text).ok()?;
        let (mut source, mut line, mut source_column) = (0, 0, 0);
        let mut lines = Vec::new();
        for row in mappings.split(';') {
            let (mut column, mut segments) = (0, Vec::new());
            for segment in row.split(',').filter(|segment| !segment.is_empty()) {
                let numbers = numbers(segment.as_bytes())?;
                column = step(column, *numbers.first()?)?;
                let [_, sources, rows, columns, ..] = numbers.as_slice() else { continue };
                source = step(source, *sources)?;
                line = step(line, *rows)?;
                source_column = step(source_column, *columns)?;
                segments.push(Segment { column, source: usize::try_from(source).ok()?, line, source_column });
            }
            segments.sort_by_key(|segment| segment.column);
            lines.push(segments);
        }
        Some(Self { sources, lines })
    }
}

fn step(from: u32, by: i64) -> Option<u32> {
    u32::try_from(i64::from(from) + by).ok()
}

/// The numbers of a segment: six bits each, the lowest first, the sign in the first of them.
fn numbers(segment: &[u8]) -> Option<Vec<i64>> {
    let (mut numbers, mut value, mut shift) = (Vec::new(), 0i64, 0);
    for letter in segment {
        let digit = DIGITS.iter().position(|known| known == letter).and_then(|digit| i64::try_from(digit).ok())?;
        if shift > 30 {
            return None;
        }
        value |= (digit & 31) << shift;
        shift += 5;
        if digit & 32 == 0 {
            let magnitude = value >> 1;
            numbers.push(if value & 1 == 1 { -magnitude } else { magnitude });
            (value, shift) = (0, 0);
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(mappings: &str, line: u32, column: u32) -> Option<String> {
        let map = serde_json::json!({ "version": 3, "sources": ["../a.ts", "../b.ts"], "mappings": mappings });
        let found = SourceMap::new(map.to_string().into()).find(line, column);
        found.map(|Position { source, line, column }| format!("{source}:{line}:{column}"))
    }

    #[test]
    fn places_are_those_of_the_sources() {
        // Line 2: column 1 is a.ts:1:1, column 10 is a.ts:4:5; line 3: column 1 is b.ts:3:5.
        let mappings = ";AAAA,SAGI;ACDA";
        let found = [(2, 1), (2, 9), (2, 10), (2, 400), (3, 1)].map(|(line, column)| find(mappings, line, column));
        let expected = ["../a.ts:1:1", "../a.ts:1:1", "../a.ts:4:5", "../a.ts:4:5", "../b.ts:3:5"];
        assert_eq!(found, expected.map(|text| Some(text.to_owned())));
    }

    #[test]
    fn nothing_is_said_of_what_the_map_does_not_say() {
        let nothing = [(";AAAA", 1, 1), (";AAAA", 7, 1), (";AAAA", 0, 0), ("C", 1, 9), ("ADAA", 1, 1), ("AEAA", 1, 1)];
        for (mappings, line, column) in nothing {
            assert_eq!(find(mappings, line, column), None, "{mappings} at {line}:{column}");
        }
        for broken in ["gggggggggg", "!", "gggggggA"] {
            assert_eq!(find(broken, 1, 1), None, "{broken}");
        }
        assert_eq!(SourceMap::new("not JSON".into()).find(1, 1), None);
    }
}
