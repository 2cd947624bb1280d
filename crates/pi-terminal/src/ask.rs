//! One question to the person at the terminal, where there is no session yet.

use std::io;

use crossterm::event::KeyEvent;
use pi_transcript::{
    RequestId,
    question::{Answer, Asked},
};
use ratatui_core::text::Line;

use crate::{
    device::Device,
    dialog::Dialog,
    look::Look,
    panel::{self, Panel},
    theme::{Colours, Theme},
};

/// Asks, and takes the question away again when it is answered. `None` if a signal ended it, or the terminal is gone.
pub async fn ask(asked: &Asked, device: &mut Device, theme: &Theme, colours: Colours) -> io::Result<Option<Answer>> {
    panel::show(&mut Dialog::new(RequestId::from("first"), asked), device, theme, colours).await
}

impl Panel for Dialog {
    type Answer = Answer;

    fn lines(&self, look: &Look<'_>, room: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        self.lines(look, room)
    }

    fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        self.key(key)
    }

    fn paste(&mut self, text: &str) {
        self.paste(text);
    }
}
