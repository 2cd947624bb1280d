//! `pattern` of JSON Schema: expressions of JavaScript, matched in time that grows with the text alone.
//!
//! Schemas come from extensions and servers, so an expression must not be able to take our time. What needs more than one
//! walk over the text (looking around, going back to a group) is therefore not checked; whoever wrote it checks it itself.

use regex::{Regex, RegexBuilder};

/// Of what an expression is compiled to, in bytes. Expressions of people are far below it.
const LARGEST: usize = 1 << 20;
/// Of an expression itself, in bytes.
const LONGEST: usize = 4 << 10;

/// How a text stands to an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Fits,
    Differs,
    /// The expression is none, or none that can be checked here.
    Unknown,
}

/// Whether the expression is found in the text. One that cannot be checked is noted in the log.
pub fn find(pattern: &str, text: &str) -> Match {
    match compile(pattern) {
        Some(expression) if expression.is_match(text) => Match::Fits,
        Some(_) => Match::Differs,
        None => {
            tracing::warn!(pattern, "a pattern of a schema cannot be checked, and does not restrict");
            Match::Unknown
        }
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    let translated = (pattern.len() <= LONGEST).then(|| translate(pattern))??;
    RegexBuilder::new(&translated).size_limit(LARGEST).build().ok()
}

/// The same expression in the words of the crate; nothing for what the two languages read differently and we cannot say.
fn translate(pattern: &str) -> Option<String> {
    let (mut written, mut is_in_class) = (String::with_capacity(pattern.len()), false);
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => match signs.next()? {
                // Digits and letters of English only, as in JavaScript.
                'd' => written.push_str(r"[0-9]"),
                'D' => written.push_str(r"[^0-9]"),
                'w' => written.push_str(r"[0-9A-Za-z_]"),
                'W' => written.push_str(r"[^0-9A-Za-z_]"),
                'b' if is_in_class => written.push_str(r"\x08"),
                'b' => written.push_str(r"(?-u:\b)"),
                '<' => written.push('<'),
                '>' => written.push('>'),
                known @ ('s' | 'S' | 'B' | 'n' | 'r' | 't' | 'f' | 'v' | 'u' | 'x' | 'p' | 'P') => {
                    written.extend(['\\', known]);
                }
                sign if sign.is_ascii_punctuation() => written.extend(['\\', sign]),
                // Groups that are meant again, and letters that mean something here and nothing there.
                _ => return None,
            },
            // Sets in sets are ours alone, and so are their operators.
            '[' | '&' | '~' if is_in_class => written.extend(['\\', sign]),
            '-' if is_in_class && signs.peek() == Some(&'-') => return None,
            '[' => {
                is_in_class = true;
                written.push('[');
                if signs.next_if_eq(&'^').is_some() {
                    written.push('^');
                }
                // An empty set; here the bracket would be one of its signs.
                if signs.peek() == Some(&']') {
                    return None;
                }
            }
            ']' if is_in_class => {
                is_in_class = false;
                written.push(']');
            }
            sign => written.push(sign),
        }
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fits: &[&str], differs: &[&str]) {
        for (texts, expected) in [(fits, Match::Fits), (differs, Match::Differs)] {
            texts.iter().for_each(|text| assert_eq!(find(pattern, text), expected, "{pattern} {text}"));
        }
    }

    #[test]
    fn expressions_of_javascript_mean_what_they_mean_there() {
        check("b", &["abc", "b"], &["ac", ""]);
        check("^[a-z]{2,3}$", &["ab", "abc"], &["a", "abcd", "AB", "ab\n"]);
        check(r"^\d+$", &["12"], &["١٢", "1a"]);
        check(r"^\w+$", &["a_1"], &["é"]);
        check(r"^[\w.-]+@[\d\]]+$", &["a.b-c@1]"], &["a b@1"]);
        check(r"^https?:\/\/[^\s/]+", &["https://x"], &["ftp://x", "http:// "]);
        check(r"\bcat\b", &["a cat."], &["concat"]);
        check("^[[a&&b~]+$", &["[a&&b~"], &["]", "c"]);
        check(r"^\<\u00e9\x41\p{Lu}$", &["<éAÉ"], &["<éAé"]);
        check("^(?<year>[0-9]{4})-(?:0[1-9]|1[0-2])$", &["2026-11"], &["2026-13"]);
        check(r"^\$\{x\}\-$", &["${x}-"], &["x"]);
    }

    #[test]
    fn what_cannot_be_checked_does_not_restrict() {
        let large = format!("^{}$", "a{1000}".repeat(500));
        let long = "a".repeat(LONGEST + 1);
        for pattern in ["(", "a(?=b)", "(?<!a)b", r"(a)\1", r"\A", r"\z", "[]", "[^]", "[a--b]", "\\", &large, &long] {
            assert_eq!(find(pattern, "zzz"), Match::Unknown, "{pattern}");
        }
    }

    #[test]
    fn no_expression_takes_more_time_than_its_text_is_long() {
        let text = format!("{}b", "a".repeat(100_000));
        check("^(a+)+$", &[], &[&text]);
        check("^(a|aa)+$", &[], &[&text]);
    }
}
