//! What a scripted guest does with a component of its own.

use pi_exthost::{
    GuestFault,
    port::{Canvas, Drawing, Frame},
};
use pi_transcript::question::WidgetPlacement;
use tokio::task::yield_now;

use super::run::Run;

/// One step of drawing. A component is there from `open` to `close`, or to the end of the section.
#[derive(Debug, Clone, PartialEq)]
pub enum Stroke {
    /// `open editor | overlay | above | below | header | footer`: how much room it got is remembered.
    Open(Drawing),
    /// `paint TEXT`: one frame; lines are separated by `|`.
    Paint(Vec<String>),
    /// `flood NUMBER`: so many frames, as fast as it can; the last is a line `frame NUMBER`.
    Flood(usize),
    /// `keys NUMBER`: waits for so many keys, remembers each, and shows it.
    Keys(usize),
    /// `resized`: waits until the room is another, and remembers it.
    Resized,
    /// `close`.
    Close,
}

impl Stroke {
    /// The stroke that a line says, if it says one.
    pub(super) fn read(word: &str, rest: &str) -> Option<Result<Self, String>> {
        let number = || rest.parse().map_err(|_| format!("{rest:?} is no number"));
        Some(match word {
            "open" => place(rest).map(Self::Open).ok_or_else(|| format!("there is no place {rest:?}")),
            "paint" => Ok(Self::Paint(rest.split('|').map(str::to_owned).collect())),
            "flood" => number().map(Self::Flood),
            "keys" => number().map(Self::Keys),
            "resized" => Ok(Self::Resized),
            "close" => Ok(Self::Close),
            _ => return None,
        })
    }
}

fn place(word: &str) -> Option<Drawing> {
    let widget = |placement| Drawing::Widget { key: "scripted".to_owned(), placement };
    Some(match word {
        "editor" => Drawing::Editor,
        "overlay" => Drawing::Overlay,
        "above" => widget(WidgetPlacement::AboveEditor),
        "below" => widget(WidgetPlacement::BelowEditor),
        "header" => Drawing::Header,
        "footer" => Drawing::Footer,
        _ => return None,
    })
}

impl Run<'_> {
    pub(super) async fn stroke(self, stroke: &Stroke, held: &mut Option<Canvas>) -> Result<(), GuestFault> {
        // The time that the session and the person take is not the guest's own.
        let _pause = self.ask.stopwatch.pause();
        match (stroke, held) {
            (Stroke::Open(drawing), held) => {
                *held = self.guest.conversation.draw(drawing.clone()).await.map_err(|refusal| {
                    self.guest.hear(format!("refused: {refusal}"));
                    GuestFault::threw(refusal.to_string())
                })?;
                let room = held.as_ref().map_or_else(|| "nobody looks".to_owned(), room);
                self.guest.hear(format!("canvas {room}"));
            }
            (Stroke::Close, held) => *held = None,
            (Stroke::Paint(lines), Some(canvas)) => paint(canvas, lines.clone()),
            (Stroke::Flood(count), Some(canvas)) => {
                for number in 1..=*count {
                    paint(canvas, vec![format!("frame {number}")]);
                    yield_now().await;
                }
            }
            (Stroke::Keys(count), Some(canvas)) => {
                for _ in 0..*count {
                    let Some(key) = canvas.keys.recv().await else {
                        self.guest.hear("taken away".to_owned());
                        return Err(GuestFault::Cancelled);
                    };
                    let line = format!("key {key:?} {}", room(canvas));
                    self.guest.hear(line.clone());
                    paint(canvas, vec![line]);
                }
            }
            (Stroke::Resized, Some(canvas)) => {
                // Whoever took it away told so by its keys.
                drop(canvas.size.changed().await);
                self.guest.hear(format!("canvas {}", room(canvas)));
            }
            (Stroke::Paint(_) | Stroke::Flood(_) | Stroke::Keys(_) | Stroke::Resized, None) => {}
        }
        Ok(())
    }
}

fn paint(canvas: &Canvas, lines: Vec<String>) {
    // A canvas that was taken away shows nothing.
    drop(canvas.frames.send(Frame { lines }));
}

fn room(canvas: &Canvas) -> String {
    let size = *canvas.size.borrow();
    format!("{}x{}", size.columns, size.rows)
}
