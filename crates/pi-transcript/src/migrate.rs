//! Old session files, brought to the version that we write.
//!
//! Version 1 was a list: no version in the header, no ids, and a compaction pointed at the index of a line. Version 2 made
//! it a tree. Version 3 renamed the role `hookMessage` to `custom`. Lines that are not JSON
//! stay as and where they are. A line that needs no change keeps its text, if it has one (see [`Exact`](crate::line::Exact));
//! one that does is written from what was understood of it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::{
    entry::{Entry, Header, VERSION},
    id::EntryId,
    line::Line,
    message::Message,
};

/// The version of a file: that of its header, which is its first line that is JSON.
///
/// Nothing if there is no header; such a file is not a session.
pub fn version(lines: &[Line]) -> Option<u64> {
    let first = lines.iter().find(|line| !matches!(line, Line::Unreadable(_)))?;
    match first {
        Line::Header(header) => Some(header.version.unwrap_or(1)),
        Line::Entry(_) | Line::Foreign(_) | Line::Unreadable(_) => None,
    }
}

/// Brings `lines` to version 3.
///
/// What is at version 3 or later, or is not a session, is returned as it is; so migrating twice is migrating once.
/// `new_id` names the entries of a version 1 file; it is asked again for an id that the file has already.
pub fn migrate(lines: Vec<Line>, new_id: impl FnMut() -> EntryId) -> Vec<Line> {
    match version(&lines) {
        None | Some(VERSION..) => lines,
        Some(found) => {
            let chained = if found < 2 { chain(lines, new_id) } else { lines };
            let mut lines: Vec<Line> = chained.into_iter().map(rename_role).collect();
            if let Some(Line::Header(header)) = lines.iter_mut().find(|line| matches!(line, Line::Header(_))) {
                let raised = Header { version: Some(VERSION), ..header.clone().into_value() };
                *header = raised.into();
            }
            lines
        }
    }
}

/// A line on its way from version 1 to version 2.
enum Step {
    /// An entry, or what will be one once it has an id and a parent.
    Entry { before: Line, object: Map<String, Value> },
    /// What cannot be an entry. JSON has an index all the same; text has none.
    Kept { line: Line, is_json: bool },
}

/// Version 1 to 2: gives every entry an id and a parent, and every compaction the id of the line that it pointed at.
fn chain(lines: Vec<Line>, mut new_id: impl FnMut() -> EntryId) -> Vec<Line> {
    let mut steps: Vec<Step> = lines.into_iter().map(Step::from).collect();
    let mut taken: HashSet<String> = steps.iter().filter_map(Step::id).map(str::to_owned).collect();
    let mut parent = Value::Null;
    for step in &mut steps {
        if let Step::Entry { object, .. } = step {
            if !object.contains_key("id") {
                let id = std::iter::repeat_with(&mut new_id).map(|id| id.0).find(|id| taken.insert(id.clone()));
                object.insert("id".to_owned(), id.into());
            }
            if !object.contains_key("parentId") {
                object.insert("parentId".to_owned(), parent);
            }
            parent = object["id"].clone();
        }
    }
    // In a version 1 file an index counts the lines that are JSON, the header included.
    let counted = steps.iter().filter(|step| !matches!(step, Step::Kept { is_json: false, .. }));
    let ids: Vec<Option<String>> = counted.map(|step| step.id().map(str::to_owned)).collect();
    for step in &mut steps {
        if let Step::Entry { object, .. } = step {
            name_first_kept(object, &ids);
        }
    }
    steps.into_iter().map(Step::finish).collect()
}

/// Whether this is an entry but for an id and a parent. A header is none, nor is what only calls itself one.
fn can_be_entry(object: &Map<String, Value>) -> bool {
    let is_text = |name| object.get(name).is_some_and(Value::is_string);
    is_text("type")
        && object["type"] != "session"
        && is_text("timestamp")
        && object.get("id").is_none_or(Value::is_string)
        && object.get("parentId").is_none_or(|parent| parent.is_string() || parent.is_null())
}

/// Replaces the index in a compaction by an id. One that points nowhere keeps nothing, which is what Pi makes of it, and
/// is told by the compaction's own id.
fn name_first_kept(object: &mut Map<String, Value>, ids: &[Option<String>]) {
    let index = match (object.get("type").and_then(Value::as_str), object.get("firstKeptEntryIndex")) {
        (Some("compaction"), Some(index)) if !object.contains_key("firstKeptEntryId") => index.as_u64(),
        _ => return,
    };
    let target = index.and_then(|index| ids.get(usize::try_from(index).ok()?)?.clone());
    let id = match target {
        Some(id) => {
            object.shift_remove("firstKeptEntryIndex");
            Value::String(id)
        }
        None => object["id"].clone(),
    };
    object.insert("firstKeptEntryId".to_owned(), id);
}

/// Version 2 to 3.
fn rename_role(line: Line) -> Line {
    match line {
        Line::Entry(entry) if is_hook(&entry) => Line::Entry(with_custom_role(entry.into_value()).into()),
        Line::Header(_) | Line::Entry(_) | Line::Foreign(_) | Line::Unreadable(_) => line,
    }
}

fn is_hook(entry: &Entry) -> bool {
    let Entry::Message(entry) = entry else { return false };
    matches!(&entry.message, Message::Other(object) if object.get("role").is_some_and(|role| role == "hookMessage"))
}

fn with_custom_role(mut entry: Entry) -> Entry {
    if let Entry::Message(entry) = &mut entry
        && let Message::Other(object) = &mut entry.message
    {
        object.insert("role".to_owned(), "custom".into());
        entry.message = Message::from(std::mem::take(object));
    }
    entry
}

/// What a line says, if it is JSON.
fn value_of(line: &Line) -> Option<Value> {
    match line {
        Line::Header(header) => Some(serde_json::to_value(&**header).expect("every key is a string")),
        Line::Entry(entry) => Some(serde_json::to_value(&**entry).expect("every key is a string")),
        Line::Foreign(value) => Some(Value::clone(value)),
        Line::Unreadable(_) => None,
    }
}

impl Step {
    fn id(&self) -> Option<&str> {
        match self {
            Self::Entry { object, .. } => object.get("id")?.as_str(),
            Self::Kept { .. } => None,
        }
    }

    /// The line as it is now; one that did not change is the line that it was, with its text.
    fn finish(self) -> Line {
        match self {
            Self::Kept { line, .. } => line,
            Self::Entry { before, object } => {
                let after = Value::Object(object);
                if value_of(&before).as_ref() == Some(&after) { before } else { Line::from(after) }
            }
        }
    }
}

impl From<Line> for Step {
    fn from(line: Line) -> Self {
        match value_of(&line) {
            Some(Value::Object(object)) if can_be_entry(&object) => Self::Entry { before: line, object },
            value => Self::Kept { line, is_json: value.is_some() },
        }
    }
}
