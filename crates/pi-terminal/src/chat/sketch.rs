//! Something in the chat that an extension may draw: whether it was asked, and what it drew.

use pi_transcript::drawn::Span;
use ratatui_core::text::Line;

use crate::component;

/// One thing that is drawn. Until the lines come, and where none do, it is shown in the usual way.
#[derive(Debug, Clone, Default)]
pub(super) struct Sketch {
    state: State,
    lines: Option<Vec<Line<'static>>>,
}

/// How far the extension is with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Nobody was asked yet.
    #[default]
    Wanted,
    Asked,
    /// The same, and what it was asked for has changed meanwhile.
    Outdated,
    Decided,
}

impl Sketch {
    /// Whether somebody is to be asked now; says so once.
    pub(super) fn ask(&mut self) -> bool {
        let is_wanted = self.state == State::Wanted;
        if is_wanted {
            self.state = State::Asked;
        }
        is_wanted
    }

    /// What is drawn is not as it was: it is asked for again.
    pub(super) fn renew(&mut self) {
        self.state = match self.state {
            State::Wanted | State::Decided => State::Wanted,
            State::Asked | State::Outdated => State::Outdated,
        };
    }

    /// Takes what the extension has drawn, if it did and somebody waits for it.
    pub(super) fn take(&mut self, lines: Option<&[Vec<Span>]>) {
        self.state = match self.state {
            State::Outdated => State::Wanted,
            State::Wanted | State::Asked => State::Decided,
            State::Decided => return,
        };
        self.lines = lines.map(|lines| lines.iter().map(|spans| component::line(spans)).collect());
    }

    /// Nobody waits for it any more: it stays as it is.
    pub(super) fn settle(&mut self) {
        self.state = State::Decided;
    }

    pub(super) fn is_decided(&self) -> bool {
        self.state == State::Decided
    }

    pub(super) fn lines(&self) -> Option<&[Line<'static>]> {
        self.lines.as_deref()
    }
}
