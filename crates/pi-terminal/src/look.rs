//! How things are looked at: in how much room, in which colours, how closely.

use std::time::Duration;

use ratatui_core::text::{Line, Span};

use crate::{
    text::{line_width, shorten_line},
    theme::Theme,
};

/// What drawing depends on.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Cells of a row.
    pub width: usize,
    pub theme: &'a Theme,
    pub detail: Detail,
    pub thoughts: Thoughts,
    /// Since the terminal was opened.
    pub now: Duration,
}

impl Look<'_> {
    /// A rule that says whose the rows below it are. Nobody writes it but the program.
    pub(crate) fn head(&self, words: impl IntoIterator<Item = Span<'static>>) -> Line<'static> {
        let head = Line::from_iter([Span::styled("── ", self.theme.border)].into_iter().chain(words));
        let mut head = shorten_line(head, self.width);
        let rest = self.width.saturating_sub(line_width(&head));
        head.push_span(Span::styled("─".repeat(rest), self.theme.border));
        head
    }
}

/// How much of a tool's output is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Short,
    Full,
}

/// Whether thinking is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Thoughts {
    #[default]
    Shown,
    /// Only that there was some.
    Hidden,
}

impl Detail {
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Short => Self::Full,
            Self::Full => Self::Short,
        }
    }
}

impl Thoughts {
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Shown => Self::Hidden,
            Self::Hidden => Self::Shown,
        }
    }
}

/// A span of time as people say it.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600.. => format!("{}h {}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// How long ago something was, as people say it.
pub fn ago(milliseconds: u64) -> String {
    let days = milliseconds / 86_400_000;
    let several = |count: u64, unit: &str| format!("{count} {unit} ago");
    match milliseconds / 1000 {
        0..60 => "just now".to_owned(),
        seconds @ 60..3600 => several(seconds / 60, "min"),
        seconds @ 3600..86_400 => several(seconds / 3600, "h"),
        86_400..172_800 => "yesterday".to_owned(),
        _ if days < 60 => several(days, "days"),
        _ if days < 730 => several(days / 30, "months"),
        _ => several(days / 365, "years"),
    }
}

/// A number of tokens as people say it: `950`, `12.3k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    let tenths = |unit: u64, letter: char| format!("{}.{}{letter}", count / unit, count % unit * 10 / unit);
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => tenths(1_000, 'k'),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000.. => tenths(1_000_000, 'M'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let times = [(0, "0.0s"), (1_250, "1.2s"), (12_900, "12s"), (61_000, "1m 1s"), (3_720_000, "1h 2m")];
        for (milliseconds, expected) in times {
            assert_eq!(duration(Duration::from_millis(milliseconds)), expected);
        }
        let ages = [
            (0, "just now"),
            (60_000, "1 min ago"),
            (7_200_000, "2 h ago"),
            (90_000_000, "yesterday"),
            (864_000_000, "10 days ago"),
            (8_640_000_000, "3 months ago"),
            (86_400_000_000, "2 years ago"),
        ];
        for (milliseconds, expected) in ages {
            assert_eq!(ago(milliseconds), expected);
        }
        for (count, expected) in [(0, "0"), (999, "999"), (1_234, "1.2k"), (123_456, "123k"), (1_250_000, "1.2M")] {
            assert_eq!(tokens(count), expected);
        }
    }
}
