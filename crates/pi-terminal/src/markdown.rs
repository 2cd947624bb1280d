//! Markdown as lines of a terminal.
//!
//! A message is shown in *sections*, each of which is drawn on its own: see [`sections`]. Since a section that is complete
//! never changes again, a message that is still arriving can be printed section by section, and looks in the end
//! exactly as if it had come at once.

mod flow;
mod section;
mod table;

use std::borrow::Cow;

use pulldown_cmark::{Options, Parser};
use ratatui_core::text::Line;

pub use self::section::{Sections, sections};
use crate::{text::printable, theme::Theme};

/// The lines of one section in a column of `room` cells.
pub fn render(source: &str, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut flow = flow::Flow::new(room.max(4), theme);
    let source = without_sequences(source);
    for event in Parser::new_ext(&source, options) {
        flow.event(event);
    }
    flow.finish()
}

/// Escape sequences go before the text is parsed: a parser would take them apart.
fn without_sequences(source: &str) -> Cow<'_, str> {
    if !source.contains(['\u{1b}', '\u{9b}']) {
        return Cow::Borrowed(source);
    }
    let lines: Vec<_> = source.split('\n').map(printable).collect();
    Cow::Owned(lines.join("\n"))
}
