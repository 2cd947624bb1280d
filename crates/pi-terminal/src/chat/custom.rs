//! A message or an entry of an extension, drawn by it if it wants to.

use pi_session::Subject;
use pi_transcript::{Message, drawn, entry::CustomEntry, message::CustomMessage};
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::sketch::Sketch;
use crate::{
    component,
    look::Look,
    markdown,
    text::{printable, shorten_line},
};

/// What it is, and what it looks like.
#[derive(Debug, Clone)]
pub struct Custom {
    what: What,
    sketch: Sketch,
}

#[derive(Debug, Clone)]
enum What {
    Message(Box<CustomMessage>),
    /// No model sees it, and people do if somebody draws it.
    Entry(Box<CustomEntry>),
}

impl Custom {
    pub(super) fn new(message: CustomMessage) -> Self {
        Self { what: What::Message(Box::new(message)), sketch: Sketch::default() }
    }

    pub(super) fn entry(entry: CustomEntry) -> Self {
        Self { what: What::Entry(Box::new(entry)), sketch: Sketch::default() }
    }

    /// What is to be drawn, the first time that somebody asks.
    pub(super) fn ask(&mut self) -> Option<Subject> {
        self.sketch.ask().then(|| match &self.what {
            What::Message(message) => Subject::Message(Box::new(Message::Custom((**message).clone()))),
            What::Entry(entry) => Subject::Entry(entry.clone()),
        })
    }

    /// Takes what the extension has drawn, if it did, unless it is decided already.
    pub(super) fn draw(&mut self, lines: Option<&[Vec<drawn::Span>]>) {
        self.sketch.take(lines);
    }

    pub(super) fn is_drawn(&self) -> bool {
        self.sketch.is_decided()
    }

    /// Until it is drawn, and where nobody draws it, the text of a message stands below its type; an entry has none.
    pub(super) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        match (self.sketch.lines(), &self.what) {
            (Some([]), _) => Vec::new(),
            (Some(lines), _) => {
                let rows = lines.iter().map(|line| shorten_line(line.clone(), look.width));
                std::iter::once(self.head(look)).chain(rows).collect()
            }
            (None, What::Message(message)) => {
                let kind = printable(&message.custom_type);
                let mut lines = vec![Line::styled(format!("[{kind}]"), look.theme.accent)];
                lines.extend(markdown::render(&message.content.text(), look.width, look.theme));
                lines
            }
            (None, What::Entry(_)) => Vec::new(),
        }
    }

    /// Whose the rows below it are: they stand where the program speaks, too. Of an entry it is not known.
    fn head(&self, look: &Look<'_>) -> Line<'static> {
        let author = match &self.what {
            What::Message(message) => message.extra.get("extension").and_then(Value::as_str),
            What::Entry(_) => None,
        };
        match author {
            Some(author) => component::head(author, look, look.theme.quiet),
            None => look.head([Span::styled("an extension draws ", look.theme.quiet)]),
        }
    }
}
