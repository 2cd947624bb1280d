//! Redaction of text: one pass over the bytes raises alarms, and only where one was raised does anybody look closer.
//!
//! Each detector either hides something and continues behind it, or gives up after a bounded number of bytes; that is
//! what keeps adversarial input linear.

mod assignment;
mod literal;
mod pem;
mod shape;

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use self::{assignment::Counted, pem::Blocks, shape::VENDORS};
use crate::{Evidence, MARK, Redactor, personal};

/// Parts of keys: whoever assigns to a secret key writes one of these.
const KEY_STEMS: [&str; 9] =
    ["key", "token", "secret", "pass", "pwd", "cookie", "authorization", "credential", "bearer"];
const SCHEMES: [&str; 4] = ["bearer ", "bearer%20", "basic ", "basic%20"];

/// Hiding one thing can lay bare the beginning of another; looking again a few times makes the result stable.
const ROUNDS: usize = 4;

/// The automaton that raises alarms.
pub(crate) struct Scanner {
    automaton: AhoCorasick,
    /// What each pattern of the automaton may turn out to be.
    alarms: Vec<Alarm>,
}

/// What an alarm may turn out to be.
#[derive(Clone, Copy)]
enum Alarm {
    Key,
    Scheme,
    Jwt,
    PemBegin,
    PemEnd,
    UserInfo,
    Mail,
    Vendor(usize),
}

/// A stretch of text and what takes its place.
#[derive(Debug)]
struct Span {
    range: Range<usize>,
    replacement: Replacement,
}

#[derive(Debug)]
enum Replacement {
    Mark,
    /// The mark in quotes, each behind this many backslashes: a JSON fragment stays JSON.
    QuotedMark {
        backslashes: usize,
    },
    Personal(String),
}

/// Up to where each detector that could look far has already looked.
#[derive(Default)]
struct Progress {
    key: usize,
    counted: Counted,
    shape: usize,
    jwt: usize,
}

impl Scanner {
    /// One for each kind of evidence, made at first use: it is a large table, and takes a millisecond.
    pub(crate) fn of(evidence: Evidence) -> &'static Self {
        static KEYS_AND_SHAPES: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Evidence::KeysAndShapes));
        static SHAPES: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Evidence::Shapes));
        static LITERALS: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(Evidence::Literals));
        match evidence {
            Evidence::KeysAndShapes => &KEYS_AND_SHAPES,
            Evidence::Shapes => &SHAPES,
            Evidence::Literals => &LITERALS,
        }
    }

    fn new(evidence: Evidence) -> Self {
        let (patterns, alarms): (Vec<_>, Vec<_>) = alarms(evidence).unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(patterns)
            .expect("a fixed list of short patterns fits into an automaton");
        Scanner { automaton, alarms }
    }
}

pub(crate) fn redact<'a>(redactor: &Redactor, text: &'a str) -> Cow<'a, str> {
    let mut current = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        match replace(&current, &find(redactor, &current)) {
            Some(redacted) => current = Cow::Owned(redacted),
            None => break,
        }
    }
    current
}

/// What a first look would hide, in order.
pub(crate) fn spans(redactor: &Redactor, text: &str) -> impl Iterator<Item = Range<usize>> {
    find(redactor, text).into_iter().map(|span| span.range)
}

fn alarms(evidence: Evidence) -> impl Iterator<Item = (&'static str, Alarm)> {
    let stems = match evidence {
        Evidence::KeysAndShapes | Evidence::Literals => &KEY_STEMS[..],
        Evidence::Shapes => &[],
    };
    let keys = stems.iter().map(|&stem| (stem, Alarm::Key));
    let schemes = SCHEMES.iter().map(|&scheme| (scheme, Alarm::Scheme));
    let vendors = VENDORS.iter().enumerate().map(|(index, vendor)| (vendor.prefix, Alarm::Vendor(index)));
    let rest = [
        ("eyj", Alarm::Jwt),
        (pem::FIRST_LINE, Alarm::PemBegin),
        (pem::LAST_LINE, Alarm::PemEnd),
        ("://", Alarm::UserInfo),
        ("@", Alarm::Mail),
        ("%40", Alarm::Mail),
    ];
    keys.chain(schemes).chain(rest).chain(vendors)
}

fn find(redactor: &Redactor, text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = redactor.exact.find(text).into_iter().map(Span::mark).collect();
    let mut mails = Vec::new();
    // Almost every text is clean, and the search for any pattern is several times faster than that for all.
    if redactor.scanner.automaton.find(text).is_some() {
        follow_alarms(redactor, text, &mut spans, &mut mails);
    }
    let mut spans = disjoint(text, spans);
    if !redactor.personal.is_kept() {
        add_personal(redactor, text, mails, &mut spans);
    }
    spans
}

fn follow_alarms(redactor: &Redactor, text: &str, spans: &mut Vec<Span>, mails: &mut Vec<Range<usize>>) {
    let mut progress = Progress::default();
    let mut blocks = Blocks::default();
    for hit in redactor.scanner.automaton.find_overlapping_iter(text) {
        match redactor.scanner.alarms[hit.pattern().as_usize()] {
            Alarm::Key if hit.start() >= progress.key => {
                let (span, seen) = assignment::find(text, hit.range(), &mut progress.counted, redactor.evidence);
                progress.key = seen;
                spans.extend(span);
            }
            Alarm::Jwt if hit.start() >= progress.jwt => {
                let (range, seen) = shape::jwt(text, hit.start());
                progress.jwt = seen;
                spans.extend(range.map(Span::mark));
            }
            Alarm::PemBegin => blocks.begin(text, hit.range(), redactor.evidence),
            Alarm::PemEnd => spans.extend(blocks.end(text, &hit.range()).map(Span::mark)),
            Alarm::Vendor(index) if hit.start() >= progress.shape => {
                let found = shape::find_vendor(text, &VENDORS[index], hit.start());
                progress.shape = found.iter().map(|range| range.end).fold(progress.shape, usize::max);
                spans.extend(found.into_iter().map(Span::mark));
            }
            Alarm::Scheme => spans.extend(shape::scheme(text, hit.range()).map(Span::mark)),
            Alarm::UserInfo => spans.extend(shape::user_info(text, hit.end()).map(Span::mark)),
            Alarm::Mail if !redactor.personal.is_kept() => mails.extend(personal::mail_around(text, hit.range())),
            Alarm::Key | Alarm::Jwt | Alarm::Vendor(_) | Alarm::Mail => {}
        }
    }
    spans.extend(blocks.finish(text).map(Span::mark));
}

/// Personal data gives way to a secret that covers part of it: the password in a URL looks like the name before an `@`.
fn add_personal(redactor: &Redactor, text: &str, mails: Vec<Range<usize>>, spans: &mut Vec<Span>) {
    let (phones, numbers) = (personal::phones(text), personal::number::numbers(text));
    if mails.is_empty() && phones.is_empty() && numbers.is_empty() {
        return;
    }
    let mails = mails.into_iter().map(|range| (personal::treat_mail(&redactor.personal, &text[range.clone()]), range));
    let phones =
        phones.into_iter().map(|range| (personal::treat_phone(&redactor.personal, &text[range.clone()]), range));
    let numbers = numbers
        .into_iter()
        .map(|(kind, range)| (personal::number::treat(&redactor.personal, kind, &text[range.clone()]), range));
    let found: Vec<Span> = mails
        .chain(phones)
        .chain(numbers)
        .filter(|(_, range)| !overlaps(spans, range))
        .map(|(treated, range)| Span { range, replacement: Replacement::Personal(treated) })
        .collect();
    spans.extend(found);
    *spans = disjoint(text, std::mem::take(spans));
}

/// Whether one of the disjoint, sorted spans shares a byte with the range.
fn overlaps(spans: &[Span], range: &Range<usize>) -> bool {
    let begin_before = spans.partition_point(|span| span.range.start < range.end);
    spans[..begin_before].last().is_some_and(|span| span.range.end > range.start)
}

/// Sorts the spans, drops those that hide the mark itself, and makes one of those that overlap.
fn disjoint(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| &text[span.range.clone()] != MARK);
    spans.sort_by(|left, right| left.range.start.cmp(&right.range.start).then(right.range.end.cmp(&left.range.end)));
    let mut disjoint: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match disjoint.last_mut() {
            Some(last) if span.range.start < last.range.end => {
                if span.range.end > last.range.end {
                    last.range.end = span.range.end;
                    last.replacement = Replacement::Mark;
                }
            }
            _ => disjoint.push(span),
        }
    }
    disjoint
}

/// The text with every span replaced; `None` if there is none.
fn replace(text: &str, spans: &[Span]) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    let mut redacted = String::with_capacity(text.len());
    let mut copied = 0;
    for span in spans {
        redacted.push_str(&text[copied..span.range.start]);
        span.replacement.write(&mut redacted);
        copied = span.range.end;
    }
    redacted.push_str(&text[copied..]);
    Some(redacted)
}

impl Span {
    fn mark(range: Range<usize>) -> Self {
        Span { range, replacement: Replacement::Mark }
    }
}

impl Replacement {
    fn write(&self, out: &mut String) {
        match self {
            Replacement::Mark => out.push_str(MARK),
            Replacement::Personal(text) => out.push_str(text),
            Replacement::QuotedMark { backslashes } => {
                let quote = format!("{}\"", "\\".repeat(*backslashes));
                out.push_str(&quote);
                out.push_str(MARK);
                out.push_str(&quote);
            }
        }
    }
}
