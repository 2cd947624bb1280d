//! Secrets that give themselves away by their shape, wherever they stand.

use std::ops::Range;

/// A vendor's key: a fixed beginning and a long tail.
pub(super) struct Vendor {
    pub(super) prefix: &'static str,
    tail: fn(u8) -> bool,
    least: usize,
    start: Start,
}

/// Whether the prefix is unlikely enough to be found inside another word.
enum Start {
    Anywhere,
    /// Only where no letter or digit stands before, and with a digit in the tail.
    OwnWord,
}

/// Characters that a plain word may have after `Bearer`; longer ones are taken for a key.
const LONGEST_PLAIN_WORD: usize = 20;
/// How far from an AWS key id its secret is looked for.
const AWS_NEIGHBOURHOOD: usize = 160;
const AWS_SECRET_LENGTH: usize = 40;
const LEAST_SCHEME_TOKEN: usize = 8;

const fn vendor(prefix: &'static str, tail: fn(u8) -> bool, least: usize) -> Vendor {
    Vendor { prefix, tail, least, start: Start::Anywhere }
}

const fn own_word(prefix: &'static str, tail: fn(u8) -> bool, least: usize) -> Vendor {
    Vendor { prefix, tail, least, start: Start::OwnWord }
}

pub(super) static VENDORS: [Vendor; 62] = [
    // OpenAI, Anthropic, OpenRouter, DeepSeek and others that copied the prefix.
    own_word("sk-", is_word, 20),
    vendor("sk-ant-", is_word, 12),
    vendor("sk-proj-", is_word, 12),
    vendor("sk-or-v1-", is_word, 12),
    vendor("sk-svcacct-", is_word, 12),
    own_word("gsk_", is_alphanumeric, 20),
    own_word("xai-", is_alphanumeric, 20),
    own_word("csk-", is_alphanumeric, 20),
    own_word("hf_", is_alphanumeric, 20),
    own_word("r8_", is_alphanumeric, 20),
    own_word("pplx-", is_alphanumeric, 20),
    own_word("tvly-", is_word, 20),
    own_word("nvapi-", is_word, 20),
    own_word("fw_", is_alphanumeric, 20),
    // Google.
    vendor("AIza", is_word, 30),
    vendor("GOCSPX-", is_word, 20),
    own_word("ya29.", is_word, 20),
    // GitHub, GitLab, Bitbucket and Atlassian.
    vendor("ghp_", is_alphanumeric, 20),
    vendor("gho_", is_alphanumeric, 20),
    vendor("ghu_", is_alphanumeric, 20),
    vendor("ghs_", is_alphanumeric, 20),
    vendor("ghr_", is_alphanumeric, 20),
    vendor("github_pat_", is_word, 20),
    vendor("glpat-", is_word, 16),
    own_word("gldt-", is_word, 16),
    own_word("glrt-", is_word, 16),
    vendor("ATATT3", is_assignable, 20),
    vendor("ATBB", is_alphanumeric, 28),
    // Amazon: the id; its secret is looked for in the neighbourhood.
    vendor("AKIA", is_upper, 16),
    vendor("ASIA", is_upper, 16),
    // Slack, Discord, Telegram-like web hooks.
    vendor("xoxa-", is_word, 10),
    vendor("xoxb-", is_word, 10),
    vendor("xoxe-", is_word, 10),
    vendor("xoxp-", is_word, 10),
    vendor("xoxr-", is_word, 10),
    vendor("xoxs-", is_word, 10),
    vendor("xapp-", is_word, 10),
    vendor("hooks.slack.com/services/", is_path, 20),
    vendor("discord.com/api/webhooks/", is_path, 20),
    // Payment, mail, shops.
    vendor("sk_live_", is_alphanumeric, 10),
    vendor("sk_test_", is_alphanumeric, 10),
    vendor("rk_live_", is_alphanumeric, 10),
    vendor("rk_test_", is_alphanumeric, 10),
    vendor("whsec_", is_assignable, 16),
    own_word("SG.", is_dotted, 40),
    vendor("shpat_", is_alphanumeric, 20),
    vendor("shpca_", is_alphanumeric, 20),
    vendor("shpss_", is_alphanumeric, 20),
    // Package registries and platforms.
    own_word("npm_", is_alphanumeric, 30),
    own_word("pypi-", is_word, 20),
    vendor("dop_v1_", is_alphanumeric, 20),
    own_word("hvs.", is_word, 20),
    own_word("dp.pt.", is_alphanumeric, 20),
    own_word("lin_api_", is_alphanumeric, 20),
    own_word("ntn_", is_alphanumeric, 20),
    own_word("dapi", is_hexadecimal, 32),
    vendor("PMAK-", is_word, 20),
    own_word("figd_", is_word, 20),
    own_word("sbp_", is_alphanumeric, 20),
    vendor("sntrys_", is_assignable, 20),
    vendor("AGE-SECRET-KEY-1", is_alphanumeric, 20),
    own_word("key-", is_hexadecimal, 32),
];

/// The key that begins at `start`, and the secret next to it where the vendor has two.
pub(super) fn find_vendor(text: &str, vendor: &Vendor, start: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    if !bytes[start..].starts_with(vendor.prefix.as_bytes()) {
        return Vec::new();
    }
    let tail = &bytes[start + vendor.prefix.len()..];
    let is_long_enough = tail.len() >= vendor.least && tail[..vendor.least].iter().all(|&byte| (vendor.tail)(byte));
    let fits = match vendor.start {
        Start::Anywhere => true,
        Start::OwnWord => {
            let beginning = &tail[..tail.len().min(2 * vendor.least)];
            starts_word(bytes, start) && beginning.iter().any(u8::is_ascii_digit)
        }
    };
    if !(is_long_enough && fits) {
        return Vec::new();
    }
    let body = &tail[..tail.iter().take_while(|&&byte| (vendor.tail)(byte)).count()];
    // A full stop ends the sentence, not the key.
    let length = body.iter().rposition(|&byte| byte != b'.').map_or(0, |last| last + 1);
    let end = start + vendor.prefix.len() + length;
    let mut found = Vec::from([Range { start, end }]);
    if vendor.prefix == "AKIA" || vendor.prefix == "ASIA" {
        let before = start.saturating_sub(AWS_NEIGHBOURHOOD);
        let after = (end + AWS_NEIGHBOURHOOD).min(bytes.len());
        found.extend(aws_secret(bytes, before..start));
        found.extend(aws_secret(bytes, end..after));
    }
    found
}

/// A JWT (or JWE) that begins at `start`, and up to where it is certain that none begins.
pub(super) fn jwt(text: &str, start: usize) -> (Option<Range<usize>>, usize) {
    const LEAST_PART: usize = 8;
    let bytes = text.as_bytes();
    let part_end = |from: usize| from + bytes[from..].iter().take_while(|&&byte| is_word(byte)).count();
    let is_dot = |at: usize| bytes.get(at) == Some(&b'.');
    // The alarm does not know small letters from capitals, and what it was raised for may stand further on in the word.
    if !bytes[start..].starts_with(b"eyJ") {
        return (None, start + 1);
    }
    let header = part_end(start);
    if header - start < LEAST_PART || !is_dot(header) {
        return (None, header);
    }
    let payload = part_end(header + 1);
    if payload - header - 1 < LEAST_PART || !is_dot(payload) {
        return (None, header);
    }
    let mut end = part_end(payload + 1);
    while is_dot(end) && part_end(end + 1) > end + 1 {
        end = part_end(end + 1);
    }
    (Some(start..end), end)
}

/// The credentials behind `Bearer` or `Basic`.
pub(super) fn scheme(text: &str, scheme: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = scheme.end + bytes[scheme.end..].iter().take(8).take_while(|&&byte| byte == b' ').count();
    let token = &bytes[start..];
    let beginning: Vec<u8> =
        token.iter().copied().take(LONGEST_PLAIN_WORD).take_while(|&byte| is_token(byte)).collect();
    // "Bearer authentication" and "Basic Understanding" are words.
    let is_plain = beginning.len() < LONGEST_PLAIN_WORD
        && beginning.iter().skip(1).all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'.'));
    if beginning.len() < LEAST_SCHEME_TOKEN || is_plain || !starts_word(bytes, scheme.start) {
        return None;
    }
    Some(start..start + token.iter().take_while(|&&byte| is_token(byte)).count())
}

/// The password of `user:password@host` in a URL whose authority begins at `start`.
pub(super) fn user_info(text: &str, start: usize) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[start..];
    let ends_authority = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>\\".contains(byte);
    let authority = &bytes[..bytes.iter().position(ends_authority).unwrap_or(bytes.len())];
    let at = authority.iter().rposition(|&byte| byte == b'@')?;
    let colon = authority[..at].iter().position(|&byte| byte == b':')?;
    (colon + 1 < at).then(|| start + colon + 1..start + at)
}

/// Whether a word may begin here: no letter or digit stands before, or only one that ends an escape sequence.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let Some(&last) = before.last() else { return true };
    if !last.is_ascii_alphanumeric() {
        return true;
    }
    let is_hexadecimal_run = |count: usize| before[before.len() - count..].iter().all(u8::is_ascii_hexdigit);
    match before {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', _, _] => is_hexadecimal_run(2),
        [.., b'\\', b'u', _, _, _, _] => is_hexadecimal_run(4),
        _ => ends_colour(before),
    }
}

/// `ESC [ 3 2 m`: a colour changes just before the word.
fn ends_colour(before: &[u8]) -> bool {
    const LONGEST_COLOUR: usize = 16;
    let Some((b'm', rest)) = before.split_last() else { return false };
    let digits =
        rest.iter().rev().take(LONGEST_COLOUR).take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    rest[..rest.len() - digits].last() == Some(&b'[')
}

/// A run of exactly forty base64 characters.
fn aws_secret(bytes: &[u8], within: Range<usize>) -> Option<Range<usize>> {
    let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+';
    let mut at = within.start;
    while at < within.end {
        let length = bytes[at..].iter().take(AWS_SECRET_LENGTH + 1).take_while(|&&byte| is_secret(byte)).count();
        let is_whole = at == 0 || !is_secret(bytes[at - 1]);
        if length == AWS_SECRET_LENGTH && is_whole {
            return Some(at..at + length);
        }
        at += length.max(1);
    }
    None
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_hexadecimal(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_dotted(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

fn is_path(byte: u8) -> bool {
    is_word(byte) || byte == b'/'
}

pub(super) fn is_assignable(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'+' | b'/' | b'=')
}

/// What RFC 6750 and RFC 7617 allow.
fn is_token(byte: u8) -> bool {
    is_assignable(byte) || matches!(byte, b'.' | b'~')
}
