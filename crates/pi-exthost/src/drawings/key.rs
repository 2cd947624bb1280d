//! Keys by name, as a terminal sends them.

/// What a terminal sends for the key `name`; text that is no name is what it is.
pub fn sent(name: &str) -> String {
    let (mut rest, mut held) = (name, Held::default());
    while let Some((word, behind)) = rest.split_once('+').filter(|(_, behind)| !behind.is_empty()) {
        match word {
            "ctrl" if !held.control => held.control = true,
            "alt" if !held.alt => held.alt = true,
            "shift" if !held.shift => held.shift = true,
            _ => return name.to_owned(),
        }
        rest = behind;
    }
    held.press(rest).unwrap_or_else(|| name.to_owned())
}

/// What is held down with a key.
#[derive(Clone, Copy, Default)]
struct Held {
    control: bool,
    alt: bool,
    shift: bool,
}

impl Held {
    fn press(self, key: &str) -> Option<String> {
        let mut letters = key.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return Some(self.letter(letter));
        }
        let plain = |code: &str| Some(if self.alt { format!("\u{1b}{code}") } else { code.to_owned() });
        match key {
            "enter" | "return" if self.shift || self.control => Some(format!("\u{1b}[13;{}u", self.number())),
            "enter" | "return" => plain("\r"),
            "escape" | "esc" => plain("\u{1b}"),
            "tab" if self.shift => Some("\u{1b}[Z".to_owned()),
            "tab" => plain("\t"),
            "space" => Some(self.letter(' ')),
            "backspace" if self.control => plain("\u{8}"),
            "backspace" => plain("\u{7f}"),
            "up" => Some(self.arrow('A')),
            "down" => Some(self.arrow('B')),
            "right" => Some(self.arrow('C')),
            "left" => Some(self.arrow('D')),
            "home" => Some(self.arrow('H')),
            "end" => Some(self.arrow('F')),
            "insert" => Some(self.tilde(2)),
            "delete" => Some(self.tilde(3)),
            "pageUp" => Some(self.tilde(5)),
            "pageDown" => Some(self.tilde(6)),
            _ => self.function(key),
        }
    }

    fn letter(self, letter: char) -> String {
        let letter = if self.shift { letter.to_uppercase().next().unwrap_or(letter) } else { letter };
        let sent = match letter.to_ascii_lowercase() {
            low @ ('a'..='z' | '[' | '\\' | ']' | '^' | '_') if self.control => char::from(low as u8 & 0x1f),
            ' ' | '@' if self.control => '\0',
            _ => letter,
        };
        if self.alt { format!("\u{1b}{sent}") } else { sent.to_string() }
    }

    fn function(self, key: &str) -> Option<String> {
        const CODES: [u8; 8] = [15, 17, 18, 19, 20, 21, 23, 24];
        match key.strip_prefix('f')?.parse::<u8>().ok()? {
            number @ 1..=4 if self.number() == 1 => Some(format!("\u{1b}O{}", char::from(b'O' + number))),
            number @ 1..=4 => Some(format!("\u{1b}[1;{}{}", self.number(), char::from(b'O' + number))),
            number @ 5..=12 => Some(self.tilde(CODES[usize::from(number) - 5])),
            _ => None,
        }
    }

    fn arrow(self, letter: char) -> String {
        match self.number() {
            1 => format!("\u{1b}[{letter}"),
            number => format!("\u{1b}[1;{number}{letter}"),
        }
    }

    fn tilde(self, code: u8) -> String {
        match self.number() {
            1 => format!("\u{1b}[{code}~"),
            number => format!("\u{1b}[{code};{number}~"),
        }
    }

    /// As terminals count what is held.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_what_a_terminal_sends() {
        for (name, expected) in [
            ("a", "a"),
            ("ä", "ä"),
            ("+", "+"),
            ("hello+world", "hello+world"),
            ("enter", "\r"),
            ("shift+enter", "\u{1b}[13;2u"),
            ("escape", "\u{1b}"),
            ("ctrl+c", "\u{3}"),
            ("ctrl+C", "\u{3}"),
            ("ctrl+space", "\0"),
            ("ctrl++", "+"),
            ("alt+b", "\u{1b}b"),
            ("shift+a", "A"),
            ("shift+tab", "\u{1b}[Z"),
            ("up", "\u{1b}[A"),
            ("ctrl+left", "\u{1b}[1;5D"),
            ("ctrl+shift+end", "\u{1b}[1;6F"),
            ("delete", "\u{1b}[3~"),
            ("alt+pageDown", "\u{1b}[6;3~"),
            ("f1", "\u{1b}OP"),
            ("shift+f4", "\u{1b}[1;2S"),
            ("f5", "\u{1b}[15~"),
            ("f12", "\u{1b}[24~"),
            ("f13", "f13"),
            ("ctrl+ctrl+a", "ctrl+ctrl+a"),
            ("pasted text", "pasted text"),
            ("\u{1b}[A", "\u{1b}[A"),
        ] {
            assert_eq!(sent(name), expected, "{name}");
        }
    }
}
