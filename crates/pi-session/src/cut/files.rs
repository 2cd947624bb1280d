//! Which files the summarised part was about.

use std::collections::BTreeSet;

use pi_transcript::{
    Message,
    entry::{BranchSummary, Compaction},
};
use serde_json::{Value, json};

use crate::context::calls;

/// Files that were read, and files that were changed. It goes into the `details` of the entry, from where the next
/// compaction takes it on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    /// What an earlier compaction said, unless an extension wrote it: its details are its own.
    pub fn of_compaction(compaction: &Compaction) -> Self {
        let ours = compaction.from_hook != Some(true);
        compaction.details.as_ref().filter(|_| ours).map(Self::of_details).unwrap_or_default()
    }

    /// What the summary of another branch said.
    pub fn of_branch(branch: &BranchSummary) -> Self {
        let ours = branch.from_hook != Some(true);
        branch.details.as_ref().filter(|_| ours).map(Self::of_details).unwrap_or_default()
    }

    /// Adds the files that a message's calls are about.
    pub fn add(&mut self, message: &Message) {
        let Message::Assistant(said) = message else { return };
        for call in calls(said) {
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { continue };
            match call.name.as_str() {
                "read" => self.read.insert(path.to_owned()),
                "write" | "edit" => self.modified.insert(path.to_owned()),
                _ => false,
            };
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.read.extend(other.read);
        self.modified.extend(other.modified);
    }

    /// Files that were only read.
    pub fn read(&self) -> impl Iterator<Item = &str> {
        self.read.difference(&self.modified).map(String::as_str)
    }

    pub fn modified(&self) -> impl Iterator<Item = &str> {
        self.modified.iter().map(String::as_str)
    }

    /// As the entry's `details`.
    pub fn details(&self) -> Value {
        json!({"readFiles": self.read().collect::<Vec<_>>(), "modifiedFiles": self.modified().collect::<Vec<_>>()})
    }

    /// The lists as they stand at the end of a summary; empty if there are none.
    pub(super) fn text(&self) -> String {
        let list = |tag: &str, files: Vec<&str>| match files.is_empty() {
            true => String::new(),
            false => format!("\n\n<{tag}>\n{}\n</{tag}>", files.join("\n")),
        };
        list("read-files", self.read().collect()) + &list("modified-files", self.modified().collect())
    }

    fn of_details(details: &Value) -> Self {
        let list = |name: &str| {
            let texts = details[name].as_array().into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Self { read: list("readFiles"), modified: list("modifiedFiles") }
    }
}
