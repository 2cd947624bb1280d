//! Zeros in a bundle, written so that the engine can read them.
//!
//! It reads a program as C does, up to the first zero. The minifier writes one as it is, where a source had it escaped.

use std::borrow::Cow;

use rolldown_sourcemap::{SourceMap, SourceMapBuilder};

const ZERO: char = '\0';
/// Means the same in a string, a template and a pattern, whatever follows. A minifier leaves no zero elsewhere.
const ESCAPED: &str = "\\x00";
const LONGER: u32 = 3;

/// The code without zeros, and its map as text.
pub(crate) fn escaped<'a>(code: &'a str, map: Option<&SourceMap>) -> (Cow<'a, str>, String) {
    if !code.contains(ZERO) {
        return (Cow::Borrowed(code), map.map(SourceMap::to_json_string).unwrap_or_default());
    }
    let moved = map.map(|map| moved(map, &columns(code))).unwrap_or_default();
    (Cow::Owned(code.replace(ZERO, ESCAPED)), moved)
}

/// Where the zeros of each line stand, as a map counts.
fn columns(code: &str) -> Vec<Vec<u32>> {
    let of_line = |line: &str| {
        let mut column = 0;
        let mut found = Vec::new();
        for letter in line.chars() {
            if letter == ZERO {
                found.push(column);
            }
            column += u32::try_from(letter.len_utf16()).unwrap_or(1);
        }
        found
    };
    code.split('\n').map(of_line).collect()
}

/// The map of the same code, in which each zero takes more room.
fn moved(map: &SourceMap, zeros: &[Vec<u32>]) -> String {
    let mut builder = SourceMapBuilder::default();
    let names: Vec<u32> = map.get_names().map(|name| builder.add_name(name)).collect();
    let contents = map.get_source_contents().map(Option::unwrap_or_default);
    for (source, content) in map.get_sources().zip(contents) {
        builder.set_source_and_content(source, content);
    }
    for token in map.get_tokens() {
        let (line, column) = (token.get_dst_line(), token.get_dst_col());
        let before = zeros.get(line as usize).map_or(0, |zeros| zeros.partition_point(|zero| *zero < column));
        let column = column + LONGER * u32::try_from(before).unwrap_or(0);
        let name = token.get_name_id().and_then(|name| names.get(name as usize).copied());
        builder.add_token(line, column, token.get_src_line(), token.get_src_col(), token.get_source_id(), name);
    }
    builder.into_sourcemap().to_json_string()
}
