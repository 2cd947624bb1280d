//! The terminal client: a chat in the terminal's own scrollback.
//!
//! [`App`] is everything that is on the screen, as data: reports of a session and keys of a person go in, [`Frame`]s and
//! [`Action`]s come out; nothing in it reads a clock, a file or a terminal. [`Painter`] turns frames into bytes. Around
//! them stands a thin loop, [`drive`], that waits for both sides, and [`run`](run()) puts it on a session.
//!
//! It is a view of a session in the same process and keeps no state of the conversation itself. It does not speak the
//! client protocol and knows neither the server nor how extensions run.
//!
//! Start with [`App`], then [`Frame`] and [`Action`].

mod app;
mod ask;
mod bar;
pub mod chat;
mod choose;
mod code;
mod commands;
mod completion;
mod component;
mod device;
mod dialog;
mod diff;
mod draft;
mod editor;
mod files;
mod footer;
mod hearing;
mod keys;
pub mod look;
pub mod markdown;
mod open;
pub mod paint;
mod panel;
mod picker;
mod run;
mod serve;
pub mod text;
pub mod theme;
mod tree;
mod wish;

pub use self::{
    app::{App, Beginning},
    ask::ask,
    bar::{colour, envelope_bar, letter},
    choose::{Chosen, choose},
    device::{Device, DeviceError, Input},
    draft::{Authors, Draft},
    files::branch,
    open::{Options, Outcome, TerminalError, run},
    paint::{Frame, Painter, to_ansi},
    run::{Link, drive},
    serve::{Advice, Manners, Remember},
    theme::{Colours, Theme},
    wish::{Action, Catalogue, Fetch, Manner, Marked, Missing, Part, Place, Point, Report, Wish},
};
