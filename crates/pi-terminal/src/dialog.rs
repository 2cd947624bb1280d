//! A question of an extension, put to a person.
//!
//! An interview is asked field by field. Whatever the question, escape cancels it. One that comes up in a chat hears nothing
//! else for a moment, because extensions choose the moment at which they ask: what is pressed then was meant for the editor.
//! Whoever writes in that moment goes on writing there, until tab turns to the question.

mod field;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use pi_transcript::{
    RequestId,
    question::{Answer, Asked, Asker, FormField, Question},
};
use ratatui_core::text::{Line, Span};
use serde_json::{Map, Value};

use self::field::{Field, Step};
use crate::{
    draft,
    hearing::Hearing,
    look::Look,
    text::{printable, printable_lines, shorten_line, wrap},
};

/// What a line begins with that is quoted, a line of a command for one. Each of its rows begins so.
const MARGIN: &str = "│ ";

/// An open question.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) request: RequestId,
    /// The extension that asks; without one it is the host.
    guest: Option<String>,
    question: Question,
    field: Field,
    /// Which field of an interview is asked.
    place: usize,
    responses: Map<String, Value>,
    hearing: Hearing,
    /// Which part of a question is shown that is too long for the screen: its beginning and its end, or page by page.
    page: usize,
    /// When it will be too late, if whoever asks named a time.
    deadline: Option<Duration>,
}

impl Dialog {
    /// A question of the host.
    pub(crate) fn new(request: RequestId, asked: &Asked) -> Self {
        let question = asked.question().clone();
        let field = match &question {
            Question::Select { options, .. } => Field::select(options),
            Question::Confirm { .. } => Field::confirm(),
            Question::Input { .. } => Field::text(""),
            Question::Editor { prefill, .. } => Field::editor(prefill.as_deref().unwrap_or_default()),
            Question::Interview { questions, .. } => questions.first().map_or_else(|| Field::text(""), Field::of),
        };
        Self {
            request,
            guest: None,
            question,
            field,
            place: 0,
            responses: Map::new(),
            hearing: Hearing::Keen,
            page: 0,
            deadline: None,
        }
    }

    /// The same, for a chat, where somebody may be writing, asked at `now`.
    pub(crate) fn in_chat(request: RequestId, asker: Option<&Asker>, asked: &Asked, now: Duration) -> Self {
        let guest = draft::guest(asker).map(str::to_owned);
        let deadline = asked.question().timeout().map(|left| now.saturating_add(Duration::from_millis(left)));
        Self { hearing: Hearing::Unseen, guest, deadline, ..Self::new(request, asked) }
    }

    /// Whether it shows how much time is left.
    pub(crate) fn is_counting(&self) -> bool {
        self.deadline.is_some()
    }

    /// It is shown at `now`.
    pub(crate) fn show(&mut self, now: Duration) {
        self.hearing.show(now);
    }

    /// Whether a key that is pressed at `now` is for the question. Whoever puts it away allows nothing, so that is heard at
    /// any time.
    pub(crate) fn hears(&mut self, key: KeyEvent, now: Duration) -> bool {
        self.hearing = self.hearing.at(now);
        self.hearing == Hearing::Keen || is_cancel(key)
    }

    pub(crate) fn is_keen(&self) -> bool {
        self.hearing == Hearing::Keen
    }

    /// Whether it will take keys by itself, soon.
    pub(crate) fn is_waiting(&self) -> bool {
        self.hearing.is_waiting()
    }

    /// Whether somebody writes something else while it lies there.
    pub(crate) fn is_aside(&self) -> bool {
        self.hearing == Hearing::Aside
    }

    /// Somebody writes something else.
    pub(crate) fn step_aside(&mut self) {
        self.hearing.step_aside();
    }

    /// Somebody who wrote something else turns to it; whether they did.
    pub(crate) fn turn_to(&mut self, key: KeyEvent) -> bool {
        key.code == KeyCode::Tab && self.hearing.turn()
    }

    /// Takes a key; the answer once there is one.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        if is_cancel(key) {
            return Some(Answer::Cancelled);
        }
        match key.code {
            KeyCode::PageDown => {
                self.page += 1;
                return None;
            }
            KeyCode::PageUp => {
                self.page = self.page.saturating_sub(1);
                return None;
            }
            _ => {}
        }
        match self.field.key(key) {
            Step::Open => None,
            Step::Taken(value) => self.take(value),
            Step::Skipped => self.skip(),
        }
    }

    /// Whether nobody has written anything that would be lost: what an extension wrote beforehand is its own.
    pub(crate) fn is_untouched(&self) -> bool {
        let prefill = match &self.question {
            Question::Editor { prefill, .. } => prefill.as_deref().unwrap_or_default(),
            Question::Select { .. }
            | Question::Confirm { .. }
            | Question::Input { .. }
            | Question::Interview { .. } => "",
        };
        self.field.written().is_none_or(|written| written == prefill)
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.field.paste(text);
    }

    /// The question and its field, and where the cursor is.
    pub(crate) fn lines(&self, look: &Look<'_>, height: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let theme = look.theme;
        let mut rows = Vec::new();
        for (text, style) in self.words() {
            let style = if style { theme.strong } else { theme.quiet };
            for line in printable_lines(&text) {
                let hanging = if line.starts_with(MARGIN) { Line::styled(MARGIN, style) } else { Line::default() };
                rows.extend(wrap(Line::styled(line.into_owned(), style), look.width, &hanging));
            }
        }
        // The question gives way before the field does.
        let mut lines = vec![self.head(look)];
        lines.extend(self.shown(rows, height.saturating_sub(6).max(2) - 1, look));
        let top = lines.len();
        let (field, cursor) = self.field.lines(look, height.saturating_sub(top + 1));
        lines.extend(field);
        let hint = match self.hearing {
            Hearing::Keen => self.field.hint(),
            Hearing::Unseen | Hearing::Shown(_) => "one moment; keys still go to your message · esc cancel",
            Hearing::Aside => "tab answer this · esc cancel · you are writing your message",
        };
        lines.push(shorten_line(Line::styled(hint, theme.quiet), look.width));
        (lines, cursor.map(|(row, column)| (top + row, column)))
    }

    /// As many rows of the question as there is room for, and what to press for the others. At first these are its beginning,
    /// which says who asks, and its end, which says what for.
    fn shown(&self, mut rows: Vec<Line<'static>>, room: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let count = rows.len();
        if count <= room {
            return rows;
        }
        let told = |words: String| shorten_line(Line::styled(words, look.theme.warning), look.width);
        // One row says which ones are shown.
        let most = room.saturating_sub(1).max(1);
        // After the last page it begins anew.
        match self.page % (count.div_ceil(most) + 1) {
            0 => {
                let head = most.div_ceil(2);
                let tail = rows.split_off(count - (most - head));
                rows.truncate(head);
                rows.push(told(format!("[… {} more rows: page down …]", count - most)));
                rows.extend(tail);
                rows
            }
            page => {
                let first = (page - 1) * most;
                let mut page: Vec<Line<'static>> = rows.into_iter().skip(first).take(most).collect();
                let last = first + page.len();
                page.push(told(format!("[rows {} to {last} of {count}: page down, page up]", first + 1)));
                page
            }
        }
    }

    /// Says who asks. An extension chooses every word below it, and none here but its name.
    fn head(&self, look: &Look<'_>) -> Line<'static> {
        let theme = look.theme;
        let who = match &self.guest {
            None => Span::styled("pi asks", theme.accent),
            Some(name) => Span::styled(format!("extension {} asks", printable(name)), theme.warning),
        };
        let left = self.deadline.map(|deadline| deadline.saturating_sub(look.now).as_millis().div_ceil(1000));
        let left = left.map(|seconds| Span::styled(format!("· {seconds} s left "), theme.warning));
        look.head([who, Span::raw(" ")].into_iter().chain(left))
    }

    /// What is asked, and whether it is the question itself.
    fn words(&self) -> Vec<(String, bool)> {
        match &self.question {
            Question::Select { title, .. } | Question::Editor { title, .. } => vec![(title.clone(), true)],
            Question::Confirm { title, message, .. } => vec![(title.clone(), true), (message.clone(), false)],
            Question::Input { title, placeholder, .. } => {
                let hint = placeholder.iter().map(|placeholder| (format!("for example: {placeholder}"), false));
                std::iter::once((title.clone(), true)).chain(hint).collect()
            }
            Question::Interview { title, questions, .. } => {
                let count = format!("{} of {}", self.place + 1, questions.len());
                let title = title.iter().map(|title| (title.clone(), true));
                let label = questions.get(self.place).map(|field| (field.label.clone(), true));
                title.chain([(count, false)]).chain(label).collect()
            }
        }
    }

    fn take(&mut self, value: Value) -> Option<Answer> {
        let text = || value.as_str().unwrap_or_default().to_owned();
        match &self.question {
            Question::Select { .. } => Some(Answer::Select { value: text() }),
            Question::Confirm { .. } => Some(Answer::Confirm { confirmed: value == Value::Bool(true) }),
            Question::Input { .. } => Some(Answer::Input { value: text() }),
            Question::Editor { .. } => Some(Answer::Editor { value: text() }),
            Question::Interview { questions, .. } => {
                if let Some(field) = questions.get(self.place) {
                    self.responses.insert(field.id.clone(), value);
                }
                self.next()
            }
        }
    }

    fn skip(&mut self) -> Option<Answer> {
        let field = self.current();
        if field.is_some_and(|field| field.required == Some(true)) { None } else { self.next() }
    }

    fn current(&self) -> Option<&FormField> {
        match &self.question {
            Question::Interview { questions, .. } => questions.get(self.place),
            Question::Select { .. } | Question::Confirm { .. } | Question::Input { .. } | Question::Editor { .. } => {
                None
            }
        }
    }

    fn next(&mut self) -> Option<Answer> {
        self.place += 1;
        self.page = 0;
        match self.current().map(Field::of) {
            Some(field) => {
                self.field = field;
                None
            }
            None => Some(Answer::Interview { responses: std::mem::take(&mut self.responses) }),
        }
    }
}

/// Whether a key puts a question away.
fn is_cancel(key: KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || (is_control && key.code == KeyCode::Char('c'))
}
