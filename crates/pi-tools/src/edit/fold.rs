//! Text without the differences that people and models overlook: forms of quotes, dashes, blanks and letters, and blanks at
//! the end of lines. What was found in it is a place in the real text, so nothing but that place is ever rewritten.

use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};

use super::place::occurrences;
use crate::path::is_odd_space;

/// A text line by line, folded.
pub(super) struct Folded<'a> {
    text: &'a str,
    folded: String,
    /// For each line, where it begins in the folded and in the real text.
    lines: Vec<(usize, usize)>,
}

/// A quotation to look for.
pub(super) struct Quotation {
    folded: String,
    /// Whether blanks at the end of its last line were left out, so that those of the file belong to it.
    takes_blanks: bool,
}

/// The ways to read a quotation: with the blanks at its very end, which may stand in the middle of a line, or without.
pub(super) fn quotations(quoted: &str) -> Vec<Quotation> {
    let bare = Folded::new(quoted).folded;
    let last = quoted.rsplit('\n').next().unwrap_or(quoted);
    let blanks = &last[last.trim_end().len()..];
    let with_blanks = (!blanks.is_empty()).then(|| {
        let blanks: String = blanks.chars().map(fold_sign).collect();
        Quotation { folded: format!("{bare}{blanks}"), takes_blanks: false }
    });
    let without = Quotation { folded: bare, takes_blanks: !blanks.is_empty() };
    let all = with_blanks.into_iter().chain([without]);
    all.filter(|quotation| !quotation.folded.trim().is_empty()).collect()
}

impl<'a> Folded<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (mut folded, mut lines, mut start) = (String::with_capacity(text.len()), Vec::new(), 0);
        for line in text.split('\n') {
            if start > 0 {
                folded.push('\n');
            }
            lines.push((folded.len(), start));
            let begin = folded.len();
            clusters(line).for_each(|cluster| fold_cluster(cluster, &mut folded));
            folded.truncate(begin + folded[begin..].trim_end().len());
            start += line.len() + 1;
        }
        Self { text, folded, lines }
    }

    /// The places of a quotation in the real text.
    pub(super) fn find(&self, quotation: &Quotation) -> Vec<Range<usize>> {
        let found = occurrences(&self.folded, &quotation.folded).into_iter();
        let ends = |start: usize| self.end(start + quotation.folded.len(), quotation.takes_blanks);
        found.filter_map(|start| Some(self.start(start)?..ends(start)?)).collect()
    }

    /// The real beginning of what begins in the folded text at `at`; nothing if that is inside a character.
    fn start(&self, at: usize) -> Option<usize> {
        let (mut folded, mut real, line) = self.line(at);
        if at == folded + folded_length(line) {
            // The break at the end of the line, behind the blanks that were left out.
            return Some(real + line.len());
        }
        for cluster in clusters(line) {
            if folded == at {
                return Some(real);
            }
            let mut one = String::new();
            fold_cluster(cluster, &mut one);
            (folded, real) = (folded + one.len(), real + cluster.len());
        }
        (folded == at).then_some(real)
    }

    /// The real end of what ends in the folded text at `at`.
    fn end(&self, at: usize, takes_blanks: bool) -> Option<usize> {
        let (mut folded, mut real, line) = self.line(at);
        if takes_blanks && at == folded + folded_length(line) {
            return Some(real + line.len());
        }
        let mut rest = clusters(line);
        while folded < at {
            let cluster = rest.next()?;
            let mut one = String::new();
            fold_cluster(cluster, &mut one);
            (folded, real) = (folded + one.len(), real + cluster.len());
        }
        (folded == at).then_some(real)
    }

    /// The line around a place in the folded text: where it begins there, where it really begins, and the line.
    fn line(&self, at: usize) -> (usize, usize, &'a str) {
        let index = self.lines.partition_point(|(folded, _)| *folded <= at).saturating_sub(1);
        let (folded, real) = self.lines[index];
        let end = self.lines.get(index + 1).map_or(self.text.len(), |(_, next)| next - 1);
        (folded, real, &self.text[real..end])
    }
}

fn folded_length(line: &str) -> usize {
    let mut folded = String::new();
    clusters(line).for_each(|cluster| fold_cluster(cluster, &mut folded));
    folded.trim_end().len()
}

/// Letters with the marks that belong to them: what is composed and decomposed as one.
fn clusters(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let mut signs = rest.char_indices();
        signs.next()?;
        let end = signs.find(|(_, sign)| canonical_combining_class(*sign) == 0).map_or(rest.len(), |(end, _)| end);
        let (cluster, after) = rest.split_at(end);
        rest = after;
        Some(cluster)
    })
}

fn fold_cluster(cluster: &str, folded: &mut String) {
    match cluster.is_ascii() {
        true => folded.push_str(cluster),
        false => folded.extend(cluster.nfkc().map(fold_sign)),
    }
}

fn fold_sign(sign: char) -> char {
    match sign {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        sign if is_odd_space(sign) => ' ',
        sign => sign,
    }
}
