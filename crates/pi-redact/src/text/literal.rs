//! Whether what stands behind the name of a secret is a value that somebody wrote out, or a part of a program.
//!
//! Programs assign names, calls and types; people choose passwords with digits and signs in them. What could be both is
//! taken for a program: a text that is used must not lose its meaning.

use std::ops::Range;

/// The shortest value that is hidden.
const LEAST: usize = 6;
/// The same behind a name that is not that of a password, where it does not look like a key that somebody made up.
const LEAST_KEY: usize = 16;
/// The shortest value of a variable of the environment.
const LEAST_VARIABLE: usize = 4;
/// Words that say something about a value instead of being one.
const WORDS: [&str; 26] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "secret",
    "string",
    "required",
    "optional",
    "hidden",
    "prompt",
    "default",
    "unknown",
    "missing",
    "invalid",
    "incorrect",
    "changed",
    "redacted",
    "value",
    "text",
    "input",
    "undefined",
    "example",
    "base32",
    "base64",
    "sha256",
    "sha512",
];
/// Signs that are in passwords and not in names.
const SIGNS: &[u8] = b"!@#$%^&*~+?";

/// How the value stands behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// `password="…"`.
    Quoted,
    /// `password=…`, as in a shell, an address or a connection string.
    Attached,
    /// `--password …`, and the second of a pair.
    Beside,
    /// `password: …` or `password = …`.
    Spaced,
}

/// Whether the value behind the name can only be a value.
pub(super) fn is_literal(text: &str, name: Range<usize>, range: Range<usize>, setting: Setting) -> bool {
    let (bytes, value) = (text.as_bytes(), &text[range.clone()]);
    if is_placeholder(value) || value.contains(char::is_whitespace) {
        return false;
    }
    if setting != Setting::Quoted && is_code(value) {
        return false;
    }
    let (before, key) = (bytes[..name.start].last(), &text[name]);
    let is_shouted = !key.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_variable = is_shouted && matches!(setting, Setting::Attached | Setting::Beside);
    if is_variable && is_of_password(key) {
        return value.len() >= LEAST_VARIABLE;
    }
    let is_argument = matches!(before, Some(b'(' | b',')) || matches!(bytes.get(range.end), Some(b',' | b')'));
    if value.len() < LEAST {
        return false;
    }
    if value.len() < LEAST_KEY && !is_of_password(key) {
        let is_set = setting == Setting::Quoted || (setting == Setting::Attached && !is_argument);
        return is_set && is_made_up(value);
    }
    match setting {
        Setting::Quoted => is_mixture(value),
        Setting::Attached | Setting::Beside => is_mixture(value) || (!is_argument && !value.contains('_')),
        Setting::Spaced => is_mixture(value) && !is_name_of_one(value),
    }
}

/// `abc123`: a short key. `token1`, `user_42` and `4096` are what programs call things, and how many there are.
fn is_made_up(value: &str) -> bool {
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_of_one = |word: &str| value.to_ascii_lowercase().contains(word);
    has_letter && has_digit && !value.contains('_') && !["key", "token", "secret"].into_iter().any(is_of_one)
}

/// Whether the name is that of something which people choose.
fn is_of_password(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.contains("pass") || key.contains("pwd")
}

/// Stands for a value, or says something about it.
fn is_placeholder(value: &str) -> bool {
    let first = value.chars().next();
    let is_filled_in = matches!(first, Some('$' | '%' | '{' | '<' | '[' | '('));
    let is_same = first.is_some_and(|first| value.chars().all(|letter| letter == first));
    is_filled_in || is_same || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// A call, a type, an element, or a member of something.
fn is_code(value: &str) -> bool {
    let is_name = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let is_member = value.contains(['.', ':']) && value.split(['.', ':']).filter(|part| !part.is_empty()).all(is_name);
    value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '`', '|']) || is_member
}

/// Letters with digits or signs among them, or nothing but digits.
fn is_mixture(value: &str) -> bool {
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_sign = value.bytes().any(|byte| SIGNS.contains(&byte));
    (has_letter && (has_digit || has_sign)) || value.bytes().all(|byte| byte.is_ascii_digit())
}

/// `user_password1`, `passwordHash2`: what a program calls a password.
fn is_name_of_one(value: &str) -> bool {
    let is_name = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && (value.contains('_') || is_of_password(value))
}
