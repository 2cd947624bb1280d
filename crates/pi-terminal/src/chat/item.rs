//! One thing after the other: what was said, thought, done and noted.

use pi_session::attached::{self, Attached};
use pi_transcript::{Block, Content, event::CompactionResult};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use super::{card::Card, custom::Custom};
use crate::{
    look::{Look, Thoughts, tokens},
    markdown,
    text::{printable, printable_lines, shorten_line, wrap, wrap_plain},
    theme::Theme,
};

/// How many lines of an open block of code are drawn while it arrives.
const MOST_OPEN_LINES: usize = 200;
/// How many lines of what the user said are printed.
const MOST_SAID: usize = 40;

/// How something is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Quiet,
    Good,
    Warning,
    Bad,
}

/// One thing in a chat.
#[derive(Debug, Clone)]
pub enum Item {
    /// Who is here.
    Heading {
        title: String,
        words: Vec<String>,
    },
    /// What the user said.
    Said {
        text: String,
        attached: Vec<Attached>,
        images: usize,
    },
    Prose(Prose),
    Thinking(Thinking),
    Card(Card),
    /// A message or an entry of an extension.
    Custom(Custom),
    /// What stands for a part of the conversation.
    Summary {
        title: String,
        text: String,
    },
    Note {
        tone: Tone,
        text: String,
    },
    /// Lines that are drawn already.
    Printed(Vec<Line<'static>>),
}

/// What the model says.
#[derive(Debug, Clone, Default)]
pub struct Prose {
    pub(super) text: String,
    /// So much of it was printed.
    printed: usize,
    is_finished: bool,
}

/// What the model thinks.
#[derive(Debug, Clone, Default)]
pub struct Thinking {
    pub(super) text: String,
    is_finished: bool,
}

impl Item {
    pub(super) fn said(content: &Content) -> Self {
        let images = match content {
            Content::Text(_) => 0,
            Content::Blocks(blocks) => blocks.iter().filter(|block| matches!(block, Block::Image(_))).count(),
        };
        let (text, attached) = attached::split(&content.text());
        Self::Said { text, attached, images }
    }

    pub(super) fn compacted(result: Option<&CompactionResult>, is_aborted: bool, error: Option<&str>) -> Self {
        let (tone, text) = match (result, is_aborted) {
            (Some(result), _) => {
                let after = result.estimated_tokens_after.map(|after| format!(" to about {}", tokens(after)));
                let text = format!("summed up {} tokens{}", tokens(result.tokens_before), after.unwrap_or_default());
                (Tone::Good, text)
            }
            (None, true) => (Tone::Warning, "not summed up: stopped".to_owned()),
            (None, false) => (Tone::Bad, format!("not summed up: {}", error.unwrap_or("for no known reason"))),
        };
        Self::Note { tone, text }
    }

    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Prose(prose) => prose.is_finished,
            Self::Thinking(thinking) => thinking.is_finished,
            Self::Card(card) => card.is_shown_whole(),
            Self::Custom(custom) => custom.is_drawn(),
            Self::Heading { .. } | Self::Said { .. } | Self::Summary { .. } | Self::Note { .. } | Self::Printed(_) => {
                true
            }
        }
    }

    pub(super) fn as_card(&mut self) -> Option<&mut Card> {
        match self {
            Self::Card(card) => Some(card),
            _ => None,
        }
    }

    /// Nothing more comes.
    pub(super) fn close(&mut self) {
        match self {
            Self::Prose(prose) => prose.is_finished = true,
            Self::Thinking(thinking) => thinking.is_finished = true,
            Self::Card(card) => card.close(),
            Self::Custom(custom) => custom.draw(None),
            Self::Heading { .. } | Self::Said { .. } | Self::Summary { .. } | Self::Note { .. } | Self::Printed(_) => {}
        }
    }

    /// All lines that are not printed yet; the first one is empty, to stand apart from what is above.
    pub(super) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let theme = look.theme;
        match self {
            Self::Heading { title, words } => apart(heading(title, words, look)),
            Self::Said { text, attached, images } => apart(said(text, attached, *images, look)),
            Self::Prose(prose) => prose.rest(look),
            Self::Thinking(thinking) => apart(thinking.lines(look)),
            Self::Card(card) => apart(card.lines(look)),
            Self::Custom(custom) => apart(custom.lines(look)),
            Self::Summary { title, text } => {
                let mut lines = vec![Line::styled(format!("── {title} ──"), theme.warning)];
                lines.extend(markdown_lines(text, look).into_iter().map(|line| line.patch_style(theme.quiet)));
                apart(lines)
            }
            Self::Note { tone, text } => apart(edged("▌ ", text, tone.style(theme), look)),
            Self::Printed(lines) => apart(lines.clone()),
        }
    }

    /// The lines while it is not finished: at most a little more than `height` of them.
    pub(super) fn live(&self, look: &Look<'_>, height: usize) -> Vec<Line<'static>> {
        match self {
            Self::Prose(prose) => prose.live(look),
            Self::Thinking(thinking) => apart(thinking.live(look, height)),
            Self::Card(card) => apart(card.lines(look)),
            Self::Heading { .. }
            | Self::Said { .. }
            | Self::Custom(_)
            | Self::Summary { .. }
            | Self::Note { .. }
            | Self::Printed(_) => self.lines(look),
        }
    }
}

impl Prose {
    pub(super) fn finish(&mut self, text: &str) {
        // A provider may correct what it streamed; what was printed stays.
        if text.is_char_boundary(self.printed) && text.get(..self.printed) == self.text.get(..self.printed) {
            text.clone_into(&mut self.text);
        }
        self.is_finished = true;
    }

    /// Prints the sections that are complete.
    pub(super) fn take_whole(&mut self, look: &Look<'_>) -> Vec<Line<'static>> {
        let open = &self.text[self.printed..];
        let sections = markdown::sections(open);
        let lines = sections.whole.iter().flat_map(|section| section_lines(section, look)).collect();
        self.printed += sections.open_at;
        lines
    }

    /// What is not printed yet.
    fn rest(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let sections = markdown::sections(&self.text[self.printed..]);
        let all = sections.whole.into_iter().chain([sections.open]);
        all.flat_map(|section| section_lines(section, look)).collect()
    }

    fn live(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let sections = markdown::sections(&self.text[self.printed..]);
        let lines = sections.open.lines().count();
        if sections.fence.is_some() && lines > MOST_OPEN_LINES && sections.whole.is_empty() {
            // The beginning of a long block of code is far above the screen.
            let mut rows = sections.open.lines();
            let fence = rows.next().unwrap_or_default();
            let tail: Vec<&str> = rows.skip(lines - MOST_OPEN_LINES).collect();
            return section_lines(&format!("{fence}\n{}", tail.join("\n")), look);
        }
        self.rest(look)
    }
}

impl Thinking {
    pub(super) fn finish(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.is_finished = true;
    }

    fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        self.drawn(self.text.trim(), look)
    }

    fn live(&self, look: &Look<'_>, height: usize) -> Vec<Line<'static>> {
        let text = self.text.trim();
        // Every line takes a row at least, and a row holds at most four bytes a cell.
        let from = text.len().saturating_sub(height * look.width.max(1) * 4);
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.drawn(&text[from..], look)
    }

    fn drawn(&self, text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
        let style = look.theme.thinking;
        match look.thoughts {
            Thoughts::Hidden => vec![Line::styled(if self.is_finished { "thought" } else { "thinking…" }, style)],
            Thoughts::Shown if text.is_empty() => vec![Line::styled("thought, which the provider withholds", style)],
            Thoughts::Shown => edged("┊ ", text, style, look),
        }
    }
}

impl Tone {
    pub(crate) fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Quiet => theme.quiet,
            Self::Good => theme.good,
            Self::Warning => theme.warning,
            Self::Bad => theme.bad,
        }
    }
}

fn apart(mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    if !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

fn heading(title: &str, words: &[String], look: &Look<'_>) -> Vec<Line<'static>> {
    let title = Line::styled(printable(title).into_owned(), look.theme.strong);
    let words = words.iter().map(|words| Line::styled(printable(words).into_owned(), look.theme.quiet));
    std::iter::once(title).chain(words).flat_map(|line| wrap_plain(line, look.width)).collect()
}

/// Of a text that is longer than a screen, such as one that was piped in, the beginning is shown.
fn said(text: &str, attached: &[Attached], images: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let quiet = |text: String| shorten_line(Line::styled(text, look.theme.quiet), look.width);
    let count = text.lines().count();
    let shown: String = text.lines().take(MOST_SAID).map(|line| format!("{line}\n")).collect();
    let mut lines = edged("❯ ", &shown, look.theme.user, look);
    if count > MOST_SAID {
        lines.push(quiet(format!("  … {} more lines", count - MOST_SAID)));
    }
    for Attached { name, lines: count } in attached {
        let size = match count {
            None => String::new(),
            Some(1) => "  1 line".to_owned(),
            Some(count) => format!("  {count} lines"),
        };
        lines.push(quiet(format!("  + {}{size}", printable(name))));
    }
    // A picture that came from a file is named already.
    let images = images.saturating_sub(attached.iter().filter(|attached| attached.lines.is_none()).count());
    if images > 0 {
        let word = if images == 1 { "image" } else { "images" };
        lines.push(quiet(format!("  + {images} {word}")));
    }
    lines
}

/// Text behind a mark on its first line.
fn edged(mark: &'static str, text: &str, style: Style, look: &Look<'_>) -> Vec<Line<'static>> {
    let is_bar = !mark.starts_with('❯');
    let hanging = Line::styled(if is_bar { mark } else { "  " }, style);
    let mut lines = Vec::new();
    for (index, row) in printable_lines(text).enumerate() {
        let first = if index == 0 { Span::styled(mark, style) } else { hanging.spans[0].clone().style(style) };
        let line = Line::from(vec![first, Span::styled(row.into_owned(), style)]);
        let hanging = Line::from(hanging.spans[0].clone().style(style));
        lines.extend(wrap(line, look.width, &hanging));
    }
    lines
}

fn section_lines(section: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    apart(markdown::render(section, look.width, look.theme))
}

fn markdown_lines(text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    markdown::render(text, look.width, look.theme)
}
