//! Numbers that belong to one person and prove themselves: payment cards, bank accounts, US social security.
//!
//! A card has a known beginning, a length that goes with it, and Luhn's check digit; an account (IBAN) has the length of its
//! country and a remainder of 1 modulo 97; a social security number has dashes and no part that is never given out. What
//! fails its check is some other number and stays.

use std::ops::Range;

use super::{digest, ends_alone, starts_alone};
use crate::Personal;

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Card,
    Account,
    SocialSecurity,
}

/// How many letters an account number has, by country: `DE 22`.
const ACCOUNTS: &str = include_str!("accounts.txt");
/// How the digits of cards are grouped where they are.
const GROUPS: [&[usize]; 4] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// Every such number of the text, in order.
pub(crate) fn numbers(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skipped| at + skipped) {
        let number = number_at(bytes, first);
        at = match &number {
            Some((_, range)) => range.end,
            None => first + bytes[first..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        };
        found.extend(number);
    }
    found
}

pub(crate) fn treat(personal: &Personal, kind: Kind, number: &str) -> String {
    let plain: String = number.chars().filter(char::is_ascii_alphanumeric).collect();
    match personal {
        Personal::Keep => number.to_owned(),
        Personal::Mask => format!("***{}", &plain[plain.len().saturating_sub(2)..]),
        Personal::Hash { key } => {
            let word = match kind {
                Kind::Card => "card",
                Kind::Account => "account",
                Kind::SocialSecurity => "ssn",
            };
            digest(key, word, &plain)
        }
    }
}

/// The number whose first digit is here.
fn number_at(bytes: &[u8], first: usize) -> Option<(Kind, Range<usize>)> {
    if first >= 2 && bytes[first - 2..first].iter().all(u8::is_ascii_uppercase) {
        let start = first - 2;
        let end = starts_alone(bytes, start).then(|| account_end(bytes, start)).flatten()?;
        return Some((Kind::Account, start..end));
    }
    if !starts_alone(bytes, first) {
        return None;
    }
    let card = || card_end(bytes, first).map(|end| (Kind::Card, first..end));
    social_security_end(bytes, first).map(|end| (Kind::SocialSecurity, first..end)).or_else(card)
}

/// `123-45-6789`. Parts of zeros, 666 and everything from 900 on were never given out.
fn social_security_end(bytes: &[u8], start: usize) -> Option<usize> {
    let end = start + 11;
    let number = bytes.get(start..end)?;
    let fits = |(at, byte): (usize, &u8)| if at == 3 || at == 6 { *byte == b'-' } else { byte.is_ascii_digit() };
    let (area, group, serial) = (&number[..3], &number[4..6], &number[7..]);
    let is_given = area != b"000" && area != b"666" && area[0] != b'9' && group != b"00" && serial != b"0000";
    (number.iter().enumerate().all(fits) && is_given && ends_alone(bytes, end)).then_some(end)
}

fn card_end(bytes: &[u8], start: usize) -> Option<usize> {
    let run = bytes[start..].iter().take(*CARD_DIGITS.end() + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if CARD_DIGITS.contains(&run) {
        let end = start + run;
        return (is_card(&bytes[start..end]) && ends_alone(bytes, end)).then_some(end);
    }
    GROUPS.iter().find_map(|groups| {
        let end = start + groups.iter().sum::<usize>() + groups.len() - 1;
        let written = bytes.get(start..end)?;
        let separator = written[groups[0]];
        let digits: Vec<u8> = grouped(written, groups, separator)?;
        (is_card(&digits) && ends_alone(bytes, end)).then_some(end)
    })
}

/// The digits of groups of these lengths with the same blank or dash between them.
fn grouped(written: &[u8], groups: &[usize], separator: u8) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = written.split(|byte| *byte == separator).collect();
    let fits = |(part, length): (&&[u8], &usize)| part.len() == *length && part.iter().all(u8::is_ascii_digit);
    let is_grouped = matches!(separator, b' ' | b'-') && parts.len() == groups.len();
    (is_grouped && parts.iter().zip(groups).all(fits)).then(|| parts.concat())
}

/// Whether somebody issues cards that begin like this and are as long, and the check digit is right.
fn is_card(digits: &[u8]) -> bool {
    let prefix =
        |length: usize| digits[..length].iter().fold(0_u32, |number, digit| number * 10 + u32::from(digit - b'0'));
    let length = digits.len();
    let is_issued = match (prefix(1), prefix(2), prefix(3), prefix(4)) {
        (4, ..) => matches!(length, 13 | 16 | 19),
        (_, 51..=55, ..) | (.., 2221..=2720) => length == 16,
        (_, 34 | 37, ..) => length == 15,
        (_, 36 | 38 | 39, ..) | (_, _, 300..=305, _) => length == 14,
        (_, 62 | 65, ..) | (_, _, 644..=649, _) | (.., 6011) | (.., 3528..=3589) => length >= 16,
        _ => false,
    };
    is_issued && luhn(digits) == 0
}

/// Every second digit from the right is doubled; what is right leaves nothing modulo 10.
fn luhn(digits: &[u8]) -> u32 {
    let weigh = |(place, digit): (usize, &u8)| match (place % 2, u32::from(digit - b'0')) {
        (0, digit) => digit,
        (_, digit) if digit > 4 => digit * 2 - 9,
        (_, digit) => digit * 2,
    };
    digits.iter().rev().enumerate().map(weigh).sum::<u32>() % 10
}

/// An IBAN, in one piece or in groups of four.
fn account_end(bytes: &[u8], start: usize) -> Option<usize> {
    let country = str::from_utf8(&bytes[start..start + 2]).ok()?;
    let length: usize = ACCOUNTS.lines().find_map(|line| line.strip_prefix(country))?.trim().parse().ok()?;
    let is_grouped = bytes.get(start + 4) == Some(&b' ');
    let end = start + length + if is_grouped { (length - 1) / 4 } else { 0 };
    let written = bytes.get(start..end)?;
    let is_blank = |at: usize| is_grouped && at % 5 == 4;
    let fits = |(at, byte): (usize, &u8)| {
        if is_blank(at) { *byte == b' ' } else { byte.is_ascii_digit() || byte.is_ascii_uppercase() }
    };
    let is_account = written[2..4].iter().all(u8::is_ascii_digit) && written.iter().enumerate().all(fits);
    (is_account && remainder(written) == 1 && ends_alone(bytes, end)).then_some(end)
}

/// Modulo 97 with the first four letters behind the others, and A as 10.
fn remainder(written: &[u8]) -> u32 {
    let letters: Vec<u8> = written.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    letters[4..].iter().chain(&letters[..4]).fold(0, |rest, letter| match letter {
        b'0'..=b'9' => (rest * 10 + u32::from(letter - b'0')) % 97,
        letter => (rest * 100 + u32::from(letter - b'A') + 10) % 97,
    })
}
