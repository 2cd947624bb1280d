//! Words for people in the place of those that `serde` has for programmers.

use crate::likeness::nearest;

pub(super) const TEXT: &str = "a text";

/// What a type expects, in the words of a file.
pub(super) fn expected(words: &str) -> String {
    let words = match words {
        "a string" => TEXT,
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        _ if words.starts_with("struct ") => "an object",
        _ => words,
    };
    words.to_owned()
}

/// Which of some words to write instead of another one.
pub(super) fn choice(written: &str, words: &[&'static str]) -> String {
    match (nearest(written, words.iter().copied()).first(), words) {
        (Some(meant), _) => format!("did you mean {meant}?"),
        (None, [first @ .., last]) if !first.is_empty() => format!("write {} or {last}", first.join(", ")),
        (None, _) => format!("write {}", words.join(", ")),
    }
}
