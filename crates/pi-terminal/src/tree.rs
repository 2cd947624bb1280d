//! The places of a session, from its file: what can be gone to, one below the other.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use pi_session::{
    attached,
    file::{self, Viewed},
    tree::{Kind, Place, Tree},
};
use pi_transcript::{Block, Entry, EntryId, Message};

use crate::wish::Point;

/// So much of a text is shown of a place.
const MOST_LETTERS: usize = 300;

/// Everything that was said in a session, on every branch, in the order of the tree. Reads the file, and blocks.
pub(crate) fn points(path: &Path, leaf: Option<&EntryId>) -> Result<Vec<Point>, String> {
    let viewed = file::view(path, fastrand::Rng::new()).map_err(|error| error.to_string())?;
    let tree = &viewed.tree;
    let leaf = leaf.and_then(|leaf| tree.find(leaf).ok());
    let current: HashSet<EntryId> = tree.path(leaf).into_iter().map(|place| tree.id(place)).collect();
    let mut children: HashMap<Option<EntryId>, Vec<Place>> = HashMap::new();
    for place in tree.places() {
        children.entry(tree.parent(place).map(|parent| tree.id(parent))).or_default().push(place);
    }
    let roots = children.remove(&None).unwrap_or_default();
    // Depth first, without recursion: a conversation is a path of any length.
    let mut open: Vec<(Place, usize)> = roots.into_iter().rev().map(|place| (place, 0)).collect();
    let mut points = Vec::new();
    while let Some((place, depth)) = open.pop() {
        let id = tree.id(place);
        if let Some((who, text)) = told(&viewed, place).map_err(|error| error.to_string())? {
            let label = tree.label_of(&id).map(str::to_owned);
            points.push(Point { is_current: current.contains(&id), entry: id.clone(), depth, who, text, label });
        }
        let below = children.remove(&Some(id)).unwrap_or_default();
        let depth = if below.len() > 1 { depth + 1 } else { depth };
        open.extend(below.into_iter().rev().map(|place| (place, depth)));
    }
    Ok(points)
}

/// Who spoke at a place and what; `None` if nobody did.
fn told(viewed: &Viewed, place: Place) -> Result<Option<(String, String)>, file::ReadError> {
    if !is_shown(&viewed.tree, place) {
        return Ok(None);
    }
    let entry = match (viewed.tree.held(place), viewed.tree.span(place)) {
        (Some(kept), _) => kept.to_entry(),
        (None, Some(span)) => viewed.reader.entry(span)?,
        (None, None) => return Ok(None),
    };
    let (who, text) = match entry {
        Entry::Message(entry) => match entry.message {
            Message::User(user) => ("you", attached::shown(&user.content.text())),
            Message::Assistant(said) => ("model", said.content.iter().filter_map(Block::as_text).collect()),
            _ => return Ok(None),
        },
        Entry::Compaction(compaction) => ("summary", compaction.summary),
        Entry::BranchSummary(summary) => ("branch", summary.summary),
        _ => return Ok(None),
    };
    let text: String = text.trim().chars().take(MOST_LETTERS).collect();
    Ok((!text.is_empty()).then(|| (who.to_owned(), text)))
}

fn is_shown(tree: &Tree, place: Place) -> bool {
    match tree.kind(place) {
        Kind::User | Kind::Assistant | Kind::Compaction | Kind::BranchSummary => true,
        Kind::ToolResult
        | Kind::OtherMessage
        | Kind::ModelChange
        | Kind::ThinkingLevelChange
        | Kind::Custom
        | Kind::Offer
        | Kind::CustomMessage
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Usage
        | Kind::ContextEdit
        | Kind::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_stand_below_the_place_where_they_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let entry = |id: &str, parent: &str, text: &str| {
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
            )
        };
        let header =
            r#"{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#.to_owned();
        let lines =
            [header, entry("a", "", "one"), entry("b", "a", "two"), entry("c", "a", "other"), entry("d", "b", "three")];
        crate::files::write(&path, &(lines.join("\n") + "\n")).unwrap();
        let found = points(&path, Some(&EntryId::from("d"))).unwrap();
        let told: Vec<String> = found
            .iter()
            .map(|point| {
                format!("{}{}{}", "-".repeat(point.depth), point.text, if point.is_current { "*" } else { "" })
            })
            .collect();
        assert_eq!(told, ["one*", "-two*", "-three*", "-other"]);
    }
}
