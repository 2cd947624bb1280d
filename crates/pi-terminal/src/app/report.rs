//! What the screen makes of what happens outside.

use std::time::Duration;

use pi_session::export::Form;
use pi_transcript::{AgentEvent, Entry, Message, Usage, json::Loose, question::UiRequest};

use super::{
    App, Keeping, Pick,
    extensions::{Listing, list},
};
use crate::{
    bar::envelope_bar,
    chat::{Tone, outcome},
    choose::row,
    completion::{Completion, Wanted, wanted},
    dialog::Dialog,
    draft::{Authors, Draft},
    picker::{Choice, Picker},
    wish::{Point, Report},
};

impl App {
    /// Takes note of what happened at `now`.
    pub fn report(&mut self, report: &Report, now: Duration) {
        match report {
            Report::Event(event) => self.hear(event, now),
            Report::Files { query, listing } => {
                if wanted(&self.editor).as_ref() == Some(&Wanted::File(query.clone())) {
                    self.completion = Some(Completion::files(query, listing));
                }
            }
            Report::Arguments { command, prefix, suggestions } => {
                let asked = Wanted::Argument { command: command.clone(), prefix: prefix.clone() };
                if wanted(&self.editor).as_ref() == Some(&asked) && self.dismissed.as_ref() != Some(&asked) {
                    self.completion = Some(Completion::arguments(asked, suggestions));
                }
            }
            Report::Drawn { place, lines } => self.chat.draw(*place, lines.as_deref()),
            Report::TakenBack(texts) => self.take_back(texts),
            Report::Answered(text) => self.forget_call(text),
            Report::Model(model) => self.take_model((**model).clone()),
            Report::Offers { models, scoped, commands, drawn_tools, shortcuts } => {
                self.chat.draw_tools(drawn_tools);
                self.give_keys(shortcuts.clone());
                self.models.clone_from(models);
                self.scoped = *scoped;
                self.set_commands(commands.clone());
            }
            Report::Manner { theme, thoughts } => {
                self.theme.clone_from(theme);
                // What somebody chose stays, unless the settings say something new.
                if std::mem::replace(&mut self.usual_thoughts, *thoughts) != *thoughts {
                    self.thoughts = *thoughts;
                }
            }
            Report::Thinking(level) => self.footer.thinking = *level,
            Report::Envelope(Some(envelope)) => {
                let lines = envelope_bar(envelope, self.width, self.colours);
                self.print(lines);
            }
            Report::Envelope(None) => self.note(Tone::Quiet, "the model was shown nothing yet"),
            Report::Sessions(catalogue) => {
                let choices = catalogue.stored.iter().map(|stored| row(stored, catalogue, Pick::Session));
                self.open("session", choices.collect(), 0, "there is no other session here");
                self.add_key("ctrl+d delete");
            }
            Report::ForkPoints(points) => {
                let choices = points.iter().map(|point| place(point, Pick::Fork(point.entry.clone())));
                self.open("fork before", choices.collect(), points.len().saturating_sub(1), "nothing was said yet");
            }
            Report::Tree(points) => {
                let choices = points.iter().map(|point| place(point, Pick::Place(point.entry.clone())));
                let wanted = self.tree_at.take();
                let wanted = points.iter().position(|point| Some(&point.entry) == wanted.as_ref());
                let current = wanted.or_else(|| points.iter().rposition(|point| point.is_current)).unwrap_or(0);
                self.open("go to", choices.collect(), current, "nothing was said yet");
                self.add_key("shift+l label");
                self.points.clone_from(points);
            }
            Report::Extensions(extensions) if extensions.is_empty() => {
                self.note(
                    Tone::Quiet,
                    "there are no extensions here; `pi ext new` writes one, `pi mcp add` adds a server",
                );
            }
            Report::Extensions(extensions) => match self.listing.take() {
                Some(Listing::Asked) => self.picker = Some(list(extensions, self.width, None)),
                Some(Listing::Back { to }) => self.picker = Some(list(extensions, self.width, Some(&to))),
                None => {}
            },
            Report::Ran(Ok(run)) => {
                let (output, is_error) = outcome(run);
                self.chat.end_command(&output, is_error, now);
            }
            Report::Ran(Err(why)) => self.chat.refuse_command(why, now),
            Report::Went { went, messages } => {
                self.note(Tone::Quiet, "the conversation goes on from here");
                self.footer.context = None;
                self.chat.recall(messages.iter().map(|message| &**message), now);
                if let Some(text) = &went.text {
                    self.rewrite(&Authors::conversation(), |editor| editor.set(text));
                }
            }
            Report::Spent { usage, calls } => self.footer.totals.add_past(usage, *calls),
            Report::Missed(messages) => {
                // Those that are still there are told anew.
                self.components.clear();
                self.chat.break_off();
                self.note(Tone::Warning, "some of what happened was missed here; this is the conversation so far");
                self.recall(messages.iter().map(|message| &**message), now);
            }
            // Whoever drives the screen leaves.
            Report::Leave(_) => {}
            Report::Exported { path, form } => {
                // An envelope is what the model was shown, and not what was said.
                if matches!(self.keeping, Keeping::Failing | Keeping::Warned) && *form != Form::Envelope {
                    self.keeping = Keeping::Exported;
                }
                self.note(Tone::Good, format!("written to {} as {}", path.display(), form.told()));
            }
            Report::Unsent(texts) => {
                self.note(Tone::Warning, "what waited was not sent; it stands in the editor again");
                self.take_back(texts);
            }
            Report::Told(text) => self.note(Tone::Good, text.clone()),
            Report::Failed(text) => self.note(Tone::Bad, text.clone()),
            Report::Advice(text) => self.note(Tone::Quiet, format!("hint: {text}")),
        }
    }

    fn hear(&mut self, event: &AgentEvent, now: Duration) {
        // Whoever was told that nothing can be written need not be told again that nothing is.
        let is_told = matches!(event, AgentEvent::StorageFailed { .. }) && std::mem::take(&mut self.is_unwritable);
        if !is_told {
            self.chat.apply(event, now);
        }
        // There is something new that can be lost.
        match (self.keeping, event) {
            (Keeping::Warned | Keeping::Exported, AgentEvent::AgentStart)
            | (Keeping::Exported, AgentEvent::MessageEnd { .. }) => self.keeping = Keeping::Failing,
            _ => {}
        }
        match event {
            AgentEvent::MessageEnd { message: message @ Message::Assistant(said) } => {
                said.usage.known().into_iter().for_each(|usage| self.footer.totals.add(usage));
                self.footer.fill_with(message);
            }
            AgentEvent::QueueUpdate { steering, follow_up } => {
                self.waiting.steering.clone_from(steering);
                self.waiting.follow_up.clone_from(follow_up);
            }
            AgentEvent::AutoCompactionEnd { result: Some(_), .. } => self.footer.context = None,
            AgentEvent::EntryAppended { entry: Entry::Compaction(summary) } => {
                self.count_summary(summary.usage.as_ref())
            }
            AgentEvent::EntryAppended { entry: Entry::BranchSummary(summary) } => {
                self.count_summary(summary.usage.as_ref());
            }
            AgentEvent::SessionInfoChanged { name } => self.footer.name.clone_from(name),
            AgentEvent::ThinkingLevelChanged { level } => self.footer.thinking = *level,
            AgentEvent::EntryAppended { entry: Entry::ModelChange(change) } => {
                let chosen =
                    |model: &&pi_transcript::Model| model.id == change.model_id && model.provider == change.provider;
                let model = self.models.iter().find(chosen).filter(|model| **model != self.footer.model);
                if let Some(model) = model.cloned() {
                    self.take_model(model);
                }
            }
            AgentEvent::ExtensionUiRequest { request_id, asker, request: UiRequest::Question(asked) } => {
                self.dialogs.push_back(Dialog::in_chat(request_id.clone(), asker.as_ref(), asked, now));
            }
            AgentEvent::ExtensionUiRequest { request_id, asker, request: UiRequest::Announcement(announcement) } => {
                self.announce(request_id, asker.as_ref(), announcement);
            }
            AgentEvent::ExtensionUiRender { request_id, extension_id, lines, placement, .. } => {
                self.components.render(request_id, extension_id.as_deref(), lines, *placement);
            }
            AgentEvent::ExtensionUiResolved { request_id, .. } => {
                self.dialogs.retain(|dialog| dialog.request != *request_id);
                self.components.remove(request_id);
            }
            AgentEvent::AgentStart
            | AgentEvent::AgentEnd { .. }
            | AgentEvent::AgentSettled { .. }
            | AgentEvent::TurnStart
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::MessageStart { .. }
            | AgentEvent::MessageUpdate { .. }
            | AgentEvent::MessageEnd { .. }
            | AgentEvent::ToolExecutionStart { .. }
            | AgentEvent::ToolExecutionUpdate { .. }
            | AgentEvent::ToolExecutionEnd { .. }
            | AgentEvent::AutoCompactionStart { .. }
            | AgentEvent::AutoCompactionEnd { result: None, .. }
            | AgentEvent::AutoRetryStart { .. }
            | AgentEvent::AutoRetryEnd { .. }
            | AgentEvent::EntryAppended { .. }
            | AgentEvent::BashExecutionUpdate { .. }
            | AgentEvent::ExtensionError { .. }
            | AgentEvent::InputNotice { .. }
            | AgentEvent::Guardrail { .. }
            | AgentEvent::MessagesUnsaid { .. }
            | AgentEvent::OffersChanged
            | AgentEvent::SessionTree { .. }
            | AgentEvent::Other(_) => {}
            AgentEvent::StorageFailed { .. } => self.keeping = Keeping::Failing,
            AgentEvent::StorageRecovered => self.keeping = Keeping::Fine,
        }
    }

    /// What was typed has been answered.
    fn forget_call(&mut self, text: &str) {
        if let Some(position) = self.called.iter().position(|called| called.text == *text) {
            self.called.remove(position);
        }
    }

    /// Writing a summary costs something as well.
    fn count_summary(&mut self, usage: Option<&Loose<Usage>>) {
        usage.and_then(Loose::known).into_iter().for_each(|usage| self.footer.totals.add(usage));
    }

    /// What was queued stands in the editor again, before what is being written.
    fn take_back(&mut self, returned: &[Draft]) {
        if returned.is_empty() {
            return;
        }
        let written = self.editor.text();
        let texts = returned.iter().map(|draft| draft.text.clone());
        let all = texts.chain((!written.trim().is_empty()).then_some(written)).collect::<Vec<_>>().join("\n\n");
        let mut authors = Authors::default();
        returned.iter().for_each(|draft| authors.add(&draft.authors));
        if authors.is_empty() {
            // The person's own words.
            self.editor.set(&all);
        } else {
            self.rewrite(&authors, |editor| editor.set(&all));
        }
    }

    /// Says below the list that is open which key it has beside the usual ones.
    fn add_key(&mut self, key: &'static str) {
        if let Some(picker) = &mut self.picker {
            picker.add_key(key);
        }
    }

    fn open(&mut self, title: &str, choices: Vec<Choice<Pick>>, selected: usize, none: &str) {
        if choices.is_empty() {
            return self.note(Tone::Quiet, none);
        }
        self.picker = Some(Picker::new(title, choices, selected));
    }
}

fn place(point: &Point, value: Pick) -> Choice<Pick> {
    let first = point.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let label = point.label.as_ref().map(|label| format!("[{label}] ")).unwrap_or_default();
    let mark = if point.is_current { "• " } else { "  " };
    Choice {
        label: format!("{}{mark}{label}{}: {first}", "  ".repeat(point.depth), point.who),
        detail: String::new(),
        preview: point.text.clone(),
        value,
    }
}
