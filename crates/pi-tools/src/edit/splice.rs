//! Puts new text in the place of old text. Lines that are quoted only to show the place stay as they are in the file, with
//! their own breaks and blanks; new lines get the break of their neighbours.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::with_plain_breaks;

/// A place in a file.
pub(super) struct Around<'a> {
    pub(super) text: &'a str,
    pub(super) place: Range<usize>,
}

/// What takes the place, for a model that quoted it as `old` and wants `new`.
pub(super) fn splice(around: &Around<'_>, old: &str, new: &str) -> String {
    let (old, new) = (with_plain_breaks(old), with_plain_breaks(new));
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    // Line by line the same as `old`, as it was found by it.
    let real: Vec<&str> = around.text[around.place.clone()].split_inclusive('\n').collect();
    let real_at = |index: usize| real.get(index).copied().unwrap_or_default();
    let mut result = String::new();
    let mut ending = around.ending();
    for part in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match part {
            DiffOp::Equal { old_index, len, .. } => {
                for index in old_index..old_index + len {
                    result.push_str(real_at(index));
                    ending = ending_of(real_at(index)).unwrap_or(ending);
                }
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert { old_index, new_index, new_len } => {
                let next = ending_of(real_at(old_index)).filter(|_| old_index == 0).unwrap_or(ending);
                new[new_index..new_index + new_len].iter().for_each(|line| push(&mut result, line, next));
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                for (index, line) in new[new_index..new_index + new_len].iter().enumerate() {
                    ending = ending_of(real_at(old_index + index.min(old_len - 1))).unwrap_or(ending);
                    push(&mut result, line, ending);
                }
            }
        }
    }
    result
}

impl Around<'_> {
    /// The break of the line that the place ends in, or else the one before, or else none was ever chosen.
    fn ending(&self) -> &'static str {
        let after = &self.text[self.place.end..];
        let before = &self.text[..self.place.start];
        let next = after.find('\n').map(|at| &after[..=at]);
        let last = before.rfind('\n').map(|at| &before[..=at]);
        next.or(last).and_then(ending_of).unwrap_or("\n")
    }
}

fn ending_of(line: &str) -> Option<&'static str> {
    match (line.ends_with("\r\n"), line.ends_with('\n')) {
        (true, _) => Some("\r\n"),
        (false, true) => Some("\n"),
        (false, false) => None,
    }
}

fn push(result: &mut String, line: &str, ending: &str) {
    match line.strip_suffix('\n') {
        Some(line) => {
            result.push_str(line);
            result.push_str(ending);
        }
        None => result.push_str(line),
    }
}
