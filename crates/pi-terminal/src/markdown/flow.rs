//! Takes the events of a markdown parser and lays them out.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd};
use ratatui_core::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::table::Table;
use crate::{
    code::highlight,
    text::{line_width, printable, wrap},
    theme::Theme,
};

/// What the current block stands in.
enum Container {
    Quote,
    /// The number of the next item, if they have numbers.
    List(Option<u64>),
    Item {
        marker: String,
        is_drawn: bool,
    },
}

struct Code {
    language: String,
    text: String,
}

pub(super) struct Flow<'a> {
    room: usize,
    theme: &'a Theme,
    lines: Vec<Line<'static>>,
    /// The text of the current block.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    code: Option<Code>,
    table: Option<Table>,
    /// Where a link leads, and which span is the first of its text.
    link: Option<(String, usize)>,
    /// The next block stands apart from the last one.
    wants_gap: bool,
}

impl<'a> Flow<'a> {
    pub(super) fn new(room: usize, theme: &'a Theme) -> Self {
        Self {
            room,
            theme,
            lines: Vec::new(),
            spans: Vec::new(),
            styles: vec![Style::new()],
            containers: Vec::new(),
            code: None,
            table: None,
            link: None,
            wants_gap: false,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line<'static>> {
        self.flush();
        self.lines
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.styled(&code, self.theme.code),
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let width = self.room.saturating_sub(self.indent()).max(1);
                self.put(vec![Line::styled("─".repeat(width), self.theme.border)]);
                self.wants_gap = true;
            }
            Event::TaskListMarker(is_done) => {
                let (mark, style) = if is_done { ("☑ ", self.theme.good) } else { ("☐ ", self.theme.quiet) };
                self.spans.push(Span::styled(mark, style));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.styled(&text, self.theme.code),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.push_style(self.theme.heading);
                if level > HeadingLevel::H2 {
                    self.text(&"#".repeat(level as usize));
                    self.text(" ");
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap();
                self.containers.push(Container::Quote);
                self.push_style(self.theme.quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Code { language, text: String::new() });
            }
            Tag::List(first) => {
                self.flush();
                if !self.containers.iter().any(|container| matches!(container, Container::Item { .. })) {
                    self.gap();
                }
                self.containers.push(Container::List(first));
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => {
                self.flush();
                self.gap();
                self.table = Some(Table { rows: Vec::new(), alignments });
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(|table| table.rows.push(Vec::new())),
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(self.theme.strong),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => self.open_link(dest_url),
            Tag::Image { dest_url, .. } => {
                self.styled("🖼 ", self.theme.quiet);
                self.open_link(dest_url);
            }
            Tag::TableCell
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.containers.pop();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.containers.pop();
                self.wants_gap = true;
            }
            TagEnd::Item => {
                // An empty item still has its mark.
                if self.spans.is_empty()
                    && matches!(self.containers.last(), Some(Container::Item { is_drawn: false, .. }))
                {
                    self.put(vec![Line::default()]);
                }
                self.flush();
                self.containers.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.put(table.render(self.room.saturating_sub(self.indent()), self.theme));
                }
                self.wants_gap = true;
            }
            TagEnd::TableCell => {
                let cell = Line::from(std::mem::take(&mut self.spans));
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::HtmlBlock => self.end_block(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let depth = self.containers.iter().filter(|container| matches!(container, Container::List(_))).count();
        let marker = match self.containers.last_mut() {
            Some(Container::List(Some(number))) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => format!("{} ", ["•", "◦", "▪"][depth.saturating_sub(1) % 3]),
        };
        self.containers.push(Container::Item { marker, is_drawn: false });
    }

    fn open_link(&mut self, target: CowStr<'_>) {
        self.link = Some((target.into_string(), self.spans.len()));
        self.push_style(self.theme.link);
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some((target, first)) = self.link.take() else { return };
        let text: String = self.spans.iter().skip(first).map(|span| span.content.as_ref()).collect();
        let is_named = text != target && target.strip_prefix("mailto:") != Some(&text);
        if is_named && !target.is_empty() {
            self.styled(&format!(" ({target})"), self.theme.quiet);
        }
    }

    fn end_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let room = self.room.saturating_sub(self.indent() + 2).max(1);
        let edge = || Span::styled("  ", self.theme.border);
        let mut lines = Vec::new();
        for line in highlight(&code.text, &code.language, self.theme) {
            for mut row in wrap(line, room, &Line::default()) {
                row.spans.insert(0, edge());
                lines.push(row);
            }
        }
        self.put(lines);
        self.wants_gap = true;
    }

    fn html(&mut self, html: &str) {
        for (index, line) in html.lines().enumerate() {
            if index > 0 {
                self.flush();
            }
            self.styled(line, self.theme.quiet);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            return code.text.push_str(text);
        }
        self.styled(text, Style::new());
    }

    fn styled(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().copied().fold(Style::new(), Style::patch).patch(style);
        self.spans.push(Span::styled(printable(text).into_owned(), style));
    }

    fn push_style(&mut self, style: Style) {
        self.styles.push(style);
    }

    fn end_block(&mut self) {
        self.flush();
        self.wants_gap = true;
    }

    fn gap(&mut self) {
        if std::mem::take(&mut self.wants_gap) && !self.lines.is_empty() {
            let spans = self.containers.iter().filter(|container| matches!(container, Container::Quote));
            let edges: Vec<_> = spans.map(|_| Span::styled("│ ", self.theme.border)).collect();
            self.lines.push(Line::from(edges));
        }
    }

    /// Ends the current line of text.
    fn flush(&mut self) {
        if !self.spans.is_empty() {
            let line = Line::from(std::mem::take(&mut self.spans));
            self.put(vec![line]);
        }
    }

    /// Adds lines behind the marks of what they stand in, breaking those that are too long.
    fn put(&mut self, lines: Vec<Line<'static>>) {
        for line in lines {
            let (first, rest) = (self.prefix(), self.hanging());
            let mut spans = first.spans;
            spans.extend(line.spans);
            let line = Line { spans, style: line.style, alignment: None };
            self.lines.extend(wrap(line, self.room, &rest));
        }
    }

    fn indent(&self) -> usize {
        line_width(&self.hanging())
    }

    /// What stands before the next line: marks of items that have none yet included.
    fn prefix(&mut self) -> Line<'static> {
        let mut spans = Vec::new();
        for container in &mut self.containers {
            match container {
                Container::Quote => spans.push(Span::styled("│ ", self.theme.border)),
                Container::List(_) => {}
                Container::Item { marker, is_drawn: true } => spans.push(Span::raw(blank(marker))),
                Container::Item { marker, is_drawn } => {
                    *is_drawn = true;
                    spans.push(Span::styled(marker.clone(), self.theme.accent));
                }
            }
        }
        Line::from(spans)
    }

    /// What stands before a line that continues.
    fn hanging(&self) -> Line<'static> {
        let spans = self.containers.iter().filter_map(|container| match container {
            Container::Quote => Some(Span::styled("│ ", self.theme.border)),
            Container::List(_) => None,
            Container::Item { marker, .. } => Some(Span::raw(blank(marker))),
        });
        Line::from(spans.collect::<Vec<_>>())
    }
}

fn blank(marker: &str) -> String {
    " ".repeat(crate::text::width(marker))
}
