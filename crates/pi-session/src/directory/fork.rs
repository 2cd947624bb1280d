//! A new session that begins with a part of another.

use std::{io, path::Path};

use pi_policy::Moment;
use pi_transcript::{
    EntryId, Header, Line, Message,
    entry::{CustomEntry, Entry, Label},
    json::Extra,
    write_line,
};

use super::Project;
use crate::{
    file::{self, Fault, OpenError, Opened, ReadError, Reader, create_folder, replace},
    offer::{self, Offer},
    sidecar::{self, Kept, SidecarError},
    tree::{Kind, NoEntry, Place, Tree},
};

/// Where a fork ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkPoint {
    /// With this entry.
    At(EntryId),
    /// Before this one, which the user wants to say differently.
    Before(EntryId),
    /// Where the conversation stands.
    Leaf,
}

/// A fork, and what the user said at its end.
#[derive(Debug)]
pub struct Forked {
    pub opened: Opened,
    /// The text of the entry that the fork ends before, for the editor.
    pub text: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    NoEntry(#[from] NoEntry),
    #[error("cannot read the session")]
    Read(#[from] ReadError),
    #[error("cannot write the fork")]
    Io(#[from] io::Error),
    #[error("cannot write the bookmarks of the fork")]
    Write(#[from] Fault),
    #[error("cannot copy the envelopes")]
    Envelopes(#[from] SidecarError),
    #[error("cannot open the fork")]
    Open(#[from] OpenError),
}

/// Copies the path to `point` into a new file of `project`, line by line as it is, with the envelopes of its requests.
///
/// What the model is offered was chosen for the conversation and not for a place in it: the fork goes on with what was chosen
/// last. It is there wholly or not at all. One in which the user said nothing yet, and that has no name, is written when they do.
pub fn fork(
    tree: &Tree,
    reader: &Reader,
    point: &ForkPoint,
    project: &Project,
    now: Moment,
    mut random: fastrand::Rng,
) -> Result<Forked, ForkError> {
    let (leaf, text) = match point {
        ForkPoint::Leaf => (tree.leaf(), None),
        ForkPoint::At(id) => (Some(tree.find(id)?), None),
        ForkPoint::Before(id) => {
            let place = tree.find(id)?;
            (tree.parent(place), said(&entry_of(tree, reader, place)?))
        }
    };
    let path = tree.path(leaf);
    let parent_session = Some(reader.path().display().to_string());
    let header = Header { parent_session, ..project.header(now, &mut random) };
    let target = project.path(now, &header.id);
    let chosen = offered(tree, reader, &tree.path(tree.leaf()))?;
    let offer = (offered(tree, reader, &path)? != chosen).then_some(chosen);
    let is_written = offer.is_some()
        || path.iter().any(|place| matches!(tree.kind(*place), Kind::User | Kind::SessionInfo | Kind::Offer));
    let mut opened = if is_written {
        write(tree, reader, &path, &header, &target)?;
        let until = match path.last() {
            // One whose time nobody can read keeps everything behind its turns.
            Some(last) => entry_of(tree, reader, *last)?.base().timestamp.parse().unwrap_or(now),
            None => now,
        };
        let kept = Kept { entries: path.iter().map(|place| tree.id(*place)).collect(), until };
        sidecar::fork(reader.path(), &target, &kept)?;
        file::open(&target, now, random)?
    } else {
        let mut opened = file::create(&target, header, random);
        for place in &path {
            let appended = opened.tree.adopt(entry_of(tree, reader, *place)?);
            opened.log.push(format!("{}\n", appended.line.text).as_bytes());
        }
        opened
    };
    for (target_id, label) in missing_labels(tree, &opened.tree, &path) {
        let make = |base| Entry::Label(Label { base, target_id, label, extra: Extra::new() });
        let line = opened.tree.append(now, make).line;
        opened.log.push(format!("{}\n", line.text).as_bytes());
    }
    if let Some(offer) = offer {
        let (custom_type, data) = (offer::TYPE.to_owned(), Some(offer.to_value()));
        let make = |base| Entry::Custom(CustomEntry { base, custom_type, data, extra: Extra::new() });
        let line = opened.tree.append(now, make).line;
        opened.log.push(format!("{}\n", line.text).as_bytes());
    }
    if is_written {
        opened.log.sync()?;
    }
    Ok(Forked { opened, text })
}

fn write(tree: &Tree, reader: &Reader, path: &[Place], header: &Header, target: &Path) -> Result<(), ForkError> {
    create_folder(target.parent().unwrap_or(Path::new(".")))?;
    let copied = replace(target, |file| {
        writeln!(file, "{}", write_line(&Line::Header(header.clone().into())))?;
        path.iter().try_for_each(|place| {
            file.write_all(&line_of(tree, reader, *place).map_err(io::Error::other)?)?;
            file.write_all(b"\n")
        })
    });
    copied.map_err(ForkError::Io)
}

/// The line of an entry as it stands in the file, or as it will.
fn line_of(tree: &Tree, reader: &Reader, place: Place) -> Result<Vec<u8>, ReadError> {
    match (tree.stored(place), tree.held(place)) {
        (Some(span), _) => reader.line(span),
        (None, Some(kept)) => Ok(write_line(&Line::Entry(kept.to_entry().into())).into_bytes()),
        (None, None) => unreachable!("what is not in the file is held"),
    }
}

fn entry_of(tree: &Tree, reader: &Reader, place: Place) -> Result<Entry, ReadError> {
    match (tree.held(place), tree.span(place)) {
        (Some(kept), _) => Ok(kept.to_entry()),
        (None, Some(span)) => reader.entry(span),
        (None, None) => unreachable!("what is not held is in the file"),
    }
}

/// What was chosen to offer to the model, at the end of a path.
fn offered(tree: &Tree, reader: &Reader, path: &[Place]) -> Result<Offer, ReadError> {
    for place in path.iter().rev().filter(|place| tree.kind(**place) == Kind::Offer) {
        if let Some(offer) = offer::told_by(&entry_of(tree, reader, *place)?) {
            return Ok(offer);
        }
    }
    Ok(Offer::default())
}

/// The bookmarks of copied entries that were set or removed elsewhere in the tree.
fn missing_labels(from: &Tree, to: &Tree, path: &[Place]) -> Vec<(EntryId, Option<String>)> {
    let ids = path.iter().map(|place| from.id(*place));
    let differing = ids.filter(|id| from.label_of(id) != to.label_of(id));
    differing.map(|id| (id.clone(), from.label_of(&id).map(str::to_owned))).collect()
}

/// What the user said in an entry.
fn said(entry: &Entry) -> Option<String> {
    match entry {
        Entry::Message(entry) => match &entry.message {
            Message::User(user) => Some(user.content.text()),
            Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::System(_)
            | Message::Other(_) => None,
        },
        Entry::ModelChange(_)
        | Entry::ThinkingLevelChange(_)
        | Entry::Compaction(_)
        | Entry::BranchSummary(_)
        | Entry::Custom(_)
        | Entry::CustomMessage(_)
        | Entry::Label(_)
        | Entry::SessionInfo(_)
        | Entry::Usage(_)
        | Entry::ContextEdit(_)
        | Entry::Other(_) => None,
    }
}
