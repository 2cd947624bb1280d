//! A question of an extension, put to a person.
//!
//! An interview is asked field by field. Whatever the question, escape cancels it. One that comes up in a chat hears nothing
//! else for a moment, because extensions choose the moment at which they ask: what is pressed then was meant for the editor.

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
    look::Look,
    text::{line_width, printable, printable_lines, shorten_line, wrap_plain},
};

/// So long nobody has typed before a question is answered.
const PAUSE: Duration = Duration::from_millis(700);
/// What stands in the place of rows that are left out.
const LEFT_OUT: &str = "[…]";

/// Whether keys are for the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hearing {
    /// Nobody has seen it yet.
    Unseen,
    /// Somebody may be typing something else, the last time then.
    Typing(Duration),
    Keen,
}

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
        Self { request, guest: None, question, field, place: 0, responses: Map::new(), hearing: Hearing::Keen }
    }

    /// The same, for a chat, where somebody may be writing. Who does not say that the host asks is taken for an extension.
    pub(crate) fn in_chat(request: RequestId, asker: Option<&Asker>, asked: &Asked) -> Self {
        let guest = match asker {
            Some(Asker::Host { .. } | Asker::Pi { .. }) => None,
            Some(Asker::Extension { extension_id }) => Some(extension_id.clone()),
            None => Some("unknown".to_owned()),
        };
        Self { hearing: Hearing::Unseen, guest, ..Self::new(request, asked) }
    }

    /// It is shown at `now`. Where an answer is written nothing is given away by a key, so that a question to write in
    /// listens at once if nothing else is being written.
    pub(crate) fn show(&mut self, now: Duration, is_writing: bool) {
        self.hearing = match self.hearing {
            Hearing::Unseen if self.field.is_written() && !is_writing => Hearing::Keen,
            Hearing::Unseen => Hearing::Typing(now),
            Hearing::Typing(last) if now.saturating_sub(last) >= PAUSE => Hearing::Keen,
            hearing @ (Hearing::Typing(_) | Hearing::Keen) => hearing,
        };
    }

    /// Whether a key that is pressed at `now` is for the question. Whoever puts it away allows nothing, so that is heard at
    /// any time.
    pub(crate) fn hears(&mut self, key: KeyEvent, now: Duration) -> bool {
        if let Hearing::Typing(_) = self.hearing {
            self.show(now, true);
        }
        self.hearing == Hearing::Keen || is_cancel(key)
    }

    pub(crate) fn is_keen(&self) -> bool {
        self.hearing == Hearing::Keen
    }

    /// Somebody wrote something else at `now`.
    pub(crate) fn wait(&mut self, now: Duration) {
        if let Hearing::Typing(last) = &mut self.hearing {
            *last = now;
        }
    }

    /// Takes a key; the answer once there is one.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        if is_cancel(key) {
            return Some(Answer::Cancelled);
        }
        match self.field.key(key) {
            Step::Open => None,
            Step::Taken(value) => self.take(value),
            Step::Skipped => self.skip(),
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.field.paste(text);
    }

    /// The question and its field, and where the cursor is.
    pub(crate) fn lines(&self, look: &Look<'_>, height: usize) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let theme = look.theme;
        let mut lines = vec![self.head(look)];
        for (text, style) in self.words() {
            let style = if style { theme.strong } else { theme.quiet };
            let rows =
                printable_lines(&text).flat_map(|row| wrap_plain(Line::styled(row.into_owned(), style), look.width));
            lines.extend(rows.collect::<Vec<_>>());
        }
        // The question gives way before the field does. Its beginning says who asks, and its end what for.
        let room = height.saturating_sub(6).max(2);
        if lines.len() > room && room < 4 {
            lines.truncate(room);
        } else if lines.len() > room {
            let head = room / 2;
            let tail = lines.split_off(lines.len() - (room - head - 1));
            lines.truncate(head);
            lines.push(Line::styled(LEFT_OUT, theme.warning));
            lines.extend(tail);
        }
        let top = lines.len();
        let (field, cursor) = self.field.lines(look, height.saturating_sub(top + 1));
        lines.extend(field);
        let hint =
            if self.is_keen() { self.field.hint() } else { "one moment; keys still go to your message · esc cancel" };
        lines.push(shorten_line(Line::styled(hint, theme.quiet), look.width));
        (lines, cursor.map(|(row, column)| (top + row, column)))
    }

    /// Says who asks. An extension chooses every word below it, and none here but its name.
    fn head(&self, look: &Look<'_>) -> Line<'static> {
        let theme = look.theme;
        let (who, style) = match &self.guest {
            None => ("pi asks".to_owned(), theme.accent),
            Some(name) => (format!("extension {} asks", printable(name).replace('\n', " ")), theme.warning),
        };
        let head = Line::from_iter([Span::styled("── ", theme.border), Span::styled(who, style), Span::raw(" ")]);
        let mut head = shorten_line(head, look.width);
        let rest = look.width.saturating_sub(line_width(&head));
        head.push_span(Span::styled("─".repeat(rest), theme.border));
        head
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
