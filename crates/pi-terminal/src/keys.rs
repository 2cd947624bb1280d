//! What a key does to a text, wherever a text is written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::{component, editor::Edit};

/// Keys with something held that mean something in every chat: with them people stop, send, leave and choose. Terminals send the
/// last three for tab, enter and escape.
const KEPT: [&str; 13] = [
    "ctrl+c",
    "ctrl+d",
    "ctrl+j",
    "ctrl+k",
    "ctrl+l",
    "ctrl+o",
    "ctrl+p",
    "ctrl+shift+p",
    "ctrl+t",
    "ctrl+z",
    "ctrl+i",
    "ctrl+m",
    "ctrl+[",
];

/// Whose a key is, if an extension wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It stays the chat's.
    Chat,
    /// The extension has it, and what it did in the editor is gone.
    Editor,
    Nobody,
}

/// The name of a key, as `pi_session::chord` writes it; nothing for one that has none.
pub(crate) fn chord(key: KeyEvent) -> Option<String> {
    let chord = pi_session::chord(&component::name(key)?);
    let KeyCode::Char(letter) = key.code else { return Some(chord) };
    // A capital says by itself that shift is held; names of keys have none.
    let is_shifted = letter.is_uppercase() || letter.is_alphabetic() && key.modifiers.contains(KeyModifiers::SHIFT);
    let split = chord.len() - letter.to_lowercase().map(char::len_utf8).sum::<usize>();
    Some(if is_shifted { format!("{}shift+{}", &chord[..split], &chord[split..]) } else { chord })
}

/// Whose the key of this name is.
pub(crate) fn owner(chord: &str) -> Owner {
    let (modifiers, key) = parts(chord);
    let is_function = key.strip_prefix('f').is_some_and(|number| number.parse::<u8>().is_ok());
    let is_free_alone = is_function || matches!(key, "insert" | "pageup" | "pagedown");
    let is_alone = (modifiers - KeyModifiers::SHIFT).is_empty();
    if KEPT.contains(&chord) || matches!(key, "enter" | "escape") || is_alone && !is_free_alone {
        return Owner::Chat;
    }
    let is_edit = code(key).and_then(|code| edit(KeyEvent::new(code, modifiers))).is_some();
    if is_edit || chord == "alt+up" { Owner::Editor } else { Owner::Nobody }
}

/// What is held, and what with.
fn parts(chord: &str) -> (KeyModifiers, &str) {
    let (mut rest, mut modifiers) = (chord, KeyModifiers::NONE);
    while let Some((word, behind)) = rest.split_once('+').filter(|(_, behind)| !behind.is_empty()) {
        modifiers |= match word {
            "ctrl" => KeyModifiers::CONTROL,
            "alt" => KeyModifiers::ALT,
            "shift" => KeyModifiers::SHIFT,
            "super" => KeyModifiers::SUPER,
            _ => break,
        };
        rest = behind;
    }
    (modifiers, rest)
}

/// Keys that edit a text, by their names.
fn code(key: &str) -> Option<KeyCode> {
    let mut letters = key.chars();
    match (letters.next(), letters.next(), key) {
        (Some(letter), None, _) => Some(KeyCode::Char(letter)),
        (_, _, "backspace") => Some(KeyCode::Backspace),
        (_, _, "delete") => Some(KeyCode::Delete),
        (_, _, "left") => Some(KeyCode::Left),
        (_, _, "right") => Some(KeyCode::Right),
        (_, _, "home") => Some(KeyCode::Home),
        (_, _, "end") => Some(KeyCode::End),
        _ => None,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_one_name_however_a_terminal_tells_it() {
        let held = |code: KeyCode, modifiers: KeyModifiers| chord(KeyEvent::new(code, modifiers));
        let (control, shift) = (KeyModifiers::CONTROL, KeyModifiers::SHIFT);
        for (code, modifiers, expected) in [
            (KeyCode::Char('x'), control, "ctrl+x"),
            (KeyCode::Char('X'), control, "ctrl+shift+x"),
            (KeyCode::Char('x'), control | shift, "ctrl+shift+x"),
            (KeyCode::Char('X'), control | shift, "ctrl+shift+x"),
            (KeyCode::Char('p'), KeyModifiers::ALT, "alt+p"),
            (KeyCode::Char('+'), control, "ctrl++"),
            (KeyCode::Char('!'), KeyModifiers::ALT | shift, "alt+!"),
            (KeyCode::Char(' '), control, "ctrl+space"),
            (KeyCode::F(5), shift, "shift+f5"),
            (KeyCode::PageUp, KeyModifiers::NONE, "pageup"),
            (KeyCode::BackTab, shift, "shift+tab"),
        ] {
            assert_eq!(held(code, modifiers).as_deref(), Some(expected), "{code:?} {modifiers:?}");
        }
    }

    #[test]
    fn ways_to_stop_to_send_and_to_leave_are_given_to_nobody() {
        for (name, expected) in [
            ("Ctrl+C", Owner::Chat),
            ("shift+ctrl+p", Owner::Chat),
            ("return", Owner::Chat),
            ("alt+enter", Owner::Chat),
            ("esc", Owner::Chat),
            ("shift+tab", Owner::Chat),
            ("x", Owner::Chat),
            ("shift+x", Owner::Chat),
            ("up", Owner::Chat),
            ("ctrl+a", Owner::Editor),
            ("alt+backspace", Owner::Editor),
            ("alt+up", Owner::Editor),
            ("ctrl+x", Owner::Nobody),
            ("alt+p", Owner::Nobody),
            ("f5", Owner::Nobody),
            ("f", Owner::Chat),
            ("pageUp", Owner::Nobody),
            ("ctrl+up", Owner::Nobody),
        ] {
            assert_eq!(owner(&pi_session::chord(name)), expected, "{name}");
        }
    }
}
