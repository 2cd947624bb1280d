//! Tables: columns as wide as they need to be, narrower where they do not fit.

use ratatui_core::text::{Line, Span};

use crate::{
    text::{line_width, wrap_plain},
    theme::Theme,
};

/// A table as it is read.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<Vec<Line<'static>>>,
    pub(super) alignments: Vec<pulldown_cmark::Alignment>,
}

impl Table {
    /// The lines of the table in `room` cells.
    pub(super) fn render(&self, room: usize, theme: &Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        // Between two columns stand three cells.
        let widths = fit(&self.wishes(columns), room.saturating_sub(3 * (columns - 1)));
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, &widths, theme));
            if index == 0 {
                let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(dashes.join("─┼─"), theme.border));
            }
        }
        lines
    }

    /// How wide each column would like to be.
    fn wishes(&self, columns: usize) -> Vec<usize> {
        let widest = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(line_width).max();
        (0..columns).map(|column| widest(column).unwrap_or(0).max(1)).collect()
    }

    fn row(&self, row: &[Line<'static>], widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let empty = Line::default();
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| wrap_plain(row.get(column).unwrap_or(&empty).clone(), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..height)
            .map(|height| {
                let mut spans = Vec::new();
                for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(" │ ", theme.border));
                    }
                    let text = cell.get(height).cloned().unwrap_or_default();
                    self.align(&mut spans, text, column, *width, column + 1 == widths.len());
                }
                Line::from(spans)
            })
            .collect()
    }

    fn align(&self, spans: &mut Vec<Span<'static>>, text: Line<'static>, column: usize, width: usize, is_last: bool) {
        use pulldown_cmark::Alignment;
        let free = width.saturating_sub(line_width(&text));
        let left = match self.alignments.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        if left > 0 {
            spans.push(Span::raw(" ".repeat(left)));
        }
        spans.extend(text.spans);
        if free > left && !is_last {
            spans.push(Span::raw(" ".repeat(free - left)));
        }
    }
}

/// Gives each column what it wants if that fits; otherwise the widest give way until it does.
fn fit(wishes: &[usize], room: usize) -> Vec<usize> {
    let mut limit = wishes.iter().copied().max().unwrap_or(1);
    let total = |limit: usize| wishes.iter().map(|wish| (*wish).min(limit)).sum::<usize>();
    while limit > 1 && total(limit) > room {
        limit -= 1;
    }
    wishes.iter().map(|wish| (*wish).min(limit)).collect()
}
