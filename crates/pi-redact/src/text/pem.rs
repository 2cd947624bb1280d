//! PEM blocks: hidden from each first line to the last line with the same label, whatever other markers stand between.
//!
//! A marker may be broken, stand alone or share its dashes with the next. None of that may end a block early, so a last
//! line ends only what it names. A block that is never ended reaches to the end of the text.

use std::{collections::BTreeSet, ops::Range};

use super::shape::is_assignable;
use crate::Evidence;

/// What the scanner raises an alarm for.
pub(super) const FIRST_LINE: &str = "-----begin ";
pub(super) const LAST_LINE: &str = "-----end ";

const DASHES: &[u8] = b"-----";
const LONGEST_LABEL: usize = 64;
const LEAST_BODY: usize = 16;
/// Encrypted keys and those of PGP have headers before the body.
const HEADERS: [&[u8]; 4] = [b"Proc-Type:", b"Version:", b"Comment:", b"Charset:"];

/// Which blocks are open while the markers of a text are read in order.
#[derive(Default)]
pub(super) struct Blocks<'a> {
    /// Where the hidden stretch began; meaningful while something is open.
    start: usize,
    /// The labels whose last line has not come yet.
    labels: BTreeSet<&'a str>,
    /// Whether a first line was broken: which last line belongs to it cannot be known, so the next one does.
    has_broken: bool,
    bodies: Bodies,
}

/// The stretch of markers that was last looked at, and whether a body follows it. Looking again from each of many markers
/// in a row would take their number times the work.
#[derive(Default)]
struct Bodies {
    markers: Range<usize>,
    follows: bool,
}

impl<'a> Blocks<'a> {
    /// Reads a first line, `marker` being its beginning up to the label.
    pub(super) fn begin(&mut self, text: &'a str, marker: Range<usize>, evidence: Evidence) {
        let label = label(text, marker.end).filter(|label| !label.trim().is_empty());
        let opens = match evidence {
            Evidence::KeysAndShapes => true,
            // Source code that only speaks of blocks, and certificates, stay.
            Evidence::Shapes | Evidence::Literals => {
                label.is_some_and(|label| label.contains("PRIVATE")) && self.bodies.follows(text.as_bytes(), &marker)
            }
        };
        if !opens {
            return;
        }
        if !self.is_open() {
            self.start = marker.start;
        }
        match label {
            Some(label) => drop(self.labels.insert(label)),
            None => self.has_broken = true,
        }
    }

    /// Reads a last line; gives the hidden stretch if nothing is open any more.
    pub(super) fn end(&mut self, text: &str, marker: &Range<usize>) -> Option<Range<usize>> {
        let label = label(text, marker.end).filter(|_| self.is_open())?;
        self.has_broken = false;
        self.labels.remove(label);
        (!self.is_open()).then(|| self.start..marker.end + label.len() + DASHES.len())
    }

    /// What is hidden up to the end of the text.
    pub(super) fn finish(self, text: &str) -> Option<Range<usize>> {
        self.is_open().then_some(self.start..text.len())
    }

    fn is_open(&self) -> bool {
        self.has_broken || !self.labels.is_empty()
    }
}

impl Bodies {
    /// Whether a body or its headers stand behind this marker, or behind others that follow it directly.
    fn follows(&mut self, bytes: &[u8], marker: &Range<usize>) -> bool {
        if !self.markers.contains(&marker.start) {
            let end = markers_end(bytes, marker.start);
            self.follows = has_body(&bytes[end..]);
            self.markers = marker.start..end;
        }
        self.follows
    }
}

/// Where markers, whole or broken, with blanks and line ends between them, end.
fn markers_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = &bytes[at..];
        at += match rest {
            [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
            [b'\\', b'n' | b'r', ..] => 2,
            // Other dashes are what is left of a marker.
            [b'-', ..] => marker_length(rest).unwrap_or(1),
            _ => return at,
        };
    }
}

/// The length of the marker that begins here, without what the next one or a body needs of it.
fn marker_length(bytes: &[u8]) -> Option<usize> {
    let beginning = beginning_length(bytes)?;
    let label = label_length(&bytes[beginning..]);
    let behind = &bytes[beginning + label..];
    let dashes = behind.iter().take_while(|&&byte| byte == b'-').count();
    if dashes < DASHES.len() {
        // A broken marker: what stands behind it may be a label or the body.
        return Some(if has_body(&bytes[beginning..]) { beginning } else { beginning + label });
    }
    let is_shared = beginning_length(&behind[dashes - DASHES.len()..]).is_some();
    Some(beginning + label + dashes - if is_shared { DASHES.len() } else { 0 })
}

fn beginning_length(bytes: &[u8]) -> Option<usize> {
    let begins = |marker: &&str| bytes.get(..marker.len()).is_some_and(|it| it.eq_ignore_ascii_case(marker.as_bytes()));
    [FIRST_LINE, LAST_LINE].iter().find(|marker| begins(marker)).map(|marker| marker.len())
}

fn has_body(bytes: &[u8]) -> bool {
    bytes.get(..LEAST_BODY).is_some_and(|start| start.iter().all(|&byte| is_assignable(byte)))
        || HEADERS.iter().any(|header| bytes.starts_with(header))
}

/// The label of a marker, perhaps an empty one; `None` unless dashes stand behind it.
fn label(text: &str, start: usize) -> Option<&str> {
    let rest = &text.as_bytes()[start..];
    let length = label_length(rest);
    rest[length..].starts_with(DASHES).then(|| &text[start..start + length])
}

fn label_length(bytes: &[u8]) -> usize {
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || b" #,./_".contains(byte);
    bytes.iter().take(LONGEST_LABEL).take_while(is_label).count()
}
