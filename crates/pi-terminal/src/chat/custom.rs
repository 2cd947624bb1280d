//! A message of an extension, drawn by it if it wants to.

use pi_session::Subject;
use pi_transcript::{Message, drawn::Span, message::CustomMessage};
use ratatui_core::text::Line;

use super::sketch::Sketch;
use crate::{
    look::Look,
    markdown,
    text::{printable, shorten_line},
};

/// A message and what it looks like.
#[derive(Debug, Clone)]
pub struct Custom {
    message: Box<CustomMessage>,
    sketch: Sketch,
}

impl Custom {
    pub(super) fn new(message: CustomMessage) -> Self {
        Self { message: Box::new(message), sketch: Sketch::default() }
    }

    /// What is to be drawn, the first time that somebody asks.
    pub(super) fn ask(&mut self) -> Option<Subject> {
        self.sketch.ask().then(|| Subject::Message(Box::new(Message::Custom((*self.message).clone()))))
    }

    /// Takes what the extension has drawn, if it did, unless it is decided already.
    pub(super) fn draw(&mut self, lines: Option<&[Vec<Span>]>) {
        self.sketch.take(lines);
    }

    pub(super) fn is_drawn(&self) -> bool {
        self.sketch.is_decided()
    }

    /// Until it is drawn, and where nobody draws it, its text stands below its type.
    pub(super) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        match self.sketch.lines() {
            Some(lines) => lines.iter().map(|line| shorten_line(line.clone(), look.width)).collect(),
            None => {
                let kind = printable(&self.message.custom_type);
                let mut lines = vec![Line::styled(format!("[{kind}]"), look.theme.accent)];
                lines.extend(markdown::render(&self.message.content.text(), look.width, look.theme));
                lines
            }
        }
    }
}
