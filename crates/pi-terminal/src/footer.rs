//! The last lines: where we are, what is asked, how full the context is and what it has cost.

use pi_transcript::{Message, Model, Spent, ThinkingLevel, Usage};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use crate::{
    look::{Look, tokens},
    text::{line_width, printable, shorten, shorten_line, width},
};

/// What the footer tells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Footer {
    pub(crate) model: Model,
    /// Whether anybody says what it can do; its window is not known otherwise.
    pub(crate) is_described: bool,
    pub(crate) thinking: ThinkingLevel,
    /// As people write it, with `~`.
    pub(crate) directory: String,
    pub(crate) branch: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) totals: Totals,
    /// Tokens of the last request and its answer; `None` until there was one, and after a compaction.
    pub(crate) context: Option<u64>,
}

/// What all model calls of a session consumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Totals {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) cost: Spent,
    pub(crate) calls: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { input: 0, output: 0, cache_read: 0, cache_write: 0, cost: Spent::Exact(0.0), calls: 0 }
    }
}

impl Totals {
    pub(crate) fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
        self.cost = self.cost.and(usage.cost.spent());
        self.calls += 1;
    }

    /// Takes note of what was consumed before.
    pub(crate) fn add_past(&mut self, usage: &Usage, calls: u64) {
        if calls > 0 {
            self.add(usage);
            self.calls += calls - 1;
        }
    }
}

impl Footer {
    /// Takes note of how full the context is after a message; what it consumed is counted elsewhere.
    pub(crate) fn fill_with(&mut self, message: &Message) {
        match message {
            Message::Assistant(said) => {
                let total = said.usage.known().map(Usage::total).filter(|total| *total > 0);
                self.context = total.or(self.context);
            }
            // What a summary takes is known when the model has read it.
            Message::CompactionSummary(_) => self.context = None,
            Message::User(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::System(_)
            | Message::Other(_) => {}
        }
    }

    /// Whether the model is known not to think.
    pub(crate) fn is_thoughtless(&self) -> bool {
        !self.model.reasoning && self.is_described
    }

    /// Two lines: place and name, then numbers and model.
    pub(crate) fn lines(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        vec![self.place(look), self.numbers(look)]
    }

    fn place(&self, look: &Look<'_>) -> Line<'static> {
        let branch = self.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
        let name = self.name.as_ref().map(|name| format!(" · {name}")).unwrap_or_default();
        let rest = format!("{branch}{name}");
        // The end of a path says more than its beginning.
        let room = look.width.saturating_sub(width(&rest)).max(8);
        let text = format!("{}{rest}", end_of(&self.directory, room));
        Line::styled(shorten(&printable(&text), look.width).into_owned(), look.theme.quiet)
    }

    fn numbers(&self, look: &Look<'_>) -> Line<'static> {
        let theme = look.theme;
        let totals = &self.totals;
        let mut spans = Vec::new();
        for (mark, count) in
            [("↑", totals.input), ("↓", totals.output), ("R", totals.cache_read), ("W", totals.cache_write)]
        {
            if count > 0 {
                spans.push(Span::styled(format!("{mark}{} ", tokens(count)), theme.quiet));
            }
        }
        if totals.cost != Spent::Exact(0.0) {
            spans.push(Span::styled(format!("{} ", totals.cost.words(3)), theme.quiet));
        }
        spans.push(self.fill(look));
        let left = Line::from(spans);
        let thinking = match (self.model.reasoning, self.thinking) {
            (false, _) => String::new(),
            (true, level) => format!(" · {level}"),
        };
        let right = format!("{}/{}{thinking}", self.model.provider, self.model.id);
        let gap = look.width.saturating_sub(line_width(&left) + width(&right));
        if gap < 2 {
            let mut line = left;
            line.spans.push(Span::raw("  "));
            line.spans.push(Span::styled(printable(&right).into_owned(), theme.accent));
            return shorten_line(line, look.width);
        }
        let mut line = left;
        line.spans.push(Span::raw(" ".repeat(gap)));
        line.spans.push(Span::styled(printable(&right).into_owned(), theme.accent));
        line
    }

    /// What all calls cost, in words; nothing is no cost where nobody knows the price.
    pub(crate) fn spent(&self) -> String {
        let is_nothing = self.totals.calls > 0 && self.totals.cost == Spent::Exact(0.0);
        if is_nothing && says(&self.model, "costUnknown") {
            return "not known: there is no price for this model".to_owned();
        }
        self.totals.cost.words(4)
    }

    /// How full the context is; the fuller, the louder.
    fn fill(&self, look: &Look<'_>) -> Span<'static> {
        let theme = look.theme;
        let window = if self.is_described { self.model.context_window } else { 0 };
        let Some(used) = self.context else {
            let window = if window == 0 { "?".to_owned() } else { window_of(&self.model) };
            return Span::styled(format!("?/{window}"), theme.quiet);
        };
        if window == 0 {
            return Span::styled(format!("{}/?", tokens(used)), theme.quiet);
        }
        if is_assumed(&self.model) {
            return Span::styled(format!("{}/?", tokens(used)), theme.quiet);
        }
        let thousandths = u64::try_from(u128::from(used) * 1000 / u128::from(window)).unwrap_or(u64::MAX);
        let style: Style = match thousandths {
            0..700 => theme.quiet,
            700..900 => theme.warning,
            900.. => theme.bad,
        };
        Span::styled(format!("{}.{}%/{}", thousandths / 10, thousandths % 10, tokens(window)), style)
    }
}

/// How large the context of a model is, as people are told; `?` where nobody knows.
pub(crate) fn window_of(model: &Model) -> String {
    if is_assumed(model) { "?".to_owned() } else { tokens(model.context_window) }
}

/// Whether the size of the context is only assumed.
fn is_assumed(model: &Model) -> bool {
    says(model, "contextWindowAssumed")
}

/// Whether a model says this of itself.
fn says(model: &Model, what: &str) -> bool {
    model.extra.get(what).is_some_and(|said| said == true)
}

/// The end of a path that fits.
fn end_of(path: &str, room: usize) -> String {
    if width(path) <= room {
        return path.to_owned();
    }
    let starts = path.char_indices().map(|(at, _)| at);
    let tail = starts.map(|at| &path[at..]).find(|tail| width(tail) < room).unwrap_or_default();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn model(members: &serde_json::Value) -> Model {
        let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
        let mut model = json!({ "id": "m", "name": "m", "api": "a", "provider": "p", "baseUrl": "", "reasoning": false,
            "input": ["text"], "cost": cost, "contextWindow": 128_000, "maxTokens": 10 });
        let known = model.as_object_mut().expect("an object");
        known.extend(members.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        serde_json::from_value(model).expect("a model")
    }

    #[test]
    fn size_that_is_only_assumed_is_not_shown() {
        assert_eq!(window_of(&model(&json!({}))), "128k");
        assert_eq!(window_of(&model(&json!({ "contextWindowAssumed": true }))), "?");
    }

    #[test]
    fn price_that_nobody_knows_is_not_nothing() {
        let spent = |members: &serde_json::Value, cost: f64| {
            let totals = Totals { calls: 1, cost: Spent::Exact(cost), ..Totals::default() };
            let (directory, thinking) = (String::new(), ThinkingLevel::Off);
            let model = model(members);
            Footer { model, thinking, directory, branch: None, name: None, totals, context: None, is_described: true }
                .spent()
        };
        let unknown = json!({ "costUnknown": true });
        assert_eq!(spent(&unknown, 0.0), "not known: there is no price for this model");
        // Another model, or the provider, said so.
        assert_eq!(spent(&unknown, 0.5), "$0.5000");
        assert_eq!(spent(&json!({}), 0.0), "$0.0000");
    }
}
