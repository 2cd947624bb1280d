//! What changed, for people: with line numbers, and as a patch.

use similar::{ChangeTag, TextDiff};

use super::{BYTE_ORDER_MARK, with_plain_breaks};

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 4;

pub(super) struct Diff {
    /// Lines with `+`, `-` or a blank, their number, and the text.
    pub(super) shown: String,
    /// The unified form that `patch` and `git apply` understand.
    pub(super) patch: String,
    /// In the new file, counted from 1.
    pub(super) first_changed_line: Option<usize>,
}

impl Diff {
    pub(super) fn new(old: &str, new: &str, path: &str) -> Self {
        let patch = {
            let diff = TextDiff::from_lines(old, new);
            diff.unified_diff().context_radius(CONTEXT).header(&format!("a/{path}"), &format!("b/{path}")).to_string()
        };
        // Nobody sees the mark at the beginning, but a patch without it would not fit.
        let [old, new] = [old, new].map(|text| text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
        let (old, new) = (with_plain_breaks(old), with_plain_breaks(new));
        let diff = TextDiff::from_lines(&old, &new);
        let width = diff.old_len().max(diff.new_len()).max(1).to_string().len();
        let gap = format!(" {:width$} ...", "");
        let (mut lines, mut first_changed_line, mut shown_to) = (Vec::new(), None, 0);
        for group in diff.grouped_ops(CONTEXT) {
            let begins = group.first().map_or(0, |part| part.old_range().start);
            if begins > shown_to {
                lines.push(gap.clone());
            }
            for change in group.iter().flat_map(|part| diff.iter_changes(part)) {
                let (sign, number) = match change.tag() {
                    ChangeTag::Equal => (' ', change.old_index()),
                    ChangeTag::Delete => ('-', change.old_index()),
                    ChangeTag::Insert => ('+', change.new_index()),
                };
                let number = number.map_or(0, |index| index + 1);
                let text = change.value().trim_end_matches('\n');
                lines.push(format!("{sign}{number:width$} {text}"));
            }
            let changed = group.iter().find(|part| part.tag() != similar::DiffTag::Equal);
            first_changed_line = first_changed_line.or(changed.map(|part| part.new_range().start + 1));
            shown_to = group.last().map_or(shown_to, |part| part.old_range().end);
        }
        if shown_to < diff.old_len() {
            lines.push(gap);
        }
        Self { shown: lines.join("\n"), patch, first_changed_line }
    }
}
