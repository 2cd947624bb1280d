//! What a session is doing right now.

use std::time::Duration;

use pi_transcript::{AgentEvent, event::CompactionReason};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use crate::{
    look::{Look, duration},
    text::{printable, printable_lines, shorten_line, wrap},
};

/// What a session is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Activity {
    #[default]
    Idle,
    Working {
        since: Duration,
    },
    /// Waits before it asks the model again.
    Retrying {
        since: Duration,
        until: Duration,
        attempt: u64,
        most: u64,
        error: String,
    },
    Compacting {
        since: Duration,
        /// Whether somebody asked for it.
        is_wanted: bool,
        is_working: bool,
    },
}

/// How many lines of a reason are shown.
const MOST_REASONS: usize = 4;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A line that says since when something goes on, and moves.
pub(crate) fn turning(words: &str, since: Duration, hint: &str, style: Style, look: &Look<'_>) -> Line<'static> {
    let beat = usize::try_from(look.now.as_millis() / 100).unwrap_or(0);
    let passed = duration(Duration::from_secs(look.now.saturating_sub(since).as_secs()));
    let passed = passed.replace(".0s", "s");
    let line = Line::from(vec![
        Span::styled(format!("{} ", SPINNER[beat % SPINNER.len()]), style),
        Span::styled(printable(words).into_owned(), style),
        Span::styled(format!("  {passed} · {hint}"), look.theme.quiet),
    ]);
    shorten_line(line, look.width)
}

impl Activity {
    pub fn is_working(&self) -> bool {
        match self {
            Self::Idle => false,
            Self::Working { .. } | Self::Retrying { .. } => true,
            Self::Compacting { is_working, .. } => *is_working,
        }
    }

    pub(super) fn apply(&mut self, event: &AgentEvent, now: Duration) {
        let since = match self {
            Self::Working { since } | Self::Retrying { since, .. } => *since,
            Self::Idle | Self::Compacting { .. } => now,
        };
        match event {
            AgentEvent::AgentStart | AgentEvent::TurnStart => *self = Self::Working { since },
            AgentEvent::AgentSettled { .. } => *self = Self::Idle,
            AgentEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                let until = now + Duration::from_millis(*delay_ms);
                *self = Self::Retrying {
                    since,
                    until,
                    attempt: *attempt,
                    most: *max_attempts,
                    error: error_message.clone(),
                };
            }
            AgentEvent::AutoRetryEnd { .. } => *self = Self::Working { since },
            AgentEvent::AutoCompactionStart { reason } => {
                let is_wanted = *reason == CompactionReason::Manual;
                *self = Self::Compacting { since: now, is_wanted, is_working: self.is_working() };
            }
            AgentEvent::AutoCompactionEnd { .. } => {
                *self = if self.is_working() { Self::Working { since: now } } else { Self::Idle };
            }
            AgentEvent::AgentEnd { .. }
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::MessageStart { .. }
            | AgentEvent::MessageUpdate { .. }
            | AgentEvent::MessageEnd { .. }
            | AgentEvent::ToolExecutionStart { .. }
            | AgentEvent::ToolExecutionUpdate { .. }
            | AgentEvent::ToolExecutionEnd { .. }
            | AgentEvent::QueueUpdate { .. }
            | AgentEvent::EntryAppended { .. }
            | AgentEvent::SessionInfoChanged { .. }
            | AgentEvent::ThinkingLevelChanged { .. }
            | AgentEvent::BashExecutionUpdate { .. }
            | AgentEvent::ExtensionError { .. }
            | AgentEvent::ExtensionUiRequest { .. }
            | AgentEvent::ExtensionUiRender { .. }
            | AgentEvent::ExtensionUiResolved { .. }
            | AgentEvent::StorageFailed { .. }
            | AgentEvent::StorageRecovered
            | AgentEvent::InputNotice { .. }
            | AgentEvent::Guardrail { .. }
            | AgentEvent::MessagesUnsaid { .. }
            | AgentEvent::OffersChanged
            | AgentEvent::SessionTree { .. }
            | AgentEvent::Other(_) => {}
        }
    }

    /// The lines that say so; `message` stands for the usual words. Why it tries again stands below, whole as far as a few
    /// lines hold it.
    pub fn lines(&self, message: Option<&str>, look: &Look<'_>) -> Vec<Line<'static>> {
        let theme = look.theme;
        let (since, words, hint) = match self {
            Self::Idle => return Vec::new(),
            Self::Working { since } => (since, message.unwrap_or("working").to_owned(), "esc to stop"),
            Self::Retrying { since, until, attempt, most, .. } => {
                let left = until.saturating_sub(look.now).as_millis().div_ceil(1000);
                (since, format!("attempt {attempt} of {most} in {left}s"), "esc to give up")
            }
            Self::Compacting { since, is_wanted: true, .. } => (since, "summing up".to_owned(), "esc to stop"),
            Self::Compacting { since, .. } => (since, "summing up, the context is full".to_owned(), "esc to stop"),
        };
        let style = if matches!(self, Self::Retrying { .. }) { theme.warning } else { theme.accent };
        let mut lines = vec![turning(&words, *since, hint, style, look)];
        if let Self::Retrying { error, .. } = self {
            let indent = Line::raw("  ");
            let rows = printable_lines(error).map(|row| Line::styled(format!("  {row}"), theme.quiet));
            lines.extend(rows.flat_map(|row| wrap(row, look.width, &indent)).take(MOST_REASONS));
        }
        lines
    }
}
