//! Questions as words, and what stands out in them.

/// Longer questions are not read to the end.
const LONGEST: usize = 400;

/// Letters and digits in lower case, in order.
pub(super) fn words(text: &str) -> Vec<String> {
    let pieces = text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    pieces.take(LONGEST).map(str::to_lowercase).collect()
}

/// Whether a text is Chinese, at least in part.
pub(super) fn is_chinese(text: &str) -> bool {
    text.chars().any(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter))
}

/// Whether the words of `phrase` stand next to each other in `words`.
pub(super) fn has_phrase(words: &[String], phrase: &[String]) -> bool {
    !phrase.is_empty() && words.windows(phrase.len()).any(|window| window == phrase)
}

/// What stands between marks: backticks, then quotation marks.
pub(super) fn quoted(text: &str) -> Option<&str> {
    [('`', '`'), ('"', '"'), ('“', '”'), ('\'', '\'')].into_iter().find_map(|(open, close)| between(text, open, close))
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    let mut places = text.match_indices(open);
    // An apostrophe inside a word opens nothing.
    let (start, _) = places.find(|(at, _)| !text[..*at].ends_with(char::is_alphanumeric))?;
    let inside = &text[start + open.len_utf8()..];
    let end = inside.find(close)?;
    (end > 0).then(|| &inside[..end])
}

/// The first word that looks like the name of a file or a folder.
pub(super) fn path(text: &str) -> Option<&str> {
    let marks =
        |character: char| matches!(character, '`' | '"' | '\'' | ',' | ';' | '?' | '!' | ')' | '(' | '“' | '”' | ':');
    text.split_whitespace()
        .map(|word| word.trim_matches(marks))
        .map(|word| word.strip_suffix('.').unwrap_or(word))
        .find(|word| is_path(word))
}

fn is_path(word: &str) -> bool {
    const NAMES: [&str; 6] = ["Makefile", "Dockerfile", "Justfile", "LICENSE", "README", "CHANGELOG"];
    if word.contains("://") || word.contains(['=', '{', '*']) {
        return false;
    }
    let extension = word.rsplit_once('.').is_some_and(|(_, extension)| {
        (1..=5).contains(&extension.len()) && extension.starts_with(|first: char| first.is_ascii_alphabetic())
    });
    let hidden =
        word.len() > 1 && word.starts_with('.') && word[1..].starts_with(|first: char| first.is_ascii_alphabetic());
    let folder = word.contains('/') && word.len() > 1 && !word.starts_with("and/") && !word.contains("/or");
    extension || hidden || folder || word == "." || NAMES.contains(&word)
}

/// What stands behind the first of these words, up to the end of the sentence.
pub(super) fn after<'a>(text: &'a str, openers: &[&str]) -> Option<&'a str> {
    let mut position = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        position += word.len();
        if openers.contains(&word.trim().to_lowercase().as_str()) {
            let rest = text[position..].trim().trim_end_matches(['.', '?', '!']);
            return (!rest.is_empty()).then_some(rest);
        }
    }
    None
}

/// `text`, not much longer than `length` characters.
pub(super) fn shortened(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The first name of a place: words with capitals behind `in`, `for` or `at`, else the one word behind `in`.
pub(super) fn place(text: &str) -> Option<String> {
    const NO_PLACES: [&str; 8] = ["the", "a", "an", "my", "celsius", "fahrenheit", "degrees", "detail"];
    capitals(text).or_else(|| {
        let word = after(text, &["in"])?.split_whitespace().next()?;
        let plain = word.trim_end_matches(|mark: char| !mark.is_alphanumeric());
        let is_place = plain.starts_with(char::is_alphabetic) && !NO_PLACES.contains(&plain.to_lowercase().as_str());
        is_place.then(|| plain.to_owned())
    })
}

fn capitals(text: &str) -> Option<String> {
    let mut tokens = text.split_whitespace().peekable();
    while let Some(token) = tokens.next() {
        if !["in", "for", "at"].contains(&token.to_lowercase().as_str()) {
            continue;
        }
        let mut name = Vec::new();
        while let Some(word) = tokens.next_if(|word| word.starts_with(char::is_uppercase)) {
            let plain = word.trim_end_matches(|mark: char| !mark.is_alphanumeric());
            name.push(plain);
            if plain.len() < word.len() {
                break;
            }
        }
        if !name.is_empty() {
            return Some(name.join(" "));
        }
    }
    None
}
