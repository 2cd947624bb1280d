//! Which session to go on with, asked of the person at the terminal before one is open.

use std::{io, path::PathBuf};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use pi_session::directory::{Stored, title};
use ratatui_core::text::Line;

use crate::{
    device::Device,
    look::{Look, ago},
    panel::{self, Panel},
    picker::{Choice, Picked, Picker},
    theme::{Colours, Theme},
    wish::Catalogue,
};

/// What the person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// To go on with the session in this file.
    Session(PathBuf),
    /// To begin a new one.
    New,
    /// To go.
    Quit,
    /// A signal ended it, or the terminal is gone.
    Terminated,
}

/// Shows the sessions, and takes the list away again when something is chosen. Dropping the future leaves the list on
/// the screen.
pub async fn choose(catalogue: &Catalogue, device: &mut Device, theme: &Theme, colours: Colours) -> io::Result<Chosen> {
    let choices = catalogue.stored.iter().map(|stored| row(stored, catalogue, |path| path));
    let mut picker = Picker::new("go on with, or esc for a new session", choices.collect(), 0);
    let chosen = panel::show(&mut picker, device, theme, colours).await?;
    Ok(chosen.unwrap_or(Chosen::Terminated))
}

impl Panel for Picker<PathBuf> {
    type Answer = Chosen;

    fn lines(&self, look: &Look<'_>, room: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let (lines, cursor) = self.lines(look, room);
        (lines, Some(cursor))
    }

    fn key(&mut self, key: KeyEvent) -> Option<Chosen> {
        press(self, key)
    }

    fn paste(&mut self, text: &str) {
        text.chars().filter(|letter| !letter.is_control()).for_each(|letter| self.type_letter(letter));
    }
}

/// One session in a list: what it is called, when somebody spoke last, how it began, and what it stands for.
pub(crate) fn row<T>(stored: &Stored, catalogue: &Catalogue, value: impl FnOnce(PathBuf) -> T) -> Choice<T> {
    let is_current = catalogue.current.as_ref() == Some(&stored.path);
    let count = stored.message_count;
    let words = if count == 1 { "message" } else { "messages" };
    let here = if is_current { " · this one" } else { "" };
    let label = stored.title();
    Choice {
        label: if label.is_empty() { "(nothing said)".to_owned() } else { label },
        detail: format!("{} · {count} {words}{here}", ago(catalogue.now.saturating_sub(stored.modified))),
        // Of a session without a name the first words are its title already.
        preview: if stored.name.is_some() { title(&stored.first_message) } else { String::new() },
        value: value(stored.path.clone()),
    }
}

/// Nothing is open that somebody could go back to, so to interrupt is to go.
fn press(picker: &mut Picker<PathBuf>, key: KeyEvent) -> Option<Chosen> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Some(Chosen::Quit);
    }
    match picker.key(key) {
        Picked::Nothing => None,
        Picked::Left => Some(Chosen::New),
        Picked::Taken(path) => Some(Chosen::Session(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_takes_escape_begins_anew_and_an_interrupt_goes() {
        let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let session = |path: &str| Some(Chosen::Session(path.into()));
        for (keys, expected) in [
            (vec![plain(KeyCode::Enter)], session("/one")),
            (vec![plain(KeyCode::Down), plain(KeyCode::Enter)], session("/two")),
            (vec![plain(KeyCode::Char('w')), plain(KeyCode::Enter)], session("/two")),
            (vec![plain(KeyCode::Char('x')), plain(KeyCode::Enter)], None),
            (vec![plain(KeyCode::Esc)], Some(Chosen::New)),
            (vec![control('c')], Some(Chosen::Quit)),
            (vec![control('d')], Some(Chosen::Quit)),
        ] {
            let choice = |name: &str| Choice {
                label: name.to_owned(),
                detail: String::new(),
                preview: String::new(),
                value: PathBuf::from(format!("/{name}")),
            };
            let mut picker = Picker::new("choose", vec![choice("one"), choice("two")], 0);
            let chosen: Vec<_> = keys.iter().filter_map(|key| press(&mut picker, *key)).collect();
            assert_eq!(chosen.first(), expected.as_ref(), "{keys:?}");
        }
    }
}
