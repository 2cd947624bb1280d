//! The screen as a frame.

use std::{collections::BTreeMap, time::Duration};

use pi_session::input::complete::called;
use pi_transcript::drawn::Placement;
use ratatui_core::text::{Line, Span};

use super::{App, Own, caution::is_call};
use crate::{
    chat::turning,
    component::head,
    look::Look,
    paint::Frame,
    text::{printable, shorten, shorten_line},
};

/// How many queued messages are shown.
const MOST_WAITING: usize = 4;

/// The part below the conversation.
#[derive(Default)]
struct Bottom {
    lines: Vec<Line<'static>>,
    cursor: Option<(usize, usize)>,
}

impl App {
    /// What a window of this size shows at `now`. What is finished is handed out once.
    pub fn frame(&mut self, width: usize, height: usize, now: Duration) -> Frame {
        (self.width, self.height) = (width.max(1), height.max(1));
        self.hint = self.hint.take().filter(|(_, until)| until.is_none_or(|until| now < until));
        if let Some(dialog) = self.dialogs.front_mut() {
            dialog.show(now);
        } else {
            self.components.show(now);
        }
        if self.is_editor_shown() {
            self.caution.show(now);
        }
        let (theme, detail, thoughts) = (self.theme.clone(), self.detail, self.thoughts);
        let look = Look { width: self.width, theme: &theme, detail, thoughts, now };
        let finished = self.chat.take_finished(&look);
        self.called.iter_mut().for_each(|called| called.since = called.since.or(Some(now)));
        let mut bottom = self.bottom(&look, height);
        let surplus = bottom.lines.len().saturating_sub(height);
        bottom.lines.drain(..surplus);
        let room = height - bottom.lines.len().min(height);
        let mut live = self.chat.live(&look, room);
        live.drain(..live.len().saturating_sub(room));
        let top = live.len();
        live.extend(bottom.lines);
        let cursor = bottom.cursor.map(|(row, column)| (top + row.saturating_sub(surplus), column));
        Frame { finished, live, cursor }
    }

    fn bottom(&self, look: &Look<'_>, height: usize) -> Bottom {
        let mut bottom = Bottom::default();
        bottom.lines.push(Line::default());
        bottom.lines.extend(self.chat.activity().lines(self.working_message.as_deref(), look));
        bottom.lines.extend(self.called_line(look));
        self.queue(&mut bottom, look);
        bottom.lines.extend(self.components.lines(&[Placement::Header, Placement::AboveEditor], look));
        widgets(&mut bottom, &self.above, look);
        let room = height.saturating_sub(bottom.lines.len() + 5).max(1);
        if let Some(dialog) = self.dialogs.front().filter(|dialog| dialog.is_aside()) {
            // Whoever writes sees what they write.
            let (lines, _) = dialog.lines(look, room.saturating_sub(height / 3 + 2).max(1));
            bottom.put(lines, None);
            self.editor(&mut bottom, look, height);
        } else if let Some(dialog) = self.dialogs.front() {
            let (lines, cursor) = dialog.lines(look, room);
            bottom.put(lines, cursor);
            self.hint(&mut bottom, look);
        } else if self.components.is_aside()
            && let Some(lines) = self.components.keyed_lines(look, room.saturating_sub(height / 3 + 2).max(1))
        {
            bottom.put(lines, None);
            self.editor(&mut bottom, look, height);
        } else if let Some(lines) = self.components.keyed_lines(look, room) {
            bottom.put(lines, None);
        } else if let Some(naming) = &self.naming {
            let (lines, cursor) = naming.lines(look);
            bottom.put(lines, Some(cursor));
        } else if let Some(picker) = &self.picker {
            let (lines, cursor) = picker.lines(look, room);
            bottom.put(lines, Some(cursor));
        } else {
            self.editor(&mut bottom, look, height);
        }
        widgets(&mut bottom, &self.below, look);
        bottom.lines.extend(self.components.lines(&[Placement::BelowEditor, Placement::Footer], look));
        if !self.statuses.is_empty() {
            let texts: Vec<String> = self.statuses.values().map(|text| printable(text).into_owned()).collect();
            bottom.lines.push(shorten_line(Line::styled(texts.join(" · "), look.theme.quiet), look.width));
        }
        bottom.lines.extend(self.footer.lines(look));
        bottom
    }

    /// Whether a person sees what is written.
    fn is_editor_shown(&self) -> bool {
        match self.dialogs.front() {
            Some(dialog) => dialog.is_aside(),
            None if self.components.has_keys() => self.components.is_aside(),
            None => self.naming.is_none() && self.picker.is_none(),
        }
    }

    fn editor(&self, bottom: &mut Bottom, look: &Look<'_>, height: usize) {
        let theme = look.theme;
        let text = self.editor.text();
        let border = if text.starts_with('!') { theme.warning } else { theme.border };
        let authors = self.caution.authors();
        bottom.lines.push(if is_call(&text) && !authors.is_empty() {
            look.head([Span::styled(format!("written by {} ", authors.told()), theme.warning)])
        } else {
            Line::styled("─".repeat(look.width), border)
        });
        let (rows, cursor) = self.editor.rows(look, (height / 3).max(1));
        bottom.put(rows, Some(cursor));
        bottom.lines.push(Line::styled("─".repeat(look.width), border));
        if let Some(completion) = &self.completion {
            bottom.lines.extend(completion.lines(look));
        }
        self.hint(bottom, look);
    }

    fn hint(&self, bottom: &mut Bottom, look: &Look<'_>) {
        if let Some((hint, _)) = &self.hint {
            bottom.lines.push(Line::styled(shorten(hint, look.width).into_owned(), look.theme.warning));
        }
    }

    /// The command or the key of an extension that runs for the longest time, and how many others there are.
    fn called_line(&self, look: &Look<'_>) -> Option<Line<'static>> {
        let first = self.called.first()?;
        let words = match self.called.len() - 1 {
            0 => first.text.lines().next().unwrap_or_default().to_owned(),
            others => {
                let name = called(&first.text).map_or_else(|| first.text.clone(), |name| format!("/{name}"));
                format!("{name} and {others} more")
            }
        };
        Some(turning(&words, first.since.unwrap_or(look.now), "esc to stop", look.theme.accent, look))
    }

    /// What waits to be said.
    fn queue(&self, bottom: &mut Bottom, look: &Look<'_>) {
        let steering = self.waiting.steering.iter().map(|text| ("steer", text));
        let all = steering.chain(self.waiting.follow_up.iter().map(|text| ("then", text)));
        let count = self.waiting.steering.len() + self.waiting.follow_up.len();
        for (word, text) in all.take(MOST_WAITING) {
            let first = text.lines().next().unwrap_or_default();
            let line = Line::from(vec![
                Span::styled(format!("{word}: "), look.theme.accent),
                Span::styled(printable(first).into_owned(), look.theme.quiet),
            ]);
            bottom.lines.push(shorten_line(line, look.width));
        }
        if count > 0 {
            let more = count.saturating_sub(MOST_WAITING);
            let more = if more > 0 { format!("… {more} more · ") } else { String::new() };
            bottom.lines.push(Line::styled(format!("{more}alt+up to edit"), look.theme.quiet));
        }
    }
}

impl Bottom {
    fn put(&mut self, lines: Vec<Line<'static>>, cursor: Option<(usize, usize)>) {
        let top = self.lines.len();
        self.cursor = cursor.map(|(row, column)| (top + row, column));
        self.lines.extend(lines);
    }
}

/// What extensions show in lines, below whose it is.
fn widgets(bottom: &mut Bottom, widgets: &BTreeMap<Own, Vec<String>>, look: &Look<'_>) {
    let mut last = None;
    for (Own { guest, key: _ }, rows) in widgets.iter().filter(|(_, rows)| !rows.is_empty()) {
        if last.replace(guest) != Some(guest) {
            bottom.lines.push(head(guest, look, look.theme.quiet));
        }
        let shown = |row: &String| shorten_line(Line::raw(printable(row).into_owned()), look.width);
        bottom.lines.extend(rows.iter().map(shown));
    }
}
