//! What may be meant by what stands before the cursor: a popup of files, commands or their arguments.

use std::mem;

use pi_session::{
    Suggestion,
    input::complete::{Command, CommandKind, Listing, called, matching},
};
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
    /// What stands behind a command. Only extensions know what may stand there.
    Argument { command: String, prefix: String },
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
    wanted_file(&before).or_else(|| wanted_argument(&before).filter(|_| editor.is_in_first_line()))
}

fn wanted_file(before: &str) -> Option<Wanted> {
    let at = before.rfind('@')?;
    let is_start =
        before[..at].chars().next_back().is_none_or(|letter| letter.is_whitespace() || "(\"'".contains(letter));
    let query = &before[at + 1..];
    (is_start && !query.contains(char::is_whitespace)).then(|| Wanted::File(query.to_owned()))
}

fn wanted_argument(before: &str) -> Option<Wanted> {
    let command = called(before)?;
    let prefix = before[1 + command.len()..].strip_prefix(char::is_whitespace)?;
    Some(Wanted::Argument { command: command.to_owned(), prefix: prefix.to_owned() })
}

impl Wanted {
    /// Whether somebody may know what is meant.
    pub(crate) fn is_known(&self, commands: &[Command]) -> bool {
        match self {
            Self::Command(_) | Self::File(_) => true,
            Self::Argument { command, prefix: _ } => {
                commands.iter().any(|known| known.name == *command && known.kind == CommandKind::Extension)
            }
        }
    }

    /// Whether it is the same kind of thing, of which more or less is typed.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Argument { command, .. }, Self::Argument { command: other, .. }) => command == other,
            (Self::Command(_) | Self::File(_) | Self::Argument { .. }, _) => {
                mem::discriminant(self) == mem::discriminant(other)
            }
        }
    }

    /// What stands before the cursor of it.
    fn typed(&self) -> String {
        match self {
            Self::Command(query) => format!("/{query}"),
            Self::File(query) => format!("@{query}"),
            Self::Argument { command: _, prefix } => prefix.clone(),
        }
    }
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

    /// What an extension proposes. Its label is what people choose by; where there is none, the value is.
    pub(crate) fn arguments(wanted: Wanted, suggestions: &[Suggestion]) -> Self {
        let proposals = suggestions.iter().map(|suggestion| Proposal {
            label: if suggestion.label.is_empty() { suggestion.value.clone() } else { suggestion.label.clone() },
            detail: suggestion.description.clone().unwrap_or_default(),
            text: suggestion.value.clone(),
        });
        Self { wanted, proposals: proposals.collect(), selected: 0 }
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
        if let Some(proposal) = self.proposals.get(self.selected) {
            let typed = self.typed(editor);
            editor.replace_before(typed.chars().count(), &proposal.text);
        }
    }

    /// Whether the selected proposal is an argument that stands in the text already.
    pub(crate) fn is_written(&self, editor: &Editor) -> bool {
        let proposal = self.proposals.get(self.selected);
        matches!(self.wanted, Wanted::Argument { .. })
            && proposal.is_some_and(|proposal| proposal.text == self.typed(editor))
    }

    /// What a proposal takes the place of: the person may have typed on since it was made.
    fn typed(&self, editor: &Editor) -> String {
        wanted(editor).filter(|now| now.is_like(&self.wanted)).unwrap_or_else(|| self.wanted.clone()).typed()
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
