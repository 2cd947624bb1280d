//! A question of an extension, put to a person.
//!
//! An interview is asked field by field. Whatever the question, escape cancels it.

mod field;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use pi_transcript::{
    RequestId,
    question::{Answer, Asked, FormField, Question},
};
use ratatui_core::text::Line;
use serde_json::{Map, Value};

use self::field::{Field, Step};
use crate::{
    look::Look,
    text::{printable_lines, wrap_plain},
};

/// An open question.
#[derive(Debug)]
pub(crate) struct Dialog {
    pub(crate) request: RequestId,
    question: Question,
    field: Field,
    /// Which field of an interview is asked.
    place: usize,
    responses: Map<String, Value>,
}

impl Dialog {
    pub(crate) fn new(request: RequestId, asked: &Asked) -> Self {
        let question = asked.question().clone();
        let field = match &question {
            Question::Select { options, .. } => Field::select(options),
            Question::Confirm { .. } => Field::confirm(),
            Question::Input { .. } => Field::text(""),
            Question::Editor { prefill, .. } => Field::editor(prefill.as_deref().unwrap_or_default()),
            Question::Interview { questions, .. } => questions.first().map_or_else(|| Field::text(""), Field::of),
        };
        Self { request, question, field, place: 0, responses: Map::new() }
    }

    /// Takes a key; the answer once there is one.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<Answer> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.code == KeyCode::Esc || (is_control && key.code == KeyCode::Char('c')) {
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
        let mut lines = vec![Line::styled("─".repeat(look.width), theme.border)];
        for (text, style) in self.words() {
            let style = if style { theme.strong } else { theme.quiet };
            let rows =
                printable_lines(&text).flat_map(|row| wrap_plain(Line::styled(row.into_owned(), style), look.width));
            lines.extend(rows.collect::<Vec<_>>());
        }
        // The question gives way before the field does.
        lines.truncate(height.saturating_sub(6).max(2));
        let top = lines.len();
        let (field, cursor) = self.field.lines(look, height.saturating_sub(top + 1));
        lines.extend(field);
        lines.push(Line::styled(self.field.hint(), theme.quiet));
        (lines, cursor.map(|(row, column)| (top + row, column)))
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
