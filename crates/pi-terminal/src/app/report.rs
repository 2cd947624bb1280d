//! What the screen makes of what happens outside.

use std::time::Duration;

use pi_transcript::{AgentEvent, Entry, Message, json::Loose, question::UiRequest};

use super::{App, Pick};
use crate::{
    bar::envelope_bar,
    chat::{Tone, outcome},
    choose::row,
    completion::{Completion, Wanted, wanted},
    dialog::Dialog,
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
            Report::TakenBack(texts) => self.take_back(texts),
            Report::Model(model) => self.footer.model = (**model).clone(),
            Report::Offers { models, commands } => {
                self.models.clone_from(models);
                self.set_commands(commands.clone());
            }
            Report::Thinking(level) => self.footer.thinking = *level,
            Report::Envelope(Some(envelope)) => {
                let lines = envelope_bar(envelope, self.width);
                self.print(lines);
            }
            Report::Envelope(None) => self.note(Tone::Quiet, "the model was shown nothing yet"),
            Report::Sessions(catalogue) => {
                let choices = catalogue.stored.iter().map(|stored| row(stored, catalogue, Pick::Session));
                self.open("session", choices.collect(), 0, "there is no other session here");
            }
            Report::ForkPoints(points) => {
                let choices = points.iter().map(|point| place(point, Pick::Fork(point.entry.clone())));
                self.open("fork before", choices.collect(), points.len().saturating_sub(1), "nothing was said yet");
            }
            Report::Tree(points) => {
                let choices = points.iter().map(|point| place(point, Pick::Place(point.entry.clone())));
                let current = points.iter().rposition(|point| point.is_current).unwrap_or(0);
                self.open("go to", choices.collect(), current, "nothing was said yet");
            }
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
                    self.editor.set(text);
                }
            }
            // Whoever drives the screen leaves.
            Report::Leave(_) => {}
            Report::Told(text) => self.note(Tone::Good, text.clone()),
            Report::Failed(text) => self.note(Tone::Bad, text.clone()),
            Report::Advice(text) => self.note(Tone::Quiet, format!("hint: {text}")),
        }
    }

    fn hear(&mut self, event: &AgentEvent, now: Duration) {
        self.chat.apply(event, now);
        match event {
            AgentEvent::MessageEnd { message: message @ Message::Assistant(_) } => self.count(message),
            AgentEvent::QueueUpdate { steering, follow_up } => {
                self.waiting.steering.clone_from(steering);
                self.waiting.follow_up.clone_from(follow_up);
            }
            // Nobody knows before the model has answered.
            AgentEvent::AutoCompactionEnd { result: Some(_), .. } => self.footer.context = None,
            AgentEvent::EntryAppended { entry: Entry::Compaction(summary) } => {
                summary.usage.iter().filter_map(Loose::known).for_each(|usage| self.footer.totals.add(usage));
            }
            AgentEvent::EntryAppended { entry: Entry::BranchSummary(summary) } => {
                summary.usage.iter().filter_map(Loose::known).for_each(|usage| self.footer.totals.add(usage));
            }
            AgentEvent::SessionInfoChanged { name } => self.footer.name.clone_from(name),
            AgentEvent::ThinkingLevelChanged { level } => self.footer.thinking = *level,
            AgentEvent::EntryAppended { entry: Entry::ModelChange(change) } => {
                let chosen =
                    |model: &&pi_transcript::Model| model.id == change.model_id && model.provider == change.provider;
                if let Some(model) = self.models.iter().find(chosen) {
                    self.footer.model = model.clone();
                }
            }
            AgentEvent::ExtensionUiRequest { request_id, request: UiRequest::Question(asked) } => {
                self.dialogs.push_back(Dialog::new(request_id.clone(), asked));
            }
            AgentEvent::ExtensionUiRequest { request: UiRequest::Announcement(announcement), .. } => {
                self.announce(announcement);
            }
            AgentEvent::ExtensionUiResolved { request_id, .. } => {
                self.dialogs.retain(|dialog| dialog.request != *request_id);
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
            | AgentEvent::Other(_) => {}
        }
    }

    /// What was queued stands in the editor again, before what is being written.
    fn take_back(&mut self, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        let written = self.editor.text();
        let all = texts.iter().cloned().chain((!written.trim().is_empty()).then_some(written));
        self.editor.set(&all.collect::<Vec<_>>().join("\n\n"));
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
