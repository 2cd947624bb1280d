//! What a key means, depending on what is open.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use pi_session::{
    Exposure, Journey, Summarise, Switch,
    directory::ForkPoint,
    input::complete::{CommandKind, called, nearest},
    queue::When,
};

use super::{
    App, Called, Keeping, Pick,
    caution::{Verdict, is_call},
    extensions::Listing,
    label::Naming,
};
use crate::{
    chat::{Activity, Tone},
    commands::{self, BuiltIn},
    completion::{Completion, Wanted, wanted},
    component,
    editor::Edit,
    keys,
    picker::{Choice, Picked, Picker},
    wish::{Action, Fetch, Wish},
};

/// Two presses of escape within this time are one gesture.
const TWICE: Duration = Duration::from_millis(800);
/// Whoever interrupts again within this time wants to leave.
const LEAVING: Duration = Duration::from_secs(1);
/// Whoever wants to leave again within this time means it.
const INSISTING: Duration = Duration::from_secs(3);

impl App {
    /// Takes a key that was pressed at `now`.
    pub fn key(&mut self, key: KeyEvent, now: Duration) -> Vec<Action> {
        if matches!(self.listing, Some(Listing::Back { .. })) {
            self.listing = None;
        }
        let mut actions = self.meant(key, now);
        self.begin_alone();
        if self.keeping == Keeping::Warned && actions.iter().any(is_change_of_mind) {
            self.keeping = Keeping::Failing;
        }
        actions.retain(|action| !matches!(action, Action::Leave(_)) || self.may_go());
        actions
    }

    /// Whether somebody who wants to leave may: where nothing is kept that should be, they must want it twice.
    fn may_go(&mut self) -> bool {
        match self.keeping {
            Keeping::Fine | Keeping::Warned | Keeping::Exported => true,
            Keeping::Failing => {
                self.keeping = Keeping::Warned;
                self.note(Tone::Warning, "this conversation is kept nowhere; /export keeps it; once more leaves");
                false
            }
        }
    }

    fn meant(&mut self, key: KeyEvent, now: Duration) -> Vec<Action> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.hint = None;
        if !self.dialogs.is_empty() {
            return self.dialog_key(key, now);
        }
        if self.components.has_keys() {
            return self.component_key(key, now);
        }
        if self.naming.is_some() {
            return self.naming_key(key);
        }
        if self.picker.is_some() {
            return self.picker_key(key);
        }
        if let Some(action) = keys::chord(key).and_then(|chord| self.shortcut(chord)) {
            return vec![action];
        }
        if let Some(actions) = self.completion_key(key, now) {
            return actions;
        }
        let actions = self.chord(key, now).unwrap_or_else(|| self.editor_key(key));
        actions.into_iter().chain(self.complete()).collect()
    }

    /// Takes text that was pasted.
    pub fn paste(&mut self, text: &str, now: Duration) -> Vec<Action> {
        if self.dialogs.is_empty() && self.components.has_keys() {
            if self.components.is_keen(now) {
                return self.components.press(text);
            }
            self.editor.paste(text);
            self.components.step_aside();
            return Vec::new();
        }
        match (self.dialogs.front_mut(), &mut self.naming) {
            (Some(dialog), _) if dialog.is_keen() => dialog.paste(text),
            (Some(dialog), _) => {
                self.editor.paste(text);
                dialog.step_aside();
            }
            (None, Some(naming)) => naming.paste(text),
            (None, None) => self.editor.paste(text),
        }
        self.complete()
    }

    /// A question has the keys, and whoever asks may ask again at once: the ways out of the program stay open.
    fn dialog_key(&mut self, key: KeyEvent, now: Duration) -> Vec<Action> {
        let is_leaving = is_control(key, 'd');
        let is_interrupt = is_control(key, 'c');
        if is_interrupt && self.is_insisting(now) {
            return vec![Action::Leave(Wish::Quit)];
        }
        let Some(dialog) = self.dialogs.front_mut() else { return Vec::new() };
        let is_heard = dialog.hears(key, now);
        // As in the editor, what is written is not lost by it.
        let is_untouched = if is_heard { dialog.is_untouched() } else { self.editor.is_empty() };
        if is_leaving && is_untouched {
            return self.leave(now);
        }
        if !is_heard {
            if dialog.turn_to(key) {
                return Vec::new();
            }
            // What somebody is writing goes on where it began, and is not sent by this.
            if let Some(edit) = keys::edit(key) {
                self.editor.edit(edit);
                dialog.step_aside();
            }
            return Vec::new();
        }
        let Some(answer) = dialog.key(key) else { return Vec::new() };
        let request = dialog.request.clone();
        self.dialogs.pop_front();
        if is_interrupt {
            self.hint = Some(("ctrl+c again leaves".to_owned(), Some(now + LEAVING)));
        }
        vec![Action::Answer { request, answer }]
    }

    /// Whether somebody interrupted a moment ago already, who does so at `now`.
    fn is_insisting(&mut self, now: Duration) -> bool {
        let is_second = self.last_interrupt.is_some_and(|last| now.saturating_sub(last) < LEAVING);
        self.last_interrupt = Some(now);
        is_second
    }

    /// A component that an extension draws has the keys, whatever it does with them; there are two ways back, and one out.
    fn component_key(&mut self, key: KeyEvent, now: Duration) -> Vec<Action> {
        let is_interrupt = is_control(key, 'c');
        if is_interrupt && self.is_insisting(now) {
            return vec![Action::Leave(Wish::Quit)];
        }
        let is_escape = key.code == KeyCode::Esc;
        let is_second = is_escape && self.last_escape.is_some_and(|last| now.saturating_sub(last) < TWICE);
        self.last_escape = (is_escape && !is_second).then_some(now);
        if is_interrupt || is_second {
            return vec![Action::Abort];
        }
        if !is_escape && !self.components.is_keen(now) {
            if is_control(key, 'd') && self.editor.is_empty() {
                return self.leave(now);
            }
            self.write_beside(key);
            return Vec::new();
        }
        component::name(key).map(|name| self.components.press(&name)).unwrap_or_default()
    }

    /// A component came up before somebody who writes: that goes on where it began, and is not sent by this.
    fn write_beside(&mut self, key: KeyEvent) {
        if key.code == KeyCode::Tab && self.components.turn() {
            return;
        }
        if let Some(edit) = keys::edit(key) {
            self.editor.edit(edit);
            self.components.step_aside();
        }
    }

    /// Keys that do not write.
    fn chord(&mut self, key: KeyEvent, now: Duration) -> Option<Vec<Action>> {
        let is = |modifiers: KeyModifiers| key.modifiers.contains(modifiers);
        if key.code != KeyCode::Esc {
            self.last_escape = None;
        }
        match key.code {
            KeyCode::Esc => Some(self.escape(now)),
            KeyCode::Char('c') if is(KeyModifiers::CONTROL) => Some(self.interrupt(now)),
            KeyCode::Char('d') if is(KeyModifiers::CONTROL) && self.editor.is_empty() => Some(self.leave(now)),
            KeyCode::Char('z') if is(KeyModifiers::CONTROL) => Some(vec![Action::Suspend]),
            KeyCode::Char('o') if is(KeyModifiers::CONTROL) => {
                self.detail = self.detail.other();
                if self.detail == crate::look::Detail::Full {
                    self.chat.show_recent();
                }
                Some(Vec::new())
            }
            KeyCode::Char('t') if is(KeyModifiers::CONTROL) => {
                self.thoughts = self.thoughts.other();
                Some(Vec::new())
            }
            KeyCode::Char('p' | 'P') if is(KeyModifiers::CONTROL) => {
                let is_back = is(KeyModifiers::SHIFT) || key.code == KeyCode::Char('P');
                Some(self.cycle_model(if is_back { -1 } else { 1 }))
            }
            KeyCode::Char('l') if is(KeyModifiers::CONTROL) => {
                self.pick_model("");
                Some(Vec::new())
            }
            KeyCode::BackTab => Some(self.cycle_thinking()),
            KeyCode::Enter => Some(self.enter(key, now)),
            KeyCode::Up if is(KeyModifiers::ALT) => Some(vec![Action::TakeBack]),
            KeyCode::Up => {
                self.editor.up(self.width);
                Some(Vec::new())
            }
            KeyCode::Down => {
                self.editor.down(self.width);
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn editor_key(&mut self, key: KeyEvent) -> Vec<Action> {
        if let Some(edit) = keys::edit(key) {
            self.editor.edit(edit);
        } else if key.code == KeyCode::Tab {
            self.dismissed = None;
        }
        Vec::new()
    }

    fn enter(&mut self, key: KeyEvent, now: Duration) -> Vec<Action> {
        if key.modifiers.contains(KeyModifiers::SHIFT) || self.editor.before_cursor().ends_with('\\') {
            if !key.modifiers.contains(KeyModifiers::SHIFT) {
                self.editor.edit(Edit::DeleteBack);
            }
            self.editor.edit(Edit::NewLine);
            return Vec::new();
        }
        let when = if key.modifiers.contains(KeyModifiers::ALT) { When::FollowUp } else { When::Steer };
        self.submit(when, now)
    }

    /// Takes what is written and does it, unless somebody has to read first what is not theirs.
    fn submit(&mut self, when: When, now: Duration) -> Vec<Action> {
        self.completion = None;
        let whole = self.editor.whole();
        if self.is_held(&whole, now) {
            return Vec::new();
        }
        let caution = std::mem::take(&mut self.caution);
        // What others would have run does not come back with a key, as if a person had typed it once.
        let is_foreign = is_call(&whole) && !caution.authors().is_empty();
        let text = if is_foreign { self.editor.take_unremembered() } else { self.editor.take() };
        let line = text.trim();
        if line.is_empty() {
            return Vec::new();
        }
        if let Some((command, rest)) = BuiltIn::read(line) {
            return self.command(command, rest);
        }
        // Whoever types this alone means no model.
        if matches!(line, "exit" | "quit") {
            return vec![Action::Leave(Wish::Quit)];
        }
        if let Some(name) = commands::unknown(&text, &self.commands) {
            self.miss(name);
            self.editor.set(&text);
            self.caution = caution;
            return Vec::new();
        }
        if let Some(command) = line.strip_prefix('!') {
            let (command, exposure) = match command.strip_prefix('!') {
                Some(command) => (command, Exposure::Hidden),
                None => (command, Exposure::Shown),
            };
            let command = command.trim().to_owned();
            let written_by = caution.answerable();
            return if command.is_empty() { Vec::new() } else { vec![Action::Run { command, exposure, written_by }] };
        }
        if self.is_unheard() {
            self.editor.set(&text);
            self.caution = caution;
            return Vec::new();
        }
        let commands = self.commands.iter().filter(|command| command.kind == CommandKind::Extension);
        if called(&text).is_some_and(|name| commands.into_iter().any(|command| command.name == name)) {
            self.called.push(Called { text: text.clone(), since: None });
        }
        vec![Action::Say { text, when }]
    }

    /// Whether an enter leaves a text where it is, and says why.
    fn is_held(&mut self, text: &str, now: Duration) -> bool {
        let who = self.caution.authors().told();
        let why = match self.caution.judge(text, now) {
            Verdict::Send => return false,
            Verdict::TooEarly => "this has just changed; enter again sends it".to_owned(),
            Verdict::Again => format!("enter again runs this · ctrl+c clears it · written by {who}"),
        };
        self.hint = Some((why, None));
        true
    }

    /// Says that there is no such command, and which one may be meant.
    fn miss(&mut self, name: &str) {
        let known = self.commands.iter().map(|command| command.name.as_str());
        let meant = nearest(name, known).first().map(|meant| format!("did you mean /{meant}? ")).unwrap_or_default();
        let text =
            format!("there is no command /{name}; {meant}/help lists all. With a blank before it the model hears it");
        self.note(Tone::Warning, text);
    }

    /// How what goes on is stopped, if something does.
    fn stop(&self) -> Option<Action> {
        match self.chat.activity() {
            Activity::Retrying { .. } => Some(Action::AbortRetry),
            Activity::Working { .. } | Activity::Compacting { .. } => Some(Action::Abort),
            Activity::Idle => (self.chat.is_moving() || !self.called.is_empty()).then_some(Action::Abort),
        }
    }

    fn escape(&mut self, now: Duration) -> Vec<Action> {
        if let Some(stop) = self.stop() {
            return vec![stop];
        }
        let is_second = self.last_escape.is_some_and(|last| now.saturating_sub(last) < TWICE);
        self.last_escape = (!is_second).then_some(now);
        if is_second && self.editor.is_empty() { vec![Action::Fetch(Fetch::Tree)] } else { Vec::new() }
    }

    /// Leaves. What is being written would be broken off, so while the model works that has to be wanted twice.
    fn leave(&mut self, now: Duration) -> Vec<Action> {
        let is_second = self.last_leave.is_some_and(|last| now.saturating_sub(last) < INSISTING);
        if !self.chat.activity().is_working() || is_second {
            return vec![Action::Leave(Wish::Quit)];
        }
        self.last_leave = Some(now);
        self.hint = Some(("the model is at work; ctrl+d again stops it and leaves".to_owned(), Some(now + INSISTING)));
        Vec::new()
    }

    /// Clears what is written, or stops what goes on; the second time leaves.
    fn interrupt(&mut self, now: Duration) -> Vec<Action> {
        if self.is_insisting(now) {
            return vec![Action::Leave(Wish::Quit)];
        }
        let stop = if self.editor.is_empty() { self.stop() } else { None };
        self.editor.clear();
        let word = if stop.is_some() { "stopping; " } else { "" };
        self.hint = Some((format!("{word}ctrl+c again leaves"), Some(now + LEAVING)));
        stop.into_iter().collect()
    }

    fn picker_key(&mut self, key: KeyEvent) -> Vec<Action> {
        if let Some(actions) = self.list_key(key) {
            return actions;
        }
        let Some(picker) = &mut self.picker else { return Vec::new() };
        match picker.key(key) {
            Picked::Nothing => Vec::new(),
            Picked::Left => {
                self.picker = None;
                Vec::new()
            }
            Picked::Taken(pick) => {
                self.picker = None;
                self.picked(pick).into_iter().collect()
            }
        }
    }

    /// Keys that mean something in some lists only; `None` if the key is for every list.
    fn list_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let chosen = self.picker.as_ref()?.selected()?;
        match (&chosen.value, key.code) {
            (Pick::Place(entry), KeyCode::Char('L')) => {
                let label = self.points.iter().find(|point| point.entry == *entry)?.label.as_deref();
                self.naming = Some(Naming::new(entry.clone(), chosen.label.trim(), label));
                Some(Vec::new())
            }
            (Pick::Session(path), KeyCode::Char('d')) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                let choice = |label: &str, value| Choice {
                    label: label.to_owned(),
                    detail: String::new(),
                    preview: String::new(),
                    value,
                };
                let choices = vec![choice("no", Pick::Back), choice("yes, for ever", Pick::Delete(path.clone()))];
                let title = format!("delete the session \"{}\"?", chosen.label);
                self.picker = Some(Picker::new(title, choices, 0));
                Some(Vec::new())
            }
            (Pick::Extension { id, .. }, KeyCode::Char('r')) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                let id = id.clone();
                self.picker = None;
                self.listing = Some(Listing::Back { to: id.clone() });
                Some(vec![Action::ReloadExtension(id)])
            }
            _ => None,
        }
    }

    fn picked(&mut self, pick: Pick) -> Option<Action> {
        match pick {
            Pick::Extension { id, is_on } => {
                self.listing = Some(Listing::Back { to: id.clone() });
                let switch = if is_on { Switch::Off } else { Switch::On };
                Some(Action::SwitchExtension { id, switch })
            }
            Pick::Missing(place) => {
                self.tell_missing(place);
                None
            }
            Pick::Delete(path) => Some(Action::Delete(path)),
            Pick::Back => Some(Action::Fetch(Fetch::Sessions)),
            Pick::Model(place) => self.set_model(place),
            Pick::Level(level) => Some(Action::SetThinking(level)),
            Pick::Session(path) => Some(Action::Leave(Wish::Resume(path))),
            Pick::Fork(entry) => Some(Action::Leave(Wish::Fork(ForkPoint::Before(entry)))),
            Pick::Journey(journey) => Some(Action::Navigate(journey)),
            Pick::Place(target) => {
                let choice = |label: &str, summarise| Choice {
                    label: label.to_owned(),
                    detail: String::new(),
                    preview: String::new(),
                    value: Pick::Journey(Journey { target: target.clone(), summarise, label: None }),
                };
                let choices = vec![choice("no", Summarise::No), choice("yes", Summarise::Yes)];
                self.picker = Some(Picker::new("sum up what is left behind?", choices, 0));
                None
            }
        }
    }

    /// Keys that belong to the popup while it is open; `None` if the key is for somebody else.
    fn completion_key(&mut self, key: KeyEvent, now: Duration) -> Option<Vec<Action>> {
        let completion = self.completion.as_mut().filter(|completion| !completion.is_empty())?;
        match key.code {
            KeyCode::Up => completion.step(-1),
            KeyCode::Down => completion.step(1),
            KeyCode::Esc => {
                self.dismissed = Some(completion.wanted.clone());
                self.completion = None;
            }
            // What stands there in full is sent.
            KeyCode::Enter if key.modifiers.is_empty() && completion.is_written(&self.editor) => {
                self.completion = None;
                return None;
            }
            KeyCode::Tab | KeyCode::Enter if key.modifiers.is_empty() => {
                let is_argument = matches!(completion.wanted, Wanted::Argument { .. });
                let is_command = matches!(completion.wanted, Wanted::Command(_));
                completion.accept(&mut self.editor);
                self.completion = None;
                if is_argument {
                    // It stands there in full, until somebody goes on typing.
                    self.dismissed = wanted(&self.editor);
                    return Some(Vec::new());
                }
                if is_command && key.code == KeyCode::Enter {
                    return Some(self.submit(When::Steer, now));
                }
                return Some(self.complete());
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Brings the popup up to date with what stands before the cursor.
    fn complete(&mut self) -> Vec<Action> {
        let wanted = wanted(&self.editor)
            .filter(|wanted| self.dismissed.as_ref() != Some(wanted) && wanted.is_known(&self.commands));
        if self.completion.as_ref().map(|completion| &completion.wanted) == wanted.as_ref() {
            return Vec::new();
        }
        // What was found for less stays until more is known.
        let is_more = |known: &Completion| wanted.as_ref().is_some_and(|wanted| wanted.is_like(&known.wanted));
        self.completion = self.completion.take().filter(is_more);
        match wanted {
            None => {}
            Some(Wanted::Command(query)) => {
                self.completion = Some(Completion::commands(&query, &self.commands));
            }
            Some(Wanted::File(query)) => return vec![Action::FindFiles { query }],
            Some(Wanted::Argument { command, prefix }) => return vec![Action::CompleteArgument { command, prefix }],
        }
        Vec::new()
    }
}

fn is_control(key: KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Whether somebody who was told what leaving costs does something else instead: then they are told again.
fn is_change_of_mind(action: &Action) -> bool {
    match action {
        Action::Leave(_)
        | Action::FindFiles { .. }
        | Action::CompleteArgument { .. }
        | Action::Suspend
        | Action::Press { .. }
        | Action::Draw { .. }
        | Action::Wrote { .. } => false,
        Action::Say { .. }
        | Action::Abort
        | Action::AbortRetry
        | Action::TakeBack
        | Action::Run { .. }
        | Action::SetModel { .. }
        | Action::CycleModel { .. }
        | Action::SetThinking(_)
        | Action::Rename(_)
        | Action::Compact { .. }
        | Action::Label { .. }
        | Action::Delete(_)
        | Action::SwitchExtension { .. }
        | Action::ReloadExtension(_)
        | Action::Reload
        | Action::Export { .. }
        | Action::Navigate(_)
        | Action::PressShortcut(_)
        | Action::Fetch(_)
        | Action::Answer { .. } => true,
    }
}
