//! What the commands of the terminal do.

use pi_transcript::ThinkingLevel;
use ratatui_core::text::{Line, Span};

use super::{App, Pick};
use crate::{
    chat::Tone,
    commands::{self, BuiltIn},
    footer::window_of,
    picker::{Choice, Picker},
    text::{printable, width, wrap},
    wish::{Action, Fetch, Wish},
};

/// Between two columns.
const GAP: usize = 2;
/// What would be narrower than this stands below and not beside.
const NARROWEST: usize = 24;

impl App {
    pub(super) fn command(&mut self, command: BuiltIn, rest: &str) -> Vec<Action> {
        match command {
            BuiltIn::Help => {
                self.help();
                Vec::new()
            }
            BuiltIn::Hotkeys => {
                self.hotkeys();
                Vec::new()
            }
            BuiltIn::Model => self.choose_model(rest),
            BuiltIn::Thinking => self.choose_level(rest),
            BuiltIn::New => vec![Action::Leave(Wish::NewSession)],
            BuiltIn::Resume => vec![Action::Fetch(Fetch::Sessions)],
            BuiltIn::Fork => vec![Action::Fetch(Fetch::ForkPoints)],
            BuiltIn::Tree => vec![Action::Fetch(Fetch::Tree)],
            BuiltIn::Compact => {
                vec![Action::Compact { instructions: (!rest.is_empty()).then(|| rest.to_owned()) }]
            }
            BuiltIn::Context => vec![Action::Fetch(Fetch::Envelope)],
            BuiltIn::Usage => {
                self.usage();
                Vec::new()
            }
            BuiltIn::Export => vec![Action::Export { path: (!rest.is_empty()).then(|| rest.into()) }],
            BuiltIn::Name if rest.is_empty() => {
                let name = self.footer.name.clone().unwrap_or_else(|| "the session has no name".to_owned());
                self.note(Tone::Quiet, name);
                Vec::new()
            }
            BuiltIn::Name => vec![Action::Rename(rest.to_owned())],
            BuiltIn::Trust if self.is_trusted => {
                self.note(Tone::Quiet, "this project is trusted already; `pi trust --remove` takes that back");
                Vec::new()
            }
            BuiltIn::Trust if self.chat.activity().is_working() => {
                self.note(Tone::Warning, "the model is at work; stop it with esc first, or wait");
                Vec::new()
            }
            BuiltIn::Trust => vec![Action::Leave(Wish::Trust)],
            BuiltIn::Quit => vec![Action::Leave(Wish::Quit)],
        }
    }

    fn choose_model(&mut self, rest: &str) -> Vec<Action> {
        let exact = self
            .models
            .iter()
            .position(|model| model.id.as_str() == rest || format!("{}/{}", model.provider, model.id) == rest);
        match exact {
            Some(place) => self.set_model(place).into_iter().collect(),
            None => {
                self.pick_model(rest);
                Vec::new()
            }
        }
    }

    /// Asks for the model at a place of the list.
    pub(super) fn set_model(&self, place: usize) -> Option<Action> {
        let model = self.models.get(place)?;
        Some(Action::SetModel { provider: model.provider.clone(), model: model.id.clone() })
    }

    /// That the model cannot do what is wanted of it.
    pub(super) fn thoughtless(&self) -> String {
        format!("{}/{} does not think; /model chooses one that does", self.footer.model.provider, self.footer.model.id)
    }

    /// Opens the list of models.
    pub(super) fn pick_model(&mut self, filter: &str) {
        if self.models.is_empty() {
            return self.note(Tone::Warning, "no model can be asked: there are no credentials for any");
        }
        let choices = self.models.iter().enumerate().map(|(place, model)| Choice {
            label: format!("{}/{}", model.provider, model.id),
            detail: format!("{} · {}", model.name, window_of(model)),
            preview: String::new(),
            value: Pick::Model(place),
        });
        let mut picker = Picker::new("model", choices.collect(), self.model_place().unwrap_or(0));
        if !filter.is_empty() {
            picker.set_filter(filter);
        }
        self.picker = Some(picker);
    }

    fn choose_level(&mut self, rest: &str) -> Vec<Action> {
        if !self.footer.model.reasoning {
            let text = self.thoughtless();
            self.note(Tone::Quiet, text);
            return Vec::new();
        }
        if let Ok(level) = rest.parse::<ThinkingLevel>() {
            return vec![Action::SetThinking(level)];
        }
        let choices = ThinkingLevel::ALL.into_iter().map(|level| Choice {
            label: level.to_string(),
            detail: String::new(),
            preview: String::new(),
            value: Pick::Level(level),
        });
        let current = ThinkingLevel::ALL.iter().position(|level| *level == self.footer.thinking);
        self.picker = Some(Picker::new("thinking", choices.collect(), current.unwrap_or(0)));
        Vec::new()
    }

    fn help(&mut self) {
        let commands = self.commands.iter().map(|command| {
            let hint = command.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default();
            (format!("/{}{hint}", command.name), command.description.clone())
        });
        let lines = self.table(commands.collect());
        self.print(lines);
        self.hotkeys();
    }

    fn hotkeys(&mut self) {
        let keys = commands::KEYS.iter().map(|(key, what)| ((*key).to_owned(), (*what).to_owned()));
        let lines = self.table(keys.collect());
        self.print(lines);
    }

    fn usage(&mut self) {
        let totals = self.footer.totals;
        let rows = vec![
            ("calls".to_owned(), totals.calls.to_string()),
            ("input".to_owned(), format!("{} tokens", totals.input)),
            ("output".to_owned(), format!("{} tokens", totals.output)),
            ("cache read".to_owned(), format!("{} tokens", totals.cache_read)),
            ("cache write".to_owned(), format!("{} tokens", totals.cache_write)),
            ("cost".to_owned(), self.footer.spent()),
        ];
        let lines = self.table(rows);
        self.print(lines);
    }

    /// Two columns; where there is little room, what stands in the second stands below the first.
    fn table(&self, rows: Vec<(String, String)>) -> Vec<Line<'static>> {
        let wide = rows.iter().map(|(left, _)| width(left)).max().unwrap_or(0) + GAP;
        let is_beside = wide + NARROWEST <= self.width;
        let row = |(left, right): (String, String)| {
            let right = Span::raw(printable(&right).into_owned());
            let gap = " ".repeat(if is_beside { wide - width(&left) } else { GAP });
            let left = Span::styled(left, self.theme.accent);
            let hanging = Line::raw(" ".repeat(if is_beside { wide } else { GAP }));
            if is_beside {
                return wrap(Line::from(vec![left, Span::raw(gap), right]), self.width, &hanging);
            }
            let mut lines = wrap(Line::from(left), self.width, &hanging);
            lines.extend(wrap(Line::from(vec![Span::raw(gap), right]), self.width, &hanging));
            lines
        };
        rows.into_iter().flat_map(row).collect()
    }
}
