//! What of a call is not sent as it was asked for.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// An option or a piece of content that is not sent as it was given, or that nobody gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    pub kind: ChangeKind,
    /// The option's standard name, or the kind of content.
    pub option: String,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Dropped,
    Changed,
    Added,
    /// Sent as it is, with a doubt.
    Kept,
}

/// Changes in the order in which they were made, each once.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<Change>);

impl Changes {
    pub(super) fn dropped(&mut self, option: impl Into<String>, reason: impl Into<String>) {
        self.note(ChangeKind::Dropped, option, reason);
    }

    pub(super) fn changed(&mut self, option: impl Into<String>, reason: impl Into<String>) {
        self.note(ChangeKind::Changed, option, reason);
    }

    pub(super) fn added(&mut self, option: impl Into<String>, reason: impl Into<String>) {
        self.note(ChangeKind::Added, option, reason);
    }

    pub(super) fn kept(&mut self, option: impl Into<String>, reason: impl Into<String>) {
        self.note(ChangeKind::Kept, option, reason);
    }

    /// Of a parameter that was placed and then gave way: what was added by itself is not told at all, what somebody asked
    /// for is told once.
    pub(super) fn replaced(&mut self, option: &str, value: &Value, sent: Option<&Value>) {
        let before = self.0.len();
        self.0.retain(|change| change.kind != ChangeKind::Added || change.option != option);
        let is_told = |change: &Change| change.kind == ChangeKind::Dropped && change.option == option;
        if self.0.len() < before || self.0.iter().any(is_told) {
            return;
        }
        match sent {
            Some(sent) => self.changed(option, format!("{sent} is sent instead of {value}, as thinking asks for")),
            None => self.dropped(option, format!("{value} cannot be sent while the model thinks")),
        }
    }

    pub(super) fn into_vec(self) -> Vec<Change> {
        self.0
    }

    fn note(&mut self, kind: ChangeKind, option: impl Into<String>, reason: impl Into<String>) {
        let change = Change { kind, option: option.into(), reason: reason.into() };
        if !self.0.contains(&change) {
            self.0.push(change);
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ChangeKind::Dropped => "dropped",
            ChangeKind::Changed => "changed",
            ChangeKind::Added => "added",
            ChangeKind::Kept => "kept",
        };
        write!(f, "{kind} {}: {}", self.option, self.reason)
    }
}
