//! What is said and done in a session, as far as it is not printed yet.
//!
//! Events go in with [`Chat::apply`]. What is finished comes out once, with [`Chat::take_finished`], and is forgotten: the
//! terminal's scrollback keeps it. So the cost of a frame depends on what is going on and not on how long the
//! conversation is.

mod activity;
mod card;
mod custom;
mod item;
mod sketch;
mod stream;

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use pi_session::{Exposure, Rendering, Subject};
use pi_transcript::{
    AgentEvent, Block, Entry, Message, ToolCallId, ToolOutput, drawn::Span, event::CompactionReason, json::Open,
};
use ratatui_core::text::Line;

pub use self::{
    activity::Activity,
    card::{Card, CardState},
    item::{Item, Tone},
};
pub(crate) use self::{activity::turning, stream::outcome};
use self::{card::Finished, custom::Custom, stream::Streaming};
use crate::{
    look::{Detail, Look},
    wish::{Action, Part, Place},
};

/// How many messages of a conversation that was opened again are printed.
pub const MOST_RECALLED: usize = 200;
/// How many finished cards can be shown again in full.
const MOST_RECENT: usize = 20;

/// The conversation as it goes on.
#[derive(Debug, Default)]
pub struct Chat {
    items: VecDeque<Item>,
    /// Tools whose calls and results extensions draw.
    drawn_tools: BTreeSet<String>,
    /// How many items were taken off the front.
    taken: usize,
    streaming: Streaming,
    activity: Activity,
    /// Finished cards of the last run, which were printed in short.
    recent: VecDeque<Card>,
    /// Commands of the user whose end was shown before the session told of it.
    shown_commands: usize,
    /// An error that is told only if nobody tries again.
    failed: Option<Failed>,
}

/// An answer that ended in an error.
#[derive(Debug)]
struct Failed {
    error: String,
    /// Whether some of the answer was shown.
    has_begun: bool,
}

impl Chat {
    /// One in which extensions draw the calls of these tools.
    pub(crate) fn drawing(tools: Vec<String>) -> Self {
        Self { drawn_tools: tools.into_iter().collect(), ..Self::default() }
    }

    /// Extensions draw the calls of these tools from here on.
    pub(crate) fn draw_tools(&mut self, tools: &[String]) {
        self.drawn_tools = tools.iter().cloned().collect();
    }

    /// Takes note of what happened at `now`.
    pub fn apply(&mut self, event: &AgentEvent, now: Duration) {
        self.activity.apply(event, now);
        match event {
            AgentEvent::AgentStart => self.recent.clear(),
            AgentEvent::AgentEnd { .. } => self.settle(),
            AgentEvent::AgentSettled { .. } => {
                self.settle();
                self.fail();
            }
            AgentEvent::MessageStart { message } => self.start(message, now),
            AgentEvent::MessageUpdate { assistant_message_event, .. } => self.update(assistant_message_event),
            AgentEvent::MessageEnd { message } => self.end(message, now),
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args, .. } => {
                self.card(tool_call_id, tool_name).start(args, now);
            }
            AgentEvent::ToolExecutionUpdate { tool_call_id, tool_name, partial_result, .. } => {
                self.card(tool_call_id, tool_name).update(partial_result);
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error, duration_ms, .. } => {
                let time = duration_ms.map(Duration::from_millis);
                self.card(tool_call_id, tool_name).finish(result, Finished { is_error: *is_error, time, now });
            }
            AgentEvent::AutoCompactionEnd { result, aborted, error_message, .. } => {
                self.items.push_back(Item::compacted(result.as_deref(), *aborted, error_message.as_deref()));
            }
            AgentEvent::AutoRetryEnd { success: false, final_error, attempt } => {
                let error = final_error.as_deref().unwrap_or("the model cannot be reached");
                let when = match attempt {
                    0 => "before the next attempt".to_owned(),
                    1 => "after 1 more attempt".to_owned(),
                    attempt => format!("after {attempt} more attempts"),
                };
                self.failed = Some(Failed { error: format!("gave up {when}: {error}"), has_begun: false });
            }
            AgentEvent::AutoRetryStart { .. } => self.try_again(),
            // What was too long is made shorter and asked for again.
            AgentEvent::AutoCompactionStart { reason: Open::Known(CompactionReason::Overflow) } => self.failed = None,
            AgentEvent::ExtensionError { extension_path, event, error } => {
                self.note(Tone::Bad, format!("{extension_path} ({event}): {error}"));
            }
            AgentEvent::BashExecutionUpdate { delta, dropped, .. } => {
                let dropped = dropped.unwrap_or(0);
                self.open_command().into_iter().for_each(|card| card.add(delta, dropped));
            }
            AgentEvent::StorageFailed { message } => {
                self.note(Tone::Bad, format!("the conversation is not written to its file any more: {message}"));
            }
            AgentEvent::StorageRecovered => self.note(Tone::Good, "the conversation is written to its file again"),
            AgentEvent::Guardrail { message, .. } | AgentEvent::InputNotice { message } => {
                self.note(Tone::Warning, message.as_str());
            }
            AgentEvent::EntryAppended { entry: Entry::Custom(entry) } => {
                self.items.push_back(Item::Custom(Custom::entry(entry.clone())));
            }
            AgentEvent::TurnStart
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::AutoCompactionStart { .. }
            | AgentEvent::AutoRetryEnd { success: true, .. }
            | AgentEvent::QueueUpdate { .. }
            | AgentEvent::EntryAppended { .. }
            | AgentEvent::SessionInfoChanged { .. }
            | AgentEvent::ThinkingLevelChanged { .. }
            | AgentEvent::ExtensionUiRequest { .. }
            | AgentEvent::ExtensionUiRender { .. }
            | AgentEvent::ExtensionUiResolved { .. }
            | AgentEvent::MessagesUnsaid { .. }
            | AgentEvent::OffersChanged
            | AgentEvent::SessionTree { .. }
            | AgentEvent::Other(_) => {}
        }
    }

    /// Says who is here.
    pub fn head(&mut self, title: String, words: Vec<String>) {
        self.items.push_back(Item::Heading { title, words });
    }

    /// Tells the error that nobody tries to mend any more.
    fn fail(&mut self) {
        if let Some(failed) = self.failed.take() {
            self.note(Tone::Bad, failed.error);
        }
    }

    /// The error is in the line that counts the seconds; only what it cut off is told here.
    fn try_again(&mut self) {
        if let Some(failed) = self.failed.take().filter(|failed| failed.has_begun) {
            self.note(Tone::Quiet, format!("the answer broke off and is asked for again: {}", failed.error));
        }
    }

    /// Nothing more comes of what goes on: it stays as far as it came.
    pub fn break_off(&mut self) {
        let is_writing = self.activity.is_working();
        self.settle();
        self.items.iter_mut().for_each(Item::close);
        // Nobody will draw anything any more.
        let cards = self.items.iter_mut().filter_map(Item::as_card);
        cards.for_each(Card::leave_undrawn);
        self.fail();
        self.activity = Activity::Idle;
        if is_writing {
            self.note(Tone::Warning, "broken off");
        }
    }

    /// Puts a conversation before what comes: the last of its messages.
    pub fn recall<'a>(&mut self, messages: impl ExactSizeIterator<Item = &'a Message>, now: Duration) {
        let hidden = messages.len().saturating_sub(MOST_RECALLED);
        if hidden > 0 {
            self.note(Tone::Quiet, format!("{hidden} earlier messages are not shown"));
        }
        for message in messages.skip(hidden) {
            self.start(message, now);
            self.end(message, now);
        }
        self.settle();
        self.fail();
    }

    /// Asks for what extensions draw and nobody was asked to draw yet: messages, calls of tools and their results.
    pub(crate) fn undrawn(&mut self, width: usize) -> Vec<Action> {
        let mut undrawn = Vec::new();
        for (place, item) in self.items.iter_mut().enumerate() {
            let item_number = self.taken + place;
            let mut want = |part, subject: Option<Subject>, width: usize, expanded: bool| {
                let width = u16::try_from(width.max(1)).unwrap_or(u16::MAX);
                let place = Place { item: item_number, part };
                let action = |subject| {
                    let rendering = Box::new(Rendering { subject, width, expanded });
                    Action::Draw { place, rendering }
                };
                undrawn.extend(subject.map(action));
            };
            match item {
                Item::Custom(custom) => want(Part::Whole, custom.ask(), width, false),
                Item::Card(card) => {
                    let expanded = card.is_expanded();
                    want(Part::Call, card.ask_call(), width.saturating_sub(card::MARGIN), expanded);
                    want(Part::Result, card.ask_result(), width.saturating_sub(card::MARGIN), expanded);
                }
                _ => {}
            }
        }
        undrawn
    }

    /// Takes what an extension has drawn; nothing is shown in the usual way. What is printed already stays as it is.
    pub(crate) fn draw(&mut self, place: Place, lines: Option<&[Vec<Span>]>) {
        let index = place.item.checked_sub(self.taken);
        match (index.and_then(|index| self.items.get_mut(index)), place.part) {
            (Some(Item::Custom(custom)), Part::Whole) => custom.draw(lines),
            (Some(Item::Card(card)), Part::Call) => card.draw_call(lines),
            (Some(Item::Card(card)), Part::Result) => card.draw_result(lines),
            _ => {}
        }
    }

    /// A card for a call of which nobody has spoken.
    fn new_card(&self, id: &ToolCallId, name: &str) -> Card {
        let card = Card::new(id.clone(), name);
        if self.drawn_tools.contains(name) { card.drawn() } else { card }
    }

    /// Says something that belongs to nobody's message.
    pub fn note(&mut self, tone: Tone, text: impl Into<String>) {
        self.items.push_back(Item::Note { tone, text: text.into() });
    }

    /// Prints lines.
    pub fn print(&mut self, lines: Vec<Line<'static>>) {
        self.items.push_back(Item::Printed(lines));
    }

    /// A command that the user runs.
    pub fn run_command(&mut self, command: &str, exposure: Exposure, now: Duration) {
        let mut card = Card::typed(command, exposure);
        card.start(&serde_json::json!({ "command": command }), now);
        self.items.push_back(Item::Card(card));
    }

    /// The user's command ended. The session tells of it as well: before or after, and while the model works much later.
    pub fn end_command(&mut self, output: &ToolOutput, is_error: bool, now: Duration) {
        if let Some(card) = self.open_command() {
            card.finish(output, Finished { is_error, time: None, now });
            self.shown_commands += 1;
        }
    }

    /// The user's command was not run.
    pub fn refuse_command(&mut self, why: &str, now: Duration) {
        if let Some(card) = self.open_command() {
            let output = ToolOutput { content: vec![Block::text(why)], ..ToolOutput::default() };
            card.finish(&output, Finished { is_error: true, time: None, now });
        }
    }

    /// Prints the cards of the last run again, in full.
    pub fn show_recent(&mut self) {
        let cards = std::mem::take(&mut self.recent);
        self.items.extend(cards.into_iter().map(Card::expanded).map(Item::Card));
    }

    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Whether anything is shown that changes with time alone.
    pub fn is_moving(&self) -> bool {
        self.activity != Activity::Idle || !self.items.is_empty()
    }

    /// The lines that are finished, up to the first thing that is not.
    pub fn take_finished(&mut self, look: &Look<'_>) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        while let Some(item) = self.items.front_mut() {
            if !item.is_finished() {
                if let Item::Prose(prose) = item {
                    lines.extend(prose.take_whole(look));
                }
                break;
            }
            let item = self.items.pop_front();
            self.taken += 1;
            lines.extend(item.iter().flat_map(|item| item.lines(look)));
            if let (Some(Item::Card(card)), Detail::Short) = (item, look.detail) {
                self.recent.push_back(card);
                let surplus = self.recent.len().saturating_sub(MOST_RECENT);
                self.recent.drain(..surplus);
            }
        }
        lines
    }

    /// The lines of what is going on: at least the last `height`, if there are so many.
    pub fn live(&self, look: &Look<'_>, height: usize) -> Vec<Line<'static>> {
        let mut parts: Vec<Vec<Line<'static>>> = Vec::new();
        let mut count = 0;
        for item in self.items.iter().rev() {
            if count >= height {
                break;
            }
            let lines = item.live(look, height);
            count += lines.len();
            parts.push(lines);
        }
        parts.into_iter().rev().flatten().collect()
    }

    /// The card of a call; a new one if nobody has spoken of the call.
    fn card(&mut self, id: &ToolCallId, name: &str) -> &mut Card {
        let known = |item: &Item| matches!(item, Item::Card(card) if card.is_of(id));
        let position = self.items.iter().rposition(known);
        let position = position.unwrap_or_else(|| {
            self.items.push_back(Item::Card(self.new_card(id, name)));
            self.items.len() - 1
        });
        match &mut self.items[position] {
            Item::Card(card) => card,
            _ => unreachable!("the position is that of a card"),
        }
    }

    /// The card of a call that has not ended.
    fn open_card(&mut self, id: &ToolCallId) -> Option<&mut Card> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Card(card) if card.is_of(id) && !card.is_finished() => Some(card),
            _ => None,
        })
    }

    /// The oldest command of the user that has not ended.
    fn open_command(&mut self) -> Option<&mut Card> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Card(card) if card.is_typed() => Some(card),
            _ => None,
        })
    }

    /// Nothing more comes for what is open.
    fn settle(&mut self) {
        self.streaming = Streaming::default();
        // What an extension draws comes, whatever ends here.
        let of_model = |item: &&mut Item| match item {
            Item::Card(card) => !card.is_typed(),
            Item::Custom(_) => false,
            _ => true,
        };
        self.items.iter_mut().filter(of_model).for_each(Item::close);
    }
}
