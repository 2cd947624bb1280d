//! What the commands of the terminal do.

use ratatui_core::text::{Line, Span};

use super::{App, extensions::Listing};
use crate::{
    chat::Tone,
    commands::{self, BuiltIn},
    text::{printable, width, wrap},
    wish::{Action, Fetch, Marked, Wish},
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
            // Whatever leaves the session would break off the answer that is being written.
            BuiltIn::New | BuiltIn::Resume | BuiltIn::Fork | BuiltIn::Trust | BuiltIn::Reload if self.is_at_work() => {
                Vec::new()
            }
            BuiltIn::New => vec![Action::Leave(Wish::NewSession)],
            BuiltIn::Resume => vec![Action::Fetch(Fetch::Sessions)],
            BuiltIn::Fork => vec![Action::Fetch(Fetch::ForkPoints)],
            BuiltIn::Tree => vec![Action::Fetch(Fetch::Tree)],
            BuiltIn::Compact if self.is_unheard() => Vec::new(),
            BuiltIn::Compact => {
                vec![Action::Compact { instructions: (!rest.is_empty()).then(|| rest.to_owned()) }]
            }
            BuiltIn::Context => vec![Action::Fetch(Fetch::Envelope)],
            BuiltIn::Usage => {
                self.usage();
                Vec::new()
            }
            BuiltIn::Label => {
                let label = (!rest.is_empty()).then(|| rest.to_owned());
                vec![Action::Label { place: Marked::Last, label }]
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
            BuiltIn::Trust => vec![Action::Leave(Wish::Trust)],
            BuiltIn::Extensions => {
                self.listing = Some(Listing::Asked);
                vec![Action::Fetch(Fetch::Extensions)]
            }
            BuiltIn::Reload => {
                // Building and starting them takes a while, and nothing else is seen of it.
                self.note(Tone::Quiet, "reading everything anew …");
                vec![Action::Reload]
            }
            BuiltIn::Quit => vec![Action::Leave(Wish::Quit)],
        }
    }

    /// Says that the model is at work, where that is so.
    fn is_at_work(&mut self) -> bool {
        let is_working = self.chat.activity().is_working();
        if is_working {
            self.note(Tone::Warning, "the model is at work; stop it with esc first, or wait");
        }
        is_working
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
        let lines = self.table(keys.chain(self.given_keys()).collect());
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
