//! A call of a tool as people see it: what it does, how far it is, and what came of it.

mod argument;
mod drawn;

use std::time::Duration;

use pi_session::Exposure;
use pi_transcript::{Block, ToolCall, ToolCallId, ToolOutput};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};
use serde_json::{Map, Value};

use self::drawn::Drawn;
pub(super) use self::drawn::MARGIN;
use crate::{
    code, diff,
    look::{Detail, Look, duration},
    text::{line_width, printable, printable_lines, shorten, shorten_line, width, wrap},
};

/// How many lines of output are shown in short.
const FEW: usize = 6;
/// How many lines of a change are shown in short.
const CHANGES: usize = 24;
/// Of a live output no more than this is looked at for its last lines.
const TAIL: usize = 16 << 10;

/// Where a call is in its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardState {
    /// The model is still writing the arguments: so many bytes by now.
    Arriving {
        bytes: usize,
    },
    Waiting,
    Running {
        since: Duration,
    },
    Done {
        is_error: bool,
        time: Option<Duration>,
    },
    /// The run ended before it was called.
    NotRun,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct Card {
    /// Without one it is a command of the user.
    id: Option<ToolCallId>,
    name: String,
    arguments: Map<String, Value>,
    state: CardState,
    output: String,
    details: Option<Value>,
    /// What its extension draws of it, where it draws its tools.
    drawn: Option<Box<Drawn>>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished {
    pub(super) is_error: bool,
    /// How long it took, if somebody measured it better than we do.
    pub(super) time: Option<Duration>,
    pub(super) now: Duration,
}

impl Card {
    pub(super) fn new(id: ToolCallId, name: &str) -> Self {
        Self {
            id: Some(id),
            name: name.to_owned(),
            arguments: Map::new(),
            state: CardState::Arriving { bytes: 0 },
            output: String::new(),
            details: None,
            drawn: None,
        }
    }

    /// A command that the user typed.
    pub(super) fn typed(command: &str, exposure: Exposure) -> Self {
        let arguments = Map::from_iter([("command".to_owned(), Value::from(command))]);
        let name = match exposure {
            Exposure::Shown => "!",
            Exposure::Hidden => "!!",
        };
        Self { id: None, arguments, state: CardState::Waiting, ..Self::new(ToolCallId::from(""), name) }
    }

    pub(super) fn is_of(&self, id: &ToolCallId) -> bool {
        self.id.as_ref() == Some(id)
    }

    /// Whether it is a command of the user that has not ended.
    pub(super) fn is_typed(&self) -> bool {
        self.id.is_none() && !self.is_finished()
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, CardState::Done { .. } | CardState::NotRun)
    }

    pub(super) fn grow(&mut self, delta: &str) {
        if let CardState::Arriving { bytes } = &mut self.state {
            *bytes += delta.len();
        }
    }

    pub(super) fn call(&mut self, call: &ToolCall) {
        self.arguments.clone_from(&call.arguments);
        if let CardState::Arriving { .. } = self.state {
            self.state = CardState::Waiting;
        }
    }

    pub(super) fn start(&mut self, arguments: &Value, now: Duration) {
        if let Value::Object(arguments) = arguments {
            self.arguments.clone_from(arguments);
        }
        self.state = CardState::Running { since: now };
    }

    pub(super) fn update(&mut self, output: &ToolOutput) {
        self.drawn.iter_mut().for_each(|drawn| drawn.find(output));
        self.output = text_of(output);
        self.details.clone_from(&output.details);
    }

    /// What came to the end of the output, and how many characters went from its beginning.
    pub(super) fn add(&mut self, delta: &str, dropped: u64) {
        self.output.push_str(delta);
        let dropped = usize::try_from(dropped).unwrap_or(usize::MAX);
        let kept = self.output.char_indices().nth(dropped).map_or(self.output.len(), |(place, _)| place);
        self.output.drain(..kept);
    }

    pub(super) fn finish(&mut self, output: &ToolOutput, finished: Finished) {
        self.update(output);
        let time = match self.state {
            CardState::Running { since } => finished.time.or(Some(finished.now.saturating_sub(since))),
            _ => finished.time,
        };
        self.state = CardState::Done { is_error: finished.is_error, time };
    }

    pub(super) fn close(&mut self) {
        if !self.is_finished() {
            self.state = CardState::NotRun;
        }
    }

    pub(super) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let mut lines = self.drawn_title(look).unwrap_or_else(|| vec![self.title(look)]);
        if self.name == "!!" {
            lines.push(shorten_line(Line::styled("  the model does not see it", look.theme.quiet), look.width));
        }
        lines.extend(self.drawn_body(look).unwrap_or_else(|| self.body(look)));
        lines
    }

    /// How far it is, in one sign.
    fn mark(&self, look: &Look<'_>) -> Span<'static> {
        let theme = look.theme;
        let (mark, style) = match self.state {
            CardState::Arriving { .. } | CardState::Waiting => ("○", theme.quiet),
            CardState::Running { .. } => ("●", theme.warning),
            CardState::Done { is_error: false, .. } => ("✔", theme.good),
            CardState::Done { is_error: true, .. } => ("✘", theme.bad),
            CardState::NotRun => ("–", theme.quiet),
        };
        Span::styled(format!("{mark} "), style)
    }

    fn title(&self, look: &Look<'_>) -> Line<'static> {
        let theme = look.theme;
        let end = match &self.state {
            CardState::Arriving { bytes: 0 } | CardState::Waiting | CardState::Done { time: None, .. } => String::new(),
            CardState::Arriving { bytes } => format!("  {bytes} bytes"),
            CardState::Running { since } => format!("  {}", duration(look.now.saturating_sub(*since))),
            CardState::Done { time: Some(time), .. } => format!("  {}", duration(*time)),
            CardState::NotRun => "  not run".to_owned(),
        };
        let head = vec![self.mark(look), Span::styled(printable(&self.name).into_owned(), theme.tool), Span::raw(" ")];
        let used = head.iter().map(|span| width(&span.content)).sum::<usize>() + width(&end);
        let told = argument::tell(&self.name, &self.arguments);
        let told = shorten(&told, look.width.saturating_sub(used)).into_owned();
        let spans = head.into_iter().chain([Span::raw(told), Span::styled(end, theme.quiet)]).collect::<Vec<_>>();
        shorten_line(Line::from(spans), look.width)
    }

    fn body(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let theme = look.theme;
        let failed = matches!(self.state, CardState::Done { is_error: true, .. });
        if failed {
            return excerpt(plain(&self.output, theme.bad), End::Last, FEW * 2, look);
        }
        if let Some(diff) = self.details.as_ref().and_then(|details| details["diff"].as_str()) {
            return excerpt(diff::render(diff, theme), End::First, CHANGES, look);
        }
        match self.name.as_str() {
            "write" => {
                let text = self.arguments.get("content").and_then(Value::as_str).unwrap_or_default();
                let path = self.arguments.get("path").and_then(Value::as_str).unwrap_or_default();
                let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
                let shown = if look.detail == Detail::Full { text } else { first_lines(text, FEW) };
                let mut lines = excerpt(code::highlight(shown, ending, theme), End::First, FEW, look);
                lines.extend(rest_of(text.lines().count(), shown.lines().count(), look));
                lines
            }
            "read" if look.detail == Detail::Short => match self.is_finished() {
                true => count_of(&self.output, look),
                false => Vec::new(),
            },
            "bash" | "!" | "!!" => excerpt(plain(self.tail(look), theme.quiet), End::Last, FEW, look),
            _ => excerpt(plain(&self.output, theme.quiet), End::First, FEW, look),
        }
    }

    /// The end of the output while it is growing; a long one is not gone through for every frame.
    fn tail(&self, look: &Look<'_>) -> &str {
        if self.is_finished() && look.detail == Detail::Full || self.output.len() <= TAIL {
            return &self.output;
        }
        let from = self.output.len() - TAIL;
        let from = self.output.bytes().skip(from).position(|byte| byte == b'\n').map_or(0, |at| from + at + 1);
        self.output.get(from..).unwrap_or_default()
    }
}

/// Which end of an output says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// Some of the lines, behind an edge; how many are left out is said where they are missing.
fn excerpt(lines: Vec<Line<'static>>, end: End, most: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let edge = Line::styled("  ", look.theme.border);
    let room = look.width.saturating_sub(line_width(&edge)).max(1);
    let hidden = match look.detail {
        Detail::Full => 0,
        Detail::Short => lines.len().saturating_sub(most),
    };
    let shown: Vec<Line<'static>> = match end {
        End::First => lines.into_iter().rev().skip(hidden).rev().collect(),
        End::Last => lines.into_iter().skip(hidden).collect(),
    };
    let mut drawn: Vec<Line<'static>> = Vec::new();
    for line in shown {
        let rows = match look.detail {
            Detail::Short => vec![shorten_line(line, room)],
            Detail::Full => wrap(line, room, &Line::default()),
        };
        drawn.extend(rows.into_iter().map(|mut row| {
            row.spans.insert(0, Span::styled("  ", look.theme.border));
            row
        }));
    }
    if hidden > 0 {
        let note = Line::styled(format!("  … {hidden} more lines (ctrl+o)"), look.theme.quiet);
        let at = if end == End::First { drawn.len() } else { 0 };
        drawn.insert(at, note);
    }
    drawn
}

fn plain(text: &str, style: Style) -> Vec<Line<'static>> {
    printable_lines(text.trim_end()).map(|line| Line::styled(line.into_owned(), style)).collect()
}

fn count_of(text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    match text.lines().count() {
        0 => Vec::new(),
        1 => vec![Line::styled("  1 line", look.theme.quiet)],
        count => vec![Line::styled(format!("  {count} lines"), look.theme.quiet)],
    }
}

fn rest_of(all: usize, shown: usize, look: &Look<'_>) -> Option<Line<'static>> {
    (all > shown).then(|| Line::styled(format!("  … {} more lines (ctrl+o)", all - shown), look.theme.quiet))
}

fn first_lines(text: &str, count: usize) -> &str {
    let end = text.match_indices('\n').nth(count.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// What an output says, with a word for every image.
fn text_of(output: &ToolOutput) -> String {
    let mut text = String::new();
    for block in &output.content {
        let piece = match block {
            Block::Text(block) => block.text.clone(),
            Block::Image(image) => format!("[{}]", image.mime_type),
            Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => continue,
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&piece);
    }
    text
}
