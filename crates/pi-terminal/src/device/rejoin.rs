//! Puts together again what a terminal sent as one and what was read in two pieces.
//!
//! A key such as `up` comes as an escape character with letters behind it. Where the escape character is the last byte that
//! could be read, it is taken for the key Esc, and the letters for letters. Nobody types as fast as a terminal sends: what
//! follows within [`GRACE`] belongs to it.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Input;

/// How long an escape character waits for its letters.
pub(super) const GRACE: Duration = Duration::from_millis(50);
/// No sequence that we know is longer.
const LONGEST: usize = 24;
/// What begins and ends a paste.
const PASTE: &str = "[200~";
const PASTE_END: &str = "\u{1b}[201~";

/// What waits for the rest of it.
#[derive(Debug, Default)]
pub(super) enum Rejoin {
    #[default]
    Nothing,
    /// An escape character, and the letters behind it.
    Sequence(String),
    /// The text of a paste whose beginning came in pieces.
    Paste(String),
}

impl Rejoin {
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Takes what came; answers what is complete.
    pub(super) fn take(&mut self, input: Input) -> Vec<Input> {
        match (std::mem::take(self), input) {
            (Self::Nothing, Input::Key(key)) if is_escape(key) => {
                *self = Self::Sequence(String::new());
                Vec::new()
            }
            (Self::Nothing, input) => vec![input],
            (Self::Sequence(letters), Input::Key(key)) => self.follow(letters, key),
            (Self::Paste(text), Input::Key(key)) => self.paste(text, key),
            (before @ (Self::Sequence(_) | Self::Paste(_)), input) => {
                let mut inputs = before.typed();
                inputs.push(input);
                inputs
            }
        }
    }

    /// Nothing came in time: what waits is what it looks like.
    pub(super) fn expire(&mut self) -> Vec<Input> {
        std::mem::take(self).typed()
    }

    fn follow(&mut self, mut letters: String, key: KeyEvent) -> Vec<Input> {
        if letters.is_empty() && is_escape(key) {
            *self = Self::Sequence(letters);
            return vec![Input::Key(key)];
        }
        match (plain_letter(key), letters.is_empty()) {
            (Some('[' | 'O'), true) | (Some(_), false) => {}
            (_, true) if is_one_byte(key) => {
                return vec![Input::Key(KeyEvent::new(key.code, key.modifiers | KeyModifiers::ALT))];
            }
            _ => {
                let mut inputs = Self::Sequence(letters).typed();
                inputs.push(Input::Key(key));
                return inputs;
            }
        }
        letters.extend(plain_letter(key));
        if letters == PASTE {
            *self = Self::Paste(String::new());
        } else if is_whole(&letters) {
            // What nobody knows is dropped, as where it comes in one piece.
            return meant(&letters).map(Input::Key).into_iter().collect();
        } else if letters.len() > LONGEST {
            return Self::Sequence(letters).typed();
        } else {
            *self = Self::Sequence(letters);
        }
        Vec::new()
    }

    fn paste(&mut self, mut text: String, key: KeyEvent) -> Vec<Input> {
        match key.code {
            KeyCode::Enter => text.push('\n'),
            KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => text.push('\n'),
            KeyCode::Tab => text.push('\t'),
            KeyCode::Esc => text.push('\u{1b}'),
            KeyCode::Char(letter) => text.push(letter),
            _ => {}
        }
        match text.strip_suffix(PASTE_END) {
            Some(text) => vec![Input::Paste(text.to_owned())],
            None => {
                *self = Self::Paste(text);
                Vec::new()
            }
        }
    }

    fn typed(self) -> Vec<Input> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Paste(text) => vec![Input::Paste(text)],
            Self::Sequence(letters) => {
                let keys = std::iter::once(KeyCode::Esc).chain(letters.chars().map(KeyCode::Char));
                keys.map(|code| Input::Key(KeyEvent::new(code, KeyModifiers::NONE))).collect()
            }
        }
    }
}

fn is_escape(key: KeyEvent) -> bool {
    key.code == KeyCode::Esc && key.modifiers.is_empty() && key.kind == KeyEventKind::Press
}

/// A letter as it is typed; large ones come with shift.
fn plain_letter(key: KeyEvent) -> Option<char> {
    let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(letter) if is_plain => Some(letter),
        _ => None,
    }
}

/// Keys that a terminal sends behind an escape character when alt is held.
fn is_one_byte(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace)
}

fn is_whole(letters: &str) -> bool {
    letters.len() > 1 && letters.ends_with(|letter: char| matches!(letter, '@'..='~'))
}

/// The key that a whole sequence stands for.
fn meant(letters: &str) -> Option<KeyEvent> {
    let (numbers, last) = (letters.get(1..letters.len() - 1)?, letters.chars().next_back()?);
    let mut numbers = numbers.split(';').map(|number| number.parse::<u32>().ok());
    let (first, mask) = (numbers.next().flatten(), numbers.next().flatten().unwrap_or(1).saturating_sub(1));
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        if mask & bit != 0 {
            modifiers |= modifier;
        }
    }
    let code = match (last, first) {
        ('A', _) => KeyCode::Up,
        ('B', _) => KeyCode::Down,
        ('C', _) => KeyCode::Right,
        ('D', _) => KeyCode::Left,
        ('H', _) | ('~', Some(1 | 7)) => KeyCode::Home,
        ('F', _) | ('~', Some(4 | 8)) => KeyCode::End,
        ('Z', _) => return Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        ('~', Some(2)) => KeyCode::Insert,
        ('~', Some(3)) => KeyCode::Delete,
        ('~', Some(5)) => KeyCode::PageUp,
        ('~', Some(6)) => KeyCode::PageDown,
        ('u', Some(9)) => KeyCode::Tab,
        ('u', Some(13)) => KeyCode::Enter,
        ('u', Some(27)) => KeyCode::Esc,
        ('u', Some(127)) => KeyCode::Backspace,
        ('u', Some(letter)) => KeyCode::Char(char::from_u32(letter)?),
        _ => return None,
    };
    Some(KeyEvent::new(code, modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> Input {
        Input::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn with(code: KeyCode, modifiers: KeyModifiers) -> Input {
        Input::Key(KeyEvent::new(code, modifiers))
    }

    /// What becomes of an escape character that was read alone, and of the letters that were read behind it.
    fn check(letters: &str, expected: &[Input]) {
        let mut rejoin = Rejoin::default();
        let codes = letters.chars().map(|letter| match letter {
            '\u{1b}' => KeyCode::Esc,
            '\r' => KeyCode::Enter,
            letter => KeyCode::Char(letter),
        });
        let inputs = std::iter::once(KeyCode::Esc).chain(codes).map(key);
        let mut made: Vec<Input> = inputs.flat_map(|input| rejoin.take(input)).collect();
        made.extend(rejoin.expire());
        assert_eq!(made, expected, "{letters:?}");
        assert!(!rejoin.is_waiting());
    }

    #[test]
    fn sequence_in_two_pieces_is_one_key() {
        check("[A", &[key(KeyCode::Up)]);
        check("OB", &[key(KeyCode::Down)]);
        check("[1;5C", &[with(KeyCode::Right, KeyModifiers::CONTROL)]);
        check("[3~", &[key(KeyCode::Delete)]);
        check("[Z", &[with(KeyCode::BackTab, KeyModifiers::SHIFT)]);
        check("[13;2u", &[with(KeyCode::Enter, KeyModifiers::SHIFT)]);
        check("\r", &[with(KeyCode::Enter, KeyModifiers::ALT)]);
        check("b", &[with(KeyCode::Char('b'), KeyModifiers::ALT)]);
        check("[?1;2c", &[]);
        check("[200~a\rb\u{1b}[201~", &[Input::Paste("a\nb".to_owned())]);
        check("[200~lost its end", &[Input::Paste("lost its end".to_owned())]);
    }

    #[test]
    fn escape_alone_is_escape() {
        check("", &[key(KeyCode::Esc)]);
        check("\u{1b}", &[key(KeyCode::Esc), key(KeyCode::Esc)]);
        check("[", &[key(KeyCode::Esc), key(KeyCode::Char('['))]);
        let mut rejoin = Rejoin::default();
        assert_eq!(rejoin.take(key(KeyCode::Char('x'))), [key(KeyCode::Char('x'))]);
        assert_eq!(rejoin.take(key(KeyCode::Esc)), []);
        assert_eq!(rejoin.take(Input::Resize), [key(KeyCode::Esc), Input::Resize]);
        assert_eq!(rejoin.take(key(KeyCode::Esc)), []);
        assert_eq!(rejoin.take(key(KeyCode::Up)), [key(KeyCode::Esc), key(KeyCode::Up)]);
    }
}
