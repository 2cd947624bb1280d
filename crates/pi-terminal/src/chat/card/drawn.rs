//! A card of which an extension draws what its tool is called with, and what it found.
//!
//! How far the call is, and of which tool, stays ours to say, in a rule above what is drawn: whoever draws could draw another call, or
//! the program's own questions. Where the extension draws nothing, or fails, the part is shown in the usual way.

use pi_session::{ResultState, Subject, ToolDrawing};
use pi_transcript::{ToolOutput, drawn::Span};
use ratatui_core::text::{self, Line};

use super::{Card, CardState};
use crate::{
    chat::sketch::Sketch,
    look::Look,
    text::{printable, shorten_line},
};

/// Columns before what is drawn.
pub(in crate::chat) const MARGIN: usize = 2;

/// What an extension draws of a card.
#[derive(Debug, Clone, Default)]
pub(super) struct Drawn {
    call: Sketch,
    result: Sketch,
    /// What the tool has found so far.
    found: Option<ToolOutput>,
    /// Whether somebody wants to see all of it.
    is_expanded: bool,
}

impl Drawn {
    /// The tool has found this by now.
    pub(super) fn find(&mut self, output: &ToolOutput) {
        self.found = Some(output.clone());
        self.result.renew();
    }
}

impl Card {
    /// One whose extension draws it.
    pub(in crate::chat) fn drawn(self) -> Self {
        Self { drawn: Some(Box::default()), ..self }
    }

    /// Whether nothing of it changes any more: it has ended and is drawn.
    pub(in crate::chat) fn is_shown_whole(&self) -> bool {
        let is_drawn = match (&self.drawn, &self.state) {
            (Some(drawn), CardState::Done { .. }) => drawn.call.is_decided() && drawn.result.is_decided(),
            (None, _) | (Some(_), _) => true,
        };
        self.is_finished() && is_drawn
    }

    /// The same card, shown in full.
    pub(in crate::chat) fn expanded(mut self) -> Self {
        if let Some(drawn) = &mut self.drawn {
            drawn.is_expanded = true;
            drawn.call.renew();
            drawn.result.renew();
        }
        self
    }

    pub(in crate::chat) fn is_expanded(&self) -> bool {
        self.drawn.as_ref().is_some_and(|drawn| drawn.is_expanded)
    }

    /// Nobody draws anything any more.
    pub(in crate::chat) fn leave_undrawn(&mut self) {
        if let Some(drawn) = &mut self.drawn {
            drawn.call.settle();
            drawn.result.settle();
        }
    }

    /// The call, if its extension is to draw it now: its arguments are there.
    pub(in crate::chat) fn ask_call(&mut self) -> Option<Subject> {
        let is_whole = !matches!(self.state, CardState::Arriving { .. });
        let is_wanted = is_whole && self.drawn.as_mut()?.call.ask();
        is_wanted.then(|| self.drawing().map(Subject::ToolCall)).flatten()
    }

    /// What was found, if its extension is to draw it now.
    pub(in crate::chat) fn ask_result(&mut self) -> Option<Subject> {
        let state = match self.state {
            CardState::Arriving { .. } | CardState::Waiting | CardState::NotRun => return None,
            CardState::Running { .. } => ResultState::Partial,
            CardState::Done { is_error: false, .. } => ResultState::Succeeded,
            CardState::Done { is_error: true, .. } => ResultState::Failed,
        };
        let drawn = self.drawn.as_mut()?;
        let output = drawn.found.clone().filter(|_| drawn.result.ask())?;
        Some(Subject::ToolResult { call: self.drawing()?, output, state })
    }

    pub(in crate::chat) fn draw_call(&mut self, lines: Option<&[Vec<Span>]>) {
        self.drawn.iter_mut().for_each(|drawn| drawn.call.take(lines));
    }

    pub(in crate::chat) fn draw_result(&mut self, lines: Option<&[Vec<Span>]>) {
        self.drawn.iter_mut().for_each(|drawn| drawn.result.take(lines));
    }

    fn drawing(&self) -> Option<ToolDrawing> {
        Some(ToolDrawing { call_id: self.id.clone()?, name: self.name.clone(), input: self.arguments.clone() })
    }

    /// The call as its extension draws it, below a rule that says so, how far the call is, and what is called in truth.
    pub(super) fn drawn_title(&self, look: &Look<'_>) -> Option<Vec<Line<'static>>> {
        let lines = self.drawn_call()?;
        let name = text::Span::styled(printable(&self.name).into_owned(), look.theme.tool);
        let whose = text::Span::styled(", drawn by its extension ", look.theme.quiet);
        let head = look.head([self.mark(look), name, whose]);
        Some(std::iter::once(head).chain(behind_margin(lines, look)).collect())
    }

    /// What was found as its extension draws it. Below a title of ours the same rule stands before it.
    pub(super) fn drawn_body(&self, look: &Look<'_>) -> Option<Vec<Line<'static>>> {
        let lines = self.drawn.as_ref()?.result.lines()?;
        let is_below_ours = self.drawn_call().is_none() && !lines.is_empty();
        let whose = || look.head([text::Span::styled("drawn by its extension ", look.theme.quiet)]);
        Some(is_below_ours.then(whose).into_iter().chain(behind_margin(lines, look)).collect())
    }

    fn drawn_call(&self) -> Option<&[Line<'static>]> {
        self.drawn.as_ref()?.call.lines().filter(|lines| !lines.is_empty())
    }
}

fn behind_margin(lines: &[Line<'static>], look: &Look<'_>) -> Vec<Line<'static>> {
    let behind = |line: &Line<'static>| {
        let mut line = line.clone();
        line.spans.insert(0, text::Span::raw(" ".repeat(MARGIN)));
        shorten_line(line, look.width)
    };
    lines.iter().map(behind).collect()
}
