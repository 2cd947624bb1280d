//! Something that takes the whole screen until it is answered, where there is no session yet.

use std::{io, time::Duration};

use crossterm::event::KeyEvent;
use ratatui_core::text::Line;

use crate::{
    device::{Device, Input},
    look::{Detail, Look, Thoughts},
    paint::{Frame, Painter},
    theme::{Colours, Theme},
};

/// What is shown and answered: a list of sessions, and a question.
pub(crate) trait Panel {
    type Answer;

    /// At most so many rows, and where the cursor stands.
    fn lines(&self, look: &Look<'_>, room: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>);

    /// The answer, if the key gives it.
    fn key(&mut self, key: KeyEvent) -> Option<Self::Answer>;

    fn paste(&mut self, text: &str);
}

/// Shows it, and takes it away again when it is answered. `None` if a signal ended it, or the terminal is gone. Dropping the
/// future leaves it on the screen.
pub(crate) async fn show<P: Panel>(
    panel: &mut P,
    device: &mut Device,
    theme: &Theme,
    colours: Colours,
) -> io::Result<Option<P::Answer>> {
    let (width, height) = device.size();
    let mut painter = Painter::new(colours, width, height);
    loop {
        let (width, height) = device.size();
        if (width, height) != painter.size() {
            device.write(&painter.resize(width, height))?;
        }
        let look = Look { width, theme, detail: Detail::Short, thoughts: Thoughts::Shown, now: Duration::ZERO };
        let (live, cursor) = panel.lines(&look, height);
        device.write(&painter.paint(Frame { finished: Vec::new(), live, cursor }))?;
        let answer = match device.next().await {
            Input::Key(key) => panel.key(key).map(Some),
            Input::Paste(text) => {
                panel.paste(&text);
                None
            }
            Input::Resize => None,
            Input::Terminated => Some(None),
        };
        if let Some(answer) = answer {
            device.write(&painter.clear())?;
            return Ok(answer);
        }
    }
}
