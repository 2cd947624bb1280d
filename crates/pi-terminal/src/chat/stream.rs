//! How the blocks of a message that is arriving find their items.

use std::{collections::HashMap, time::Duration};

use pi_session::Exposure;
use pi_transcript::{
    AssistantMessageEvent, Block, Message, StopReason, ToolOutput,
    json::Extra,
    message::{AssistantMessage, BashExecutionMessage},
};

use super::{
    Chat, Failed,
    card::{Card, Finished},
    custom::Custom,
    item::{Item, Prose, Thinking, Tone},
};

/// Where the blocks of the current message are, counted from the first item that ever was.
#[derive(Debug, Default)]
pub(super) struct Streaming {
    places: HashMap<u64, usize>,
}

impl Chat {
    pub(super) fn start(&mut self, message: &Message, now: Duration) {
        self.streaming = Streaming::default();
        if let Message::Assistant(_) = message {
            // Another answer where one failed: it was tried again.
            self.failed = None;
        }
        self.fail();
        match message {
            Message::User(user) => self.items.push_back(Item::said(&user.content)),
            Message::Custom(custom) if custom.display => {
                self.items.push_back(Item::Custom(Custom::new(custom.clone())));
            }
            Message::BranchSummary(summary) => {
                self.items.push_back(Item::Summary {
                    title: "summary of a branch".to_owned(),
                    text: summary.summary.clone(),
                });
            }
            Message::CompactionSummary(summary) => {
                let title = format!("summary of {} tokens", crate::look::tokens(summary.tokens_before));
                self.items.push_back(Item::Summary { title, text: summary.summary.clone() });
            }
            Message::BashExecution(run) => self.bash(run, now),
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::Custom(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
    }

    pub(super) fn update(&mut self, event: &AssistantMessageEvent) {
        match event {
            AssistantMessageEvent::TextStart { content_index, .. } => drop(self.prose(*content_index)),
            AssistantMessageEvent::TextDelta { content_index, delta, .. } => {
                self.prose(*content_index).into_iter().for_each(|prose| prose.text.push_str(delta));
            }
            AssistantMessageEvent::TextEnd { content_index, content, .. } => {
                self.prose(*content_index).into_iter().for_each(|prose| prose.finish(content));
            }
            AssistantMessageEvent::ThinkingStart { content_index, .. } => drop(self.thinking(*content_index)),
            AssistantMessageEvent::ThinkingDelta { content_index, delta, .. } => {
                self.thinking(*content_index).into_iter().for_each(|thinking| thinking.text.push_str(delta));
            }
            AssistantMessageEvent::ThinkingEnd { content_index, content, .. } => {
                self.thinking(*content_index).into_iter().for_each(|thinking| thinking.finish(content));
            }
            AssistantMessageEvent::ToolCallStart { content_index, id, tool_name, .. } => {
                if let (Some(id), Some(name)) = (id, tool_name) {
                    let card = self.new_card(id, name);
                    self.place(*content_index, || Item::Card(card));
                }
            }
            AssistantMessageEvent::ToolCallDelta { content_index, delta, .. } => {
                if let Some(Item::Card(card)) = self.known(*content_index) {
                    card.grow(delta);
                }
            }
            AssistantMessageEvent::ToolCallEnd { content_index, tool_call: Block::ToolCall(call), .. } => {
                let card = self.new_card(&call.id, &call.name);
                let item = self.place(*content_index, || Item::Card(card));
                if let Some(Item::Card(card)) = item {
                    card.call(call);
                }
            }
            AssistantMessageEvent::ToolCallEnd { .. }
            | AssistantMessageEvent::Start { .. }
            | AssistantMessageEvent::Done { .. }
            | AssistantMessageEvent::Error { .. }
            | AssistantMessageEvent::Other(_) => {}
        }
    }

    pub(super) fn end(&mut self, message: &Message, now: Duration) {
        match message {
            Message::Assistant(said) => self.end_assistant(said),
            // Usually its card is finished already; but not in a conversation that is opened again.
            Message::ToolResult(result) => {
                let output = ToolOutput {
                    content: result.content.clone(),
                    details: result.details.clone(),
                    extra: Extra::new(),
                };
                let finished = Finished { is_error: result.is_error, time: None, now };
                if let Some(card) = self.open_card(&result.tool_call_id) {
                    card.finish(&output, finished);
                }
            }
            Message::User(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
        self.streaming = Streaming::default();
    }

    /// What the finished message says counts, whatever came before it.
    fn end_assistant(&mut self, said: &AssistantMessage) {
        for (index, block) in (0u64..).zip(&said.content) {
            match block {
                Block::Text(text) if text.text.trim().is_empty() && self.known(index).is_none() => {}
                Block::Text(text) => self.prose(index).into_iter().for_each(|prose| prose.finish(&text.text)),
                Block::Thinking(thinking) => {
                    let text = if thinking.redacted == Some(true) { "" } else { &thinking.thinking };
                    self.thinking(index).into_iter().for_each(|thinking| thinking.finish(text));
                }
                Block::ToolCall(call) => {
                    let card = self.new_card(&call.id, &call.name);
                    let item = self.place(index, || Item::Card(card));
                    if let Some(Item::Card(card)) = item {
                        card.call(call);
                    }
                }
                Block::Image(_) | Block::Other(_) => {}
            }
        }
        let (is_over, is_error) = match said.stop_reason.known() {
            Some(StopReason::Error) => (true, true),
            Some(StopReason::Aborted) => (true, false),
            _ => (false, false),
        };
        // Blocks that the finished message does not have were withdrawn.
        for place in self.streaming.places.values() {
            if let Some(item) = place.checked_sub(self.taken).and_then(|index| self.items.get_mut(index))
                && (is_over || !matches!(item, Item::Card(_)))
            {
                item.close();
            }
        }
        if is_error {
            let error = said.error_message.as_deref().unwrap_or("the model gave no reason").to_owned();
            self.failed = Some(Failed { error, has_begun: !said.content.is_empty() });
        } else if is_over {
            self.note(Tone::Warning, said.error_message.as_deref().unwrap_or("stopped"));
        } else if said.stop_reason == StopReason::Length {
            self.note(Tone::Warning, "the answer is cut: it reached the most tokens that an answer may have");
        }
    }

    /// A command that the user ran, here or elsewhere.
    fn bash(&mut self, run: &BashExecutionMessage, now: Duration) {
        if self.shown_commands > 0 {
            self.shown_commands -= 1;
            return;
        }
        let (output, is_error) = outcome(run);
        let finished = Finished { is_error, time: None, now };
        if let Some(card) = self.open_command() {
            return card.finish(&output, finished);
        }
        let is_hidden = run.exclude_from_context == Some(true);
        let mut card = Card::typed(&run.command, if is_hidden { Exposure::Hidden } else { Exposure::Shown });
        card.finish(&output, finished);
        self.items.push_back(Item::Card(card));
    }

    fn prose(&mut self, index: u64) -> Option<&mut Prose> {
        match self.place(index, || Item::Prose(Prose::default())) {
            Some(Item::Prose(prose)) => Some(prose),
            _ => None,
        }
    }

    fn thinking(&mut self, index: u64) -> Option<&mut Thinking> {
        match self.place(index, || Item::Thinking(Thinking::default())) {
            Some(Item::Thinking(thinking)) => Some(thinking),
            _ => None,
        }
    }

    fn known(&mut self, index: u64) -> Option<&mut Item> {
        let place = self.streaming.places.get(&index)?;
        self.items.get_mut(place.checked_sub(self.taken)?)
    }

    /// The item of a block, made if there is none; `None` if it was printed already.
    fn place(&mut self, index: u64, make: impl FnOnce() -> Item) -> Option<&mut Item> {
        let place = match self.streaming.places.get(&index) {
            Some(place) => *place,
            None => {
                self.items.push_back(make());
                let place = self.taken + self.items.len() - 1;
                self.streaming.places.insert(index, place);
                place
            }
        };
        self.items.get_mut(place.checked_sub(self.taken)?)
    }
}

/// What a command printed, and whether it failed.
pub(crate) fn outcome(run: &BashExecutionMessage) -> (ToolOutput, bool) {
    let mut text = run.output.clone();
    for note in [
        run.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}")),
        run.cancelled.then(|| "stopped".to_owned()),
        run.full_output_path.as_ref().map(|path| format!("all of it: {path}")),
    ]
    .into_iter()
    .flatten()
    {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    }
    let is_error = run.cancelled || run.exit_code.is_some_and(|code| code != 0);
    (ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }, is_error)
}
