//! Components that extensions draw: their lines on the screen, and the names of the keys that go back.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use pi_session::Press;
use pi_transcript::{
    RequestId,
    drawn::{self, Colour, Placement, Style},
};
use ratatui_core::{
    style::{self, Color, Modifier},
    text::{Line, Span},
};

use crate::{
    hearing::Hearing,
    look::Look,
    text::{printable, shorten_line},
    wish::Action,
};

/// Every component that is there, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Components {
    shown: Vec<Component>,
}

#[derive(Debug)]
struct Component {
    request: RequestId,
    /// The extension that draws it.
    guest: String,
    hearing: Hearing,
    placement: Placement,
    lines: Vec<Line<'static>>,
    /// The room that its extension knows of.
    told: Option<(u16, u16)>,
}

impl Components {
    /// Shows a component, or what it looks like now.
    pub(crate) fn render(
        &mut self,
        request: &RequestId,
        guest: Option<&str>,
        lines: &[Vec<drawn::Span>],
        placement: Placement,
    ) {
        let lines = lines.iter().map(|spans| line(spans)).collect();
        match self.shown.iter_mut().find(|component| component.request == *request) {
            Some(component) => component.lines = lines,
            None => self.shown.push(Component {
                request: request.clone(),
                guest: guest.unwrap_or("unknown").to_owned(),
                hearing: Hearing::Unseen,
                placement,
                lines,
                told: None,
            }),
        }
    }

    /// The one that has the keys is shown at `now`.
    pub(crate) fn show(&mut self, now: Duration) {
        if let Some(component) = self.front_mut() {
            component.hearing.show(now);
        }
    }

    /// Whether the one that has the keys hears them at `now`.
    pub(crate) fn is_keen(&self, now: Duration) -> bool {
        self.front().is_some_and(|component| component.hearing.at(now) == Hearing::Keen)
    }

    /// Whether it will hear them by itself, soon.
    pub(crate) fn is_waiting(&self) -> bool {
        self.front().is_some_and(|component| component.hearing.is_waiting())
    }

    /// Whether somebody writes something else while it stands there.
    pub(crate) fn is_aside(&self) -> bool {
        self.front().is_some_and(|component| component.hearing == Hearing::Aside)
    }

    /// Somebody writes something else.
    pub(crate) fn step_aside(&mut self) {
        if let Some(component) = self.front_mut() {
            component.hearing.step_aside();
        }
    }

    /// Somebody who wrote something else turns to it; whether they did.
    pub(crate) fn turn(&mut self) -> bool {
        self.front_mut().is_some_and(|component| component.hearing.turn())
    }

    pub(crate) fn remove(&mut self, request: &RequestId) {
        self.shown.retain(|component| component.request != *request);
    }

    pub(crate) fn clear(&mut self) {
        self.shown.clear();
    }

    /// Whether one of them has the keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.front().is_some()
    }

    /// Gives a key, or text, to the one that has them.
    pub(crate) fn press(&self, key: &str) -> Vec<Action> {
        let press = |component: &Component| Action::Press {
            request: component.request.clone(),
            press: Press { key: Some(key.to_owned()), columns: None, rows: None },
        };
        self.front().map(press).into_iter().collect()
    }

    /// Tells those who do not know it yet how much room there is.
    pub(crate) fn measure(&mut self, width: usize, height: usize) -> Vec<Action> {
        let cells = |count: usize| u16::try_from(count.max(1)).unwrap_or(u16::MAX);
        let room = (cells(width), cells(height));
        let ignorant = self.shown.iter_mut().filter(|component| component.told != Some(room));
        let tell = |component: &mut Component| {
            component.told = Some(room);
            let press = Press { key: None, columns: Some(room.0), rows: Some(room.1) };
            Action::Press { request: component.request.clone(), press }
        };
        ignorant.map(tell).collect()
    }

    /// The lines of the one that has the keys, below whose they are; the end of it where there is no room for all.
    pub(crate) fn keyed_lines(&self, look: &Look<'_>, height: usize) -> Option<Vec<Line<'static>>> {
        let component = self.front()?;
        let rule = || Line::styled("─".repeat(look.width), look.theme.border);
        let room = height.saturating_sub(3).max(1);
        let surplus = component.lines.len().saturating_sub(room);
        let rows = component.lines[surplus..].iter().map(|line| shorten_line(line.clone(), look.width));
        let hint = match component.hearing {
            Hearing::Keen => "ctrl+c, or escape twice, takes it away",
            Hearing::Unseen | Hearing::Shown(_) => "one moment; keys still go to your message · ctrl+c takes it away",
            Hearing::Aside => "tab turns to this · ctrl+c takes it away · you are writing your message",
        };
        let hint = Line::styled(hint, look.theme.quiet);
        Some(
            std::iter::once(head(&component.guest, look, look.theme.warning))
                .chain(rows)
                .chain([rule(), shorten_line(hint, look.width)])
                .collect(),
        )
    }

    /// The lines of those that stand in one of these places.
    pub(crate) fn lines(&self, places: &[Placement], look: &Look<'_>) -> Vec<Line<'static>> {
        let there = self.shown.iter().filter(|component| places.contains(&component.placement));
        let mut rows = Vec::new();
        for component in there.filter(|component| !component.lines.is_empty()) {
            rows.push(head(&component.guest, look, look.theme.quiet));
            rows.extend(component.lines.iter().map(|line| shorten_line(line.clone(), look.width)));
        }
        rows
    }

    /// The newest of those that take keys.
    fn front(&self) -> Option<&Component> {
        self.shown.iter().rev().find(|component| component.placement.takes_keys())
    }

    fn front_mut(&mut self) -> Option<&mut Component> {
        self.shown.iter_mut().rev().find(|component| component.placement.takes_keys())
    }
}

/// Says whose the rows below it are: they could look like any of the program's.
pub(crate) fn head(guest: &str, look: &Look<'_>, style: style::Style) -> Line<'static> {
    let who = Span::styled(format!("extension {} draws", printable(guest)), style);
    look.head([who, Span::raw(" ")])
}

/// The name of a key; nothing for one that has none, such as a modifier alone.
pub(crate) fn name(key: KeyEvent) -> Option<String> {
    let word = match key.code {
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Enter => "enter".to_owned(),
        KeyCode::Esc => "escape".to_owned(),
        KeyCode::Tab | KeyCode::BackTab => "tab".to_owned(),
        KeyCode::Backspace => "backspace".to_owned(),
        KeyCode::Delete => "delete".to_owned(),
        KeyCode::Insert => "insert".to_owned(),
        KeyCode::Home => "home".to_owned(),
        KeyCode::End => "end".to_owned(),
        KeyCode::PageUp => "pageUp".to_owned(),
        KeyCode::PageDown => "pageDown".to_owned(),
        KeyCode::Up => "up".to_owned(),
        KeyCode::Down => "down".to_owned(),
        KeyCode::Left => "left".to_owned(),
        KeyCode::Right => "right".to_owned(),
        KeyCode::F(number) => format!("f{number}"),
        _ => return None,
    };
    // A letter says by itself whether it is a capital.
    let is_letter = matches!(key.code, KeyCode::Char(letter) if letter != ' ');
    let is_shifted = (key.modifiers.contains(KeyModifiers::SHIFT) && !is_letter) || key.code == KeyCode::BackTab;
    let held = [
        (key.modifiers.contains(KeyModifiers::CONTROL), "ctrl+"),
        (key.modifiers.contains(KeyModifiers::ALT), "alt+"),
        (is_shifted, "shift+"),
    ];
    let held: String = held.into_iter().filter(|(is_held, _)| *is_held).map(|(_, word)| word).collect();
    Some(held + &word)
}

/// A line as an extension drew it.
pub(crate) fn line(spans: &[drawn::Span]) -> Line<'static> {
    Line::from(spans.iter().map(shown).collect::<Vec<_>>())
}

fn shown(span: &drawn::Span) -> Span<'static> {
    let content = printable(&span.text).into_owned();
    Span::styled(content, span.style.as_ref().map(look_of).unwrap_or_default())
}

fn look_of(style: &Style) -> style::Style {
    let mut shown = style::Style::new();
    shown.fg = style.foreground.as_ref().and_then(colour);
    shown.bg = style.background.as_ref().and_then(colour);
    for (is_on, modifier) in [
        (style.bold, Modifier::BOLD),
        (style.dim, Modifier::DIM),
        (style.italic, Modifier::ITALIC),
        (style.underline, Modifier::UNDERLINED),
        (style.strikethrough, Modifier::CROSSED_OUT),
        (style.inverse, Modifier::REVERSED),
    ] {
        if is_on {
            shown = shown.add_modifier(modifier);
        }
    }
    shown
}

fn colour(colour: &Colour) -> Option<Color> {
    if let Some(hex) = colour.0.strip_prefix('#') {
        let [_, red, green, blue] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
        return Some(Color::Rgb(red, green, blue));
    }
    let number = Colour::NAMES.iter().position(|name| *name == colour.0)?;
    u8::try_from(number).ok().map(Color::Indexed)
}
