//! One field of a question: what is typed or chosen in it.

use crossterm::event::{KeyCode, KeyEvent};
use pi_transcript::question::{FieldKind, FormField};
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use crate::{
    editor::{Edit, Editor},
    keys,
    look::Look,
    text::{printable, shorten_line},
};

/// What is typed or chosen.
#[derive(Debug)]
pub(super) enum Field {
    /// One line.
    Text(Editor),
    /// Many lines.
    Editor(Editor),
    Select {
        options: Vec<String>,
        selected: usize,
    },
    Multi {
        options: Vec<String>,
        chosen: Vec<bool>,
        selected: usize,
    },
    Confirm {
        is_yes: bool,
    },
}

/// What a key did to a field.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Open,
    Taken(Value),
    /// Left out.
    Skipped,
}

impl Field {
    pub(super) fn of(field: &FormField) -> Self {
        let options = field.options.clone().unwrap_or_default();
        match field.kind {
            FieldKind::Text => Self::text(""),
            FieldKind::Select => Self::select(&options),
            FieldKind::Multi => Self::Multi { chosen: vec![false; options.len()], options, selected: 0 },
            FieldKind::Confirm => Self::confirm(),
        }
    }

    pub(super) fn text(prefill: &str) -> Self {
        Self::Text(filled(prefill))
    }

    pub(super) fn editor(prefill: &str) -> Self {
        Self::Editor(filled(prefill))
    }

    pub(super) fn select(options: &[String]) -> Self {
        Self::Select { options: options.to_vec(), selected: 0 }
    }

    pub(super) fn confirm() -> Self {
        Self::Confirm { is_yes: true }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Step {
        if key.code == KeyCode::Tab {
            return Step::Skipped;
        }
        match self {
            Self::Text(editor) => match key.code {
                KeyCode::Enter => taken_text(editor),
                _ => edited(editor, key),
            },
            Self::Editor(editor) => match key.code {
                KeyCode::Enter if key.modifiers.is_empty() => taken_text(editor),
                KeyCode::Enter => {
                    editor.edit(Edit::NewLine);
                    Step::Open
                }
                _ => edited(editor, key),
            },
            Self::Select { options, selected } => match key.code {
                KeyCode::Enter => {
                    options.get(*selected).map_or(Step::Open, |option| Step::Taken(option.clone().into()))
                }
                code => moved(selected, options.len(), code),
            },
            Self::Multi { options, chosen, selected } => match key.code {
                KeyCode::Enter => {
                    let some = options.iter().zip(&*chosen).filter(|(_, chosen)| **chosen);
                    Step::Taken(some.map(|(option, _)| Value::from(option.clone())).collect())
                }
                KeyCode::Char(' ') => {
                    chosen.get_mut(*selected).into_iter().for_each(|chosen| *chosen = !*chosen);
                    Step::Open
                }
                code => moved(selected, options.len(), code),
            },
            Self::Confirm { is_yes } => match key.code {
                KeyCode::Enter => Step::Taken((*is_yes).into()),
                KeyCode::Char('y' | 'Y') => Step::Taken(true.into()),
                KeyCode::Char('n' | 'N') => Step::Taken(false.into()),
                KeyCode::Left | KeyCode::Right | KeyCode::Up | KeyCode::Down => {
                    *is_yes = !*is_yes;
                    Step::Open
                }
                _ => Step::Open,
            },
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match self {
            Self::Text(editor) => editor.paste(&text.replace(['\n', '\r'], " ")),
            Self::Editor(editor) => editor.paste(text),
            Self::Select { .. } | Self::Multi { .. } | Self::Confirm { .. } => {}
        }
    }

    /// The text that stands in it; nothing where one chooses.
    pub(super) fn written(&self) -> Option<String> {
        match self {
            Self::Text(editor) | Self::Editor(editor) => Some(editor.text()),
            Self::Select { .. } | Self::Multi { .. } | Self::Confirm { .. } => None,
        }
    }

    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Text(_) => "enter send · esc cancel",
            Self::Editor(_) => "enter send · alt+enter new line · esc cancel",
            Self::Select { .. } => "↑↓ choose · enter take · esc cancel",
            Self::Multi { .. } => "↑↓ move · space mark · enter take · esc cancel",
            Self::Confirm { .. } => "y yes · n no · enter take · esc cancel",
        }
    }

    pub(super) fn lines(&self, look: &Look<'_>, height: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let row = |text: String, is_selected: bool| {
            let (mark, style) =
                if is_selected { ("→ ", look.theme.accent) } else { ("  ", ratatui_core::style::Style::new()) };
            let line = Line::from(vec![Span::styled(mark, style), Span::styled(printable(&text).into_owned(), style)]);
            shorten_line(line, look.width)
        };
        match self {
            Self::Text(editor) | Self::Editor(editor) => {
                let (lines, cursor) = editor.rows(look, height);
                (lines, Some(cursor))
            }
            Self::Select { options, selected } => {
                let rows = options.iter().enumerate().map(|(index, option)| row(option.clone(), index == *selected));
                (window(rows.collect(), *selected, height), None)
            }
            Self::Multi { options, chosen, selected } => {
                let mark = |is_chosen: bool| if is_chosen { "[x]" } else { "[ ]" };
                let rows = options.iter().zip(chosen).enumerate();
                let rows = rows.map(|(index, (option, is_chosen))| {
                    row(format!("{} {option}", mark(*is_chosen)), index == *selected)
                });
                (window(rows.collect(), *selected, height), None)
            }
            Self::Confirm { is_yes } => (vec![row("yes".to_owned(), *is_yes), row("no".to_owned(), !*is_yes)], None),
        }
    }
}

fn filled(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.set(text);
    editor
}

fn taken_text(editor: &mut Editor) -> Step {
    Step::Taken(editor.take().into())
}

fn edited(editor: &mut Editor, key: KeyEvent) -> Step {
    if let Some(edit) = keys::edit(key) {
        editor.edit(edit);
    }
    Step::Open
}

fn moved(selected: &mut usize, count: usize, code: KeyCode) -> Step {
    let last = count.saturating_sub(1);
    match code {
        KeyCode::Up => *selected = selected.checked_sub(1).unwrap_or(last),
        KeyCode::Down => *selected = if *selected >= last { 0 } else { *selected + 1 },
        KeyCode::Char(digit @ '1'..='9') => {
            let place = digit as usize - '1' as usize;
            if place < count {
                *selected = place;
            }
        }
        _ => {}
    }
    Step::Open
}

/// The rows around the selected one.
fn window(rows: Vec<Line<'static>>, selected: usize, height: usize) -> Vec<Line<'static>> {
    let first = (selected + 1).saturating_sub(height.max(1));
    rows.into_iter().skip(first).take(height.max(1)).collect()
}
