//! One question to the person at the terminal, where there is no session yet.

use std::{io, time::Duration};

use pi_transcript::{
    RequestId,
    question::{Answer, Asked},
};

use crate::{
    device::{Device, Input},
    dialog::Dialog,
    look::{Detail, Look, Thoughts},
    paint::{Frame, Painter},
    theme::{Colours, Theme},
};

/// Asks, and takes the question away again when it is answered. `None` if a signal ended it, or the terminal is gone.
pub async fn ask(asked: &Asked, device: &mut Device, theme: &Theme, colours: Colours) -> io::Result<Option<Answer>> {
    let mut dialog = Dialog::new(RequestId::from("first"), asked);
    let (width, height) = device.size();
    let mut painter = Painter::new(colours, width, height);
    loop {
        let (width, height) = device.size();
        if (width, height) != painter.size() {
            device.write(&painter.resize(width, height))?;
        }
        let look = Look { width, theme, detail: Detail::Short, thoughts: Thoughts::Shown, now: Duration::ZERO };
        let (live, cursor) = dialog.lines(&look, height);
        device.write(&painter.paint(Frame { finished: Vec::new(), live, cursor }))?;
        let answer = match device.next().await {
            Input::Key(key) => dialog.key(key).map(Some),
            Input::Paste(text) => {
                dialog.paste(&text);
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
