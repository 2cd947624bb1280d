//! A message of an extension, drawn by it if it wants to.

use pi_transcript::{drawn::Span, message::CustomMessage};
use ratatui_core::text::Line;

use crate::{
    component,
    look::Look,
    markdown,
    text::{printable, shorten_line},
};

/// A message and what it looks like.
#[derive(Debug, Clone)]
pub struct Custom {
    message: Box<CustomMessage>,
    drawing: Drawing,
}

/// How far the extension is with it.
#[derive(Debug, Clone)]
enum Drawing {
    /// Nobody was asked yet.
    Wanted,
    Asked,
    /// No extension draws it.
    Usual,
    Lines(Vec<Line<'static>>),
}

impl Custom {
    pub(super) fn new(message: CustomMessage) -> Self {
        Self { message: Box::new(message), drawing: Drawing::Wanted }
    }

    /// What is to be drawn, the first time that somebody asks.
    pub(super) fn ask(&mut self) -> Option<CustomMessage> {
        match self.drawing {
            Drawing::Wanted => {
                self.drawing = Drawing::Asked;
                Some((*self.message).clone())
            }
            Drawing::Asked | Drawing::Usual | Drawing::Lines(_) => None,
        }
    }

    /// Takes what the extension has drawn, if it did, unless it is decided already.
    pub(super) fn draw(&mut self, lines: Option<&[Vec<Span>]>) {
        if self.is_drawn() {
            return;
        }
        self.drawing = match lines {
            Some(lines) => Drawing::Lines(lines.iter().map(|spans| component::line(spans)).collect()),
            None => Drawing::Usual,
        };
    }

    pub(super) fn is_drawn(&self) -> bool {
        match self.drawing {
            Drawing::Wanted | Drawing::Asked => false,
            Drawing::Usual | Drawing::Lines(_) => true,
        }
    }

    /// Until it is drawn, and where nobody draws it, its text stands below its type.
    pub(super) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        match &self.drawing {
            Drawing::Lines(lines) => lines.iter().map(|line| shorten_line(line.clone(), look.width)).collect(),
            Drawing::Wanted | Drawing::Asked | Drawing::Usual => {
                let kind = printable(&self.message.custom_type);
                let mut lines = vec![Line::styled(format!("[{kind}]"), look.theme.accent)];
                lines.extend(markdown::render(&self.message.content.text(), look.width, look.theme));
                lines
            }
        }
    }
}
