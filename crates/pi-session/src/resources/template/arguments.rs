//! What stands for arguments in a template: `$1`, `$@`, `$ARGUMENTS`, `${@:2}` and `${@:2:3}`.

/// A stretch of an expanded template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As the template says.
    Text(String),
    /// What the person typed, and the placeholder that it stands for.
    Argument { placeholder: String, value: String },
}

/// Which arguments a placeholder means.
#[derive(Debug, PartialEq, Eq)]
struct Slice {
    /// Counted from zero.
    first: usize,
    count: Option<usize>,
}

/// The words of what stands behind a name: blanks separate them and line breaks do not, so that arguments of several
/// lines arrive as they were typed. Single and double quotes keep together. There are no escapes, and
/// a quote that is never closed goes to the end.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.push(letter),
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None if matches!(letter, ' ' | '\t') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            None => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Puts arguments where a template wants them. An argument that was not given is empty; a placeholder that nobody knows
/// stays; what an argument says is never a placeholder.
pub fn expand(template: &str, arguments: &[String]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(place) = rest.find('$') {
        text.push_str(&rest[..place]);
        rest = &rest[place..];
        match placeholder(rest) {
            Some((length, slice)) => {
                let given = arguments.get(slice.first..).unwrap_or_default();
                let given = &given[..slice.count.unwrap_or(given.len()).min(given.len())];
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Argument { placeholder: rest[..length].to_owned(), value: given.join(" ") });
                rest = &rest[length..];
            }
            None => {
                text.push('$');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The length of the placeholder that `text` begins with, and what it means. `text` begins with `$`.
fn placeholder(text: &str) -> Option<(usize, Slice)> {
    let rest = &text[1..];
    let all = Slice { first: 0, count: None };
    if rest.starts_with('@') {
        return Some((2, all));
    }
    if rest.starts_with("ARGUMENTS") {
        return Some((1 + "ARGUMENTS".len(), all));
    }
    if let Some(inside) = rest.strip_prefix("{@:") {
        let inside = &inside[..inside.find('}')?];
        let (first, count) = match inside.split_once(':') {
            Some((first, count)) => (number(first)?, Some(number(count)?)),
            None => (number(inside)?, None),
        };
        // The first argument has number 1, and 0 means the same.
        return Some((inside.len() + "${@:}".len(), Slice { first: first.saturating_sub(1), count }));
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let index = number(&rest[..digits])?;
    // There is no argument before the first one.
    let first = index.checked_sub(1).unwrap_or(usize::MAX);
    Some((1 + digits, Slice { first, count: Some(1) }))
}

/// A number too large to be one is that of an argument that was not given.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(pieces: &[Piece]) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Argument { value, .. } => value.clone(),
        };
        pieces.iter().map(text).collect()
    }

    #[track_caller]
    fn check(template: &str, line: &str, expected: &str) {
        assert_eq!(joined(&expand(template, &words(line))), expected, "{template:?} with {line:?}");
    }

    #[test]
    fn arguments_stand_where_they_are_wanted() {
        check("a $1 b $2.", "x y", "a x b y.");
        check("$1$1", "x", "xx");
        check("$10", "a b c d e f g h i j", "j");
        check("[$3]", "x y", "[]");
        check("[$0]", "x y", "[]");
        check("$@ and $ARGUMENTS", "x y", "x y and x y");
        check("${@:2}", "a b c", "b c");
        check("${@:0}", "a b c", "a b c");
        check("${@:2:1}|${@:9}|${@:1:99}", "a b c", "b||a b c");
        check("${@:1:0}", "a b", "");
        check("$99999999999999999999999", "a", "");
    }

    #[test]
    fn unknown_placeholders_stay() {
        for text in
            ["$", "$$", "$HOME", "${1}", "${@}", "${@:x}", "${@:1:}", "${@:1", "a$", "${@:1:2:3}", "$-1", "cost: $ 5"]
        {
            check(text, "x y", text);
        }
    }

    #[test]
    fn arguments_are_not_expanded_again() {
        check("$1 $2", "'$2' \"$@\"", "$2 $@");
    }

    #[test]
    fn quotes_keep_words_together() {
        for (line, expected) in [
            ("", vec![]),
            ("  \t ", vec![]),
            ("a  b\tc\nd", vec!["a", "b", "c\nd"]),
            ("\"a b\" 'c \"d\"'", vec!["a b", "c \"d\""]),
            ("a\"b c\"d", vec!["ab cd"]),
            ("it's open", vec!["its open"]),
            ("\"\" a", vec!["a"]),
            (r"a\ b", vec!["a\\", "b"]),
        ] {
            assert_eq!(words(line), expected, "{line:?}");
        }
    }

    #[test]
    fn pieces_say_what_was_typed() {
        assert_eq!(
            expand("a $1", &["x".to_owned()]),
            [Piece::Text("a ".to_owned()), Piece::Argument { placeholder: "$1".to_owned(), value: "x".to_owned() },]
        );
    }

    proptest! {
        /// Whatever the template says, its own text and its placeholders together are the template.
        #[test]
        fn nothing_of_a_template_is_lost(template in "([$@{}:0-9a]|ARGUMENTS|é){0,24}", arguments in prop::collection::vec(".{0,4}", 0..4)) {
            let source = |piece: &Piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Argument { placeholder, .. } => placeholder.clone(),
            };
            let pieces = expand(&template, &arguments);
            prop_assert_eq!(pieces.iter().map(source).collect::<String>(), template);
            let is_empty_text = |piece: &Piece| matches!(piece, Piece::Text(text) if text.is_empty());
            prop_assert!(!pieces.iter().any(is_empty_text));
        }

        /// Quoted in the other kind of quote, any words come back.
        #[test]
        fn quoted_words_come_back(given in prop::collection::vec("[a-z$ ]{1,6}'?", 0..5)) {
            let line: Vec<String> = given.iter().map(|word| format!("\"{word}\"")).collect();
            prop_assert_eq!(words(&line.join(" ")), given);
        }

        /// A template without a dollar is sent as it is, and every argument that is asked for is there.
        #[test]
        fn all_arguments_are_joined_by_spaces(arguments in prop::collection::vec("[^ ]{1,5}", 0..5), start in 1usize..7, count in 0usize..7) {
            let tail: Vec<String> = arguments.iter().skip(start - 1).take(count).cloned().collect();
            let expanded = joined(&expand(&format!("${{@:{start}:{count}}}"), &arguments));
            prop_assert_eq!(expanded, tail.join(" "));
            prop_assert_eq!(joined(&expand("$@", &arguments)), arguments.join(" "));
        }
    }
}
