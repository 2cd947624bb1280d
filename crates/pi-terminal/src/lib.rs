//! The terminal client: a chat in the terminal's own scrollback.
//!
//! [`App`] is everything that is on the screen, as data: events of a session and keys of a person go in, [`Frame`]s and
//! wishes come out; nothing in it reads a clock, a file or a terminal. [`Painter`] turns frames into bytes. Around them
//! stands a thin loop, [`run`](run()), that waits for both sides.
//!
//! It is a view of a session in the same process and keeps no state of the conversation itself. It does not speak the
//! client protocol and knows neither the server nor how extensions run.
//!
//! Start with [`App`], then [`Frame`].

pub mod chat;
mod code;
mod diff;
pub mod look;
pub mod markdown;
pub mod paint;
pub mod text;
pub mod theme;

pub use self::{
    paint::{Frame, Painter},
    theme::{Colours, Theme},
};
