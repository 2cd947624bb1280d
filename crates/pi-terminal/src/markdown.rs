//! Markdown as lines of a terminal.
//!
//! A message is shown in *sections*, each of which is drawn on its own: see [`sections`]. Since a section that is complete
//! never changes again, a message that is still arriving can be printed section by section, and looks in the end
//! exactly as if it had come at once.

mod flow;
mod section;
mod table;

use pulldown_cmark::{Options, Parser};
use ratatui_core::text::Line;

pub use self::section::{Sections, sections};
use crate::theme::Theme;

/// The lines of one section in a column of `room` cells.
pub fn render(source: &str, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut flow = flow::Flow::new(room.max(4), theme);
    for event in Parser::new_ext(source, options) {
        flow.event(event);
    }
    flow.finish()
}
