//! Cuts text to what a model should be given, and keeps the record of it that session files hold.

use serde::Serialize;
use serde_json::Value;

pub const MAX_LINES: usize = 2000;
pub const MAX_BYTES: usize = 50 * 1024;
/// Of a line that is found, so many characters are shown.
pub const MAX_LINE_CHARACTERS: usize = 500;
/// For results that are limited in another way than by lines; the largest whole number that every reader of JSON knows.
pub const ANY_LINES: usize = 9_007_199_254_740_991;

/// What was cut, in Pi's words. A line ends at `\n`; text that ends in one has an empty line behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<Bound>,
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// Only the end of the last line is left of it.
    pub last_line_partial: bool,
    /// Not even the first line fits, so nothing is left.
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

/// Which limit was met first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    Lines,
    Bytes,
}

/// How much there is in all: more than the text at hand if the rest was never kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub lines: usize,
    pub bytes: usize,
}

impl Extent {
    pub fn of(text: &str) -> Self {
        Self { lines: memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1, bytes: text.len() }
    }
}

impl Truncation {
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("numbers, text and flags")
    }
}

/// Keeps whole lines from the beginning. `total` may say that more follows than `text`.
pub fn head(text: &str, total: Extent, max_lines: usize, max_bytes: usize) -> Truncation {
    let record = |content: String, by: Option<Bound>, output_lines: usize, first: bool| Truncation {
        truncated: by.is_some(),
        truncated_by: by,
        total_lines: total.lines,
        total_bytes: total.bytes,
        output_lines,
        output_bytes: content.len(),
        content,
        last_line_partial: false,
        first_line_exceeds_limit: first,
        max_lines,
        max_bytes,
    };
    if total.lines <= max_lines && total.bytes <= max_bytes {
        return record(text.to_owned(), None, total.lines, false);
    }
    let (mut end, mut lines, mut by) = (0, 0, Bound::Lines);
    for line in text.split('\n').take(max_lines) {
        let next = if lines == 0 { line.len() } else { end + 1 + line.len() };
        if next > max_bytes {
            by = Bound::Bytes;
            break;
        }
        (end, lines) = (next, lines + 1);
    }
    let first = lines == 0 && by == Bound::Bytes;
    record(text[..end].to_owned(), Some(by), lines, first)
}

/// Keeps whole lines from the end, or the end of the last line if that alone is too long. `text` is the end of something
/// of which `total` says how much it is.
pub fn tail(text: &str, total: Extent, max_lines: usize, max_bytes: usize) -> Truncation {
    let record = |content: &str, by: Option<Bound>, output_lines: usize, partial: bool| Truncation {
        content: content.to_owned(),
        truncated: by.is_some(),
        truncated_by: by,
        total_lines: total.lines,
        total_bytes: total.bytes,
        output_lines,
        output_bytes: content.len(),
        last_line_partial: partial,
        first_line_exceeds_limit: false,
        max_lines,
        max_bytes,
    };
    if total.lines <= max_lines && total.bytes <= max_bytes {
        return record(text, None, total.lines, false);
    }
    let (mut start, mut lines, mut by) = (text.len(), 0, Bound::Lines);
    for line in text.rsplit('\n').take(max_lines) {
        let next = if lines == 0 { text.len() - line.len() } else { start - 1 - line.len() };
        if text.len() - next > max_bytes {
            by = Bound::Bytes;
            break;
        }
        (start, lines) = (next, lines + 1);
    }
    // Behind a line that is too long there may be nothing but the end of that line.
    if start == text.len() {
        let start = text.ceil_char_boundary(text.len().saturating_sub(max_bytes));
        return record(&text[start..], Some(Bound::Bytes), 1, true);
    }
    record(&text[start..], Some(by), lines, false)
}

/// The beginning of a line, and whether anything is missing.
pub fn line(text: &str) -> (String, bool) {
    match text.char_indices().nth(MAX_LINE_CHARACTERS) {
        Some((end, _)) => (format!("{}... [truncated]", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

/// `999B`, `1.0KB`, `4.5MB`
pub fn size(bytes: usize) -> String {
    const KIB: f64 = 1024.0;
    let amount = bytes as f64;
    if bytes < 1024 {
        format!("{bytes}B")
    } else if amount < KIB * KIB {
        format!("{:.1}KB", amount / KIB)
    } else {
        format!("{:.1}MB", amount / (KIB * KIB))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_are_told_in_the_largest_unit() {
        let told = [0, 1023, 1024, 51_200, 1_048_575, 1_048_576, 4_718_592].map(size);
        assert_eq!(told, ["0B", "1023B", "1.0KB", "50.0KB", "1024.0KB", "1.0MB", "4.5MB"]);
    }

    #[test]
    fn line_is_cut_by_characters() {
        assert_eq!(line(&"é".repeat(500)), ("é".repeat(500), false));
        assert_eq!(line(&"é".repeat(501)), (format!("{}... [truncated]", "é".repeat(500)), true));
    }

    #[test]
    fn end_of_a_long_line_is_left_of_it() {
        for (text, content) in
            [("aé\u{10000}", "\u{10000}"), ("xyz\nabcdefg", "cdefg"), ("abcdefg\n", "defg\n"), ("éééé\n", "éé\n")]
        {
            let cut = tail(text, Extent::of(text), 10, 5);
            assert_eq!((cut.content.as_str(), cut.last_line_partial, cut.output_lines), (content, true, 1), "{text:?}");
        }
    }

    #[test]
    fn record_is_written_as_pi_writes_it() {
        let record = head("a\nb\nc", Extent::of("a\nb\nc"), 2, 100).to_value();
        let expected = r#"{"content":"a\nb","truncated":true,"truncatedBy":"lines","totalLines":3,"totalBytes":5,"outputLines":2,"outputBytes":3,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2,"maxBytes":100}"#;
        assert_eq!(record.to_string(), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn kept_text_is_whole_lines_and_characters(text in "[aé\u{10000}\n]{0,40}", lines in 1usize..6, bytes in 1usize..30) {
            let total = Extent::of(&text);
            for (cut, is_head) in [(head(&text, total, lines, bytes), true), (tail(&text, total, lines, bytes), false)] {
                prop_assert_eq!(cut.output_bytes, cut.content.len());
                prop_assert_eq!(cut.truncated, total.lines > lines || total.bytes > bytes);
                prop_assert!(cut.content.len() <= bytes);
                if !cut.truncated {
                    prop_assert_eq!(&cut.content, &text);
                    continue;
                }
                let is_end_of_it = if is_head { text.starts_with(&cut.content) } else { text.ends_with(&cut.content) };
                prop_assert!(is_end_of_it);
                if cut.first_line_exceeds_limit || cut.last_line_partial {
                    continue;
                }
                prop_assert!(cut.output_lines <= lines);
                let rest = match is_head {
                    true => text[cut.content.len()..].chars().next(),
                    false => text[..text.len() - cut.content.len()].chars().next_back(),
                };
                prop_assert!(rest.is_none_or(|sign| sign == '\n'), "{:?} of {:?}", cut, text);
            }
        }
    }
}
