//! Signs that a person does not see and a model reads: without a width, those that turn the direction, tags, and what only
//! chooses the shape of the sign before it. The one list for whatever extensions and servers say of themselves, and for what
//! people are asked about them.

use std::borrow::Cow;

/// Takes out of a text what nobody sees: [unseen](count) signs, controls but for line ends and tabs, and what joins letters.
pub fn without(text: &str) -> Cow<'_, str> {
    filtered(text, |before, sign| {
        let is_control = sign.is_control() && !matches!(sign, '\n' | '\t');
        !is_control && !is_joiner(sign) && !is_unseen(before, sign)
    })
}

/// Takes out of a text only those signs that [`count`] counts.
pub fn without_lures(text: &str) -> Cow<'_, str> {
    filtered(text, |before, sign| !is_unseen(before, sign))
}

/// How many signs of a text nobody sees. What joins letters is not counted: names may need it. Nor is what makes a picture of
/// the sign before it.
pub fn count(text: &str) -> usize {
    pairs(text).filter(|(before, sign)| is_unseen(*before, *sign)).count()
}

/// Each sign of a text, with whether a line shows it: it is no control and ends no line, joins nothing, and is not
/// [unseen](count).
pub fn shown(text: &str) -> impl Iterator<Item = (char, bool)> {
    pairs(text).map(|(before, sign)| {
        let ends_line = matches!(sign, '\u{2028}' | '\u{2029}');
        (sign, !sign.is_control() && !ends_line && !is_joiner(sign) && !is_unseen(before, sign))
    })
}

fn filtered(text: &str, is_kept: impl Fn(Option<char>, char) -> bool) -> Cow<'_, str> {
    match pairs(text).all(|(before, sign)| is_kept(before, sign)) {
        true => Cow::Borrowed(text),
        false => {
            Cow::Owned(pairs(text).filter(|(before, sign)| is_kept(*before, *sign)).map(|(_, sign)| sign).collect())
        }
    }
}

fn pairs(text: &str) -> impl Iterator<Item = (Option<char>, char)> {
    std::iter::once(None).chain(text.chars().map(Some)).zip(text.chars())
}

fn is_joiner(sign: char) -> bool {
    matches!(sign, '\u{200c}' | '\u{200d}')
}

/// What Unicode lets a program ignore that cannot show it, without joiners, and the marks of annotations.
fn is_unseen(before: Option<char>, sign: char) -> bool {
    match sign {
        '\u{fe0f}' => !before.is_some_and(may_be_a_picture),
        _ => matches!(sign,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'),
    }
}

/// Whether a sign has two shapes, of which U+FE0F chooses the coloured one.
fn may_be_a_picture(sign: char) -> bool {
    matches!(sign,
        '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{2049}' | '\u{2122}'..='\u{21ff}'
        | '\u{2300}'..='\u{27bf}' | '\u{2934}'..='\u{2b55}' | '\u{3030}'..='\u{303d}' | '\u{3297}'..='\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, seen: &str, unseen: usize) {
        assert_eq!((without(text).as_ref(), count(text)), (seen, unseen), "{}", text.escape_unicode());
    }

    #[test]
    fn what_nobody_sees_is_taken_out_and_counted() {
        check("plain\n\tünïcode 葛 한", "plain\n\tünïcode 葛 한", 0);
        for sign in [
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{180e}',
            '\u{200b}',
            '\u{202e}',
            '\u{2066}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffa}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            check(&format!("a{sign}b"), "ab", 1);
        }
        check("a\u{7}\u{200d}b", "ab", 0);
    }

    #[test]
    fn what_a_line_does_not_show_is_known_sign_by_sign() {
        let hidden =
            |text: &str| shown(text).filter(|(_, is_shown)| !is_shown).map(|(sign, _)| sign).collect::<String>();
        assert_eq!(
            hidden("a\u{7}b\u{85}\u{200d}\u{2028}\u{202e}\u{3164}\u{fe01} ünï 葛 ❤\u{fe0f}"),
            "\u{7}\u{85}\u{200d}\u{2028}\u{202e}\u{3164}\u{fe01}"
        );
        assert_eq!(hidden("a\u{fe0f}"), "\u{fe0f}");
    }

    #[test]
    fn picture_stays_a_picture_and_carries_nothing() {
        check("❤\u{fe0f} 1\u{fe0f}", "❤\u{fe0f} 1\u{fe0f}", 0);
        check("❤\u{fe0f}\u{fe0f}\u{fe01}", "❤\u{fe0f}", 2);
    }
}
