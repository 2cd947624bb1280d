//! A word that somebody puts on a place of the session, typed in the list of places.

use crossterm::event::{KeyCode, KeyEvent};
use pi_transcript::EntryId;
use ratatui_core::text::{Line, Span};

use super::App;
use crate::{
    editor::Editor,
    keys,
    look::Look,
    text::{printable, shorten_line},
    wish::{Action, Marked},
};

/// A label that is being written. The list of places waits behind it.
#[derive(Debug)]
pub(super) struct Naming {
    entry: EntryId,
    /// What stands at the place.
    place: String,
    editor: Editor,
}

impl Naming {
    pub(super) fn new(entry: EntryId, place: &str, label: Option<&str>) -> Self {
        let mut editor = Editor::new(Vec::new());
        editor.set(label.unwrap_or_default());
        Self { entry, place: place.to_owned(), editor }
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.editor.paste(text.lines().next().unwrap_or_default());
    }

    pub(super) fn lines(&self, look: &Look<'_>) -> (Vec<Line<'static>>, (usize, usize)) {
        let theme = look.theme;
        let (rows, (row, column)) = self.editor.rows(look, 1);
        let mut lines = vec![
            Line::styled("─".repeat(look.width), theme.border),
            Line::from(vec![
                Span::styled("label for  ", theme.strong),
                Span::styled(printable(&self.place).into_owned(), theme.quiet),
            ]),
        ];
        let top = lines.len();
        lines.extend(rows);
        lines.push(Line::styled("  enter keep it · nothing takes it away · esc leave", theme.quiet));
        (lines.into_iter().map(|line| shorten_line(line, look.width)).collect(), (top + row, column))
    }
}

impl App {
    /// Keys while a label is written.
    pub(super) fn naming_key(&mut self, key: KeyEvent) -> Vec<Action> {
        let Some(naming) = &mut self.naming else { return Vec::new() };
        match key.code {
            KeyCode::Esc => self.naming = None,
            KeyCode::Enter => {
                let label = naming.editor.take().trim().to_owned();
                let place = Marked::At(naming.entry.clone());
                self.tree_at = Some(naming.entry.clone());
                self.naming = None;
                return vec![Action::Label { place, label: (!label.is_empty()).then_some(label) }];
            }
            _ => {
                if let Some(edit) = keys::edit(key) {
                    naming.editor.edit(edit);
                }
            }
        }
        Vec::new()
    }
}
