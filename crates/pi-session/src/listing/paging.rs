//! Pages of what was said, also of what the model is not shown any more.
//!
//! The tree knows where every line lies, so a page above a compaction costs the lines of that page, however long the session is.

use super::{Page, Side};
use crate::{
    context::{self, Spoken},
    file::{ReadError, Reader},
    run::{
        aside::{self, piece},
        desk::Piece,
    },
    tree::{LeftOut, NoEntry, Tree},
};

/// How a page comes about.
pub(crate) enum Plan {
    /// All of it is held.
    Ready(Page),
    /// Some of it is in the file.
    Read(Reading),
}

/// What has to be read for a page. Holds no tree, so that it can be read where nobody waits.
pub(crate) struct Reading {
    /// What was said above what the model is shown, each with its last edit, in the order in which it is read.
    pieces: Vec<(Piece, Option<Piece>)>,
    /// What follows them.
    rest: Vec<Spoken>,
    most: usize,
    is_up: bool,
}

/// Where a page above what the model is shown begins, and where it goes.
enum Way {
    /// To older messages, from before the entry at this index.
    Up(usize),
    /// To younger ones, from the entry at this index on.
    Down(usize),
}

/// Finds what belongs to a page of the current branch. Everything that the tree misses must be held.
pub(crate) fn plan(tree: &Tree, side: &Side, most: usize) -> Result<Plan, NoEntry> {
    let shown = context::build(&tree.entries()).messages;
    let above = tree.left_out();
    let Some(way) = way(tree, side, &shown, &above)? else {
        let page = super::page(shown, side, most)?;
        return Ok(Plan::Ready(match side {
            Side::End | Side::Before(_) => Page { has_more: page.has_more || !above.is_empty(), ..page },
            Side::After(_) => page,
        }));
    };
    let range = match way {
        Way::Up(end) => 0..end,
        Way::Down(start) => start..above.len(),
    };
    let pieces = above[range].iter().filter_map(|left| {
        let edit = left.edit.and_then(|edit| piece(tree, edit));
        Some((piece(tree, left.place)?, edit))
    });
    let mut pieces: Vec<_> = pieces.collect();
    let (rest, is_up) = match way {
        Way::Up(_) => {
            pieces.reverse();
            (Vec::new(), true)
        }
        Way::Down(_) => (shown, false),
    };
    Ok(Plan::Read(Reading { pieces, rest, most, is_up }))
}

/// The way of a page that lies above what is shown, or begins there.
fn way(tree: &Tree, side: &Side, shown: &[Spoken], above: &[LeftOut]) -> Result<Option<Way>, NoEntry> {
    let is_shown = |id| shown.iter().any(|(other, _)| other == id);
    let index = |id| {
        let place = tree.find(id)?;
        above.binary_search_by_key(&place, |left| left.place).map_err(|_| NoEntry { id: id.clone() })
    };
    match side {
        Side::Before(id) if shown.first().is_some_and(|(first, _)| first == id) => Ok(Some(Way::Up(above.len()))),
        Side::Before(id) if !is_shown(id) => Ok(Some(Way::Up(index(id)?))),
        Side::After(id) if !is_shown(id) => Ok(Some(Way::Down(index(id)? + 1))),
        Side::End | Side::Before(_) | Side::After(_) => Ok(None),
    }
}

impl Reading {
    /// Reads it. Blocks for as long as the disk does.
    pub(crate) fn read(self, reader: Option<&Reader>) -> Result<Page, ReadError> {
        let Self { pieces, rest, most, is_up } = self;
        let said = pieces.into_iter().filter_map(|(said, edit)| read(reader, said, edit).transpose());
        // One more tells whether there are more.
        let mut messages: Vec<Spoken> =
            said.chain(rest.into_iter().map(Ok)).take(most.saturating_add(1)).collect::<Result<_, _>>()?;
        let has_more = messages.len() > most;
        messages.truncate(most);
        if is_up {
            messages.reverse();
        }
        Ok(Page { messages, has_more })
    }
}

/// What an entry says, as its edit has it. One that cannot be understood says nothing.
fn read(reader: Option<&Reader>, said: Piece, edit: Option<Piece>) -> Result<Option<Spoken>, ReadError> {
    let understood = |piece| match aside::read_one(reader, piece) {
        Err(ReadError::NotAnEntry { .. }) => Ok(None),
        read => read.map(Some),
    };
    let edit = edit.map_or(Ok(None), understood)?;
    Ok(understood(said)?.and_then(|kept| context::said(&kept, edit.as_deref())))
}
