//! What may be meant by what stands before the cursor: a popup of files or commands.

use pi_session::input::complete::{Command, Listing, matching};
use ratatui_core::text::{Line, Span};

use crate::{
    editor::Editor,
    look::Look,
    text::{printable, shorten_line},
};

/// How many are seen at once.
const MOST_SEEN: usize = 8;

/// What is being completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A command; what stands behind the `/`.
    Command(String),
    /// A file; what stands behind the `@`.
    File(String),
}

/// One proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) label: String,
    pub(crate) detail: String,
    /// What is put in the place of what was typed.
    text: String,
}

/// Proposals beside the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) wanted: Wanted,
    proposals: Vec<Proposal>,
    selected: usize,
}

/// What stands before the cursor and can be completed.
pub(crate) fn wanted(editor: &Editor) -> Option<Wanted> {
    let before = editor.before_cursor();
    if let Some(query) = before.strip_prefix('/')
        && editor.is_in_first_line()
        && !query.contains(char::is_whitespace)
    {
        return Some(Wanted::Command(query.to_owned()));
    }
    let at = before.rfind('@')?;
    let is_start =
        before[..at].chars().next_back().is_none_or(|letter| letter.is_whitespace() || "(\"'".contains(letter));
    let query = &before[at + 1..];
    (is_start && !query.contains(char::is_whitespace)).then(|| Wanted::File(query.to_owned()))
}

impl Completion {
    pub(crate) fn commands(query: &str, commands: &[Command]) -> Self {
        let proposals = matching(commands, query).into_iter().map(|command| Proposal {
            label: match &command.hint {
                Some(hint) => format!("/{} {hint}", command.name),
                None => format!("/{}", command.name),
            },
            detail: command.description.clone(),
            text: format!("/{} ", command.name),
        });
        Self { wanted: Wanted::Command(query.to_owned()), proposals: proposals.collect(), selected: 0 }
    }

    pub(crate) fn files(query: &str, listing: &Listing) -> Self {
        let proposals = listing.files.iter().map(|file| {
            let needs_quotes = file.path.contains(char::is_whitespace);
            let path = if needs_quotes { format!("\"{}\"", file.path) } else { file.path.clone() };
            let end = if file.is_folder { "/" } else { " " };
            let label = if file.is_folder { format!("{}/", file.path) } else { file.path.clone() };
            Proposal { label, detail: String::new(), text: format!("@{path}{end}") }
        });
        Self { wanted: Wanted::File(query.to_owned()), proposals: proposals.collect(), selected: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }

    pub(crate) fn step(&mut self, by: isize) {
        let count = self.proposals.len();
        if count > 0 {
            self.selected = self.selected.wrapping_add_signed(by).wrapping_add(count) % count;
        }
    }

    /// Puts the selected proposal into the text.
    pub(crate) fn accept(&self, editor: &mut Editor) {
        let typed = match &self.wanted {
            Wanted::Command(query) | Wanted::File(query) => query.chars().count() + 1,
        };
        if let Some(proposal) = self.proposals.get(self.selected) {
            editor.replace_before(typed, &proposal.text);
        }
    }

    pub(crate) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let first = (self.selected + 1).saturating_sub(MOST_SEEN);
        let shown = self.proposals.iter().enumerate().skip(first).take(MOST_SEEN);
        let mut lines: Vec<Line<'static>> = shown
            .map(|(index, proposal)| {
                let is_selected = index == self.selected;
                let (mark, style) = match is_selected {
                    true => ("→ ", look.theme.accent),
                    false => ("  ", ratatui_core::style::Style::new()),
                };
                let line = Line::from(vec![
                    Span::styled(mark, style),
                    Span::styled(printable(&proposal.label).into_owned(), style),
                    Span::styled(format!("  {}", printable(&proposal.detail)), look.theme.quiet),
                ]);
                shorten_line(line, look.width)
            })
            .collect();
        if self.proposals.len() > MOST_SEEN {
            lines.push(Line::styled(format!("  {}/{}", self.selected + 1, self.proposals.len()), look.theme.quiet));
        }
        lines
    }
}
