//! Puts back what was hidden from the model, where it writes a file again.
//!
//! A session shows a model a mark in the place of every secret, so a model that writes back what it read would write the
//! mark. Here the old file is looked at as the model saw it: a line that it left as it was shown gets its secret back.
//! Where it cannot be known which secret a mark stands for, nothing is written, and the model is told what to do. A mark
//! in a file that hides nothing is a word like any other.

use std::collections::HashMap;

use pi_redact::{MARK, Redactor};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::tool::Failure;

/// A text that is to be written, with secrets in the place of marks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Restored {
    pub(crate) text: String,
    /// Lines that got their secret back.
    pub(crate) lines: usize,
}

/// A file as it is, and as the model was shown it.
pub(crate) struct Veiled<'a> {
    old: &'a str,
    shown: String,
}

impl<'a> Veiled<'a> {
    /// `None` if nothing in the file is hidden.
    pub(crate) fn of(redactor: &Redactor, old: &'a str) -> Option<Self> {
        let shown = redactor.redact_text(old);
        (shown != old).then(|| Self { old, shown: shown.into_owned() })
    }

    /// The file as the model was shown it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// What `new` means: the text that a model wants in the place of what it was shown.
    pub(crate) fn restore(&self, new: &str, path: &str) -> Result<Restored, Failure> {
        if !new.contains(MARK) {
            return Ok(Restored { text: new.to_owned(), lines: 0 });
        }
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let secrets = self.secrets();
        let places = Places::find(&self.shown, &new_lines);
        let (mut text, mut restored, mut next) = (String::with_capacity(new.len()), 0, 0);
        while let Some(line) = new_lines.get(next) {
            let meaning = if line.contains(MARK) { self.meaning(&secrets, &places, &new_lines, next) } else { None };
            match meaning {
                Some(secret) => {
                    let last = new_lines[next + secret.shown.len() - 1];
                    text.push_str(bare(secret.old));
                    text.push_str(&last[bare(last).len()..]);
                    restored += secret.shown.len();
                    next += secret.shown.len();
                }
                None if line.contains(MARK) && !self.stands_in_old(line) => return Err(refusal(path, next + 1)),
                None => {
                    text.push_str(line);
                    next += 1;
                }
            }
        }
        Ok(Restored { text, lines: restored })
    }

    /// The secret that the mark in line `at` stands for, if that is beyond doubt.
    fn meaning<'b>(
        &self,
        secrets: &'b [Secret<'b>],
        places: &Places,
        new: &[&str],
        at: usize,
    ) -> Option<&'b Secret<'b>> {
        let is_here = |secret: &&Secret<'_>| {
            let lines = new.get(at..at + secret.shown.len());
            lines.is_some_and(|lines| lines.iter().zip(&secret.shown).all(|(one, other)| bare(one) == bare(other)))
        };
        let candidates: Vec<&Secret<'_>> = secrets.iter().filter(is_here).collect();
        let [first, rest @ ..] = candidates.as_slice() else { return None };
        if rest.iter().all(|other| bare(other.old) == bare(first.old)) {
            return Some(*first);
        }
        // Several secrets look the same: only the place tells them apart, and only if all of them kept theirs.
        let all_stayed = candidates.iter().all(|secret| places.kept(secret.first));
        candidates.into_iter().find(|secret| all_stayed && places.new_place(secret.first) == Some(at))
    }

    /// Every stretch of lines in which something is hidden.
    fn secrets(&self) -> Vec<Secret<'_>> {
        let old: Vec<&str> = self.old.split_inclusive('\n').collect();
        let shown: Vec<&str> = self.shown.split_inclusive('\n').collect();
        let mut secrets = Vec::new();
        let starts: Vec<usize> = offsets(&old);
        let mut hidden = |old_at: usize, old_lines: usize, at: usize, lines: usize| {
            secrets.push(Secret {
                old: &self.old[starts[old_at]..starts[old_at + old_lines]],
                shown: shown[at..at + lines].to_vec(),
                first: at,
            });
        };
        for part in capture_diff_slices(Algorithm::Myers, &old, &shown) {
            match part {
                // Hiding takes lines away and adds none: as many as before are the same ones.
                DiffOp::Replace { old_index, old_len, new_index, new_len } if old_len == new_len => {
                    (0..old_len).for_each(|line| hidden(old_index + line, 1, new_index + line, 1));
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    hidden(old_index, old_len, new_index, new_len);
                }
                DiffOp::Equal { .. } | DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
            }
        }
        secrets
    }

    /// Whether the file itself has this line, mark and all.
    fn stands_in_old(&self, line: &str) -> bool {
        self.old.split_inclusive('\n').any(|old| bare(old) == bare(line))
    }
}

/// Lines of the file in which something is hidden.
struct Secret<'a> {
    old: &'a str,
    shown: Vec<&'a str>,
    /// The first of them, in what was shown.
    first: usize,
}

/// Which lines of what was shown stand where in the new text.
struct Places {
    new_of_shown: HashMap<usize, usize>,
    shown_lines: usize,
    new_lines: usize,
}

impl Places {
    fn find(shown: &str, new: &[&str]) -> Self {
        let shown: Vec<&str> = shown.split_inclusive('\n').map(bare).collect();
        let new: Vec<&str> = new.iter().map(|line| bare(line)).collect();
        let mut new_of_shown = HashMap::new();
        for part in capture_diff_slices(Algorithm::Myers, &shown, &new) {
            match part {
                DiffOp::Equal { old_index, new_index, len } => {
                    new_of_shown.extend((0..len).map(|line| (old_index + line, new_index + line)));
                }
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {}
            }
        }
        Self { new_of_shown, shown_lines: shown.len(), new_lines: new.len() }
    }

    fn new_place(&self, shown: usize) -> Option<usize> {
        self.new_of_shown.get(&shown).copied()
    }

    /// Whether a line is still there, and with it the one before or behind it: alone it might be another one of the same words.
    fn kept(&self, shown: usize) -> bool {
        let Some(new) = self.new_place(shown) else { return false };
        let before = match (shown, new) {
            (0, 0) => true,
            (0, _) | (_, 0) => false,
            (shown, new) => self.new_place(shown - 1) == Some(new - 1),
        };
        let is_last = shown + 1 == self.shown_lines && new + 1 == self.new_lines;
        before || is_last || self.new_place(shown + 1) == Some(new + 1)
    }
}

/// Where each line begins, and where the last one ends.
fn offsets(lines: &[&str]) -> Vec<usize> {
    let mut end = 0;
    let ends = lines.iter().map(|line| {
        end += line.len();
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// A line without its break.
fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// What a model must know about the marks in what it wrote, of which so many lines got their secret back.
pub(crate) fn note(lines: usize) -> String {
    match lines {
        0 => format!(
            "\n\n[{MARK} was written as it is. If it stands for a secret that you were not shown, the secret is not in this file.]"
        ),
        1 => format!("\n\n[1 line with {MARK} kept its secret.]"),
        lines => format!("\n\n[{lines} lines with {MARK} kept their secrets.]"),
    }
}

fn refusal(path: &str, line: usize) -> Failure {
    Failure::new(format!(
        "{path} was not changed. Line {line} of the new text holds {MARK}, which stands for a secret that you were not \
         shown, and it is not a line of the file as you were shown it, so it is not known which secret is meant. Keep \
         such lines exactly as they were shown: they keep their secret. Or use edit to change other lines only."
    ))
}

#[cfg(test)]
mod tests;
