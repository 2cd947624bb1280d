//! Everything on the screen, as data.
//!
//! Keys, pastes and reports go in, [`Action`]s and [`Frame`](crate::Frame)s come out. Nothing here waits, reads or writes.

mod announce;
mod caution;
mod command;
mod extensions;
mod frame;
mod key;
mod label;
mod model;
mod report;
mod shortcuts;

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use pi_session::{Exposure, Journey, State, input::complete::Command, queue::Waiting};
use pi_transcript::{EntryId, Message, Model, RequestId, ThinkingLevel};
use ratatui_core::text::Line;

use self::{caution::Caution, extensions::Listing, label::Naming, model::Knowledge, shortcuts::Shortcuts};
use crate::{
    chat::{Chat, Tone},
    completion::{Completion, Wanted},
    component::Components,
    dialog::Dialog,
    draft::{Authors, Draft},
    editor::Editor,
    footer::{Footer, Totals},
    look::{Detail, Thoughts},
    picker::Picker,
    theme::{Colours, Theme},
    wish::{Action, Missing, Point},
};

/// What somebody should know who is here for the first time.
const BEGINNING: &str = "/help for commands, Esc to stop, @ for a file, ! for a shell command, Ctrl+D to leave";

/// Rows below the conversation that a component does not get: the rules around it, its hint and the footer.
const OUTSIDE: usize = 8;

/// What can be picked from a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    Model(usize),
    /// One that cannot be asked.
    Missing(usize),
    Level(ThinkingLevel),
    Session(PathBuf),
    /// To be deleted.
    Delete(PathBuf),
    /// Nothing is done, and the list before comes back.
    Back,
    Fork(EntryId),
    Place(EntryId),
    Journey(Journey),
    /// To be switched.
    Extension {
        id: String,
        is_on: bool,
    },
}

/// What an [`App`] begins with.
#[derive(Debug, Clone)]
pub struct Beginning {
    pub state: State,
    /// Every model that can be chosen.
    pub models: Vec<Model>,
    /// How many of them, the first, are gone through; none for all.
    pub scoped: usize,
    /// Those that could be, if something were set.
    pub missing: Vec<Missing>,
    /// Those of which nobody says what they can do, as `provider/model`.
    pub undescribed: Vec<String>,
    /// Why the model of the session is the one that is asked.
    pub why: String,
    /// Why it cannot be asked, if so: the conversation can be read then, until somebody chooses another model.
    pub silence: Option<String>,
    /// What can be called with a `/`, built-in commands not included.
    pub commands: Vec<Command>,
    /// Tools whose calls and results extensions draw.
    pub drawn_tools: Vec<String>,
    pub theme: Theme,
    pub colours: Colours,
    pub thoughts: Thoughts,
    /// As people write it, with `~`.
    pub directory: String,
    pub branch: Option<String>,
    /// What was said before, the oldest first.
    pub history: Vec<String>,
    /// Whether what the project brings is used already.
    pub is_trusted: bool,
    /// Whether it was told that the file of the session cannot be written.
    pub is_unwritable: bool,
}

/// The screen.
#[derive(Debug)]
pub struct App {
    chat: Chat,
    editor: Editor,
    /// Who wrote in it beside the person.
    caution: Caution,
    footer: Footer,
    theme: Theme,
    colours: Colours,
    detail: Detail,
    thoughts: Thoughts,
    /// Whether thinking is shown, as the settings say; somebody may have chosen otherwise here.
    usual_thoughts: Thoughts,
    models: Vec<Model>,
    /// How many of them, the first, are gone through; none for all.
    scoped: usize,
    commands: Vec<Command>,
    completion: Option<Completion>,
    /// A completion that was dismissed does not come back before the text changes.
    dismissed: Option<Wanted>,
    knowledge: Knowledge,
    picker: Option<Picker<Pick>>,
    /// The places of the list that is open, or was last.
    points: Vec<Point>,
    /// A label that is being written.
    naming: Option<Naming>,
    /// The place at which the list of places opens next.
    tree_at: Option<EntryId>,
    /// Whether the list of extensions opens when it comes.
    listing: Option<Listing>,
    dialogs: VecDeque<Dialog>,
    components: Components,
    waiting: Waiting,
    /// Commands and keys of extensions that were called here and run.
    called: Vec<Called>,
    shortcuts: Shortcuts,
    /// The last text of an extension that was put into the editor.
    changed_by: Option<RequestId>,
    /// What was told last of the editor.
    told_text: Option<(String, Option<RequestId>)>,
    statuses: BTreeMap<Own, String>,
    above: BTreeMap<Own, Vec<String>>,
    below: BTreeMap<Own, Vec<String>>,
    working_message: Option<String>,
    title: Option<String>,
    /// A short word to the user, below the editor, until the next key, or until that time.
    hint: Option<(String, Option<Duration>)>,
    last_escape: Option<Duration>,
    last_interrupt: Option<Duration>,
    last_leave: Option<Duration>,
    is_trusted: bool,
    is_unwritable: bool,
    keeping: Keeping,
    width: usize,
    height: usize,
}

/// A name that an extension gave to something that it shows. The same one of another extension is another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Own {
    guest: String,
    key: String,
}

/// A command or a key of an extension that runs.
#[derive(Debug)]
struct Called {
    /// As it was typed; of a key its name.
    text: String,
    /// Known from the first frame on that shows it.
    since: Option<Duration>,
}

/// Whether what was said is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// As it was asked for.
    Fine,
    /// The disk fails.
    Failing,
    /// The same, and whoever wanted to leave was just told so.
    Warned,
    /// The same, and everything that was said so far is in a file that somebody wanted.
    Exported,
}

impl App {
    pub fn new(beginning: Beginning) -> Self {
        let Beginning {
            state,
            models,
            scoped,
            commands,
            theme,
            thoughts,
            directory,
            branch,
            history,
            is_trusted,
            is_unwritable,
            ..
        } = beginning;
        let Beginning { missing, undescribed, why, silence, colours, drawn_tools, .. } = beginning;
        let is_described = !undescribed.contains(&model::name(&state.model));
        let mut app = Self {
            chat: Chat::drawing(drawn_tools),
            editor: Editor::new(history),
            caution: Caution::default(),
            footer: Footer {
                model: Arc::unwrap_or_clone(state.model),
                is_described,
                thinking: state.thinking,
                directory,
                branch,
                name: state.name,
                totals: Totals::default(),
                context: None,
            },
            theme,
            colours,
            detail: Detail::default(),
            thoughts,
            usual_thoughts: thoughts,
            models,
            scoped,
            commands: Vec::new(),
            completion: None,
            dismissed: None,
            knowledge: Knowledge { missing, undescribed, why, silence },
            picker: None,
            points: Vec::new(),
            naming: None,
            tree_at: None,
            listing: None,
            dialogs: VecDeque::new(),
            components: Components::default(),
            waiting: state.waiting,
            called: Vec::new(),
            shortcuts: Shortcuts::default(),
            changed_by: None,
            told_text: None,
            statuses: BTreeMap::new(),
            above: BTreeMap::new(),
            below: BTreeMap::new(),
            working_message: None,
            title: None,
            hint: None,
            last_escape: None,
            last_interrupt: None,
            last_leave: None,
            is_trusted,
            is_unwritable,
            keeping: if state.is_failing { Keeping::Failing } else { Keeping::Fine },
            width: 80,
            height: 24,
        };
        app.set_commands(commands);
        app
    }

    /// Shows a conversation that was opened again. What it has consumed is told by [`Report::Spent`](crate::Report).
    pub fn recall<'a>(&mut self, messages: impl ExactSizeIterator<Item = &'a Message> + Clone, now: Duration) {
        self.remember(messages.clone());
        self.chat.recall(messages, now);
    }

    /// Takes note of a conversation that stands on the screen already.
    pub fn remember<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) {
        messages.for_each(|message| self.footer.fill_with(message));
    }

    /// Nothing more comes: what was being written stays as far as it came.
    pub fn finish(&mut self) {
        self.chat.break_off();
    }

    /// Prints lines above everything that comes.
    pub fn print(&mut self, lines: Vec<Line<'static>>) {
        self.chat.print(lines);
    }

    pub fn note(&mut self, tone: Tone, text: impl Into<String>) {
        self.chat.note(tone, text);
    }

    /// Shows a command that the user has just been given.
    pub fn begin_command(&mut self, command: &str, exposure: Exposure, now: Duration) {
        self.chat.run_command(command, exposure, now);
    }

    /// Puts into the editor what stood in another one.
    pub fn write(&mut self, draft: &Draft) {
        self.editor.set(&draft.text);
        if !draft.authors.is_empty() {
            self.caution.note(&draft.authors);
        }
    }

    /// What is written in the editor, to show it in the next session.
    pub fn written(&self) -> Draft {
        Draft { text: self.editor.whole(), authors: self.caution.authors().clone() }
    }

    /// Changes the text in the editor for somebody else than the person.
    fn rewrite(&mut self, by: &Authors, change: impl FnOnce(&mut Editor)) {
        let before = self.editor.whole();
        change(&mut self.editor);
        if self.editor.whole() != before {
            self.caution.note(by);
            if self.editor.is_empty() {
                self.editor.clear();
                self.caution.forget_authors();
            }
        }
    }

    /// What a person took away whole is nobody's, and does not come back: whatever they write now is theirs.
    fn begin_alone(&mut self) {
        if self.editor.is_empty() && !self.caution.authors().is_empty() {
            self.editor.clear();
            self.caution = Caution::default();
        }
    }

    /// What stands in the editor, if it was not told yet: extensions ask their session for it.
    pub fn changed_text(&mut self) -> Option<Action> {
        let (text, after) = (self.editor.whole(), self.changed_by.clone());
        if self.told_text.as_ref().is_some_and(|told| told.0 == text && told.1 == after) {
            return None;
        }
        self.told_text = Some((text.clone(), after.clone()));
        Some(Action::Wrote { text, after })
    }

    /// What components of extensions are to be told of the room that there is, and which messages they are to draw in it.
    pub fn measure(&mut self) -> Vec<Action> {
        // The footer and the rules around a component are not its own.
        let mut actions = self.components.measure(self.width, self.height.saturating_sub(OUTSIDE).max(1));
        actions.extend(self.chat.undrawn(self.width));
        actions
    }

    /// Nobody takes what was wanted: what an extension was to draw is shown in the usual way, and what stands in the editor is
    /// told anew.
    pub fn give_up(&mut self, action: &Action) {
        if let Action::Draw { place, .. } = action {
            self.chat.draw(*place, None);
        }
        if matches!(action, Action::Wrote { .. }) {
            self.told_text = None;
        }
    }

    /// Whether something on the screen changes by itself.
    pub fn is_moving(&self) -> bool {
        self.chat.is_moving()
            || !self.called.is_empty()
            || self.dialogs.front().is_some_and(|dialog| dialog.is_waiting() || dialog.is_counting())
            || self.components.is_waiting()
            || matches!(self.hint, Some((_, Some(_))))
    }

    /// Says who is here, above everything that comes: the program, the model, the folder, and how to begin.
    pub fn introduce(&mut self, program: &str) {
        let Footer { model, directory, .. } = &self.footer;
        let title = format!("{program} · {}/{} · {directory}", model.provider, model.id);
        self.chat.head(title, vec![BEGINNING.to_owned()]);
    }

    /// What the window is called.
    pub fn title(&self) -> String {
        match (&self.title, &self.footer.name) {
            (Some(title), _) => title.clone(),
            (None, Some(name)) => format!("pi · {name}"),
            (None, None) => format!("pi · {}", self.footer.directory),
        }
    }

    /// What can be called with a `/`.
    fn set_commands(&mut self, commands: Vec<Command>) {
        self.commands = crate::commands::list();
        self.commands.extend(commands);
    }
}
