//! A list to choose from, with a filter.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::text::{Line, Span};

use crate::{
    look::Look,
    text::{printable, shorten, shorten_line, width},
};

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice<T> {
    pub(crate) label: String,
    /// Stands behind the label, quietly.
    pub(crate) detail: String,
    /// Shown below the list while it is selected.
    pub(crate) preview: String,
    pub(crate) value: T,
}

/// A list, of which one thing is selected.
#[derive(Debug, Clone)]
pub(crate) struct Picker<T> {
    title: String,
    choices: Vec<Choice<T>>,
    filter: String,
    /// The choices that fit the filter.
    fitting: Vec<usize>,
    selected: usize,
    /// What stands above the columns, if there are columns.
    head: Option<String>,
    /// A key that this list has beside the usual ones.
    key: Option<&'static str>,
    /// What enter does.
    enter: &'static str,
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picked<T> {
    /// The list stays open.
    Nothing,
    /// Nothing is wanted of it.
    Left,
    Taken(T),
}

/// How many choices are seen at once.
const MOST_SEEN: usize = 10;
const PREVIEW: usize = 3;

impl<T> Picker<T> {
    /// Begins with the choice at `selected`.
    pub(crate) fn new(title: impl Into<String>, choices: Vec<Choice<T>>, selected: usize) -> Self {
        let fitting: Vec<usize> = (0..choices.len()).collect();
        let selected = selected.min(choices.len().saturating_sub(1));
        let (title, filter) = (title.into(), String::new());
        Self { title, choices, filter, fitting, selected, head: None, key: None, enter: "take" }
    }

    pub(crate) fn add_key(&mut self, key: &'static str) {
        self.key = Some(key);
    }

    pub(crate) fn set_head(&mut self, head: String) {
        self.head = Some(head);
    }

    pub(crate) fn set_enter(&mut self, enter: &'static str) {
        self.enter = enter;
    }

    pub(crate) fn selected(&self) -> Option<&Choice<T>> {
        self.choices.get(*self.fitting.get(self.selected)?)
    }

    /// Takes a key. Where nothing fits, there is nothing to be taken.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Picked<T>
    where
        T: Clone,
    {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Picked::Left,
            KeyCode::Char('c') if is_control => return Picked::Left,
            KeyCode::Enter => {
                return self.selected().map_or(Picked::Nothing, |choice| Picked::Taken(choice.value.clone()));
            }
            KeyCode::Up => self.step(-1),
            KeyCode::Down => self.step(1),
            KeyCode::PageUp => self.page(-1),
            KeyCode::PageDown => self.page(1),
            KeyCode::Backspace => self.delete_letter(),
            KeyCode::Char(letter) if !is_control => self.type_letter(letter),
            _ => {}
        }
        Picked::Nothing
    }

    pub(crate) fn type_letter(&mut self, letter: char) {
        self.filter.push(letter);
        self.refit();
    }

    pub(crate) fn delete_letter(&mut self) {
        self.filter.pop();
        self.refit();
    }

    pub(crate) fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.refit();
    }

    /// Goes up or down, around the ends.
    pub(crate) fn step(&mut self, by: isize) {
        let count = self.fitting.len();
        if count > 0 {
            self.selected = self.selected.wrapping_add_signed(by).wrapping_add(count) % count;
        }
    }

    /// Goes up or down and stops at the ends.
    pub(crate) fn page(&mut self, by: isize) {
        let last = self.fitting.len().saturating_sub(1);
        let pages = by * MOST_SEEN.cast_signed();
        self.selected = self.selected.saturating_add_signed(pages).min(last);
    }

    /// The choices that fit, one by one as their words are typed.
    fn refit(&mut self) {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |choice: &Choice<T>| {
            let text = format!("{} {} {}", choice.label, choice.detail, choice.preview).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.fitting = (0..self.choices.len()).filter(|index| fits(&self.choices[*index])).collect();
        self.selected = 0;
    }

    /// The list in at most `height` rows, and where the cursor is in them.
    pub(crate) fn lines(&self, look: &Look<'_>, height: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let theme = look.theme;
        let head = format!("{}  ", self.title);
        let mut lines = vec![
            Line::styled("─".repeat(look.width), theme.border),
            Line::from(vec![Span::styled(head.clone(), theme.strong), Span::raw(printable(&self.filter).into_owned())]),
        ];
        let cursor = (1, width(&head) + width(&self.filter));
        lines.extend(self.head.iter().map(|head| Line::styled(format!("  {head}"), theme.quiet)));
        let seen = MOST_SEEN.min(height.saturating_sub(lines.len() + 2 + PREVIEW)).max(1);
        let first = (self.selected + 1).saturating_sub(seen);
        for (place, index) in self.fitting.iter().enumerate().skip(first).take(seen) {
            lines.push(self.row(&self.choices[*index], place == self.selected, look));
        }
        if self.fitting.is_empty() {
            lines.push(Line::styled("  nothing fits", theme.quiet));
        }
        let preview = self.selected().map(|choice| choice.preview.as_str()).unwrap_or_default();
        for row in preview.lines().take(PREVIEW) {
            lines.push(Line::styled(format!("  ┊ {}", printable(row)), theme.quiet));
        }
        let place = if self.fitting.is_empty() { 0 } else { self.selected + 1 };
        let key = self.key.map(|key| format!(" · {key}")).unwrap_or_default();
        let hint = format!(
            "  {place}/{}{key} · ↑↓ choose · enter {} · esc leave · type to filter",
            self.fitting.len(),
            self.enter
        );
        lines.push(Line::styled(hint, theme.quiet));
        (lines.into_iter().map(|line| shorten_line(line, look.width)).collect(), cursor)
    }

    fn row(&self, choice: &Choice<T>, is_selected: bool, look: &Look<'_>) -> Line<'static> {
        let (mark, style) =
            if is_selected { ("→ ", look.theme.accent) } else { ("  ", ratatui_core::style::Style::new()) };
        let label = printable(&choice.label);
        let label = shorten(&label, look.width.saturating_sub(2)).into_owned();
        Line::from(vec![
            Span::styled(mark, style),
            Span::styled(label, style),
            Span::styled(format!("  {}", printable(&choice.detail)), look.theme.quiet),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker<u8> {
        let choice = |value: u8, label: &str| Choice {
            label: label.to_owned(),
            detail: "detail".to_owned(),
            preview: String::new(),
            value,
        };
        Picker::new("choose", vec![choice(1, "alpha one"), choice(2, "beta"), choice(3, "Alpha two")], 0)
    }

    #[test]
    fn filter_takes_all_words_in_any_order() {
        for (filter, expected) in
            [("", Some(1)), ("alpha", Some(1)), ("two al", Some(3)), ("zeta", None), ("det", Some(1))]
        {
            let mut picker = picker();
            filter.chars().for_each(|letter| picker.type_letter(letter));
            assert_eq!(picker.selected().map(|choice| choice.value), expected, "{filter}");
        }
    }

    #[test]
    fn steps_go_around_and_pages_do_not() {
        let mut picker = picker();
        picker.step(-1);
        assert_eq!(picker.selected().map(|choice| choice.value), Some(3));
        picker.step(1);
        assert_eq!(picker.selected().map(|choice| choice.value), Some(1));
        picker.page(1);
        assert_eq!(picker.selected().map(|choice| choice.value), Some(3));
        picker.page(-1);
        assert_eq!(picker.selected().map(|choice| choice.value), Some(1));
    }
}
