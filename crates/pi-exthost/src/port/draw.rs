//! Components that extensions draw: frames go out, keys come in.

use tokio::sync::{mpsc, watch};

use pi_transcript::question::WidgetPlacement;

/// Keys that may wait for a component; those beyond are lost, as on a keyboard that nobody reads.
const KEYS: usize = 256;

/// Where a component is to stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drawing {
    /// In the place of the editor, with the keys.
    Editor,
    /// Above everything else, with the keys.
    Overlay,
    /// Beside the editor, without keys.
    Widget {
        key: String,
        placement: WidgetPlacement,
    },
    Header,
    Footer,
}

/// Room to draw in, as the extension holds it. Dropping it gives the room back; no more keys means that it was taken
/// away.
#[derive(Debug)]
pub struct Canvas {
    pub size: watch::Receiver<Size>,
    /// As a terminal sends them.
    pub keys: mpsc::Receiver<String>,
    /// The newest frame is shown; those between may never be.
    pub frames: watch::Sender<Frame>,
}

/// The other side of a canvas, as the client holds it.
#[derive(Debug)]
pub struct Easel {
    pub size: watch::Sender<Size>,
    pub keys: mpsc::Sender<String>,
    pub frames: watch::Receiver<Frame>,
}

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Lines of text with colours and styles of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub lines: Vec<String>,
}

/// Both sides of a new canvas, empty.
pub fn canvas(size: Size) -> (Canvas, Easel) {
    let (size_sender, size) = watch::channel(size);
    let (key_sender, keys) = mpsc::channel(KEYS);
    let (frames, frame_receiver) = watch::channel(Frame::default());
    (Canvas { size, keys, frames }, Easel { size: size_sender, keys: key_sender, frames: frame_receiver })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { columns: 80, rows: 24 };

    fn frame(line: &str) -> Frame {
        Frame { lines: vec![line.to_owned()] }
    }

    #[tokio::test]
    async fn newest_frame_is_seen_and_every_key_is_heard() {
        let (mut canvas, mut easel) = canvas(SIZE);
        canvas.frames.send(frame("one")).expect("somebody looks");
        canvas.frames.send(frame("two")).expect("somebody looks");
        easel.frames.changed().await.expect("somebody draws");
        assert_eq!(*easel.frames.borrow_and_update(), frame("two"));
        easel.keys.try_send("a".to_owned()).expect("there is room");
        easel.keys.try_send("b".to_owned()).expect("there is room");
        assert_eq!((canvas.keys.recv().await.as_deref(), canvas.keys.recv().await.as_deref()), (Some("a"), Some("b")));
        let narrow = Size { columns: 40, ..SIZE };
        easel.size.send(narrow).expect("somebody draws");
        assert_eq!(*canvas.size.borrow(), narrow);
    }

    #[tokio::test]
    async fn either_side_notices_that_the_other_is_gone() {
        let (held, mut easel) = canvas(SIZE);
        drop(held);
        assert!(easel.frames.changed().await.is_err());
        let (mut held, easel) = canvas(SIZE);
        drop(easel);
        assert_eq!(held.keys.recv().await, None);
        assert!(held.frames.send(frame("late")).is_err());
    }
}
