//! A card of which an extension draws what its tool is called with, and what it found.
//!
//! How far the call is stays ours to say: a sign stands before what is drawn. Where the extension draws nothing, or fails, the
//! part is shown in the usual way.

use pi_session::{ResultState, Subject, ToolDrawing};
use pi_transcript::{ToolOutput, drawn::Span};
use ratatui_core::text::{self, Line};

use super::{Card, CardState};
use crate::{chat::sketch::Sketch, look::Look, text::shorten_line};

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

    /// The call as its extension draws it.
    pub(super) fn drawn_title(&self, look: &Look<'_>) -> Option<Vec<Line<'static>>> {
        let lines = self.drawn.as_ref()?.call.lines().filter(|lines| !lines.is_empty())?;
        let mut drawn = behind_margin(lines, look);
        if let Some(margin) = drawn.first_mut().and_then(|first| first.spans.first_mut()) {
            *margin = self.mark(look);
        }
        Some(drawn)
    }

    /// What was found as its extension draws it.
    pub(super) fn drawn_body(&self, look: &Look<'_>) -> Option<Vec<Line<'static>>> {
        Some(behind_margin(self.drawn.as_ref()?.result.lines()?, look))
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
