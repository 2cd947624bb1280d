//! What a key does to a text, wherever a text is written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::editor::Edit;

/// The edit that a key stands for.
pub(crate) fn edit(key: KeyEvent) -> Option<Edit> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(letter) if !is_control && !is_alt => Some(Edit::Insert(letter)),
        KeyCode::Char(letter) if is_control => match letter {
            'a' => Some(Edit::LineStart),
            'b' => Some(Edit::Left),
            'e' => Some(Edit::LineEnd),
            'f' => Some(Edit::Right),
            'h' => Some(Edit::DeleteBack),
            'j' => Some(Edit::NewLine),
            'k' => Some(Edit::DeleteToEnd),
            'u' => Some(Edit::DeleteToStart),
            'w' => Some(Edit::DeleteWordBack),
            'y' => Some(Edit::Yank),
            '-' | '_' | '7' => Some(Edit::Undo),
            _ => None,
        },
        KeyCode::Char('b') => Some(Edit::WordLeft),
        KeyCode::Char('f') => Some(Edit::WordRight),
        KeyCode::Char('d') => Some(Edit::DeleteWordForward),
        KeyCode::Char('z') => Some(Edit::Redo),
        KeyCode::Backspace if is_alt || is_control => Some(Edit::DeleteWordBack),
        KeyCode::Backspace => Some(Edit::DeleteBack),
        KeyCode::Delete if is_alt || is_control => Some(Edit::DeleteWordForward),
        KeyCode::Delete => Some(Edit::DeleteForward),
        KeyCode::Left if is_alt || is_control => Some(Edit::WordLeft),
        KeyCode::Left => Some(Edit::Left),
        KeyCode::Right if is_alt || is_control => Some(Edit::WordRight),
        KeyCode::Right => Some(Edit::Right),
        KeyCode::Home => Some(Edit::LineStart),
        KeyCode::End => Some(Edit::LineEnd),
        _ => None,
    }
}
