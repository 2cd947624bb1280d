//! Ways through the tree.

use pi_transcript::EntryId;

use crate::{
    cut::branch,
    run::{aside::piece, desk::Survey},
    tree::{Kind, NoEntry, Place, Tree},
};

/// What the way to an entry leaves, and where it leads.
pub(super) fn survey(tree: &Tree, target: &EntryId) -> Result<Survey, NoEntry> {
    let place = tree.find(target)?;
    // Who goes to what a person said wants to say it anew.
    let is_said = matches!(tree.kind(place), Kind::User | Kind::CustomMessage);
    let leaf = if is_said { tree.parent(place) } else { Some(place) };
    let id = |place: Place| tree.id(place);
    Ok(Survey {
        from: tree.leaf().map(id),
        leaf: leaf.map(id),
        shared: tree.common_ancestor(tree.leaf(), leaf).map(id),
        left: branch::left_behind(tree, leaf).into_iter().filter_map(|place| piece(tree, place)).collect(),
        editor: if is_said { piece(tree, place) } else { None },
    })
}
